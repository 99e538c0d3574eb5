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

"""The Navion of docs/tutorials/paper_aircraft.md: its modes, and a flight with its own gains."""

from dataclasses import replace
import importlib.util
import json
from pathlib import Path

from orders import flown
import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.laboratory.control import gains
from xplane_bridge.laboratory.flights.scenario.scenario import load
from xplane_bridge.simulation.aircraft.loading import parameter_file
from xplane_bridge.simulation.aircraft.studies.linearize import linearize
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight

ROOT = Path(__file__).resolve().parents[2]
AIRCRAFT = ROOT / 'xplane_bridge' / 'data' / 'aircraft'


def modes():
    specification = importlib.util.spec_from_file_location(
        'modes', ROOT / 'examples' / 'navion' / 'modes.py')
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    return script


def test_its_modes_are_the_textbooks():
    script = modes()
    book = script.modes(*script.matrices(0.0023769, 176.0))
    for name, value in script.PRINTED.items():
        # The spiral is a small difference, of rounded numbers.
        assert book[name] == pytest.approx(value, rel=0.07 if name == 'spiral' else 0.01), name
    spare, steady = in_steady_flight('navion', 1500.0, 53.64, aircraft_path=str(AIRCRAFT))
    model = json.loads(linearize(spare, 'differences').to_json())
    there = script.modes(*script.matrices(1.0581 / script.SLUG_FT3, 57.68 / script.FOOT))
    for name, value in script.of_model(model).items():
        assert value == pytest.approx(there[name], rel=0.02), name


def test_what_is_no_linear_model_is_refused(tmp_path, monkeypatch):
    empty = tmp_path / 'empty.json'
    empty.write_text('{}')
    for arguments in ([], ['no/such'], [str(empty)]):
        monkeypatch.setattr('sys.argv', ['modes.py', *arguments])
        with pytest.raises(SystemExit, match='usage: modes.py FILE'):
            modes().main()


def test_its_own_gains_fly_it_through_a_scenario():
    path = str(AIRCRAFT)
    assert parameter_file.find_file('navion', path) == AIRCRAFT / 'navion' / 'navion.yaml'
    assert parameter_file.find_file('navion') is None
    assert parameter_file.find_file('c172p', path).parent.name == 'gains'
    scenario = load(str(ROOT / 'xplane_bridge/data/scenarios/steps.yaml'))
    flight = flown(replace(scenario, initial={
        **scenario.initial, 'model': 'navion', 'aircraft_path': path}))
    assert flight.vehicle.law.gains == gains.load(AIRCRAFT / 'navion' / 'navion.yaml')
    assert [one for one in flight.result().judgements if not one.passed] == []
