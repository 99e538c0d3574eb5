"""What an experiment sees of a vehicle: the common topics as time series."""

from __future__ import annotations

from array import array
from collections import Counter
import math
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.conversions import frames
from xplane_bridge.msg import AirData, AutopilotTarget, FlightControls

_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Series:
    """Values of one quantity and the times at which they came, seconds since the start."""

    def __init__(self) -> None:
        self.times = array('d')
        self.values = array('d')

    def add(self, time: float, value: float) -> None:
        """Append a value."""
        self.times.append(time)
        self.values.append(value)

    @property
    def last(self) -> float:
        """Return the newest value, NaN if there is none."""
        return self.values[-1] if self.values else math.nan

    def since(self, start: float) -> tuple[array[float], array[float]]:
        """Return times and values from ``start`` on."""
        first = next((n for n, at in enumerate(self.times) if at >= start), len(self.times))
        return self.times[first:], self.values[first:]


QUANTITIES = (
    'east', 'north', 'altitude', 'roll', 'pitch', 'heading', 'airspeed', 'elevator', 'aileron',
    'rudder', 'throttle', 'target_altitude', 'target_heading', 'target_airspeed', 'latency',
)


class Monitor:
    """
    Collect a vehicle's telemetry below a namespace.

    ``series`` holds a Series for each of QUANTITIES (SI units, radians; heading is continuous,
    latency in seconds from the kernel's receive time to here); ``counts`` the messages by topic.
    Every access from another thread holds ``lock``.
    """

    def __init__(self, node: Node, namespace: str) -> None:
        self.lock = threading.Lock()
        self.arrived = threading.Condition(self.lock)
        self.series = {name: Series() for name in QUANTITIES}
        self.counts: Counter[str] = Counter()
        self.diagnostics: dict[str, str] = {}
        self._start = time.monotonic()
        for kind, topic, handler in (
            (NavSatFix, 'fix', self._on_fix),
            (Imu, 'imu/data', self._on_imu),
            (Odometry, 'odom', self._on_odom),
            (AirData, 'air_data', self._on_air_data),
            (FlightControls, 'controls', self._on_controls),
        ):
            self._subscribe(node, kind, namespace, topic, handler)
        self._subscribe(
            node, AutopilotTarget, namespace, 'autopilot/active_target', self._on_target, _LATCHED)
        self._subscribe(node, DiagnosticArray, '', 'diagnostics', self._on_diagnostics)

    def _subscribe(
        self, node: Node, kind: type, namespace: str, topic: str, handler: Any, qos: Any = 50
    ) -> None:
        def count(message: Any) -> None:
            with self.arrived:
                self.counts[topic] += 1
                handler(message)
                self.arrived.notify_all()

        node.create_subscription(kind, f'{namespace}/{topic}', count, qos)

    @property
    def now(self) -> float:
        """Return the time of the series, seconds."""
        return time.monotonic() - self._start

    def wait_for(self, predicate: Any, timeout: float) -> bool:
        """Wait until ``predicate()`` is true after some message; tell whether it became so."""
        with self.arrived:
            return self.arrived.wait_for(predicate, timeout)

    def _add(self, **values: float) -> None:
        now = self.now
        for name, value in values.items():
            self.series[name].add(now, value)

    def _on_fix(self, message: NavSatFix) -> None:
        stamp = message.header.stamp
        self._add(
            altitude=message.altitude,
            latency=time.time() - stamp.sec - stamp.nanosec * 1e-9)

    def _on_imu(self, message: Imu) -> None:
        orientation = message.orientation
        roll, pitch, yaw = frames.quaternion_to_euler(
            (orientation.w, orientation.x, orientation.y, orientation.z))
        last = self.series['heading'].last
        heading = frames.yaw_to_heading(yaw)
        if not math.isnan(last):
            heading = last + frames.wrap_angle(heading - last)
        self._add(roll=roll, pitch=-pitch, heading=heading)

    def _on_odom(self, message: Odometry) -> None:
        position = message.pose.pose.position
        self._add(east=position.x, north=position.y)

    def _on_air_data(self, message: AirData) -> None:
        speed = message.indicated_airspeed
        self._add(airspeed=message.true_airspeed if math.isnan(speed) else speed)

    def _on_controls(self, message: FlightControls) -> None:
        self._add(
            elevator=message.elevator, aileron=message.aileron, rudder=message.rudder,
            throttle=message.throttle)

    def _on_target(self, message: AutopilotTarget) -> None:
        self._add(
            target_altitude=message.altitude, target_heading=message.heading,
            target_airspeed=message.airspeed)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.diagnostics[status.name] = status.message
            for item in status.values:
                self.diagnostics[f'{status.name}: {item.key}'] = item.value
