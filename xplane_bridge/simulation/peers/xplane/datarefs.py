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
X-Plane's datarefs of the simulated world: read and written by name, as one version has them.

Only what is modelled exists: a name that X-Plane has but the model has no value for is unknown
here, not made up. flight.py, weather.py, clock.py, cockpit.py, traffic.py and tcas.py
list them with their meaning; panel.py has the settings of the panel, which stay as written and
move nothing.
Several stores of different versions may share one world.
"""

from collections.abc import Callable, Sequence
from functools import partial
import math
from typing import Any, NamedTuple

from xplane_bridge.simulation.peers.faults import SimulatorCrashError
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.clock import add_clock
from xplane_bridge.simulation.peers.xplane.cockpit import add_cockpit
from xplane_bridge.simulation.peers.xplane.entries import DatarefTable, DatarefType
from xplane_bridge.simulation.peers.xplane.flight import add_flight
from xplane_bridge.simulation.peers.xplane.panel import add_panel
from xplane_bridge.simulation.peers.xplane.tcas import add_tcas
from xplane_bridge.simulation.peers.xplane.traffic import add_traffic
from xplane_bridge.simulation.peers.xplane.weather import add_weather

XPLANE_VERSIONS = (9, 10, 11, 12)

# What a processor of today's PCs makes of NaN and infinities (cvttss2si).
_INT_OF_NAN = -2 ** 31
# Beyond any value in flight, and small enough that its square does not overflow.
_LARGEST = 1e9


class DatarefValue(NamedTuple):
    """
    A dataref's value as read, with its X-Plane type.

    A scalar has one value, an array as many as in X-Plane. Floats and doubles are Python floats
    (rounded to float32 only on the wire); ints and bytes (0..255) are ints.
    """

    type: DatarefType
    values: tuple[float, ...]


class DatarefStore:
    """
    The datarefs of one world as X-Plane 9, 10, 11 or 12 would show them.

    Names have no index: an element is read by element_reader, since only some protocols of
    X-Plane understand ``name[i]``.
    """

    def __init__(self, world: World, xplane_version: int = 11) -> None:
        """Build the table. Raises ValueError for another version."""
        if xplane_version not in XPLANE_VERSIONS:
            raise ValueError(f'X-Plane version is {xplane_version}, must be in {XPLANE_VERSIONS}')
        self.world = world
        self.xplane_version = xplane_version
        table = DatarefTable(xplane_version)
        for add in (add_flight, add_weather, add_clock, add_cockpit, add_panel, add_traffic,
                    add_tcas):
            add(table, world)
        self._entries = table.entries

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        return tuple(sorted(self._entries))

    def type_of(self, name: str) -> DatarefType | None:
        """Return a dataref's type, or None for an unknown name."""
        entry = self._entries.get(name)
        return None if entry is None else entry.type

    def is_writable(self, name: str) -> bool:
        """Return whether writing to it may have an effect."""
        entry = self._entries.get(name)
        return entry is not None and entry.write is not None

    def read(self, name: str) -> DatarefValue | None:
        """Return type and values, or None for an unknown name."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        if entry.type.is_array:
            return DatarefValue(entry.type, tuple(entry.read()))
        return DatarefValue(entry.type, (entry.read(),))

    def reader(self, name: str) -> Callable[[], Any] | None:
        """Return what reads a number, or all elements of an array; None for an unknown name."""
        entry = self._entries.get(name)
        return None if entry is None else entry.read

    def element_reader(self, name: str, index: int) -> Callable[[], float] | None:
        """
        Return what reads one element of an array, or None where there is none.

        Index 0 of a scalar is the scalar.
        """
        entry, known = self._entries.get(name), self.read(name)
        if entry is None or known is None or not 0 <= index < len(known.values):
            return None
        read = entry.read
        if entry.element is not None:
            return partial(entry.element, index)
        return (lambda: read()[index]) if entry.type.is_array else read

    def write(self, name: str, values: Sequence[float], offset: int = 0, *,
              checked: bool = True) -> bool:
        """
        Write a scalar, or an array starting at offset; return whether anything was written.

        As in X-Plane nothing happens (False) for a name that is unknown or read-only; values
        beyond the end are dropped, fewer leave the rest unchanged, ints are truncated toward
        zero. Numbers are clamped to what the model can handle.

        A write that contains NaN or an infinity is ignored. Not so if not ``checked``, as a plugin
        of X-Plane writes: an infinity is clamped too, an int becomes what the processor makes of
        it, and NaN gets into the flight model, which raises SimulatorCrashError here; settings
        that are no part of it keep it.
        """
        entry = self._entries.get(name)
        if entry is None or entry.write is None or not values or offset < 0:
            return False
        if checked and not all(map(math.isfinite, values)):
            return False
        if entry.type.is_integer:
            given: list[float] = [
                int(_clamped(v)) if math.isfinite(v) else _INT_OF_NAN for v in values]
        else:
            given = [_clamped(v) for v in values]
            if not entry.is_setting and any(map(math.isnan, given)):
                raise SimulatorCrashError(
                    f'NaN has entered the flight model of X-Plane through {name}, which no '
                    'plugin may write')
        if not entry.type.is_array:
            if offset:
                return False
            entry.write(given[0])
            return True
        merged = list(entry.read())
        given = given[:len(merged) - offset]
        if offset >= len(merged):
            return False
        merged[offset:offset + len(given)] = given
        entry.write(merged)
        return True


def _clamped(value: float) -> float:
    """Return a number within the limits; NaN stays."""
    return value if math.isnan(value) else min(max(float(value), -_LARGEST), _LARGEST)
