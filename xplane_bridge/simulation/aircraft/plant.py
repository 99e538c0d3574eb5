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
The plant: in what an aircraft differs from its model, as in studies of robustness.

How it is put into the model is in loading/varied.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from xplane_bridge.common.fields import FieldError, number
from xplane_bridge.common.text import abbreviated

AERO = 'aero.'
"""How the name of a factor on a function of the aerodynamics begins."""

GAIN = 'gains.'
"""How the name of a factor on a gain of the autopilot begins."""

INERTIA = ('ixx', 'iyy', 'izz', 'ixz')

_DELAYS = ('actuator_delay', 'command_delay', 'sensor_delay')
# Name: the lowest and the highest value.
_BOUNDS = {
    'mass': (0.01, 1e6),
    'cg': (-50.0, 50.0),
    **dict.fromkeys(INERTIA[:3], (0.05, 20.0)),
    INERTIA[3]: (-20.0, 20.0),
    'actuator_rate': (0.01, 1000.0),
    **dict.fromkeys(_DELAYS, (0.0, 5.0)),
}
_FACTOR = (-20.0, 20.0)
# So many names of derivatives and gains at most: a plan may be anybody's.
_MOST_FACTORS = 200

NAMES = tuple(_BOUNDS)
"""All names of what a plant may differ in, but for those that begin with AERO and GAIN."""


@dataclass(frozen=True, slots=True)
class Plant:
    """
    In what an aircraft differs from its model; by default in nothing.

    ``mass`` is the total one in kg, with the fuel and the load that the model begins with; None is
    the model's. ``cg`` moves the centre of gravity forward by so many m. ``ixx``, ``iyy``, ``izz``
    and ``ixz`` are factors on the moments of inertia of the model's file, ``aero`` on functions of
    its aerodynamics, by name. ``actuator_rate`` limits how fast elevator, aileron and rudder
    move, in full deflections (0 to 1) per second; None is without a limit. ``actuator_delay`` (s)
    is that of these three, ``command_delay`` of the throttle too; both add up. ``sensor_delay``
    (s) adds to the latency of all sensors, and ``gains`` are factors on gains of the autopilot.
    """

    mass: float | None = None
    cg: float = 0.0
    ixx: float = 1.0
    iyy: float = 1.0
    izz: float = 1.0
    ixz: float = 1.0
    aero: tuple[tuple[str, float], ...] = ()
    actuator_rate: float | None = None
    actuator_delay: float = 0.0
    command_delay: float = 0.0
    sensor_delay: float = 0.0
    gains: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, given: Any, where: str = 'plant') -> Plant:
        """
        Return the plant with these values by name, such as {'mass': 1100, 'aero.Cmalpha': 0.8}.

        Raises ValueError with a sentence for a name that is none, and a value that is not finite
        or out of bounds. What only its model can tell is checked when that is loaded.
        """
        if not isinstance(given, Mapping):
            raise FieldError(f'{where}: expected names with numbers, got {abbreviated(given)}')
        plain: dict[str, float] = {}
        factors: dict[str, list[tuple[str, float]]] = {AERO: [], GAIN: []}
        if len(given) > _MOST_FACTORS:
            raise FieldError(f'{where}: expected at most {_MOST_FACTORS} names, got {len(given)}')
        for name, value in given.items():
            if not (isinstance(name, str) and is_name(name)):
                raise FieldError(_no_name(name, where))
            kind = next((kind for kind in factors if name.startswith(kind)), '')
            low, high = _FACTOR if kind else _BOUNDS[name]
            found = number(value, f'{where}.{name}', low=low, high=high)
            if kind:
                factors[kind].append((name.removeprefix(kind), found))
            else:
                plain[name] = found
        return cls(**plain, aero=tuple(sorted(factors[AERO])),
                   gains=tuple(sorted(factors[GAIN])))

    def values(self) -> dict[str, float]:
        """Return in what it differs, by name, as of() takes it."""
        found = {name: getattr(self, name) for name in NAMES
                 if getattr(self, name) != getattr(AS_IN_ITS_FILE, name)}
        return {
            **found, **{f'{AERO}{name}': factor for name, factor in self.aero},
            **{f'{GAIN}{name}': factor for name, factor in self.gains}}

    def of_model(self) -> Plant:
        """Return what of it is put into a model: all but what sensors and the autopilot have."""
        return replace(self, sensor_delay=0.0, gains=())

    def without_actuators(self) -> Plant:
        """Return it as linear models have it: all that is commanded has its effect at once."""
        return replace(
            self.of_model(), actuator_rate=None, actuator_delay=0.0, command_delay=0.0)

    @property
    def has_actuators(self) -> bool:
        """Return whether surfaces or levers are not at once where they are commanded to be."""
        return bool(
            self.actuator_rate is not None or self.actuator_delay or self.command_delay)

    def __str__(self) -> str:
        return ', '.join(f'{name} {value:g}' for name, value in self.values().items())


def is_name(name: str) -> bool:
    """Return whether a plant may differ in it, if its model has that."""
    return name in NAMES or any(
        name.startswith(kind) and len(name) > len(kind) for kind in (AERO, GAIN))


AS_IN_ITS_FILE = Plant()
"""The plant that does not differ."""


def unit_of(name: str) -> str:
    """Return the unit of a name, '' for a factor."""
    if name == 'actuator_rate':
        return '1/s'
    return {'mass': 'kg', 'cg': 'm', **dict.fromkeys(_DELAYS, 's')}.get(name, '')


def _no_name(name: Any, where: str) -> str:
    near = get_close_matches(str(name), NAMES, n=2)
    return (f'{where}: there is no {abbreviated(name)}'
            + (f'; did you mean {" or ".join(near)}?' if near else '')
            + f'; expected {", ".join(NAMES)}, {AERO}NAME or {GAIN}NAME')
