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
X-Plane's TCAS targets as traffic, and the age of each target.

Numbers such as 8.3 refer to rows of docs/wire/xplane_datarefs.md, as in state.py.
"""

from __future__ import annotations

from collections.abc import Mapping
import math

from xplane_bridge.bridges.conversions.plausibility import place_fault
from xplane_bridge.bridges.conversions.vehicle import TrafficTarget
from xplane_bridge.bridges.conversions.xplane.state import (
    local_to_enu,
    ORIGIN,
    TIME,
    turn_from_origin,
    Values,
)
from xplane_bridge.common.text import printable

MOST_TARGETS = 63
"""Targets besides the user's aircraft, which is number 0 (8.1)."""
FIRST_VERSION = 11
"""The first version with targets, from its 11.50 on."""
LONGEST_AGE = 10.0
"""Age in seconds up to which a target is shown."""

_TARGETS = 'sim/cockpit2/tcas/targets/'
_ADDRESS = _TARGETS + 'modeS_id'
_ON_WHEELS = _TARGETS + 'position/weight_on_wheels'
_PLACE = tuple(_TARGETS + f'position/{name}' for name in ('lat', 'lon', 'ele'))
_VELOCITY = tuple(_TARGETS + f'position/{name}' for name in ('vx', 'vy', 'vz'))
_FLIGHT_ID = _TARGETS + 'flight_id'
# Of a flight ID, without the NUL at its end (8.4).
_LETTERS = 7
_TEXT_SIZE = 8

# The most significant bit of an address says that it is that of a real aircraft (8.3).
_REAL = 2 ** 31
_ADDRESSES = 2 ** 24
# m/s. What is slower may stand.
_STANDS = 1.0
_FASTEST = 1e5
# Seconds. Reports of several aircraft may overtake each other by less.
_BACK = 1.0


def no_targets(version: int) -> str:
    """Return the sentence about a version without them."""
    return f'X-Plane {version} has no TCAS targets; 11.50 and later have'


def target_datarefs(count: int) -> tuple[str, ...]:
    """Return what read_targets() reads of the targets 1 to ``count``, for RREF; none for 0."""
    if not count:
        return ()
    return (TIME, *ORIGIN, *(
        f'{name}[{slot}]' for slot in range(1, count + 1)
        for name in (_ADDRESS, *_PLACE, *_VELOCITY, _ON_WHEELS)))


def flight_id_datarefs(count: int) -> tuple[str, ...]:
    """Return the letters of the flight IDs of the targets 1 to ``count``, for RREF."""
    return tuple(
        f'{_FLIGHT_ID}[{_TEXT_SIZE * slot + letter}]'
        for slot in range(1, count + 1) for letter in range(_LETTERS))


def flight_ids(count: int, given: Mapping[str, float]) -> dict[int, str]:
    """Return the flight IDs by target, as far as they are known, from flight_id_datarefs()."""
    found = {}
    for slot in range(1, count + 1):
        letters = [given.get(f'{_FLIGHT_ID}[{_TEXT_SIZE * slot + letter}]', 0.0)
                   for letter in range(_LETTERS)]
        text = bytes(int(one) if 0.0 <= one < 256.0 else 0 for one in letters)
        if name := text.partition(b'\0')[0].decode('ascii', 'replace').strip():
            found[slot] = printable(name)
    return found


def read_targets(
    count: int, given: Mapping[str, float], callsigns: Mapping[int, str]
) -> dict[int, TrafficTarget | None]:
    """
    Return the targets by their slots, None for an empty one; missing are those not known now.

    ``given`` are the target_datarefs(count) received, ``callsigns`` the flight IDs.
    """
    values = Values(given)
    found: dict[int, TrafficTarget | None] = {}
    for slot in range(1, count + 1):
        raw = values[f'{_ADDRESS}[{slot}]']
        if raw is None or not -_REAL <= raw < _REAL:
            continue
        if not raw:
            found[slot] = None
            continue
        place = values.vector([f'{name}[{slot}]' for name in _PLACE])
        if place is None or place_fault(*place):
            continue
        velocity = local_to_enu(
            values.vector([f'{name}[{slot}]' for name in _VELOCITY]),
            turn_from_origin(values, place))
        if velocity is not None and max(map(abs, velocity)) > _FASTEST:
            velocity = None
        wheels = values[f'{_ON_WHEELS}[{slot}]']
        name, address = _identity(int(raw), slot)
        found[slot] = TrafficTarget(
            name, *place, velocity, None if wheels is None else wheels != 0.0, address,
            callsigns.get(slot, ''))
    return found


def _identity(raw: int, slot: int) -> tuple[str, int]:
    """
    Return name and ICAO address of a target.

    A float32 holds 24 bits; with the mark of real aircraft the last seven are lost on the way.
    Then the address is unknown, and the slot tells two of them apart.
    """
    if 0 < raw < _ADDRESSES:
        return f'{raw:06x}', raw
    return f'{raw % _ADDRESSES:06x}-{slot}', 0


class Ages:
    """
    How old the report of each target is, in seconds of the simulator: a pause ages nothing.

    A target is reported when it comes, and whenever it has moved; what stands is reported too.
    One that has a velocity and does not move has lost whoever moved it.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[TrafficTarget, float]] = {}
        self._now = -math.inf

    def update(self, targets: Mapping[int, TrafficTarget | None], now: float) -> None:
        """Note what is known of targets at this time, by keys; None has ended."""
        if now < self._now - _BACK:
            # Another run of the simulator.
            self._known.clear()
            self._now = now
        self._now = max(now, self._now)
        for key, target in targets.items():
            if target is None:
                self._known.pop(key, None)
                continue
            before, at = self._known.get(key, (None, now))
            is_new = before is None or before.id != target.id
            self._known[key] = target, now if is_new or _moves(before, target) else at

    def reports(self) -> dict[int, tuple[TrafficTarget, float]]:
        """Return targets and their ages by keys, but those that are too old."""
        return {
            key: (target, age) for key, (target, at) in self._known.items()
            if (age := self._now - at) <= LONGEST_AGE}


def _moves(before: TrafficTarget | None, target: TrafficTarget) -> bool:
    """Return whether a target has moved, or does not claim to."""
    return before is None or target.velocity is None or (
        math.hypot(*target.velocity) < _STANDS
        or (before.latitude_deg, before.longitude_deg, before.altitude_msl)
        != (target.latitude_deg, target.longitude_deg, target.altitude_msl))
