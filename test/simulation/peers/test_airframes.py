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

"""What happens to simulated airframes is told once, of whom, and with which step would do."""

import math

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from sick_aircraft import write

from xplane_bridge.bridges.conversions.airframe_events import EnvelopeLimits
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.terrain import HOME_ELEVATION
from xplane_bridge.simulation.peers.airframes import AirframeLines, AirframeNews
from xplane_bridge.simulation.peers.world import World

FRAME = 1.0 / 60.0


def lines(world, seconds):
    """Return what is said of a world in some seconds."""
    news, said = AirframeLines(), []
    for _ in range(round(seconds / FRAME)):
        world.advance(FRAME)
        said += news.new(world)
    return news, said


def test_what_diverges_is_told_with_the_step_that_would_do(tmp_path):
    world = World(Aircraft('sick', Initial(airspeed_kt=104.0), aircraft_path=write(tmp_path)))
    world.aircraft.set_controls(elevator=0.1)
    news, said = lines(world, 1.0)
    told, = said
    assert told.startswith('sick crashed at 0.')
    assert told.endswith('needs 960 steps per second instead of 120: physics_rate; it lies there '
                         'until it is placed anew')
    # Who asks the aircraft hears the same.
    assert world.aircraft.crash.outcome in told
    world.reset_flight()
    assert [*news.new(world)] == ['sick flies again']


def test_who_of_several_struck_the_ground_is_named():
    low = Initial(altitude_msl=HOME_ELEVATION + 30.0, airspeed_kt=100.0)
    world = World(Aircraft(), fleet=[Aircraft('c310', low)])
    world.flown[1].set_controls(elevator=-1.0)
    world.advance(3.0)
    world.flown[1].set_controls(elevator=-1.0)
    _, said = lines(world, 10.0)
    told, = said
    assert told.startswith('aircraft 1 (c310) crashed at ')
    assert 'struck the ground with ' in told


def test_what_is_beyond_its_envelope_is_said_when_it_gets_there_and_the_worst_is_kept():
    aircraft = Aircraft(initial=Initial(airspeed_kt=100.0))
    aircraft.bear(EnvelopeLimits(never_exceed_speed=53.0, load_factor_low=-9.0))
    world, news, found = World(aircraft), AirframeNews(), []
    aircraft.set_controls(elevator=-0.1, throttle=1.0)
    said = AirframeLines()
    told = []
    for _ in range(300):
        world.advance(FRAME)
        told += said.new(world)
        found += news.exceedances(world)
    first, = told
    assert first.startswith('c172p beyond the envelope at ')
    assert ': airspeed 53.0 m/s, beyond 53.0 m/s' in first
    assert len(found) > 1
    number, (worst,) = found[-1]
    assert (number, worst.limit_name) == (0, 'never_exceed_speed')
    assert worst.value > 53.1
    assert math.isclose(worst.at, world.total_running_time, abs_tol=FRAME)
    # The next flight begins without them, and its time goes on.
    world.reset_flight()
    assert [*news.exceedances(world)] == [(0, [])]
