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

"""Aircraft whose files have commands of their own: what they are, what they move, and who maps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import shutil

import light_aircraft
from placed import placed
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

import jsbsim

from xplane_bridge.common.controls import SURFACES
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.loading.control_effects import assigned, Effect, own_effects
from xplane_bridge.simulation.aircraft.loading.controls import as_line
from xplane_bridge.simulation.aircraft.model import Model
from xplane_bridge.simulation.aircraft.plant import Plant
from xplane_bridge.simulation.aircraft.sample import AIRFRAME_STATE
from xplane_bridge.simulation.aircraft.state import KNOT
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight
from xplane_bridge.simulation.aircraft.trim import trim

WING = str(light_aircraft.FOLDER)
START = Initial(altitude_msl=600.0, airspeed_kt=16.0 / KNOT)
LEFT, RIGHT = 'fcs/left-elevon-cmd-norm', 'fcs/right-elevon-cmd-norm'


@pytest.fixture
def unmapped(tmp_path: Path) -> Path:
    """Return a folder with the wing and the V-tail, without what says how they are moved."""
    for model in ('flying_wing', 'v_tail'):
        shutil.copytree(light_aircraft.FOLDER / model, tmp_path / model,
                        ignore=shutil.ignore_patterns('controls.yaml'))
    return tmp_path


def test_elevons_go_together_for_pitch_and_apart_for_roll():
    model = Model('flying_wing', 1.0 / 120.0, 0, WING)
    model.set('fcs/elevator-cmd-norm', -0.4)
    model.set('fcs/roll-trim-cmd-norm', 0.3)
    model.settle(1)
    assert (model.get(LEFT), model.get(RIGHT)) == pytest.approx((-0.1, -0.7))
    model.set('fcs/elevator-cmd-norm', -0.9)
    model.settle(1)
    assert (model.get(LEFT), model.get(RIGHT)) == pytest.approx((-0.6, -1.0))


@pytest.mark.parametrize(('model', 'pair', 'apart'), [
    ('flying_wing', 'elevon', 'aileron'), ('v_tail', 'ruddervator', 'rudder')])
def test_it_holds_its_trim_for_twenty_seconds_and_shows_both_surfaces(model, pair, apart):
    aircraft = Aircraft(model, START, aircraft_path=WING)
    start = aircraft.state
    # Trim wheels hold what servos are commanded.
    assert start.elevator == start.rudder == 0.0
    assert start.elevator_trim > 0.2
    assert start.rudder_trim == pytest.approx(0.0, abs=0.02)
    aircraft.step(2400)
    assert aircraft.state.altitude_msl == pytest.approx(600.0, abs=0.1)
    assert aircraft.state.tas == pytest.approx(start.tas, abs=0.02)
    aircraft.set_controls(elevator=0.2, **{apart: 0.3})
    aircraft.step(60)
    left, right = (aircraft.property_value(f'fcs/{side}-{pair}-pos-rad')
                   for side in ('left', 'right'))
    shown = dict(zip(AIRFRAME_STATE, aircraft.sampler.airframe(), strict=False))
    for name, expected in (('elevator', -0.5 * (left + right)), (apart, 0.5 * (left - right))):
        assert expected > 0.1
        assert getattr(aircraft.state, f'{name}_deflection') == pytest.approx(expected)
        assert shown[f'{name}_deflection'] == pytest.approx(expected)


@pytest.mark.parametrize('model', ['flying_wing', 'v_tail'])
def test_what_is_not_mapped_is_found_and_flown_as_the_file_says(unmapped, model):
    found = placed(model, 600.0, 16.0, str(unmapped))
    mapped = placed(model, 600.0, 16.0, WING)
    assert found.controls == mapped.controls != {}
    assert trim(found) == trim(mapped)


def test_what_is_ambiguous_is_told_with_a_mapping_that_works(unmapped):
    file = unmapped / 'flying_wing' / 'flying_wing.xml'
    file.write_text(file.read_text().replace('<max>0.5</max>', '<max>0.4</max>', 1).replace(
        '<min>-0.5</min>', '<min>-0.4</min>', 1))
    with pytest.raises(ValueError, match=(
            'moves nothing: elevator, aileron, rudder; its file has commands of its own: .*'
            'left-elevon-cmd-norm moves roll .*, pitch -.*write controls.yaml beside it')) as why:
        in_steady_flight('flying_wing', 600.0, 16.0, aircraft_path=str(unmapped))
    proposed = str(why.value).partition('such as ')[2]
    (unmapped / 'flying_wing' / 'controls.yaml').write_text(proposed)
    in_steady_flight('flying_wing', 600.0, 16.0, aircraft_path=str(unmapped))


@pytest.mark.parametrize('model', ['c172p', '737', 'SGS', 'T37', 'f15'])
def test_commands_of_unknown_names_are_found_as_their_names_said(tmp_path, model):
    place = tmp_path / model
    shutil.copytree(Path(jsbsim.get_default_root_dir()) / 'aircraft' / model, place)
    servos = {f'fcs/{name}-cmd-norm': f'servo/ch[{n}]' for n, name in enumerate(SURFACES)}
    declared = ''.join(f'<property value="0">{servo}</property>' for servo in servos.values())
    for file in place.rglob('*.xml'):
        text = file.read_text()
        for name, servo in servos.items():
            text = text.replace(name, servo)
        file.write_text(text.replace(
            '<flight_control', f'<system name="servos">{declared}</system><flight_control', 1))
    assert Model(model, 1.0 / 120.0, 0, str(tmp_path)).controls == {
        'elevator': {'servo/ch[0]': -1.0}, 'aileron': {'servo/ch[1]': 1.0},
        'rudder': {'servo/ch[2]': -1.0}}


def test_a_file_that_is_named_takes_the_place_of_that_beside_the_aircraft(tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text(f'controls: {{elevator: {{{LEFT}: -1, {RIGHT}: -1}}, '
                    f'aileron: {{{LEFT}: -1, {RIGHT}: 1}}}}')
    aircraft = Aircraft('flying_wing', replace(START, controls=str(file)), aircraft_path=WING)
    aircraft.set_controls(aileron=0.3)
    aircraft.step(12)
    assert aircraft.state.p < -0.1
    file.unlink()
    with pytest.raises(ValueError, match=f'controls: there is no file {file}'):
        aircraft.reset()


def test_a_motor_and_servos_by_number_are_found_too(tmp_path):
    path = light_aircraft.write(tmp_path, changes={
        '<input>fcs/elevator-cmd-norm</input>': '<input>servo/ch[1]</input>',
        '</flight_control>': """<property value="0">servo/ch[1]</property>
          <property value="0">servo/ch[2]</property><channel name="Motor">
          <pure_gain name="fcs/esc"><input>servo/ch[2]</input><gain>1.0</gain>
          <output>fcs/throttle-pos-norm[0]</output></pure_gain></channel></flight_control>"""})
    spare, found = in_steady_flight('electric_trainer', 600.0, 17.0, aircraft_path=path)
    assert 0.3 < found.throttle < 0.9
    assert spare.model().controls == {
        'elevator': {'servo/ch[1]': -1.0}, 'throttle': {'servo/ch[2]': 1.0}}


def test_commands_are_told_from_what_a_file_computes_and_jsbsim_knows(unmapped):
    file = unmapped / 'flying_wing' / 'flying_wing.xml'
    file.write_text(file.read_text().replace('<channel name="Left">', """<channel name="More">
      <summer name="Sum of all"><input>-aero/alpha-rad</input><input>payload/drop-cmd</input>
      <input>fcs/elevator-cmd-norm</input><output>payload/sum</output></summer>
      <pure_gain name="fcs/gain"><input>payload/sum</input><gain>2</gain></pure_gain>
      <pure_gain name="fcs/again"><input>fcs/sum-of-all</input><gain>2</gain></pure_gain>
      </channel><property value="0.0">payload/drop-cmd</property><channel name="Left">"""))
    found = own_effects(placed('flying_wing', 600.0, 16.0, str(unmapped), None))
    assert {*found} == {LEFT, RIGHT, 'payload/drop-cmd'}
    assert not found['payload/drop-cmd'].moves_something


@pytest.mark.parametrize(('found', 'mixing', 'doubtful'), [
    ({'left': Effect(0.0, 20.0, -19.0, -0.3), 'right': Effect(0.0, -20.0, -19.0, 0.3)},
     'controls: {aileron: {left: 1, right: -1}, elevator: {left: -1, right: -1}}', set()),
    # A V-tail rolls a little too, and its ailerons yaw.
    ({'tail-left': Effect(0.1, -4.0, -40.0, 9.0), 'tail-right': Effect(0.1, 4.0, -40.0, -9.0),
      'ailerons': Effect(0.0, 60.0, 0.0, -3.0), 'motor': Effect(8.0, 0.5, 0.1, 0.0)},
     'controls: {aileron: {ailerons: 1}, elevator: {tail-left: -1, tail-right: -1}, '
     'rudder: {tail-left: 1, tail-right: -1}, throttle: {motor: 1}}', set()),
    ({'left': Effect(0.0, 20.0, -19.0, 0.0), 'right': Effect(0.0, -15.0, -14.0, 0.0)},
     'controls: {aileron: {left: 1, right: -1}, elevator: {left: -1, right: -1}}',
     {'aileron', 'elevator'}),
    # The second yaws nearly as much as the third.
    ({'a': Effect(0.0, 0.0, -30.0, 0.0), 'b': Effect(0.0, 4.0, 0.0, -2.9),
      'c': Effect(0.0, 0.1, 0.0, -3.0)},
     'controls: {aileron: {b: 1}, elevator: {a: -1}, rudder: {c: -1}}', {'aileron', 'rudder'}),
    ({'stick': Effect(0.0, 0.0, -1.68, 0.0), 'take-off': Effect(0.0, 0.0, 1.68, 0.0),
      'b': Effect(0.0, 4.0, 0.0, 0.0)},
     'controls: {aileron: {b: 1}, elevator: {stick: -1, take-off: 1}}', {'elevator'}),
    # Half as much is no other half, and a tenth is left out.
    ({'a': Effect(0.0, 0.0, -4.0, 0.0), 'flap': Effect(0.0, 0.0, -2.0, 0.0),
      'b': Effect(0.0, 4.0, 0.0, 0.0), 'tab': Effect(0.0, 0.4, 0.0, 0.0)},
     'controls: {aileron: {b: 1}, elevator: {a: -1, flap: -1}}', {'elevator'}),
    ({'motor': Effect(8.0, 0.5, 0.0, 0.0), 'boost': Effect(4.0, 0.5, 0.0, 0.0)},
     'controls: {throttle: {motor: 1, boost: 1}}', {'throttle'}),
], ids=['elevons', 'V-tail', 'uneven', 'adverse yaw', 'against each other', 'unlike', 'motors'])
def test_controls_move_the_commands_of_their_axis_and_doubts_are_known(found, mixing, doubtful):
    assert (as_line(assigned(found)[0]), assigned(found)[1]) == (mixing, doubtful)


@pytest.mark.parametrize(('text', 'sentence'), [
    ('controls: {elevators: {fcs/a: 1}}', 'unknown name .*elevators.*did you mean elevator'),
    ('controls: {elevator: {fcs/a: 2}}', 'controls.elevator.fcs/a: expected .*1.*got 2'),
    ('controls: {elevator: {}}', 'controls.elevator: expected 1 to 32 commands, got 0'),
    ('controls: {elevator: {"a b": 1}}', 'expected properties of JSBSim, such as .*got .*a b'),
    ('controls: {elevator: {fcs/rudder-cmd-norm: 1}}', 'expected commands of its own'),
    ('elevator: {fcs/a: 1}', 'unknown name .*elevator.*expected controls'),
])
def test_a_mistake_in_the_file_is_one_sentence_with_its_place(unmapped, text, sentence):
    (unmapped / 'flying_wing' / 'controls.yaml').write_text(text)
    with pytest.raises(ValueError, match=rf'controls\.yaml: .*{sentence}'):
        Model('flying_wing', 1.0 / 120.0, 0, str(unmapped))


def test_another_mapping_is_another_aircraft(unmapped):
    file = unmapped / 'flying_wing' / 'controls.yaml'
    file.write_text((light_aircraft.FOLDER / 'flying_wing' / 'controls.yaml').read_text())
    first = Model('flying_wing', 1.0 / 120.0, 0, str(unmapped))
    assert first.origin.is_current
    file.write_text(file.read_text() + '\n')
    assert not first.origin.is_current


def test_the_actuators_of_a_plant_delay_elevons_too():
    def pitching(plant: Plant) -> float:
        aircraft = Aircraft('flying_wing', Initial(
            altitude_msl=600.0, airspeed_kt=START.airspeed_kt, plant=plant), aircraft_path=WING)
        aircraft.set_controls(elevator=0.5)
        aircraft.step(12)
        return aircraft.state.q
    assert pitching(Plant()) > 0.3
    assert abs(pitching(Plant(actuator_delay=0.2))) < 0.01
