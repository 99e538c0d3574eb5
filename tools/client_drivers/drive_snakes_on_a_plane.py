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

"""snakes-on-a-plane (PyPI), which reads and writes rows."""

import socket
import time

from checks import becomes, check, DATA_PORT, flies, HOST, PORT
from xplane.packets import DataPacket

link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.bind((HOST, DATA_PORT))
link.settimeout(3.0)


def packet():
    """Return the newest rows."""
    while True:
        data = link.recv(4096)
        link.setblocking(False)
        try:
            link.recv(4096, socket.MSG_PEEK)
        except BlockingIOError:
            return DataPacket(data)
        finally:
            link.settimeout(3.0)


check('rows', lambda: flies(lambda: packet().read_speeds()[0].to('knot').magnitude))
throttle = DataPacket()
throttle[25] = [0.25] + [-999.0] * 7
time.sleep(0.1)
link.sendto(throttle.write(), (HOST, PORT))
check('write rows', lambda: becomes(lambda: packet()[25][0], 0.25))
