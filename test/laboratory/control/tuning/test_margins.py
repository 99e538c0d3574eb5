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

"""Margins of open loops against those worked out by hand, and what tuning refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from xplane_bridge.laboratory.control.tuning.tune import LoopRequirements, margins, tune
from xplane_bridge.simulation.aircraft.linear_model import LinearModel, ModelVariable

FREQUENCIES = np.logspace(-2.5, 1.9, 400)


def test_margins_of_an_integrator_with_delay() -> None:
    # 2 e^(-0.1 s) / s: crosses over at 2 rad/s with 90 degrees - 0.2 rad, and reaches -180
    # degrees at pi / 0.2 = 15.7 rad/s, where it is 2 / 15.7.
    s = 1j * FREQUENCIES
    crossover, phase, gain, sensitivity = margins(2.0 * np.exp(-0.1 * s) / s)
    assert crossover == pytest.approx(2.0, rel=0.03)
    assert phase == pytest.approx(math.pi / 2.0 - 0.2, abs=0.01)
    assert gain == pytest.approx(20.0 * math.log10(15.7 / 2.0), abs=0.3)
    # At least what both margins imply, at most a little more.
    assert 1.0 / (1.0 - 2.0 / 15.7) <= sensitivity + 0.01 < 1.3


def test_a_loop_that_stays_below_0_db_has_no_crossover() -> None:
    crossover, phase, _, sensitivity = margins(np.full(400, 0.5 + 0.0j))
    assert (crossover, phase) == (0.0, math.pi)
    assert sensitivity == pytest.approx(1.0 / 1.5)


def simple(rudder: float = 1.0) -> LinearModel:
    """Return an aircraft of integrators: each control rolls, pitches, yaws or accelerates."""
    states = ('true_airspeed', 'angle_of_attack', 'roll', 'pitch', 'heading', 'roll_rate',
              'pitch_rate', 'yaw_rate', 'altitude_msl')
    inputs = ('elevator', 'aileron', 'rudder', 'throttle')
    speed = 50.0
    a, b = np.zeros((9, 9)), np.zeros((9, 4))
    where = {name: n for n, name in enumerate(states)}
    for row, column, value in (
            ('true_airspeed', 'true_airspeed', -0.1), ('angle_of_attack', 'angle_of_attack', -2.0),
            ('angle_of_attack', 'pitch_rate', 1.0), ('roll', 'roll_rate', 1.0),
            ('pitch', 'pitch_rate', 1.0), ('heading', 'roll', 9.81 / speed),
            ('roll_rate', 'roll_rate', -3.0), ('pitch_rate', 'pitch_rate', -3.0),
            ('yaw_rate', 'yaw_rate', -1.0), ('altitude_msl', 'pitch', speed),
            ('altitude_msl', 'angle_of_attack', -speed)):
        a[where[row], where[column]] = value
    for row, value in (('pitch_rate', 5.0), ('roll_rate', 10.0), ('yaw_rate', rudder),
                       ('true_airspeed', 4.0)):
        b[where[row], ('pitch_rate', 'roll_rate', 'yaw_rate', 'true_airspeed').index(row)] = value
    path = np.zeros(9)
    path[[where['pitch'], where['angle_of_attack']]] = 1.0, -1.0
    course = np.eye(9)[where['heading']]
    return LinearModel(
        'simple', 'by hand', 1000.0, speed,
        tuple(ModelVariable(name, 'SI', speed if name == 'true_airspeed' else 0.0)
              for name in states),
        tuple(ModelVariable(name, 'ratio', 0.6 * (name == 'throttle')) for name in inputs),
        tuple(ModelVariable(name, 'SI', 0.0) for name in (*states, 'flight_path_angle', 'course')),
        a, b, np.vstack([np.eye(9), path, course]), np.zeros((11, 4)))


def test_loops_of_a_simple_aircraft_cross_over_where_wanted() -> None:
    found = tune(simple(), {'roll': 2.0})
    loops = {loop.name: loop for loop in found.loops}
    assert all(loop.reached for loop in found.loops)
    assert loops['roll'].crossover == pytest.approx(2.0, rel=0.05)
    for loop in found.loops:
        assert loop.sensitivity <= 1.6
        assert loop.phase_margin >= 40.0
    # |10 (1 + 0.8/s) k / (s + 3)| = 1 at 4 rad/s.
    expected = 5.0 / 10.0 / abs(1.0 + 0.8 / 4.0j)
    assert found.gains.roll_rate_to_aileron == pytest.approx(expected, rel=0.02)
    # A climb of 1 rad takes 1 g of thrust.
    assert found.gains.path_angle_to_throttle == pytest.approx(9.80665 / 4.0)
    assert found.gains.cruise_throttle == pytest.approx(0.6)


def test_a_longer_delay_costs_bandwidth_and_that_is_said() -> None:
    found = tune(simple(), limits=LoopRequirements(delay=0.4))
    slow = [loop for loop in found.loops if not loop.reached]
    assert slow
    assert 'cannot be reached with these margins and this delay, only' in slow[0].complaint()
    assert all(loop.sensitivity <= 1.6 for loop in found.loops)


@pytest.mark.parametrize(('change', 'sentence'), [
    ({'bandwidths': {'rolling': 1.0}}, 'there is no loop rolling'),
    ({'bandwidths': {'roll': -1.0}}, 'must be above 0'),
])
def test_wrong_bandwidths_are_refused(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        tune(simple(), **change)  # type: ignore[arg-type]


def test_a_rudder_that_yaws_to_the_wrong_side_is_refused() -> None:
    with pytest.raises(ValueError, match='rudder does not yaw'):
        tune(simple(rudder=-1.0))


def test_without_a_rudder_there_is_no_yaw_damper() -> None:
    found = tune(simple(rudder=0.0))
    assert found.gains.yaw_rate_to_rudder == 0.0
    assert 'yaw_rate' not in [loop.name for loop in found.loops]


@pytest.mark.parametrize('change', [
    {'sensitivity': 1.0}, {'phase_margin': 0.0}, {'delay': -1.0}, {'engine_lag': math.inf}])
def test_impossible_limits_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match='must be'):
        LoopRequirements(**change)
