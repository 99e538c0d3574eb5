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

"""Parquet tables that this package has written, exported again."""

import math

import pytest

pytest.importorskip('pyarrow', reason='pyarrow is not installed')

import pyarrow
from pyarrow import parquet

from xplane_bridge.commands.export import main
from xplane_bridge.laboratory.export.tables import RowBatch, TableColumn, TIME_COLUMNS
from xplane_bridge.laboratory.export.writers import write_csv, write_parquet

COLUMNS = (*TIME_COLUMNS, TableColumn('alt', unit='ft'), TableColumn('raw', 'int64'),
           TableColumn('on', 'bool'), TableColumn('name', 'str'))
TABLE = RowBatch('uav/air_data', 'a/msg/Thing', COLUMNS, [
    [0.0, 0.1, 0.2], [9.0, None, 9.2], [9.0, 9.1, 9.3], [1.5, None, math.nan],
    [2**60 + 1, None, -3], [True, None, False], ['a', None, 'ä, b']])


def test_a_table_that_was_exported_is_read_again(tmp_path):
    for write, name in ((write_parquet, 'first'), (write_csv, 'expected')):
        write(tmp_path / name, iter([TABLE]), {}, pytest.fail)
    name = 'uav.air_data.'
    assert main([str(tmp_path / 'first' / f'{name}parquet'), '--to', 'csv', '--output',
                 str(tmp_path / 'second')]) == 0
    assert (tmp_path / 'second' / f'{name}csv').read_text() == (
        tmp_path / 'expected' / f'{name}csv').read_text()


def test_lists_are_left_out_and_told(tmp_path, capsys):
    table = RowBatch(
        'a', 'b', (*TIME_COLUMNS, TableColumn('data', 'uint8', is_list=True)),
        [[0.0], [0.0], [0.0], [[1, 2]]])
    write_parquet(tmp_path / 'first', iter([table]), {}, pytest.fail)
    assert main([str(tmp_path / 'first' / 'a.parquet'), '--to', 'csv']) == 1
    assert 'column data is left out: it is of lists' in capsys.readouterr().err
    assert (tmp_path / 'first' / 'a_csv' / 'a.csv').read_text() == (
        'time,stamp,log_time\n# s,s,s\n0.0,0.0,0.0\n')


@pytest.mark.parametrize(('metadata', 'time', 'sentence'), [
    ({}, 0.0, 'it is none of this package: expected one of a flight in core'),
    ({'topic': 'a'}, 'noon', 'it is none of this package'),
    ({'topic': 'a'}, None, 'expected a time in each row'),
    ({'topic': 'a'}, math.nan, 'expected a time in each row'),
])
def test_a_table_of_others_is_refused(tmp_path, capsys, metadata, time, sentence):
    first = 'noon' if time == 'noon' else 0.0
    table = pyarrow.table({name: [first, time] for name in ('time', 'stamp', 'log_time')})
    path = tmp_path / 'table.parquet'
    parquet.write_table(table.replace_schema_metadata(metadata), path)
    assert main([str(path), '--to', 'csv']) == 2
    assert f'export: {path} is not read as a table: {sentence}' in capsys.readouterr().err
    assert not (tmp_path / 'table_csv').exists()
