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

from collections.abc import Mapping, Sequence
from typing import Any

from xplane_bridge.protocols import fdmdata
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.fdmdata import Command, Reply, SensorReply
from xplane_bridge.sessions.base import (
    Address,
    Left,
    Outgoing,
    PeerAbsentError,
    PeerChanged,
    PeerState,
    Session,
    Tickets,
)
from xplane_bridge.sessions.fdmdata.events import PeerRecognized, Statistics, Telemetry, Wanted
from xplane_bridge.sessions.fdmdata.identity import Health, Identity, Track
from xplane_bridge.sessions.fdmdata.motion import Motion
from xplane_bridge.sessions.fdmdata.plan import RESTLESS, WATCH
from xplane_bridge.sessions.fdmdata.polls import Poll
from xplane_bridge.sessions.fdmdata.requests import Requests
from xplane_bridge.sessions.fdmdata.taken import Taken

# The channel for controls; all others are for requests.
CONTROLS_CHANNEL = 'controls'

# Without any reply for this long Huginn counts as away, and is probed with one small request.
SILENCE = 1.0

# After a pause by its service the data may still change for as long as a watching poll takes.
_PAUSE_SHOWS = 2.0

_SILENT = 'Huginn was silent, and counts as restarted'
_ELSEWHERE = 'the aircraft is suddenly elsewhere, so Huginn was restarted or reset'


class FdmdataSession(Session):
    """
    Poll one Huginn's sensors, each at its own rate, and send it controls.

    Identity tells whether a Huginn that was silent is the same one, Track whether it was restarted
    without a silence. ``address`` is where Huginn is, for messages.

    The protocol shows no controls: surfaces that are given back are sent as centred again and
    again for ``release_timeout``. It shows whether the simulation runs. stop() with something to
    give back leads to the state LEAVING, in which Huginn is polled as before, and nothing else is
    commanded::

        start() -> UNKNOWN -> ANSWERING, HELD, BROKEN, AWAY -> stop() -> LEAVING -> UNKNOWN

    ``peer_state`` is what the owner is told.
    """

    sentences = {
        PeerState.UNKNOWN: 'nothing heard yet',
        PeerState.ANSWERING: 'answering',
        PeerState.HELD: 'held: it answers, but its data do not change',
        PeerState.BROKEN: 'its flight model contains NaN',
        PeerState.AWAY: 'not responding: Huginn is off or unreachable',
        PeerState.LEAVING: 'giving back what was taken',
    }

    statistics: Statistics

    def __init__(self, address: str = 'its address') -> None:
        super().__init__(Statistics())
        self._address = address
        self._taken = Taken()
        self._motion = Motion()
        self._tickets = Tickets()
        # What Huginn is known to do, also while leaving.
        self._state = PeerState.UNKNOWN
        # Until when leaving lasts at most; None until its first poll.
        self._leave_at: float | None = None
        self._left = Left()
        self._requests = Requests(self.statistics)
        self._identity = Identity()
        # None while a reset of ours is under way: then the aircraft may jump.
        self._track: Track | None = Track()
        self._health = Health()
        self._waiting_since: float | None = None
        self._outbox: list[bytes] = []

    # For the owner.

    @property
    def refused(self) -> frozenset[Command]:
        """Return the sensors that are answered only with errors."""
        return self._requests.refused

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the names of the controls that were commanded, and the pause."""
        return self._taken.names

    @property
    def owed(self) -> tuple[str, ...]:
        """Return the names of the surfaces that are being centred; while leaving, the pause."""
        return self._taken.owed

    @property
    def leaving(self) -> bool:
        """Return whether stop() still gives back."""
        return self.peer_state is PeerState.LEAVING

    @property
    def left(self) -> Left:
        """Return how the last stop() has ended."""
        return self._left

    def contradictions(self, now: float) -> tuple[str, ...]:
        """Return that Huginn runs although it was paused here."""
        taken = self._taken
        if taken.is_paused and self._motion.runs_since(taken.paused_at + _PAUSE_SHOWS):
            return ('paused by the service, but its data change: somebody else has resumed it',)
        return ()

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of the sensors that are polled."""
        return tuple(command.name.lower() for command in self._requests.sensors)

    def missing(self, now: float) -> dict[str, float]:
        """Return the sensors that do not answer, with since when."""
        missing = self._requests.missing(now) if self._talks else {}
        return {command.name.lower(): since for command, since in missing.items()}

    @property
    def absence(self) -> str:
        """Return why Huginn accepts no commands now; empty if it does."""
        if not self._active:
            return 'the session is not started'
        return self._silence()

    def _silence(self) -> str:
        """Return why Huginn hears nothing, or may be another one; empty if all is well."""
        if self._state is PeerState.UNKNOWN:
            return f'waiting for the first reply from Huginn at {self._address}'
        if self._state is PeerState.AWAY:
            return f'nothing answers at {self._address}'
        if self._identity.until is not None:
            return f'Huginn answers again at {self._address}; finding out if it was restarted'
        return ''

    @property
    def in_doubt(self) -> bool:
        """Return whether Huginn was silent, and it is not known yet whether it is the same."""
        return self._identity.in_doubt

    def start(self, now: float) -> None:
        """Start polling."""
        if self.leaving:
            self._end_leaving(now)
        self._active, self._identity.met = True, False
        self._left = Left()
        self._forget(now)
        self._taken.forget()
        self._requests.begin(now)
        self._state = self.peer_state = PeerState.UNKNOWN

    def stop(self, now: float) -> None:
        """
        Stop polling; centre the surfaces that were commanded, and wait for the end of a pause.

        Huginn would hold the last ones forever. The throttle stays. A Huginn that is silent is
        sent them once, for it may be frozen and read them later, and again if it turns out to be
        the same one; one that was restarted gets nothing.
        """
        self._expired += self._motion.abandon('the node was deactivated')
        if not self._active:
            return
        self._active = False
        self._taken.give_back(now)
        self._taken.repeat(now)
        known = self._taken.known
        if self._state is PeerState.AWAY and self._taken.owed and known is not None:
            self._outbox.append(fdmdata.encode(known))
        self.peer_state, self._leave_at = PeerState.LEAVING, None
        if not self.owed:
            self._end_leaving(now)

    @property
    def _talks(self) -> bool:
        return self._active or self.leaving

    def _leave(self, now: float) -> None:
        """Go on giving back; end when all of it was shown, or repeated for long enough."""
        if self._leave_at is None:
            self._leave_at = now + self.release_timeout
        if self._taken.is_paused and not self._silence() and (
                self._motion.runs_since(self._taken.paused_at)):
            self._taken.forget_pause()
        if now >= self._leave_at or not self.owed:
            self._end_leaving(now)

    def _end_leaving(self, now: float) -> None:
        if self.owed:
            self._left = self._taken.look_back(self._silence(), self._address)
        self._taken.forget()
        self._forget(now)
        self._state = self.peer_state = PeerState.UNKNOWN

    def set_plan(self, plan: Mapping[str, Wanted], now: float) -> None:
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
        merged = self._taken.merged(controls)
        self._outbox.append(fdmdata.encode(merged))
        self._taken.sent(merged, controls)

    def centre(self, now: float, vehicle: int = 0) -> None:
        """
        Centre the surfaces, if one of them was commanded; the throttle stays.

        Raises PeerAbsentError if Huginn is absent.
        """
        if self.absence:
            raise PeerAbsentError(self.absence)
        self._taken.centre(now)

    def expect_reset(self, now: float) -> None:
        """Expect that the aircraft jumps by a reset of ours, until forget_controls()."""
        self._track = None

    def forget_controls(self, now: float) -> None:
        """Forget earlier commands: Huginn has moved its controls itself, as a reset does."""
        self._taken.forget_controls()
        self._track = Track()

    def take_pause(self, now: float) -> None:
        """Note that Huginn may be paused from here from now on."""
        self._taken.take_pause(now)

    @property
    def is_paused_here(self) -> bool:
        """Return whether Huginn may be paused from here."""
        return self._taken.is_paused

    def forget_pause(self, now: float) -> None:
        """Note that Huginn is not paused from here."""
        self._taken.forget_pause()

    def expect_motion(self, runs: bool, what: str, now: float) -> int:
        """
        Expect that the data change from now on, or no longer; return a ticket.

        Its CommandDone says whether they have shown it.
        """
        ticket = self._tickets.draw()
        self._motion.expect(ticket, runs=runs, what=what, now=now)
        return ticket

    # For the link.

    def poll(self, now: float) -> list[Outgoing]:
        """Return what to send now, by channel; None closes a channel."""
        if self._talks:
            if self._identity.until is not None and now >= self._identity.until:
                self._recognize(now, same=False, events=self._expired, why=_SILENT)
            self._give_up(now)
            if not self._silence() and (
                    controls := self._taken.due(now, self.release_timeout)) is not None:
                self._outbox.append(fdmdata.encode(controls))
            self._expired += self._motion.ended(self._silence(), now)
        if self.leaving:
            self._leave(now)
        outgoing: list[Outgoing] = [(CONTROLS_CHANNEL, data) for data in self._outbox]
        self.statistics.controls += len(self._outbox)
        self._outbox.clear()
        outgoing += self._requests.closed()
        self._deadline = self._ask(now, outgoing) if self._talks else None
        if self._expired:
            self._deadline = now
        return outgoing

    def _decode(self, channel: str, data: bytes) -> Any:
        return fdmdata.decode(data, 'peer')

    def _kind(self, data: bytes, error: ProtocolError) -> str:
        """Return the kind of a malformed datagram: the command that it echoes, if any."""
        if len(data) < 2 or data[0] != 0:
            return 'response code'
        return Command(data[1]).name.lower() if data[1] in list(Command) else 'command'

    def _hear(
        self, channel: str, reply: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        if isinstance(reply, fdmdata.ErrorReply):
            self.statistics.errors += 1
        if not self._talks:
            return ()
        events: list[Any] = []
        if self._state in (PeerState.UNKNOWN, PeerState.AWAY):
            if self._state is PeerState.AWAY:
                self._return(now)
            events += self._change(PeerState.ANSWERING)
        self._identity.met = True
        if self._identity.is_answered_by(channel, reply):
            self._recognize(now, same=True, events=events)
        placed = self._place(channel, reply, now, events)
        events += self._change(
            self._health.state(lambda command: self._requests.is_fresh(command, now), now))
        return events + placed

    def _change(self, state: PeerState) -> list[Any]:
        """Note what Huginn does; tell the owner unless it is being left."""
        if state is self._state:
            return []
        self._state = state
        if self.leaving:
            return []
        self.peer_state = state
        return [PeerChanged(state)]

    # Polling.

    def _ask(self, now: float, outgoing: list[Outgoing]) -> float:
        """Poll what is due; return when to check again."""
        probes = self._state is PeerState.AWAY
        if requests := self._requests.draw(now, probes=probes):
            outgoing += requests
            if self._waiting_since is None:
                self._waiting_since = now
        if probes:
            return self._soonest(self._requests.deadline(probes=True))
        return self._soonest(
            self._requests.deadline(probes=False),
            None if self._waiting_since is None else self._waiting_since + SILENCE,
            self._identity.until, None if self._silence() else self._taken.deadline)

    def _soonest(self, *deadlines: float | None) -> float:
        return min(
            at for at in (*deadlines, self._motion.deadline, self._leave_at if self.leaving
                          else None) if at is not None)

    def _give_up(self, now: float) -> None:
        """Count requests that timed out as lost, and detect silence."""
        silent = (
            self._state is not PeerState.AWAY
            and self._waiting_since is not None
            and now >= self._waiting_since + SILENCE
        )
        if silent:
            kept = self._requests.keep(now) if self._identity.wants_witness else None
            if kept is not None:
                self._identity.keep(*kept)
            self._requests.give_up(now, every=True)
            self._forget(now, keep_identity=True)
            self._expired += self._change(PeerState.AWAY)
        else:
            self._requests.give_up(now)

    def _forget(self, now: float, *, keep_identity: bool = False) -> None:
        """Forget what is outstanding and what was learnt about the peer."""
        self._requests.forget(now)
        if not keep_identity:
            self._settle()
            self._track = Track()
        self._identity.until = None
        self._waiting_since = None
        self._health = Health()
        self._motion.forget()

    # Receiving.

    def _place(
        self, channel: str, reply: Reply, now: float, events: list[Any]
    ) -> list[Telemetry]:
        """Add a reply to its poll; return the results of completed entries."""
        placed: list[Telemetry] = []
        if isinstance(reply, fdmdata.ErrorReply):
            self._requests.refuse(channel)
        elif (poll := self._requests.take(channel, reply, now)) is not None:
            self._note(reply, now)
            if self._track is not None and self._track.jumps_to(reply, now):
                self._recognize(now, same=False, events=events, why=_ELSEWHERE)
            placed = self._give_out(poll)
        self._waiting_since = now if self._requests.is_waiting else None
        return placed

    def _note(self, reply: SensorReply, now: float) -> None:
        changed = self._health.hear(reply, now)
        if reply.command in RESTLESS:
            self._motion.hear(changed, now)

    def _give_out(self, poll: Poll) -> list[Telemetry]:
        return [
            self._telemetry(name, replies) for name, replies in poll.ended() if name != WATCH]

    def _telemetry(self, name: str, replies: Mapping[Command, SensorReply]) -> Telemetry:
        self.statistics.updates[name] += 1
        return Telemetry(0, replies, name)

    # Identity.

    def _return(self, now: float) -> None:
        """Start over with a Huginn that was silent; find out if it is the same one."""
        self._requests.begin(now)
        if not self._identity.begin(now) and self._identity.met:
            self._recognize(now, same=False, events=self._expired, why=_SILENT)

    def _recognize(
        self, now: float, *, same: bool, events: list[Any], why: str = ''
    ) -> None:
        """Settle whether it is the same Huginn; otherwise forget what it held."""
        self._settle()
        if same:
            self._taken.repeat(now)
        else:
            self._taken.forget()
        events.append(PeerRecognized(same, why))

    def _settle(self) -> None:
        channel = self._identity.settle()
        if channel is not None:
            self._requests.drop(channel)
