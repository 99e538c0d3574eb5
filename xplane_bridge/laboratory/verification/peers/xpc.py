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

"""X-Plane with NASA's plugin X-Plane Connect, as it is verified."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
import math
import struct

from xplane_bridge.bridges.conversions.vehicle import VehicleState
from xplane_bridge.bridges.conversions.xplane import levers
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.links.loop import SessionLoop, UdpLoop
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.conversion import LocalAxes
from xplane_bridge.bridges.xpc.session import BEACON_CHANNEL, Polled, Telemetry, XpcSession
from xplane_bridge.bridges.xpc.sockets import PluginSockets
from xplane_bridge.laboratory.verification.evidence.consistency import Source
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord, Sample
from xplane_bridge.laboratory.verification.evidence.line import Heard, Line
from xplane_bridge.laboratory.verification.evidence.places import Unplaced, UnplacedXpc
from xplane_bridge.laboratory.verification.peers.base import (
    OnEvent,
    OnFailure,
    PeerTarget,
    Probe,
    Spot,
    VerifiedPeer,
)
from xplane_bridge.laboratory.verification.peers.xplane import (
    DATAREF_SOURCES,
    Positions,
    replays,
    spoken_datarefs,
)

_POSE = Source('POSI', 'XPC-28')
_REQUIREMENTS = {
    'elevator': 'XPC-17', 'aileron': 'XPC-17', 'rudder': 'XPC-17', 'throttle': 'XPC-18',
    'flaps': 'XPC-18', 'gear': 'XPC-19', 'pause': 'XPC-37', 'pose': 'XPC-29',
    'given back': 'XPC-16', 'time': '3.1'}


class VerifiedXpc(VerifiedPeer):
    """The plugin."""

    title = 'X-Plane Connect'
    question = Probe(xpc.encode(xpc.GetPosition(0)), xpc.PORT, b'', 'XPC-28')
    beacon = (xpc.BEACON_GROUP, xpc.BEACON_PORT)
    can_pause = can_place = says_replay = True
    sources = {**DATAREF_SOURCES, 'latitude': _POSE, 'longitude': _POSE, 'altitude': _POSE}
    requirements = _REQUIREMENTS

    def __init__(self, target: PeerTarget) -> None:
        self.to = (target.host, target.port or xpc.PORT)
        self._positions = Positions('POSI')
        self._sockets = PluginSockets(*self.to, target.bind_address)
        self.session: XpcSession = XpcSession(
            {0: Polled(
                (*xplane.OWN_DATAREFS, *xplane.LOCAL_PLACE), xplane.OWN_PLACE,
                LocalAxes().make_pose_reader(0), arrays=tuple(levers.ENGINES.values()))},
            rate=self.rate, address=f'{self.to[0]}:{self.to[1]}', port=self.to[1])

    @staticmethod
    def reads(data: bytes) -> str:
        try:
            message = xpc.decode(data, 'peer')
        except ProtocolError as error:
            return f'an answer cannot be read: {error}'
        if not isinstance(message, xpc.PositionReply):
            return f'an answer is {data[:4].decode("latin-1")!r}, expected POSI'
        if not (abs(message.lat) <= 90.0 and abs(message.lon) <= 360.0):
            swapped = data[:6] + b''.join(
                data[6 + 8 * place:14 + 8 * place][::-1] for place in range(3))
            return ('an answer is in the other byte order, big-endian'
                    if _is_place(swapped) else 'an answer has an impossible position')
        return ''

    def beacon_port(self, data: bytes) -> int | None:
        try:
            message = xpc.decode(data, 'peer')
        except ProtocolError:
            return None
        return message.port if isinstance(message, xpc.Beacon) else None

    def make_loop(self, on_event: OnEvent, on_failure: OnFailure) -> SessionLoop:
        self._sockets.open('').close()
        try:
            beacons = {BEACON_CHANNEL: self._sockets.open_beacon()}
        except LinkError:
            beacons = {}
        return UdpLoop(
            self.session, self._sockets.open, on_event, on_failure, channels=beacons,
            name='verified plugin')

    def who(self) -> str:
        version, beacon = self.session.plugin_version, self.session.beacon
        return ('X-Plane' + (f' ({beacon.xplane_version})' if beacon else '')
                + f' with X-Plane Connect {version.value if version else "of unknown version"}')

    def sample(self, heard: Heard) -> Sample | None:
        event = heard.event
        if not isinstance(event, Telemetry) or event.vehicle:
            return None
        pose = event.pose
        state = xplane.own_state(
            self._positions.choose((pose.lat, pose.lon, pose.alt), event.values),
            (pose.heading, pose.pitch, pose.roll), event.values, arrays=event.arrays)
        return Sample(
            heard.at if state.time is None else state.time, state, event.values)

    def missing(self, now: float) -> Iterable[str]:
        return xplane.missed(self.session.missing(now))

    def spoken(self, record: FlightRecord, bad: Collection[str]) -> Iterable[CheckResult]:
        yield from self._positions.findings()
        yield from spoken_datarefs(record, bad)

    def replays(self, line: Line) -> bool | None:
        return replays(self.session, line)

    def unplaced(self) -> Unplaced:
        return UnplacedXpc()

    # Commands.

    def prepare(self, line: Line) -> None:
        line.call(self.session.take_joystick)

    def pause(self, line: Line, on: bool) -> int:
        ticket: int = line.call(
            partial(self.session.send, awaited=True),
            xpc.Simulation(xpc.SimulationOp.PAUSE if on else xpc.SimulationOp.RUN))
        return ticket

    def place(self, line: Line, place: Spot, state: VehicleState) -> None:
        line.call(self.session.send, xpc.Position(
            aircraft=0, lat=place.latitude_deg, lon=place.longitude_deg, alt=place.altitude_msl))


def _is_place(data: bytes) -> bool:
    latitude, longitude, _ = struct.unpack_from('<3d', data, 6)
    return all(map(math.isfinite, (latitude, longitude))) and (
        0.0 < abs(latitude) <= 90.0 and abs(longitude) <= 360.0)
