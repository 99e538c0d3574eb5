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

"""pyxpudpserver (PyPI)."""

from checks import (
    AIRSPEED,
    becomes,
    check,
    COMPUTER,
    DATA_PORT,
    FLAPS,
    flies,
    HOST,
    LIGHTS,
    LIGHTS_ON,
    PORT,
)
import pyxpudpserver

server = pyxpudpserver.pyXPUDPServer
server.daemon = True
server.initialiseUDP((HOST, DATA_PORT), (HOST, PORT), COMPUTER)
server.start()
check('beacon', lambda: becomes(lambda: int(server.XPalive), 1))
check('rows', lambda: flies(lambda: server.getData((3, 0))))
check('read', lambda: flies(lambda: server.getData(AIRSPEED)))
server.sendXPDref(FLAPS, 0, 0.5)
check('write', lambda: becomes(lambda: server.getData(FLAPS), 0.5))
server.sendXPCmd(LIGHTS_ON)
check('command', lambda: becomes(lambda: server.getData(LIGHTS), 1.0))
server.quit()
