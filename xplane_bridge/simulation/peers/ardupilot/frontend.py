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

"""The physics behind SITL as a peer on the network: one UDP port."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math

from xplane_bridge.bridges.ardupilot_json.protocol import decode_servos, Servos
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.common.text import counted
from xplane_bridge.simulation.peers.ardupilot.physics import Physics, ServoChannels
from xplane_bridge.simulation.peers.ardupilot.record import Record
from xplane_bridge.simulation.peers.base import Frontend
from xplane_bridge.simulation.peers.endpoints import Address, Endpoint
from xplane_bridge.simulation.peers.world import World

# Which frames of SITL are flown, and which are answered: without sockets, times are passed in.
#
# SITL reads one answer for each frame, in the order in which they come, whatever is in them;
# without one it sends the frame again. So an answer too many stays in its queue, and from then on
# it flies by old ones. Whatever a network does, SITL's frames are those of the aircraft, and no
# single datagram is believed that says otherwise (docs/wire/ardupilot_json.md, section 3).

# Another sender may be SITL that was started again once the peer has been silent for so long.
_SILENT_AFTER = 1.0
# SITL repeats a frame after 1.1 s: an answer that is this old by then is lost.
_LOST_AFTER = 0.5
# Frames that do not follow are believed when more of them come so much later, and none that
# follows: SITL that is there repeats its own within 1.1 s, and 0.1 s where it does not wait.
_CONFIRMED_AFTER = 1.0
_CONFIRMED_IN_REAL_TIME_AFTER = 0.3
# SITL counts back only from 0 on.
_COUNTS_ANEW_AFTER = 2.0
# A first frame is hardly a late one if its flight is so old, or SITL has repeated nothing; then
# it is answered, unless SITL goes on or a burst of old ones lasts.
_LATEST, _GOES_ON_WITHIN = 5.0, 0.3
_REPEATS_WITHIN, _BURSTS_WITHIN = 1.3, 0.1
# In lockstep, so often an answer is held back: SITL goes on only if it has one too many.
_LOOKS_EVERY = 2.0
# For how many of the intervals between its frames, and seconds at least and at most.
_HOLDS = 4.0
_SHORTEST_HOLD, _LONGEST_HOLD = 0.01, 0.25
# The longest interval counts, and is forgotten by this from one to the next.
_FORGETS = 0.9


@dataclass(slots=True)
class _Claim:
    """Frames that do not follow: of a restart, of another peer, or only late ones."""

    sender: Address
    first: Servos
    since: float
    # For how long the peer was silent then.
    silence: float
    last: int
    # None: not asked yet.
    answered: bool | None = None

    def goes_on(self, servos: Servos, sender: Address) -> bool:
        """Return whether a frame may be the next one of the same program."""
        return sender == self.sender and 0 <= servos.count - self.last <= servos.rate


class SitlExchange:
    """
    The conversation with SITL: ``on_servos`` its frames, then send what ``answers`` returns.

    The first sender is the ``peer``. Counted are ``strangers``, frames of others while it speaks,
    and ``late`` frames, which came after later ones. ``report`` takes lines for people,
    ``on_flown`` each frame that is flown, with the state then.
    """

    def __init__(self, physics: Physics, report: Callable[[str], None],
                 on_flown: Callable[[Servos, bytes], None]) -> None:
        self.physics = physics
        self.peer: Address | None = None
        self.strangers = self.late = 0
        self._report, self._on_flown = report, on_flown
        self._claim: _Claim | None = None
        self._began_at = self._heard_at = -math.inf
        # The answer to the newest frame, whether it is to be sent, and when it was, if it was.
        self._line, self._pending, self._answered_at = b'', False, -math.inf
        # In lockstep: when to hold one back, until when this one is, how many SITL had too many.
        self._looks_at = self._held_until = -math.inf
        self._spare = 0
        self._interval = 0.0
        # How far it was when it was started again: late frames of then have no higher count.
        self._former = -1

    def on_servos(self, servos: Servos, sender: Address, now: float) -> None:
        """Take a frame."""
        if self.peer is None:
            self._meet(sender)
            self._fly(servos, now)
        elif sender == self.peer and self._follows(servos):
            self._go_on(servos, now)
        elif sender == self.peer or now - self._heard_at >= _SILENT_AFTER:
            self.late += sender == self.peer
            self._doubt(servos, sender, now)
        else:
            self.strangers += 1

    def answers(self, now: float) -> list[tuple[bytes, Address]]:
        """Return what to send, and to whom, now that all that has arrived was heard."""
        found = []
        if (claim := self._claim) is not None and now >= self._asked_at(claim):
            line = self.physics.opening(claim.first)
            claim.answered = line is not None
            if line is not None:
                found.append((line, claim.sender))
        if self._pending and self.peer is not None and now >= self._held_until:
            if self._spare:
                self._report(f'SITL was {counted(self._spare, "frame")} behind: it had more '
                             'answers than frames, and was given none until it was not')
            self._spare = 0
            self._pending, self._answered_at = False, now
            found.append((self._line, self.peer))
        return found

    def next_due(self) -> float | None:
        """Return when to ask for answers again, None for not before a frame comes."""
        times = [self._held_until] if self._pending else []
        if self._claim is not None:
            times.append(self._asked_at(self._claim))
        return min((time for time in times if time < math.inf), default=None)

    # Frames that follow

    def _follows(self, servos: Servos) -> bool:
        ahead = self.physics.ahead(servos.count)
        return 0 <= ahead <= 1 or (
            1 < ahead <= servos.rate and servos.count > self._former)

    def _go_on(self, servos: Servos, now: float) -> None:
        # Whoever is there was not started again, nor is it somebody else.
        self._claim = None
        if self.physics.ahead(servos.count) > 0:
            self._interval = max(now - self._heard_at, _FORGETS * self._interval)
            self._fly(servos, now)
        elif not self.physics.lockstep:
            # SITL that does not wait counts only when it is answered.
            self.physics.fly(servos)
        elif now - self._answered_at >= _LOST_AFTER:
            self._pending = True
        self._heard_at = now

    def _fly(self, servos: Servos, now: float) -> None:
        begins = self.physics.count is None
        self._line = self.physics.fly(servos)
        self._on_flown(servos, self._line)
        self._heard_at = now
        if begins:
            self._began_at, self._looks_at, self._interval = now, now + _LOOKS_EVERY, 0.0
        elif self._pending and math.isinf(self._answered_at):
            # It went on without the answer before: it had another one, and may have more.
            self._spare += 1
            self._hold(now)
        elif now >= self._looks_at:
            self._hold(now)
        self._pending, self._answered_at = self.physics.lockstep, -math.inf

    def _hold(self, now: float) -> None:
        self._looks_at = now + _LOOKS_EVERY
        self._held_until = now + min(
            max(_HOLDS * self._interval, _SHORTEST_HOLD), _LONGEST_HOLD)

    # Frames that do not

    def _asked_at(self, claim: _Claim) -> float:
        """Return when to answer a claim as a first frame, to see whether a second one follows."""
        if claim.answered is not None or claim.first.count:
            return math.inf
        if claim.sender != self.peer:
            return claim.since
        # A late copy would be answered too, and SITL take that for the answer that it waits for.
        if claim.silence >= _REPEATS_WITHIN:
            return claim.since + _BURSTS_WITHIN
        return claim.since + _GOES_ON_WITHIN if claim.since - self._began_at >= _LATEST else (
            math.inf)

    def _doubt(self, servos: Servos, sender: Address, now: float) -> None:
        claim = self._claim
        if claim is None or not claim.goes_on(servos, sender):
            self._claim = _Claim(sender, servos, now, now - self._heard_at, servos.count)
            return
        claim.last = servos.count
        replies = claim.answered and servos.count == claim.first.count + 1
        if replies or now - claim.since >= self._confirmed_after(claim):
            self._believe(claim, servos, now)

    def _confirmed_after(self, claim: _Claim) -> float:
        if claim.sender == self.peer and claim.first.count:
            return _COUNTS_ANEW_AFTER
        if self.physics.lockstep:
            return _CONFIRMED_AFTER
        return _BURSTS_WITHIN if claim.silence >= _REPEATS_WITHIN else (
            _CONFIRMED_IN_REAL_TIME_AFTER)

    def _believe(self, claim: _Claim, servos: Servos, now: float) -> None:
        """Go on with whoever claims: with a flight from its start, or with this one."""
        self._claim, self._pending, self._held_until = None, False, -math.inf
        is_new, self._former = claim.sender != self.peer, -1
        if is_new:
            self._meet(claim.sender)
        if claim.first.count == 0 or (is_new and not self._follows(servos)):
            if not is_new and self.physics.count is not None:
                self._former = self.physics.count
            self._report('SITL was started again: so is the flight')
            self.physics.restart()
            if claim.answered and servos.count:
                self._fly(claim.first, now)
                self._pending = False
        if self.physics.ahead(servos.count) or self.physics.count is None:
            self._fly(servos, now)
        self._heard_at, self._pending = now, self.physics.lockstep

    def _meet(self, sender: Address) -> None:
        self.peer = sender
        self._report(f'SITL at {sender[0]}:{sender[1]}')


# Without a frame for this long the program is considered frozen and answers nothing.
_STOPPED_AFTER = 0.25
# So many datagrams are read at a time.
_MOST_AT_A_TIME = 100


class ArdupilotFrontend(Frontend):
    """
    The physics behind SITL at a UDP endpoint; answers go to where the frames come from.

    ``exchange`` is the conversation; ``malformed`` counts what was no frame. Without
    ``time_sync`` SITL is told not to keep to real time. What is flown is put into a ``record``.
    """

    name = "physics of ArduPilot's SITL (JSON)"

    def __init__(self, endpoint: Endpoint, channels: ServoChannels | None = None,
                 lockstep: bool = True, time_sync: bool = True,
                 record: Record | None = None) -> None:
        super().__init__(endpoint)
        self._record = record
        self.channels = channels or ServoChannels()
        self.lockstep, self.time_sync = lockstep, time_sync

    def _begin(self, world: World, now: float) -> None:
        """Wait for SITL."""
        if self._record is not None:
            self._record.open()
        self.physics = Physics(world, self.channels, self.lockstep, self.time_sync)
        self.exchange = SitlExchange(self.physics, self.report, self._keep)
        self.malformed = 0
        self._framed_at = now

    def frame(self, now: float) -> None:
        """Process what has arrived; in real time, send the state."""
        self._framed_at = now
        self._converse(now)
        if not self.lockstep and self.exchange.peer is not None:
            self.endpoints[0].send(self.physics.line(), self.exchange.peer, now)

    def poll(self, now: float) -> None:
        """In lockstep, answer what has arrived."""
        if self.lockstep and now - self._framed_at < _STOPPED_AFTER:
            self._converse(now)
        super().poll(now)

    def next_due(self) -> float | None:
        """Return when to call poll() next, or None if frames are often enough."""
        times, own = [super().next_due()], self.exchange.next_due()
        # In real time frames are often enough; and once it is frozen it has nothing to say.
        if self.lockstep and own is not None and own < self._framed_at + _STOPPED_AFTER:
            times.append(own)
        return min((time for time in times if time is not None), default=None)

    @property
    def awaited(self) -> Endpoint | None:
        """Return the endpoint whose frames are answered at once: in lockstep its own."""
        return self.endpoints[0] if self.lockstep else None

    def _keep(self, servos: Servos, line: bytes) -> None:
        if self._record is not None:
            self._record.add(servos, line, self.physics.world.flight_time)

    def _converse(self, now: float) -> None:
        self._listen(now)
        for line, to in self.exchange.answers(now):
            self.endpoints[0].send(line, to, now)

    def _listen(self, now: float) -> None:
        for _ in range(_MOST_AT_A_TIME):
            received = self.endpoints[0].receive(now)
            if received is None:
                return
            data, sender = received
            try:
                servos = decode_servos(data)
            except ProtocolError:
                self.malformed += 1
                continue
            self.exchange.on_servos(servos, sender, now)
