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
The margins of whatever controller flew: of its loops, broken at a control while all are closed.

A chirp or a multisine in closed loop is added to what the controller commands. What is commanded
in all, over what was added, is the sensitivity S at that control. So 1/S - 1 is the loop that is
broken there. What was added is known exactly: noise of sensors makes it uncertain, not biased, as
it would the ratio of what was measured. Tischler and Remple, Aircraft and Rotorcraft System
Identification, 2nd ed., AIAA 2012, section 5.9; margins as in tuning.robustness.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any, NamedTuple

import numpy as np

from xplane_bridge.laboratory.control.tuning.robustness import (
    compute_margins,
    disk_margin,
    Margins,
)
from xplane_bridge.laboratory.flights.analysis.frequency_response import (
    COHERENT,
    FrequencyResponse,
    response_to,
)
from xplane_bridge.laboratory.flights.analysis.series import Array, Series
from xplane_bridge.laboratory.flights.scenario.excitation import AXES, Excitation

# Points between two measured ones: crossings are interpolated between these.
_BETWEEN = 50


class BrokenLoop(NamedTuple):
    """
    The loop of a control as it was flown.

    ``sensitivity`` is the response of each control's command, by name, to what was added to that
    of ``control``.
    """

    control: str
    sensitivity: Mapping[str, FrequencyResponse]

    @property
    def loop(self) -> FrequencyResponse:
        """Return the response of the broken loop, where it is coherent."""
        own = self.sensitivity[self.control].where(COHERENT)
        return FrequencyResponse(own.frequencies, 1.0 / own.ratio - 1.0, own.coherence)

    @property
    def margins(self) -> Margins:
        """Return its margins, NaN for one whose crossing is not in the band that was flown."""
        loop = self.loop
        if len(loop.frequencies) < 2:
            return Margins(math.nan, math.nan, math.nan, math.nan)
        at = np.log(loop.frequencies)
        dense = np.interp(np.arange(_BETWEEN * (len(at) - 1) + 1) / _BETWEEN,
                          np.arange(len(at)), at)
        size = np.interp(dense, at, np.log(np.abs(loop.ratio)))
        angle = np.interp(dense, at, np.unwrap(np.angle(loop.ratio)))
        found = compute_margins(math.tau * np.exp(dense), np.exp(size + 1j * angle))
        return Margins(*(value if math.isfinite(value) else math.nan for value in (
            found.gain, found.phase, found.delay, found.disk)))

    def figures(self) -> dict[str, Any]:
        """Return its figures by name."""
        loop, margins = self.loop, self.margins
        measured = bool(len(loop.frequencies))
        return {
            'gain': margins.gain, 'phase': margins.phase, 'delay': margins.delay,
            'disk': margins.disk,
            'coherence': float(loop.coherence.min()) if measured else math.nan,
            'from_hz': float(loop.frequencies[0]) if measured else math.nan,
            'to_hz': float(loop.frequencies[-1]) if measured else math.nan,
            'curve': {'frequency_hz': loop.frequencies.tolist(),
                      'magnitude_db': loop.magnitude_db.tolist(),
                      'phase_deg': loop.phase_deg.tolist(),
                      'coherence': loop.coherence.tolist()}}

    def __str__(self) -> str:
        """Return its margins as a phrase."""
        figures = self.figures()
        if math.isnan(figures['from_hz']):
            return f'{self.control} loop: nowhere a coherence of {COHERENT}'
        margins = ', '.join(
            form.format(figures[name]) if math.isfinite(figures[name]) else f'no {name} margin'
            for name, form in (
                ('gain', 'gain margin {:.1f} dB'), ('phase', 'phase margin {:.0f} deg'),
                ('delay', 'delay margin {:.3f} s'), ('disk', 'disk margin {:.2f}')))
        return (f'{self.control} loop: {margins}, seen from {figures["from_hz"]:.2f} to '
                f'{figures["to_hz"]:.2f} Hz')


def broken_loop(
    excitation: Excitation, begin: float, commands: Mapping[str, Series]
) -> BrokenLoop:
    """
    Return the loop of the control that an input was added to from ``begin`` (s) on.

    ``commands`` are those of all controls, with what was added, from then until after the free
    response. Raises ValueError where they are too short or at a limit, and ImportError where
    SciPy is missing.
    """
    found = {}
    own = commands[excitation.axis]
    at_limit = np.flatnonzero(
        (own.values <= AXES[excitation.axis]) | (own.values >= 1.0))
    if len(at_limit):
        raise ValueError(f'{excitation.axis} is at its limit at {own.times[at_limit[0]]:.1f} s')
    for control, command in commands.items():
        added = Series(command.times, np.array([
            excitation.value(time - begin) for time in command.times.tolist()]))
        if control == excitation.axis or np.ptp(command.values):
            found[control] = response_to(excitation, added, command)
    return BrokenLoop(excitation.axis, found)


def compute_joint_disk(loops: Sequence[BrokenLoop]) -> float:
    """
    Return the disk margin of all controls whose loops were flown, NaN for less than two.

    It is at least this where all were measured; of a control the last of its loops counts.
    """
    each = {one.control: one for one in loops}
    known = [one.sensitivity[name].where(COHERENT).frequencies for name, one in each.items()]
    if len(each) < 2 or not all(len(one) > 1 for one in known):
        return math.nan
    lowest, highest = max(one[0] for one in known), min(one[-1] for one in known)
    if not lowest < highest:
        return math.nan
    at = np.geomspace(lowest, highest, _BETWEEN * max(map(len, known)))
    whole = np.zeros((len(at), len(each), len(each)), dtype=np.complex128)
    for row, name in enumerate(each):
        for column, one in enumerate(each.values()):
            if name in one.sensitivity:
                whole[:, row, column] = _interpolated(one.sensitivity[name], at)
    return disk_margin(whole)


def _interpolated(response: FrequencyResponse, at: Array) -> np.ndarray[Any, Any]:
    by = np.log(response.frequencies)
    return (np.interp(np.log(at), by, response.ratio.real)
            + 1j * np.interp(np.log(at), by, response.ratio.imag))
