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

"""The conversation with the X-Plane at one address: whether it is there, and which one it is."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.base import Message
from xplane_bridge.protocols.xplane_udp import Data, FIRST_WITH_DATAREFS, RposReply, RrefReply
from xplane_bridge.sessions.base import (
    Address,
    CommandDone,
    Left,
    PeerAbsentError,
    PeerChanged,
    PeerState,
)
from xplane_bridge.sessions.xplane_udp.commander import COMMAND_CHANNEL, Commander, DATA_CHANNEL
from xplane_bridge.sessions.xplane_udp.commands import SHOWN_BY_ROWS
from xplane_bridge.sessions.xplane_udp.discovery import Discovery
from xplane_bridge.sessions.xplane_udp.events import Statistics, VersionFound
from xplane_bridge.sessions.xplane_udp.farewells import Farewells, keys_of
from xplane_bridge.sessions.xplane_udp.feeds import Feeds, REPORT_CHANNEL, TELEMETRY_CHANNEL
from xplane_bridge.sessions.xplane_udp.leaving import Leaving
from xplane_bridge.sessions.xplane_udp.outbox import Outbox
from xplane_bridge.sessions.xplane_udp.presence import Presence
from xplane_bridge.sessions.xplane_udp.reads import Reads
from xplane_bridge.sessions.xplane_udp.reports import INTERNAL_VERSION, Reports, TIME
from xplane_bridge.sessions.xplane_udp.selection import LISTENING
from xplane_bridge.sessions.xplane_udp.taken import Taken
from xplane_bridge.sessions.xplane_udp.version import (
    CHECKING,
    VERSION_CHANNEL,
    version_of,
    VersionFinder,
)

# Their requests have priority over those of reads and watched datarefs.
FIRST = (TELEMETRY_CHANNEL, REPORT_CHANNEL, DATA_CHANNEL, VERSION_CHANNEL)

# Without any data for this long, or for some periods of a slow rate, X-Plane counts as away.
_SILENCE = 1.0
_SILENT_PERIODS = 2.5


class Conversation:
    """
    The exchange with one X-Plane, from start() to stop().

    While it is LEAVING, what was given back is repeated until X-Plane's reports show it; only then
    these are ended. It takes at most ``patience()`` seconds and a little; ``left`` says how it has
    ended.

    ``version`` None detects it: 10 and later by querying, 6 to 9 by the rows that they send.
    Changes are reported to ``tell(event)``.
    """

    def __init__(
        self, feeds: Feeds, commander: Commander, outbox: Outbox, farewells: Farewells,
        reads: Reads, discovery: Discovery, reports: Reports, taken: Taken,
        statistics: Statistics, *, rate: int, version: int | None,
        patience: Callable[[], float], tell: Callable[[Any], None],
    ) -> None:
        self.peer = discovery.peer
        self.version = version
        self.finder = VersionFinder(outbox, farewells, version)
        self.presence = Presence(lambda state: tell(PeerChanged(state)))
        self._active = False
        self._feeds = feeds
        self._commander = commander
        self._outbox = outbox
        self._farewells = farewells
        self._patience = patience
        self._reads = reads
        self._discovery = discovery
        self._reports = reports
        self._taken = taken
        self._statistics = statistics
        self._rate = rate
        self._tell = tell
        self.left = Left()
        self._leaving: Leaving | None = None
        # Whether it is known to be the same run of X-Plane as before a silence.
        self._identified = True
        self._release_owed = False

    # Start and stop.

    def start(self, now: float) -> None:
        """Start talking."""
        if self._leaving is not None:
            leaving = self._leaving
            self._finish(leaving)
            if leaving.next_peer is not None:
                self._close(leaving.next_peer)
        self._active = True
        self.left = Left()
        self.presence.start(PeerState.SEARCHING if self.peer is None else PeerState.UNKNOWN, now)
        if self.peer is None:
            return
        if self.version is None:
            self.finder.start(now)
        else:
            self._begin(self.version, now)

    def stop(self, now: float) -> None:
        """Stop talking: give back what was taken, end what was subscribed and selected."""
        if not self._active:
            return
        self._active = False
        if self._leaving is None:
            self._leave('the node was deactivated', now)

    def move(self, peer: Address, now: float) -> None:
        """Talk to another address from now on, on new sockets."""
        if self.peer is None or (not self._active and self._leaving is None):
            if self.peer is not None:
                self._close(peer)
            self.peer = peer
            if self._active:
                self.start(now)
            return
        if self._leaving is None:
            self._leave('X-Plane has another address now', now)
        if self._leaving is not None:
            self._leaving.next_peer = peer

    @property
    def leaving(self) -> bool:
        """Return whether stop() is still giving back."""
        return self._leaving is not None and not self._active

    def _leave(self, reason: str, now: float) -> None:
        """Give back what was taken from the peer, and then end everything with it."""
        if self.presence.silent or not self._identified:
            # It may be the same run, which reads this when it resumes.
            self._taken.restore()
        self._taken.drop()
        self._release_owed = False
        self._leaving = Leaving(self.presence.state, now, self._patience())
        self.presence.leave()
        self._outbox.drop_commands(reason)
        for event in (*self._reads.abandon(reason), *self._outbox.ended()):
            self._tell(event)
        self.finder.end()
        self._commander.is_leaving = True
        self._commander.release(now)
        self._feeds.leave()
        self._outbox.hurries = True

    def _go_on_leaving(self, leaving: Leaving, now: float) -> float | None:
        """Repeat what is given back until it is shown, then end the reports that show it."""
        if leaving.shows and not self._commander.has_goals:
            leaving.shows = False
            self._feeds.end()
        reports_at = self._feeds.ask_reports(now) if leaving.shows else None
        self._farewells.ask(now, listens=leaving.was is PeerState.ANSWERING or leaving.answered)
        over = not leaving.shows and not self._farewells and not self._outbox
        if not over and now < leaving.until:
            return leaving.until if reports_at is None else min(reports_at, leaving.until)
        self._finish(leaving)
        if leaving.next_peer is not None:
            self._move_on(leaving.next_peer, now)
        return now

    def _finish(self, leaving: Leaving) -> None:
        """End everything with the peer; say what it has not shown."""
        self._leaving = None
        self.left = leaving.look_back(self._taken.owed, self.version)
        self._feeds.end()
        self._farewells.disown()
        self._commander.is_leaving = False
        self._commander.disown()
        self._taken.clear()
        self._reports.clear()
        self._reports.forget_run()
        self._identified = True
        self._outbox.hurries = False
        # Another X-Plane may be started until this one is talked to again.
        self.version = self.finder.given
        if not self._active:
            self.presence.start(PeerState.UNKNOWN, 0.0)

    def _move_on(self, peer: Address, now: float) -> None:
        """Talk to the next address, on new sockets."""
        left = self.left
        self._close(peer)
        if not self._active:
            return
        self.start(now)
        if left.owed:
            self._tell(CommandDone(
                0, 'release', f'may stay as it was left at the old address of X-Plane: '
                f'{", ".join(left.owed)}; {left.reason}'))

    def _close(self, peer: Address) -> None:
        """Close the sockets of an address, as the next one is used from now on."""
        for channel in (TELEMETRY_CHANNEL, REPORT_CHANNEL, DATA_CHANNEL, COMMAND_CHANNEL,
                        VERSION_CHANNEL):
            self._outbox.drop(channel)
            self._outbox.push(channel, [None])
        self.peer = peer

    # Commands.

    def need_peer(self, what: str) -> None:
        """Raise PeerAbsentError with the reason if X-Plane cannot receive a command."""
        reason = self._absence()
        if reason:
            raise PeerAbsentError(f'{what}: {reason}')

    def need_datarefs(self, what: str) -> None:
        """Raise ValueError if this version has none."""
        if self.version is not None and self.version < FIRST_WITH_DATAREFS:
            raise ValueError(
                f'{what}: X-Plane {self.version} has only data rows; datarefs, commands and '
                f'placing by UDP exist from X-Plane {FIRST_WITH_DATAREFS} on')

    def keep_controls(self) -> None:
        """Record that controls are commanded again: pending releases are dropped."""
        self._release_owed = False

    def release(self, now: float) -> None:
        """Give back what was taken; if taken before a silence, only to the same run."""
        self._release_owed = self._taken.on_hold
        self._commander.release(now)

    def centre(self, now: float) -> None:
        """Centre what commands have moved; if X-Plane is silent, once the same run is back."""
        if self.presence.silent or not self._identified:
            self._commander.centre_later()
            return
        self.need_peer('command/controls')
        self._commander.centre(now)

    def _absence(self) -> str:
        if not self._active:
            return 'not sent, the node is not active'
        return self.presence.absence(
            self.peer if self._leaving is None else None, self.version)

    # Requesting.

    def ask(self, now: float) -> float | None:
        """Put due requests into the outbox; return when the next are due."""
        if self._leaving is not None:
            at = self._go_on_leaving(self._leaving, now)
            if self._leaving is not None or not self._active:
                return at
        if not self._active or self.peer is None:
            return None
        peer_at = self._watch_peer(now)
        self._learn_version(self.finder.ask(now), now)
        deadlines = [self.finder.deadline, peer_at]
        if self.presence.answering:
            self._farewells.ask(now)
        if not self.presence.silent:
            deadlines.append(self._feeds.ask(now, self.presence.answering))
        for done in self._reads.poll(now):
            self._tell(done)
        return min((at for at in deadlines if at is not None), default=None)

    def _learn_version(self, version: int | None, now: float) -> None:
        if (version is None or self.finder.given is not None or version == self.version
                or self._leaving is not None):
            return
        if self.version is not None:
            # What was taken before a silence was taken from another X-Plane.
            self._disown()
            self._identified = True
            self._reports.forget_run()
            self._outbox.drop_commands('X-Plane now has a different version')
            self._feeds.end()
        self.version = version
        self.presence.had_peer &= version >= FIRST_WITH_DATAREFS
        self._tell(VersionFound(version))
        self._begin(version, now)

    def _begin(self, version: int, now: float) -> None:
        assert self.peer is not None
        self._commander.begin(version)
        self._feeds.begin(version, self.peer[0], now)
        if version < FIRST_WITH_DATAREFS:
            # Rows are listened for before any is selected.
            self.presence.hear(now + LISTENING)

    def hear(self, channel: str, message: Message, now: float) -> list[Any]:
        """Handle one message; return the events that it completes."""
        if not self._active and self._leaving is None:
            return []
        self.presence.hear(now)
        if not isinstance(message, Data | RposReply | RrefReply):
            self._statistics.unexpected += 1
            return []
        if self._leaving is not None:
            self._leaving.answered = True
        self._wake_up(now)
        if self._farewells.hear(channel, keys_of(message), now) and not isinstance(message, Data):
            return []
        if isinstance(message, Data):
            return self._hear_rows(message, now)
        self.presence.hear_reply()
        self.finder.hear_reply(now)
        if isinstance(message, RposReply):
            return self._feeds.receive_pose(message, now)
        return self._hear_values(channel, message, now)

    def _hear_rows(self, message: Data, now: float) -> list[Any]:
        events = self._feeds.receive_rows(message, now)
        if message.layout is not None:
            self.finder.hear_rows(message.layout.framing, now)
        if self.version is not None and self.version < FIRST_WITH_DATAREFS:
            # Before 10, X-Plane answers only with rows.
            self.presence.has_peer |= self._feeds.wants_any(message.segments)
            known = wire.quantities(self.version, message.segments)
            self._identify(known.total_time, now)
            self._commander.hear({name: getattr(known, name) for name in SHOWN_BY_ROWS}, now)
        return events

    def _hear_values(self, channel: str, reply: RrefReply, now: float) -> list[Any]:
        if channel == REPORT_CHANNEL:
            values = self._feeds.receive_reports(reply, now)
            self._identify(values.get(TIME), now)
            self._commander.hear(values, now)
            self._learn_version(version_of(values.get(INTERNAL_VERSION)), now)
            return []
        events = self._feeds.receive_values(channel, reply, now)
        if events is not None:
            return events
        if channel == VERSION_CHANNEL:
            self.finder.hear_values(dict(reply.values))
            return []
        done = self._reads.receive(channel, reply)
        if done is None and not self._reads.owns(channel):
            self._statistics.unexpected += 1
        return [] if done is None else [done]

    def _identify(self, time: float | None, now: float) -> None:
        """Check by the running time whether it is the same X-Plane, and react."""
        if time is None or not math.isfinite(time):
            return
        # In what is left all is ours again.
        identified = self._identified or self._leaving is not None
        self._identified = True
        if self._reports.is_same_run(time, now):
            if not identified:
                self._taken.restore()
                self._commander.resume(now)
            if self._release_owed:
                self.release(now)
            return
        if identified:
            # It was restarted so fast that no silence was detected.
            self._outbox.drop_commands('X-Plane was restarted')
            self._reports.clear()
            self._taken.hold()
            self._feeds.resume(now, restarted=True)
        self._disown()

    def _disown(self) -> None:
        self._feeds.disown()
        self._farewells.disown()
        self._commander.disown()
        self._taken.drop()
        self._release_owed = False

    def _watch_peer(self, now: float) -> float | None:
        """Detect silence, and probe the silent peer; return when to check again."""
        quiet = PeerState.LOADING if self._discovery.is_heard(now) else PeerState.AWAY
        if not self.presence.silent:
            patience = _SILENCE
            if self._feeds.aircraft is not None:
                patience = max(patience, _SILENT_PERIODS / self._rate)
            at = self.presence.overdue_at(patience)
            if now < at:
                return at
            self._fall_silent(quiet, now)
        if quiet is PeerState.LOADING and self.presence.state is PeerState.AWAY:
            # It is there again.
            self.presence.probe_soon(now)
        self.presence.become(quiet)
        if self.presence.must_probe(now):
            self._feeds.probe()
        return self.presence.probe_at

    def _fall_silent(self, quiet: PeerState, now: float) -> None:
        answered = self.presence.answering
        self.presence.fall_silent(quiet, now)
        reason = self._absence()
        self._outbox.drop_commands(reason)
        for done in self._reads.abandon(reason):
            self._tell(done)
        self.finder.lose()
        self._feeds.forget()
        self._farewells.lose()
        self._release_owed |= bool(self._taken.owed)
        self._commander.lose()
        self._reports.clear()
        self._taken.hold()
        if not answered:
            # There was nothing to take anything from.
            self._taken.drop()

    def _wake_up(self, now: float) -> None:
        """Start over at the first datagram after silence."""
        if self.presence.answering or self._leaving is not None:
            return
        if self.presence.silent:
            self._feeds.resume(now)
            self._identified = not self._reports.knows_run
            if self._identified:
                # As it cannot tell, it counts as another run.
                self._disown()
            if self.version is not None:
                self.finder.start(now, CHECKING)
        self.presence.become(PeerState.ANSWERING)
