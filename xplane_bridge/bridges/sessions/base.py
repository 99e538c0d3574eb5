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
Base of all sessions: one side of a conversation, with neither socket nor clock.

Datagrams and the time, in seconds of any monotonic clock, are passed in; datagrams to send and
events for the owner are returned. What a session holds about its peer is true or expires: pending
commands have a lifetime (lifetimes.py), requested values are leases (leases.py), and what was
taken from the user of the simulator is recorded in a ledger (ledger.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, TypeAlias

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.protocols.kinds import Kinds
from xplane_bridge.bridges.sessions.left import Left, Refused
from xplane_bridge.bridges.sessions.machine import Action, Event

MOST_READ = 2000
"""Maximum number of datarefs in one read; in all pending reads, twice as many."""

RELEASE_TIMEOUT = 3.0
"""Seconds for which giving back is repeated if the peer does not show it."""

LONGEST_READ = 60.0
"""Seconds after which a read ends, complete or not."""

BY_OWNER = frozenset({Event.START, Event.STOP, Event.SHOWN, Event.EXPIRED, Event.ENDED})
"""An owner knows about the states that these lead to, and is not told, unless others follow it."""

_NO_CONTROLS = 'this peer accepts no controls'

Address: TypeAlias = tuple[str, int]
"""The address and port of a datagram's sender."""

Outgoing: TypeAlias = tuple[str, bytes | None]
"""A channel and what to send on it; None closes the channel, nothing (b'') only opens it."""


class PeerState(Enum):
    """State of the peer as seen from here; Session.sentences explains it to people."""

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
    LEAVING = 'leaving'


# Looked up after each message of some conversations.
_BY_VALUE = {state.value: state for state in PeerState}

# Events common to all sessions; each has its own in addition.


@dataclass(frozen=True, slots=True)
class PeerChanged:
    """The peer's state has changed."""

    state: PeerState


@dataclass(frozen=True, slots=True)
class Telemetry:
    """
    Values reported by one vehicle at one time, by name.

    ``vehicle`` is its number, 0 for the user's.
    """

    vehicle: int
    values: Mapping[Any, Any]


@dataclass(frozen=True, slots=True)
class ReadDone:
    """The end of one read: the values in the order requested, or nothing and the reason."""

    ticket: int
    values: tuple[Any, ...]
    error: str = ''


@dataclass(frozen=True, slots=True)
class CommandDone:
    """
    The end of one command: shown by the peer, or the reason why not.

    ``what`` names the command for people. ``error`` says that it was not sent, or was sent and
    not shown; ``message`` how the peer has shown it, or that its protocol cannot. A command that
    nobody waits for has this event only if there is an error.
    """

    ticket: int
    what: str
    error: str = ''
    message: str = ''

    @property
    def was_sent(self) -> bool:
        """Return whether it was sent, though not shown: it may still happen."""
        return 'sent; ' in self.error or self.error.startswith('sent,')


@dataclass(slots=True)
class Statistics:
    """
    Monotonic counters.

    updates counts telemetry by source; unexpected unrequested or late replies; held_back values
    that were replaced by newer ones before being sent; malformed what could not be decoded, by
    kind, and last_error says why the last one could not.
    """

    updates: Counter[Any] = field(default_factory=Counter)
    unexpected: int = 0
    held_back: int = 0
    malformed: Kinds = field(default_factory=Kinds)
    last_error: str = ''

    def reject(self, kind: str, error: Exception) -> None:
        """Count data that could not be decoded."""
        self.malformed.add(kind)
        self.last_error = str(error)


# The session.

class NotShownError(ValueError):
    """A command was sent, and the peer has not shown it: it may still happen."""


class PeerAbsentError(ValueError):
    """A command or read was refused because the peer is absent."""


def with_advice(sentence: str, advice: str) -> str:
    """Return a sentence with what can be done, unless that begins by saying the same."""
    return advice if advice.startswith(sentence) else '; '.join(filter(None, (sentence, advice)))


class Session(ABC):
    """
    One side of a conversation. It knows neither sockets nor clocks.

    A channel is the name of one of our sockets; sending on a new channel opens it.

    The link calls receive(), poll(), next_deadline() and expired(); the owner of the session calls
    the rest, each with the time. What must not be sent raises ValueError with the reason:
    PeerAbsentError if the peer is absent.
    """

    sentences: ClassVar[Mapping[PeerState, str]]
    """The meaning of each state of this peer, for people."""

    advice: ClassVar[Mapping[PeerState, str]] = {}
    """What a user can do about a state."""

    unannounced: ClassVar[frozenset[Event]] = BY_OWNER
    """What changes the state without a PeerChanged."""

    _peer: Any

    def __init__(self, statistics: Statistics) -> None:
        self.statistics = statistics
        self.peer_state = PeerState.UNKNOWN
        self._left = Left()
        self._deadline: float | None = None
        # Set by poll(). What is received ends it, unless that is known to change nothing: then it
        # is again what it was before.
        self.rests = self._rested = False
        self._expired: list[Any] = []
        self._refused = Refused()
        self.release_timeout = RELEASE_TIMEOUT

    # For the owner.

    def advise(self, state: PeerState) -> str:
        """Return what a user can do about a state of the peer, '' for nothing."""
        return self.advice.get(state, '')

    def explained(self) -> str:
        """Return what the peer's present state means, and what a user can do about it."""
        state = self.peer_state
        return with_advice(self.sentences.get(state, state.value), self.advise(state))

    def start(self, now: float) -> None:
        """Start talking; no-op if started already."""
        self._expired += self._happen((Event.START,), now)
        self._left = Left()

    @abstractmethod
    def stop(self, now: float) -> None:
        """
        Stop talking, and give back what was taken.

        While ``leaving`` this is repeated; the link must go on until it has ended.
        """

    @property
    def leaving(self) -> bool:
        """
        Return whether stop() still waits until the peer shows what was given back.

        It ends when all of it was shown, or after ``release_timeout`` seconds; then ``left`` says
        how.
        """
        return self.peer_state is PeerState.LEAVING

    @property
    def left(self) -> Left:
        """Return how the last stop() has ended."""
        return self._left

    def set_controls(
        self, controls: Mapping[str, float], now: float, vehicle: int = 0
    ) -> None:
        """Set controls of a vehicle by name; the others keep their positions."""
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
    def unconfirmed(self) -> tuple[str, ...]:
        """Return what was given back and is not yet shown by the peer: it is repeated."""
        return ()

    def contradictions(self, now: float) -> tuple[str, ...]:
        """
        Return sentences where what is commanded, what is held and what is reported disagree.

        Only what has been so for longer than a report takes.
        """
        return ()

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of all values that are requested continuously."""
        return ()

    def missing(self, now: float) -> dict[str, float]:
        """Return those of ``wanted`` that do not arrive, and since when each is missing."""
        return {}

    # For the link.

    def receive(
        self, channel: str, data: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        """
        Handle one datagram, or the equivalent in a stream; return the events that it completes.

        ``sender`` is None if the link has no addresses. Never raises: malformed datagrams are
        counted.
        """
        self._rested, self.rests = self.rests, False
        if self._refused.count:
            self._refused.forget()
        try:
            message = self._decode(channel, data)
        except ProtocolError as error:
            self.statistics.reject(self._kind(data, error), error)
            return ()
        return self._on_datagram(channel, message, sender, now)

    def port_refused(self, now: float) -> None:
        """Note that nothing listens where something was sent: perhaps the peer has ended."""
        self.rests = False
        self._refused.note(now)

    def poll(self, now: float) -> Sequence[Outgoing]:
        """Return what to send now."""
        if self._refused.count and self.leaving and self._refused.shows_end:
            unconfirmed = self.unconfirmed
            self._expired += self._happen((Event.ENDED,), now)
            self._left = Left(has_ended=bool(unconfirmed))
        if happened := self._peer.check_timeouts(now):
            self._expired += self._happen(happened, now)
        outgoing = self._send(now)
        self._deadline = now if self._expired else soonest(
            self._peer.deadline, *self._deadlines(now))
        self.rests = True
        return outgoing

    def next_deadline(self) -> float | None:
        """Return when poll() must be called next; None if only data matter."""
        return self._deadline

    def expired(self) -> list[Any]:
        """Return the events caused by poll() or a call: time-outs, changes of state."""
        events, self._expired = self._expired, []
        return events

    # The director: what happens changes the state, and what the table says is done about it.

    def _happen(self, happened: Iterable[Event], now: float, reason: str = '') -> list[Any]:
        """
        Let things happen, one after the other; return the events.

        ``reason`` says why what ends has ended; without, it is the absence of the peer. Each is
        taken from ``happened`` when the one before it has been dealt with.
        """
        events: list[Any] = []
        for event in happened:
            self.rests = False
            actions = self._peer.process(event, now)
            changed = self._look_at_shown()
            if event not in self.unannounced:
                events += changed
            for action in actions:
                if action is Action.TELL_STATE:
                    events.append(PeerChanged(self.peer_state))
                else:
                    events += self._do(action, reason or self._peer.absence, now)
        return events

    def _look_at_shown(self) -> list[PeerChanged]:
        """
        Show the owner what the peer is shown as now; return the change, if any.

        For a peer that is shown as more than the state of its table, after what may change that.
        """
        state = _BY_VALUE[self._peer.shown]
        if state is self.peer_state:
            return []
        self.peer_state = state
        return [PeerChanged(state)]

    def _do(self, action: Action, reason: str, now: float) -> Sequence[Any]:
        """Do what the table says; return the events."""
        raise NotImplementedError(f'{type(self).__name__} cannot {action}')

    def _send(self, now: float) -> list[Outgoing]:
        """Return what to send now."""
        return []

    def _deadlines(self, now: float) -> Iterable[float | None]:
        """Return when something is due, apart from what the peer shows."""
        return ()

    # Implemented by each protocol.

    @abstractmethod
    def _decode(self, channel: str, data: bytes) -> Any:
        """Return the message in one datagram; raise ProtocolError if it is invalid."""

    @abstractmethod
    def _kind(self, data: bytes, error: ProtocolError) -> str:
        """Return the kind of a malformed datagram, one of a few, or as the sender names it."""

    @abstractmethod
    def _on_datagram(
        self, channel: str, message: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        """Handle one message; return the events that it completes."""


# Shared by sessions.

def soonest(*times: float | None) -> float | None:
    """Return the first of these times, None if there is none."""
    first = None
    for at in times:
        if at is not None and (first is None or at < first):
            first = at
    return first


class Tickets:
    """Numbers that tie a result to its request, unique within a session."""

    def __init__(self) -> None:
        self._last = 0

    def draw(self) -> int:
        """Return the next number."""
        self._last += 1
        return self._last


def check_read(count: int, waiting: int) -> None:
    """Raise ValueError if ``count`` datarefs are none or too many, given those waiting."""
    if not count:
        raise ValueError('a read needs at least one dataref name')
    if count > MOST_READ:
        raise ValueError(f'{count} datarefs, at most {MOST_READ} can be read at once')
    if count + waiting > 2 * MOST_READ:
        raise ValueError(f'{waiting} datarefs are already waiting to be read; read less often')


READ_TOO_LONG = (
    f'not everything came within {LONGEST_READ:g} s; read fewer datarefs at once, or less often')
"""Why a read has ended after LONGEST_READ."""
