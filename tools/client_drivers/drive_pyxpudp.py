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

"""pyXPUDP (PyPI)."""

import os

from checks import AIRSPEED, becomes, check, COM, flies, HEADING_DIAL, LIGHTS, LIGHTS_ON
from pyXPUDP import XPConnector

# Its thread ends with the process only by os._exit().
connection = XPConnector('127.0.0.1')


def latest(name):
    connection.get_datarefs(name, is_blocking=False)
    return connection.get_dataref(name)


def has_come(name):
    connection._drefs.append(name)
    connection.subscribe_to_dataref(name, 4)
    return becomes(lambda: int(name in connection._datarefs), 1) is True


if not has_come(AIRSPEED):
    check('read', lambda: 'no value; it reads replies that begin with RREF, only')
    os._exit(0)
check('read', lambda: flies(lambda: latest(AIRSPEED)))
connection.set_dataref(HEADING_DIAL, 180)
check('write', lambda: has_come(HEADING_DIAL) and becomes(lambda: latest(HEADING_DIAL), 180.0))
connection.set_dataref(COM, 11830, 'i')
check('write int32', lambda: has_come(COM) and becomes(lambda: latest(COM), 11830))
connection.send_command(LIGHTS_ON)
check('command', lambda: has_come(LIGHTS) and becomes(lambda: latest(LIGHTS), 1.0))
os._exit(0)
