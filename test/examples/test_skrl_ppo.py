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


"""examples/training/skrl_ppo.py: it trains, and what it writes is its network and flies."""

import numpy as np
import pytest

pytest.importorskip('skrl', reason='PPO of skrl needs skrl: make test-skrl')

from gymnasium.spaces import Box
from ppo_examples import forward, train_and_fly
import skrl_ppo
from turbulence_task import FEATURES


def test_it_trains_and_what_it_writes_flies(tmp_path, monkeypatch, capsys):
    train_and_fly(skrl_ppo, tmp_path, monkeypatch)
    assert '2560 steps' in capsys.readouterr().out


def test_its_layers_are_its_network():
    policy = skrl_ppo.Policy(
        observation_space=Box(-np.inf, np.inf, (FEATURES,)), action_space=Box(-1.0, 1.0, (4,)))
    policy.init_state_dict(role='policy')
    seen = np.random.default_rng(7).normal(size=(20, FEATURES)).astype(np.float32)
    mean, _ = policy.apply(policy.state_dict.params, {'observations': seen}, 'policy')
    assert forward(skrl_ppo.layers(policy), seen) == pytest.approx(np.asarray(mean), abs=1e-5)
