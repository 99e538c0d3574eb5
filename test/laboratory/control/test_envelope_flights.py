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

"""What the aircraft does at the limits of its envelope, at every level."""

import math

import pytest

pytest.importorskip('jsbsim', reason='the simulated aircraft needs jsbsim')

from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.envelope import Envelope
from xplane_bridge.laboratory.control.geofence import Fence
from xplane_bridge.laboratory.control.targets import AttitudeTarget, Level, RateTarget, Target
from xplane_bridge.laboratory.flights.core_vehicle import CoreVehicle, make_aircraft
from xplane_bridge.laboratory.flights.scenario.start import find_start

SQUARE = ((-3000.0, -3000.0), (3000.0, -3000.0), (3000.0, 3000.0), (-3000.0, 3000.0))


def eastward(cascade):
    return CoreVehicle(
        make_aircraft(find_start({'heading_deg': 90.0, 'altitude': 1500.0})), law=cascade)


def flight(cascade, seconds, every=None, start=None):
    """Fly it on, at first the c172p heading east at 1500 m; return its states."""
    vehicle = start or eastward(cascade)
    log = []
    for _ in range(round(seconds * 60)):
        vehicle.observe()
        vehicle.engage(True, vehicle.time)
        if every is not None:
            every(cascade)
        vehicle.fly_on(vehicle.compute_law_command())
        state = vehicle.aircraft.state
        log.append((vehicle.last('east'), vehicle.last('north'), vehicle.last('altitude'),
                    state.phi, state.theta, state.cas, -state.f_eye_z / 9.80665,
                    cascade.limits))
    return log


def column(log, number):
    return [row[number] for row in log]


def test_rates_end_at_the_limits_of_bank_and_pitch():
    cascade = Cascade(envelope=Envelope())
    log = flight(cascade, 20.0, lambda one: one.hold_rates(RateTarget(roll=0.5, pitch=0.2)))
    assert 0.40 < max(column(log, 3)) < 0.48
    assert max(column(log, 4)) < 0.30
    assert cascade.limits == ('rates: the limit of bank or pitch is near',)


@pytest.mark.parametrize('command', [
    lambda one: one.hold_attitude(AttitudeTarget(roll=0.0, pitch=-0.2)),
    lambda one: one.hold_rates(RateTarget(pitch=-0.1)),
    lambda one: one.change_target({'climb_rate': -3.5})])
def test_the_floor_is_not_undercut_at_any_level(command):
    envelope = Envelope(altitude_floor=1450.0, airspeed_high=80.0)
    log = flight(Cascade(envelope=envelope), 60.0, command)
    assert min(column(log, 2)) > 1447.0
    assert log[-1][2] < 1460.0


def test_a_slow_aircraft_lowers_its_nose():
    cascade = Cascade(envelope=Envelope(airspeed_low=36.0))
    log = flight(
        cascade, 40.0, lambda one: one.hold_attitude(AttitudeTarget(pitch=0.25, throttle=0.0)))
    assert min(column(log, 5)) > 32.5
    assert any('airspeed_low' in one for one in cascade.limits)


def test_a_fast_aircraft_raises_its_nose():
    cascade = Cascade(envelope=Envelope(airspeed_high=60.0))
    log = flight(
        cascade, 40.0, lambda one: one.hold_attitude(AttitudeTarget(pitch=-0.2, throttle=1.0)))
    assert max(column(log, 5)) < 65.0
    assert any('airspeed_high' in one for one in cascade.limits)


def test_the_load_factor_limits_a_pull_up():
    log = flight(Cascade(envelope=Envelope(load_factor_limit=1.3)), 3.0,
                 lambda one: one.hold_rates(RateTarget(pitch=0.5)))
    assert max(column(log, 6)) < 1.45


@pytest.mark.parametrize(('wind', 'command'), [
    ((0.0, 0.0, 0.0), lambda one: one.change_target({'course': math.pi / 2.0})),
    ((10.0, 0.0, 0.0), lambda one: one.change_target({'heading': 1.2})),
    ((0.0, 0.0, 0.0), lambda one: one.hold_attitude(AttitudeTarget(roll=0.1, pitch=0.05))),
    ((0.0, 0.0, 0.0), lambda one: one.hold_rates(RateTarget(roll=0.0, pitch=0.0)))])
def test_before_the_geofence_it_flies_a_circle_inside(wind, command):
    cascade = Cascade(envelope=Envelope(geofence=SQUARE))
    vehicle = eastward(cascade)
    vehicle.disturb('wind', wind)
    # Commanded again and again, as a stack does.
    log = flight(cascade, 130.0, command, vehicle)
    fence = Fence(SQUARE)
    assert min(fence.margin(row[:2]) for row in log) > 0.0
    # It goes right up to it.
    assert min(fence.margin(row[:2]) for row in log) < 60.0
    assert any('flies a circle' in one for row in log for one in row[7])


def test_what_leads_inside_is_flown_again():
    cascade = Cascade(envelope=Envelope(geofence=SQUARE))
    vehicle = eastward(cascade)
    flight(cascade, 80.0, None, vehicle)
    assert cascade.level is Level.PATH
    while not abs(math.remainder(vehicle.aircraft.state.psi + math.pi / 2.0, math.tau)) < 0.3:
        flight(cascade, 0.1, None, vehicle)
    cascade.target = Target(1500.0, airspeed=50.0, course=-math.pi / 2.0)
    log = flight(cascade, 20.0, None, vehicle)
    assert cascade.level is Level.TARGET
    assert cascade.limits == ()
    assert log[-1][0] < log[0][0] - 800.0


def test_an_aircraft_outside_the_geofence_flies_back():
    far = tuple((east + 3800.0, north) for east, north in SQUARE)
    cascade = Cascade(envelope=Envelope(geofence=far))
    log = flight(cascade, 90.0, lambda one: one.change_target({'heading': -math.pi / 2.0}))
    assert Fence(far).margin(log[-1][:2]) > 0.0
    assert min(column(log, 0)) > -600.0
