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

"""command/engines: masks, ranges, sizes; and the report."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from masked import masked
from rclpy.serialization import deserialize_message

from xplane_bridge import msg
from xplane_bridge.bridges.conversions.vehicle import EngineControls
from xplane_bridge.bridges.nodes.vehicle.engines import checked_engines, EngineGate, EngineReport


def command(**given):
    """Return a command that sets these arrays."""
    return masked(msg.EngineControls, **given)


def test_one_value_is_for_all_engines_and_arrays_are_kept():
    assert checked_engines(command(throttle=[0.25, 1.0], mixture=[0.5])) == EngineControls(
        throttle=(0.25, 1.0), mixture=(0.5,))


@pytest.mark.parametrize(('given', 'sentence'), [
    ({'throttle': [0.5, 1.5]}, r'throttle 1.5 is not in 0 .. 1'),
    ({'mixture': []}, 'mixture has 0 values'),
    ({'propeller': [0.5] * 17}, 'propeller has 17 values'),
    ({'throttle': [0.5, math.nan]}, 'throttle is .*nan'),
    ({'throttle': [0.5] * 2, 'mixture': [1.0] * 3}, 'throttle 2, mixture 3'),
])
def test_a_bad_command_is_refused_with_a_sentence(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        checked_engines(command(**given))


def test_a_command_that_sets_nothing_is_refused():
    with pytest.raises(ValueError, match='fields is 0'):
        checked_engines(msg.EngineControls(throttle=[0.5]))


def test_out_of_range_is_clamped_where_the_simulator_does():
    assert checked_engines(command(throttle=[1.5, -1.0]), clamp=True).throttle == (1.0, 0.0)


def filled(report, engines, stamp=(5, 6)):
    """Return a report as it arrives."""
    message = report.filled(stamp, engines)
    return (deserialize_message(message, msg.EngineControls) if isinstance(message, bytes)
            else message)


def test_a_report_has_the_bits_of_what_is_known():
    message = filled(
        EngineReport('base'), EngineControls(throttle=(0.25, 0.75), propeller=(1.0,)))
    assert message.fields == message.THROTTLE | message.PROPELLER
    assert (list(message.throttle), list(message.mixture), list(message.propeller)) == (
        [0.25, 0.75], [], [1.0])
    assert (message.header.frame_id, message.header.stamp.sec) == ('base', 5)


def test_a_report_of_all_engines_is_the_ordinary_message_whatever_their_number():
    report = EngineReport('base')
    for number in (1, 2, 16, 2):
        values = [tuple(one + number * step for step in range(number)) for one in (0.1, 0.2, 0.3)]
        expected = msg.EngineControls(
            fields=7, throttle=values[0], mixture=values[1], propeller=values[2])
        expected.header.frame_id = 'base'
        expected.header.stamp.sec, expected.header.stamp.nanosec = 5, number
        assert isinstance(report.filled((5, number), EngineControls(*values)), bytes)
        assert filled(report, EngineControls(*values), (5, number)) == expected
    # What is not known any more leaves no old value behind.
    assert not len(filled(report, EngineControls(throttle=(0.5,))).mixture)


def test_the_gate_refuses_what_the_wire_does_not_have():
    sent, subscribed = [], {}
    node = SimpleNamespace(
        make_command=lambda kind, topic, take: subscribed.update({topic: take}))
    gate = EngineGate(node, sent.append, 'uav/', takes=('throttle',))
    take = subscribed['uav/command/engines']
    take(command(throttle=[0.5]))
    with pytest.raises(ValueError, match='supports only throttle of each engine'):
        take(command(mixture=[0.5]))
    assert sent == [EngineControls(throttle=(0.5,))]
    assert gate.commands == 1
