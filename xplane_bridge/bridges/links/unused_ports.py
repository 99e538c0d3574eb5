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

"""UDP ports that nobody uses."""

from __future__ import annotations

import random
import socket

_LOOPBACK = '127.0.0.1'
# Linux hands out those from 32768 on, others still higher ones.
_NOT_HANDED_OUT = range(10000, 32000)
_TRIES = 50


def free_ports(count: int) -> int:
    """Return the first of ``count`` consecutive unused UDP ports on this computer."""
    # Those that the system hands out would be taken by somebody else before a child has them.
    chance = random.Random()
    for _ in range(_TRIES):
        first = chance.choice(_NOT_HANDED_OUT)
        held: list[socket.socket] = []
        try:
            for port in range(first, first + count):
                held.append(_bound(port))
            return first
        except OSError:
            continue
        finally:
            for one in held:
                one.close()
    raise OSError(f'there are no {count} consecutive free UDP ports')


def _bound(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        found.bind((_LOOPBACK, port))
    except OSError:
        found.close()
        raise
    return found
