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
Plot of a flight: path, responses, attitude, control activity, latency.

Of several vehicles: where all went, how near they came, who held his slot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import itertools
import math
from typing import Any

import numpy as np

from xplane_bridge.common import drawing
from xplane_bridge.common.drawing import (
    BLUE,
    CRASH,
    GREEN,
    GREY,
    LIMIT,
    MEASURED,
    ORANGE,
    PITCH,
    PURPLE,
    ROLL,
    TARGET,
    TEAL,
    THROTTLE,
    YAW,
)
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.flights.analysis.frequency_response import COHERENT
from xplane_bridge.laboratory.flights.analysis.history import compute_latency
from xplane_bridge.laboratory.flights.analysis.runway import on_final, RunwayTrack, seen_from
from xplane_bridge.laboratory.flights.analysis.series import History, Series
from xplane_bridge.laboratory.flights.analysis.together import Tracks
from xplane_bridge.laboratory.flights.analysis.windows import Window
from xplane_bridge.laboratory.flights.flight import Flight
from xplane_bridge.laboratory.flights.route import RouteFlight

Lines = Mapping[str, tuple[Series, float, str]]
"""Curves by name, each with the factor to the unit that is drawn, and its colour."""

Panels = Mapping[str, tuple[float, Callable[[Any], None]]]
"""Panels of a column by name: their heights, 0 for none, and what draws them."""

_DEGREES = 180.0 / math.pi
_TURN, _HALF_A_TURN = 360.0, 180.0
_ANGLES = {'roll': ROLL, 'pitch': PITCH}
_CONTROLS = {'elevator': PITCH, 'aileron': ROLL, 'rudder': YAW, 'throttle': THROTTLE}
_LATENCIES = {'telemetry': ('fix', TEAL), 'loop': ('command/controls', PURPLE)}
_RESPONSES = {'pitch_rate': PITCH, 'roll_rate': ROLL, 'yaw_rate': YAW, 'airspeed': THROTTLE}


_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, TEAL)
"""Of several vehicles, in turn."""
# More names than these say nothing in a legend.
_MOST_NAMED = 10
_MOST_PAIRS = 6


def draw(flown: Flight, path: str, title: str, inputs: Sequence[Window] = ()) -> None:
    """
    Plot a flight of one vehicle or of several to a file, as its name ends: PNG, PDF or SVG.

    ``inputs`` are the test inputs of one. Raises ImportError if matplotlib is missing.
    """
    if not flown.order.scenario.vehicles:
        draw_flight(flown.history(), path, title, flown.script.route, inputs,
                    crash=math.nan if flown.crash is None else flown.crash.at,
                    runway=flown.order.scenario.runway)
        return
    fleet, histories, tracks = flown.order.scenario.fleet, flown.histories(), flown.tracks()
    colours = dict(zip(histories, itertools.cycle(_COLOURS), strict=False))

    def lines(quantity: str, factor: float, label: str) -> Callable[[Any], None]:
        found = {name: (history.series[quantity], factor, colours[name])
                 for name, history in histories.items()}
        return lambda panel: _draw_lines(panel, found, label)

    errors = {name: (tracks.formation_error(name), 1.0, colours[name]) for name in fleet.stations}
    figure, _ = _draw_panels([
        {'path': (2.0, lambda panel: _draw_paths(panel, tracks, colours, flown)),
         'separation': (float(len(histories) > 1), lambda panel: _draw_separation(
             panel, tracks, tuple(histories), fleet.midair.radius)),
         'slot': (float(bool(errors)), lambda panel: _draw_lines(
             panel, errors, 'distance from its slot, m'))},
        {'altitude': (1.0, lines('altitude', 1.0, 'altitude, m')),
         'airspeed': (1.0, lines('airspeed', 1.0, 'indicated airspeed, m/s')),
         'attitude': (1.0, lines('roll', _DEGREES, 'roll, deg'))}], title)
    drawing.save(figure, [path])


def draw_flight(
    flight: History, path: str, title: str, route: RouteFlight | None = None,
    inputs: Sequence[Window] = (), width: float = 0.0, crash: float = math.nan,
    runway: ChartedRunway | None = None,
) -> None:
    """
    Plot a flight to a file, as its name ends: PNG, PDF or SVG.

    With the path and the waypoints of its route if it had one. Of what was not measured there is
    no panel. The frequency responses to its test inputs, where there are any, and the loops that
    these show, have a column of their own. ``width`` is in inches, 0: as wide as its columns need.
    The time of a ``crash`` (s) is marked, and its place. With a ``runway`` the height is above
    that, with its glide path.

    Raises ImportError if matplotlib is missing.
    """
    series = flight.series
    # The commands, where known: they are the controller's output.
    which = 'command_' if len(series['command_elevator'].times) else ''
    angles = {name: (series[name], _DEGREES, colour) for name, colour in _ANGLES.items()}
    controls = {name: (series[which + name], 1.0, colour) for name, colour in _CONTROLS.items()}
    latencies = {name: (compute_latency(flight, topic), 1e3, colour)
                 for name, (topic, colour) in _LATENCIES.items()}
    track = None if runway is None or not runway.has_elevation else seen_from(runway, flight)
    swept = 2.0 * any(window.responses for window in inputs)

    def response(name: str, factor: float, label: str) -> tuple[float, Callable[[Any], None]]:
        return _has(series[name]), lambda panel: _draw_response(
            panel, flight, name, factor, label)

    figure, axes = _draw_panels([
        {'path': (2.0 * _has(series['east']), lambda panel: _draw_path(
            panel, flight, route, runway, track)),
         'controls': (1.5 * _any(controls), lambda panel: _draw_lines(
             panel, controls, f'{"commands" if which else "controls"}, full deflection = 1')),
         'latency': (0.6 * _any(latencies), lambda panel: _draw_latency(panel, latencies))},
        {'altitude': response('altitude', 1.0, 'altitude, m') if (
            runway is None or track is None or not len(track.times)) else (
            1.0, lambda panel: _draw_height(panel, flight, runway, track)),
         'heading': response('heading', _DEGREES, 'heading, deg'),
         'airspeed': response('airspeed', 1.0, 'indicated airspeed, m/s'),
         'attitude': (_any(angles), lambda panel: _draw_lines(panel, angles, 'attitude, deg'))},
        # Drawn together, below.
        {name: (height, lambda _: None) for name, height in (
            ('magnitude', swept), ('phase', swept), ('coherence', swept / 2.0))}], title, width)
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


def _draw_panels(
    columns: Sequence[Panels], title: str, width: float = 0.0
) -> tuple[Any, dict[str, Any]]:
    """Return a figure and its panels by name, drawn; those of no height are omitted."""
    pyplot = drawing.pyplot()
    # From top to bottom, column by column.
    shown = [{name: height for name, (height, _) in column.items() if height}
             for column in columns]
    shown = [column for column in shown if column]
    height = 10.0
    if drawing.in_column(width):
        shown = [{name: height for column in shown for name, height in column.items()}]
        height = 1.6 * sum(shown[0].values()) + 0.5
    figure = pyplot.figure(figsize=(width or max(6.5 * len(shown), 6.5), height),
                           layout='constrained')
    figure.suptitle(title, fontsize=13)
    axes: dict[str, Any] = {}
    if shown:
        for column, cell in zip(shown, figure.add_gridspec(1, len(shown)), strict=True):
            grid = cell.subgridspec(len(column), 1, height_ratios=[*column.values()])
            axes |= {name: figure.add_subplot(place)
                     for name, place in zip(column, grid, strict=True)}
    for drawn in columns:
        for name, (_, draw_on) in drawn.items():
            if name in axes:
                draw_on(axes[name])
    return figure, axes


def _draw_path(
    axes: Any, flight: History, route: RouteFlight | None, runway: ChartedRunway | None,
    track: RunwayTrack | None,
) -> None:
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
        if runway is not None and track is not None and len(track.times):
            # Wider than it is, or the path would hide it.
            axes.plot(*_ends(flight, runway, track), color=GREY, linewidth=8.0, alpha=0.6,
                      solid_capstyle='butt', label='runway', zorder=0)
        drawing.legend_above(axes)
        bar = axes.figure.colorbar(points, ax=axes, label='altitude, m', shrink=0.8)
        bar.formatter.set_useOffset(False)
    axes.set_aspect('equal', adjustable='datalim')
    axes.set_xlabel('east of the datum, m')
    axes.set_ylabel('north of the datum, m')
    axes.set_title('flight path', loc='left')
    axes.grid(alpha=0.3)


def _ends(flight: History, runway: ChartedRunway, track: RunwayTrack) -> Any:
    """Return threshold and end of a runway, east and north of the datum in m, shape (2, 2)."""
    along = np.array([math.sin(runway.heading), math.cos(runway.heading)])
    across = np.array([along[1], -along[0]])
    # The datum is known by where the aircraft is, seen from both.
    seen = track.along[0] * along + track.across[0] * across
    there = [np.interp(track.times[0], *flight.series[axis]) for axis in ('east', 'north')]
    return (there - seen)[:, np.newaxis] + np.outer(along, (0.0, runway.length))


def _draw_height(
    axes: Any, flight: History, runway: ChartedRunway, track: RunwayTrack
) -> None:
    """Draw the height above the runway, that of its glide path, and targets."""
    axes.plot(track.times, track.height, color=MEASURED, label='measured')
    surface = float(np.interp(track.times[0], *flight.series['altitude']) - track.height[0])
    _draw_target(axes, flight, 'altitude', lambda values: values - surface)
    glide_path = (runway.aiming_point - track.along) * math.tan(runway.glide_path)
    final = on_final(track, runway) & (glide_path <= track.height.max())
    if final.any():
        axes.plot(track.times[final], glide_path[final], color=ORANGE, linestyle='--',
                  label='glide path')
    axes.set(xlabel='time, s', ylabel='height above runway, m')
    axes.grid(alpha=0.3)
    drawing.legend_above(axes)


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
    pairs = list(itertools.combinations(names, 2))
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


def _name(axes: Any, names: Mapping[str, object]) -> None:
    if len(names) <= _MOST_NAMED:
        drawing.legend_above(axes)


def _draw_response(axes: Any, flight: History, name: str, factor: float, label: str) -> None:
    measured = flight.series[name]
    values = measured.values * factor
    turns = name == 'heading' and len(values) and np.ptp(values) > _HALF_A_TURN

    def shown(found: Any) -> Any:
        return found % _TURN if turns else found

    axes.plot(measured.times, _broken(shown(values)) if turns else values, color=MEASURED,
              label='measured')
    _draw_target(axes, flight, name, lambda found: shown(found * factor))
    axes.set(xlabel='time, s', ylabel=label)
    axes.ticklabel_format(useOffset=False)
    if turns:
        axes.set(ylim=(-0.02 * _TURN, 1.02 * _TURN),
                 yticks=np.arange(0.0, _TURN + 1.0, _TURN / 4.0))
    elif name == 'heading':
        # Continuous through north, and yet a heading.
        axes.yaxis.set_major_formatter(lambda value, _: f'{value % _TURN:g}')
    axes.grid(alpha=0.3)
    drawing.legend_above(axes)


def _broken(values: Any) -> Any:
    """Return headings with a gap where they go through north."""
    found = values.copy()
    found[1:][np.abs(np.diff(values)) > _HALF_A_TURN] = math.nan
    return found


def _draw_target(
    axes: Any, flight: History, name: str, shown: Callable[[Any], Any]
) -> None:
    """Draw what was wanted, as ``shown``; a target is in force until the next one."""
    target, measured = flight.series[f'target_{name}'], flight.series[name]
    if len(measured.times) and np.isfinite(target.values).any():
        axes.step(
            [*target.times, measured.times[-1]],
            shown(np.append(target.values, target.values[-1])), where='post', color=TARGET,
            linestyle='--', label='target')


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
    axes.ticklabel_format(useOffset=False)
    axes.grid(alpha=0.3)
    _name(axes, lines)


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
