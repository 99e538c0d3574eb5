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

"""Plants and the air in scenarios: read, refused in sentences, and flown in this process."""

from dataclasses import replace
import math

from orders import flown
import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.laboratory.control.gains import Gains, scaled
from xplane_bridge.laboratory.flights.order import FlownBy, Link, Order
from xplane_bridge.laboratory.flights.refusals import refusals
from xplane_bridge.laboratory.flights.scenario.scenario import parse, ScenarioError
from xplane_bridge.laboratory.flights.scenario.start import (
    apply_start,
    make_start,
    simulated_start,
    Start,
)
from xplane_bridge.laboratory.sensors.specification import load as load_sensors

INITIAL = {'altitude': 1500.0, 'heading_deg': 90.0, 'airspeed': 50.0}
EVENTS = ({'at': 0.0, 'engage': True}, {'at': 0.5, 'change': {'altitude': 20.0}})
LAST = ('altitude', 'airspeed', 'pitch', 'elevator')


def scenario(plant=None, *more, **top):
    """Return a scenario of 3 s with a plant and more events."""
    return parse('short', {
        'duration': 3.0, 'initial': {**INITIAL, **({'plant': plant} if plant else {})},
        'events': [*EVENTS, *more],
        'criteria': [{'quantity': 'altitude', 'statistic': 'max', 'at_least': 0.0}], **top})


def ends(flight):
    """Return where a flight has ended."""
    return [flight.history().series[name].values[-1] for name in LAST]


def said(plant, **order):
    return refusals(Order(scenario(plant), **order))


def test_a_flight_of_a_plant_is_the_same_again_and_another_one_without():
    plain = ends(flown(scenario()))
    plant = {'mass': 1000.0, 'cg': 0.1, 'aero.Cmalpha': 0.8, 'actuator_delay': 0.05}
    first = ends(flown(scenario(plant)))
    assert first != pytest.approx(plain, rel=1e-6)
    assert ends(flown(scenario())) == plain
    assert ends(flown(scenario(plant))) == first
    # What a factor of 1 and no shift leave is the model.
    assert ends(flown(scenario({'cg': 0.0, 'ixx': 1.0}))) == plain


def test_factors_on_gains_are_those_of_the_autopilot(tmp_path):
    file = tmp_path / 'more.yaml'
    values = ''.join(f'      {name}: {getattr(Gains(), name)}\n' for name in (
        'airspeed', 'roll_rate_to_aileron'))
    file.write_text(
        f'/**:\n  ros__parameters:\n    gains:\n{values}      pitch_to_pitch_rate: 2.8\n')
    by_file = scenario().with_initial({'gains': str(file)})
    usual = scenario().with_initial({'gains': str(tmp_path / 'usual.yaml')})
    (tmp_path / 'usual.yaml').write_text(file.read_text().replace('2.8', '1.4'))
    by_factor = usual.with_initial({'plant': {'gains.pitch_to_pitch_rate': 2.0}})
    assert ends(flown(by_factor)) == ends(flown(by_file)) != ends(flown(usual))
    assert scaled(Gains(), [('pitch_to_pitch_rate', 2.0)]).pitch_to_pitch_rate == 2.8


def test_sensors_are_later_by_the_delay():
    perfect = load_sensors('perfect')
    late = perfect.later(0.25)
    assert late.imu.latency == late.gnss.latency == late.magnetometer.latency == 0.25
    assert late.imu == replace(perfect.imu, latency=0.25)
    assert perfect.later(0.0) is perfect
    plain, delayed = (ends(flown(scenario(plant), sensors='perfect')) for plant in (
        None, {'sensor_delay': 0.2}))
    assert plain != pytest.approx(delayed, rel=1e-7)


@pytest.mark.parametrize(('plant', 'order', 'sentence'), [
    ({'aero.Cmalhpa': 1.1}, {}, 'c172p: plant.aero.Cmalhpa: c172p has no such function or axis; '
     'did you mean Cmalpha'),
    ({'mass': 600.0}, {}, 'c172p: plant.mass: expected at least the empty mass, 680.4 kg'),
    ({'cg': -2.0}, {'sim': 'direct'}, 'c172p: plant.cg: expected at most its mean chord, 1.49 m'),
    ({'mass': 1000.0, 'aero.Clp': 2.0}, {'sim': 'xplane12', 'link': Link(host='10.0.0.2')},
     'a real simulator (10.0.0.2) flies its own aircraft as it is: initial.plant has mass, aero'),
    ({'sensor_delay': 0.1}, {}, 'initial.plant.sensor_delay: without sensors there is nothing'),
    ({'gains.climb': 1.1}, {}, 'initial.plant.gains.climb is unknown; did you mean climb_limit'),
    ({'gains.climb_limit': 1.1}, {'flown_by': FlownBy(actions='controls')},
     'initial.plant: factors on gains are for the autopilot, which does not fly'),
])
def test_what_cannot_be_flown_is_said_before(plant, order, sentence):
    assert any(one.startswith(sentence) for one in said(plant, **order)), said(plant, **order)


def test_gains_and_sensors_differ_on_a_real_simulator_too():
    assert not said({'gains.climb_limit': 1.1, 'sensor_delay': 0.1}, sim='xplane12',
                    sensors='perfect', link=Link(host='10.0.0.2'))


@pytest.mark.parametrize(('plant', 'sentence'), [
    ({'weight': 1000.0}, "initial.plant: there is no 'weight'"),
    ({'mass': 'much'}, "initial.plant.mass: expected a number, got 'much'"),
    ({'cg': math.inf}, 'initial.plant.cg: expected a finite number, got inf'),
    ([1], 'initial.plant: expected names with numbers, got [1]'),
])
def test_what_is_no_plant_in_a_file_is_said(plant, sentence):
    with pytest.raises(ScenarioError) as caught:
        scenario(plant)
    assert str(caught.value).startswith(sentence)


def test_simulator_node_is_told_what_is_the_models():
    given = simulated_start({'plant': {
        'mass': 1000.0, 'aero.Clp': 0.5, 'sensor_delay': 0.1, 'gains.climb_limit': 2.0}})
    assert given == {'plant': ['mass=1000.0', 'aero.Clp=0.5']}


def test_an_episode_may_begin_with_a_plant():
    start = make_start(1, {'initial': {'plant': {'mass': 900}}}, Start(), 3.0)
    assert apply_start(scenario(), start).initial['plant'] == {'mass': 900.0}


def test_gusts_and_shear_are_flown_and_told():
    gust = {'at': 1.0, 'gust': {
        'axis': 'vertical', 'amplitude': 6.0, 'length': 30.0, 'hold': 0.0}}
    shear = {'at': 0.2, 'wind_shear': {'wind_at_20ft': [-5.0, 0.0]}}
    plain, *others = (flown(scenario(None, *more)) for more in ((), (gust,), (shear,)))
    for flight in others:
        assert ends(flight) != pytest.approx(ends(plain), rel=1e-4)
    told = [str(event) for event in scenario(None, gust, shear).events]
    assert 'vertical gust of +6.0 m/s over 30 m' in told
    assert 'wind shear: -5 m/s east, 0 m/s north at 20 ft' in told


@pytest.mark.parametrize(('event', 'sentence'), [
    ({'gust': {'axis': 'up', 'amplitude': 1.0, 'length': 1.0}}, 'gust.axis: expected one of long'),
    ({'gust': {'axis': 'lateral', 'amplitude': 0.0, 'length': 1.0}}, 'a gust of 0 has no effect'),
    ({'gust': {'axis': 'lateral', 'amplitude': 200.0, 'length': 1.0}}, '200 m/s is no wind'),
    ({'gust': {'axis': 'lateral', 'amplitude': 2.0, 'length': 0.0}}, 'length: expected above 0'),
    ({'gust': {'axis': 'lateral', 'amplitude': 2.0}}, 'gust: length is missing'),
    ({'wind_shear': {'wind_at_20ft': 5.0}}, 'wind_at_20ft: expected [east, north] in m/s, got 5'),
    ({'wind_shear': {'wind_at_20ft': [5.0, 0.0], 'roughness': 9.0}},
     'roughness: expected 0.0001 to 5 m, got 9'),
    ({'wind_shear': {'wind_at_20ft': [5.0, 0.0], 'exponent': 0.1}}, 'logarithmic profile has no'),
    ({'wind_shear': {'wind_at_20ft': [5.0, 0.0], 'profile': 'power', 'exponent': 3.0}},
     'wind_shear.exponent: expected 0 to 1, got 3'),
])
def test_what_the_air_does_not_is_said(event, sentence):
    with pytest.raises(ScenarioError) as caught:
        scenario(None, {'at': 1.0, **event})
    assert sentence in str(caught.value)
