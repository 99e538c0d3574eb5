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

"""Which telemetry channels are wanted, by whom, and which of them a plugin has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import Channel, Profile, PROFILES

# What the session itself has to know: whether the game is in the flight scene, when that or the
# vessel changes, and which action groups are on.
_NEEDED = ('altitude', 'scene_change', 'vessel_change', 'action_status')

ChannelName = str | int


class Channels:
    """
    The channels that the owner and the cockpits want, and what the session needs itself.

    ``rows`` are all of them that plugins of the profile in use have, by id; ids without a name
    have no row.
    """

    def __init__(self, channels: Sequence[ChannelName], chosen: Profile | None) -> None:
        self._chosen = chosen
        check(channels, chosen)
        self._wanted = tuple(channels)
        # What cockpits want, by their names.
        self._shared: dict[str, tuple[ChannelName, ...]] = {}
        self.forget()

    def forget(self) -> None:
        """Forget the profile: the plugin is gone, or another one."""
        self.rows: dict[int, Channel | None] = {}
        self._shown = self._shared_ids = frozenset[int]()

    def want(self, channels: Sequence[ChannelName]) -> None:
        """Want these for the owner from now on; raise ValueError for one that does not exist."""
        check(channels, self._chosen)
        self._wanted = tuple(channels)

    def share(self, source: str, channels: Sequence[ChannelName]) -> None:
        """Want these for a cockpit from now on."""
        self._shared[source] = tuple(channels)
        if not channels:
            del self._shared[source]

    def choose(self, profile: Profile) -> None:
        """Choose what plugins of a profile have."""
        shown = _find_rows(profile, self._wanted)
        shared = _find_rows(profile, chain.from_iterable(self._shared.values()))
        self._shown = frozenset(shown)
        self._shared_ids = frozenset(shared)
        needed = (_find(profile, name) for name in _NEEDED)
        # v1 sends its action status with each frame: too much just for the session's own needs.
        own: dict[int, Channel | None] = {
            row.id: row for row in needed if row and row.sent != 'change'}
        self.rows = shown | shared | own

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
            channel for channel in self._wanted
            if isinstance(channel, str) and _find(profile, channel) is None)

    def is_lasting(self, channel_id: int) -> bool:
        """Return whether plugins send this one on registration and on change."""
        row = self.rows.get(channel_id)
        return row is not None and row.sent == 'subscription'

    def is_unasked(self, channel_id: int) -> bool:
        """
        Return whether plugins send this one on a change only, however often it is requested.

        Of the action status of v1 silence tells (ActionSilence).
        """
        row = self.rows.get(channel_id)
        return row is not None and row.sent == 'change' and row.name != 'action_status'

    def is_steady(self, channel_id: int) -> bool:
        """Return whether plugins send this one continuously, so that its silence shows."""
        row = self.rows.get(channel_id)
        return row is not None and row.sent == 'tick' and not row.at_times

    @property
    def leased(self) -> list[int]:
        """Return those that should arrive in every flight."""
        return [
            channel_id for channel_id, row in self.rows.items()
            if row is not None and not row.at_times and row.sent in ('tick', 'subscription')]

    @property
    def lasting(self) -> list[int]:
        """Return those among them that are sent on registration and on change."""
        return [channel_id for channel_id in self.leased if self.is_lasting(channel_id)]


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


def _find_rows(profile: Profile, channels: Iterable[ChannelName]) -> dict[int, Channel | None]:
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
