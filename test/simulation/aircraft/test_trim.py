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

"""Our own trim: steady flight of several kinds of aircraft, and what is said without one."""

from __future__ import annotations

import math

from placed import placed
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from xplane_bridge.simulation.aircraft.model import TrimError
from xplane_bridge.simulation.aircraft.trim import pitch_angle, trim


# Fixed pitch; two with governors, which JSBSim's own trim does not manage; jet; glider.
@pytest.mark.parametrize(('name', 'altitude', 'airspeed'), [
    ('c172p', 1500.0, 51.0), ('c310', 1500.0, 75.0), ('T37', 3000.0, 110.0),
    ('SGS', 1500.0, 30.0)])
def test_five_seconds_from_the_trim_the_flight_is_still_the_same(
        name: str, altitude: float, airspeed: float) -> None:
    model = placed(name, altitude, airspeed)
    steady = trim(model)
    model.settle(600)
    state = model.state
    assert math.degrees(state.theta) == pytest.approx(math.degrees(steady.pitch), abs=0.1)
    assert math.degrees(state.phi) == pytest.approx(0.0, abs=0.5)
    assert state.tas == pytest.approx(steady.true_airspeed, abs=0.1)
    sink = steady.true_airspeed * math.sin(steady.flight_path_angle)
    assert state.altitude_msl == pytest.approx(altitude + 5.0 * sink, abs=0.5)


def test_a_glider_finds_its_own_flight_path() -> None:
    assert -0.06 < trim(placed('SGS', 1500.0, 30.0)).flight_path_angle < -0.01


def test_a_banked_trim_is_a_steady_turn() -> None:
    model = placed('T37', 3000.0, 110.0)
    bank = math.radians(30.0)
    steady = trim(model, bank=bank)
    before = model.get('attitude/psi-rad')
    model.settle(240)
    turned = (model.get('attitude/psi-rad') - before) % math.tau
    assert turned == pytest.approx(
        2.0 * 9.80665 * math.tan(bank) / steady.true_airspeed, rel=0.01)
    assert model.get('attitude/phi-rad') == pytest.approx(bank, abs=0.005)
    assert model.get('position/h-sl-meters') == pytest.approx(3000.0, abs=0.2)


def test_a_climb_takes_more_throttle_and_a_given_throttle_its_own_climb() -> None:
    level = trim(placed('T37', 3000.0, 110.0))
    climb = trim(placed('T37', 3000.0, 110.0), flight_path_angle=0.02)
    assert climb.throttle > level.throttle + 0.02
    found = trim(placed('T37', 3000.0, 110.0), throttle=climb.throttle)
    assert found.flight_path_angle == pytest.approx(0.02, abs=1e-4)


@pytest.mark.parametrize('airspeed', [71.0, 77.0, 83.0, 89.0])
def test_a_throttle_that_was_clipped_to_where_it_changes_nothing_is_searched_for_again(
        airspeed: float) -> None:
    throttle = trim(placed('c310', 1900.0, airspeed)).throttle
    assert 0.3 < throttle < 1.0


def test_what_cannot_be_trimmed_is_said() -> None:
    with pytest.raises(TrimError, match=r'forward -\d.* m/s2.*at its stop: .*throttle 1\.00'):
        trim(placed('T37', 3000.0, 110.0), flight_path_angle=0.3)


def test_pitch_is_path_plus_angle_of_attack_with_wings_level() -> None:
    assert pitch_angle(0.05, 0.0, 0.0, 0.1) == pytest.approx(0.15)
    # By hand: 60 degrees of bank, level path: tan(pitch) = cos(bank) tan(alpha).
    assert math.tan(pitch_angle(0.1, 0.0, math.radians(60.0), 0.0)) == pytest.approx(
        0.5 * math.tan(0.1))
