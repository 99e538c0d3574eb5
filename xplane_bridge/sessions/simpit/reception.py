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

"""Packets on the registered channels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.foreign import printable
from xplane_bridge.protocols.simpit import ActionGroup, Message, Packet, PROFILES
from xplane_bridge.sessions.simpit.contact import Contact
from xplane_bridge.sessions.simpit.events import Shared, Statistics, Telemetry
from xplane_bridge.sessions.simpit.registration import Registration
from xplane_bridge.sessions.simpit.reports import ActionReport

# By channel: other channels whose last value belongs with it. They are sent on change.
_BESIDE = {
    'airspeed': ('atmosphere',),
    'rotation': ('throttle',),
    'throttle': ('rotation',),
    'translation': ('wheel',),
    'wheel': ('translation',),
}
_LASTING = frozenset(name for names in _BESIDE.values() for name in names)


class Reception:
    """
    Make telemetry from packets, and remember values that are sent on change only.

    These are valid for one flight of one plugin.
    """

    def __init__(
        self, contact: Contact, registration: Registration, report: ActionReport,
        statistics: Statistics,
    ) -> None:
        self._contact = contact
        self._registration = registration
        self._report = report
        self._statistics = statistics
        self._lasting: dict[str, Message] = {}

    def forget(self) -> None:
        """Forget the values: the flight or the plugin may be another one."""
        self._lasting.clear()
        self._report.forget()

    def doubt(self, now: float) -> None:
        """Request again what is sent on change: packets seem to have been lost."""
        self._registration.doubt(now)
        # v1 repeats its report in each frame, or none: that is told by silence.
        if self._contact.profile is not PROFILES['v1']:
            self._report.doubt()

    def take(self, packet: Packet, message: Message | Packet, now: float) -> list[Any]:
        """Process a packet on a registered channel, which is a sign of life; return its events."""
        row = self._registration.rows[packet.channel]
        name = row.name if row else ''
        if self._contact.heard(now):
            self.doubt(now)
        self._statistics.updates[name or f'channel {packet.channel}'] += 1
        self._registration.heard(packet.channel, now)
        events: list[Any] = self._contact.finder.telemetry(name)
        if self._registration.shows(packet.channel):
            events.append(self._telemetry(name, packet, message))
        if self._registration.is_shared(packet.channel):
            events.append(Shared(name, packet))
        return events

    def take_silence(self, message: Message | Packet, now: float) -> list[Telemetry]:
        """Infer from the silence of v1 beside this message that no action group is on."""
        profile = self._contact.profile
        if profile is not PROFILES['v1'] or isinstance(message, simpit.ActionStatus):
            return []
        row = profile.named('peer', 'action_status')
        if row.id not in self._registration.rows or not self._report.heard_other(now):
            return []
        if not self._registration.shows(row.id):
            return []
        return [Telemetry(0, {row.name: simpit.ActionStatus(ActionGroup(0))}, None)]

    def _telemetry(self, name: str, packet: Packet, message: Message | Packet) -> Telemetry:
        if isinstance(message, Packet):
            return Telemetry(0, {}, packet)
        if isinstance(message, simpit.SphereOfInfluence | simpit.VesselName):
            message = replace(message, text=printable(message.text))
        if name in _LASTING:
            self._lasting[name] = message
        beside = {
            other: self._lasting[other] for other in _BESIDE.get(name, ())
            if other in self._lasting}
        return Telemetry(0, {name: message}, packet, beside)
