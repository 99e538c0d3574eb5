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

"""The conversation with Huginn over FDMData. Time is passed in; there is no socket."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
import math

from xplane_bridge.protocols import fdmdata
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.fdmdata import Command, Controls, SensorReply

# The channel for controls; all others are for requests.
CONTROLS_CHANNEL = 'controls'

# Polls on their way take turns on as many sockets, so that a late or doubled reply never counts
# for another poll.
_CHANNELS = 16

# A reply normally takes some microseconds, but waits for a step of the flight model to end.
_TIMEOUT = 0.5

# Without any answer for this long Huginn counts as away, and one small request asks again.
_SILENCE = 1.0
_PROBE_PERIOD = 0.5

# Data change with every step of 17 ms while the simulation runs; if all stand still for this long
# it is held (docs/wire/fdmdata.md, section 1). Even a parked aircraft's accelerometer and
# gyroscope do change, so these are always asked for.
_HELD_AFTER = 2.0

# Polls that are due this close together are one.
_SLACK = 0.001

# Replies that somebody else asked for belong together if they are less than a step of the flight
# model apart (docs/wire/fdmdata.md, section 1).
_TOGETHER = 0.0166

# A command that Huginn refuses is asked for again after this long: it may be another Huginn now.
_REFUSAL_LASTS = 5.0


class PeerState(Enum):
    """How Huginn looks from here; the value says it to a person."""

    UNKNOWN = 'nothing heard yet'
    ANSWERING = 'answering'
    HELD = 'held: it answers, but its data stand still'
    BROKEN = 'its flight model holds NaN'
    AWAY = 'nothing there: Huginn is off or unreachable'


@dataclass(frozen=True, slots=True)
class Wanted:
    """Sensors to be asked together, and how many times a second."""

    commands: tuple[Command, ...]
    rate: float


_WATCH = {'': Wanted((Command.ACCELEROMETER, Command.GYROSCOPE), 2.0)}


@dataclass(frozen=True, slots=True)
class Sample:
    """
    The replies of one poll to one entry of the plan, by command.

    A sensor that Huginn refuses is missing; where a reply was lost there is no sample.
    """

    name: str
    replies: Mapping[Command, SensorReply]


@dataclass(frozen=True, slots=True)
class PeerChanged:
    """Huginn's state is another one now."""

    state: PeerState


Event = Sample | PeerChanged


@dataclass(slots=True)
class Statistics:
    """What happened so far; only ever grows."""

    requests: int = 0
    replies: int = 0
    lost: int = 0
    errors: int = 0
    unexpected: int = 0
    controls: int = 0
    refused: Counter[Command] = field(default_factory=Counter)
    malformed: Counter[str] = field(default_factory=Counter)
    last_error: str = ''
    updates: Counter[str] = field(default_factory=Counter)


class _Poll:
    """Requests that left together, in order, and the replies so far."""

    __slots__ = ('entries', 'errors', 'lost', 'replies', 'sent_at', 'waiting')

    def __init__(
        self, entries: Mapping[str, tuple[Command, ...]], commands: Sequence[Command], now: float
    ) -> None:
        self.entries = entries
        self.waiting = list(commands)
        self.sent_at = now
        self.errors = 0
        self.replies: dict[Command, SensorReply] = {}
        self.lost: set[Command] = set()


class FdmdataSession:
    """
    Ask one Huginn for its sensors, each at its own rate, and send it controls.

    Requests are pipelined: those of one poll leave together, and the next one does not wait for
    their replies. Huginn answers in order, so a reply tells that those to earlier requests of its
    poll are lost. An error reply names no command; it is placed by what comes next.
    """

    def __init__(self) -> None:
        self.statistics = Statistics()
        self.peer_state = PeerState.UNKNOWN
        self.controls: Controls | None = None
        self._plan = _WATCH
        self._due = dict.fromkeys(_WATCH, 0.0)
        self._active = False
        self._started_at = 0.0
        # In the order of sending, by channel.
        self._polls: dict[str, _Poll] = {}
        self._free = deque(f'data {number}' for number in range(_CHANNELS))
        self._serial = _CHANNELS
        self._closing: list[str] = []
        self._refused: dict[Command, float] = {}
        self._waiting_since: float | None = None
        self._probe_at = 0.0
        self._last: dict[Command, bytes] = {}
        self._changed_at: float | None = None
        self._broken: set[Command] = set()
        self._outbox: list[bytes] = []
        self._deadline: float | None = None
        self._expired: list[Event] = []

    # What the owner asks for.

    @property
    def refused(self) -> frozenset[Command]:
        """Return the sensors that this Huginn does not have."""
        return frozenset(self._refused)

    def start(self, now: float) -> None:
        """Begin to ask."""
        self._active = True
        self._forget()
        self._restart_plan(now)
        self.peer_state = PeerState.UNKNOWN

    def stop(self, now: float) -> None:
        """
        Stop asking, and centre the surfaces if controls were sent.

        Huginn would hold the last ones for ever. The throttle stays.
        """
        if self.controls is not None:
            self.set_controls(now, aileron=0.0, elevator=0.0, rudder=0.0)
            self.controls = None
        self._active = False
        self._forget()
        self.peer_state = PeerState.UNKNOWN

    def set_plan(self, plan: Mapping[str, Wanted], now: float) -> None:
        """
        Ask for these from now on.

        Entries that are due together are polled together, each sensor once. Raises ValueError
        for a rate that is not above 0, or an entry without a sensor.
        """
        for name, wanted in plan.items():
            if not 0.0 < wanted.rate < math.inf or not wanted.commands:
                raise ValueError(f'{name}: {wanted} is nothing to ask for')
        old = self._plan
        self._plan = {**plan, **_WATCH}
        self._due = {
            name: self._due[name] if old.get(name) == wanted else now
            for name, wanted in self._plan.items()
        }

    def set_controls(
        self, now: float, *, aileron: float | None = None, elevator: float | None = None,
        rudder: float | None = None, throttle: float | None = None,
    ) -> None:
        """
        Send controls with Huginn's signs and ranges; None repeats the last value sent.

        Surfaces that never were sent are centred. Raises ValueError for a value out of range, and
        if the throttle never was sent: the datagram has all four, and none leaves it as it is.
        """
        given = {
            name: value for name, value in (
                ('aileron', aileron), ('elevator', elevator), ('rudder', rudder),
                ('throttle', throttle)) if value is not None
        }
        if self.controls is None:
            if throttle is None:
                raise ValueError(
                    'the first command must say the throttle, for FDMData sets all controls at '
                    'once')
            controls = Controls(**{'aileron': 0.0, 'elevator': 0.0, 'rudder': 0.0, **given})
        else:
            controls = replace(self.controls, **given)
        self._outbox.append(fdmdata.encode(controls))
        self.controls = controls

    # What the link calls.

    def next_deadline(self) -> float | None:
        """Return when poll() is due; known after poll()."""
        return self._deadline

    def expired(self) -> list[Event]:
        """Return the events that time has caused, since the last call."""
        events, self._expired = self._expired, []
        return events

    def receive(self, channel: str, data: bytes, now: float) -> Sequence[Event]:
        """Take one datagram of Huginn; return the events that it completes."""
        try:
            reply = fdmdata.decode_reply(data)
        except ProtocolError as error:
            self.statistics.malformed[_kind(data)] += 1
            self.statistics.last_error = str(error)
            return ()
        if isinstance(reply, fdmdata.ErrorReply):
            self.statistics.errors += 1
        if not self._active:
            return ()
        events = self._take(channel, reply, data, now)
        if self.peer_state is PeerState.AWAY:
            self._restart_plan(now)
        state = self._judge(now)
        if state is not self.peer_state:
            self.peer_state = state
            events.append(PeerChanged(state))
        return events

    def poll(self, now: float) -> list[tuple[str, bytes | None]]:
        """Return what to send now, by channel; None closes a channel."""
        outgoing: list[tuple[str, bytes | None]] = [
            (CONTROLS_CHANNEL, data) for data in self._outbox]
        self.statistics.controls += len(self._outbox)
        self._outbox.clear()
        if self._active:
            self._give_up(now)
        outgoing += [(channel, None) for channel in self._closing]
        self._closing.clear()
        self._deadline = self._ask_and_wait(now, outgoing) if self._active else None
        if self._expired:
            self._deadline = now
        return outgoing

    # Asking.

    def _restart_plan(self, now: float) -> None:
        """Let all entries be due now, and their grids begin now."""
        self._started_at = now
        self._due = dict.fromkeys(self._plan, now)

    def _next_due(self, after: float, rate: float) -> float:
        """Return the next time on the entry's grid; all grids begin together."""
        periods = math.floor((after - self._started_at) * rate + 1e-6)
        return self._started_at + (periods + 1) / rate

    def _ask_and_wait(self, now: float, outgoing: list[tuple[str, bytes | None]]) -> float:
        """Ask what is due; return when to look again."""
        if self.peer_state is PeerState.AWAY:
            if now >= self._probe_at:
                self._probe_at = now + _PROBE_PERIOD
                self._ask({}, [Command.THERMOMETER], now, outgoing)
            return self._probe_at
        if min(self._due.values()) <= now:
            self._ask_what_is_due(now, outgoing)
        deadlines = list(self._due.values())
        for poll in self._polls.values():
            deadlines.append(poll.sent_at + _TIMEOUT)
            break
        if self._waiting_since is not None:
            deadlines.append(self._waiting_since + _SILENCE)
        return min(deadlines)

    def _ask_what_is_due(self, now: float, outgoing: list[tuple[str, bytes | None]]) -> None:
        entries = {}
        for name, due in self._due.items():
            if due <= now + _SLACK:
                wanted = self._plan[name]
                entries[name] = wanted.commands
                # A poll that is late does not cost the next one; those missed are not made up.
                self._due[name] = self._next_due(max(due, now - 1.0 / wanted.rate), wanted.rate)
        for command in [c for c, until in self._refused.items() if now >= until]:
            del self._refused[command]
        commands = sorted({
            command for wanted in entries.values() for command in wanted
            if command not in self._refused
        })
        self._ask(entries, commands, now, outgoing)

    def _ask(
        self, entries: Mapping[str, tuple[Command, ...]], commands: Sequence[Command], now: float,
        outgoing: list[tuple[str, bytes | None]],
    ) -> None:
        """Send one poll, if there is anything to ask and a channel is free."""
        if not commands or not self._free:
            return
        channel = self._free.popleft()
        self._polls[channel] = _Poll(entries, commands, now)
        outgoing += [(channel, fdmdata.encode(fdmdata.Request(c))) for c in commands]
        self.statistics.requests += len(commands)
        if self._waiting_since is None:
            self._waiting_since = now

    def _give_up(self, now: float) -> None:
        """Count as lost what has not been answered for too long, and notice silence."""
        silent = (
            self.peer_state is not PeerState.AWAY
            and self._waiting_since is not None
            and now >= self._waiting_since + _SILENCE
        )
        for channel, poll in list(self._polls.items()):
            if now < poll.sent_at + _TIMEOUT and not silent:
                break
            self._drop(channel)
            self._place_errors(poll, poll.waiting, now)
            self._finish(poll, self._expired)
        if silent:
            self._forget()
            self.peer_state = PeerState.AWAY
            self._probe_at = now
            self._expired.append(PeerChanged(self.peer_state))

    def _drop(self, channel: str) -> None:
        """Give up a poll and its channel: a reply that still comes is nobody's."""
        del self._polls[channel]
        self._closing.append(channel)
        self._free.append(f'data {self._serial}')
        self._serial += 1

    def _forget(self) -> None:
        """Forget what is outstanding and what was learnt of the peer."""
        for channel in list(self._polls):
            self._drop(channel)
        self._refused.clear()
        self._waiting_since = None
        self._last.clear()
        self._changed_at = None
        self._broken.clear()

    # Placing replies.

    def _take(
        self, channel: str, reply: fdmdata.Reply, data: bytes, now: float
    ) -> list[Event]:
        """Give a reply to its poll; return what a poll that is complete has brought."""
        events: list[Event] = []
        poll = self._polls.get(channel)
        if isinstance(reply, fdmdata.ErrorReply):
            if poll is None:
                self.statistics.unexpected += 1
            else:
                self._take_error(poll, now)
        elif poll is None or reply.command not in poll.waiting:
            # Late, or a duplicate.
            self.statistics.unexpected += 1
        else:
            self._take_reply(poll, reply, data, now)
        if poll is not None and not poll.waiting:
            self._free.append(channel)
            self._finish(self._polls.pop(channel), events)
        self._waiting_since = now if self._polls else None
        return events

    def _take_reply(
        self, poll: _Poll, reply: SensorReply, data: bytes, now: float
    ) -> None:
        """Take a reply; the requests before it stay without one."""
        place = poll.waiting.index(reply.command)
        before = poll.waiting[:place]
        del poll.waiting[:place + 1]
        self._place_errors(poll, before, now)
        self._refused.pop(reply.command, None)
        self.statistics.replies += 1
        poll.replies[reply.command] = reply
        self._watch(reply, data, now)

    def _take_error(self, poll: _Poll, now: float) -> None:
        """Place errors as soon as there are as many as requests; or else by the next reply."""
        poll.errors += 1
        if poll.errors == len(poll.waiting):
            self._place_errors(poll, poll.waiting, now)
            poll.waiting = []

    def _place_errors(self, poll: _Poll, unanswered: Sequence[Command], now: float) -> None:
        """
        Tell which of a poll's unanswered requests were refused, and which replies were lost.

        With fewer errors than requests only those to sensors that were refused before are
        certain.
        """
        errors, poll.errors = poll.errors, 0
        certain = errors >= len(unanswered)
        for command in unanswered:
            if errors and (certain or self.statistics.refused[command]):
                errors -= 1
                self._refused[command] = now + _REFUSAL_LASTS
                self.statistics.refused[command] += 1
            else:
                self.statistics.lost += 1
                poll.lost.add(command)

    def _finish(self, poll: _Poll, events: list[Event]) -> None:
        """Give out what a poll has brought."""
        for name, commands in poll.entries.items():
            if name in _WATCH:
                continue
            replies = {c: poll.replies[c] for c in commands if c in poll.replies}
            if replies and poll.lost.isdisjoint(commands):
                self.statistics.updates[name] += 1
                events.append(Sample(name, replies))

    # Judging the peer.

    def _watch(self, reply: SensorReply, data: bytes, now: float) -> None:
        """Notice data that stand still, and data that are no numbers."""
        command = reply.command
        if all(math.isfinite(getattr(reply, name)) for name in reply.__slots__):
            self._broken.discard(command)
        else:
            self._broken.add(command)
        if self._changed_at is None or self._last.get(command, data) != data:
            self._changed_at = now
        self._last[command] = data

    def _judge(self, now: float) -> PeerState:
        if self._broken:
            return PeerState.BROKEN
        if self._changed_at is not None and now - self._changed_at >= _HELD_AFTER:
            return PeerState.HELD
        return PeerState.ANSWERING


class FdmdataListener(FdmdataSession):
    """
    Listen to somebody else's conversation with one Huginn, as a capture has it; ask nothing.

    A channel is one asker's port. An entry of the plan has a sample whenever new replies of all
    its sensors have come to one port close together, whatever its rate.
    """

    def __init__(self) -> None:
        super().__init__()
        # By channel and entry: what came after the last sample, and when.
        self._heard: dict[tuple[str, str], dict[Command, tuple[float, SensorReply]]] = {}

    def _take(
        self, channel: str, reply: fdmdata.Reply, data: bytes, now: float
    ) -> list[Event]:
        self._waiting_since = now
        if isinstance(reply, fdmdata.ErrorReply):
            return []
        self.statistics.replies += 1
        self._watch(reply, data, now)
        events: list[Event] = []
        for name, wanted in self._plan.items():
            if name in _WATCH or reply.command not in wanted.commands:
                continue
            heard = self._heard.setdefault((channel, name), {})
            heard[reply.command] = now, reply
            replies = {
                command: answer for command, (at, answer) in heard.items()
                if now - at < _TOGETHER
            }
            if len(replies) == len(wanted.commands):
                heard.clear()
                self.statistics.updates[name] += 1
                events.append(Sample(name, replies))
        return events

    def _ask_and_wait(self, now: float, outgoing: list[tuple[str, bytes | None]]) -> float:
        if self._waiting_since is None or self.peer_state is PeerState.AWAY:
            return math.inf
        return self._waiting_since + _SILENCE


def _kind(data: bytes) -> str:
    """Name the kind of a malformed datagram: the command that it echoes, if there is one."""
    if len(data) < 2 or data[0] != 0:
        return 'response code'
    return Command(data[1]).name.lower() if data[1] in list(Command) else 'command'
