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

"""The fields of a scenario file: each mistake is an error that says where, expected and found."""

from __future__ import annotations

from xplane_bridge.common.plain_yaml import (
    boolean,
    choice,
    items,
    LARGEST,
    mapping,
    number,
    text,
)
from xplane_bridge.common.plain_yaml import (
    FieldError as ScenarioError,
)
from xplane_bridge.common.units import DEGREE

__all__ = [
    'boolean', 'choice', 'DAY', 'items', 'LARGEST', 'LARGEST_SEED', 'mapping', 'number',
    'ScenarioError', 'si', 'text',
]

LARGEST_SEED = 2 ** 31 - 3
"""The largest random seed; the smallest is 0. So many are told apart by JSBSim's generator."""

DAY = 86_400.0
"""In seconds: nothing that is flown lasts longer."""


def si(name: str, value: float) -> float:
    """Return a field's value in SI units: a name that ends in _deg is in degrees."""
    return value * DEGREE if name.endswith('_deg') else value
