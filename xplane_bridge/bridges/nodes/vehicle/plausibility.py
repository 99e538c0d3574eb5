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

"""The gate that keeps impossible values off the topics, and its diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
import time
from typing import Any

from xplane_bridge.bridges.conversions.plausibility import Plausibility, Withheld
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status, WARN
from xplane_bridge.common.text import counted

# How long diagnostics warn about an impossible value, in seconds, and how many they name.
_ANNOUNCED = 60.0
_NAMED = 5
# One that was not seen for this long, in seconds, is over.
_OVER = 3.0


def make_gate(node: BridgeNode[Any], prefix: str = '') -> Plausibility:
    """Return the gate that keeps impossible values of one vehicle off its topics."""
    def tell(name: str, value: float) -> None:
        node.warn('impossible', f'{prefix}{name} {value:g} is impossible: not published')

    return Plausibility(tell)


def plausibility_status(gates: Mapping[str, Plausibility]) -> Status:
    """Return the diagnostics status of impossible values, by prefix of the vehicle."""
    now = time.monotonic()
    found = [
        (prefix + name, what) for prefix, gate in gates.items()
        for name, what in gate.withheld.items()]
    recent = [
        f'{name} {what.value:g} ({counted(what.count, "time")}, {_when(what, now)})'
        for name, what in found if now - what.at < _ANNOUNCED]
    more = f' and {len(recent) - _NAMED} more' if len(recent) > _NAMED else ''
    return Status(
        'plausibility', WARN if recent else OK,
        f'impossible values received, not published: {", ".join(recent[:_NAMED])}{more}'
        if recent else 'nothing impossible',
        tuple((f'{name}, withheld', str(what.count)) for name, what in found))


def _when(what: Withheld, now: float) -> str:
    """Return how long a value has been impossible, or how long ago it was."""
    ago = now - what.at
    return f'{ago:.0f} s ago' if ago >= _OVER else f'for {now - what.since:.0f} s'
