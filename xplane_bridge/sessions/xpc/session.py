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

"""The session with an X-Plane Connect plugin. Time is passed in; there is no socket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any

from xplane_bridge.protocols import xpc
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.sessions.base import (
    Address,
    check_read,
    Left,
    Outgoing,
    PeerAbsentError,
    PeerState,
    Session,
    soonest,
    Tickets,
)
from xplane_bridge.sessions.lifetimes import DEFAULT_LIFETIME
from xplane_bridge.sessions.machine import Do, What
from xplane_bridge.sessions.xpc.commands import Commands
from xplane_bridge.sessions.xpc.events import (
    PeerReplaced,
    PluginVersion,
    Polled,
    Statistics,
)
from xplane_bridge.sessions.xpc.flow import Flow, FRAME_GAP
from xplane_bridge.sessions.xpc.items import JOYSTICK_OVERRIDE, REPORTED, SURFACES
from xplane_bridge.sessions.xpc.others import Others
from xplane_bridge.sessions.xpc.outbox import to_controls
from xplane_bridge.sessions.xpc.peer import Peer
from xplane_bridge.sessions.xpc.plugin_version import adapt
from xplane_bridge.sessions.xpc.polls import make_round_trip
from xplane_bridge.sessions.xpc.reads import batches
from xplane_bridge.sessions.xpc.telemetry import AircraftPoll
from xplane_bridge.sessions.xpc.turns import period_of, Turns
from xplane_bridge.sessions.xpc.watch import check_watched

BEACON_CHANNEL = 'beacon'

# A loading peer is probed on a separate channel: it answers all requests when X-Plane resumes.
_PROBE_CHANNEL = 'probe'

_SMALLEST_BUDGET = 10.0
# How often a simulator in lockstep is polled while no commands arrive.
_LOCKSTEP_RATE = 10.0


class XpcSession(Session):
    """
    Poll aircraft, read and write datarefs and send commands to one plugin.

    ``aircraft`` maps each aircraft number to what to poll for it. ``rate`` is in updates per
    second, 0 for once per frame. ``budget`` is how many datagrams may be sent in any second, at
    least 10; only giving back never waits. ``lifetime`` is how long a command may wait, in
    seconds. ``plugin_version`` None detects it; ``hears_beacons`` says whether the beacon's
    multicast group could be joined. ``address`` names the peer in messages, ``port`` is the
    plugin's: a beacon that names a different one belongs to another X-Plane on the same computer;
    None accepts any. In ``lockstep`` controls advance the simulator to its next frame: each is
    followed by a poll, ``rate`` does not count, and controls are sent even to a simulator that is
    silent because it waits for them.

    Peer knows whether the plugin answers, and whether it is the same; Flow and Turns decide
    what may be sent when, Commands what was taken and is given back.
    """

    sentences = {
        PeerState.UNKNOWN: 'nothing heard yet',
        PeerState.ANSWERING: 'answering',
        PeerState.LOADING: 'X-Plane is running but not answering: in a menu, or loading scenery',
        PeerState.AWAY: 'not responding: X-Plane is off, unreachable, or without the plugin',
        PeerState.LEAVING: 'giving back what was taken',
    }

    statistics: Statistics

    def __init__(
        self,
        aircraft: Mapping[int, Polled],
        *,
        rate: float,
        budget: float = 240.0,
        lifetime: float = DEFAULT_LIFETIME,
        plugin_version: PluginVersion | None = None,
        hears_beacons: bool = True,
        address: str = 'its address',
        port: int | None = None,
        lockstep: bool = False,
    ) -> None:
        if not _SMALLEST_BUDGET <= budget < math.inf:
            raise ValueError(
                f'budget: got {budget:g} datagrams per second, expected at least '
                f'{_SMALLEST_BUDGET:g}'
            )
        super().__init__(Statistics())
        self._lockstep = lockstep
        self._lifetime = lifetime
        self._round_trip = make_round_trip()
        period = period_of(_LOCKSTEP_RATE if lockstep else rate)
        polls = [
            AircraftPoll(
                number, polled, period, self.statistics, () if place else REPORTED,
                self._round_trip)
            for place, (number, polled) in enumerate(aircraft.items())
        ]
        # The first identifies the peer, by what only it is asked for.
        shared = [poll for poll in polls[1:] if poll.pose is not None]
        sizes = {name: size for polled in aircraft.values() for name, size in polled.sizes.items()}
        self._others = Others(
            shared, sizes, period, self.statistics, self._round_trip)
        self._probe_request = xpc.encode(xpc.GetPosition(next(iter(aircraft), 0)))
        if lockstep:
            # The pose of the datarefs is single precision. Which of the two replies comes first
            # must not decide what is flown by.
            for poll in polls[:1]:
                poll.pose = None
        self._flow = Flow(budget)
        self._peer: Peer = Peer(
            address, plugin_version, self._round_trip, hears_beacons=hears_beacons, port=port,
            identifies=bool(polls) and not lockstep)
        self._tickets = Tickets()
        self._turns = Turns(
            [poll for poll in polls if poll not in shared], self._others, self._flow,
            self.statistics, self._round_trip, lifetime)
        self._commands = Commands(
            self._flow, self._peer, self._turns, self.statistics, self._tickets,
            self._round_trip, lifetime=lifetime, lockstep=lockstep,
            polled=REPORTED if polls else ())
        self._left = Left()
        self._leave_until = 0.0
        # When something is due, apart from what the peer shows.
        self._due: list[float | None] = []

    # For the owner.

    @property
    def beacon(self) -> xpc.Beacon | None:
        """Return the plugin's last beacon, None if there was none."""
        return self._peer.identity.beacon

    @property
    def plugin_version(self) -> PluginVersion | None:
        """Return the plugin's version, None while unknown (docs/wire/xpc.md, section 6)."""
        return self._peer.identity.plugin_version

    @property
    def taken(self) -> tuple[str, ...]:
        """Return what release() would give back: 'throttle', 'elevator of aircraft 3' ..."""
        return self._commands.taken

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of all values that are polled continuously."""
        return tuple(key for leases in self._turns.leases for key in leases.keys)

    @property
    def shared(self) -> tuple[int, ...]:
        """Return the numbers of the aircraft that are polled in requests of several."""
        return self._others.shared

    @property
    def frame_rate(self) -> float | None:
        """Return how many frames X-Plane draws per second, None while unknown."""
        frame = self._turns.frame
        return None if frame is None else 1.0 / frame

    @property
    def round_trip(self) -> float | None:
        """Return how long replies usually take, in seconds, None before the first."""
        return self._round_trip.mean

    def missing(self, now: float) -> dict[str, float]:
        """Return those of ``wanted`` that do not arrive, with since when."""
        missing: dict[str, float] = {}
        for leases in self._turns.leases:
            missing.update(leases.missing(now))
        return missing

    @property
    def leaving(self) -> bool:
        """Return whether stop() still waits until X-Plane shows what was given back."""
        return self._peer.is_leaving

    @property
    def left(self) -> Left:
        """Return how the last stop() has ended."""
        return self._left

    @property
    def owed(self) -> tuple[str, ...]:
        """Return what was given back and is not yet shown by X-Plane."""
        return self._commands.owed

    @property
    def foreign(self) -> tuple[str, ...]:
        """Return what X-Plane reports as taken by somebody else, or by nobody known."""
        return self._commands.foreign

    def contradictions(self, now: float) -> tuple[str, ...]:
        """Return where what is commanded, what is held and what is reported disagree."""
        if self._peer.answers(now):
            return self._commands.contradictions(now)
        return ()

    def start(self, now: float) -> None:
        """Start polling."""
        self._commands.release_timeout = self.release_timeout
        self._left = Left()
        self._expired += self._happen([What.START], now)

    def stop(self, now: float) -> None:
        """
        Stop polling, and give back what was taken until X-Plane shows it: LEAVING.

        Even to a silent X-Plane: one that is loading reads it when it resumes.
        """
        self._expired += self._happen([What.STOP], now, 'the node was deactivated')
        if not self._commands.owed:
            self._expired += self._happen([What.SHOWN], now)

    def send(
        self, messages: xpc.Request | Sequence[xpc.Request], now: float, *, what: str = '',
        awaited: bool = False,
    ) -> int:
        """
        Send a command that has no reply, or several, all or none; return the ticket of the last.

        ``what`` names it for people. With ``awaited`` a CommandDone reports that the plugin has
        read it; without, there is one only if it was not sent. Waiting commands are not sent any
        more if X-Plane falls silent or is replaced by another one.
        """
        self._refuse_absence()
        if isinstance(messages, xpc.Request):
            messages = [messages]
        return self._commands.put(
            messages, what or messages[0].tag, now, awaited=awaited,
            plugin_version=self.plugin_version)

    def set_controls(
        self, controls: Mapping[str, float], now: float, vehicle: int = 0
    ) -> None:
        """
        Set the controls of one aircraft, by the names that xpc.Controls has.

        If the budget does not allow it immediately, the newest value of each control is sent as
        soon as it does, within its lifetime.
        """
        xpc.encode(to_controls(controls, vehicle))
        if not (self._lockstep and self._peer.has_stopped_answering):
            self._refuse_absence()
        self._commands.set_controls(controls, vehicle, now)

    def set_levers(self, datarefs: Mapping[str, tuple[float, ...]], now: float) -> None:
        """
        Set brakes, trims and levers of engines of the user's aircraft, by dataref.

        Like controls, the newest value of each is sent within its lifetime. A throttle lever
        releases the throttles that controls force.
        """
        xpc.encode(xpc.SetDatarefs(tuple(datarefs.items())))
        if not (self._lockstep and self._peer.has_stopped_answering):
            self._refuse_absence()
        self._commands.set_levers(datarefs, now)

    def take_joystick(self, now: float) -> None:
        """Keep the user's joystick from overwriting commands, until release()."""
        if self._lockstep and self._peer.is_silent:
            # Controls continue, and must not be refused because of this.
            return
        if self._commands.wants_joystick():
            self.send(JOYSTICK_OVERRIDE, now, what='override_joystick')

    def centre(self, now: float, vehicle: int = 0) -> None:
        """Centre the surfaces of an aircraft that commands have deflected, and no others."""
        self._commands.give_back(vehicle, now, SURFACES)

    def release(self, now: float, vehicle: int | None = None) -> None:
        """
        Give back what was taken: surfaces, overrides, pauses, text.

        Of one aircraft only what its controls have taken, of all everything. Waiting commands that
        could take it again are dropped. If X-Plane does not answer now, it is done when the same
        X-Plane does.
        """
        if vehicle is None:
            self._commands.drop('what was taken is given back', sent=False)
        self._commands.give_back(vehicle, now)

    def release_all(self, now: float) -> int:
        """
        Give back everything, also what somebody else holds, or a client that is gone.

        Return the ticket of the CommandDone: when X-Plane shows it.
        """
        self._refuse_absence()
        self._commands.drop('everything is given back', sent=False)
        return self._commands.free(now)

    def read_datarefs(self, names: Sequence[str], now: float) -> int:
        """Read datarefs once, at most MOST_READ; return the ticket of the ReadDone to come."""
        check_read(len(names), self._turns.reads.names)
        return self._read([xpc.GetDatarefs(batch) for batch in batches(names, {})], now)

    def read_terrain(self, request: xpc.GetTerrain | xpc.PlaceAndProbe, now: float) -> int:
        """Probe the terrain; return the ticket of the ReadDone that will come."""
        # A request that places an aircraft is a command too.
        expires_at = math.inf if isinstance(request, xpc.GetTerrain) else now + self._lifetime
        return self._read([adapt(request, self.plugin_version)], now, expires_at)

    def _read(
        self, requests: Sequence[xpc.Request], now: float, expires_at: float = math.inf
    ) -> int:
        self._refuse_absence()
        ticket = self._tickets.draw()
        self._turns.reads.add(ticket, requests, self._commands.put_count, now, expires_at)
        return ticket

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """
        Poll these datarefs ``rate`` times per second from now on, 0 for once per frame.

        At most MOST_WATCHED; no names stop it.
        """
        check_watched(names)
        self._turns.set_watch(tuple(names), period_of(rate), now)

    # For the link.

    def _decode(self, channel: str, data: bytes) -> Any:
        return xpc.decode(data, 'peer')

    def _kind(self, data: bytes, error: ProtocolError) -> str:
        """Return the kind of a malformed datagram: its tag, if it is one of the plugin's."""
        tag = data[:4].decode('latin-1')
        if len(tag) < 4:
            return 'no tag'
        return tag if tag in xpc.MESSAGES['peer'] else 'unknown tag'

    def _hear(
        self, channel: str, reply: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        if channel == BEACON_CHANNEL:
            if isinstance(reply, xpc.Beacon):
                return self._happen(self._peer.hear_beacon(reply, now), now)
            self.statistics.unexpected += 1
            return ()
        serial = self._flow.answer(channel, now)
        self._commands.has_read()
        said = self._turns.said(channel, reply)
        running_time, reported = said or (None, {})
        events = self._happen(self._peer.hear(
            reply, said is not None, running_time, now,
            unanswered=self._flow.unanswered), now)
        if reported and not self._peer.identity.has_odd_state:
            self._commands.report(reported, now, serial)
        if channel == _PROBE_CHANNEL:
            self.statistics.replies += 1
        elif self._commands.asked_on(channel):
            events += self._happen(self._peer.hear_report(), now)
            self._commands.receive(channel, reply, now)
        else:
            events += self._turns.receive(channel, reply, now)
        return events

    def _send(self, now: float) -> list[Outgoing]:
        outgoing: list[Outgoing] = []
        if self._peer.is_leaving:
            self._due = [self._leave(now, outgoing)]
        else:
            self._due = [
                self._commands.send_again(now, outgoing, answers=self._peer.answers(now)),
                self._commands.send(now, outgoing)]
        if self._peer.is_silent:
            self._due.append(self._probe(now, outgoing))
        elif self._peer.is_started:
            self._due.append(self._ask(now, outgoing))
        for channel in (*self._commands.closed(), *self._turns.closed()):
            self._flow.forget(channel)
            outgoing.append((channel, None))
        self._expired += self._commands.ended()
        return outgoing

    def _deadlines(self, now: float) -> Sequence[float | None]:
        return self._due

    def _do(  # noqa: C901 -- one branch for each word of the table
        self, action: Do, reason: str, now: float
    ) -> Sequence[Any]:
        # A peer that is present ends only what another one has not heard.
        reason = reason or f'another X-Plane answers: {self._peer.other}'
        match action:
            case Do.BEGIN:
                self._round_trip.reset()
                self._turns.begin(now)
            case Do.FORGET:
                self._peer.leave_unread(self._flow.unread)
                self._forget(now)
            case Do.FORGET_FRAME:
                self._forget(now + FRAME_GAP)
            case Do.LAPSE:
                if not self._lockstep:
                    self._commands.drop(reason)
            case Do.DROP:
                self._commands.drop(reason)
            case Do.END:
                return self._turns.reads.abandon(reason)
            case Do.DISOWN:
                self._commands.forget()
            case Do.LEAVE:
                self._leave_until = now + self.release_timeout
                self._commands.give_back(None, now)
            case Do.LOOK_BACK:
                self._left = self._peer.look_back(self._commands.owed, self.release_timeout)
                self._commands.forget()
            case Do.CLOSE:
                self._commands.suspend()
            case Do.HURRY:
                self._turns.poll_now(now, first=True)
            case Do.TELL:
                return [PeerReplaced(self._peer.other)]
            case _:
                return super()._do(action, reason, now)
        return ()

    def _forget(self, until: float) -> None:
        """Forget what is outstanding and what was learnt about the peer; then poll again."""
        self._flow.reset()
        self._commands.suspend()
        self._turns.suspend(until)

    def _refuse_absence(self) -> None:
        """Raise PeerAbsentError if the plugin accepts no commands now."""
        if absence := self._peer.absence:
            raise PeerAbsentError(absence)

    # Leaving.

    def _leave(self, now: float, outgoing: list[Outgoing]) -> float | None:
        """Give back again, until X-Plane shows it or time is up; return when to continue."""
        at = self._commands.send_again(
            now, outgoing, answers=self._peer.may_give_back, all_asked=True)
        if outgoing:
            self._peer.gave_back(len(outgoing))
        if not self._commands.owed:
            self._expired += self._happen([What.SHOWN], now)
        elif now >= self._leave_until:
            self._expired += self._happen([What.EXPIRED], now)
        else:
            return soonest(self._leave_until, at if self._peer.may_give_back else None)
        return None

    # Polling.

    def _ask(self, now: float, outgoing: list[Outgoing]) -> float | None:
        """Request telemetry, reads and watched datarefs; return when to check again."""
        self._expired += self._turns.give_up(now)
        if self._flow.needs_reply:
            self._turns.poll_now(now, first=True)
        for request in self._turns.ask(
                now, self._commands.left_count, self._peer.is_doubted):
            outgoing.append(request)
            self._peer.ask(now)
        deadlines = self._turns.deadlines(now)
        # Even with a low polling rate it must be known whether it is there.
        idle_at = self._peer.idle_at
        if self._flow.needs_reply and not self._turns.polls:
            self._peer.probe_now(now)
        if None in deadlines or now >= idle_at:
            deadlines.append(self._probe(now, outgoing))
        else:
            deadlines.append(idle_at)
        return min((at for at in deadlines if at is not None), default=None)

    def _probe(self, now: float, outgoing: list[Outgoing]) -> float:
        """Probe the silent peer if it is time; return when to probe again."""
        if self._peer.take_probe(now):
            self.statistics.requests += 1
            outgoing.append((_PROBE_CHANNEL, self._probe_request))
            if not self._peer.is_silent:
                self._flow.charge(1, now)
                self._flow.ask(_PROBE_CHANNEL)
                self._peer.ask(now)
        return self._peer.probe_at
