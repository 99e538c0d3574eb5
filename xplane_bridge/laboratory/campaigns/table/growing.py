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
A campaign that grows: rows of an earlier plan, each with its number in the present one.

A flight is the same if its key is, which covers all its inputs; numbers depend on the whole plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from xplane_bridge.laboratory.campaigns.plan.plan import Plan


class Place(NamedTuple):
    """Where a row stands in a plan: the flight's number, and the command that flies it again."""

    flight: int
    command: str


Places = Mapping[int, Place]
"""Places by the number that a flight had in the plan before."""


def places(plan: Plan, folder: str, keys: Mapping[int, str]) -> Places:
    """
    Return the places of flights in a plan, by their ``keys``.

    Those of flights that the plan has not are missing. Flights of equal keys keep their order.
    """
    before: dict[str, list[int]] = {}
    for flight in sorted(keys, reverse=True):
        before.setdefault(keys[flight], []).append(flight)
    found: dict[int, Place] = {}
    for flight in range(len(plan)):
        if len(found) == len(keys):
            break
        task = plan.task(flight, folder)
        if had := before.get(task.key):
            found[had.pop()] = Place(flight, task.command)
    return found


def moved(part: Any, to: Places) -> Any:
    """Return a pyarrow table of rows with the numbers and commands of their places."""
    import pyarrow
    placed = [to[flight] for flight in part['flight'].to_pylist()]
    for name, values in (('flight', [place.flight for place in placed]),
                         ('command', [place.command for place in placed])):
        number = part.schema.get_field_index(name)
        part = part.set_column(
            number, part.schema.field(number), pyarrow.array(values, part.schema.field(name).type))
    return part
