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

from dataclasses import replace

from xplane_bridge.aircraft.aircraft import Aircraft


def standing_compressions(aircraft: Aircraft) -> tuple[float, ...]:
    """Return the compressions (m) of its struts when it stands, in JSBSim's order."""
    if not aircraft.initial.parked:
        aircraft = Aircraft(
            aircraft.model, replace(aircraft.initial, parked=True),
            aircraft_path=aircraft.aircraft_path)
    return aircraft.sampler.contacts().compressions
