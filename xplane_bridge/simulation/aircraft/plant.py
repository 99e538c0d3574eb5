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

from xplane_bridge.common.fields import (
    Declaration,
    declared,
    FieldError,
    Table,
    table_of,
    wrong_kind,
)
from xplane_bridge.common.text import abbreviated

AERO = 'aero.'
"""How the name of a factor on a function of the aerodynamics begins."""

GAIN = 'gains.'
"""How the name of a factor on a gain of the autopilot begins."""

INERTIA = ('ixx', 'iyy', 'izz', 'ixz')

# So many names of derivatives and gains at most: a plan may be anybody's.
_MOST_FACTORS = 200

def _factor(what: str, low: float = 0.05, high: float = 20.0) -> Any:
    return declared(1.0, f"a factor on the {what} of the model's file", low=low, high=high)


def _delay(meaning: str) -> Any:
    return declared(0.0, meaning, unit='s', low=0.0, high=5.0)


@dataclass(frozen=True, slots=True)
class Plant:
    """
    In what an aircraft differs from its model; by default in nothing.

    What is None is as the model has it. ``aero`` are factors on functions of its aerodynamics, by
    name, ``gains`` on gains of the autopilot.
    """

    mass: float | None = declared(
        None, "the total mass, with the fuel and the load of the model's file; at least the empty "
        'mass', unit='kg', low=0.01, high=1e6)
    cg: float = declared(
        0.0, 'how far the centre of gravity is moved forward; at most one mean chord', unit='m',
        low=-50.0, high=50.0)
    ixx: float = _factor('moment of inertia in roll')
    iyy: float = _factor('moment of inertia in pitch')
    izz: float = _factor('moment of inertia in yaw')
    ixz: float = _factor('product of inertia', -20.0, 20.0)
    actuator_rate: float | None = declared(
        None, 'how fast elevator, aileron and rudder move at most, in full deflections (0 to 1)',
        unit='1/s', low=0.01, high=1000.0)
    actuator_delay: float = _delay('how much later these three move than they are commanded')
    command_delay: float = _delay('the same for these three and the throttle; both add up')
    sensor_delay: float = _delay(
        'how much later each of the [sensors](sensors.md) delivers; without errors: '
        '`sensors: perfect`')
    aero: tuple[tuple[str, float], ...] = ()
    gains: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, given: Any, where: str = 'plant') -> Plant:
        """
        Return the plant with these values by name, such as {'mass': 1100, 'aero.Cmalpha': 0.8}.

        Raises ValueError with a sentence for a name that is none, and a value that is not finite
        or out of bounds. What only its model can tell is checked when that is loaded.
        """
        if not isinstance(given, Mapping):
            raise FieldError(wrong_kind(where, 'names with numbers', given))
        plain: dict[str, float] = {}
        factors: dict[str, list[tuple[str, float]]] = {AERO: [], GAIN: []}
        if len(given) > _MOST_FACTORS:
            raise FieldError(f'{where}: expected at most {_MOST_FACTORS} names, got {len(given)}')
        for name, value in given.items():
            if not (isinstance(name, str) and is_name(name)):
                raise FieldError(_no_name(name, where))
            kind = next((kind for kind in factors if name.startswith(kind)), '')
            one = FACTORS[f'{kind}NAME'] if kind else table_of(cls)[name]
            found = one.check(value, f'{where}.{name}')
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


NAMES = tuple(table_of(Plant))
"""All names of what a plant may differ in, but for those that begin with AERO and GAIN."""

FACTORS: Table = {
    f'{AERO}NAME': Declaration(
        1.0, 'a factor on a function of the aerodynamics, by the last part of its name, or by all '
        f'of it; or on all of an axis, such as `{AERO}LIFT`', low=-20.0, high=20.0),
    f'{GAIN}NAME': Declaration(
        1.0, 'a factor on a gain of the [autopilot](autopilot.md)', low=-20.0, high=20.0)}
"""What begins with AERO and GAIN."""


def is_name(name: str) -> bool:
    """Return whether a plant may differ in it, if its model has that."""
    return name in NAMES or any(
        name.startswith(kind) and len(name) > len(kind) for kind in (AERO, GAIN))


AS_IN_ITS_FILE = Plant()
"""The plant that does not differ."""


def unit_of(name: str) -> str:
    """Return the unit of a name, '' for a factor."""
    return table_of(Plant)[name].unit if name in NAMES else ''


def _no_name(name: Any, where: str) -> str:
    near = get_close_matches(str(name), NAMES, n=2)
    return (f'{where}: there is no {abbreviated(name)}'
            + (f'; did you mean {" or ".join(near)}?' if near else '')
            + f'; expected {", ".join(NAMES)}, {AERO}NAME or {GAIN}NAME')
