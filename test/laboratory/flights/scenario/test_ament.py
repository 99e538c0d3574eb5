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

"""ROS packages are found in the index of ament, as ROS finds them."""

import os

import pytest

from xplane_bridge.laboratory.flights.scenario.flown_by import find_prefix


@pytest.fixture
def spaces(tmp_path, monkeypatch):
    """Return two install spaces: both have the package both, the second one has below."""
    found = [tmp_path / name for name in ('overlay', 'underlay')]
    for space in found:
        index = space / 'share' / 'ament_index' / 'resource_index' / 'packages'
        index.mkdir(parents=True)
        (index / 'both').touch()
    (index / 'below').touch()
    monkeypatch.setenv(
        'AMENT_PREFIX_PATH', os.pathsep.join(['', str(tmp_path / 'none'), *map(str, found)]))
    return found


def test_the_first_install_space_that_has_it_is_taken(spaces):
    assert find_prefix('both') == str(spaces[0])
    assert find_prefix('below') == str(spaces[1])
    outside = spaces[1] / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'both'
    for name in ('missing', '', '.', '../packages/both', str(outside)):
        with pytest.raises(LookupError, match='no package'):
            find_prefix(name)


def test_it_is_where_ros_says(spaces):
    packages = pytest.importorskip('ament_index_python.packages', reason='needs ROS')
    for name in ('both', 'below'):
        assert find_prefix(name) == packages.get_package_prefix(name)


def test_without_ros_there_is_none(monkeypatch):
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    with pytest.raises(LookupError):
        find_prefix('xplane_bridge')
