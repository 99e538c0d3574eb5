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
Streams of Ulyssix packets, encoded from the document alone, and a reader that only receives.

As a script: the reader, of the port that is its argument.
"""

from datetime import datetime, UTC
import socket
import struct
import sys
import time

import numpy as np

START = bytes(range(8))
SAMPLE = np.dtype([('value', '<f4'), ('time', '<f8')])
TAGGED_AND_NAMED = 3
# Share of its packet's interval that the samples fill.
KINDS = {'even': 1.0, 'bursts': 0.9, 'lossy': 1.0}
LOSS = 0.05
POOL = 16
BUFFER = 4 * 2**20


class Stream:
    """
    A publisher of parameters with equally many samples in each packet.

    The samples of *bursts* fill 90 % of their packet's interval, so each packet begins with a gap.
    Of *lossy* packets 5 % are never sent. Values are noise.
    """

    def __init__(self, parameters: int, samples: int, kind: str) -> None:
        self._shape = parameters, samples
        self._kind = kind
        names = '\x1f'.join(f'P{number}' for number in range(parameters)).encode()
        grid = np.dtype([('count', '<u4'), ('samples', SAMPLE, (samples,))])
        size = parameters * grid.itemsize
        header = struct.pack('<IBH', 0, TAGGED_AND_NAMED, len(names)) + names
        self._payload = len(header)
        self.packet = bytearray(
            header + START + struct.pack('<IIIQ', 28 + size, 0, parameters * samples, 0)
            + bytes(8 + size) + START[::-1])
        self._grid = np.frombuffer(self.packet, grid, parameters, self._payload + 36)
        self._grid['count'] = samples
        self._dice = np.random.default_rng(1)
        self._pool = [self._dice.normal(size=self._shape) for _ in range(POOL)]
        self._number = 0

    def send(self, port: int, rate: float, seconds: float) -> int:
        """Send packets at a rate, in real time; return how many there were."""
        now = datetime.now(UTC)
        begun = (now - datetime(now.year, 1, 1, tzinfo=UTC)).total_seconds()
        samples = self._shape[1]
        spread = KINDS[self._kind] * np.arange(samples) / samples / rate
        sent, begin = 0, time.monotonic()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for number in range(round(rate * seconds)):
                self._fill(begun + number / rate, spread)
                time.sleep(max(0.0, begin + number / rate - time.monotonic()))
                if self._kind != 'lossy' or self._dice.random() >= LOSS:
                    sender.sendto(self.packet, ('127.0.0.1', port))
                    sent += 1
        return sent

    def _fill(self, at: float, spread: np.ndarray) -> None:
        """Write the next packet, whose first samples are taken ``at`` s since 1 January."""
        self._grid['samples']['time'] = at + spread
        self._grid['samples']['value'] = self._pool[self._number % POOL]
        struct.pack_into('<I', self.packet, 0, self._number)
        self._number += 1
        struct.pack_into('<Q8s', self.packet, self._payload + 20,
                         self._number * self._grid['samples'].size, bcd(at))


def bcd(seconds: float) -> bytes:
    """Return a time since 1 January as BCD, the date first."""
    rest, micros = divmod(round(seconds * 1e6), 1_000_000)
    rest, second = divmod(rest, 60)
    rest, minute = divmod(rest, 60)
    day, hour = divmod(rest, 24)
    return b''.join(bytes.fromhex(text)[::-1] for text in (
        f'{day + 1:04d}{hour:02d}{minute:02d}', f'{second:02d}{micros:06d}'))


def main() -> None:
    """Receive, and do nothing else."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        reader.bind(('127.0.0.1', int(sys.argv[1])))
        memory = bytearray(65_536)
        while True:
            reader.recv_into(memory)


if __name__ == '__main__':
    main()
