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
Learn to hold altitude, heading and airspeed in turbulence by PPO of skrl, with JAX.

    pip install '.[train]' -r requirements/skrl.txt
    python3 examples/training/skrl_ppo.py --output ppo.onnx
    xplane-bridge experiment --policy ppo.onnx --scenario turbulence --sim core --seed 3000

What is written is an ONNX file, which flies without skrl and JAX. docs/how-to/training.md says how
far it comes.
"""

import argparse
import os
from pathlib import Path

# One thread: the networks are small. Before JAX is imported.
os.environ.setdefault('XLA_FLAGS', '--xla_cpu_multi_thread_eigen=false')

import flax.linen as nn
import gymnasium
from gymnasium.spaces import Box
import jax
import jax.numpy as jnp
import numpy as np
from skrl import config
from skrl.agents.jax.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.jax import wrap_env
from skrl.memories.jax import RandomMemory
from skrl.models.jax import DeterministicMixin, GaussianMixin, Model
from skrl.resources.schedulers.jax import KLAdaptiveLR
from skrl.trainers.jax import SequentialTrainer

from xplane_bridge.laboratory.control.policy.observation import columns
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


class Policy(GaussianMixin, Model):
    """The mean of the action, and a spread that is learnt."""

    def __init__(self, **spaces):
        Model.__init__(self, **spaces)
        GaussianMixin.__init__(self)

    @nn.compact
    def __call__(self, inputs, role):
        mean = network(inputs['observations'], self.num_actions)
        return mean, {'log_std': self.param('log_std', lambda _: jnp.full(self.num_actions, -1.5))}


class Value(DeterministicMixin, Model):
    """What is still to be gained."""

    def __init__(self, **spaces):
        Model.__init__(self, **spaces)
        DeterministicMixin.__init__(self)

    @nn.compact
    def __call__(self, inputs, role):
        return network(inputs['observations'], 1), {}


def network(given, outputs):
    """Return two layers of 32; their names are those that write() reads."""
    for _ in range(2):
        given = nn.tanh(nn.Dense(32)(given))
    return nn.Dense(outputs, kernel_init=nn.initializers.normal(0.01))(given)


class Scaled(gymnasium.vector.VectorWrapper):
    """Environments that show features, and take actions of about -1 to 1."""

    def __init__(self, envs):
        super().__init__(envs)
        self._columns = columns(FIELDS)
        for name, size in (('observation', FEATURES), ('action', len(CRUISE))):
            setattr(self, f'single_{name}_space', Box(-np.inf, np.inf, (size,)))
            setattr(self, f'{name}_space', Box(-np.inf, np.inf, (envs.num_envs, size)))

    def reset(self, **given):
        """Begin."""
        rows, info = self.env.reset(**given)
        return self._features(rows), info

    def step(self, actions):
        """Fly on."""
        rows, *others = self.env.step(CRUISE + REACH * actions)
        return self._features(rows), *others

    def _features(self, rows):
        return np.stack(features(Arrays, rows[:, self._columns].T), 1, dtype=np.float32)


def write(path, policy):
    """Write the policy as ONNX: features, network and action, in a graph."""
    graph = Graph()
    seen = features(graph, graph.split('observation', len(FIELDS)))
    value = graph.add('Concat', *seen, axis=1)
    layers = jax.device_get(policy.state_dict.params)['params']
    for name in ('Dense_0', 'Dense_1', 'Dense_2'):
        if name != 'Dense_0':
            value = graph.add('Tanh', value)
        value = graph.add('Gemm', value, layers[name]['kernel'], layers[name]['bias'])
    action = graph.add('Mul', value, REACH[None].astype(np.float32))
    action = graph.add('Add', action, CRUISE[None].astype(np.float32))
    low, high = np.array([[-1, -1, -1, 0]], np.float32), np.ones((1, 4), np.float32)
    action = graph.add('Max', graph.add('Min', action, high), low)
    graph.output('action', [action])
    path.write_bytes(graph.model('ppo', FIELDS, 'controls', 4).SerializeToString())


def main():
    """Train, and write the policy after each tenth."""
    parser = argparse.ArgumentParser(description='Train a policy by PPO of skrl.')
    parser.add_argument('--output', type=Path, default=Path('ppo.onnx'))
    parser.add_argument('--steps', type=int, default=1_000_000, help='of all environments')
    parser.add_argument('--environments', type=int, default=16)
    parser.add_argument('--workers', type=int, default=0, help='processes; 0: one on each core')
    parser.add_argument('--seed', type=int, default=1)
    given = parser.parse_args()
    config.jax.key = given.seed
    env = wrap_env(Scaled(gymnasium.make_vec(
        f'xplane_bridge:{ID}', given.environments, workers=given.workers,
        autoreset_mode='SameStep', scenario='turbulence', frames_per_step=FRAMES_PER_STEP)),
        wrapper='gymnasium')
    spaces = {'observation_space': env.observation_space, 'action_space': env.action_space}
    models = {'policy': Policy(**spaces), 'value': Value(**spaces)}
    for role, model in models.items():
        model.init_state_dict(role=role)
    agent = PPO(
        models=models, memory=RandomMemory(memory_size=ROLLOUT, num_envs=env.num_envs), **spaces,
        cfg=PPO_CFG(
            rollouts=ROLLOUT, learning_epochs=8, mini_batches=4, discount_factor=0.98,
            learning_rate=1e-3, learning_rate_scheduler=KLAdaptiveLR,
            learning_rate_scheduler_kwargs={'kl_threshold': 0.01}, time_limit_bootstrap=True,
            # Of 50 steps at most 1 each: a value of about 1.
            rewards_shaper=lambda reward, *_: 0.03 * reward,
            experiment={'write_interval': 0, 'checkpoint_interval': 0}))
    rounds = max(given.steps // (10 * ROLLOUT * env.num_envs), 1) * ROLLOUT
    trainer = SequentialTrainer(
        env=env, agents=agent, cfg={
            'timesteps': rounds, 'headless': True, 'disable_progressbar': True,
            'close_environment_at_exit': False})
    for tenth in range(1, 11):
        trainer.train()
        path = given.output
        if tenth < 10:
            path = path.with_stem(f'{path.stem}_{tenth}0')
        write(path, models['policy'])
        print(f'{tenth * rounds * env.num_envs} steps: {path}', flush=True)
    env.close()


if __name__ == '__main__':
    main()
