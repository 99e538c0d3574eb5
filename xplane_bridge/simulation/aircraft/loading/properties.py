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


"""The JSBSim properties of a model: their names and values, and which can be written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
import math
import re
from typing import Any

from xplane_bridge.common.text import printable

# JSBSim lists the first of several as 'engine', and the others as 'engine[1]'.
_FIRST = '[0]'
_WRITABLE = re.compile(r'\(R?W\)')
# What acts on JSBSim itself, or on memory of engines of another kind: a wrong value ends the
# process.
_REFUSED = re.compile(
    r'simulation/|propulsion/(set-running|active_engine|\w+_cmd)$')
_MEANT = 3
_MOST_EXPLAINED = 5
_LONGEST_SHOWN = 100


class Properties:
    """
    The properties of one loaded model, by name, in JSBSim's own units.

    Names are those of JSBSim's catalogue, below /fdm/jsbsim; 'engine[0]' is 'engine'.
    ``are_written``: somebody has written one.
    """

    def __init__(self, fdm: Any) -> None:
        """Bind to a loaded jsbsim.FGFDMExec."""
        self._fdm = fdm
        self._manager = fdm.get_property_manager()
        # By name, whether it can be written.
        self._known: dict[str, bool] = {}
        self.are_written = False
        self._nodes: dict[str, Any] = {}

    def names(self, contains: str = '') -> list[str]:
        """Return the names that contain a text, in JSBSim's order; by default all."""
        return [name for name in self._catalogue() if contains in name]

    def is_writable(self, name: str) -> bool:
        """Return whether a property of the catalogue can be written."""
        return self._catalogue()[name] and not _REFUSED.match(name)

    def read(self, names: Iterable[str]) -> list[float]:
        """Return values, NaN where there is no such property."""
        return [node.get_double_value() if (node := self._node(name)) else math.nan
                for name in names]

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return a sentence for each name of which this model has no property."""
        absent = [name for name in names if self._node(name) is None]
        # To look for similar names takes milliseconds, and the flight waits.
        return [self._absent(name, index < _MOST_EXPLAINED) for index, name in enumerate(absent)]

    def check(self, values: Mapping[str, float]) -> None:
        """Raise ValueError if one of the values cannot be written."""
        for name, value in values.items():
            if self._node(name) is None:
                raise ValueError(self._absent(name))
            if not math.isfinite(value):
                raise ValueError(f'{name} is {value}, must be finite')
            known = name.replace(_FIRST, '')
            if not self._catalogue()[known]:
                raise ValueError(f'{name} is read-only: JSBSim computes it')
            if _REFUSED.match(known):
                raise ValueError(
                    f'{name} is refused: it steers JSBSim itself, and a wrong value would end '
                    'the process')

    def write(self, values: Mapping[str, float]) -> None:
        """Write values, all or none. Raises ValueError with the reason."""
        self.check(values)
        self.are_written = True
        for name, value in values.items():
            if not self._node(name).set_double_value(float(value)):
                raise ValueError(f'{name} is read-only: JSBSim did not take {value:g}')

    def _catalogue(self) -> dict[str, bool]:
        if not self._known:
            self._known = {
                name: bool(_WRITABLE.match(access)) for name, access in (
                    entry.rsplit(' ', 1) for entry in self._fdm.get_property_catalog())}
        return self._known

    def _node(self, name: str) -> Any:
        node = self._nodes.get(name)
        if node is None and name.replace(_FIRST, '') in self._catalogue():
            node = self._nodes[name] = self._manager.get_node(name)
        return node

    def _absent(self, name: str, explain: bool = True) -> str:
        near = get_close_matches(
            name, self._catalogue(), n=_MEANT, cutoff=0.7) if explain else ()
        return f'the aircraft has no property {printable(repr(name), _LONGEST_SHOWN)}' + (
            f'; did you mean {" or ".join(near)}?' if near else '')


def parse(items: Sequence[str]) -> dict[str, float]:
    """
    Return values by name from texts such as 'inertia/pointmass-weight-lbs=200'.

    Raises ValueError for one that is not of that form, not finite, or given twice.
    """
    values: dict[str, float] = {}
    for item in items:
        name, separator, text = (part.strip() for part in str(item).partition('='))
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (name and separator and math.isfinite(value)):
            raise ValueError(f'expected name=value with a finite number, got {item!r}')
        if name in values:
            raise ValueError(f'{name} is given twice')
        values[name] = value
    return values
