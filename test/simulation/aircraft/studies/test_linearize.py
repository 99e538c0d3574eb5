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

"""Linear models: the two ways against each other, against the flight, and as a file."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from xplane_bridge.commands.linearize import main
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.linear_model import from_json
from xplane_bridge.simulation.aircraft.state import KNOT
from xplane_bridge.simulation.aircraft.studies.linearize import linearize
from xplane_bridge.simulation.aircraft.studies.spare import make_spare
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight
from xplane_bridge.simulation.aircraft.studies.trim_in_place import trim_in_place

STATES = ['true_airspeed', 'angle_of_attack', 'sideslip', 'roll', 'pitch', 'heading', 'roll_rate',
          'pitch_rate', 'yaw_rate', 'altitude_msl']
# JSBSim takes one-sided differences: what is even in the sideslip or the bank has a slope there.
LATERAL = [STATES.index(name) for name in ('sideslip', 'roll')]


@pytest.mark.parametrize(('name', 'altitude', 'airspeed'), [
    ('c172p', 1500.0, 51.0), ('f16', 5000.0, 180.0), ('737', 5000.0, 150.0)])
def test_differences_agree_with_jsbsims_own_linearization(
        name: str, altitude: float, airspeed: float) -> None:
    spare, _ = in_steady_flight(name, altitude, airspeed)
    own = linearize(spare, 'differences')
    jsbsim = linearize(spare, 'jsbsim', patient=True)
    assert [state.name for state in own.states] == STATES
    assert [each.name for each in own.inputs] == ['elevator', 'aileron', 'rudder', 'throttle']
    compared = np.ones_like(own.a, dtype=bool)
    compared[:, LATERAL] = False
    lateral = [STATES.index(row) for row in ('sideslip', 'roll', 'roll_rate', 'yaw_rate')]
    compared[np.ix_(lateral, LATERAL)] = True
    # In SI units: absolute and of the value. The f16's flight control system has integrators,
    # which stand in neither of the two.
    absolute, relative = (0.3, 0.1) if name == 'f16' else (0.02, 0.005)
    for one, other, those in ((own.a, jsbsim.a, compared), (own.b, jsbsim.b, ...)):
        assert (np.abs(other - one) < absolute + relative * np.abs(one))[those].all()
    modes = sorted(np.abs(np.linalg.eigvals(own.a)))[-5:]
    others = sorted(np.abs(np.linalg.eigvals(jsbsim.a)))[-5:]
    assert modes == pytest.approx(others, rel=0.06 if name == 'f16' else 0.01)


@pytest.mark.parametrize(('name', 'altitude', 'airspeed'), [
    ('c172p', 1500.0, 51.44), ('f16', 5000.0, 180.0), ('737', 5000.0, 150.0)])
def test_the_inputs_are_the_commands_of_a_flight_that_begins_trimmed(
        name: str, altitude: float, airspeed: float) -> None:
    """Trim wheels hold it: what was added to them as well would move the aircraft."""
    found = linearize(in_steady_flight(name, altitude, airspeed)[0], 'differences')
    state = Aircraft(name, Initial(
        altitude_msl=altitude, airspeed_kt=airspeed / KNOT)).state
    for signal in found.inputs:
        begun = (state.engines[0].throttle if signal.name == 'throttle'
                 else getattr(state, signal.name))
        assert signal.value == pytest.approx(
            begun, abs=0.03 if signal.name == 'throttle' else 0.01), signal


def test_a_textbook_law_flies_about_the_inputs_of_the_model() -> None:
    """With u = u0 - K x and no integral the aircraft stays where the model holds."""
    linalg = pytest.importorskip('scipy.linalg', reason='needs scipy')
    spare, _ = in_steady_flight('f16', 5000.0, 180.0)
    model = linearize(spare, 'differences')
    used = [STATES.index(name) for name in (
        'true_airspeed', 'angle_of_attack', 'pitch', 'pitch_rate', 'altitude_msl')]
    columns = [model.index('inputs', name) for name in ('elevator', 'throttle')]
    a, b = model.a[np.ix_(used, used)], model.b[np.ix_(used, columns)]
    weights = np.diag([1.0, 400.0, 400.0, 100.0, 0.01]), np.diag([25.0, 25.0])
    k = np.linalg.solve(weights[1], b.T @ linalg.solve_continuous_are(a, b, *weights))
    u0 = np.array([model.inputs[column].value for column in columns])
    x0 = np.array([model.states[row].value for row in used])
    aircraft = Aircraft('f16', Initial(altitude_msl=5000.0, airspeed_kt=180.0 / KNOT))
    furthest = 0.0
    for _ in range(20 * 60):
        s = aircraft.state
        x = np.array([s.tas, s.alpha, s.theta, s.q, s.altitude_msl])
        elevator, throttle = u0 - k @ (x - x0)
        aircraft.set_controls(elevator=elevator, throttle=throttle)
        aircraft.advance(1.0 / 60.0)
        furthest = max(furthest, abs(s.altitude_msl - 5000.0))
    assert furthest < 2.0


def test_the_sign_of_each_control_is_that_of_flight_controls() -> None:
    model = linearize(in_steady_flight('c310', 1500.0, 75.0)[0])
    assert model.method == 'differences'    # JSBSim itself cannot trim it
    b = {(row.name, column.name): model.b[i, j] for i, row in enumerate(model.states)
         for j, column in enumerate(model.inputs)}
    assert b['pitch_rate', 'elevator'] > 1.0
    assert b['roll_rate', 'aileron'] > 1.0
    assert b['yaw_rate', 'rudder'] > 0.1
    assert b['true_airspeed', 'throttle'] > 1.0
    c = {row.name: model.c[i] for i, row in enumerate(model.outputs)}
    pitch, alpha = STATES.index('pitch'), STATES.index('angle_of_attack')
    assert c['flight_path_angle'][[pitch, alpha]] == pytest.approx([1.0, -1.0], abs=0.01)
    assert c['climb_rate'][pitch] == pytest.approx(model.state('true_airspeed'), rel=0.01)
    # Accelerometers: one g upwards, and less of it (FRD: more negative) at a larger angle.
    force = model.outputs[model.index('outputs', 'specific_force_z')]
    assert (force.unit, force.value) == ('m/s2', pytest.approx(-9.8, abs=0.05))
    assert c['specific_force_z'][alpha] < -50.0


def test_a_glider_has_no_throttle_and_a_turn_is_linearised_too() -> None:
    glider = linearize(in_steady_flight('SGS', 1500.0, 30.0, bank=0.5)[0])
    assert [each.name for each in glider.inputs] == ['elevator', 'aileron', 'rudder']
    assert glider.state('roll') == pytest.approx(0.5, abs=0.01)
    assert glider.state('yaw_rate') > 0.1


def test_a_step_of_the_elevator_flies_as_the_linear_model_says() -> None:
    aircraft = Aircraft('c172p')
    trim_in_place(aircraft, 2000.0, 50.0)
    model = linearize(make_spare(aircraft))
    before, step, seconds = aircraft.state, 0.02, 1.0
    aircraft.set_controls(elevator=step)
    aircraft.advance(seconds)
    x, dt = np.zeros(len(STATES)), 1e-3
    push = model.b[:, model.index('inputs', 'elevator')] * step
    for _ in range(round(seconds / dt)):
        x += dt * (model.a @ x + push)
    after = aircraft.state
    for name, flown in (('pitch', after.theta - before.theta), ('pitch_rate', after.q),
                        ('angle_of_attack', after.alpha - before.alpha)):
        assert flown == pytest.approx(x[STATES.index(name)], rel=0.05), name


def test_linearising_does_not_disturb_the_flight() -> None:
    flights = []
    for disturbed in (False, True):
        aircraft = Aircraft('c172p', seed=3)
        aircraft.set_turbulence(15.0, 4)
        aircraft.advance(1.0)
        if disturbed:
            before = aircraft.state
            linearize(make_spare(aircraft))
            assert aircraft.state == before
        aircraft.advance(1.0)
        flights.append(aircraft.state)
    assert flights[0] == flights[1]


def test_trimmed_in_place_it_flies_on_steadily_in_wind() -> None:
    aircraft = Aircraft('c172p')
    aircraft.set_wind(3.0, 5.0)
    aircraft.advance(2.0)
    steady = trim_in_place(aircraft, 2000.0, 55.0, bank=0.4)
    assert steady.throttle == pytest.approx(aircraft.state.engines[0].throttle)
    aircraft.advance(5.0)
    state = aircraft.state
    assert (state.elevator, state.aileron, state.rudder) == (0.0, 0.0, 0.0)
    assert state.altitude_msl == pytest.approx(2000.0, abs=1.0)
    assert state.cas == pytest.approx(55.0, abs=0.3)
    assert state.phi == pytest.approx(0.4, abs=0.01)
    assert (state.wind_north, state.wind_east) == pytest.approx((3.0, 5.0))


def test_where_a_trim_wheel_leads_nowhere_the_stick_stays() -> None:
    """The glider's wheels of roll and yaw move no surface."""
    aircraft = Aircraft('SGS', Initial(altitude_msl=1500.0, airspeed_kt=30.0 / KNOT))
    steady = trim_in_place(aircraft, 1500.0, 30.0, bank=math.radians(20.0))
    assert steady.wheels == ('elevator',)
    state = aircraft.state
    assert (state.elevator, state.aileron, state.rudder) == pytest.approx(
        (0.0, steady.aileron, steady.rudder))
    assert state.elevator_trim == pytest.approx(steady.elevator)
    aircraft.advance(8.0)
    assert math.degrees(aircraft.state.phi) == pytest.approx(20.0, abs=0.1)
    assert aircraft.state.cas == pytest.approx(30.0, abs=0.05)


def test_a_turn_that_a_flight_control_system_does_not_keep_is_refused() -> None:
    """The f16's: 60 ms after such a trim its rudder is elsewhere, 8 s later it banks 25 deg."""
    aircraft = Aircraft('f16', Initial(altitude_msl=5000.0, airspeed_kt=180.0 / KNOT))
    before = aircraft.state
    sentence = (r'f16 cannot be trimmed at 180(\.0)? m/s and 5000 m: it does not last, as its '
                r'flight control system moves on: sideways \+0\.\d+ m/s2, roll \+')
    with pytest.raises(ValueError, match=sentence):
        trim_in_place(aircraft, 5000.0, 180.0, bank=math.radians(20.0))
    assert aircraft.state == before
    with pytest.raises(ValueError, match=sentence):
        in_steady_flight('f16', 5000.0, 180.0, bank=math.radians(20.0))
    trim_in_place(aircraft, 5000.0, 180.0)
    aircraft.advance(8.0)
    assert math.degrees(aircraft.state.phi) == pytest.approx(0.0, abs=0.1)


def test_what_cannot_be_trimmed_in_place_changes_nothing() -> None:
    aircraft = Aircraft('c172p')
    aircraft.advance(1.0)
    before = aircraft.state
    with pytest.raises(ValueError, match=r'c172p .* at 150\.0 m/s and 1500 m: .* forward -'):
        trim_in_place(aircraft, cas=150.0)
    assert aircraft.state == before


def test_the_command_prints_a_model_that_reads_back(
        capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['--model', 'T37', '--altitude-msl', '3000', '--airspeed', '110',
                 '--method', 'differences']) == 0
    text = capsys.readouterr().out
    content = json.loads(text)
    assert (content['model'], content['method']) == ('T37', 'differences')
    assert (content['altitude_msl'], content['airspeed']) == (
        pytest.approx(3000.0, abs=0.1), pytest.approx(110.0, abs=0.1))
    model = from_json(text)
    assert model.to_json() == text
    responses = model.responses(np.array([0.01, 1.0]), ['pitch_rate'], ['elevator'])
    assert responses.shape == (2, 1, 1)
    assert abs(responses[1, 0, 0]) > 0.0


@pytest.mark.parametrize(('arguments', 'sentence'), [
    (['--model', 'T37', '--airspeed', '300'], 'cannot be trimmed at 300 m/s'),
    (['--model', 'nothing', '--airspeed', '50'], 'nothing'),
    (['--model', 'SGS', '--airspeed', '30', '--method', 'jsbsim'], 'needs an engine'),
    (['--model', 'T37', '--altitude-msl', '3000', '--airspeed', '110', '--bank', '20', '--method',
      'jsbsim'], 'roll is 0.349'),
])
def test_what_the_command_cannot_do_it_says(
        arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert sentence in capsys.readouterr().err


def test_a_model_on_the_ground_is_refused() -> None:
    from xplane_bridge.simulation.aircraft.initial import Initial

    with pytest.raises(ValueError, match='on the ground'):
        linearize(make_spare(Aircraft(initial=Initial(parked=True))))


def test_a_file_that_is_no_model_is_refused_with_a_sentence() -> None:
    text = linearize(in_steady_flight('SGS', 1500.0, 30.0)[0]).to_json()
    for wrong, sentence in (
        ('no', 'not JSON'), ('[]', 'expected names'), ('{}', 'missing'),
        (json.dumps(json.loads(text) | {'B': [[1.0]]}), 'B must be 10 x 3'),
        (json.dumps(json.loads(text) | {'states': [{}]}), 'not a linear model'),
        (text.replace('altitude_msl', 'altitude'), 'altitude where it is now altitude_msl'),
        (text.replace(repr(math.nan), ''), None),
    ):
        if sentence is None:
            from_json(wrong)
            continue
        with pytest.raises(ValueError, match=sentence):
            from_json(wrong)
