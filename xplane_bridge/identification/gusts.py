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
Turbulent air: the vanes measure a flow that accelerometers and gyros cannot know of.

In still air the kinematics give the flow angles without the vanes' noise. In gusts they do not:
the air moves too. Then the vanes are taken at their word, smoothed, and brought to the time of the
lift that they explain.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xplane_bridge.common import optional
from xplane_bridge.identification.motion.signals import Array, Flight

# Residuals of a vane are coloured, so a gust's, if they vary so many times as much as their
# differences from sample to sample say, and by so much (rad).
_COLOURED, _SEEN = 1.3, 2.0e-3
# A polynomial of third order through so many seconds (Savitzky and Golay): what is slower than
# 3 Hz remains as it is.
_SMOOTHED, _ORDER = 0.25, 3
_FEWEST = 5


def has_gusts(residuals: Sequence[Array]) -> bool:
    """
    Return whether the vanes contradict the kinematics as only moving air can.

    ``residuals`` (n, 2) are those of angle of attack and sideslip (rad) of each manoeuvre, NaN
    where there was no sample. A wrong scale is none: it is estimated, and leaves noise only.
    """
    for column in range(2):
        known = [one[np.isfinite(one[:, column]), column] for one in residuals]
        known = [one for one in known if len(one) >= _FEWEST]
        if not known:
            continue
        whole = float(np.mean(np.concatenate(known) ** 2))
        noise = float(np.mean(np.concatenate([np.diff(one) for one in known]) ** 2)) / 2.0
        if whole > max(_COLOURED * noise, _SEEN ** 2):
            return True
    return False


def smoothed(part: Flight, name: str) -> Array:
    """Return a signal without gaps and without what is faster than an aircraft."""
    optional.require('an identification in turbulent air', 'scipy', extra='fly')
    from scipy import signal
    values = part.filled(name)
    step = float(part.times[-1] - part.times[0]) / (len(part.times) - 1)
    length = 2 * round(_SMOOTHED / step / 2.0) + 1
    if not _ORDER < length <= len(values):
        return values
    found: Array = signal.savgol_filter(values, length, _ORDER)
    return found
