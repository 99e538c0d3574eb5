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


"""What make installs is named by hash, hooks by commit, the base of the container by digest."""

from pathlib import Path
import re
import tomllib

import pin_hashes
import pytest
import sbom
import yaml

ROOT = Path(__file__).resolve().parents[2]
# Why their pins have no hashes is said beside the list in the Makefile.
WITHOUT = {'sb3', 'skrl'}
LOCK = """
[[packages]]
name = "some-thing"
version = "1.2"
sdist = { url = "https://index/some_thing-1.2.tar.gz", hashes = { sha256 = "aa" } }
wheels = [
    { url = "https://index/some_thing-1.2-cp311-cp311-win_amd64.whl", hashes = { sha256 = "bb" } },
    { url = "https://index/some_thing-1.2-py3-none-any.whl", hashes = { sha256 = "cc" } },
]
"""


def pins():
    """Return the lines with a pinned version, by the name of their file."""
    return {path.stem: [line for line in path.read_text().splitlines() if '==' in line]
            for path in (ROOT / 'requirements').glob('*.txt')}


def test_each_pin_of_what_make_installs_has_a_hash():
    listed = re.search(r'^HASHED := (.*)$', (ROOT / 'Makefile').read_text(), re.MULTILINE)[1]
    found = {name: lines for name, lines in pins().items() if lines and name not in WITHOUT}
    assert {*listed.split()} == found.keys()
    whole = re.compile(r'[^#]+==\S+( ?;[^-]+)?( --hash=sha256:[0-9a-f]{64})+')
    assert [line for lines in found.values() for line in lines if not whole.fullmatch(line)] == []


def test_the_hashes_of_a_pin_are_those_of_its_source_and_of_wheels_for_linux():
    text = '# Some thing: what for.\nsome_thing[more]==1.2; python_version < "3.14"\nother>=1\n'
    expected = text.replace('3.14"', '3.14" --hash=sha256:aa --hash=sha256:cc')
    assert pin_hashes.pinned(text, LOCK) == expected
    # Again, after a change.
    assert pin_hashes.pinned(expected.replace('sha256:aa', 'sha256:00'), LOCK) == expected


def test_a_pin_without_a_file_is_refused():
    with pytest.raises(ValueError, match=re.escape('lost==1: the index has no file of it')):
        pin_hashes.pinned('lost==1\n', LOCK)


@pytest.mark.parametrize(('wheel', 'kept'), [
    ('a-1-py3-none-any.whl', True), ('a-1-py2.py3-none-any.whl', True),
    ('a-1-cp311-cp311-manylinux_2_28_x86_64.whl', True),
    ('a-1-cp314-cp314-manylinux2014_aarch64.manylinux_2_17_aarch64.whl', True),
    ('a-1-cp39-abi3-manylinux1_x86_64.manylinux_2_5_x86_64.whl', True),
    ('a-1-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl', True),
    ('a-1-cp310-cp310-manylinux_2_28_x86_64.whl', False),
    ('a-1-cp314-cp314t-manylinux_2_28_x86_64.whl', False),
    ('a-1-cp311-cp311-musllinux_1_2_x86_64.whl', False),
    ('a-1-cp311-cp311-macosx_11_0_arm64.whl', False),
    ('a-1-cp311-cp311-win_amd64.whl', False), ('a-1-py2-none-any.whl', False)])
def test_wheels_for_linux_and_the_pythons_of_this_package_are_kept(wheel, kept):
    package = {'wheels': [{'url': f'https://index/{wheel}', 'hashes': {'sha256': 'aa'}}]}
    assert pin_hashes.hashes(package) == ['aa'] * kept


def test_the_list_of_what_is_installed_begins_with_this_package():
    project = tomllib.loads(sbom.pyproject())['project']
    assert project['name'] == 'xplane_bridge'
    assert project['license'] == 'Apache-2.0'
    assert {'numpy', 'pyserial', 'pyyaml'} == {*project['dependencies']}


def test_hooks_are_named_by_commit_and_the_container_by_digest():
    hooks = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text())
    assert all(re.fullmatch(r'[0-9a-f]{40}', one['rev']) for one in hooks['repos'] if 'rev' in one)
    image = re.search(r'^FROM (\S+)$', (ROOT / 'Containerfile').read_text(), re.MULTILINE)[1]
    assert re.fullmatch(r'[\w.:-]+@sha256:[0-9a-f]{64}', image)
