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
What a linear model with simultaneous signals leaves out, as the steady part of its bounds.

Noise averages out over a flight, and so do bounds that are made of it. A slope that is not the
same at all deflections does not, nor does a signal that is a step of a simulator older than
another one in the same row, nor what an airspeed that changes does beside the dynamic pressure:
they make the same error each time. They are taken as unknown, of these sizes, and what they would
change in the estimate is added to its covariance. Maine and
Iliff, Application of Parameter Estimation to Aircraft Stability and Control, NASA RP-1168 (1986):
bounds by noise alone are too small, several times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xplane_bridge.laboratory.identification.motion.signals import Array

VARIES = 0.006
"""By this part a slope is another one at the largest deviation flown: a standard deviation."""

BY_SPEED: Mapping[str, float] = {'C_L': 0.03, 'C_m': 0.02}
"""By so much a coefficient changes by the logarithm of the airspeed: a standard deviation."""

KINDS = 3
"""Terms of each slope: one that is the same both ways, one that is not, and a lag."""


def unsteady(
    slopes: Array, regressors: Sequence[Array], times: Sequence[Array], late: float,
    varies: float = VARIES,
) -> list[Array]:
    """
    Return what each slope may make otherwise, in each manoeuvre (n, c, KINDS * r).

    slopes (c, r) are those of c coefficients by r regressors, these are (n, r) in each manoeuvre
    at ``times`` (n,). Regressors may be so ``late`` (s) against one another, and slopes vary by
    the part ``varies``.
    """
    deviations = [one - one[0] for one in regressors]
    most = np.maximum(np.max([np.abs(one).max(axis=0) for one in deviations], axis=0), 1e-12)
    found = []
    for one, at in zip(deviations, times, strict=True):
        terms = np.concatenate((
            varies * one * np.abs(one) / most, varies * one ** 2 / most,
            late * np.gradient(one, at, axis=0)), axis=1)
        found.append(terms[:, None] * np.tile(slopes, KINDS))
    return found
