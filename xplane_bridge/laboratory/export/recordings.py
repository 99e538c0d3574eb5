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


"""Recordings to tables: MCAP files and rosbag2 folders, also damaged ones. No ROS."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
import json
from pathlib import Path
import re
from typing import Any

from xplane_bridge.common import optional
from xplane_bridge.common.text import counted, printable
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.export.json_messages import JsonMessages
from xplane_bridge.laboratory.export.parameters import NAMES, PACKET, Parameters, SAMPLES
from xplane_bridge.laboratory.export.protobuf_messages import ProtobufMessages
from xplane_bridge.laboratory.export.tables import (
    is_named,
    MOST_COLUMNS,
    plain_list,
    RowBatch,
    RowBatcher,
    TableColumn,
    TIME_COLUMNS,
    Warn,
)
from xplane_bridge.laboratory.flights.recordings.bounds import MAX_ELEMENTS
from xplane_bridge.laboratory.flights.recordings.files import beginning, Recording
from xplane_bridge.laboratory.flights.recordings.mcap_file import JSON, JSON_SCHEMA, PROTOBUF
from xplane_bridge.laboratory.flights.recordings.message_types import (
    ARRAY,
    BASE,
    MessageType,
    MessageTypes,
    NAME,
)
from xplane_bridge.laboratory.flights.recordings.topics import (
    RecordedMessage,
    RecordingError,
    Topic,
)

# Messages to rows: a column for each scalar field, whatever the type.

# Units of message fields: from the comments of their definitions, and of common types.

_UNIT = re.compile(
    r'(m/s\^2|kg/m\^3|rad/s\^2|kg/s|rad/s|deg/s|m/s|rad|deg|Pa|Hz|kg|ns|K|m|s|N|W)(?=$|[ ,;.:)])')
_FIELD = re.compile(r'\s*[A-Za-z][\w/]*(?:<=\d+)?(?:\[[^\]]*\])?\s+(\w+)\s*(?:#\s*(.*))?$')
_TYPE = re.compile(r'MSG: (\w+)/(?:msg/)?(\w+)\s*$')

_TWIST = {'linear': 'm/s', 'angular': 'rad/s'}
_COMMON = {
    'geometry_msgs/msg/Accel': {'linear': 'm/s^2', 'angular': 'rad/s^2'},
    'geometry_msgs/msg/Pose': {'position': 'm'},
    'geometry_msgs/msg/PointStamped': {'point': 'm'},
    'geometry_msgs/msg/Transform': {'translation': 'm'},
    'geometry_msgs/msg/Twist': _TWIST,
    'geometry_msgs/msg/Wrench': {'force': 'N', 'torque': 'N m'},
    'sensor_msgs/msg/FluidPressure': {'fluid_pressure': 'Pa', 'variance': 'Pa^2'},
    'sensor_msgs/msg/Imu': {
        'orientation_covariance': 'rad^2',
        'angular_velocity': 'rad/s', 'angular_velocity_covariance': 'rad^2/s^2',
        'linear_acceleration': 'm/s^2', 'linear_acceleration_covariance': 'm^2/s^4'},
    'sensor_msgs/msg/MagneticField': {
        'magnetic_field': 'T', 'magnetic_field_covariance': 'T^2'},
    'sensor_msgs/msg/NavSatFix': {
        'latitude': 'deg', 'longitude': 'deg', 'altitude': 'm', 'position_covariance': 'm^2'},
    'sensor_msgs/msg/Range': {
        'field_of_view': 'rad', 'min_range': 'm', 'max_range': 'm', 'range': 'm'},
    'sensor_msgs/msg/Temperature': {'temperature': 'degC', 'variance': 'degC^2'},
}


def units(kind: str, definition: str) -> dict[tuple[str, str], str]:
    """
    Return the units by type and field of a type, and of those that its definition contains.

    ``definition`` is as stored in recordings. The unit is the first word of a field's comment
    (``float64 roll  # rad, + is right wing down``), if it is one that is known; a field of another
    type gives its unit to all fields within, as ``geometry_msgs/Vector3 wind  # m/s``.
    """
    found: dict[tuple[str, str], str] = {
        (name, key): unit for name, fields in _COMMON.items() for key, unit in fields.items()}
    for line in definition.splitlines():
        if inner := _TYPE.match(line):
            kind = f'{inner[1]}/msg/{inner[2]}'
        elif (match := _FIELD.match(line)) and (unit := _UNIT.match(match[2] or '')):
            found.setdefault((kind, match[1]), unit[1])
    return found


_HEADER = 'std_msgs/msg/Header'
_QUATERNION = 'geometry_msgs/msg/Quaternion'
_TIMES = ('builtin_interfaces/msg/Time', 'builtin_interfaces/msg/Duration')
# Longer arrays, such as 6 by 6 covariances are not, become lists.
_LONGEST_ROW = 36

Get = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The columns of a message type, the first three the times, and how to get the others."""

    columns: tuple[TableColumn, ...]
    getters: tuple[Get, ...]
    has_header: bool

    def stamp_ns(self, message: Any) -> int | None:
        """Return the header's stamp, None if there is none or it is zero."""
        if not self.has_header:
            return None
        return seconds_ns(message.header.stamp) or None

    def values(self, message: Any) -> tuple[Any, ...]:
        """Return a message's values, in the order of the columns behind the times."""
        return tuple(get(message) for get in self.getters)


def seconds_ns(time: Any) -> int:
    """Return a Time or Duration in ns."""
    return int(time.sec) * SECOND_NS + int(time.nanosec)


def layout(store: Any, kind: str, definition: str) -> ColumnLayout:
    """
    Return the layout of a type, of which rosbags' ``store`` has the definition.

    Names are dotted; an array of fixed size up to 36 has a column for each element, ``name[0]``;
    others are lists. Of a list of messages each field is a list, ``name[].field``, and a list
    within it is JSON. Times and durations are in seconds. The header's stamp is in the second
    column. Raises KeyError or ValueError for a type that cannot be one, or has more than 2000
    columns.
    """
    fields = _Fields(store, units(kind, definition)).of(kind, '', '', _same)
    found = list(islice(fields, MOST_COLUMNS + 1))
    if len(found) > MOST_COLUMNS:
        raise ValueError(f'it has more than {MOST_COLUMNS} columns')
    header = dict(store.fielddefs[kind][1]).get('header')
    return ColumnLayout(
        (*TIME_COLUMNS, *(column for column, _ in found)), tuple(get for _, get in found),
        header is not None and header[1] == _HEADER)


def _same(value: Any) -> Any:
    return value


class _Fields:
    """Walks through the fields of a type."""

    def __init__(self, store: Any, known: dict[tuple[str, str], str]) -> None:
        self._fields = store.fielddefs
        self._units = known

    def of(
        self, kind: str, prefix: str, unit: str, get: Get
    ) -> Iterator[tuple[TableColumn, Get]]:
        """Yield the columns of a type, and how to get their values from the message."""
        for name, description in self._fields[kind][1]:
            if kind == _HEADER and name == 'stamp' and prefix == 'header.':
                continue
            own = self._units.get((kind, name), unit)
            for column, found in self._field(
                    f'{prefix}{name}', description, own, _attribute(get, name)):
                if kind == _QUATERNION:
                    column = TableColumn(column.name, column.kind, '', is_quaternion=True)
                yield column, found

    def _field(
        self, name: str, description: Any, unit: str, get: Get
    ) -> Iterator[tuple[TableColumn, Get]]:
        what, of = description
        if what == BASE:
            yield TableColumn(name, _kind(of[0]), unit), get
        elif what == NAME:
            if of in _TIMES:
                column = TableColumn(name, unit='s')
                yield column, lambda message: seconds_ns(get(message)) / SECOND_NS
            else:
                yield from self.of(of, f'{name}.', unit, get)
        elif what == ARRAY and of[1] <= _LONGEST_ROW:
            for index in range(of[1]):
                yield from self._field(
                    f'{name}[{index}]', of[0], unit, _element(get, index))
        else:
            yield from self._list(name, of[0], unit, get)

    def _list(
        self, name: str, element: Any, unit: str, get: Get
    ) -> Iterator[tuple[TableColumn, Get]]:
        if element[0] == BASE:
            yield TableColumn(name, _kind(element[1][0]), unit, is_list=True), _checked(get)
            return
        for column, inner in self._field(f'{name}[]', element, unit, _same):
            if column.is_list:
                column, inner = TableColumn(column.name, 'str', column.unit), _as_json(inner)
            yield (TableColumn(column.name, column.kind, column.unit, is_list=True),
                   _of_each(get, inner))


def _kind(base: str) -> str:
    return {'string': 'str', 'wstring': 'str', 'octet': 'uint8', 'byte': 'uint8',
            'char': 'uint8'}.get(base, base)


def _attribute(get: Get, name: str) -> Get:
    # The message itself needs no call in between.
    if get is _same:
        return lambda message: getattr(message, name)
    return lambda message: getattr(get(message), name)


def _element(get: Get, index: int) -> Get:
    return lambda message: get(message)[index]


def _checked(get: Get) -> Get:
    def checked(message: Any) -> Any:
        # Numbers stay an array, which takes a tenth of a list.
        found = get(message)
        if len(found) > MAX_ELEMENTS:
            raise ValueError(f'a list has {len(found)} elements, expected at most {MAX_ELEMENTS}')
        return found
    return checked


def _of_each(get: Get, inner: Get) -> Get:
    return lambda message: [inner(element) for element in get(message)]


def _as_json(get: Get) -> Get:
    return lambda message: json.dumps(plain_list(get(message)))


# The start is looked for in so many messages.
_LOOKED_AT = 10_000
_IMU = 'imu/data'
# Stamps further than this from each other are of different clocks (ns).
_SAME_CLOCK = 3_600_000_000_000
# Bytes in memory for one of a message: of texts, and of lists whose elements are objects.
_OF_TEXT, _OF_OBJECTS = 4, 40
# Sentences about topics that are skipped, and topics named in one sentence.
_SENTENCES = 20
_LISTED = 20


def read(path: Path, topics: Collection[str], warn: Warn) -> Iterator[RowBatch]:
    """
    Yield the tables of a recording, one per topic, in batches.

    ``topics`` limits them: full names, or without the namespace. Of a damaged or truncated file
    everything before the fault is read, and ``warn`` gets a sentence; so does it for topics that
    cannot be read. Raises RecordingError if nothing can be read, and ImportError.
    """
    optional.require('reading a recording', 'rosbags', 'mcap', extra='export')
    begin = beginning(path.with_suffix('.json'))
    yield from _Reading(topics, warn, begin).tables(Recording(path))


# Of other encodings a type has its layout itself.
_Type = MessageType | JsonMessages | ProtobufMessages
_Layout = ColumnLayout | JsonMessages | ProtobufMessages
_OTHERS: Mapping[str, Callable[[Topic], JsonMessages | ProtobufMessages]] = {
    JSON: JsonMessages, JSON_SCHEMA: JsonMessages, PROTOBUF: ProtobufMessages}


class _Reading:
    """One pass through a recording: its types, its clock, and its rows."""

    def __init__(self, topics: Collection[str], warn: Warn, begin: float | None) -> None:
        self._wanted = tuple(topics)
        self._warn = warn
        self._given_start = None if begin is None else round(begin * 1e9)
        self._start_ns = 0
        self._newest_ns = 0
        self._rows = RowBatcher()
        self._parameters = Parameters()
        self._types = MessageTypes()
        # By topic: None if it cannot be read; and by type.
        self._known: dict[Topic, tuple[_Type, _Layout] | None] = {}
        self._layouts: dict[int, tuple[MessageType, ColumnLayout] | str] = {}
        self._skipped: dict[str, str] = {}
        self._faults: dict[str, tuple[int, str]] = {}

    def tables(self, recording: Recording) -> Iterator[RowBatch]:
        """Yield the tables, in batches."""
        self._find_start(recording)
        seen: set[str] = set()
        broken: list[str] = []

        def tell(file: Path, fault: str) -> None:
            broken.append(fault)
            if seen:
                self._warn(f'{file}: {fault}; what is before it is exported')

        for message in recording.messages(tell):
            seen.add(message.topic.name)
            if self._wants(message.topic) or message.topic.kind == NAMES:
                yield from self._take(message)
        if broken and not seen:
            raise RecordingError(f'{recording.path} is not read as a recording: {broken[0]}')
        yield from self._rows.rest()
        if recording.cut:
            self._warn(recording.cut)
        self._tell_what_is_missing(seen)

    def _tell_what_is_missing(self, seen: set[str]) -> None:
        sentences = [f'{name} is skipped, {why}' for name, why in self._skipped.items()] + [
            f'{topic}: not of its type: {counted(count, "message")}, the first: {text}'
            for topic, (count, text) in self._faults.items()]
        for name in self._wanted:
            if not any(is_named(topic, name) for topic in seen):
                sentences.insert(0, f'{name}: there is no such topic; recorded are '
                                 f'{", ".join(sorted(seen)[:_LISTED]) or "none"}')
        for sentence in islice(sentences, _SENTENCES):
            self._warn(sentence)
        if len(sentences) > _SENTENCES:
            self._warn(f'skipped besides: {counted(len(sentences) - _SENTENCES, "topic")}')

    def _find_start(self, recording: Recording) -> None:
        """Find the time that times are relative to, and the names of parameters."""
        stamps: dict[str, int] = {}
        imu: list[int] = []
        first_log = 0
        wants_names = False
        for number, message in enumerate(recording.messages(lambda file, fault: None)):
            first_log = first_log or message.log_ns
            if message.topic.kind == NAMES:
                self._decoded(message)
                wants_names = False
            elif message.topic.kind == PACKET:
                wants_names = wants_names or not self._parameters.has_names(message.topic.name)
            if message.topic.name not in stamps and (found := self._decoded(message)):
                stamps[message.topic.name] = found[1] or 0
                if found[1] and message.topic.name.endswith(f'/{_IMU}'):
                    imu.append(found[1])
            if number >= _LOOKED_AT or (imu and not wants_names):
                break
        self._faults.clear()
        first = next(chain(imu, filter(None, stamps.values())), first_log)
        self._newest_ns = first
        self._start_ns = first if self._given_start is None else self._given_start

    def _wants(self, topic: Topic) -> bool:
        return not self._wanted or any(is_named(topic.name, name) for name in self._wanted)

    def _take(self, message: RecordedMessage) -> Iterator[RowBatch]:
        found = self._decoded(message)
        if found is None:
            return
        name, kind = message.topic.name, message.topic.kind
        try:
            columns, rows = self._read_message(message, *found)
        except Exception as error:
            # What fits its type may still be no number, or no packet.
            self._fault(name, error)
            return
        size = len(message.data) * (_OF_OBJECTS if found[3] else _OF_TEXT)
        for row in rows:
            yield from self._rows.add(
                name.strip('/'), kind, columns, row, size // len(rows))

    def _read_message(
        self, message: RecordedMessage, decoded: Any, stamp_ns: int | None, shape: _Layout,
        _: bool
    ) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
        """Return the columns and rows of a message."""
        name, kind = message.topic.name, message.topic.kind
        time_ns = self._time(stamp_ns, message.log_ns)
        times = ((time_ns - self._start_ns) / SECOND_NS,
                 None if stamp_ns is None else stamp_ns / SECOND_NS, message.log_ns / SECOND_NS)
        if kind == PACKET:
            return self._parameters.read_packet(name, decoded, self._start_ns, times)
        if kind == SAMPLES:
            return self._parameters.read_samples(decoded, self._start_ns, times)
        if self._wants(message.topic):
            return shape.columns, [(*times, *shape.values(decoded))]
        return (), []

    def _time(self, stamp_ns: int | None, log_ns: int) -> int:
        """Return a message's time on the clock of the start."""
        if stamp_ns is not None and abs(stamp_ns - self._newest_ns) < _SAME_CLOCK:
            self._newest_ns = max(self._newest_ns, stamp_ns)
            return stamp_ns
        if abs(log_ns - self._newest_ns) < _SAME_CLOCK:
            return log_ns
        return self._newest_ns

    def _decoded(
        self, message: RecordedMessage
    ) -> tuple[Any, int | None, _Layout, bool] | None:
        """Return a message, its stamp, its layout and whether it has objects; None if none."""
        topic = message.topic
        if topic not in self._known:
            self._known[topic] = self._type(topic)
        known = self._known[topic]
        if known is None:
            return None
        kind, shape = known
        try:
            decoded: Any = kind.decode(message.data)
            stamp_ns = shape.stamp_ns(decoded)
            if topic.kind == NAMES:
                self._parameters.learn(topic.name, decoded.names)
        except Exception as error:
            # rosbags leaves some damage to struct and NumPy.
            self._fault(topic.name, error)
            return None
        return decoded, stamp_ns, shape, kind.has_objects

    def _fault(self, topic: str, error: Exception) -> None:
        count, text = self._faults.get(
            topic, (0, printable(str(error) or type(error).__name__)))
        self._faults[topic] = count + 1, text

    def _type(self, topic: Topic) -> tuple[_Type, _Layout] | None:
        try:
            if topic.format in _OTHERS and not topic.fault:
                other = _OTHERS[topic.format](topic)
                return other, other
            kind = self._types.of(topic)
            key = id(kind)
            if key not in self._layouts:
                try:
                    self._layouts[key] = kind, layout(kind.store, kind.kind, topic.definition)
                except Exception as error:
                    self._layouts[key] = str(error) or type(error).__name__
            found = self._layouts[key]
            if not isinstance(found, str):
                return found
            raise ValueError(found)
        except ValueError as error:
            if self._wants(topic):
                self._skipped[topic.name] = f'type {topic.kind}: {printable(str(error))}'
            return None
