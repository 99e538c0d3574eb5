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


"""examples/training/turbulence_task.py: what networks see, and the file that has it."""

import numpy as np
import pytest

pytest.importorskip('gymnasium', reason='training needs gymnasium')
pytest.importorskip('jsbsim', reason='training needs jsbsim')
pytest.importorskip('onnx', reason='writing a policy needs onnx')
pytest.importorskip('onnxruntime', reason='flying a policy needs onnxruntime')

from gymnasium.vector import SyncVectorEnv
from ppo_examples import forward
import turbulence_task

from xplane_bridge.laboratory.control.policy.load import load
from xplane_bridge.laboratory.control.policy.observation import columns, SIZE
from xplane_bridge.laboratory.episodes.environment import FlightEnv


def test_the_file_is_features_network_and_action(tmp_path):
    random = np.random.default_rng(7)
    sizes = (turbulence_task.FEATURES, 32, 32, 4)
    layers = [(random.normal(0.0, 0.3, pair).astype(np.float32),
               random.normal(0.0, 0.3, pair[1]).astype(np.float32))
              for pair in zip(sizes, sizes[1:], strict=False)]
    file = tmp_path / 'ppo.onnx'
    turbulence_task.write(file, layers)
    flown = load(str(file))
    for _ in range(20):
        turned = random.normal(size=4)
        fields = np.array([
            *turned / np.linalg.norm(turned), *random.normal(0.0, 0.1, 3),
            1500.0 + random.normal(0.0, 20.0), 55.0, random.normal(0.0, 3.0),
            51.0 + random.normal(0.0, 5.0), 1500.0, random.uniform(-6.0, 6.0), 51.4])
        observation = np.zeros(SIZE)
        observation[columns(turbulence_task.FIELDS)] = fields
        seen = np.array(turbulence_task.features(turbulence_task.Arrays, fields))
        wanted = turbulence_task.CRUISE + turbulence_task.REACH * forward(layers, seen)
        assert flown.act(observation) == pytest.approx(
            np.clip(wanted, [-1.0, -1.0, -1.0, 0.0], 1.0), abs=1e-4)


def test_networks_see_errors_and_command_around_cruise():
    given = {'frames_per_step': 6, 'fields': turbulence_task.FIELDS}
    envs = turbulence_task.Scaled(SyncVectorEnv(
        [lambda: FlightEnv(**given)] * 2, autoreset_mode='SameStep'))
    rows, _ = envs.reset(seed=1)
    assert envs.observation_space.contains(rows)
    assert np.abs(rows).max() < 1.0
    one = FlightEnv(**given)
    one.reset(seed=2)
    seen, reward, *_ = one.step([0.03, 0.0, 0.0, 0.8])
    rows, rewards, *_ = envs.step(np.array([[0.0] * 4, [0.1, 0.0, 0.0, 0.2]]))
    assert rows[1].tolist() == envs.features(seen).tolist()
    assert rewards[1] == pytest.approx(reward)
