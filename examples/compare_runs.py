#!/usr/bin/env python3
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
Compare two recorded flights: how much they differ, and the control activity of each.

    python3 examples/compare_runs.py first.mcap second.mcap [--tolerance 1e-6] [--picture both.png]

With --tolerance it is a test: the exit code is 1 if any quantity differs by more (SI units, rad).
"""

import argparse
import sys

import numpy as np

from xplane_bridge import figures, History, load_recording, RecordingError, Series

QUANTITIES = ('altitude', 'heading', 'airspeed', 'roll', 'pitch', 'command_elevator',
              'command_throttle')


def known(series: Series) -> Series:
    """Return the known values: a field that a command does not set is NaN."""
    finite = np.isfinite(series.values)
    return Series(series.times[finite], series.values[finite])


def differences(first: History, second: History) -> dict[str, tuple[float, float]]:
    """Return the rms and the largest difference of each quantity, at the times of the first."""
    found = {}
    for name in QUANTITIES:
        one, other = (known(flight.series[name]) for flight in (first, second))
        if not len(one.times) or not len(other.times):
            continue
        begin, end = (max(one.times[0], other.times[0], 0.0), min(one.times[-1], other.times[-1]))
        part = one.between(begin, end)
        if not len(part.times):
            continue
        apart = part.values - np.interp(part.times, other.times, other.values)
        found[name] = (float(np.sqrt(np.mean(apart**2))), float(np.abs(apart).max()))
    return found


def draw(flights: dict[str, History], path: str) -> None:
    """Plot both flights to a PNG file."""
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(
        len(QUANTITIES), 1, sharex=True, figsize=(10, 14), layout='constrained')
    for place, name in zip(axes, QUANTITIES, strict=True):
        for label, flight in flights.items():
            place.plot(*flight.series[name], label=label, linewidth=1.0)
        place.set_ylabel(name)
        place.grid(alpha=0.3)
    axes[0].legend(frameon=False)
    axes[-1].set_xlabel('time, s')
    figure.savefig(path, dpi=110)


def main() -> int:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('recordings', nargs=2)
    parser.add_argument('--tolerance', type=float)
    parser.add_argument('--picture')
    arguments = parser.parse_args()
    try:
        flights = [load_recording(path) for path in arguments.recordings]
    except (OSError, RecordingError) as error:
        print(f'compare_runs: {error}', file=sys.stderr)
        return 2
    apart = differences(*flights)
    print(f'{"quantity":<16} {"rms difference":>16} {"largest":>16}')
    for name, (rms, largest) in apart.items():
        print(f'{name:<16} {rms:16.6g} {largest:16.6g}')
    for path, flight in zip(arguments.recordings, flights, strict=True):
        found = figures(flight)
        print(f'{path}: {found["duration"]:.1f} s, ' + ', '.join(
            f'{name} travel {activity["travel"]:.4f}/s'
            for name, activity in found['activity'].items()))
    if arguments.picture:
        draw(dict(zip(arguments.recordings, flights, strict=True)), arguments.picture)
    if arguments.tolerance is None:
        return 0
    if not apart:
        print('nothing to compare', file=sys.stderr)
        return 1
    return int(any(largest > arguments.tolerance for _, largest in apart.values()))


if __name__ == '__main__':
    sys.exit(main())
