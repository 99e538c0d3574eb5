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
A ROS domain for oneself: no two that claim one here, on one machine, get the same.

A claim is a bound UDP socket: it ends with the last process that holds it, however that ends.
"""

from __future__ import annotations

import os
import socket

# Of DDS (RTPS 2.5, section 9.6.2.4): a domain's ports begin at 7400, 250 of them each. The last
# one is that of the 120th participant's: more than any machine here starts.
_FIRST_PORT = 7400
_PORTS = 250
# Above them the ports of a domain would be among those that the kernel gives to everybody.
_MOST = 101
# So that claims made at once seldom try the same.
_SPREAD = 60


class Domain:
    """A claimed ROS domain: its ``number``, and the ``lock``, which a child may inherit."""

    def __init__(self, number: int, lock: socket.socket) -> None:
        self.number = number
        self.lock = lock

    def __enter__(self) -> Domain:
        return self

    def __exit__(self, *_: object) -> None:
        self.lock.close()


def claim() -> Domain:
    """Return a ROS domain that nobody else has claimed; OSError if there is none left."""
    for number in range(1 + os.getpid() % _SPREAD, _MOST + 1):
        lock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            lock.bind(('127.0.0.1', _FIRST_PORT + _PORTS * number + _PORTS - 1))
        except OSError:
            lock.close()
            continue
        return Domain(number, lock)
    raise OSError(f'there is no free ROS domain up to {_MOST}: too many flights at once')
