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

"""The report of a campaign: one page of HTML with its pictures, from its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
import math
from pathlib import Path
from typing import NamedTuple

from xplane_bridge.common import plain_files, plain_yaml
from xplane_bridge.common.drawing import FORMATS
from xplane_bridge.common.html_page import code, heading, page, paragraph, picture, table
from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.campaigns.report import paper, pictures
from xplane_bridge.laboratory.campaigns.report.options import PLAIN, ReportOptions
from xplane_bridge.laboratory.campaigns.report.outcomes import (
    FlightGroup,
    groups,
    INPUTS,
    Rate,
    varying,
)
from xplane_bridge.laboratory.campaigns.report.paper import ResultLine
from xplane_bridge.laboratory.campaigns.report.pictures import Sheet
from xplane_bridge.laboratory.campaigns.report.sensitivity import (
    over_which,
    sensitivities,
    Sensitivity,
)
from xplane_bridge.laboratory.campaigns.report.statistics import Interval
from xplane_bridge.laboratory.campaigns.report.worst import left_by, Worst, worst_flights
from xplane_bridge.laboratory.campaigns.table.columns import Columns
from xplane_bridge.laboratory.campaigns.table.folder import PLAN
from xplane_bridge.laboratory.campaigns.table.look import keep, kept, Look
from xplane_bridge.laboratory.campaigns.table.rows import OUTCOMES

FILE = 'report.html'
# The picture that every report has: its formats are those of the report.
_PASS_RATE = 'pass_rate'

Draw = Callable[[Worst, Path], None]
"""Draws a flight to a PNG file; ValueError or OSError with the reason if that is not possible."""


def write(folder: Path, draw: Draw | None = None, options: ReportOptions = PLAIN) -> Path:
    """
    Write report.html and its pictures into a campaign's folder; return the page's path.

    ``draw`` draws those of the worst flights that left no picture themselves. The page has its
    pictures as PNG; in the format of ``options``, and in those of the report before, they lie
    beside it too. The folder keeps labels and width. Raises ValueError, with a sentence, if there
    is no table in it, and ImportError for a missing package.
    """
    columns = Columns(folder, options.labels, options.controllers)
    if not columns.flights:
        raise ValueError(f'{folder}: its table has no flights')
    found = groups(columns)
    look = Look(columns.given_labels, options.width or kept(folder).width)
    to = _Pictures(
        folder, [each for each in FORMATS if each in ('png', options.form)
                 or (folder / f'{_PASS_RATE}.{each}').exists()], look.width)
    parts = [
        *_summary(columns, found),
        *_rates(columns, found, to),
        heading('Distributions'),
        *_distributions(columns, found, to),
        *_parameters(columns, to),
        *_worst(columns, folder, draw),
        *_plan(folder),
    ]
    path = folder / FILE
    plain_files.write(path, page(f'Campaign {folder.resolve().name}', parts))
    keep(folder, look)
    return path


class _Pictures(NamedTuple):
    """Where the pictures of a report go, and as what: PNG first, so many inches wide."""

    folder: Path
    forms: Sequence[str]
    width: float

    def drawn(self, name: str, what: str, draw: Callable[[Sheet], object]) -> str:
        """Return a picture for the page, or why there is none: the report does without."""
        self.clear(name)
        files = [self.folder / f'{name}.{form}' for form in self.forms]
        try:
            draw(Sheet(files, self.width))
        except Exception as error:
            # Whatever matplotlib, or what it draws, objects to.
            reason = str(error) if isinstance(error, ImportError | OSError) else repr(error)
            return paragraph(f'There is no picture: {reason}', 'note')
        return picture(files[0], what, self.width) if files[0].exists() else ''

    def clear(self, name: str) -> None:
        """Remove what an earlier report drew."""
        for form in FORMATS:
            (self.folder / f'{name}.{form}').unlink(missing_ok=True)


def _summary(columns: Columns, found: Sequence[FlightGroup]) -> list[str]:
    names = varying(found)
    versions = ' and '.join(
        f'{what} {", ".join(str(value) for value in columns.labels(name).values)}'
        for what, name in (('xplane_bridge', 'version'), ('JSBSim', 'jsbsim'))
        if name in columns.names)
    alike = ', '.join(f'{name} {found[0].inputs[name] or "default"}' for name in INPUTS
                      if name not in names)
    seeds = len(columns.labels('seed').values)
    flown = columns.labels('controller').values
    omitted = [name for name in columns.controllers() if name not in flown]
    outcomes = [name for name in OUTCOMES if any(name in group.outcomes for group in found)]
    return [
        paragraph(
            f'{counted(columns.flights, "flight")} with {counted(seeds, "seed")}'
            + (f'; {alike}' if alike else '') + f'. Flown with {versions}.'
            + (f' Not in this report: {", ".join(omitted)}.' if omitted else ''), 'note'),
        *([paragraph(f'{columns.lost}. They are part of no figure here.', 'bad')]
          if columns.lost.flights else []),
        table([*names, 'flights', *outcomes, 'pass rate, %', '95% interval, %'], [
            [*(str(group.inputs[name] or 'default') for name in names),
             str(group.together.flights),
             *(str(group.outcomes.get(name, 0)) for name in outcomes),
             *_share(group.together)]
            for group in found])]


def _rates(columns: Columns, found: Sequence[FlightGroup], to: _Pictures) -> list[str]:
    names = varying(found)
    lines = [
        ResultLine(tuple(str(group.inputs[name] or 'default') for name in names),
                   columns.titled(criterion), rate)
        for group in found
        for criterion, rate in {pictures.TOGETHER: group.together, **group.criteria}.items()]
    paper.write(to.folder, names, lines)
    return [
        heading('Pass rates'),
        to.drawn(_PASS_RATE, 'Pass rate of each criterion with its interval',
                 lambda sheet: pictures.draw_pass_rates(columns, found, sheet)),
        table([*names, 'criterion', 'passed', 'of', 'pass rate, %', '95% interval, %'], [
            [*line.group, line.criterion, str(line.rate.passed), str(line.rate.flights),
             *_share(line.rate)] for line in lines]),
        paragraph('Intervals are Wilson score intervals. A flight that failed has met no '
                  'criterion, one that crashed only what was over by then.', 'note')]


def _distributions(columns: Columns, found: Sequence[FlightGroup], to: _Pictures) -> list[str]:
    notes = []
    drawn = to.drawn(
        'distributions', 'Histograms of the value of each criterion',
        lambda sheet: notes.append(pictures.draw_distributions(columns, found, sheet)))
    if drawn.endswith('</p>') and 'src=' in drawn:
        notes.append('The outermost bars also count what is further out.')
    return [drawn, *(paragraph(text, 'note') for text in notes if text)]


def _parameters(columns: Columns, to: _Pictures) -> list[str]:
    """Return the map over two parameters, and how sensitive flights are to each."""
    for name in ('sensitivity', 'map'):
        to.clear(name)
    if not columns.parameters:
        return [heading('Parameters'), paragraph(
            'The plan varies no parameter, only seeds and what flies.', 'note')]
    found = sensitivities(columns)
    known = [each for each in found if not math.isnan(each.overall.value)]
    strongest = list(dict.fromkeys([*(each.parameter for each in found), *columns.parameters]))
    parts = [heading('Passed and missed over parameters')]
    if len(strongest) > 1:
        across, up = over_which(columns, strongest)
        parts.append(to.drawn(
            'map', f'Passes over {across} and {up}',
            lambda sheet: pictures.draw_map(columns, across, up, sheet)))
    else:
        parts.append(paragraph(
            f'The plan varies {strongest[0]} only; over two parameters there is a map.', 'note'))
    parts.append(heading('Sensitivity'))
    if not known:
        return [*parts, paragraph('No parameter that is a number varies with the margins.',
                                  'note')]
    return [
        *parts, to.drawn(
            'sensitivity', 'Rank correlation of each parameter with the smallest margin',
            lambda sheet: pictures.draw_sensitivity(columns, known, sheet)),
        _correlations(columns, known),
        paragraph(
            'Spearman rank correlation of a parameter with the smallest margin of a flight, and '
            'with that of each criterion, -1 to 1. A margin is the distance to the limit, as a '
            'part of it. Where an interval includes 0, no influence can be told. Inputs that are '
            'words are not ranked.', 'note')]


def _correlations(columns: Columns, found: Sequence[Sensitivity]) -> str:
    return table(
        ['parameter', 'controller', 'smallest margin', '95% interval',
         *map(columns.titled, columns.criteria)],
        [[each.parameter, each.controller, _number(each.overall.value, '+.2f'),
          _interval(each.overall, '{:+.2f}'),
          *(_number(each.criteria[criterion].value, '+.2f') for criterion in columns.criteria)]
         for each in found])


def _worst(columns: Columns, folder: Path, draw: Draw | None) -> list[str]:
    called = {own: name for name, own in columns.controllers().items()}
    parts = [heading('Worst flights')]
    for each in worst_flights(columns):
        row = each.row
        parts += [
            heading(f'Flight {row["flight"]}: {row["outcome"]}', 3),
            paragraph(each.reason, 'passed' if row['outcome'] == 'passed' else 'bad'),
            paragraph(', '.join(
                [str(called[row[name]] if name == 'controller' else row[name])
                 for name in INPUTS if row[name]]
                + [f'{name} {value:.6g}' if isinstance(value, float) else f'{name} {value}'
                   for name, value in each.inputs.items()])),
            code(str(row['command'])) if row.get('command') else '',
            *_find_picture(each, folder, draw)]
        if each.files:
            parts.append(paragraph('It left ' + ', '.join(
                path.relative_to(folder).as_posix() for path in each.files) + '.', 'note'))
    return parts


def _find_picture(each: Worst, folder: Path, draw: Draw | None) -> list[str]:
    """Return the picture of a flight: the one that it left, or a new one."""
    own = left_by(each.row, folder)
    file = next(iter(sorted(own.glob('*.png'))), own / 'flight.png')
    if not file.exists():
        if draw is None:
            return []
        try:
            plain_files.make_folder(own, within=folder)
            draw(each, file)
        except (ValueError, OSError) as error:
            with suppress(OSError):
                own.rmdir()
            return [paragraph(f'It has no picture: {error}', 'note')]
    return [picture(file, f'Flight {each.row["flight"]}: path, responses and controls')]


def _plan(folder: Path) -> list[str]:
    file = folder / PLAN
    if not file.is_file():
        return []
    try:
        text = plain_files.read(file, plain_yaml.MAX_SIZE).decode(errors='replace')
    except (OSError, ValueError) as error:
        return [heading('Plan'), paragraph(str(error), 'note')]
    return [heading('Plan'), code(text)]


def _share(rate: Rate) -> tuple[str, str]:
    interval = rate.interval
    share = Interval(*(100.0 * number for number in interval))
    return _number(share.value, '.1f'), _interval(share, '{:.1f}')


def _interval(interval: Interval, form: str) -> str:
    if math.isnan(interval.low):
        return ''
    return f'{form.format(interval.low)} to {form.format(interval.high)}'


def _number(value: float, form: str) -> str:
    return '' if math.isnan(value) else format(value, form)
