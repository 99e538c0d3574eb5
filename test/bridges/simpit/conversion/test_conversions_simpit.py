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

"""Axes, groups and attitude of KerbalSimpit, by hand, and what its silence means."""

import math

import pytest

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.simpit import conversion as conversions
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.session.reports import ActionSilence


@pytest.mark.parametrize(('value', 'wire'), [
    (0.0, 0), (1.0, 32767), (-1.0, -32767), (0.5, 16384), (-0.25, -8192)])
def test_axis_to_wire(value, wire):
    assert conversions.axis_to_wire('x', value) == wire


@pytest.mark.parametrize('value', [1.0001, -2.0, math.nan, math.inf])
def test_axis_out_of_range_is_refused_by_name(value):
    with pytest.raises(ValueError, match='wheel_steer'):
        conversions.axis_to_wire('wheel_steer', value)


@pytest.mark.parametrize(('wire', 'value'), [(32767, 1.0), (-32767, -1.0), (-32768, -1.0), (0, 0)])
def test_axis_from_wire_stays_in_range(wire, value):
    assert conversions.axis_from_wire(wire) == value


def test_axes_reported_are_controls_and_others():
    everything = dict.fromkeys(simpit.AXES, -32767)
    controls, others = conversions.axes_from_wire(everything | {'pitch': 16384, 'throttle': 0})
    assert controls == {
        'elevator': pytest.approx(0.5, abs=1e-4), 'aileron': -1.0, 'rudder': -1.0,
        'throttle': 0.0}
    assert others == dict.fromkeys(simpit.AXES.keys() - {
        'pitch', 'roll', 'yaw', 'throttle'}, -1.0)
    # A game's throttle has nothing below 0.
    assert conversions.axes_from_wire({'throttle': -5, 'yaw': -5}) == (
        {'throttle': 0.0, 'rudder': -5 / 32767}, {})
    assert conversions.axes_from_wire({'throttle': 32767}) == ({'throttle': 1.0}, {})


def test_gear_goes_as_it_is_and_what_is_not_given_does_not():
    assert conversions.to_wire(Controls(gear=1.0)) == {'gear': 1.0}
    assert conversions.to_wire(Controls()) == {}


def test_times_and_air_that_are_not_there_are_nan():
    assert conversions.seconds(90) == 90.0
    assert conversions.seconds(1 - 2**31) == 1.0 - 2**31
    assert math.isnan(conversions.seconds(-2**31))
    there = simpit.AtmosphereFlags.HAS_ATMOSPHERE
    air = simpit.Atmosphere(there, 1.2, 280.0, 95.0)
    assert conversions.air(air) == (95e3, 280.0, 1.2)
    assert all(map(math.isnan, conversions.air(simpit.Atmosphere(
        simpit.AtmosphereFlags(0), 1.2, 280.0, 95.0))))


@pytest.mark.parametrize(('controls', 'expected'), [
    (Controls(elevator=1.0), simpit.Rotation(32767, 0, 0, 1)),
    (Controls(aileron=-1.0), simpit.Rotation(0, -32767, 0, 2)),
    (Controls(rudder=0.5), simpit.Rotation(0, 0, 16384, 4)),
    (Controls(elevator=0.0, rudder=0.0), simpit.Rotation(0, 0, 0, 5)),
    (Controls(throttle=1.0), simpit.Throttle(32767)),
])
def test_controls_to_axes(controls, expected):
    assert simpit.axis_messages(conversions.to_wire(controls)) == [expected]


def test_groups_in_bits():
    assert conversions.groups_in(0) == ()
    assert conversions.groups_in(0b1000010) == (1, 6)


def test_attitude_with_the_left_wing_down_is_a_negative_roll():
    attitude = simpit.Attitude(270.0, -5.0, 20.0, 0.0, 0.0, 0.0, 0.0)
    assert conversions.attitude(attitude) == pytest.approx(
        (1.5 * math.pi, math.radians(-5.0), math.radians(-20.0)))


def test_attitude_that_is_not_finite_has_no_orientation():
    attitude = simpit.Attitude(math.nan, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert conversions.orientation(attitude) is None


def ticks(silence, begin, count, step=0.125):
    return [silence.heard_other(begin + number * step) for number in range(count)]


def test_half_a_second_of_other_telemetry_means_once_that_all_groups_are_off():
    assert ticks(ActionSilence(), 10.0, 12) == [False] * 4 + [True] + [False] * 7


def test_status_in_each_frame_keeps_groups_on():
    silence = ActionSilence()
    for number in range(100):
        now = 10.0 + 0.02 * number
        silence.heard_status(now)
        assert not silence.heard_other(now + 0.01)
    assert ticks(silence, 12.0, 8).count(True) == 1


def test_game_that_stands_still_turns_no_group_off():
    silence = ActionSilence()
    silence.heard_status(10.0)
    # Five seconds of silence, then the first packets arrive before the next frame's status.
    assert ticks(silence, 15.0, 3) == [False] * 3
    silence.heard_status(15.4)
    assert ticks(silence, 15.5, 4) == [False] * 4
