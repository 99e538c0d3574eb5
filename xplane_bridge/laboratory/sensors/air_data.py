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
A pitot-static system with a thermometer, perhaps vanes, and the computer behind them.

The airspeed comes from the difference between the pitot tube's pressure p_t and the static port's
p_s, by the relation of compressible flow (bridges/conversions/air.py). A blocked port keeps the
pressure that it had: with the pitot tube and its drain blocked, p_t stays, and the airspeed
follows the altitude: it rises in a climb, as p_s falls, and changes no more with the speed. With
the static port blocked the altitude stays, and the airspeed is too low above the altitude of the
blockage, too high below. Source: FAA-H-8083-25C, Pilot's Handbook of Aeronautical Knowledge,
chapter 8, "Blockage of the Pitot-Static System".
"""

from __future__ import annotations

from dataclasses import replace
import math

from xplane_bridge.bridges.conversions import air
from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.laboratory.sensors.errors import Axes, Errors, PERFECT
from xplane_bridge.laboratory.sensors.faults import SensorFaults
from xplane_bridge.laboratory.sensors.imu import Generators
from xplane_bridge.laboratory.sensors.specification import AirDataFigures
from xplane_bridge.laboratory.sensors.timing import Delivery, Device


class AirDataComputer:
    """Measures the air; what it has no sensor for is None."""

    def __init__(
        self, figures: AirDataFigures, generators: Generators, faults: SensorFaults
    ) -> None:
        def axes(name: str, errors: Errors | None, count: int = 1) -> Axes | None:
            return None if errors is None else Axes(errors, count, generators(f'air_data.{name}'))

        self._figures = figures
        self._device: Device[Air] = Device(figures.timing, generators('air_data'))
        self._static = axes('static_pressure', figures.static_pressure)
        self._pitot = axes('pitot_pressure', figures.pitot_pressure)
        self._thermometer = axes('temperature', figures.temperature)
        self._vanes = axes('flow_angles', figures.flow_angles, 2)
        self._is_exact = all(errors == PERFECT for errors in (
            figures.static_pressure, figures.pitot_pressure, figures.temperature,
            figures.flow_angles))
        self._faults = faults
        # What blocked ports have kept.
        self._kept_static: float | None = None
        self._kept_total: float | None = None

    def show(self, stamp: int, true: Air) -> list[Delivery[Air]]:
        """Show the true air data at a stamp (ns); return what is delivered now."""
        return self._device.show(stamp, lambda interval: self._measure(stamp, true, interval))

    def _measure(self, stamp: int, true: Air, interval: float) -> Air:
        static = _known(true.static_pressure)
        impact = (
            _known(true.dynamic_pressure) if true.indicated_airspeed is None
            else air.calibrated_airspeed_to_impact_pressure(true.indicated_airspeed))
        self._kept_static = None if not self._faults.has_static_blocked(stamp) else (
            static if self._kept_static is None else self._kept_static)
        self._kept_total = None if not self._faults.has_pitot_blocked(stamp) else (
            static + impact if self._kept_total is None else self._kept_total)
        wind = true.wind if self._figures.wind else None
        if self._is_exact and self._kept_static is None and self._kept_total is None:
            return true if wind is true.wind else replace(true, wind=wind)
        at_port = static if self._kept_static is None else self._kept_static
        felt = impact
        if self._kept_static is not None or self._kept_total is not None:
            total = static + impact if self._kept_total is None else self._kept_total
            felt = total - at_port
        angles = _read(
            self._vanes, interval, true.angle_of_attack, true.sideslip) or (math.nan, math.nan)
        return self._computed(
            _one(self._static, interval, at_port), impact, _one(self._pitot, interval, felt),
            _one(self._thermometer, interval, _known(true.temperature)), angles, true, wind)

    @staticmethod
    def _computed(
        static: float, impact: float, felt: float, temperature: float,
        angles: tuple[float, ...], true: Air, wind: tuple[float, float, float] | None,
    ) -> Air:
        """Return what follows from the pressures, the temperature and the vanes."""
        indicated = air.impact_pressure_to_calibrated_airspeed(felt)
        return Air(
            indicated_airspeed=_unknown(indicated),
            true_airspeed=_unknown(
                air.calibrated_to_true_airspeed(indicated, static, temperature)),
            angle_of_attack=_unknown(angles[0]), sideslip=_unknown(angles[1]),
            static_pressure=_unknown(static),
            # The true one may be the dynamic pressure of incompressible flow.
            dynamic_pressure=_unknown(_known(true.dynamic_pressure) + felt - impact),
            temperature=_unknown(temperature),
            density=_unknown(air.density(static, temperature)), wind=wind)


def _known(value: float | None) -> float:
    return math.nan if value is None else value


def _unknown(value: float) -> float | None:
    return None if math.isnan(value) else value


def _one(axes: Axes | None, interval: float, value: float) -> float:
    return math.nan if axes is None else axes.measure((value,), interval)[0]


def _read(axes: Axes | None, interval: float, *values: float | None) -> tuple[float, ...] | None:
    return None if axes is None else axes.measure([_known(value) for value in values], interval)
