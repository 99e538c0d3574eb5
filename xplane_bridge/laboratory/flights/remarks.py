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

"""What is said of simulated aircraft of one's own before they fly."""

from __future__ import annotations

from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.start import find_start
from xplane_bridge.simulation.aircraft.studies import physics_rate


def remarks(order: Order) -> list[str]:
    """Return a line for each thing worth saying of the aircraft of an order: see physics_rate."""
    if order.link.host or order.scenario.runscript is not None:
        return []
    return [*dict.fromkeys(line for one in order.of_vehicles().values() for line in (
        physics_rate.remarks(
            one.model, find_start(one.scenario.initial, one.scenario.runway),
            one.scenario.initial.get('aircraft_path', ''), one.given_physics_rate)))]
