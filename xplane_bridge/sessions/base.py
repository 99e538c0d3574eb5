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
What every session is: one side of a conversation, with neither socket nor clock.

Datagrams and the time, in seconds of any steady clock, are passed in; what is to be sent, and the
events that tell the owner what has come, are handed out. What a session holds about its peer is
true or expires: commands that wait have a lifetime (lifetimes.py), values asked for are leases
(leases.py), what was taken from the user of the simulator is in a ledger (ledger.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, TypeAlias

from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.foreign import Kinds

MOST_READ = 2000
"""Datarefs in one read, and in all reads that wait twice as many."""

LONGEST_READ = 60.0
"""Seconds after which a read ends, whatever has come."""

_NO_CONTROLS = 'this peer takes no controls'

Address: TypeAlias = tuple[str, int]
"""The address and port of a datagram's sender."""

Outgoing: TypeAlias = tuple[str, bytes | None]
"""A channel and what to send on it; None closes the channel."""


class PeerState(Enum):
    """How the peer seems from here; Session.sentences tells a person what that means."""

    UNKNOWN = 'unknown'
    CLOSED = 'closed'
    SEARCHING = 'searching'
    ANSWERING = 'answering'
    STREAMING = 'streaming'
    LOADING = 'loading'
    HELD = 'held'
    BROKEN = 'broken'
    SILENT = 'silent'
    AWAY = 'away'


# Events that sessions have in common; they have others of their own.

@dataclass(frozen=True, slots=True)
class PeerChanged:
    """The peer's state is another one now."""

    state: PeerState


@dataclass(frozen=True, slots=True)
class Telemetry:
    """
    What one vehicle reported at one time: values by name, those that came.

    ``vehicle`` is its number, 0 for the user's.
    """

    vehicle: int
    values: Mapping[Any, Any]


@dataclass(frozen=True, slots=True)
class ReadDone:
    """The end of one read: what came of it in the order asked for, or nothing and the reason."""

    ticket: int
    values: tuple[Any, ...]
    error: str = ''


@dataclass(frozen=True, slots=True)
class CommandDone:
    """
    The end of one command: sent, or not and the reason.

    ``what`` names the command for a person. A command that nobody waits for has an end only if it
    was not sent.
    """

    ticket: int
    what: str
    error: str = ''


@dataclass(slots=True)
class Statistics:
    """
    What happened so far; only ever grows.

    updates counts telemetry by what it is of; unexpected what nobody asked for, or too late;
    held_back what newer values replaced before it was sent; malformed what could not be decoded,
    by kind, and last_error says why the last one could not.
    """

    updates: Counter[Any] = field(default_factory=Counter)
    unexpected: int = 0
    held_back: int = 0
    malformed: Kinds = field(default_factory=Kinds)
    last_error: str = ''

    def reject(self, kind: str, error: Exception) -> None:
        """Count what could not be decoded."""
        self.malformed.add(kind)
        self.last_error = str(error)


# The session.

class PeerAbsentError(ValueError):
    """A command or read was refused because the peer is not there to take it."""


class Session(ABC):
    """
    One side of a conversation. It knows neither sockets nor clocks.

    A channel is a name for one socket of ours; sending on a channel not seen before opens it.

    The link calls receive(), poll(), next_deadline() and expired(); whoever owns the session calls
    the rest, each with the time. What must not be sent raises ValueError with a sentence:
    PeerAbsentError if the peer is not there to take it.
    """

    sentences: ClassVar[Mapping[PeerState, str]]
    """What each state of this peer means, for a person."""

    def __init__(self, statistics: Statistics) -> None:
        self.statistics = statistics
        self.peer_state = PeerState.UNKNOWN
        self._active = False
        self._deadline: float | None = None
        self._expired: list[Any] = []

    # What the owner asks for.

    @abstractmethod
    def start(self, now: float) -> None:
        """Begin to talk."""

    @abstractmethod
    def stop(self, now: float) -> None:
        """Stop talking, and give back what was taken."""

    def set_controls(
        self, controls: Mapping[str, float], now: float, vehicle: int = 0
    ) -> None:
        """Set controls of a vehicle by their names; those not named stay as they are."""
        raise ValueError(_NO_CONTROLS)

    def centre(self, now: float, vehicle: int = 0) -> None:
        """Centre the surfaces that commands have deflected, and no others."""
        raise ValueError(_NO_CONTROLS)

    def release(self, now: float, vehicle: int | None = None) -> None:
        """Give back what was taken, of one vehicle or of all."""
        raise ValueError(_NO_CONTROLS)

    @property
    def taken(self) -> tuple[str, ...]:
        """Return what release() would give back: 'throttle', 'elevator of aircraft 3' ..."""
        return ()

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of all values that are asked for all the time."""
        return ()

    def missing(self, now: float) -> dict[str, float]:
        """Return those of ``wanted`` that do not come, with since when."""
        return {}

    # What the link calls.

    def receive(
        self, channel: str, data: bytes, sender: Address | None, now: float
    ) -> Sequence[Any]:
        """
        Take one datagram; return the events that it completes.

        ``sender`` is None where a link has no addresses. Never raises: what is malformed is
        counted.
        """
        return self._receive_one(channel, data, sender, now)

    def _receive_one(
        self, channel: str, data: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        """Take one datagram, or what a stream has instead of it."""
        try:
            message = self._decode(channel, data)
        except ProtocolError as error:
            self.statistics.reject(self._kind(data, error), error)
            return ()
        return self._take(channel, message, sender, now)

    @abstractmethod
    def poll(self, now: float) -> Sequence[Outgoing]:
        """Return what is to be sent now."""

    def next_deadline(self) -> float | None:
        """Return when poll() is to be called next at the latest; None when only data matters."""
        return self._deadline

    def expired(self) -> Sequence[Any]:
        """Return the events that poll() or a call has caused: time-outs, changes of state."""
        events, self._expired = self._expired, []
        return events

    # What a protocol gives.

    @abstractmethod
    def _decode(self, channel: str, data: bytes) -> Any:
        """Return the message of one datagram; raise ProtocolError if it is none."""

    @abstractmethod
    def _kind(self, data: bytes, error: ProtocolError) -> str:
        """Name the kind of a malformed datagram, one of few, or what the sender makes it."""

    @abstractmethod
    def _take(
        self, channel: str, message: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        """Take one message; return the events that it completes."""


# What sessions share.

class Tickets:
    """Numbers that tie an answer to its question, unique within a session."""

    def __init__(self) -> None:
        self._last = 0

    def draw(self) -> int:
        """Return the next number."""
        self._last += 1
        return self._last


def check_read(count: int, waiting: int) -> None:
    """Raise ValueError if ``count`` datarefs are none or too many to read beside those waiting."""
    if not count:
        raise ValueError('a read needs at least one dataref name')
    if count > MOST_READ:
        raise ValueError(f'{count} datarefs, at most {MOST_READ} can be read at once')
    if count + waiting > 2 * MOST_READ:
        raise ValueError(f'{waiting} datarefs wait to be read already; ask less often')


READ_TOO_LONG = (
    f'not everything came within {LONGEST_READ:g} s; read fewer datarefs at once, or less often')
"""Why a read has ended after LONGEST_READ."""
