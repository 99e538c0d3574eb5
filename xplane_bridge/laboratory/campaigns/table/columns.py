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

"""A campaign's table, read column by column: its memory is that of a few columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common import optional
from xplane_bridge.common.tables.bounds import TableError
from xplane_bridge.common.tables.parquet import Parquet
from xplane_bridge.common.text import printable
from xplane_bridge.laboratory.campaigns.plan.task import PARAMETER
from xplane_bridge.laboratory.campaigns.table.criteria import CriterionLimits, with_unit
from xplane_bridge.laboratory.campaigns.table.folder import TABLE
from xplane_bridge.laboratory.campaigns.table.look import kept
from xplane_bridge.laboratory.campaigns.table.lost import LostFlights
from xplane_bridge.laboratory.campaigns.table.rows import JUDGED, NOT_FLOWN, PASSED, VALUE
from xplane_bridge.laboratory.flights.scenario.flown_by import without_folders

Array = NDArray[np.float64]

# Of what is in memory at a time: criteria, parameters, and so many columns besides.
_MOST_CELLS = 24_000_000
_INPUTS = 6
_WORDS = ('scenario', 'simulator', 'controller', 'aircraft', 'outcome')
# Of a column's different texts.
_MOST_LABELS = 5000
_LONGEST_LABEL = 4096


class Labels(NamedTuple):
    """A column of few different values: ``values[codes[i]]`` is row i's; None where null."""

    codes: NDArray[np.int64]
    values: list[Any]


class Columns:
    """
    The table of a campaign, its controllers and criteria called as ``labels`` say.

    ``flights`` is the number of its rows, ``criteria`` and ``parameters`` the names of what was
    judged and varied, in the order of the columns. ``lost`` are the flights that it does not have.
    ``given_labels`` are by the table's names.
    """

    def __init__(
        self, path: Path, labels: Mapping[str, str] | None = None, only: Sequence[str] = ()
    ) -> None:
        """
        Open a campaign's folder, or a table by itself.

        ``labels`` are by the names of controllers, short or as in the table, and of criteria; they
        add to those that the folder keeps. ``only`` are the controllers whose rows are seen, all
        if empty. Raises ImportError without pyarrow, and ValueError, with a sentence, for anything
        else than a campaign's table, for a label of what is not in it, and one of two.
        """
        optional.require('a table of flights', 'pyarrow', extra='campaign')
        self.folder = path if path.is_dir() else path.parent
        file = path / TABLE if path.is_dir() else path
        if not file.is_file():
            raise ValueError(f'{path}: expected the folder of a flown campaign, with {TABLE}')
        self._path = file
        with self._naming_file():
            self._file = Parquet(file)
        self.names: tuple[str, ...] = self._file.names
        try:
            self.lost = LostFlights.of(self._file.metadata)
        except ValueError as error:
            raise ValueError(f'{file}: {error}') from None
        if not self.names and not self._file.rows:
            raise ValueError(f'{file}: no flight is in it' + (
                f'; {self.lost}; the same campaign flies them' if self.lost.flights else ''))
        for name in ('seed', *_WORDS):
            if name not in self.names or name in _WORDS and not self._file.is_text(name):
                raise ValueError(f'{file}: is not the table of a campaign: it has no column '
                                 f'{name!r}{" of texts" * (name in self.names)}')
        self.flights: int = self._file.rows
        self.criteria = self._named(JUDGED)
        self.parameters = self._named(PARAMETER)
        held = len(self.criteria) + len(self.parameters) + _INPUTS
        if self.flights * held > _MOST_CELLS:
            raise ValueError(
                f'{file}: has {self.flights} flights, with {len(self.criteria)} criteria and '
                f'{len(self.parameters)} parameters: expected at most {_MOST_CELLS // held}')
        self.given_labels: dict[str, str] = {}
        self._seen: NDArray[np.int64] | None = None
        every = self._encoded('controller')
        short = [without_folders(str(name)) for name in every.values]
        unique = len(set(short)) == len(short)
        # By the names of the table, in the order in which they first appear.
        self._short = {name: own if unique else str(name)
                       for name, own in zip(every.values, short, strict=True)}
        self._label(labels or {})
        if only:
            wanted = {self.full_name(name) for name in only}
            own = [code for code, name in enumerate(every.values) if str(name) in wanted]
            self._seen = np.flatnonzero(np.isin(every.codes, own))
            self.flights = len(self._seen)

    def _label(self, labels: Mapping[str, str]) -> None:
        """Take the labels that the folder keeps, and these."""
        known = {name: name for name in (*map(str, self._short), *self.criteria)} | (
            self.controllers())
        found = {name: label for name, label in kept(self.folder).labels.items()
                 if name in known}
        for name, label in labels.items():
            full = known.get(name) or known.get(without_folders(name))
            if full is None:
                raise ValueError(f'there is no controller {name!r} to label: expected one of '
                                 f'{", ".join(self.controllers())}, or a criterion')
            found[full] = label
        self.given_labels = found
        for what, called in (('controllers', [*map(self._called, self._short)]),
                             ('criteria', [*map(self.called, self.criteria)])):
            if twice := next((label for label, n in Counter(called).items() if n > 1), ''):
                raise ValueError(f'two {what} are labelled {twice!r}')

    def numbers(self, name: str) -> Array:
        """Return a column as numbers, shape (flights,); NaN where there is none."""
        if name not in self.names:
            return np.full(self.flights, math.nan)
        with self._naming_file():
            found = self._file.numbers([name])[name]
        return np.array(found if self._seen is None else found[self._seen])

    def called(self, criterion: str) -> str:
        """Return the label of a criterion, or its own text."""
        return self.given_labels.get(criterion, criterion)

    def titled(self, criterion: str) -> str:
        """Return the label of a criterion, or its own text with the unit of its limit."""
        return self.given_labels.get(criterion) or with_unit(criterion)

    def labels(self, name: str, labelled: bool = True) -> Labels:
        """
        Return a column by its different values, in the order in which they first appear.

        Controllers have their labels, unless ``labelled`` is false, or their short names as far
        as these tell them apart.
        """
        codes, values = self._encoded(name)
        if name == 'controller':
            values = [self._called(value) if labelled else self._short[value] for value in values]
        return Labels(codes, values)

    def controllers(self) -> dict[str, str]:
        """Return all controllers of the table, seen or not, by what they are called here."""
        return {self._called(name): str(name) for name in self._short}

    def full_name(self, controller: str) -> str:
        """
        Return what the table calls a controller, by its label, its short name or that itself.

        Raises ValueError, with a sentence, if it has no flight.
        """
        names = {str(name): str(name) for name in self._short} | {
            short: str(name) for name, short in self._short.items()} | self.controllers()
        found = names.get(controller) or names.get(without_folders(controller))
        if found is None:
            raise ValueError(f'no flight of controller {controller!r}: expected one of '
                             f'{", ".join(self.controllers())}')
        return found

    def is_number(self, name: str) -> bool:
        """Return whether a column has numbers, not words or truth values."""
        return self._file.is_number(name)

    def rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return rows by their numbers, 0 the first."""
        if self._seen is not None:
            numbers = self._seen[list(numbers)].tolist()
        found: dict[int, dict[str, Any]] = {}
        begin = 0
        for group, size in enumerate(self._file.groups):
            own = [number for number in numbers if begin <= number < begin + size]
            if own:
                with self._naming_file():
                    table = self._file.table(
                        group=group, rows=[number - begin for number in own])
                found |= zip(own, table.to_pylist(), strict=True)
            begin += size
        return [found[number] for number in numbers]

    def has_passed(self) -> NDArray[np.bool_]:
        """Return which flights met all their criteria, shape (flights,)."""
        codes, values = self.labels('outcome')
        return np.asarray([value == PASSED for value in values], dtype=bool)[codes]

    def margins(self) -> Array:
        """
        Return each flight's smallest margin, shape (flights,): see CriterionLimits.margin.

        It is -inf where a flight was not flown to its end or a criterion never got a value, and
        NaN where nothing was judged.
        """
        smallest = np.full(self.flights, math.nan)
        for criterion in self.criteria:
            margin = CriterionLimits.of(criterion).margin(self.numbers(f'{VALUE}{criterion}'))
            missed = self.numbers(f'{JUDGED}{criterion}') == 0.0
            margin[missed & np.isnan(margin)] = -math.inf
            smallest = np.fmin(smallest, margin)
        smallest[self.not_flown()] = -math.inf
        return smallest

    def not_flown(self) -> NDArray[np.bool_]:
        """Return which flights crashed or failed, shape (flights,)."""
        codes, values = self.labels('outcome')
        return np.asarray([value in NOT_FLOWN for value in values], dtype=bool)[codes]

    def _called(self, controller: Any) -> str:
        return self.given_labels.get(str(controller), self._short[controller])

    def _encoded(self, name: str) -> Labels:
        with self._naming_file():
            (_, column), = self._file.read([name])
        if self._seen is not None:
            column = column.take(self._seen)
        column = column.unify_dictionaries().combine_chunks()
        values = None
        if self._file.is_text(name):
            # Of the file: it may have a text twice, and some that no row has.
            values = column.dictionary.dictionary_encode()
            column = values.indices.take(column.indices)
            self._check_labels(name, values.dictionary)
        found = column.dictionary_encode(null_encoding='encode')
        return Labels(
            np.asarray(found.indices.to_numpy(zero_copy_only=False), dtype=np.int64),
            (found.dictionary if values is None else
             values.dictionary.take(found.dictionary)).to_pylist())

    def _check_labels(self, name: str, texts: Any) -> None:
        """Raise ValueError for more texts, or longer ones, than a plan has."""
        from pyarrow import compute
        longest = compute.max(compute.utf8_length(texts)).as_py() or 0
        if len(texts) > _MOST_LABELS or longest > _LONGEST_LABEL:
            raise ValueError(
                f'{self._path}: column {printable(name, 60)!r} has {len(texts)} texts, of up to '
                f'{longest} characters: expected at most {_MOST_LABELS} of {_LONGEST_LABEL}')

    @contextmanager
    def _naming_file(self) -> Iterator[None]:
        """Raise ValueError, with the file, for what cannot be read of it."""
        try:
            yield
        except TableError as error:
            raise ValueError(f'{self._path}: {error}') from None

    def _named(self, prefix: str) -> tuple[str, ...]:
        return tuple(
            name.removeprefix(prefix) for name in self.names if name.startswith(prefix))
