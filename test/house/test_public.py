# Copyright 2026 xplane_bridge contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""What others may import of the package: the page, the code, and what examples import."""

import json
from pathlib import Path
import re
import subprocess
import sys

import pytest

import xplane_bridge

ROOT = Path(__file__).resolve().parents[2]
DEEP = re.compile(r'(?:from|import) (xplane_bridge\.[\w.]+)')
# What ROS makes, and what public.md excepts.
OURS = ('xplane_bridge.msg', 'xplane_bridge.srv', 'xplane_bridge.action')
EXCEPTED = {
    'examples/train_and_fly.ipynb': 'xplane_bridge.laboratory.episodes.training',
    'examples/training/turbulence_task.py': 'xplane_bridge.laboratory'}


def run(program):
    """Return what a program prints in a new process."""
    return subprocess.run([sys.executable, '-c', program], capture_output=True, text=True,
                          timeout=60, check=True).stdout


def test_the_page_lists_what_is_public():
    page = (ROOT / 'docs/reference/public.md').read_text(encoding='utf-8')
    table = page.partition('## Import')[2].partition('\n\nThe messages')[0]
    names = [name for row in re.findall(r'^\| (`.*?) \|', table, re.MULTILINE)
             for name in re.findall(r'`(\w+)`', row)]
    assert sorted(names) == sorted(xplane_bridge.PUBLIC)


@pytest.mark.parametrize('name', xplane_bridge.PUBLIC)
def test_a_public_name_is_there_and_says_what_it_is(name):
    for needed in {'FlightEnv': ['gymnasium'], 'FleetEnv': ['gymnasium', 'pettingzoo']}.get(
            name, ['jsbsim']):
        pytest.importorskip(needed, reason=f'{name} needs {needed}')
    assert getattr(xplane_bridge, name).__doc__
    assert name in dir(xplane_bridge)


def test_an_import_of_the_package_imports_nothing_else():
    assert run("""
import sys
import xplane_bridge
print(*(name for name in sys.modules if name.startswith(('xplane_bridge.', 'numpy', 'rclpy'))))
""").split() == []


def test_what_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'xplane_bridge' has no attribute 'nope'"):
        xplane_bridge.nope  # noqa: B018


@pytest.mark.parametrize('first', ['import xplane_bridge, gymnasium',
                                   'import gymnasium, xplane_bridge', 'import gymnasium'])
def test_gymnasium_finds_the_environment_in_any_order(first):
    pytest.importorskip('gymnasium', reason='gymnasium is not installed')
    assert run(f"""
{first}
spec, = (gymnasium.envs.registration._find_spec('xplane_bridge:xplane_bridge/Flight-v0'),)
print(spec.id)
""") == 'xplane_bridge/Flight-v0\n'


def texts():
    """Yield what users copy: blocks of Python on pages, and the examples."""
    for path in sorted([ROOT / 'README.md', *(ROOT / 'docs').rglob('*.md')]):
        for block in re.findall(r'```python.*?\n(.*?)```', path.read_text(encoding='utf-8'), re.S):
            yield path, block
    for path in sorted((ROOT / 'examples').rglob('*')):
        if path.suffix == '.ipynb':
            cells = json.loads(path.read_text(encoding='utf-8'))['cells']
            yield path, '\n'.join(
                ''.join(cell['source']) for cell in cells if cell['cell_type'] == 'code')
        elif path.suffix == '.py':
            yield path, path.read_text(encoding='utf-8')


def test_pages_and_examples_import_what_is_public():
    deep = {
        (path.relative_to(ROOT).as_posix(), name) for path, text in texts()
        for name in DEEP.findall(text) if not name.startswith(OURS)}
    assert {(path, name) for path, name in deep if not name.startswith(
        EXCEPTED.get(path, '-'))} == set()
