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

"""The session with Huginn over FDMData. Time is passed in; there is no socket."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.fdmdata.protocol import Command, Reply, SensorReply
from xplane_bridge.bridges.fdmdata.session.events import PollEntry, Statistics, Telemetry
from xplane_bridge.bridges.fdmdata.session.motion import AwaitedMotion
from xplane_bridge.bridges.fdmdata.session.overrides import Overrides
from xplane_bridge.bridges.fdmdata.session.peer import Peer
from xplane_bridge.bridges.fdmdata.session.plan import RESTLESS, WATCH
from xplane_bridge.bridges.fdmdata.session.requests import Requests
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.sessions.base import (
    Address,
    Outgoing,
    PeerAbsentError,
    PeerState,
    Session,
    Tickets,
)
from xplane_bridge.bridges.sessions.machine import Action, Event, State, Teardown
from xplane_bridge.bridges.sessions.pending import SHOWN_WITHIN

# The channel for controls; all others are for requests.
CONTROLS_CHANNEL = 'controls'

# After a pause by its service the data may still change for as long as a watching poll takes.
_PAUSE_SHOWS = 2.0

# How often the position is polled while it is to show something: the less the aircraft has flown
# in between, the more it shows.
_SOON = 0.05

_DEACTIVATED = 'the node was deactivated'

# Looking up a member of an Enum is slow, and happens for each reply.
_OFF, _NONE = State.OFF, Teardown.NONE


class FdmdataSession(Session):
    """
    Poll one Huginn's sensors, each at its own rate, and send it controls.

    ``address`` is where Huginn is, for messages. The protocol shows no controls: surfaces that are
    given back are sent as centred again and again for ``release_timeout``. It shows whether the
    simulation runs. While stop() still gives something back, Huginn is polled as before, and
    nothing else is commanded.
    """

    sentences = {
        PeerState.UNKNOWN: 'nothing heard yet',
        PeerState.ANSWERING: 'answering',
        PeerState.HELD: 'held: it answers, but its data do not change',
        PeerState.BROKEN: 'its flight model contains NaN',
        PeerState.AWAY: 'not responding: Huginn is off or unreachable',
        PeerState.LEAVING: 'giving back what was taken',
    }
    advice = {
        PeerState.UNKNOWN: 'waiting for the first reply',
        PeerState.AWAY: 'check that Huginn is running, its address and port, and that no firewall '
                        'drops UDP',
        PeerState.HELD: 'resume it: call the service pause with data false, or huginn_control.py '
                        'resume',
        PeerState.BROKEN: 'restart Huginn; somebody sent it a NaN',
    }

    statistics: Statistics
    _peer: Peer

    def __init__(self, address: str = 'its address') -> None:
        super().__init__(Statistics())
        self._address = address
        self._peer = Peer(address)
        self._overrides = Overrides()
        self._motion = AwaitedMotion()
        self._tickets = Tickets()
        # Until when leaving lasts at most; None until its first poll.
        self._leave_at: float | None = None
        self._requests = Requests(self.statistics)
        self._outbox: list[bytes] = []
        # When the newest poll was sent that has given an entry, by name; and what it gave.
        self._newest: dict[str, float] = {}
        self._given: dict[str, tuple[float, Mapping[Command, SensorReply]]] = {}

    # For the owner.

    @property
    def refused(self) -> frozenset[Command]:
        """Return the sensors that are answered only with errors."""
        return self._requests.refused

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the names of the controls that were commanded, and the pause."""
        return self._overrides.names

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Return the names of the surfaces that are being centred; while leaving, the pause."""
        return self._overrides.unconfirmed

    def contradictions(self, now: float) -> tuple[str, ...]:
        """Return that Huginn runs although it was paused here."""
        overrides = self._overrides
        if overrides.is_paused and self._motion.runs_since(overrides.paused_at + _PAUSE_SHOWS):
            return ('paused by the service, but its data change: somebody else has resumed it',)
        return ()

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of the sensors that are polled."""
        return tuple(command.name.lower() for command in self._requests.sensors)

    def missing(self, now: float) -> dict[str, float]:
        """Return the sensors that do not answer, and since when."""
        missing = {} if self._peer.state is _OFF else self._requests.missing(now)
        return {command.name.lower(): since for command, since in missing.items()}

    @property
    def absence(self) -> str:
        """Return why Huginn accepts no commands now; empty if it does."""
        return self._peer.absence

    @property
    def in_doubt(self) -> bool:
        """Return whether Huginn was silent, and it is not known yet whether it is the same."""
        return self._peer.in_doubt

    def stop(self, now: float) -> None:
        """
        Stop polling; centre the surfaces that were commanded, and wait for the end of a pause.

        Huginn would hold the last ones forever. The throttle stays. A Huginn that is silent is
        sent them once, for it may be frozen and read them later, and again if it turns out to be
        the same one; one that was restarted gets nothing.
        """
        self._expired += self._happen([Event.STOP], now, _DEACTIVATED)
        self._expired += self._happen(self._over(now), now, _DEACTIVATED)

    def set_plan(self, plan: Mapping[str, PollEntry], now: float) -> None:
        """
        Poll these from now on.

        Entries that are due together are polled together, each sensor once. Raises ValueError
        for a rate that is not above 0, or an entry without a sensor.
        """
        self._requests.set(plan, now)

    def set_controls(
        self, controls: Mapping[str, float], now: float, vehicle: int = 0
    ) -> None:
        """
        Send controls with Huginn's signs and ranges; the others repeat the last values sent.

        Surfaces that were never sent to this Huginn are centred. Raises PeerAbsentError if it is
        absent, and ValueError if a value is out of range or no throttle was ever sent.
        """
        if self.absence:
            raise PeerAbsentError(self.absence)
        merged = self._overrides.merged(controls)
        self._outbox.append(fdmdata.encode(merged))
        self._overrides.sent(merged, controls)

    def centre(self, now: float, vehicle: int = 0) -> None:
        """
        Centre the surfaces, if one of them was commanded; the throttle stays.

        Raises PeerAbsentError if Huginn is absent.
        """
        if self.absence:
            raise PeerAbsentError(self.absence)
        self._overrides.centre(now)

    def expect_reset(self, now: float) -> None:
        """Expect that a reset of ours shows from now on, until end_reset() and a little longer."""
        self._motion.begin_reset(now)
        self._peer.expect_reset()
        self._requests.hurry(now)

    def await_reset(self, now: float) -> int:
        """
        Expect that the reset has shown since expect_reset(), or shows now; return a ticket.

        Its CommandDone says whether it has. A reset that shows ends earlier commands of controls:
        Huginn has moved them itself.
        """
        ticket = self._tickets.draw()
        self._peer.must_be_reset(now)
        self._motion.expect_reset(ticket, now)
        return ticket

    def end_reset(self, now: float) -> None:
        """Note that nobody waits for the reset any more; it may still show for a while."""
        self._peer.end_reset(now + SHOWN_WITHIN)

    def forget_controls(self, now: float) -> None:
        """Forget earlier commands: Huginn has moved its controls itself, as a reset does."""
        self._overrides.forget_controls()

    def take_pause(self, now: float) -> None:
        """Note that Huginn may be paused from here from now on."""
        self._overrides.take_pause(now)

    @property
    def is_paused_here(self) -> bool:
        """Return whether Huginn may be paused from here."""
        return self._overrides.is_paused

    def forget_pause(self, now: float) -> None:
        """Note that Huginn is not paused from here."""
        self._overrides.forget_pause()

    def expect_motion(self, runs: bool, what: str, now: float) -> int:
        """
        Expect that the data change from now on, or no longer; return a ticket.

        Its CommandDone says whether they have shown it.
        """
        ticket = self._tickets.draw()
        self._motion.expect(ticket, runs=runs, what=what, now=now)
        return ticket

    # For the link.

    def _decode(self, channel: str, data: bytes) -> Any:
        return fdmdata.decode_reply(data)

    def _kind(self, data: bytes, error: ProtocolError) -> str:
        """Return the kind of a malformed datagram: the command that it echoes, if any."""
        if len(data) < 2 or data[0] != 0:
            return 'response code'
        return Command(data[1]).name.lower() if data[1] in list(Command) else 'command'

    def _on_datagram(
        self, channel: str, reply: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        # Of eight sensors there are hundreds of replies per second: few calls for each.
        peer = self._peer
        if type(reply) is fdmdata.ErrorReply:
            self.statistics.errors += 1
        if peer.state is _OFF:
            return ()
        events = self._happen(peer.on_reply(channel, reply), now) if peer.listens else []
        peer.is_judged = False
        placed = self._place(channel, reply, now, events)
        if not peer.is_judged and peer.judge(self._requests.is_fresh, now):
            events += self._look_at_shown()
        return [*events, *placed] if events else placed

    def _place(
        self, channel: str, reply: Reply, now: float, events: list[Any]
    ) -> list[Telemetry]:
        """Add a reply to its poll; return what is complete, and add what has happened."""
        peer, requests = self._peer, self._requests
        placed: list[Telemetry] = []
        if isinstance(reply, fdmdata.ErrorReply):
            requests.refuse(channel)
        elif (poll := requests.take(channel, reply, now)) is not None:
            if happened := peer.see(reply, poll.sent_at, now):
                events += self._happen(happened, now)
            if reply.command in RESTLESS:
                self._motion.on_reply(reply.command, peer.has_changed, now)
            if peer.hurries or peer.in_doubt or peer.was_reset or now < peer.resets_until:
                self._follow(now)
            elif peer.teardown is _NONE and not (events or self._motion.expected):
                # All that this changes is until when what answers counts as there.
                self.rests = self._rested
            if poll.may_end and (ended := poll.ended()):
                placed = self._give_out(ended, poll.sent_at, now)
        peer.waits_since = now if requests.outstanding else None
        return placed

    def _follow(self, now: float) -> None:
        """Note whether it was reset, as a reply that was seen shows it, or poll again soon."""
        peer = self._peer
        if peer.hurries:
            peer.hurries = False
            self._requests.hurry(now)
        elif peer.in_doubt or now < peer.resets_until:
            self._requests.hurry(now + _SOON)
        if peer.was_reset:
            peer.was_reset = False
            self._motion.reset(now)
            self.forget_controls(now)

    def _give_out(
        self, ended: Sequence[tuple[str, Mapping[Command, SensorReply]]], sent_at: float,
        now: float,
    ) -> list[Telemetry]:
        """Return the telemetry of what has ended, unless it is old or the same as before."""
        given, newest, placed = self._given, self._newest, []
        for name, replies in ended:
            # Polls may end in any order: something newer may have been given out.
            if name == WATCH or name in newest and sent_at < newest[name]:
                continue
            newest[name] = sent_at
            if name in given and replies == given[name][1] and (
                    self._motion.repeats_since(given[name][0], now)):
                # Huginn, which runs, has made no step since it gave the same replies.
                self.statistics.repeats += 1
                continue
            given[name] = now, replies
            self.statistics.updates[name] += 1
            placed.append(Telemetry(0, replies, name))
        return placed

    # What follows from what has happened.

    def _do(  # noqa: C901 -- a table of actions
        self, action: Action, reason: str, now: float
    ) -> Sequence[Any]:
        match action:
            case Action.BEGIN:
                self._requests.begin(now)
            case Action.KEEP:
                self._peer.keep(self._requests.keep(now))
            case Action.FORGET_PROBE:
                self._requests.drop(self._peer.let_go())
            case Action.SETTLE:
                self._requests.give_up(now, every=True)
            case Action.FORGET:
                self._requests.forget(now)
                self._peer.forget()
                self._motion.forget()
            case Action.DROP:
                return self._motion.abandon(reason)
            case Action.LEAVE:
                self._overrides.give_back(now)
                self._overrides.repeat(now)
                self._leave_at = None
            case Action.SEND_RELEASES:
                self._overrides.repeat(now)
                self._give_back(now)
            case Action.FORGET_TAKEN:
                self._overrides.forget()
            case Action.LOOK_BACK:
                self._left = self._overrides.look_back(self._peer.unheard, self._address)
            case Action.TELL:
                return (self._peer.recognized,)
            case _:
                return super()._do(action, reason, now)
        return ()

    # Sending.

    def _send(self, now: float) -> list[Outgoing]:
        if self._peer.state is not _OFF:
            self._requests.give_up(now)
            if not self._peer.silence:
                self._give_back(now)
            if self._motion.expected:
                self._expired += self._motion.ended(self._peer.silence, now)
        if self.leaving:
            self._leave(now)
        outgoing: list[Outgoing] = []
        if self._outbox:
            outgoing += [(CONTROLS_CHANNEL, data) for data in self._outbox]
            self.statistics.controls += len(self._outbox)
            self._outbox.clear()
        outgoing += self._requests.closed()
        if self._peer.state is not _OFF:
            outgoing += self._ask(now)
        return outgoing

    def _give_back(self, now: float) -> None:
        """Send what is being given back, if it is due."""
        if self._overrides.giving:
            controls = self._overrides.due(now, self.release_timeout)
            if controls is not None:
                self._outbox.append(fdmdata.encode(controls))

    def _leave(self, now: float) -> None:
        """Go on giving back; end when all of it was shown, or repeated for long enough."""
        if self._leave_at is None:
            self._leave_at = now + self.release_timeout
        if self._overrides.is_paused and not self._peer.silence and (
                self._motion.runs_since(self._overrides.paused_at)):
            self._overrides.forget_pause()
        self._expired += self._happen(self._over(now), now, _DEACTIVATED)

    def _over(self, now: float) -> Iterable[Event]:
        """Return whether leaving is over, as what happens."""
        if self.leaving and not self.unconfirmed:
            return (Event.SHOWN,)
        if self.leaving and self._leave_at is not None and now >= self._leave_at:
            return (Event.EXPIRED,)
        return ()

    def _ask(self, now: float) -> list[Outgoing]:
        """Poll what is due."""
        requests = self._requests.draw(now, probes=self._peer.is_gone)
        if requests:
            self._peer.ask(now)
        return requests

    def _deadlines(self, now: float) -> Iterable[float | None]:
        if self._peer.state is _OFF:
            return ()
        return (
            *self._requests.deadlines(probes=self._peer.is_gone), self._motion.deadline,
            None if self._peer.silence else self._overrides.deadline,
            self._leave_at if self.leaving else None)
