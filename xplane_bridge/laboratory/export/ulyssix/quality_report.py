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

"""The data quality of a recording: a table for people, and JSON for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from xplane_bridge.bridges.ulyssix.session import (
    CONSTANT,
    ParameterQuality,
    Quality,
    Statistics,
    STUCK,
)
from xplane_bridge.common import plain_files
from xplane_bridge.common.text import counted, two_numbers
from xplane_bridge.laboratory.export.tables import TableColumn
from xplane_bridge.laboratory.export.ulyssix.blocks import RecordedParameter

_COUNTS = ('packets', 'lost', 'late', 'too_late', 'duplicates', 'restarts', 'missing_samples')
_FIELDS = ('samples', 'rate', 'expected_rate', 'gaps', 'late', 'invalid', 'out_of_limits',
           'unchanged')
_CONSTANTS = {CONSTANT: 'constant', STUCK: 'stuck'}
_HEADINGS = ('parameter', 'samples', 'rate', 'usual', 'gaps', 'late', 'invalid', 'limits',
             'minimum', 'maximum', '')
# Rows of the table; those with faults come first.
_MOST_ROWS = 40
_LONGEST_NAME = 32
# Longer without a packet at the end is worth a word (s).
_SILENT = 1.0


def as_json(
    quality: Quality, statistics: Statistics, about: Mapping[str, Any],
    channels: Sequence[RecordedParameter] = (), wanted: Callable[[str], bool] = bool,
) -> dict[str, Any]:
    """
    Return the quality as plain values, those of parameters in the units of their channels.

    ``wanted`` says of a name whether it is reported.
    """
    known = {one.column.name: one for one in channels}
    return {
        **about,
        'packets': {
            **{name: getattr(statistics, name) for name in _COUNTS},
            'malformed': statistics.malformed.total, 'time_jumps': quality.time_jumps,
            'longest_latency': _plain(quality.latency_max)},
        'parameters': _rows(quality.report(renew=False), known, wanted),
        'parameters_gone': _rows(quality.gone(), known, wanted),
    }


def _rows(
    found: ParameterQuality, known: Mapping[str, RecordedParameter], wanted: Callable[[str], bool],
) -> list[dict[str, Any]]:
    lines = found.lines()
    channels = [known.get(name, RecordedParameter(TableColumn(name))) for name in found.names]
    return [
        {'name': name, 'unit': channels[at].column.unit,
         **{field: _plain(getattr(found, field)[at]) for field in _FIELDS},
         **_extremes(channels[at], found.minimum[at], found.maximum[at]),
         'constant': _CONSTANTS.get(int(found.constant[at]), ''),
         'stopped': bool(found.stopped[at]), 'faults': lines.get(name, '')}
        for at, name in enumerate(found.names) if wanted(name)]


def _extremes(channel: RecordedParameter, *values: float) -> dict[str, float | None]:
    converted = sorted(value * channel.scale + channel.offset for value in values)
    return dict(zip(('minimum', 'maximum'), map(_plain, converted), strict=True))


def _plain(value: Any) -> int | float | None:
    if isinstance(value, (int, np.integer)):
        return int(value)
    return float(f'{value:.7g}') if math.isfinite(value) else None


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write the JSON. Raises OSError."""
    plain_files.write(path, json.dumps(content, indent=1, ensure_ascii=False) + '\n')


def table(content: Mapping[str, Any]) -> str:
    """Return the quality as text: packets, then a line for each parameter, the faulty first."""
    packets = content['packets']
    latency = packets['longest_latency']
    head = (
        f'{counted(packets["packets"], "packet")}, {packets["lost"]} lost, '
        f'{packets["late"]} late, {packets["too_late"]} too late, '
        f'{counted(packets["duplicates"], "duplicate")}, '
        f'{packets["malformed"]} malformed; {counted(packets["restarts"], "restart")}, '
        f'{counted(packets["time_jumps"], "time jump")}'
        + ('' if latency is None else f', latency up to {latency:.3f} s'))
    if content.get('pauses'):
        head += (f', {counted(content["pauses"], "pause")}, '
                 f'the longest {content["longest_pause"]:.1f} s')
    if content.get('silent_at_end', 0.0) > _SILENT:
        head += f'; nothing for the last {content["silent_at_end"]:.1f} s'
    rows = [*content['parameters'], *content['parameters_gone']]
    faulty = [row for row in rows if row['faults']]
    others = [row for row in rows if not row['faults']]
    shown = [*faulty, *others][:_MOST_ROWS]
    cells = [_HEADINGS, *map(_cells, shown)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [head, *(_line(row, widths) for row in cells)]
    if len(shown) < len(rows):
        lines.append(f'and {len(rows) - len(shown)} more without faults' if (
            len(faulty) <= len(shown)) else f'and {len(rows) - len(shown)} more')
    return '\n'.join(lines)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    unit = f' [{row["unit"]}]' if row['unit'] else ''
    name = row['name']
    if len(name) > _LONGEST_NAME:
        name = f'{name[:_LONGEST_NAME - 1]}…'
    remark = row['constant'] or ('stopped' if row['stopped'] else '')
    return (
        name + unit, str(row['samples']), _number(row['rate']),
        _number(row['expected_rate'] or None),
        *(str(row[field]) for field in ('gaps', 'late', 'invalid', 'out_of_limits')),
        *_extent(row['minimum'], row['maximum']), remark)


def _extent(least: float | None, most: float | None) -> tuple[str, str]:
    return ('-', '-') if least is None or most is None else two_numbers(least, most)


def _number(value: float | None) -> str:
    return '-' if value is None else f'{value:.4g}'


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers, remark = row
    return '  '.join((
        name.ljust(widths[0]),
        *(text.rjust(width) for text, width in zip(numbers, widths[1:], strict=False)),
        remark)).rstrip()
