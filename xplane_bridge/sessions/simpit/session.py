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

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.simpit import ActionGroup, Message, Packet, Profile
from xplane_bridge.sessions.base import PeerAbsentError
from xplane_bridge.sessions.simpit.advice import without_answer
from xplane_bridge.sessions.simpit.axes import AXES
from xplane_bridge.sessions.simpit.commands import adapt, is_obeyed_anywhere
from xplane_bridge.sessions.simpit.conversation import Conversation
from xplane_bridge.sessions.simpit.events import PeerState


class SimpitSession(Conversation):
    """
    Shake hands with a plugin, keep channels registered, send commands.

    ``channels`` are names of the plugin's channels or ids of 3..254. ``profile`` is one of
    PROFILES, or 'auto': what the plugin does tells which (Generation). ``id_bytes``, at most 31,
    go with SYN and ACK. ``agx`` tells that the game has Action Groups Extended. ``line_rate`` is
    in bytes per second, a tenth of the baud rate. ``heartbeat`` is the time between echo requests
    in seconds. A command waits at most ``lifetime`` seconds. ``release_throttle``: release() and
    stop() also give the throttle to the player's lever, where the plugin can. ``name`` is what
    sentences call the port.

    Everything that sends raises PeerAbsentError while there is no game in the flight scene to
    take it, and ValueError, each with a sentence, if it must not be sent. Raise ValueError for a
    channel or a profile that does not exist.
    """

    # What the owner may ask at any time.

    @property
    def registered(self) -> tuple[int, ...]:
        """Return the ids of the channels registered now."""
        return self._registration.ids

    @property
    def unavailable(self) -> tuple[str, ...]:
        """Return the channels wished for that plugins of the profile in use do not send."""
        return self._registration.unavailable(self.profile)

    @property
    def expected(self) -> tuple[str, ...]:
        """Return which of the channels wished for should come in flight."""
        return self._registration.expected

    def missing(self, now: float) -> dict[str, tuple[float, bool]]:
        """
        Return which channels do not come although they should: since when, and if ever they came.

        Outside the flight scene nothing should come.
        """
        if self.peer_state is not PeerState.STREAMING:
            return {}
        return self._registration.missing(now)

    @property
    def round_trip(self) -> float | None:
        """Return how long the last echo took, in seconds; None if none came back yet."""
        return self._echoes.round_trip

    @property
    def taken(self) -> tuple[str, ...]:
        """Return the axes that the plugin forces upon the game for us."""
        return self._outbox.taken.names

    @property
    def advice(self) -> str:
        """Return what the user should check, empty when all is well."""
        if self.peer_state is PeerState.AWAY:
            return without_answer(self._generation.chosen)
        return self.hint

    # Commands.

    def start(self, now: float) -> None:
        """Begin to talk."""
        self._active = True
        self._become(PeerState.UNKNOWN if self._open else PeerState.CLOSED)
        self._begin(now)

    def stop(self, now: float) -> None:
        """Deregister, give back the axes taken, and stop talking."""
        self.release(now)
        if self._connected:
            self._own(*self._registration.end())
        self._expired += self._echoes.abandon('the node was deactivated')
        self._active = False
        self._disconnect()
        self._become(PeerState.UNKNOWN)

    def set_channels(self, channels: Sequence[str | int], now: float) -> None:
        """Register these channels from now on, and deregister those that are not among them."""
        self._own(*self._registration.change(channels, now))
        if self._connected:
            self._flow_at = now

    def send(
        self, message: Message | Packet, now: float, *, what: str = '', awaited: bool = False
    ) -> int:
        """
        Send a command, or a raw packet; return its ticket.

        Custom action groups leave one a packet; of the values of an axis the newest leaves. A
        CommandDone tells of what was not sent, and of all that is ``awaited``; ``what`` names
        the command there.
        """
        return self.send_all((message,), now, what=what, awaited=awaited)

    def send_all(
        self, messages: Sequence[Message | Packet], now: float, *,
        groups: Mapping[ActionGroup, bool] | None = None, what: str = '', awaited: bool = False,
    ) -> int:
        """
        Send commands as send() does; if one of them is refused, none is sent.

        ``groups`` are action groups that shall be on or off: sent if the plugin reports another
        state, or none.
        """
        profile = self._check_present(messages, bool(groups))
        parts = [
            part for message in messages
            for part in adapt(message, profile, agx=self._agx, game=self.game)]
        parts += self._report.missing(groups or {}, now)
        return self._outbox.add(
            parts, profile, now, what=what or ', '.join(part.tag for part in parts),
            agx=self._agx, awaited=awaited)

    def ping(self, payload: bytes, now: float) -> int:
        """Send an echo request of 1..32 bytes; return the ticket of the EchoDone to come."""
        profile = self._check_connected()
        simpit.encode(simpit.EchoRequest(payload), 'bridge', profile)
        return self._echoes.add(bytes(payload), now)

    def release(self, now: float, axes: Collection[str] | None = None) -> None:
        """
        Give axes back to the game: those of ``axes`` that were taken, by default all.

        The throttle stays as it was last commanded unless all are given back, the user chose to
        release it, and the plugin can let go of it. A plugin that does not answer gets its due
        when it turns out to be the same one.
        """
        profile = self.profile
        if self._connected and profile is not None:
            self._urgent += self._outbox.give_back(
                profile, now, axes, throttle=axes is None and self._release_throttle)
        elif self._active:
            self._owed |= AXES if axes is None else frozenset(axes)

    def _check_connected(self) -> Profile:
        """Return the profile to send with; raise PeerAbsentError if there is nobody."""
        if not self._connected or self.profile is None:
            raise PeerAbsentError(f'not sent: {self._absence()}')
        return self.profile

    def _check_present(self, messages: Iterable[Message | Packet], groups: bool) -> Profile:
        """Return the profile to send with; raise PeerAbsentError if nothing obeys these now."""
        profile = self._check_connected()
        absence = self._absence()
        if absence and (groups or not self._generation.confirmed or not all(
                is_obeyed_anywhere(message, profile) for message in messages)):
            raise PeerAbsentError(f'not sent: {absence}')
        return profile
