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

"""The plugin: whether it answers, whether it is still the same, and when it must be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
import math

from xplane_bridge.bridges.sessions import machine
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.sessions.machine import Action, Event, State, Teardown
from xplane_bridge.bridges.sessions.round_trip import RoundTrip
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.events import PluginVersion
from xplane_bridge.bridges.xpc.session.identity import Identity
from xplane_bridge.bridges.xpc.session.states import TABLE, TEARDOWN

# Without any reply for this long, the peer counts as away. Even before, when it has as many
# requests as it can read in a frame, it is only probed now and then with a small one. Both are
# longer over a slow network.
_SILENCE = 1.0
_STALL = 0.25
_SILENCE_TIMEOUTS = 2.0
_PROBE_PERIOD = 0.5
# A plugin that loads, or whose computer has stopped it, keeps what it is sent, reads 20 of them in
# its first frame and drops the rest, which must not be what is given back: one that is silent is
# probed ever more seldom. A beacon after a gap shows that it is back: it is probed at once.
_FIRST_PROBE_PERIOD = 1.0
_PROBE_PERIOD_GROWTH = 3.0
_LONGEST_PROBE_PERIOD = 30.0
# To give back takes up to four datagrams, and one to ask what X-Plane has. Until the plugin
# answers, it is not repeated beyond this, and then only asked: of more than 20 it drops the last
# ones. One that was silent before is asked more seldom.
_LARGEST = 5
_MOST_UNREAD = 14
_MOST_UNREAD_QUESTIONS = 19
_ASK_PERIOD = 0.3
_SELDOM_ASK_PERIOD = 1.0

_UNDO = 'activate the node again and call its service release_all'
_NOT_STARTED = 'the session is not started'

# Tuples: looked up after each message, in which states need no hash.
_SILENT = State.LOADING, State.AWAY
_WAITING = State.WAITING, State.WAITING_LONG
_PRESENT = State.ANSWERING, State.DOUBTED


class Peer(machine.Peer):
    """
    What is known about the plugin at ``address``: states.py has the states and what follows.

    A reply that is overdue casts doubt on who will answer; after more time the plugin is silent,
    and is loading if its beacons come. Then it is probed by small requests.
    """

    def __init__(
        self, address: str, plugin_version: PluginVersion | None, round_trip: RoundTrip, *,
        hears_beacons: bool, port: int | None, identifies: bool,
    ) -> None:
        super().__init__(TABLE, TEARDOWN)
        self.identity = Identity(
            plugin_version, hears_beacons=hears_beacons, port=port, identifies=identifies)
        # Why the last one was another X-Plane than before.
        self.other = ''
        self._address = address
        self._round_trip = round_trip
        self._has_answered = False
        # Where it stood before the last change.
        self._before = State.OFF
        # Since when a reply is outstanding, and when one was last requested.
        self._waiting_since: float | None = None
        self._asked_at = 0.0
        self._probe_at = 0.0
        self._probe_period = _FIRST_PROBE_PERIOD
        # How many datagrams a peer that does not answer may not have read.
        self._unread = 0
        # Since when all is given back, and when something was last sent for that.
        self._left_at = 0.0
        self._gave_at = -math.inf
        self._sort()

    # Whether it is there.

    def _sort(self) -> None:
        """
        Note where it stands: read with each datagram, and seldom another.

        ``is_leaving``: all is given back, until X-Plane shows it or time is up. The others are of
        one that is not left. ``is_started``: the conversation has begun. ``is_present``: it
        answers. ``is_silent``: it was asked and did not answer. ``is_doubted``: commands wait
        until it is known who answers.
        """
        state = self.state
        self.is_leaving = self.teardown is Teardown.LEAVING
        self.is_started = state is not State.OFF and not self.is_leaving
        self.is_present = state in _PRESENT and not self.is_leaving
        self.is_silent = state in _SILENT and not self.is_leaving
        self.is_doubted = not self.is_leaving and (
            state in (State.WAITING_LONG, State.DOUBTED))

    @property
    def is_there(self) -> bool:
        """Return whether it answers, or its beacons come."""
        return self.is_present or self.is_silent and self.state is State.LOADING

    @property
    def has_stopped_answering(self) -> bool:
        """Return whether it is silent, and has answered since the start."""
        return self.is_silent and self._has_answered

    def answers(self, now: float) -> bool:
        """Return whether it answers, in time, and is known to be the same."""
        return self.is_present and not self.is_doubted and not self._has_stalled(now)

    @property
    def absence(self) -> str:
        """Return why it accepts no commands; empty if it does."""
        if self.is_present:
            return ''
        if not self.is_started:
            return _NOT_STARTED
        if self.state in _WAITING:
            return f'waiting for the first reply from X-Plane Connect at {self._address}'
        if self.state is State.LOADING:
            return f'X-Plane at {self._address} is loading or in a menu, and answers nothing'
        return f'nothing answers at {self._address}'

    # What happens.

    def check_timeouts(self, now: float) -> Iterable[Event]:
        """Return what has happened because time passed."""
        if not self.is_started:
            return ()
        self.identity.listen(now)
        if self._waiting_since is None and not self.is_silent:
            return ()
        return self._look(now) if self._has_stalled(now) or self._is_quiet(now) else ()

    def _look(self, now: float) -> Iterator[Event]:
        if self._has_stalled(now):
            self.identity.doubt()
            yield Event.STALLED
        if self._is_quiet(now):
            until = self.identity.beacons_until
            yield Event.GONE if until is None or now >= until else Event.MUTE

    @property
    def deadline(self) -> float | None:
        """Return when check_timeouts() has something, None if only messages matter."""
        if self.is_silent:
            return self.identity.beacons_until if self.state is State.LOADING else None
        return self._silent_at if self.is_started else None

    def on_reply(
        self, reply: xpc.Reply, says_state: bool, running_time: float | None, now: float, *,
        unanswered: bool, channels_since: float,
    ) -> Iterator[Event]:
        """
        Yield what a reply shows about who has sent it.

        ``says_state`` if it is one with X-Plane's state, and maybe its running time;
        ``unanswered`` if others are outstanding; ``channels_since`` is since when its channel
        can have been in use.
        """
        if self._has_stalled(now):
            self.identity.doubt()
            yield Event.STALLED
        self._waiting_since = None
        if unanswered:
            self._wait_from(now)
        if self.is_silent:
            self.identity.doubt()
            self._waiting_since = None
        if not self.is_present and self._is_back(now):
            self._unread = 0
            yield Event.HEARD
        if isinstance(reply, xpc.PositionReply):
            yield from self._judge(
                partial(self.identity.on_position, reply, channels_since), now)
        elif says_state:
            yield from self._judge(
                partial(self.identity.on_time, running_time, channels_since), now)
        if self.identity.is_odd:
            yield Event.ODD
        elif self.state is State.DOUBTED and self.identity.is_known:
            yield Event.SAME

    def _is_back(self, now: float) -> bool:
        """Return whether a reply of one that is not known to answer shows that it does."""
        # When it was left, replies may have been on their way.
        return not self.is_leaving or now >= self._left_at + self._stall

    def on_report(
        self, running_time: float | None, asked_at: float, now: float
    ) -> Iterator[Event]:
        """Yield what the report about something given back, asked at that time, shows."""
        if self.is_leaving:
            self._unread = 0
            yield Event.HEARD
        if running_time is not None:
            # Its channel was opened for it.
            yield from self._judge(
                partial(self.identity.on_time, running_time, asked_at), now)

    def on_beacon(self, beacon: xpc.Beacon, now: float) -> Iterator[Event]:
        """Yield what a beacon shows about its sender."""
        if self.is_silent and self.identity.has_missed_beacons(now):
            self._probe_from(now)
        if self.is_leaving and self.identity.is_its(beacon):
            yield Event.MUTE
        yield from self._judge(partial(self.identity.on_beacon, beacon), now)

    def _judge(self, judge: Callable[[float], str], now: float) -> Iterator[Event]:
        """Yield that this is another X-Plane, if what it said shows that."""
        if other := judge(now):
            self.other = other
            self.identity.forget(now)
            yield Event.OTHER
            judge(now)

    def process(self, event: Event, now: float) -> tuple[Action, ...]:
        """Let something happen; return what to do."""
        before, was_leaving = self.state, self.is_leaving
        actions = super().process(event, now)
        if event is Event.OTHER:
            self._waiting_since = None
        if self.state is not before or (self.teardown is Teardown.LEAVING) is not was_leaving:
            self._sort()
            self._before = before
            if self.is_leaving:
                if not was_leaving:
                    self._left_at = now
                    self._gave_at = -math.inf
            else:
                self._enter(before, now)
        return actions

    def _enter(self, before: State, now: float) -> None:
        """Note what counts from now on, in the new state of one that is not left."""
        if self.state is State.WAITING:
            self._has_answered = False
            self._waiting_since = None
            self.identity.believe()
            self.identity.listen_from(now)
        elif self.is_present:
            self._has_answered = True
            if before is State.AWAY:
                self.identity.listen_from(now)
        elif self.is_silent:
            if before not in _SILENT:
                self._unread = 0
            if before not in _SILENT or self.state is State.LOADING:
                self._probe_from(now)
            if self.state is State.AWAY:
                self.identity.lose()

    # Replies that are outstanding.

    def ask(self, now: float) -> None:
        """Record that a reply is outstanding."""
        self._asked_at = now
        if self._waiting_since is None:
            self._wait_from(now)

    def _wait_from(self, now: float) -> None:
        self._waiting_since = now
        self._probe_at = now + self._stall

    @property
    def _stall(self) -> float:
        return max(_STALL, self._round_trip.usual_timeout)

    def _has_stalled(self, now: float) -> bool:
        """Return whether a reply is overdue, and another peer could be the one that replies."""
        return self.identity.identifies and self._waiting_since is not None and (
            now >= self._waiting_since + _STALL and now >= self._waiting_since + self._stall)

    def _is_quiet(self, now: float) -> bool:
        """Return whether it is silent, or counts as that by now."""
        return self.is_silent or (at := self._silent_at) is not None and now >= at

    @property
    def _silent_at(self) -> float | None:
        """Return when the peer counts as silent, None if no reply is outstanding."""
        if self._waiting_since is None:
            return None
        return self._waiting_since + max(
            _SILENCE, _SILENCE_TIMEOUTS * self._round_trip.usual_timeout)

    # Small requests that probe it.

    @property
    def idle_at(self) -> float:
        """Return when to probe the peer if nothing else is requested before."""
        return self._asked_at + _PROBE_PERIOD

    @property
    def probe_at(self) -> float:
        """Return when to probe a peer that does not answer."""
        return self._probe_at

    def take_probe(self, now: float) -> bool:
        """
        Return whether to probe the peer now, and count it as probed.

        One that is silent has requests to answer when it goes on, and needs few probes.
        """
        if now < self._probe_at:
            return False
        if not self.is_silent:
            # After a stall of 0.25 s, 0.5 s and 1 s.
            since = now if self._waiting_since is None else self._waiting_since
            self._probe_at = now + max(_STALL, min(_PROBE_PERIOD, now - since))
            return True
        self._probe_at = now + self._probe_period
        self._probe_period = min(
            _PROBE_PERIOD_GROWTH * self._probe_period, _LONGEST_PROBE_PERIOD)
        self._unread += 1
        return True

    def probe_now(self, now: float) -> None:
        """Probe a peer that answers at once: only a reply shows what it has read."""
        if not self.is_silent:
            self._probe_at = min(self._probe_at, now)

    def _probe_from(self, now: float) -> None:
        """Probe a silent peer now, and then ever more seldom."""
        self._probe_period = _FIRST_PROBE_PERIOD
        self._probe_at = now

    # The end.

    def leave_unread(self, count: int) -> None:
        """Record that so many more datagrams may not have been read."""
        self._unread += count

    @property
    def may_give_back(self) -> bool:
        """Return whether something may be given back, again or for the first time."""
        return (
            self.state is State.ANSWERING or self._gave_at < self._left_at
            or self._unread + _LARGEST <= _MOST_UNREAD)

    @property
    def ask_again_at(self) -> float:
        """Return when to ask again what it has of what was given back."""
        if self.state in _SILENT or self._unread >= _MOST_UNREAD_QUESTIONS:
            return self._gave_at + _SELDOM_ASK_PERIOD
        return self._gave_at + max(_ASK_PERIOD, self._stall)

    def gave_back(self, count: int, now: float) -> None:
        """Record that so many datagrams were sent to give back."""
        self._unread += count
        self._gave_at = now

    def look_back(
        self, unconfirmed: tuple[str, ...], unsettled: tuple[str, ...], timeout: float
    ) -> Left:
        """
        Return how the conversation has ended, with what is unconfirmed.

        ``unsettled`` was shown to be given back, and may have been taken since by a late datagram.
        """
        where = f'X-Plane at {self._address}'
        if not unconfirmed and self._before is State.AWAY:
            return Left()
        if not unconfirmed:
            return Left(unsettled, f'{where} has shown that it was given back, and has not '
                        'answered since; if it still runs, and a datagram has come late, '
                        f'{_UNDO}') if unsettled else Left()
        if self._before is State.ANSWERING:
            return Left(unconfirmed, f'{where} answers, but does not show within {timeout:g} s '
                        f'that it was given back; to undo it, {_UNDO}', is_error=True)
        if self._before is State.LOADING:
            return Left(unconfirmed, f'{where} is loading or in a menu, and has not read it yet; '
                        f'if it does not show it when it goes on, {_UNDO}', is_error=True)
        if self._before is State.DOUBTED:
            return Left(unconfirmed, f'{where} has answered until then, and nothing since: it '
                        f'may not have read it; if it still runs, {_UNDO}', is_error=True)
        return Left(unconfirmed, f'{where} does not respond; if it still runs, {_UNDO}')
