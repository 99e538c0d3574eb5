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

"""The device's side of a KerbalSimpit conversation. Time is passed in; there is no port."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from xplane_bridge.bridges.sessions.base import (
    Address,
    Outgoing,
    PeerAbsentError,
    PeerState,
    Session,
    soonest,
    Tickets,
)
from xplane_bridge.bridges.sessions.lifetimes import DEFAULT_LIFETIME
from xplane_bridge.bridges.sessions.machine import Action, Event, State
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import (
    ActionGroup,
    Framing,
    FramingCounters,
    Handshake,
    HandshakeType,
    Packet,
    Profile,
    PROFILES,
    SimpitMessage,
)
from xplane_bridge.bridges.simpit.session.commands import is_obeyed_anywhere, Part, prepare
from xplane_bridge.bridges.simpit.session.dialect import AUTO, chosen_profile, FIRST_PROFILE
from xplane_bridge.bridges.simpit.session.events import Connected, Game, Presence, Statistics
from xplane_bridge.bridges.simpit.session.evidence import Shows
from xplane_bridge.bridges.simpit.session.outbox import Outbox
from xplane_bridge.bridges.simpit.session.overrides import Overrides
from xplane_bridge.bridges.simpit.session.ownership import STACK
from xplane_bridge.bridges.simpit.session.peer import Peer
from xplane_bridge.bridges.simpit.session.requests import Requests
from xplane_bridge.bridges.simpit.session.requests.channels import ChannelName
from xplane_bridge.bridges.simpit.session.requests.reads import Reads

CHANNEL = 'serial'
"""The only channel of a serial link."""

GEAR = 'gear'
"""Among controls: not an axis but an action group, on from 0.5."""

_SURFACES = ('pitch', 'roll', 'yaw')

# For how long packets that ask for nothing need no poll(), in seconds.
_UNPOLLED = 0.02

# A plugin requests one echo at a time; no more answers than this are queued.
_MOST_ANSWERS = 32

# Why what waits for the plugin has ended, by the state that this has led to.
_ENDS = {
    State.CLOSED: 'the serial port was lost',
    State.WAITING: 'the conversation was restarted',
    State.AWAY: 'the plugin stopped responding',
    # Only while it is left.
    State.ANSWERING: 'the node was deactivated',
}


class SimpitSession(Session):
    """
    Shake hands with a plugin, keep channels registered, send commands.

    ``channels`` are names of the plugin's channels or ids of 3..254. ``profile`` is one of
    PROFILES, or 'auto' to detect it from the plugin's behaviour (Dialect). ``id_bytes``, at
    most 31, are sent with SYN and ACK. ``agx`` says that the game has Action Groups Extended.
    ``line_rate`` is in bytes per second, a tenth of the baud rate. ``heartbeat`` is the time
    between echo requests in seconds. A command waits at most ``lifetime`` seconds.
    ``release_throttle``: release() and stop() also give the throttle to the player's lever, where
    the plugin can. ``name`` is what texts call the port.

    No plugin shows what it forces: axes that are given back are sent as 0 again and again for
    ``release_timeout``. After stop() the state is LEAVING (Leaving) while something is given back
    or telemetry still arrives; nothing else is sent then. What happens in each state, and what is
    done about it, is in the table of states.py.

    Everything that sends raises PeerAbsentError while there is no game in the flight scene to
    accept it, and ValueError, each with a sentence, if it must not be sent. Raises ValueError for
    a channel or a profile that does not exist.
    """

    sentences = {
        PeerState.UNKNOWN: 'nothing heard yet',
        PeerState.CLOSED: 'the serial port is not open',
        PeerState.AWAY: 'no answer to the handshake',
        PeerState.ANSWERING: 'connected, but no telemetry arrives',
        PeerState.STREAMING: 'telemetry arrives',
        PeerState.LEAVING: 'giving back what was taken',
    }

    statistics: Statistics
    # Cockpits follow the state.
    unannounced = frozenset()

    def __init__(
        self,
        channels: Sequence[ChannelName] = ('altitude',),
        *,
        profile: str = AUTO,
        id_bytes: bytes = b'xplane_bridge\0',
        agx: bool = False,
        line_rate: float = 11520.0,
        heartbeat: float = 1.0,
        lifetime: float = DEFAULT_LIFETIME,
        release_throttle: bool = False,
        name: str = 'the serial port',
    ) -> None:
        super().__init__(Statistics())
        chosen = chosen_profile(profile)
        tickets = Tickets()
        self._peer: Peer = Peer(chosen, id_bytes, name)
        self._requests = Requests(channels, chosen, self.statistics)
        self._reads = Reads(heartbeat, self.statistics, tickets)
        self._outbox = Outbox(line_rate, self.statistics, tickets, lifetime)
        self._overrides = Overrides()
        self._name = name
        self._agx = agx
        self._release_throttle = release_throttle
        # What the session itself says, before all commands.
        self._urgent: list[bytes] = []
        self._polled_at = 0.0
        # How much was damaged or lost so far, as far as that shows.
        self._damage = 0

    # Called by the owner.

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the axes that the plugin forces on the game for the stack, and pressed keys."""
        return self._overrides.names

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Return what was given back and is being repeated."""
        return self._overrides.unconfirmed

    def contradictions(self, now: float) -> tuple[str, ...]:
        """Return which action groups the plugin reports otherwise than they were commanded."""
        return tuple(self._overrides.reports.contradictions(now))

    @property
    def presence(self) -> Presence:
        """Return what a cockpit must know of the game."""
        peer = self._peer
        return Presence(
            peer.connected, peer.profile if peer.dialect.confirmed else None,
            peer.game is Game.KSP2, peer.state is State.STREAMING)

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return which of the requested channels should arrive in flight."""
        return self._requests.expected

    def missing(self, now: float) -> dict[str, float]:
        """
        Return the channels that are missing, and since when.

        Outside the flight scene none should arrive.
        """
        return self._requests.missing(now) if self._peer.state is State.STREAMING else {}

    @property
    def profile(self) -> Profile | None:
        """Return the profile in use; None with 'auto' until a plugin has answered."""
        return self._peer.profile

    @property
    def game(self) -> Game | None:
        """Return the game behind the plugin, None until it has answered."""
        return self._peer.game

    def advise(self, state: PeerState) -> str:
        """Return what the user should check, as it is known by now."""
        return self.hint

    @property
    def hint(self) -> str:
        """Return what the user should check; empty while all is well."""
        return self._peer.hint

    @property
    def framing(self) -> FramingCounters:
        """Return the counts of packets, and of bytes outside them, in the framing in use."""
        return self._peer.search.counters

    @property
    def round_trip(self) -> float | None:
        """Return how many seconds the last echo took, None before the first."""
        return self._reads.round_trip

    @property
    def lost_echoes(self) -> int:
        """Return how many echoes in a row, up to the last one, have not come back."""
        return max(0, -self._reads.streak)

    @property
    def registered(self) -> tuple[int, ...]:
        """Return the ids of the channels registered now."""
        return self._requests.ids

    @property
    def came(self) -> frozenset[str]:
        """Return the names of channels that have ever been received from this plugin."""
        return self._requests.came

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return the channels whose value may have changed unseen, and cannot be requested."""
        return self._requests.unknown if self._peer.state is State.STREAMING else ()

    @property
    def unavailable(self) -> tuple[str, ...]:
        """Return the requested channels that plugins of the profile in use do not send."""
        return self._requests.unavailable(self._peer.profile)

    @property
    def withheld(self) -> Counter[str]:
        """Return how many values of axes were withheld, by source: another one holds the axis."""
        return self._overrides.ownership.withheld

    def held_by(self, source: str) -> tuple[str, ...]:
        """Return the axes that a source of commands holds."""
        return self._overrides.ownership.held_by(source)

    def configure_ownership(
        self, *, rule: str | None = None, threshold: float | None = None,
        lease: float | None = None,
    ) -> None:
        """Change who wins an axis (Ownership); what is not given stays."""
        self._overrides.ownership.configure(rule=rule, threshold=threshold, lease=lease)

    @property
    def absence(self) -> str:
        """Return why nothing obeys commands now; empty if something does."""
        return self._peer.absence

    def stop(self, now: float) -> None:
        """
        Deregister, give back what was taken, by cockpits too, and stop talking.

        A plugin that is silent is sent it too: 0 forces nothing on any.
        """
        self._expired += self._happen((Event.STOP,), now)
        if self._peer.is_leaving and not (self._peer.connected or self.unconfirmed):
            self._expired += self._happen((Event.SHOWN,), now)

    def set_channels(self, channels: Sequence[ChannelName], now: float) -> None:
        """Register these channels from now on, and deregister all others."""
        self._say(*self._requests.change(channels, now))
        self._peer.excuse(now)

    def share(
        self, source: str, channels: Sequence[ChannelName], again: Collection[ChannelName],
        now: float,
    ) -> None:
        """
        Register these channels for a cockpit too, whose packets become Shared events.

        Those ``again`` that are sent on change only are requested anew.
        """
        self._say(*self._requests.share(source, channels, again, now))

    def let_go(self, source: str, what: str, now: float) -> None:
        """
        Handle that a cockpit is gone, as commands that stop: 'neutral', 'hold' or 'release'.

        Its axes are given back to the game, except the throttle, or with 'release' that too if the
        user chose so; with 'hold' they keep their values.
        """
        axes = self._overrides.ownership.release(source)
        if axes and what != 'hold' and self._peer.is_started:
            self._give_back(axes, now, throttle=what == 'release')

    def set_controls(
        self, controls: Mapping[str, float], now: float, vehicle: int = 0, *,
        what: str = 'controls',
    ) -> None:
        """
        Set axes as on the wire, and the gear, which is on from 0.5.

        The gear is an action: sent if the plugin reports another state, or none. ``what`` names
        the command for people.
        """
        axes = {name: value for name, value in controls.items() if name != GEAR}
        gear = controls.get(GEAR)
        self.send(
            simpit.axis_messages(axes), now, what=what,
            groups={} if gear is None else {ActionGroup.GEAR: gear >= 0.5})

    def send(
        self, command: SimpitMessage | Packet | Sequence[SimpitMessage | Packet], now: float, *,
        groups: Mapping[ActionGroup, bool] | None = None, what: str = '', awaited: bool = False,
        source: str = STACK,
    ) -> int:
        """
        Send a message or a raw packet, or several all or none; return the ticket.

        Custom action groups are sent one per packet; only the newest value of an axis is sent.
        ``groups`` are action groups to be turned on or off: sent if the plugin reports another
        state, or none. A CommandDone reports what was not sent, and everything that is
        ``awaited``; ``what`` names the command there. ``source`` is who commands: axes that
        another source holds are withheld (Ownership).
        """
        messages = command if isinstance(command, Sequence) else (command,)
        profile = self._check_connected()
        absence = self.absence
        if absence and (groups or not self._peer.dialect.confirmed or not all(
                is_obeyed_anywhere(message, profile) for message in messages)):
            raise PeerAbsentError(f'not sent: {absence}')
        parts = [
            part for message in messages
            for part in prepare(message, profile, agx=self._agx, game=self._peer.game)]
        missing = self._overrides.reports.missing(groups or {}, now)
        parts += [Part(message, simpit.encode(message, 'bridge', profile)) for message in missing]
        what = what or ', '.join(part.message.tag for part in parts)
        parts = self._overrides.ownership.admit_parts(source, parts, now)
        ticket = self._outbox.put(parts, now, what=what, awaited=awaited)
        self._overrides.reports.queued(groups or {}, missing, now)
        return ticket

    def send_and_see(
        self, command: SimpitMessage, now: float, *, what: str, shows: Shows
    ) -> int:
        """
        Send a command once; return the ticket of the CommandDone that says what shows it.

        Where nothing shows it the command has ended when it was sent.
        """
        ticket = self.send(command, now, what=what, awaited=True)
        self._outbox.expect(
            ticket, what, shows, requested=self._requests.has_lasting)
        return ticket

    def ping(self, payload: bytes, now: float) -> int:
        """Send an echo request of 1..32 bytes; return the ticket of the EchoDone to come."""
        request = simpit.EchoRequest(bytes(payload))
        return self._reads.add(
            request.payload, simpit.encode(request, 'bridge', self._check_connected()), now)

    def centre(self, now: float, vehicle: int = 0) -> None:
        """Give pitch, roll and yaw back to the game, as far as they were taken."""
        self.give_back(_SURFACES, now)

    def release(self, now: float, vehicle: int | None = None) -> None:
        """
        Give all taken axes back to the game.

        The throttle stays as last commanded unless the user chose to release it and the plugin can
        let go of it.
        """
        self.give_back(None, now)

    def give_back(self, axes: Collection[str] | None, now: float) -> None:
        """
        Give back those of ``axes`` that were taken, but not the throttle; with None all.

        Axes that a cockpit holds stay as they are. If no plugin answers, the next one that does
        gets them back.
        """
        if self._peer.is_started:
            self._give_back(
                self._overrides.ownership.without_cockpits(axes), now, throttle=axes is None)

    def _give_back(self, axes: Collection[str], now: float, *, throttle: bool) -> None:
        """Give back what was taken of these axes, instead of what waits for them."""
        self._outbox.withdraw(axes)
        self._overrides.give_back(
            self._peer.profile, now, axes, throttle=throttle and self._release_throttle)

    def _check_connected(self) -> Profile:
        """Return the profile to send with; raise PeerAbsentError if there is nobody."""
        if not self._peer.talks or self._peer.profile is None:
            raise PeerAbsentError(f'not sent: {self.absence}')
        return self._peer.profile

    # Called by the link.

    def opened(self, now: float) -> None:
        """Start over: the port has been opened, or opened again."""
        self._expired += self._happen((Event.OPENED,), now)

    def lost(self, now: float) -> None:
        """Note that the port is gone."""
        self._expired += self._happen((Event.UNPLUGGED,), now)

    def receive(
        self, channel: str, data: bytes, sender: Address | None, now: float
    ) -> list[Any]:
        """Process bytes from the port, in pieces of any size; return the resulting events."""
        peer, rests = self._peer, self.rests
        self.rests = False
        self.statistics.received += len(data)
        if not peer.listens:
            self.statistics.drained += len(data)
            return []
        state = peer.state
        events = self._take_packets(peer.search.feed(data, now), now)
        self._look_for_damage(now)
        if rests and peer.state is state and not (self._urgent or self._expired):
            # A plugin may fill the line. What its packets change besides can wait a little.
            self.rests = True
            self._deadline = soonest(self._deadline, self._polled_at + _UNPOLLED)
        return events

    def poll(self, now: float) -> Sequence[Outgoing]:
        """Return what to send now."""
        self._polled_at = now
        self._expired += self._take_packets(self._peer.search.expire(now), now)
        if self._peer.settled(now):
            self._expired += self._recognise(now)
        return super().poll(now)

    # The director.

    def _do(  # noqa: C901 - one branch for each word of the table
        self, action: Action, reason: str, now: float
    ) -> Sequence[Any]:
        """Do what the table says; return the events."""
        match action:
            case Action.CHECK:
                self._peer.check(now)
            case Action.BEGIN:
                return [self._register(now)]
            case Action.RESUME:
                self._requests.resume(now)
            case Action.FORGET:
                self._forget(now)
            case Action.HOLD:
                self._peer.identity.lose(self._requests.ids)
                self._overrides.hold()
            case Action.RESTORE:
                self._overrides.restore()
            case Action.FORGET_REPORTS:
                self._lapse()
            case Action.FLIGHT_ENDED:
                self._requests.land()
                self._overrides.land()
            case Action.DROP:
                self._outbox.drop(reason)
            case Action.END:
                why = _ENDS[self._peer.state]
                return [*self._reads.end(why), *self._outbox.abandon(why)]
            case Action.CLOSE:
                self._urgent.clear()
            case Action.SEND_RELEASES:
                self._overrides.pay(self._peer.profile, now)
            case Action.LEAVE:
                self._leave(now)
            case Action.LOOK_BACK:
                self._look_back()
            case _:
                return super()._do(action, reason, now)
        return ()

    def _forget(self, now: float) -> None:
        """Forget the plugin: the next one may be another."""
        self._peer.forget()
        self._requests.forget()
        self._reads.forget(now)
        self._lapse()

    def _lapse(self) -> None:
        """Forget what was reported of a flight."""
        self._requests.lapse()
        self._overrides.lapse()
        self._outbox.lapse()

    def _leave(self, now: float) -> None:
        """Begin to give everything back."""
        peer = self._peer
        self._outbox.withdraw(None)
        self._overrides.leave(
            peer.profile, now, self.release_timeout, throttle=self._release_throttle,
            quiet=2.0 * peer.usual_gap, streaming=peer.before is State.STREAMING,
            was_away=not peer.connected)
        peer.rest()
        self._reads.forget(now)
        self._say(*self._requests.end())

    def _look_back(self) -> None:
        """Note what was not shown to be given back, and forget it."""
        peer = self._peer
        self._left = self._overrides.left(
            self._name, is_open=peer.state is State.OFF_OPEN,
            answers=peer.before is State.ANSWERING)
        self._overrides.disown()
        peer.identity.lose(())

    def _register(self, now: float) -> Connected:
        """Register everything wanted, as far as the profile has it."""
        peer = self._peer
        assert peer.profile is not None
        assert peer.game is not None
        self._say(*self._requests.begin(peer.profile, now))
        peer.flight.registered(now)
        return Connected(peer.profile.name, peer.game)

    # What is sent.

    def _say(self, *messages: SimpitMessage) -> None:
        """Queue messages of the session."""
        profile = self._peer.profile
        if profile is not None:
            self._urgent += [simpit.encode(message, 'bridge', profile) for message in messages]

    def _send(self, now: float) -> list[Outgoing]:
        peer = self._peer
        if peer.search.is_due(now):
            self._urgent.append(peer.syn(now))
            self.statistics.syns += 1
        self._look_for_damage(now)
        if peer.talks:
            self._talk(now)
        elif peer.is_leaving:
            self._go_on_leaving(now)
        self._expired += self._requests.take_news()
        self._expired += self._outbox.ended(now)
        outgoing, self._urgent = self._urgent, []
        return [(CHANNEL, data) for data in outgoing]

    def _talk(self, now: float) -> None:
        """Send a heartbeat, what is requested again, what is given back, and commands."""
        profile = self._peer.profile
        assert profile is not None
        self._expired += self._reads.give_up(now)
        if self._reads.streak <= -2:
            self._peer.dialect.doubt()
        self._urgent += self._reads.start(profile, now)
        if self._peer.state is State.STREAMING:
            self._say(*self._requests.due(now))
        self._urgent += self._overrides.repeat(profile, now, self.release_timeout)
        for message, data in self._outbox.take(profile, now):
            self._overrides.note(message, profile)
            self._urgent.append(data)

    def _go_on_leaving(self, now: float) -> None:
        """Go on giving back and deregistering, until all was shown or there is no more time."""
        peer, overrides = self._peer, self._overrides
        self._urgent += overrides.repeat(
            peer.profile, now, self.release_timeout, blind=not peer.connected)
        if peer.connected and peer.profile is not None:
            self._reads.give_up(now)
            self._urgent += self._reads.start(peer.profile, now)
            if overrides.leaving.begin_again(now):
                self._say(*self._requests.end())
        self._expired += self._happen(overrides.check_timeouts(now), now)

    def _deadlines(self, now: float) -> Iterable[float | None]:
        peer = self._peer
        if peer.connected:
            yield self._reads.deadline
        if peer.state is State.STREAMING:
            yield self._requests.deadline
        if peer.talks:
            yield self._outbox.deadline
            yield self._overrides.deadline
        if peer.is_leaving:
            yield self._overrides.leaving.deadline
            yield self._overrides.deadline

    # What is received.

    def _take_packets(self, packets: Iterable[tuple[Framing, Packet]], now: float) -> list[Any]:
        events: list[Any] = []
        for framing, packet in packets:
            profile = self._peer.profile or FIRST_PROFILE[framing]
            events += super().receive(framing, (profile, packet), None, now)
        return events

    def _decode(self, channel: str, data: Any) -> tuple[Packet, SimpitMessage | Packet]:
        profile, packet = data
        return packet, simpit.decode(packet, 'peer', profile)

    def _kind(self, data: Any, error: Exception) -> str:
        profile, packet = data
        return str(profile.find('peer', packet.channel).name)

    def _on_datagram(
        self, channel: str, message: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        packet, message = message
        peer = self._peer
        if isinstance(message, Handshake):
            # Without a SYN it is a late answer to an earlier one.
            if message.handshake == HandshakeType.SYNACK and peer.search.count:
                return self._on_answer(cast(Framing, channel), message, now)
        elif not peer.connected:
            peer.identity.on_message(packet.channel)
        elif isinstance(message, simpit.EchoRequest):
            if len(self._urgent) < _MOST_ANSWERS and peer.is_started:
                self._say(simpit.EchoResponse(message.payload))
                return ()
        elif isinstance(message, simpit.EchoResponse):
            done = self._reads.receive(message.payload, now)
            if done is not None:
                self._on_echo(now)
                return done
        elif packet.channel in self._requests:
            return self._on_telemetry(packet, message, now)
        self.statistics.unexpected += 1
        return ()

    def _on_answer(self, framing: Framing, message: Handshake, now: float) -> Sequence[Any]:
        """Complete the handshake."""
        self._urgent.append(self._peer.answer(framing, message, now))
        self.statistics.handshakes += 1
        return self._happen((self._peer.who,), now)

    def _on_echo(self, now: float) -> None:
        """Draw conclusions from an echo that comes back while there is no telemetry."""
        if self._peer.is_leaving:
            self._overrides.leaving.on_echo()
        elif self._peer.on_echo(now):
            if not self._peer.dialect.confirmed and self._peer.flight.tries < 2:
                self._say(*self._requests.repeat())
                self._peer.flight.registered(now)
            self._expired += self._recognise(now)

    def _recognise(self, now: float) -> list[Any]:
        """Draw conclusions from the plugin's answers while no telemetry arrives."""
        peer, reads = self._peer, self._reads
        return self._happen(peer.recognise(reads.answer_size, now), now) or peer.conclude(
            answer_size=reads.answer_size, streak=reads.streak, now=now)

    def _on_telemetry(
        self, packet: Packet, message: SimpitMessage | Packet, now: float
    ) -> Sequence[Any]:
        """Process a packet on a registered channel, which also tells about the flight scene."""
        peer, requests = self._peer, self._requests
        if peer.is_leaving:
            self._overrides.leaving.on_telemetry(now)
            return ()
        if peer.on_reply(now):
            self._doubt(now)
        self._overrides.reports.on_message(message, now)
        events: list[Any] = [
            *requests.take_news(),
            *peer.dialect.on_message(requests.name(packet.channel)),
            *requests.on_message(packet, message, now),
            *self._outbox.on_message(message, requests.is_lasting(packet.channel))]
        happened = peer.flight.on_message(message, now, flying=peer.state is State.STREAMING)
        if happened:
            events += self._happen(happened, now)
        if requests.tells_silence(message) and self._overrides.reports.on_other(now):
            events += requests.no_groups()
        return events

    def _look_for_damage(self, now: float) -> None:
        """Request again what may have been lost, if something was damaged on the line."""
        statistics = self.statistics
        damage = statistics.malformed.total + statistics.echoes_lost
        # Plugins 1.2.1 to 1.4 pad their packets.
        if self._peer.profile is not PROFILES['v1']:
            damage += self._peer.search.counters.noise_bytes
        if damage != self._damage and self._peer.state is State.STREAMING:
            self._doubt(now)
        self._damage = damage

    def _doubt(self, now: float) -> None:
        """Request again what is sent on change: packets seem to have been lost."""
        self._requests.doubt(now)
        # v1 repeats its report in each frame, or none: that is told by silence.
        if self._peer.profile is not PROFILES['v1']:
            self._overrides.reports.doubt()
