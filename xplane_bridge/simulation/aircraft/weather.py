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
Wind, wind shear, discrete gusts and turbulence of a JSBSim model.

MIL-F-8785C, 3.7.2.3 and 3.7.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
import math

from xplane_bridge.common.fields import declared, REQUIRED, table_of
from xplane_bridge.simulation.aircraft import limits
from xplane_bridge.simulation.aircraft.limits import check_finite, check_wind
from xplane_bridge.simulation.aircraft.model import Model
from xplane_bridge.simulation.aircraft.state import AircraftState, FOOT

TWENTY_FEET = 20.0 * FOOT
# Shear is what it is between these heights (m), and beyond them constant: 3 ft and 1000 ft.
_LOWEST = 3.0 * FOOT
_HIGHEST = 1000.0 * FOOT
_LONGEST = 1e5

FOR_GOOD = -1.0
"""Instead of the length of a gust's hold."""

# JSBSim's turb-type for MIL-F-8785C.
_TURBULENCE_TYPE = 3
_TURBULENCE = 'atmosphere/turbulence/milspec'
_AXES = ('north', 'east', 'down')


@dataclass(frozen=True, slots=True)
class Gust:
    """
    A gust of the shape (1 - cosine), which an aircraft meets on its way through the air.

    Its amplitudes in m/s are the velocity of the air ``forward`` and to the ``right``, level by
    the heading at which it begins, and ``up``. It builds up over ``length`` m of flight, from
    ``distance`` m on; after ``hold`` m more it falls off over the same length. It is held for
    good where that is negative.
    """

    forward: float
    right: float
    up: float
    length: float = declared(
        REQUIRED, 'the way through the air in which it builds up, *dm*', unit='m', above=0.0,
        high=_LONGEST)
    distance: float = declared(
        0.0, 'the way through the air from the event to its begin', unit='m', low=0.0,
        high=_LONGEST)
    hold: float = declared(
        FOR_GOOD, 'after so many m more it falls off again', unit='m', low=-_LONGEST,
        high=_LONGEST)

    def check(self) -> None:
        """Raise ValueError for one that is not simulated."""
        check_finite(forward=self.forward, right=self.right, up=self.up)
        check_wind(self.forward, self.right, self.up)
        for name, one in table_of(Gust).items():
            one.check(getattr(self, name), name)

    def share(self, flown: float) -> float:
        """Return the share of its amplitudes after so many m of flight."""
        x, whole = flown - self.distance, self._whole
        if not 0.0 < x < whole:
            return 0.0
        along = min(x, self.length, whole - x)
        return 0.5 * (1.0 - math.cos(math.pi * along / self.length))

    def is_over(self, flown: float) -> bool:
        """Return whether it was flown through."""
        return flown >= self.distance + self._whole

    @property
    def _whole(self) -> float:
        return math.inf if self.hold < 0.0 else 2.0 * self.length + self.hold


@dataclass(frozen=True, slots=True)
class Shear:
    """
    A horizontal wind that grows with the height above the ground.

    ``north`` and ``east`` are its velocity at 20 ft, in m/s. The profile is logarithmic with a
    ``roughness`` (m; MIL-F-8785C: 0.15 ft for approach, take-off and landing, otherwise 2 ft), or
    where that is 0, the power of the height with this ``exponent``. Below 3 ft and above 1000 ft
    the wind is that of these heights.
    """

    north: float
    east: float
    roughness: float = declared(
        0.0, '*z0*, of a logarithmic profile', unit='m', low=1e-4, high=5.0)
    exponent: float = declared(0.0, '*p*, of a power profile', low=0.0, high=1.0)

    def check(self) -> None:
        """Raise ValueError for one that is not simulated."""
        check_finite(north=self.north, east=self.east)
        check_wind(self.north, self.east)
        for name, one in table_of(Shear).items():
            if getattr(self, name):
                one.check(getattr(self, name), name)

    def share(self, height: float) -> float:
        """Return the share of the wind at 20 ft at a height above the ground, in m."""
        height = min(max(height, _LOWEST), _HIGHEST)
        if not self.roughness:
            return float((height / TWENTY_FEET) ** self.exponent)
        # Within the roughness there is no wind.
        return max(math.log(height / self.roughness), 0.0) / math.log(
            TWENTY_FEET / self.roughness)


@dataclass(frozen=True, slots=True)
class Weather:
    """
    The velocity of the air (north, east, down in m/s), turbulence and shear.

    wind_at_20ft in m/s and severity 0..7 are those of MIL-F-8785C.
    """

    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    wind_at_20ft: float = 0.0
    severity: int = 0
    shear: Shear | None = None

    def wind_at(self, height: float) -> tuple[float, float]:
        """Return the wind, north and east in m/s, with its shear at a height (m) above ground."""
        north, east, _ = self.wind
        if self.shear is None:
            return north, east
        share = self.shear.share(height)
        return north + self.shear.north * share, east + self.shear.east * share

    def apply(self, model: Model) -> None:
        """Apply it to a model, but for the shear."""
        for name, value in zip(_AXES, self.wind, strict=True):
            model.set(f'atmosphere/wind-{name}-fps', value / FOOT)
        model.set('atmosphere/turb-type', _TURBULENCE_TYPE)
        model.set(f'{_TURBULENCE}/windspeed_at_20ft_AGL-fps', self.wind_at_20ft / FOOT)
        model.set(f'{_TURBULENCE}/severity', self.severity)


def calm(model: Model) -> None:
    """Remove turbulence until weather is applied again; Model.initialise removes the wind."""
    model.set(f'{_TURBULENCE}/windspeed_at_20ft_AGL-fps', 0.0)
    model.set(f'{_TURBULENCE}/severity', 0)
    for name in 'pqr':
        model.set(f'ic/{name}-rad_sec', 0.0)


class FlownInAir:
    """An aircraft, as far as the weather is concerned."""

    dt: float
    _model: Model
    _state: AircraftState | None
    _weather = Weather()
    # Gusts with the way flown since each began (m), cosine and sine of the heading then.
    _gusts: tuple[tuple[Gust, float, float, float], ...] = ()

    @property
    def weather(self) -> Weather:
        """Return its air, but for gusts."""
        return self._weather

    @property
    def wind(self) -> tuple[float, float, float]:
        """Return the steady wind without turbulence: north, east, down in m/s."""
        return self._weather.wind

    def set_wind(self, north: float, east: float, down: float = 0.0) -> None:
        """Set the steady wind: the velocity of the air in m/s, each within +-100."""
        check_finite(north=north, east=east, down=down)
        check_wind(north, east, down)
        self._weather = replace(self._weather, wind=(north, east, down))
        self._apply_weather()

    def set_turbulence(self, wind_at_20ft: float, severity: int) -> None:
        """
        Set JSBSim's MIL-F-8785C turbulence, seeded by the aircraft's seed.

        wind_at_20ft in m/s (0..100) applies below 1000 ft above mean sea level (7.6 light, 15
        moderate, 23 severe), severity 0..7 above 2000 ft (3 light, 4 moderate, 6 severe), both in
        between. Severity 0 is calm at all heights: (0, 0). It grows from calm within seconds.
        """
        check_finite(wind_at_20ft=wind_at_20ft)
        limits.check_turbulence(wind_at_20ft, severity)
        self._weather = replace(self._weather, wind_at_20ft=wind_at_20ft, severity=severity)
        self._apply_weather()

    def set_shear(self, shear: Shear | None) -> None:
        """Set a wind that grows with the height, beside the steady one; None removes it."""
        if shear is not None:
            shear.check()
        self._weather = replace(self._weather, shear=shear)
        self._apply_weather()

    def meet(self, gust: Gust) -> None:
        """Fly into a gust from now on, beside those that are not over."""
        gust.check()
        heading = float(self._model.get('attitude/psi-rad'))
        self._gusts = (*self._gusts, (gust, 0.0, math.cos(heading), math.sin(heading)))
        self._apply_weather()

    def _apply_weather(self) -> None:
        self._state = None
        self._weather.apply(self._model)
        changes = self._weather.shear is not None or self._gusts
        self._model.before_step = self._moving_air() if changes else None

    def _moving_air(self) -> Callable[[], None]:
        """Return what sets shear and gusts before a step, and flies on through the gusts."""
        model, dt, weather = self._model, self.dt, self._weather
        getter, setter = model.getter, model.setter
        height, speed = getter('position/h-agl-ft'), getter('velocities/vt-fps')
        winds = [setter(f'atmosphere/wind-{name}-fps') for name in _AXES[:2]]
        gusts = [setter(f'atmosphere/gust-{name}-fps') for name in _AXES]

        def before_step() -> None:
            if weather.shear is not None:
                north, east = weather.wind_at(height() * FOOT)
                winds[0](north / FOOT)
                winds[1](east / FOOT)
            if not self._gusts:
                return
            felt, way, left = [0.0, 0.0, 0.0], speed() * FOOT * dt, []
            for gust, flown, cosine, sine in self._gusts:
                share = gust.share(flown)
                felt[0] += share * (gust.forward * cosine - gust.right * sine)
                felt[1] += share * (gust.forward * sine + gust.right * cosine)
                felt[2] -= share * gust.up
                if not gust.is_over(flown):
                    left.append((gust, flown + way, cosine, sine))
            self._gusts = tuple(left)
            for to, value in zip(gusts, felt, strict=True):
                to(value / FOOT)

        return before_step
