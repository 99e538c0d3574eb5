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

"""Huginn over FDMData, as it is verified: it shows neither controls nor its time."""

from __future__ import annotations

from collections.abc import Mapping

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.fdmdata import conversion as huginn
from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.fdmdata.session import FdmdataSession, PollEntry, Telemetry
from xplane_bridge.bridges.fdmdata.sockets import HuginnSockets
from xplane_bridge.bridges.links.loop import SessionLoop, UdpLoop
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.verification.evidence.consistency import Source
from xplane_bridge.laboratory.verification.evidence.flight_record import Sample
from xplane_bridge.laboratory.verification.evidence.line import Heard, Line
from xplane_bridge.laboratory.verification.evidence.places import Unplaced, UnplacedHuginn
from xplane_bridge.laboratory.verification.peers.base import (
    OnEvent,
    OnFailure,
    PeerTarget,
    Probe,
    VerifiedPeer,
)

_SENSORS = (Command.GPS, Command.ACCELEROMETER, Command.GYROSCOPE, Command.THERMOMETER,
            Command.PITOT_TUBE, Command.STATIC_PRESSURE, Command.INS)
_SOURCES = {
    name: Source(wire, number) for names, wire, number in (
        (('latitude', 'longitude', 'altitude', 'true_airspeed'), 'GPS', 'FDM-06'),
        (('roll', 'pitch', 'heading'), 'INS', 'FDM-13'),
        (('roll_rate', 'pitch_rate', 'yaw_rate'), 'gyroscope', 'FDM-08'),
        (('specific_force_forward', 'specific_force_left', 'specific_force_up'),
         'accelerometer', 'FDM-07'),
        (('airspeed',), 'pitot tube', 'FDM-11'), (('temperature',), 'thermometer', 'FDM-10'),
        (('static_pressure',), 'static pressure', 'FDM-12'))
    for name in names}
_CONTROLS = {'aileron': 'FDM-16', 'elevator': 'FDM-16', 'rudder': 'FDM-16', 'throttle': 'FDM-17',
             'given back': 'FDM-14'}


class VerifiedHuginn(VerifiedPeer):
    """Huginn; without ``throttle`` nothing can be commanded, as its datagram has all controls."""

    title = 'Huginn'
    question = Probe(
        fdmdata.encode(fdmdata.SensorRequest(Command.GPS)), fdmdata.DATA_PORT, b'', 'FDM-02')
    reports_controls = False
    sources = _SOURCES
    requirements = _CONTROLS

    def __init__(self, target: PeerTarget) -> None:
        self.to = (target.host, target.port or fdmdata.DATA_PORT)
        self._throttle = target.throttle
        self.takes = FLOWN if target.throttle is not None else ()
        self._sockets = HuginnSockets(
            *self.to, target.data_port or fdmdata.CONTROLS_PORT, target.bind_address)
        self.session: FdmdataSession = FdmdataSession(f'{self.to[0]}:{self.to[1]}')
        self.session.set_plan({'all': PollEntry(_SENSORS, self.rate)}, 0.0)

    @staticmethod
    def reads(data: bytes) -> str:
        try:
            reply = fdmdata.decode_reply(data)
        except ProtocolError as error:
            return f'an answer cannot be read: {error}'
        if not isinstance(reply, fdmdata.GpsReply):
            return f'an answer is {reply.tag}, expected GPS'
        if not _is_place(reply):
            swapped = data[:2] + b''.join(
                data[at:at + 4][::-1] for at in range(2, len(data), 4))
            turned = fdmdata.decode_reply(swapped)
            return ('an answer is in the other byte order, little-endian'
                    if isinstance(turned, fdmdata.GpsReply) and _is_place(turned)
                    else 'an answer has an impossible position')
        return ''

    def make_loop(self, on_event: OnEvent, on_failure: OnFailure) -> SessionLoop:
        self._sockets.open('').close()
        return UdpLoop(
            self.session, self._sockets.open, on_event, on_failure, name='verified Huginn')

    def who(self) -> str:
        return 'Huginn'

    def unlike(self) -> str:
        refused = ', '.join(sorted(one.name.lower() for one in self.session.refused))
        return f'it refuses {refused}: another version of Huginn?' if refused else ''

    def sample(self, heard: Heard) -> Sample | None:
        event = heard.event
        if not isinstance(event, Telemetry) or event.name != 'all':
            return None
        return Sample(
            heard.at, huginn.vehicle_state(event.values, huginn.Interpretation()), {
                f'{command.name.lower()} {name}': value
                for command, reply in event.values.items()
                for name, value in zip(reply.__slots__, reply.values, strict=True)})

    def unplaced(self) -> Unplaced:
        return UnplacedHuginn()

    # Commands.

    def command(self, line: Line, controls: Mapping[str, float]) -> None:
        self._throttle = controls.get('throttle', self._throttle)
        line.call(self.session.set_controls, huginn.to_huginn(
            Controls(**{'throttle': self._throttle, **controls})))

    def release(self, line: Line) -> None:
        line.call(self.session.centre)

    def held(self, control: str) -> float | None:
        return self._throttle if control == 'throttle' else 0.0


def _is_place(reply: fdmdata.GpsReply) -> bool:
    """Return whether it may be a position: those of the other byte order are tiny, or huge."""
    values = (reply.latitude, reply.longitude, reply.altitude)
    return abs(values[0]) <= 90.0 and abs(values[1]) <= 360.0 and all(
        value == 0.0 or abs(value) > 1e-9 for value in values)
