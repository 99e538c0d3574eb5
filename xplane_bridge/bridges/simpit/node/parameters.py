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

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from xplane_bridge.bridges.links.ports import check_port
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.controls import CommandParameters
from xplane_bridge.bridges.simpit.protocol import Profile, PROFILES
from xplane_bridge.bridges.simpit.session import AUTO, registrable, RULES

EVERYTHING = '*'
_FASTEST = 4_000_000


@dataclass(frozen=True)
class SimpitParameters(CommandParameters):
    """Parameters of simpit_node."""

    frame_prefix: str = parameter('', 'Prefix of every frame name, for example "uav1/".')
    base_frame: str = parameter('base_link', 'Frame of the vessel: forward, left, up.')
    port: str = parameter(
        '', 'Serial port connected to the plugin: a device (/dev/serial/by-id/... keeps its '
        'name), or a pyserial URL (socket://host:port, rfc2217://host:port). Required.')
    baud: int = parameter(
        115200, "Baud rate, as in the plugin's Settings.cfg.", low=1, high=_FASTEST)
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
    cockpits: tuple[str, ...] = parameter(
        (), 'Serial ports of cockpits to connect to the game through this node, as for port; '
        'with "=PROFILE" appended if the cockpit speaks another one than is recognised, for '
        'example "/dev/ttyACM0=v1".')
    cockpit_bauds: tuple[int, ...] = parameter(
        (115200,), "Baud rates of the cockpits' ports: one for all, or one for each.")
    cockpit_rule: str = parameter(
        'last', 'Who has an axis that both a cockpit and ROS command: who moved it last; the '
        'cockpit while it is deflected; or ROS while it commands it.', choices=RULES, live=True)
    cockpit_threshold: float = parameter(
        0.02, 'How far an axis must differ from where it stood to count as moved, as a share of '
        'full scale: more than the noise of a potentiometer.', low=0.0, high=0.5,
        live=True)
    ports: tuple[str, ...] = parameter(
        (), 'Several games in one process, "name=port" each, in place of port: one node in each '
        'sub-namespace. Parameters of one of them: a section "/name/simpit_node" of the file.')


@dataclass(frozen=True, slots=True)
class CockpitPort:
    """The serial port of a cockpit, its baud rate, and its profile or 'auto'."""

    port: str
    baud: int
    profile: str


def read_cockpits(
    given: SimpitParameters, elsewhere: Collection[str] = ()
) -> tuple[CockpitPort, ...]:
    """
    Return the ports of the cockpits. Raises ValueError if one is invalid or named twice.

    ``elsewhere`` are ports that other nodes of this process use.
    """
    bauds = given.cockpit_bauds
    if len(bauds) == 1:
        bauds *= len(given.cockpits)
    if len(bauds) != len(given.cockpits) and given.cockpits:
        raise ValueError(
            f'parameter cockpit_bauds: {len(bauds)} baud rates for {len(given.cockpits)} '
            'cockpits; give one for all, or one for each')
    found: list[CockpitPort] = []
    for entry, baud in zip(map(str, given.cockpits), bauds, strict=False):
        port, profile = split_cockpit(entry)
        if profile != AUTO and profile not in PROFILES:
            raise ValueError(
                f"parameter cockpits: '{entry}': profile '{profile}' is not one of auto, "
                f'{", ".join(PROFILES)}')
        if not isinstance(baud, int) or isinstance(baud, bool):
            raise ValueError(f'parameter cockpit_bauds: {baud!r} is not a whole number')
        if not 1 <= baud <= _FASTEST:
            raise ValueError(f'parameter cockpit_bauds: {baud} is not in 1 .. {_FASTEST}')
        try:
            check_port(port, baud)
        except ValueError as error:
            raise ValueError(f'parameter cockpits: {error}') from None
        if port in (given.port, *(other.port for other in found)):
            raise ValueError(
                f'parameter cockpits: {port} is already used; each cockpit and the game have a '
                'port of their own')
        if port in elsewhere:
            raise ValueError(
                f"parameter cockpits: {port} belongs to another game's node: give cockpits in a "
                'section "/name/simpit_node" of the parameter file')
        found.append(CockpitPort(port, baud, profile))
    return tuple(found)


def split_cockpit(entry: str) -> tuple[str, str]:
    """Return the port and the profile of a cockpit."""
    port, _, profile = entry.rpartition('=')
    # The options of a URL have equals signs too.
    return (entry, AUTO) if not port or '?' in port else (port, profile)


def read_games(ports: Sequence[object]) -> dict[str, str]:
    """Return the ports of several games by name. Raises ValueError."""
    found: dict[str, str] = {}
    for entry in map(str, ports):
        name, equals, port = entry.partition('=')
        # ROS has no names with two underscores, and hides those that begin with one.
        if not (name.isidentifier() and name.isascii() and equals and port) or (
                name.startswith('_') or '__' in name):
            raise ValueError(
                f"parameter ports: '{entry}': expected name=port, such as left=/dev/ttyUSB0; a "
                'name has letters, digits and single underscores, and begins with a letter')
        if name in found or port in found.values():
            raise ValueError(f"parameter ports: '{entry}': its name or its port occurs twice")
        found[name] = port
    return found


def read_channels(given: SimpitParameters) -> tuple[str | int, ...]:
    """Return the requested channels. Raises ValueError if a pattern matches none."""
    known = dict.fromkeys(
        row.name for profile in read_profiles(given) for row in registrable(profile))
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


def read_profiles(given: SimpitParameters) -> tuple[Profile, ...]:
    """Return the profiles that the plugin may have."""
    return tuple(PROFILES.values()) if given.profile == AUTO else (PROFILES[given.profile],)
