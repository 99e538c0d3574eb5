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

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.foreign import printable
from xplane_bridge.protocols.simpit import (
    ActionGroup,
    AXES,
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
    Outgoing,
    PeerAbsentError,
    PeerChanged,
    PeerState,
    Session,
    Tickets,
)
from xplane_bridge.sessions.lifetimes import DEFAULT_LIFETIME
from xplane_bridge.sessions.simpit.advice import without_answer
from xplane_bridge.sessions.simpit.commands import is_obeyed_anywhere, Part, prepare
from xplane_bridge.sessions.simpit.contact import Contact, Reunion
from xplane_bridge.sessions.simpit.echo import Echoes
from xplane_bridge.sessions.simpit.events import Connected, Statistics, Telemetry
from xplane_bridge.sessions.simpit.flight import Flight
from xplane_bridge.sessions.simpit.groups import ActionReport
from xplane_bridge.sessions.simpit.lasting import LastingValues
from xplane_bridge.sessions.simpit.outbox import Outbox
from xplane_bridge.sessions.simpit.profiles import AUTO, chosen_profile, FIRST_PROFILE
from xplane_bridge.sessions.simpit.recognition import Recognition
from xplane_bridge.sessions.simpit.registration import ChannelName, Registration

CHANNEL = 'serial'
"""The one channel of a serial link."""

GEAR = 'gear'
"""Among controls: not an axis but an action group, on from 0.5."""

_SURFACES = ('pitch', 'roll', 'yaw')

# An echo that comes back this long after telemetry comes back without it.
_ECHO_ALONE = 0.5
# A plugin asks for one echo at a time; more answers than this do not wait to be written.
_MOST_ANSWERS = 32


class SimpitSession(Session):
    """
    Shake hands with a plugin, keep channels registered, send commands.

    ``channels`` are names of the plugin's channels or ids of 3..254. ``profile`` is one of
    PROFILES, or 'auto': what the plugin does tells which (ProfileFinder). ``id_bytes``, at most
    31, go with SYN and ACK. ``agx`` tells that the game has Action Groups Extended. ``line_rate``
    is in bytes per second, a tenth of the baud rate. ``heartbeat`` is the time between echo
    requests in seconds. A command waits at most ``lifetime`` seconds. ``release_throttle``:
    release() and stop() also give the throttle to the player's lever, where the plugin can.
    ``name`` is what sentences call the port.

    Everything that sends raises PeerAbsentError while there is no game in the flight scene to
    take it, and ValueError, each with a sentence, if it must not be sent. Raises ValueError for a
    channel or a profile that does not exist.
    """

    sentences = {
        PeerState.UNKNOWN: 'nothing heard yet',
        PeerState.CLOSED: 'the serial port is not open',
        PeerState.AWAY: 'no answer to the handshake',
        PeerState.ANSWERING: 'connected, but no telemetry comes',
        PeerState.STREAMING: 'telemetry comes',
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
        self._report = ActionReport()
        self._lasting = LastingValues()
        self._flight = Flight(self.registration, self._report, self._outbox.taken)
        self._recognition = Recognition(self.contact, self.echoes, self._flight)
        self._reunion = Reunion()
        self._urgent: list[bytes] = []
        self._open = False

    # What the owner asks for.

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the axes that the plugin forces upon the game for us."""
        return self._outbox.taken.names

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return which of the channels asked for should come in flight."""
        return self.registration.expected

    def missing(self, now: float) -> dict[str, float]:
        """
        Return the channels that do not come although they should, with since when.

        Outside the flight scene nothing should come.
        """
        return self.registration.missing(now) if self.peer_state is PeerState.STREAMING else {}

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
            return f'waiting for the first answer on {self._name}'
        if not contact.finder.confirmed:
            return (
                "with profile 'auto' nothing is sent before it shows which of the older plugins "
                f'answers on {self._name}: to others the same numbers mean something else. '
                f'{contact.hint or "Set the profile to know it at once"}')
        if self.peer_state is PeerState.STREAMING:
            return ''
        return self._flight.absence(contact.hint).format(self._name)

    def start(self, now: float) -> None:
        """Begin to talk."""
        self._active = True
        self._expired += self._change(PeerState.UNKNOWN if self._open else PeerState.CLOSED)
        self._begin(now)

    def stop(self, now: float) -> None:
        """Deregister, give back the axes taken, and stop talking."""
        self.release(now)
        if self.contact.connected:
            self._own(*self.registration.end())
        self._expired += self.echoes.abandon('the node was deactivated')
        self._active = False
        self._disconnect()
        self._expired += self._change(PeerState.UNKNOWN)

    def set_channels(self, channels: Sequence[ChannelName], now: float) -> None:
        """Register these channels from now on, and deregister those that are not among them."""
        self._own(*self.registration.change(channels, now))
        if self.contact.connected:
            self.contact.heard_at = now

    def set_controls(
        self, controls: Mapping[str, float], now: float, vehicle: int = 0, *,
        what: str = 'controls',
    ) -> None:
        """
        Set axes as the wire has them, and the gear, which is on from 0.5.

        The gear is an action: sent if the plugin reports another state, or none. ``what`` names
        the command for a person.
        """
        axes = {name: value for name, value in controls.items() if name != GEAR}
        gear = controls.get(GEAR)
        self.send(
            simpit.axis_messages(axes), now, what=what,
            groups={} if gear is None else {ActionGroup.GEAR: gear >= 0.5})

    def send(
        self, command: Message | Packet | Sequence[Message | Packet], now: float, *,
        groups: Mapping[ActionGroup, bool] | None = None, what: str = '', awaited: bool = False,
    ) -> int:
        """
        Send a message or a raw packet, or several together or not at all; return the ticket.

        Custom action groups leave one a packet; of the values of an axis the newest leaves.
        ``groups`` are action groups that shall be on or off: sent if the plugin reports another
        state, or none. A CommandDone tells of what was not sent, and of all that is ``awaited``;
        ``what`` names the command there.
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
        parts += [
            Part(message, simpit.encode(message, 'bridge', profile))
            for message in self._report.missing(groups or {}, now)]
        what = what or ', '.join(part.message.tag for part in parts)
        return self._outbox.add(parts, now, what=what, awaited=awaited)

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
        Give all axes that were taken back to the game.

        The throttle stays as it was last commanded unless the user chose to release it, and the
        plugin can let go of it.
        """
        self.give_back(None, now)

    def give_back(self, axes: Collection[str] | None, now: float) -> None:
        """
        Give back those of ``axes`` that were taken, but not the throttle; with None all.

        A plugin that does not answer gets its due when it turns out to be the same one.
        """
        profile = self.contact.profile
        if self.contact.connected and profile is not None:
            self._urgent += self._outbox.give_back(
                profile, now, axes, throttle=axes is None and self._release_throttle)
        elif self._active:
            self._reunion.owed |= AXES.keys() if axes is None else frozenset(axes)

    def _check_connected(self) -> Profile:
        """Return the profile to send with; raise PeerAbsentError if there is nobody."""
        if not self.contact.connected or self.contact.profile is None:
            raise PeerAbsentError(f'not sent: {self.absence}')
        return self.contact.profile

    # What the link calls.

    def opened(self, now: float) -> None:
        """Begin anew: the port has been opened, or opened again."""
        self._open = True
        self._expired += self._change(PeerState.UNKNOWN)
        self._begin(now)

    def lost(self, now: float) -> None:
        """Take note that the port is gone."""
        self._open = False
        self._urgent.clear()
        self._expired += self.echoes.abandon('the serial port was lost')
        self._disconnect()
        self._expired += self._change(PeerState.CLOSED)

    def receive(
        self, channel: str, data: bytes, sender: Address | None, now: float
    ) -> list[Any]:
        """Take bytes of the port, in whatever pieces they come; return the events they cause."""
        self.statistics.received += len(data)
        if not self._active or (not self.contact.connected and not self.contact.search.count):
            self.statistics.drained += len(data)
            return []
        return self._take_packets(self.contact.search.feed(data, now), now)

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
            deadlines.append(contact.deadline)
            if contact.connected and contact.profile is not None:
                deadlines.append(self._echo(contact.profile, now))
                if self.peer_state is PeerState.STREAMING:
                    self._own(*self.registration.due(now))
                    deadlines.append(self.registration.deadline)
                commands, later = self._outbox.due(contact.profile, now)
                self._urgent += commands
                deadlines.append(later)
        self._expired += self._outbox.ended()
        if self._expired:
            deadlines.append(now)
        self._deadline = min((at for at in deadlines if at is not None), default=None)
        outgoing: list[Outgoing] = (
            [(CHANNEL, data) for data in self._urgent] if self._open else [])
        self._urgent.clear()
        return outgoing

    # The handshake.

    def _begin(self, now: float) -> None:
        """Search for a plugin from the start."""
        self._disconnect()
        self._expired += self.echoes.abandon('the conversation began anew')
        if self._open and self._active:
            self.contact.begin(now)

    def _disconnect(self, *, away: bool = False) -> None:
        """Forget the plugin: the next one may be another; ``away``: it may be the same too."""
        self._reunion = Reunion(self.registration.ids if away else ())
        if not away:
            self._outbox.taken.clear()
        self.contact.part()
        self.registration.forget()
        self._report.forget()

    def _ask(self, now: float) -> None:
        """Send a SYN when it is time, and notice that nobody answers."""
        contact = self.contact
        if contact.search.at is None or now < contact.search.at:
            return
        if self.peer_state is not PeerState.AWAY and contact.is_lost(now):
            self._disconnect(away=contact.connected)
            contact.hint = without_answer(contact.finder.chosen)
            self._expired += self.echoes.abandon('the plugin stopped responding')
            self._expired += self._change(PeerState.AWAY)
        self._urgent.append(contact.syn(now))
        self.statistics.syns += 1

    def _synack(self, framing: Framing, message: Handshake, now: float) -> list[Any]:
        """Complete the handshake: ACK, then the channels wanted."""
        contact = self.contact
        if not contact.search.count:
            # The answer to an earlier SYN, late.
            self.statistics.unexpected += 1
            return []
        profile, ack = contact.answer(framing, message, now)
        if not contact.connected:
            self._meet(profile, now)
        self.statistics.handshakes += 1
        self._urgent.append(ack)
        events = self._register(profile, now)
        if self.peer_state is not PeerState.STREAMING:
            events += self._change(PeerState.ANSWERING)
        return events

    def _meet(self, profile: Profile, now: float) -> None:
        """Begin with a plugin: give back what it is owed if it is the same, or else nothing."""
        self.echoes.reset(now)
        self.contact.connected = True
        self.contact.hint = ''
        self._flight.meet(now)
        if self._reunion.is_same:
            self._urgent += self._outbox.give_back(profile, now, self._reunion.owed)
        else:
            self._outbox.taken.clear()
        self._reunion = Reunion()

    def _register(self, profile: Profile, now: float) -> list[Any]:
        """Register all that is wanted, as the profile has it."""
        self._own(*self.registration.begin(profile, now))
        self._flight.registered(now)
        self._lasting.forget()
        assert self.contact.game is not None
        return [Connected(profile.name, self.contact.game)]

    def _own(self, *messages: Message) -> None:
        """Send messages of the session's own, before all commands."""
        profile = self.contact.profile
        if profile is not None:
            self._urgent += [simpit.encode(message, 'bridge', profile) for message in messages]

    # How the plugin seems.

    def _look(self, now: float) -> None:
        """Conclude what can be from answers of the plugin while no telemetry comes."""
        if not self.contact.connected:
            return
        found = self._recognition.profile(now)
        self._expired += self._register(found, now) if found else self._recognition.events(
            now, answering=self.peer_state is PeerState.ANSWERING)

    def _change(self, state: PeerState) -> list[Any]:
        if state is self.peer_state:
            return []
        self.peer_state = state
        if state is not PeerState.STREAMING:
            self._report.forget()
            self._lasting.forget()
            self._outbox.drop(self.absence or self.sentences[state])
        return [PeerChanged(state)]

    def _echo(self, profile: Profile, now: float) -> float:
        """Run the heartbeat and the user's echoes; return when to look again."""
        self._expired += self.echoes.give_up(now)
        if self.echoes.streak <= -2:
            self.contact.finder.doubt()
        self._urgent += self.echoes.start(profile, now)
        return self.echoes.deadline

    # What is received.

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

    def _take(
        self, channel: str, message: Any, sender: Address | None, now: float
    ) -> Sequence[Any]:
        packet, message = message
        if isinstance(message, Handshake):
            if message.handshake == HandshakeType.SYNACK:
                return self._synack(cast(Framing, channel), message, now)
        elif not self.contact.connected:
            self._reunion.hear(packet.channel)
        elif isinstance(message, simpit.EchoRequest):
            if len(self._urgent) < _MOST_ANSWERS:
                self._own(simpit.EchoResponse(message.payload))
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

    def _heard_echo(self, now: float) -> None:
        """Draw conclusions from an echo that comes back while there is no telemetry."""
        contact = self.contact
        if self.peer_state is not PeerState.ANSWERING or now < contact.heard_at + _ECHO_ALONE:
            return
        contact.finder.echo(now)
        if not contact.finder.confirmed and self._flight.tries < 2:
            self._own(*self.registration.repeat())
            self._flight.registered(now)
        self._look(now)

    def _heard_telemetry(
        self, packet: Packet, message: Message | Packet, now: float
    ) -> list[Any]:
        """Take a packet on a registered channel; it is a sign of life, and of the flight scene."""
        row = self.registration.rows[packet.channel]
        name = row.name if row else ''
        if isinstance(message, simpit.SphereOfInfluence | simpit.VesselName):
            message = replace(message, text=printable(message.text))
        self.contact.heard(now)
        self.statistics.updates[name or f'channel {packet.channel}'] += 1
        self.registration.heard(packet.channel, now)
        events: list[Any] = self.contact.finder.telemetry(name)
        if self.registration.shows(packet.channel):
            events.append(
                Telemetry(0, {}, packet) if isinstance(message, Packet) else
                Telemetry(0, {name: message}, packet, self._lasting.heard(name, message)))
        flying = self.peer_state is PeerState.STREAMING
        for in_flight in self._flight.heard(message, now, flying=flying):
            events += self._change(PeerState.STREAMING if in_flight else PeerState.ANSWERING)
            self.contact.hint = ''
        if self.contact.profile is PROFILES['v1'] and not isinstance(message, simpit.ActionStatus):
            events += self._heard_quiet(now)
        return events

    def _heard_quiet(self, now: float) -> list[Telemetry]:
        """Tell from the silence of v1 that no action group is on."""
        row = PROFILES['v1'].named('peer', 'action_status')
        if row.id not in self.registration.rows or not self._report.heard_other(now):
            return []
        return [Telemetry(0, {row.name: simpit.ActionStatus(ActionGroup(0))}, None)]
