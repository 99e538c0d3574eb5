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
Lockstep: the simulated time waits for the controller.

It advances by a frame only after the current state was sent and elevator, aileron, rudder and
throttle were commanded in reply, in one datagram or in several; in a fleet, those of each
aircraft. So a controller of any speed sees every frame, and with the same seed always the same
ones.
"""

from collections.abc import Callable, Sequence

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.endpoints import Endpoint
from xplane_bridge.simulation.peers.world import World

# X-Plane 6 to 9 may be flown by the trims.
_TRIM = '_trim'
# A glider's controls.
_FEWEST = 3


class Lockstep:
    """
    Tracks when a world may advance; ``endpoint`` receives its commands.

    ``names`` are those of the aircraft, by number, as somebody may set them; who has none, or an
    empty one, is named by its number.

    What arrives after a command is answered after the world has advanced. A command that was sent
    before the new state is one for the old state, and does not count.
    """

    CONTROLS = frozenset(FLOWN)

    def __init__(self, endpoint: Endpoint, names: Sequence[str] = ()) -> None:
        self.endpoint = endpoint
        self.names = names
        self._sent = 0
        self._is_known = False
        # Those that joined, and that nobody has commanded yet.
        self._new: set[Aircraft] = set()

    def begin(self, world: World, sent: int) -> None:
        """Wait for commands for a new state, after ``sent`` datagrams in all."""
        _forget(world)
        self._sent = sent
        self._is_known = False

    def let_join(self, aircraft: Aircraft) -> None:
        """Wait for commands for another aircraft, from the first one for it on."""
        self._new.add(aircraft)

    def note(self, world: World, sent: Callable[[], int]) -> None:
        """Record what was commanded and sent; ``sent`` returns how many datagrams in all."""
        if self._new:
            self._new = {
                aircraft for aircraft in world.flown
                if aircraft in self._new and not aircraft.commanded}
        if not self._is_known:
            _forget(world)
            self._is_known = sent() > self._sent

    def is_complete(self, world: World) -> bool:
        """Return whether it waits for no control: asked after each datagram."""
        return len(world.aircraft.commanded) >= _FEWEST and not self.missing(world)

    def missing(self, world: World) -> frozenset[str]:
        """Return the controls that it waits for; in a fleet, of which aircraft."""
        if len(world.flown) == 1:
            return self._missing_of(world.aircraft)
        return frozenset(
            f'{name} of {(self.names[n] if self.names else "") or f"aircraft {n}"}'
            for n, aircraft in enumerate(world.flown)
            for name in self._missing_of(aircraft))

    def is_partly_commanded(self, world: World) -> bool:
        """Return whether it waits for some aircraft of a fleet, and no more for others."""
        waiting = [bool(self._missing_of(aircraft)) for aircraft in world.flown]
        return any(waiting) and not all(waiting)

    def _missing_of(self, aircraft: Aircraft) -> frozenset[str]:
        if aircraft in self._new:
            return frozenset()
        # Nothing in a glider moves by a throttle.
        wanted = self.CONTROLS if aircraft.engine_count else self.CONTROLS - {'throttle'}
        return wanted - {name.removesuffix(_TRIM) for name in aircraft.commanded}


def _forget(world: World) -> None:
    for aircraft in world.flown:
        aircraft.commanded.clear()
