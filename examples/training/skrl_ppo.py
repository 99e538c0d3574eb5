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

What is written is an ONNX file, which flies without skrl and JAX. How far it comes is in
docs/how-to/training_libraries.md.
"""

import os

# One thread: the networks are small. Before JAX is imported.
os.environ.setdefault('XLA_FLAGS', '--xla_cpu_multi_thread_eigen=false')

import flax.linen as nn
import jax
import jax.numpy as jnp
from skrl import config
from skrl.agents.jax.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.jax import wrap_env
from skrl.memories.jax import RandomMemory
from skrl.models.jax import DeterministicMixin, GaussianMixin, Model
from skrl.resources.schedulers.jax import KLAdaptiveLR
from skrl.trainers.jax import SequentialTrainer
from turbulence_task import arguments, DISCOUNT, environments, REWARD, ROLLOUT, train


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
    """Return two layers of 32; their names are those that layers() reads."""
    for _ in range(2):
        given = nn.tanh(nn.Dense(32)(given))
    return nn.Dense(outputs, kernel_init=nn.initializers.normal(0.01))(given)


def layers(policy):
    """Return kernel and bias of each layer of the mean."""
    found = jax.device_get(policy.state_dict.params)['params']
    return [(found[name]['kernel'], found[name]['bias'])
            for name in ('Dense_0', 'Dense_1', 'Dense_2')]


def main():
    """Train, and write the policy after each tenth."""
    given = arguments('skrl')
    config.jax.key = given.seed
    env = wrap_env(environments(given), wrapper='gymnasium')
    spaces = {'observation_space': env.observation_space, 'action_space': env.action_space}
    models = {'policy': Policy(**spaces), 'value': Value(**spaces)}
    for role, model in models.items():
        model.init_state_dict(role=role)
    agent = PPO(
        models=models, memory=RandomMemory(memory_size=ROLLOUT, num_envs=env.num_envs), **spaces,
        cfg=PPO_CFG(
            rollouts=ROLLOUT, learning_epochs=8, mini_batches=4, discount_factor=DISCOUNT,
            learning_rate=1e-3, learning_rate_scheduler=KLAdaptiveLR,
            learning_rate_scheduler_kwargs={'kl_threshold': 0.01}, time_limit_bootstrap=True,
            rewards_shaper=lambda reward, *_: REWARD * reward,
            experiment={'write_interval': 0, 'checkpoint_interval': 0}))
    trainer = SequentialTrainer(
        env=env, agents=agent, cfg={
            'timesteps': given.rounds, 'headless': True, 'disable_progressbar': True,
            'close_environment_at_exit': False})
    train(given, trainer.train, lambda: layers(models['policy']))
    env.close()


if __name__ == '__main__':
    main()
