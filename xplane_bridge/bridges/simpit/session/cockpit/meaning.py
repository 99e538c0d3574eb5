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


"""Which profile a cockpit speaks, and its channels by meaning."""

from __future__ import annotations

from collections.abc import Collection
import re

from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import Channel, Framing, Packet, Profile, PROFILES
from xplane_bridge.bridges.simpit.session.requests.channels import registrable

# What the device libraries of 0.6 and 0.7 send behind SYN.
_OLD_ID = bytes((simpit.KSP1_ID,))
_VERSION = re.compile(rb'(\d{1,3})\.(\d{1,3})')
# The library of 1.4.0 calls itself 1.3.0, and so does that of 2.1.0.
_SHARED_VERSION = (1, 3)
_ACTION_STATUS_OF_V1 = PROFILES['v1'].named('peer', 'action_status').id
_NEW_IN_V2 = frozenset(
    row.id for row in PROFILES['v2'].channels if row.sender == 'peer'
    and PROFILES['v1'].find('peer', row.id) is None)


def recognised(
    framing: Framing, rest: bytes, registered: Collection[int], game: Profile | None
) -> Profile:
    """
    Return the profile of a cockpit, by its framing, its SYN and the channels it has registered.

    ``rest`` is what follows the type in its SYN. Where that leaves several, it is the game's
    profile, since the cockpit was made for that; or else the newest of them.
    """
    if framing == 'cobs':
        return game if game is not None and game.framing == 'cobs' else PROFILES['cobs']
    if rest == _OLD_ID:
        return PROFILES['v0']
    if _ACTION_STATUS_OF_V1 in registered:
        return PROFILES['v1']
    if not _NEW_IN_V2.isdisjoint(registered):
        return PROFILES['v2']
    version = _VERSION.match(rest)
    if version and (int(version[1]), int(version[2])) < _SHARED_VERSION:
        return PROFILES['v1']
    return PROFILES['v1'] if game is PROFILES['v1'] else PROFILES['v2']


def named(profile: Profile, name: str) -> Channel | None:
    """Return the channel of this name that the profile's plugins send, if they do."""
    return next((row for row in registrable(profile) if row.name == name), None)


def meaning(profile: Profile, channel_id: int, game: Profile | None) -> str | int | None:
    """
    Return the name of a cockpit's telemetry channel.

    An id without a name has the same meaning in the game's profile only if that is the same one;
    otherwise the result is None.
    """
    row = profile.find('peer', channel_id)
    if row is not None:
        return row.name if row in registrable(profile) else None
    return channel_id if game is profile and channel_id not in (0, 1, 2) else None


def translated(name: str, packet: Packet, profile: Profile, game: Profile | None) -> Packet | None:
    """
    Return a packet of the game for a cockpit, with the cockpit's number; None if it has none.

    The payload is as received. Messages have grown at their end: one that is longer than any
    that the cockpit knows is cut there, one that is shorter than all is not for it.
    """
    if not name:
        known = game is profile and profile.find('peer', packet.channel) is None
        return packet if known else None
    row = named(profile, name)
    if row is None:
        return None
    payload = packet.payload
    if row.sizes and len(payload) not in row.sizes:
        size = max((size for size in row.sizes if size < len(payload)), default=0)
        payload = payload[:size]
    return Packet(row.id, payload) if payload else None
