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


"""examples/training/sb3_ppo.py: it trains, and what it writes is its network and flies."""

import argparse

import numpy as np
import pytest

pytest.importorskip(
    'stable_baselines3', reason='PPO of Stable-Baselines3 needs it: make test-sb3')

import gymnasium
from ppo_examples import forward, train_and_fly
import sb3_ppo
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
import torch
from turbulence_task import environments, FEATURES

from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.episodes import ID

LEVEL_FLIGHT = np.zeros((2, 4))


def test_it_trains_and_what_it_writes_flies(tmp_path, monkeypatch, capsys):
    train_and_fly(sb3_ppo, tmp_path, monkeypatch)
    assert '2560 steps' in capsys.readouterr().out


@pytest.fixture
def vectors():
    envs = sb3_ppo.Vectors(environments(
        argparse.Namespace(environments=2, workers=1)))
    yield envs
    envs.close()


def test_its_layers_are_its_network(vectors):
    policy = PPO('MlpPolicy', vectors, device='cpu', policy_kwargs={'net_arch': [32, 32]}).policy
    seen = np.random.default_rng(7).normal(size=(20, FEATURES)).astype(np.float32)
    mean = policy.get_distribution(torch.as_tensor(seen)).mode().detach().numpy()
    assert forward(sb3_ppo.layers(policy), seen) == pytest.approx(mean, abs=1e-5)


def test_an_end_is_told_as_stable_baselines3_wants_it(vectors):
    """A minute at 0.1 s: the last observation is that of the old episode, the next one begins."""
    vectors.seed(1)
    first = vectors.reset()
    assert vectors._seeds == [None, None]
    ended = {}
    for _ in range(600):
        rows, rewards, over, infos = vectors.step(LEVEL_FLIGHT)
        for place in np.flatnonzero(over):
            ended.setdefault(int(place), (rows[place], infos[place]))
        if len(ended) == 2:
            break
    assert {*ended} == {0, 1}
    assert rewards.shape == over.shape == (2,)
    for row, info in ended.values():
        last = info['terminal_observation']
        assert last.shape == row.shape == (FEATURES,)
        # Of one that has strayed; the next is near its targets.
        assert np.abs(last).max() > 2.0 * np.abs(row).max()
        assert np.abs(row).max() < 1.0
        assert isinstance(info['TimeLimit.truncated'], bool)
    assert first.dtype == np.float32


@pytest.mark.filterwarnings('ignore:We recommend you to use a symmetric and normalized')
@pytest.mark.filterwarnings('ignore:Your action space has dtype float64')
@pytest.mark.parametrize('level', LEVELS)
def test_stable_baselines3_accepts_flight_v0(level):
    check_env(gymnasium.make(f'xplane_bridge:{ID}', level=level).unwrapped)
