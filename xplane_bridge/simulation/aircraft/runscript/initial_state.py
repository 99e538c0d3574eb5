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

"""The initial state of a script of JSBSim (<initialize>): read and checked before JSBSim does."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from xplane_bridge.common.fields import FieldError, in_file
from xplane_bridge.common.text import abbreviated
from xplane_bridge.simulation.aircraft.loading.files import AircraftFiles
from xplane_bridge.simulation.aircraft.runscript.elements import (
    Allowed,
    check_form,
    read_attribute,
    read_number,
    read_xml,
    text_of,
)
from xplane_bridge.simulation.aircraft.runscript.script import RunScript

# FGInitialCondition::Load_v1 and Load_v2; those of _TEXTS have no number.
_TEXTS = ('trim', 'documentation', 'description')
_COMMON = ('running', 'elevation', 'documentation', 'description')
_VERSION_1 = (
    *_COMMON, 'latitude', 'longitude', 'altitude', 'altitudeAGL', 'altitudeMSL', 'phi', 'theta',
    'psi', 'ubody', 'vbody', 'wbody', 'vnorth', 'veast', 'vdown', 'vc', 'vt', 'mach', 'gamma',
    'roc', 'vground', 'alpha', 'beta', 'vwind', 'winddir', 'hwind', 'xwind', 'targetNlf', 'trim')
_VERSION_2 = (
    *_COMMON, 'position', 'orientation', 'velocity', 'attitude_rate', 'earth_position_angle',
    'planet_position_angle', 'planet_rotation_rate')
_AXES = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')
_WITHIN = {
    'position': (*_AXES, 'latitude', 'longitude', 'radius', 'altitudeAGL', 'altitudeMSL'),
    'orientation': _AXES, 'velocity': _AXES, 'attitude_rate': _AXES}
# By the name of a trim, JSBSim's number of it.
_TRIMS = {'0': None, '1': 2, 'longitudinal': 0, 'full': 1, 'ground': 2, 'pullup': 3, 'custom': 4,
          'turn': 5}
_MOST_ENGINES = 31


class InitialState(NamedTuple):
    """An initial state: its ``file``, what JSBSim is given, and its trim, None for none."""

    file: Path
    text: bytes
    trim: int | None


def find_initial(script: RunScript, files: AircraftFiles) -> InitialState:
    """
    Read the initial state of a script, which is in the folder of its aircraft.

    Raises FieldError, which names the file, the element, expected and got.
    """
    name = Path(script.initialize)
    file = files.file.parent / (name if name.suffix else f'{name}.xml')
    if not file.is_file():
        known = sorted(one.stem for one in file.parent.glob('*.xml') if _is_initial(one))
        raise FieldError(
            f'{script.file}: use: initialize: there is no {file}'
            + (f'; expected one of {", ".join(known[:10])}' if known else ''))
    with in_file(str(file)):
        root = read_xml(file, 'initialize', f'the initial state of {script.file}')
        return InitialState(file, ElementTree.tostring(root, encoding='utf-8'), _check(root))


def _is_initial(file: Path) -> bool:
    try:
        read_xml(file, 'initialize', '')
    except FieldError:
        return False
    return True


def _check(root: ElementTree.Element) -> int | None:
    """Return the trim of an initial state, None for none. Raises FieldError."""
    version = read_attribute(root, 'version', 'initialize') if 'version' in root.attrib else 1.0
    if not 1.0 <= version < 3.0:
        raise FieldError(f'initialize: version: expected 1 or 2, got {root.get("version")}')
    check_form(root, 'initialize', Allowed(
        ('name', 'version'), _VERSION_1 if version < 2.0 else _VERSION_2))
    trim = None
    for element in root:
        where = f'initialize: {element.tag}'
        if element.tag in _WITHIN:
            check_form(element, where, Allowed(('frame', 'unit'), _WITHIN[element.tag]))
            for child in element:
                _check_number(child, f'{where}: {child.tag}')
        elif element.tag not in _TEXTS:
            _check_number(element, where)
            if element.tag == 'running' and not (
                    -1 <= read_number(element.text, where) < _MOST_ENGINES):
                raise FieldError(
                    f'{where}: expected the number of an engine, or -1 for all, got '
                    f'{abbreviated(text_of(element).strip())}')
        elif element.tag == 'trim':
            given = text_of(element).strip().lower()
            if given not in _TRIMS:
                raise FieldError(
                    f'{where}: expected one of {", ".join(_TRIMS)}, got {abbreviated(given)}')
            trim = _TRIMS[given]
    return trim


def _check_number(element: ElementTree.Element, where: str) -> None:
    check_form(element, where, Allowed(('unit', 'type')))
    read_number(element.text, where)
