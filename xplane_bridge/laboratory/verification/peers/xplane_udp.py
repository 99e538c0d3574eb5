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

"""X-Plane 6 to 12 over its own UDP, as it is verified."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.vehicle import VehicleState
from xplane_bridge.bridges.conversions.xplane import levers
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.links.loop import SessionLoop, UdpLoop
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.protocols.registry import DATA_PORT
from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS, FIRST_WITH_VEHS
from xplane_bridge.bridges.xplane_udp import protocol as wire
from xplane_bridge.bridges.xplane_udp.conversion import rows_state, telemetry_rows
from xplane_bridge.bridges.xplane_udp.protocol import VERSIONS
from xplane_bridge.bridges.xplane_udp.session import (
    RowTelemetry,
    Sources,
    Telemetry,
    Wire,
    XplaneUdpSession,
)
from xplane_bridge.bridges.xplane_udp.sockets import data_target, Places, Sockets
from xplane_bridge.common.controls import SURFACES
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.verification.evidence.consistency import Source
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord, Sample
from xplane_bridge.laboratory.verification.evidence.line import Heard, Line
from xplane_bridge.laboratory.verification.evidence.places import Unplaced, UnplacedXplane
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
    REQUIREMENTS,
    spoken_datarefs,
)

# The number of a request that no session makes.
_INDEX = 990
_DATA_PORT_OF_6 = 49000

# The rows of data, and requirements of the document of version 6.
ROW_SOURCES: Mapping[str, Source] = {
    name: Source(f'row of {words}', number) for name, words, number in (
        ('latitude', 'position', '5.17'), ('longitude', 'position', '5.17'),
        ('altitude', 'position', '5.17'), ('roll', 'attitude', '5.15'),
        ('pitch', 'attitude', '5.15'), ('heading', 'attitude', '5.15'),
        ('roll_rate', 'angular velocities', '5.12'), ('pitch_rate', 'angular velocities', '5.12'),
        ('yaw_rate', 'angular velocities', '5.12'), ('velocity_east', 'velocities', '5.18'),
        ('velocity_north', 'velocities', '5.18'), ('climb_rate', 'velocities', '5.18'),
        ('airspeed', 'speeds', '5.7'), ('true_airspeed', 'speeds', '5.7'),
        ('angle_of_attack', 'angles of attack', '5.16'),
        ('static_pressure', 'atmosphere', '5.19'), ('temperature', 'atmosphere', '5.19'),
        ('wind_east', 'weather', ''), ('wind_north', 'weather', ''))}


QUESTION = Probe(
    wire.encode(wire.RrefRequest(20, _INDEX, xplane.TIME)), wire.PORT,
    wire.encode(wire.RrefRequest(0, _INDEX, xplane.TIME)), 'X6-02', 20.0)
# It came later than the other datarefs, and nothing else needs it.
_TOE_BRAKES_SINCE = 11


class VerifiedXplane(VerifiedPeer):
    """X-Plane of one version, or of any."""

    title = 'X-Plane'
    answers_from_its_port = False

    def __init__(self, target: PeerTarget) -> None:
        self.to = (target.host, target.port or wire.PORT)
        self._given = target
        data_port = target.data_port or (
            _DATA_PORT_OF_6 if target.version == 6 else DATA_PORT)
        self._positions = Positions('RPOS')
        self._places = Places(target.bind_address, data_port)
        self._takes_rows = 0 < target.version < FIRST_WITH_DATAREFS
        # Before 10 there is nothing that could be asked, and no beacon.
        self.question = None if self._takes_rows else QUESTION
        self.beacon = None if self._takes_rows else (wire.BEACON_GROUP, wire.BEACON_PORT)
        self.session: XplaneUdpSession = XplaneUdpSession(
            Sources(
                {version: tuple(
                    element for name in xplane.own_datarefs(version)
                    for element in levers.elements(name))
                 for version in VERSIONS if version >= FIRST_WITH_DATAREFS},
                {version: telemetry_rows(version) for version in VERSIONS}),
            # One with datarefs says itself which it is; of the others a user has to tick rows.
            rate=self.rate, version=target.version if self._takes_rows else None, peer=self.to,
            wire_format=Wire(data_target=partial(
                data_target, port=self.to[1], places=self._places,
                on_no_route=lambda _: None)))

    @property
    def sources(self) -> Mapping[str, Source]:  # type: ignore[override]
        return DATAREF_SOURCES if self._has_datarefs else ROW_SOURCES

    @property
    def requirements(self) -> Mapping[str, str]:  # type: ignore[override]
        return REQUIREMENTS if self._has_datarefs else {
            **dict.fromkeys(SURFACES, 'X6-40'), 'throttle': 'X6-35', 'flaps': 'X6-35',
            'gear': 'X6-35', 'given back': 'X6-40'}

    @property
    def can_pause(self) -> bool:  # type: ignore[override]
        return self._has_datarefs

    @property
    def can_place(self) -> bool:  # type: ignore[override]
        return self._has_datarefs

    @property
    def _has_datarefs(self) -> bool:
        version = self.session.version
        return version is None or version >= FIRST_WITH_DATAREFS

    @staticmethod
    def reads(data: bytes) -> str:
        try:
            message = wire.decode(data, 'peer', None)
        except ProtocolError as error:
            return f'an answer cannot be read: {error}'
        if not isinstance(message, wire.RrefReply):
            return f'an answer is {message.tag}, expected RREF'
        indices = [index for index, _ in message.values]
        if _INDEX in indices:
            return ''
        if int.from_bytes(_INDEX.to_bytes(4, 'little'), 'big', signed=True) in indices:
            return 'an answer is in the other byte order, big-endian'
        return f'an answer is to the request {indices[0]}, expected {_INDEX}'

    def beacon_port(self, data: bytes) -> int | None:
        try:
            message = wire.decode(data, 'peer', None)
        except ProtocolError:
            return None
        return message.port if isinstance(message, wire.Becn) else None

    def make_loop(self, on_event: OnEvent, on_failure: OnFailure) -> SessionLoop:
        sockets = Sockets(self.session, self._places, needs_rows=self._takes_rows,
                          on_deaf=lambda _: None)
        return UdpLoop(
            self.session, sockets.open, on_event, on_failure, channels=sockets.open_all(),
            port=sockets.peer_port, name='verified X-Plane')

    def who(self) -> str:
        session = self.session
        if session.version is None:
            return 'X-Plane of an unknown version'
        beacon = session.beacon
        return f'X-Plane {session.version}' + (f' ({beacon.version})' if beacon else '')

    def unlike(self) -> str:
        found, named = self.session.version, self._given.version
        if found is None or not named or found == named:
            return ''
        return f'this is X-Plane {found}, not {named}'

    def sample(self, heard: Heard) -> Sample | None:
        event = heard.event
        if isinstance(event, RowTelemetry):
            state = rows_state(event.version, event.segments)
            return Sample(heard.at if state.time is None else state.time, state, {
                f'row {segment.index}[{place}]': value
                for segment in event.segments for place, value in enumerate(segment.values)
                if value is not None})
        if not isinstance(event, Telemetry):
            return None
        pose, values = event.pose, event.values
        attitude: Vector | None = None
        if pose is not None:
            attitude = pose.heading_true_deg, pose.pitch_deg, pose.roll_deg
        position = self._positions.choose(
            None if pose is None else (pose.lat, pose.lon, pose.ele_m), values)
        state = xplane.own_state(position, attitude, values, arrays=levers.to_arrays(values))
        return Sample(heard.at if state.time is None else state.time, state, values)

    def missing(self, now: float) -> Iterable[str]:
        if self._has_datarefs:
            # Elements beyond the aircraft's engines are nobody's.
            has_toe_brakes = (self.session.version or 0) >= _TOE_BRAKES_SINCE
            return [name for name in xplane.missed(self.session.missing(now))
                    if ('[' not in name or name.endswith('[0]'))
                    and (has_toe_brakes or name != levers.TOE_BRAKES)]
        return self.session.missing(now)

    def spoken(self, record: FlightRecord, bad: Collection[str]) -> Iterable[CheckResult]:
        if self._has_datarefs:
            yield from self._positions.findings()
            yield from spoken_datarefs(record, bad)

    @property
    def says_replay(self) -> bool:  # type: ignore[override]
        return self._has_datarefs

    def replays(self, line: Line) -> bool | None:
        return replays(self.session, line) if self._has_datarefs else None

    def unplaced(self) -> Unplaced:
        unplaced = UnplacedXplane()
        unplaced.version = self.session.version
        return unplaced

    # Commands.

    def reported_as(self, control: str) -> str:
        return control if self._has_datarefs or control not in SURFACES else f'{control}_trim'

    def pause(self, line: Line, on: bool) -> int:
        ticket: int = line.call(self.session.pause, on)
        return ticket

    def place(self, line: Line, place: Spot, state: VehicleState) -> None:
        assert state.orientation is not None
        roll, pitch, heading = (angle / DEGREE for angle in axes.quaternion_to_euler(
            axes.enu_flu_to_ned_frd(state.orientation)))
        version = self.session.version
        kind = wire.Vehs if version is not None and version >= FIRST_WITH_VEHS else wire.Vehx
        line.call(self.session.send, kind(0, *place, heading % 360.0, pitch, roll))
