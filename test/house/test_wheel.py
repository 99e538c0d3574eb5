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

"""The package as pip installs it: what is in the wheel, and what it does without the checkout."""

from email import message_from_string
from importlib.util import find_spec
import json
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
from zipfile import ZipFile

import pytest
import yaml

from xplane_bridge.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / 'xplane_bridge' / 'data'
# It is built once. Neither is imported here: pip changes what setuptools finds.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group('wheel'),
    pytest.mark.skipif(not (find_spec('pip') and find_spec('setuptools')),
                       reason='a wheel is built with pip and setuptools')]


def run(*arguments, cwd, path='', text=''):
    """Run Python in a folder, with a package from ``path`` and nothing from the checkout."""
    return subprocess.run(
        [sys.executable, '-P', *arguments], cwd=cwd, input=text, capture_output=True, text=True,
        timeout=120, env={**os.environ, 'PYTHONPATH': str(path)})


def pip(*arguments, cwd):
    done = run('-m', 'pip', '--disable-pip-version-check', *arguments, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope='module')
def wheel(tmp_path_factory):
    """Return the wheel of these sources."""
    # The backend writes beside them, and takes what an earlier build has left there.
    sources = tmp_path_factory.mktemp('sources')
    for name in ('setup.py', 'setup.cfg', 'README.md', 'LICENSE'):
        shutil.copy(ROOT / name, sources)
    shutil.copytree(ROOT / 'xplane_bridge', sources / 'xplane_bridge',
                    ignore=shutil.ignore_patterns('__pycache__'))
    folder = tmp_path_factory.mktemp('wheel')
    pip('wheel', '--no-deps', '--no-build-isolation', '--no-index', '-w', str(folder), '.',
        cwd=sources)
    found, = folder.glob('*.whl')
    return found


@pytest.fixture(scope='module')
def installed(wheel, tmp_path_factory):
    """Return the folder that it is installed in."""
    folder = tmp_path_factory.mktemp('installed')
    pip('install', '--no-deps', '--no-index', '--target', str(folder), str(wheel), cwd=folder)
    return folder


def test_the_wheel_has_all_code_and_data_and_one_script(wheel):
    with ZipFile(wheel) as content:
        names = set(content.namelist())
        points, = (content.read(name).decode() for name in names
                   if name.endswith('/entry_points.txt'))
    assert {f'xplane_bridge/data/{name}' for name in (
        'scenarios/steps.yaml', 'campaigns/turbulence.yaml', 'policies/turbulence.onnx',
        'gains/T37.yaml', 'sensors/tactical.yaml', 'aircraft/navion/Engines/constant_thrust.xml',
        'view/aircraft.urdf', 'view/live.html', 'geoid/egm96.npz')} <= names
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / 'xplane_bridge').rglob('*')
             if path.is_file() and path.suffix != '.pyc'}
    # In the sources a link to where ROS has them.
    files |= {f'xplane_bridge/data/msg/{path.name}' for path in (ROOT / 'msg').iterdir()}
    assert {name for name in names if '.dist-info/' not in name} == files
    scripts = points.partition('[console_scripts]\n')[2].partition('\n\n')[0]
    assert scripts == 'xplane-bridge = xplane_bridge.__main__:main'


def test_the_wheel_says_which_python_and_what_each_extra_brings(wheel):
    with ZipFile(wheel) as content:
        (found,) = (content.read(name).decode() for name in content.namelist()
                    if name.endswith('.dist-info/METADATA'))
    said = message_from_string(found)
    assert said['Requires-Python'] == '>=3.11'
    assert set(said.get_all('Provides-Extra')) == {
        'fly', 'train', 'campaign', 'cluster', 'export', 'live', 'sensors', 'web'}
    needed = [line.replace('"', "'").replace(' ', '') for line in said.get_all('Requires-Dist')]
    for extra, within in (('train', 'fly'), ('campaign', 'fly'), ('live', 'fly'),
                          ('cluster', 'campaign')):
        assert any(re.match(rf"xplane[-_]bridge\[{within}\];extra=='{extra}'", line)
                   for line in needed), (extra, needed)


def test_the_script_lists_the_commands(installed, tmp_path):
    script, = (installed / 'bin').iterdir()
    assert script.name == 'xplane-bridge'
    for arguments in ([], ['--help']):
        done = run(str(script), *arguments, cwd=tmp_path, path=installed)
        assert (done.returncode, done.stderr) == (0, '')
        lines = done.stdout.splitlines()
        for command in COMMANDS:
            line, = (line for line in lines if line.startswith(f'  {command} '))
            assert len(line.split()) > 4
    done = run(str(script), 'fly', cwd=tmp_path, path=installed)
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == (
        f"xplane-bridge: there is no command 'fly': expected one of {', '.join(COMMANDS)}\n")


def test_the_file_of_a_command_is_no_command(installed, tmp_path):
    """It defines things and does nothing, which must not look like success."""
    done = run('-m', 'xplane_bridge.commands.train', cwd=tmp_path, path=installed)
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr == 'a command is called by its name: python3 -m xplane_bridge COMMAND\n'


@pytest.mark.parametrize('arguments', [
    ['xpc_node'], ['demo'], ['check_controller', 'external'],
    ['experiment', '--sim', 'xpc']], ids=' '.join)
def test_what_needs_ros_says_so(installed, tmp_path, arguments):
    """Without ROS, or with one that has no messages of this package."""
    done = run('-m', 'xplane_bridge', *arguments, cwd=tmp_path, path=installed)
    assert done.returncode == 2
    assert done.stderr.count('\n') == 1
    assert ' needs ROS 2 and a workspace in which this package is built' in done.stderr


def test_dissect_works_there(installed, tmp_path):
    done = run('-m', 'xplane_bridge', 'dissect', 'xpc', cwd=tmp_path, path=installed,
               text='434F4E4E000102\n')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['message'] == 'CONN'


def test_it_flies_as_the_checkout_does(installed, tmp_path):
    """With the gains of the T37, which the c172p's would fly some hundred metres off."""
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    scenario = yaml.safe_load((DATA / 'scenarios' / 'steps.yaml').read_text())
    scenario['initial'] |= {'model': 'T37', 'altitude': 3000.0, 'airspeed': 110.0}
    (tmp_path / 'jet.yaml').write_text(yaml.safe_dump(scenario))
    found = []
    for name, path in (('checkout', ROOT), ('wheel', installed)):
        where = run('-c', 'import xplane_bridge; print(xplane_bridge.__file__)', cwd=tmp_path,
                    path=path)
        assert Path(where.stdout.strip()).is_relative_to(path)
        done = run('-m', 'xplane_bridge', 'experiment', '--sim', 'core', '--scenario', 'jet.yaml',
                   '--output', name, '--no-picture', cwd=tmp_path, path=path)
        assert done.returncode in (0, 1), done.stderr
        found.append(json.loads((tmp_path / f'{name}.json').read_text()))
        # That of the machine, not of the flight.
        del found[-1]['figures']['load']
    assert found[0] == found[1]
    assert found[0]['figures']['tracking']['altitude']['rms'] < 15.0
