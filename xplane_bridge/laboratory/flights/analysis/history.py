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
Load a recording as numpy arrays, and compute the figures of the flight.

    from xplane_bridge.laboratory.flights.analysis.history import figures, load
    flight = load('steps.mcap')
    time, altitude = flight.series['altitude']
    print(figures(flight)['tracking'])
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions.axes import wrap_angle
from xplane_bridge.bridges.conversions.expressions.expression import Expression
from xplane_bridge.bridges.conversions.topics import AIRFRAME_TOPIC, CONTACTS_TOPIC
from xplane_bridge.common import optional
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.flights.analysis.motion import (
    at,
    derived,
    held,
    over_ground,
    reversals,
)
from xplane_bridge.laboratory.flights.analysis.quantities import (
    CONTACTS,
    EACH_FRAME,
    EXTRACT,
    is_release,
    MEASURED,
    MORE,
    MOVED,
    OF_SIMULATOR,
    ORDERED,
    read_stamp,
    RELAYED,
    TARGET,
)
from xplane_bridge.laboratory.flights.analysis.series import (
    Array,
    Arrivals,
    History,
    make_flight,
    Series,
)
from xplane_bridge.laboratory.flights.recordings import parquet_file, rosbag2
from xplane_bridge.laboratory.flights.recordings.files import beginning, Recording
from xplane_bridge.laboratory.flights.recordings.message_types import MessageTypes
from xplane_bridge.laboratory.flights.recordings.topics import FORMERLY, RecordingError
from xplane_bridge.laboratory.flights.scenario.quantities import (
    AIRFRAME,
    DERIVED,
    known,
    MOTION,
    TARGETS,
)
from xplane_bridge.laboratory.sensors.topics import SENSED, TRUTH

# The Parquet table of a flight in core, as its history.

# What not every row has, each of these of its topics.
_NOW_AND_THEN = (
    (MEASURED, EACH_FRAME),
    (tuple(f'command_{name}' for name in FLOWN), ('command/controls',)),
    (tuple(f'target_{name}' for name in TARGETS), (TARGET,)),
    (CONTACTS, (CONTACTS_TOPIC,)),
)


def load_table(path: Path) -> History:
    """
    Read a table: what is null in a row is not in the series.

    Raises as parquet_file.read() does.
    """
    table = parquet_file.read(path, {name for names in (
        *(names for names, _ in _NOW_AND_THEN), MOTION, AIRFRAME) for name in names})
    columns, times = table.columns, table.columns['time']
    series: dict[str, Series] = {}
    topics: dict[str, Arrivals] = {}
    for names, of in _NOW_AND_THEN:
        found = [name for name in names if name in columns]
        if not found:
            continue
        known: Any = np.any([~np.isnan(columns[name]) for name in found], axis=0)
        if not known.any():
            continue
        if of == (TARGET,):
            # In force until the next one, which is told once.
            held = np.array([columns[name] for name in found])
            changed = ~((held[:, 1:] == held[:, :-1]) | (
                np.isnan(held[:, 1:]) & np.isnan(held[:, :-1]))).all(0)
            known = np.concatenate((known[:1], changed))
        for name in found:
            series[name] = Series(times[known], columns[name][known])
        topics |= dict.fromkeys(of, Arrivals(times[known], np.full(known.sum(), math.nan)))
    series |= {name: Series(times, columns[name])
               for name in (*MOTION, *AIRFRAME) if name in columns}
    if 'heading' not in series:
        raise RecordingError('the table has no heading, so it is of no flight')
    return make_flight('core', 0.0, series, topics, log_time=rosbag2.SIMULATED)


# Stamps further than this from the recording time are a simulator's own time.
_SAME_CLOCK = 3600.0
_IMU = 'imu/data'
_COMMAND = 'command/controls'
_DIAGNOSTICS = '/diagnostics'
_TOPICS = tuple({**EXTRACT, **MORE})
# Three hours of one vehicle, seven topics at 100 Hz, are less; they need a gigabyte of memory.
_MAX_MESSAGES = 10_000_000
# Of diagnostics: names of values, and characters of each text.
_MAX_DIAGNOSTICS = 10_000
_LONGEST_TEXT = 1000


def load(path: str | Path, namespace: str | None = None, begin: float | None = None) -> History:
    """
    Read a recording: an MCAP file, a rosbag2 folder, or a Parquet table of a flight in core.

    ``namespace`` is needed if it contains several vehicles; ``begin`` is the stamp (s) that times
    are relative to: by default the scenario's start, if an experiment's .json of the same name is
    next to the recording, otherwise the first of imu/data. Raises ImportError if the reader is
    missing, OSError if there is no such file, and RecordingError if it is damaged or contains no
    vehicle. One that its recorder has not finished is read as far as it goes: ``cut`` says so.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f'there is no recording {path}')
    if parquet_file.is_table(path):
        return load_table(path)
    optional.require('reading a recording', 'rosbags', extra='export')
    if begin is None:
        begin = beginning(path.with_suffix('.json'))
    recording = Recording(path)
    try:
        flight = _read(recording, namespace, begin)
    except RecordingError as error:
        if not recording.cut:
            raise
        raise RecordingError(f'{recording.cut}: {error}') from None
    except Exception as error:
        # A message may be any object, with fields of any type.
        raise RecordingError(
            f'{path} is not read as a recording: {type(error).__name__}: '
            f'{printable(str(error))}') from error
    if cut := recording.cut:
        cut += f'; {_IMU} goes to {flight.topics[_IMU].stamps.max() - flight.begin:.2f} s'
    return replace(flight, log_time=recording.log_time, cut=cut)


def _read(recording: Recording, namespace: str | None, begin: float | None) -> History:
    counts: dict[str, int] = {}
    for met in recording.messages():
        counts[met.topic.name] = counts.get(met.topic.name, 0) + 1
    counts = {topic.name: 0 for topic in recording.topics} | counts
    prefix = _prefix([*counts], namespace)
    # Behind sensors the flight is judged by the truth.
    truth = f'{TRUTH}/' if f'{prefix}{TRUTH}/{_IMU}' in counts else ''
    full = {prefix + (truth if topic in SENSED else '') + topic: topic for topic in _TOPICS}
    kinds = {topic.name: topic.kind for topic in recording.topics}
    full |= {prefix + former: topic for topic, (former, kind) in FORMERLY.items()
             if prefix + topic not in counts and kinds.get(prefix + former) == kind}
    known = _names({topic for name, topic in full.items() if name in counts})
    names = {name: known[topic] for name, topic in full.items() if topic in known}
    types = MessageTypes()
    rows: dict[str, _Rows] = {}
    diagnostics: dict[str, str] = {}
    messages = 0
    for recorded, log_ns, data, *_ in recording.messages():
        if recorded.name != _DIAGNOSTICS and recorded.name not in names:
            continue
        message = types.of(recorded).decode(data)
        messages += 1
        if messages > _MAX_MESSAGES:
            raise RecordingError(
                f'the recording has more than {_MAX_MESSAGES} messages of one vehicle')
        if recorded.name == _DIAGNOSTICS:
            _take_diagnostics(message, diagnostics)
            continue
        topic = names[recorded.name]
        if topic == TARGET and is_release(message):
            continue
        stamp = read_stamp(message) if hasattr(message, 'header') else math.nan
        found = {name: value for of in (EXTRACT, MORE) if topic in of
                 for name, value in of[topic](message).items()}
        if topic not in rows:
            rows[topic] = _Rows(tuple(found))
        rows[topic].add(stamp, log_ns * 1e-9, found)
    return _flight(prefix.rstrip('/') or '/', rows, counts, diagnostics, begin)


def _take_diagnostics(message: Any, diagnostics: dict[str, str]) -> None:
    """Keep the last value of each, a bounded number of them."""
    for status in message.status:
        for name, value in ((status.name, status.message), *(
                (f'{status.name}: {item.key}', item.value) for item in status.values)):
            if name in diagnostics or len(diagnostics) < _MAX_DIAGNOSTICS:
                diagnostics[name[:_LONGEST_TEXT]] = value[:_LONGEST_TEXT]


class _Rows:
    """The messages of a topic: stamp, recording time and quantities, as numbers in a row."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._numbers = array('d')

    def add(self, stamp: float, recorded: float, found: Mapping[str, float]) -> None:
        self._numbers.extend((stamp, recorded, *found.values()))

    def numbers(self) -> Array:
        """Return the rows, in the order in which they were recorded."""
        found = np.frombuffer(self._numbers).reshape(-1, 2 + len(self.names))
        if (np.diff(found[:, 1]) < 0.0).any():
            found = found[np.argsort(found[:, 1], kind='stable')]
        return found


def _names(recorded: Collection[str]) -> dict[str, str]:
    """Return the topics to read, with the names that they have in a History."""
    names = {topic: topic for topic in _TOPICS if topic in recorded}
    if RELAYED in names:
        # What an external controller said reached the aircraft this way.
        names.pop(_COMMAND, None)
        names[RELAYED] = _COMMAND
    if ORDERED in names:
        # The autopilot reports what it holds; from others only what they are to hold is known.
        ordered = names.pop(ORDERED)
        if TARGET not in names:
            names[ordered] = TARGET
    return names


def _prefix(topics: Sequence[str], namespace: str | None) -> str:
    """Return the prefix of the vehicle's topics, such as ``/uav1/``."""
    if namespace is not None:
        return f'/{namespace.strip("/")}/'.replace('//', '/')
    found = sorted({
        topic.removesuffix(_IMU).removesuffix(f'{TRUTH}/') for topic in topics
        if topic.endswith(f'/{_IMU}')})
    if len(found) != 1:
        raise RecordingError(
            f'expected one topic {_IMU} in the recording, found '
            + (', '.join(prefix + _IMU for prefix in found) or 'none')
            + ('; choose a namespace' if found else ''))
    return found[0]


def _flight(
    namespace: str, rows: Mapping[str, _Rows], counts: Mapping[str, int],
    diagnostics: Mapping[str, str], begin: float | None,
) -> History:
    numbers = {topic: rows[topic].numbers() for topic in _TOPICS if topic in rows}
    topics = {
        topic: Arrivals(found[:, 0].copy(), found[:, 1].copy())
        for topic, found in numbers.items()}
    imu = topics.get(_IMU)
    if imu is None:
        raise RecordingError(f'the recording has no message on {_IMU} below {namespace}')
    for topic, (stamps, recorded) in topics.items():
        if np.isnan(stamps).any() or (
                topic in OF_SIMULATOR and abs(stamps[0] - imu.stamps[0]) > _SAME_CLOCK):
            # Targets in older recordings have no stamp, and contacts may have simulated time: the
            # newest state's is used.
            newest = np.searchsorted(imu.recorded, recorded, 'right') - 1
            topics[topic] = Arrivals(imu.stamps[np.maximum(newest, 0)], recorded)
    start = float(imu.stamps[0]) if begin is None else begin
    series: dict[str, Series] = {}
    for topic, found in numbers.items():
        order = _find_last(topics[topic].stamps)
        times = topics[topic].stamps[order] - start
        for column, name in enumerate(rows[topic].names, 2):
            series[name] = Series(times, found[order, column])
    if MOVED[0] in series:
        series |= over_ground(series)
    topics.pop(AIRFRAME_TOPIC, None)
    return make_flight(namespace, start, series, topics, counts, diagnostics)


def _find_last(stamps: Array) -> NDArray[np.intp]:
    """Return the index of the last message of each stamp, in order of the stamps."""
    order = np.argsort(stamps, kind='stable')
    is_last = np.append(np.diff(stamps[order]) > 0.0, True)
    last: NDArray[np.intp] = order[is_last]
    return last


def compute_error(flight: History, name: str) -> Series:
    """
    Return the error of altitude, heading or airspeed from the target in force; + is above.

    Of the time in which there was one: along a path no heading is held.
    """
    measured, target = flight.series[name], flight.series[f'target_{name}']
    if not len(target.times):
        return Series(np.empty(0), np.empty(0))
    measured = measured.between(float(target.times[0]), math.nan)
    held = target.values[np.searchsorted(target.times, measured.times, 'right') - 1]
    error = measured.values - held
    if name == 'heading':
        error = np.array([wrap_angle(value) for value in error])
    known = np.isfinite(held)
    return Series(measured.times[known], error[known])


def quantity(flight: History, name: str) -> Series:
    """
    Return a quantity by name: one of the flight's series, altitude_error etc., or of DERIVED.

    A name that ends in _deg is in degrees. What was not measured is empty. Raises KeyError for
    unknown ones.
    """
    plain = name.removesuffix('_deg')
    if plain.removesuffix('_error') in TARGETS and plain.endswith('_error'):
        found = compute_error(flight, plain.removesuffix('_error'))
    elif plain in DERIVED:
        found = derived(flight.series, plain)
    elif plain in flight.series or plain in known():
        found = flight.series.get(plain, Series(np.empty(0), np.empty(0)))
    else:
        raise KeyError(f'there is no quantity {name!r}: expected one of {", ".join(known())}')
    return Series(found.times, np.degrees(found.values)) if plain != name else found


def expressed(flight: History, expression: Expression) -> Series:
    """
    Return an expression of quantities at the times of the first one in it.

    Others are taken between their two nearest values in proportion, targets and commands as they
    were last told. Times at which one of them is not known are left out.
    """
    found = {name: quantity(flight, name) for name in expression.names}
    times = next(iter(found.values())).times
    values = {name: (held if name.startswith(('target_', 'command_')) else at)(series, times)
              for name, series in found.items()}
    is_known = ~np.any([np.isnan(one) for one in values.values()], axis=0)
    return Series(times, expression(values)).where(is_known)


def statistic(series: Series, kind: str) -> float:
    """
    Return a statistic of a series, NaN if it is empty; criteria.STATISTICS lists the kinds.

    rise is the maximum minus the first value, change the last minus the first.
    """
    values = series.values
    if not len(values):
        return math.nan
    kinds: dict[str, Callable[[], float]] = {
        'min': lambda: values.min(),
        'max': lambda: values.max(),
        'mean': lambda: values.mean(),
        'max_abs': lambda: np.abs(values).max(),
        'rms': lambda: math.sqrt(float(np.mean(values**2))),
        'std': lambda: values.std(),
        'rise': lambda: values.max() - values[0],
        'first': lambda: values[0],
        'last': lambda: values[-1],
        'change': lambda: values[-1] - values[0],
    }
    return float(kinds[kind]())


def figures(flight: History, end: float = math.nan) -> dict[str, Any]:
    """
    Return the figures of a flight from its start to ``end`` (s), as plain numbers by name.

    tracking: rms and largest error of each target while there was one (rad, m, m/s). activity of
    each command: standard deviation, travel (the sum of all movements) per second, and reversals
    per second, from one movement of at least LEAST_MOVEMENT to one the other way. rates: for
    each topic, the number of messages with distinct stamps, their rate in the stamps' clock, and
    the longest gap (s). latency (s), if stamps are receive times: from the datagram in the kernel
    to the recorder, and to the recorder through the autopilot; see compute_latency(). link: the
    bridge's counters.
    """
    return {
        'duration': _duration(flight, end),
        'tracking': {
            name: {kind: statistic(compute_error(flight, name).between(0.0, end), kind)
                   for kind in ('rms', 'max_abs')}
            for name in TARGETS if len(flight.series[f'target_{name}'].times)},
        'activity': {
            name: _activity(flight.series[f'command_{name}'].between(0.0, end))
            for name in FLOWN if len(flight.series[f'command_{name}'].times)},
        'rates': {topic: _rate(arrivals.stamps - flight.begin, end)
                  for topic, arrivals in flight.topics.items() if topic != TARGET},
        'latency': {
            name: _latency(found.values)
            for name, topic in (('telemetry', 'fix'), ('loop', _COMMAND))
            if len((found := compute_latency(flight, topic)).values)},
        'link': _link(flight),
    }


def compute_latency(flight: History, topic: str) -> Series:
    """
    Return seconds from a topic's stamps to its recording; empty if the clocks differ.

    So it is of a flight in core, which records in no time.

    Of command/controls only what a controller made of a state counts, the first command with the
    stamp of an imu/data: others, such as a scenario's own, have their own time.
    """
    arrivals = flight.topics.get(topic)
    if arrivals is None or flight.log_time == rosbag2.SIMULATED or not _on_one_clock(arrivals):
        return Series(np.empty(0), np.empty(0))
    stamps, recorded = arrivals
    if topic == _COMMAND:
        states = flight.topics[_IMU].stamps if _IMU in flight.topics else np.empty(0)
        stamps, first = np.unique(stamps, return_index=True)
        of_state = np.isin(stamps, states)
        stamps, recorded = stamps[of_state], recorded[first[of_state]]
    return Series(stamps - flight.begin, recorded - stamps)


def _duration(flight: History, end: float) -> float:
    times = flight.series['heading'].between(0.0, end).times
    return float(times[-1] - times[0]) if len(times) else 0.0


def _activity(command: Series) -> dict[str, float]:
    values = command.values[np.isfinite(command.values)]
    seconds = float(command.times[-1] - command.times[0]) if len(values) > 1 else 0.0
    if not seconds:
        return {'std': math.nan, 'travel': math.nan, 'reversals': math.nan}
    return {'std': float(values.std()),
            'travel': float(np.abs(np.diff(values)).sum()) / seconds,
            'reversals': reversals(values) / seconds}


def _rate(times: Array, end: float) -> dict[str, float]:
    # In lockstep a state is repeated while it waits for its command.
    times = np.unique(Series(times, times).between(0.0, end).times)
    gaps = np.diff(times)
    span = float(times[-1] - times[0]) if len(times) > 1 else 0.0
    return {
        'messages': len(times),
        'rate': (len(times) - 1) / span if span else math.nan,
        'longest_gap': float(gaps.max()) if len(gaps) else math.nan,
    }


def _on_one_clock(arrivals: Arrivals) -> bool:
    return bool(abs(arrivals.recorded[0] - arrivals.stamps[0]) < _SAME_CLOCK)


def _latency(seconds: Array) -> dict[str, float]:
    median, p99, p999 = np.percentile(seconds, (50, 99, 99.9))
    return {'samples': len(seconds), 'median': float(median), 'p99': float(p99),
            'p999': float(p999), 'max': float(seconds.max())}


def _link(flight: History) -> dict[str, str]:
    # /diagnostics is shared by all namespaces.
    own = flight.namespace.rstrip('/') + '/'
    return {key.rsplit(': ', 1)[1]: value for key, value in flight.diagnostics.items()
            if key.startswith(own) and ': peer: ' in key}
