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

"""The telemetry channels that a device has registered, each a lease, and what comes on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
import math
from typing import Any

from xplane_bridge.bridges.sessions.base import soonest
from xplane_bridge.bridges.sessions.leases import Leases
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import (
    ActionGroup,
    Deregister,
    Packet,
    Profile,
    PROFILES,
    Register,
    SimpitMessage,
)
from xplane_bridge.bridges.simpit.session.events import Lapsed, Shared, Statistics, Telemetry
from xplane_bridge.bridges.simpit.session.flight import SILENCE
from xplane_bridge.bridges.simpit.session.requests.channels import (
    ChannelName,
    Channels,
    registrable,
)
from xplane_bridge.common.text import printable

# An earlier run that crashed leaves its registrations behind in plugins before 2.0, one copy per
# run, and a deregistration removes one copy. 2.1.0 and 2.1.1 ignore a registration after a SYN
# unless a deregistration precedes it; and any version from 2.0 on that answers a SYN earlier than
# the last one still sends what that one registered (docs/wire/simpit.md, section 2.5).
_COPIES = {'v0': 4, 'v1': 4}
_COPIES_LATER = 1
# What is not sent continuously is requested again: so often without any reason, for a change may
# have been lost unnoticed; at most so often for a reason; and once more after it, as the line may
# still have been bad.
_EVERY, _AT_MOST, _ONCE_MORE = 30.0, 1.0, 3.0
# By channel: other channels whose last value belongs with it. They are sent on change.
_BESIDE = {
    'airspeed': ('atmosphere',),
    'rotation': ('throttle',),
    'throttle': ('rotation',),
    'translation': ('wheel',),
    'wheel': ('translation',),
}
_LASTING = frozenset(name for names in _BESIDE.values() for name in names)
_STATUS_OF_V1 = PROFILES['v1'].named('peer', 'action_status')


class Requests:
    """
    Keep channels registered, know which of them are missing, and make telemetry from packets.

    A channel that a plugin sends continuously in flight is a lease by time. One that is sent on
    registration and on change is a lease until it has arrived. Channels that depend on a mod or a
    target, or are sent on a change or an event only, may be silent for good reason and are not
    leases. Missing ones are deregistered and registered again, which with every plugin leaves one
    registration and from 2.0 on triggers the value. So is all that is not sent continuously,
    every 30 s, and whenever something suggests that packets were lost (doubt()): a plugin that
    was replaced meanwhile has it not registered, and would never send it. Values that are sent on
    change only are valid for one flight of one plugin, and those that no request brings only until
    something suggests a loss. Times are in seconds.
    """

    def __init__(
        self, channels: Sequence[ChannelName], chosen: Profile | None, statistics: Statistics
    ) -> None:
        self._channels = Channels(channels, chosen)
        self._statistics = statistics
        self._profile: Profile | None = None
        self._leases: Leases[int] = Leases(SILENCE)
        self._came: set[int] = set()
        self._lasting: dict[str, SimpitMessage] = {}
        # Names of those that no request brings: which have a value, and which had one.
        self._known: set[str] = set()
        self._unknown: set[str] = set()
        self._news: list[Lapsed] = []
        self._again_at = math.inf
        self._asked_at = self._doubted_at = -math.inf

    @property
    def ids(self) -> tuple[int, ...]:
        """Return the ids registered now."""
        return tuple(sorted(self._channels.rows))

    def __contains__(self, channel_id: int) -> bool:
        """Return whether this one is registered."""
        return channel_id in self._channels.rows

    def name(self, channel_id: int) -> str:
        """Return the name of one that is registered, empty if it has none."""
        row = self._channels.rows.get(channel_id)
        return row.name if row else ''

    def unavailable(self, profile: Profile | None) -> tuple[str, ...]:
        """Return the requested channels that plugins of a profile do not send."""
        return self._channels.unavailable(profile)

    # Requests.

    def forget(self) -> None:
        """Forget what is registered: the plugin is gone, or another one."""
        self._profile = None
        self._channels.forget()
        self._came.clear()
        self._leases.want((), 0.0)
        self.lapse()

    def begin(self, profile: Profile, now: float) -> list[SimpitMessage]:
        """Return what registers everything wanted, after an ACK."""
        self._profile = profile
        self._channels.choose(profile)
        self._want(now)
        self._leases.renew(now)
        # This requests all of them.
        self._leases.due(now)
        self._asked_at, self._again_at = now, now + _EVERY
        return [
            *_deregister(
                (row.id for row in registrable(profile)),
                _COPIES.get(profile.name, _COPIES_LATER)),
            *_register(self._channels.rows)]

    def change(self, channels: Sequence[ChannelName], now: float) -> list[SimpitMessage]:
        """Return what registers these from now on, and deregisters all others."""
        self._channels.want(channels)
        return self._apply((), now)

    def share(
        self, source: str, channels: Sequence[ChannelName], again: Collection[ChannelName],
        now: float,
    ) -> list[SimpitMessage]:
        """
        Return what registers these for a cockpit from now on, and deregisters what nobody wants.

        What the profile lacks is left out. Those ``again`` that are sent on change only are
        deregistered and registered, so that their values are sent.
        """
        self._channels.share(source, channels)
        return self._apply(again, now)

    def _apply(self, again: Collection[ChannelName], now: float) -> list[SimpitMessage]:
        if self._profile is None:
            return []
        old = self._channels.rows
        self._channels.choose(self._profile)
        self._want(now)
        new = [channel_id for channel_id in self._channels.rows if channel_id not in old]
        renewed = [
            row.id for row in self._channels.rows.values()
            if row is not None and row.id in old and row.sent == 'subscription'
            and row.name in again]
        self._leases.renew(now, [*new, *renewed])
        # Missing ones are sent along with the new ones.
        self._leases.due(now)
        return [
            *_deregister((channel_id for channel_id in old if channel_id not in self), 1),
            *_register(new), *_anew(renewed)]

    def end(self) -> list[SimpitMessage]:
        """Return what deregisters everything."""
        return list(_deregister(self._channels.rows, 1))

    def repeat(self) -> list[SimpitMessage]:
        """Return what registers everything once more: the first time may have been lost."""
        return _anew(list(self._channels.rows))

    def due(self, now: float) -> list[SimpitMessage]:
        """Return what registers missing channels again, and what may have been lost, in flight."""
        missing = self._leases.due(now)
        if any(self._channels.is_steady(channel_id) for channel_id in missing):
            # The plugin may be another one, which has nothing of it registered.
            self.doubt(now)
        if now < self._again_at:
            return _anew(missing)
        self._again_at = now + (_ONCE_MORE if self._doubted_at > self._asked_at else _EVERY)
        self._asked_at = now
        self._leases.renew(now, self._channels.lasting)
        fleeting = [
            channel_id for channel_id in self._channels.rows
            if channel_id not in self._leases and not self._channels.is_steady(channel_id)]
        return _anew([*dict.fromkeys((*missing, *self._leases.due(now), *fleeting))])

    @property
    def deadline(self) -> float | None:
        """Return when due() may have something."""
        return soonest(self._leases.deadline, self._again_at)

    def doubt(self, now: float) -> None:
        """Request again what is not sent continuously: some of it may have been lost."""
        self._doubted_at = now
        self._again_at = min(self._again_at, max(now, self._asked_at + _AT_MOST))
        if lapsed := self._lose():
            self._news.append(Lapsed(lapsed))

    def _lose(self) -> tuple[str, ...]:
        """Forget values that may have changed unseen; return the names of their channels."""
        names = tuple(sorted(self._known))
        self._known.clear()
        self._unknown.update(names)
        return names

    def resume(self, now: float) -> None:
        """Request everything again, and expect it from now on: a flight begins."""
        self._leases.renew(now)
        self._again_at = now

    def _want(self, now: float) -> None:
        self._leases.want(
            self._channels.leased, now, dict.fromkeys(self._channels.lasting, math.inf))

    # What arrives, and what does not.

    def missing(self, now: float) -> dict[str, float]:
        """Return the names of missing channels, and since when each is missing."""
        return {
            row.name: since for channel_id, since in self._leases.missing(now).items()
            if (row := self._channels.rows[channel_id]) is not None
            and self._channels.shows(channel_id)}

    @property
    def came(self) -> frozenset[str]:
        """Return the names of channels that have ever been received from this plugin."""
        return frozenset(
            row.name for channel_id in self._came
            if (row := self._channels.rows.get(channel_id)) is not None)

    @property
    def expected(self) -> tuple[str, ...]:
        """Return which of the requested channels should arrive in flight."""
        return tuple(
            row.name for channel_id, row in self._channels.rows.items()
            if row is not None and self._channels.shows(channel_id) and channel_id in self._leases)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return the requested channels whose value was lost, and comes with a change only."""
        return tuple(
            row.name for channel_id, row in self._channels.rows.items()
            if row is not None and row.name in self._unknown and self._channels.shows(channel_id))

    def take_news(self) -> list[Lapsed]:
        """Return which values were lost since the last call."""
        news, self._news = self._news, []
        return news

    def is_lasting(self, channel_id: int) -> bool:
        """Return whether plugins send this one on registration and on change."""
        return self._channels.is_lasting(channel_id)

    @property
    def has_lasting(self) -> bool:
        """Return whether one of those is registered that every flight has."""
        return bool(self._channels.lasting)

    def on_message(self, packet: Packet, message: SimpitMessage | Packet, now: float) -> list[Any]:
        """Process a packet on a registered channel; return its events."""
        name = self.name(packet.channel)
        self._statistics.updates[name or f'channel {packet.channel}'] += 1
        self._came.add(packet.channel)
        self._leases.heard((packet.channel,), now)
        if self._channels.is_unasked(packet.channel):
            self._known.add(name)
            self._unknown.discard(name)
        if isinstance(message, simpit.VesselChange):
            # What is sent on change only may be that of another vessel.
            self._again_at = now
        events: list[Any] = []
        if self._channels.shows(packet.channel):
            events.append(self._telemetry(name, packet, message))
        if self._channels.is_shared(packet.channel):
            events.append(Shared(name, packet))
        return events

    def _telemetry(self, name: str, packet: Packet, message: SimpitMessage | Packet) -> Telemetry:
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

    def tells_silence(self, message: SimpitMessage | Packet) -> bool:
        """Return whether the silence beside this message may say that no action group is on."""
        return (
            self._profile is PROFILES['v1'] and _STATUS_OF_V1.id in self
            and not isinstance(message, simpit.ActionStatus))

    def no_groups(self) -> list[Telemetry]:
        """Return what the silence of v1 implies: no action group is on."""
        if not self._channels.shows(_STATUS_OF_V1.id):
            return []
        return [Telemetry(
            0, {_STATUS_OF_V1.name: simpit.ActionStatus(ActionGroup(0))}, None)]

    def land(self) -> None:
        """Forget values of a flight that is over: none of them was lost."""
        self._known.clear()

    def lapse(self) -> None:
        """Forget values that are sent on change only: the flight may be another one."""
        self._lasting.clear()
        self._lose()


def _register(ids: Iterable[int]) -> Iterable[SimpitMessage]:
    return map(Register, _slices([*ids]))


def _deregister(ids: Iterable[int], copies: int) -> Iterable[SimpitMessage]:
    return map(Deregister, _slices([*ids] * copies))


def _anew(ids: Sequence[int]) -> list[SimpitMessage]:
    return [*_deregister(ids, 1), *_register(ids)]


def _slices(ids: Sequence[int]) -> Iterable[bytes]:
    """Split ids into payloads."""
    for start in range(0, len(ids), simpit.MAX_PAYLOAD):
        yield bytes(ids[start:start + simpit.MAX_PAYLOAD])
