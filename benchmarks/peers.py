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
The peers of a benchmark, each a process: ``python3 peers.py ROLE``.

A role reads requests from its standard input, one per line, ``["what", {arguments}]``, and answers
each with a line of JSON; it exits at end of input. Roles: ``xpc`` (a light peer with the XPC
format), ``publisher`` and ``subscriber`` (bare rclpy). Serial numbers travel end to end in the
altitude of a NavSatFix and in the elevator of FlightControls.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import json
import math
import os
import select
import socket
import struct
import sys
import threading
import time
from typing import Any

from shortest import usual

ELEVATOR_STEP = 2.0 ** -20
"""Increment of the elevator from command to command: exact as a float32."""

_NS = 1_000_000_000
# Timeout for discovery.
_PATIENCE = usual(15.0, 60.0)
# The bits of all twelve fields of FlightControls.
_ALL_CONTROLS = 4095


# A peer with the XPC format.

_ALTITUDE = struct.Struct('<d')
_FLOAT = struct.Struct('<f')
_ELEVATOR_AT = 5
_POSITION_ALTITUDE_AT = 22
_LARGEST_DRAIN = 20
# What the plugin takes per datagram, at least (docs/wire/xpc.md, section 1).
_HANDLING_TIME = 70e-6
_LAT, _LON = 47.5, 11.25


class XpcPeer:
    """
    Answer polls with canned replies whose altitude is the frame number.

    It reads once per frame, ``frame_rate`` times per second, and answers everything it reads, at
    most 20 datagrams, as the plugin does (docs/wire/xpc.md, section 1). With ``updates_per_frame``
    it answers only that many aircraft per frame, those waiting longest first, which spaces updates
    evenly; with a ``frame_rate`` of 0 it answers an aircraft as soon as both requests are there.
    """

    def __init__(self) -> None:
        from xplane_bridge.bridges.links.udp import UdpSocket
        self._link = UdpSocket(('127.0.0.1', 0))
        self._pace = (60.0, 0)
        self._templates: dict[bytes, tuple[int, bool, bytearray]] = {}
        # By aircraft, longest waiting first: by kind of request, the reply and its destination.
        self._waiting: dict[int, dict[bool, tuple[bytearray, tuple[str, int]]]] = {}
        self._frame = 0
        self._clear()
        threading.Thread(target=self._run, daemon=True).start()

    def _clear(self) -> None:
        self._updates: list[tuple[int, int]] = []
        self._commands: list[tuple[int, int]] = []
        self._dropped = 0
        self._first_at = 0

    def close(self) -> None:
        """Do nothing: the thread ends with the process."""

    def address(self) -> int:
        """Return the UDP port."""
        port: int = self._link.local[1]
        return port

    def pace(self, frame_rate: float, updates_per_frame: int = 0) -> None:
        """Change the rate; an ``updates_per_frame`` of 0 answers everything in its frame."""
        self._pace = (frame_rate, updates_per_frame)

    def report(self) -> dict[str, Any]:
        """
        Return what happened since the last report.

        ``updates`` are pairs of aircraft and frame, for those whose two requests were answered in
        one frame; ``commands`` are serial numbers of CTRL and the kernel's receive times in ns;
        ``first_at`` is that of the first datagram.
        """
        report = {
            'updates': self._updates, 'commands': self._commands, 'dropped': self._dropped,
            'first_at': self._first_at}
        self._clear()
        return report

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            frame_rate, updates_per_frame = self._pace
            if frame_rate:
                due = max(due + 1.0 / frame_rate, time.monotonic() - 1.0 / frame_rate)
                time.sleep(max(0.0, due - time.monotonic()))
            else:
                select.select([self._link], [], [], 0.05)
            self._read(math.inf if updates_per_frame or not frame_rate else _LARGEST_DRAIN)
            if frame_rate and not updates_per_frame:
                self._answer(list(self._waiting))
            else:
                ready = [aircraft for aircraft, kinds in self._waiting.items() if len(kinds) == 2]
                for aircraft in ready[:updates_per_frame or None]:
                    self._answer([aircraft])

    def _read(self, most: float) -> None:
        count = 0
        while received := self._link.receive():
            count += 1
            self._first_at = self._first_at or received.stamp_ns
            if count > most:
                self._dropped += 1
            elif received.data.startswith(b'CTRL'):
                elevator, = _FLOAT.unpack_from(received.data, _ELEVATOR_AT)
                self._commands.append((round(elevator / ELEVATOR_STEP), received.stamp_ns))
            elif received.data.startswith(b'GET'):
                aircraft, is_state, reply = self._template(received.data)
                # Shared requests come without a GETP. The local positions in them are wrong, so
                # that the session polls each aircraft alone.
                shared = is_state and aircraft > 0 and aircraft not in self._waiting
                if aircraft < 0 or shared:
                    self._link.send(bytes(reply), received.sender)
                else:
                    self._waiting.setdefault(aircraft, {})[is_state] = reply, received.sender

    def _answer(self, aircraft: list[int]) -> None:
        """Answer the waiting requests of these aircraft, in one frame."""
        self._frame += 1
        for number in aircraft:
            kinds = self._waiting.pop(number)
            for is_state, (reply, sender) in kinds.items():
                if is_state:
                    # Rows of one value: a count byte and a float32, after the count of rows.
                    _FLOAT.pack_into(reply, 6 + 2 * 5 + 1, self._frame)
                else:
                    _ALTITUDE.pack_into(reply, _POSITION_ALTITUDE_AT, self._frame)
                self._link.send(bytes(reply), sender)
                time.sleep(_HANDLING_TIME)
            if len(kinds) == 2:
                self._updates.append((number, self._frame))

    def _template(self, request: bytes) -> tuple[int, bool, bytearray]:
        """Return the requested aircraft, -1 for none, whether by datarefs, and the reply."""
        known = self._templates.get(request)
        if known is None:
            known = self._templates[request] = self._make_template(request)
        return known

    def _make_template(self, request: bytes) -> tuple[int, bool, bytearray]:
        from xplane_bridge.bridges.conversions.xplane import levers as xplane_levers
        from xplane_bridge.bridges.conversions.xplane import others
        from xplane_bridge.bridges.conversions.xplane import state as xplane
        from xplane_bridge.bridges.xpc import protocol as xpc
        message = xpc.decode(request, 'bridge')
        if isinstance(message, xpc.GetPosition):
            reply = xpc.PositionReply(0, _LAT, _LON, 0.0, 2.0, 0.0, 90.0, 1.0)
            return message.aircraft, False, bytearray(xpc.encode(reply))
        assert isinstance(message, xpc.GetDatarefs)
        aircraft = -1
        values: dict[str, tuple[float, ...]] = dict.fromkeys(message.names, (1.0,))
        for number in range(20):
            names = others.other_datarefs(number) if number else xplane.OWN_DATAREFS
            # The session appends some datarefs of its own.
            if message.names[:len(names)] == names:
                aircraft = number
                values[names[0]], values[names[1]] = (_LAT,), (_LON,)
        values |= {
            xplane.PAUSED: (0.0,),
            **dict.fromkeys(xplane_levers.ENGINES.values(), (0.5,) * 16),
            'sim/flightmodel/position/lat_ref': (47.0,),
            'sim/flightmodel/position/lon_ref': (11.0,),
            'sim/flightmodel/position/local_vx': (60.0,),
            'sim/flightmodel/failures/onground_any': (0.0,),
            'sim/weather/aircraft/barometer_current_pas': (95_000.0,),
        }
        rows = tuple(values[name] for name in message.names)
        return aircraft, True, bytearray(xpc.encode(xpc.Datarefs(rows)))


# Bare rclpy.


class _RosRole:

    def __init__(self) -> None:
        from geometry_msgs.msg import TwistWithCovarianceStamped
        from nav_msgs.msg import Odometry
        import rclpy
        from rclpy.signals import SignalHandlerOptions
        from sensor_msgs.msg import Imu, NavSatFix

        from xplane_bridge.msg import AirData, Datarefs, FlightControls
        # A signal is for the benchmark, whose end also ends this process.
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.kinds: dict[str, type] = {
            'fix': NavSatFix, 'fix_velocity': TwistWithCovarianceStamped, 'imu/data': Imu,
            'odom': Odometry, 'datum': NavSatFix, 'air_data': AirData, 'controls': FlightControls,
            'datarefs': Datarefs,
        }
        self.node = rclpy.create_node(f'bench_{os.getpid()}')

    def close(self) -> None:
        """Shut down cleanly: others would keep looking for a participant that just vanished."""
        import rclpy
        self.node.destroy_node()
        rclpy.shutdown()


class Publisher(_RosRole):
    """Publish messages from a plain loop: nothing but rclpy."""

    def __init__(self) -> None:
        super().__init__()
        self._publishers: dict[str, Any] = {}
        self._serial = 0

    def open(self, topics: dict[str, str], depth: int = 10) -> None:
        """Create a publisher for each topic, of the given type, and wait for its subscriber."""
        for topic, kind in topics.items():
            publisher = self.node.create_publisher(self.kinds[kind], topic, depth)
            message = self.kinds[kind]()
            message.header.frame_id = 'base_link'
            if kind == 'controls':
                message.fields = _ALL_CONTROLS
            self._publishers[topic] = (publisher, message)
        end = time.monotonic() + _PATIENCE
        while not all(
            publisher.get_subscription_count() for publisher, _ in self._publishers.values()
        ):
            if time.monotonic() > end:
                raise RuntimeError(f'nobody subscribes to all of {list(self._publishers)}')
            time.sleep(0.02)

    def publish(
        self, groups: list[list[str]], rate: float, seconds: float, port: int = 0
    ) -> list[tuple[int, int]]:
        """
        Publish groups of topics in rotation, ``rate`` groups per second.

        The stamp is the time just before publishing. Returns serial numbers with stamps in ns.
        With a ``port`` the X-Plane Connect there is polled, and its replies are decoded, before
        each group: what a bridge does at least.
        """
        stamps = []
        poll = self._poller(port) if port else lambda: None
        begin = time.monotonic()
        for number in range(round(rate * seconds)):
            time.sleep(max(0.0, begin + number / rate - time.monotonic()))
            poll()
            self._serial += 1
            for topic in groups[number % len(groups)]:
                publisher, message = self._publishers[topic]
                if hasattr(message, 'altitude'):
                    message.altitude = float(self._serial)
                elif hasattr(message, 'elevator'):
                    message.elevator = self._serial * ELEVATOR_STEP
                now = time.time_ns()
                stamp = message.header.stamp
                stamp.sec, stamp.nanosec = divmod(now, _NS)
                publisher.publish(message)
            stamps.append((self._serial, now))
        return stamps

    @staticmethod
    def _poller(port: int) -> Callable[[], Any]:
        from xplane_bridge.bridges.conversions.xplane import state as xplane
        from xplane_bridge.bridges.xpc import protocol as xpc
        requests = []
        for message in (xpc.GetPosition(0), xpc.GetDatarefs(xplane.OWN_DATAREFS)):
            link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            link.settimeout(0.2)
            link.connect(('127.0.0.1', port))
            requests.append((link, xpc.encode(message)))

        def poll() -> list[Any]:
            for link, request in requests:
                link.send(request)
            return [xpc.decode(link.recv(65536), 'peer') for link, _ in requests]

        return poll


class Subscriber(_RosRole):
    """Receive messages, recording arrival times."""

    def __init__(self) -> None:
        super().__init__()
        from rclpy.executors import SingleThreadedExecutor
        self._samples: dict[str, list[tuple[int, int, int]]] = {}
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._stopping = False
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def close(self) -> None:
        """Stop spinning, and shut down cleanly."""
        self._stopping = True
        self._thread.join()
        super().close()

    def _spin(self) -> None:
        while not self._stopping:
            self._executor.spin_once(timeout_sec=0.2)

    def open(self, topics: dict[str, str], depth: int = 10) -> None:
        """Subscribe to topics of the given types."""
        from rclpy.qos import DurabilityPolicy, QoSProfile
        for topic, kind in topics.items():
            self._samples[topic] = []
            # The datum may have been published before.
            qos = QoSProfile(depth=depth, durability=(
                DurabilityPolicy.TRANSIENT_LOCAL if kind == 'datum'
                else DurabilityPolicy.VOLATILE))
            self.node.create_subscription(
                self.kinds[kind], topic, self._taker(self._samples[topic], kind), qos)

    def _taker(self, samples: list[tuple[int, int, int]], kind: str) -> Callable[[Any], None]:
        def take(message: Any) -> None:
            now = time.time_ns()
            stamp = message.header.stamp
            serial = 0
            if kind == 'fix':
                serial = round(message.altitude)
            elif kind == 'controls':
                serial = round(message.elevator / ELEVATOR_STEP)
            samples.append((serial, now - stamp.sec * _NS - stamp.nanosec, now))

        return take

    def wait(self, topic: str, timeout: float = _PATIENCE) -> bool:
        """Wait for a message on a topic; return whether one arrived."""
        end = time.monotonic() + timeout
        while not self._samples[topic] and time.monotonic() < end:
            time.sleep(0.005)
        return bool(self._samples[topic])

    def report(self) -> dict[str, list[tuple[int, int, int]]]:
        """Return by topic, since the last report: (serial, ns since the stamp, arrival in ns)."""
        report = {topic: samples[:] for topic, samples in self._samples.items()}
        for topic, samples in self._samples.items():
            del samples[:len(report[topic])]
        return report


ROLES: dict[str, type[Any]] = {
    'xpc': XpcPeer, 'publisher': Publisher, 'subscriber': Subscriber}


def main() -> None:
    """Play a role until the standard input ends."""
    role = ROLES[sys.argv[1]]()
    try:
        # The benchmark may be interrupted, and nobody reads the answer then.
        with suppress(KeyboardInterrupt, BrokenPipeError):
            for line in sys.stdin:
                what, arguments = json.loads(line)
                print(json.dumps(getattr(role, what)(**arguments)), flush=True)
    finally:
        # Nothing is left to be written, and to fail, when the interpreter ends. Its threads would
        # keep it from ending after an error, and the benchmark waiting for the answer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        role.close()


if __name__ == '__main__':
    main()
