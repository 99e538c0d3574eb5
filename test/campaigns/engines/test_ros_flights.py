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


"""Flights of a campaign through ROS: their rows, and that none of their processes is left."""

import hashlib
import os

from process_table import running
import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('mcap', reason='recording needs mcap')
pytest.importorskip('rosbags', reason='reading back needs rosbags')
pytest.importorskip('pyarrow', reason='a campaign needs pyarrow')

from xplane_bridge.campaigns.engines import isolated
from xplane_bridge.campaigns.plan.task import Task

pytestmark = pytest.mark.xdist_group('flights')

CONTENT = {
    'duration': 2.0,
    'initial': {'altitude': 1000.0, 'airspeed': 51.444},
    'events': [{'at': 0.5, 'engage': True}],
    'criteria': [{'quantity': 'altitude_error', 'statistic': 'max_abs', 'at_most': 20.0}],
}


def task(key, **given):
    values = {
        'flight': 0, 'key': hashlib.sha256(f'{key} {os.getpid()}'.encode()).hexdigest(),
        'scenario': 'level', 'content': CONTENT, 'simulator': 'xpc', 'controller': 'autopilot',
        'flown_by': 'autopilot',
        'aircraft': 'c172p', 'seed': 1, 'time_limit': 240.0}
    return Task(**values | given)


def test_a_flight_passes_and_leaves_nothing(tmp_path):
    flown = task('passes', folder=str(tmp_path / 'kept'))
    row = isolated.fly(flown)
    assert (row['outcome'], row['reason'], row['exit']) == ('passed', '', 0)
    assert row['passed.max_abs of altitude_error at most 20'] is True
    assert row['figure.rates.imu/data.messages'] == 121
    assert len(row['trajectory']) == 64
    assert not any(name.startswith(('figure.load', 'figure.link')) for name in row)
    assert not list(tmp_path.iterdir())
    assert not running(flown.key[:8])


def test_a_flight_over_its_limit_is_hung_and_leaves_no_process(tmp_path):
    hung = task('hangs', content=CONTENT | {'duration': 3000.0}, time_limit=4.0,
                folder=str(tmp_path / 'kept'))
    row = isolated.fly(hung)
    assert (row['outcome'], row['reason']) == ('hung', 'it took longer than its time limit, 4 s')
    # However far it got in that time: on a busy machine its processes have not begun.
    assert not running(hung.key[:8])


def test_what_is_not_flown_says_why():
    row = isolated.fly(task('refused', simulator='fdmdata'))
    assert (row['outcome'], row['exit']) == ('failed', 2)
    assert row['reason'].startswith('fdmdata has no time in its protocol')
