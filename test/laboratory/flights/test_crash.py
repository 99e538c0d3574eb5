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


"""A flight that its airframe ended: its state, its verdict, its report; none of it is met."""

from dataclasses import replace
import json
import math

from orders import flown
import pytest
from sick_aircraft import write

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.commands import experiment as command
from xplane_bridge.laboratory.flights.flight import FlightState
from xplane_bridge.laboratory.flights.order import FlownBy, Order
from xplane_bridge.laboratory.flights.scenario.scenario import parse, ScenarioError
from xplane_bridge.laboratory.identification.motion.signals import IdentificationError
from xplane_bridge.laboratory.identification.reading.core import read_core
from xplane_bridge.laboratory.open_flight import open_flight
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore

DIVE = {
    'duration': 40.0,
    'initial': {'altitude': 800.0, 'heading_deg': 90.0, 'airspeed': 51.444},
    'events': [{'at': 1.0, 'controls': {'elevator': -0.6, 'throttle': 0.7}, 'for': 39.0}],
    'criteria': [
        {'quantity': 'airspeed', 'statistic': 'max', 'at_most': 500.0},
        {'quantity': 'airspeed', 'statistic': 'max', 'to': 5.0, 'at_most': 500.0},
        {'quantity': 'roll_deg', 'statistic': 'max_abs', 'to': 4.0, 'at_most': 0.001},
        {'quantity': 'airspeed', 'statistic': 'max', 'from': 5.0, 'to': 20.0, 'at_most': 500.0},
        {'quantity': 'airspeed', 'statistic': 'max', 'from': 20.0, 'at_most': 500.0},
        {'figure': 'airframe.exceedances', 'at_most': 0}]}


@pytest.fixture(scope='module')
def dive():
    return flown(parse('dive', DIVE))


def sick(path, **given):
    return parse('sick', {
        'duration': 5.0, 'initial': {
            'airspeed': 53.6, 'altitude': 1500.0, 'model': 'sick', 'aircraft_path': write(path)},
        'events': [{'at': 0.1, 'controls': {'elevator': 0.1}, 'for': 1.0}],
        'criteria': [{'quantity': 'airspeed', 'statistic': 'max', 'at_most': 500.0}], **given})


def test_it_is_not_flown_on(dive):
    assert dive.state is FlightState.CRASHED
    assert dive.crash.at == dive.flown == pytest.approx(8.4, abs=0.05)
    assert (dive.error, dive.fault, dive.why) == (None, None, '')
    with pytest.raises(ValueError, match='the flight is crashed, expected ready'):
        dive.step()
    times, heights = dive.history().series['altitude']
    assert dive.flown - 2.0 / 60.0 < times[-1] <= dive.flown
    # The last of it is where it struck, not where a wreck was put.
    assert dive.vehicle.state.time == pytest.approx(dive.flown, abs=1.0 / 60.0)
    assert (heights[1:] - heights[:-1]).max() < 1.0
    dive.close()
    assert (dive.state, dive.crash.at) == (FlightState.CLOSED, dive.flown)


def test_what_was_after_it_is_not_reached_and_never_met(dive):
    whole, before, missed, across, after, figure = dive.result().judgements
    assert [one.reached for one in (whole, before, missed, across, after, figure)] == [
        False, True, True, False, False, False]
    assert [one.passed for one in (whole, before, missed, across, after, figure)] == [
        False, True, False, False, False, False]
    assert str(whole).endswith('at most 500: not reached; until the crash '
                               f'{whole.value:.4g}')
    assert str(before).endswith(f'{before.value:.4g}')
    assert whole.value == across.value > before.value
    assert math.isnan(after.value)
    assert str(after) == 'max of airspeed from 20 s at most 500: not reached'
    assert dive.result().figures['airframe']['crashes'] == 1


def test_a_step_after_it_is_not_reached():
    flight = flown(parse('late', {
        **DIVE, 'events': [
            {'at': 1.0, 'controls': {'elevator': -0.6, 'throttle': 0.7}, 'for': 20.0},
            {'at': 39.0, 'engage': True},
            {'at': 39.1, 'change': {'altitude': 10.0}, 'expect': {
                'until': 40.0, 'band': 5.0, 'settling': 0.5, 'overshoot': 0.1}}],
        'criteria': [{'figure': 'tracking.altitude.rms', 'at_most': 100.0}]}))
    judged, tracking = flight.result().judgements
    assert (judged.passed, judged.reached) == (False, False)
    assert str(judged).endswith('is flown: not reached')
    # Nor is a figure that there would have been.
    assert (tracking.passed, tracking.reached) == (False, False)
    assert str(tracking) == 'tracking.altitude.rms at most 100: not reached'


@pytest.mark.parametrize('rounding', ['xpc', 'xplane9', 'fdmdata'])
def test_it_ends_behind_a_protocol_too(rounding, dive):
    flight = flown(parse('dive', DIVE), rounding=rounding)
    assert flight.state is FlightState.CRASHED
    assert flight.crash.kind == dive.crash.kind
    assert flight.flown == pytest.approx(dive.flown, abs=0.2)


def test_simulated_peers_say_it_by_x_planes_dataref():
    aircraft = Aircraft(initial=Initial(altitude_msl=520.0))
    world = World(aircraft)
    stores = [DatarefStore(world, version) for version in (10, 11, 12)]

    def told():
        return {store.read('sim/flightmodel2/misc/has_crashed').values for store in stores}

    assert DatarefStore(world, 9).read('sim/flightmodel2/misc/has_crashed') is None
    aircraft.set_controls(elevator=-1.0)
    assert told() == {(0,)}
    for _ in range(600):
        world.advance(1.0 / 60.0)
    assert told() == {(1,)}
    assert aircraft.state.ground_speed < 0.5
    world.reset_flight()
    assert told() == {(0,)}


def test_it_ends_while_somebody_gives_the_actions(dive):
    scenario = parse('dive', {**DIVE, 'events': [{'at': 0.0, 'engage': True}]})
    flight = open_flight(Order(scenario, flown_by=FlownBy(actions='controls')))
    with flight:
        flight.start()
        # Many frames at once: those after it are not flown.
        assert flight.step((-0.6, 0.0, 0.0, 0.7), 600) is FlightState.CRASHED
        assert 6.0 < flight.flown < 9.0
        assert len(flight.history().series['altitude'].times) == math.ceil(
            flight.flown * 60.0 - 1e-6)


def test_one_that_crashes_before_anybody_is_engaged_has_crashed():
    scenario = parse('dive', {**DIVE, 'events': [
        {'at': 1.0, 'controls': {'elevator': -0.6}, 'for': 20.0}, {'at': 39.0, 'engage': True}]})
    flight = open_flight(Order(scenario, flown_by=FlownBy(actions='attitude')))
    with flight:
        assert flight.start() is FlightState.CRASHED


def test_what_diverges_is_told_with_what_diverged(tmp_path):
    flight = flown(sick(tmp_path, physics_rate=120))
    assert flight.state is FlightState.CRASHED
    assert flight.crash.outcome.startswith('crashed at 0.')
    assert 'diverged: its pitch rate was ' in flight.crash.outcome
    assert flight.crash.outcome.endswith(
        'needs 960 steps per second instead of 120: physics_rate')
    assert not any(judgement.passed for judgement in flight.result().judgements)
    for name, (_, values) in flight.history().series.items():
        assert all(map(math.isfinite, values)), name


@pytest.mark.parametrize('given', [{}, {'physics_rate': 1200}])
def test_with_enough_steps_it_flies(tmp_path, capsys, given):
    # By default they are chosen by the model, and said once.
    file = tmp_path / 'sick.json'
    file.write_text(json.dumps({
        'duration': 2.0, 'initial': {
            'airspeed': 53.6, 'altitude': 1500.0, 'model': 'sick',
            'aircraft_path': write(tmp_path)},
        'events': [{'at': 0.1, 'controls': {'elevator': 0.1}, 'for': 1.0}],
        'criteria': [{'quantity': 'airspeed', 'statistic': 'max', 'at_most': 500.0}], **given}))
    arguments = ['--sim', 'core', '--scenario', str(file), '--no-picture', '--force', '--output',
                 str(tmp_path / 'flight')]
    assert command.main(arguments) == 0
    said = capsys.readouterr().out
    assert said.count('sick is computed 960 times per second, which takes up to 8 times as long '
                      'as 120: its fastest mode has') == (not given)
    found = json.loads((tmp_path / 'flight.json').read_text())
    assert found['figures']['airframe']['physics_rate'] == given.get('physics_rate', 960)
    # What the command line says counts.
    assert command.main([*arguments, '--physics-rate', '120']) == 1
    assert 'diverged: ' in capsys.readouterr().out.splitlines()[-1]
    assert command.main([*arguments, '--physics-rate', '100']) == 2
    assert 'physics_rate: got 100, expected a multiple of 60 in 60..1200' in (
        capsys.readouterr().err)


def test_a_bad_rate_in_a_scenario_is_refused():
    with pytest.raises(ScenarioError, match='physics_rate: expected a multiple of 60'):
        parse('dive', {**DIVE, 'physics_rate': 130})


def test_a_crash_may_be_expected(dive):
    expected = parse('dive', {**DIVE, 'expect_crash': True})
    flight = flown(expected)
    assert flight.state is FlightState.CRASHED
    crashed, whole, before, _, across, after, figure = flight.result().judgements
    assert str(crashed) == 'ends by a crash: 8.4 s'
    assert all(one.passed for one in (crashed, whole, before, figure))
    assert [(one.passed, one.reached) for one in (across, after)] == [(False, False)] * 2
    # And one that does not come is missed.
    level = flown(replace(expected, events=(), duration=2.0, criteria=()))
    assert level.state is FlightState.OVER
    judged, = level.result().judgements
    assert (str(judged), judged.passed) == ('ends by a crash: never', False)


def test_no_model_is_identified_of_a_flight_that_crashed():
    with pytest.raises(IdentificationError, match='dive: it crashed at 8.4 s: struck the ground'):
        read_core(open_flight(Order(parse('dive', DIVE))))


def test_a_scenario_may_be_about_its_crash_alone():
    assert parse('dive', {**DIVE, 'criteria': [], 'expect_crash': True}).expect_crash
    with pytest.raises(ScenarioError, match='expect_crash: expected true or false'):
        parse('dive', {**DIVE, 'expect_crash': 'yes please'})


def test_what_a_file_of_gains_says_of_the_airframe_is_kept(tmp_path):
    path = write(tmp_path, inertia=3000.0)
    gains = tmp_path / 'sick' / 'sick.yaml'
    gains.write_text(gains.read_text() + (
        '    airframe:\n      never_exceed_speed: 60.0\n      load_factor_high: 1.1\n'))
    scenario = parse('fast', {
        'duration': 14.0, 'initial': {
            'airspeed': 53.6, 'altitude': 1500.0, 'model': 'sick', 'aircraft_path': path},
        'events': [{'at': 0.5, 'controls': {'elevator': -0.15}, 'for': 8.0},
                   {'at': 9.0, 'controls': {'elevator': 0.2}, 'for': 3.0}],
        'criteria': [{'figure': 'airframe.exceedances', 'at_most': 0},
                     {'figure': 'airframe.never_exceed_speed', 'at_most': 100.0},
                     {'figure': 'airframe.load_factor_low', 'at_most': 100.0}]})
    flight = flown(scenario)
    assert flight.state is FlightState.OVER
    exceeded, speed, low = flight.result().judgements
    assert (exceeded.value, exceeded.passed) == (2.0, False)
    assert 60.0 < speed.value < 100.0
    # Nobody knows a limit of it.
    assert math.isnan(low.value)
    assert not low.passed


# The command.


def test_the_report_says_so_and_exits_with_1(tmp_path, capsys):
    file = tmp_path / 'dive.json'
    file.write_text(json.dumps(DIVE))
    output = tmp_path / 'flight'
    assert command.main(['--sim', 'core', '--scenario', str(file), '--output', str(output),
                         '--record', 'parquet', '--no-picture']) == 1
    said = capsys.readouterr().out
    assert 'all criteria are met' not in said
    last = said.splitlines()[-1].strip()
    assert last.startswith('crashed at 8.4 s: struck the ground with 83 m/s, ')
    assert last.endswith(' deg nose down')
    assert said.count('not reached') == 4
    assert '  missed 1 of 6 criteria: max_abs of roll_deg to 4 s' in said
    found = json.loads((tmp_path / 'flight.json').read_text())
    assert (found['passed'], found['complete']) == (False, False)
    assert found['crash'] | {'text': ''} == {
        'kind': 'struck', 'at': pytest.approx(8.4, abs=0.05), 'quantity': 'sink_rate',
        'value': pytest.approx(83.0, abs=0.5), 'limit': found['crash']['limit'], 'text': ''}
    assert [one['reached'] for one in found['criteria']] == [
        False, True, True, False, False, False]


def test_an_expected_crash_is_no_failure(tmp_path, capsys):
    file = tmp_path / 'dive.json'
    file.write_text(json.dumps({**DIVE, 'criteria': [], 'expect_crash': True}))
    assert command.main(['--sim', 'core', '--scenario', str(file), '--output',
                         str(tmp_path / 'flight'), '--no-picture']) == 0
    assert capsys.readouterr().out.endswith(
        '  met     ends by a crash: 8.4 s\n  all criteria are met\n')
    found = json.loads((tmp_path / 'flight.json').read_text())
    assert found['passed']
    assert found['crash']['kind'] == 'struck'


def test_beyond_its_envelope_it_is_warned_of(tmp_path, capsys):
    path = write(tmp_path, inertia=3000.0, limits__vne=80.0)
    file = tmp_path / 'fast.json'
    file.write_text(json.dumps({
        'duration': 1.0, 'events': [],
        'initial': {'airspeed': 53.6, 'altitude': 1500.0, 'model': 'sick', 'aircraft_path': path},
        'criteria': [{'figure': 'duration', 'at_least': 0.5}]}))
    assert command.main(['--sim', 'core', '--scenario', str(file), '--output',
                         str(tmp_path / 'flight'), '--no-picture']) == 0
    assert ('warning: beyond the envelope at 0.0 s: airspeed 53.6 m/s, beyond 41.2 m/s'
            in capsys.readouterr().out)


# Several aircraft.

TWO = {
    'duration': 30.0,
    'initial': {'altitude': 800.0, 'heading_deg': 90.0, 'airspeed': 51.444},
    'events': [],
    'criteria': [{'separation': ['high', 'low'], 'at_least': 20.0}],
    'vehicles': [
        {'name': 'high', 'initial': {'altitude': 1500.0}, 'events': [{'at': 0.0, 'engage': True}],
         'criteria': [{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 40.0},
                      {'quantity': 'roll_deg', 'statistic': 'max_abs', 'to': 5.0,
                       'at_most': 40.0}]},
        {'name': 'low', 'events': [
            {'at': 1.0, 'controls': {'elevator': -0.6, 'throttle': 0.7}, 'for': 29.0}],
         'criteria': [{'quantity': 'airspeed', 'statistic': 'max', 'at_most': 500.0}]}]}


def test_a_fleet_says_who_has_crashed(tmp_path, capsys, dive):
    file = tmp_path / 'two.json'
    file.write_text(json.dumps(TWO))
    assert command.main(['--sim', 'core', '--scenario', str(file), '--output',
                         str(tmp_path / 'flight'), '--no-picture']) == 1
    said = capsys.readouterr().out
    assert said.splitlines()[-1].startswith(
        '  crashed at 8.4 s: vehicle low: struck the ground with 83 m/s, ')
    assert 'met     high: max_abs of roll_deg to 5 s at most 40' in said
    assert '------  high: max_abs of roll_deg at most 40: not reached' in said
    assert '------  min of separation of high and low at least 20: not reached' in said
    found = json.loads((tmp_path / 'flight.json').read_text())
    assert (found['passed'], found['complete']) == (False, False)
    assert found['crash']['vehicle'] == 'low'
    assert found['crash']['at'] == found['flown'] == pytest.approx(dive.flown, abs=0.02)


@pytest.mark.parametrize('frames', [1, 7, 500])
def test_a_fleet_is_the_same_however_many_frames_are_flown_at_once(frames):
    with open_flight(Order(parse('two', TWO))) as flight:
        flight.start()
        while flight.state is FlightState.READY:
            flight.step(frames=frames)
        assert flight.state is FlightState.CRASHED
        assert (flight.crashed, flight.flown) == ('low', flight.crash.at)
        assert flight.vehicles['high'].script.flown == flight.flown
        found = [(one.criterion, one.value, one.passed, one.reached)
                 for one in flight.result().judgements]
        last = {name: history.series['altitude'].times[-1]
                for name, history in flight.histories().items()}
    assert flight.flown - 1.0 / 60.0 <= last['high'] <= flight.flown
    assert found == test_a_fleet_is_the_same_however_many_frames_are_flown_at_once.__dict__\
        .setdefault('first', found)


def test_a_fleet_whose_target_is_to_crash_passes_by_that(tmp_path):
    target = {**TWO['vehicles'][1], 'expect_crash': True}
    one = {**TWO['vehicles'][0], 'criteria': TWO['vehicles'][0]['criteria'][1:]}
    flight = flown(parse('two', {
        **TWO, 'criteria': [], 'vehicles': [one, target], 'midair': {'ends': False}}))
    assert flight.state is FlightState.CRASHED
    assert flight.crash_verdict == ''
    assert all(judgement.passed for judgement in flight.result().judgements)
