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

# The channels that this session sends on: Huginn has a port for each.
DATA_CHANNEL = 'data'
CONTROLS_CHANNEL = 'controls'

# A reply normally takes some microseconds, but waits for a step of the flight model to end.
_TIMEOUT = 0.5

# Without any answer for this long Huginn counts as away, and one small request asks again.
_SILENCE = 1.0
_PROBE_PERIOD = 0.5

# Data change with every step of 17 ms while the simulation runs; if all stand still for this long
# it is held (FDMData wire notes, section 1). Even a parked aircraft's accelerometer and gyroscope
# do change, so these are always asked for.
_HELD_AFTER = 2.0

# What a stock kernel's buffer surely holds while Huginn is busy, for a reset takes its time.
_LARGEST_WINDOW = 128

# Polls that are due this close together are one.
_SLACK = 0.001

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
    """Requests that left together, and the replies so far."""

    __slots__ = ('entries', 'open', 'replies', 'lost')

    def __init__(self, entries: Mapping[str, tuple[Command, ...]], count: int) -> None:
        self.entries = entries
        self.open = count
        self.replies: dict[Command, SensorReply] = {}
        self.lost: set[Command] = set()


@dataclass(frozen=True, slots=True)
class _Request:
    command: Command
    sent_at: float
    poll: _Poll


class FdmdataSession:
    """
    Ask one Huginn for its sensors, each at its own rate, and send it controls.

    Requests are pipelined: Huginn answers in order, so a reply that comes tells that those to
    earlier requests are lost. An error reply names no command; it is placed by what comes next.
    """

    def __init__(self) -> None:
        self.statistics = Statistics()
        self.peer_state = PeerState.UNKNOWN
        self.controls: Controls | None = None
        self._plan = _WATCH
        self._due = dict.fromkeys(_WATCH, 0.0)
        self._active = False
        self._started_at = 0.0
        self._outstanding: deque[_Request] = deque()
        self._errors = 0
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
        if not self._active or channel != DATA_CHANNEL:
            self.statistics.unexpected += 1
            return ()
        events: list[Event] = []
        if isinstance(reply, fdmdata.ErrorReply):
            self.statistics.errors += 1
            self._take_error(now, events)
        else:
            self._take_reply(reply, data, now, events)
        self._waiting_since = now if self._outstanding else None
        if self.peer_state is PeerState.AWAY:
            self._restart_plan(now)
        state = self._judge(now)
        if state is not self.peer_state:
            self.peer_state = state
            events.append(PeerChanged(state))
        return events

    def poll(self, now: float) -> list[tuple[str, bytes]]:
        """Return what to send now, by channel."""
        outgoing = [(CONTROLS_CHANNEL, data) for data in self._outbox]
        self.statistics.controls += len(self._outbox)
        self._outbox.clear()
        if not self._active:
            self._deadline = None
            return outgoing
        self._give_up(now)
        if self.peer_state is PeerState.AWAY:
            if now >= self._probe_at:
                self._probe_at = now + _PROBE_PERIOD
                # A command that every Huginn has, with the shortest reply.
                self._ask({}, [Command.THERMOMETER], now, outgoing)
            self._deadline = now if self._expired else self._probe_at
            return outgoing
        self._ask_what_is_due(now, outgoing)
        deadlines = list(self._due.values())
        if self._outstanding:
            deadlines.append(self._outstanding[0].sent_at + _TIMEOUT)
        if self._waiting_since is not None:
            deadlines.append(self._waiting_since + _SILENCE)
        self._deadline = now if self._expired else min(deadlines)
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

    def _ask_what_is_due(self, now: float, outgoing: list[tuple[str, bytes]]) -> None:
        if min(self._due.values()) > now:
            return
        entries = {}
        for name, due in self._due.items():
            if due <= now + _SLACK:
                wanted = self._plan[name]
                entries[name] = wanted.commands
                self._due[name] = self._next_due(max(now, due), wanted.rate)
        for command in [c for c, until in self._refused.items() if now >= until]:
            del self._refused[command]
        commands = sorted({
            command for wanted in entries.values() for command in wanted
            if command not in self._refused
        })
        if len(self._outstanding) + len(commands) <= _LARGEST_WINDOW:
            self._ask(entries, commands, now, outgoing)

    def _ask(
        self, entries: Mapping[str, tuple[Command, ...]], commands: Sequence[Command], now: float,
        outgoing: list[tuple[str, bytes]],
    ) -> None:
        poll = _Poll(entries, len(commands))
        for command in commands:
            self._outstanding.append(_Request(command, now, poll))
            outgoing.append((DATA_CHANNEL, fdmdata.encode(fdmdata.Request(command))))
        self.statistics.requests += len(commands)
        if commands and self._waiting_since is None:
            self._waiting_since = now

    def _give_up(self, now: float) -> None:
        """Count requests as lost that have waited too long, and notice silence."""
        while self._outstanding and now >= self._outstanding[0].sent_at + _TIMEOUT:
            self._lose(self._outstanding.popleft())
        if not self._outstanding:
            self._errors = 0
        if (
            self.peer_state is not PeerState.AWAY
            and self._waiting_since is not None
            and now >= self._waiting_since + _SILENCE
        ):
            for request in self._outstanding:
                self._lose(request)
            self._forget()
            self.peer_state = PeerState.AWAY
            self._probe_at = now
            self._expired.append(PeerChanged(self.peer_state))

    def _forget(self) -> None:
        """Forget what is outstanding and what was learnt of the peer."""
        self._outstanding.clear()
        self._errors = 0
        self._refused.clear()
        self._waiting_since = None
        self._last.clear()
        self._changed_at = None
        self._broken.clear()

    # Placing replies.

    def _take_reply(
        self, reply: SensorReply, data: bytes, now: float, events: list[Event]
    ) -> None:
        """Match a reply with the oldest request of its command; those before have none."""
        before: list[_Request] = []
        for request in self._outstanding:
            if request.command == reply.command:
                break
            before.append(request)
        else:
            # Late, or a duplicate.
            self.statistics.unexpected += 1
            return
        for _ in range(len(before) + 1):
            self._outstanding.popleft()
        self._place_errors(before, now, events)
        self._refused.pop(reply.command, None)
        self.statistics.replies += 1
        self._watch(reply, data, now)
        request.poll.replies[reply.command] = reply
        self._settle(request.poll, events)

    def _take_error(self, now: float, events: list[Event]) -> None:
        """Place errors as soon as there are as many as requests; or else by the next reply."""
        self._errors += 1
        if self._errors > len(self._outstanding):
            self._errors = len(self._outstanding)
            self.statistics.unexpected += 1
        if self._errors and self._errors == len(self._outstanding):
            before = list(self._outstanding)
            self._outstanding.clear()
            self._place_errors(before, now, events)

    def _place_errors(
        self, requests: Sequence[_Request], now: float, events: list[Event]
    ) -> None:
        """
        Tell which of these unanswered requests were refused, and which replies were lost.

        With fewer errors than requests only those to sensors that were refused before are
        certain.
        """
        errors, self._errors = self._errors, 0
        certain = errors >= len(requests)
        for request in requests:
            if errors and (certain or self.statistics.refused[request.command]):
                errors -= 1
                self._refused[request.command] = now + _REFUSAL_LASTS
                self.statistics.refused[request.command] += 1
                self._settle(request.poll, events)
            else:
                self._lose(request)

    def _lose(self, request: _Request) -> None:
        self.statistics.lost += 1
        request.poll.lost.add(request.command)
        self._settle(request.poll, self._expired)

    def _settle(self, poll: _Poll, events: list[Event]) -> None:
        """Note that one more of a poll's requests has its end; give out what is complete."""
        poll.open -= 1
        if poll.open:
            return
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


def _kind(data: bytes) -> str:
    """Name the kind of a malformed datagram: the command that it echoes, if there is one."""
    if len(data) < 2 or data[0] != 0:
        return 'response code'
    return Command(data[1]).name.lower() if data[1] in list(Command) else 'command'
