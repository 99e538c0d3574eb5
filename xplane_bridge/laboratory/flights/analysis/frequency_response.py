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
The frequency response of an output to an input that a flight excited.

    found = frequency_response(chirp, flight.series['command_elevator'].between(5.0, 50.0),
                               flight.series['pitch_rate'].between(5.0, 50.0))

After a chirp by cross-spectra (scipy.signal.csd), with windows of as many cycles at each frequency
as there is time for; after a multisine, period by period, by least squares at its frequencies.
The coherence is the part of the output's power that the input explains: where it is low, noise,
turbulence or what is not linear is in the way. Tischler and Remple, Aircraft and Rotorcraft System
Identification, 2nd ed., AIAA 2012, chapters 7 and 9.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common import optional
from xplane_bridge.laboratory.flights.analysis.series import Array, Series
from xplane_bridge.laboratory.flights.scenario.excitation import Excitation

COHERENT = 0.6
"""A response of less coherence says nothing (Tischler and Remple, section 7.5)."""

_POINTS = 40
_MOST_CYCLES = 12
_FEWEST_CYCLES = 2
# Windows that must fit into the record, so that there is something to average.
_WINDOWS = 3


class FrequencyResponse(NamedTuple):
    """
    Frequencies (Hz, increasing), the output per unit of input there, and the coherence (0..1).

    ``ratio`` is complex; a control's unit is its full deflection, an angle's the radian.
    """

    frequencies: Array
    ratio: NDArray[np.complex128]
    coherence: Array

    @property
    def magnitude_db(self) -> Array:
        """Return the magnitude in dB."""
        found: Array = 20.0 * np.log10(np.abs(self.ratio))
        return found

    @property
    def phase_deg(self) -> Array:
        """Return the phase in degrees, continuous, the first in -180..180."""
        found: Array = np.degrees(np.unwrap(np.angle(self.ratio)))
        return found

    def where(self, coherence: float) -> FrequencyResponse:
        """Return the part with at least this coherence."""
        kept = self.coherence >= coherence
        return FrequencyResponse(
            self.frequencies[kept], self.ratio[kept], self.coherence[kept])


def frequency_response(
    excitation: Excitation, command: Series, output: Series
) -> FrequencyResponse:
    """
    Return the response of an output to the command of the excited axis.

    Both have the times of the excitation and of the free response after it. Raises ValueError
    if there is too little of them, and ImportError if SciPy is missing.
    """
    command, output = _finite(command), _finite(output)
    # A command holds until the next one, so its value belongs to the middle of that time.
    held = np.append(command.times[1:], output.times[-1:])
    if len(held) != len(command.times):
        raise ValueError('not enough was measured')
    middle = 0.5 * (command.times + np.maximum(held, command.times))
    return response_to(excitation, Series(middle, command.values), output)


def response_to(excitation: Excitation, given: Series, output: Series) -> FrequencyResponse:
    """
    Return the response of an output to what was given, each as it was at its times.

    Raises ValueError if there is too little of them, and ImportError if SciPy is missing.
    """
    given, output = _finite(given), _finite(output)
    if len(given.times) < 10 or len(output.times) < 10:
        raise ValueError('not enough was measured')
    if excitation.kind == 'multisine':
        return _compute_multisine_response(excitation, given, output)
    begin, end = float(output.times[0]), float(output.times[-1])
    count = max(2, round((end - begin) / float(np.median(np.diff(output.times)))))
    times = np.linspace(begin, end, count + 1)
    return _compute_chirp_response(
        excitation, np.interp(times, given.times, given.values),
        np.interp(times, output.times, output.values), count / (end - begin))


def _finite(series: Series) -> Series:
    known = np.isfinite(series.values)
    return Series(series.times[known], series.values[known])


def _compute_chirp_response(
    excitation: Excitation, command: Array, output: Array, rate: float
) -> FrequencyResponse:
    """Return the response of ``rate`` values per second of each."""
    try:
        from scipy import signal
    except ImportError as error:
        raise optional.missing('a frequency response', 'scipy', extra='fly') from error
    rows = []
    for f in np.geomspace(excitation.f0, excitation.f1, _POINTS):
        cycles = min(_MOST_CYCLES, int(f * len(output) / rate / _WINDOWS))
        length = round(cycles * rate / f)
        if cycles < _FEWEST_CYCLES or f > 0.4 * rate:
            continue

        # It began in steady flight: so the first cycles count as much as the others.
        u, y = (np.pad(part, (length // 2, 0), mode='edge') for part in (command, output))
        _, spectra = signal.csd(
            np.stack((u, y, u)), np.stack((u, y, y)), rate, nperseg=length,
            noverlap=length * 3 // 4, detrend='linear')
        power_in, power_out, cross = spectra[:, cycles]
        rows.append((cycles * rate / length, *_ratio(
            float(power_in.real), float(power_out.real), complex(cross))))
    return _response(rows)


def _compute_multisine_response(
    excitation: Excitation, command: Series, output: Series
) -> FrequencyResponse:
    """Return the response at its frequencies, from each of its periods."""
    period = excitation.period
    frequencies = np.array(sorted(excitation.frequencies))
    spectra = []
    begin, periods = float(output.times[0]), round(excitation.lasts / period)
    # The first period, if it can be spared, is that in which the response builds up.
    for n in range(1 if periods > 2 else 0, periods):
        start = begin + n * period
        spectra.append([
            _amplitudes(one.between(start, start + period), frequencies, start)
            for one in (command, output)])
    u, y = np.array(spectra).transpose(1, 0, 2)
    return _response([
        (f, *_ratio(float(np.sum(np.abs(u[:, n])**2)), float(np.sum(np.abs(y[:, n])**2)),
                    complex(np.sum(np.conj(u[:, n]) * y[:, n]))))
        for n, f in enumerate(frequencies)])


def _amplitudes(series: Series, frequencies: Array, start: float) -> NDArray[np.complex128]:
    """Return the complex amplitude of each frequency, beside a trend, by least squares."""
    time = series.times - start
    angles = math.tau * np.outer(time, frequencies)
    columns = np.hstack((
        np.ones((len(time), 1)), time[:, None], np.cos(angles), np.sin(angles)))
    if len(time) < 2 * columns.shape[1]:
        raise ValueError('it was not flown to its end')
    found = np.linalg.lstsq(columns, series.values, rcond=None)[0][2:]
    count = len(frequencies)
    amplitudes: NDArray[np.complex128] = found[:count] - 1j * found[count:]
    return amplitudes


def _ratio(command: float, output: float, cross: complex) -> tuple[complex, float]:
    """Return ratio and coherence from the power of both and the cross-spectrum."""
    if command <= 0.0 or output <= 0.0:
        return complex(math.nan), 0.0
    return cross / command, abs(cross)**2 / (command * output)


def _response(rows: list[tuple[float, complex, float]]) -> FrequencyResponse:
    if not rows:
        raise ValueError('it is too short for its frequencies')
    frequencies, ratio, coherence = zip(*rows, strict=True)
    return FrequencyResponse(
        np.array(frequencies), np.array(ratio), np.array(coherence))
