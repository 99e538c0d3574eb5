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

"""The rooms that an episode may be flown in, by name."""

from __future__ import annotations

from importlib import import_module

from xplane_bridge.control.policy.action import LEVELS
from xplane_bridge.flights.core_flight import CoreFlight
from xplane_bridge.flights.flight import Flight
from xplane_bridge.flights.scenario.scenario import Scenario
from xplane_bridge.simulators.registry import SIMULATORS

ROOMS = ('core', 'ros')


def make_flight(
    room: str, scenario: Scenario, level: str, frames_per_step: int = 1, wire: str = '',
    sim: str = 'xpc',
) -> Flight:
    """
    Return a flight in a room: ``core``, which may round as ``wire``, or ``ros``, with ``sim``.

    Raises ValueError for what there is not, ImportError without ROS.
    """
    if level not in LEVELS:
        raise ValueError(f'level: got {level!r}, expected one of {", ".join(LEVELS)}')
    if isinstance(frames_per_step, bool) or not (
            isinstance(frames_per_step, int) and frames_per_step > 0):
        raise ValueError(
            f'frames_per_step: expected a whole number above 0, got {frames_per_step!r}')
    for what, name in (('wire', wire), ('sim', sim)):
        if name and name not in SIMULATORS:
            raise ValueError(f'{what}: got {name!r}, expected one of {", ".join(SIMULATORS)}')
    if room == 'core':
        return CoreFlight(scenario, LEVELS[level], frames_per_step, wire)
    if room != 'ros':
        raise ValueError(f'room: got {room!r}, expected one of {", ".join(ROOMS)}')
    if wire:
        raise ValueError(f'wire: {wire!r} belongs to room core; in room ros it is that of sim')
    # ROS is imported in this room only.
    flight: Flight = import_module('xplane_bridge.nodes.flight.ros_flight').RosFlight(
        scenario, LEVELS[level], frames_per_step, sim)
    return flight
