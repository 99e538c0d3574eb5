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

"""Plots of a campaign: pass rates, distributions, passes over two parameters, sensitivity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import math
from pathlib import Path
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common import drawing
from xplane_bridge.common.drawing import GREY, LIMIT, MISSED, PASSED
from xplane_bridge.laboratory.campaigns.plan.parameters import parameter_unit
from xplane_bridge.laboratory.campaigns.plan.task import PARAMETER
from xplane_bridge.laboratory.campaigns.report.outcomes import FlightGroup, Rate, varying
from xplane_bridge.laboratory.campaigns.report.sensitivity import Sensitivity
from xplane_bridge.laboratory.campaigns.report.statistics import wilson
from xplane_bridge.laboratory.campaigns.table.columns import Array, Columns
from xplane_bridge.laboratory.campaigns.table.criteria import criterion_unit, CriterionLimits
from xplane_bridge.laboratory.campaigns.table.rows import VALUE


class Sheet(NamedTuple):
    """Where one picture goes: a file for each format, PNG first; its width in inches, or 0."""

    files: Sequence[Path]
    width: float = 0.0

    @property
    def narrow(self) -> bool:
        """Return whether it is a column of a paper."""
        return drawing.in_column(self.width)

    def wrapped(self, text: str, characters: int) -> str:
        """Return text in lines of so many characters, in a narrower picture of fewer."""
        share = min((self.width or _WIDTH) / _WIDTH, 1.0)
        most = max(int(characters * share), 12)
        lines = ['']
        # What is equal stays together; a name may go on below behind its underscores.
        for part in re.findall(
                rf'\S{{1,{most}}}?(?:[_:/]*\s+|[_:/]+|\Z)|\S{{{most}}}',
                text.replace(' = ', '\0=\0')):
            if lines[-1] and len(f'{lines[-1]}{part}'.rstrip()) > most:
                lines.append('')
            lines[-1] += part
        return '\n'.join(map(str.rstrip, lines)).replace('\0', ' ')

    @property
    def title_size(self) -> float:
        """Return the size of a panel's title, in points."""
        return 9.0 if self.narrow else 11.0

    def legend_room(self, entries: int) -> float:
        """Return how much higher its legend makes a picture, in inches."""
        return 0.2 * entries if self.narrow else 0.0


# More groups than these cannot be told apart.
_MOST = 5
_WIDTH = 9.5
# More than this are drawn as shares in cells.
_POINTS = 2000
_PANELS = 12
# So many different values have a tick and, both of them, a cell each.
_FEW = 12
# Values that differ by less, as a part of them, are the same.
_ROUNDING = 1e-6
_FACETS = 4
# In so many cells their rates and intervals are written.
_WRITTEN = 30
TOGETHER = 'all criteria'


def draw_pass_rates(columns: Columns, found: Sequence[FlightGroup], sheet: Sheet) -> None:
    """Plot the pass rate of each criterion, with its Wilson interval."""
    names = varying(found)
    by_scenario: dict[str, list[FlightGroup]] = {}
    for group in found:
        by_scenario.setdefault(str(group.inputs['scenario']), []).append(group)
    if len(found) / len(by_scenario) > _MOST:
        # One line for each group, of all criteria together only.
        lines = [{'': {group.label(names): group.together for group in found}}]
        titles = [f'{TOGETHER}, {_count(group.together.flights for group in found)}']
    else:
        within = tuple(name for name in names if name != 'scenario') or ('controller',)
        lines = [
            {group.label(within): {TOGETHER: group.together, **group.criteria} for group in own}
            for own in by_scenario.values()]
        titles = [
            ', '.join((scenario, *(panel if len(panel) == 1 else ()), _count(
                group.together.flights for group in own) + ' each' * (len(own) > 1)))
            for (scenario, own), panel in zip(by_scenario.items(), lines, strict=True)]
    rows = [{name: sheet.wrapped(columns.titled(name), 52) for rates in panel.values()
             for name in rates} for panel in lines]
    series = max(len(panel) for panel in lines)
    # They stand at equal distances.
    heights = [max(len(panel) * max(
        0.24 + 0.2 * series, *(0.15 * (text.count('\n') + 2) for text in panel.values())), 0.8)
        for panel in rows]
    figure, axes = _subplots(
        sheet, len(lines), 1, 0.7 * len(lines) + 0.4 + sum(heights) + sheet.legend_room(series),
        heights)
    for axis, panel, ticks, title in zip(axes, lines, rows, titles, strict=True):
        _draw_rates(axis, panel, _colours(columns, panel), ticks)
        # In a column it ends where the panel does: to the left of that there is more room.
        axis.set_title(sheet.wrapped(title, 84 if sheet.narrow else 90), fontweight='bold',
                       loc='right' if sheet.narrow else 'left', fontsize=sheet.title_size)
    axes[-1].set_xlabel(sheet.wrapped('flights that passed, with the 95% interval', 80))
    if series > 1:
        _legend(figure, axes[0], sheet)
    drawing.save(figure, sheet.files)


def _draw_rates(
    axes: Any, panel: Mapping[str, Mapping[str, Rate]], colours: Mapping[str, str],
    ticks: Mapping[str, str],
) -> None:
    """Draw the rates of each group; ``ticks`` are what the criteria are called, in their order."""
    criteria = list(ticks)
    for index, (label, rates) in enumerate(panel.items()):
        offset = 0.26 * (index - (len(panel) - 1) / 2)
        own = [name for name in criteria if name in rates]
        intervals = [rates[name].interval for name in own]
        at = np.array([criteria.index(name) + offset for name in own])
        values = np.array([interval.value for interval in intervals]) * 100.0
        colour = colours[label]
        axes.errorbar(
            values, at, fmt='o', color=colour, markersize=6, elinewidth=3, alpha=0.95,
            label=label or None, xerr=np.abs([
                values - [100.0 * interval.low for interval in intervals],
                [100.0 * interval.high for interval in intervals] - values]))
        for height, value in zip(at, values, strict=True):
            axes.annotate(
                f'{value:.1f}%', (1.0, height), xycoords=('axes fraction', 'data'),
                xytext=(8, 0), textcoords='offset points', va='center', color=colour, fontsize=9)
    axes.set(xlim=(-2.0, 102.0), ylim=(len(criteria) - 0.5, -0.5))
    axes.set_yticks(range(len(criteria)), list(ticks.values()), fontsize=9)
    if criteria[0] == TOGETHER:
        axes.get_yticklabels()[0].set_fontweight('bold')
        axes.axhline(0.5, color=GREY, linewidth=0.8)
    axes.xaxis.set_major_formatter('{x:g}%')
    axes.grid(axis='x', alpha=0.3)


def draw_distributions(columns: Columns, found: Sequence[FlightGroup], sheet: Sheet) -> str:
    """
    Plot how the value of each criterion is distributed; return what is not drawn, or nothing.

    Without a value in any flight there is no picture.
    """
    names = tuple(name for name in varying(found) if name != 'scenario') or ('controller',)
    series = _merged(found, names)
    drawn = [criterion for criterion in columns.criteria
             if np.isfinite(columns.numbers(f'{VALUE}{criterion}')).any()]
    if not drawn:
        return 'No flight had a value of a criterion.'
    shown = drawn[:_PANELS]
    across = 1 if sheet.narrow else min(len(shown), 2)
    lines = math.ceil(len(shown) / across)
    figure, axes = _subplots(
        sheet, lines, across, 2.5 * lines + 0.6 + sheet.legend_room(len(series) + 1))
    if len(shown) < lines * across:
        # The last one has the whole line: no panel is empty.
        axes[-1].remove()
        axes[-2].set_subplotspec(axes[-2].get_gridspec()[-1, :])
    colours = _colours(columns, series)
    for axis, criterion in zip(axes, shown, strict=False):
        _draw_distribution(
            axis, criterion, columns.numbers(f'{VALUE}{criterion}'), series, colours)
        axis.set_title(sheet.wrapped(columns.titled(criterion), 96 // across), fontsize=9)
    for axis in axes[0:len(shown):across]:
        axis.set_ylabel('flights')
    _legend(figure, axes[0], sheet)
    drawing.save(figure, sheet.files)
    return '' if shown == drawn else f'{len(drawn) - len(shown)} further criteria are not drawn.'


def _draw_distribution(
    axes: Any, criterion: str, values: Array, series: Mapping[str, NDArray[np.int64]],
    colours: Mapping[str, str],
) -> None:
    values = _without_rounding(values)
    different = np.unique(values[np.isfinite(values)])
    limits = CriterionLimits.of(criterion).known
    draw = (_draw_only_value if len(different) == 1 else
            _draw_bars if _are_few(different) else _draw_histograms)
    draw(axes, {f'{label}, {_count([len(rows)])}': (
        values[rows][np.isfinite(values[rows])], colours[label])
        for label, rows in series.items()}, different, limits)
    for index, limit in enumerate(limits):
        axes.axvline(limit, color=LIMIT, linestyle='--', label='' if index else 'limit')
    axes.yaxis.get_major_locator().set_params(integer=True)
    if len(different) > 1:
        axes.xaxis.get_major_locator().set_params(nbins=6)
    axes.set_xlabel(_with_unit('value', criterion_unit(criterion)), fontsize=9)
    axes.grid(alpha=0.3)


def _are_few(different: Array) -> bool:
    """Return whether values, in order, are so few and so far apart that each may have a bar."""
    return len(different) <= _FEW and bool(
        _least_gap(different) > np.ptp(different) / (2 * _FEW))


def _least_gap(different: Array) -> float:
    return float(np.min(np.diff(different)))


def _without_rounding(values: Array) -> Array:
    """Return values that differ by rounding only as one and the same."""
    known = values[np.isfinite(values)]
    middle = float(np.median(known))
    if np.ptp(known) > _ROUNDING * abs(middle):
        return values
    return np.where(np.isfinite(values), middle, values)


def _draw_only_value(
    axes: Any, series: Mapping[str, tuple[Array, str]], different: Array, limits: Sequence[float]
) -> None:
    """Draw a thin bar where all values are, and name that place and the limits."""
    value = float(different[0])
    places = sorted({value, *limits})
    reach = places[-1] - places[0] or abs(value) or 1.0
    thick = 0.06 * reach / len(series)
    for index, (label, (own, colour)) in enumerate(series.items()):
        axes.bar(value + thick * (index - (len(series) - 1) / 2), len(own), thick, color=colour,
                 alpha=0.8, label=label)
    axes.set_xlim(places[0] - 0.25 * reach, places[-1] + 0.25 * reach)
    axes.set_xticks(places, [f'{place:.6g}' for place in places])


def _draw_bars(
    axes: Any, series: Mapping[str, tuple[Array, str]], different: Array, limits: Sequence[float]
) -> None:
    """Draw a bar for each value, those of the series beside one another."""
    gap = _least_gap(different)
    thick = 0.8 * gap / len(series)
    for index, (label, (own, colour)) in enumerate(series.items()):
        axes.bar(different + thick * (index - (len(series) - 1) / 2),
                 [np.sum(own == value) for value in different], thick, color=colour, alpha=0.8,
                 label=label)
    low, high = float(different[0]), float(different[-1])
    reach = [limit for limit in limits if low - 4 * gap <= limit <= high + 4 * gap]
    axes.set_xlim(min(low - gap, *reach, low), max(high + gap, *reach, high))


def _draw_histograms(
    axes: Any, series: Mapping[str, tuple[Array, str]], different: Array, limits: Sequence[float]
) -> None:
    finite = np.concatenate([own for own, _ in series.values()])
    # A few far outliers would make all else one bar.
    low, high = (float(end) for end in np.quantile(finite, (0.005, 0.995)))
    reach = [limit for limit in limits if low - 2 * (high - low) <= limit <= high + 2 * (
        high - low)]
    low, high = min(low, *reach, low), max(high, *reach, high)
    room = 0.03 * (high - low)
    bars = int(np.clip(2.0 * math.sqrt(len(finite) / len(series)), 8, 36))
    edges = np.linspace(low - room, high + room, bars + 1)
    for label, (own, colour) in series.items():
        inside = np.clip(own, edges[0], edges[-1])
        axes.hist(inside, edges, histtype='stepfilled', color=colour, alpha=0.25)
        axes.hist(inside, edges, histtype='step', color=colour, linewidth=1.4, label=label)


def draw_map(columns: Columns, across: str, up: str, sheet: Sheet) -> None:
    """Plot which flights passed over two parameters, for each controller."""
    controllers = columns.labels('controller')
    passed = columns.has_passed()
    x, x_ticks = _scale(columns, across)
    y, y_ticks = _scale(columns, up)
    facets = list(enumerate(controllers.values))[:_FACETS]
    height = 3.0 if sheet.narrow else 4.6 if len(facets) < 3 else 3.6
    lines, wide = (len(facets), 1) if sheet.narrow else (1, len(facets))
    figure, axes = _subplots(sheet, lines, wide, height * lines, shared=True)
    known = ~(np.isnan(x) | np.isnan(y))
    in_cells = len(x) > _POINTS or (
        len(np.unique(x)) <= _FEW and len(np.unique(y)) <= _FEW)
    image = None
    for axis, (code, controller) in zip(axes, facets, strict=True):
        own = (controllers.codes == code) & known
        if in_cells:
            image = _draw_cells(axis, x, y, passed, own)
        else:
            _draw_points(axis, x[own], y[own], passed[own])
        share = f'{passed[own].mean():.1%} passed, ' if own.any() else ''
        axis.set_title(
            sheet.wrapped(f'{controller}: {share}{_count([int(own.sum())])}', max(40, 80 // wide)),
            fontsize=10)
        axis.set_xlabel(_with_unit(across, parameter_unit(across)))
        for ticks, put in ((x_ticks, axis.set_xticks), (y_ticks, axis.set_yticks)):
            if ticks:
                put(*ticks)
    for axis in axes[::wide]:
        axis.set_ylabel(_with_unit(up, parameter_unit(up)))
    if image is not None:
        figure.colorbar(image, ax=list(axes), label='flights that passed', format='{x:.0%}',
                        shrink=0.85)
    else:
        _legend(figure, axes[0], sheet)
    drawing.save(figure, sheet.files)


def _draw_points(axes: Any, x: Array, y: Array, passed: NDArray[np.bool_]) -> None:
    axes.plot(x[passed], y[passed], 'o', color=PASSED, alpha=0.55, markersize=5,
              markeredgewidth=0, label='passed')
    axes.plot(x[~passed], y[~passed], 'x', color=MISSED, alpha=0.9, markersize=5, label='missed')
    axes.grid(alpha=0.3)


def _draw_cells(
    axes: Any, x: Array, y: Array, passed: NDArray[np.bool_], own: NDArray[np.bool_]
) -> Any:
    edges = (_edges(x), _edges(y))
    flown, *_ = np.histogram2d(x[own], y[own], edges)
    good, *_ = np.histogram2d(x[own & passed], y[own & passed], edges)
    share = np.divide(good, flown, out=np.full(flown.shape, math.nan), where=flown > 0)
    from matplotlib.colors import LinearSegmentedColormap
    if flown.size <= _WRITTEN:
        for (column, row), flights in np.ndenumerate(flown):
            if flights:
                rate = wilson(int(good[column, row]), int(flights))
                axes.text(
                    edges[0][column:column + 2].mean(), edges[1][row:row + 2].mean(),
                    f'{rate.value:.0%}\n{rate.low:.0%}..{rate.high:.0%}', ha='center',
                    va='center', fontsize=8)
    return axes.pcolormesh(
        *edges, share.T, vmin=0.0, vmax=1.0, edgecolors='white', linewidth=0.5,
        cmap=LinearSegmentedColormap.from_list('share', (MISSED, '#f7f7f7', PASSED)))


def _edges(values: Array) -> Array:
    """Return the edges of cells: one each for few different values, otherwise 16."""
    different = np.unique(values[~np.isnan(values)])
    if len(different) > 16:
        return np.linspace(different[0], different[-1], 17)
    if len(different) < 2:
        middle = float(different[0]) if len(different) else 0.0
        return np.array([middle - 0.5, middle + 0.5])
    between = (different[1:] + different[:-1]) / 2.0
    return np.array([2.0 * different[0] - between[0], *between,
                     2.0 * different[-1] - between[-1]])


def _scale(columns: Columns, parameter: str) -> tuple[Array, tuple[Sequence[Any], ...]]:
    """Return a parameter as numbers, words by their number, and the ticks where it has few."""
    name = f'{PARAMETER}{parameter}'
    if columns.is_number(name):
        values = columns.numbers(name)
        different = np.unique(values[~np.isnan(values)]).tolist()
        return values, (different,) if len(different) <= _FEW else ()
    codes, words = columns.labels(name)
    return codes.astype(np.float64), (range(len(words)), [str(word) for word in words])


def draw_sensitivity(columns: Columns, found: Sequence[Sensitivity], sheet: Sheet) -> None:
    """Plot how strongly each parameter moves the smallest margin, ranked."""
    parameters = list({each.parameter: 0 for each in found})
    controllers = list({each.controller: 0 for each in found})[:_MOST]
    flown = columns.labels('controller')
    counts = dict(zip(map(str, flown.values), np.bincount(flown.codes).tolist(), strict=True))
    colours = _colours(columns, controllers)
    figure, (axes,) = _subplots(
        sheet, 1, 1, 1.5 + len(parameters) * (0.25 + 0.22 * len(controllers))
        + sheet.legend_room(len(controllers)))
    thick = 0.8 / len(controllers)
    for index, controller in enumerate(controllers):
        own = [each for each in found if each.controller == controller
               and not math.isnan(each.overall.value)]
        at = [parameters.index(each.parameter) + thick * (index - (len(controllers) - 1) / 2)
              for each in own]
        values = np.array([each.overall.value for each in own])
        low, high = (np.array([getattr(each.overall, end) for each in own])
                     for end in ('low', 'high'))
        axes.barh(at, values, thick * 0.9, color=colours[controller],
                  label=f'{controller}, {_count([counts[controller]])}',
                  xerr=np.abs([values - low, high - values]) if own else None,
                  error_kw={'ecolor': '#333333', 'elinewidth': 1.0, 'capsize': 2})
    axes.set_yticks(range(len(parameters)), parameters)
    axes.set(ylim=(len(parameters) - 0.5, -0.5), xlim=(-1.05, 1.05))
    axes.axvline(0.0, color='#333333', linewidth=0.8)
    axes.set_xlabel(
        sheet.wrapped('rank correlation with the smallest margin, with the 95% interval', 80)
        + ('\n← worse      better →' if sheet.narrow else
           '\n← more of it is worse          more of it is better →'))
    axes.grid(axis='x', alpha=0.3)
    _legend(figure, axes, sheet)
    drawing.save(figure, sheet.files)


def _colours(columns: Columns, called: Iterable[str]) -> dict[str, str]:
    """Return the colours of controllers by what they are called here; of other groups in turn."""
    called, own = list(called), columns.controllers()
    if not set(called) <= own.keys():
        return dict(zip(called, (drawing.AUTOPILOT, *drawing.OTHER_CONTROLLERS), strict=False))
    colours = drawing.controller_colours(own.values())
    return {name: colours[own[name]] for name in called}


def _count(flights: Iterable[int]) -> str:
    """Return how many flights there are: of several groups, each."""
    each = sorted(set(flights))
    return f'n = {each[0]}' if len(each) == 1 else f'n = {each[0]} to {each[-1]}'


def _with_unit(name: str, unit: str) -> str:
    return f'{name}, {unit}' if unit else name


def _merged(found: Sequence[FlightGroup], names: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return the rows of groups with the same label; of too many, of all together."""
    rows: dict[str, list[NDArray[np.int64]]] = {}
    for group in found:
        rows.setdefault(group.label(names), []).append(group.rows)
    if len(rows) > _MOST:
        rows = {'all flights': [group.rows for group in found]}
    return {label: np.concatenate(own) for label, own in rows.items()}


def _legend(figure: Any, axes: Any, sheet: Sheet) -> None:
    """Put the legend of axes above all of them: in one line, or below one another."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc='outside upper right', frameon=False,
                  ncols=1 if sheet.narrow else len(labels))


def _subplots(
    sheet: Sheet, rows: int, across: int, height: float, heights: Sequence[float] = (),
    shared: bool = False,
) -> tuple[Any, Any]:
    """Return a figure, ``height`` in inches, and its axes in one list."""
    pyplot = drawing.pyplot()
    figure, axes = pyplot.subplots(
        rows, across, squeeze=False, layout='constrained', sharey=shared,
        figsize=(sheet.width or _WIDTH, height), height_ratios=heights or None)
    for axis in axes.flat:
        axis.spines[['top', 'right']].set_visible(False)
    return figure, axes.reshape(-1)
