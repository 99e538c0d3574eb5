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

"""Plot of a flight: path, responses, attitude, control activity, latency."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import itertools
import math
from typing import Any

import numpy as np

from xplane_bridge.common import drawing
from xplane_bridge.common.drawing import (
    CRASH,
    GREY,
    MEASURED,
    PITCH,
    PURPLE,
    ROLL,
    TARGET,
    TEAL,
    THROTTLE,
    YAW,
)
from xplane_bridge.laboratory.flights.analysis.frequency_response import COHERENT
from xplane_bridge.laboratory.flights.analysis.history import compute_latency
from xplane_bridge.laboratory.flights.analysis.series import History, Series
from xplane_bridge.laboratory.flights.analysis.windows import Window
from xplane_bridge.laboratory.flights.flight import Flight
from xplane_bridge.laboratory.flights.route import RouteFlight

Lines = Mapping[str, tuple[Series, float, str]]
"""Curves by name, each with the factor to the unit that is drawn, and its colour."""

_DEGREES = 180.0 / math.pi
_ANGLES = {'roll': ROLL, 'pitch': PITCH}
_CONTROLS = {'elevator': PITCH, 'aileron': ROLL, 'rudder': YAW, 'throttle': THROTTLE}
_LATENCIES = {'telemetry': ('fix', TEAL), 'loop': ('command/controls', PURPLE)}
_RESPONSES = {'pitch_rate': PITCH, 'roll_rate': ROLL, 'yaw_rate': YAW, 'airspeed': THROTTLE}


def draw(flown: Flight, path: str, title: str, inputs: Sequence[Window] = ()) -> None:
    """
    Plot a flight of one aircraft or of several to a file, as its name ends: PNG, PDF or SVG.

    ``inputs`` are the test inputs of one. Raises ImportError if matplotlib is missing.
    """
    if flown.order.scenario.vehicles:
        from xplane_bridge.laboratory.experiments.fleet_picture import draw_fleet
        draw_fleet(flown, path, title)
        return
    draw_flight(flown.history(), path, title, flown.script.route, inputs,
                crash=math.nan if flown.crash is None else flown.crash.at)


def draw_flight(
    flight: History, path: str, title: str, route: RouteFlight | None = None,
    inputs: Sequence[Window] = (), width: float = 0.0, crash: float = math.nan,
) -> None:
    """
    Plot a flight to a file, as its name ends: PNG, PDF or SVG.

    With the path and the waypoints of its route if it had one. Of what was not measured there is
    no panel. The frequency responses to its test inputs, where there are any, and the loops that
    these show, have a column of their own. ``width`` is in inches, 0: as wide as its columns need.
    The time of a ``crash`` (s) is marked, and its place.

    Raises ImportError if matplotlib is missing.
    """
    pyplot = drawing.pyplot()
    series = flight.series
    # The commands, where known: they are the controller's output.
    which = 'command_' if len(series['command_elevator'].times) else ''
    angles = {name: (series[name], _DEGREES, colour) for name, colour in _ANGLES.items()}
    controls = {name: (series[which + name], 1.0, colour) for name, colour in _CONTROLS.items()}
    latencies = {name: (compute_latency(flight, topic), 1e3, colour)
                 for name, (topic, colour) in _LATENCIES.items()}
    swept = any(window.responses for window in inputs)
    # Panels from top to bottom with their heights, column by column.
    columns = [
        {'path': 2.0 * _has(series['east']), 'controls': 1.5 * _any(controls),
         'latency': 0.6 * _any(latencies)},
        {**{name: _has(series[name]) for name in ('altitude', 'heading', 'airspeed')},
         'attitude': _any(angles)},
        {'magnitude': 2.0 * swept, 'phase': 2.0 * swept, 'coherence': float(swept)}]
    figure, axes = _panels(pyplot, columns, width)
    figure.suptitle(title, fontsize=13)
    draw: dict[str, Callable[[Any], None]] = {
        'path': lambda panel: _draw_path(panel, flight, route),
        'altitude': lambda panel: _draw_response(panel, flight, 'altitude', 1.0, 'altitude, m'),
        'heading': lambda panel: _draw_response(panel, flight, 'heading', _DEGREES,
                                                'heading, deg'),
        'airspeed': lambda panel: _draw_response(panel, flight, 'airspeed', 1.0,
                                                 'indicated airspeed, m/s'),
        'attitude': lambda panel: _draw_lines(panel, angles, 'attitude, deg'),
        'controls': lambda panel: _draw_lines(
            panel, controls, f'{"commands" if which else "controls"}, full deflection = 1'),
        'latency': lambda panel: _draw_latency(panel, latencies)}
    for name, panel in axes.items():
        if name in draw:
            draw[name](panel)
    for window in inputs:
        for name in axes.keys() & {'controls', 'attitude'}:
            axes[name].axvspan(window.begin, window.begin + window.event.lasts, color=GREY,
                               alpha=0.12, linewidth=0)
    if swept:
        _draw_bode(axes, inputs)
    if math.isfinite(crash):
        _mark(axes, flight, crash)
    drawing.save(figure, [path])


def _has(series: Series) -> float:
    return float(len(series.times) > 0)


def _any(lines: Lines) -> float:
    return max(_has(series) for series, _, _ in lines.values())


def _panels(
    pyplot: Any, columns: Sequence[dict[str, float]], width: float
) -> tuple[Any, dict[str, Any]]:
    """Return a figure and its panels by name, those of no height omitted."""
    shown = [{name: height for name, height in column.items() if height} for column in columns]
    shown = [column for column in shown if column]
    height = 10.0
    if drawing.in_column(width):
        shown = [{name: height for column in shown for name, height in column.items()}]
        height = 1.6 * sum(shown[0].values()) + 0.5
    figure = pyplot.figure(figsize=(width or max(6.5 * len(shown), 6.5), height),
                           layout='constrained')
    if not shown:
        return figure, {}
    axes: dict[str, Any] = {}
    for column, cell in zip(shown, figure.add_gridspec(1, len(shown)), strict=True):
        grid = cell.subgridspec(len(column), 1, height_ratios=[*column.values()])
        axes |= {name: figure.add_subplot(place)
                 for name, place in zip(column, grid, strict=True)}
    return figure, axes


def _draw_path(axes: Any, flight: History, route: RouteFlight | None) -> None:
    east, north = flight.series['east'], flight.series['north']
    altitude = flight.series['altitude']
    colours = np.interp(east.times, altitude.times, altitude.values) if (
        len(east.times) and len(altitude.times)) else np.zeros(len(east.times))
    points = axes.scatter(east.values, north.values, c=colours, s=6, cmap='viridis')
    if len(east.values):
        axes.plot(east.values[0], north.values[0], 'o', color=TARGET, label='start')
        if route is not None:
            axes.plot(
                *zip(*route.path.drawn(), strict=True), '--', color=TARGET, label='path',
                zorder=0)
            axes.plot(
                *zip(*route.waypoints, strict=True), 'x', color=GREY, label='waypoints',
                zorder=0)
        drawing.legend_above(axes)
        bar = axes.figure.colorbar(points, ax=axes, label='altitude, m', shrink=0.8)
        bar.formatter.set_useOffset(False)
    axes.set_aspect('equal', adjustable='datalim')
    axes.set_xlabel('east of the datum, m')
    axes.set_ylabel('north of the datum, m')
    axes.set_title('flight path', loc='left')
    axes.grid(alpha=0.3)


def _draw_response(axes: Any, flight: History, name: str, factor: float, label: str) -> None:
    measured, target = flight.series[name], flight.series[f'target_{name}']
    axes.plot(measured.times, measured.values * factor, color=MEASURED, label='measured')
    if len(target.times) and len(measured.times):
        # A target is in force until the next one.
        axes.step(
            [*target.times, measured.times[-1]],
            np.append(target.values, target.values[-1]) * factor, where='post', color=TARGET,
            linestyle='--', label='target')
    axes.set(xlabel='time, s', ylabel=label)
    axes.ticklabel_format(useOffset=False)
    axes.grid(alpha=0.3)
    drawing.legend_above(axes)


def _mark(axes: Mapping[str, Any], flight: History, crash: float) -> None:
    """Mark a crash in the path, and its time in what is drawn over time."""
    for name, panel in axes.items():
        if name in ('altitude', 'heading', 'airspeed', 'attitude', 'controls'):
            panel.axvline(crash, color=CRASH, linewidth=1.2)
    east, north = flight.series['east'].values, flight.series['north'].values
    if 'path' in axes and len(east):
        axes['path'].plot(
            east[-1], north[-1], 'X', color=CRASH, markersize=11, label='crash')
        drawing.legend_above(axes['path'])


def _draw_lines(axes: Any, lines: Lines, label: str) -> None:
    for name, (series, factor, colour) in lines.items():
        if len(series.times):
            axes.plot(series.times, series.values * factor, color=colour, label=name,
                      linewidth=1.2)
    axes.set(xlabel='time, s', ylabel=label)
    axes.grid(alpha=0.3)
    drawing.legend_above(axes)


def _draw_bode(axes: Any, inputs: Sequence[Window]) -> None:
    """Draw the frequency responses where they are coherent, and the coherence throughout."""
    from matplotlib.ticker import LogLocator
    others = itertools.cycle((PURPLE, TEAL, GREY))
    for window in inputs:
        curves = [(f'{output} / {window.event.value.axis}', response, '.')
                  for output, response in window.responses.items()]
        if window.loop is not None:
            curves.append((f'{window.loop.control} loop', window.loop.loop, 'x'))
        for label, response, marker in curves:
            coherent = response.where(COHERENT)
            colour = _RESPONSES.get(label.split(' ')[0]) or next(others)
            style = {'color': colour, 'marker': marker, 'markersize': 5.0, 'linewidth': 1.2}
            axes['magnitude'].semilogx(
                coherent.frequencies, coherent.magnitude_db, label=label, **style)
            axes['phase'].semilogx(coherent.frequencies, coherent.phase_deg, **style)
            axes['coherence'].semilogx(response.frequencies, response.coherence, **style)
    axes['coherence'].axhline(COHERENT, color=TARGET, linestyle='--', linewidth=1.0)
    axes['coherence'].set(ylim=(0.0, 1.05), ylabel='coherence', xlabel='frequency, Hz')
    axes['magnitude'].set(ylabel='magnitude, dB', xlabel='frequency, Hz')
    axes['phase'].set(ylabel='phase, deg', xlabel='frequency, Hz')
    for name in ('magnitude', 'phase', 'coherence'):
        axes[name].sharex(axes['coherence'])
        # 0.2, 0.5, 1, 2: plain numbers, and few.
        axes[name].xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        drawing.plain_ticks(axes[name].xaxis)
        axes[name].grid(alpha=0.3, which='both')
    drawing.legend_above(axes['magnitude'])


def _draw_latency(axes: Any, latencies: Lines) -> None:
    for name, (latency, factor, colour) in latencies.items():
        if len(latency.times):
            axes.plot(latency.times, latency.values * factor, '.', markersize=2, color=colour,
                      label=name)
    axes.set(xlabel='time, s', ylabel='latency, ms', yscale='log')
    axes.grid(alpha=0.3)
    drawing.plain_ticks(axes.yaxis)
    drawing.legend_above(axes, markerscale=5.0)
