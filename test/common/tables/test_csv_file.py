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


"""CSV files of anybody: what they hold, or a sentence within a block."""

from limited import growing_by
import numpy as np
import pytest

pytest.importorskip('pyarrow', reason='pyarrow is not installed')

from xplane_bridge.common.tables import csv_file
from xplane_bridge.common.tables.bounds import BLOCK, TableError
from xplane_bridge.common.tables.csv_file import CsvFile


def read(tmp_path, content, names=('a', 'b'), most=1000):
    path = tmp_path / 'a.csv'
    path.write_bytes(content)
    return {name: values.tolist() for name, values in CsvFile(path).numbers(names, most).items()}


@pytest.mark.parametrize('content', [
    b'a,b\n1,2\n3,4\n', b'a, b\n1, 2\n 3 , 4\n', b'a,b\r\n1,2\r\n3,4', b'a,b\r1,2\r3,4\r',
    b'\xef\xbb\xbf"a","b"\n"1","2"\n\n3,4\n', b'# x\n\n#\na,b\n# s,rad\n1,2\n#\n3,4\n#',
    b'c,b,a,,\nx,2,1,,\ny,4,3,,\n'], ids=repr)
def test_lines_blanks_and_comments_in_any_way(tmp_path, content):
    assert read(tmp_path, content) == {'a': [1.0, 3.0], 'b': [2.0, 4.0]}


@pytest.mark.parametrize(('content', 'sentence'), [
    (b'', 'it has 0 columns'), (b'\n\n', 'it has 0 columns'), (b'\x00\xff' * 50, 'names'),
    (b'a, a\n1,2\n', "2 of its columns have the name 'a'"),
    (b'a,b\n1,2\n3,left\n', "column 'b': row 2: .*'left'"), (b'a,b\n1\n', 'Expected 2 columns'),
    (b'a' + b',' * 10_000, 'it has 10001 columns'),
    (b'a,b\n' + b'1,2\n' * 1001, 'more than 1000 rows')], ids=range(8))
def test_what_is_no_table_is_told(tmp_path, content, sentence):
    with pytest.raises(TableError, match=sentence):
        read(tmp_path, content)


@pytest.mark.parametrize('begin', [b'a,b\n', b'', b'#'], ids=repr)
def test_a_line_longer_than_a_block_is_not_read_on(tmp_path, begin):
    with pytest.raises(TableError, match=f'a line of more than {BLOCK} bytes'):
        read(tmp_path, begin + b'1' * (2 * BLOCK + 1))


def test_blocks_join_where_lines_do(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_file, 'BLOCK', 64)
    wanted = np.arange(2000.0)
    text = 'a,b\n' + ''.join(f'{n},{2 * n}\n#\n' for n in range(2000))
    found = read(tmp_path, text.encode(), most=2000)
    np.testing.assert_array_equal(found['a'], wanted)
    np.testing.assert_array_equal(found['b'], 2.0 * wanted)
    with pytest.raises(TableError, match="column 'a': row 2001: .*'x'"):
        read(tmp_path, text.encode() + b'x,1\n', most=3000)


def test_a_file_of_a_terabyte_is_not_read_on(tmp_path):
    with (tmp_path / 'a.csv').open('wb') as stream:
        stream.write(b'a,b\n')
        stream.truncate(1 << 40)
    with growing_by(100_000_000), pytest.raises(TableError, match='a line of more than'):
        CsvFile(tmp_path / 'a.csv').numbers(['a'], 1000)


def test_a_table_of_many_rows_takes_no_more_than_its_columns(tmp_path):
    path = tmp_path / 'a.csv'
    path.write_text('a,b,c\n' + '1,2,3.25\n' * 400_000)
    with growing_by(60_000_000):
        found = CsvFile(path).numbers(['a', 'c'], 400_000)
    assert [values.sum() for values in found.values()] == [400_000.0, 1_300_000.0]
