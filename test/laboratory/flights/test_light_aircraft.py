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

"""Light aircraft of this package, flown by the gains that tune has found for them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
import json
import re
import shutil

import light_aircraft
from orders import flown
import pytest
from sick_aircraft import write

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('gymnasium', reason='episodes need gymnasium')

import gymnasium

from xplane_bridge.commands import experiment, linearize, tune
from xplane_bridge.laboratory.campaigns import campaign
from xplane_bridge.laboratory.campaigns.plan import plan as plans
from xplane_bridge.laboratory.episodes import ID
from xplane_bridge.laboratory.episodes.environment import FlightEnv
from xplane_bridge.laboratory.episodes.vector import FlightVectorEnv
from xplane_bridge.laboratory.flights.flight import Flight
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.refusals import OrderError
from xplane_bridge.laboratory.flights.scenario.contents import find_aircraft_files
from xplane_bridge.laboratory.flights.scenario.scenario import find, load, parse
from xplane_bridge.laboratory.flights.scenario.start import apply_start, Start
from xplane_bridge.laboratory.open_flight import open_flight
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.studies.physics_rate import remarks

FOLDER = str(light_aircraft.FOLDER)
LIGHT = ('electric_trainer', 'flying_wing', 'v_tail')
THERE = ['--aircraft-path', FOLDER, '--altitude-msl', '600', '--airspeed', '16']


@pytest.mark.parametrize(('model', 'rounding'), [
    *((model, '') for model in LIGHT), ('v_tail', 'xpc'), ('electric_trainer', 'xplane12'),
    ('flying_wing', 'xplane6'), ('electric_trainer', 'fdmdata')])
def test_steps_of_altitude_heading_and_airspeed_are_met(model, rounding):
    scenario = load(find('steps_light'))
    flight = flown(replace(
        scenario, initial={**scenario.initial, 'model': model, 'aircraft_path': FOLDER}),
        rounding=rounding)
    assert [one for one in flight.result().judgements if not one.passed] == []
    assert len(flight.result().judgements) == 7


def met(scenario, model):
    """Return the criteria of a flight in core that were missed, and how many there are."""
    flight = flown(scenario.with_initial({'model': model, 'aircraft_path': FOLDER}))
    judgements = flight.result().judgements
    return [one for one in judgements if not one.passed], len(judgements)


@pytest.mark.parametrize('turbulence', [None, (7.6, 1.0)])
def test_the_trainer_flies_from_runway_to_runway(turbulence):
    assert met(apply_start(load(find('circuit_light')), Start(turbulence=turbulence)),
               'electric_trainer') == ([], 8)


@pytest.mark.parametrize('model', ['flying_wing', 'v_tail'])
def test_what_has_no_wheels_is_thrown_and_slides_to_rest(model):
    scenario = load(find('hand_launch'))
    assert met(scenario, model) == ([], 5)
    # Onto a target far below the ground it strikes that.
    hard = flown(replace(scenario, events=tuple(
        replace(event, value={'altitude': -90.0}) if event.at == 20.0 else event
        for event in scenario.events)).with_initial({'model': model, 'aircraft_path': FOLDER}))
    assert 'struck the ground with' in hard.crash_outcome


def episodes(**given):
    return gymnasium.make(ID, scenario='steps_light', level='target', frames_per_step=60, **given)


@pytest.mark.parametrize('model', LIGHT)
def test_each_flies_as_episodes_by_name_and_folder(model):
    env, own = episodes(model=model, aircraft_path=FOLDER), load(find('steps_light'))
    observed = dict(zip(env.unwrapped.fields, env.reset(seed=1)[0], strict=True))
    assert observed['fix.altitude'] == pytest.approx(600.0, abs=2.0)
    action = [600.0, 0.0, 17.0]
    told = [env.step(action)[:2] for _ in range(5)][-1]
    by_scenario = FlightEnv(
        own.with_initial({'model': model, 'aircraft_path': FOLDER}), level='target',
        frames_per_step=60)
    by_scenario.reset(seed=1)
    expected = [by_scenario.step(action)[:2] for _ in range(5)][-1]
    assert told[0].tobytes() == expected[0].tobytes()
    assert told[1] == expected[1] > 0.3


@pytest.mark.parametrize(('given', 'sentence'), [
    ({'aircraft_path': FOLDER}, 'there is neither c172p/c172p.xml nor'),
    ({'model': 'v_tails', 'aircraft_path': FOLDER}, 'there is neither v_tails/.*it has v_tail'),
    ({'model': 'v_tail'}, 'no gains are known for v_tail'),
    ({'model': 'v_tail', 'aircraft_path': f'{FOLDER}/none'}, 'none is not a folder')])
def test_an_aircraft_that_is_not_there_is_refused_before_an_episode_begins(given, sentence):
    for make in (episodes, partial(FlightVectorEnv, scenario='steps_light', level='target')):
        with pytest.raises(ValueError, match=sentence):
            make(**given)


def test_a_file_of_controls_is_an_option_and_part_of_what_a_campaign_flies():
    with pytest.raises(OrderError, match='controls: there is no file .*mine.yaml'):
        experiment.outputs(['--sim', 'core', '--scenario', 'steps_light', '--model', 'flying_wing',
                            '--aircraft-path', FOLDER, '--controls', 'mine.yaml'])
    files = find_aircraft_files('flying_wing', FOLDER)
    assert files['controls.yaml'] == light_aircraft.FOLDER / 'flying_wing' / 'controls.yaml'
    named = find_aircraft_files('flying_wing', FOLDER, str(files['flying_wing.xml']))
    assert named['controls.yaml'] == files['flying_wing.xml']


def test_more_steps_and_controls_that_were_found_are_said_once_before_it_flies(tmp_path, capsys):
    start, path = Initial(airspeed_kt=104.0), write(tmp_path)
    said = ('sick is computed 960 times per second, which takes up to 8 times as long as 120: its '
            'fastest mode has ')
    assert [line.startswith(said) for line in remarks('sick', start, path)] == [True]
    assert remarks('sick', start, path, 1200) == remarks('c172p', start) == []
    assert remarks('ill', start, path) == []
    shutil.copytree(light_aircraft.FOLDER / 'flying_wing', tmp_path / 'flying_wing',
                    ignore=shutil.ignore_patterns('controls.yaml'))
    found = ('flying_wing has no controls.yaml: it is moved by what was found, controls: {'
             'aileron: {fcs/left-elevon-cmd-norm: 1, fcs/right-elevon-cmd-norm: -1}, elevator: ')
    line, = remarks('flying_wing', Initial(altitude_msl=600.0, airspeed_kt=31.0), path)
    assert line.startswith(found)
    file = tmp_path / 'plan.json'
    file.write_text(json.dumps({
        'scenarios': ['steps_light'], 'simulators': ['core'], 'seeds': [1],
        'aircraft': [{'model': 'flying_wing', 'aircraft_path': path}]}))
    assert campaign.remarks(plans.load(str(file))) == [line]
    assert tune.main(['--model', 'flying_wing', *THERE, '--aircraft-path', path]) == 0
    assert capsys.readouterr().out.count(line) == 1
    with pytest.warns(UserWarning, match=re.escape(found)):
        FlightEnv('steps_light', model='flying_wing', aircraft_path=path)


def test_a_rudder_that_moves_nothing_is_refused_only_where_it_is_needed():
    def start(axis: str) -> Flight:
        flight = open_flight(Order(parse('inputs', {
            'duration': 3.0,
            'initial': {'model': 'flying_wing', 'aircraft_path': FOLDER, 'altitude': 600.0,
                        'airspeed': 16.0},
            'events': [{'at': 0.5, 'doublet': {'axis': axis, 'amplitude': 0.1}, 'for': 1.0}],
            'criteria': [{'quantity': 'roll', 'statistic': 'max_abs', 'at_most': 1.0}]})))
        flight.start()
        return flight
    assert str(start('rudder').error) == (
        'scenario inputs moves the rudder by test inputs, which moves nothing of flying_wing')
    assert start('aileron').error is None


def test_commands_say_what_moves_what_and_tune_without_a_rudder(capsys):
    assert linearize.main(['--model', 'flying_wing', *THERE]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith('elevator moves pitch +3')
    assert said[0].endswith('by fcs/left-elevon-cmd-norm -1, fcs/right-elevon-cmd-norm -1')
    assert said[2] == 'rudder moves nothing'
    assert tune.main(['--model', 'flying_wing', *THERE]) == 0
    assert 'no yaw damper: the rudder moves nothing' in capsys.readouterr().out
