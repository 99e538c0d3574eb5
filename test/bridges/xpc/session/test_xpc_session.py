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

"""The session with an X-Plane Connect plugin, in simulated time: polling, reading, watching."""

import pytest
from scripted_xpc import (
    busiest_second,
    check_telemetry,
    frame_of,
    names_of,
    RUNNING_TIME,
    telemetry,
    World,
)

from xplane_bridge.bridges.sessions.base import ReadDone
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import Polled, WatchedDatarefs, XpcSession

pytestmark = pytest.mark.slow


def make(aircraft=1, rate=50.0, **options):
    """Return a session that polls the first few aircraft."""
    return XpcSession({n: names_of(n) for n in range(aircraft)}, rate=rate, **options)


def started(session, settle=0.5, **options):
    """Return a world in which the session is already polling."""
    world = World(session, **options)
    world.call(session.start)
    world.run(settle)
    return world


def events_of(kind, events):
    return [event for _, event in events if isinstance(event, kind)]


# Rates and frames.


@pytest.mark.parametrize(('fps', 'rate', 'expected'), [
    (60.0, 50.0, 50.0), (60.0, 30.0, 30.0), (60.0, 0.0, 60.0), (60.0, 1000.0, 60.0),
    (30.0, 50.0, 30.0), (30.0, 30.0, 30.0), (30.0, 0.0, 30.0), (30.0, 1000.0, 30.0),
    (59.37, 50.0, 50.0), (144.0, 50.0, 50.0), (20.0, 0.0, 20.0), (10.0, 0.0, 10.0),
])
def test_rate_is_reached_as_far_as_there_are_frames(fps, rate, expected):
    session = make(rate=rate)
    world = started(session, fps=fps)
    events = world.run(10.0)
    check_telemetry(events)
    assert len(telemetry(events)) / 10.0 == pytest.approx(expected, rel=0.02)
    assert session.statistics.lost == session.statistics.split == 0
    if rate == 0.0:
        assert max(world.polls.values()) == 1


def test_uneven_frames_are_never_polled_twice_at_rate_0():
    session = make(rate=0.0)
    world = started(session)
    for number in range(200):
        world.fps = (60.0, 35.0, 45.0, 100.0)[number * 7 % 4]
        world.run(0.1)
    check_telemetry(world.events)
    assert max(world.polls.values()) == 1
    frames = [frame_of(update.pose.lat) for _, update in telemetry(world.events)]
    assert len(set(frames)) == len(frames) > 0.95 * world.frame


def test_frame_rate_that_falls_is_not_asked_twice_for_long():
    session = make(rate=0.0)
    world = started(session, fps=60.0)
    world.fps = 6.0
    world.run(3.0)
    lost = session.statistics.lost
    events = world.run(5.0)
    assert session.statistics.lost == lost
    assert len(telemetry(events)) == pytest.approx(30, abs=1)


def test_requests_of_one_update_leave_together():
    world = started(make())
    world.sent.clear()
    world.run(1.0)
    times = {}
    for at, channel, _ in world.sent:
        times.setdefault(at, []).append(channel)
    assert len(times) == pytest.approx(50, abs=1)
    assert all(channels == ['position 0 0', 'state 0 0'] for channels in times.values())


def test_replies_of_two_frames_are_not_joined():
    session = make(rate=0.0)
    # The delays to the plugin sometimes differ by more than a frame.
    world = started(session, delay=(0.0, 0.018))
    events = world.run(20.0)
    check_telemetry(events)
    assert session.statistics.split > 50
    assert len(telemetry(events)) > 200


def test_datarefs_that_never_agree_are_published_after_a_while():
    # The plugin's longitude here is that of another aircraft: two ways to give a position.
    names = ('plane0/lat', 'plane1/lon')
    session = XpcSession({0: Polled(names, names)}, rate=0.0)
    world = started(session, settle=3.0)
    assert session.statistics.split == 60
    assert len(telemetry(world.run(1.0))) == pytest.approx(60, abs=1)


def test_first_update_comes_within_a_frame():
    session = make()
    world = World(session)
    world.call(session.start)
    ((at, _),) = telemetry(world.run(0.02))
    assert at < 1000.018


def test_in_lockstep_a_poll_follows_each_command():
    session = make(rate=0.0, lockstep=True, budget=1000.0)
    world = started(session)
    world.sent.clear()
    for _ in range(20):
        world.call(session.set_controls, {'elevator': 0.5})
        world.run(0.05)
    times = {}
    for at, channel, _ in world.sent:
        times.setdefault(at, []).append(channel)
    assert list(times.values()) == [['command', 'position 0 0', 'state 0 0']] * 20
    # Without commands it still probes what exists.
    world.sent.clear()
    world.run(1.0)
    assert len(world.sent) == pytest.approx(20, abs=2)


def test_in_lockstep_a_poll_follows_when_each_of_a_fleet_is_commanded():
    session = XpcSession(
        {number: names_of(number, RUNNING_TIME) for number in range(3)}, rate=0.0,
        lockstep=True, budget=1000.0)
    world = started(session)
    for turn in range(3):
        # Who is commanded at all shows in the first turn.
        world.sent.clear()
        for vehicle in (0, 2, 1):
            world.call(session.set_controls, {'elevator': 0.1 * turn}, vehicle=vehicle)
        tags = [data[:4] for _, _, data in world.sent]
        world.run(0.05)
    assert tags[:5] == [b'CTRL'] * 3 + [b'GETP', b'GETD']


# The budget.


@pytest.mark.parametrize('budget', [240.0, 60.0, 10.0])
def test_budget_holds_in_every_second(budget):
    session = make(20, 50.0, budget=budget)
    world = started(session)
    world.call(session.watch, [f'sim/n/{n}/3' for n in range(40)], 30.0)
    world.sent.clear()
    for number in range(500):
        world.call(session.set_controls, {'elevator': 0.5}, vehicle=number % 20)
        if number % 100 == 0:
            world.call(session.read_datarefs, ['n/1/1'])
        world.run(0.01)
    assert busiest_second(world.sent) <= budget
    assert len(world.sent) / 5.0 > 0.85 * (budget - min(8.0, budget / 2.0))


@pytest.mark.slow
@pytest.mark.parametrize('fps', [60.0, 20.0, 10.0, 5.0])
def test_plugin_never_finds_20_datagrams_in_a_frame(fps):
    session = make(20, 50.0)
    world = started(session, fps=fps)
    world.call(session.watch, [f'sim/n/{n}/3' for n in range(100)], 50.0)
    refused = 0
    for number in range(1000):
        world.call(session.set_controls, {'elevator': 0.5}, vehicle=number % 20)
        try:
            world.call(session.send, xpc.Text(1, 2, str(number)))
            world.call(session.read_datarefs, ['n/1/1'])
        except ValueError:
            refused += 1
        world.run(0.01)
    assert max(world.handled.values()) < 20
    assert world.resets == 0
    assert refused
    updates = session.statistics.updates
    assert min(updates[n] for n in range(20)) >= 0.6 * max(updates.values()) > 1
    assert events_of(WatchedDatarefs, world.events)
    assert session.statistics.lost < 0.03 * session.statistics.requests


@pytest.mark.slow
def test_20_aircraft_share_the_budget_evenly():
    session = make(20, 50.0)
    world = started(session)
    events = world.run(10.0)
    check_telemetry(events)
    counts = [len(telemetry(events, n)) for n in range(20)]
    assert max(counts) - min(counts) <= 1
    assert sum(counts) * 2 / 10.0 > 225.0


@pytest.mark.slow
def test_watch_gets_its_turn_beside_20_aircraft():
    session = make(20, 0.0)
    world = started(session)
    world.call(session.watch, ['n/5/1'], 2.0)
    world.run(2.0)
    assert len(events_of(WatchedDatarefs, world.run(10.0))) >= 18


def test_polling_goes_on_beside_a_flood_of_commands():
    session = make(rate=50.0)
    world = started(session)
    first = len(world.events)
    for number in range(2000):
        world.call(session.set_controls, {'elevator': 0.5}, vehicle=number % 20)
        world.run(0.001)
    assert len(telemetry(world.events[first:])) > 40


@pytest.mark.slow
def test_controls_and_other_commands_take_turns():
    session = make()
    world = started(session)
    for number in range(500):
        for aircraft in range(20):
            world.call(session.set_controls, {'elevator': 0.5}, vehicle=aircraft)
        if number % 5 == 0:
            world.call(session.send, xpc.Text(1, 2, 'x'))
        world.run(0.01)
    tags = [data[:4] for _, data in world.commands]
    assert tags.count(b'TEXT') >= 95
    controls = [data[26] for _, data in world.commands if data[:4] == b'CTRL']
    counts = [controls.count(aircraft) for aircraft in range(20)]
    assert min(counts) > 0.8 * max(counts)


def test_command_leaves_at_once_while_20_aircraft_are_polled():
    session = make(20, 0.0)
    world = started(session, settle=2.0)
    for _ in range(50):
        before = world.now
        world.call(session.send, xpc.Text(1, 2, 'now'))
        world.run(0.037)
        sent = [at for at, channel, _ in world.sent if channel == 'command' and at >= before]
        assert sent[0] - before < 0.005


@pytest.mark.parametrize('budget', [9.9, 0.0, -1.0, float('nan'), float('inf')])
def test_budget_that_allows_no_polling_is_refused(budget):
    with pytest.raises(ValueError, match='expected at least 10'):
        make(budget=budget)


# Reads.


def test_read_returns_each_dataref_in_order():
    session = make()
    world = started(session)
    names = [f'n/{n}/{n % 7 + 1}' for n in range(30)]
    ticket = world.call(session.read_datarefs, names)
    (done,) = events_of(ReadDone, world.run(1.0))
    assert (done.ticket, done.error) == (ticket, '')
    assert list(done.values) == [(float(n),) * (n % 7 + 1) for n in range(30)]


def test_reads_ask_once_a_frame_at_most():
    session = make(rate=1.0)
    world = started(session)
    for number in range(60):
        world.call(session.read_datarefs, [f'n/{number}/1'])
    done = events_of(ReadDone, world.run(2.0))
    assert [read.values for read in done] == [((float(n),),) for n in range(60)]
    assert max(world.handled.values()) <= 3


def test_lost_reply_is_asked_for_once_more_on_another_socket():
    session = make()
    world = started(session)
    world.silent_to_tags = {b'GETT'}
    world.call(session.read_terrain, xpc.GetTerrain(0, 40.0, 8.0, 100.0))
    world.run(0.4)
    world.silent_to_tags = set()
    (done,) = events_of(ReadDone, world.run(0.2))
    assert done.values[0].alt == 321.5
    asked = [channel for _, channel, data in world.sent if data[:4] == b'GETT']
    assert len(asked) == len(set(asked)) == 2
    assert asked[0] not in world.open


def test_read_that_is_never_answered_ends_with_a_sentence():
    session = make()
    world = started(session)
    world.silent_to_tags = {b'GETT'}
    world.call(session.read_terrain, xpc.GetTerrain(0))
    (done,) = events_of(ReadDone, world.run(1.1))
    assert done.values == ()
    assert done.error == (
        'no reply from X-Plane within 0.5 s; it does not reply where there is no terrain')


def test_placing_is_never_repeated():
    session = make()
    world = started(session)
    world.silent_to_tags = {b'POST'}
    world.call(session.read_terrain, xpc.PlaceAndProbe(0, 40.0, 8.0, 100.0))
    (done,) = events_of(ReadDone, world.run(2.0))
    assert done.error
    assert [data[:4] for _, _, data in world.sent].count(b'POST') == 1


def test_late_answer_is_not_taken_for_the_next_reads_answer():
    session = make(rate=1.0)
    world = started(session)
    world.freeze(0.9)
    first = world.call(session.read_datarefs, ['n/1/1'])
    second = world.call(session.read_datarefs, ['n/2/1'])
    done = {read.ticket: read for read in events_of(ReadDone, world.run(2.0))}
    assert done[first].values == ((1.0,),)
    assert done[second].values == ((2.0,),)
    assert len([data for _, channel, data in world.sent if channel.startswith('read')]) == 4


def test_more_reads_than_can_wait_are_refused():
    session = make()
    now = started(session).now
    for _ in range(64):
        session.read_datarefs(['n/1/1'], now)
    with pytest.raises(ValueError, match='64 reads are already waiting'):
        session.read_datarefs(['n/1/1'], now)


def test_one_name_beside_2000_comes_within_a_few_frames():
    session = make()
    world = started(session)
    many = world.call(session.read_datarefs, [f'n/{n}/1' for n in range(2000)])
    world.run(1.0)
    asked = world.now
    for number in range(3):
        world.call(session.read_datarefs, [f'n/{number}/1'])
    done = [(at, event.ticket) for at, event in world.run(12.0) if isinstance(event, ReadDone)]
    assert [at <= asked + 8 / world.fps for at, _ in done] == [True, True, True, False]
    assert done[-1][1] == many
    assert len(telemetry(world.events)) == pytest.approx(50 * 13.5, rel=0.02)


@pytest.mark.slow
def test_reads_of_several_callers_have_equal_turns():
    session = make()
    world = started(session)
    for _ in range(2):
        world.call(session.read_datarefs, [f'n/{n}/1' for n in range(400)])
    ends = [at for at, event in world.run(5.0) if isinstance(event, ReadDone)]
    assert ends[1] - ends[0] <= 2 / world.fps


def test_a_request_that_is_not_answered_keeps_no_other_read_waiting():
    session = make()
    world = started(session)
    world.silent_to_tags = {b'GETT'}
    world.call(session.read_terrain, xpc.GetTerrain(0))
    ticket = world.call(session.read_datarefs, ['n/1/1'])
    (done,) = events_of(ReadDone, world.run(0.15))
    assert (done.ticket, done.error) == (ticket, '')


def test_more_names_than_can_be_read_are_refused():
    session = make()
    now = started(session).now
    with pytest.raises(ValueError, match='2001 datarefs, at most 2000 can be read at once'):
        session.read_datarefs(['n/1/1'] * 2001, now)
    for _ in range(2):
        session.read_datarefs(['n/1/1'] * 2000, now)
    with pytest.raises(ValueError, match='4000 datarefs are already waiting to be read'):
        session.read_datarefs(['n/1/1'], now)


def test_a_read_ends_after_a_minute_whatever_has_come():
    session = make()
    world = started(session, fps=5.0)
    for _ in range(2):
        world.call(session.read_datarefs, ['n/1/1'] * 2000)
    events = world.run(59.9)
    assert not events_of(ReadDone, events)
    done = events_of(ReadDone, world.run(0.2))
    assert [read.error[:41] for read in done] == ['not everything came within 60 s; read few'] * 2
    assert not events_of(ReadDone, world.run(2.0))


@pytest.mark.parametrize(('names', 'text'), [
    ([], 'at least one dataref name'), ([''], 'name 1 is empty'),
    (['x' * 256], 'name 1: 256 characters'), (['sim/ä'], 'printable ASCII')])
def test_read_of_no_dataref_is_refused(names, text):
    session = make()
    world = started(session)
    with pytest.raises(ValueError, match=text):
        session.read_datarefs(names, world.now)


def test_read_ends_when_the_session_stops():
    session = make()
    world = started(session)
    world.freeze(9.0)
    tickets = [world.call(session.read_datarefs, ['n/1/1']) for _ in range(3)]
    world.call(session.stop)
    done = events_of(ReadDone, world.events)
    assert [read.ticket for read in done] == tickets
    assert {read.error for read in done} == {'the node was deactivated'}


# Watched datarefs.


def test_watched_datarefs_come_at_their_rate_in_one_request_once_their_sizes_are_known():
    session = make()
    world = started(session)
    names = [f'sim/n/{n}/{n % 9 + 1}' for n in range(100)]
    world.call(session.watch, names, 10.0)
    events = events_of(WatchedDatarefs, world.run(5.0))
    assert len(events) == pytest.approx(50, abs=2)
    for event in events:
        assert event.names == tuple(names)
        assert event.values == tuple((float(n),) * (n % 9 + 1) for n in range(100))
    assert len([channel for channel in world.open if channel.startswith('watch')]) == 1
    assert session.statistics.lost == 0


def test_watch_groups_by_the_sizes_that_it_learns():
    session = make()
    world = started(session)
    names = [f'sim/n/{n}/8' for n in range(60)] + [
        'sim/n/7/255', 'unknown', 'sim/n/9/200', 'sim/n/9/201']
    world.call(session.watch, names, 10.0)
    events = events_of(WatchedDatarefs, world.run(2.0))
    assert [len(row) for row in events[-1].values[-4:]] == [255, 0, 200, 201]
    assert len([channel for channel in world.open if channel.startswith('watch')]) == 2


def test_watched_arrays_of_other_plugins_may_grow_between_two_polls():
    session = make()
    arrays = {f'radar/{n}/targets': (1.0,) * 8 for n in range(19)}
    world = started(session, datarefs=arrays)
    world.call(session.watch, [*arrays, 'sim/n/7/8'], 10.0)
    events = events_of(WatchedDatarefs, world.run(3.0))
    assert len(events) > 15
    # The scripted plugin fails the test where the genuine one would crash X-Plane.
    world.datarefs = dict.fromkeys(arrays, (2.0,) * 255)
    events = events_of(WatchedDatarefs, world.run(2.0))
    assert events[-1].values == ((2.0,) * 255,) * 19 + ((7.0,) * 8,)
    world.datarefs = dict.fromkeys(arrays, (3.0,))
    events = events_of(WatchedDatarefs, world.run(2.0))
    assert events[-1].values == ((3.0,),) * 19 + ((7.0,) * 8,)


# Missing replies.

def test_a_dataref_that_does_not_come_is_named_and_stops_nothing():
    session = XpcSession({0: names_of(0, 'sim/none')}, rate=50.0)
    world = started(session, datarefs={'sim/late': ()})
    world.call(session.watch, ['sim/late', 'sim/n/1/1'], 10.0)
    events = world.run(3.0)
    assert len(telemetry(events)) == pytest.approx(150, abs=2)
    assert events_of(WatchedDatarefs, events)[-1].values == ((), (1.0,))
    missing = session.missing(world.now)
    assert missing == pytest.approx({'sim/none': 1000.0, 'sim/late': 1000.5}, abs=0.01)
    assert set(missing) < set(session.wanted)
    # The plugin that creates it is loaded later.
    world.datarefs['sim/late'] = (4.0,)
    events = world.run(0.5)
    assert events_of(WatchedDatarefs, events)[-1].values == ((4.0,), (1.0,))
    assert set(session.missing(world.now)) == {'sim/none'}
    del world.datarefs['sim/late']
    world.run(0.8)
    assert 'sim/late' not in session.missing(world.now)
    world.run(0.5)
    assert session.missing(world.now)['sim/late'] == pytest.approx(1004.0, abs=0.2)


def test_a_group_of_watched_datarefs_whose_answers_are_lost_does_not_stop_the_others():
    session = make()
    world = started(session)
    # A long answer is fragmented, and this network drops fragments.
    world.largest_reply = 1000
    world.call(session.watch, ['sim/n/1/1', *(f'big/n/{n}/255' for n in range(4))], 10.0)
    world.run(8.0)
    events = events_of(WatchedDatarefs, world.run(3.0))
    assert events[-1].values == ((1.0,), (), (), (), ())
    assert len(telemetry(world.events)) > 200
    assert set(session.missing(world.now)) == {f'big/n/{n}/255' for n in range(4)}


def test_everything_is_missed_of_a_peer_that_is_away():
    session = make()
    world = started(session, beacon=True)
    assert session.missing(world.now) == {}
    world.restart(5.0)
    world.run(3.0)
    assert set(session.missing(world.now)) == set(session.wanted)
    world.run(4.0)
    assert session.missing(world.now) == {}


@pytest.mark.slow
@pytest.mark.parametrize(('prefix', 'rounds'), [('sim/', 15), ('', 1)])
def test_telemetry_keeps_its_rate_beside_3000_watched_names(prefix, rounds):
    session = make()
    world = started(session)
    world.call(session.watch, [f'{prefix}n/{n}/1' for n in range(3000)], 10.0)
    world.call(session.read_datarefs, ['n/1/1'])
    world.run(6.5)
    world.sent.clear()
    events = world.run(5.0)
    assert len(telemetry(events)) == pytest.approx(250, abs=3)
    assert len(events_of(WatchedDatarefs, world.events)) >= rounds
    assert busiest_second(world.sent) <= 240
    assert max(world.handled.values()) < 20
    assert not session.missing(world.now)


def test_more_names_than_can_be_watched_are_refused():
    with pytest.raises(ValueError, match='3001 datarefs, at most 3000 can be watched'):
        make().watch(['n/1/1'] * 3001, 10.0, 0.0)


def test_watch_at_rate_0_follows_the_frames():
    session = make()
    world = started(session)
    world.call(session.watch, ['any/frame'], 0.0)
    values = [event.values[0][0] for event in events_of(WatchedDatarefs, world.run(2.0))]
    assert len(values) == len(set(values)) == pytest.approx(120, abs=2)


def test_watching_other_datarefs_closes_the_old_channels():
    session = make()
    world = started(session)
    for number in range(20):
        world.call(session.watch, [f'n/{number}/1'], 20.0)
        world.run(0.3)
    world.call(session.watch, [], 20.0)
    assert world.open == {'position 0 0', 'state 0 0'}
    assert not events_of(WatchedDatarefs, world.run(1.0))
    for event in events_of(WatchedDatarefs, world.events):
        assert event.names == (f'n/{event.values[0][0]:.0f}/1',)


@pytest.mark.parametrize('rate', [-1.0, float('nan'), float('inf')])
def test_rate_that_means_nothing_is_refused(rate):
    with pytest.raises(ValueError, match='expected 0 or more'):
        make().watch(['n/1/1'], rate, 0.0)
    with pytest.raises(ValueError, match='expected 0 or more'):
        make(rate=rate)


def test_bad_name_leaves_the_old_watch_alone():
    session = make()
    world = started(session)
    world.call(session.watch, ['n/1/1'], 10.0)
    with pytest.raises(ValueError, match='name 1 is empty'):
        session.watch(['n/1/1', ''], 10.0, world.now)
    assert events_of(WatchedDatarefs, world.run(1.0))[0].names == ('n/1/1',)


# Start and stop.


def test_nothing_is_sent_before_start_and_after_stop():
    session = make()
    world = World(session)
    world.run(1.0)
    world.call(session.start)
    world.call(session.watch, ['n/1/1'], 10.0)
    world.run(1.0)
    world.call(session.stop)
    count, seen = len(world.sent), len(world.events)
    world.run(5.0)
    assert len(world.sent) == count
    assert not world.events[seen:]
    assert session.next_deadline() is None
    world.call(session.start)
    assert len(telemetry(world.run(1.0))) >= 49


def test_idle_session_has_no_deadline():
    session = make()
    assert session.poll(5.0) == []
    assert session.next_deadline() is None
