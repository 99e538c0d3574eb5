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

"""What happens to the airframes of a world: crashes, and what is beyond an envelope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.studies.physics_rate import explained
from xplane_bridge.simulation.peers.world import World


class AirframeNews:
    """Tells each change once; times are those of the world, which go on in the next flight."""

    def __init__(self) -> None:
        self._crashes: dict[int, AirframeEvent | None] = {}
        self._exceedances: dict[int, Sequence[AirframeEvent]] = {}

    def crashes(self, world: World) -> Iterator[tuple[int, AirframeEvent | None]]:
        """Yield who has crashed since the last call, and how; with None, who flies again."""
        for number, aircraft in enumerate(world.flown):
            if aircraft.crash is not self._crashes.get(number):
                aircraft.crash = self._crashes[number] = crash = explained(aircraft)
                yield number, None if crash is None else _in_world(crash, aircraft, world)

    def exceedances(self, world: World) -> Iterator[tuple[int, Sequence[AirframeEvent]]]:
        """Yield whose exceedances have changed, and the worst of each limit in its flight."""
        for number, aircraft in enumerate(world.flown):
            worst = (*aircraft.exceedances.values(),)
            if worst != self._exceedances.get(number, ()):
                self._exceedances[number] = worst
                yield number, [_in_world(event, aircraft, world) for event in worst]


class AirframeLines:
    """The same in lines, for people; of a limit only the first time that it is exceeded."""

    def __init__(self) -> None:
        self._news = AirframeNews()
        self._said: set[tuple[int, str]] = set()

    def new(self, world: World) -> Iterator[str]:
        """Yield what there is to be said since the last call."""
        for number, crash in self._news.crashes(world):
            yield f'{_who(world, number)} ' + (
                'flies again' if crash is None else f'{crash.outcome}; it lies there until it is '
                'placed anew')
        for number, worst in self._news.exceedances(world):
            self._said = {one for one in self._said if worst or one[0] != number}
            for event in worst:
                if (number, event.limit_name) not in self._said:
                    self._said.add((number, event.limit_name))
                    yield f'{_who(world, number)} {event.outcome}'


def _in_world(event: AirframeEvent, aircraft: Aircraft, world: World) -> AirframeEvent:
    """Return an event at the world's time."""
    return replace(event, at=world.total_running_time - aircraft.time + event.at)


def _who(world: World, number: int) -> str:
    model = world.flown[number].model
    return f'aircraft {number} ({model})' if len(world.flown) > 1 else model
