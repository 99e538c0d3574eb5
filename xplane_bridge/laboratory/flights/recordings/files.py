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
Recordings, read within bounds: MCAP files, and rosbag2 folders of MCAP or SQLite. No ROS.

This is the only reader: exports, reports and evaluations get their messages from it. What is
between a file and a message is bounded in recording_bounds.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import json
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from xplane_bridge.common import plain_files, plain_yaml
from xplane_bridge.common.text import abbreviated, printable
from xplane_bridge.laboratory.flights.recordings import mcap_file, rosbag2, sqlite_file
from xplane_bridge.laboratory.flights.recordings.bounds import (
    MAX_FILES,
    MAX_METADATA,
    TooMuchError,
    UnpackBudget,
)
from xplane_bridge.laboratory.flights.recordings.mcap_file import McapFile
from xplane_bridge.laboratory.flights.recordings.sqlite_file import SqliteFile
from xplane_bridge.laboratory.flights.recordings.topics import (
    RecordedMessage,
    RecordingError,
    Topics,
    UnfinishedError,
)

# Next to a recording: the figures of an experiment (bytes).
_MAX_FIGURES = 1024 * 1024
# The maximum of a stamp's seconds.
_LATEST = 2.0**31
_ZSTD = b'\x28\xb5\x2f\xfd'
_MAX_FAULT = 400
_BLOCK = 1024 * 1024

Tell = Callable[[Path, str], None]
"""Takes a file and what is wrong with it, after everything before that was read."""


class Recording:
    """
    A recording on disk, whose messages can be read as often as they are wanted.

    Raises OSError if there is none, and RecordingError for a folder that has none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topics = Topics()
        """The topics met so far."""
        self.log_time = ''
        """What the recording times are, see rosbag2; known after reading, empty if unknown."""
        self.fault = ''
        """Where it ends, if its recorder has not finished it; known after reading."""
        self.unread = 0
        """Bytes of it that are not read then."""
        self.passed_over = 0
        """Attachments and metadata in it that are none of rosbag2's; known after reading."""
        self.distribution = ''
        """The ROS distribution it was recorded with; known after reading, empty if unknown."""
        self.custom: dict[str, str] = {}
        """What its recorder says of it besides; known after reading."""
        # A recorder of rosbag2 in Jazzy and later uses the middleware's.
        self._is_bag = path.is_dir()
        self._files = _files(path) if self._is_bag else [path]
        self._size = 0
        for file in self._files:
            with plain_files.open_regular(file) as stream:
                self._size += stream.seek(0, 2)

    @property
    def cut(self) -> str:
        """Return a sentence if its recorder has not finished it, as after a kill."""
        if self.fault and any(map(plain_files.is_growing, self._files)):
            return f'{self.path} is still being recorded, and is read as far as it goes'
        if self.fault:
            return (f'{self.path} was not finished by its recorder, and is read up to there: '
                    f'{self.fault}')
        if fault := self.custom.get(rosbag2.CUT):
            return (f'{self.path} was not finished by its recorder, and was completed later: '
                    f'{printable(fault, _MAX_FAULT)}')
        return ''

    def messages(self, tell: Tell | None = None) -> Iterator[RecordedMessage]:
        """
        Yield the messages, file by file, in the order in which they were written.

        A file's fault is told to ``tell``, and reading goes on with the next; without it, it
        raises RecordingError, unless nobody has finished that file: then ``fault`` says where.
        """
        self.fault, self.unread, self.passed_over = '', 0, 0
        budget = UnpackBudget(self._size)
        for path in self._files:
            try:
                with plain_files.open_regular(path) as stream:
                    yield from self._read_file(path, stream, budget)
            except (OSError, ValueError) as error:
                fault = printable(str(error), _MAX_FAULT)
                if tell is not None:
                    tell(path, fault)
                elif isinstance(error, UnfinishedError):
                    self.fault = self.fault or (f'{path.name}: ' if self._is_bag else '') + fault
                    self.unread += error.left
                else:
                    raise self._error(path, fault) from None
                if isinstance(error, TooMuchError):
                    return

    def _error(self, path: Path, fault: str) -> RecordingError:
        which = f'{path.name}: ' if self._is_bag else ''
        return RecordingError(f'{self.path} is not read as a recording: {which}{fault}')

    def _read_file(
        self, path: Path, stream: BinaryIO, budget: UnpackBudget
    ) -> Iterator[RecordedMessage]:
        magic = stream.read(16)
        stream.seek(0)
        found: McapFile | SqliteFile
        if magic == sqlite_file.MAGIC:
            found = SqliteFile(path, self.topics, budget)
        elif magic.startswith(_ZSTD):
            # A file of a bag whose compression_mode is "file".
            module = mcap_file.zstd()
            unpacked = _Unpacked(module.ZstdFile(stream, options=mcap_file.window()), budget)
            if unpacked.magic == sqlite_file.MAGIC:
                yield from self._read_packed_sqlite(unpacked, budget)
                return
            found = McapFile(unpacked, None, self.topics, budget)
        else:
            found = McapFile(stream, stream.seek(0, 2), self.topics, budget)
            stream.seek(0)
        try:
            yield from found.messages()
        finally:
            self.passed_over += found.passed_over
            self._learn(found.metadata)
        self.log_time = rosbag2.RECEIVED if self._is_bag else self.custom.get(rosbag2.LOG_TIME, '')

    def _learn(self, metadata: bytes) -> None:
        """Take what rosbag2 keeps beside the messages, which anybody may have written."""
        try:
            content = plain_yaml.load_texts(metadata, MAX_METADATA)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            return
        custom, distribution = content.get('custom_data'), content.get('ros_distro')
        if isinstance(custom, dict):
            self.custom = {name: text for name, text in custom.items() if isinstance(text, str)}
        if isinstance(distribution, str):
            self.distribution = distribution

    def _read_packed_sqlite(
        self, unpacked: _Unpacked, budget: UnpackBudget
    ) -> Iterator[RecordedMessage]:
        # SQLite reads from files only.
        with TemporaryDirectory() as folder:
            path = Path(folder, 'bag.db3')
            with plain_files.growing(path) as stream:
                while part := unpacked.read(_BLOCK):
                    stream.write(part)
            yield from SqliteFile(path, self.topics, budget).messages()
        self.log_time = rosbag2.RECEIVED


class _Unpacked:
    """A compressed file, unpacked as it is read; ``magic`` is its beginning."""

    def __init__(self, stream: Any, budget: UnpackBudget) -> None:
        self._stream = stream
        self._budget = budget
        self._ahead = b''
        self.magic = self._ahead = self.read(len(sqlite_file.MAGIC))

    def read(self, count: int) -> bytes:
        """Return ``count`` bytes, fewer only at the end."""
        parts = [self._ahead[:count]]
        self._ahead = self._ahead[count:]
        count -= len(parts[0])
        while count:
            try:
                part = self._stream.read(min(count, _BLOCK))
            except Exception as error:
                # Of the library of Zstandard.
                raise ValueError(f'zstd: {error}') from None
            if not part:
                break
            self._budget.unpack(len(part))
            parts.append(part)
            count -= len(part)
        return b''.join(parts)


def _files(folder: Path) -> list[Path]:
    """Return the files of a bag: those of its metadata, or all MCAP files if it has none."""
    metadata = folder / 'metadata.yaml'
    what = f'{folder} is not read as a recording'
    if not metadata.exists():
        found = sorted(folder.glob('*.mcap'), key=_natural)
        if not found:
            raise RecordingError(f'{what}: there is no metadata.yaml in it, and no MCAP file')
    else:
        try:
            content = plain_yaml.load_texts(plain_files.read(metadata, MAX_METADATA), MAX_METADATA)
            names = content['rosbag2_bagfile_information']['relative_file_paths']
            # Bags of Foxy name their own folder too; no file outside of it is read.
            found = [folder / PurePath(name).name for name in dict.fromkeys(names)]
        except (AttributeError, KeyError, TypeError, ValueError, OSError) as error:
            fault = (f'expected relative_file_paths in it ({type(error).__name__})'
                     if isinstance(error, AttributeError | KeyError | TypeError) else str(error))
            raise RecordingError(f'{what}: {metadata.name}: {printable(fault)}') from None
        found = list(dict.fromkeys(found))
        for path in found:
            if not path.is_file():
                raise RecordingError(
                    f'{what}: there is no file {printable(path.name, 60)!r} in it')
    if len(found) > MAX_FILES:
        raise RecordingError(f'{what}: it has {len(found)} files, expected at most {MAX_FILES}')
    return found


def _natural(path: Path) -> tuple[int, str]:
    # rosbag2 numbers the files of a recording: flight_2.mcap is before flight_10.mcap.
    number = path.stem.rpartition('_')[2][:9]
    return int(number) if number.isascii() and number.isdecimal() else 0, path.name


def beginning(path: Path) -> float | None:
    """Return when the scenario started, from an experiment's figures; None if there are none."""
    try:
        begin = json.loads(plain_files.read(path, _MAX_FIGURES)).get('begin')
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError, RecursionError):
        raise RecordingError(f'{path}: expected the figures of an experiment, as JSON') from None
    if begin is None:
        return None
    if type(begin) in (int, float) and 0 <= begin < _LATEST:
        return float(begin)
    raise RecordingError(f'{path}: expected the time of "begin", got {abbreviated(begin)}')
