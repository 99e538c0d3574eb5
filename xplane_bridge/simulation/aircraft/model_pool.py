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
Models that nobody flies any more, kept for the next flight of the same aircraft.

To load one takes as long as to fly 200 frames. A kept one is renewed, equal to one that was loaded
to the last bit (renewal.py), or it is dropped. One whose files have changed is dropped too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
import os
import threading

from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.model import Model
from xplane_bridge.simulation.aircraft.plant import AS_IN_ITS_FILE, Plant
from xplane_bridge.simulation.aircraft.terrain import Airfield, elevation_with, HOME

# Aircraft that one process flies in turns; each keeps a few MB.
_MOST_KEPT = 8


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """
    What a model is made of: its name, its folder, and the step in s.

    ``settings`` are JSBSim properties that it begins with; the ground is flat around ``airfield``;
    in ``plant`` it differs from its file, and ``controls`` is the file that says what moves it.
    """

    name: str
    dt: float
    path: str = ''
    settings: tuple[tuple[str, float], ...] = ()
    airfield: Airfield = HOME
    plant: Plant = AS_IN_ITS_FILE
    controls: str = ''

    @classmethod
    def of(cls, name: str, dt: float, path: str, settings: Mapping[str, float],
           initial: Initial) -> ModelSpec:
        """Return the kind that begins so; relative paths are those of now."""
        path, controls = (one and os.path.abspath(os.path.expanduser(one))
                          for one in (path, initial.controls))
        return cls(name, dt, path, tuple(settings.items()), initial.airfield,
                   initial.plant.of_model(), controls)

    def load(self, seed: int, *, outputs: bool = False) -> Model:
        """
        Return a model: one that was kept, as good as new, or a new one.

        ``outputs``: JSBSim may open the files and sockets that the model names; that one is
        always new. Raises what Model raises.
        """
        while not outputs and (kept := _taken(self)) is not None:
            if kept.origin.is_current and kept.renew(seed):
                return kept
        loaded = Model(self.name, self.dt, seed, self.path, dict(self.settings), outputs=outputs,
                       plant=self.plant, controls=self.controls)
        loaded.renew(seed)
        loaded.elevation_m = elevation_with(self.airfield)
        return loaded

    def keep(self, model: Model) -> None:
        """Keep a model of this kind, if it can be renewed; nobody may read it any more."""
        if model.is_renewable:
            with _lock:
                _kept.append((self, model))


_kept: deque[tuple[ModelSpec, Model]] = deque(maxlen=_MOST_KEPT)
_lock = threading.Lock()


def _taken(kind: ModelSpec) -> Model | None:
    """Return the model of a kind that was kept last, which is kept no longer."""
    with _lock:
        for at in range(len(_kept) - 1, -1, -1):
            if _kept[at][0] == kind:
                model = _kept[at][1]
                del _kept[at]
                return model
    return None
