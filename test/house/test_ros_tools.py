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

"""What the end of the tests says about ROS 2's own tools; their plugins do not get in the way."""

from configparser import ConfigParser
from importlib.util import find_spec
import os
import subprocess
import sys

import pytest
import ros_tools


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that installs Python modules, with or without an ament index."""
    monkeypatch.setattr(sys, 'path', [str(tmp_path)])
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    for module, _ in ros_tools.TOOLS.values():
        monkeypatch.delitem(sys.modules, module, raising=False)
    index = tmp_path / 'share/ament_index/resource_index/packages'
    index.mkdir(parents=True)

    def install(module, package=''):
        (tmp_path / module).mkdir()
        (tmp_path / module / '__init__.py').touch()
        if package:
            (index / package).touch()
            (tmp_path / 'share' / package).mkdir()
            (tmp_path / 'share' / package / 'package.xml').write_text(
                '<package><version>3.4.3</version></package>')

    return install


def test_what_is_installed_is_genuine_and_what_is_not_is_said(installed):
    installed('launch', 'launch')
    installed('tf2_ros', 'tf2_ros_py')
    assert ros_tools.used() == (
        "ROS 2's own tools here: genuine: launch (3.4.3), tf2_ros_py (3.4.3); "
        'stand-ins: ros2cli (tools/ros2), tf2_msgs (messages that tests catch), '
        'rclcpp (rclcpp_stub/); missing: launch_ros, launch_testing, rosbag2_py, '
        'simulation_interfaces')


def test_a_module_of_that_name_that_ros_does_not_know_is_a_stand_in(installed, tmp_path):
    installed('launch_ros')
    # As launch/ of this repository, when the working directory is on the path.
    (tmp_path / 'launch').mkdir()
    said = ros_tools.used()
    path = tmp_path / 'launch_ros' / '__init__.py'
    assert f'launch_ros ({path}: not an installed ROS 2 package)' in said
    assert 'genuine: none' in said
    assert 'missing: launch, launch_testing' in said


def test_where_ros_is_sourced_its_own_tools_are_genuine():
    """What is skipped for lack of one, or runs with a stand-in, would prove nothing there."""
    if 'ROS_DISTRO' not in os.environ:
        pytest.skip('no ROS 2 is sourced')
    assert [package for package, (module, _) in ros_tools.TOOLS.items()
            if not ros_tools.version(package) or find_spec(module) is None] == [], (
        'install what package.xml declares: rosdep install --from-paths . --ignore-src')


def test_what_tests_start_hears_of_ctrl_c():
    code = 'import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)'
    assert subprocess.run(
        [sys.executable, '-S', '-c', code], capture_output=True, text=True, check=True,
        timeout=60).stdout == 'True\n'


def names(lines):
    """Return the names of markers from lines that describe them."""
    return [line.partition(':')[0].partition('(')[0] for line in lines]


def test_no_plugin_gives_our_markers_another_meaning(pytestconfig):
    """launch_pytest skips what has its marker, launch, without a fixture of its own."""
    setup = ConfigParser()
    setup.read(pytestconfig.inipath)
    known = names(pytestconfig.getini('markers'))
    own = {*names(setup['tool:pytest']['markers'].split('\n'))} - {'timeout', 'xdist_group', ''}
    assert 'ros_tools' in own
    assert own.isdisjoint({'launch', 'launch_test', 'rostest'})
    assert [name for name in own if known.count(name) != 1] == []


def test_no_plugin_imports_modules_before_they_are_collected(pytestconfig):
    """With launch_testing's a module that skips itself would skip the whole session."""
    assert pytestconfig.pluginmanager.is_blocked('launch_testing')
    assert pytestconfig.pluginmanager.is_blocked('launch_ros')
