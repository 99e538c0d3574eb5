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

"""How much of a stranger's table is read: nothing of it takes a gigabyte of memory."""

from __future__ import annotations


class TableError(ValueError):
    """A file is no table that can be read within the bounds; the text says why, not which file."""


# Of a Parquet file. What pyarrow makes of its description takes up to 240 times as much room.
LONGEST_FOOTER = 2 * 1024 * 1024
MOST_COLUMNS = 10_000
MOST_ROWS = 10_000_000
# Of a table as a whole, in memory.
MOST_CELLS = 20_000_000
# Of all columns that are read at a time.
MOST_PAGES = 50_000
LONGEST_PAGE_HEADER = 64 * 1024
# Bytes that a column of numbers unpacks to: 8 a value, as many of a dictionary, and some a page.
OF_A_NUMBER = 16
OF_PAGES = 1024 * 1024
# Bytes of a column of texts: pyarrow takes four times as much, as it makes a dictionary of them.
MOST_TEXT = 128 * 1024 * 1024
LONGEST_TEXT = 64 * 1024

# Of a CSV file, in bytes. No line is longer than a block.
MOST_CSV = 128 * 1024 * 1024
BLOCK = 1024 * 1024
