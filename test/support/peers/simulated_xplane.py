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

"""A world with datarefs and commands, as tests of the simulated X-Plane read and fly it."""

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.commands import Commands
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore

FRAME = 1.0 / 60.0


class Sim:
    """A world, its datarefs, and shorthands to read and fly them."""

    def __init__(self, initial: Initial | None = None, version: int = 11,
                 model: str = 'c172p') -> None:
        """Start in the initial state."""
        self.aircraft = Aircraft(model, initial)
        self.world = World(self.aircraft)
        self.store = DatarefStore(self.world, version)
        self.commands = Commands(self.world)

    def many(self, name: str) -> tuple[float, ...]:
        """Return all values of a dataref that must exist."""
        value = self.store.read(name)
        assert value is not None, name
        return value.values

    def one(self, name: str) -> float:
        """Return the first value."""
        return self.many(name)[0]

    def put(self, name: str, *values: float) -> None:
        """Make a write that must succeed."""
        assert self.store.write(name, values), name

    def run(self, seconds: float) -> None:
        """Let frames of 1/60 s pass."""
        for _ in range(round(seconds / FRAME)):
            self.world.advance(FRAME)
