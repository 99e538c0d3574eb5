"""The picture of a flight: path, responses, control activity, latency."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

import numpy as np

from xplane_bridge.experiments.monitor import Series

_MEASURED = '#1f5fa8'
_TARGET = '#d1495b'
_GREY = '#8a8f98'


def draw_flight(series: Mapping[str, Series], path: str, title: str) -> None:
    """
    Draw the series of a Monitor into a PNG file.

    Raises ImportError with a sentence if matplotlib is missing.
    """
    try:
        import matplotlib
        matplotlib.use('Agg')
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            'drawing needs the Python package matplotlib: pip install matplotlib') from error
    figure, axes = pyplot.subplot_mosaic(
        [['path', 'altitude'], ['path', 'heading'], ['controls', 'airspeed'],
         ['controls', 'attitude']],
        figsize=(13, 9), layout='constrained')
    figure.suptitle(title, fontsize=13)
    _draw_path(axes['path'], series)
    _draw_response(axes['altitude'], series, 'altitude', 1.0, 'altitude, m')
    _draw_response(axes['heading'], series, 'heading', 180.0 / math.pi, 'heading, deg')
    _draw_response(axes['airspeed'], series, 'airspeed', 1.0, 'indicated airspeed, m/s')
    _draw_lines(axes['attitude'], series, {
        'roll': (180.0 / math.pi, _MEASURED), 'pitch': (180.0 / math.pi, '#3a9a5b'),
    }, 'attitude, deg')
    _draw_lines(axes['controls'], series, {
        'elevator': (1.0, _MEASURED), 'aileron': (1.0, '#3a9a5b'), 'rudder': (1.0, '#e0922f'),
        'throttle': (1.0, _GREY),
    }, 'controls')
    axes['controls'].set_xlabel('time, s')
    axes['attitude'].set_xlabel('time, s')
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _draw_path(axes: Any, series: Mapping[str, Series]) -> None:
    east, north = np.asarray(series['east'].values), np.asarray(series['north'].values)
    altitude = np.interp(
        series['east'].times, series['altitude'].times, series['altitude'].values
    ) if len(east) else np.empty(0)
    points = axes.scatter(east, north, c=altitude, s=6, cmap='viridis')
    if len(east):
        axes.plot(east[0], north[0], 'o', color=_TARGET, label='start')
        axes.legend(loc='best', frameon=False)
        axes.figure.colorbar(points, ax=axes, label='altitude, m', shrink=0.8)
    axes.set_aspect('equal', adjustable='datalim')
    axes.set_xlabel('east of the datum, m')
    axes.set_ylabel('north of the datum, m')
    axes.set_title('flight path')
    axes.grid(alpha=0.3)


def _draw_response(
    axes: Any, series: Mapping[str, Series], name: str, factor: float, label: str
) -> None:
    measured, target = series[name], series[f'target_{name}']
    axes.plot(measured.times, np.asarray(measured.values) * factor, color=_MEASURED,
              label='measured')
    if len(target.times) and len(measured.times):
        # A target holds until the next one.
        times = [*target.times, measured.times[-1]]
        values = np.asarray([*target.values, target.values[-1]]) * factor
        if name == 'heading' and len(measured.values):
            # The measured heading is continuous; targets come as 0..360.
            values += 360.0 * np.round((np.interp(
                times, measured.times, measured.values) * factor - values) / 360.0)
        axes.step(times, values, where='post', color=_TARGET, linestyle='--', label='target')
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    axes.legend(loc='best', frameon=False)


def _draw_lines(
    axes: Any, series: Mapping[str, Series], lines: Mapping[str, tuple[float, str]], label: str
) -> None:
    for name, (factor, colour) in lines.items():
        axes.plot(
            series[name].times, np.asarray(series[name].values) * factor, color=colour,
            label=name, linewidth=1.2)
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    axes.legend(loc='best', ncols=2, frameon=False)
