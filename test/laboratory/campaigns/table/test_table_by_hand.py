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

"""Lost flights, places in a plan that grew, made-up rows, windows: by hand, at their bounds."""

from collections import Counter
import hashlib
from types import SimpleNamespace

import pytest

pytest.importorskip('pyarrow', reason='campaigns need pyarrow')

from pyarrow import parquet

from xplane_bridge.laboratory.campaigns.table import columns, folder, growing, parts, rows, table
from xplane_bridge.laboratory.campaigns.table.lost import LostFlights


def test_lost_flights_are_said_with_the_most_frequent_reasons():
    found = LostFlights()
    assert (str(found), found.flights, found.metadata()) == ('', 0, {})
    found.add('the disk is full')
    assert str(found) == '1 flight was not flown: the disk is full'
    found.add('the disk is full')
    assert str(found) == '2 flights were not flown: the disk is full'
    for reason, count in (('killed', 3), ('late', 1), ('odd', 1)):
        for _ in range(count):
            found.add(reason)
    assert found.flights == 7
    assert str(found) == ('7 flights were not flown: killed (3); the disk is full (2); late (1); '
                          'and others (1)')
    three = LostFlights(Counter(a=3, b=2, c=1))
    assert str(three) == '6 flights were not flown: a (3); b (2); c (1)'
    assert LostFlights.of(found.metadata()) == found
    assert LostFlights.of(None) == LostFlights.of({}) == LostFlights()


def test_reasons_are_bounded_in_number_and_length():
    found = LostFlights()
    for number in range(103):
        found.add(f'reason {number}')
    found.add('reason 7')
    assert len(found.reasons) == 101
    assert (found.reasons['other reasons'], found.reasons['reason 7']) == (3, 2)
    assert LostFlights.of(found.metadata()) == found
    long = LostFlights()
    for length in (300, 301):
        long.add('x' * length)
    whole, cut = long.reasons
    assert whole == 'x' * 300
    assert cut.startswith('x' * 300)
    assert cut != 'x' * 301


@pytest.mark.parametrize('text', [
    '[]', '{', '{"a": 0}', '{"a": -1}', '{"a": 1.5}', '{"a": true}', '{"a": "1"}',
    '{' + ', '.join(f'"{n}": 1' for n in range(102)) + '}'], ids=lambda text: text[:12])
def test_metadata_of_something_else_are_refused(text):
    with pytest.raises(ValueError, match='lost_flights: expected a number of flights by reason'):
        LostFlights.of({b'lost_flights': text.encode()})


def plan(*keys):
    """Return a plan of flights with these keys, whose commands are their numbers."""
    class Plan:
        asked = 0

        def __len__(self):
            return len(keys)

        def task(self, flight, folder):
            self.asked += 1
            return SimpleNamespace(key=keys[flight], command=f'{folder} {flight}')
    return Plan()


def test_rows_stand_where_their_keys_are_and_equal_ones_keep_their_order():
    large = plan('z', 'b', 'a', 'a', 'c', 'y')
    found = growing.places(large, 'f', {0: 'a', 1: 'b', 5: 'a', 6: 'gone'})
    assert found == {0: (2, 'f 2'), 1: (1, 'f 1'), 5: (3, 'f 3')}
    # No more is looked at than is needed.
    large.asked = 0
    assert growing.places(large, 'f', {3: 'b'}) == {3: (1, 'f 1')}
    assert large.asked == 2


def test_moved_rows_have_their_new_numbers_and_commands():
    part = rows.arrow([*rows.synthetic(3)])
    found = growing.moved(part, {n: growing.Place(10 - n, f'fly {10 - n}') for n in range(3)})
    assert found.schema == part.schema
    assert found['flight'].to_pylist() == [10, 9, 8]
    assert found['command'].to_pylist() == ['fly 10', 'fly 9', 'fly 8']
    assert found['key'] == part['key']


def test_made_up_rows_are_what_they_were():
    """Reports, benchmarks and their pages are made of these."""
    hashed, outcomes = hashlib.sha256(), Counter()
    for row in rows.synthetic(900, seed=3):
        hashed.update(repr([
            (name, round(value, 6) if isinstance(value, float) else value)
            for name, value in row.items()]).encode())
        outcomes[row['controller'], row['outcome']] += 1
    assert dict(outcomes) == {
        ('autopilot', 'passed'): 298,
        ('autopilot', 'missed'): 146,
        ('autopilot', 'crashed'): 3,
        ('autopilot', 'failed'): 3,
        ('policy:turbulence', 'passed'): 337,
        ('policy:turbulence', 'missed'): 107,
        ('policy:turbulence', 'crashed'): 3,
        ('policy:turbulence', 'failed'): 3}
    assert hashed.hexdigest()[:16] == '8a3ac6f1551e2dc8'
    whole = [*rows.synthetic(5)]
    assert [row['controller'] for row in whole] == ['autopilot'] * 3 + ['policy:turbulence'] * 2
    assert [row['seed'] for row in whole] == [1, 2, 3, 1, 2]


def written(tmp_path, *groups):
    """Write files of made-up rows with these numbers; return their names."""
    made = [*rows.synthetic(20)]
    for number, group in enumerate(groups):
        parquet.write_table(rows.arrow([made[flight] for flight in group]),
                            tmp_path / f'part-{number:06}.parquet')
    return sorted(tmp_path.glob('part-*'))


@pytest.mark.parametrize('window', [1, 2, 3, 4, 7, 8, 100])
def test_windows_have_each_flight_once_in_order_whatever_their_size(
        tmp_path, monkeypatch, window):
    files = written(tmp_path, [7, 0, 3], [12, 3, 4], [1, 7], [13])
    monkeypatch.setattr(table, '_WINDOW', window)
    sizes = [one.num_rows for one in table._windows(files, table._schema(files))]
    found = table.write(files, tmp_path / 'all', LostFlights(Counter(late=2)))
    read = parquet.read_table(tmp_path / 'all')
    assert read['flight'].to_pylist() == [0, 1, 3, 4, 7, 12, 13]
    expected = Counter(flight // window for flight in (0, 1, 3, 4, 7, 12, 13))
    assert sizes == [*expected.values()]
    assert found.flights == 7
    assert str(found.lost) == '2 flights were not flown: late'
    assert LostFlights.of(parquet.read_metadata(tmp_path / 'all').metadata) == found.lost
    monkeypatch.setattr(table, '_SLICE', 2)
    assert table.write(files, tmp_path / 'again').digest == found.digest


def test_a_summary_counts_verdicts_and_has_the_first_reason_of_each_controller(tmp_path):
    made = [*rows.synthetic(6)]
    for row, outcome, reason in zip(
            made, ('failed', 'crashed', 'passed', 'missed', 'failed', 'failed'),
            ('one', 'two', '', '', 'three', 'four'), strict=True):
        row |= {'outcome': outcome, 'reason': reason}
    parquet.write_table(rows.arrow(made), tmp_path / 'part.parquet')
    found = table.write([tmp_path / 'part.parquet'], tmp_path / 'all')
    assert (found.flights, found.flown) == (6, 3)
    assert found.reasons == {'autopilot': 'one', 'policy:turbulence': 'three'}
    assert found.by_controller == {
        'autopilot': {'failed': 1, 'crashed': 1, 'passed': 1},
        'policy:turbulence': {'missed': 1, 'failed': 2}}


def test_columns_are_in_a_tables_order_with_their_types():
    made = rows.arrow([
        {'flight': 0, 'parameter.b': 1.0, 'parameter.a': 'x', 'passed.c': True, 'value.c': 1.0,
         'figure.z': 2.0, 'figure.y': 3.0, 'outcome': 'passed', 'exit': 0, 'seconds': 1.0},
        {'flight': 1, 'parameter.b': 2.0}])
    assert made.column_names == [
        'flight', 'key', 'scenario', 'simulator', 'controller', 'aircraft', 'seed', 'parameter.a',
        'parameter.b', 'outcome', 'reason', 'exit', 'figure.y', 'figure.z', 'value.c', 'passed.c',
        'trajectory', 'version', 'jsbsim', 'seconds', 'processor_seconds', 'jsbsim_seconds',
        'command', 'recording']
    types = {name: str(made.schema.field(name).type) for name in made.column_names}
    assert {name: types[name] for name in (
        'flight', 'seed', 'exit', 'key', 'parameter.a', 'parameter.b', 'figure.y', 'passed.c',
        'seconds', 'recording')} == {
        'flight': 'int64', 'seed': 'int64', 'exit': 'int64', 'key': 'string',
        'parameter.a': 'string', 'parameter.b': 'double', 'figure.y': 'double',
        'passed.c': 'bool', 'seconds': 'double', 'recording': 'string'}
    # A figure that a row has not is NaN, anything else null.
    assert str(made['figure.z'].to_pylist()) == '[2.0, nan]'
    assert made['value.c'].to_pylist() == [1.0, None]


def test_rows_are_compared_without_what_differs_between_equal_flights():
    row = {'b': 1.5, 'a': 'x', 'n': None, 'nan': float('nan'), 'seconds': 3.0, 'command': 'c',
           'recording': 'r', 'zero': 0}
    assert rows.canonical(row) == b'{"a":"x","b":1.5,"zero":0}\n'


@pytest.mark.parametrize(('name', 'kept'), [
    ('load.cpu', False), ('load', False), ('loading', True), ('latency.p95', False),
    ('link.rate', False), ('controller.latency.p50', False), ('controller.rate', False),
    ('controller.longest_gap', False), ('controller.travel', True),
    ('vehicles.a.latency.p95', False), ('vehicles.a.b.latency', True), ('x.load', True)])
def test_which_figures_are_the_machines(name, kept):
    nested = 1
    for part in reversed(name.split('.')):
        nested = {part: nested}
    assert rows.flatten_figures(nested) == ({f'figure.{name}': 1.0} if kept else {})


def test_a_damaged_part_says_what_to_do(tmp_path):
    path = tmp_path / 'part-000000.parquet'
    path.write_bytes(b'PAR1')
    for read in (parts.read, parts.schema, lambda part: [*parts.rows(part, 'flight')]):
        with pytest.raises(parts.PlanError, match='is damaged: .*; delete it, and its flights'):
            read(path)


def test_what_differs_is_listed_up_to_eight():
    names = [*'abcdefghij']
    assert folder._listed(names[:8]) == 'a, b, c, d, e, f, g, h'
    assert folder._listed(names) == 'a, b, c, d, e, f, g, h and 2 more'


@pytest.mark.parametrize(('labels', 'length', 'fits'), [
    (3, 5, True), (4, 5, False), (3, 6, False)])
def test_texts_of_a_column_are_bounded(tmp_path, monkeypatch, labels, length, fits):
    monkeypatch.setattr(columns, '_MOST_LABELS', 3)
    monkeypatch.setattr(columns, '_LONGEST_LABEL', 5)
    made = [row | {'scenario': 'abcdefghij'[n % labels] * length, 'controller': 'p',
                   'outcome': 'passed', 'simulator': 'c', 'aircraft': 'a'}
            for n, row in enumerate(rows.synthetic(8))]
    parquet.write_table(rows.arrow(made), tmp_path / 'table.parquet')
    seen = columns.Columns(tmp_path)
    if fits:
        assert len(seen.labels('scenario').values) == labels
        return
    with pytest.raises(ValueError, match=(
            f"column 'scenario' has {labels} texts, of up to {length} characters: expected at "
            'most 3 of 5')):
        seen.labels('scenario')


def test_a_column_with_nulls_has_a_code_for_them(tmp_path):
    made = [*rows.synthetic(4)]
    for row, recording in zip(made, ('x', None, 'y', 'x'), strict=True):
        row['recording'] = recording
    parquet.write_table(rows.arrow(made), tmp_path / 'table.parquet')
    found = columns.Columns(tmp_path).labels('recording')
    assert [found.values[code] for code in found.codes] == ['x', None, 'y', 'x']
    codes, values = columns.Columns(tmp_path).labels('exit')
    assert [values[code] for code in codes] == [row['exit'] for row in made]


def test_only_rows_of_the_seen_controllers_count_in_all_columns(tmp_path):
    made = [*rows.synthetic(12)]
    parquet.write_table(rows.arrow(made), tmp_path / 'table.parquet', row_group_size=5)
    seen = columns.Columns(tmp_path, only=['policy:turbulence'])
    own = made[6:]
    assert seen.flights == 6
    assert seen.has_passed().tolist() == [row['outcome'] == 'passed' for row in own]
    assert seen.not_flown().tolist() == [
        row['outcome'] in ('crashed', 'failed') for row in own]
    assert seen.numbers('flight').tolist() == [6, 7, 8, 9, 10, 11]
    assert [row['flight'] for row in seen.rows([5, 0, 3])] == [11, 6, 9]
    assert [row['flight'] for row in columns.Columns(tmp_path).rows([11, 4, 5, 0])] == [
        11, 4, 5, 0]
