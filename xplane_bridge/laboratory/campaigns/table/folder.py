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
The folder of a campaign, from which it can be resumed.

Each row is appended to a journal as its flight ends: it survives the end of this process, however
that comes, and after a second that of the machine. From time to time the journal becomes a Parquet
file, which appears as a whole or not at all. Rows of an earlier plan of which the present one has
all flights are numbered anew, in a folder of their own, which then takes the place of the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
import fcntl
import json
from pathlib import Path
import shutil
import time
from types import TracebackType
from typing import Any, NamedTuple

from xplane_bridge.common import optional, plain_files
from xplane_bridge.common.plain_files import Journal, WriteError
from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.campaigns.plan.plan import Plan, PlanError
from xplane_bridge.laboratory.campaigns.plan.sections import MOST_FLIGHTS
from xplane_bridge.laboratory.campaigns.plan.task import FLIGHTS
from xplane_bridge.laboratory.campaigns.table import growing, parts, rows
from xplane_bridge.laboratory.campaigns.table.growing import Places
from xplane_bridge.laboratory.campaigns.table.rows import Row

PLAN, ROWS, TABLE = 'plan.yaml', 'rows', 'table.parquet'

_IDENTITY, _JOURNAL, _LOCK = 'identity.json', 'journal.jsonl', '.lock'
# Rows of a Parquet file: of few, columns take more room than values; of many, memory.
_BATCH = 500
# Seconds of rows that may be lost if the machine, not only this process, ends.
_AT_RISK = 1.0
# Of a row, and of what the folder is of (bytes).
_LONGEST_ROW = 1024 * 1024
_LONGEST_IDENTITY = 4 * 1024 * 1024
# Of what differs, for people.
_SHOWN = 8


class Folder:
    """
    The files of a campaign; a context that nobody else can enter at the same time.

    ``outcomes`` counts those of all flights that have a row.

    Raises PlanError, with a sentence, for a folder of something else or with a flight that the
    plan has not, or one in which another campaign is running.
    """

    def __init__(self, path: str | Path, plan: Plan) -> None:
        self.path = Path(path)
        self._plan = plan
        self._rows = self.path / ROWS / '0'
        # Of rows that have the numbers of an earlier plan.
        self._places: Places | None = None
        self._done = bytearray(len(plan))
        self.outcomes: Counter[str] = Counter()
        self._batch: list[Row] = []
        self._journal: Journal | None = None
        self._lock: Journal | None = None
        self._parts = 0
        self._synced = 0.0

    def __enter__(self) -> Folder:
        """Make or resume it."""
        optional.require('a campaign', 'pyarrow', extra='campaign')
        try:
            self._enter()
        except BlockingIOError:
            raise PlanError(f'{self.path}: another campaign is running there') from None
        except WriteError as error:
            raise PlanError(str(error)) from None
        except OSError as error:
            raise PlanError(f'{self.path}: {error.strerror}') from None
        finally:
            if self._journal is None:
                # It is not entered: somebody else may.
                self._close()
        return self

    def _enter(self) -> None:
        kept = self._kept()
        top = self.path / ROWS
        self.path.mkdir(parents=True, exist_ok=True)
        plain_files.make_folder(top, within=self.path)
        self._lock = plain_files.journal(top / _LOCK)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # What is there now, which nobody else changes any more.
        self._check(self._kept() if kept is not None else None)
        plain_files.make_folder(self._rows, within=self.path)
        if self._places is not None:
            self._grow(self._places)
        plain_files.write(self.path / PLAN, self._plan.source)
        self._write_identity()
        for other in top.iterdir():
            if other.name.isdecimal() and other != self._rows:
                shutil.rmtree(other)
        self._resume()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Leave the folder so that it can be resumed."""
        self._close()

    def _close(self) -> None:
        for stream in (self._journal, self._lock):
            if stream is not None:
                stream.close()
        self._journal = self._lock = None

    @classmethod
    def seen(cls, path: str | Path, plan: Plan) -> Folder:
        """Return a folder as it is, without making, entering or changing it."""
        folder = cls(path, plan)
        folder._check(folder._kept())
        folder._note_flown()
        for row in folder.journaled():
            folder._note(row['flight'], row['outcome'])
        return folder

    @property
    def done(self) -> int:
        """Return how many flights have a row."""
        return self._done.count(1)

    def is_done(self, flight: int) -> bool:
        """Return whether a flight has a row."""
        return bool(self._done[flight])

    def add(self, row: Row) -> None:
        """Keep the row of a flight that has ended; of one that has a row already, nothing."""
        if self._done[row['flight']]:
            return
        assert self._journal is not None
        self._journal.append(json.dumps(row, separators=(',', ':')).encode() + b'\n')
        if time.monotonic() - self._synced > _AT_RISK:
            self._journal.sync()
            self._synced = time.monotonic()
        self._note(row['flight'], row['outcome'])
        self._batch.append(row)
        if len(self._batch) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Let the rows of the journal become a Parquet file."""
        if self._batch:
            _write_part(rows.arrow(self._batch), self._rows, self._parts)
            self._parts += 1
            self._batch = []
        assert self._journal is not None
        self._journal.truncate(0)

    def parts(self) -> list[Path]:
        """Return the Parquet files of rows; flush() comes before."""
        return sorted(self._rows.glob('part-*.parquet'))

    def journaled(self) -> Iterator[Row]:
        """Yield the rows of the journal, up to one that was not written to its end."""
        most = len(self._done) if self._places is None else MOST_FLIGHTS
        with suppress(FileNotFoundError), plain_files.open_regular(
                self._rows / _JOURNAL) as stream:
            while line := stream.readline(_LONGEST_ROW):
                try:
                    row: Row = json.loads(line)
                    whole = type(row['flight']) is int and 0 <= row['flight'] < most and (
                        isinstance(row['outcome'], str) and isinstance(row['key'], str))
                except (KeyError, RecursionError, TypeError, ValueError):
                    return
                if not whole:
                    return
                yield row

    def row(self, key: str) -> Row | None:
        """Return the row of a flight by its key, None if it has none."""
        from pyarrow import compute
        for part in self.parts():
            for row in parts.read(part).filter(compute.field('key') == key).to_pylist():
                return dict(row)
        return next((row for row in self.journaled() if row['key'] == key), None)

    def _kept(self) -> _Kept | None:
        """Return what the folder is of, None if it is new; PlanError if it is no campaign's."""
        if not self.path.exists() or not any(self.path.iterdir()):
            return None
        self._refuse_links()
        if self._is_begun():
            return None
        try:
            kept = _identity(self.path)
            return _Kept(kept['identity'], dict(kept.get('parts', {})),
                         str(abs(int(kept['generation']))))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise PlanError(f"{self.path} is no campaign's folder, and not empty: choose another "
                            'with --output') from None

    def _is_begun(self) -> bool:
        """Return whether it was locked, and there was no room for what it is of."""
        top = self.path / ROWS
        return (top / _LOCK).exists() and not (top / _IDENTITY).exists() and not any(
            top.glob('*/*'))

    def _refuse_links(self) -> None:
        """Raise PlanError for a link that leads elsewhere what is written below the folder."""
        for top in (self.path / ROWS, self.path / FLIGHTS):
            inside = [] if top.is_symlink() or not top.is_dir() else top.iterdir()
            for path in (top, *inside):
                if path.is_symlink():
                    raise PlanError(f'{printable(str(path))} is a link, and nothing is written '
                                    'through one: delete it, or choose another folder with '
                                    '--output')

    def _check(self, kept: _Kept | None) -> None:
        """See which places rows have in the plan; PlanError if it has not all of their flights."""
        if kept is None:
            return
        self._rows = self.path / ROWS / kept.generation
        if kept.identity == self._plan.identity:
            return
        self._places = {}
        keys = {row['flight']: row['key'] for row in self.journaled()}
        for part in self.parts():
            with parts.damaged(part):
                keys |= dict(parts.rows(part, 'flight', 'key'))
        if all(kept.parts.get(name) == found for name, found in self._plan.versions.items()):
            self._places = growing.places(self._plan, str(self.path), keys)
        if len(self._places) < len(keys):
            now = self._plan.parts
            differs = [name for name in {**kept.parts, **now}
                       if kept.parts.get(name) != now.get(name)]
            raise PlanError(
                f'the plan no longer has {len(keys) - len(self._places)} of the {len(keys)} '
                f'flights in {self.path}; what differs: '
                f'{_listed(differs) if kept.parts else "the version of xplane_bridge"}; '
                'restore that, or choose another folder with --output')

    def _grow(self, to: Places) -> None:
        """Write the rows again with the numbers of this plan; then only those count."""
        new = self.path / ROWS / str(int(self._rows.name) + 1)
        # Of one that was interrupted.
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        found = [parts.read(part) for part in self.parts()]
        flown = {flight for part in found for flight in part['flight'].to_pylist()}
        if rest := [row for row in self.journaled() if row['flight'] not in flown]:
            found.append(rows.arrow(rest))
        for number, part in enumerate(found):
            _write_part(growing.moved(part, to), new, number)
        self._rows, self._places = new, None
        self._write_identity()

    def _write_identity(self) -> None:
        plain_files.write(self.path / ROWS / _IDENTITY, json.dumps({
            'identity': self._plan.identity, 'plan': self._plan.origin,
            'parts': self._plan.parts, 'generation': int(self._rows.name)}).encode())

    def _resume(self) -> None:
        """See what is done; what the journal has becomes a Parquet file."""
        parts = self.parts()
        self._parts = int(parts[-1].stem.removeprefix('part-')) + 1 if parts else 0
        self._note_flown()
        self._journal = plain_files.journal(self._rows / _JOURNAL)
        self._batch = [row for row in self.journaled() if not self._done[row['flight']]]
        for row in self._batch:
            self._note(row['flight'], row['outcome'])
        self.flush()

    def _note(self, flight: int, outcome: str) -> None:
        """Note what became of a flight; its number is that of the rows' plan."""
        if self._places is not None:
            flight = self._places[flight].flight
        if not self._done[flight]:
            self._done[flight] = 1
            self.outcomes[outcome] += 1

    def _note_flown(self) -> None:
        """Note the flights of all Parquet files."""
        optional.require('a campaign', 'pyarrow', extra='campaign')
        for part in self.parts():
            with parts.damaged(part):
                for flight, outcome in parts.rows(part, 'flight', 'outcome'):
                    self._note(flight, outcome)


class _Kept(NamedTuple):
    """What the flights of a folder are of: the plan's identity and parts; where its rows are."""

    identity: str
    parts: dict[str, str]
    generation: str


def _listed(names: list[str]) -> str:
    shown = [printable(name) for name in names[:_SHOWN]]
    rest = len(names) - len(shown)
    return ', '.join(shown) + (f' and {rest} more' if rest else '')


def _identity(folder: Path) -> Any:
    return json.loads(plain_files.read(folder / ROWS / _IDENTITY, _LONGEST_IDENTITY))


def read_origin(folder: Path) -> str:
    """Return the file of the plan that a folder is of; PlanError if it is no campaign's."""
    try:
        return str(_identity(folder)['plan'])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise PlanError(f"{folder} is no campaign's folder") from None


def _write_part(part: Any, folder: Path, number: int) -> None:
    from pyarrow import parquet
    with plain_files.output(folder / f'part-{number:06}.parquet') as stream:
        parquet.write_table(part, stream)
