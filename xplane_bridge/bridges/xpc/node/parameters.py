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

"""Parameters of xpc_node."""

from __future__ import annotations

from dataclasses import dataclass

from xplane_bridge.bridges.nodes.common.lists import watched
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.namespaces import check_namespaces
from xplane_bridge.bridges.nodes.vehicle.publisher import VehicleParameters
from xplane_bridge.bridges.nodes.vehicle.traffic import TrafficParameters
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import check_watched, PluginVersion


@dataclass(frozen=True)
class XpcParameters(TrafficParameters, VehicleParameters):
    """Parameters of xpc_node."""

    host: str = parameter('127.0.0.1', "Address or name of X-Plane's computer.")
    port: int = parameter(
        xpc.PORT, 'UDP port of the plugin.', low=1, high=65535)
    bind_address: str = parameter(
        '', 'Local address to send from and listen on; empty lets the routing decide.')
    rate: float = parameter(
        50.0, 'Updates per second and aircraft; 0 is one per frame of the simulator.',
        low=0.0, high=2000.0)
    aircraft: tuple[int, ...] = parameter(
        (0,), "Numbers of the aircraft to bridge, 0..19; 0 is the user's. The others appear "
        'below aircraft_<number>/, unless namespaces says otherwise.')
    namespaces: tuple[str, ...] = parameter(
        (), 'Namespace of each of aircraft, below that of the node. Empty: none for 0, and '
        'aircraft_<number> for the others.')
    derive: bool = parameter(
        False, 'Derive what X-Plane does not report of the others: rates and forces from '
        "successive states, air data from the air at the user's aircraft.")
    max_datagrams_per_second: float = parameter(
        240.0, 'Datagrams per second to send in all. The plugin drops everything when 20 arrive '
        'in one frame: stay well below 20 times the lowest frame rate.', low=10.0,
        high=100000.0)
    plugin: str = parameter(
        'auto', 'Version of the plugin; auto detects it, but cannot tell develop from rc6.',
        choices=('auto', *(plugin_version.value for plugin_version in PluginVersion)))
    specific_force: str = parameter(
        'g_loads', 'Source of the linear acceleration in imu/data: the three g loads, or the '
        'acceleration along the local axes and gravity.', choices=('g_loads', 'acceleration'))
    stamp: str = parameter(
        'receive', 'Stamps of messages: the time when the kernel received the datagram, or the '
        "simulator's own time, which is then published on /clock.",
        choices=('receive', 'simulator'))
    lockstep: bool = parameter(
        False, 'The simulator waits for command/controls in each frame (simulator_node with '
        'lockstep): poll after each command, instead of at rate.')
    override_joystick: bool = parameter(
        False, "Keep the joystick of the simulator's user from overwriting commands, from the "
        'first command to deactivation.')
    datarefs: tuple[str, ...] = parameter(
        (), 'Names of additional datarefs to publish on datarefs, at most 3000.', live=True)
    datarefs_rate: float = parameter(
        10.0, 'Updates of datarefs per second.', low=0.01, high=1000.0, live=True)

    def __post_init__(self) -> None:
        """Check combinations of values."""
        VehicleParameters.__post_init__(self)
        if not self.aircraft:
            raise ValueError('parameter aircraft: at least one number is needed')
        for number in self.aircraft:
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 19:
                raise ValueError(
                    f'parameter aircraft: {number!r} is not in 0..19; X-Plane crashes on others')
        if len(set(self.aircraft)) != len(self.aircraft):
            raise ValueError(f'parameter aircraft: {list(self.aircraft)} names one twice')
        check_namespaces(self.namespaces, len(self.aircraft), 'of aircraft')
        try:
            check_watched(watched(self.datarefs))
        except (ValueError, TypeError) as error:
            raise ValueError(f'parameter datarefs: {error}') from error

    def prefix_of(self, number: int) -> str:
        """Return the prefix of the topics of one of the bridged aircraft."""
        if self.namespaces:
            return f'{self.namespaces[self.aircraft.index(number)]}/'
        return f'aircraft_{number}/' if number else ''
