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
The figures of a set of sensors, and the YAML file that has them.

A section that is missing is a sensor that is not fitted: what it would measure is unknown. Within
a section a figure that is missing is that of a perfect sensor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
import math
from typing import Any, get_args, get_type_hints, TypeVar

from xplane_bridge.common import plain_yaml
from xplane_bridge.common.data import folder
from xplane_bridge.common.text import abbreviated
from xplane_bridge.laboratory.sensors.errors import Errors
from xplane_bridge.laboratory.sensors.timing import Dropout, Timing

_PRESETS = folder('sensors')
# No figure is larger, in any unit.
_LARGEST = 1e9
# Figures that have other limits than 0 and that; the years are those of the World Magnetic Model.
_LIMITS = {
    'time_constant': (1e-3, _LARGEST), 'probability': (0.0, 1.0), 'field_of_view': (0.0, math.pi),
    'soft_iron': (0.0, 1.0), 'year': (2025.0, 2030.0)}

Interval = tuple[float, float]
"""Begin and end of a fault, seconds after the first state."""


@dataclass(frozen=True, slots=True)
class _Device:
    """What every device has: see timing.Timing."""

    rate: float = 0.0
    latency: float = 0.0
    dropout: Dropout = Dropout()

    @property
    def timing(self) -> Timing:
        """Return when it samples and delivers."""
        return Timing(self.rate, self.latency, self.dropout)


@dataclass(frozen=True, slots=True)
class ImuFigures(_Device):
    """
    An inertial measurement unit with an attitude filter (AHRS).

    ``gyroscope`` in rad/s, ``accelerometer`` in m/s^2 (specific force), both about the three body
    axes; the attitude's ``tilt`` (roll and pitch) and ``heading`` in rad.
    """

    gyroscope: Errors | None = None
    accelerometer: Errors | None = None
    tilt: Errors | None = None
    heading: Errors | None = None


@dataclass(frozen=True, slots=True)
class GnssFigures(_Device):
    """
    A GNSS receiver: ``horizontal`` and ``vertical`` in m, the velocities in m/s.

    ``reacquisition`` is how long (s) after an outage it has no fix yet.
    """

    horizontal: Errors | None = None
    vertical: Errors | None = None
    horizontal_velocity: Errors | None = None
    vertical_velocity: Errors | None = None
    reacquisition: float = 0.0
    outages: tuple[Interval, ...] = ()


@dataclass(frozen=True, slots=True)
class AirDataFigures(_Device):
    """
    An air data computer: pitot-static system, thermometer, perhaps vanes.

    ``static_pressure`` (barometer) and ``pitot_pressure`` (pitot minus static) in Pa,
    ``temperature`` in K, ``flow_angles`` (angle of attack and sideslip) in rad. No sensor measures
    the wind: with ``wind`` it is the true one, otherwise unknown.
    """

    static_pressure: Errors | None = None
    pitot_pressure: Errors | None = None
    temperature: Errors | None = None
    flow_angles: Errors | None = None
    wind: bool = False
    pitot_blocked: tuple[Interval, ...] = ()
    static_blocked: tuple[Interval, ...] = ()


class FiguresError(ValueError):
    """The file of a set of sensors cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class RangeFinderFigures(_Device):
    """
    A range finder that looks down, along the body's axis: ``distance`` in m.

    It measures from ``minimum`` to ``maximum`` (m); ``field_of_view`` (rad) is told, not modelled.
    """

    distance: Errors | None = None
    minimum: float = 0.0
    maximum: float = math.inf
    field_of_view: float = 0.0
    failed: tuple[Interval, ...] = ()

    def __post_init__(self) -> None:
        if not self.minimum < self.maximum:
            raise FiguresError(
                f'range_finder: the maximum, {self.maximum:g} m, is not above the minimum, '
                f'{self.minimum:g} m')


@dataclass(frozen=True, slots=True)
class MagnetometerFigures(_Device):
    """
    A magnetometer: ``field`` in T about the three body axes; hard iron is its bias_turn_on.

    ``soft_iron`` is the standard deviation of each element of the symmetric matrix that distorts
    the field. The earth's field is that of a ``year``, with a fraction.
    """

    field: Errors | None = None
    soft_iron: float = 0.0
    year: float = 2025.0


@dataclass(frozen=True, slots=True)
class Figures:
    """A set of sensors."""

    imu: ImuFigures | None = None
    gnss: GnssFigures | None = None
    air_data: AirDataFigures | None = None
    range_finder: RangeFinderFigures | None = None
    magnetometer: MagnetometerFigures | None = None

    @property
    def measures_height(self) -> bool:
        """Return whether the height above ground is measured."""
        return self.range_finder is not None and self.range_finder.distance is not None

    def later(self, delay: float) -> Figures:
        """Return sensors that deliver so much (s) later."""
        devices = {item.name: getattr(self, item.name) for item in fields(self)}
        return replace(self, **{
            name: replace(device, latency=device.latency + delay)
            for name, device in devices.items() if device is not None}) if delay else self


def presets() -> list[str]:
    """Return the names of the sets of sensors of this package."""
    return sorted(path.stem for path in _PRESETS.glob('*.yaml'))


def load(name: str) -> Figures:
    """Read a set of sensors: one of presets(), or a file. Raises FiguresError."""
    return _load_file(name) if _is_file(name) else _preset(name)


def file_of(name: str) -> str:
    """Return the file of a set of sensors, which may not exist."""
    return name if _is_file(name) else str(_PRESETS / f'{name}.yaml')


def _is_file(name: str) -> bool:
    return '/' in name or name.endswith(('.yaml', '.yml'))


@cache
def _preset(name: str) -> Figures:
    if name not in presets():
        raise FiguresError(
            f'there are no sensors {name!r}: expected a file (.yaml), or one of '
            f'{", ".join(presets())}')
    return _load_file(str(_PRESETS / f'{name}.yaml'))


def _load_file(path: str) -> Figures:
    try:
        content = plain_yaml.load_file(path)
    except OSError as error:
        raise FiguresError(f'{path}: {error.strerror}') from None
    except ValueError as error:
        raise FiguresError(f'{path} cannot be read as YAML: {error}') from None
    try:
        return parse(content)
    except FiguresError as error:
        raise FiguresError(f'{path}: {error}') from None


def parse(content: Any) -> Figures:
    """Return the figures in the content of a file. Raises FiguresError."""
    return _build(Figures, content, 'the file')


Kind = TypeVar('Kind')


def _build(kind: type[Kind], content: Any, where: str) -> Kind:
    if not isinstance(content, Mapping):
        raise FiguresError(f'{where}: expected names with values, got {abbreviated(content)}')
    hints = get_type_hints(kind)
    known = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    prefix = '' if where == 'the file' else f'{where}.'
    found = {}
    for name, value in content.items():
        if name not in known:
            raise FiguresError(
                f'{where}: unknown name {abbreviated(name)}, expected {", ".join(known)}')
        found[name] = _value(hints[name], value, f'{prefix}{name}')
    return kind(**found)


def _value(hint: Any, value: Any, where: str) -> Any:
    # A device or the errors of a sensor, which may be None; else a tuple, or the hint itself.
    kind = next((one for one in get_args(hint) if is_dataclass(one)), hint)
    if isinstance(kind, type) and is_dataclass(kind):
        # An empty section is a sensor without errors.
        return _build(kind, {} if value is None else value, where)
    if kind is bool:
        if not isinstance(value, bool):
            raise FiguresError(f'{where}: expected true or false, got {abbreviated(value)}')
        return value
    if kind is float:
        return _number(value, where, *_LIMITS.get(where.rpartition('.')[2], (0.0, _LARGEST)))
    return tuple(_interval(one, f'{where}[{n}]') for n, one in enumerate(_list(value, where)))


def _number(value: Any, where: str, lowest: float, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise FiguresError(f'{where}: expected a number, got {abbreviated(value)}')
    if not lowest <= value <= highest:
        raise FiguresError(f'{where}: {value:g} is not in {lowest:g} .. {highest:g}')
    return float(value)


def _interval(value: Any, where: str) -> Interval:
    both = _list(value, where)
    if len(both) != 2:
        raise FiguresError(f'{where}: expected [begin, end] in s, got {abbreviated(value)}')
    begin, end = (_number(one, where, 0.0, _LARGEST) for one in both)
    if not begin < end:
        raise FiguresError(f'{where}: the end, {end:g} s, is not after the begin, {begin:g} s')
    return begin, end


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise FiguresError(f'{where}: expected a list, got {abbreviated(value)}')
    return value
