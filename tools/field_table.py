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
Write the tables of fields into the pages of reference: what is declared is what they say.

tools/field_table.py (make field-table). test/house/test_field_tables.py compares the pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import math
from pathlib import Path
import re
from typing import Any

from xplane_bridge.bridges.ulyssix.conversion import reading
from xplane_bridge.common.fields import Declaration, limits, REQUIRED, shown, Table, table_of
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.campaigns.plan import normal, parameters, plan, sections
from xplane_bridge.laboratory.control.envelope import Envelope
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.runway.performance import Performance
from xplane_bridge.laboratory.flights.scenario import (
    criteria,
    events,
    excitation,
    fleet,
    flown_by,
    runway,
    scenario,
    start,
)
from xplane_bridge.laboratory.identification.motion.airframe import Airframe
from xplane_bridge.laboratory.identification.reading.published import PUBLISHED
from xplane_bridge.laboratory.identification.reading.tables import SOURCE
from xplane_bridge.laboratory.sensors.errors import Errors
from xplane_bridge.laboratory.sensors.specification import Figures
from xplane_bridge.laboratory.sensors.timing import Dropout, Timing
from xplane_bridge.simulation.aircraft import plant, weather_settings
from xplane_bridge.simulation.aircraft.loading import controls

PAGES = Path(__file__).resolve().parents[1] / 'docs' / 'reference'


def below(name: str, table: Table) -> Table:
    """Return declarations with a name before theirs, as in a file."""
    return {f'{name}.{attribute}': one for attribute, one in table.items()}


def _own(kind: Any) -> Table:
    """Return what a device declares itself."""
    return {name: one for name, one in table_of(kind).items() if name not in table_of(Timing)}


DEVICES: Table = {
    name: one for device, section in table_of(Figures).items()
    for name, one in below(device, _own(section.kind)).items()}

# By page, and by the name in its markers.
TABLES: Mapping[str, Mapping[str, Table]] = {
    'sensors': {
        'device': DEVICES,
        'timing': {**{name: one for name, one in table_of(Timing).items() if name != 'dropout'},
                   **below('dropout', table_of(Dropout))},
        'errors': table_of(Errors)},
    'scenarios': {
        'scenario': scenario.ALONE, 'script': scenario.OF_SCRIPT, 'initial': scenario.INITIAL,
        'event': events.EVENT,
        'target': events.TARGET, 'expect': table_of(events.Expectation),
        'criterion': criteria.CRITERION,
        'plant': {**table_of(plant.Plant), **plant.FACTORS}, 'gust': weather_settings.GUST,
        'shear': weather_settings.SHEAR, 'route': table_of(scenario.Route)},
    'aircraft': {'controls': below('controls', controls.CONTROLS)},
    'runway': {'runway': runway.RUNWAY, 'procedure': runway.PATTERN,
               'performance': table_of(Performance)},
    'test_inputs': {
        'input': {**excitation.INPUT, **{
            name: one for kind, own in excitation.OWN.items()
            for name, one in below(kind, own).items()}},
        'trim': events.TRIM},
    'fleets': {
        'vehicle': fleet.VEHICLE, 'formation': fleet.FORMATION_SLOT,
        'midair': table_of(fleet.Midair), 'criterion': criteria.OVER_TWO},
    'controllers': {'controller': flown_by.FLOWN_BY},
    'campaigns': {
        'plan': plan.PLAN, 'aircraft': sections.AIRCRAFT, 'seeds': sections.SEEDS,
        'sampling': table_of(sections.Sampling), 'range': parameters.RANGE,
        'normal': normal.TRUNCATED, 'record': table_of(sections.RecordedFlights)},
    'episodes': {'option': start.OPTIONS},
    'autopilot': {
        'envelope': below('envelope', table_of(Envelope)),
        'gains': below('gains', table_of(Gains))},
    'ulyssix_map': {
        'parameter': {**reading.PARAMETER, 'expression': reading.DERIVED['expression']},
        'common': reading.COMMON},
    'identification': {
        'column': SOURCE, 'airframe': table_of(Airframe), 'published': PUBLISHED}}


def row(attribute: str, one: Declaration) -> tuple[str, ...]:
    """Return the cells of a field: name, what it is, unit, which values it may have, default."""
    before, _, last = attribute.rpartition('.')
    name = one.name or last if before != 'aero' and before != 'gains' else attribute
    is_turned = name.endswith('_deg') and not attribute.endswith('_deg')
    return (f'`{before}.{name}`' if before and name != attribute else f'`{name}`', one.meaning,
            one.unit, _values(one), _default(one, is_turned))


def _values(one: Declaration) -> str:
    if one.form:
        return f'`{one.form}`' if one.form[0] == '[' and '`' not in one.form else one.form
    if one.choices:
        return ', '.join(f'`{choice}`' for choice in one.choices)
    if one.kind is bool:
        return '`true` or `false`'
    if one.kind is str:
        return 'a text'
    if one.kind in (int, float) and one.reader is None:
        words = 'a whole number' if one.kind is int else 'a number'
        return ', '.join(filter(None, (words, limits(one.low, one.high, one.above))))
    return 'names with values'


def _default(one: Declaration, is_turned: bool) -> str:
    default = one.default
    if default is REQUIRED:
        return 'required'
    if isinstance(default, bool):
        return f'`{str(default).lower()}`'
    if isinstance(default, int | float):
        number = round(default / DEGREE, 9) if is_turned else default
        return f'`{shown(number)}`' if math.isfinite(number) else 'none'
    if isinstance(default, tuple) and default:
        return f'`[{", ".join(map(str, default))}]`'
    return f'`{default}`' if isinstance(default, str) and default else '-'


def rows(table: Table) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table."""
    yield 'field', 'what it is', 'unit', 'values', 'default'
    yield '---', '---', '---', '---', '---'
    yield from (row(name, one) for name, one in table.items())


def put(text: str, name: str, table: Table) -> str:
    """Return a page with a table made anew; ValueError if it has no place for it."""
    begin, end = f'<!-- fields of {name} begin -->\n', f'<!-- fields of {name} end -->'
    pattern = re.compile(f'{re.escape(begin)}.*?{re.escape(end)}', re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f'there is no {begin.strip()} with {end} behind it')
    lines = ''.join(re.sub(' +', ' ', f'| {" | ".join(cells)} |\n') for cells in rows(table))
    return pattern.sub(lambda _: begin + lines + end, text)


def pages() -> Iterator[tuple[Path, str]]:
    """Yield each page, with the text that it should have."""
    for page, tables in TABLES.items():
        path = PAGES / f'{page}.md'
        text = path.read_text(encoding='utf-8')
        for name, table in tables.items():
            text = put(text, name, table)
        yield path, text


if __name__ == '__main__':
    for path, text in pages():
        path.write_text(text, encoding='utf-8')
