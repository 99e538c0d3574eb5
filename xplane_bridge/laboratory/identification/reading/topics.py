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

"""A flight from the common topics of a recording."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
import json
import math
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.masks import known_or_nan
from xplane_bridge.common import optional, plain_files
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.quantities import AIR_DATA, AIRFRAME
from xplane_bridge.common.text import printable
from xplane_bridge.common.timing import PHYSICS_RATE
from xplane_bridge.laboratory.flights.recordings import parquet_file
from xplane_bridge.laboratory.flights.recordings.files import beginning, Recording
from xplane_bridge.laboratory.flights.recordings.message_types import MessageTypes
from xplane_bridge.laboratory.flights.recordings.topics import RecordingError
from xplane_bridge.laboratory.identification.motion.signals import (
    Array,
    DEFLECTIONS,
    fields_in,
    FlightSignals,
    IdentificationError,
    Manoeuvre,
    SIGNALS,
)
from xplane_bridge.laboratory.sensors.topics import TRUTH
from xplane_bridge.simulation.aircraft.initial import DEFAULT_MODEL
from xplane_bridge.simulation.aircraft.plant import AS_IN_ITS_FILE, Plant

_IMU = 'imu/data'
_SENSED = 'sensed_'
_MOST_MESSAGES = 10_000_000
_MOST_FIGURES = 1024 * 1024


_Read = Callable[[Any], tuple[float, ...]]


def _reader(topic: str) -> tuple[tuple[str, ...], _Read]:
    """Return the signals that are fields of a topic's messages, and what reads them."""
    found = fields_in(topic)
    fields = [(attrgetter(field), factor) for field, factor in found.values()]
    return tuple(found), lambda message: tuple(
        [factor * get(message) for get, factor in fields])


def _imu_reader() -> tuple[tuple[str, ...], _Read]:
    names, read = _reader(_IMU)

    def read_imu(message: Any) -> tuple[float, ...]:
        at = message.orientation
        roll, pitch, _ = axes.quaternion_to_euler((at.w, at.x, at.y, at.z))
        return (roll, -pitch, *read(message))

    return ('roll', 'pitch', *names), read_imu


def _read_controls(message: Any) -> tuple[float, ...]:
    return tuple(known_or_nan(message, name) for name in FLOWN)


_TOPICS: Mapping[str, tuple[tuple[str, ...], _Read]] = {
    _IMU: _imu_reader(),
    AIR_DATA: _reader(AIR_DATA),
    'controls': (FLOWN, _read_controls),
    'command/controls': (FLOWN, _read_controls),
    AIRFRAME: _reader(AIRFRAME),
}


def read_recording(path: Path, namespace: str | None = None) -> tuple[FlightSignals, float]:
    """
    Return the flight of a recording, and the step of its simulator (s).

    It is an MCAP file, a rosbag2 folder, or the Parquet table of a flight in core. The time base
    is that of imu/data; where an experiment's .json of the same name is next to it, its windows
    are the manoeuvres. The step is 0 where the simulator is none of this package's.
    Of one that its recorder has not finished the flight's ``cut`` says so.
    Raises OSError, ImportError, RecordingError and IdentificationError.
    """
    optional.require('reading a recording', 'rosbags', extra='export')
    if not path.exists():
        raise FileNotFoundError(f'there is no recording {path}')
    said = path.with_suffix('.json')
    begin = beginning(said)
    figures = json.loads(plain_files.read(said, _MOST_FIGURES)) if begin is not None else {}
    if parquet_file.is_table(path):
        table = parquet_file.read(path, [
            f'{prefix}{one.quantity.name}' for one in SIGNALS.values()
            for prefix in ('', _SENSED)])
        manoeuvres, model, plant, step = _said(path, {**table.facts, **figures})
        return FlightSignals(str(path), table.columns['time'], _read_columns(path, table.columns),
                             manoeuvres, model, plant), step
    manoeuvres, model, plant, step = _said(path, figures)
    recording = Recording(path)
    try:
        rows = _rows(recording, path, namespace)
    except RecordingError as error:
        if not recording.cut:
            raise
        raise RecordingError(f'{recording.cut}: {error}') from None
    except IdentificationError:
        raise
    except Exception as error:
        # A message may be any object, with fields of any type.
        raise RecordingError(
            f'{path} is not read as a recording: {type(error).__name__}: '
            f'{printable(str(error))}') from error
    flight = _joined(str(path), rows, begin)
    return replace(
        flight, manoeuvres=manoeuvres, model=model, plant=plant, cut=recording.cut), step


def _read_columns(path: Path, columns: Mapping[str, Array]) -> dict[str, Array]:
    """Return the signals in the columns of a flight in core: what sensors said, if it had some."""
    found = {}
    prefix = _SENSED if f'{_SENSED}roll_rate' in columns else ''
    for name, signal in SIGNALS.items():
        column = signal.quantity.name
        column = f'{prefix}{column}' if name not in (*FLOWN, *DEFLECTIONS.values()) else column
        if column not in columns and name in DEFLECTIONS.values():
            continue
        if column not in columns:
            raise IdentificationError(f'{path}: there is no column {column}')
        found[name] = signal.sign * columns[column]
    return found


def _rows(recording: Recording, path: Path, namespace: str | None) -> dict[str, Array]:
    names: dict[str, str] = {}
    found: dict[str, array[float]] = {}
    types = MessageTypes()
    imus = {}
    for count, (topic, _, data, *_) in enumerate(recording.messages()):
        if count > _MOST_MESSAGES:
            raise RecordingError(f'{path} has more than {_MOST_MESSAGES} messages')
        if topic.name not in names:
            names[topic.name] = _known(topic.name, namespace)
            if names[topic.name] == _IMU:
                imus[topic.name] = True
        if not (name := names[topic.name]):
            continue
        message = types.of(topic).decode(data)
        stamp = message.header.stamp
        found.setdefault(name, array('d')).extend((
            float(stamp.sec) + stamp.nanosec * 1e-9, *_TOPICS[name][1](message)))
    if len(imus) != 1:
        raise RecordingError(
            f'{path}: expected one topic {_IMU}, found ' + (', '.join(imus) or 'none')
            + ('; choose a namespace' if imus else ''))
    return {name: np.frombuffer(rows).reshape(-1, 1 + len(_TOPICS[name][0]))
            for name, rows in found.items()}


def _known(full: str, namespace: str | None) -> str:
    """Return which of the topics it is, '' for none: what sensors say, not the truth behind."""
    prefix = None if namespace is None else f'/{namespace.strip("/")}/'.replace('//', '/')
    for name in sorted(_TOPICS, key=len, reverse=True):
        if full.endswith(f'/{name}'):
            before = full.removesuffix(name)
            if before.endswith((f'/{TRUTH}/', '/vehicle/')):
                return ''
            if name == 'controls' and before.endswith('/command/'):
                return ''
            return name if prefix in (None, before) else ''
    return ''


def _joined(source: str, rows: Mapping[str, Array], begin: float | None) -> FlightSignals:
    """Return the rows of all topics on the times of imu/data."""
    stamps = rows[_IMU][:, 0]
    backwards = np.flatnonzero(np.diff(stamps) < 0.0)
    start = float(stamps[0]) if begin is None else begin
    if len(backwards):
        at = int(backwards[0])
        raise IdentificationError(
            f'{source}: the clock of {_IMU} goes from {stamps[at] - start:.3f} s to '
            f'{stamps[at + 1] - start:.3f} s: expected times that increase')
    # In lockstep a state is repeated while it waits for its command.
    last = np.append(np.diff(stamps) > 0.0, True)
    times = stamps[last] - start
    values = {name: np.full(len(times), np.nan) for name in SIGNALS}
    for column, name in enumerate(_TOPICS[_IMU][0], 1):
        values[name] = rows[_IMU][last, column]
    for topic in (AIR_DATA, AIRFRAME):
        if topic in rows:
            _place(times, rows[topic], start, _TOPICS[topic][0], values)
    # What was in force until a time: reported then, or else commanded last before it.
    sides: Mapping[str, Literal['left', 'right']] = {
        'controls': 'right', 'command/controls': 'left'}
    for topic, side in sides.items():
        if topic in rows and not np.isfinite(values[FLOWN[0]]).any():
            table = rows[topic][np.argsort(rows[topic][:, 0], kind='stable')]
            newest = np.searchsorted(table[:, 0] - start, times, side) - 1
            for column, name in enumerate(FLOWN, 1):
                values[name] = np.where(newest >= 0, table[newest, column], np.nan)
    return FlightSignals(source, times, values)


def _place(times: Array, rows: Array, start: float, names: Sequence[str],
           values: dict[str, Array]) -> None:
    """Put the samples of another topic at the nearest time, by interpolation to it."""
    table = rows[np.unique(rows[:, 0], return_index=True)[1]]
    at = table[:, 0] - start
    nearest = np.clip(np.searchsorted(times, at), 1, len(times) - 1)
    nearest -= at - times[nearest - 1] < times[nearest] - at
    apart = np.abs(times[nearest] - at) <= np.median(np.diff(times))
    kept = np.unique(nearest[apart])
    for column, name in enumerate(names, 1):
        known = np.isfinite(table[:, column])
        if known.sum() > 1:
            values[name][kept] = np.interp(times[kept], at[known], table[known, column])


def _said(
    path: Path, content: Mapping[str, Any]
) -> tuple[tuple[Manoeuvre, ...], str, Plant, float]:
    """Return the manoeuvres, the model, its plant and the simulator's step of an experiment."""
    settings = content.get('settings')
    settings = settings if isinstance(settings, Mapping) else {}
    figures = content.get('figures')
    windows = figures.get('windows') if isinstance(figures, Mapping) else None
    found = []
    for name, window in (windows.items() if isinstance(windows, Mapping) else ()):
        if not isinstance(window, Mapping):
            continue
        times = [float(one) for one in (window.get('begin'), window.get('until'))
                 if isinstance(one, int | float)]
        if len(times) == 2 and all(map(math.isfinite, times)):
            found.append(Manoeuvre(printable(str(name), 60), *times))
    is_ours = settings.get('host') == ''
    try:
        plant = Plant.of(settings.get('plant') or {})
    except ValueError as error:
        raise IdentificationError(f'{path}: {printable(str(error))}') from None
    model = settings.get('model')
    return (
        tuple(sorted(found, key=lambda one: one.begin)),
        (model or DEFAULT_MODEL) if is_ours and isinstance(model, str) else '',
        plant if is_ours else AS_IN_ITS_FILE,
        1.0 / PHYSICS_RATE if is_ours else 0.0)
