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

"""A light aircraft with each kind of engine: it is trimmed, and flies on as it was trimmed."""

from __future__ import annotations

import math

import light_aircraft
from placed import placed
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.model import TrimError
from xplane_bridge.simulation.aircraft.state import KNOT
from xplane_bridge.simulation.aircraft.studies.physics_rate import physics_rate
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight
from xplane_bridge.simulation.aircraft.trim import trim

START = Initial(altitude_msl=600.0, airspeed_kt=17.0 / KNOT)
MODEL = 'electric_trainer'


@pytest.mark.parametrize('engine', ['', *light_aircraft.ENGINES])
def test_twenty_seconds_from_its_trim_each_engine_still_holds_it(tmp_path, engine):
    aircraft = Aircraft(MODEL, START, 1.0 / 240.0,
                        aircraft_path=light_aircraft.write(tmp_path, engine))
    start = aircraft.state
    assert start.engines[0].running
    assert 0.05 < start.engines[0].throttle < 0.8
    aircraft.step(4800)
    end = aircraft.state
    assert end.altitude_msl == pytest.approx(600.0, abs=0.1)
    assert end.tas == pytest.approx(start.tas, abs=0.02)
    assert math.degrees(end.phi) == pytest.approx(0.0, abs=0.1)


def test_the_trim_does_not_depend_on_the_propellers_inertia(tmp_path):
    light, heavier = (
        Aircraft(MODEL, START, aircraft_path=light_aircraft.write(
            tmp_path / inertia, 'electric', propeller={'2.35e-4': inertia}),
            ).state.engines[0].throttle for inertia in ('2.35e-4', '2.35e-2'))
    assert light == pytest.approx(heavier, rel=1e-3)


def test_without_an_engine_it_glides(tmp_path):
    path = light_aircraft.write(tmp_path, changes={'(?s)<propulsion>.*</propulsion>': ''})
    aircraft = Aircraft(MODEL, START, aircraft_path=path)
    start = aircraft.state
    aircraft.step(2400)
    sunk = 600.0 - aircraft.state.altitude_msl
    assert sunk == pytest.approx(20.0 * start.v_down, rel=0.01)
    assert 1.0 < start.v_down < 4.0


@pytest.mark.parametrize('engine', ['', 'rocket'])
def test_an_engine_without_a_starter_fails_and_is_restored(tmp_path, engine):
    aircraft = Aircraft(MODEL, START, aircraft_path=light_aircraft.write(tmp_path, engine))
    thrust = aircraft.state.engines[0].thrust
    throttle = aircraft.state.engines[0].throttle
    aircraft.fail_engine()
    aircraft.set_controls(throttle=0.9)
    aircraft.step(240)
    failed = aircraft.state.engines[0]
    assert failed.thrust < 0.1
    assert not failed.running
    aircraft.restore_engine()
    aircraft.set_controls(throttle=throttle)
    aircraft.step(240)
    restored = aircraft.state.engines[0]
    assert restored.running
    assert restored.thrust > 0.5 * thrust


@pytest.mark.parametrize(('engine', 'changes', 'sentence'), [
    ('turbine', {'<contents unit="LBS">.*?</contents>': '<contents unit="LBS">0</contents>',
                 '(?s)<channel name="Fuel">.*?</channel>': ''},
     r'forward -1\.\d+ m/s2.*; 1 engine of 1 without thrust at full throttle and this airspeed'),
    ('', {'<input>fcs/rudder-cmd-norm</input>': '', '-0.0574': '-2.0', '0.0723': '0.0'},
     'moves nothing: rudder'),
    ('', {'<value>0.0434</value>':
          '<pow><difference><property>fcs/throttle-pos-norm[0]</property><value>0.95</value>'
          '</difference><value>0.5</value></pow>'},
     'no number as acceleration forward.* at throttle 0.60'),
    ('', {}, r'forward -\d.* m/s2.*; at its stop: .*throttle 1\.00'),
], ids=['no thrust', 'no rudder', 'no number', 'too fast'])
def test_what_keeps_it_from_steady_flight_is_named(tmp_path, engine, changes, sentence):
    path = light_aircraft.write(tmp_path, engine, changes)
    with pytest.raises(TrimError, match=sentence):
        trim(placed(MODEL, 600.0, 17.0 if engine or changes else 30.0, path))


@pytest.mark.parametrize(('engine', 'inertia', 'rate'), [
    ('electric', '2.35e-4', 120), ('', '1e-5', 480)])
def test_the_steps_of_a_light_propeller_are_as_short_as_it_needs(tmp_path, engine, inertia, rate):
    path = light_aircraft.write(tmp_path, engine, propeller={'2.35e-4': inertia})
    assert physics_rate(MODEL, START, path) == rate
    # So a command that flies nothing trims it too.
    _, steady = in_steady_flight(MODEL, 600.0, 17.0, aircraft_path=path)
    assert 0.1 < steady.throttle < 0.8


BATTERY = """<property value="0">systems/battery-freeze</property><channel name="Battery">
  <fcs_function name="battery/used"><function><sum><property>battery/used</property><product>
    <property>propulsion/engine[0]/power-hp</property><property>simulation/dt</property>
    <difference><value>1</value><property>systems/battery-freeze</property></difference>
  </product></sum></function></fcs_function>
  <fcs_function name="fcs/speed-controller"><function><product>
    <property>fcs/throttle-cmd-norm[0]</property>
    <difference><value>1</value><quotient><property>battery/used</property><value>100</value>
    </quotient></difference></product></function>
  <output>fcs/throttle-pos-norm[0]</output></fcs_function></channel></flight_control>"""


def test_a_battery_is_not_used_up_while_it_is_trimmed(tmp_path):
    path = light_aircraft.write(tmp_path, changes={'</flight_control>': BATTERY})
    aircraft = Aircraft(MODEL, START, aircraft_path=path)
    assert aircraft.property_value('battery/used') == 0.0
    assert aircraft.state.engines[0].throttle_position == pytest.approx(
        aircraft.state.engines[0].throttle)
    aircraft.step(1200)
    assert 0.3 < aircraft.property_value('battery/used') < 3.0


def test_a_motor_is_started_from_rest_and_takes_off():
    aircraft = Aircraft(MODEL, Initial(parked=True), aircraft_path=str(light_aircraft.FOLDER))
    aircraft.set_controls(throttle=1.0, parking_brake=0.0, elevator=0.3)
    aircraft.step(480)
    assert aircraft.crash is None
    assert aircraft.state.altitude_agl > 1.0
