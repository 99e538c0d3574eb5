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

"""The demo as a user runs it, interrupted: it stops at once and keeps what it has."""

import os
import signal
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
mcap_reader = pytest.importorskip('mcap.reader', reason='reading back needs mcap')

from ament_index_python.packages import get_package_share_directory  # noqa: E402

from harness import DEADLINE, process  # noqa: E402

# Beside those of test_experiment.py, but no two at once: each has five processes.
pytestmark = pytest.mark.xdist_group('journeys')


def read_until(child, text):
    lines = []
    for line in child.stdout:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError(f'{text!r} did not come: {lines}')


@pytest.mark.parametrize(('number', 'options', 'code'), [
    (signal.SIGINT, (), 130),
    # launch takes every other code for an error.
    (signal.SIGTERM, ('--by-launch',), 0),
])
def test_an_interrupted_demo_leaves_its_recording_and_what_there_is_time_for(
        tmp_path, number, options, code):
    bag, picture, log = (tmp_path / name for name in ('demo.mcap', 'demo.png', 'demo.log'))
    with process(
        'demo', '--bag', str(bag), '--picture', str(picture), '--log', str(log), *options
    ) as demo:
        lines = read_until(demo, 'pitched the aircraft by')
        demo.send_signal(number)
        output, _ = demo.communicate(timeout=180)
        assert demo.returncode == code
    assert float(lines[-1].split('pitched the aircraft by')[1].split()[0]) > 1.0
    assert 'interrupted' in output
    with open(bag, 'rb') as stream:
        summary = mcap_reader.make_reader(stream).get_summary()
    recorded = {channel.topic for channel in summary.channels.values()}
    assert {'/demo/fix', '/demo/imu/data', '/demo/command/controls'} <= recorded
    assert 'Traceback' not in log.read_text()
    if number == signal.SIGINT:
        # After SIGTERM there may be no time for them.
        assert ' lost, ' in output
        assert picture.read_bytes().startswith(b'\x89PNG')


@pytest.fixture
def install_space(tmp_path, monkeypatch):
    """Return another install space that is found before the real one, with its executables."""
    prefix = tmp_path / 'install'
    for folder in ('lib/xplane_bridge', 'share/ament_index/resource_index/packages'):
        (prefix / folder).mkdir(parents=True)
    (prefix / 'share/ament_index/resource_index/packages/xplane_bridge').touch()
    (prefix / 'share/xplane_bridge').symlink_to(get_package_share_directory('xplane_bridge'))
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{prefix}:{os.environ["AMENT_PREFIX_PATH"]}')
    return prefix / 'lib/xplane_bridge'


def test_an_interrupt_while_it_starts_ends_it_at_once(tmp_path, install_space):
    for name in ('simulator_node', 'xpc_node', 'autopilot_node', 'record'):
        # The recorder, which the demo waits for, interrupts the demo, its supervisor's parent.
        interrupt = ('sleep 1; kill -INT $(cut -d" " -f4 /proc/$PPID/stat); '
                     if name == 'record' else '')
        script = install_space / name
        script.write_text(f'#!/bin/sh\n{interrupt}exec sleep 60\n')
        script.chmod(0o755)
    with process(
        sys.executable, '-P', '-m', 'xplane_bridge', 'demo',
        '--log', str(tmp_path / 'demo.log'), '--bag', str(tmp_path / 'demo.mcap'),
    ) as demo:
        output, _ = demo.communicate(timeout=DEADLINE)
    assert demo.returncode == 130
    assert output == 'interrupted before the flight began\n'


def test_a_demo_that_cannot_start_says_why_and_fails(tmp_path, install_space):
    with process(
        sys.executable, '-P', '-m', 'xplane_bridge', 'demo',
        '--log', str(tmp_path / 'demo.log'),
    ) as demo:
        output, _ = demo.communicate(timeout=180)
    assert demo.returncode == 2
    # Which of those that start at once says so first is open.
    assert f' is not found in {install_space}: build xplane_bridge again' in output
