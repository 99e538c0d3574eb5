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

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.simpit import (
    ActionGroup,
    AXES,
    Counters,
    Framing,
    Handshake,
    HandshakeType,
    Message,
    Packet,
    Profile,
    PROFILES,
)
from xplane_bridge.sessions.base import (
    Address,
    Left,
    Outgoing,
    PeerAbsentError,
    PeerChanged,
    PeerState,
    Session,
    Tickets,
)
from xplane_bridge.sessions.lifetimes import DEFAULT_LIFETIME
from xplane_bridge.sessions.simpit.commands import is_obeyed_anywhere, Part, prepare
from xplane_bridge.sessions.simpit.contact import Contact
from xplane_bridge.sessions.simpit.dialect import AUTO, chosen_profile, FIRST_PROFILE
from xplane_bridge.sessions.simpit.dialogue import Dialogue
from xplane_bridge.sessions.simpit.events import Game, Presence, Statistics
from xplane_bridge.sessions.simpit.evidence import Evidence, Shows
from xplane_bridge.sessions.simpit.flight import Flight
from xplane_bridge.sessions.simpit.leaving import Leaving
from xplane_bridge.sessions.simpit.outbox import Outbox
from xplane_bridge.sessions.simpit.ownership import Ownership, STACK
from xplane_bridge.sessions.simpit.reads import Echoes
from xplane_bridge.sessions.simpit.reception import Reception
from xplane_bridge.sessions.simpit.recognition import Recognition, without_answer
from xplane_bridge.sessions.simpit.registration import ChannelName, Registration
from xplane_bridge.sessions.simpit.reports import ActionReport

CHANNEL = 'serial'
"""The only channel of a serial link."""

GEAR = 'gear'
"""Among controls: not an axis but an action group, on from 0.5."""

_SURFACES = ('pitch', 'roll', 'yaw')

# An echo that comes back this long after the last telemetry counts as one without telemetry.
_ECHO_ALONE = 0.5


class SimpitSession(Session):
    """
    Shake hands with a plugin, keep channels registered, send commands.

    ``channels`` are names of the plugin's channels or ids of 3..254. ``profile`` is one of
    PROFILES, or 'auto' to detect it from the plugin's behaviour (ProfileFinder). ``id_bytes``, at
    most 31, are sent with SYN and ACK. ``agx`` says that the game has Action Groups Extended.
    ``line_rate`` is in bytes per second, a tenth of the baud rate. ``heartbeat`` is the time
    between echo requests in seconds. A command waits at most ``lifetime`` seconds.
    ``release_throttle``: release() and stop() also give the throttle to the player's lever, where
    the plugin can. ``name`` is what texts call the port.

    No plugin shows what it forces: axes that are given back are sent as 0 again and again for
    ``release_timeout``. After stop() the state is LEAVING (Leaving) while something is given back
    or telemetry still arrives; nothing else is sent then::

        start() -> CLOSED, UNKNOWN, AWAY, ANSWERING, STREAMING -> stop() -> LEAVING -> UNKNOWN

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
        self.contact = Contact(chosen, id_bytes)
        self.registration = Registration(channels, chosen)
        self.echoes = Echoes(heartbeat, self.statistics, tickets)
        self._name = name
        self._agx = agx
        self._release_throttle = release_throttle
        self._outbox = Outbox(line_rate, self.statistics, tickets, lifetime)
        self.ownership = Ownership()
        self._report = ActionReport()
        self._flight = Flight(self.registration, self._report, self._outbox.land)
        self._recognition = Recognition(self.contact, self.echoes, self._flight)
        self._reception = Reception(
            self.contact, self.registration, self._report, self.statistics)
        self._dialogue = Dialogue(
            self.contact, self.registration, self._flight, self._outbox, self.echoes,
            self.statistics)
        self._evidence = Evidence()
        self._leaving: Leaving | None = None
        self._left = Left()
        # How much was damaged or lost so far, as far as that shows.
        self._damage = 0
        self._open = False

    # Called by the owner.

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the axes that the plugin forces on the game for the stack, and pressed keys."""
        others = frozenset(AXES).difference(self.ownership.without_cockpits(None))
        return tuple(name for name in self._outbox.taken.names if name not in others)

    @property
    def owed(self) -> tuple[str, ...]:
        """Return what was given back and is being repeated."""
        return tuple(self._outbox.giving)

    @property
    def leaving(self) -> bool:
        """Return whether stop() still gives back."""
        return self._leaving is not None

    @property
    def left(self) -> Left:
        """Return how the last stop() has ended."""
        return self._left

    def contradictions(self, now: float) -> tuple[str, ...]:
        """Return which action groups the plugin reports otherwise than they were commanded."""
        return tuple(self._report.contradictions(now))

    @property
    def presence(self) -> Presence:
        """Return what a cockpit must know of the game."""
        contact = self.contact
        return Presence(
            contact.connected, contact.profile if contact.finder.confirmed else None,
            contact.game is Game.KSP2, self.peer_state is PeerState.STREAMING)

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return which of the requested channels should arrive in flight."""
        return self.registration.expected

    def missing(self, now: float) -> dict[str, float]:
        """
        Return the channels that are missing, with since when.

        Outside the flight scene none should arrive.
        """
        return self.registration.missing(now) if self.peer_state is PeerState.STREAMING else {}

    @property
    def profile(self) -> Profile | None:
        """Return the profile in use; None with 'auto' until a plugin has answered."""
        return self.contact.profile

    @property
    def game(self) -> Game | None:
        """Return the game behind the plugin, None until it has answered."""
        return self.contact.game

    @property
    def hint(self) -> str:
        """Return what the user should check; empty while all is well."""
        return self.contact.hint

    @property
    def framing(self) -> Counters:
        """Return the counts of packets, and of bytes outside them, in the framing in use."""
        return self.contact.search.counters

    @property
    def round_trip(self) -> float | None:
        """Return how many seconds the last echo took, None before the first."""
        return self.echoes.round_trip

    @property
    def lost_echoes(self) -> int:
        """Return how many echoes in a row, up to the last one, have not come back."""
        return max(0, -self.echoes.streak)

    @property
    def registered(self) -> tuple[int, ...]:
        """Return the ids of the channels registered now."""
        return self.registration.ids

    @property
    def came(self) -> frozenset[str]:
        """Return the names of channels that have ever been received from this plugin."""
        return self.registration.came

    @property
    def unavailable(self) -> tuple[str, ...]:
        """Return the requested channels that plugins of the profile in use do not send."""
        return self.registration.unavailable(self.contact.profile)

    @property
    def withheld(self) -> Counter[str]:
        """Return how many values of axes were withheld, by source: another one holds the axis."""
        return self.ownership.withheld

    def held_by(self, source: str) -> tuple[str, ...]:
        """Return the axes that a source of commands holds."""
        return self.ownership.held_by(source)

    def configure_ownership(
        self, *, rule: str | None = None, threshold: float | None = None,
        lease: float | None = None,
    ) -> None:
        """Change who wins an axis (Ownership); what is not given stays."""
        self.ownership.configure(rule=rule, threshold=threshold, lease=lease)

    @property
    def absence(self) -> str:
        """Return why nothing obeys commands now; empty if something does."""
        contact = self.contact
        if not self._active:
            return 'the session is not started'
        if not self._open:
            return f'{self._name} is not open'
        if not contact.connected:
            if self.peer_state is PeerState.AWAY:
                return f'nothing answers on {self._name}'
            return f'waiting for the first reply on {self._name}'
        if not contact.finder.confirmed:
            return (
                "with profile 'auto' nothing is sent until it is clear which of the older plugins "
                f'answers on {self._name}: to others the same numbers mean something else. '
                f'{contact.hint or "Set the profile to avoid the wait"}')
        if self.peer_state is PeerState.STREAMING:
            return ''
        return self._flight.absence(contact.hint).format(self._name)

    def start(self, now: float) -> None:
        """Begin to talk."""
        if self._leaving is not None:
            self._end_leaving()
        self._left = Left()
        self._active = True
        self._begin(now)

    def stop(self, now: float) -> None:
        """
        Deregister, give back what was taken, by cockpits too, and stop talking.

        A plugin that is silent is sent it too: 0 forces nothing on any.
        """
        if not self._active:
            return
        streaming = self.peer_state is PeerState.STREAMING
        ended = [
            *self.echoes.abandon('the node was deactivated'),
            *self._evidence.abandon('the node was deactivated')]
        self._active = False
        self.ownership.clear()
        self._outbox.give_back(self.contact.profile, now, throttle=self._release_throttle)
        self._outbox.giving.restart(now)
        self._outbox.taken.clear()
        if self._open and (self.contact.connected or self._outbox.giving):
            self._leaving = Leaving(
                now, self.release_timeout, quiet=2.0 * self.contact.usual_gap,
                streaming=streaming, was_away=not self.contact.connected)
            self._expired += self._change(PeerState.LEAVING)
            if self.contact.connected:
                self.echoes.reset(now)
                self._dialogue.say(*self.registration.end())
        else:
            if self.peer_state is PeerState.AWAY:
                self._expired += self._change(PeerState.LEAVING)
            self._end_leaving()
        self._expired += ended

    def _leave(self, now: float) -> None:
        """Go on giving back and deregistering, until all was shown or there is no more time."""
        contact, leaving = self.contact, self._leaving
        assert leaving is not None
        if not contact.connected and contact.search.at is not None and now >= contact.search.at:
            self._dialogue.ask(now)
        given = self._outbox.given(
            contact.profile, now, self.release_timeout, blind=not contact.connected)
        self._dialogue.send(*given)
        if contact.connected and contact.profile is not None:
            self.echoes.give_up(now)
            self._dialogue.send(*self.echoes.start(contact.profile, now))
            if leaving.has_to_deregister(now):
                self._dialogue.say(*self.registration.end())
        if leaving.is_over(self._outbox.giving, now):
            self._end_leaving()

    def _end_leaving(self) -> None:
        """End giving back; note what was not shown."""
        leaving, self._leaving = self._leaving, None
        if leaving is not None:
            self._left = leaving.left(self._name, self.contact.connected and self._open)
        self._outbox.disown()
        self._part()
        self._expired += self._change(
            PeerState.UNKNOWN if self._open else PeerState.CLOSED)

    def set_channels(self, channels: Sequence[ChannelName], now: float) -> None:
        """Register these channels from now on, and deregister all others."""
        self._dialogue.say(*self.registration.change(channels, now))
        if self.contact.connected:
            self.contact.heard_at = now

    def share(
        self, source: str, channels: Sequence[ChannelName], again: Collection[ChannelName],
        now: float,
    ) -> None:
        """
        Register these channels for a cockpit too, whose packets become Shared events.

        Those ``again`` that are sent on change only are requested anew.
        """
        self._dialogue.say(*self.registration.share(source, channels, again, now))

    def let_go(self, source: str, what: str, now: float) -> None:
        """
        Handle that a cockpit is gone, as commands that stop: 'neutral', 'hold' or 'release'.

        Its axes are given back to the game, except the throttle, or with 'release' that too if the
        user chose so; with 'hold' they keep their values.
        """
        axes = self.ownership.release(source)
        if axes and what != 'hold' and self._active:
            self._outbox.give_back(
                self.contact.profile, now, axes,
                throttle=what == 'release' and self._release_throttle)

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
        self, command: Message | Packet | Sequence[Message | Packet], now: float, *,
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
        if absence and (groups or not self.contact.finder.confirmed or not all(
                is_obeyed_anywhere(message, profile) for message in messages)):
            raise PeerAbsentError(f'not sent: {absence}')
        parts = [
            part for message in messages
            for part in prepare(message, profile, agx=self._agx, game=self.contact.game)]
        missing = self._report.missing(groups or {}, now)
        parts += [Part(message, simpit.encode(message, 'bridge', profile)) for message in missing]
        what = what or ', '.join(part.message.tag for part in parts)
        parts = self.ownership.admit_parts(source, parts, now)
        ticket = self._outbox.add(parts, now, what=what, awaited=awaited)
        self._report.queued(groups or {}, missing, now)
        return ticket

    def send_and_see(
        self, command: Message, now: float, *, what: str, shows: Shows
    ) -> int:
        """
        Send a command once; return the ticket of the CommandDone that says what shows it.

        Where nothing shows it the command has ended when it was sent.
        """
        ticket = self.send(command, now, what=what, awaited=True)
        self._evidence.expect(
            ticket, what, shows, requested=self.registration.has_lasting)
        return ticket

    def ping(self, payload: bytes, now: float) -> int:
        """Send an echo request of 1..32 bytes; return the ticket of the EchoDone to come."""
        request = simpit.EchoRequest(bytes(payload))
        return self.echoes.add(
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

        Axes that a cockpit holds stay as they are.

        A plugin that does not answer is given them when it turns out to be the same one.
        """
        if self._active:
            self._outbox.give_back(
                self.contact.profile, now, self.ownership.without_cockpits(axes),
                throttle=axes is None and self._release_throttle)

    def _check_connected(self) -> Profile:
        """Return the profile to send with; raise PeerAbsentError if there is nobody."""
        if not (self._active and self.contact.connected) or self.contact.profile is None:
            raise PeerAbsentError(f'not sent: {self.absence}')
        return self.contact.profile

    # Called by the link.

    def opened(self, now: float) -> None:
        """Start over: the port has been opened, or opened again."""
        self._open = True
        self._begin(now)

    def lost(self, now: float) -> None:
        """Note that the port is gone."""
        self._open = False
        self._dialogue.outgoing()
        if self._leaving is not None:
            self._end_leaving()
        else:
            self._part()
            self._expired += self._change(PeerState.CLOSED)
        self._expired += self.echoes.abandon('the serial port was lost')
        self._expired += self._evidence.abandon('the serial port was lost')

    def receive(
        self, channel: str, data: bytes, sender: Address | None, now: float
    ) -> list[Any]:
        """Process bytes from the port, in pieces of any size; return the resulting events."""
        self.statistics.received += len(data)
        talks = self._active or self._leaving is not None
        if not talks or (not self.contact.connected and not self.contact.search.count):
            self.statistics.drained += len(data)
            return []
        events = self._take_packets(self.contact.search.feed(data, now), now)
        self._look_for_damage(now)
        return events

    def poll(self, now: float) -> list[Outgoing]:
        """Return what to send now."""
        deadlines: list[float | None] = []
        contact, search = self.contact, self.contact.search
        if self._open and self._active:
            self._expired += self._take_packets(search.expire(now), now)
            if contact.finder.settled(search.framing, search.counters.noise_bytes, now):
                self._look(now)
            if contact.is_silent(now) and self.peer_state is PeerState.STREAMING:
                self._expired += self._change(PeerState.ANSWERING)
            self._ask(now)
            self._look_for_damage(now)
            deadlines.append(contact.deadline)
            if contact.connected and contact.profile is not None:
                deadlines.append(self._echo(contact.profile, now))
                if self.peer_state is PeerState.STREAMING:
                    self._dialogue.say(*self.registration.due(now))
                    deadlines.append(self.registration.deadline)
                self._dialogue.send(*self._outbox.given(
                    contact.profile, now, self.release_timeout))
                commands, later = self._outbox.due(contact.profile, now)
                self._dialogue.send(*commands)
                deadlines += [later, self._outbox.giving.deadline]
        if self._open and self._leaving is not None:
            self._expired += self._take_packets(search.expire(now), now)
            self._leave(now)
        if self._leaving is not None:
            deadlines += [
                self._leaving.deadline, self._outbox.giving.deadline, search.deadline,
                self.echoes.deadline if contact.connected else search.at]
        self._expired += self._evidence.sent(self._outbox.ended(), now)
        self._expired += self._evidence.expire(now)
        deadlines.append(self._evidence.deadline)
        if self._expired:
            deadlines.append(now)
        self._deadline = min((at for at in deadlines if at is not None), default=None)
        outgoing = self._dialogue.outgoing()
        return [(CHANNEL, data) for data in outgoing] if self._open else []

    def _look_for_damage(self, now: float) -> None:
        """Request again what may have been lost, if something was damaged on the line."""
        statistics = self.statistics
        damage = statistics.malformed.total + statistics.echoes_lost
        # Plugins 1.2.1 to 1.4 pad their packets.
        if self.contact.profile is not PROFILES['v1']:
            damage += self.contact.search.counters.noise_bytes
        if damage != self._damage and self.peer_state is PeerState.STREAMING:
            self._reception.doubt(now)
        self._damage = damage

    # Handshake.

    def _begin(self, now: float) -> None:
        """Search for a plugin from the start."""
        self._part()
        self._expired += self._change(PeerState.UNKNOWN if self._open else PeerState.CLOSED)
        self._expired += self.echoes.abandon('the conversation was restarted')
        self._expired += self._evidence.abandon('the conversation was restarted')
        if self._open and self._active:
            self.contact.begin(now)

    def _part(self, *, away: bool = False) -> None:
        self._dialogue.part(away=away)
        self._reception.forget()

    def _ask(self, now: float) -> None:
        """Send a SYN when it is due, and notice that nobody answers."""
        contact = self.contact
        if contact.search.at is None or now < contact.search.at:
            return
        if self.peer_state is not PeerState.AWAY and contact.is_lost(now):
            self._part(away=contact.connected)
            contact.hint = without_answer(contact.finder.chosen)
            self._expired += self._change(PeerState.AWAY)
            self._expired += self.echoes.abandon('the plugin stopped responding')
            self._expired += self._evidence.abandon('the plugin stopped responding')
        self._dialogue.ask(now)

    # State of the plugin.

    def _look(self, now: float) -> None:
        """Draw conclusions from the plugin's answers while no telemetry arrives."""
        if not self.contact.connected:
            return
        found = self._recognition.profile(now)
        if found is None:
            self._expired += self._recognition.events(
                now, answering=self.peer_state is PeerState.ANSWERING)
        else:
            self._expired.append(self._dialogue.register(found, now))

    def _change(self, state: PeerState) -> list[Any]:
        if state is self.peer_state:
            return []
        self.peer_state = state
        if state is not PeerState.STREAMING:
            if not self._outbox.taken:
                self.ownership.clear()
            self._reception.forget()
            self._evidence.forget()
            self._outbox.drop(self.absence or self.sentences[state])
        return [PeerChanged(state)]

    def _echo(self, profile: Profile, now: float) -> float:
        """Run the heartbeat and the user's echoes; return when to look again."""
        self._expired += self.echoes.give_up(now)
        if self.echoes.streak <= -2:
            self.contact.finder.doubt()
        self._dialogue.send(*self.echoes.start(profile, now))
        return self.echoes.deadline

    # Reception.

    def _take_packets(self, packets: Iterable[tuple[Framing, Packet]], now: float) -> list[Any]:
        events: list[Any] = []
        for framing, packet in packets:
            profile = self.contact.profile or FIRST_PROFILE[framing]
            events += self._receive_one(framing, (profile, packet), None, now)
        return events

    def _decode(self, channel: str, data: Any) -> tuple[Packet, Message | Packet]:
        profile, packet = data
        return packet, simpit.decode(packet, 'peer', profile)

    def _kind(self, data: Any, error: Exception) -> str:
        profile, packet = data
        return str(profile.find('peer', packet.channel).name)

    def _hear(
        self, channel: str, message: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        packet, message = message
        if self._leaving is not None:
            self._hear_leaving(self._leaving, cast(Framing, channel), packet, message, now)
            return ()
        if isinstance(message, Handshake):
            # Without a SYN it is a late answer to an earlier one.
            if message.handshake == HandshakeType.SYNACK and self.contact.search.count:
                return self._connect(cast(Framing, channel), message, now)
        elif not self.contact.connected:
            self._dialogue.reunion.hear(packet.channel)
        elif isinstance(message, simpit.EchoRequest):
            if self._dialogue.answer_echo(message.payload):
                return ()
        elif isinstance(message, simpit.EchoResponse):
            done = self.echoes.receive(message.payload, now)
            if done is not None:
                self._heard_echo(now)
                return done
        elif packet.channel in self.registration.rows:
            return self._heard_telemetry(packet, message, now)
        self.statistics.unexpected += 1
        return ()

    def _hear_leaving(
        self, leaving: Leaving, framing: Framing, packet: Packet, message: Message | Packet,
        now: float,
    ) -> None:
        """Process a packet while leaving: it shows whether the plugin is there, and sends on."""
        if not self.contact.connected:
            if not isinstance(message, Handshake):
                self._dialogue.reunion.hear(packet.channel)
            elif message.handshake == HandshakeType.SYNACK and self.contact.search.count:
                self._dialogue.send(self.contact.answer(framing, message, now)[1])
                self.contact.connected = True
                if self._dialogue.recognize(now):
                    self.echoes.reset(now)
                else:
                    leaving.hear_another()
                    self._end_leaving()
        elif isinstance(message, simpit.EchoResponse):
            if self.echoes.receive(message.payload, now) is not None:
                leaving.hear_echo(now)
        elif packet.channel in self.registration.rows:
            leaving.hear_telemetry(now)

    def _connect(self, framing: Framing, message: Handshake, now: float) -> list[Any]:
        """Complete the handshake."""
        connected = self._dialogue.answer(framing, message, now)
        if self.peer_state is PeerState.STREAMING:
            return [connected]
        return [*self._change(PeerState.ANSWERING), connected]

    def _heard_echo(self, now: float) -> None:
        """Draw conclusions from an echo that comes back while there is no telemetry."""
        contact = self.contact
        if self.peer_state is not PeerState.ANSWERING or now < contact.heard_at + _ECHO_ALONE:
            return
        contact.finder.echo(now)
        if not contact.finder.confirmed and self._flight.tries < 2:
            self._dialogue.register_again(now)
        self._look(now)

    def _heard_telemetry(
        self, packet: Packet, message: Message | Packet, now: float
    ) -> list[Any]:
        """Process a packet on a registered channel, which also tells about the flight scene."""
        events = self._reception.take(packet, message, now)
        events += self._evidence.hear(message, self.registration.is_lasting(packet.channel))
        flying = self.peer_state is PeerState.STREAMING
        for in_flight in self._flight.heard(message, now, flying=flying):
            events += self._change(PeerState.STREAMING if in_flight else PeerState.ANSWERING)
            self.contact.hint = ''
        return events + self._reception.take_silence(message, now)
