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

"""An aircraft that stands: what its struts carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xplane_bridge.simulation.aircraft.aircraft import Aircraft

# A strut that carries next to nothing when standing is compared with this (m).
_LEAST_COMPRESSION = 0.01


def standing_compressions(aircraft: Aircraft) -> tuple[float, ...]:
    """Return the compressions (m) of its struts when it stands, in JSBSim's order."""
    if not aircraft.initial.parked:
        aircraft = Aircraft(
            aircraft.model, replace(aircraft.initial, parked=True), aircraft.dt,
            aircraft_path=aircraft.aircraft_path)
    return aircraft.sampler.contacts().compressions


def strut_compression(compressions: Sequence[float], standing: Sequence[float]) -> float:
    """Return the greatest compression of a strut, as a multiple of that when standing."""
    return max((now / max(usual, _LEAST_COMPRESSION)
                for now, usual in zip(compressions, standing, strict=True)), default=0.0)
