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
from scripted_xpc import names_of, telemetry, World

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.xpc import Polled, XpcSession

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
