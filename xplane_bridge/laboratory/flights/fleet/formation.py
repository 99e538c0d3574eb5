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

"""Followers are told where their leader is, ten times per second, and hold their slots."""

from __future__ import annotations

from collections.abc import Mapping
import math

from xplane_bridge.bridges.conversions.frames import Vector
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.common.timing import ROUNDED_TIME
from xplane_bridge.laboratory.control.formation import target_in
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.flights.fleet.members import Member
from xplane_bridge.laboratory.flights.scenario.fleet import Station

# As routes are led, and as often as a data link between aircraft may well be heard.
_PERIOD = 0.1


class Formation:
    """The followers of a fleet: ``stations`` by their names, as ``members`` has them."""

    def __init__(self, stations: Mapping[str, Station], members: Mapping[str, Member]) -> None:
        self._stations, self._members = stations, members
        self._due = {name: station.begin for name, station in stations.items()}

    @property
    def due(self) -> float:
        """Return when somebody is told something next, in s."""
        return min(self._due.values(), default=math.inf) - ROUNDED_TIME

    def lead(self, now: float) -> None:
        """
        Tell those who are due where they have to fly.

        By what all have observed at that time: so no order of theirs makes a difference. Who is
        not engaged is told nothing; nor is anybody while it is not known where it or its leader
        is. Raises ExperimentError for a target that cannot be flown.
        """
        told = {}
        frames: dict[str, LocalFrame | None] = {}
        for name, station in self._stations.items():
            if now < self._due[name] - ROUNDED_TIME:
                continue
            while self._due[name] <= now + ROUNDED_TIME:
                self._due[name] += _PERIOD
            member = self._members[name]
            if not member.engaged:
                continue
            leader = self._members[station.leader]
            if station.leader not in frames:
                frames[station.leader] = _frame_at(leader.known_place)
            told[name] = _wanted(station, frames[station.leader], leader, member)
        for name, values in told.items():
            if values:
                self._members[name].set_target(values)


def _frame_at(place: Vector) -> LocalFrame | None:
    """Return axes at a place, None where it is not known."""
    return LocalFrame(*place) if math.isfinite(sum(place)) else None


def _wanted(
    station: Station, frame: LocalFrame | None, leader: Member, own: Member
) -> dict[str, float]:
    """Return the targets of a follower; {} if it is not known where it or its leader is."""
    place = own.known_place
    if frame is None or not math.isfinite(sum(place)):
        return {}
    east, north, up = frame.geodetic_to_enu(*place)
    now, gains = own.measurement(), own.gains
    target = target_in(
        station.slot, leader.measurement(), now, (-east, -north, -up),
        gains or Gains(), leader.held_airspeed)
    # A law of somebody else's is led by headings, as along a route.
    direction = ('course', target.course) if gains is not None else (
        'heading', (target.course - now.track + now.heading) % math.tau)
    return {
        'altitude': target.altitude, 'airspeed': target.airspeed, direction[0]: direction[1]}
