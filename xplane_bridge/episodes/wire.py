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
The aircraft in this process, seen and commanded as through a simulator's wire and its bridge.

Nothing is computed anew here: the simulator's own frontend makes the datagrams, the bridge's codec
reads them, and its conversions make the vehicle's state of them; without a socket in between.

    wire = make_wire('xpc', aircraft)
    wire.fly_on(Controls(elevator=0.1, aileron=0.0, rudder=0.0, throttle=0.7), 1.0 / 60.0)
    wire.state()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from xplane_bridge.conversions import xplane, xplane_levers
from xplane_bridge.conversions.plausibility import Plausibility
from xplane_bridge.conversions.vehicle import Controls, VehicleState
from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.xpc.outbox import to_controls
from xplane_bridge.simulators.aircraft import Aircraft
from xplane_bridge.simulators.datarefs import DatarefStore
from xplane_bridge.simulators.world import World
from xplane_bridge.simulators.xpc.plugin import XpcPlugin

_PEER = ('127.0.0.1', 1)


class Wire(Protocol):
    """An aircraft behind a wire."""

    def fly_on(self, command: Controls, seconds: float) -> None:
        """Command the aircraft, which then flies that long: a frame."""

    def state(self) -> VehicleState:
        """Return its state as the bridge knows it."""


class XpcWire:
    """X-Plane Connect: the user's aircraft by GETP and GETD, its controls by CTRL."""

    _NAMES = (*xplane.OWN_DATAREFS, *xplane.LOCAL_PLACE)

    def __init__(self, aircraft: Aircraft) -> None:
        self._world = World(aircraft)
        self._plugin = XpcPlugin(self._world, DatarefStore(self._world, 12))
        self._plausibility = Plausibility()
        self._position = xpc.encode(xpc.GetPosition(0))
        self._datarefs = xpc.encode(xpc.GetDatarefs(self._NAMES))

    def fly_on(self, command: Controls, seconds: float) -> None:
        """Command the aircraft, which then flies that long."""
        self._send(xpc.encode(to_controls(command.given(), 0)))
        self._world.advance(seconds)

    def state(self) -> VehicleState:
        """Return its state as xpc_node knows it."""
        pose = xpc.decode(self._send(self._position), 'peer')
        reply = xpc.decode(self._send(self._datarefs), 'peer')
        assert isinstance(pose, xpc.PositionReply)
        assert isinstance(reply, xpc.Datarefs)
        rows = dict(zip(self._NAMES, reply.rows, strict=True))
        return xplane.own_state(
            self._plausibility.place(pose.lat, pose.lon, pose.alt),
            (pose.heading, pose.pitch, pose.roll),
            {name: row[0] for name, row in rows.items() if row},
            arrays={name: rows[name] for name in xplane_levers.ENGINES.values()})

    def _send(self, data: bytes) -> bytes:
        """Return the plugin's answer to a datagram."""
        waiting = [(data, _PEER)]
        answers: list[bytes] = []
        self._plugin.frame(
            lambda: waiting.pop() if waiting else None,
            lambda answer, _: answers.append(answer))
        return b''.join(answers)


WIRES: Mapping[str, Callable[[Aircraft], Wire]] = {'xpc': XpcWire}
"""By simulator."""


def make_wire(name: str, aircraft: Aircraft) -> Wire:
    """
    Return the aircraft behind the wire of a simulator.

    Its weather and failures are still set on the aircraft itself. Raises ValueError for a name
    that is not known.
    """
    if name not in WIRES:
        raise ValueError(f'wire: got {name!r}, expected one of {", ".join(WIRES)}')
    return WIRES[name](aircraft)
