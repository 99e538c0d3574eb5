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

"""The telemetry channels that a device has registered, each a lease."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
import math

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.simpit import (
    Channel,
    Deregister,
    Message,
    Profile,
    PROFILES,
    Register,
)
from xplane_bridge.sessions.leases import Leases

# Without registered telemetry for this long the game is not in the flight scene, or gone.
SILENCE = 2.0
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
# What the session itself has to know: whether the game is in the flight scene, when that or the
# vessel changes, and which action groups are on.
_NEEDED = ('altitude', 'scene_change', 'vessel_change', 'action_status')

ChannelName = str | int


class Registration:
    """
    Keep channels registered, and know which of them are missing.

    A channel that a plugin sends continuously in flight is a lease by time. One that is sent on
    registration and on change is a lease until it has arrived. Channels that depend on a mod or a
    target, or are sent on a change or an event only, may be silent for good reason and are not
    leases. Missing ones are deregistered and registered again, which with every plugin leaves one
    registration and from 2.0 on triggers the value. So is all that is not sent continuously,
    every 30 s, and whenever something suggests that packets were lost (doubt()): a plugin that
    was replaced meanwhile has it not registered, and would never send it. Times are in seconds.
    """

    def __init__(self, channels: Sequence[ChannelName], chosen: Profile | None) -> None:
        self._chosen = chosen
        check(channels, chosen)
        self._channels = tuple(channels)
        self._profile: Profile | None = None
        self._rows: dict[int, Channel | None] = {}
        self._shown: frozenset[int] = frozenset()
        # What cockpits want, by their names.
        self._shared: dict[str, tuple[ChannelName, ...]] = {}
        self._shared_ids: frozenset[int] = frozenset()
        self._leases: Leases[int] = Leases(SILENCE)
        self._came: set[int] = set()
        self._again_at = math.inf
        self._asked_at = self._doubted_at = -math.inf

    @property
    def ids(self) -> tuple[int, ...]:
        """Return the ids registered now."""
        return tuple(sorted(self._rows))

    @property
    def rows(self) -> dict[int, Channel | None]:
        """Return the channels registered now, by id."""
        return self._rows

    def shows(self, channel_id: int) -> bool:
        """Return whether the owner requested this one: others the session registers for itself."""
        return channel_id in self._shown

    def is_shared(self, channel_id: int) -> bool:
        """Return whether a cockpit wants this one."""
        return channel_id in self._shared_ids

    def unavailable(self, profile: Profile | None) -> tuple[str, ...]:
        """Return the requested channels that plugins of a profile do not send."""
        if profile is None:
            return ()
        return tuple(
            channel for channel in self._channels
            if isinstance(channel, str) and _find(profile, channel) is None)

    def forget(self) -> None:
        """Forget what is registered: the plugin is gone, or another one."""
        self._profile = None
        self._rows = {}
        self._shown = self._shared_ids = frozenset()
        self._came.clear()
        self._leases.want((), 0.0)

    def begin(self, profile: Profile, now: float) -> list[Message]:
        """Return what registers everything wanted, after an ACK."""
        self._profile = profile
        self._choose(profile)
        self._want(now)
        self._leases.renew(now)
        # This requests all of them.
        self._leases.due(now)
        self._asked_at, self._again_at = now, now + _EVERY
        return [
            *_deregister(
                (row.id for row in registrable(profile)),
                _COPIES.get(profile.name, _COPIES_LATER)),
            *_register(self._rows)]

    def change(self, channels: Sequence[ChannelName], now: float) -> list[Message]:
        """Return what registers these from now on, and deregisters all others."""
        check(channels, self._chosen)
        self._channels = tuple(channels)
        return self._apply((), now)

    def share(
        self, source: str, channels: Sequence[ChannelName], again: Collection[ChannelName],
        now: float,
    ) -> list[Message]:
        """
        Return what registers these for a cockpit from now on, and deregisters what nobody wants.

        What the profile lacks is left out. Those ``again`` that are sent on change only are
        deregistered and registered, so that their values are sent.
        """
        self._shared[source] = tuple(channels)
        if not channels:
            del self._shared[source]
        return self._apply(again, now)

    def _apply(self, again: Collection[ChannelName], now: float) -> list[Message]:
        if self._profile is None:
            return []
        old = self._rows
        self._choose(self._profile)
        self._want(now)
        new = [channel_id for channel_id in self._rows if channel_id not in old]
        renewed = [
            row.id for row in self._rows.values()
            if row is not None and row.id in old and row.sent == 'subscription'
            and row.name in again]
        self._leases.renew(now, [*new, *renewed])
        # Missing ones are sent along with the new ones.
        self._leases.due(now)
        return [
            *_deregister((channel_id for channel_id in old if channel_id not in self._rows), 1),
            *_register(new), *_anew(renewed)]

    def end(self) -> list[Message]:
        """Return what deregisters everything."""
        return list(_deregister(self._rows, 1))

    def repeat(self) -> list[Message]:
        """Return what registers everything once more: the first time may have been lost."""
        return _anew(list(self._rows))

    def due(self, now: float) -> list[Message]:
        """Return what registers missing channels again, and what may have been lost, in flight."""
        missing = self._leases.due(now)
        if any(self._is_steady(channel_id) for channel_id in missing):
            # The plugin may be another one, which has nothing of it registered.
            self.doubt(now)
        if now < self._again_at:
            return _anew(missing)
        self._again_at = now + (_ONCE_MORE if self._doubted_at > self._asked_at else _EVERY)
        self._asked_at = now
        self._leases.renew(now, self._lasting())
        fleeting = [
            channel_id for channel_id in self._rows
            if channel_id not in self._leases and not self._is_steady(channel_id)]
        return _anew([*dict.fromkeys((*missing, *self._leases.due(now), *fleeting))])

    @property
    def deadline(self) -> float | None:
        """Return when due() may have something."""
        at = self._leases.deadline
        return self._again_at if at is None else min(at, self._again_at)

    def doubt(self, now: float) -> None:
        """Request again what is not sent continuously: some of it may have been lost."""
        self._doubted_at = now
        self._again_at = min(self._again_at, max(now, self._asked_at + _AT_MOST))

    def ask_again(self, now: float) -> None:
        """Request that now: the vessel may be another one."""
        self._again_at = now

    def heard(self, channel_id: int, now: float) -> None:
        """Note that a packet arrived."""
        self._came.add(channel_id)
        self._leases.heard((channel_id,), now)

    def flight_began(self, now: float) -> None:
        """Request everything again, and expect it from now on."""
        self._leases.renew(now)
        self.ask_again(now)

    def missing(self, now: float) -> dict[str, float]:
        """Return the names of missing channels, with since when."""
        return {
            row.name: since for channel_id, since in self._leases.missing(now).items()
            if (row := self._rows[channel_id]) is not None and channel_id in self._shown}

    @property
    def came(self) -> frozenset[str]:
        """Return the names of channels that have ever been received from this plugin."""
        return frozenset(
            row.name for channel_id in self._came
            if (row := self._rows.get(channel_id)) is not None)

    @property
    def expected(self) -> tuple[str, ...]:
        """Return which of the requested channels should arrive in flight."""
        return tuple(
            row.name for channel_id, row in self._rows.items()
            if row is not None and channel_id in self._shown and channel_id in self._leases)

    def _choose(self, profile: Profile) -> None:
        shown = _rows_of(profile, self._channels)
        shared = _rows_of(profile, chain.from_iterable(self._shared.values()))
        self._shown = frozenset(shown)
        self._shared_ids = frozenset(shared)
        needed = (_find(profile, name) for name in _NEEDED)
        # v1 sends its action status with each frame: too much just for the session's own needs.
        own: dict[int, Channel | None] = {
            row.id: row for row in needed if row and row.sent != 'change'}
        self._rows = shown | shared | own

    def _want(self, now: float) -> None:
        leased = [
            channel_id for channel_id, row in self._rows.items()
            if row is not None and not row.at_times and row.sent in ('tick', 'subscription')]
        self._leases.want(leased, now, dict.fromkeys(self._lasting(), math.inf))

    def is_lasting(self, channel_id: int) -> bool:
        """Return whether plugins send this one on registration and on change."""
        row = self._rows.get(channel_id)
        return row is not None and row.sent == 'subscription'

    @property
    def has_lasting(self) -> bool:
        """Return whether one of those is registered that every flight has."""
        return bool(self._lasting())

    def _is_steady(self, channel_id: int) -> bool:
        """Return whether plugins send this one continuously, so that its silence shows."""
        row = self._rows.get(channel_id)
        return row is not None and row.sent == 'tick' and not row.at_times

    def _lasting(self) -> list[int]:
        return [
            channel_id for channel_id, row in self._rows.items()
            if row is not None and not row.at_times and row.sent == 'subscription']


def registrable(profile: Profile) -> tuple[Channel, ...]:
    """Return the channels that plugins of a profile send once they are registered."""
    return tuple(
        row for row in profile.channels
        if row.sender == 'peer' and row.sent not in ('request', 'never'))


def check(channels: Iterable[ChannelName], chosen: Profile | None) -> None:
    """Raise ValueError for a channel that the profile, or with 'auto' every profile, lacks."""
    for channel in channels:
        if isinstance(channel, int):
            if not 3 <= channel <= simpit.MAX_CHANNEL:
                raise ValueError(f'channel {channel}: must be 3..{simpit.MAX_CHANNEL}')
        elif chosen is not None:
            if chosen.named('peer', channel) not in registrable(chosen):
                raise ValueError(f'channel {channel}: plugins {chosen.plugins} never send it')
        elif all(_find(profile, channel) is None for profile in PROFILES.values()):
            raise ValueError(f'channel {channel}: no plugin sends a channel of that name')


def _rows_of(profile: Profile, channels: Iterable[ChannelName]) -> dict[int, Channel | None]:
    """Return those of the channels that the profile's plugins send, and all ids."""
    rows: dict[int, Channel | None] = {}
    for channel in channels:
        if isinstance(channel, int):
            rows[channel] = profile.find('peer', channel)
        elif (row := _find(profile, channel)) is not None:
            rows[row.id] = row
    return rows


def _find(profile: Profile, name: str) -> Channel | None:
    """Return the channel of this name that the profile's plugins send, if they do."""
    return next((row for row in registrable(profile) if row.name == name), None)


def _register(ids: Iterable[int]) -> Iterable[Message]:
    return map(Register, _slices([*ids]))


def _deregister(ids: Iterable[int], copies: int) -> Iterable[Message]:
    return map(Deregister, _slices([*ids] * copies))


def _anew(ids: Sequence[int]) -> list[Message]:
    return [*_deregister(ids, 1), *_register(ids)]


def _slices(ids: Sequence[int]) -> Iterable[bytes]:
    """Split ids into payloads."""
    for start in range(0, len(ids), simpit.MAX_PAYLOAD):
        yield bytes(ids[start:start + simpit.MAX_PAYLOAD])
