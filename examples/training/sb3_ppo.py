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
Learn to hold altitude, heading and airspeed in turbulence by PPO of Stable-Baselines3.

    pip install '.[train]' -r requirements/sb3.txt
    python3 examples/training/sb3_ppo.py --output ppo.onnx
    xplane-bridge experiment --policy ppo.onnx --scenario turbulence --sim core --seed 3000

What is written is an ONNX file, which flies without torch. How far it comes is in
docs/how-to/training_libraries.md.
"""

from gymnasium.spaces import Box
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv
import torch
from turbulence_task import arguments, DISCOUNT, environments, REWARD, ROLLOUT, train

# Beyond it each control is at its stop; Stable-Baselines3 wants a bound.
MOST = 3.5


class Vectors(VecEnv):
    """Vector environments of Gymnasium, mode SameStep, as those of Stable-Baselines3."""

    def __init__(self, envs):
        self._envs = envs
        super().__init__(
            envs.num_envs, envs.single_observation_space,
            Box(-MOST, MOST, envs.single_action_space.shape))

    def reset(self):
        """Begin, the first time by the seeds of PPO."""
        rows, _ = self._envs.reset(seed=self._seeds)
        self._reset_seeds()
        return rows

    def step_async(self, actions):
        """Take the actions of a step."""
        self._actions = actions

    def step_wait(self):
        """Fly on; what was last seen of an episode that is over is in its info."""
        rows, rewards, terminated, truncated, info = self._envs.step(self._actions)
        over = terminated | truncated
        return rows, REWARD * rewards, over, [{
            'terminal_observation': self._envs.features(info['final_obs'][place]),
            'TimeLimit.truncated': bool(truncated[place])} if over[place] else {}
            for place in range(self.num_envs)]

    def close(self):
        """End the processes."""
        self._envs.close()

    def get_attr(self, name, indices=None):
        """Return an attribute of each, or of some."""
        found = self._envs.unwrapped.get_attr(name)
        return [found[place] for place in self._get_indices(indices)]

    def set_attr(self, name, value, indices=None):
        """Do nothing of the kind: PPO does not ask for it."""
        raise NotImplementedError

    def env_method(self, name, *given, indices=None, **named):
        """Do nothing of the kind: PPO does not ask for it."""
        raise NotImplementedError

    def env_is_wrapped(self, wrapper, indices=None):
        """Return that none is."""
        return [False for _ in self._get_indices(indices)]


def layers(policy):
    """Return kernel and bias of each layer of the mean."""
    return [(layer.weight.detach().numpy().T, layer.bias.detach().numpy())
            for layer in (*policy.mlp_extractor.policy_net, policy.action_net)
            if isinstance(layer, torch.nn.Linear)]


def main():
    """Train, and write the policy after each tenth."""
    given = arguments('Stable-Baselines3')
    # One thread: the networks are small.
    torch.set_num_threads(1)
    env = Vectors(environments(given))
    agent = PPO(
        'MlpPolicy', env, learning_rate=5e-4, n_steps=ROLLOUT, n_epochs=8, gamma=DISCOUNT,
        batch_size=ROLLOUT * env.num_envs // 4, target_kl=0.02, seed=given.seed, device='cpu',
        policy_kwargs={'net_arch': [32, 32], 'log_std_init': -1.5})
    train(given, lambda: agent.learn(
        given.rounds * env.num_envs, reset_num_timesteps=False), lambda: layers(agent.policy))
    env.close()


if __name__ == '__main__':
    main()
