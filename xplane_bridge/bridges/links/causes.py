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
Causes of trouble on the way to a peer, each in one sentence, and what to do about it.

Diagnostics of nodes and `verify` say them in these words, and docs/how-to/troubleshooting.md has
them. What a state of the peer means, and what to do then, is with its session: ``sentences`` and
``advice``.
"""

from __future__ import annotations

from typing import NamedTuple

from xplane_bridge.bridges.links.udp import RECEIVE_BUFFER, SocketCounters
from xplane_bridge.common.text import counted


class Cause(NamedTuple):
    """A cause: ``sentence`` and ``advice`` have {names} of what differs from case to case."""

    sentence: str
    advice: str = ''

    def said(self, **given: object) -> str:
        """Return both, with what is ``given`` by name."""
        return (f'{self.sentence}: {self.advice}' if self.advice else self.sentence).format(
            **given)


OTHER_PROGRAM = Cause(
    "another program is sending here and is ignored, from {sender}, which is not the simulator's "
    'port', 'stop it')
OTHER_ADDRESS = Cause(
    'datagrams come from {sender}, which is not the address of the simulator, and are ignored',
    'if that is another address of its computer, use it as host')
FULL_BUFFER = Cause(
    'the kernel dropped {dropped} because the receive buffer was full',
    'this computer is too busy, or the traffic is more than the node can handle; allow a larger '
    f'buffer: sysctl -w net.core.rmem_max={RECEIVE_BUFFER}')
FLOODED = Cause(
    'the kernel dropped {dropped} because the receive buffer was full',
    'most of the traffic is not from the peer ({strangers} in the last second); stop its sender, '
    'or block it with a firewall')
ABSENT = Cause('{name} does not arrive', 'this simulator or aircraft does not have it')
ABSENT_VALUES = Cause('{absent} of {wanted} values do not arrive', '{names}')

CAUSES = (OTHER_PROGRAM, OTHER_ADDRESS, FULL_BUFFER, FLOODED, ABSENT, ABSENT_VALUES)


def overload(now: SocketCounters, before: SocketCounters) -> str:
    """Return a message about datagrams dropped by the kernel in between; '' if none."""
    count, strangers = now.kernel_drops - before.kernel_drops, now.dropped - before.dropped
    if count <= 0:
        return ''
    dropped = counted(count, 'datagram')
    if strangers > now.received - before.received:
        return FLOODED.said(dropped=dropped, strangers=counted(strangers, 'datagram'))
    return FULL_BUFFER.said(dropped=dropped)


def malformed(count: int, error: str) -> str:
    """Return the sentence about datagrams that make no sense; ``error`` is of the last one."""
    return f'{counted(count, "malformed datagram")}: {error}'
