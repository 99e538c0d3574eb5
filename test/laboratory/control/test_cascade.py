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

"""The cascade, alone and on a JSBSim aircraft."""

import math

import pytest

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.targets import Target
from xplane_bridge.laboratory.flights.analysis.verdict import step_response

LEVEL = Measurement(
    roll=0.0, pitch=0.02, heading=1.0, roll_rate=0.0, pitch_rate=0.0, yaw_rate=0.0,
    altitude=1000.0, airspeed=50.0)
TRIMMED = Controls(elevator=-0.12, aileron=0.03, rudder=0.05, throttle=0.6)


def engaged(target=None, gains=None, now=LEVEL):
    law = Cascade(gains)
    law.engage(now, TRIMMED, target)
    return law


def test_engaging_begins_with_the_controls_as_they_stand():
    first = engaged().update(LEVEL, 0.02)
    assert first.elevator == pytest.approx(-0.12, abs=1e-3)
    assert first.aileron == pytest.approx(0.03, abs=1e-3)
    assert first.rudder == pytest.approx(0.05, abs=1e-3)
    assert first.throttle == pytest.approx(0.6, abs=1e-3)


def test_engaging_in_a_turn_begins_with_the_controls_as_they_stand():
    turning = Measurement(
        roll=0.2, pitch=0.05, heading=1.0, roll_rate=0.05, pitch_rate=0.02, yaw_rate=0.04,
        altitude=1000.0, airspeed=50.0)
    first = engaged(now=turning).update(turning, 0.02)
    assert first.aileron == pytest.approx(0.03, abs=0.01)
    assert first.elevator == pytest.approx(-0.12, abs=0.02)
    assert first.rudder == pytest.approx(0.05, abs=1e-3)


def test_controls_that_are_not_known_begin_centred_with_cruise_power():
    law = Cascade()
    law.engage(LEVEL, Controls())
    first = law.update(LEVEL, 0.02)
    assert first.elevator == pytest.approx(0.0, abs=1e-3)
    assert first.throttle == pytest.approx(Gains().cruise_throttle, abs=1e-3)


@pytest.mark.parametrize(('target', 'control', 'sign'), [
    (Target(1050.0, 1.0, 50.0), 'elevator', +1),
    (Target(950.0, 1.0, 50.0), 'elevator', -1),
    (Target(1000.0, 1.5, 50.0), 'aileron', +1),
    (Target(1000.0, 0.5, 50.0), 'aileron', -1),
    (Target(1000.0, 1.0 - 3.5, 50.0), 'aileron', +1),
    (Target(1000.0, 1.0, 55.0), 'throttle', +1),
    (Target(1000.0, 1.0, 45.0), 'throttle', -1),
])
def test_each_error_moves_its_control_the_right_way(target, control, sign):
    law = engaged()
    before = getattr(law.update(LEVEL, 0.02), control)
    law.target = target
    assert (getattr(law.update(LEVEL, 0.02), control) - before) * sign > 0.0


def test_outputs_stay_in_their_ranges_whatever_happens():
    law = engaged(Target(1e6, -50.0, 1e6))
    wild = Measurement(
        roll=3.0, pitch=-1.5, heading=6.0, roll_rate=5.0, pitch_rate=-5.0, yaw_rate=5.0,
        altitude=-1e5, airspeed=0.0)
    for now in (LEVEL, wild) * 200:
        controls = law.update(now, 0.02)
        for name in ('elevator', 'aileron', 'rudder'):
            assert -1.0 <= getattr(controls, name) <= 1.0
        assert 0.0 <= controls.throttle <= 1.0


def test_a_long_unreachable_target_leaves_no_wound_up_integral():
    law = engaged(Target(1000.0, 1.0, 500.0))
    for _ in range(50 * 300):
        assert law.update(LEVEL, 0.02).throttle <= 1.0
    law.target = Target(1000.0, 1.0, 45.0)
    # The airspeed target ramps back up; from then on the throttle closes at once.
    seconds = (law._climb_law.airspeed - 45.0) / Gains().airspeed_rate_limit
    for _ in range(int(50 * (seconds + 5.0))):
        throttle = law.update(LEVEL, 0.02).throttle
    assert throttle < 0.5


def test_a_gap_in_the_measurements_is_not_integrated_over():
    law, other = engaged(Target(1010.0, 1.0, 50.0)), engaged(Target(1010.0, 1.0, 50.0))
    assert law.update(LEVEL, 60.0) == other.update(LEVEL, 0.2)


class Flight:
    """A JSBSim aircraft flown by the control law, independent of any clock."""

    def __init__(self, rate=50.0, delay=0, **options):
        aircraft = pytest.importorskip('xplane_bridge.simulation.aircraft.aircraft')
        pytest.importorskip('jsbsim', reason='the simulated aircraft needs jsbsim')
        self.aircraft = aircraft.Aircraft(**options)
        self.step = 1.0 / rate
        self.delay = [Controls()] * delay
        self.law = Cascade()
        state = self.aircraft.state
        self.law.engage(self.measure(), Controls(
            state.elevator, state.aileron, state.rudder, state.engines[0].throttle))
        self.log = {name: [] for name in ('time', 'altitude', 'heading', 'airspeed')}

    def measure(self):
        value = self.aircraft.property_value
        return Measurement(
            roll=value('attitude/phi-rad'), pitch=value('attitude/theta-rad'),
            heading=value('attitude/psi-rad'), roll_rate=value('velocities/p-rad_sec'),
            pitch_rate=value('velocities/q-rad_sec'), yaw_rate=value('velocities/r-rad_sec'),
            altitude=value('position/h-sl-ft') * 0.3048,
            airspeed=value('velocities/vc-kts') * 1852.0 / 3600.0)

    def fly(self, seconds):
        start = len(self.log['time'])
        for _ in range(round(seconds / self.step)):
            now = self.measure()
            for name, value in (('time', self.aircraft.time), ('altitude', now.altitude),
                                ('heading', now.heading), ('airspeed', now.airspeed)):
                self.log[name].append(value)
            self.delay.append(self.law.update(now, self.step))
            controls = self.delay.pop(0)
            self.aircraft.set_controls(
                elevator=controls.elevator, aileron=controls.aileron, rudder=controls.rudder,
                throttle=controls.throttle)
            self.aircraft.advance(self.step)
        return {name: values[start:] for name, values in self.log.items()}


@pytest.mark.parametrize(('rate', 'delay'), [(50.0, 0), (50.0, 4), (20.0, 1)])
@pytest.mark.parametrize(('quantity', 'change', 'seconds', 'band', 'settling', 'overshoot'), [
    ('altitude', 50.0, 30.0, 2.5, 20.0, 0.1),
    ('heading', math.radians(60.0), 25.0, math.radians(3.0), 18.0, 0.1),
    ('airspeed', -5.0, 20.0, 0.5, 14.0, 0.2),
])
def test_steps_meet_the_criteria_of_the_demo(
        quantity, change, seconds, band, settling, overshoot, rate, delay):
    flight = Flight(rate, delay)
    flight.fly(2.0)
    start = getattr(flight.law.target, quantity)
    values = {name: getattr(flight.law.target, name)
              for name in ('altitude', 'heading', 'airspeed')}
    values[quantity] += change
    flight.law.target = Target(**values)
    log = flight.fly(seconds)
    response = step_response(log['time'], log[quantity], start, start + change, band)
    assert response.settling <= settling
    assert response.overshoot <= overshoot
    # State that is not stepped keeps its value.
    if quantity != 'altitude':
        assert max(abs(value - values['altitude']) for value in log['altitude']) < 8.0
    if quantity != 'airspeed':
        assert max(abs(value - values['airspeed']) for value in log['airspeed']) < 4.0


@pytest.mark.slow
def test_turbulence_is_ridden_out():
    flight = Flight(seed=3)
    flight.aircraft.set_turbulence(wind_at_20ft=8.0, severity=3)
    start = flight.law.target
    log = flight.fly(60.0)
    assert max(abs(value - start.altitude) for value in log['altitude']) < 20.0
    assert max(abs(value - start.heading) for value in log['heading']) < math.radians(15.0)
