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


"""Parquet files of anybody: what they hold, or a sentence before it is unpacked."""

import io

from limited import growing_by
import numpy as np
import pytest

pytest.importorskip('pyarrow', reason='pyarrow is not installed')

import pyarrow
from pyarrow import parquet
import strange_tables
from strange_tables import fields, I32, I64, page, STRUCT

from xplane_bridge.common.tables import pages
from xplane_bridge.common.tables.bounds import TableError
from xplane_bridge.common.tables.parquet import Parquet

TEXTS = pyarrow.array(['a', 'b', None, 'a'])
COLUMNS = {
    'double': pyarrow.array([1.0, None, 3.0, 4.0]), 'int8': pyarrow.array([1, 2, 3, 4], 'int8'),
    'bool': pyarrow.array([True, None, False, True]), 'text': TEXTS, 'with.dot': TEXTS,
    'dictionary': TEXTS.dictionary_encode(), 'large': TEXTS.cast('large_string')}
OTHERS = {
    'list': pyarrow.array([[1.0]] * 4), 'struct': pyarrow.array([{'x': 1.0}] * 4),
    'time': pyarrow.array([1, 2, 3, 4], 'timestamp[us]'), 'bytes': pyarrow.array([b'a'] * 4),
    'decimal': pyarrow.array([1, 2, 3, 4]).cast(pyarrow.decimal128(38, 2))}


@pytest.fixture(params=[
    {}, {'compression': 'none', 'data_page_version': '2.0'}, {'use_dictionary': False},
    {'compression': 'gzip', 'row_group_size': 3}, {'store_schema': False}], ids=str)
def path(request, tmp_path):
    parquet.write_table(pyarrow.table(COLUMNS | OTHERS), tmp_path / 'a.parquet', **request.param)
    return tmp_path / 'a.parquet'


def test_numbers_and_texts_are_read_however_they_are_packed(path):
    file = Parquet(path)
    assert file.rows == sum(file.groups) == 4
    assert file.table(COLUMNS).to_pydict() == {
        name: column.to_pylist() for name, column in COLUMNS.items()}
    np.testing.assert_equal(file.numbers(['double', 'bool']), {
        'double': [1.0, np.nan, 3.0, 4.0], 'bool': [1.0, np.nan, 0.0, 1.0]})
    assert [name for name in file.names if file.is_text(name)] == [
        'text', 'with.dot', 'dictionary', 'large']
    assert [name for name in file.names if file.is_number(name)] == ['double', 'int8']
    last = len(file.groups) - 1
    assert file.table(['text'], last, [file.groups[last] - 1]).to_pydict() == {'text': ['a']}


def test_columns_of_other_types_are_named_with_their_type(path):
    file = Parquet(path)
    for name in OTHERS:
        with pytest.raises(TableError, match=f"column '{name}' has no numbers or texts, but "):
            file.table([name])
    with pytest.raises(TableError, match="column 'text' has no numbers"):
        file.numbers(['text'])
    with pytest.raises(TableError, match="column 'c' is missing"):
        file.table(['c'])
    with pytest.raises(TableError, match='4 rows, expected at most 3'):
        file.numbers(['double'], 3)


CRAFTED = strange_tables.crafted({'time': 1.0, 'roll': 2.0}, 'roll')


@pytest.mark.parametrize('what', CRAFTED)
def test_what_unpacks_to_gigabytes_is_refused_before(tmp_path, what):
    data, sentence = CRAFTED[what]
    (tmp_path / 'a.parquet').write_bytes(data)
    with growing_by(500_000_000), pytest.raises(TableError, match=sentence):
        Parquet(tmp_path / 'a.parquet').table(['time', 'roll'])


def test_a_crafted_file_without_a_lie_is_read(tmp_path):
    chunk = strange_tables.Chunk(strange_tables.constant(2.0, 1000))
    (tmp_path / 'a.parquet').write_bytes(
        strange_tables.made([(b'a', chunk)], 1000, (b'k', b'v')))
    file = Parquet(tmp_path / 'a.parquet')
    assert file.metadata == {b'k': b'v'}
    assert file.numbers(['a'])['a'].tolist() == [2.0] * 1000


def measured(*content, values=10, most=1000):
    data = b''.join(content)
    return pages.measure(io.BytesIO(data), 0, len(data), values, most, 5)


def test_pages_are_counted_until_all_values_were_seen():
    assert measured(page(b'abc', 4), page(b'', 6, unpacked=90), page(b'', 6)) == (2, 93)
    with pytest.raises(TableError, match='more than 1000 bytes'):
        measured(page(b'', 4, unpacked=900), page(b'', 6, unpacked=101))
    with pytest.raises(TableError, match='too many pages'):
        measured(page(b'', 1) * 6)


@pytest.mark.parametrize('header', [
    # Another type, or a number that is the same in 16 bits, does not hide a size.
    [(2, I32, 5000), (65538, I32, 5), (65539, I32, 0)], [(2, I32, 5), (65538, I32, 5000)],
    [(2, I32, 5000), (3, I32, 0), (65538, I64, 5)], [(2, I32, 5), (3, STRUCT, fields())],
    [(2, I32, 5), (3, I32, b'\1')], [(2, I32, b'\xff' * 11), (3, I32, 0)], [(3, I32, 0)]],
    ids=range(7))
def test_headers_that_say_it_in_another_way_hide_nothing(header):
    with pytest.raises(TableError):
        measured(fields((1, I32, 0), *header) + fields((5, STRUCT, fields((1, I32, 10)))))
