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

"""Read a SQLite file of rosbag2, within bounds. No ROS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import sqlite3
from typing import Any

from xplane_bridge.laboratory.flights.recordings.bounds import (
    MAX_CHANNELS,
    MAX_CHUNK,
    MAX_DEFINITIONS,
    UnpackBudget,
)
from xplane_bridge.laboratory.flights.recordings.mcap_file import window, zstd
from xplane_bridge.laboratory.flights.recordings.topics import RecordedMessage, Topic, Topics

MAGIC = b'SQLite format 3\0'
_ZSTD = b'\x28\xb5\x2f\xfd'
# Steps of SQLite's machine between two rows; a row takes a dozen.
_MOST_STEPS = 1_000_000


class SqliteFile:
    """
    The messages of one file.

    Only ordinary tables are read, row by row as they are stored: views, triggers and virtual
    tables of the file are not run.
    """

    def __init__(self, path: Path, topics: Topics, budget: UnpackBudget) -> None:
        self._path = path
        self._topics = topics
        self._budget = budget
        self._may_go_on = True
        self.metadata = b''
        self.passed_over = 0

    def messages(self) -> Iterator[RecordedMessage]:
        """Yield the messages, in the order of the file. Raises ValueError where it is wrong."""
        connection = sqlite3.connect(
            f'{self._path.absolute().as_uri()}?mode=ro&immutable=1', uri=True)
        try:
            connection.text_factory = _text
            connection.set_progress_handler(self._pause, _MOST_STEPS)
            if hasattr(connection, 'setlimit'):
                # Since Python 3.11.
                connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2 * MAX_CHUNK)
            for setting in ('trusted_schema = OFF', 'cell_size_check = ON', 'mmap_size = 0'):
                connection.execute(f'PRAGMA {setting}')
            yield from self._of(connection)
        except sqlite3.Error as error:
            raise ValueError(f'SQLite: {error}') from None
        finally:
            connection.close()

    def _pause(self) -> int:
        # Called once without a row in between: it has not got on.
        may, self._may_go_on = self._may_go_on, False
        return not may

    def _rows(self, connection: sqlite3.Connection, query: str, *given: Any) -> Iterator[Any]:
        for row in connection.execute(query, given):
            self._may_go_on = True
            self._budget.record(1)
            yield row

    def _of(self, connection: sqlite3.Connection) -> Iterator[RecordedMessage]:
        tables = {name for name, sql in self._rows(
            connection, "SELECT name, sql FROM sqlite_master WHERE type = 'table' LIMIT 1000")
            if isinstance(sql, str) and sql.upper().startswith('CREATE TABLE')}
        if missing := {'topics', 'messages'} - tables:
            raise ValueError(f'it has no table {", ".join(sorted(missing))}')
        definitions: dict[str, tuple[str, str, str]] = {}
        if 'message_definitions' in tables:
            for kind, form, text in self._rows(
                    connection, 'SELECT topic_type, encoding, encoded_message_definition '
                    f'FROM message_definitions NOT INDEXED LIMIT {MAX_CHANNELS}'):
                if isinstance(kind, str) and isinstance(form, str) and isinstance(text, str):
                    definitions.setdefault(kind, (
                        form, *self._topics.definition(text[:MAX_DEFINITIONS].encode())))
        topics: dict[int, Topic] = {}
        for number, name, kind, encoding in self._rows(
                connection, 'SELECT id, name, type, serialization_format FROM topics '
                f'NOT INDEXED LIMIT {MAX_CHANNELS}'):
            if isinstance(name, str) and isinstance(kind, str):
                topics[number] = self._topics.add(name, kind, *(
                    definitions.get(kind, ('ros2none', '')) if encoding == 'cdr'
                    else (str(encoding)[:40], '')))
        for number, log_ns, size, data in self._rows(
                connection, 'SELECT topic_id, timestamp, length(data), CASE WHEN '
                "typeof(data) = 'blob' AND length(data) <= ? THEN data END "
                'FROM messages NOT INDEXED ORDER BY rowid', MAX_CHUNK):
            if number not in topics or not isinstance(log_ns, int) or not isinstance(data, bytes):
                raise ValueError(
                    f'a message of {size if isinstance(size, int) else "unknown"} bytes is of '
                    'topic, time and data that are none')
            self._budget.unpack(len(data))
            # No serialized message begins so.
            if data.startswith(_ZSTD):
                data = self._unpacked(data)
            yield RecordedMessage(topics[number], log_ns, data, log_ns)

    def _unpacked(self, data: bytes) -> bytes:
        try:
            found = bytes(zstd().ZstdDecompressor(options=window()).decompress(
                data, max_length=MAX_CHUNK + 1))
        except Exception as error:
            raise ValueError(f'a compressed message: {error}') from None
        if len(found) > MAX_CHUNK:
            raise ValueError(f'a compressed message has more than {MAX_CHUNK} bytes')
        self._budget.unpack(len(found))
        return found


def _text(data: bytes) -> str:
    return data.decode(errors='replace')
