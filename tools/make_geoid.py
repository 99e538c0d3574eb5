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
Make the package's geoid grid from the quarter-degree grid of EGM96.

    python3 tools/make_geoid.py [/usr/share/proj/egm96_15.gtx]

EGM96 is by the United States' NIMA and NASA, and in the public domain; Debian's proj-data has it
as egm96_15.gtx. The result is the coefficients of the least-squares cubic B-spline with knots
half a degree apart, rounded to multiples of 0.2 m. EGM96 ends at degree 360, a wavelength of one
degree, so half a degree loses little. Stored as second differences, which are small, they compress
to a third. The program prints the greatest and the root mean square error.
"""

import sys

import numpy as np

from xplane_bridge.bridges.conversions import geoid

_SOURCE = '/usr/share/proj/egm96_15.gtx'
_QUANTUM = 0.2
# Every second sample of the source is a knot.
_STEP = 2


def around_the_poles(grid):
    """
    Return the grid, which goes from pole to pole, made periodic both ways.

    Beyond a pole the opposite meridian continues.
    """
    return np.vstack((grid, np.roll(grid[-2:0:-1], grid.shape[1] // 2, axis=1)))


def fitted(samples):
    """Return the coefficients of the periodic spline along the first axis, by least squares."""
    basis = np.zeros(len(samples))
    for offset in range(-2 * _STEP, 2 * _STEP + 1):
        basis[offset] = geoid.basis(offset / _STEP)
    spectrum = np.fft.fft(basis)
    projected = np.real(np.fft.ifft(
        np.fft.fft(samples, axis=0) * np.conj(spectrum)[:, None], axis=0))[::_STEP]
    normal = np.real(np.fft.ifft(np.abs(spectrum) ** 2))[::_STEP]
    solved = np.fft.fft(projected, axis=0) / np.fft.fft(normal)[:, None]
    return np.real(np.fft.ifft(solved, axis=0))


def joined_at_the_pole(pole, beside):
    """
    Return the rows of knots at a pole and next to it, such that the pole has a single value.

    What remains next to it has opposite signs on opposite sides: only a slope.
    """
    middle = round(beside.mean())
    half = len(beside) // 2
    slope = np.round((beside[:half] - beside[half:]) / 2).astype(np.int16)
    return np.full_like(pole, round(pole.mean())), middle + np.concatenate((slope, -slope))


def main():
    """Write the grid, and print its errors."""
    grid = geoid.read_gtx(sys.argv[1] if len(sys.argv) > 1 else _SOURCE)
    rows = (len(grid) - 1) // _STEP + 1
    coefficients = fitted(fitted(around_the_poles(grid)).T).T[:rows]
    steps = np.round(coefficients / _QUANTUM).astype(np.int16)
    for pole, beside in ((0, 1), (-1, -2)):
        steps[pole], steps[beside] = joined_at_the_pole(steps[pole], steps[beside])
    differences = np.diff(np.diff(steps, axis=1, prepend=0), axis=0, prepend=0)
    target = geoid.PACKAGED
    np.savez_compressed(target, differences=differences.astype(np.int16), quantum=_QUANTUM)
    greatest, rms = geoid.errors(geoid.PackagedGrid(target), grid)
    print(f'{target.name}: {target.stat().st_size} bytes; against the source: greatest error '
          f'{greatest:.3f} m, rms {rms:.3f} m')


if __name__ == '__main__':
    main()
