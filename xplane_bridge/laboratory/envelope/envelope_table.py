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
A studied envelope as a table, in the format of a file's name: JSON, CSV, Parquet or MAT.

Columns are those of envelope.py. CSV has the matrices as JSON, in the columns A, B, C and D; MAT
has structures where names have dots, and matrices with the number of the point as third index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import csv
from dataclasses import dataclass
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from xplane_bridge.common import optional, plain_files
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.machine import LOST
from xplane_bridge.laboratory.envelope.envelope import Row, TRIMMED
from xplane_bridge.simulation.aircraft.studies.linearize import OUTPUTS, STATES

MATRICES = ('A', 'B', 'C', 'D')

_TEXTS = ('outcome', 'reason')


@dataclass(frozen=True, slots=True)
class EnvelopeTable:
    """What was found of ``model`` over ``axes``: a row for each point, in their order."""

    model: str
    axes: Mapping[str, Sequence[float]]
    rows: Sequence[Row]

    @property
    def columns(self) -> list[str]:
        """Return the names of all columns: those of holes are those that all rows have."""
        found = dict.fromkeys(name for row in self.rows for name in row)
        return sorted(found, key=lambda name: name in MATRICES)

    @property
    def holes(self) -> list[Row]:
        """Return the rows of points that could not be trimmed."""
        return [row for row in self.rows if row['outcome'] not in (TRIMMED, LOST)]

    @property
    def lost(self) -> list[Row]:
        """Return the rows of points that this machine has kept from being studied."""
        return [row for row in self.rows if row['outcome'] == LOST]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the inputs of its linear models."""
        found = next((row['B'] for row in self.rows if 'B' in row), None)
        return FLOWN if found is None else FLOWN[:len(found[0])]

    def numbers(self, column: str) -> list[float]:
        """Return a column of numbers, NaN where a row has none."""
        return [float(row.get(column, math.nan)) for row in self.rows]


def where(row: Row, axes: Sequence[str]) -> str:
    """Return where a row's point is, such as airspeed 50, flaps 0.5."""
    return ', '.join(f'{name} {row[name]:g}' for name in axes)


def writer(path: str) -> Callable[[EnvelopeTable], None]:
    """
    Return what writes an envelope to a file; ValueError if its name has none of the FORMATS.

    Raises ImportError if what it needs is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f'{path}: expected a name that ends with one of {", ".join(FORMATS)}')
    if suffix == '.parquet':
        optional.require('Parquet', 'pyarrow', extra='export')
    elif suffix == '.mat':
        optional.require('MAT', 'scipy', extra='fly')

    def write(envelope: EnvelopeTable) -> None:
        plain_files.write(path, FORMATS[suffix](envelope))
    return write


def _json(envelope: EnvelopeTable) -> bytes:
    def listed(signals: Mapping[str, str]) -> str:
        return json.dumps([{'name': name, 'unit': unit} for name, unit in signals.items()])

    points = ',\n'.join(json.dumps({name: _plain(value) for name, value in row.items()})
                        for row in envelope.rows)
    return (f'{{"model": {json.dumps(envelope.model)},\n'
            f'"axes": {json.dumps({name: [*axis] for name, axis in envelope.axes.items()})},\n'
            f'"states": {listed(STATES)},\n'
            f'"inputs": {listed(dict.fromkeys(envelope.inputs, "ratio"))},\n'
            f'"outputs": {listed(OUTPUTS)},\n"points": [\n{points}\n]}}\n').encode()


def _plain(value: Any) -> Any:
    """Return a value as JSON can have it: null for what is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _csv(envelope: EnvelopeTable) -> bytes:
    text = io.StringIO()
    table = csv.DictWriter(text, envelope.columns, lineterminator='\n')
    table.writeheader()
    for row in envelope.rows:
        table.writerow({name: json.dumps(value) if name in MATRICES else value
                        for name, value in row.items()})
    return text.getvalue().encode()


def _parquet(envelope: EnvelopeTable) -> bytes:
    import pyarrow
    from pyarrow import parquet
    matrix = pyarrow.list_(pyarrow.list_(pyarrow.float64()))
    kinds = {'number': pyarrow.int64(), **dict.fromkeys(_TEXTS, pyarrow.string()),
             **dict.fromkeys(MATRICES, matrix)}
    schema = pyarrow.schema([
        (name, kinds.get(name, pyarrow.float64())) for name in envelope.columns])
    columns = {
        name: ([row.get(name) for row in envelope.rows] if name in kinds
               else envelope.numbers(name)) for name in envelope.columns}
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table(columns, schema=schema), stream)
    return stream.getvalue()


def _mat(envelope: EnvelopeTable) -> bytes:
    from scipy.io import savemat
    shapes = {'A': (len(STATES), len(STATES)), 'B': (len(STATES), len(envelope.inputs)),
              'C': (len(OUTPUTS), len(STATES)), 'D': (len(OUTPUTS), len(envelope.inputs))}
    content: dict[str, Any] = {
        'model': envelope.model,
        'axes': {name: np.array(axis, dtype=float) for name, axis in envelope.axes.items()},
        'states': _cells(STATES), 'inputs': _cells(envelope.inputs),
        'outputs': _cells(OUTPUTS),
        **{name: np.stack([
            np.array(row.get(name, np.full(shape, math.nan)), dtype=float)
            for row in envelope.rows], axis=-1) for name, shape in shapes.items()}}
    for name in envelope.columns:
        if name in MATRICES:
            continue
        *path, last = name.split('.')
        inside = content
        for part in path:
            inside = inside.setdefault(part, {})
        inside[last] = (_cells([row[name] for row in envelope.rows]) if name in _TEXTS
                        else np.array(envelope.numbers(name)))
    stream = io.BytesIO()
    savemat(stream, content, long_field_names=True, do_compression=True, oned_as='column')
    return stream.getvalue()


def _cells(texts: Any) -> Any:
    """Return texts as a column of MATLAB's cells."""
    return np.array([*texts], dtype=object)


FORMATS: Mapping[str, Callable[[EnvelopeTable], bytes]] = {
    '.json': _json, '.csv': _csv, '.parquet': _parquet, '.mat': _mat}
"""What files may be written, by how their names end."""
