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

"""Which engines fail, by the parameters of simulator_node; in a fleet by the aircraft's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xplane_bridge.common.text import printable
from xplane_bridge.simulation.peers.world import World


def fail(
    world: World, names: Sequence[str], of_first: bool | Sequence[int], of_fleet: Sequence[str]
) -> None:
    """
    Fail these engines, and repair all others.

    ``names`` are those of the aircraft, by number. ``of_first`` are the engines of the first one;
    ``of_fleet`` has NAME for all engines of an aircraft, and NAME:ENGINE for one of them. Raises
    ValueError, changing nothing, for an aircraft or an engine that does not exist.
    """
    wanted: list[bool | list[int]] = [False for _ in world.flown]
    wanted[0] = of_first if isinstance(of_first, bool) else list(of_first)
    for text in of_fleet:
        name, _, engine = text.partition(':')
        if not name or name not in names or (':' in text and not engine.isdecimal()):
            raise ValueError(
                f'parameter fleet_failed_engines: got {printable(text)}, expected NAME or '
                f'NAME:ENGINE, with a name of {", ".join(filter(None, names)) or "a fleet"}')
        number = names.index(name)
        before = wanted[number]
        if not engine:
            wanted[number] = True
        elif before is not True:
            wanted[number] = [*(before or ()), int(engine)]
    failed = [sorted(aircraft.failed_engines) for aircraft in world.flown]
    try:
        for aircraft, engines in zip(world.flown, wanted, strict=True):
            aircraft.set_failed(engines)
    except ValueError:
        for aircraft, engines in zip(world.flown, failed, strict=True):
            aircraft.set_failed(engines)
        raise


def failures(given: Any) -> tuple[bool | tuple[int, ...], tuple[str, ...]]:
    """Return which engines fail, of the first aircraft and of a fleet."""
    return given.engine_failed or given.failed_engines, given.fleet_failed_engines
