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

"""Episodes in this process: a scenario as a Gymnasium environment."""

from functools import partial
import math
from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('gymnasium', reason='episodes need gymnasium')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

import gymnasium
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv
import numpy as np

from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.control.policy.observation import FIELDS, INDEX, NAMES, numbers
from xplane_bridge.laboratory.episodes import ID
from xplane_bridge.laboratory.episodes.environment import FlightEnv
from xplane_bridge.laboratory.episodes.reward import seen, Step
from xplane_bridge.laboratory.flights.analysis.quantities import CONTACTS
from xplane_bridge.laboratory.flights.flight import FlightState
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.open_flight import open_flight

ROOT = Path(__file__).resolve().parents[3]
SHORT = {
    'duration': 3.0,
    'initial': {'altitude': 1200.0, 'heading_deg': 200.0, 'airspeed': 48.0},
    'events': [
        {'at': 0.0, 'controls': {'elevator': 0.02}, 'for': 0.2},
        {'at': 0.3, 'engage': True},
        {'at': 0.5, 'turbulence': [15.0, 4]},
        {'at': 1.0, 'change': {'heading_deg': 30.0},
         'expect': {'until': 3.0, 'band_deg': 40.0, 'settling': 2.0, 'overshoot': 0.5}},
    ],
    'criteria': [
        {'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 60.0},
        {'quantity': 'altitude_error', 'statistic': 'rms', 'at_most': 4.0},
        {'figure': 'duration', 'at_least': 2.9}]}
LEVEL_ACTIONS = {
    'controls': (0.01, 0.02, 0.0, 0.7), 'attitude': (0.1, 0.03, 0.7),
    'target': (1210.0, -2.7, 49.0)}


@pytest.fixture(scope='module')
def short():
    return scenario.parse('short', SHORT)


def flown(env, seed, steps=60, action=LEVEL_ACTIONS['controls'], **options):
    """Return the observations of an episode's first steps, as bytes."""
    observation, _ = env.reset(seed=seed, options=options)
    found = [observation.tobytes()]
    for _ in range(steps):
        observation, reward, _, _, _ = env.step(np.array(action))
        found += [observation.tobytes(), reward]
    return found


def test_what_touches_the_ground_is_seen_in_each_frame():
    rolling = scenario.parse('rolling', {
        'duration': 2.0, 'initial': {'parked': True},
        'runway': {'heading_deg': 90.0, 'elevation_msl': 430.0, 'length': 1200.0, 'width': 30.0},
        'events': [{'at': 0.1, 'engage': True}],
        'criteria': [{'quantity': 'airspeed', 'statistic': 'max', 'at_least': 0.1}]})
    wheels = []
    for frames in (1, 12):
        env = FlightEnv(rolling, frames_per_step=frames, termination=lambda step: '')
        env.reset(seed=1)
        for _ in range(60 // frames):
            env.step(np.array((0.0, 0.0, 0.0, 1.0)))
        wheels.append(env._flight.history().series[CONTACTS[0]].values.tolist())
    assert wheels[0] == wheels[1]


def test_frames_flown_in_one_go_are_those_flown_one_by_one(short):
    """Also where something happens amid them: the turbulence, the change of the target."""
    histories = []
    for frames in (1, np.int64(12)):
        env = FlightEnv(short, frames_per_step=frames, termination=lambda step: '')
        observations = flown(env, 5, 144 // frames)[2 * (144 // frames) - 1]
        series = env._flight.history().series
        histories.append([observations, {
            name: (found.times.tobytes(), found.values.tobytes())
            for name, found in series.items()}])
    assert histories[0] == histories[1]


def test_an_aircraft_of_another_physics_rate_flies_as_many_frames(short):
    env = FlightEnv(short, physics_rate=60)
    last = np.frombuffer(flown(env, 5, 60)[-2])
    usual = np.frombuffer(flown(FlightEnv(short), 5, 60)[-2])
    flight = env._flight
    assert flight.vehicle.aircraft.dt == 1.0 / 60.0
    assert flight.time == pytest.approx(1.3)
    altitude = INDEX['fix.altitude']
    assert last[altitude] == pytest.approx(usual[altitude], abs=2.0)
    assert last[altitude] != usual[altitude]


@pytest.mark.filterwarnings('ignore:.*we recommend using a symmetric and normalized space')
@pytest.mark.parametrize('level', LEVELS)
def test_gymnasium_accepts_it(level):
    env = gymnasium.make(ID, level=level)
    check_env(env.unwrapped)
    assert env.observation_space.shape == (len(FIELDS),)
    assert env.action_space.shape == (len(LEVELS[level].fields),)
    assert env.unwrapped.observation_space.low.tolist() == [field.low for field in FIELDS]


def test_gymnasium_finds_it_without_an_import_of_ours():
    """As in a worker that is spawned, which has imported nothing yet."""
    program = ('import gymnasium\n'
               "name = 'xplane_bridge:xplane_bridge/Flight-v0'\n"
               'env = gymnasium.make(name)\n'
               'print(env.spec.id, env.reset(seed=7)[0].shape)')
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f'{ID} ({len(FIELDS)},)\n'


@pytest.mark.parametrize('level', LEVELS)
def test_the_same_seed_is_the_same_to_the_bit_whatever_was_flown_before(short, level):
    action = LEVEL_ACTIONS[level]
    env = FlightEnv(short, level=level)
    first = flown(env, 7, action=action)
    assert flown(env, 8, action=action) != first
    flown(env, 9, 10, action, wind=[3.0, 0.0, 0.0], turbulence=[20.0, 6], sensors='consumer')
    flown(env, 9, 3, action, model='pa28', initial={'gains': 'c172p'})
    with pytest.raises(ValueError, match='cannot be trimmed'):
        env.reset(seed=1, options={'initial': {'airspeed': 300.0}})
    for _ in range(3):
        env.reset()
    assert flown(env, 7, action=action) == first


def test_workers_fly_the_same_to_the_bit(short):
    make = partial(FlightEnv, short)
    action = np.array(LEVEL_ACTIONS['controls'])
    envs = AsyncVectorEnv([make, make])
    try:
        for _ in range(2):
            observations, _ = envs.reset(seed=[7, 8])
            together = [observations.copy()]
            for _ in range(60):
                observations, rewards, _, _, _ = envs.step(np.array([action, action]))
                together += [observations.copy(), rewards.copy()]
    finally:
        envs.close()
    for number, seed in enumerate((7, 8)):
        assert [one[number].tobytes() if one.ndim == 2 else one[number] for one in together] == (
            flown(FlightEnv(short), seed))


def test_an_episode_without_a_seed_can_be_flown_again(short):
    env = FlightEnv(short)
    env.reset(seed=3)
    observation, info = env.reset()
    again, _ = FlightEnv(short).reset(seed=info['seed'])
    assert again.tobytes() == observation.tobytes()
    assert info['seed'] != env.reset()[1]['seed']


@pytest.mark.parametrize(('name', 'seed'), [('short', 5), ('turbulence', 2)])
def test_an_episode_is_the_experiment(short, name, seed):
    """The cascade's commands as actions give its flight, and the same judgements."""
    chosen = short if name == 'short' else scenario.load(
        str(ROOT / f'xplane_bridge/data/scenarios/{name}.yaml'))
    flight = open_flight(Order(chosen, seed=seed))
    commands = []
    state = flight.start()
    while state is FlightState.READY:
        engaged, state = flight.script.engaged, flight.step()
        if engaged:
            commands.append([flight.vehicle.last(f'command_{name}') for name in (
                'elevator', 'aileron', 'rudder', 'throttle')])
    env = FlightEnv(chosen)
    env.reset(seed=seed)
    for number, command in enumerate(commands, start=1):
        _, reward, terminated, truncated, info = env.step(command)
        assert 0.0 < reward <= 1.0
        assert (terminated, truncated) == (False, number == len(commands))
    wanted = flight.result().judgements
    assert info['judgements'] == [
        {'criterion': one.criterion, 'value': one.value, 'passed': one.passed}
        for one in wanted]
    assert info['passed'] == all(one.passed for one in wanted)
    assert info['reason'] == 'the scenario is flown to its end'
    with pytest.raises(ValueError, match=r'it is over: call reset\(\) first'):
        env.step(command)


def test_the_observation_is_jsbsims(short):
    """Each field against JSBSim's own property, by hand."""
    env = FlightEnv(short)
    flown(env, 1, 90)
    observation = env.step(LEVEL_ACTIONS['controls'])[0]
    aircraft = env._flight.vehicle.aircraft
    of = dict(zip(NAMES, observation, strict=True))

    def value(name, factor=1.0):
        return pytest.approx(factor * aircraft.property_value(name), rel=1e-6, abs=1e-9)

    foot, psf = 0.3048, 47.880259
    assert of['imu/data.angular_velocity.x'] == value('velocities/p-rad_sec')
    assert of['imu/data.angular_velocity.y'] == value('velocities/q-rad_sec', -1.0)
    assert of['imu/data.angular_velocity.z'] == value('velocities/r-rad_sec', -1.0)
    mass = aircraft.property_value('inertia/weight-lbs') / 32.174049
    for axis, sign in (('x', 1.0), ('y', -1.0), ('z', -1.0)):
        assert of[f'imu/data.linear_acceleration.{axis}'] == value(
            f'forces/fb{axis}-total-lbs', sign * foot / mass)
    assert of['fix.latitude'] == value('position/lat-geod-deg')
    assert of['fix.longitude'] == value('position/long-gc-deg')
    # EGM96 is 47.8 m above the ellipsoid there.
    above_sea = aircraft.property_value('position/h-sl-meters')
    assert of['fix.altitude'] == pytest.approx(above_sea + 47.8, abs=0.8)
    for name, node, factor in (
            ('indicated_airspeed', 'velocities/vc-fps', foot),
            ('true_airspeed', 'velocities/vt-fps', foot), ('angle_of_attack', 'aero/alpha-rad', 1),
            ('sideslip', 'aero/beta-rad', 1), ('static_pressure', 'atmosphere/P-psf', psf),
            ('dynamic_pressure', 'aero/qbar-psf', psf), ('temperature', 'atmosphere/T-R', 5 / 9),
            ('density', 'atmosphere/rho-slugs_ft3', 515.378818),
            ('wind.x', 'atmosphere/total-wind-east-fps', foot),
            ('wind.y', 'atmosphere/total-wind-north-fps', foot),
            ('wind.z', 'atmosphere/total-wind-down-fps', -foot)):
        assert of[f'air_data.{name}'] == value(node, factor)
    # Body axes: forward, left, up; and the pose from the datum on, south by west.
    for axis, node, factor in (('x', 'u', foot), ('y', 'v', -foot), ('z', 'w', -foot)):
        assert of[f'odom.twist.twist.linear.{axis}'] == value(f'velocities/{node}-fps', factor)
    assert of['odom.pose.pose.position.y'] == pytest.approx(
        111_180.0 * (of['fix.latitude'] - 47.4), rel=1e-3)
    assert of['odom.pose.pose.position.x'] < -20.0
    now = seen(numbers(observation))
    assert now.roll_deg == pytest.approx(aircraft.property_value('attitude/phi-deg'), abs=1e-6)
    assert now.pitch_deg == pytest.approx(aircraft.property_value('attitude/theta-deg'), abs=1e-6)
    heading = aircraft.property_value('attitude/psi-deg')
    assert of['target.fields'] == 7.0
    assert math.degrees(of['target.true_heading']) == pytest.approx(230.0, abs=0.1)
    assert now.heading_error_deg == pytest.approx(heading - 230.0, abs=0.1)
    assert of['target.altitude'] == pytest.approx(1200.0, abs=1.0)


@pytest.mark.parametrize('options', [
    {'initial': {'altitude': 1300.0}}, {'wind': [0.0, 5.0, 0.0]}, {'wind': np.array([4.0, 0, 0])},
    {'turbulence': (20.0, 6)}, {'failures': [{'at': 0.4, 'engine_failed': True}]},
    {'model': 'pa28'}, {'sensors': 'consumer'},
    {'sensors': 'perfect', 'failures': [{'at': 0.4, 'pitot_blocked': True}]},
], ids=str)
def test_each_option_has_its_effect_in_its_episode_only(short, options):
    env = FlightEnv(short)
    plain = flown(env, 7, 40)
    assert flown(env, 7, 40, **options)[-2:] != plain[-2:]
    assert flown(env, 7, 40) == plain
    assert env._flight.order.scenario.initial == short.initial


def test_an_option_takes_the_place_of_the_scenarios_events(short):
    env = FlightEnv(short)
    env.reset(seed=1, options={'turbulence': [0.0, 0], 'wind': [1.0, 2.0, 3.0]})
    for _ in range(60):
        observation = env.step(LEVEL_ACTIONS['controls'])[0]
    wind = INDEX['air_data.wind.x']
    assert observation[wind:wind + 3] == pytest.approx([1.0, 2.0, 3.0], abs=1e-9)


def test_reward_and_termination_may_be_given(short):
    seen_steps = []

    def reward(step):
        seen_steps.append(step)
        return -abs(step.action[0])

    env = FlightEnv(short, frames_per_step=6, reward=reward, render_mode='ansi',
                    termination=lambda step: 'enough' if step.time > 1.05 else '')
    first, _ = env.reset(seed=1)
    done, steps = False, 0
    while not done:
        observation, value, done, truncated, info = env.step([0.25, 0.0, 0.0, 0.7])
        steps += 1
        assert (value, truncated) == (-0.25, False)
    # From 0.3 s on, a tenth of a second each.
    assert steps == 8
    assert info['reason'] == 'enough'
    # Gymnasium's loops render what the last step has led to, too.
    assert env.render().startswith(f'{info["time"]:7.2f} s  altitude')
    assert not info['passed']
    assert seen_steps[0].before.tobytes() == first.tobytes()
    assert seen_steps[-1].after.tobytes() == observation.tobytes()


@pytest.mark.parametrize(('action', 'options', 'reason'), [
    ((1.0, 0.0, 0.0, 1.0), {}, 'pitch'), ((0.0, 1.0, 0.0, 0.7), {}, 'bank'),
    ((-0.1, 0.0, 0.0, 0.0), {'initial': {'altitude': 485.0}}, 'the ground is reached'),
])
def test_a_lost_flight_is_terminated(short, action, options, reason):
    env = FlightEnv(short)
    env.reset(seed=1, options=options)
    terminated = False
    while not terminated:
        _, _, terminated, truncated, info = env.step(action)
        assert not truncated
    assert info['reason'].startswith(reason)
    assert not info['passed']
    assert len(info['judgements']) == 4


def test_the_reward_is_scaled_by_the_criteria(short):
    env = FlightEnv(short)
    observation, _ = env.reset(seed=1)
    reward = env._reward
    assert reward.scales == {
        'altitude_error': 4.0, 'heading_error_deg': 5.0, 'airspeed_error': 2.5}
    observation[INDEX['target.altitude']] = observation[INDEX['fix.altitude']] + 4.0
    observation[INDEX['target.fields']] = 1.0

    def rewarded():
        told = numbers(observation)
        return reward(Step(short, 1.0, told, (), told))

    assert rewarded() == pytest.approx(0.5)
    observation[INDEX['target.fields']] = 0.0
    assert rewarded() == 0.0


@pytest.mark.parametrize(('given', 'said'), [
    ({'scenario': 'nowhere'}, "there is no scenario 'nowhere'"),
    ({'sim': 'cellar'}, "there is no simulator 'cellar': expected one of xpc, .*, core"),
    ({'level': 'rates'}, "level: got 'rates', expected one of controls, attitude, target"),
    ({'rounding': 'rope'}, "rounding: there is no simulator 'rope'"),
    ({'frames_per_step': 0}, 'frames_per_step: expected at least 1, got 0'),
    ({'render_mode': 'human'}, "render_mode: got 'human'"),
    ({'scenario': None}, 'scenario: expected a name, a file or a Scenario, got None'),
    ({'level': None}, 'level: expected a text, got None'),
    ({'sensors': 3}, 'sensors: expected a text, got 3'),
    ({'model': 3}, 'model: expected a text, got 3'),
    ({'reward': 1.0}, 'reward: expected a function of a Step, got 1.0'),
    ({'termination': 'low'}, "termination: expected a function of a Step, got 'low'"),
    ({'sim': 'xpc', 'rounding': 'xpc'}, "rounding 'xpc' belongs to core"),
    # The names of 0.2.
    ({'room': 'ros', 'sim': 'xpc'}, "room: this is now sim: 'core' .* the name of a simulator"),
    ({'wire': 'xpc'}, 'wire: this is now rounding'),
    # That of 0.3.
    ({'aircraft': 'pa28'}, 'aircraft: this is now model'),
])
def test_mistakes_are_said_when_it_is_made(given, said):
    with pytest.raises(ValueError, match=said):
        FlightEnv(**given)


@pytest.mark.parametrize(('options', 'said'), [
    ({'winds': 1}, "options: unknown name 'winds', expected initial, wind"),
    ({'wind': [1.0, 2.0]}, r'options.wind: expected \[east, north, up\] in m/s'),
    ({'turbulence': 3}, 'options.turbulence: expected'),
    ({'turbulence': [15.0, 4.5]}, 'options.turbulence: severity 4.5, expected a whole number'),
    ({'wind': [101.0, 0.0, 0.0]}, 'options.wind: 101 m/s is no wind'),
    ({'initial': {'height': 3}}, "initial: unknown name 'height'"),
    ({'initial': {'airspeed': 0.0}}, 'airspeed is 0 m/s, expected above 0, or parked: true'),
    ({'initial': {'altitude': math.nan}}, 'initial.altitude: expected a finite number, got nan'),
    ({'failures': {'at': 3}}, 'options.failures: expected a list of events'),
    ({'failures': [{'at': 3.0, 'wind': [0, 0, 0]}]}, 'wind is no failure'),
    ({'failures': [{'at': 1.0, 'gnss_outage': True}]}, 'gnss_outage at 1 s needs sensors'),
    ({'sensors': 'best'}, 'best'), ({'model': 'ufo'}, 'ufo'),
    ({'model': 3}, 'expected a text, got 3'),
    ([], r'options: expected names with values, got \[\]'),
])
def test_mistakes_are_said_at_the_reset(short, options, said):
    with pytest.raises(ValueError, match=said):
        FlightEnv(short).reset(seed=1, options=options)


def test_mistakes_are_said_in_flight(short):
    env = FlightEnv(short)
    with pytest.raises(ValueError, match=r'call reset\(\) first'):
        env.step(LEVEL_ACTIONS['controls'])
    with pytest.raises(ValueError, match='seed: expected 0 to 2147483645, got 4294967296'):
        env.reset(seed=2 ** 32)
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r'an action has 4 numbers .*, got shape \(3,\)'):
        env.step([0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="the action's rudder is nan"):
        env.step([0.0, 0.0, math.nan, 0.0])
    with pytest.raises(ValueError, match=r'an action has 4 numbers .*, got {}'):
        env.step({})
    for values in (['0', '0', '0', '1'], np.array([0.0, 0.0, 0.0, 1j])):
        with pytest.raises(ValueError, match='an action has 4 numbers .*, got '):
            env.step(values)
    for seed in (-1, 1.5, 'a', True):
        with pytest.raises(ValueError, match=f'seed: expected .*, got {seed!r}'):
            env.reset(seed=seed)
    never = scenario.parse('never', {**SHORT, 'events': []})
    with pytest.raises(ValueError, match='never engages a controller'):
        FlightEnv(never).reset(seed=1)


def test_an_argument_that_there_is_not_is_said_with_those_there_are():
    with pytest.raises(TypeError, match='has no argument winds; it has scenario, sim, level'):
        FlightEnv(winds=1)


@pytest.mark.parametrize(('given', 'said'), [
    ({'reward': lambda _: None}, 'reward: expected a finite number, got None'),
    ({'reward': lambda _: math.nan}, 'reward: expected a finite number, got nan'),
    ({'reward': lambda _: -math.inf}, 'reward: expected a finite number, got -inf'),
    ({'reward': lambda _: '1.0'}, "reward: expected a finite number, got '1.0'"),
    ({'termination': lambda _: True}, "termination: expected why the episode ends, or '', got T"),
    ({'termination': lambda _: None}, 'got None'),
])
def test_what_your_functions_return_is_checked(short, given, said):
    env = FlightEnv(short, **given)
    env.reset(seed=1)
    with pytest.raises(ValueError, match=said):
        env.step(LEVEL_ACTIONS['controls'])


DIVE = {
    'duration': 30.0,
    'initial': {'altitude': 800.0, 'heading_deg': 90.0, 'airspeed': 51.444},
    'events': [{'at': 0.0, 'engage': True}],
    'criteria': [{'quantity': 'airspeed', 'statistic': 'max', 'at_most': 500.0}]}


@pytest.mark.parametrize('is_expected', [False, True])
def test_a_crash_terminates_it_and_says_what_happened(is_expected):
    env = FlightEnv(scenario.parse('dive', {**DIVE, 'expect_crash': is_expected}),
                    level='controls', frames_per_step=20, termination=lambda step: '')
    env.reset(seed=1)
    terminated = truncated = False
    dive = np.array((-0.6, 0.0, 0.0, 0.7))
    while not (terminated or truncated):
        observation, reward, terminated, truncated, info = env.step(dive)
        assert np.isfinite(observation).all()
        assert math.isfinite(reward)
    assert (terminated, truncated) == (True, False)
    assert info['reason'].startswith('crashed at ')
    assert (info['crash']['kind'], info['crash']['quantity']) == ('struck', 'sink_rate')
    assert info['crash']['value'] > 50.0
    assert info['passed'] is is_expected
    with pytest.raises(ValueError, match='no episode has begun, or it is over'):
        env.step(np.zeros(4))
    # The next one begins with an aircraft that is whole.
    _, info = env.reset(seed=1)
    assert 'crash' not in env.step(np.array((0.0, 0.0, 0.0, 0.7)))[4]
    env.close()
