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

"""Whether a plugin answers on the line, and what it is: the handshake, and silence."""

from __future__ import annotations

from collections.abc import Sequence

from xplane_bridge.bridges.sessions import machine
from xplane_bridge.bridges.sessions.base import soonest
from xplane_bridge.bridges.sessions.machine import Event, State, Teardown
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import (
    Framing,
    Handshake,
    HandshakeType,
    Profile,
    PROFILES,
)
from xplane_bridge.bridges.simpit.session.dialect import SpokenDialect, without_answer
from xplane_bridge.bridges.simpit.session.events import Game, ProfileHint, ProfileKnown
from xplane_bridge.bridges.simpit.session.flight import FlightScene, SILENCE
from xplane_bridge.bridges.simpit.session.identity import Identity
from xplane_bridge.bridges.simpit.session.search import Search
from xplane_bridge.bridges.simpit.session.states import TABLE, TEARDOWN

# Bytes waiting in drivers and adapters are older than our SYN: discarded before it.
_DRAIN = 0.05
# Without registered telemetry a SYN checks for a plugin; plugins answer it in every scene. While
# that is all they answer, the game is in a menu, and is asked less often.
_LONGEST_SILENCE = 12.0
# Between two packets of telemetry: a longer pause than this, and than twice the usual one, is
# evidence of a loss. The usual one is the longest of late; this part of it is forgotten with each.
_SHORTEST_GAP = 0.2
_FORGOTTEN = 0.1
# An echo that comes back this long after the last telemetry counts as one without telemetry.
_ECHO_ALONE = 0.5

_NOT_STARTED = 'the session is not started'

# Tuples, as to look for a state in them takes less time than in sets.
_CONNECTED = State.STREAMING, State.ANSWERING
_STARTED = *_CONNECTED, State.CLOSED, State.WAITING, State.AWAY
# Happenings after which there is nothing that the user should check.
_BY_TELEMETRY = frozenset({Event.HEARD, Event.FLYING, Event.LANDED})


class Peer(machine.Peer):
    """
    The plugin at the other end: whether it answers, what it is, and since when it is silent.

    ``search`` sends SYNs and cuts the stream into packets, ``dialect`` detects the profile,
    ``flight`` the flight scene, ``identity`` tells it from another plugin. ``before`` is the state
    before what happened last, ``usual_gap`` the longest pause in telemetry of late. ``name`` is
    what texts call the port. Times are in seconds.
    """

    def __init__(self, chosen: Profile | None, id_bytes: bytes, name: str) -> None:
        if len(id_bytes) >= simpit.MAX_PAYLOAD:
            raise ValueError(f'{len(id_bytes)} ID bytes, at most {simpit.MAX_PAYLOAD - 1} fit')
        super().__init__(TABLE, TEARDOWN)
        self.search = Search((chosen.framing,) if chosen else ('cobs', 'aa50'), id_bytes)
        self.dialect = SpokenDialect(chosen)
        self.flight = FlightScene()
        self.identity = Identity()
        self.before = self.state
        self.game: Game | None = None
        self.usual_gap = 0.0
        # When telemetry or a handshake was last received.
        self._heard_at = 0.0
        self._name = name
        self._ack = Handshake(HandshakeType.ACK, id_bytes)
        # Until when its silence does not matter.
        self._silence = SILENCE
        self._sort()

    def _sort(self) -> None:
        """
        Note where it stands: read with each packet, and seldom another.

        ``connected``: it answers. ``is_leaving``: what was taken is being given back after the
        owner's stop. ``talks``: it answers, and is talked to. ``is_started``: the owner has
        started it, and not stopped.
        """
        self.is_leaving = self.teardown is Teardown.LEAVING
        self.connected = self.state in _CONNECTED
        self.talks = self.connected and not self.is_leaving
        self.is_started = self.state in _STARTED and not self.is_leaving

    @property
    def listens(self) -> bool:
        """Return whether bytes that arrive may be from a plugin that we have asked."""
        return self.connected or self.search.count > 0

    @property
    def profile(self) -> Profile | None:
        """Return the profile in use; None with 'auto' until a plugin has answered."""
        return self.dialect.profile

    @property
    def hint(self) -> str:
        """Return what the user should check; empty while all is well."""
        if self.state is State.AWAY:
            return without_answer(self.dialect.chosen)
        return self.dialect.hint

    @property
    def absence(self) -> str:
        """Return why nothing obeys commands now; empty if something does."""
        if self.is_leaving:
            return _NOT_STARTED
        match self.state:
            case State.CLOSED:
                return f'{self._name} is not open'
            case State.AWAY:
                return f'nothing answers on {self._name}'
            case State.WAITING:
                return f'waiting for the first reply on {self._name}'
            case State.ANSWERING | State.STREAMING:
                return self._reserve
        return _NOT_STARTED

    @property
    def _reserve(self) -> str:
        """Return why a plugin that answers is sent no commands; empty if it is."""
        if not self.dialect.confirmed:
            return (
                "with profile 'auto' nothing is sent until it is clear which of the older plugins "
                f'answers on {self._name}: to others the same numbers mean something else. '
                f'{self.dialect.hint or "Set the profile to avoid the wait"}')
        if self.state is State.STREAMING:
            return ''
        return self.flight.absence(self.dialect.hint).format(self._name)

    # What happens.

    def process(self, event: Event, now: float) -> tuple[machine.Action, ...]:
        """Let something happen; return what to do."""
        self.before = self.state
        if event in _BY_TELEMETRY:
            self.dialect.hint = ''
        actions = super().process(event, now)
        self._sort()
        return actions

    def check_timeouts(self, now: float) -> Sequence[Event]:
        """Return what has happened because time passed; ask a silent plugin for a sign of life."""
        if self.search.at is None:
            # A missing echo says nothing: plugins before 2.3 echo in the flight scene only.
            if now < self._heard_at + self._silence or not self.talks:
                return ()
            self._silence = min(_LONGEST_SILENCE, 2.0 * self._silence)
            self.search.begin(now)
            return (Event.QUIET,)
        return (Event.GONE,) if self.search.is_due(now) and self._is_lost(now) else ()

    def _is_lost(self, now: float) -> bool:
        """Return whether enough SYNs remain unanswered, although one is due now."""
        # Telemetry that resumed meanwhile is an answer too, as long as it arrives.
        quiet = max(self.search.since, now - SILENCE)
        return self.search.is_unanswered and (not self.connected or self._heard_at < quiet)

    def answer(self, framing: Framing, message: Handshake, now: float) -> bytes:
        """Accept a SYNACK; return the ACK."""
        profile = self.dialect.answered(framing, now)
        self.search.found(framing)
        self.game = Game.KSP2 if message.rest[:1] == bytes((simpit.KSP2_ID,)) else Game.KSP1
        self._heard_at = now
        if not self.connected:
            self.flight.meet(now)
        return simpit.encode(self._ack, 'bridge', profile)

    @property
    def who(self) -> Event:
        """Return whether the plugin that has answered is the one of before."""
        came_back = self.state is State.AWAY and self.identity.is_same
        return Event.SAME if self.connected or came_back else Event.OTHER

    def on_reply(self, now: float) -> bool:
        """Note that telemetry arrived; return whether the pause before it was unusually long."""
        gap, usual = now - self._heard_at, self.usual_gap
        if gap < SILENCE:
            self.usual_gap = max(gap, usual + _FORGOTTEN * (gap - usual))
        self._heard_at = now
        self._silence = SILENCE
        return gap > max(_SHORTEST_GAP, 2.0 * usual)

    def on_echo(self, now: float) -> bool:
        """Note an echo; return whether it came back while there is no telemetry."""
        if self.state is not State.ANSWERING or now < self._heard_at + _ECHO_ALONE:
            return False
        self.dialect.echo(now)
        return True

    def excuse(self, now: float) -> None:
        """Excuse a silence until now: other channels were requested."""
        if self.connected:
            self._heard_at = now

    def settled(self, now: float) -> bool:
        """Consider the bytes behind a SYNACK; return whether they have all arrived."""
        search, dialect = self.search, self.dialect
        return dialect.deadline is not None and self.talks and dialect.settled(
            search.framing, search.counters.noise_bytes, now)

    # Its profile.

    def recognise(self, answer_size: int | None, now: float) -> Sequence[Event]:
        """
        Adopt another profile if the plugin turns out to have it; return what has happened.

        ``answer_size`` is how many of 32 bytes an echo brought back.
        """
        dialect = self.dialect
        found = dialect.candidate(
            answer_size=answer_size, repeated=self.flight.is_silent(now), now=now)
        if found is not None:
            dialect.adopt(found)
            dialect.hint = ''
            self.flight.meet(now)
            return (Event.ODD,)
        if dialect.is_padded_once and self.search.at is None:
            # Noise may look like it once, hardly twice.
            self.search.begin(now)
        return ()

    def conclude(
        self, *, answer_size: int | None, streak: int, now: float
    ) -> list[ProfileKnown | ProfileHint]:
        """
        Return what is new to the user about the profile.

        ``answer_size`` as for recognise(); ``streak`` is how many echoes in a row came back.
        """
        events: list[ProfileKnown | ProfileHint] = []
        flight, dialect = self.flight, self.dialect
        if dialect.outside(
                streak=streak, since=flight.telemetry_at, repeated=flight.is_silent(now),
                game=self.game, now=now):
            dialect.adopt(PROFILES['v2.3'])
            events.append(ProfileKnown('v2.3', 'it echoes outside the flight scene'))
        if self.state is State.ANSWERING and now >= flight.telemetry_at + SILENCE:
            events += dialect.advise(answer_size)
        return events

    # What the session does.

    def check(self, now: float) -> None:
        """Ask who answers: at once after a silence, else when what waits in drivers is read."""
        self.search.begin(now if self.state is State.AWAY else now + _DRAIN)

    def syn(self, now: float) -> bytes:
        """Return the SYN that is due."""
        data = self.search.syn(now)
        self.dialect.asked(self.search.noise, now)
        return data

    def rest(self) -> None:
        """Send no more SYNs to a plugin that answers."""
        if self.connected:
            self.search.stop()

    def forget(self) -> None:
        """Forget the plugin: the next one may be another."""
        self.search.reset()
        self.dialect.forget()
        self._silence = SILENCE
        self.usual_gap = 0.0
        self.game = None

    @property
    def deadline(self) -> float | None:
        """Return when to look again."""
        silent_at = None
        if self.talks and self.search.at is None:
            silent_at = self._heard_at + self._silence
        return soonest(
            self.search.deadline, self.search.at, silent_at,
            self.dialect.deadline if self.talks else None)
