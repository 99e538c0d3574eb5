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
A network between a client and a UDP peer: ``python3 relay.py PORT DELAY JITTER LOSS [SEED]``.

A process of its own, so that it disturbs nobody's timing. It prints the port that clients send to,
and ends with its standard input. Each datagram takes DELAY seconds and up to JITTER more, and is
lost with probability LOSS, in either direction.
"""

import select
import socket
import sys
import time

from xplane_bridge.simulation.peers.faults import Faults, Path

_LARGEST = 65507


def bound() -> socket.socket:
    """Return a socket of this computer."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(('127.0.0.1', 0))
    made.setblocking(False)
    return made


def relay(port: int, faults: Faults) -> None:
    """Forward datagrams both ways, each client from a socket of its own."""
    front = bound()
    print(front.getsockname()[1], flush=True)
    there: Path[tuple[socket.socket, bytes]] = Path(faults, 'there')
    back: Path[tuple[tuple[str, int], bytes]] = Path(faults, 'back')
    sockets: dict[tuple[str, int], socket.socket] = {}
    clients: dict[socket.socket, tuple[str, int]] = {}
    while True:
        now = time.monotonic()
        while (sent := there.take(now)) is not None:
            sent[0].sendto(sent[1], ('127.0.0.1', port))
        while (answer := back.take(now)) is not None:
            front.sendto(answer[1], answer[0])
        arrivals = [at for at in (there.next_arrival(), back.next_arrival()) if at is not None]
        timeout = max(0.0, min(arrivals) - now) if arrivals else None
        ready, _, _ = select.select([sys.stdin, front, *clients], [], [], timeout)
        now = time.monotonic()
        if sys.stdin in ready:
            return
        for source in (front, *clients):
            if source not in ready:
                continue
            data, sender = source.recvfrom(_LARGEST)
            if source is not front:
                back.put((clients[source], data), now)
                continue
            if sender not in sockets:
                sockets[sender] = bound()
                clients[sockets[sender]] = sender
            there.put((sockets[sender], data), now)


if __name__ == '__main__':
    to, delay, jitter, loss, *seed = map(float, sys.argv[1:])
    relay(int(to), Faults(delay=delay, jitter=jitter, loss=loss, seed=int(*seed)))
