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

"""Many aircraft in one request: rates, budget, one frame each, and those that do not fit in."""

from collections import Counter
from dataclasses import replace

import pytest
from scripted_xpc import (
    busiest_second,
    check_telemetry,
    frame_of,
    latitude,
    names_of,
    OVERRIDES,
    RUNNING_TIME,
    telemetry,
    World,
)

from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import Polled, XpcSession

pytestmark = pytest.mark.slow

# As long as X-Plane's own names are, and as many for each aircraft: two of them are arrays.
SCALARS = [f'sim/n/{number:.28f}/1' for number in range(12)]


def other(aircraft, lacking=frozenset(), size=16):
    """Return what to poll of an aircraft whose pose its datarefs give, unless it is lacking."""
    arrays = tuple(f'sim/n/{aircraft}{number:.28f}/{size}' for number in (1, 2))
    own = *(name.replace('sim/n/', f'sim/n/{aircraft}') for name in SCALARS), *arrays
    names = names_of(aircraft, RUNNING_TIME, *own)

    def pose(values):
        plane = f'plane{aircraft}/'
        if aircraft in lacking or plane + 'frame' not in values:
            return None
        return xpc.PositionReply(
            0, latitude(int(values[plane + 'frame'])) + 1e-6, values[plane + 'number'], 100.0,
            1.0, 2.0, 3.0, 1.0)

    return Polled(names.names, names.place, pose, dict.fromkeys(arrays, size))


def fleet(count=20, lacking=frozenset(), size=16, **options):
    aircraft = {0: names_of(0, RUNNING_TIME)} | {
        n: other(n, lacking, size) for n in range(1, count)}
    return XpcSession(aircraft, **({'rate': 50.0} | options))


def started(session, **options):
    world = World(session, datarefs=OVERRIDES, **options)
    world.call(session.start)
    world.run(2.0)
    world.sent.clear()
    return world


def rates(events, seconds):
    return {n: count / seconds for n, count in Counter(
        update.vehicle for _, update in telemetry(events)).items()}


def asked_alone(world):
    """Return the numbers of the aircraft that were asked for their position (GETP)."""
    return {data[5] for _, _, data in world.sent if data.startswith(b'GETP')}


def test_19_others_arrive_25_times_per_second_within_the_default_budget():
    world = started(fleet())
    events = world.run(4.0)
    each = rates(events, 4.0)
    assert set(each) == set(range(20))
    assert each.pop(0) == pytest.approx(50.0, abs=1.0)
    assert min(each.values()) >= 30.0
    assert asked_alone(world) == {0}
    check_telemetry(events)
    assert busiest_second(world.sent) <= 240
    assert world.resets == 0


def test_others_at_once_per_frame_leave_the_first_its_frames():
    world = started(fleet(rate=0.0))
    each = rates(world.run(4.0), 4.0)
    assert each.pop(0) == pytest.approx(59.0, abs=2.0)
    assert min(each.values()) >= 25.0
    # Never two requests of one kind in one frame.
    assert set(world.polls.values()) == {1}


def test_the_first_leaves_others_their_turns():
    """A simulator of 400 frames per second: one aircraft could use all of the budget."""
    world = started(fleet(6, rate=0.0), fps=400.0)
    each = rates(world.run(4.0), 4.0)
    assert min(each.values()) > 20.0


def test_requests_and_replies_stay_within_4096_bytes():
    # The scripted plugin checks the replies.
    world = started(fleet())
    world.run(1.0)
    shared = {data for _, _, data in world.sent if data.startswith(b'GETD')}
    assert max(map(len, shared)) <= 4096
    assert len(shared) == 5


@pytest.mark.parametrize('size', [60, 255])
def test_as_many_aircraft_share_a_reply_as_their_arrays_allow(size):
    """Two arrays of 60 values for each aircraft let five share a reply, of 255 only one."""
    world = started(fleet(8, size=size))
    events = world.run(1.0)
    assert set(rates(events, 1.0)) == set(range(8))
    assert asked_alone(world) == {0}
    channels = {channel for _, channel, _ in world.sent if channel.startswith('others')}
    assert len(channels) == (2 if size == 60 else 7)


def test_an_aircraft_whose_datarefs_give_no_pose_is_polled_alone():
    lacking = {3}
    world = started(fleet(8, lacking))
    events = world.run(2.0)
    assert asked_alone(world) == {0, 3}
    assert min(rates(events, 2.0).values()) > 25.0
    check_telemetry(events)
    lacking.clear()
    world.run(0.5)
    world.sent.clear()
    check_telemetry(world.run(1.0))
    assert asked_alone(world) == {0}


def test_aircraft_that_are_polled_alone_leave_others_their_rate():
    """As aircraft that do not exist might be: 14 of 19, two datagrams each per update."""
    world = started(fleet(20, set(range(6, 20))))
    each = rates(world.run(4.0), 4.0)
    assert each[0] == pytest.approx(50.0, abs=1.0)
    assert min(each[n] for n in range(1, 6)) > 40.0
    assert min(each[n] for n in range(6, 20)) > 2.0


def test_aircraft_that_are_polled_alone_get_their_turns():
    """The rest would use up the budget."""
    world = started(fleet(20, {4, 19}, budget=150.0))
    each = rates(world.run(4.0), 4.0)
    assert each[0] > 30.0
    assert 2.0 < each[4] < each[3]
    assert each[19] == pytest.approx(each[4], abs=1.0)


def test_an_aircraft_leaves_its_group_when_its_datarefs_give_no_pose_any_more():
    lacking = set()
    world = started(fleet(8, lacking))
    lacking.add(3)
    world.run(0.5)
    world.sent.clear()
    events = world.run(2.0)
    assert asked_alone(world) == {0, 3}
    assert set(rates(events, 2.0)) == set(range(8))
    assert world.session.missing(world.now) == {}


def test_a_pose_that_is_missing_once_changes_nothing():
    lacking = set()
    world = started(fleet(8, lacking))
    lacking.add(3)
    world.run(0.05)
    lacking.clear()
    world.run(2.0)
    assert asked_alone(world) == {0}


def test_another_x_plane_is_given_the_chance_again():
    lacking = {3}
    world = started(fleet(8, lacking))
    assert world.session.shared == (1, 2, 4, 5, 6, 7)
    world.restart(2.0, '1.2.1')
    lacking.clear()
    world.run(3.0)
    world.sent.clear()
    events = world.run(1.0)
    assert asked_alone(world) == {0}
    assert min(rates(events, 1.0).values()) > 45.0


def test_sockets_of_aircraft_that_join_a_group_are_closed():
    lacking = {3, 4}
    world = started(fleet(8, lacking))
    assert {'position 3 0', 'state 4 0'} <= world.open
    lacking.clear()
    world.run(1.0)
    channels = {channel for channel in world.open if channel.split()[0] != 'beacon'}
    assert channels <= {'position 0 0', 'state 0 0', 'probe', *(
        channel for channel in channels if channel.startswith('others'))}
    assert len(channels) <= 5


def test_lost_replies_cost_updates_and_mix_nothing_up():
    world = started(fleet(), loss=0.03, delay=(0.001, 0.02), duplication=0.02)
    events = world.run(5.0)
    check_telemetry(events)
    each = rates(events, 5.0)
    assert len(each) == 20
    assert min(each.values()) > 8.0
    for number in range(20):
        frames = [frame_of(update.pose.lat) for _, update in telemetry(events, number)]
        assert len(frames) == len(set(frames))


def test_a_single_other_needs_one_datagram_per_update():
    world = started(fleet(2, budget=150.0))
    each = rates(world.run(2.0), 2.0)
    # Two for the first, one for the other: 3 x 50 is more than the budget without its reserve.
    assert min(each.values()) > 40.0


def test_what_is_commanded_of_another_all_the_time_is_seen_in_its_telemetry():
    yoke = 'sim/multiplayer/position/plane1_yolk_pitch'
    shown = other(1)
    session = XpcSession(
        {0: names_of(0, RUNNING_TIME), 1: replace(shown, names=(*shown.names, yoke))}, rate=50.0)
    world = started(session)
    for turn in range(100):
        world.datarefs[yoke] = (0.001 * turn,)
        world.call(session.set_controls, {'elevator': 0.001 * turn}, vehicle=1)
        world.run(0.05)
    assert session.contradictions(world.now) == ()
    # One that X-Plane ignores is told.
    world.datarefs[yoke] = (0.5,)
    for turn in range(100):
        world.call(session.set_controls, {'elevator': -0.001 * turn}, vehicle=1)
        world.run(0.05)
    (sentence,) = session.contradictions(world.now)
    assert sentence == (
        'elevator of aircraft 1 was commanded -0.099, X-Plane reports 0.5')


def test_all_others_are_wanted_and_none_is_missing():
    world = started(fleet())
    wanted = world.session.wanted
    assert {'position of aircraft 7 (GETP)', 'plane7/lat', 'plane19/frame'} <= set(wanted)
    world.run(3.0)
    assert world.session.missing(world.now) == {}
