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

"""Parameters of xplane_udp_node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xplane_bridge.bridges.conversions.xplane.traffic import (
    FIRST_VERSION,
    MOST_TARGETS,
    no_targets,
)
from xplane_bridge.bridges.nodes.common.lists import check_count, watched
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.publisher import VehicleParameters
from xplane_bridge.bridges.nodes.vehicle.traffic import TrafficParameters
from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS
from xplane_bridge.bridges.xplane_udp import protocol as xplane_udp
from xplane_bridge.bridges.xplane_udp.protocol import VERSIONS, web_api
from xplane_bridge.bridges.xplane_udp.session import check_rows, check_watched

# Its times row has no total time.
_WITHOUT_TIME = 7
_MOST_WEB_DATAREFS = 50


@dataclass(frozen=True)
class XplaneUdpParameters(TrafficParameters, VehicleParameters):
    """Parameters of xplane_udp_node."""

    host: str = parameter('127.0.0.1', "Address or name of X-Plane's computer.")
    port: int = parameter(
        xplane_udp.PORT, 'UDP port that X-Plane listens on.', low=1, high=65535)
    peer_port: int = parameter(
        0, 'UDP port that X-Plane sends from; 0 learns it from the first reply, until X-Plane is '
        'silent; -1 accepts any port of its computer.', low=-1, high=65535)
    bind_address: str = parameter(
        '', 'Local address to send from and listen on; empty lets the routing decide.')
    discover: bool = parameter(
        False, 'Take host and port from the beacon of X-Plane 10 and later, and follow it.')
    version: str = parameter(
        'auto', 'Version of X-Plane. auto queries 10 and later, and recognises 6 to 9 by the rows '
        'that they send.', choices=('auto', *map(str, VERSIONS)))
    telemetry: str = parameter(
        'auto', 'Source of telemetry: datarefs (10 and later) or rows (before), or rows in '
        'any version.', choices=('auto', 'rows'))
    rate: float = parameter(
        50.0, 'Updates per second, by datarefs. Rows arrive as often as X-Plane is set to send '
        'them.', low=1.0, high=1000.0)
    data_port: int = parameter(
        49003, 'Local UDP port for rows. X-Plane 6 sends to 49000 only.',
        low=1, high=65535)
    set_data_target: bool = parameter(
        True, 'Tell X-Plane 9 and later to send rows here; false leaves that to its settings.')
    data_rows: tuple[int, ...] = parameter(
        (), 'Numbers of additional rows, 0..200, to select and publish on data_rows.', live=True)
    byte_order: str = parameter(
        'auto', "Byte order of rows: that of X-Plane's computer, big for an old Mac. auto learns "
        'it from the rows received, and begins with little.', choices=('auto', 'little', 'big'))
    trailer: str = parameter(
        'auto', 'Whether packets sent to X-Plane 6 and 7 end with a trailer byte; auto: with for '
        '6, without for 7.', choices=('auto', 'with', 'without'))
    pacing: float = parameter(
        0.01, 'Seconds between two datagrams to X-Plane, which loses some of those sent back to '
        'back. Controls do not wait from 10 on.', low=0.0, high=1.0)
    command_rows: str = parameter(
        'trim', 'What command/controls moves in X-Plane 6 to 9: the trims, or the joystick, which '
        "locks the user's own out until X-Plane is restarted.", choices=('trim', 'joystick'))
    override_joystick: bool = parameter(
        True, "Keep the joystick of the simulator's user from overwriting commands (10 and "
        'later), from the first command to deactivation.')
    pose_message: str = parameter(
        'auto', 'What command/pose sends: VEHS moves once (12), VEHX moves and stops the flight '
        'model until deactivation, PREL starts a flight there, level. auto: VEHS in 12, else '
        'PREL.', choices=('auto', 'vehs', 'vehx', 'prel'))
    specific_force: str = parameter(
        'g_loads', 'Source of the linear acceleration in imu/data: the three g loads, or the '
        'acceleration along the local axes and gravity.', choices=('g_loads', 'acceleration'))
    stamp: str = parameter(
        'receive', 'Stamps of messages: the time when the kernel received the datagram, or the '
        "simulator's own time, which is then published on /clock.",
        choices=('receive', 'simulator'))
    web_host: str = parameter(
        '', "Address or name at which X-Plane's Web API (12.1.4 and later) is reached; empty: "
        'that of X-Plane. X-Plane serves it to its own computer only.')
    web_port: int = parameter(
        web_api.PORT, 'TCP port of the Web API; 0 does not use it.', low=0, high=65535)
    web_timeout: float = parameter(
        5.0, 'Seconds within which the Web API must have answered a request, and shown that a '
        'command is released; a flight has 120.', low=0.1, high=60.0)
    web_press: float = parameter(
        0.5, 'Where wsproto is not installed: longest single press of a held command in seconds; '
        'X-Plane releases it that soon after its end.', low=0.1, high=web_api.LONGEST_PRESS)
    web_datarefs: tuple[str, ...] = parameter(
        (), 'Names of datarefs to publish on dataref_values by the WebSocket of the Web API, at '
        'most 50: doubles, whole arrays and text; name[3] is an element of an array.', live=True)
    datarefs: tuple[str, ...] = parameter(
        (), 'Names of additional datarefs to publish on datarefs, at most 1000; name[3] is an '
        'element of an array.', live=True)
    datarefs_rate: float = parameter(
        10.0, 'Updates of datarefs per second.', low=1.0, high=1000.0, live=True)
    traffic: int = parameter(
        0, 'TCAS targets of X-Plane 11.50 and later to publish on traffic, from its number 1 on; '
        '0 is none. Each is asked for by 15 datarefs.', low=0, high=MOST_TARGETS,
        live=True)

    def __post_init__(self) -> None:
        """Check combinations of values."""
        VehicleParameters.__post_init__(self)
        for row in self.data_rows:
            if isinstance(row, bool) or not isinstance(row, int):
                raise ValueError(f'parameter data_rows: {row!r} is no row number')
        _check('data_rows', check_rows, set(self.data_rows))
        _check('datarefs', check_watched, watched(self.datarefs))
        _check('web_datarefs', check_web_datarefs, watched(self.web_datarefs))
        if any(self.web_datarefs) and not self.web_port:
            raise ValueError('parameter web_datarefs: web_port is 0; set it as well')
        if self.discover and self.capture_file:
            raise ValueError('parameter discover: a capture has no live beacon; set host')
        if self.traffic and self.number is not None and self.number < FIRST_VERSION:
            raise ValueError(f'parameter traffic: {no_targets(self.number)}')
        if self.number is not None and self.number < FIRST_WITH_DATAREFS:
            if self.discover:
                raise ValueError(
                    f'parameter discover: X-Plane {self.version} has no beacon; set host')
            if any(self.datarefs):
                raise ValueError(
                    f'parameter datarefs: X-Plane {self.version} sends rows only; see data_rows')
            if self.stamp == 'simulator' and self.number == _WITHOUT_TIME:
                raise ValueError(
                    f'parameter stamp: X-Plane {self.version} does not send its time; use receive')

    @property
    def number(self) -> int | None:
        """Return the version, None for auto."""
        return None if self.version == 'auto' else int(self.version)

    @property
    def needs_rows(self) -> bool:
        """Return whether to listen for rows from the start."""
        return (self.telemetry == 'rows' or any(True for _ in self.data_rows)
                or self.number is None or self.number < FIRST_WITH_DATAREFS)


def check_web_datarefs(names: Sequence[str]) -> None:
    """Raise ValueError for names that cannot be asked for by the Web API."""
    check_count('names', len(names), _MOST_WEB_DATAREFS)
    for name in names:
        web_api.check_name(name)


def _check(what: str, check: Callable[[Any], None], given: Any) -> None:
    try:
        check(given)
    except (ValueError, TypeError) as error:
        raise ValueError(f'parameter {what}: {error}') from error
