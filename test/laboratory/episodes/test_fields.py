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

"""An environment that observes some fields only, and what was trained in it."""

import numpy as np
import pytest

pytest.importorskip('jsbsim')
pytest.importorskip('gymnasium')

from xplane_bridge.laboratory.control.policy.load import LoadedPolicy
from xplane_bridge.laboratory.control.policy.observation import FIELDS, INDEX, NAMES
from xplane_bridge.laboratory.episodes.environment import FlightEnv
from xplane_bridge.laboratory.flights.flight import FlightState
from xplane_bridge.laboratory.flights.laws import PolicyLaw
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.open_flight import open_flight

SHORT = scenario.parse('short', {
    'duration': 1.5, 'initial': {'altitude': 1200.0, 'airspeed': 48.0},
    'events': [{'at': 0.2, 'engage': True}, {'at': 0.4, 'turbulence': [15.0, 4]},
               {'at': 0.8, 'change': {'altitude': 20.0}}],
    'criteria': [{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 60.0}]})


@pytest.mark.parametrize('sensors', ['none', 'consumer'])
def test_fields_are_observed_in_their_order(sensors):
    chosen = ('target.altitude', 'imu/data.orientation.w', 'air_data.wind.x', 'fix.latitude')
    whole, few = FlightEnv(SHORT, sensors=sensors), FlightEnv(
        SHORT, sensors=sensors, fields=chosen)
    assert (few.fields, whole.fields) == (chosen, NAMES)
    at = [INDEX[name] for name in chosen]
    assert few.observation_space.low.tolist() == [FIELDS[column].low for column in at]
    expected, found = whole.reset(seed=3)[0], few.reset(seed=3)[0]
    for _ in range(50):
        assert (found.dtype, found.tolist()) == (np.float64, expected[at].tolist())
        expected, *others = whole.step([0.0, 0.0, 0.0, 0.7])
        found, *same = few.step([0.0, 0.0, 0.0, 0.7])
        assert same == others


def test_a_policy_of_these_fields_flies_as_it_was_trained():
    class Policy:
        fields = ('imu/data.angular_velocity.x', 'air_data.indicated_airspeed')

        def __init__(self):
            self.told = []

        def __call__(self, observation):
            self.told.append(observation.tolist())
            return 0.0, -0.1 * observation[0], 0.0, 0.01 * observation[1]

    trained, flown = Policy(), Policy()
    env = FlightEnv(SHORT, fields=Policy.fields, termination=lambda step: '')
    observation, _ = env.reset(seed=3)
    over = False
    while not over:
        observation, _, _, over, _ = env.step(trained(observation))
    flight = open_flight(Order(SHORT, seed=3), law=PolicyLaw(LoadedPolicy(flown)))
    assert flight.fly() is FlightState.OVER
    assert len(trained.told) > 70
    assert flown.told == trained.told


@pytest.mark.parametrize(('fields', 'said'), [
    ('fix.latitude', "fields: expected names of fields, got 'fix.latitude'"),
    ((), r'fields: expected names of fields, got \(\)'),
    ([12], r'fields: expected names of fields, got \[12\]'),
    (['fix.lat'], r'fields: an observation has no fix\.lat; it has imu/data\.orientation\.x, '),
    (['fix.altitude'] * 2, r'fields: fix\.altitude is named twice'),
])
def test_fields_that_there_are_not_are_refused(fields, said):
    with pytest.raises(ValueError, match=said):
        FlightEnv(SHORT, fields=fields)


def test_a_snapshot_is_of_its_fields():
    few = FlightEnv(SHORT, fields=['fix.altitude'])
    few.reset(seed=3)
    few.step([0.1, 0.0, 0.0, 0.7])
    snapshot = few.snapshot()
    expected = few.step([0.0, 0.0, 0.0, 0.7])[0].tolist()
    few.restore(snapshot)
    assert few.step([0.0, 0.0, 0.0, 0.7])[0].tolist() == expected
    with pytest.raises(ValueError, match=r'^restore: fields of this environment is \('):
        FlightEnv(SHORT).restore(snapshot)
