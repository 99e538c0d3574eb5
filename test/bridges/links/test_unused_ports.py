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

"""Ports that one process of this package was given are given to no other meanwhile."""

import socket
import subprocess
import sys

import pytest

from xplane_bridge.bridges.links import unused_ports

SAME = ('from xplane_bridge.bridges.links import unused_ports; '
        'unused_ports._NOT_HANDED_OUT = range({first}, {first} + 1); '
        'print(unused_ports.free_ports(1))')


def in_another_process(first):
    return subprocess.run(
        [sys.executable, '-c', SAME.format(first=first)], capture_output=True, text=True)


def test_a_port_is_given_once_while_nobody_has_bound_it(monkeypatch):
    first = unused_ports.free_ports(2)
    monkeypatch.setattr(unused_ports, '_NOT_HANDED_OUT', range(first, first + 1))
    with pytest.raises(OSError, match='there are no 1 consecutive free UDP ports'):
        unused_ports.free_ports(1)
    refused = in_another_process(first)
    assert refused.stderr.splitlines()[-1] == 'OSError: there are no 1 consecutive free UDP ports'
    unused_ports._promised.clear()
    assert in_another_process(first).stdout == f'{first}\n'


def test_a_port_that_is_bound_on_another_address_is_not_free(monkeypatch):
    first = unused_ports.free_ports(1)
    unused_ports._promised.clear()
    monkeypatch.setattr(unused_ports, '_NOT_HANDED_OUT', range(first, first + 1))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as user:
        user.bind(('127.0.0.9', first))
        with pytest.raises(OSError, match='there are no 1 consecutive free UDP ports'):
            unused_ports.free_ports(1)
    assert unused_ports.free_ports(1) == first
