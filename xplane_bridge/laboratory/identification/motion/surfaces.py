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
Surfaces that are not where they are commanded to be: a control system moves them, or actuators do.

Then the airframe's derivatives are by the deflections, where these were measured. Between two
samples a surface may move on steadily, or jump at the first, as a control system answers a step at
once. It has jumped if it moves far less afterwards; then its mean is that of the line backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from xplane_bridge.laboratory.identification.motion.signals import (
    Array,
    COMMANDED,
    DEFLECTIONS,
    FlightSignals,
)

# The range of a command is so many bins; in each the deflections vary by at most this part of
# their variance if they are what is commanded. A sample that is late is no control system.
_BINS, _VARIES = 50, 0.1
# A jump is so many times as far as the movement in the interval after it.
_JUMP = 3.0


def with_surfaces(flight: FlightSignals, parts: Sequence[FlightSignals] = ()) -> FlightSignals:
    """
    Return a flight with deflections (rad) for the controls that do not say where surfaces are.

    So it is where nothing is known of the command, and where a deflection is no function of it in
    the manoeuvres ``parts``.
    """
    taken = frozenset(
        control for control, deflection in DEFLECTIONS.items()
        if control not in flight.surfaces and flight.has(deflection) and not (
            flight.has(control) and _is_commanded(parts, control, deflection)))
    if not taken:
        return flight
    return replace(flight, surfaces=flight.surfaces | taken, values={
        **flight.values,
        **{f'{name}{COMMANDED}': flight.values[name] for name in taken if flight.has(name)},
        **{name: flight.values[DEFLECTIONS[name]] for name in taken}})


def mean_before(deflection: Array) -> Array:
    """Return the mean of a deflection (n,) from each sample to the one before."""
    steps = np.diff(deflection)
    behind, ahead = np.append(0.0, steps), np.append(steps, 0.0)
    has_jumped = np.abs(behind) > _JUMP * np.abs(ahead)
    found: Array = deflection - 0.5 * np.where(has_jumped, ahead, behind)
    return found


def _is_commanded(parts: Sequence[FlightSignals], control: str, deflection: str) -> bool:
    within, whole = 0.0, 0.0
    for part in parts:
        if not (part.has(control) and part.has(deflection)):
            continue
        command, surface = part.filled(control), part.filled(deflection)
        low, wide = float(command.min()), float(np.ptp(command))
        bins = np.minimum((command - low) / wide * _BINS if wide else 0.0 * command, _BINS - 1)
        _, at = np.unique(bins.astype(np.int64), return_inverse=True)
        means = np.bincount(at, surface) / np.bincount(at)
        within += float(np.sum((surface - means[at]) ** 2))
        whole += float(np.sum((surface - surface.mean()) ** 2))
    return within <= _VARIES * whole
