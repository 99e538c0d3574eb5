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

"""The 20 datagrams that the plugin reads in one frame are never reached, at any rate."""

import pytest
from scripted_xpc import (
    FRAME_LIMIT,
    HANDLING,
    names_of,
    OVERRIDES,
    RUNNING_TIME,
    telemetry,
    World,
)

from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import Polled, XpcSession

POSE = xpc.PositionReply(0, 40.0, 0.0, 100.0, 1.0, 2.0, 3.0, 1.0)


def many(rate, **options):
    """Return a session with 20 aircraft, all but the first in shared requests."""
    def polled(number):
        names = names_of(number, *(f'plane{number}/{"x" * 40}{n}' for n in range(10)))
        return Polled(names.names, names.place, lambda _: POSE)

    return XpcSession({n: polled(n) for n in range(20)}, rate=rate, **options)


@pytest.mark.slow
@pytest.mark.parametrize('fps', [10.0, 20.0, 30.0, 60.0])
@pytest.mark.parametrize('rate', [0.0, 50.0])
@pytest.mark.parametrize('handling', [0.00007, 0.0006])
def test_the_plugin_never_drops_anything_with_20_aircraft_and_commands(fps, rate, handling):
    session = many(rate, budget=1000.0)
    world = World(session, fps=fps)
    world.handling = handling
    world.call(session.start)
    world.run(1.0)
    world.call(session.watch, [f'n/{n}/1' for n in range(12)], 20.0)
    for number in range(400):
        world.call(
            session.set_controls, {'elevator': 0.3 + number % 5 / 10.0}, vehicle=number % 20)
        if number % 4 == 0:
            world.call(session.send, xpc.SetDatarefs((('n/1/1', (1.0,)),)))
        world.run(0.01)
    assert world.resets == 0
    assert max(world.handled.values()) <= 16
    assert len(telemetry(world.events, 0)) > 4.0 * min(fps, rate or fps) * 0.8


@pytest.mark.slow
@pytest.mark.parametrize('budget', [240.0, 1000.0])
def test_the_first_of_20_aircraft_keeps_its_rate(budget):
    session = many(50.0, budget=budget)
    world = World(session, fps=60.0)
    world.call(session.start)
    world.run(2.0)
    first = len(world.events)
    world.run(10.0)
    assert len(telemetry(world.events[first:], 0)) / 10.0 > 49.0
    assert len(telemetry(world.events[first:], 19)) / 10.0 > 15.0


class Preempted(World):
    """A world whose plugin is stopped by its computer, for some time after each datagram."""

    is_reading = False

    def _plan_frame(self):
        # What comes meanwhile is read in the same frame.
        if not self.is_reading:
            super()._plan_frame()

    def _handle_frame(self):
        self.is_reading = True
        super()._handle_frame()

    def _handle_next(self, frame):
        if not self._queue or self.handled[frame] + 1 == FRAME_LIMIT:
            self.is_reading = False
        super()._handle_next(frame)


@pytest.mark.parametrize('rate', [0.0, 50.0])
@pytest.mark.parametrize('handling', [0.012, 0.015, 0.02, 0.04])
def test_a_plugin_that_is_stopped_in_mid_frame_drops_nothing(rate, handling):
    session = XpcSession({0: names_of(0, RUNNING_TIME)}, rate=rate)
    world = Preempted(session, datarefs=OVERRIDES)
    world.call(session.start)
    world.run(1.0)
    world.handling = handling
    for _ in range(350):
        world.call(session.set_controls, {'elevator': 0.4})
        world.run(0.02)
    assert world.resets == 0
    world.handling = HANDLING
    world.run(0.5)
    updates = session.statistics.updates[0]
    world.run(1.0)
    # Once it has time again it is asked as often as ever.
    assert session.statistics.updates[0] >= updates + (45 if rate else 55)
