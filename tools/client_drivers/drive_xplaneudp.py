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

"""XPlaneUDP of charlylima (cloned); it finds X-Plane by its beacon."""

from checks import AIRSPEED, becomes, check, COM, FLAPS, flies, source

source()
from XPlaneUdp import XPlaneUdp  # noqa: E402 -- source() says where it is

client = XPlaneUdp()
check('beacon', lambda: becomes(lambda: client.FindIp()['Port'], 49000))
client.UDP_PORT = client.BeaconData['Port']


def latest(name):
    """Return a function that returns the newest value of a dataref."""
    client.AddDataRef(name, 10)
    return lambda: [client.GetValues() for _ in range(3)][-1].get(name)


check('read', lambda: flies(latest(AIRSPEED)))
client.WriteDataRef(FLAPS, 0.5)
check('write', lambda: becomes(latest(FLAPS), 0.5))
client.WriteDataRef(COM, 11830, 'int')
check('write int32', lambda: becomes(latest(COM), 11830))
client.WriteDataRef('sim/cockpit/switches/anti_ice_surf_heat_left', True, 'bool')
check('write bool', lambda: becomes(
    latest('sim/cockpit/switches/anti_ice_surf_heat_left'), 1))
