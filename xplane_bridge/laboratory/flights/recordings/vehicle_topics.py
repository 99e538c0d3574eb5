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
The topics of a flight in this process, with the messages that it would have had through ROS.

Names, types, frames and covariances are those of simulator_node with ``telemetry: direct``, of
autopilot_node and, behind sensors, of sensors_node. No ROS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions.covariances import UNKNOWN_VARIANCE
from xplane_bridge.bridges.conversions.message_numbers import TARGET_BITS
from xplane_bridge.bridges.conversions.topics import AIR, STATE
from xplane_bridge.common.controls import CONTROLS
from xplane_bridge.common.quantities import AIR_DATA, AIRFRAME, fields_of, OF_CONTACTS
from xplane_bridge.laboratory.flights.recordings.cdr import CdrLayout, Numbers, stamps
from xplane_bridge.laboratory.flights.recordings.collected import Collected
from xplane_bridge.laboratory.flights.recordings.derived import compute_motion, computed
from xplane_bridge.laboratory.sensors.topics import TRUTH
from xplane_bridge.simulation.aircraft.sample import ENGINE

Array = NDArray[np.float64]

BASE, ENU, ODOM, DATUM = 'base_link', 'base_link_enu', 'odom', 'datum'
"""Frames, by default, and the latched topic."""

_FIX, _VELOCITY, _IMU, _ODOM, _AIR = (
    'sensor_msgs/msg/NavSatFix', 'geometry_msgs/msg/TwistWithCovarianceStamped',
    'sensor_msgs/msg/Imu', 'nav_msgs/msg/Odometry', 'xplane_bridge/msg/AirData')
_LEVERS = ('throttle', 'mixture', 'propeller')
_KNOWN_COVARIANCE = 2
_NO_FIX = -1


@dataclass(frozen=True, slots=True)
class TopicMessages:
    """
    The messages of a topic: when each was recorded (ns, shape (n,)), and its numbers.

    ``numbers`` are by the fields' dotted names, stamps among them; the rest is in ``layout``.
    """

    topic: str
    kind: str
    layout: CdrLayout
    times: NDArray[np.int64]
    numbers: Numbers
    latched: bool = False


def to_topics(flown: Collected, namespace: str) -> list[TopicMessages]:
    """Return all topics that have messages, below a namespace."""
    prefix = f'/{namespace.strip("/")}/'
    return [replace(one, topic=prefix + one.topic) for one in _to_topics(flown)]


def _to_topics(flown: Collected) -> Iterator[TopicMessages]:
    times = _nanoseconds(flown.frames['time'])
    moving = compute_motion(flown)
    truth = f'{TRUTH}/' if flown.sensed else ''

    def each(
        topic: str, kind: str, frame: str, numbers: Numbers, **more: Any
    ) -> TopicMessages:
        return _messages(
            (truth if topic in STATE else '') + topic, kind, {'header.frame_id': frame}, times,
            numbers, **more)

    position = _fields(flown, 'fix')
    yield each('fix', _FIX, BASE, position)
    yield each('fix_velocity', _VELOCITY, ENU, _xyz('twist.twist.linear', moving.velocity),
               constants=_diagonal('twist.covariance', 6))
    yield each('imu/data', _IMU, BASE, {
        **_wxyz('orientation', moving.orientation), **_xyz('angular_velocity', moving.rates),
        **_xyz('linear_acceleration', moving.force)})
    yield _messages('odom', _ODOM, {'header.frame_id': ODOM, 'child_frame_id': BASE}, times, {
        **_fields(flown, 'odom'), **_wxyz('pose.pose.orientation', moving.turned),
        **_xyz('twist.twist.linear', moving.moved), **_xyz('twist.twist.angular', moving.rates),
    }, {**_diagonal('pose.covariance', 6), **_diagonal('twist.covariance', 6)}, prefix=truth)
    yield each(AIR_DATA, _AIR, ENU, _fields(flown, AIR_DATA))
    yield each('controls', 'xplane_bridge/msg/FlightControls', BASE, _fields(flown, 'controls'),
               constants={'fields': 2 ** len(CONTROLS) - 1})
    if flown.engines:
        yield each(
            'engines', 'xplane_bridge/msg/EngineControls', BASE, _of_each(flown, _LEVERS),
            lengths=dict.fromkeys(_LEVERS, len(flown.engines)),
            constants={'fields': 2 ** len(_LEVERS) - 1})
    yield each(AIRFRAME, 'xplane_bridge/msg/Airframe', BASE, {
        **_fields(flown, AIRFRAME), **_of_each(flown, ENGINE)},
        lengths=dict.fromkeys(ENGINE, len(flown.engines)))
    yield _messages(
        DATUM, _FIX, {'header.frame_id': ODOM}, times[:1],
        dict(zip(position, moving.datum, strict=True)), latched=True)
    yield from _to_law_topics(flown)
    yield from _to_sensor_topics(flown)


def _to_law_topics(flown: Collected) -> Iterator[TopicMessages]:
    """Yield what was commanded, wanted and touched."""
    if len(flown.commands):
        times, *values = flown.commands.T
        yield _messages('command/controls', 'xplane_bridge/msg/FlightControls', {},
                        _nanoseconds(times), _masked(
                            CONTROLS, values, [1 << bit for bit in range(len(CONTROLS))]))
    if len(flown.targets):
        times, *values = flown.targets.T
        yield _messages(
            'autopilot/active_target', 'xplane_bridge/msg/AutopilotTarget', {},
            _nanoseconds(times), _masked(
                [*TARGET_BITS], values, [*TARGET_BITS.values()]), latched=True)
    if len(flown.contacts):
        times, *values = flown.contacts.T
        yield _messages(
            'contacts', 'xplane_bridge/msg/Contacts', {}, _nanoseconds(times), dict(zip(
                [one.field for one in OF_CONTACTS], values, strict=True)))


def _to_sensor_topics(flown: Collected) -> Iterator[TopicMessages]:
    for topic, rows in flown.sensed.items():
        times, at, *found = rows.T
        kind, texts, numbers, constants = _SENSED[topic](found)
        yield _messages(topic, kind, texts, _nanoseconds(times), numbers, constants,
                        at=at.astype(np.int64))


def _sensed_fix(found: Sequence[Array]) -> tuple[Any, ...]:
    latitude, longitude, altitude, horizontal, vertical = found
    # As sensors_node: variances only where they say something.
    valid = ~np.isnan(latitude)
    known = valid & (horizontal > 0.0)
    horizontal, vertical = np.where(known, horizontal, 0.0), np.where(known, vertical, 0.0)
    return _FIX, {'header.frame_id': BASE}, {
        'status.status': np.where(valid, 0, _NO_FIX), 'latitude': latitude,
        'longitude': longitude, 'altitude': altitude,
        **_on_diagonal('position_covariance', (horizontal, horizontal, vertical)),
        'position_covariance_type': np.where(known, _KNOWN_COVARIANCE, 0)}, {'status.service': 1}


def _sensed_velocity(found: Sequence[Array]) -> tuple[Any, ...]:
    *velocity, horizontal, vertical = found
    horizontal, vertical = _variance(horizontal), _variance(vertical)
    return _VELOCITY, {'header.frame_id': ENU}, {
        **_xyz('twist.twist.linear', velocity),
        **_on_diagonal('twist.covariance', (
            horizontal, horizontal, vertical, *[UNKNOWN_VARIANCE] * 3))}, {}


def _sensed_imu(found: Sequence[Array]) -> tuple[Any, ...]:
    tilt, heading, rate, force = found[10:]
    numbers: dict[str, Any] = {}
    for name, values, variances in (
            ('orientation', found[:4], (tilt, tilt, heading)),
            ('angular_velocity', found[4:7], (rate,) * 3),
            ('linear_acceleration', found[7:10], (force,) * 3)):
        # Imu.msg: -1 marks what is not measured.
        absent = np.isnan(values[0])
        other = (1.0, 0.0, 0.0, 0.0) if len(values) == 4 else (0.0,) * 3
        plain = [np.where(absent, no, one) for no, one in zip(other, values, strict=True)]
        numbers |= (_wxyz if len(values) == 4 else _xyz)(name, plain)
        first, *rest = (np.where(absent, 0.0, one) for one in variances)
        numbers |= _on_diagonal(f'{name}_covariance', (np.where(absent, -1.0, first), *rest))
    return _IMU, {'header.frame_id': BASE}, numbers, {}


def _sensed_odom(found: Sequence[Array]) -> tuple[Any, ...]:
    horizontal, vertical, tilt, heading, rate, moving, climbing = map(_variance, found[13:])
    return _ODOM, {'header.frame_id': ODOM, 'child_frame_id': BASE}, {
        **_xyz('pose.pose.position', found[:3]), **_wxyz('pose.pose.orientation', found[3:7]),
        **_xyz('twist.twist.linear', found[7:10]), **_xyz('twist.twist.angular', found[10:13]),
        **_on_diagonal('pose.covariance', (horizontal, horizontal, vertical, tilt, tilt, heading)),
        **_on_diagonal('twist.covariance', (moving, moving, climbing, rate, rate, rate))}, {}


def _sensed_air(found: Sequence[Array]) -> tuple[Any, ...]:
    return _AIR, {'header.frame_id': ENU}, {
        **dict(zip(AIR, found, strict=False)), **_xyz('wind', found[len(AIR):])}, {}


def _sensed_range(found: Sequence[Array]) -> tuple[Any, ...]:
    distance, variance, view, least, most = found
    return 'sensor_msgs/msg/Range', {'header.frame_id': 'range_finder'}, {
        'range': distance, 'variance': variance, 'field_of_view': view, 'min_range': least,
        'max_range': most}, {'radiation_type': 1}


_SENSED = {
    'fix': _sensed_fix, 'fix_velocity': _sensed_velocity, 'imu/data': _sensed_imu,
    'odom': _sensed_odom, 'air_data': _sensed_air, 'range': _sensed_range}


def _messages(
    topic: str, kind: str, texts: Mapping[str, str], times: NDArray[np.int64], numbers: Numbers,
    constants: Mapping[str, float] | None = None, lengths: Mapping[str, int] | None = None,
    at: NDArray[np.int64] | None = None, latched: bool = False, prefix: str = '',
) -> TopicMessages:
    """Return the messages of a topic, stamped ``at`` or when they were recorded."""
    return TopicMessages(
        prefix + topic, kind, CdrLayout(kind, texts, lengths, constants), times,
        {**stamps(times if at is None else at), **numbers}, latched)


def _nanoseconds(seconds: Array) -> NDArray[np.int64]:
    # As round() has it.
    return np.rint(seconds * 1e9).astype(np.int64)


def _masked(
    names: Sequence[str], values: Sequence[Array], bits: Sequence[int]
) -> Numbers:
    known = [~np.isnan(value) for value in values]
    return {
        'fields': sum(bit * one.astype(np.int64) for bit, one in zip(bits, known, strict=True)),
        **dict(zip(names, values, strict=True))}


def _fields(flown: Collected, topic: str) -> Numbers:
    """Return the quantities that are fields of a topic's messages."""
    state, more = flown.frames, computed(flown)
    return {one.field: more[one.name] if not one.state else (
        state[one.state] if one.sign > 0.0 else -state[one.state]) for one in fields_of(topic)}


def _of_each(flown: Collected, names: Sequence[str]) -> Numbers:
    return {f'{name}[{number}]': engine[name]
            for name in names for number, engine in enumerate(flown.engines)}


def _xyz(path: str, vector: Sequence[Any]) -> Numbers:
    return {f'{path}.{axis}': values for axis, values in zip('xyz', vector, strict=True)}


def _wxyz(path: str, quaternion: Sequence[Any]) -> Numbers:
    return {f'{path}.{axis}': values for axis, values in zip('wxyz', quaternion, strict=True)}


def _diagonal(path: str, size: int) -> Mapping[str, float]:
    return _on_diagonal(path, [UNKNOWN_VARIANCE] * size)


def _on_diagonal(path: str, values: Sequence[Any]) -> Mapping[str, Any]:
    return {f'{path}[{row * (len(values) + 1)}]': value for row, value in enumerate(values)}


def _variance(given: Array) -> Array:
    """Return variances, for Odometry and Twist, where 0 would mean certainty."""
    return np.where(given == 0.0, UNKNOWN_VARIANCE, given)
