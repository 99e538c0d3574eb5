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


"""Whether the plugin answers and is still the same, and what to forget if not."""

from __future__ import annotations

from typing import Any

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.base import PeerAbsentError, PeerChanged, PeerState
from xplane_bridge.sessions.xpc.commands import Commands
from xplane_bridge.sessions.xpc.contact import Contact
from xplane_bridge.sessions.xpc.events import PeerReplaced
from xplane_bridge.sessions.xpc.flow import Flow, FRAME_GAP
from xplane_bridge.sessions.xpc.peer import Peer
from xplane_bridge.sessions.xpc.turns import Turns


class Presence:
    """
    The plugin answers, falls silent (Contact), returns or is replaced by another one (Peer).

    What was sent into silence, and what was learnt about another one, is forgotten: by Commands,
    Turns and Flow. The events are appended to ``events``.
    """

    def __init__(
        self, peer: Peer, contact: Contact, flow: Flow, turns: Turns, commands: Commands, *,
        lockstep: bool,
    ) -> None:
        self._peer = peer
        self._contact = contact
        self._flow = flow
        self._turns = turns
        self._commands = commands
        self._lockstep = lockstep
        self._active = False

    def start(self, now: float) -> None:
        """Start looking for the plugin."""
        self._active = True
        self._peer.start(now)
        self._contact.reset()
        self._suspend(now)

    def stop(self, now: float) -> None:
        """Stop looking for it."""
        self._active = False
        self._peer.become(PeerState.UNKNOWN, now)
        self._contact.reset()
        self._suspend(now)

    def refuse_absence(self) -> None:
        """Raise PeerAbsentError if the plugin accepts no commands now."""
        if not self._active:
            raise PeerAbsentError('the session is not started')
        if absence := self._peer.absence:
            raise PeerAbsentError(absence)

    def answers(self, now: float) -> bool:
        """Return whether the plugin answers, and is known to be the same."""
        return self._peer.state is PeerState.ANSWERING and not self._contact.holds(now)

    # Receiving.

    def hear_beacon(self, reply: xpc.Beacon, now: float, events: list[Any]) -> None:
        """Check what a beacon says about its sender."""
        if self._peer.silent and self._peer.has_missed_beacons(now):
            self._contact.probe_again(now)
        if reason := self._peer.hear_beacon(reply, now):
            self._meet_another(reason, now, events)
            self._peer.hear_beacon(reply, now)

    def hear(self, channel: str, reply: xpc.Reply, now: float, events: list[Any]) -> None:
        """Check what a reply says about who answers, and about what is taken."""
        self._contact.holds(now)
        serial = self._flow.answer(channel, now)
        self._commands.has_read()
        self._contact.hear(now, unanswered=self._flow.unanswered)
        if self._active and self._peer.state is not PeerState.ANSWERING:
            self._wake_up(now, events)
        if isinstance(reply, xpc.PositionReply):
            self._contact.see('position')
            if reason := self._peer.hear_position(reply, now):
                self._meet_another(reason, now, events)
                self._peer.hear_position(reply, now)
        elif (said := self._turns.said(channel, reply)) is not None:
            self._contact.see('state')
            running_time, reported = said
            if running_time is not None and (reason := self._peer.hear_time(running_time, now)):
                self._meet_another(reason, now, events)
                self._peer.hear_time(running_time, now)
            if reported and 'state' not in self._peer.doubts:
                self._commands.report(reported, now, serial)
        if self._peer.doubts and not self._lockstep:
            # The next reply shows whether this is another one.
            self._contact.doubt(self._peer.doubts)
            self._turns.poll_now(now, first=True)

    def _wake_up(self, now: float, events: list[Any]) -> None:
        """Start over at the first reply after silence."""
        if self._peer.silent:
            self._contact.settle()
            self._contact.doubt()
            self._suspend(now + FRAME_GAP)
        self._become(PeerState.ANSWERING, now, events)

    def _meet_another(self, reason: str, now: float, events: list[Any]) -> None:
        """Start over with another instance of X-Plane, which has no history."""
        self._commands.forget()
        self._peer.forget(now)
        if self._active:
            events.append(PeerReplaced(reason))
            self._commands.drop(f'another X-Plane answers: {reason}')
            events += self._turns.reads.abandon(f'another X-Plane answers: {reason}')
            self._contact.settle()
            self._suspend(now + FRAME_GAP)

    # Silence.

    def watch(self, now: float, events: list[Any]) -> float | None:
        """Detect silence, and what the beacon says about it; return when to check again."""
        if not self._active:
            return None
        self._contact.holds(now)
        self._peer.listen(now)
        quiet = self._peer.quiet(now)
        if self._peer.silent:
            if self._peer.state is not quiet:
                self._become(quiet, now, events)
                # It is there again, or gone: what waited for it is not waiting any more.
                self._contact.probe_again(now)
            return self._peer.quiet_until
        silent_at = self._contact.silent_at
        if silent_at is None or now < silent_at:
            return silent_at
        self._become(quiet, now, events)
        self._contact.fall_silent(now, self._flow.unread)
        if not self._lockstep:
            self._commands.drop(self._peer.absence)
        self._suspend(now)
        return self._peer.quiet_until

    def _become(self, state: PeerState, now: float, events: list[Any]) -> None:
        self._peer.become(state, now)
        events.append(PeerChanged(state))

    def _suspend(self, until: float) -> None:
        """Forget what is outstanding and what was learnt about the peer; then poll again."""
        self._flow.reset()
        self._commands.suspend()
        self._turns.suspend(until)
