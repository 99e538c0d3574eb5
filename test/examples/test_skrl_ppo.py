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

import importlib.util
from pathlib import Path
import sys

import numpy as np
import pytest

pytest.importorskip('skrl', reason='PPO of skrl needs skrl: make test-skrl')

from xplane_bridge.laboratory.control.policy.load import load
from xplane_bridge.laboratory.control.policy.observation import columns, SIZE
from xplane_bridge.laboratory.flights.order import FlownBy, Order
from xplane_bridge.laboratory.flights.scenario.scenario import find
from xplane_bridge.laboratory.flights.scenario.scenario import load as scenario
from xplane_bridge.laboratory.open_flight import open_flight

SCRIPT = Path(__file__).resolve().parents[2] / 'examples' / 'training' / 'skrl_ppo.py'


@pytest.fixture(scope='module')
def example():
    specification = importlib.util.spec_from_file_location('skrl_ppo', SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_it_trains_and_what_it_writes_flies(example, tmp_path, monkeypatch, capsys):
    file = tmp_path / 'ppo.onnx'
    monkeypatch.setattr(sys, 'argv', [
        str(SCRIPT), '--steps', '2560', '--environments', '4', '--output', str(file)])
    example.main()
    assert '2560 steps' in capsys.readouterr().out
    assert len([*tmp_path.glob('*.onnx')]) == 10
    assert file.read_bytes() != file.with_stem('ppo_10').read_bytes()
    flight = open_flight(Order(
        scenario(find('turbulence')), flown_by=FlownBy(policy=str(file)), seed=3000))
    flight.fly()
    assert flight.error is None
    assert len(flight.result().judgements) == 6


def test_the_file_is_features_network_and_action(example, tmp_path):
    random = np.random.default_rng(7)
    spaces = {name: example.Box(-np.inf, np.inf, (size,)) for name, size in (
        ('observation_space', example.FEATURES), ('action_space', len(example.CRUISE)))}
    policy = example.Policy(**spaces)
    policy.init_state_dict(role='policy')
    file = tmp_path / 'ppo.onnx'
    example.write(file, policy)
    flown = load(str(file))
    for _ in range(20):
        turned = random.normal(size=4)
        fields = np.array([
            *turned / np.linalg.norm(turned), *random.normal(0.0, 0.1, 3),
            1500.0 + random.normal(0.0, 20.0), 55.0, random.normal(0.0, 3.0),
            51.0 + random.normal(0.0, 5.0), 1500.0, random.uniform(-6.0, 6.0), 51.4])
        observation = np.zeros(SIZE)
        observation[columns(example.FIELDS)] = fields
        seen = np.array([example.features(example.Arrays, fields)], np.float32)
        mean, _ = policy.apply(policy.state_dict.params, {'observations': seen}, 'policy')
        wanted = example.CRUISE + example.REACH * np.asarray(mean)[0]
        assert flown.act(observation) == pytest.approx(
            np.clip(wanted, [-1.0, -1.0, -1.0, 0.0], 1.0), abs=1e-4)
