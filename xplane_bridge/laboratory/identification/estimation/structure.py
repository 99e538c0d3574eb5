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
Which derivatives a model needs: stepwise regression of each coefficient.

Beginning with all, the least needed regressor is left out, one after the other, by partial F
ratios; one comes back where that has made it necessary. Residuals of a flight are coloured: so
many samples count as much as fewer that are independent. Klein and Morelli, Aircraft System
Identification, AIAA 2006, section 5.4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xplane_bridge.laboratory.identification.estimation.equation_error import (
    coefficients,
    regressor,
)
from xplane_bridge.laboratory.identification.motion.equations import (
    CheckedManoeuvre,
    Derivative,
    ModelStructure,
)
from xplane_bridge.laboratory.identification.motion.signals import Array

# A regressor is needed if its partial F ratio is above: 99.9 % sure for some hundred samples.
_NEEDED = 11.0


def needless(form: ModelStructure, motions: Sequence[CheckedManoeuvre]) -> frozenset[Derivative]:
    """Return the derivatives of a form that the manoeuvres do not need."""
    names = (*form.states, *form.controls)

    def centred(tables: Sequence[Array]) -> Array:
        return np.concatenate([table - table.mean(axis=0) for table in tables])

    table = centred([np.stack([
        regressor(motion, name, form, 0.0) for name in names], axis=1) for motion in motions])
    side = centred([coefficients(form, motion) for motion in motions])
    found = set()
    for j, coefficient in enumerate(form.coefficients):
        kept = _stepwise(table, side[:, j])
        found |= {Derivative(coefficient, name) for i, name in enumerate(names) if i not in kept}
    return frozenset(found)


def _stepwise(table: Array, side: Array) -> set[int]:
    """Return which columns are needed: all, without the least needed one after the other."""
    every = set(range(table.shape[1]))
    left, cost = _residuals(table, side, every)
    # Of the residuals of all: what is left out for good reasons colours them no more.
    alike = min(max(float(left[1:] @ left[:-1]) / max(cost, 1e-300), 0.0), 0.999)
    independent = len(left) * (1.0 - alike) / (1.0 + alike) - len(every) - 1.0
    variance = max(cost, 1e-300) / max(independent, 1.0)

    def ratio(kept: set[int], column: int) -> float:
        """Return the partial F ratio of a column beside others."""
        return (_residuals(table, side, kept - {column})[1]
                - _residuals(table, side, kept | {column})[1]) / variance

    kept = set(every)
    # One that was left out may be needed again when another one is.
    for _ in range(2 * len(every)):
        least = min(kept, key=lambda column: ratio(kept, column), default=-1)
        if least >= 0 and ratio(kept, least) < _NEEDED:
            kept.discard(least)
            continue
        most = max(every - kept, key=lambda column: ratio(kept, column), default=-1)
        if most < 0 or ratio(kept, most) < _NEEDED:
            break
        kept.add(most)
    return kept


def _residuals(table: Array, side: Array, kept: set[int]) -> tuple[Array, float]:
    columns = table[:, sorted(kept)]
    left = side - columns @ np.linalg.lstsq(columns, side, rcond=None)[0] if kept else side
    return left, float(left @ left)
