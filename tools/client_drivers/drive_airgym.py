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

"""The X-Plane Connect client in airgym (PyPI), which is NASA's for Python."""

from importlib.machinery import SourceFileLoader
from pathlib import Path
import sysconfig
import time

from checks import AIRSPEED, becomes, check, flies

# Without the environments of the package, which need gym.
path = Path(sysconfig.get_path('purelib')) / 'airgym' / 'x_plane_connect.py'
xpc = SourceFileLoader('x_plane_connect', str(path)).load_module()
client = xpc.XPlaneConnect(timeout=1000)


def slowly(function):
    """Return a function's result; without a pause the plugin would drop requests."""
    time.sleep(0.02)
    return function()


def first(name):
    return slowly(lambda: client.getDREF(name)[0])


check('read', lambda: flies(lambda: first(AIRSPEED)))
client.sendDREF('sim/test/test_float', 0.25)
check('write', lambda: becomes(lambda: first('sim/test/test_float'), 0.25))
client.sendCTRL([0.0, 0.25, 0.0, 0.5, 1, 0.0])
check('controls', lambda: becomes(lambda: slowly(client.getCTRL)[1], 0.25))
client.sendPOSI([47.0, 8.0, 2500.0, 0.0, 0.0, 90.0, 1.0])
check('pose', lambda: becomes(lambda: slowly(client.getPOSI)[2], 2500.0, 20.0))
client.pauseSim(True)
check('pause', lambda: becomes(
    lambda: first('sim/operation/override/override_planepath'), 1.0))
client.pauseSim(False)
client.sendVIEW(xpc.ViewType.Chase)
check('view', lambda: becomes(lambda: first('sim/graphics/view/view_type'), 1017))
