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
"""Flights from runway to runway in one process: take-off, pattern, landing, go-around."""

from dataclasses import replace
import math
from pathlib import Path

import numpy as np
from orders import flown, order_of
import pytest
import yaml

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.laboratory.campaigns.fly import fly
from xplane_bridge.laboratory.campaigns.plan.plan import load
from xplane_bridge.laboratory.flights.core import CoreFlight, on_simulated_ground
from xplane_bridge.laboratory.flights.flight import FlightState, Silent
from xplane_bridge.laboratory.flights.order import FlownBy, Link, Order
from xplane_bridge.laboratory.flights.refusals import refusals
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.simulation.aircraft import terrain

DATA = Path(__file__).parents[3] / 'xplane_bridge/data'
SHIPPED, CAMPAIGNS = DATA / 'scenarios/circuit.yaml', DATA / 'campaigns'


def circuit(elevation=430.0, wind=(-4.0, 2.0), **changes):
    """Return the shipped scenario, on a runway at another elevation, in another wind."""
    content = yaml.safe_load(SHIPPED.read_text())
    content['runway']['elevation_msl'] = elevation
    content['events'][0]['wind'] = [*wind, 0.0]
    for section, values in changes.items():
        content[section] = {**content[section], **values} if isinstance(values, dict) else values
    return scenario.parse('circuit', content)


def missed(flight):
    return [str(one) for one in flight.result().judgements if not one.passed]


@pytest.mark.parametrize('sensors', ['none', 'tactical'])
def test_the_shipped_circuit_meets_its_criteria(sensors):
    flight = flown(scenario.load(str(SHIPPED)), sensors=sensors)
    assert missed(flight) == []
    height = flight.history().series['altitude'].values
    assert 190.0 < height.max() - height[0] < 215.0
    # It ends where it stands: nobody waits for the rest.
    assert 400.0 < flight.flown < 520.0
    assert flight.state is FlightState.OVER
    end = flight.flown
    assert np.ptp(flight.history().series['east'].between(end - 2.0, end).values) < 0.1
    # And holds no surface against the wind that it does not move in.
    for axis in ('aileron', 'rudder', 'elevator'):
        assert not flight.history().series[f'command_{axis}'].between(end - 1.0, end).values.any()
    # Nor does anything wind up while its wheels hold it.
    aileron = flight.history().series['command_aileron'].between(end - 20.0, end - 3.0).values
    assert np.ptp(aileron) < 0.1


def test_what_is_to_follow_a_landing_is_waited_for():
    later = circuit(criteria=[{'quantity': 'roll_deg', 'statistic': 'max_abs', 'from': 480.0,
                               'to': 495.0, 'at_most': 5.0}])
    flight = flown(later)
    assert 495.0 < flight.flown < 520.0
    assert missed(flight) == []


@pytest.mark.parametrize(('flight', 'seed'), [(0, 10), (1, 2), (2, 5)])
def test_other_aircraft_land_by_their_own_performance_in_light_turbulence(flight, seed):
    # A gust lifts the J3Cub off its wheels in the roll-out; another one lets a 737 float.
    plan = replace(load(str(CAMPAIGNS / 'landings.yaml')), seeds=(seed,))
    assert len(plan) == 3
    row = fly(plan.task(flight))
    assert row['outcome'] == 'passed', row['reason']


def test_a_go_around_climbs_and_holds_its_height():
    # On the extended centreline, 3 km before a runway at 1,500 m, on the glide path.
    runway = circuit(1500.0).runway
    latitude, longitude, _ = runway.own_frame().enu_to_geodetic((-3000.0, 0.0, 0.0))
    flight = flown(circuit(
        1500.0, duration=120.0,
        initial={'parked': False, 'latitude_deg': latitude, 'longitude_deg': longitude,
                 'altitude': runway.elevation + 165.0, 'airspeed': 38.0, 'heading_deg': 90.0},
        events=[
            {'at': 0.5, 'engage': True}, {'at': 1.0, 'land': True},
            {'at': 40.0, 'go_around': {'height': 200.0}}],
        criteria=[{'quantity': 'pitch_deg', 'statistic': 'max', 'at_most': 20.0}]))
    altitude = flight.history().series['altitude']
    above = altitude.values - runway.elevation
    low = above[np.searchsorted(altitude.times, 40.0)]
    assert 60.0 < low < 150.0
    assert above.min() > low - 15.0
    assert above[-1] == pytest.approx(200.0, abs=8.0)
    assert flight.vehicle.law.phase == ''
    assert flight.vehicle.last('airspeed') == pytest.approx(38.05, abs=1.5)
    assert abs(flight.history().series['north'].values).max() < 15.0


def test_equal_seeds_give_equal_flights_and_the_ground_is_as_high_as_the_runway():
    short = circuit(1500.0, duration=40.0)
    first, again = flown(short, seed=3), flown(short, seed=3)
    for name in ('altitude', 'east', 'command_rudder', 'strut_compression'):
        assert np.array_equal(
            first.history().series[name].values, again.history().series[name].values)
    assert first.vehicle.aircraft.state.terrain_msl == pytest.approx(1500.0)
    assert first.result().figures['runway']['lift_off'] > 700.0
    assert math.isnan(first.result().figures['runway']['touch_down'])


def test_a_runway_whose_elevation_is_not_given_is_as_high_as_the_ground_there():
    unknown = replace(circuit(), runway=replace(
        circuit().runway, elevation_msl=math.nan, latitude_deg=47.8))
    known = on_simulated_ground(Order(unknown)).scenario.runway
    assert known.elevation_msl == terrain.elevation_m(47.8, 8.5)
    assert known.elevation_msl != 430.0
    (sentence,) = (one for one in refusals(Order(unknown, 'direct')) if 'height' in one)
    assert 'state elevation_msl below "runway"; only core looks it up' in sentence


def test_a_take_off_that_cannot_be_flown_ends_the_flight_with_a_sentence():
    wrong = circuit(initial={'heading_deg': 180.0}, duration=5.0)
    flight = CoreFlight(Order(wrong), Silent())
    assert flight.fly() is FlightState.FAILED
    assert 'its heading is 180 deg, expected that of the runway, 90 deg' in str(flight.error)


@pytest.mark.parametrize(('order', 'sentence'), [
    (Order(circuit(), 'fdmdata'), 'fdmdata has no brakes that a bridge could release'),
    (Order(circuit(), 'xplane9', link=Link(lockstep=True)), 'xplane9 has no brakes'),
    (Order(circuit(), 'xpc', link=Link(host='10.0.0.1')), '10.0.0.1 cannot be placed on the'),
    (Order(circuit(), 'xplane12', link=Link(host='10.0.0.1', web='none')), 'without --web none'),
    (Order(circuit(), flown_by=FlownBy(actions='attitude')), 'by the autopilot only'),
    (Order(circuit(), rounding='xpc'), 'are flown without rounding'),
    (Order(circuit(initial={'model': 'c310'})),
     'c310.yaml has no performance of take-off and landing; find it (tune --model c310')])
def test_who_cannot_fly_it_is_told_before_the_flight(order, sentence):
    found = refusals(order)
    assert [one for one in found if sentence in one], found


def test_sensors_need_a_range_finder(tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('gnss: {horizontal: {}}')
    (sentence,) = refusals(Order(circuit(), sensors=str(file)))
    assert f'must be known to a metre, and sensors {file} have no range_finder' in sentence


def test_who_can_fly_it_is_not_refused():
    assert refusals(order_of(circuit(), sim='core')) == []
    assert refusals(Order(circuit(), sensors='consumer')) == []
    for sim in ('direct', 'xpc', 'xplane11', 'xplane12'):
        assert refusals(Order(circuit(), sim, link=Link(lockstep=True))) == [], sim
        assert refusals(Order(
            circuit(), sim, link=Link(lockstep=True), sensors='tactical')) == [], sim
    calm = scenario.load(scenario.find('circuit_calm'))
    real = Order(calm, 'xplane12', link=Link(host='10.0.0.1'))
    assert 'which aircraft flies on 10.0.0.1 is not known' in refusals(real)[0]
    named = replace(calm, initial={**calm.initial, 'gains': 'c172p'})
    assert refusals(replace(real, scenario=named)) == []
    assert refusals(Order(replace(circuit(), events=()), sensors='consumer')) == []
