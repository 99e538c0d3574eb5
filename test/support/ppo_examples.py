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


"""What the tests of examples/training share."""

import sys

import numpy as np

from xplane_bridge.laboratory.flights.order import FlownBy, Order
from xplane_bridge.laboratory.flights.scenario.scenario import find, load
from xplane_bridge.laboratory.open_flight import open_flight


def forward(layers, seen):
    """Return what a network of such layers, each kernel and bias, computes of features."""
    for number, (kernel, bias) in enumerate(layers):
        seen = (np.tanh(seen) if number else seen) @ kernel + bias
    return seen


def train_and_fly(example, folder, monkeypatch):
    """Train by an example for a moment; what it writes changes, and flies."""
    file = folder / 'ppo.onnx'
    monkeypatch.setattr(sys, 'argv', [
        example.__file__, '--steps', '2560', '--environments', '4', '--output', str(file)])
    example.main()
    assert len([*folder.glob('*.onnx')]) == 10
    assert file.read_bytes() != file.with_stem('ppo_10').read_bytes()
    flight = open_flight(Order(
        load(find('turbulence')), flown_by=FlownBy(policy=str(file)), seed=3000))
    flight.fly()
    assert flight.error is None
    assert len(flight.result().judgements) == 6
