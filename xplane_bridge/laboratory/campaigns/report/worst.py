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

"""The worst flights of a campaign: why, what they left, and the command that flies them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math
from pathlib import Path
from typing import Any

import numpy as np

from xplane_bridge.laboratory.campaigns.plan.task import FLIGHTS, folder_name, PARAMETER
from xplane_bridge.laboratory.campaigns.table.columns import Columns
from xplane_bridge.laboratory.campaigns.table.criteria import criterion_unit, CriterionLimits
from xplane_bridge.laboratory.campaigns.table.rows import JUDGED, NOT_FLOWN, Row, VALUE

# What a flight may leave, as `experiment` names it.
_RECORDINGS = ('*.mcap', '*.log')


@dataclass(frozen=True, slots=True)
class Worst:
    """
    One of the worst flights.

    ``row`` is its row. ``criterion`` is the one with the smallest margin, ``margin`` that margin
    (CriterionLimits.margin; NaN if it has none). ``files`` are the recording and the log that it
    left.
    """

    row: Row
    criterion: str
    margin: float
    files: tuple[Path, ...]

    @property
    def inputs(self) -> dict[str, Any]:
        """Return the seed and the parameters that it was flown with."""
        return {'seed': self.row['seed']} | {
            name.removeprefix(PARAMETER): value for name, value in self.row.items()
            if name.startswith(PARAMETER) and value is not None}

    @property
    def reason(self) -> str:
        """Return in a phrase why it is among the worst."""
        if self.row['outcome'] in NOT_FLOWN or not self.criterion:
            return str(self.row['reason'] or 'no criterion has a value')
        value = self.row[f'{VALUE}{self.criterion}']
        unit = criterion_unit(self.criterion)
        found = 'never' if value is None or math.isnan(value) else f'{value:.4g} {unit}'.rstrip()
        beyond = '' if math.isnan(self.margin) or math.isinf(self.margin) else (
            f', {abs(self.margin):.1%} {"beyond" if self.margin < 0 else "within"} the limit')
        return f'{self.criterion}: {found}{beyond}'


def worst_flights(columns: Columns, of_each: int = 3, at_most: int = 16) -> list[Worst]:
    """
    Return the worst flights of each controller, the worst first.

    First come those that crashed or failed, then as many with the smallest margins:
    see Columns.margins.
    """
    controllers, outcome = columns.labels('controller'), columns.labels('outcome')
    ranks = np.array([
        NOT_FLOWN.index(value) if value in NOT_FLOWN else len(NOT_FLOWN)
        for value in outcome.values], dtype=np.int64)[outcome.codes]
    # NaN comes last. Of equals, those of the plan's order.
    order = np.lexsort((columns.margins(), ranks))
    lost = ranks[order] < len(NOT_FLOWN)
    chosen = [
        place for flown in (lost, ~lost) for code in range(len(controllers.values))
        for place in np.flatnonzero(flown & (controllers.codes[order] == code))[:of_each]]
    chosen = order[sorted(chosen)[:at_most]].tolist()
    return [_worst(row, columns.folder) for row in columns.rows(chosen)]


def left_by(row: Row, folder: Path) -> Path:
    """Return where a flight of a campaign's folder has left its files, if it has."""
    return folder / FLIGHTS / folder_name({'key': '', **row})


def _worst(row: Row, folder: Path) -> Worst:
    criterion, margin = _smallest(row)
    own = left_by(row, folder)
    return Worst(row, criterion, margin, tuple(
        path for pattern in _RECORDINGS for path in sorted(own.glob(pattern))))


def _smallest(row: Mapping[str, Any]) -> tuple[str, float]:
    """Return the criterion of a row with the smallest margin, and that margin."""
    found: list[tuple[float, str]] = []
    for name, passed in row.items():
        if name.startswith(JUDGED) and passed is not None:
            criterion = name.removeprefix(JUDGED)
            value = row[f'{VALUE}{criterion}']
            margin = math.nan if value is None else float(
                CriterionLimits.of(criterion).margin(np.array([value]))[0])
            if not passed and math.isnan(margin):
                margin = -math.inf
            if not math.isnan(margin):
                found.append((margin, criterion))
    margin, criterion = min(found, default=(math.nan, ''))
    return criterion, margin
