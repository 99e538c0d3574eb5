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

"""Monitor of a vehicle during an experiment: the common topics as time series."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
import math
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import Odometry
import numpy as np
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.vehicle import crash as crashes
from xplane_bridge.common.text import printable
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.flights.analysis import series as past
from xplane_bridge.laboratory.flights.analysis.quantities import EXTRACT, TARGET
from xplane_bridge.laboratory.flights.analysis.series import make_flight
from xplane_bridge.laboratory.flights.scenario.quantities import QUANTITIES
from xplane_bridge.laboratory.nodes.messages.newest import Handler, NewestState, STATE
from xplane_bridge.laboratory.sensors.topics import SENSED, TRUTH
from xplane_bridge.msg import AirData, AutopilotTarget, FlightControls

_DEPTH = 50
_MOST_DIAGNOSTICS = 500
_LONGEST_SENTENCE = 1000
# Stamps further than this from the local time are a simulator's own time.
_SAME_CLOCK = 3600.0
# Of a flight in lockstep, where nothing is due, this often (s) is enough for people.
_SEEN_EVERY = 0.1
# When what is awaited is this far ahead in simulated time, messages are handled this often (s). At
# 50 times real time it is not missed, and fewer messages have come than are kept.
_AHEAD = 0.5
_PAUSE = 0.01
# A quantity of each topic.
_SHOWN_BY = {
    'fix': 'latitude', 'imu/data': 'roll', 'odom': 'east', 'air_data': 'airspeed',
    'controls': 'elevator', 'command/controls': 'command_elevator', TARGET: 'target_altitude'}

MEASURED = 'measured'
"""The newest state that sensors have measured, in ``stamps``."""


class MessageSeries:
    """Values of one quantity and the stamps of their messages, seconds."""

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
        first = len(self.times)
        while first and self.times[first - 1] >= start:
            first -= 1
        return self.times[first:], self.values[first:]


class Monitor:
    """
    Collect a vehicle's telemetry below a namespace.

    ``series`` holds a MessageSeries for each of quantities.QUANTITIES (SI units, radians; heading
    is continuous); ``counts`` the messages by topic; ``stamps`` the newest stamp by topic;
    ``latency`` the newest time from a fix's stamp to here, NaN where stamps are simulated time;
    ``diagnostics`` the newest sentence by name; ``crash`` and ``exceedances`` are those of the
    simulated aircraft.
    Hold ``arrived`` for every access from another thread.

    In ``lockstep`` telemetry is deserialised only ten times per simulated second until the stamps
    given to wait_only_for(): each frame waits for the processor time spent here.

    With ``sensors`` between the bridge and the controller it is the truth that is collected.
    ``target`` is the topic of what the controller is to hold. ``on_state``, if set, is called with
    the stamp of each imu/data; then no message waits.
    """

    def __init__(
        self, node: Node, namespace: str, lockstep: bool = False, target: str = TARGET,
        sensors: bool = False,
    ) -> None:
        self.arrived = threading.Condition()
        self.on_state: Callable[[float], None] | None = None
        self._is_there: Callable[[], bool] | None = None
        self._target = target
        self._lockstep = lockstep
        self.sensors = sensors
        self._namespace = namespace
        self._awaited = self._needed_from = -math.inf
        self.series = {name: MessageSeries() for name in QUANTITIES}
        self.counts: Counter[str] = Counter()
        self.stamps: dict[str, float] = {}
        self.latency = math.nan
        self.diagnostics: dict[str, str] = {}
        kinds: dict[str, type] = {
            'fix': NavSatFix, STATE: Imu, 'odom': Odometry, 'air_data': AirData,
            'controls': FlightControls, target: AutopilotTarget}
        if not lockstep:
            # Where a simulator does not report its controls. In lockstep all do.
            kinds['command/controls'] = FlightControls

        def subscribe(kind: type, topic: str, handler: Callable[[bytes], None]) -> Any:
            return node.create_subscription(
                kind, self.full_name(topic), handler, LATCHED if topic == target else _DEPTH,
                raw=True)

        NewestState(subscribe, {
            topic: (kind, self._handler(kind, topic)) for topic, kind in kinds.items()})
        if sensors:
            self._observe_sensors(node)
        self.crash: AirframeEvent | None = None
        node.create_subscription(
            DiagnosticStatus, f'{namespace}/{crashes.TOPIC}', self._on_crash, LATCHED)
        # The worst of each limit of its envelope; None while no simulator says so.
        self.exceedances: Mapping[str, AirframeEvent] | None = None
        node.create_subscription(
            DiagnosticArray, f'{namespace}/{crashes.EXCEEDANCES}', self._on_exceedances, LATCHED)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def full_name(self, topic: str) -> str:
        """Return where a topic is collected: behind sensors the truth."""
        is_truth = self.sensors and topic in SENSED
        return f'{self._namespace}/{TRUTH}/{topic}' if is_truth else f'{self._namespace}/{topic}'

    def _observe_sensors(self, node: Node) -> None:
        """Note of what the sensors deliver how far it is."""
        NewestState(
            lambda kind, topic, handler: node.create_subscription(
                kind, f'{self._namespace}/{topic}', handler, _DEPTH, raw=True),
            {STATE: (Imu, lambda data, stamp: self._note_sensed(stamp))})

    def _handler(self, kind: type, topic: str) -> Handler:
        skips = self._lockstep and topic != self._target
        seen = -math.inf

        def take(data: bytes, nanoseconds: int) -> None:
            nonlocal seen
            stamp = to_seconds(nanoseconds)
            if topic == STATE and self.on_state is not None:
                self.on_state(stamp)
            with self.arrived:
                due = is_due(stamp, self._awaited)
                if not skips or due and (
                        topic == STATE or is_due(stamp, self._needed_from)) or (
                        not seen <= stamp < seen + _SEEN_EVERY):
                    seen = stamp
                    self._take(topic, stamp, deserialize_message(data, kind))
                    return
                self.counts[topic] += 1
                self.stamps[topic] = stamp
                if due:
                    self._tell()

        return take

    def _note_sensed(self, nanoseconds: int) -> None:
        with self.arrived:
            self.stamps[MEASURED] = to_seconds(nanoseconds)
            self._tell()

    def _take(self, topic: str, stamp: float, message: Any) -> None:
        if topic == self._target and message.fields & AutopilotTarget.RELEASE:
            return
        self.counts[topic] += 1
        self.stamps[topic] = stamp
        for name, value in EXTRACT[topic](message).items():
            series = self.series[name]
            if name == 'heading' and series.values:
                value = series.last + axes.wrap_angle(value - series.last)
            series.add(stamp, value)
        if topic == 'fix':
            latency = time.time() - stamp
            self.latency = latency if abs(latency) < _SAME_CLOCK else math.nan
        self._tell()

    def newest(self, until: float = math.inf) -> dict[str, float]:
        """Return the newest stamp, up to ``until``, of each topic of the vehicle's state."""
        with self.arrived:
            found = {topic: stamp for topic, stamp in self.stamps.items()
                     if topic not in (self._target, MEASURED)}
            for topic in [topic for topic, stamp in found.items() if stamp > until]:
                # Where time goes on after the end, each message was looked at.
                times = self.series[_SHOWN_BY[topic]].times if topic in _SHOWN_BY else ()
                found[topic] = max((time for time in times if time <= until), default=-math.inf)
            return found

    def history(
        self, begin: float, commanded: Mapping[str, past.Series] | None = None
    ) -> past.History:
        """
        Return what was heard, at seconds after the stamp ``begin``.

        ``commanded`` are the commands of this process. In lockstep not each state is looked at.
        """
        with self.arrived:
            series = {
                name: past.Series(np.array(one.times) - begin, np.array(one.values))
                for name, one in self.series.items() if len(one.times)}
        series |= commanded or {}
        topics = {
            topic: past.Arrivals(times := series[name].times, np.full(len(times), math.nan))
            for topic, name in _SHOWN_BY.items() if name in series}
        return make_flight('ros', 0.0, series, topics)

    def pause(self) -> float:
        """Return how long nobody needs to know of new messages, in seconds."""
        if self.on_state is not None:
            return 0.0
        return _PAUSE if self._awaited > self.stamps.get('imu/data', math.inf) + _AHEAD else 0.0

    def wait_only_for(self, stamp: float, needed_from: float = -math.inf) -> None:
        """
        Look at each message of this stamp or later, and at few before.

        Until ``needed_from`` only the attitude is looked at, and of others just the stamps.
        """
        with self.arrived:
            self._awaited, self._needed_from = stamp, needed_from

    def wait_for(self, predicate: Any, timeout: float) -> bool:
        """Wait until ``predicate()`` is true after a message; return whether it became true."""
        with self.arrived:
            return bool(self.arrived.wait_for(predicate, timeout))

    def wait_for_state(self, is_there: Callable[[], bool], timeout: float) -> bool:
        """
        Do the same, but be woken only when it is true: once per frame, not for each topic.

        ``is_there()`` is called for each message, in the thread that receives it; it must not
        raise, nor take long.
        """
        with self.arrived:
            self._is_there = is_there
            try:
                return self.arrived.wait_for(is_there, timeout)
            finally:
                self._is_there = None

    def _tell(self) -> None:
        if self._is_there is None or self._is_there():
            self.arrived.notify_all()

    def last(self, name: str) -> float:
        """Return the newest value of a quantity, NaN if there is none."""
        with self.arrived:
            return self.series[name].last

    def since(self, name: str, start: float) -> tuple[array[float], array[float]]:
        """Return times and values of a quantity from ``start`` on."""
        with self.arrived:
            return self.series[name].since(start)

    def _on_crash(self, message: DiagnosticStatus) -> None:
        with self.arrived:
            self.crash = crashes.to_event(message)

    def crashed(self, begin: float, now: float) -> AirframeEvent | None:
        """Return a crash, at the time (s) after ``begin``; it may be of another clock."""
        crash = self.crash
        if crash is None:
            return None
        return replace(crash, at=max(_to_this_clock(crash.at, now) - begin, 0.0))

    def _on_exceedances(self, message: DiagnosticArray) -> None:
        with self.arrived:
            known, newest = self.exceedances or {}, self.stamps.get('imu/data', math.nan)
            found = {
                event.limit_name: event for event in map(crashes.to_event, message.status)
                if event is not None}
            self.exceedances = {
                name: known[name] if name in known and known[name].value == event.value
                else replace(event, at=_to_this_clock(event.at, newest))
                for name, event in found.items()}

    def exceeded(self, begin: float) -> Mapping[str, AirframeEvent] | None:
        """Return what was beyond the envelope, at times (s) after ``begin``; None: not known."""
        found = self.exceedances
        return found and {
            name: replace(event, at=max(event.at - begin, 0.0)) for name, event in found.items()}

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        with self.arrived:
            for status in message.status:
                name = printable(status.name)
                if self.crash is None and status.level == DiagnosticStatus.ERROR and (
                        name.startswith(f'{self._namespace}/')
                        and name.endswith(f': {crashes.STATUS}')):
                    self.crash = crashes.reported()
                # Anybody in the ROS domain may publish there, under any name.
                if name in self.diagnostics or len(self.diagnostics) < _MOST_DIAGNOSTICS:
                    self.diagnostics[name] = printable(status.message, _LONGEST_SENTENCE)


def _to_this_clock(at: float, now: float) -> float:
    """Return a time (s), or ``now`` if it is of another clock."""
    return now if abs(at - now) >= _SAME_CLOCK else at


def is_due(stamp: float, due: float) -> bool:
    """Return whether a stamp is ``due`` or later, to the nanosecond, as in the autopilot."""
    return stamp >= due or (math.isfinite(due) and round(stamp * 1e9) >= round(due * 1e9))


def to_seconds(stamp: int) -> float:
    """Return a stamp (ns) in seconds, as quantities.read_stamp has that of a message."""
    seconds, nanoseconds = divmod(stamp, SECOND_NS)
    return seconds + nanoseconds * 1e-9
