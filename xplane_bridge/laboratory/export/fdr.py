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
A recorded flight as X-Plane's flight data recorder file, version 4: it replays there.

Altitude is above mean sea level, and the heading magnetic, as X-Plane has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, UTC
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions.geoid import ellipsoid_to_msl, usual_undulation
from xplane_bridge.common import plain_files
from xplane_bridge.laboratory.export.resampling import resampled
from xplane_bridge.laboratory.export.tables import is_named, joined, RowBatch, Warn
from xplane_bridge.laboratory.sensors.gnss import Fix
from xplane_bridge.laboratory.sensors.magnetometer import EarthField

Array = NDArray[np.float64]

AIRCRAFT = 'Aircraft/Laminar Research/Cessna 172 SP/Cessna_172SP.acf'
"""Which X-Plane 12 has, and shows where no other is named."""

_FOOT = 0.3048
# Stamps from here on are of a calendar (s since 1970): 2001.
_CALENDAR, _LATEST = 1e9, 2.0**32
_MODEL_YEARS = 2025.0, 2029.9


class _FdrSource(NamedTuple):
    """
    Where a flight has its track: a table of the position, and one of the attitude.

    Columns are longitude, latitude (deg) and altitude (m, or ft by its unit); then roll, pitch and
    true heading, or a quaternion w, x, y, z. ``is_enu``: it turns forward, left, up to east,
    north, up; otherwise forward, right, down to north, east, down. ``is_msl``: the altitude is
    above mean sea level, not above the ellipsoid.
    """

    position: str
    place: tuple[str, str, str]
    attitude: str
    turned: tuple[str, ...]
    is_enu: bool = False
    is_msl: bool = False


_SOURCES = (
    _FdrSource('flight', ('longitude', 'latitude', 'altitude'), 'flight',
            ('roll', 'pitch', 'heading')),
    _FdrSource('flight', ('longitude', 'latitude', 'altitude'), 'flight',
            ('roll', 'pitch', 'magnetic_heading'), is_msl=True),
    _FdrSource('fix', ('longitude', 'latitude', 'altitude'), 'imu/data',
            tuple(f'orientation.{axis}' for axis in 'wxyz'), is_enu=True),
    _FdrSource('vehicle_global_position', ('lon', 'lat', 'alt'), 'vehicle_attitude',
            tuple(f'q[{at}]' for at in range(4)), is_msl=True),
    _FdrSource('POS', ('Lng', 'Lat', 'Alt'), 'ATT', ('Roll', 'Pitch', 'Yaw'), is_msl=True))


class _FdrTrack(NamedTuple):
    stamps: Array
    longitude: Array
    latitude: Array
    altitude: Array
    heading: Array
    pitch: Array
    roll: Array


def write_fdr(
    path: Path, batches: Iterator[RowBatch], about: Mapping[str, str], warn: Warn
) -> None:
    """
    Write the flight's track, a row at each time of its attitude at which its position is known.

    Raises ValueError without position and attitude, and OSError.
    """
    track, is_magnetic = _track(joined(batches))
    heading = track.heading if is_magnetic else (
        track.heading - _declination(track, warn)) % 360.0
    first = float(track.stamps[0])
    lines = [
        'A', '4', f'COMM, {about.get("made_by", "")}: {about.get("source", "")}',
        f'ACFT, {AIRCRAFT}', 'TAIL, N12345',
        # Simulated time, and that since a boot, are of no date.
        *([f'DATE, {datetime.fromtimestamp(first, UTC):%m/%d/%Y}']
          if _CALENDAR < first < _LATEST else []),
        'COMM, UTC, longitude (deg), latitude (deg), altitude (ft msl), magnetic heading (deg), '
        'pitch (deg), roll (deg)']
    with plain_files.output(path) as stream:
        stream.write('\n'.join([*lines, '']).encode())
        for row in zip(track.stamps.tolist(), track.longitude.tolist(), track.latitude.tolist(),
                       (track.altitude / _FOOT).tolist(), heading.tolist(),
                       track.pitch.tolist(), track.roll.tolist(), strict=True):
            time, *rest = row
            stream.write(f'{_time(time)}, {rest[0]:.9f}, {rest[1]:.9f}, {rest[2]:.3f}, '
                         f'{rest[3]:.4f}, {rest[4]:.4f}, {rest[5]:.4f}\n'.encode())


def _time(stamp: float) -> str:
    micros = round(stamp * 1e6) % 86_400_000_000
    seconds, micros = divmod(micros, 1_000_000)
    return f'{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros:06}'


def _track(tables: Sequence[RowBatch]) -> tuple[_FdrTrack, bool]:
    """Return the track, and whether its heading is magnetic."""
    for source in _SOURCES:
        position = _found(tables, source.position, source.place)
        attitude = _found(tables, source.attitude, source.turned)
        if position is None or attitude is None:
            continue
        times, first = np.unique(np.asarray(attitude.values[0], float), return_index=True)
        place = resampled(position, times)
        longitude, latitude, altitude = (_column(place, name) for name in source.place)
        if any(one.name == source.place[2] and one.unit == 'ft' for one in position.columns):
            altitude = _FOOT * altitude
        turned = [_column(attitude, name)[first] for name in source.turned]
        stamps = _stamps(attitude)[first]
        if not source.is_msl:
            undulation = usual_undulation()
            altitude = np.array([
                ellipsoid_to_msl(height, undulation.height_m(lat, lon))
                if math.isfinite(height + lat + lon) else math.nan
                for height, lat, lon in zip(altitude, latitude, longitude, strict=True)])
        roll, pitch, heading = (
            _euler(turned, source.is_enu) if len(turned) == 4 else _degrees(attitude, source))
        if len(turned) != 4:
            roll, pitch, heading = roll[first], pitch[first], heading[first]
        rows = np.array([stamps, longitude, latitude, altitude, heading % 360.0, pitch, roll])
        rows = rows[:, np.isfinite(rows).all(axis=0)]
        if rows.shape[1]:
            return _FdrTrack(*rows), 'magnetic_heading' in source.turned
    raise ValueError('it has no position with an attitude: fdr needs fix and imu/data, a flight '
                     'in core, vehicle_global_position and vehicle_attitude, or POS and ATT')


def _found(tables: Sequence[RowBatch], name: str, columns: Sequence[str]) -> RowBatch | None:
    return next((table for table in tables if is_named(table.table, name) and {*columns} <= {
        one.name for one in table.columns}), None)


def _column(table: RowBatch, name: str) -> Array:
    index = next(at for at, one in enumerate(table.columns) if one.name == name)
    return np.array([math.nan if one is None else one for one in table.values[index]], float)


def _stamps(table: RowBatch) -> Array:
    stamps = _column(table, 'stamp')
    return np.where(np.isfinite(stamps), stamps, _column(table, 'log_time'))


def _degrees(table: RowBatch, source: _FdrSource) -> tuple[Array, Array, Array]:
    units = {one.name: one.unit for one in table.columns}
    roll, pitch, heading = (
        _column(table, name) * (180.0 / math.pi if units[name] == 'rad' else 1.0)
        for name in source.turned)
    return roll, pitch, heading


def _euler(quaternion: Sequence[Array], is_enu: bool) -> tuple[Array, Array, Array]:
    """Return roll (right wing down), pitch (nose up) and true heading, in degrees."""
    w, x, y, z = quaternion
    roll = np.degrees(np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)))
    pitch = np.degrees(np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0)))
    yaw = np.degrees(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))
    # East, north, up: yaw is from east to the left, and pitch nose down.
    return (roll, -pitch, 90.0 - yaw) if is_enu else (roll, pitch, yaw)


def _declination(track: _FdrTrack, warn: Warn) -> Array | float:
    """Return how far magnetic north is east of true north (deg)."""
    year = 1970.0 + float(track.stamps[0]) / (365.2425 * 86400.0)
    try:
        field = EarthField(min(max(year, _MODEL_YEARS[0]), _MODEL_YEARS[1]))
    except ImportError as error:
        warn(f'the heading is true, where X-Plane expects a magnetic one: {error}')
        return 0.0
    found = []
    for latitude, longitude, altitude in zip(
            track.latitude.tolist(), track.longitude.tolist(), track.altitude.tolist(),
            strict=True):
        east, north, _ = field(Fix(latitude, longitude, altitude))
        found.append(math.degrees(math.atan2(east, north)))
    return np.array(found)
