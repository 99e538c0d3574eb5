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

"""Any aircraft: which fly, which do not and why, one's own folder, one engine of several."""

import math
from pathlib import Path
import shutil
import sys
import threading

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

import jsbsim

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.loading import load

ROOT = Path(jsbsim.get_default_root_dir())
HANDS_OFF = 10.0

# JSBSim's aircraft that start at their usual airspeed and hold altitude, heading and speed with
# nobody at the controls. Gliders sink, steadily.
STEADY = (
    '737', '787-8', 'A320', 'A4', 'B747', 'Boeing314', 'Camel', 'Concorde', 'F4N', 'F80C', 'J3Cub',
    'MD11', 'OV10', 'T37', 'T38', 'XB-70', 'c172p', 'c172r', 'c172x', 'c182', 'c310', 'f15', 'f16',
    'global5000', 'pa28', 'pc7', 't6texan2')
GLIDERS = ('SGS', 'minisgs', 'sgs126', 'sgs233')


@pytest.mark.parametrize('model', STEADY)
def test_it_flies_on_as_it_was_trimmed(model):
    aircraft = Aircraft(model)
    begin = aircraft.state
    assert all(engine.running for engine in begin.engines)
    aircraft.advance(HANDS_OFF)
    end = aircraft.state
    assert aircraft.crash is None
    assert all(engine.running and engine.thrust > 0.0 for engine in end.engines)
    assert end.altitude_msl == pytest.approx(begin.altitude_msl, abs=1.0)
    assert end.cas == pytest.approx(begin.cas, abs=0.5)
    assert abs(math.degrees(end.phi)) < 0.5


@pytest.mark.parametrize('model', GLIDERS)
def test_a_glider_glides(model):
    aircraft = Aircraft(model)
    begin = aircraft.state
    assert begin.engines == ()
    aircraft.advance(HANDS_OFF)
    end = aircraft.state
    sink = (begin.altitude_msl - end.altitude_msl) / HANDS_OFF
    assert 0.1 < sink < 3.0
    assert end.v_down == pytest.approx(begin.v_down, abs=0.05)
    assert end.cas == pytest.approx(begin.cas, abs=0.5)
    aircraft.set_controls(throttle=1.0, mixture=[1.0, 1.0], propeller=0.5)
    aircraft.set_failed(True)


@pytest.mark.parametrize(('model', 'gear'), [('T37', 0.0), ('c172p', 1.0)])
def test_a_gear_that_retracts_is_up_in_the_air(model, gear):
    state = Aircraft(model).state
    assert (state.gear, state.gear_position) == (gear, gear)


@pytest.mark.parametrize(('model', 'reason'), [
    ('c172', "JSBSim has no aircraft 'c172'; it has .*c172p"),
    ('nothing-alike', "no aircraft 'nothing-alike'; one of your own needs its folder"),
    ('', "no aircraft ''"),
    ('blank', 'JSBSim cannot load .*blank.xml: .*No metrics element'),
    ('f104', 'JSBSim cannot run .*f104.xml: .*systems/radar/range does not exist'),
    ('F450', 'F450 cannot be trimmed at .*accelerations left'),
])
def test_what_does_not_fly_says_why(model, reason):
    with pytest.raises(ValueError, match=reason):
        Aircraft(model)


def test_a_speed_it_cannot_hold_is_refused_with_what_is_missing():
    with pytest.raises(ValueError, match=r'T37 cannot be trimmed at 15.4 m/s .*vertical \+'):
        Aircraft('T37', Initial(airspeed_kt=30.0))


# One's own folder.

def copy_c172p(folder):
    """Copy JSBSim's c172p as the aircraft "mine"."""
    shutil.copytree(ROOT / 'aircraft' / 'c172p', folder / 'mine')
    (folder / 'mine' / 'c172p.xml').rename(folder / 'mine' / 'mine.xml')


def test_own_folder_with_engines_of_jsbsim(tmp_path):
    copy_c172p(tmp_path)
    aircraft = Aircraft('mine', aircraft_path=str(tmp_path))
    assert aircraft.state.engines[0].running


def test_own_folder_laid_out_as_all_of_jsbsim(tmp_path):
    copy_c172p(tmp_path / 'aircraft')
    (tmp_path / 'engine').mkdir()
    with pytest.raises(ValueError, match='cannot load .*mine.xml'):
        # Its own folder of engines is the only one, and it is empty.
        Aircraft('mine', aircraft_path=str(tmp_path))
    shutil.copytree(ROOT / 'engine', tmp_path / 'engine', dirs_exist_ok=True)
    assert Aircraft('mine', aircraft_path=str(tmp_path)).state.engines[0].running


def test_a_folder_without_it_says_what_was_expected(tmp_path):
    copy_c172p(tmp_path)
    with pytest.raises(ValueError, match='neither mime/mime.xml nor aircraft/mime/mime.xml in .*'
                                         'it has mine'):
        Aircraft('mime', aircraft_path=str(tmp_path))
    with pytest.raises(ValueError, match='is not a folder'):
        Aircraft('mine', aircraft_path=str(tmp_path / 'absent'))


# Levers of each engine.

def test_levers_of_each_engine_and_what_jsbsim_gets():
    aircraft = Aircraft('737')
    aircraft.set_controls(throttle=[0.9, None], mixture=[0.8, 0.6], propeller=[1.0, 0.25])
    value = aircraft.property_value
    before = value('fcs/throttle-cmd-norm[1]')
    assert [value(f'fcs/{lever}-cmd-norm[{n}]') for n in (0, 1)
            for lever in ('throttle', 'mixture', 'advance')] == [
        0.9, 0.8, 1.0, before, 0.6, 0.25]
    assert [(e.throttle, e.mixture, e.propeller) for e in aircraft.state.engines] == [
        (0.9, 0.8, 1.0), (before, 0.6, 0.25)]


def test_a_coarse_propeller_turns_slower():
    aircraft = Aircraft('c310')
    aircraft.set_controls(propeller=[1.0, 0.3])
    aircraft.advance(5.0)
    fine, coarse = (engine.rpm for engine in aircraft.state.engines)
    assert coarse < fine - 300.0


@pytest.mark.parametrize('model', ['c310', '737'])
def test_one_failed_engine_pulls_to_its_side(model):
    yaw = {}
    for failed in (0, 1):
        aircraft = Aircraft(model)
        heading = aircraft.state.psi
        aircraft.set_failed([failed])
        aircraft.advance(3.0)
        state = aircraft.state
        assert [engine.running for engine in state.engines] == [failed != 0, failed != 1]
        assert state.engines[failed].thrust < 0.3 * state.engines[1 - failed].thrust
        yaw[failed] = state.psi - heading
    # The left one is the first.
    assert yaw[0] < -0.005 < 0.005 < yaw[1]


def test_engines_fail_and_are_repaired_one_by_one():
    aircraft = Aircraft('737')
    aircraft.set_failed([1])
    aircraft.advance(1.0)
    aircraft.set_failed([0])
    aircraft.advance(2.0)
    assert [engine.running for engine in aircraft.state.engines] == [False, True]
    aircraft.set_failed(False)
    aircraft.advance(2.0)
    assert all(engine.running for engine in aircraft.state.engines)
    with pytest.raises(ValueError, match='there is no engine 2: this aircraft has 2'):
        aircraft.set_failed([2])


@pytest.mark.parametrize('model', ['c172p', 'c310', 'ah1s'])
def test_what_is_seen_has_the_bits_of_the_whole_state(model):
    aircraft = Aircraft(model, Initial(parked=True))
    aircraft.set_wind(3.0, -4.0, 0.5)
    aircraft.set_controls(elevator=0.1, speedbrake=-0.5, throttle=0.7, flaps=0.5)
    aircraft.advance(1.0)
    seen, state = aircraft.seen, aircraft.state
    for name in {*seen._fields, 'f_x', 'f_y', 'f_z'} - {'force_x', 'force_y', 'force_z'}:
        assert getattr(seen, name) == getattr(state, name), name
    assert aircraft.sampler.throttles() == [engine.throttle for engine in state.engines]


def test_the_logger_of_a_thread_that_loads_a_model_is_never_freed():
    """JSBSim lets go of it without Python's lock, which crashed one process in a hundred."""
    loggers = []

    def run():
        Aircraft()
        loggers.append(jsbsim.get_logger())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert id(loggers[0]) in load._never_freed_ids
    before = sys.getrefcount(loggers[0])
    assert load._never_freed(loggers[0]) is loggers[0]
    after = sys.getrefcount(loggers[0])
    assert after == before
    other = object()
    before = sys.getrefcount(other)
    load._never_freed(other)
    after = sys.getrefcount(other)
    assert after == before + 1
