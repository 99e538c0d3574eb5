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

"""Parameters of simpit_node."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from xplane_bridge.nodes.controls import CommandParameters
from xplane_bridge.nodes.parameters import parameter
from xplane_bridge.protocols.simpit import Profile, PROFILES
from xplane_bridge.sessions.simpit import AUTO, registrable

EVERYTHING = '*'


@dataclass(frozen=True)
class SimpitParameters(CommandParameters):
    """Parameters of simpit_node."""

    frame_prefix: str = parameter('', 'Prefix of every frame name, for example "uav1/".')
    base_frame: str = parameter('base_link', 'Frame of the vessel: forward, left, up.')
    port: str = parameter(
        '', 'Serial port connected to the plugin: a device (/dev/serial/by-id/... keeps its '
        'name), or a pyserial URL (socket://host:port, rfc2217://host:port). Required.')
    baud: int = parameter(
        115200, "Baud rate, as in the plugin's Settings.cfg.", minimum=1, maximum=4_000_000)
    profile: str = parameter(
        AUTO, 'Version of the plugin: '
        + ', '.join(f'{profile.name} is {profile.plugins}' for profile in PROFILES.values())
        + '. auto detects the framing immediately, and which of the older ones it is in the '
        'flight scene. cobs is 2.2, 2.3 or KSP2, and sends nothing that harms one of them.',
        choices=(AUTO, *PROFILES))
    channels: tuple[str, ...] = parameter(
        (EVERYTHING,), 'Telemetry to request: channel names, patterns with * and ?, or numbers. '
        '"*" is everything the plugin has.', live=True)
    release_throttle: bool = parameter(
        False, "On release and deactivation, return the throttle to the player's lever too, "
        'which closes it first: the engines stop. Only plugins from 2.3 on can. Otherwise the '
        'throttle stays as last commanded.')
    action_groups_extended: bool = parameter(
        False, 'The game has the mod Action Groups Extended: custom action groups go to 250.')


def channels_of(given: SimpitParameters) -> tuple[str | int, ...]:
    """Return the requested channels. Raises ValueError if a pattern matches none."""
    known = dict.fromkeys(
        row.name for profile in profiles_of(given) for row in registrable(profile))
    found: dict[str | int, None] = {}
    for pattern in given.channels:
        if isinstance(pattern, int) or pattern.isdecimal():
            found[int(pattern)] = None
        elif '*' in pattern or '?' in pattern:
            fitting = [name for name in known if fnmatchcase(name, pattern)]
            if not fitting:
                raise ValueError(
                    f"parameter channels: '{pattern}' matches none of {', '.join(known)}")
            found |= dict.fromkeys(fitting)
        elif pattern:
            found[pattern] = None
    return tuple(found)


def profiles_of(given: SimpitParameters) -> tuple[Profile, ...]:
    """Return the profiles that the plugin may have."""
    return tuple(PROFILES.values()) if given.profile == AUTO else (PROFILES[given.profile],)
