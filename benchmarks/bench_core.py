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
The flight in one process, without ROS: how many times real time one core flies.

Everything is measured in the same run, in turns, by processor time; the limit is JSBSim alone.
"""

from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

from shortest import is_shortest, usual
from tables import Goals, show

from xplane_bridge.common.timing import FRAME
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.scenario import load
from xplane_bridge.laboratory.open_flight import open_flight
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.world import World

ROUNDS = usual(5, 1)
FRAMES = usual(1200, 10)
RESETS = usual(20, 1)
# JSBSim's own steps of the same flight.
GOAL = 3.0
SCENARIOS = Path(__file__).resolve().parent.parent / 'xplane_bridge' / 'data' / 'scenarios'


def jsbsim(rate: int) -> Callable[[], Any]:
    """Return JSBSim's own step of the trimmed c172p, ``rate`` per second."""
    return Aircraft(dt=1.0 / rate)._model._fdm.run  # type: ignore[no-any-return]


def microseconds(work: Callable[[], Any], times: int) -> float:
    """Return the processor time of one call."""
    begin = process_time()
    for _ in range(times):
        work()
    return (process_time() - begin) / times * 1e6


def flown(name: str) -> float:
    """Return the processor time of a frame of a scenario, in microseconds."""
    flight = open_flight(Order(load(str(SCENARIOS / f'{name}.yaml'))))
    flight.start()
    begin = process_time()
    if is_shortest():
        flight.step(frames=FRAMES)
    else:
        flight.fly()
    return (process_time() - begin) / (flight.flown / FRAME) * 1e6


def one_process(goals: Goals) -> None:
    """Measure frames, from JSBSim's own to a whole flight's."""
    at_60, at_120, aircraft, world = jsbsim(60), jsbsim(120), Aircraft(), World(Aircraft())
    hold = {'elevator': 0.0, 'aileron': 0.0, 'rudder': 0.0, 'throttle': 0.7}

    def read() -> None:
        aircraft.set_controls(**hold)
        aircraft.advance(FRAME)
        aircraft.state  # noqa: B018 -- read it

    works: dict[str, Callable[[], float]] = {
        'JSBSim alone, 60 steps/s': lambda: microseconds(at_60, FRAMES),
        'JSBSim alone, 120 steps/s as flown': lambda: 2.0 * microseconds(at_120, FRAMES),
        'Aircraft.advance': lambda: microseconds(lambda: aircraft.advance(FRAME), FRAMES),
        'with controls set and the state read': lambda: microseconds(read, FRAMES),
        'World.advance, 19 others': lambda: microseconds(lambda: world.advance(FRAME), FRAMES),
        'whole flight, steps': lambda: flown('steps'),
        'whole flight, turbulence': lambda: flown('turbulence'),
    }
    best = dict.fromkeys(works, float('inf'))
    for _ in range(ROUNDS):
        for name, work in works.items():
            best[name] = min(best[name], work())
    limit = best['JSBSim alone, 120 steps/s as flown']
    rows = []
    for name, value in best.items():
        factor = FRAME * 1e6 / value
        rows.append((
            name, f'{value:.1f} us', f'{value / limit:.2f}',
            goals.at_most(value / limit, GOAL) if name.startswith('whole') else '',
            f'{factor:.0f}'))
    show(f'one core, c172p, a frame of 1/60 s, best of {ROUNDS}',
         ('work', 'a frame', 'of JSBSim', f'goal <= {GOAL:g}', 'times real time'), rows)


def reset() -> None:
    """Measure the reset of a flight, and JSBSim's trim in it."""
    aircraft = Aircraft()
    rows = [
        (name, f'{min(microseconds(work, RESETS // ROUNDS) for _ in range(ROUNDS)) / 1e3:.1f} ms')
        for name, work in (
            ('Aircraft.reset', aircraft.reset),
            ('of it: a new model, not placed', aircraft._build),
        )]
    show(f'one core, c172p, trimmed in the air, best of {ROUNDS}', ('work', 'a reset'), rows)


def main() -> int:
    """Print the tables; return 1 if the goal was missed."""
    goals = Goals()
    one_process(goals)
    reset()
    return int(goals.missed > 0)
