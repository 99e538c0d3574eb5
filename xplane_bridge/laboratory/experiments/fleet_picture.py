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

"""The picture of a fleet's flight: where all went, how near they came, who held his slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
import math
from typing import Any

from xplane_bridge.common import drawing
from xplane_bridge.common.drawing import (
    BLUE,
    CRASH,
    GREEN,
    GREY,
    LIMIT,
    ORANGE,
    PURPLE,
    TEAL,
)
from xplane_bridge.laboratory.flights.analysis.series import History, Series
from xplane_bridge.laboratory.flights.analysis.together import Tracks
from xplane_bridge.laboratory.flights.flight import Flight

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, TEAL)
# More names than these say nothing in a legend.
_MOST_NAMED = 10
_MOST_PAIRS = 6
_DEGREES = 180.0 / math.pi
_PANELS = (
    ('altitude', 1.0, 'altitude, m'), ('airspeed', 1.0, 'indicated airspeed, m/s'),
    ('roll', _DEGREES, 'roll, deg'))


def draw_fleet(flown: Flight, path: str, title: str) -> None:
    """
    Plot a fleet's flight to a file, as its name ends: PNG, PDF or SVG; each aircraft by its name.

    Raises ImportError if matplotlib is missing.
    """
    pyplot = drawing.pyplot()
    fleet = flown.order.scenario.fleet
    histories, tracks = flown.histories(), flown.tracks()
    colours = {name: _COLOURS[at % len(_COLOURS)] for at, name in enumerate(histories)}
    figure = pyplot.figure(figsize=(13, 10), layout='constrained')
    figure.suptitle(title, fontsize=13)
    left, right = figure.add_gridspec(1, 2)
    has_slots = bool(fleet.stations)
    below = left.subgridspec(2 + has_slots, 1, height_ratios=[2.0, 1.0, 1.0][:2 + has_slots])
    _draw_paths(figure.add_subplot(below[0]), tracks, colours, flown)
    if len(histories) > 1:
        _draw_separation(
            figure.add_subplot(below[1]), tracks, tuple(histories), fleet.midair.radius)
    if has_slots:
        errors = {name: tracks.formation_error(name) for name in fleet.stations}
        _draw_lines(figure.add_subplot(below[2]), errors, colours, 'distance from its slot, m')
    beside = right.subgridspec(len(_PANELS), 1)
    for cell, (name, factor, label) in zip(beside, _PANELS, strict=True):
        _draw_lines(figure.add_subplot(cell), _quantity(histories, name, factor), colours, label)
    drawing.save(figure, [path])


def _quantity(histories: Mapping[str, History], name: str, factor: float) -> dict[str, Series]:
    return {vehicle: Series(history.series[name].times, history.series[name].values * factor)
            for vehicle, history in histories.items()}


def _draw_paths(
    axes: Any, tracks: Tracks, colours: Mapping[str, str], flown: Flight
) -> None:
    for name, colour in colours.items():
        east, north, _ = tracks.positions(name).T
        axes.plot(east, north, color=colour, linewidth=1.2, label=name)
        axes.plot(east[:1], north[:1], 'o', color=colour, markersize=4)
        if flown.vehicles[name].script.crash is not None:
            axes.plot(east[-1:], north[-1:], 'X', color=CRASH, markersize=11, label='crash')
        for meeting in flown.meetings:
            if meeting.first == name:
                at = int(abs(tracks.times - meeting.at).argmin())
                axes.plot(east[at], north[at], 'X', color=LIMIT, markersize=10)
    axes.set_aspect('equal', adjustable='datalim')
    axes.set(xlabel=f'east of where {next(iter(colours))} began, m', ylabel='north, m')
    axes.grid(alpha=0.3)
    _name(axes, colours)


def _draw_separation(
    axes: Any, tracks: Tracks, names: Sequence[str], radius: float
) -> None:
    pairs = list(combinations(names, 2))
    if len(pairs) <= _MOST_PAIRS:
        for number, (first, second) in enumerate(pairs):
            times, values = tracks.separation(first, second)
            axes.plot(times, values, color=_COLOURS[number % len(_COLOURS)], linewidth=1.2,
                      linestyle='-' if number < len(_COLOURS) else '--',
                      label=f'{first}, {second}')
        drawing.legend_above(axes)
    else:
        axes.plot(*tracks.separation_of_any(), color=GREY, label='the nearest two')
        drawing.legend_above(axes)
    axes.axhline(radius, color=LIMIT, linestyle='--', linewidth=1.0)
    axes.set(xlabel='time, s', ylabel='separation, m')
    axes.set_ylim(bottom=0.0)
    axes.grid(alpha=0.3)


def _draw_lines(
    axes: Any, lines: Mapping[str, Series], colours: Mapping[str, str], label: str
) -> None:
    for name, (times, values) in lines.items():
        axes.plot(times, values, color=colours[name], linewidth=1.2, label=name)
    axes.set(xlabel='time, s', ylabel=label)
    axes.ticklabel_format(useOffset=False)
    axes.grid(alpha=0.3)
    _name(axes, lines)


def _name(axes: Any, names: Mapping[str, object]) -> None:
    if len(names) <= _MOST_NAMED:
        drawing.legend_above(axes)
