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
A script of JSBSim (<runscript>): an aircraft, how it begins, and what happens when.

It is JSBSim that runs it. Here it is read, each part of it is checked, and what only writes files
or prints is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
import re
from xml.etree import ElementTree

from xplane_bridge.common.fields import DAY, FieldError, in_file, number
from xplane_bridge.common.text import abbreviated
from xplane_bridge.simulation.aircraft.runscript.elements import (
    Allowed,
    check_form,
    read_attribute,
    read_choice,
    read_number,
    read_xml,
    shown,
    text_of,
)

LARGEST_STEP = 0.02
"""The longest step (s): with longer ones landing gears are unstable."""

MOST_STEPS = 10_000_000
"""How many steps a script may have: an hour of a processor, or more."""

MOST_TOLD = 1000
"""How many executions of events are told of a flight; a persistent one may be in each step."""

_DESCRIPTION = 'description'
_ALLOWED = {
    'runscript': Allowed(('name',), (_DESCRIPTION, 'use', 'run', 'output')),
    'use': Allowed(('aircraft', 'initialize')),
    'run': Allowed(('start', 'end', 'dt'), (_DESCRIPTION, 'property', 'event')),
    'property': Allowed(('value', 'persistent')),
    'event': Allowed(('name', 'persistent', 'continuous'), (
        _DESCRIPTION, 'condition', 'set', 'delay', 'notify')),
    'condition': Allowed(('logic',), ('condition',)),
    'set': Allowed(('name', 'value', 'type', 'action', 'tc'), ('function',)),
    'delay': Allowed(),
    'notify': Allowed(('format',), (_DESCRIPTION, 'property')),
    'notified': Allowed(('caption', 'apply')),
}
# Of functions, math/FGFunction.cpp and FGTable.cpp of JSBSim; the first have a property's name.
_PROPERTIES = ('property', 'p', 'independentVar')
_OPERATIONS = (
    'property', 'p', 'value', 'v', 'pi', 'table', 't', 'product', 'sum', 'avg', 'difference',
    'min', 'max', 'and', 'or', 'quotient', 'pow', 'toradians', 'todegrees', 'sqrt', 'log2', 'ln',
    'log10', 'sign', 'exp', 'abs', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'floor', 'ceil',
    'fmod', 'roundmultiple', 'atan2', 'mod', 'fraction', 'integer', 'lt', 'le', 'gt', 'ge', 'eq',
    'nq', 'not', 'ifthen', 'random', 'urandom', 'switch', 'interpolate1d', 'rotation_alpha_local',
    'rotation_beta_local', 'rotation_gamma_local', 'rotation_bf_to_wf', 'rotation_wf_to_bf')
_OF_TABLES = ('independentVar', 'tableData')
_FUNCTION = Allowed(
    ('name', 'type', 'copyto', 'seed', 'mean', 'stddev', 'lower', 'upper', 'lookup',
     'breakPoint'), (*_OPERATIONS, *_OF_TABLES, _DESCRIPTION))
_TRUTH = dict.fromkeys(('true', 'false'))
_LOGIC = dict.fromkeys(('AND', 'OR'))
_COMPARISONS = (
    '==', '!=', '<', '<=', '>', '>=', 'eq', 'ne', 'lt', 'le', 'gt', 'ge', 'EQ', 'NE', 'LT', 'LE',
    'GT', 'GE')
_TYPES, _ACTIONS = ('value', 'delta', 'bool'), ('step', 'ramp', 'exp')
_NUMERIC = re.compile(r'[+-]?[\d.][\d.eE+-]*')
# They only write files, or print: without them the flight is the same.
_LEFT_OUT = re.compile(
    r'simulation/(output(\[\d+\])?/.*|force-output|write-state-file|jsbsim-debug)')
# The root of the properties of one aircraft, and what the first of several may be called.
_ROOT, _FIRST = ['fdm', 'jsbsim'], re.compile(r'\[0*\]$')
_REFUSED = {
    'simulation/reset': 'it would begin anew, and time does not run backwards',
    'simulation/do_linearization': 'it writes files',
    'simulation/pause': 'nobody could resume it',
    'simulation/frame': 'it counts the steps',
    'simulation/disperse': 'no flight would be the same again'}


@dataclass(frozen=True, slots=True)
class NamedProperty:
    """A property that a script reads, or writes: its name, and where that is."""

    name: str
    where: str
    is_written: bool = False


@dataclass(frozen=True, slots=True)
class ScriptedEvent:
    """
    An event of a script: its name and number, and what it notifies of.

    ``shown`` has captions, each with its property, '' for one with a sign or a function of one,
    and with that function, '' for none.
    """

    name: str
    number: int
    shown: tuple[tuple[str, str, str], ...] = ()

    def __str__(self) -> str:
        return self.name or f'event {self.number}'


@dataclass(frozen=True, slots=True)
class ScriptNotice:
    """
    An event of a script that was executed ``at`` a time (s) since its start.

    ``values`` are those of which it notifies, in JSBSim's units, by their captions.
    """

    at: float
    event: ScriptedEvent
    values: Mapping[str, float]

    def __str__(self) -> str:
        shown = ', '.join(f'{name} {value:.6g}' for name, value in self.values.items())
        return f'{self.event}: {shown}' if shown else str(self.event)


@dataclass(frozen=True, slots=True)
class RunScript:
    """
    A script that was read from a ``file``, and checked.

    ``aircraft`` and ``initialize`` are the names of the model and of the file with its initial
    state. It goes from ``start`` to ``end`` (s) in ``steps`` of ``dt`` (s), and its ``duration``
    (s) is that to the last of them. ``text`` is what JSBSim is given: its events have no names,
    and each notifies. ``properties`` are all that it names, ``defined`` those that it makes if
    they are not there, and ``left_out`` is what only writes files or prints.
    """

    file: str
    name: str
    description: str
    aircraft: str
    initialize: str
    start: float
    end: float
    dt: float
    steps: int
    duration: float
    text: bytes
    events: tuple[ScriptedEvent, ...]
    properties: tuple[NamedProperty, ...]
    defined: tuple[str, ...]
    left_out: tuple[str, ...]


def read(path: str) -> RunScript:
    """Read a script. Raises FieldError, which names the file, the element, expected and got."""
    with in_file(path):
        root = read_xml(Path(path), 'runscript', 'a script of JSBSim')
        return _ScriptReader(path, root).read()


class _ScriptReader:
    """Reads one script: what it names is gathered, what is left out is removed from its root."""

    def __init__(self, path: str, root: ElementTree.Element) -> None:
        self._path, self._root = path, root
        self._properties: list[NamedProperty] = []
        self._left_out: list[str] = []

    def read(self) -> RunScript:
        """Return the script. Raises FieldError."""
        root = self._root
        check_form(root, 'runscript', _ALLOWED['runscript'])
        use, run = self._only('use'), self._only('run')
        check_form(use, 'use', _ALLOWED['use'], _ALLOWED['use'].attributes)
        check_form(run, 'run', _ALLOWED['run'], ('end', 'dt'))
        if outputs := root.findall('output'):
            self._left_out.append('output')
            for output in outputs:
                root.remove(output)
        start = read_attribute(run, 'start', 'run') if 'start' in run.attrib else 0.0
        end, dt = (read_attribute(run, name, 'run') for name in ('end', 'dt'))
        steps, duration = _count_steps(start, end, dt)
        defined = []
        for n, one in enumerate(run.findall('property')):
            name = self._define(one, f'run: property[{n}]')
            if _is_left_out(name):
                self._left_out.append(f'property {shown(name)}')
                run.remove(one)
            else:
                defined.append(name)
        events = tuple(self._event(one, n) for n, one in enumerate(run.findall('event')))
        self._strip()
        text: bytes = ElementTree.tostring(root, encoding='utf-8', xml_declaration=True)
        return RunScript(
            self._path, shown(root.get('name', '')), ' '.join(
                (root.findtext(_DESCRIPTION) or '').split()),
            use.get('aircraft', '').strip(), use.get('initialize', '').strip(), start, end, dt,
            steps, duration, text, events, tuple(self._properties), tuple(defined),
            tuple(dict.fromkeys(self._left_out)))

    def _only(self, name: str) -> ElementTree.Element:
        found = self._root.findall(name)
        if len(found) != 1:
            raise FieldError(f'runscript: expected one <{name}>, got {len(found)}')
        return found[0]

    def _strip(self) -> None:
        """Remove what JSBSim does not need, and what could be taken for something else."""
        for element in self._root.iter():
            for name in [*element.attrib]:
                if name.startswith('{'):
                    del element.attrib[name]
            for child in element.findall(_DESCRIPTION):
                element.remove(child)

    def _define(self, element: ElementTree.Element, where: str) -> str:
        """Return the name of a property that is defined before the flight."""
        check_form(element, where, _ALLOWED['property'])
        read_choice(element, 'persistent', where, _TRUTH)
        if 'value' in element.attrib:
            read_attribute(element, 'value', where)
        return _read_written(text_of(element), where)

    def _event(self, element: ElementTree.Element, number: int) -> ScriptedEvent:
        name = shown(element.get('name', ''))
        where = f'event[{number}]' + (f' ({name})' if name else '')
        check_form(element, where, _ALLOWED['event'])
        for flag in ('persistent', 'continuous'):
            read_choice(element, flag, where, _TRUTH)
        for once in ('condition', 'delay', 'notify'):
            if len(element.findall(once)) > 1:
                raise FieldError(f'{where}: expected one <{once}>, got several')
        condition = element.find('condition')
        if condition is None:
            raise FieldError(f'{where}: <condition> is missing')
        self._condition(condition, f'{where}: condition')
        if (delay := element.find('delay')) is not None:
            check_form(delay, f'{where}: delay', _ALLOWED['delay'])
            read_number(delay.text, f'{where}: delay')
        for n, one in enumerate(element.findall('set')):
            if self._set(one, f'{where}: set[{n}]'):
                self._left_out.append(f'set {shown(one.get("name", ""))}')
                element.remove(one)
        found = ScriptedEvent(name, number, self._notified(element, where))
        element.attrib.pop('name', None)
        return found

    def _condition(self, element: ElementTree.Element, where: str) -> None:
        check_form(element, where, _ALLOWED['condition'])
        read_choice(element, 'logic', where, _LOGIC)
        tests = [line.split() for line in text_of(element).splitlines() if line.strip()]
        if not tests and not len(element):
            raise FieldError(f'{where}: is empty')
        for words in tests:
            if len(words) != 3:
                raise FieldError(
                    f'{where}: expected a property, a comparison, and a number or another '
                    f'property, got {abbreviated(" ".join(words))}')
            if words[1] not in _COMPARISONS:
                raise FieldError(
                    f'{where}: expected one of {", ".join(_COMPARISONS)}, got '
                    f'{abbreviated(words[1])}')
            self._named(words[0], where)
            if _NUMERIC.fullmatch(words[2]) or words[2].lower() in ('nan', 'inf', '-inf'):
                read_number(words[2], where)
            else:
                self._named(words[2], where)
        for n, child in enumerate(element):
            self._condition(child, f'{where}[{n}]')

    def _set(self, element: ElementTree.Element, where: str) -> bool:
        """Return whether what it sets is left out."""
        check_form(element, where, _ALLOWED['set'], ('name',))
        _check_word(element, 'type', where, _TYPES)
        _check_word(element, 'action', where, _ACTIONS)
        functions = element.findall('function')
        if ('value' in element.attrib) == bool(functions) or len(functions) > 1:
            raise FieldError(f'{where}: expected either a value or one <function>')
        if functions:
            self._function(functions[0], f'{where}: function')
        else:
            read_attribute(element, 'value', where)
        if 'tc' in element.attrib:
            number(read_attribute(element, 'tc', where), f'{where}: tc', above=0.0, unit='s')
        name = _read_written(element.get('name', ''), where)
        if _is_left_out(name):
            return True
        self._properties.append(NamedProperty(name, where, is_written=True))
        return False

    def _function(self, element: ElementTree.Element, where: str) -> None:
        check_form(element, where, _FUNCTION)
        if copied := element.get('copyto', ''):
            self._properties.append(NamedProperty(
                _read_written(copied, where), where, is_written=True))
            if _is_left_out(copied):
                raise FieldError(f'{where}: copyto: {copied} only writes or prints: omit it')
        for child in element:
            if child.tag in _PROPERTIES:
                self._named(child.text or '', f'{where}: {child.tag}')
            self._function(child, where)

    def _notified(
        self, element: ElementTree.Element, where: str,
    ) -> tuple[tuple[str, str, str], ...]:
        """Return what an event notifies of, see ScriptedEvent: in the text each one notifies."""
        notify = element.find('notify')
        if notify is None:
            ElementTree.SubElement(element, 'notify')
            return ()
        where = f'{where}: notify'
        check_form(notify, where, _ALLOWED['notify'])
        read_choice(notify, 'format', where, {'kml': None})
        notify.attrib.pop('format', None)
        found = []
        for n, one in enumerate(notify.findall('property')):
            check_form(one, f'{where}: property[{n}]', _ALLOWED['notified'])
            name = _read_name(one.text or '', f'{where}: property[{n}]')
            self._named(name, where)
            caption = shown(one.attrib.pop('caption', '')) or name
            function = one.get('apply', '')
            found.append((caption, '' if function or name.startswith('-') else name, function))
        return tuple(found)

    def _named(self, name: str, where: str) -> None:
        """Note a property that is read, and may have a sign."""
        self._properties.append(NamedProperty(
            _read_name(name, where).removeprefix('-'), where))


def _count_steps(start: float, end: float, dt: float) -> tuple[int, float]:
    """Return how many steps JSBSim runs a script in, and how long (s). Raises FieldError."""
    number(dt, 'run: dt', above=0.0, high=LARGEST_STEP, unit='s')
    number(end - start, 'run: end after start', above=0.0, high=DAY, unit='s')
    if (end - start) / dt > MOST_STEPS:
        raise FieldError(f'run: expected at most {MOST_STEPS} steps of dt, got more')
    # As in FGScript::LoadScript and RunScript, and FGFDMExec::IncrTime.
    last, time, steps = end + 0.99 * dt, start, 0
    while time + dt <= last:
        time += dt
        steps += 1
    return steps, time - start


def _check_word(
    element: ElementTree.Element, name: str, where: str, known: tuple[str, ...],
) -> None:
    """Raise FieldError for an attribute that is none of these words, in any case, with FG_."""
    value = element.get(name)
    if value is not None and value.lower().removeprefix('fg_') not in known:
        expected = ', '.join(f'FG_{one.upper()}' for one in known)
        raise FieldError(f'{where}: {name}: expected one of {expected}, got {abbreviated(value)}')


def _read_name(text: str, where: str) -> str:
    name = text.strip()
    if not name or len(name.split()) != 1 or {'.', '..'} & {*name.split('/')}:
        raise FieldError(f'{where}: expected the name of a property, got {abbreviated(name)}')
    return name


def _read_written(text: str, where: str) -> str:
    """Return the name of a property that may be written. Raises FieldError."""
    name = _read_name(text, where)
    if (why := _REFUSED.get(_plain(name))) is not None:
        raise FieldError(f'{where}: {shown(name)} is not set here: {why}')
    return name


def _is_left_out(name: str) -> bool:
    return _LEFT_OUT.fullmatch(_plain(name)) is not None


def _plain(name: str) -> str:
    """Return the shortest name of a property, which may have others."""
    parts = [_FIRST.sub('', part) for part in name.split('/') if part]
    return '/'.join(parts[2:] if name.startswith('/') and parts[:2] == _ROOT else parts)
