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

from dataclasses import dataclass, fields, replace
from functools import cache
import math
from typing import Any

from xplane_bridge.common import plain_yaml
from xplane_bridge.common.data import folder
from xplane_bridge.common.fields import (
    declared,
    FieldError,
    in_file,
    items,
    number,
    read,
    wrong_kind,
)
from xplane_bridge.laboratory.sensors.errors import Errors
from xplane_bridge.laboratory.sensors.timing import Timing

_PRESETS = folder('sensors')

Interval = tuple[float, float]
"""Begin and end of a fault, seconds after the first state."""


def _sensor(meaning: str, unit: str) -> Any:
    """Declare a sensor of a device by its errors; without them it is not fitted."""
    return declared(None, meaning, unit=unit, form='figures of its errors')


def _intervals(meaning: str) -> Any:
    """Declare the times at which something has failed."""
    return declared((), meaning, unit='s', form='[[begin, end], …]', reader=_read_intervals)


def _read_intervals(value: Any, where: str) -> tuple[Interval, ...]:
    return tuple(_read_interval(one, f'{where}[{n}]') for n, one in enumerate(items(value, where)))


def _read_interval(value: Any, where: str) -> Interval:
    if not isinstance(value, list) or len(value) != 2:
        raise FieldError(wrong_kind(where, '[begin, end] in s', value))
    begin, end = (number(one, where, low=0.0, unit='s') for one in value)
    if not begin < end:
        raise FieldError(f'{where}: the end, {end:g} s, is not after the begin, {begin:g} s')
    return begin, end


@dataclass(frozen=True, slots=True)
class _Device(Timing):
    """What every device has: when it samples and delivers."""

    @property
    def timing(self) -> Timing:
        """Return when it samples and delivers."""
        return Timing(self.rate, self.latency, self.dropout)


@dataclass(frozen=True, slots=True)
class ImuFigures(_Device):
    """An inertial measurement unit with an attitude filter (AHRS)."""

    gyroscope: Errors | None = _sensor('angular rates about the three body axes', 'rad/s')
    accelerometer: Errors | None = _sensor('specific force along the three body axes', 'm/s²')
    tilt: Errors | None = _sensor('roll and pitch of the attitude', 'rad')
    heading: Errors | None = _sensor('heading of the attitude', 'rad')


@dataclass(frozen=True, slots=True)
class GnssFigures(_Device):
    """A GNSS receiver."""

    horizontal: Errors | None = _sensor('position to the east and to the north', 'm')
    vertical: Errors | None = _sensor('height', 'm')
    horizontal_velocity: Errors | None = _sensor('velocity to the east and to the north', 'm/s')
    vertical_velocity: Errors | None = _sensor('climb rate', 'm/s')
    reacquisition: float = declared(
        0.0, 'how long after an outage it has no fix yet', unit='s', low=0.0)
    outages: tuple[Interval, ...] = _intervals('when it has no fix')


@dataclass(frozen=True, slots=True)
class AirDataFigures(_Device):
    """An air data computer: pitot-static system, thermometer, perhaps vanes."""

    static_pressure: Errors | None = _sensor('barometer', 'Pa')
    pitot_pressure: Errors | None = _sensor('pitot minus static pressure', 'Pa')
    temperature: Errors | None = _sensor('thermometer', 'K')
    flow_angles: Errors | None = _sensor('angle of attack and sideslip', 'rad')
    wind: bool = declared(
        False, 'no sensor measures the wind: whether it is the true one, instead of unknown')
    pitot_blocked: tuple[Interval, ...] = _intervals('when the pitot tube is blocked')
    static_blocked: tuple[Interval, ...] = _intervals('when the static port is blocked')


@dataclass(frozen=True, slots=True)
class RangeFinderFigures(_Device):
    """A range finder that looks down, along the body's axis."""

    distance: Errors | None = _sensor('distance to the ground along the axis', 'm')
    minimum: float = declared(0.0, 'the nearest that it measures', unit='m', low=0.0)
    maximum: float = declared(math.inf, 'the farthest that it measures', unit='m', low=0.0)
    field_of_view: float = declared(
        0.0, 'of the beam; it is told, not modelled', unit='rad', low=0.0, high=math.pi)
    failed: tuple[Interval, ...] = _intervals('when it delivers nothing')

    def __post_init__(self) -> None:
        """Raise ValueError for a maximum that is none."""
        if not self.minimum < self.maximum:
            raise ValueError(f'the maximum, {self.maximum:g} m, is not above the minimum, '
                             f'{self.minimum:g} m')


@dataclass(frozen=True, slots=True)
class MagnetometerFigures(_Device):
    """A magnetometer."""

    field: Errors | None = _sensor(
        'magnetic field along the three body axes; hard iron is its `bias_turn_on`', 'T')
    soft_iron: float = declared(
        0.0, 'standard deviation of each element of the symmetric matrix that distorts the field',
        low=0.0, high=1.0)
    # The years of the World Magnetic Model.
    year: float = declared(
        2025.0, 'whose field the earth has, with a fraction', low=2025.0, high=2030.0)


def _device(meaning: str) -> Any:
    return declared(None, meaning)


@dataclass(frozen=True, slots=True)
class Figures:
    """A set of sensors."""

    imu: ImuFigures | None = _device('inertial measurement unit with an attitude filter')
    gnss: GnssFigures | None = _device('GNSS receiver')
    air_data: AirDataFigures | None = _device('air data computer')
    range_finder: RangeFinderFigures | None = _device('range finder that looks down')
    magnetometer: MagnetometerFigures | None = _device('magnetometer')

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
    """Read a set of sensors: one of presets(), or a file. Raises FieldError."""
    return _load_file(name) if _is_file(name) else _preset(name)


def file_of(name: str) -> str:
    """Return the file of a set of sensors, which may not exist."""
    return name if _is_file(name) else str(_PRESETS / f'{name}.yaml')


def _is_file(name: str) -> bool:
    return '/' in name or name.endswith(('.yaml', '.yml'))


@cache
def _preset(name: str) -> Figures:
    if name not in presets():
        raise FieldError(
            f'there are no sensors {name!r}: expected a file (.yaml), or one of '
            f'{", ".join(presets())}')
    return _load_file(str(_PRESETS / f'{name}.yaml'))


def _load_file(path: str) -> Figures:
    content = plain_yaml.load_named(path)
    with in_file(path):
        return parse(content)


def parse(content: Any) -> Figures:
    """Return the figures in the content of a file. Raises FieldError."""
    return read(Figures, content)
