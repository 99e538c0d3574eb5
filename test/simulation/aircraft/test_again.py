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

"""An aircraft that is flown again is as one that was just loaded and trimmed, to the last bit."""

from dataclasses import replace
from pathlib import Path
import random

import pytest

jsbsim = pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.simulation.aircraft import model_pool, trims  # noqa: E402
from xplane_bridge.simulation.aircraft.aircraft import Aircraft  # noqa: E402
from xplane_bridge.simulation.aircraft.initial import Initial  # noqa: E402
from xplane_bridge.simulation.aircraft.model_pool import ModelSpec  # noqa: E402
from xplane_bridge.simulation.aircraft.trims import TrimCondition  # noqa: E402

DT = 1.0 / 120.0
INITIALS = {
    'c172p': Initial(altitude_msl=1200.0, airspeed_kt=95.0),
    'T37': Initial(lat_deg=-33.0, lon_deg=151.0, heading_deg=321.0, airspeed_kt=200.0),
    '737': Initial(altitude_msl=3000.0), 'c310': Initial(airspeed_kt=135.0),
    'f16': Initial(altitude_msl=3000.0),
    'SGS': Initial(airspeed_kt=48.6), 'x24b': Initial(parked=True)}


@pytest.fixture(autouse=True)
def nothing_kept():
    """Forget what other tests have left."""
    model_pool._kept.clear()
    trims._known.clear()


def values(aircraft):
    """Return all properties of JSBSim but those of the process, as text."""
    names = aircraft.properties.names()
    return [
        f'{name} {value.hex()}'
        for name, value in zip(names, aircraft.properties.read(names), strict=True)
        # SGS says nothing of its side friction, and JSBSim has what its memory contained.
        if not name.startswith('simulation/') and 'side_friction' not in name]


def flown(aircraft, seed=3):
    """Return properties and states of a flight in weather, with an engine that fails."""
    random_numbers = random.Random(seed)
    answers = [values(aircraft)]
    aircraft.set_wind(3.0, -4.0, 1.0)
    aircraft.set_turbulence(15.0, 4)
    for part in range(6):
        aircraft.fly_by(
            *(random_numbers.uniform(-0.1, 0.1) for _ in range(3)),
            random_numbers.uniform(0.4, 0.9))
        if part == 3 and aircraft.engine_count:
            aircraft.fail_engine(0)
        aircraft.step(40)
        answers.append(str(aircraft.state))
    return answers, values(aircraft)


def in_disorder(aircraft, seed):
    """Fly an aircraft so that as much as possible of it is not as it was."""
    number = random.Random(seed).uniform
    aircraft.set_turbulence(number(5.0, 20.0), 6)
    aircraft.set_wind(number(-9.0, 9.0), number(-9.0, 9.0), 2.0)
    aircraft.set_controls(
        elevator=0.1, aileron=-0.2, rudder=0.3, throttle=number(0.0, 1.0), flaps=0.7, gear=1.0,
        speedbrake=1.0, parking_brake=1.0, mixture=0.4, propeller=0.3, elevator_trim=0.2,
        aileron_trim=-0.1, rudder_trim=0.3)
    for tank in range(aircraft.tank_count):
        aircraft.set_fuel(tank, number(0.0, 30.0))
    aircraft.advance(number(0.5, 2.0))
    aircraft.teleport(lat_deg=10.0, lon_deg=-70.0, altitude_msl=5000.0, roll_deg=60.0)
    aircraft.fail_engine()
    aircraft.advance(1.0)


@pytest.mark.parametrize('model', INITIALS)
def test_a_flight_is_the_same_whatever_the_model_flew_before(model):
    initial = INITIALS[model]
    wanted = flown(Aircraft(model, initial, seed=5))
    for seed in (1, 2):
        # Another place and seed: what is found for them is of no use here.
        before = Aircraft(model, replace(initial, lat_deg=20.0), seed=9)
        in_disorder(before, seed)
        before.retire()
        again = Aircraft(model, initial, seed=5)
        assert flown(again) == wanted
        in_disorder(again, seed)
        again.reset()
        assert flown(again) == wanted


def test_what_was_kept_is_flown_and_is_not_loaded_again(monkeypatch):
    aircraft = Aircraft()
    model = aircraft._model
    monkeypatch.setattr(model_pool, 'Model', None)
    aircraft.advance(1.0)
    aircraft.reset()
    assert aircraft._model is model
    aircraft.retire()
    assert Aircraft()._model is model


def test_a_rocket_keeps_its_impulse_so_another_one_is_loaded():
    aircraft = Aircraft('x24b', Initial(parked=True))
    aircraft.set_controls(throttle=1.0)
    aircraft.advance(1.0)
    assert not aircraft._model.renew(0)
    assert ModelSpec('c172p', DT).load(0).renew(0)


def test_a_model_whose_properties_were_written_is_not_kept():
    aircraft = Aircraft()
    kept = len(model_pool._kept)
    aircraft.set_properties({'inertia/pointmass-weight-lbs[0]': 300.0})
    aircraft.retire()
    assert len(model_pool._kept) == kept


def test_a_retired_aircraft_has_its_last_state_and_flies_no_more():
    aircraft = Aircraft()
    aircraft.advance(1.0)
    last = aircraft.state
    aircraft.retire()
    assert aircraft.state is last
    with pytest.raises(AttributeError):
        aircraft.advance(1.0)


@pytest.mark.parametrize('part', ['own/own.xml', 'engine/eng_io320.xml'])
def test_changed_files_are_loaded_and_trimmed_anew(tmp_path, part):
    root = Path(jsbsim.get_default_root_dir())
    for folder, names in (('engine', ('eng_io320', 'prop_75in2f')), ('own', ())):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / f'{name}.xml').write_text(
                (root / folder / f'{name}.xml').read_text())
    (tmp_path / 'own' / 'own.xml').write_text(
        (root / 'aircraft' / 'c172p' / 'c172p.xml').read_text())
    aircraft = Aircraft('own', aircraft_path=str(tmp_path))
    throttle = aircraft.state.engines[0].throttle
    file = tmp_path / part
    changed = file.read_text().replace('<emptywt unit="LBS"> 1500 ', '<emptywt unit="LBS"> 1900 ')
    changed = changed.replace('<displacement unit="IN3"> 320.0', '<displacement unit="IN3"> 420.0')
    assert changed != file.read_text()
    file.write_text(changed)
    aircraft.reset()
    assert abs(aircraft.state.engines[0].throttle - throttle) > 0.01


def test_no_more_trims_and_models_are_kept_than_are_stated(monkeypatch):
    monkeypatch.setattr(trims, '_MOST_KEPT', 2)
    for altitude in (1000.0, 1100.0, 1200.0):
        Aircraft(initial=Initial(altitude_msl=altitude)).retire()
    assert [wanted.at[2] for wanted in trims._known] == [1100.0, 1200.0]
    kinds = [ModelSpec('c172p', 1.0 / rate) for rate in range(100, 111)]
    model = kinds[0].load(0)
    for kind in kinds:
        kind.keep(model)
    assert [kind for kind, _ in model_pool._kept] == kinds[-8:]
    assert isinstance(next(iter(trims._known)), TrimCondition)


def test_after_a_reset_that_cannot_be_trimmed_the_next_one_can():
    aircraft = Aircraft()
    begun, possible = aircraft.state, aircraft.initial
    aircraft.initial = replace(possible, airspeed_kt=15.0)
    with pytest.raises(ValueError, match='trim'):
        aircraft.reset()
    aircraft.initial = possible
    aircraft.reset()
    assert aircraft.state == begun
