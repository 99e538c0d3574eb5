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

"""How well a model foretells a flight that it was not made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from xplane_bridge.laboratory.identification.motion.signals import Array


class Agreement(NamedTuple):
    """
    How well an output agrees: the part of its variance explained, and Theil's coefficient.

    ``r_squared`` is 1 for a perfect model, ``theil`` 0; below 0.3 it is usually good enough
    (Jategaonkar, Flight Vehicle System Identification, section 11.3.4).
    """

    r_squared: float
    theil: float


def agreement(measured: Sequence[Array], estimated: Sequence[Array]) -> Agreement:
    """Return the agreement of an output over all manoeuvres; NaN where nothing was measured."""
    y, z = np.concatenate(estimated), np.concatenate(measured)
    known = np.isfinite(z)
    spread = np.concatenate([
        one - np.nanmean(one) if np.isfinite(one).any() else one for one in measured])[known]
    y, z = y[known], z[known]
    if not len(z):
        return Agreement(np.nan, np.nan)
    error = float(np.sqrt(np.mean((y - z) ** 2)))
    size = float(np.sqrt(np.mean(y * y)) + np.sqrt(np.mean(z * z)))
    total = float(np.mean(spread ** 2))
    return Agreement(
        1.0 - error ** 2 / total if total else np.nan, error / size if size else np.nan)
