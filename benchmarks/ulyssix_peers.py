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
The peers of the Ulyssix benchmark, analogous to peers.py.

Roles: ``publisher`` and ``subscriber`` (bare rclpy), ``recorder``, of UlyssixPacket. The send time
in ns travels end to end in total_samples.
"""

from __future__ import annotations

from array import array
from functools import partial
import struct
import threading
import time
from typing import Any

from peers import main, ROLES
from shortest import usual

DEPTH = 200
"""Queue depth of the node's packets topic, and of every end here."""

# total_samples in a serialised packet whose frame_id is empty.
_TOTAL = struct.Struct('<Q')
_TOTAL_AT = 28


class _RosRole:

    def __init__(self) -> None:
        import rclpy
        rclpy.init()
        self.node = rclpy.create_node('bench_ulyssix')

    def close(self) -> None:
        """Shut down cleanly: others would keep looking for a participant that just vanished."""
        import rclpy
        self.node.destroy_node()
        rclpy.shutdown()


class Publisher(_RosRole):
    """Publish packets from a plain loop: nothing but rclpy."""

    def open(self, topic: str, samples: int) -> None:
        """Create the publisher of packets with that many samples, and wait for its subscriber."""
        from xplane_bridge.msg import UlyssixPacket
        self._publisher = self.node.create_publisher(UlyssixPacket, topic, DEPTH)
        self._message = UlyssixPacket(
            counts=array('I', [samples]), values=array('f', bytes(4 * samples)),
            times=array('q', bytes(8 * samples)))
        while not self._publisher.get_subscription_count():
            time.sleep(0.02)

    def publish(self, rate: float, seconds: float) -> int:
        """Publish ``rate`` packets per second; return how many there were."""
        count = round(rate * seconds)
        begin = time.monotonic()
        for number in range(count):
            time.sleep(max(0.0, begin + number / rate - time.monotonic()))
            self._message.total_samples = time.time_ns()
            self._publisher.publish(self._message)
        return count


class Subscriber(_RosRole):
    """Receive packets, recording their latencies."""

    _raw = False

    def __init__(self) -> None:
        super().__init__()
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.task import Future
        self._latencies: dict[str, list[int]] = {}
        self._samples: dict[str, int] = {}
        self._diagnostics: dict[str, str] = {}
        self._diagnosed = threading.Event()
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._take_diagnostics, 10)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._stop = Future(executor=self._executor)
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def close(self) -> None:
        """Stop spinning, and shut down cleanly."""
        self._stop.set_result(None)
        self._thread.join()
        super().close()

    def _spin(self) -> None:
        while not self._stop.done():
            self._executor.spin_once(timeout_sec=0.2)

    def open(self, topics: list[str]) -> None:
        """Subscribe to packets on these topics."""
        from xplane_bridge.msg import UlyssixPacket
        for topic in topics:
            self._latencies[topic] = []
            self._samples[topic] = 0
            self.node.create_subscription(
                UlyssixPacket, topic, partial(self._take, topic), DEPTH, raw=self._raw)

    def _take(self, topic: str, message: Any) -> None:
        self._latencies[topic].append(time.time_ns() - message.total_samples)
        self._samples[topic] += len(message.values)

    def _take_diagnostics(self, message: Any) -> None:
        for status in message.status:
            if status.name.endswith(('ulyssix_node: publisher', 'ulyssix_node: link')):
                self._diagnostics |= {item.key: item.value for item in status.values}
        if any('ulyssix_node: publisher' in status.name for status in message.status):
            self._diagnosed.set()

    def wait(self, topic: str, timeout: float = usual(15.0, 60.0)) -> bool:
        """Wait for a packet on a topic; return whether one arrived."""
        end = time.monotonic() + timeout
        while not self._latencies[topic] and time.monotonic() < end:
            time.sleep(0.005)
        return bool(self._latencies[topic])

    def diagnostics(self) -> dict[str, str]:
        """Return the node's next report about its publisher and its link."""
        self._diagnosed.clear()
        if not self._diagnosed.wait(usual(5.0, 60.0)):
            raise RuntimeError('no diagnostics came')
        return self._diagnostics

    def report(self) -> dict[str, tuple[list[int], int]]:
        """Return by topic, since the last report: latencies in ns, and the number of samples."""
        report = {
            topic: (latencies[:], self._samples[topic])
            for topic, latencies in self._latencies.items()}
        for topic, latencies in self._latencies.items():
            del latencies[:len(report[topic][0])]
            self._samples[topic] -= report[topic][1]
        return report


class Recorder(Subscriber):
    """Receive packets as this package's own recorder does: directly, and as serialised bytes."""

    _raw = True

    def _spin(self) -> None:
        from xplane_bridge.bridges.nodes.common.spinning import spin_until
        spin_until(self._executor, self._stop)

    def _take(self, topic: str, message: bytes) -> None:
        total, = _TOTAL.unpack_from(message, _TOTAL_AT)
        self._latencies[topic].append(time.time_ns() - total)


ROLES.update(publisher=Publisher, recorder=Recorder, subscriber=Subscriber)

if __name__ == '__main__':
    main()
