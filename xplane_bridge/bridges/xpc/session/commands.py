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
Messages that commands lead to, in the form that the plugin understands.

Rows of X-Plane's data table are converted from X-Plane's own order to the plugin's: it sets rows
17 (attitude), 20 (position) and 25 (throttles) itself, forwards most of the others to X-Plane, and
corrupts some: docs/wire/xpc.md, "2. Requests".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
import math
from typing import Any

from xplane_bridge.bridges.protocols.base import checked_float
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.protocol import SimulationOp
from xplane_bridge.bridges.xpc.session.events import PluginVersion


def to_controls(values: Mapping[str, float], aircraft: int) -> xpc.SetControls:
    """Return the message that sets controls by their names."""
    given: dict[str, Any] = dict(values)
    if 'gear' in given:
        given['gear'] = round(given['gear'])
    return xpc.SetControls(**given, aircraft=aircraft)


# The plugin's version.

_WHAT = {
    xpc.CommandOnce: 'running a command', xpc.GetTerrain: 'probing the terrain',
    xpc.PlaceAndProbe: 'placing an aircraft and probing the terrain'}


def adapt(message: xpc.Request, plugin_version: PluginVersion | None) -> xpc.Request:
    """
    Convert a message to the form that the plugin understands (docs/wire/xpc.md, section 6).

    Raises ValueError for what this version cannot do. An unknown version, None, is given the
    benefit of the doubt.
    """
    _check(message, plugin_version)
    if isinstance(message, xpc.SetView) and message.camera is not None:
        return replace(message, camera=_adapt_camera(message, message.camera, plugin_version))
    if isinstance(message, xpc.Position | xpc.PlaceAndProbe):
        # Plugin 1.2 misreads the 64-bit form; all understand the 32-bit form.
        bits = 32 if plugin_version in (None, PluginVersion.V1_2_1) else 64
        return replace(message, precision=bits)
    return message


def _check(message: xpc.Request, plugin_version: PluginVersion | None) -> None:
    """Raise ValueError for a message that this version does not have."""
    name = plugin_version.value if plugin_version else 'not known yet'
    if isinstance(message, xpc.CommandBegin | xpc.CommandEnd):
        if plugin_version is not PluginVersion.DEVELOP:
            raise ValueError(
                f"holding a command ({message.tag}) exists only in the plugin's develop branch, "
                f'which cannot be told from rc6 on the wire; this plugin is {name}. If it is a '
                "develop build, set the parameter plugin to 'develop'"
            )
    elif isinstance(message, xpc.CommandOnce | xpc.GetTerrain | xpc.PlaceAndProbe):
        if plugin_version is not None and not plugin_version.has_commands:
            raise ValueError(
                f'{_WHAT[type(message)]} needs plugin 1.3-rc6 or later; this one is {name}')
    elif isinstance(message, xpc.Simulation) and (
            plugin_version is not None and not plugin_version.pauses_one
            and message.op >= SimulationOp.PAUSE_AIRCRAFT):
        raise ValueError(
            'plugin 1.2.1 cannot pause a single aircraft before X-Plane has reported which are '
            'paused, only all of them')


def _adapt_camera(
    message: xpc.SetView, camera: xpc.Camera, plugin_version: PluginVersion | None
) -> xpc.Camera:
    """Convert a camera to the form that the version reads."""
    if plugin_version is PluginVersion.V1_2_1:
        raise ValueError('plugin 1.2.1 accepts a view code only without a camera')
    if plugin_version is PluginVersion.RC5 and message.view != xpc.View.RUNWAY:
        raise ValueError(
            'plugin 1.3 rc1 to rc5 accepts a camera location with view '
            f'{xpc.View.RUNWAY} only')
    if plugin_version is not PluginVersion.RC5:
        return camera if camera.direction else replace(camera, direction=(None, None, None))
    if any(camera.direction or ()):
        raise ValueError(
            'plugin 1.3 rc1 to rc5 accepts a camera location only without a direction')
    return replace(camera, direction=None)


# Rows of the data table.

_ATTITUDE, _POSITION, _THROTTLE = 17, 20, 25
_THROTTLES = 'sim/flightmodel/engine/ENGN_thro'
_TABLE_END = 134
_FOOT = 0.3048

# Both the plugin and X-Plane itself leave a value of -999 unchanged; the plugin's own -998 would
# be a value to X-Plane.
_LEAVE = -999.0

_INSTEAD = 'use command/datarefs instead'
_SPOILT = {
    3: 'X-Plane Connect derives unwanted velocities from it',
    18: 'X-Plane Connect ignores it',
    22: 'X-Plane Connect ignores it',
    23: 'X-Plane Connect ignores it',
    24: 'X-Plane Connect ignores it',
    26: 'X-Plane Connect writes all eight throttles from it, even those to leave unchanged',
}

_Row = tuple[float, ...]


def to_requests(rows: Iterable[tuple[int, Sequence[float]]]) -> list[xpc.Request]:
    """
    Return the requests that set these rows; NaN leaves a value unchanged.

    Rows that the plugin forwards go in separate datagrams, as it forwards the whole datagram.
    Raises ValueError for what it would set differently, and if nothing is set.
    """
    own: list[_Row] = []
    handed_on: list[xpc.Request] = []
    for row, values in rows:
        if all(map(math.isnan, values)):
            continue
        if row == _ATTITUDE:
            own.append((row, *_attitude(values)))
        elif row == _POSITION:
            own.append((row, *_position(values)))
        elif row == _THROTTLE:
            if all(value == values[0] for value in values):
                own.append((row, *_throttles(values)))
            else:
                handed_on.append(xpc.SetDatarefs(((_THROTTLES, _throttles(values)),)))
        elif row in _SPOILT:
            raise ValueError(f'row {row}: {_SPOILT[row]}; {_INSTEAD}')
        elif not 0 <= row < _TABLE_END:
            raise ValueError(f'row {row} is not in 0..{_TABLE_END - 1}')
        else:
            handed_on.append(_rows((row, *map(_or_leave, values))))
    if not own and not handed_on:
        raise ValueError('no value is set: all of them are NaN')
    return [*([_rows(*own)] if own else ()), *handed_on]


def _rows(*rows: _Row) -> xpc.DataRows:
    return xpc.DataRows(tuple((int(row), a, b, c, d, e, f, g, h)
                              for row, a, b, c, d, e, f, g, h in rows))


def _attitude(values: Sequence[float]) -> _Row:
    """Return pitch, roll and heading, all that the plugin uses of row 17."""
    pitch, roll, heading = (
        _checked(f'row {_ATTITUDE} {name}', value, low, high) for name, value, low, high in (
            ('pitch', values[0], -90.0, 90.0), ('roll', values[1], -180.0, 180.0),
            ('heading', values[2], -360.0, 360.0)))
    _only(_ATTITUDE, values, 3)
    return (pitch, roll, heading, *[_LEAVE] * 5)


def _position(values: Sequence[float]) -> _Row:
    """Return latitude, longitude and altitude (ft above sea level) where the plugin reads them."""
    low, high = xpc.ALTITUDE_RANGE
    latitude = _checked(f'row {_POSITION} latitude', values[0], -90.0, 90.0)
    longitude = _checked(f'row {_POSITION} longitude', values[1], -180.0, 180.0)
    altitude = _checked(f'row {_POSITION} altitude in ft', values[2], low / _FOOT, high / _FOOT)
    _only(_POSITION, values, 3)
    # It reads one column late, and in metres.
    metres = altitude if altitude == _LEAVE else altitude * _FOOT
    return (_LEAVE, latitude, longitude, metres, *[_LEAVE] * 4)


def _throttles(values: Sequence[float]) -> _Row:
    """Return the throttles, as many as are given, starting with the first engine."""
    given = [value for value in values if not math.isnan(value)]
    if any(map(math.isnan, values[:len(given)])):
        raise ValueError(
            f'row {_THROTTLE}: NaN before a number; throttles are set from the first engine on')
    for value in given:
        _checked(f'row {_THROTTLE} throttle', value, -1.0, 1.0)
    return tuple(given)


def _only(row: int, values: Sequence[float], count: int) -> None:
    if not all(map(math.isnan, values[count:])):
        raise ValueError(
            f'row {row}: X-Plane Connect uses only the first {count} values; make the others NaN')


def _checked(where: str, value: float, low: float, high: float) -> float:
    if math.isnan(value):
        return _LEAVE
    return checked_float(where, value, low, high)


def _or_leave(value: float) -> float:
    return _LEAVE if math.isnan(value) else value
