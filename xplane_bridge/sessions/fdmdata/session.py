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

from collections import deque
from collections.abc import Mapping, Sequence
import math

from xplane_bridge.protocols import fdmdata
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.fdmdata import Command, SensorReply
from xplane_bridge.sessions.base import Leases, PeerAbsentError
from xplane_bridge.sessions.fdmdata.controls import HeldControls
from xplane_bridge.sessions.fdmdata.events import (
    Event,
    PeerChanged,
    PeerRecognized,
    PeerState,
    Sample,
    Statistics,
    Wanted,
)

# The channel for controls; all others are for requests.
CONTROLS_CHANNEL = 'controls'

# Polls on their way take turns on as many sockets, so that a late or doubled reply never counts
# for another poll.
_CHANNELS = 16

# A reply normally takes some microseconds, but waits for a step of the flight model to end.
_TIMEOUT = 0.5

# Without any answer for this long Huginn counts as away, and one small request asks again.
SILENCE = 1.0
_PROBE_PERIOD = 0.5

# A sensor that has not answered for this long, and for this many polls, is missing: the others go
# on without it, and it is asked by itself, after these pauses.
_PATIENCE = 0.5
_POLLS = 4
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0

# Within this time after the first answer that ends a silence a Huginn that only stood still has
# answered what it was asked meanwhile.
_RECOGNITION = 0.25

# Data change with every step of 17 ms while the simulation runs; if all stand still for this long
# it is held (docs/wire/fdmdata.md, section 1). Even a parked aircraft's accelerometer and
# gyroscope do change, so these are always asked for.
_HELD_AFTER = 2.0

# Polls that are due this close together are one.
_SLACK = 0.001

WATCH = {'': Wanted((Command.ACCELEROMETER, Command.GYROSCOPE), 2.0)}


class _Poll:
    """Requests that left together, in order, the replies so far, and what is not given out yet."""

    __slots__ = ('commands', 'entries', 'errors', 'lone', 'replies', 'sent_at', 'waiting')

    def __init__(
        self, entries: Mapping[str, tuple[Command, ...]], commands: Sequence[Command], now: float
    ) -> None:
        self.entries = dict(entries)
        self.lone = not entries
        self.commands = tuple(commands)
        self.waiting = list(commands)
        self.sent_at = now
        self.errors = 0
        self.replies: dict[Command, SensorReply] = {}


class FdmdataSession:
    """
    Ask one Huginn for its sensors, each at its own rate, and send it controls.

    Requests are pipelined: those of one poll leave together, and the next one does not wait for
    their replies. Huginn answers in order, so a reply tells that those to earlier requests of its
    poll are lost; what has come is given out then. An error reply names no command, and anybody
    can forge the one byte: a sensor counts as refused only while it does not answer.

    Each sensor is a lease: one that does not answer is left out of the polls and asked by itself,
    for ever. FDMData has nothing that tells one run of Huginn from another. But one that only
    stood still answers, when it goes on, what it was asked meanwhile; another one has never heard
    of it. ``address`` is where Huginn is, for the sentences of refusals.
    """

    def __init__(self, address: str = 'its address') -> None:
        self.statistics = Statistics()
        self.peer_state = PeerState.UNKNOWN
        self._address = address
        self._controls = HeldControls()
        self._plan = WATCH
        self._due = dict.fromkeys(WATCH, 0.0)
        self._leases = Leases[Command](_PATIENCE, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
        self._refused: set[Command] = set()
        self._active = False
        self._met = False
        self._started_at = 0.0
        # In the order of sending, by channel.
        self._polls: dict[str, _Poll] = {}
        self._free = deque(f'data {number}' for number in range(_CHANNELS))
        self._serial = _CHANNELS
        self._closing: list[str] = []
        # What was asked when the silence began: its channel, and the commands.
        self._witness: tuple[str, tuple[Command, ...]] | None = None
        self._recognize_until: float | None = None
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
        """Return the sensors that are answered by an error alone."""
        return frozenset(self._refused)

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the names of the controls that were commanded."""
        return self._controls.taken

    @property
    def wanted(self) -> tuple[Command, ...]:
        """Return the sensors that are asked for."""
        return self._leases.keys

    def missing(self, now: float) -> dict[Command, float]:
        """Return the sensors that do not answer, with since when."""
        return self._leases.missing(now) if self._active else {}

    @property
    def absence(self) -> str:
        """Return why Huginn takes no command now; empty if it does."""
        if not self._active:
            return 'the session is not started'
        if self.peer_state is PeerState.UNKNOWN:
            return f'waiting for the first answer of Huginn at {self._address}'
        if self.peer_state is PeerState.AWAY:
            return f'nothing answers at {self._address}'
        if self._recognize_until is not None:
            return f'Huginn answers again at {self._address}; finding out if it was restarted'
        return ''

    @property
    def in_doubt(self) -> bool:
        """Tell whether Huginn was silent, and it is not known yet whether it is the same."""
        return self._witness is not None

    def start(self, now: float) -> None:
        """Begin to ask."""
        self._active, self._met = True, False
        self._forget()
        self._controls.forget()
        self._restart_plan(now)
        self.peer_state = PeerState.UNKNOWN

    def stop(self, now: float) -> None:
        """
        Stop asking, and centre the surfaces if they were commanded.

        Huginn would hold the last ones for ever. The throttle stays. A Huginn that is not there,
        or is another one by now, gets nothing.
        """
        if not self.absence:
            self.give_back(now)
        self._controls.forget()
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
        self._plan = {**plan, **WATCH}
        self._due = {
            name: self._due[name] if old.get(name) == wanted else now
            for name, wanted in self._plan.items()
        }
        rates: dict[Command, float] = {}
        for wanted in self._plan.values():
            for command in wanted.commands:
                rates[command] = max(wanted.rate, rates.get(command, 0.0))
        self._leases.want(rates, now, {
            command: max(_PATIENCE, _POLLS / rate) for command, rate in rates.items()})
        self._refused &= rates.keys()

    def set_controls(
        self, now: float, *, aileron: float | None = None, elevator: float | None = None,
        rudder: float | None = None, throttle: float | None = None,
    ) -> None:
        """
        Send controls with Huginn's signs and ranges; None repeats what this Huginn was sent last.

        Surfaces that it never was sent are centred. Raises PeerAbsentError if it is not there,
        and ValueError for a value out of range, or if it never was sent a throttle.
        """
        if self.absence:
            raise PeerAbsentError(self.absence)
        given = {
            name: value for name, value in (
                ('aileron', aileron), ('elevator', elevator), ('rudder', rudder),
                ('throttle', throttle)) if value is not None
        }
        controls = self._controls.merged(given)
        self._outbox.append(fdmdata.encode(controls))
        self._controls.sent(controls, given)

    def give_back(self, now: float) -> None:
        """
        Centre the surfaces, if one of them was commanded; the throttle stays.

        Raises PeerAbsentError if Huginn is not there.
        """
        if self.absence:
            raise PeerAbsentError(self.absence)
        controls = self._controls.give_back()
        if controls is not None:
            self._outbox.append(fdmdata.encode(controls))

    def forget_controls(self, now: float) -> None:
        """Forget what was commanded: Huginn has moved its controls itself, as a reset does."""
        self._controls.forget()

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
            self.statistics.malformed.add(_kind(data))
            self.statistics.last_error = str(error)
            return ()
        if isinstance(reply, fdmdata.ErrorReply):
            self.statistics.errors += 1
        if not self._active:
            return ()
        if self.peer_state is PeerState.AWAY:
            self._return(now)
        self._met = True
        events = self._take(channel, reply, data, now)
        state = self._judge(now)
        if state is not self.peer_state:
            self.peer_state = state
            events.append(PeerChanged(state))
        if self._is_witness(channel, reply):
            self._recognize(same=True, events=events)
        return events

    def poll(self, now: float) -> list[tuple[str, bytes | None]]:
        """Return what to send now, by channel; None closes a channel."""
        outgoing: list[tuple[str, bytes | None]] = [
            (CONTROLS_CHANNEL, data) for data in self._outbox]
        self.statistics.controls += len(self._outbox)
        self._outbox.clear()
        if self._active:
            self._give_up(now)
            if self._recognize_until is not None and now >= self._recognize_until:
                self._recognize(same=False, events=self._expired)
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
        self._leases.renew(now)
        self._refused.clear()

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
        again = self._leases.due(now)
        is_due = min(self._due.values()) <= now
        missing = self._leases.missing(now) if again or is_due else {}
        for command in again:
            if command in missing:
                self._ask({}, [command], now, outgoing)
        if is_due:
            self._ask_what_is_due(missing, now, outgoing)
        deadlines = list(self._due.values())
        if self._leases.deadline is not None:
            deadlines.append(self._leases.deadline)
        for poll in self._polls.values():
            deadlines.append(poll.sent_at + _TIMEOUT)
            break
        if self._waiting_since is not None:
            deadlines.append(self._waiting_since + SILENCE)
        if self._recognize_until is not None:
            deadlines.append(self._recognize_until)
        return min(deadlines)

    def _ask_what_is_due(
        self, missing: Mapping[Command, float], now: float,
        outgoing: list[tuple[str, bytes | None]],
    ) -> None:
        entries = {}
        for name, due in self._due.items():
            if due <= now + _SLACK:
                wanted = self._plan[name]
                entries[name] = wanted.commands
                # A poll that is late does not cost the next one; those missed are not made up.
                self._due[name] = self._next_due(max(due, now - 1.0 / wanted.rate), wanted.rate)
        commands = sorted({
            command for wanted in entries.values() for command in wanted
            if command not in missing
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
            and now >= self._waiting_since + SILENCE
        )
        for channel, poll in list(self._polls.items()):
            if now < poll.sent_at + _TIMEOUT and not silent:
                break
            self._miss(poll, len(poll.waiting))
            if poll.lone and poll.errors and poll.commands[0] in self._leases:
                # Asked by itself, and answered by errors alone.
                self._refused.add(poll.commands[0])
                self._leases.unknown(poll.commands[0], now)
            if silent and self._met and self._witness is None:
                self._witness = channel, tuple(poll.waiting)
                del self._polls[channel]
            else:
                self._drop(channel)
        if silent:
            self._forget(keep_witness=True)
            self.peer_state = PeerState.AWAY
            self._probe_at = now
            self._expired.append(PeerChanged(self.peer_state))

    def _drop(self, channel: str) -> None:
        """Give up a poll and its channel: a reply that still comes is nobody's."""
        self._polls.pop(channel, None)
        self._closing.append(channel)
        self._free.append(f'data {self._serial}')
        self._serial += 1

    def _forget(self, *, keep_witness: bool = False) -> None:
        """Forget what is outstanding and what was learnt of the peer."""
        for channel in list(self._polls):
            self._drop(channel)
        if not keep_witness:
            self._drop_witness()
        self._recognize_until = None
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
                poll.errors += 1
        elif poll is None or reply.command not in poll.waiting:
            # Late, or a duplicate.
            self.statistics.unexpected += 1
        else:
            self._take_reply(poll, reply, data, now)
            self._give_out(poll, events)
            if not poll.waiting:
                self._free.append(channel)
                del self._polls[channel]
        self._waiting_since = now if self._polls else None
        return events

    def _take_reply(
        self, poll: _Poll, reply: SensorReply, data: bytes, now: float
    ) -> None:
        """Take a reply; the requests before it stay without one."""
        place = poll.waiting.index(reply.command)
        del poll.waiting[:place + 1]
        self._miss(poll, place)
        self._refused.discard(reply.command)
        self._leases.heard((reply.command,), now)
        self.statistics.replies += 1
        poll.replies[reply.command] = reply
        self._watch(reply, data, now)

    def _miss(self, poll: _Poll, unanswered: int) -> None:
        """Count requests without a reply: what no error stands for is lost."""
        refused = min(unanswered, poll.errors)
        if not poll.lone:
            poll.errors -= refused
        self.statistics.lost += unanswered - refused

    def _give_out(self, poll: _Poll, events: list[Event]) -> None:
        """Give out each entry of a poll of which nothing more is to come."""
        waiting = poll.waiting
        ended = [
            name for name, commands in poll.entries.items()
            if not (waiting and any(command in waiting for command in commands))]
        for name in ended:
            commands = poll.entries.pop(name)
            if name in WATCH:
                continue
            replies = {c: poll.replies[c] for c in commands if c in poll.replies}
            if replies:
                self.statistics.updates[name] += 1
                events.append(Sample(name, replies))

    # Judging the peer.

    def _return(self, now: float) -> None:
        """Begin anew with a Huginn that was silent; find out if it is the same one."""
        self._restart_plan(now)
        if self._witness is not None:
            self._recognize_until = now + _RECOGNITION
        elif self._met:
            self._recognize(same=False, events=self._expired)

    def _is_witness(self, channel: str, reply: fdmdata.Reply) -> bool:
        return (
            self._witness is not None and channel == self._witness[0]
            and not isinstance(reply, fdmdata.ErrorReply) and reply.command in self._witness[1])

    def _recognize(self, *, same: bool, events: list[Event]) -> None:
        """Settle whether it is the same Huginn; what another one held is forgotten."""
        self._recognize_until = None
        self._drop_witness()
        if not same:
            self._controls.forget()
        events.append(PeerRecognized(same))

    def _drop_witness(self) -> None:
        if self._witness is not None:
            self._drop(self._witness[0])
            self._witness = None

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
        # What is not asked for any more tells nothing about now.
        if self._broken and any(
                self._leases.is_fresh(command, now) for command in self._broken):
            return PeerState.BROKEN
        if self._changed_at is not None and now - self._changed_at >= _HELD_AFTER:
            return PeerState.HELD
        return PeerState.ANSWERING


def _kind(data: bytes) -> str:
    """Name the kind of a malformed datagram: the command that it echoes, if there is one."""
    if len(data) < 2 or data[0] != 0:
        return 'response code'
    return Command(data[1]).name.lower() if data[1] in list(Command) else 'command'
