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

Regressors are added in the order in which they explain most of what is left, and taken out again
where others have made them needless, by partial F ratios. Residuals of a flight are coloured: so
many samples count as much as fewer that are independent. Klein and Morelli, Aircraft System
Identification, AIAA 2006, section 5.4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xplane_bridge.identification.estimation.equation_error import coefficients, regressor
from xplane_bridge.identification.motion.equations import Derivative, Form, Motion
from xplane_bridge.identification.motion.signals import Array

# A regressor is needed if its partial F ratio is above: 99.9 % sure for some hundred samples.
_NEEDED = 11.0


def needless(form: Form, motions: Sequence[Motion]) -> frozenset[Derivative]:
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
    """Return which columns are needed."""
    kept: set[int] = set()
    for _ in range(2 * table.shape[1]):
        _, cost = _residuals(table, side, kept)
        gains = {
            i: _ratio(cost, *_residuals(table, side, kept | {i}), len(kept) + 1)
            for i in range(table.shape[1]) if i not in kept}
        best = max(gains, key=lambda i: gains[i], default=-1)
        if best < 0 or gains[best] < _NEEDED:
            break
        kept.add(best)
        left, cost = _residuals(table, side, kept)
        for i in sorted(kept - {best}):
            _, without = _residuals(table, side, kept - {i})
            if _ratio(without, left, cost, len(kept)) < _NEEDED:
                kept.discard(i)
                left, cost = _residuals(table, side, kept)
    return kept


def _residuals(table: Array, side: Array, kept: set[int]) -> tuple[Array, float]:
    columns = table[:, sorted(kept)]
    left = side - columns @ np.linalg.lstsq(columns, side, rcond=None)[0] if kept else side
    return left, float(left @ left)


def _ratio(without: float, left: Array, cost: float, parameters: int) -> float:
    """Return the partial F ratio of a regressor: costs without and with it, of these residuals."""
    alike = float(left[1:] @ left[:-1]) / max(cost, 1e-300)
    alike = min(max(alike, 0.0), 0.999)
    independent = len(left) * (1.0 - alike) / (1.0 + alike)
    return (without - cost) / max(cost, 1e-300) * max(independent - parameters - 1.0, 1.0)
