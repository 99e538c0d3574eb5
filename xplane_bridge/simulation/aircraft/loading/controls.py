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
What moves an aircraft whose file has commands of its own: elevons, a V-tail, servos by number.

``controls.yaml`` beside the aircraft's file, or a file that is named instead, says how far each
of its commands goes with each control::

    controls:
      elevator: {fcs/left-elevon-cmd-norm: -1.0, fcs/right-elevon-cmd-norm: -1.0}
      aileron: {fcs/left-elevon-cmd-norm: 1.0, fcs/right-elevon-cmd-norm: -1.0}

JSBSim loads a copy of the aircraft with one more system before its own, which writes these
commands from those that each aircraft has, trim wheels included.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
import re
from tempfile import TemporaryDirectory
import threading
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from xplane_bridge.common import plain_yaml
from xplane_bridge.common.controls import FLOWN, LIMITS
from xplane_bridge.common.fields import Declaration, FieldError, in_file, mapping, read_table
from xplane_bridge.common.text import abbreviated
from xplane_bridge.simulation.aircraft.loading.files import (
    AircraftFiles,
    LARGEST_FILE,
)
from xplane_bridge.simulation.aircraft.loading.inert import copied, moved

Mixing = Mapping[str, Mapping[str, float]]
"""Of each control, the commands that go with it, and how far (-1..1 of its whole travel)."""

COMMANDED = {
    'elevator': ('fcs/elevator-cmd-norm', 'fcs/pitch-trim-cmd-norm', -1.0),
    'aileron': ('fcs/aileron-cmd-norm', 'fcs/roll-trim-cmd-norm', 1.0),
    'rudder': ('fcs/rudder-cmd-norm', 'fcs/yaw-trim-cmd-norm', -1.0),
    'throttle': ('fcs/throttle-cmd-norm[0]', '', 1.0),
}
"""Where JSBSim has what is commanded: the control, its trim wheel, and its sign of both."""

_PROPERTY = re.compile(r'[A-Za-z_][\w./-]*(\[\d+\])?')
# What JSBSim computes, and what each aircraft is commanded by.
_JSBSIMS = re.compile(
    r'(aero|velocities|attitude|position|accelerations|simulation|gear|atmosphere|inertia|metrics|'
    r'forces|moments|ic|propulsion|limits|trim)/|'
    r'fcs/((elevator|aileron|rudder|throttle|mixture|advance|flap|speedbrake|spoiler|steer|feather|'
    r'(pitch|roll|yaw)-trim|(left|right|center)-brake)-cmd-norm|[\w-]+-pos-(norm|rad|deg))(\[\d+\])?$')
_MOST_COMMANDS = 32
_SECTIONS = ('flight_control', 'autopilot', 'system')
_MOST_KEPT = 8

_kept: OrderedDict[tuple[Path, bytes, str], TemporaryDirectory[str]] = OrderedDict()
_lock = threading.Lock()


def _commands(value: Any, where: str) -> dict[str, float]:
    """Return the commands of a control. Raises FieldError."""
    found = {}
    commands = mapping(value, where, optional=value if isinstance(value, Mapping) else ())
    if not 0 < len(commands) <= _MOST_COMMANDS:
        raise FieldError(
            f'{where}: expected 1 to {_MOST_COMMANDS} commands, got {len(commands)}')
    for name, share in commands.items():
        if not _PROPERTY.fullmatch(str(name)):
            raise FieldError(f'{where}: expected properties of JSBSim, such as '
                             f'fcs/left-elevon-cmd-norm, got {abbreviated(name)}')
        if any(name in known for known in COMMANDED.values()):
            raise FieldError(f'{where}: {name} is what each aircraft has; expected commands of '
                             'its own')
        found[str(name)] = Declaration(0.0, '', low=-1.0, high=1.0).check(
            share, f'{where}.{name}')
    return found


CONTROLS = {
    name: Declaration(
        None, f'the commands of the aircraft that go with the {name}, each with how far',
        form='names of properties, with a number in -1..1 each', reader=_commands)
    for name in FLOWN}
"""The fields of ``controls``."""

_TABLE = {'controls': Declaration(
    None, 'what moves the aircraft', form=', '.join(CONTROLS),
    reader=lambda value, where: read_table(CONTROLS, value, where))}


def read(files: AircraftFiles) -> Mixing:
    """Return what an aircraft's file of controls says, {} without one. Raises ValueError."""
    return {} if files.controls is None else load(files.controls)


def load(file: Path) -> Mixing:
    """Return what a file says. Raises ValueError with a sentence for what it may not."""
    content = plain_yaml.load_named(str(file))
    with in_file(str(file)):
        found: Mixing = read_table(_TABLE, content).get('controls', {})
        return found


def as_line(mixing: Mixing) -> str:
    """Return the text of a file for read(), in one line."""
    def key(command: str) -> str:
        # YAML would begin a list.
        return f'"{command}"' if '[' in command else command

    rows = ', '.join(
        f'{name}: {{{", ".join(f"{key(command)}: {share:g}" for command, share in row.items())}}}'
        for name, row in mixing.items())
    return f'controls: {{{rows}}}'


def own_commands(files: AircraftFiles) -> list[str]:
    """
    Return the properties that its systems read and nothing there writes, of names of its own.

    Those are what somebody else may write: commands, or anything else.
    """
    read_there: dict[str, None] = {}
    written: set[str] = set()
    for text in files.texts():
        try:
            root = ElementTree.fromstring(text)
        except ElementTree.ParseError:
            continue
        for section in ([root] if root.tag in _SECTIONS else root):
            if section.tag not in _SECTIONS:
                continue
            for element in section.iter():
                name = (element.text or '').strip().lstrip('-')
                if element.tag in ('input', 'property') and not _JSBSIMS.match(name):
                    read_there[name] = None
                elif element.tag == 'output':
                    written.add(name)
                if element.tag not in ('channel', 'property', *_SECTIONS) and (
                        component := element.get('name', '')):
                    written |= {component, f'fcs/{component.lower().replace(" ", "-")}'}
    return [name for name in read_there if _PROPERTY.fullmatch(name) and name not in written]


def system(mixing: Mixing) -> Element:
    """Return a system of JSBSim that writes commands of a model from those that each has."""
    found = Element('system', {'name': 'controls'})
    channel = SubElement(found, 'channel', {'name': 'controls'})
    commands = dict.fromkeys(command for row in mixing.values() for command in row)
    for number, command in enumerate(commands):
        component = SubElement(channel, 'fcs_function', {'name': f'fcs/controls-{number}'})
        total = SubElement(SubElement(component, 'function'), 'sum')
        lowest = -1.0
        for control, row in mixing.items():
            if command not in row:
                continue
            *names, sign = COMMANDED[control]
            lowest = max(lowest, LIMITS[control][0]) if len(row) == 1 else lowest
            for name in filter(None, names):
                product = SubElement(total, 'product')
                SubElement(product, 'value').text = repr(sign * row[command])
                SubElement(product, 'property').text = name
        limits = SubElement(component, 'clipto')
        SubElement(limits, 'min').text, SubElement(limits, 'max').text = repr(lowest), '1.0'
        SubElement(component, 'output').text = command
    return found


def mapped(files: AircraftFiles, mixing: Mixing) -> AircraftFiles:
    """
    Return the files of an aircraft with these controls, or those given without any.

    Raises ValueError for a file that is too large or no XML.
    """
    if not mixing:
        return files
    with files.file.open('rb') as stream:
        text = stream.read(LARGEST_FILE)
    key = files.file, text, as_line(mixing)
    with _lock:
        if key not in _kept:
            try:
                root = ElementTree.fromstring(text)
            except ElementTree.ParseError as error:
                raise ValueError(f'{files.file} is no XML: {error}') from error
            # Systems run in the order of the file, and before its flight control.
            root.insert(next((at for at, one in enumerate(root) if one.tag in _SECTIONS),
                             len(root)), system(mixing))
            _kept[key] = copied(files, {
                files.file.name: ElementTree.tostring(root, encoding='utf-8')})
            while len(_kept) > _MOST_KEPT:
                # The folder goes when nobody loads from it any more.
                _kept.popitem(last=False)
        _kept.move_to_end(key)
        folder = _kept[key]
    return moved(files, folder)
