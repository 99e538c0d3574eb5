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

"""What a verification needs to know of one protocol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

from xplane_bridge.bridges.conversions.vehicle import VehicleState
from xplane_bridge.bridges.links.loop import SessionLoop
from xplane_bridge.bridges.sessions.base import Address, PeerState, Session
from xplane_bridge.common.controls import SURFACES
from xplane_bridge.laboratory.verification.evidence.consistency import Source
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord, Sample
from xplane_bridge.laboratory.verification.evidence.line import Heard, Line
from xplane_bridge.laboratory.verification.evidence.places import Unplaced

OnEvent: TypeAlias = Callable[[Any, int], None]
OnFailure: TypeAlias = Callable[[Exception], None]

_THERE = (PeerState.ANSWERING, PeerState.STREAMING)

RATE = 20.0
"""Updates per second that are asked for: below about 19 frames per second X-Plane lags."""


@dataclass(frozen=True, slots=True)
class PeerTarget:
    """
    Where the peer is said to be: an address, ports; 0 is the protocol's own.

    ``data_port`` is where rows arrive here; of Huginn, where it takes controls. ``version`` is
    X-Plane's, 0 for any. ``throttle`` is Huginn's, which does not tell it, None if unknown.
    ``serial`` is the port of Simpit.
    """

    host: str
    port: int = 0
    data_port: int = 0
    bind_address: str = ''
    version: int = 0
    throttle: float | None = None
    serial: str = ''
    baud: int = 115200


class Probe(NamedTuple):
    """
    What can be asked without any conversation, and what it is answered by.

    ``port`` is the usual one. With a ``rate`` it is answered again and again, so many times per
    second, until ``closing``. ``requirement`` is its number.
    """

    data: bytes
    port: int
    closing: bytes = b''
    requirement: str = ''
    rate: float = 0.0


class Spot(NamedTuple):
    """Where an aircraft is put: degrees, metres above mean sea level."""

    latitude_deg: float
    longitude_deg: float
    altitude_msl: float


class VerifiedPeer(ABC):
    """
    One peer that is verified: its session, what it is asked, and how its events are read.

    ``title`` names the program. ``sources`` are those of the signals of a flight, by the names of
    common/quantities.py. ``requirements`` has the numbers of what is commanded and told.
    """

    title: ClassVar[str]
    question: Probe | None = None
    beacon: tuple[str, int] | None = None
    answers_from_its_port: ClassVar[bool] = True
    can_pause: bool = False
    says_replay: bool = False
    can_place: bool = False
    reports_controls: ClassVar[bool] = True
    takes: tuple[str, ...] = (*SURFACES, 'throttle', 'flaps', 'gear')

    session: Session
    to: Address
    sources: Mapping[str, Source]
    requirements: Mapping[str, str]
    rate: float = RATE

    @staticmethod
    def reads(data: bytes) -> str:
        """Return what is wrong with an answer to the question, '' if it is the peer's."""
        return ''

    def beacon_port(self, data: bytes) -> int | None:
        """Return the port that a beacon names, None if it is no beacon of this peer."""
        return None

    @abstractmethod
    def make_loop(self, on_event: OnEvent, on_failure: OnFailure) -> SessionLoop:
        """Return the link in real time, with its sockets open. Raises LinkError."""

    @abstractmethod
    def who(self) -> str:
        """Return which program and version answers, as far as it is known."""

    def is_there(self) -> bool:
        """Return whether the conversation has begun."""
        return self.session.peer_state in _THERE

    def unlike(self) -> str:
        """Return in which the program that answers is not the named one, '' if it is."""
        return ''

    @abstractmethod
    def sample(self, heard: Heard) -> Sample | None:
        """Return the aircraft's state in an event, None if it has none."""

    def missing(self, now: float) -> Iterable[str]:
        """Return the names of values that are wanted and do not arrive."""
        return self.session.missing(now)

    def spoken(self, record: FlightRecord, bad: Collection[str]) -> Iterable[CheckResult]:
        """Return findings of what only this protocol has; ``bad`` signals witness nothing."""
        return ()

    def replays(self, line: Line) -> bool | None:
        """Return whether the simulator says that it plays a replay, None if it does not say."""
        return None

    def unplaced(self) -> Unplaced | None:
        """Return what removes names and places from its datagrams, None if nothing can."""
        return None

    # Commands.

    def reported_as(self, control: str) -> str:
        """Return the control that shows what is commanded of one."""
        return control

    def prepare(self, line: Line) -> None:  # noqa: B027 -- most need nothing
        """Keep what the user does from undoing what is commanded."""

    def release(self, line: Line) -> None:
        """Give back what was taken."""
        line.call(self.session.centre)
        line.call(self.session.release)

    def held(self, control: str) -> float | None:
        """Return where a control is that is not reported, None if it is unknown."""
        return None

    def command(self, line: Line, controls: Mapping[str, float]) -> None:
        """Command controls. Raises ValueError for what cannot be."""
        line.call(self.session.set_controls, controls)

    def pause(self, line: Line, on: bool) -> int:
        """Pause or resume; return the ticket of the CommandDone."""
        raise ValueError('this protocol cannot pause')

    def place(self, line: Line, place: Spot, state: VehicleState) -> None:
        """Put the aircraft somewhere, in the attitude of ``state``."""
        raise ValueError('this protocol cannot place an aircraft')
