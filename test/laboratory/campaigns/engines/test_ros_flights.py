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

from dataclasses import replace
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

from xplane_bridge.laboratory.campaigns.engines import isolated
from xplane_bridge.laboratory.campaigns.fly import fly
from xplane_bridge.laboratory.campaigns.plan.task import Task
from xplane_bridge.laboratory.flights.recordings.files import Recording
from xplane_bridge.laboratory.flights.recordings.message_types import MessageTypes

pytestmark = pytest.mark.xdist_group('journeys')

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


def test_a_flight_passes_and_leaves_its_recording_alone(tmp_path):
    flown = task('passes', folder=str(tmp_path / 'ros'), simulator='direct', record='mcap')
    row = isolated.fly(flown)
    assert (row['outcome'], row['reason'], row['exit']) == ('passed', '', 0)
    assert row['passed.max_abs of altitude_error at most 20'] is True
    assert row['figure.rates.imu/data.messages'] == 121
    assert len(row['trajectory']) == 64
    assert not any(name.startswith(('figure.load', 'figure.link')) for name in row)
    assert [one.name for one in (tmp_path / 'ros').iterdir()] == ['flight.mcap']
    assert row['recording'].endswith(f'{flown.key[:12]}/flight.mcap')
    assert not running(flown.key[:8])
    in_core = fly(replace(flown, simulator='core', folder=str(tmp_path / 'core')))
    assert in_core['recording'] == row['recording']
    there, here = (states_of(tmp_path / place / 'flight.mcap') for place in ('ros', 'core'))
    # What a flight of a simulator without a protocol has.
    assert {'fix', 'fix_velocity', 'imu/data', 'odom', 'air_data', 'controls', 'engines', 'datum',
            'airframe', 'command/controls', 'autopilot/active_target'} == set(here) <= set(there)
    for topic, (kind, messages) in here.items():
        assert there[topic][0] == kind
        common = {*messages} & {*there[topic][1]}
        assert len(common) >= len(messages) - 1, topic
        for at in common:
            found, wanted = there[topic][1][at], messages[at]
            # Until the law is engaged to the last bit; it is told the attitude as a quaternion.
            # The height of the ground is a difference of two heights in core.
            near = 0.0 if at < 30 and topic != 'airframe' else 1e-9
            assert found == pytest.approx(wanted, rel=near, abs=near, nan_ok=True), (topic, at)


def states_of(path):
    """Return type and messages of each topic below the namespace, by the tick of their stamp."""
    types, found = MessageTypes(), {}
    for topic, _, data, *_ in Recording(path).messages():
        _, _, name = topic.name.removeprefix('/').partition('/')
        if not topic.name.startswith('/flight_'):
            continue
        message = types.of(topic).decode(data)
        if hasattr(message, 'header'):
            at = round((message.header.stamp.sec + message.header.stamp.nanosec * 1e-9) * 60.0)
            found.setdefault(name, (topic.kind, {}))[1][at] = dict(numbers_of(message, ''))
    first = min(found['imu/data'][1])
    return {name: (kind, {at - first: one for at, one in messages.items()})
            for name, (kind, messages) in found.items()}


def numbers_of(message, prefix):
    """Yield all of a message but its stamp, with the name of the field."""
    for name in message.__dataclass_fields__:
        value = getattr(message, name)
        if hasattr(value, '__dataclass_fields__'):
            if name != 'stamp':
                yield from numbers_of(value, f'{prefix}{name}.')
        elif hasattr(value, 'tolist'):
            yield from ((f'{prefix}{name}[{at}]', one) for at, one in enumerate(value.tolist()))
        elif not name.startswith('_') and not name.isupper():
            yield prefix + name, value


def test_a_flight_over_its_limit_is_lost_and_leaves_no_process(tmp_path):
    hung = task('hangs', content=CONTENT | {'duration': 3000.0}, time_limit=4.0,
                folder=str(tmp_path / 'kept'))
    row = isolated.fly(hung)
    assert (row['outcome'], row['reason']) == ('lost', 'it took longer than its time limit, 4 s')
    # However far it got in that time: on a busy machine its processes have not begun.
    assert not running(hung.key[:8])


def test_what_is_not_flown_says_why():
    row = isolated.fly(task('refused', simulator='fdmdata'))
    assert (row['outcome'], row['exit']) == ('failed', 2)
    assert row['reason'].startswith('fdmdata has no time in its protocol')
