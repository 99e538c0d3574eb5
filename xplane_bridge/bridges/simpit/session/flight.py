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

"""Whether the game is in the flight scene, from what it says and what it sends."""

from __future__ import annotations

from collections.abc import Iterable

from xplane_bridge.bridges.sessions.machine import Event
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import Packet, SimpitMessage

SILENCE = 2.0
"""Seconds without telemetry after which the game is not in the flight scene, or gone."""

# A packet or two may still arrive after the game has said that it leaves the flight scene.
_STRAY = 0.5
# After a registration, telemetry would have arrived by now.
_REGISTERED = 1.0


class FlightScene:
    """
    The flight scene of the game: plugins send telemetry in it only, and obey in it only.

    From 2.0 on a scene change says when it is left and when it is ready; otherwise telemetry or
    its silence does. Times are in seconds.
    """

    def __init__(self) -> None:
        # When telemetry, or the first handshake with this plugin, was last received.
        self.telemetry_at = 0.0
        self._registered_at = 0.0
        # How often the channels were registered without any telemetry.
        self._tries = 0
        # Since when the scene has been left, according to the game itself.
        self._left_at: float | None = None

    def meet(self, now: float) -> None:
        """Begin with another plugin."""
        self.telemetry_at = now
        self._tries = 0
        self._left_at = None

    def registered(self, now: float) -> None:
        """Note that all channels have been registered."""
        self._registered_at = now
        self._tries += 1

    @property
    def tries(self) -> int:
        """Return how often the channels were registered without any telemetry."""
        return self._tries

    def is_silent(self, now: float) -> bool:
        """Return whether telemetry is missing although the channels were registered twice."""
        return self._tries > 1 and now >= self._registered_at + _REGISTERED

    def absence(self, hint: str) -> str:
        """Describe the situation while there is no telemetry."""
        if self._left_at is not None:
            return 'the game on {} has left the flight scene'
        if self.telemetry_at <= self._registered_at and not hint:
            return 'waiting for the first telemetry on {}'
        return 'the game on {} is not in the flight scene: no telemetry arrives'

    def on_message(
        self, message: SimpitMessage | Packet, now: float, *, flying: bool
    ) -> Iterable[Event]:
        """
        Process a packet on a registered channel; return what it shows, in order.

        ``flying`` says that telemetry was arriving.
        """
        self.telemetry_at = now
        self._tries = 0
        if isinstance(message, simpit.SceneChange):
            return self._change(message.scene == 0, now, flying)
        if flying or (self._left_at is not None and now < self._left_at + _STRAY):
            return ()
        return (self._enter(now),)

    def _change(self, ready: bool, now: float, flying: bool) -> Iterable[Event]:
        """Yield that the scene is left, and that it is ready: revert, load, menu."""
        if flying or not ready:
            self._left_at = now
        # A scene that is ready was left before, even if that was not heard.
        yield Event.LANDED
        if ready:
            yield self._enter(now)

    def _enter(self, now: float) -> Event:
        """Return whether a flight begins, or what has just been registered arrives."""
        begins = self._left_at is not None or now >= self._registered_at + SILENCE
        self._left_at = None
        return Event.FLYING if begins else Event.HEARD
