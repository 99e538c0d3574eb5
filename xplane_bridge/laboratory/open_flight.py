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

"""Where a flight is flown: decided here, and only here."""

from __future__ import annotations

from importlib import import_module

from xplane_bridge.laboratory.flights.controller import ControlLaw
from xplane_bridge.laboratory.flights.flight import Display, Flight, Silent
from xplane_bridge.laboratory.flights.order import CORE, Order
from xplane_bridge.laboratory.flights.refusals import OrderError, refusals


def open_flight(
    order: Order, display: Display | None = None, law: ControlLaw | None = None
) -> Flight:
    """
    Return a flight of an order, which has not begun.

    ``law`` flies in this process instead of the autopilot. Raises OrderError, a ValueError, with
    every reason why the order cannot be flown, and ImportError without what it needs.
    """
    sentences = refusals(order, load_policies=False, own_law=law is not None)
    if law is not None and order.sim != CORE:
        sentences.append(f'a law of your own is flown in {CORE}, not on {order.sim}')
    if law is not None and order.scenario.vehicles:
        sentences.append(
            f'a law of your own flies one aircraft, and scenario {order.scenario.name} has '
            f'{len(order.scenario.vehicles)}: give each its targets between steps')
    if sentences:
        raise OrderError(sentences)
    # Only what a flight needs is imported: ROS, or a simulator in this process.
    if order.sim == CORE:
        from xplane_bridge.laboratory.flights.core import CoreFlight
        return CoreFlight(order, display or Silent(), law)
    try:
        module = import_module('xplane_bridge.laboratory.nodes.flight.flight')
    except ModuleNotFoundError as error:
        raise ImportError(
            f'a flight on {order.sim} needs ROS 2 and a workspace in which this package is built: '
            f'there is no module {error.name}; {CORE} needs neither') from error
    flight: Flight = module.RosFlight(order, display or Silent())
    return flight
