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
Many flights of one aircraft, each identified by itself, and what they say together.

The mean of each derivative is weighted by the flights' own bounds. If they differ by more than
these say, its bound is larger by that (Birge's ratio). If they differ by less, the rest is the
same in all of them, and no mean makes it smaller. Beside it is how far single flights are
apart and, where the aircraft is JSBSim's, in how many of them two sigma contain its own value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xplane_bridge.common.machine import is_at_fault, LOST
from xplane_bridge.common.text import aligned, counted
from xplane_bridge.laboratory.flights.recordings import parquet_file
from xplane_bridge.laboratory.identification.estimation.output_error import Estimate
from xplane_bridge.laboratory.identification.identify import identify
from xplane_bridge.laboratory.identification.motion.airframe import Airframe
from xplane_bridge.laboratory.identification.motion.signals import Array
from xplane_bridge.laboratory.identification.reading.topics import read_recording
from xplane_bridge.laboratory.identification.truth import flown_as, reached

Row = dict[str, Any]

IDENTIFIED, REFUSED = 'identified', 'refused'
"""What may become of a flight, beside what becomes of a process that hangs or dies."""

MOST = 10_000
"""Recordings at a time."""

# So many reasons of flights that were refused are shown.
_REASONS = 3


@dataclass(frozen=True, slots=True)
class IdentificationJob:
    """A recording to identify; ``time_limit`` in s of the wall's time."""

    number: int
    path: str
    model: str = ''
    aircraft_path: str = ''
    airframe: Airframe | None = None
    namespace: str | None = None
    step: float | None = None
    time_limit: float = 600.0

    def row(self, outcome: str, reason: str = '', **more: Any) -> Row:
        """Return the recording's row: what became of it, and its derivatives."""
        return {'number': self.number, 'outcome': outcome, 'reason': reason,
                'derivatives': {}} | more


class Pooled(NamedTuple):
    """
    A derivative by several flights: their mean, and how far they are apart (standard deviation).

    ``flights`` is in how many it could be identified, ``inside`` in which part of these two sigma
    contain JSBSim's value ``known``; both are NaN where there is none.
    """

    unit: str
    mean: Estimate
    spread: float
    flights: int
    known: float
    inside: float


def recordings(folder: Path) -> list[Path]:
    """Return the recordings below a folder, such as a campaign's. Raises ValueError."""
    found = sorted(
        path for path in folder.rglob('*') if path.is_file() and (
            path.suffix == '.mcap'
            or path.suffix == '.parquet' and parquet_file.is_recording(path)))
    if not found:
        raise ValueError(f'{folder}: expected recordings in it, .mcap or .parquet, such as those '
                         'of a campaign with "record"; there are none')
    if len(found) > MOST:
        raise ValueError(f'{folder}: {len(found)} recordings, expected at most {MOST}')
    return found


def identified(job: IdentificationJob) -> Row:
    """Return the row of a recording, whatever becomes of it."""
    try:
        flight, step = read_recording(Path(job.path), job.namespace)
        model = job.model or flight.model
        known = flown_as(model, flight, job.aircraft_path) if model else None
        airframe = job.airframe or (known.airframe if known is not None else None)
        if airframe is None:
            raise ValueError(f'{job.path}: of which aircraft? Expected --model or --airframe')
        found = identify([flight], airframe, step if job.step is None else job.step)
        truth = known.truth(reached(found), found.surfaces).slopes if known is not None else {}
    except (ImportError, OSError, ValueError) as error:
        return job.row(LOST if is_at_fault(error) else REFUSED, str(error))
    derivatives = {}
    for form in found.forms.values():
        for derivative, one in form.fit.derivatives.items():
            if form.is_identifiable(derivative):
                slope = truth.get(derivative)
                derivatives[str(derivative)] = (form.unit_of(derivative), [
                    one.value, one.deviation, *(
                        (slope.value, slope.away(one.value)) if slope is not None
                        else (math.nan, math.nan))])
    return job.row(IDENTIFIED, flight.cut, derivatives=derivatives)


def pooled(rows: Sequence[Row]) -> dict[str, Pooled]:
    """Return what the flights say together, by the derivatives' names."""
    units: dict[str, str] = {}
    cases: dict[str, list[Sequence[float]]] = defaultdict(list)
    for row in sorted(rows, key=lambda one: int(one['number'])):
        for name, (unit, case) in row['derivatives'].items():
            units[name] = unit
            cases[name].append(case)
    return {name: _pooled(units[name], np.array(each)) for name, each in cases.items()}


def _pooled(unit: str, cases: Array) -> Pooled:
    values, deviations, known, away = cases.T
    weights = deviations ** -2.0
    mean = float(weights @ values / weights.sum())
    several = len(values) > 1
    misfit = float(weights @ (values - mean) ** 2) / max(len(values) - 1, 1)
    # Of the variance of single flights the part by which they differ averages out.
    differs, own = min(misfit, 1.0), 1.0 / float(weights.sum())
    variance = own * (len(values) * (1.0 - differs) + max(misfit, differs))
    inside = float(np.mean(np.abs(away) <= 2.0 * deviations)) if np.isfinite(
        away).all() else math.nan
    return Pooled(
        unit, Estimate(mean, math.sqrt(variance)),
        float(values.std(ddof=1)) if several else math.nan, len(values), float(known.mean()),
        inside)


def lines(rows: Sequence[Row], found: Mapping[str, Pooled]) -> Iterator[str]:
    """Yield the report of many flights, a line each."""
    done = [row for row in rows if row['outcome'] == IDENTIFIED]
    known = any(math.isfinite(one.known) for one in found.values())
    head = ('derivative', 'mean', '2 sigma', 'single flights', 'unit', 'flights',
            *(('JSBSim', 'in 2 sigma') if known else ()))
    table = [head, *((
        name, f'{one.mean.value:.4g}', f'{2.0 * one.mean.deviation:.2g}',
        '' if math.isnan(one.spread) else f'+- {2.0 * one.spread:.2g}', one.unit,
        f'{one.flights}', *((
            f'{one.known:.4g}' if math.isfinite(one.known) else '',
            f'{100.0 * one.inside:.0f} %' if math.isfinite(one.inside) else '')
            if known else ())) for name, one in found.items())]
    yield f'{counted(len(done), "flight")} of {len(rows)} identified, each by itself'
    yield from (f'  {line}'.rstrip() for line in aligned(table, left=(0, 4)))
    inside = [(one.inside, one.flights) for one in found.values() if math.isfinite(one.inside)]
    if inside:
        count = sum(flights for _, flights in inside)
        share = sum(part * flights for part, flights in inside) / count
        yield f'  two sigma contain the value of JSBSim in {100.0 * share:.1f} % of {count} cases'
    for row in [row for row in done if row['reason']][:_REASONS]:
        yield f'only in part: {row["reason"]}'
    for row in rows:
        if row['outcome'] == LOST:
            yield f'lost, which is no result: {row["reason"]}'
    refused = [row for row in rows if row['outcome'] not in (IDENTIFIED, LOST)]
    for row in refused[:_REASONS]:
        yield f'not identified: {row["reason"] or row["outcome"]}'
    if len(refused) > _REASONS:
        yield f'not identified: {len(refused) - _REASONS} more'


def as_mapping(found: Mapping[str, Pooled], rows: Sequence[Row]) -> dict[str, Any]:
    """Return the same for a YAML file."""
    return {
        'flights': len(rows),
        'identified': sum(row['outcome'] == IDENTIFIED for row in rows),
        'lost': sum(row['outcome'] == LOST for row in rows),
        'derivatives': {name: {
            'unit': one.unit, 'estimate': one.mean.value, 'two_sigma': 2.0 * one.mean.deviation,
            'flights': one.flights,
            **({'single_flights': 2.0 * one.spread} if math.isfinite(one.spread) else {}),
            **({'jsbsim': one.known, 'inside': one.inside} if math.isfinite(one.inside) else {}),
        } for name, one in found.items()}}
