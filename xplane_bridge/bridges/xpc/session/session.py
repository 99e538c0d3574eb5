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

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.sessions.base import (
    Address,
    check_read,
    CommandDone,
    Outgoing,
    PeerAbsentError,
    PeerState,
    Session,
    Tickets,
)
from xplane_bridge.bridges.sessions.lifetimes import DEFAULT_LIFETIME
from xplane_bridge.bridges.sessions.machine import Action, Event
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.commands import adapt, to_controls
from xplane_bridge.bridges.xpc.session.events import (
    PeerReplaced,
    PluginVersion,
    Polled,
    Statistics,
    Telemetry,
)
from xplane_bridge.bridges.xpc.session.flow import Flow, FRAME_GAP, WAITING_IN_LOCKSTEP
from xplane_bridge.bridges.xpc.session.items import CONTROLS, JOYSTICK_OVERRIDE, Key
from xplane_bridge.bridges.xpc.session.outbox import Outbox
from xplane_bridge.bridges.xpc.session.overrides import Overrides
from xplane_bridge.bridges.xpc.session.peer import Peer
from xplane_bridge.bridges.xpc.session.requests import PROBE_CHANNEL, Requests, to_period
from xplane_bridge.bridges.xpc.session.requests.checks import Checked
from xplane_bridge.bridges.xpc.session.requests.polls import make_round_trip, RUNNING_TIME
from xplane_bridge.bridges.xpc.session.requests.reads import batches
from xplane_bridge.bridges.xpc.session.requests.watch import check_watched
from xplane_bridge.bridges.xpc.session.turns import Turns
from xplane_bridge.common.controls import SURFACES

BEACON_CHANNEL = 'beacon'
_COMMAND_CHANNEL = 'command'

_SMALLEST_BUDGET = 10.0

# How often X-Plane is asked for what was given back and is not polled, as long as a datagram may
# come late that takes it; and how much longer than that it is waited for the last reply.
_GUARD_PERIOD = 0.3
_SETTLING, _LONGEST_SETTLING = 0.4, 0.8


class XpcSession(Session):
    """
    Poll aircraft, read and write datarefs and send commands to one plugin.

    ``aircraft`` maps each aircraft number to what to poll for it. ``rate`` is in updates per
    second, 0 for once per frame. ``budget`` is how many datagrams may be sent in any second, at
    least 10; only giving back never waits. ``lifetime`` is how long a command may wait, in
    seconds. ``plugin_version`` None detects it; ``hears_beacons`` says whether the beacon's
    multicast group could be joined. ``address`` names the peer in messages, ``port`` is the
    plugin's: a beacon that names a different one belongs to another X-Plane on the same computer;
    None accepts any. In ``lockstep`` controls advance the simulator to its next frame: a poll
    follows when each of the aircraft that were ever commanded has been, ``rate`` does not count,
    and controls are sent even to a simulator that is silent because it waits for them.

    Peer knows whether the plugin answers, and whether it is the same; Flow and Requests decide
    what may be sent when, the Outbox has what waits, Overrides what was taken and is given back.
    """

    sentences = {
        PeerState.UNKNOWN: 'nothing heard yet',
        PeerState.ANSWERING: 'answering',
        PeerState.LOADING: 'X-Plane is running but not answering: in a menu, or loading scenery',
        PeerState.AWAY: 'not responding: X-Plane is off, unreachable, or without the plugin',
        PeerState.LEAVING: 'giving back what was taken',
    }
    advice = {
        PeerState.UNKNOWN: 'waiting for the first reply',
        PeerState.AWAY: 'check that X-Plane is running, that its plugin XPlaneConnect is enabled, '
                        'its address and port, and that no firewall drops UDP',
        PeerState.LOADING: 'leave the menu or wait until the scenery is loaded; the plugin '
                           'answers only while frames are drawn',
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
        self._turns = Turns()
        self._lifetime = lifetime
        self._round_trip = make_round_trip()
        self._requests = Requests(
            aircraft, self.statistics, self._round_trip, rate=rate, lifetime=lifetime,
            lockstep=lockstep)
        self._peer: Peer = Peer(
            address, plugin_version, self._round_trip, hears_beacons=hears_beacons, port=port,
            identifies=self._requests.polls and not lockstep)
        self._flow = Flow(budget, 0.0, WAITING_IN_LOCKSTEP) if lockstep else Flow(budget)
        self._tickets = Tickets()
        self._outbox = Outbox(self._tickets, lifetime)
        self._overrides = Overrides(repeats=not lockstep)
        self._leave_until = 0.0
        self._is_extended = False
        # When to ask again for what was given back and is not polled.
        self._guard_at = 0.0
        # How many commands the X-Plane that is known has read: its successor cannot have.
        self._read_by_peer = 0
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
        return self._overrides.names

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of all values that are polled continuously."""
        return self._requests.wanted

    @property
    def shared(self) -> tuple[int, ...]:
        """Return the numbers of the aircraft that are polled in requests of several."""
        return self._requests.shared

    @property
    def frame_rate(self) -> float | None:
        """Return how many frames X-Plane draws per second, None while unknown."""
        frame = self._requests.frame
        return None if frame is None else 1.0 / frame

    @property
    def round_trip(self) -> float | None:
        """Return how long replies usually take, in seconds, None before the first."""
        return self._round_trip.mean

    def missing(self, now: float) -> dict[str, float]:
        """Return those of ``wanted`` that do not arrive, and since when each is missing."""
        return self._requests.missing(now)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Return what was given back and is not yet shown by X-Plane."""
        return self._overrides.unconfirmed

    @property
    def held_by_others(self) -> tuple[str, ...]:
        """Return what X-Plane reports as taken by somebody else, or by nobody known."""
        return self._overrides.names_held_by_others

    def contradictions(self, now: float) -> tuple[str, ...]:
        """Return where what is commanded, what is held and what is reported disagree."""
        if self._peer.answers(now):
            return self._overrides.contradictions(now, self.release_timeout)
        return ()

    def stop(self, now: float) -> None:
        """
        Stop polling, and give back what was taken until X-Plane shows it: LEAVING.

        Even to a silent X-Plane: one that is loading reads it when it resumes.
        """
        # Nobody can take anything again there.
        is_away = not self._peer.is_there
        self._expired += self._happen([Event.STOP], now, 'the node was deactivated')
        if not self._overrides.unconfirmed and (is_away or self._is_settled):
            self._expired += self._happen([Event.SHOWN], now)

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
        adapted = [
            message if self._overrides.can_write(message) else adapt(message, self.plugin_version)
            for message in messages]
        for message in adapted:
            xpc.encode(message)
        return self._outbox.put(adapted, what or messages[0].tag, now, awaited=awaited)

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
        if self._outbox.set_controls(controls, vehicle, now):
            self.statistics.held_back += 1

    def set_levers(self, datarefs: Mapping[str, tuple[float, ...]], now: float) -> None:
        """
        Set brakes, trims and levers of engines of the user's aircraft, by dataref.

        Like controls, the newest value of each is sent within its lifetime. A throttle lever
        releases the throttles that controls force.
        """
        xpc.encode(xpc.SetDatarefs(tuple(datarefs.items())))
        if not (self._lockstep and self._peer.has_stopped_answering):
            self._refuse_absence()
        if self._outbox.set_levers(self._overrides.released_for(datarefs), now):
            self.statistics.held_back += 1

    def take_joystick(self, now: float) -> None:
        """Keep the user's joystick from overwriting commands, until release()."""
        if self._lockstep and self._peer.is_silent:
            # Controls continue, and must not be refused because of this.
            return
        if self._overrides.wants_joystick() and not self._outbox.holds(JOYSTICK_OVERRIDE):
            self.send(JOYSTICK_OVERRIDE, now, what='override_joystick')

    def centre(self, now: float, vehicle: int = 0) -> None:
        """Centre the surfaces of an aircraft that commands have deflected, and no others."""
        self._outbox.drop_controls(vehicle)
        self._overrides.give_back(now, vehicle, SURFACES)

    def release(self, now: float, vehicle: int | None = None) -> None:
        """
        Give back what was taken: surfaces, overrides, pauses, text.

        Of one aircraft only what its controls have taken, of all everything. Waiting commands that
        could take it again are dropped. If X-Plane does not answer now, it is done when the same
        X-Plane does.
        """
        if vehicle is None:
            self._outbox.drop('what was taken is given back')
            self._overrides.give_back(now)
        else:
            self._outbox.drop_controls(vehicle, (JOYSTICK_OVERRIDE,))
            self._overrides.give_back(now, vehicle, CONTROLS)

    def release_all(self, now: float) -> int:
        """
        Give back everything, also what somebody else holds, or a client that is gone.

        Return the ticket of the CommandDone: when X-Plane shows it.
        """
        self._refuse_absence()
        self._outbox.drop('everything is given back')
        self._overrides.free(now)
        done = CommandDone(self._tickets.draw(), 'release_all')
        self._outbox.await_report(
            done, None, self._flow.sent_commands + 1, now, self.release_timeout)
        return done.ticket

    def read_datarefs(self, names: Sequence[str], now: float) -> int:
        """Read datarefs once, at most MOST_READ; return the ticket of the ReadDone to come."""
        check_read(len(names), self._requests.reads.names)
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
        self._requests.reads.add(ticket, requests, self._outbox.put_count, now, expires_at)
        return ticket

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """
        Poll these datarefs ``rate`` times per second from now on, 0 for once per frame.

        At most MOST_WATCHED; no names stop it.
        """
        check_watched(names)
        self._requests.watch(tuple(names), to_period(rate), now)

    # For the link.

    def _decode(self, channel: str, data: bytes) -> Any:
        return xpc.decode(data, 'peer')

    def _kind(self, data: bytes, error: ProtocolError) -> str:
        """Return the kind of a malformed datagram: its tag, if it is one of the plugin's."""
        tag = data[:4].decode('latin-1')
        if len(tag) < 4:
            return 'no tag'
        return tag if tag in xpc.MESSAGES['peer'] else 'unknown tag'

    def _on_datagram(
        self, channel: str, reply: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        if channel == BEACON_CHANNEL:
            if isinstance(reply, xpc.Beacon):
                return self._happen(self._peer.on_beacon(reply, now), now)
            self.statistics.unexpected += 1
            return ()
        serial = self._flow.answer(channel, now)
        self._outbox.has_read(self._flow.read_commands)
        said = self._requests.said(channel, reply)
        running_time = None if said is None else said.running_time
        is_old = self._peer.identity.is_old(running_time)
        if said is not None and running_time is not None and not (
                is_old or said.is_paused or self._lockstep):
            self._flow.show_frame(running_time)
        events = self._happen(self._peer.on_reply(
            reply, said is not None, running_time, now, unanswered=self._flow.unanswered,
            channels_since=self._requests.channels_since(channel)), now)
        if serial > self._read_by_peer and not is_old and self._peer.identity.fits_known(
                is_state=said is not None):
            self._read_by_peer = serial
        if said is not None and not is_old and not self._peer.identity.has_odd_state:
            self._report(said.reported, now, serial, said.asked_at)
        if channel in self._requests.checks.asked:
            if (checked := self._requests.checks.on_reply(channel, reply)) is not None:
                events += self._on_checked(checked, now)
        elif said is not None and self._peer.identity.is_odd:
            # It waits for its own reply, or for that to the next one.
            self.statistics.unexpected += 1
        else:
            heard = self._requests.on_reply(channel, reply, now)
            events += heard
            if heard and isinstance(heard[0], Telemetry):
                self._on_telemetry(heard, now, serial)
        return events

    def _on_checked(self, checked: Checked, now: float) -> Sequence[Any]:
        """Handle what was asked because of commands."""
        events = self._happen(
            self._peer.on_report(checked.running_time, checked.asked_at, now), now)
        if checked.is_before:
            self._overrides.read_before(checked.values)
        elif not self._peer.identity.has_odd_state:
            self._report(checked.values, now, checked.serial, checked.asked_at)
        return events

    def _on_telemetry(self, heard: Sequence[Telemetry], now: float, serial: int) -> None:
        """Learn from telemetry of one reply, asked for after so many commands."""
        values = heard[0].values
        if self._lockstep:
            for event in heard:
                self._turns.on_reply(event.vehicle, values.get(RUNNING_TIME))
        # What is commanded of the others is among their values.
        if heard[0].vehicle and (shown := self._overrides.shown_in(values)):
            # A copy may pass for the reply to this poll, so it settles nothing.
            self._report(shown, now, serial, -math.inf)

    def _report(
        self, values: Mapping[str, tuple[float, ...]], now: float, serial: int, asked_at: float
    ) -> None:
        """Compare what was taken with what X-Plane, asked after so many commands, reports."""
        self._overrides.report(values, now, serial, asked_at, self.release_timeout)
        for awaited in self._outbox.awaited(serial):
            shown = self._overrides.shows(awaited.desired)
            if shown is not False:
                self._outbox.confirm(awaited, reported=bool(shown))

    def _send(self, now: float) -> list[Outgoing]:
        outgoing: list[Outgoing] = []
        # Most of the time nobody waits for anything.
        if self._overrides.pending:
            self._overrides.expire(now, self.release_timeout)
        self._outbox.expire(now, self.release_timeout)
        self._due = []
        if self._peer.is_leaving:
            # One that is loading may still answer what it was asked.
            self._leave(now, outgoing)
        else:
            self._command(now, outgoing)
        if self._peer.is_silent:
            self._probe(now, outgoing)
        elif self._peer.is_started:
            self._poll(now, outgoing)
        for channel in self._requests.closed():
            self._flow.forget(channel)
            outgoing.append((channel, None))
        self._expired += self._outbox.ended()
        if self._outbox:
            self._due.append(self._outbox.waits_until)
        if self._outbox.awaits:
            self._due.append(self._outbox.awaits_until)
        return outgoing

    def _deadlines(self, now: float) -> Sequence[float | None]:
        return self._due

    def _do(  # noqa: C901 -- one branch for each word of the table
        self, action: Action, reason: str, now: float
    ) -> Sequence[Any]:
        # A peer that is present ends only what another one has not heard.
        reason = reason or f'another X-Plane answers: {self._peer.other}'
        match action:
            case Action.BEGIN:
                self._read_by_peer = self._flow.sent_commands
                self._round_trip.reset()
                self._requests.begin(now)
            case Action.FORGET:
                self._peer.leave_unread(self._flow.unread)
                self._forget(now)
            case Action.FORGET_FRAME:
                self._forget(now + FRAME_GAP)
            case Action.DROP_UNLESS_LOCKSTEP:
                if not self._lockstep:
                    self._drop(reason)
            case Action.DROP:
                self._drop(reason)
            case Action.END:
                return self._requests.reads.end(reason)
            case Action.FORGET_TAKEN:
                self._overrides.disown(self._read_by_peer, now)
            case Action.LEAVE:
                self._leave_until = now + self.release_timeout
                self._is_extended = False
                self._overrides.give_back(now)
            case Action.LOOK_BACK:
                self._left = self._peer.look_back(
                    self._overrides.unconfirmed,
                    self._overrides.names_of_unsettled(self.release_timeout),
                    self.release_timeout)
                self._overrides.clear()
            case Action.CLOSE:
                self._requests.checks.forget()
            case Action.HURRY:
                self._requests.ask_anew(now, self._peer.identity.known_at)
            case Action.TELL:
                return [PeerReplaced(self._peer.other)]
            case _:
                return super()._do(action, reason, now)
        return ()

    def _forget(self, until: float) -> None:
        """Forget what is outstanding and what was learnt about the peer; then poll again."""
        self._flow.reset()
        self._requests.forget(until)

    def _drop(self, reason: str) -> None:
        """End commands that wait, and those that were sent and may not have been read."""
        self._outbox.drop(reason)
        self._outbox.lose(reason)
        self._overrides.lose()

    def _refuse_absence(self) -> None:
        """Raise PeerAbsentError if the plugin accepts no commands now."""
        if absence := self._peer.absence:
            raise PeerAbsentError(absence)

    # Commands.

    @property
    def _pauses_one(self) -> bool:
        """Return whether the plugin is known to pause a single aircraft."""
        return self.plugin_version is not None and self.plugin_version.pauses_one

    def _command(self, now: float, outgoing: list[Outgoing]) -> None:
        """Send what is not shown yet, and what waits; see what is asked because of it."""
        if self._requests.checks.asked:
            self._requests.checks.expire(now)
        if self._overrides.pending and self._peer.answers(now):
            self._send_again(now, outgoing)
        if self._overrides.has_returned and self._peer.answers(now):
            self._guard(now, outgoing)
        if self._outbox:
            self._send_commands(now, outgoing)
        if self._requests.checks.asked:
            self._due.append(self._requests.checks.deadline)

    def _leave(self, now: float, outgoing: list[Outgoing]) -> None:
        """Give back again, until X-Plane shows it or time is up."""
        if self._peer.may_give_back:
            self._send_again(now, outgoing)
        is_given, is_settled = not self._overrides.unconfirmed, self._is_settled
        if is_given and not self._is_extended:
            # What comes late is seen a little later.
            self._is_extended = True
            self._leave_until = max(
                self._leave_until, self._overrides.late_until(self.release_timeout)
                + min(_LONGEST_SETTLING, max(_SETTLING, 2.0 * self._requests.checks.patience)))
        if not outgoing and not (is_given and is_settled) and now >= self._peer.ask_again_at:
            self._ask_again(
                self._overrides.unsettled(self.release_timeout) if is_given else (), now, outgoing)
        if outgoing:
            self._peer.gave_back(len(outgoing), now)
        if is_given and is_settled:
            self._expired += self._happen([Event.SHOWN], now)
        elif now >= self._leave_until:
            self._expired += self._happen([Event.EXPIRED], now)
        else:
            self._due += [self._leave_until, self._peer.ask_again_at]

    @property
    def _is_settled(self) -> bool:
        """Return whether nothing that was given back can be taken by a late datagram any more."""
        return not self._overrides.has_returned or not self._overrides.unsettled(
            self.release_timeout)

    def _guard(self, now: float, outgoing: list[Outgoing]) -> None:
        """Ask whether a late datagram has taken again what was given back and is not polled."""
        names = self._requests.unpolled(
            self._overrides.datarefs_of(self._overrides.unsettled(self.release_timeout)))
        if not names:
            return
        if now >= self._guard_at:
            self._guard_at = now + _GUARD_PERIOD
            self._request(
                self._requests.check(names, now, self._flow, polling=True), now, outgoing)
        self._due.append(self._guard_at)

    def _send_again(self, now: float, outgoing: list[Outgoing]) -> None:
        """Send what X-Plane shall have in the end and does not show."""
        keys = self._overrides.due(now, urgent=True)
        at: float | None = now
        if self._overrides.due(now, urgent=False):
            at = self._flow.when_command(now, leave=1)
            if at is not None and at <= now:
                keys += self._overrides.due(now, urgent=False)
        if keys:
            messages = self._overrides.messages(keys, pauses_one=self._pauses_one)
            self._flow.charge(len(messages), now)
            self._overrides.sent(
                keys, now, self._flow.sent_commands, self._requests.checks.patience)
            outgoing += [(_COMMAND_CHANNEL, xpc.encode(message)) for message in messages]
            self._ask_again(keys, now, outgoing)
        # What waits for the budget, or for a reply.
        next_at = self._overrides.pending.deadline
        if next_at is not None and at is not None:
            self._due.append(max(next_at, at))

    def _ask_again(self, keys: Sequence[Key], now: float, outgoing: list[Outgoing]) -> None:
        """Ask what X-Plane has of these."""
        self._request(self._requests.check(
            self._overrides.datarefs_of(keys), now, self._flow,
            polling=not self._peer.is_leaving), now, outgoing)

    def _send_commands(self, now: float, outgoing: list[Outgoing]) -> None:
        """Send waiting commands, of each source in turns."""
        while self._outbox and not self._peer.is_doubted:
            # A waiting read gets its share too.
            leave = 1 if self._requests.reads.is_due(
                now, self._outbox.left_count, held=False) else 0
            at = self._flow.when_command(now, leave=leave)
            if at is None or at > now:
                self._due.append(at)
                return
            head = next((
                head for head in self._outbox.heads()
                if self._may_send(head[1], now, outgoing)), None)
            if head is None:
                return
            if not self._flow.take_command(now, leave=leave):
                # What is overridden was just asked for.
                self._flow.charge(1, now)
            source, message = head
            self._send_command(message, self._outbox.take(source), now, outgoing)

    def _may_send(self, message: xpc.Request, now: float, outgoing: list[Outgoing]) -> bool:
        """Find out what a command overrides; it may be sent once that is known."""
        names = self._overrides.unread(message)
        if names and not self._requests.checks.awaits_before(names):
            self._request(
                self._requests.checks.read_before(names, now, self._flow), now, outgoing)
        return not names

    def _send_command(
        self, message: xpc.Request, done: CommandDone | None, now: float,
        outgoing: list[Outgoing],
    ) -> None:
        message = self._overrides.resolve(message)
        serial = self._flow.sent_commands
        pauses = self._overrides.note(message, now, serial, self._requests.checks.patience)
        written = self._overrides.written(message, pauses_one=self._pauses_one)
        outgoing.append((_COMMAND_CHANNEL, xpc.encode(written)))
        if done is not None and pauses:
            self._outbox.await_report(done, pauses, serial, now, self.release_timeout)
        elif done is not None:
            self._outbox.confirm_later(done, serial)
        if self._lockstep and isinstance(message, xpc.SetControls) and (
                self._turns.command(message.aircraft)):
            self._requests.poll_now(now)
        if self._outbox.awaits:
            self._requests.poll_now(now, first=True)

    # Polling.

    def _request(
        self, requests: Sequence[Outgoing], now: float, outgoing: list[Outgoing]
    ) -> None:
        """Send requests that the peer must answer."""
        if requests:
            outgoing += requests
            self._peer.ask(now)

    def _poll(self, now: float, outgoing: list[Outgoing]) -> None:
        """Request telemetry, reads and watched datarefs."""
        self._expired += self._requests.give_up(now)
        if self._flow.needs_reply:
            self._requests.poll_now(now, first=True)
        self._request(self._requests.due(
            now, self._flow, self._outbox.left_count, self._peer.is_doubted), now, outgoing)
        deadlines = self._requests.deadlines(now, self._flow)
        self._due += deadlines
        # Even with a low polling rate it must be known whether it is there.
        idle_at = self._peer.idle_at
        if self._flow.needs_reply and not self._requests.polls:
            self._peer.probe_now(now)
        if None in deadlines or now >= idle_at:
            self._probe(now, outgoing)
        else:
            self._due.append(idle_at)

    def _probe(self, now: float, outgoing: list[Outgoing]) -> None:
        """Probe the peer if it is time."""
        if self._peer.take_probe(now):
            outgoing.append(self._requests.probe())
            if not self._peer.is_silent:
                self._flow.charge(1, now)
                self._flow.ask(PROBE_CHANNEL)
                self._peer.ask(now)
        self._due.append(self._peer.probe_at)
