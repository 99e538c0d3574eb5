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

"""Huginn: whether it answers, and whether it is the same one. Time is passed in, in seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import math

from xplane_bridge.bridges.fdmdata.protocol import Command, Reply, SensorReply
from xplane_bridge.bridges.fdmdata.session.events import PeerRecognized
from xplane_bridge.bridges.fdmdata.session.identity import Elsewhere, Identity, PLACED, Track
from xplane_bridge.bridges.fdmdata.session.states import TABLE, TEARDOWN
from xplane_bridge.bridges.sessions import machine
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.sessions.machine import Action, Event, State, Teardown

# Whether Huginn's data change, and whether they are NaN. Time is passed in, in seconds.

# Data change with every step of 17 ms while the simulation runs; if none changes for this long
# it is held (docs/wire/fdmdata.md, section 1).
_HELD_AFTER = 2.0

_ANSWERING, _HELD, _BROKEN = (
    state.value for state in (PeerState.ANSWERING, PeerState.HELD, PeerState.BROKEN))


class Health:
    """
    Detect data that do not change, and data that are NaN.

    ``shown`` is what one that answers is shown as, the value of a PeerState; ``has_changed`` is
    whether the last reply differs from the one before of its sensor.
    """

    def __init__(self) -> None:
        self.shown: str = _ANSWERING
        self.has_changed = False
        self._last: dict[Command, tuple[float, ...]] = {}
        self._changed_at: float | None = None
        self._broken: set[Command] = set()

    def on_reply(self, reply: SensorReply, now: float) -> bool:
        """Note a reply; return whether judge() has nothing new, as data change and are good."""
        command, values = reply.command, reply.values
        # With infinity or NaN among them a sum is not finite, and float32 cannot overflow it.
        if not math.isfinite(sum(values)):
            self._broken.add(command)
        elif self._broken:
            self._broken.discard(command)
        self.has_changed = command in self._last and self._last[command] != values
        if self._changed_at is None or self.has_changed:
            self._changed_at = now
        self._last[command] = values
        return self.has_changed and not self._broken and self.shown == _ANSWERING

    def judge(self, is_fresh: Callable[[Command, float], bool], now: float) -> bool:
        """Find out what it is shown as now; stale data are ignored. Return whether that is new."""
        before = self.shown
        if self._broken and any(is_fresh(command, now) for command in self._broken):
            self.shown = _BROKEN
        elif self._changed_at is not None and now - self._changed_at >= _HELD_AFTER:
            self.shown = _HELD
        else:
            self.shown = _ANSWERING
        return self.shown != before


SILENCE = 1.0
"""Seconds without any reply after which Huginn counts as away."""

_SILENT = 'Huginn was silent, and counts as restarted'
_ELSEWHERE = 'the aircraft is suddenly elsewhere, so Huginn was restarted or reset'

_ANSWERING = State.ANSWERING.shown
_GONE = frozenset({State.ABSENT, State.AWAY})
_DOUBTED = frozenset({State.AWAY, State.DOUBTED})
# Where a reply, whatever it says, may change something.
_LISTENS = frozenset(
    state for state, row in TABLE.items() if not row.keys().isdisjoint({Event.HEARD, Event.SAME}))


class Peer(machine.Peer):
    """
    One Huginn at ``address``, which is for messages.

    Identity tells whether one that was silent is the same, Track whether it was restarted without
    a silence. One that answers is shown as what Health says of its data. ``silence`` is why it
    hears nothing, or may be another one, empty if all is well; ``is_gone`` whether it is to be
    probed only; ``listens`` whether any reply may change that; ``in_doubt`` whether it was silent,
    and it is not known yet whether it is the same. ``recognized`` is what was found
    out last, ``unheard`` the silence at the end of the conversation. ``hurries`` is whether the
    last reply has to be confirmed by another one, ``was_reset`` whether it shows a reset of ours,
    ``has_changed`` whether it differs from the one before of its sensor, ``is_judged`` whether it
    leaves nothing for judge() to find; until ``resets_until`` a reset of ours may show.
    ``waits_since`` is since when Huginn owes a reply, None if it owes none.
    """

    def __init__(self, address: str) -> None:
        super().__init__(TABLE, TEARDOWN)
        self.recognized = PeerRecognized(same=True)
        self.unheard = ''
        # These follow from the state; looked up once, they cost nothing for each reply.
        self.silence, self.is_gone, self.listens, self.in_doubt = '', False, False, False
        self._identity = Identity()
        self.hurries = self.was_reset = self.has_changed = self.is_judged = False
        self._track = Track()
        self.resets_until = -math.inf
        # Since when a reset of ours must have shown.
        self._reset_at = math.inf
        self._health = Health()
        self.waits_since: float | None = None
        away = f'nothing answers at {address}'
        doubted = f'Huginn answers again at {address}; finding out if it was restarted'
        self._silences = {
            State.WAITING: f'waiting for the first reply from Huginn at {address}',
            **dict.fromkeys(_GONE, away), State.DOUBTED: doubted}

    @property
    def shown(self) -> str:
        """Return what the owner sees: of one that answers, what its data show."""
        shown = super().shown
        return self._health.shown if shown == _ANSWERING else shown

    @property
    def absence(self) -> str:
        """Return why Huginn accepts no commands now; empty if it does."""
        if self.state is State.OFF or self.teardown is Teardown.LEAVING:
            return 'the session is not started'
        return self.silence

    @property
    def deadline(self) -> float | None:
        """Return when check_timeouts() has something at the latest."""
        until, since = self._identity.until, self.waits_since
        if since is None or self.is_gone:
            return until
        return since + SILENCE if until is None else min(until, since + SILENCE)

    def ask(self, now: float) -> None:
        """Note that something was asked."""
        if self.waits_since is None:
            self.waits_since = now

    def on_reply(self, channel: str, reply: Reply) -> Iterator[Event]:
        """Yield what has happened now that there is a reply, whatever it says."""
        yield Event.HEARD
        if self._identity.is_answered_by(channel, reply):
            self.recognized = PeerRecognized(same=True)
            yield Event.SAME

    def see(self, reply: SensorReply, asked_at: float, now: float) -> Sequence[Event]:
        """Note what a reply to a request says; return what has happened."""
        self.is_judged = self._health.on_reply(reply, now)
        self.has_changed = self._health.has_changed
        if reply.command not in PLACED:
            return ()
        resets = now < self.resets_until
        found = self._track.follow(reply, asked_at, now, expected=resets)
        self.hurries = found is Elsewhere.PERHAPS
        if self._track.goes_on and self.state is State.DOUBTED:
            self.recognized = PeerRecognized(same=True)
            return (Event.SAME,)
        if resets:
            at_home = asked_at >= self._reset_at and not self.hurries and (
                self._track.is_back(reply, now - self._reset_at))
            self.was_reset = found is Elsewhere.YES or at_home
            if asked_at >= self._reset_at and not self.hurries:
                # Later it may have come back by itself.
                self._reset_at = math.inf
            return ()
        if found is not Elsewhere.YES:
            return ()
        self.recognized = PeerRecognized(same=False, why=_ELSEWHERE)
        return (Event.OTHER,)

    def judge(self, is_fresh: Callable[[Command, float], bool], now: float) -> bool:
        """Find out what the data show now; return whether that is new."""
        return self._health.judge(is_fresh, now)

    def check_timeouts(self, now: float) -> Iterable[Event]:
        """Return what has happened because time passed."""
        deadline = self.deadline
        return () if deadline is None or now < deadline else self._overdue(now)

    def _overdue(self, now: float) -> Iterator[Event]:
        until, since = self._identity.until, self.waits_since
        if until is not None and now >= until:
            self.recognized = PeerRecognized(same=False, why=_SILENT)
            yield Event.OTHER
        if since is not None and now >= since + SILENCE:
            yield Event.GONE

    def process(self, event: Event, now: float) -> tuple[Action, ...]:
        """Let something happen; return what to do."""
        if event is Event.START:
            self._track = Track()
            self.end_reset(now)
        elif event is Event.EXPIRED:
            self.unheard = self.silence
        if event is Event.GONE:
            self._track.on_silence()
        before = self.state
        actions = super().process(event, now)
        state = self.state
        if state is State.DOUBTED and before is not state:
            self._identity.begin(now)
        self.silence = self._silences.get(state, '')
        self.is_gone, self.listens = state in _GONE, state in _LISTENS
        self.in_doubt = state in _DOUBTED
        return actions

    def keep(self, request: tuple[str, Sequence[Command]] | None) -> None:
        """Keep an unanswered request as the witness: its channel and sensors."""
        self._identity.keep(request)

    def let_go(self) -> str | None:
        """End the doubt; return the channel of the witness, which is no longer needed."""
        self._track.decide()
        return self._identity.settle()

    def forget(self) -> None:
        """Forget what is outstanding, and what the data have shown."""
        self.waits_since = None
        self._health = Health()
        self.has_changed = False

    def expect_reset(self) -> None:
        """Expect that a reset of ours shows from now on: the aircraft jumps."""
        self.resets_until = math.inf

    def must_be_reset(self, now: float) -> None:
        """Note that the reset has happened by now: if it was where it began, it stays there."""
        self._reset_at = now

    def end_reset(self, until: float) -> None:
        """Expect a reset of ours only until then."""
        self.resets_until, self._reset_at = until, math.inf
