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

"""Aircraft with a flight model that join a world while it flies, and leave it."""

from __future__ import annotations

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.flown import FlownAircraft
from xplane_bridge.simulation.peers.traffic import OtherAircraft
from xplane_bridge.simulation.peers.world import World


def join(world: World, aircraft: Aircraft) -> None:
    """Let another aircraft fly in a world, instead of one without; ValueError if there is none."""
    number = len(world.flown)
    if number > len(world.others):
        raise ValueError(f'{number} aircraft fly already, and more are not possible')
    other = FlownAircraft(aircraft)
    other.lights.update(dict.fromkeys(world.lights, 0))
    world.flown = (*world.flown, aircraft)
    world.others[number - 1] = other


def part(world: World, number: int) -> None:
    """Let an aircraft of a world fly no more, which is not the first; those after it move up."""
    gone = world.flown[number].state
    world.flown = (*world.flown[:number], *world.flown[number + 1:])
    del world.others[number - 1]
    world.others.append(OtherAircraft(
        gone.lat_deg, gone.lon_deg, gone.altitude_msl, gone.psi, gone.ground_speed,
        lights=dict.fromkeys(world.lights, 0), airfield=world.aircraft.initial.airfield))
