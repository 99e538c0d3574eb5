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
reads them, and its conversions make the vehicle's state of them; without a socket in between. All
that a datagram does to datarefs is single precision: what each frame needs of them skips it.

    rounding = rounding_of('xpc', aircraft)
    rounding.fly_on(Controls(elevator=0.1, aileron=0.0, rudder=0.0, throttle=0.7), 1.0 / 60.0)
    rounding.state()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
import math
from struct import Struct
from typing import Any

from xplane_bridge.bridges.conversions.plausibility import Plausibility
from xplane_bridge.bridges.conversions.vehicle import Controls, VehicleState
from xplane_bridge.bridges.conversions.xplane import levers as xplane_levers
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.fdmdata import conversion as huginn
from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.fdmdata.session.overrides import Overrides
from xplane_bridge.bridges.protocols.base import Message
from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.commands import to_controls
from xplane_bridge.bridges.xplane_udp import protocol as xplane_udp
from xplane_bridge.bridges.xplane_udp.conversion import rows_state, telemetry_rows
from xplane_bridge.bridges.xplane_udp.session.commands import control_datarefs, control_rows
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.flights.core_vehicle import NO_OTHERS, Rounding
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.fdmdata.huginn import Huginn
from xplane_bridge.simulation.peers.registry import no_simulator, Simulator, SIMULATORS
from xplane_bridge.simulation.peers.world import THROTTLE_COUNT, World
from xplane_bridge.simulation.peers.xpc.flight import THROTTLES
from xplane_bridge.simulation.peers.xpc.plugin import XpcPlugin
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore
from xplane_bridge.simulation.peers.xplane.entries import element
from xplane_bridge.simulation.peers.xplane_udp.xplane import XPlane

_PEER = ('127.0.0.1', 1)


# The controls that a frame commands: elevator, aileron, rudder and throttle.
_FLOWN = Struct('4f')


class DatarefsRounding(ABC):
    """
    X-Plane of a version that has datarefs, 12 with X-Plane Connect.

    The controls of a frame, and what is observed of it, are cast to single precision at once. All
    else goes by datagrams: other controls, and a state that is not finite.
    """

    def __init__(self, aircraft: Aircraft, version: int, handles: int, is_forced: bool) -> None:
        """Take an aircraft, and how many throttle handles a command moves, or forces."""
        self._world = World(aircraft, traffic_flies=False)
        self._store = DatarefStore(self._world, version)
        self._plausibility = Plausibility()
        self._handles = handles, is_forced
        self._observed = xplane.observed_datarefs(version)
        self._readers = [self._reader(name) for name in (*xplane.OWN_PLACE, *self._observed)]
        self._form = Struct(f'{len(self._observed)}f')

    def fly_on(self, command: Controls, seconds: float) -> None:
        """Command the aircraft, which then flies that long."""
        elevator, aileron, rudder, throttle, *_ = command
        if (elevator is None or aileron is None or rudder is None or throttle is None
                or not 0.0 <= throttle <= 1.0 or command[len(FLOWN):] != NO_OTHERS):
            self.send(command)
        else:
            elevator, aileron, rudder, throttle = _FLOWN.unpack(
                _FLOWN.pack(elevator, aileron, rudder, throttle))
            self._world.fly_by(elevator, aileron, rudder, throttle, *self._handles)
        self._world.advance(seconds)

    def state(self) -> VehicleState:
        """Return what is observed of its state, as the bridge knows it."""
        # The position is in doubles on the wire.
        lat_deg, lon_deg, altitude, *others = self._world.observed(self._readers)
        numbers = self._form.unpack(self._form.pack(*others))
        if not math.isfinite(sum(numbers)):
            return self.received()
        return xplane.own_state(
            self._plausibility.place(lat_deg, lon_deg, altitude), None,
            dict(zip(self._observed, numbers, strict=True)))

    @abstractmethod
    def send(self, command: Controls) -> None:
        """Command the aircraft by datagrams."""

    @abstractmethod
    def received(self) -> VehicleState:
        """Return its whole state by datagrams."""

    def _reader(self, name: str) -> Callable[[], float]:
        """Return what reads a dataref, or the first element of an array."""
        kind, read = self._store.type_of(name), self._store.reader(name)
        assert kind is not None
        assert read is not None
        return element(read, 0) if kind.is_array else read


class XpcRounding(DatarefsRounding):
    """X-Plane Connect: the user's aircraft by GETP and GETD, its controls by CTRL."""

    _NAMES = (*xplane.OWN_DATAREFS, *xplane.LOCAL_PLACE)

    def __init__(self, aircraft: Aircraft) -> None:
        super().__init__(aircraft, 12, THROTTLES, is_forced=True)
        self._plugin = XpcPlugin(self._world, self._store)
        self._position = xpc.encode(xpc.GetPosition(0))
        self._datarefs = xpc.encode(xpc.GetDatarefs(self._NAMES))

    def send(self, command: Controls) -> None:
        """Command the aircraft by CTRL."""
        self._answer(xpc.encode(to_controls(command.given(), 0)))

    def received(self) -> VehicleState:
        """Return its state as xpc_node knows it."""
        pose = xpc.decode(self._answer(self._position), 'peer')
        reply = xpc.decode(self._answer(self._datarefs), 'peer')
        assert isinstance(pose, xpc.PositionReply)
        assert isinstance(reply, xpc.Datarefs)
        rows = dict(zip(self._NAMES, reply.rows, strict=True))
        return xplane.own_state(
            self._plausibility.place(pose.lat, pose.lon, pose.alt),
            (pose.heading, pose.pitch, pose.roll),
            {name: row[0] for name, row in rows.items() if row},
            arrays={name: rows[name] for name in xplane_levers.ENGINES.values()})

    def _answer(self, data: bytes) -> bytes:
        """Return the plugin's answer to a datagram."""
        waiting = [(data, _PEER)]
        answers: list[bytes] = []
        self._plugin.frame(
            lambda: waiting.pop() if waiting else None,
            lambda answer, _: answers.append(answer))
        return b''.join(answers)


class XplaneUdpRounding(DatarefsRounding):
    """X-Plane's own UDP since version 10: RPOS, RREF and DREF."""

    def __init__(self, aircraft: Aircraft, version: int) -> None:
        super().__init__(aircraft, version, THROTTLE_COUNT, is_forced=False)
        self._version = version
        self._xplane = XPlane(self._world, version)
        self._names = tuple(
            one for name in xplane.own_datarefs(version) for one in xplane_levers.elements(name))
        self._frames = 0
        self._send(xplane_udp.RposRequest(1), *(
            xplane_udp.RrefRequest(1, index, name) for index, name in enumerate(self._names)))

    def send(self, command: Controls) -> None:
        """Command the aircraft by DREF."""
        self._send(*control_datarefs(command.given()))

    def received(self) -> VehicleState:
        """Return its state as xplane_udp_node knows it."""
        # What was requested once per second is due each time.
        self._frames += 1
        answers = [
            xplane_udp.decode(data, 'peer', self._version)
            for data, _ in self._xplane.frame(float(self._frames))]
        pose, = (one for one in answers if isinstance(one, xplane_udp.RposReply))
        values = {
            self._names[index]: value for one in answers
            if isinstance(one, xplane_udp.RrefReply) for index, value in one.values}
        return xplane.own_state(
            self._plausibility.place(pose.lat, pose.lon, pose.ele_m),
            (pose.heading_true_deg, pose.pitch_deg, pose.roll_deg), values,
            arrays=xplane_levers.to_arrays(values))

    def _send(self, *messages: Message) -> None:
        for message in messages:
            self._xplane.handle(xplane_udp.encode(message, self._version), _PEER)


class RowsRounding:
    """X-Plane's own UDP before version 10: the rows of its data table."""

    def __init__(self, aircraft: Aircraft, version: int) -> None:
        self._version = version
        self._world = World(aircraft, traffic_flies=False)
        self._xplane = XPlane(self._world, version, data_target=_PEER, data_rate=1.0)
        self._layout = xplane_udp.default_layout(version, 'bridge')
        self._frames = 0
        self._send(xplane_udp.Dsel(telemetry_rows(version), self._layout))

    def fly_on(self, command: Controls, seconds: float) -> None:
        """Command the aircraft, which then flies that long."""
        self._send(control_rows(self._version, command.given(), 'joystick', self._layout))
        self._world.advance(seconds)

    def state(self) -> VehicleState:
        """Return its state as xplane_udp_node knows it."""
        # What is sent once per second is due each time.
        self._frames += 1
        answers = [
            xplane_udp.decode(data, 'peer', self._version)
            for data, _ in self._xplane.frame(float(self._frames))]
        return rows_state(self._version, [
            segment for one in answers if isinstance(one, xplane_udp.Data)
            for segment in one.segments])

    def _send(self, message: Message) -> None:
        self._xplane.handle(xplane_udp.encode(message, self._version), _PEER)


class FdmdataRounding:
    """
    FDMData: Huginn's sensors, polled all at once, and its four controls.

    All that a datagram does to a reply is single precision, which is done to it without one.
    """

    _SENSORS = tuple(
        (kind.command, Struct(f'{len(kind.__slots__)}f')) for kind in fdmdata.SENSOR_REPLIES
        if kind.command is not Command.MAGNETOMETER)

    def __init__(self, aircraft: Aircraft) -> None:
        self._world = World(aircraft, traffic_flies=False)
        self._huginn = Huginn(self._world)
        self._held = Overrides()
        self._plausibility = Plausibility()
        self._reading = huginn.Interpretation()

    def fly_on(self, command: Controls, seconds: float) -> None:
        """Command the aircraft, which then flies that long."""
        if given := huginn.to_huginn(command):
            controls = self._held.merged(given)
            self._held.sent(controls, given)
            self._huginn.control(fdmdata.encode(controls))
        self._world.advance(seconds)

    def state(self) -> VehicleState:
        """Return its state as fdmdata_node knows it."""
        self._huginn.step()
        replies: dict[Command, Any] = {}
        for command, form in self._SENSORS:
            reply = self._huginn.reading(command)
            replies[command] = type(reply)(*form.unpack(form.pack(
                *map(partial(getattr, reply), reply.__slots__))))
        return huginn.vehicle_state(
            huginn.plausible(replies, self._plausibility.withhold), self._reading)


def _make(simulator: Simulator, aircraft: Aircraft) -> Rounding:
    if (version := simulator.version) is not None:
        has_datarefs = version >= FIRST_WITH_DATAREFS
        return (XplaneUdpRounding if has_datarefs else RowsRounding)(aircraft, version)
    return XpcRounding(aircraft) if simulator.protocol.name == 'xpc' else FdmdataRounding(aircraft)


def make_rounding(name: str, aircraft: Aircraft) -> Rounding:
    """
    Return the aircraft as the protocol of a simulator leaves it, one of simulators.registry.

    Its weather and failures are still set on the aircraft itself. Raises ValueError for a name
    that is not known.
    """
    if name not in SIMULATORS:
        raise ValueError(f'rounding: {no_simulator(name)}')
    return _make(SIMULATORS[name], aircraft)
