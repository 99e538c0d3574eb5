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
Events of the airframe: what ends a flight, or takes it beyond what the aircraft is built for.

DIVERGED and STRUCK end a flight: watch.py says how they are found. BEYOND is a warning. REPORTED
is what another program says of its aircraft, that it has crashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
import math
from typing import Any, NamedTuple

from xplane_bridge.common.units import DEGREE


class AirframeEventKind(StrEnum):
    """What has happened to an airframe."""

    DIVERGED = 'diverged'
    STRUCK = 'struck'
    BEYOND = 'beyond its envelope'
    REPORTED = 'reported'


@dataclass(frozen=True, slots=True)
class AirframeEvent:
    """
    What has happened to an airframe ``at`` a time (s): a ``quantity`` got to a ``value`` (SI).

    ``limit`` is what it may be. ``pitch`` (rad) is that of the aircraft, ``surface`` what it
    struck, and ``hint`` the rest of its sentence, if there is more to say.
    """

    kind: AirframeEventKind
    quantity: str
    value: float
    limit: float = math.nan
    at: float = math.nan
    pitch: float = math.nan
    surface: str = 'ground'
    hint: str = ''

    def __str__(self) -> str:
        if self.kind is AirframeEventKind.STRUCK:
            nose = f'{abs(self.pitch) / DEGREE:.0f} deg nose {"down" if self.pitch < 0 else "up"}'
            speed = f'{self.value:.0f}' if self.value >= 9.95 else f'{self.value:.1f}'
            along = ' over ground' if self.quantity == 'ground_speed' else ''
            said = f'struck the {self.surface} with {speed} m/s{along}, {nose}'
        elif self.kind is AirframeEventKind.REPORTED:
            said = 'reported by the simulator'
        elif self.kind is AirframeEventKind.DIVERGED:
            said = 'diverged: its state is no longer finite' if math.isnan(self.value) else (
                f'diverged: its {self.quantity.replace("_", " ")} was {self._shown(self.value)}')
        else:
            said = (f'{self.quantity.replace("_", " ")} {self._shown(self.value)}, beyond '
                    f'{self._shown(self.limit)}')
        return said + (f'; {self.hint}' if self.hint else '')

    @property
    def outcome(self) -> str:
        """Return it as the outcome of a flight."""
        what = 'beyond the envelope' if self.kind is AirframeEventKind.BEYOND else 'crashed'
        return f'{what} at {self.at:.1f} s: {self}'

    @property
    def limit_name(self) -> str:
        """Return the name of the limit that it is beyond."""
        if self.quantity == 'load_factor':
            return f'load_factor_{"high" if self.limit > 0.0 else "low"}'
        return 'never_exceed_speed'

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {'kind': str(self.kind), 'at': self.at, 'quantity': self.quantity,
                'value': self.value, 'limit': self.limit, 'text': str(self)}

    def _shown(self, value: float) -> str:
        if self.quantity.endswith('rate'):
            return f'{value / DEGREE:,.0f} deg/s'
        return f'{value:.1f} g' if self.quantity == 'load_factor' else f'{value:.1f} m/s'


DIVERGED = AirframeEvent(AirframeEventKind.DIVERGED, 'state', math.nan)
"""A state that is not finite, or that JSBSim itself gave up."""


class EnvelopeLimits(NamedTuple):
    """Never-exceed speed (m/s, calibrated) and load factors (g) of an airframe; NaN: unknown."""

    never_exceed_speed: float = math.nan
    load_factor_high: float = math.nan
    load_factor_low: float = math.nan

    @property
    def are_known(self) -> bool:
        """Return whether one of them is known."""
        return not all(map(math.isnan, self))
