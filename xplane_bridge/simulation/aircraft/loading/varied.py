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
An aircraft's files with a plant in them: JSBSim loads a copy that was changed as if by hand.

| of the plant | in the copy |
|---|---|
| ``mass`` | one more point mass at the centre of gravity, which leaves it and all inertia |
| ``cg`` | the empty aircraft's own one is moved, so far that the whole's moves by that |
| ``ixx`` ... | those values of mass_balance, times the factor |
| ``aero.NAME`` | that function, of all that an axis of that name has each, in a product with it |
| delays, rate | an actuator of JSBSim's takes each command; all that reads it reads the actuator |

The actuators have their commands at once while JSBSim trims, as its own have. So trims and linear
models are those without delay and rate. A section in another file is put into the copy.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
import re
from tempfile import TemporaryDirectory
import threading
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from xplane_bridge.common.units import FOOT, POUND
from xplane_bridge.simulation.aircraft.loading.files import AircraftFiles, LARGEST_FILE
from xplane_bridge.simulation.aircraft.loading.inert import copied, moved
from xplane_bridge.simulation.aircraft.loading.load import heard, load

_INCH = FOOT / 12.0
_LENGTHS = {'IN': _INCH, 'FT': FOOT, 'M': 1.0, 'CM': 0.01}
# A mass of more times that of the model is a mistake.
_HEAVIEST = 5.0
_AERO = 'aero.'
_INERTIA = ('ixx', 'iyy', 'izz', 'ixz')
_ACTUATORS = ('actuator_rate', 'actuator_delay', 'command_delay')
_SURFACES = ('elevator', 'aileron', 'rudder')
_COMMAND = r'\bfcs/({})-cmd-norm(?:\[(\d+)\])?'
_MOST_KEPT = 8
_MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class _Usual:
    """The model as its file has it: masses in lb, places in inches, the chord in m; engines."""

    weight: float
    empty: float
    cg: tuple[float, float, float]
    chord: float
    engines: int
    dt: float


_Values = tuple[tuple[str, float], ...]
_kept: OrderedDict[tuple[Path, bytes, _Values, float], TemporaryDirectory[str]] = OrderedDict()
_usual: OrderedDict[tuple[Path, bytes], _Usual] = OrderedDict()
_lock = threading.Lock()


def varied(jsbsim: Any, files: AircraftFiles, values: Mapping[str, float], dt: float,
           named: Path) -> AircraftFiles:
    """
    Return the files of an aircraft with a plant in it, for steps of ``dt`` (s).

    ``values`` are in what the plant differs, by the names of plant.Plant.values(). ``named`` is
    the file that the user knows. Raises ValueError with a sentence for what this model has not: a
    function, an inertia, a mass so small; and for a centre of gravity beyond its chord.
    """
    with files.file.open('rb') as stream:
        text = stream.read(LARGEST_FILE)
    key = files.file, text, tuple(values.items()), dt
    with _lock:
        if key not in _kept:
            if key[:2] not in _usual:
                _usual[key[:2]] = _weighed(jsbsim, files, named)
            model = _Varied(files, text, _usual[key[:2]], f'{named.stem}: plant')
            model.change(values, dt)
            _kept[key] = copied(files, model.files())
            for kept in (_kept, _usual):
                while len(kept) > _MOST_KEPT:
                    kept.popitem(last=False)
        _kept.move_to_end(key)
        folder = _kept[key]
    return moved(files, folder)


def _weighed(jsbsim: Any, files: AircraftFiles, named: Path) -> _Usual:
    fdm = load(jsbsim, files, named)
    dt = float(fdm.get_delta_t())
    with heard(jsbsim, named, 'run', {str(files.file): str(named)}):
        # There is no centre of gravity before.
        fdm.run_ic()
    get = fdm.get_property_value
    x, y, z = (float(get(f'inertia/cg-{axis}-in')) for axis in 'xyz')
    return _Usual(get('inertia/weight-lbs'), get('inertia/empty-weight-lbs'), (x, y, z),
                  get('metrics/cbarw-ft') * FOOT, fdm.get_propulsion().get_num_engines(), dt)


class _Varied:
    """The file of an aircraft while it is changed."""

    def __init__(self, files: AircraftFiles, text: bytes, usual: _Usual, where: str) -> None:
        self.root = ElementTree.fromstring(text)
        self._files, self._usual, self._where = files, usual, where
        self._others: dict[str, Element] = {}

    def change(self, values: Mapping[str, float], dt: float) -> None:
        """Put a plant into it."""
        for name, value in values.items():
            if name in _INERTIA:
                self._scale_inertia(name, value)
        if 'mass' in values or 'cg' in values:
            self._move_mass(values.get('mass'), values.get('cg', 0.0))
        if factors := {name.removeprefix(_AERO): value for name, value in values.items()
                       if name.startswith(_AERO)}:
            self._scale_functions(factors)
        if not values.keys().isdisjoint(_ACTUATORS):
            self._delay_commands(
                values.get('actuator_rate'), values.get('actuator_delay', 0.0),
                values.get('command_delay', 0.0), dt)

    def files(self) -> dict[str, bytes]:
        """Return the files of the copy by their names: its own, and sections of it."""
        return {f'{name}.xml': ElementTree.tostring(root, encoding='utf-8') for name, root in (
            (self._files.file.stem, self.root), *self._others.items())}

    def _sections(self, *names: str) -> list[Element]:
        """Return the sections of these names; one in another file becomes a file of the copy."""
        found = []
        for section in self.root:
            name = section.get('file', '').removesuffix('.xml')
            if section.tag not in names:
                continue
            if not name:
                found.append(section)
            elif name in self._others:
                found.append(self._others[name])
            elif there := self._files.find(section.tag, name):
                changed = f'plant-{Path(name).name}'
                self._others[changed] = ElementTree.parse(there).getroot()
                section.set('file', changed)
                found.append(self._others[changed])
        return found

    def _fail(self, name: str, why: str) -> ValueError:
        return ValueError(f'{self._where}.{name}: {why}')

    # Mass.

    def _move_mass(self, mass: float | None, cg: float) -> None:
        usual = self._usual
        balance = self._balance('mass' if mass is not None else 'cg')
        x, y, z = usual.cg
        if cg:
            if not abs(cg) <= usual.chord:
                raise self._fail('cg', (
                    f'expected at most its mean chord, {usual.chord:.2f} m, forward or aft, got '
                    f'{cg:g}'))
            place = balance.find("location[@name='CG']")
            along = None if place is None else place.find('x')
            unit = _LENGTHS.get('IN' if place is None else place.get('unit', 'IN'))
            if along is None or unit is None or not usual.empty > 0.0:
                raise self._fail('cg', 'its file has no centre of gravity that could be moved')
            # Along the file's own axis, which points aft.
            along.text = repr(
                float(along.text or 0.0) - cg / unit * usual.weight / usual.empty)
            x -= cg / _INCH
        if mass is None:
            return
        weight = mass / POUND
        if not usual.empty <= weight <= _HEAVIEST * usual.weight:
            raise self._fail('mass', (
                f'expected at least the empty mass, {usual.empty * POUND:.1f} kg, and at most '
                f'{_HEAVIEST * usual.weight * POUND:.0f} kg, got {mass:g} kg; with the fuel '
                f'and load of its file it is {usual.weight * POUND:.1f} kg'))
        ballast = SubElement(balance, 'pointmass', {'name': 'plant'})
        SubElement(ballast, 'weight', {'unit': 'LBS'}).text = repr(weight - usual.weight)
        location = SubElement(ballast, 'location', {'unit': 'IN'})
        for axis, value in zip('xyz', (x, y, z), strict=True):
            SubElement(location, axis).text = repr(value)

    def _scale_inertia(self, name: str, factor: float) -> None:
        moment = self._balance(name).find(name)
        if moment is None or not (value := float(moment.text or 0.0)):
            raise self._fail(name, f'it is 0 in the file of {self._files.model}, and a factor '
                                   'leaves it so')
        moment.text = repr(value * factor)

    def _balance(self, name: str) -> Element:
        found = next(iter(self._sections('mass_balance')), None)
        if found is None:
            raise self._fail(name, f'the file of {self._files.model} has no mass_balance')
        return found

    # Aerodynamics.

    def _scale_functions(self, factors: dict[str, float]) -> None:
        known = _names([one for section in self._sections('aerodynamics') for one in section])
        for name, factor in factors.items():
            if name not in known:
                near = get_close_matches(name, known, n=3, cutoff=0.5) or [
                    one for one in known if one.lower() == name.lower()]
                shown = [one for one in known if '/' not in one]
                raise self._fail(f'{_AERO}{name}', (
                    f'{self._files.model} has no such function or axis'
                    + (f'; did you mean {" or ".join(near)}?' if near else '')
                    + f'; it has {", ".join(shown[:_MOST_SHOWN]) or "none"}'
                    + (f' and {len(shown) - _MOST_SHOWN} more' if len(shown) > _MOST_SHOWN
                       else '')))
            for function in known[name]:
                _scale(function, factor)

    # Actuators.

    def _delay_commands(self, rate: float | None, actuators: float, late: float, dt: float,
                        ) -> None:
        kinds = ('flight_control', 'autopilot', 'system')
        self._sections(*kinds)
        read = re.compile(_COMMAND.format('|'.join(
            (*_SURFACES, *(('throttle',) if late else ())))))
        for root in (self.root, *self._others.values()):
            for element in root.iter():
                if element.tag != 'output' and element.text and 'cmd-norm' in element.text:
                    element.text = read.sub(
                        lambda found: _delayed(found[1], int(found[2] or 0)), element.text)
        system = Element('system', {'name': 'plant'})
        channel = SubElement(system, 'channel', {'name': 'actuators of the plant'})
        for name in _SURFACES:
            _actuator(channel, name, 0, actuators + late, dt,
                      None if rate is None else rate * dt / self._usual.dt)
        for number in range(self._usual.engines if late else 0):
            lever = _actuator(channel, 'throttle', number, late, dt)
            SubElement(lever, 'output').text = f'fcs/throttle-pos-norm[{number}]'
        # Systems run in the order of the file, and before its flight control.
        self.root.insert(next((at for at, one in enumerate(self.root) if one.tag in kinds),
                              len(self.root)), system)


def _delayed(name: str, number: int) -> str:
    return f'fcs/plant-{name}-cmd-norm' + (f'-{number}' if name == 'throttle' else '')


def _actuator(channel: Element, name: str, number: int, delay: float, dt: float,
              rate: float | None = None) -> Element:
    found = SubElement(channel, 'actuator', {'name': _delayed(name, number)})
    SubElement(found, 'input').text = f'fcs/{name}-cmd-norm' + (
        f'[{number}]' if name == 'throttle' else '')
    if rate is not None:
        SubElement(found, 'rate_limit').text = repr(rate)
    if frames := round(delay / dt):
        # Of a delay of n frames JSBSim's component delays by n - 1.
        SubElement(found, 'delay', {'type': 'frames'}).text = str(frames + 1)
    return found


def _names(sections: list[Element]) -> dict[str, list[Element]]:
    """Return functions by full name, by the last part of it if that is one's only, and by axis."""
    full: dict[str, list[Element]] = {}
    last: dict[str, list[Element]] = {}
    axes: dict[str, list[Element]] = {}
    for section in sections:
        inside = [section] if section.tag == 'function' else (
            section.findall('function') if section.tag == 'axis' else [])
        for function in inside:
            if section.tag == 'axis':
                axes.setdefault(section.get('name', ''), []).append(function)
            if (name := function.get('name', '')) and function.get('type') != 'template':
                full.setdefault(name, []).append(function)
                last.setdefault(name.rpartition('/')[2], []).append(function)
    return {**axes, **full, **{name: one for name, one in last.items() if len(one) == 1}}


def _scale(function: Element, factor: float) -> None:
    """Put what a function computes into a product with a factor."""
    inside = [one for one in function if one.tag != 'description']
    for one in inside:
        function.remove(one)
    product = SubElement(function, 'product')
    SubElement(product, 'value').text = repr(factor)
    product.extend(inside)
