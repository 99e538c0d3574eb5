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

"""Derivatives that somebody has published, to compare with: a YAML file of them by name."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import NamedTuple

from xplane_bridge.common import plain_yaml
from xplane_bridge.common.fields import (
    Declaration,
    in_file,
    mapping,
    number,
    read_table,
    REQUIRED,
    Table,
)
from xplane_bridge.laboratory.identification.motion.equations import FORMS, SPEED

NAMES = tuple(dict.fromkeys(
    str(one) for form in (*FORMS, SPEED) for one in form.derivatives if one not in form.omitted))
"""The derivatives that there may be."""

PUBLISHED: Table = {
    'value': Declaration(REQUIRED, "the derivative, in the report's unit"),
    'sigma': Declaration(0.0, 'its standard deviation, if one is published', low=0.0)}
"""Of a derivative."""


class PublishedDerivative(NamedTuple):
    """A value, and its standard deviation, 0 where none is published."""

    value: float
    sigma: float = 0.0

    def away(self, value: float, deviation: float) -> float:
        """Return how far an estimate is from it, in standard deviations of both; NaN without."""
        both = math.hypot(self.sigma, deviation)
        return (value - self.value) / both if both else math.nan


def load(path: str) -> dict[str, PublishedDerivative]:
    """Return the derivatives of a file by their names. Raises OSError and ValueError."""
    content = plain_yaml.load_file(path)
    found = {}
    with in_file(path):
        given: Mapping[str, object] = mapping(content, 'the file', (), NAMES)
        for name, item in given.items():
            found[name] = PublishedDerivative(
                **read_table(PUBLISHED, item, name) if isinstance(item, Mapping)
                else {'value': number(item, name)})
    return found
