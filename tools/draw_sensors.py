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
Draw the Allan deviation of an hour of gyroscope and accelerometer, beside the figures of the file.

python3 tools/draw_sensors.py allan.png consumer tactical mine.yaml
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import sys

import numpy as np

from xplane_bridge.common import drawing
from xplane_bridge.common.command_line import add_force_option, refuse_existing
from xplane_bridge.common.drawing import BLUE, GREEN, ORANGE, RED
from xplane_bridge.common.fields import FieldError
from xplane_bridge.laboratory.sensors.allan import allan_deviation, Array, expected_deviation
from xplane_bridge.laboratory.sensors.errors import Axes, Errors
from xplane_bridge.laboratory.sensors.specification import load

_RATE = 50.0
_HOUR = 3600.0
_SENSORS = (('gyroscope', 'rad/s'), ('accelerometer', 'm/s²'))
_COLOURS = (BLUE, RED, GREEN, ORANGE)


def recorded(errors: Errors, rate: float = _RATE, seconds: float = _HOUR, seed: int = 1) -> Array:
    """Return what one axis of a sensor at rest reads, shape (n,)."""
    axis = Axes(errors, 1, np.random.default_rng(seed))
    return np.array([axis.measure((0.0,), 1.0 / rate)[0] for _ in range(round(seconds * rate))])


def draw(path: str, names: Sequence[str]) -> None:
    """Draw the sensors of these names or files. Raises ImportError without matplotlib."""
    pyplot = drawing.pyplot()
    steps = np.unique(np.round(np.geomspace(1.0, _HOUR / 4.0 * _RATE, 40)))
    taus = (steps / _RATE).tolist()
    figure, panels = pyplot.subplots(1, 2, figsize=(10.0, 4.0), layout='constrained')
    for panel, (sensor, unit) in zip(panels, _SENSORS, strict=True):
        for colour, name in zip(_COLOURS, names, strict=False):
            imu = load(name).imu
            errors = getattr(imu, sensor) if imu is not None else None
            if errors is None:
                continue
            panel.loglog(taus, allan_deviation(recorded(errors), 1.0 / _RATE, taus), '.',
                         color=colour, label=f'{name}, one hour simulated')
            panel.loglog(taus, expected_deviation(errors, 1.0 / _RATE, taus), color=colour,
                         linewidth=1.0, label=f'{name}, by its figures')
        panel.set(title=sensor, xlabel='averaging time, s', ylabel=f'Allan deviation, {unit}')
        panel.grid(visible=True, which='both', alpha=0.3)
        drawing.plain_ticks(panel.xaxis)
        drawing.plain_ticks(panel.yaxis)
        panel.legend(fontsize=8)
    figure.savefig(path, dpi=80)
    pyplot.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Draw; return 2 if that is not possible."""
    parser = argparse.ArgumentParser(
        prog='draw_sensors',
        description='Draw the Allan deviation of simulated inertial sensors.')
    parser.add_argument('picture', help='file to write (.png, .svg)')
    parser.add_argument('sensors', nargs='+', help='presets or files, four at most')
    add_force_option(parser)
    given = parser.parse_args(argv)
    try:
        refuse_existing([given.picture], given.force, elsewhere='')
        draw(given.picture, given.sensors)
    except (ImportError, OSError, FieldError) as error:
        print(f'draw_sensors: {error}', file=sys.stderr)
        return 2
    return 0


if __name__ == '__main__':
    sys.exit(main())
