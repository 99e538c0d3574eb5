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

"""The quality of parameters as it is reported: figures of each, and what is wrong with which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOVING, CONSTANT, STUCK = range(3)
"""Whether a parameter changes: it does, it never has, it has stopped. See UlyssixQuality.msg."""

_COUNTED = {
    'missing': 'gaps', 'late': 'late', 'invalid': 'invalid', 'out of limits': 'out_of_limits'}


@dataclass(frozen=True, slots=True)
class ParameterQuality:
    """
    The quality of all parameters: arrays with one element per name.

    samples were received. rate was achieved, expected_rate is the usual one (Hz; 0 unknown).
    age: by how many seconds the newest sample is older than the newest of all. gaps are missing
    samples by the usual rate, late those that arrived after newer ones, invalid NaN or infinite,
    out_of_limits outside the map's limits. minimum and maximum are of the valid samples, NaN
    without any. unchanged: seconds since the value was another. constant: MOVING, CONSTANT or
    STUCK. stopped: silent for longer than a second and three of its intervals.
    """

    names: tuple[str, ...]
    samples: NDArray[np.int64]
    rate: NDArray[np.float64]
    expected_rate: NDArray[np.float64]
    age: NDArray[np.float64]
    gaps: NDArray[np.int64]
    late: NDArray[np.int64]
    invalid: NDArray[np.int64]
    out_of_limits: NDArray[np.int64]
    minimum: NDArray[np.float64]
    maximum: NDArray[np.float64]
    unchanged: NDArray[np.float64]
    constant: NDArray[np.uint8]
    stopped: NDArray[np.bool_]

    def faults(self, since: ParameterQuality | None = None) -> dict[str, tuple[str, ...]]:
        """Return the parameters with each kind of fault, by kind: all, or new ones ``since``."""
        if since is not None and since.names != self.names:
            since = self
        return {kind: tuple(self.names[at] for at in np.flatnonzero(which))
                for kind, which in self._found(since).items() if which.any()}

    def lines(self, most: int | None = None) -> dict[str, str]:
        """
        Return what is wrong with each parameter that has a fault, as text by name.

        ``most`` is how many are described at most; the others have an empty text.
        """
        found = self._found(None)
        faulty = np.flatnonzero(np.any(list(found.values()), axis=0)).tolist()
        return {self.names[at]: '' for at in faulty} | {
            self.names[at]: ', '.join(
                self._line(kind, at) for kind, which in found.items() if which[at])
            for at in faulty[:most]}

    def _found(self, since: ParameterQuality | None) -> dict[str, NDArray[np.bool_]]:
        """Return by kind which parameters have a fault."""
        counted: dict[str, NDArray[np.bool_]] = {
            kind: getattr(self, field) > (0 if since is None else getattr(since, field))
            for kind, field in _COUNTED.items()}
        return {**counted, 'stuck': self.constant == STUCK, 'stopped': self.stopped}

    def _line(self, kind: str, at: int) -> str:
        if kind in _COUNTED:
            return f'{int(getattr(self, _COUNTED[kind])[at])} {kind}'
        return (f'stuck for {self.unchanged[at]:.1f} s' if kind == 'stuck' else
                f'stopped {self.age[at]:.1f} s ago')
