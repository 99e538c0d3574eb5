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

"""CONTRIBUTING.md names files, folders, tests and names that exist, and counts their lines."""

from importlib import import_module
from pathlib import Path
import re

import change_table
import pytest
import tests_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / 'CONTRIBUTING.md'
TEXT = PAGE.read_text(encoding='utf-8')
# How much the lines may differ from those on the page, as a share.
MOST = 0.2
FOLDERS = ('benchmarks', 'config', 'docs', 'test', 'tools', 'xplane_bridge')


def rows(text):
    """Return the cells of the rows of the table."""
    _, _, table = text.partition(change_table.BEGIN)
    table, _, _ = table.partition(change_table.END)
    return [[cell.strip() for cell in line.strip('|').split('|')]
            for line in table.strip().splitlines()]


def number(cell):
    return int(cell.replace(',', ''))


def test_the_table_of_changes_is_that_of_the_tool_but_for_a_fifth_of_the_lines():
    shown, counted = rows(TEXT), rows(change_table.put(TEXT))
    for one, other in zip(shown, counted, strict=True):
        assert one[:2] + one[3:] == other[:2] + other[3:], 'make change-table'
    for one, change in zip(shown[2:], change_table.CHANGES, strict=True):
        lines = sum(map(change_table.lines, change.folders))
        assert abs(number(one[2]) - lines) <= MOST * lines, f'{one[0]}: make change-table'


def test_each_protocol_is_in_the_table():
    folders = {path.parent.name for path in change_table.PACKAGE.glob('bridges/*/session')}
    assert {change.what.removeprefix('mend ') for change in change_table.CHANGES} >= folders - {
        'sessions'}


def test_numbers_are_rounded():
    assert [change_table.rounded(count) for count in (949, 999, 1249, 8531)] == [
        900, 1000, 1000, 8500]


@pytest.mark.parametrize('folder', sorted(
    {folder for change in change_table.CHANGES for folder in change.tests}
    | set(re.findall(r'FOLDER=([\w/]+)', TEXT))))
def test_the_tests_of_a_folder_exist(folder):
    paths = [one for one in tests_of.arguments(folder) if one.startswith('test/')]
    assert paths
    assert all(any((ROOT / path).rglob('test_*.py')) for path in paths)


def test_to_a_protocol_belong_its_peer_and_what_it_shares_for_it_alone():
    own, peer, shared, option, chosen = tests_of.arguments('bridges/xpc')
    assert (own, peer, shared, option) == (
        'test/bridges/xpc', 'test/simulation/peers/xpc', 'test/bridges/sessions', '-k')
    assert chosen.startswith('xpc or not (')
    assert 'test_mould' in chosen
    assert tests_of.arguments('laboratory/control/') == ['test/laboratory/control']


@pytest.mark.parametrize('folder', ['', 'bridges/nothing', '../xplane_bridge'])
def test_a_folder_without_tests_is_refused_with_those_that_have_some(folder):
    with pytest.raises(ValueError, match=r'expected one of .*bridges/xpc, '):
        tests_of.arguments(folder)


def test_each_file_that_is_named_exists():
    """A file may be named from the folder on that the text is about."""
    prose = re.sub(r'```.*?```', '', TEXT, flags=re.DOTALL)
    named = set(re.findall(r'`((?:[\w-]+/)*[\w-]+\.(?:py|md|yaml))`', prose))
    paths = [f'/{path.relative_to(ROOT).as_posix()}' for path in (
        *ROOT.iterdir(), *(path for folder in FOLDERS for path in (ROOT / folder).rglob('*.*')))]
    assert len(named) > 50
    missing = [one for one in named if not any(path.endswith(f'/{one}') for path in paths)]
    assert not missing


@pytest.mark.parametrize(('module', 'names'), [
    ('bridges.conversions.xplane.state', ('OWN_DATAREFS', 'own_state')),
    ('bridges.conversions.vehicle', ('VehicleState',)),
    ('laboratory.flights.scenario.criteria', ('STATISTICS', 'FIGURES')),
    ('common.quantities', ('TABLE', 'COMPUTED')),
    ('simulation.aircraft.state', ('FACTORS',)),
    ('laboratory.flights.analysis.history', ('statistic', 'figures')),
    ('laboratory.flights.analysis.motion', ('_COMPUTED',)),
    ('laboratory.identification.motion.signals', ('SIGNALS',)),
])
def test_the_names_to_edit_exist_and_are_named(module, names):
    found = import_module(f'xplane_bridge.{module}')
    for name in names:
        assert hasattr(found, name), f'{module}: no {name}, which CONTRIBUTING.md names'
        assert re.search(rf'`{name}(?:\(\))?`', TEXT), f'CONTRIBUTING.md: no {name}'
