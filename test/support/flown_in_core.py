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

"""A scenario that is flown in this process, as identification takes it. It needs JSBSim."""

import yaml

from xplane_bridge.laboratory.flights.core import CoreFlight
from xplane_bridge.laboratory.flights.flight import Silent
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.identification.reading.core import read_core


def flown(text, **settings):
    """Return the flight of a scenario, given as YAML, and the step of its simulator."""
    order = Order(scenario.parse('flown', yaml.safe_load(text)), **settings)
    with CoreFlight(order, Silent()) as flight:
        return read_core(flight)
