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

"""
The UDP side of xpwebapi (PyPI). It takes a beacon for a connection.

Its own monitor of beacons does not fit its UDP side, so each request waits for a beacon.
"""

from checks import AIRSPEED, becomes, check, FLAPS, flies, LIGHTS, LIGHTS_ON
from xpwebapi import udp_api

udp = udp_api(host='127.0.0.1', port=49000)
check('beacon', lambda: becomes(lambda: int(udp.connected), 1))


def latest(name):
    """Return a function that returns the newest value of a dataref."""
    dataref = udp.dataref(name)
    udp.monitor_dataref(dataref, 10)

    def read():
        for _ in range(3):
            udp.read_monitored_dataref_values()
        return udp.xplaneValues.get(name)

    return read


check('read', lambda: flies(latest(AIRSPEED)))
flaps = udp.dataref(FLAPS)
flaps.value = 0.5
udp.write_dataref(flaps)
check('write', lambda: becomes(latest(FLAPS), 0.5))
udp.execute_command(udp.command(LIGHTS_ON))
check('command', lambda: becomes(latest(LIGHTS), 1.0))
udp.close()
