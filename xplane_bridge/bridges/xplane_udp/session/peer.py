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

"""X-Plane as seen from here: whether it is there, which run it is, and what it speaks."""

from __future__ import annotations

from collections.abc import Iterator
import math

from xplane_bridge.bridges.sessions import machine
from xplane_bridge.bridges.sessions.base import Address
from xplane_bridge.bridges.sessions.machine import Action, Event, State, Teardown
from xplane_bridge.bridges.xplane_udp.protocol import Becn
from xplane_bridge.bridges.xplane_udp.session.dialect import SpokenDialect
from xplane_bridge.bridges.xplane_udp.session.discovery import Discovery
from xplane_bridge.bridges.xplane_udp.session.identity import Identity, Sign
from xplane_bridge.bridges.xplane_udp.session.states import Contact, TABLE, TEARDOWN

# Without any data for this long, or for some periods of a slow rate, X-Plane counts as away.
_SILENCE = 1.0
_SILENT_PERIODS = 2.5

# Seconds between two probes, by how long X-Plane has been silent. What waits unread in a loading
# X-Plane's socket stays so little that what is given back is among what it reads: of the about 150
# datagrams that fit in, probes take a third within ten minutes.
_PROBE_PERIODS = ((20.0, 1.0), (120.0, 5.0), (600.0, 30.0))
_LONGEST_PROBE_PERIOD = 60.0

# Tuples, as each datagram looks at them: a state has a slow hash.
_HEARD = (State.ANSWERING, State.DOUBTED)
_SILENT = (State.LOADING, State.AWAY)


class Peer(machine.Peer):
    """
    One X-Plane, at ``address``, None if that is not known yet.

    ``has_peer``: since it was last silent, it has sent something that was requested. ``had_peer``:
    it has answered requests before. ``heard_at`` is when anything of it arrived last. ``was`` is
    the state before the last change.
    """

    def __init__(self, address: Address | None, dialect: SpokenDialect, rate: int) -> None:
        super().__init__(TABLE, TEARDOWN)
        self.discovery = Discovery(address)
        self.identity = Identity()
        self.dialect = dialect
        self.address = address
        self.has_peer = self.had_peer = False
        self.was = State.OFF
        self._rate = rate
        self.heard_at = 0.0
        self._probe_at = 0.0
        self._silent_since = 0.0
        self.leaves_at = math.inf
        self._sort()

    # Where it stands.

    def _sort(self) -> None:
        """
        Note where it stands: read with each datagram, and seldom another.

        ``talks``: requests are made. ``leaves``: it is being left, also for another address.
        ``listens``: it is heard while it is being left. ``unheard``: the first datagram changes
        where it stands.
        """
        self.leaves = self.teardown is not Teardown.NONE
        self.listens = self.leaves and self.state is State.ANSWERING
        self.contact = (
            Contact.EXPECTED if self.leaves else Contact.ANSWERS if self.state in _HEARD
            else Contact.SILENT if self.state in _SILENT else Contact.EXPECTED)
        self.talks = self.contact is not Contact.EXPECTED or self.state is State.WAITING
        self.unheard = not (self.contact is Contact.ANSWERS or self.listens)

    @property
    def doubted(self) -> bool:
        """Return whether it may be another run than the one that is known."""
        return self.contact is Contact.SILENT or self.state is State.DOUBTED

    @property
    def leaving(self) -> bool:
        """Return whether it is being left after the owner's stop."""
        return self.teardown is Teardown.LEAVING

    @property
    def absence(self) -> str:
        """Return why it accepts no commands now; empty if it does."""
        if self.state is State.OFF or self.leaving:
            return 'not sent, the node is not active'
        if self.address is None or self.leaves:
            return 'no X-Plane was discovered yet'
        address = f'{self.address[0]}:{self.address[1]}'
        if self.state is State.AWAY:
            return f'nothing answers at {address}'
        if self.state is State.LOADING:
            return f'X-Plane at {address} is loading, or its data output is not set'
        if self.dialect.version is None:
            return (f'the version of X-Plane at {address} is not known yet; set the parameter '
                    'version if it is not detected')
        if self.state is State.WAITING:
            return f'waiting for the first reply from X-Plane at {address}'
        return ''

    # What happens.

    def on_reply(self, now: float) -> Iterator[Event]:
        """Yield what it means that something of X-Plane's arrived."""
        if self.unheard:
            yield Event.HEARD
            if self.state is State.DOUBTED and not self.identity.is_known:
                # Who cannot tell counts as another run.
                yield Event.OTHER

    def expect(self, at: float) -> None:
        """Record that something arrived, or that nothing is expected before this time."""
        if at > self.heard_at:
            self.heard_at = at

    def answer(self) -> None:
        """Record that what arrived answers a request."""
        self.has_peer = self.had_peer = True

    def identify(self, sign: Sign) -> Iterator[Event]:
        """Yield what the running time of a report shows: whether it is the same run."""
        if sign is Sign.OTHER:
            yield Event.OTHER
        elif self.state is State.DOUBTED and sign in (Sign.NEWER, Sign.AGAIN):
            yield Event.SAME

    def recognize(self, version: int | None) -> Iterator[Event]:
        """Adopt the version that was detected or reported; yield what that changes."""
        before = self.dialect.version
        if version in (None, before) or self.dialect.given is not None or (
                self.contact is not Contact.ANSWERS):
            return
        self.dialect.version = version
        self.had_peer &= self.dialect.has_datarefs
        if before is None:
            yield Event.UNDERSTOOD
            return
        self.identity.forget()
        yield Event.CHANGED

    def on_beacon(self, beacon: Becn, sender: Address, now: float) -> Iterator[Event]:
        """Yield what a beacon changes; ValueError if it cannot be X-Plane's."""
        if self.discovery.on_reply(beacon, sender, now, self.contact is Contact.ANSWERS):
            yield Event.FOUND if self.address is None else Event.MOVED

    def check_timeouts(self, now: float) -> Iterator[Event]:
        """Yield what has happened because time passed."""
        if self.leaves:
            if now >= self.leaves_at:
                yield Event.EXPIRED
        elif self.talks:
            quiet = Event.MUTE if self.discovery.is_heard(now) else Event.GONE
            if self.contact is not Contact.SILENT:
                if now >= self.overdue_at:
                    yield quiet
            elif (quiet is Event.MUTE) != (self.state is State.LOADING):
                yield quiet

    def forget(self) -> None:
        """Forget which run and which version it was: another one may be started."""
        self.identity.forget()
        self.dialect.forget()

    def leave_until(self, at: float) -> None:
        """Record how long it may take to leave."""
        self.leaves_at = at

    def must_probe(self, now: float) -> bool:
        """Count a probe of a silent one, if it is time; return whether it is."""
        if self.contact is not Contact.SILENT or now < self._probe_at:
            return False
        silence = now - self._silent_since
        self._probe_at = now + next(
            (period for until, period in _PROBE_PERIODS if silence < until),
            _LONGEST_PROBE_PERIOD)
        return True

    @property
    def deadline(self) -> float | None:
        """Return when check_timeouts() has something at the latest."""
        if self.leaves:
            return self.leaves_at
        if not self.talks:
            return None
        return self._probe_at if self.contact is Contact.SILENT else self.overdue_at

    def process(self, event: Event, now: float) -> tuple[Action, ...]:
        """Let something happen; return what to do."""
        before, was_left = self.state, self.teardown
        actions = super().process(event, now)
        if self.state is before and self.teardown is was_left:
            if before is State.OFF and event in (Event.FOUND, Event.MOVED):
                self.address = self.discovery.peer
            return actions
        self._sort()
        self.was = before
        if self.leaves:
            return actions
        if self.state in (State.OFF, State.SEARCHING, State.WAITING):
            # A new conversation begins, or none is held.
            self.has_peer = self.had_peer = False
        if self.state is State.WAITING:
            self.address = self.discovery.peer
            self.heard_at = now
        elif self.state is State.LOADING or (
                self.state is State.AWAY and before is not State.LOADING):
            # Also if its beacon shows that it is there again.
            self.has_peer = False
            self._probe_at = self._silent_since = now
        elif self.state is State.SEARCHING and self.discovery.peer is not None:
            found = self.address in (None, self.discovery.peer)
            actions += self.process(Event.FOUND if found else Event.MOVED, now)
        elif self.state is State.OFF and self.address != self.discovery.peer:
            # It has moved while it was left.
            actions += self.process(Event.MOVED, now)
        return actions

    @property
    def overdue_at(self) -> float:
        """Return when it counts as silent if nothing arrives."""
        patience = _SILENT_PERIODS / self._rate
        if patience <= _SILENCE or not self.dialect.sends_datarefs:
            patience = _SILENCE
        return self.heard_at + patience
