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
Several aircraft in one process, on one clock: how many times real time one core flies them.

Beside them fly as many aircraft of JSBSim alone, each a step after the other as here, in the same
run and in turns, by processor time.
"""

from collections.abc import Callable
from time import process_time
from typing import Any

from shortest import usual
from tables import Goals, show

from xplane_bridge.common.timing import FRAME, PHYSICS_RATE
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.scenario import parse
from xplane_bridge.laboratory.open_flight import open_flight
from xplane_bridge.simulation.aircraft.aircraft import Aircraft

ROUNDS = usual(3, 1)
COUNTS = usual((1, 10, 100), (1, 2))
# Of all aircraft together.
FRAMES = usual(3000, 20)
GOAL = 3.0
# Of FastSwarmSim, as published: C++ on a desktop, multirotors.
PUBLISHED = {1: '100', 10: '30', 100: '4'}


def scenario(count: int, formation: bool) -> dict[str, Any]:
    """Return a leader that turns, and others in two lines beside it, which follow it or do not."""
    apart = 40.0 if formation else 500.0
    return {
        'duration': 600.0, 'initial': {'altitude': 1500.0, 'heading_deg': 90.0, 'airspeed': 48.0},
        'events': [{'at': 0.0, 'engage': True}], 'midair': {'ends': False},
        'vehicles': [
            {'name': 'leader', 'events': [{'at': 2.0, 'change': {'heading_deg': 40.0}}],
             'criteria': [{'figure': 'duration', 'at_least': 0.0}]},
            *({'name': f'uav{number}', 'initial': (place := {
                'forward': -apart * ((number + 1) // 2),
                'right': apart * ((number + 1) // 2) * (1 if number % 2 else -1)}),
               **({'formation': {'leader': 'leader', 'begin': 0.1, **place}}
                  if formation else {})}
              for number in range(1, count))],
        'criteria': []}


def jsbsim(count: int) -> Callable[[], float]:
    """Return what measures a frame of as many aircraft of JSBSim alone, in microseconds each."""
    steps: list[Callable[[], Any]] = [
        Aircraft(dt=1.0 / PHYSICS_RATE)._model._fdm.run for _ in range(count)]
    frames = FRAMES // count

    def measure() -> float:
        begin = process_time()
        for _ in range(frames):
            for step in steps:
                step()
                step()
        return (process_time() - begin) / (frames * count) * 1e6

    return measure


def fleet(count: int, formation: bool) -> Callable[[], float]:
    """Return the same of a fleet's flight."""
    flight = open_flight(Order(parse('fleet', scenario(count, formation))))
    flight.start()
    # The first frames load what the others use.
    flight.step(frames=20)
    frames = FRAMES // count

    def measure() -> float:
        begin = process_time()
        flight.step(frames=frames)
        return (process_time() - begin) / (frames * count) * 1e6

    return measure


def several(goals: Goals) -> None:
    """Measure fleets that fly apart, and in formation."""
    rows = []
    for count in COUNTS:
        works = jsbsim(count), fleet(count, False), fleet(count, True)
        limit, value, formed = (min(found) for found in zip(
            *(tuple(work() for work in works) for _ in range(ROUNDS)), strict=True))
        rows.append((
            count, f'{limit:.1f} us', f'{value:.1f} us', f'{value / limit:.2f}',
            goals.at_most(value / limit, GOAL), f'{FRAME * 1e6 / value / count:.1f}',
            f'{formed / limit:.2f}' if count > 1 else '', PUBLISHED.get(count, '')))
    show(f'one core, c172p, a frame of 1/60 s of one aircraft, best of {ROUNDS}',
         ('aircraft', 'JSBSim alone', 'whole flight', 'of JSBSim', f'goal {GOAL:.0f}',
          'times real time', 'in formation, of JSBSim', 'FastSwarmSim, published'), rows)


def main() -> int:
    """Print the table; return 1 if the goal was missed."""
    goals = Goals()
    several(goals)
    return int(goals.missed > 0)
