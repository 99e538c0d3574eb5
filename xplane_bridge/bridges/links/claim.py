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
What only one process of this machine may be in a ROS domain: a namespace in which it flies.

A claim is a Unix socket with an abstract name. It leaves no file, of two that begin together one
gets it, and it ends with its process, however that ends. Who shares no loopback interface with
this process, such as another machine, neither sees a claim nor is hindered by it.
"""

from __future__ import annotations

import errno
from hashlib import sha256
import os
from pathlib import Path
import shlex
import socket
import struct

from xplane_bridge.common.machine import MachineError
from xplane_bridge.common.text import printable

ADVICE = 'give this one another ROS_DOMAIN_ID or namespace, or wait until that has ended'

# Of man unix(7), SO_PEERCRED: pid, uid, gid.
_CREDENTIALS = struct.Struct('3i')
# Each of those that were refused stays in the queue: after so many the holder is not known.
_REFUSED = 100
_LONGEST_COMMAND = 160


def domain() -> str:
    """Return the ROS domain id of this process."""
    return os.environ.get('ROS_DOMAIN_ID', '').strip().lstrip('0') or '0'


def claim(namespace: str) -> socket.socket:
    """
    Claim a namespace (or ``/clock``) in this ROS domain until the socket is closed.

    Raises MachineError, with the process that has it, if it is taken.
    """
    # A namespace may be longer than such a name.
    digest = sha256(namespace.encode()).hexdigest()
    name = f'\0xplane_bridge/{domain()}/{digest}'
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        lock.bind(name)
        lock.listen(_REFUSED)
    except OSError as error:
        lock.close()
        if error.errno != errno.EADDRINUSE:
            raise
        raise MachineError(
            f'{namespace} in ROS domain {domain()} is taken by {_holder(name)}: {ADVICE}'
        ) from None
    return lock


def _holder(name: str) -> str:
    """Return which process has a claim, as far as it is known."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        # It may just end, or begin.
        asking.setblocking(False)
        try:
            asking.connect(name)
            pid, _, _ = _CREDENTIALS.unpack(asking.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
            words = Path(f'/proc/{pid}/cmdline').read_bytes().decode(errors='replace')
        except OSError:
            return 'another process'
    if pid == os.getpid():
        return 'another flight of this process'
    command = shlex.join(as_typed(words.split('\0')[:-1]))
    return f'process {pid} ({printable(command, _LONGEST_COMMAND)})'


def as_typed(words: list[str]) -> list[str]:
    """Return the words of a command line without an interpreter and folders."""
    number = 0
    while number < len(words) - 1 and (
            words[number][:1] == '-' or Path(words[number]).name.startswith('python')):
        number += 1
    return [Path(words[number]).name, *words[number + 1:]] if words else []
