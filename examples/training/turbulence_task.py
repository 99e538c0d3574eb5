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


"""
What the examples of training share: the task, what networks see and command, and their file.

The task is to hold altitude, heading and airspeed in turbulence. A network is shown features of
what is observed, and gives actions of about -1 to 1; both conversions stand in the ONNX file too.
"""

import argparse
from pathlib import Path

import gymnasium
from gymnasium.spaces import Box
import numpy as np

from xplane_bridge.laboratory.episodes import ID
from xplane_bridge.laboratory.episodes.training.graph import Graph

FIELDS = (
    *(f'imu/data.orientation.{axis}' for axis in 'xyzw'),
    *(f'imu/data.angular_velocity.{axis}' for axis in 'xyz'),
    'fix.altitude', 'odom.twist.twist.linear.x', 'odom.twist.twist.linear.z',
    'air_data.indicated_airspeed', 'target.altitude', 'target.true_heading', 'target.airspeed')
# Elevator, aileron, rudder and throttle near cruise, and how far a network's 1 is from there.
CRUISE = np.array([0.0, 0.0, 0.0, 0.7])
REACH = np.array([0.3, 0.3, 0.3, 0.5])
FEATURES = 10
# A decision each 0.1 s, a rollout of 6.4 s.
FRAMES_PER_STEP, ROLLOUT = 6, 64
# Of 50 steps at most 1 each: a value of about 1, if a reward counts so much.
REWARD, DISCOUNT = 0.03, 0.98


class Arrays:
    """What features() needs, for numpy's arrays; those of episodes.training.graph too."""

    sine, cosine, limited = staticmethod(np.sin), staticmethod(np.cos), staticmethod(np.clip)


def features(by, fields):
    """Return what the networks see of FIELDS: errors, attitude and rates, each about -1 to 1."""
    (x, y, z, w, roll_rate, pitch_rate, yaw_rate, altitude, forward, up, airspeed,
     wanted_altitude, wanted_heading, wanted_airspeed) = fields
    # The nose's direction, and from it to the wanted heading, as a sine.
    east, north = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)
    turn = by.sine(wanted_heading) * north - by.cosine(wanted_heading) * east
    pitch, bank = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x)
    return [
        by.limited((wanted_altitude - altitude) * 0.1, -2.0, 2.0),
        by.limited((wanted_airspeed - airspeed) * 0.2, -2.0, 2.0),
        by.limited(turn * 5.0, -2.0, 2.0), (pitch * forward + up) * 0.2, pitch * 5.0, bank * 3.0,
        roll_rate * 3.0, pitch_rate * 5.0, yaw_rate * 5.0, bank * bank * 10.0]


class Scaled(gymnasium.vector.VectorWrapper):
    """Environments that show features, and take actions of about -1 to 1."""

    def __init__(self, envs):
        super().__init__(envs)
        for name, size in (('observation', FEATURES), ('action', len(CRUISE))):
            setattr(self, f'single_{name}_space', Box(-np.inf, np.inf, (size,)))
            setattr(self, f'{name}_space', Box(-np.inf, np.inf, (envs.num_envs, size)))

    def reset(self, **given):
        """Begin."""
        rows, info = self.env.reset(**given)
        return self.features(rows), info

    def step(self, actions):
        """Fly on."""
        rows, *others = self.env.step(CRUISE + REACH * actions)
        return self.features(rows), *others

    def features(self, rows):
        """Return features of observations."""
        return np.stack(features(Arrays, rows.T), -1, dtype=np.float32)


def arguments(library):
    """Return what the command line says; ``rounds`` are steps of each environment in a tenth."""
    parser = argparse.ArgumentParser(description=f'Train a policy by PPO of {library}.')
    parser.add_argument('--output', type=Path, default=Path('ppo.onnx'))
    parser.add_argument('--steps', type=int, default=1_000_000, help='of all environments')
    parser.add_argument('--environments', type=int, default=16)
    parser.add_argument('--workers', type=int, default=0, help='processes; 0: one on each core')
    parser.add_argument('--seed', type=int, default=1)
    given = parser.parse_args()
    given.rounds = max(given.steps // (10 * ROLLOUT * given.environments), 1) * ROLLOUT
    return given


def environments(given):
    """Return environments of the task; the last step of an episode begins the next."""
    return Scaled(gymnasium.make_vec(
        f'xplane_bridge:{ID}', given.environments, workers=given.workers,
        autoreset_mode='SameStep', scenario='turbulence', frames_per_step=FRAMES_PER_STEP,
        fields=FIELDS))


def train(given, learn, layers):
    """Learn ten times, by ``learn``, and write what ``layers`` returns after each."""
    for tenth in range(1, 11):
        learn()
        path = given.output
        if tenth < 10:
            path = path.with_stem(f'{path.stem}_{tenth}0')
        write(path, layers())
        print(f'{tenth * given.rounds * given.environments} steps: {path}', flush=True)


def write(path, layers):
    """Write features, a network and its action as ONNX; each of ``layers`` is kernel and bias."""
    graph = Graph()
    seen = features(graph, graph.split('observation', len(FIELDS)))
    value = graph.add('Concat', *seen, axis=1)
    for number, (kernel, bias) in enumerate(layers):
        if number:
            value = graph.add('Tanh', value)
        value = graph.add('Gemm', value, kernel, bias)
    action = graph.add('Mul', value, REACH[None].astype(np.float32))
    action = graph.add('Add', action, CRUISE[None].astype(np.float32))
    low, high = np.array([[-1, -1, -1, 0]], np.float32), np.ones((1, 4), np.float32)
    action = graph.add('Max', graph.add('Min', action, high), low)
    graph.output('action', [action])
    path.write_bytes(graph.model('ppo', FIELDS, 'controls', 4).SerializeToString())
