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
from collections.abc import Mapping, Sequence
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.campaigns.plan.sections import MOST_FLIGHTS
from xplane_bridge.campaigns.plan.task import PARAMETER
from xplane_bridge.campaigns.table.criteria import Limits
from xplane_bridge.campaigns.table.folder import TABLE
from xplane_bridge.campaigns.table.labels import kept
from xplane_bridge.campaigns.table.rows import JUDGED, NOT_FLOWN, PASSED, VALUE
from xplane_bridge.common import optional
from xplane_bridge.flights.scenario.flown_by import without_folders

Array = NDArray[np.float64]


class Labels(NamedTuple):
    """A column of few different values: ``values[codes[i]]`` is row i's; None where null."""

    codes: NDArray[np.int64]
    values: list[Any]


class Columns:
    """
    The table of a campaign, its controllers and criteria called as ``labels`` say.

    ``flights`` is the number of its rows, ``criteria`` and ``parameters`` the names of what was
    judged and varied, in the order of the columns. ``given_labels`` are by the table's names.
    """

    def __init__(self, path: Path, labels: Mapping[str, str] | None = None) -> None:
        """
        Open a campaign's folder, or a table by itself.

        ``labels`` are by the names of controllers, short or as in the table, and of criteria; they
        add to those that the folder keeps. Raises ImportError without pyarrow, and ValueError,
        with a sentence, for anything else than a campaign's table, for a label of what is not in
        it, and one of two.
        """
        optional.require('a table of flights', 'pyarrow', extra='campaign')
        from pyarrow import ArrowException, parquet
        self.folder = path if path.is_dir() else path.parent
        file = path / TABLE if path.is_dir() else path
        if not file.is_file():
            raise ValueError(f'{path}: expected the folder of a flown campaign, with {TABLE}')
        try:
            self._file = parquet.ParquetFile(file)
        except (OSError, ArrowException) as error:
            raise ValueError(f'{file}: is not a Parquet file: {error}') from None
        self.names: tuple[str, ...] = tuple(self._file.schema_arrow.names)
        missing = [name for name in ('scenario', 'simulator', 'controller', 'aircraft', 'seed',
                                     'outcome') if name not in self.names]
        if missing:
            raise ValueError(
                f'{file}: is not the table of a campaign: it has no column {missing[0]!r}')
        self.flights: int = self._file.metadata.num_rows
        if self.flights > MOST_FLIGHTS:
            raise ValueError(
                f'{file}: has {self.flights} flights, expected at most {MOST_FLIGHTS}')
        self.criteria = self._named(JUDGED)
        self.parameters = self._named(PARAMETER)
        self.given_labels: dict[str, str] = {}
        known = self._known_names()
        found = {name: label for name, label in kept(self.folder).items() if name in known}
        for name, label in (labels or {}).items():
            own = known.get(name) or known.get(without_folders(name))
            if own is None:
                raise ValueError(f'there is no controller {name!r} to label: expected one of '
                                 f'{", ".join(self.controllers())}, or a criterion')
            found[own] = label
        self.given_labels = found
        for what, called in (('controllers', self.labels('controller').values),
                             ('criteria', [*map(self.called, self.criteria)])):
            if twice := next((label for label, n in Counter(called).items() if n > 1), ''):
                raise ValueError(f'two {what} are labelled {twice!r}')

    def numbers(self, name: str) -> Array:
        """Return a column as numbers, shape (flights,); NaN where there is none."""
        if name not in self.names:
            return np.full(self.flights, math.nan)
        column = self._read(name).cast('float64')
        return np.array(column.to_numpy(), dtype=np.float64)

    def called(self, criterion: str) -> str:
        """Return the label of a criterion, or its own text."""
        return self.given_labels.get(criterion, criterion)

    def labels(self, name: str, labelled: bool = True) -> Labels:
        """
        Return a column by its different values, in the order in which they first appear.

        Controllers have their labels, unless ``labelled`` is false, or their short names as far
        as these tell them apart.
        """
        column = self._read(name).combine_chunks().dictionary_encode(null_encoding='encode')
        values = column.dictionary.to_pylist()
        if name == 'controller':
            own, short = values, [without_folders(str(value)) for value in values]
            if len(set(short)) == len(values):
                values = short
            if labelled:
                values = [self.given_labels.get(full, value)
                          for full, value in zip(own, values, strict=True)]
        return Labels(
            np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=np.int64), values)

    def controllers(self) -> dict[str, str]:
        """Return the controllers as the table has them, by what they are called here."""
        codes, called = self.labels('controller')
        first = [int(np.flatnonzero(codes == code)[0]) for code in range(len(called))]
        column = self._read('controller')
        return {str(name): str(column[row].as_py())
                for name, row in zip(called, first, strict=True)}

    def is_number(self, name: str) -> bool:
        """Return whether a column has numbers, not words or truth values."""
        from pyarrow import types
        kind = self._file.schema_arrow.field(name).type
        return bool(types.is_floating(kind) or types.is_integer(kind))

    def rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return rows by their numbers, 0 the first."""
        found: dict[int, dict[str, Any]] = {}
        begin = 0
        for group in range(self._file.num_row_groups):
            end = begin + self._file.metadata.row_group(group).num_rows
            own = [number for number in numbers if begin <= number < end]
            if own:
                table = self._file.read_row_group(group).take([number - begin for number in own])
                found |= zip(own, table.to_pylist(), strict=True)
            begin = end
        return [found[number] for number in numbers]

    def has_passed(self) -> NDArray[np.bool_]:
        """Return which flights met all their criteria, shape (flights,)."""
        codes, values = self.labels('outcome')
        return np.asarray([value == PASSED for value in values], dtype=bool)[codes]

    def margins(self) -> Array:
        """
        Return each flight's smallest margin, shape (flights,): see Limits.margin.

        It is -inf where a flight was not flown to its end or a criterion never got a value, and
        NaN where nothing was judged.
        """
        smallest = np.full(self.flights, math.nan)
        for criterion in self.criteria:
            margin = Limits.of(criterion).margin(self.numbers(f'{VALUE}{criterion}'))
            missed = self.numbers(f'{JUDGED}{criterion}') == 0.0
            margin[missed & np.isnan(margin)] = -math.inf
            smallest = np.fmin(smallest, margin)
        smallest[self.not_flown()] = -math.inf
        return smallest

    def not_flown(self) -> NDArray[np.bool_]:
        """Return which flights failed, hung or crashed, shape (flights,)."""
        codes, values = self.labels('outcome')
        return np.asarray([value in NOT_FLOWN for value in values], dtype=bool)[codes]

    def _known_names(self) -> dict[str, str]:
        """Return what may be labelled, by each name that it may be given: as in the table."""
        controllers = self.controllers()
        return {name: name for name in (*controllers.values(), *self.criteria)} | controllers

    def _read(self, name: str) -> Any:
        return self._file.read(columns=[name]).column(0)

    def _named(self, prefix: str) -> tuple[str, ...]:
        return tuple(
            name.removeprefix(prefix) for name in self.names if name.startswith(prefix))
