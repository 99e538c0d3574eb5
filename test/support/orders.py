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

"""Orders for tests, as the command line of experiment makes them, and flights of them."""

from argparse import ArgumentParser, Namespace

from xplane_bridge.commands import options
from xplane_bridge.laboratory.flights.flight import FlightState
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.refusals import OrderError, refusals
from xplane_bridge.laboratory.open_flight import open_flight


def order_of(scenario, **given):
    """Return the order of a scenario by options of the command line, by their names in Python."""
    parser = ArgumentParser()
    options.add_options(parser)
    parser.add_argument('--namespace', default='/experiment')
    defaults = vars(parser.parse_args([]))
    assert given.keys() <= defaults.keys()
    return options.make_order(Namespace(**defaults | given), scenario)


def check(order):
    """Raise OrderError if an order cannot be flown."""
    if sentences := refusals(order):
        raise OrderError(sentences)


def flown(scenario, seed=0, law=None, sensors='', rounding=''):
    """Return a scenario flown to its end in this process; raise what it failed by."""
    flight = open_flight(Order(scenario, seed=seed, sensors=sensors, rounding=rounding), law=law)
    if flight.fly() is FlightState.FAILED:
        raise flight.error
    return flight
