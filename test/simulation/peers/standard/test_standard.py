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

"""The standard simulator interface's states and results, without ROS, by hand from its text."""

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.server import Server, SimulatedComputer
from xplane_bridge.simulation.peers.standard.control import (
    INVALID_POSE,
    make_bounds,
    RequestRefusedError,
    StandardControl,
)
from xplane_bridge.simulation.peers.standard.filters import Box, Sphere, UnsupportedBoundsError
from xplane_bridge.simulation.peers.world import World

# SimulationState.msg and Result.msg, as released.
STOPPED, PLAYING, PAUSED, QUITTING = range(4)
FEATURE_UNSUPPORTED, OPERATION_FAILED = 0, 4
ALREADY_IN_TARGET_STATE, STATE_TRANSITION_ERROR = 101, 102


class Bench:
    """A simulation in which frames pass on request, and its standard control."""

    def __init__(self):
        self.simulation = SimulatedComputer((), lambda: World(Aircraft()))
        self.simulation.open(0.0)
        self.server = Server(self.simulation)
        self.quits = 0
        self.control = StandardControl(self.server, self.simulation.reset_flight, self.quit)

    @property
    def time(self):
        return self.simulation.world.total_running_time

    def quit(self):
        self.quits += 1

    def frames(self, count=1):
        for _ in range(count):
            self.simulation.frame(0.0)

    def refused(self, result, function, *arguments):
        with pytest.raises(RequestRefusedError) as error:
            function(*arguments)
        assert error.value.result == result
        return str(error.value)


@pytest.fixture
def bench():
    return Bench()


def test_it_plays_pauses_and_stops(bench):
    control = bench.control
    assert control.state == PLAYING
    bench.frames(60)
    control.set_state(PAUSED)
    bench.frames(60)
    assert (control.state, bench.time) == (PAUSED, pytest.approx(1.0))
    control.set_state(STOPPED)
    bench.frames(60)
    assert (control.state, bench.time) == (STOPPED, pytest.approx(1.0))
    assert bench.simulation.world.flight_time == 0.0
    # When stopped it may start paused, without any step.
    control.set_state(PAUSED)
    assert (control.state, bench.time) == (PAUSED, pytest.approx(1.0))
    control.set_state(PLAYING)
    bench.frames(60)
    assert bench.time == pytest.approx(2.0)
    control.set_state(STOPPED)
    control.set_state(PLAYING)
    assert control.state == PLAYING


@pytest.mark.parametrize('state', [STOPPED, PLAYING, PAUSED])
def test_where_it_is_already_it_says_so(bench, state):
    if state != PLAYING:
        bench.control.set_state(state)
    bench.refused(ALREADY_IN_TARGET_STATE, bench.control.set_state, state)
    assert bench.control.state == state


def test_states_that_no_client_may_set_are_refused(bench):
    for state in (4, 5, 200):
        assert 'stopped' in bench.refused(FEATURE_UNSUPPORTED, bench.control.set_state, state)
    assert bench.control.state == PLAYING


def test_it_follows_what_others_do_with_the_time(bench):
    bench.control.set_state(STOPPED)
    bench.server.pause(False)
    assert bench.control.state == PLAYING
    bench.frames()
    bench.server.pause(True)
    assert bench.control.state == PAUSED
    bench.simulation.world.paused, bench.simulation.paused = True, False
    assert bench.control.state == PAUSED
    bench.control.set_state(PLAYING)
    before = bench.time
    bench.frames()
    assert bench.time > before


def test_pause_at_is_stronger(bench):
    bench.server.pause_at(0.0)
    assert bench.control.state == PAUSED
    assert 'pause_at' in bench.refused(STATE_TRANSITION_ERROR, bench.control.set_state, PLAYING)


def test_quitting_ends_the_program_where_it_is_ours(bench):
    bench.control.set_state(QUITTING)
    assert bench.quits == 1
    guest = StandardControl(bench.server, bench.simulation.reset_flight)
    bench.refused(STATE_TRANSITION_ERROR, guest.set_state, QUITTING)


def test_only_the_state_is_reset_and_time_goes_on(bench):
    bench.frames(60)
    for scope in (0, 1, 3, 4, 6, 255):
        assert 'scope 2' in bench.refused(FEATURE_UNSUPPORTED, bench.control.reset, scope)
    assert bench.simulation.world.flight_time == pytest.approx(1.0)
    bench.control.reset(2)
    assert bench.control.state == PLAYING
    assert (bench.time, bench.simulation.world.flight_time) == (pytest.approx(1.0), 0.0)
    for state in (STOPPED, PAUSED):
        bench.control.set_state(state)
        bench.control.reset(2)
        assert bench.control.state == state


def test_steps_are_for_a_paused_simulation(bench):
    for state in (None, STOPPED):
        if state is not None:
            bench.control.set_state(state)
        assert 'paused' in bench.refused(OPERATION_FAILED, bench.control.begin_steps, 1)
    bench.control.set_state(PAUSED)
    done = []
    stepping = bench.control.begin_steps(7)
    assert bench.control.state == PLAYING
    assert 'other steps' in bench.refused(OPERATION_FAILED, bench.control.begin_steps, 1)
    # At least one per slice; each is reported.
    while not stepping.done:
        bench.control.advance(0.0, lambda now: done.append(now.completed))
    bench.control.finish(stepping)
    assert done == [1, 2, 3, 4, 5, 6, 7]
    assert (bench.control.state, bench.time) == (PAUSED, pytest.approx(7 / 60))
    # An empty list selects none.
    stepping = bench.control.begin_steps(0)
    bench.control.advance(0.0)
    bench.control.finish(stepping)
    assert bench.time == pytest.approx(7 / 60)


@pytest.mark.parametrize('state', [PLAYING, PAUSED, STOPPED])
def test_a_state_that_is_set_ends_the_steps(bench, state):
    bench.control.set_state(PAUSED)
    stepping = bench.control.begin_steps(1000)
    bench.control.advance(0.0)
    bench.control.set_state(state)
    bench.control.advance(0.0)
    assert bench.control.state == state
    sentence = bench.refused(OPERATION_FAILED, bench.control.finish, stepping)
    assert 'after 1 of 1000 steps' in sentence


def test_steps_end_when_time_is_let_go_or_the_simulator_dies(bench):
    bench.control.set_state(PAUSED)
    stepping = bench.control.begin_steps(1000)
    bench.server.pause(False)
    bench.control.advance(0.0)
    assert 'not paused' in bench.refused(OPERATION_FAILED, bench.control.finish, stepping)
    bench.server.pause(True)
    stepping = bench.control.begin_steps(1000)
    bench.server.error = RuntimeError('X-Plane has crashed')
    bench.control.advance(0.0)
    assert 'crashed' in bench.refused(OPERATION_FAILED, bench.control.finish, stepping)
    for call, given in ((bench.control.set_state, PLAYING), (bench.control.reset, 2),
                        (bench.control.begin_steps, 1)):
        assert 'crashed' in bench.refused(OPERATION_FAILED, call, given)
    assert 'crashed' in bench.refused(OPERATION_FAILED, lambda: bench.control.state)


def test_steps_do_not_move_what_its_own_protocol_paused(bench):
    bench.control.set_state(PAUSED)
    bench.simulation.world.paused = True
    assert 'protocol' in bench.refused(OPERATION_FAILED, bench.control.begin_steps, 1)


def test_bounds():
    points = [(1.0, 2.0, 3.0), (4.0, 5.0, 6.0)]
    assert make_bounds(0, []) is None
    assert make_bounds(1, points) == Box(*points)
    assert make_bounds(3, points) == Sphere((1.0, 2.0, 3.0), 4.0)
    for kind in (2, 9):
        with pytest.raises(UnsupportedBoundsError):
            make_bounds(kind, points)
    for kind, bad in ((1, points[:1]), (3, []), (3, [points[0], (-1.0, 0.0, 0.0)]),
                      (3, [points[0], (float('nan'), 0.0, 0.0)])):
        with pytest.raises(ValueError, match='bounds'):
            make_bounds(kind, bad)
    assert INVALID_POSE == 101
