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
Mixed estimation: what flights show of the derivatives, together with what was known before.

The inverse of the covariance that the flights give is their information. That of a prior, the
inverse of its variances, is added, and the estimate is the mean weighted by both. Theil and
Goldberger, On Pure and Mixed Statistical Estimation in Economics, International Economic Review 2
(1961), pages 65 to 78; Klein and Morelli, Aircraft System Identification, AIAA 2006, chapter 5.

The flights' covariance is the one that is printed: corrected for coloured residuals, with what
sensors leave uncertain. By that of white residuals a prior would count far too little.

A prior that is not true makes any mean wrong, and its interval too. So one that contradicts the
flights is not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import math
from typing import NamedTuple

import numpy as np

from xplane_bridge.common import optional
from xplane_bridge.laboratory.identification.estimation.output_error import Estimate, Fit
from xplane_bridge.laboratory.identification.motion.equations import Derivative

CONTRADICTS = 3.0
"""Prior and flights contradict each other if they are more standard deviations of both apart."""


class Mixed(NamedTuple):
    """
    What is known of the derivatives of a form: by the ``prior``, and by the flights ``alone``.

    ``apart`` is how many standard deviations of both the flights are from the prior. Those of
    ``contradicting`` priors were not used; so it is with all that contradict ``together``.
    """

    prior: Mapping[Derivative, Estimate]
    alone: Mapping[Derivative, Estimate]
    apart: Mapping[Derivative, float]
    contradicting: frozenset[Derivative]
    together: bool = False


def mixed(fit: Fit, prior: Mapping[Derivative, Estimate]) -> tuple[Fit, Mixed]:
    """
    Return a fit with the derivatives and the covariance of both, and what each says.

    ``prior`` are independent estimates of some of its derivatives, with deviations above 0. The
    outputs are still those of the flights alone. Raises ImportError where SciPy is missing.
    """
    names = [*fit.derivatives]
    differences = {name: math.hypot(one.deviation, fit.derivatives[name].deviation)
                   for name, one in prior.items()}
    apart = {name: (fit.derivatives[name].value - one.value) / differences[name]
             for name, one in prior.items()}
    contradicting = frozenset(name for name, far in apart.items() if abs(far) > CONTRADICTS)
    used = [name for name in prior if name not in contradicting]
    told = Mixed(prior, fit.derivatives, apart, contradicting)
    if not used:
        return fit, told
    at = [names.index(name) for name in used]
    away = np.array([prior[name].value - fit.derivatives[name].value for name in used])
    both = fit.covariance[np.ix_(at, at)] + np.diag([prior[name].deviation ** 2 for name in used])
    weighted = np.linalg.solve(both, np.column_stack((away, fit.covariance[at])))
    if _is_unlikely(float(away @ weighted[:, 0]), len(used)):
        return fit, told._replace(contradicting=frozenset(prior), together=True)
    # The inverse of the sum of both informations, by the matrix inversion lemma: so a derivative
    # of which the flights show nothing is no division by zero.
    change = fit.covariance[:, at] @ weighted
    covariance = fit.covariance - change[:, 1:]
    covariance = 0.5 * (covariance + covariance.T)
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return replace(fit, covariance=covariance, derivatives={
        name: Estimate(one.value + float(more), float(deviation))
        for (name, one), more, deviation in zip(
            fit.derivatives.items(), change[:, 0], deviations, strict=True)}), told


def _is_unlikely(squares: float, count: int) -> bool:
    """Return whether a sum of squares of so many is as unlikely as CONTRADICTS of one."""
    optional.require('a prior', 'scipy', extra='fly')
    from scipy import stats
    return bool(stats.chi2.sf(squares, count) < stats.chi2.sf(CONTRADICTS ** 2, 1))
