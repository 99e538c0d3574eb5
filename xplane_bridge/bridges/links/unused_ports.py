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

"""UDP ports that nobody uses, and that nobody else of this package is just being given."""

from __future__ import annotations

from collections import deque
import random
import socket

# Linux hands out those from 32768 on, others still higher ones.
_NOT_HANDED_OUT = range(10000, 32000)
_TRIES = 50
# A port is unused until its user binds it: until then a socket with an abstract name keeps other
# processes from choosing it, too. They end with the process, and the oldest are given up.
_promised: deque[socket.socket] = deque(maxlen=100)


def free_ports(count: int) -> int:
    """
    Return the first of ``count`` consecutive unused UDP ports on this computer.

    This process and others are given none of them until 100 more were given here.
    """
    # Those that the system hands out would be taken by somebody else before a child has them.
    chance = random.Random()
    for _ in range(_TRIES):
        first = chance.choice(_NOT_HANDED_OUT)
        found: list[socket.socket] = []
        try:
            for port in range(first, first + count):
                found.append(_promise(port))
        except OSError:
            for one in found:
                one.close()
            continue
        _promised.extend(found)
        return first
    raise OSError(f'there are no {count} consecutive free UDP ports')


def _promise(port: int) -> socket.socket:
    """Return what keeps an unused port from being given twice; raise OSError if it was."""
    promise = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        promise.bind(f'\0xplane_bridge/UDP {port}')
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(('', port))
    except OSError:
        promise.close()
        raise
    return promise
