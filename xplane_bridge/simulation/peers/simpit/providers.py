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

"""The telemetry providers of the simulated plugin: values and timing."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
import math

from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import Channel, Packet, Profile, SimpitMessage

# Seconds for one round of all telemetry; fixed in v0, a setting later (docs/wire/simpit.md,
# section 2.6).
_REFRESH = {'v0': 0.08}
_REFRESH_LATER = 0.125
# Their providers start each flight scene with all groups off, and send nothing while they are.
_BEGIN_OFF = ('action_status', 'custom_action_group_status')


def is_sent_each_frame(row: Channel) -> bool:
    """Return whether this is the action status of v1, sent each frame while a group is on."""
    return row.name == 'action_status' and row.sent == 'change'


class Providers:
    """
    The values of all channels, and the rounds in which the periodic ones are sent.

    ``refresh`` is the time for one round in seconds, None for the plugins' own.
    """

    def __init__(self, profile: Profile, refresh: float | None) -> None:
        self._profile = profile
        self._refresh = (
            _REFRESH.get(profile.name, _REFRESH_LATER) if refresh is None else refresh)
        self._values: dict[int, Packet] = {}
        self._air = simpit.Atmosphere(0, 0.0, 0.0, 0.0)
        self._ticks = tuple(row for row in profile.channels if row.sent == 'tick')
        self._due: dict[int, float] = {}

    def value(self, channel_id: int) -> Packet | None:
        """Return the current value of a channel."""
        return self._values.get(channel_id)

    def provide(self, message: SimpitMessage) -> tuple[Packet, bool]:
        """
        Set the value of a channel; return its packet, and whether to send it at once.

        Raises ValueError if the profile has no such channel or not with these fields.
        """
        if isinstance(message, simpit.Atmosphere):
            message = self._breathe(message)
        packet = simpit.encode_packet(message, 'peer', self._profile)
        row = self._profile.named('peer', message.channel)
        changed = self._values.get(row.id) != packet
        self._values[row.id] = packet
        return packet, (
            changed and row.sent in ('change', 'subscription') and not is_sent_each_frame(row))

    def _breathe(self, air: simpit.Atmosphere) -> simpit.Atmosphere:
        """Return what is sent: at a body without an atmosphere the fields keep their values."""
        if air.flags & simpit.AtmosphereFlags.HAS_ATMOSPHERE:
            self._air = air
        return replace(self._air, flags=air.flags)

    def withdraw(self, name: str) -> None:
        """Remove the value of a channel."""
        self._values.pop(self._profile.named('peer', name).id, None)

    def begin_flight(self) -> Iterator[Packet]:
        """Restart; yield what is sent when the flight scene starts."""
        for row in self._profile.channels:
            packet = self._values.get(row.id) if row.sender == 'peer' else None
            if packet is not None and self._begins_with(row, packet):
                yield packet

    def _begins_with(self, row: Channel, packet: Packet) -> bool:
        """Return whether a channel's provider sends this value when the flight scene starts."""
        if row.name in _BEGIN_OFF:
            return row.sent == 'subscription' and any(packet.payload)
        if row.message is simpit.SasInfo:
            return packet.payload != b'\xff\0\0'
        return row.sent == 'subscription'

    def forget_rounds(self) -> None:
        """Restart the rounds."""
        self._due.clear()

    def due(
        self, wanted: Container[int], epoch: float, now: float
    ) -> tuple[list[Packet], float | None]:
        """Return the wanted channels that are due, and when the next one is."""
        packets: list[Packet] = []
        later: list[float] = []
        for index, row in enumerate(self._ticks):
            packet = self._values.get(row.id)
            if packet is None or row.id not in wanted:
                self._due.pop(row.id, None)
                continue
            phase = epoch + index * self._refresh / len(self._ticks)
            due = self._due.get(row.id)
            if due is not None and now >= due:
                packets.append(packet)
            if due is None or now >= due:
                rounds = math.floor((now - phase) / self._refresh + 1e-9) + 1
                due = self._due[row.id] = phase + rounds * self._refresh
            later.append(due)
        return packets, min(later, default=None)
