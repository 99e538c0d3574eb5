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

from collections.abc import Sequence
import itertools
import math
from typing import Any

import numpy as np

from xplane_bridge.common import drawing
from xplane_bridge.common.drawing import BLUE, GREEN, GREY, ORANGE, RED
from xplane_bridge.flights.analysis.frequency_response import COHERENT
from xplane_bridge.flights.analysis.history import latency_of
from xplane_bridge.flights.analysis.series import History, Series
from xplane_bridge.flights.analysis.windows import Window
from xplane_bridge.flights.route import RouteFlight

_MEASURED, _SECOND, _THIRD, _TARGET = BLUE, GREEN, ORANGE, RED
_DEGREES = 180.0 / math.pi


def draw_flight(
    flight: History, path: str, title: str, route: RouteFlight | None = None,
    inputs: Sequence[Window] = (),
) -> None:
    """
    Plot a flight to a PNG file, with the path and the waypoints of its route if it had one.

    The frequency responses to its test inputs, where there are any, have a column of their own.

    Raises ImportError if matplotlib is missing.
    """
    pyplot = drawing.pyplot()
    rows: list[Any] = [
        ['path', 'altitude'], ['path', 'heading'], ['controls', 'airspeed'],
        ['controls', 'attitude'], ['latency', 'attitude']]
    swept = any(window.responses for window in inputs)
    if swept:
        for row, name in zip(
                rows, ('magnitude', 'magnitude', 'phase', 'phase', 'coherence'), strict=True):
            row.append(name)
    figure, axes = pyplot.subplot_mosaic(
        rows, figsize=(19 if swept else 13, 10), layout='constrained',
        height_ratios=(1, 1, 1, 0.5, 0.5))
    figure.suptitle(title, fontsize=13)
    _draw_path(axes['path'], flight, route)
    _draw_response(axes['altitude'], flight, 'altitude', 1.0, 'altitude, m')
    _draw_response(axes['heading'], flight, 'heading', _DEGREES, 'heading, deg')
    _draw_response(axes['airspeed'], flight, 'airspeed', 1.0, 'indicated airspeed, m/s')
    series = flight.series
    _draw_lines(axes['attitude'], {
        'roll': (series['roll'], _DEGREES, _MEASURED),
        'pitch': (series['pitch'], _DEGREES, _SECOND),
    }, 'attitude, deg')
    # The commands, where known: they are the controller's output.
    which = 'command_' if len(series['command_elevator'].times) else ''
    _draw_lines(axes['controls'], {
        name: (series[which + name], 1.0, colour) for name, colour in (
            ('elevator', _MEASURED), ('aileron', _SECOND), ('rudder', _THIRD),
            ('throttle', GREY))
    }, 'commands' if which else 'controls')
    _draw_latency(axes['latency'], flight)
    for window in inputs:
        for name in ('controls', 'attitude'):
            axes[name].axvspan(window.begin, window.begin + window.event.lasts, color=GREY,
                               alpha=0.12, linewidth=0)
    if swept:
        _draw_bode(axes, inputs)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _draw_path(axes: Any, flight: History, route: RouteFlight | None) -> None:
    east, north = flight.series['east'], flight.series['north']
    altitude = flight.series['altitude']
    colours = np.interp(east.times, altitude.times, altitude.values) if (
        len(east.times) and len(altitude.times)) else np.zeros(len(east.times))
    points = axes.scatter(east.values, north.values, c=colours, s=6, cmap='viridis')
    if len(east.values):
        axes.plot(east.values[0], north.values[0], 'o', color=_TARGET, label='start')
        if route is not None:
            axes.plot(
                *zip(*route.path.drawn(), strict=True), '--', color=_TARGET, label='path',
                zorder=0)
            axes.plot(
                *zip(*route.waypoints, strict=True), 'x', color=GREY, label='waypoints',
                zorder=0)
        axes.legend(loc='best', frameon=False)
        bar = axes.figure.colorbar(points, ax=axes, label='altitude, m', shrink=0.8)
        bar.formatter.set_useOffset(False)
    axes.set_aspect('equal', adjustable='datalim')
    axes.set_xlabel('east of the datum, m')
    axes.set_ylabel('north of the datum, m')
    axes.set_title('flight path')
    axes.grid(alpha=0.3)


def _draw_response(axes: Any, flight: History, name: str, factor: float, label: str) -> None:
    measured, target = flight.series[name], flight.series[f'target_{name}']
    axes.plot(measured.times, measured.values * factor, color=_MEASURED, label='measured')
    if len(target.times) and len(measured.times):
        # A target is in force until the next one.
        axes.step(
            [*target.times, measured.times[-1]],
            np.append(target.values, target.values[-1]) * factor, where='post', color=_TARGET,
            linestyle='--', label='target')
    axes.set_ylabel(label)
    axes.ticklabel_format(useOffset=False)
    axes.grid(alpha=0.3)
    axes.legend(loc='best', frameon=False)


def _draw_lines(axes: Any, lines: dict[str, tuple[Series, float, str]], label: str) -> None:
    for name, (series, factor, colour) in lines.items():
        axes.plot(series.times, series.values * factor, color=colour, label=name, linewidth=1.2)
    axes.set_ylabel(label)
    axes.set_xlabel('time, s')
    axes.grid(alpha=0.3)
    axes.legend(loc='best', ncols=2, frameon=False)


def _draw_bode(axes: Any, inputs: Sequence[Window]) -> None:
    """Draw the frequency responses where they are coherent, and the coherence throughout."""
    from matplotlib.ticker import LogLocator
    colours = itertools.cycle((_MEASURED, _SECOND, _THIRD, _TARGET, GREY))
    for window in inputs:
        for output, response in window.responses.items():
            coherent = response.where(COHERENT)
            style = {'color': next(colours), 'marker': '.', 'linewidth': 1.2}
            axes['magnitude'].semilogx(
                coherent.frequencies, coherent.magnitude_db,
                label=f'{output} / {window.event.value.axis}, {window.event.action}', **style)
            axes['phase'].semilogx(coherent.frequencies, coherent.phase_deg, **style)
            axes['coherence'].semilogx(response.frequencies, response.coherence, **style)
    axes['coherence'].axhline(COHERENT, color=_TARGET, linestyle='--', linewidth=1.0)
    axes['coherence'].set(ylim=(0.0, 1.05), ylabel='coherence', xlabel='frequency, Hz')
    axes['magnitude'].set(ylabel='magnitude, dB', title='frequency response')
    axes['phase'].set_ylabel('phase, deg')
    for name in ('magnitude', 'phase', 'coherence'):
        axes[name].sharex(axes['coherence'])
        # 0.2, 0.5, 1, 2: plain numbers, and few.
        axes[name].xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        drawing.plain_ticks(axes[name].xaxis)
        axes[name].grid(alpha=0.3, which='both')
    if axes['magnitude'].lines:
        axes['magnitude'].legend(loc='best', frameon=False)


def _draw_latency(axes: Any, flight: History) -> None:
    axes.set_ylabel('latency, ms')
    axes.set_xlabel('time, s')
    axes.grid(alpha=0.3)
    drawn = False
    for name, topic, colour in (
        ('telemetry', 'fix', _MEASURED), ('loop', 'command/controls', _SECOND),
    ):
        latency = latency_of(flight, topic)
        if len(latency.times):
            axes.plot(latency.times, latency.values * 1e3, '.', markersize=2, color=colour,
                      label=name)
            drawn = True
    if drawn:
        axes.set_yscale('log')
        drawing.plain_ticks(axes.yaxis)
        axes.legend(loc='upper right', ncols=2, markerscale=5, borderpad=0.2)
    else:
        axes.set(xticks=[], yticks=[], xlabel='')
        axes.text(0.5, 0.5, 'unknown: stamps are simulated time', ha='center', va='center',
                  transform=axes.transAxes)
