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

"""Parameters of fdmdata_node."""

from __future__ import annotations

from dataclasses import dataclass

from xplane_bridge.bridges.fdmdata import conversion as huginn
from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.publisher import VehicleParameters

RPC_PORT = 10500


@dataclass(frozen=True)
class FdmdataParameters(VehicleParameters):
    """Parameters of fdmdata_node."""

    host: str = parameter('127.0.0.1', "Address or name of Huginn's computer.")
    data_port: int = parameter(
        fdmdata.DATA_PORT, "Huginn's UDP port for data requests.", low=1,
        high=65535)
    controls_port: int = parameter(
        fdmdata.CONTROLS_PORT, "Huginn's UDP port for controls.", low=1,
        high=65535)
    rpc_port: int = parameter(
        RPC_PORT, 'TCP port of its XML-RPC, for the services pause and reset.', low=1,
        high=65535)
    bind_address: str = parameter(
        '', 'Local address to send from and listen on; empty lets the routing decide.')
    gps_rate: float = parameter(
        20.0, 'Polls of the GPS per second: fix, gps; 0 for none.', low=0.0, high=500.0,
        live=True)
    ins_rate: float = parameter(
        20.0, 'Polls of the inertial navigation system per second: odom, ins; 0 for none.',
        low=0.0, high=500.0, live=True)
    imu_rate: float = parameter(
        50.0, 'Polls of accelerometer and gyroscope per second: imu/data; 0 for none. Each '
        'requests the attitude too.', low=0.0, high=500.0, live=True)
    air_data_rate: float = parameter(
        10.0, 'Polls of thermometer, pitot tube and static pressure per second: air_data, '
        'temperature, static_pressure, dynamic_pressure; 0 for none.', low=0.0,
        high=500.0, live=True)
    magnetometer_rate: float = parameter(
        1.0, 'Polls of the magnetometer per second: magnetic_field; 0 for none. Huginn has none '
        'and sends zeros, which are not published.', low=0.0, high=500.0, live=True)
    latitude: str = parameter(
        'geodetic', "Kind of latitude on the wire: Huginn's is geocentric, though its own display "
        'treats it as geodetic. geocentric converts it.', choices=huginn.LATITUDES)
    temperature_unit: str = parameter(
        'auto', 'Unit of the temperature on the wire: Celsius in the document, kelvin from '
        'Huginn. auto tells them apart by the value.', choices=huginn.TEMPERATURE_UNITS)

    def __post_init__(self) -> None:
        """Refuse what Huginn cannot do."""
        VehicleParameters.__post_init__(self)
        if self.on_command_timeout == 'release':
            raise ValueError(
                'parameter on_command_timeout: Huginn has nobody to return the controls to; '
                "choose 'neutral' or 'hold'")
