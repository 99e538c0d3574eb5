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

"""XPlaneConnectX for Python (cloned)."""

from pathlib import Path
import sys

from checks import AIRSPEED, becomes, check, flies, HEADING_DIAL, LIGHTS, source

sys.path.insert(0, str(Path(source()) / 'Python3'))
from XPlaneConnectX import XPlaneConnectX

client = XPlaneConnectX()
client.subscribeDREFs([(AIRSPEED, 10), ('sim/flightmodel/position/mag_psi', 10)])
check('subscribe', lambda: flies(lambda: client.current_dref_values[AIRSPEED]['value']))
check('read', lambda: flies(lambda: client.getDREF(AIRSPEED)))
client.sendDREF(HEADING_DIAL, 180.0)
check('write', lambda: becomes(lambda: client.getDREF(HEADING_DIAL), 180.0))
client.sendDREF(LIGHTS, True)
check('write int', lambda: becomes(lambda: client.getDREF(LIGHTS), 1.0))
client.sendCTRL(0.25, 0.0, 0.0, 0.5, 1, 0.5, 0.0, 0.0)
check('controls', lambda: becomes(
    lambda: client.getDREF('sim/cockpit2/controls/yoke_roll_ratio'), 0.25))
client.sendPOSI(47.5, 8.5, 2500.0, 0.0, 0.0, 90.0)
check('pose', lambda: becomes(lambda: client.getPOSI()[0], 47.5, 0.01))
client.pauseSIM(True)
check('pause', lambda: becomes(lambda: client.getDREF('sim/time/paused'), 1.0))
client.pauseSIM(False)
