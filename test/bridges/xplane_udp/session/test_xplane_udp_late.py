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

"""Datagrams of either side that come late, or twice, change no belief and undo nothing."""

import pytest
from scripted_xplane import (
    BRAKES,
    drefs,
    INTERNAL,
    OVERRIDE,
    PAUSED,
    PLANEPATH,
    Run,
    steer,
    TIME,
    TOE_BRAKES,
    XPlane,
    YOKES,
)

from xplane_bridge.bridges.sessions.base import CommandDone
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.xplane_udp import protocol as xp
from xplane_bridge.bridges.xplane_udp.session import VersionFound

YOKE = YOKES[0]
TAKEN = ('elevator', 'joystick')


class Late(Run):
    """A run in which chosen replies, and requests, arrive late too: ``late`` holds them."""

    def __init__(self, *args, **session):
        super().__init__(*args, **session)
        self.late = []
        # Returns the delays, in seconds, of a reply; none if it is lost.
        self.carries = lambda channel, data: (0.0,)
        self.lose_reply = self._lose_reply

    def _lose_reply(self, channel, data):
        delays = self.carries(channel, data)
        self.late += [(self.now + delay, channel, data) for delay in delays if delay]
        return 0.0 not in delays

    def run(self, seconds):
        """Let time pass."""
        for _ in range(round(seconds * 1000)):
            super().run(0.001)
            arrived = [each for each in self.late if each[0] <= self.now]
            for each in arrived:
                self.late.remove(each)
                self.events += self.session.receive(each[1], each[2], None, self.now)
        return self

    def once(self, *delays, where=b'', channel='reports'):
        """Let the next report arrive after these delays, in seconds."""
        left = [delays]
        self.carries = lambda on, data: (
            left.pop() if left and on == channel and where in data else (0.0,))


def flown(**session):
    """Return a run in which the elevator is held at 0.5."""
    run = Late(**{'version': 12} | session).up()
    steer(run, 1.0, elevator=0.5)
    assert run.session.taken == TAKEN
    return run


def stopped(run, seconds=4.0):
    """Stop; return how that has ended, and what X-Plane then has."""
    run.session.stop(run.now)
    run.run(seconds)
    assert not run.session.leaving
    return run.session.left, run.peer.written.get(YOKE), run.peer.written.get(OVERRIDE)


# Reports.

@pytest.mark.parametrize('version', [11, 12])
@pytest.mark.parametrize('delays', [(0.25,), (0.0, 0.4), (0.6,), (0.0, 0.0, 0.7), (3.0,)])
def test_one_late_report_in_neutral_forgets_nothing_and_the_stick_is_given_back(delays, version):
    run = flown(version=version)
    run.session.centre(run.now)
    run.run(0.5)
    run.once(*delays)
    run.run(1.0)
    assert run.session.taken == TAKEN
    assert run.session.contradictions(run.now) == ()
    run.run(max(delays))
    assert run.session.taken == TAKEN
    assert stopped(run) == (Left(), 0.0, 0.0)


@pytest.mark.parametrize('delays', [(0.25,), (0.0, 0.4)])
def test_pause_succeeds_beside_a_late_report(delays):
    run = flown()
    run.once(*delays)
    run.run(delays[-1])
    ticket = run.session.pause(True, run.now)
    run.run(1.0)
    assert run.of(CommandDone) == [CommandDone(ticket, 'pause', '', 'X-Plane shows it')]
    assert set(run.session.taken) == {*TAKEN, 'pause'}


def paused_on_its_own(run):
    """Pause X-Plane by its user: its time stands still."""
    run.peer.written[PAUSED] = 1.0
    time = run.peer.time
    run.peer.values[TIME] = lambda: time


@pytest.mark.parametrize('undated', ['a pause', 'no time'])
def test_a_late_report_that_does_not_say_when_takes_nothing_back(undated):
    run = flown()
    reports = []
    run.carries = lambda channel, data: (
        channel == 'reports' and reports.append(data) or (0.0,))
    if undated == 'a pause':
        paused_on_its_own(run)
    else:
        del run.peer.values[TIME]
        for key in [key for key, entry in run.peer.rref.items() if entry[0] == TIME]:
            del run.peer.rref[key]
    run.peer.written[OVERRIDE] = 0.0
    run.run(0.2)
    old = reports[-1]
    run.peer.written[OVERRIDE] = 1.0
    steer(run, 1.0, elevator=0.5)
    assert run.session.taken == TAKEN
    # One that another hand has nothing to do with.
    run.session.receive('reports', old, None, run.now)
    run.run(0.15)
    assert run.session.taken == TAKEN
    # And one that it has.
    run.peer.written[OVERRIDE] = 0.0
    run.run(0.3)
    assert 'joystick' not in run.session.taken


def test_one_report_of_another_version_without_a_time_changes_nothing():
    run = Late(peer=XPlane(12)).up()
    run.peer.most = 1
    run.run(0.5)
    version = run.peer.values[INTERNAL]
    run.peer.values[INTERNAL] = lambda: 115501.0
    other = []
    run.carries = lambda channel, data: (
        other.append(data) if b'\xf8\x01\0\0' in data else None) or (0.0,)
    run.run(0.09)
    run.peer.values[INTERNAL] = version
    run.run(2.0)
    assert [event.version for event in run.of(VersionFound)] == [12]


def test_a_burst_of_old_reports_after_an_outage_is_of_the_same_run():
    run = flown()
    old = []
    run.carries = lambda channel, data: (
        channel == 'reports' and old.append((channel, data)) or (0.0,))
    run.run(2.5)
    run.carries, run.lose = lambda channel, data: (), lambda channel, data: True
    run.run(2.0)
    run.carries, run.lose = lambda channel, data: (0.0,), lambda channel, data: False
    for channel, data in old[-20:]:
        run.events += run.session.receive(channel, data, None, run.now)
    run.run(1.0)
    assert run.session.taken == TAKEN
    assert stopped(run) == (Left(), 0.0, 0.0)


# Copies of what we have sent.

def copy(run, seconds, what):
    """Return a function that delivers the last command of this kind again, ``seconds`` after."""
    at, data = next((at, data) for at, channel, data in reversed(run.sent) if (
        channel == 'command' and what in data))
    run.run(at + seconds - run.now)
    run.peer.handle('command', data, run.now)


OF_ELEVATOR, OF_OVERRIDE = b'yoke_pitch', b'override_joystick'


@pytest.mark.parametrize(('what', 'name'), [(OF_ELEVATOR, YOKE), (OF_OVERRIDE, OVERRIDE)])
@pytest.mark.parametrize('seconds', [1.2, 2.9])
def test_a_late_copy_of_what_took_it_is_set_right_after_the_release(what, name, seconds):
    run = Late(version=12).up()
    run.session.set_controls({'elevator': 0.5}, run.now)
    run.run(0.7)
    sent = len(run.sent)
    run.session.release(run.now)
    run.run(0.3)
    assert run.session.unconfirmed == ()
    run.sent[sent:] = []
    copy(run, seconds, what)
    assert run.peer.written[name] != 0.0
    run.run(0.15)
    assert run.session.taken == ()
    run.run(0.3)
    assert run.peer.written[name] == 0.0
    assert run.session.unconfirmed == ()
    assert not run.of(CommandDone)


@pytest.mark.parametrize('what', [OF_ELEVATOR, OF_OVERRIDE])
def test_a_late_copy_of_what_took_it_is_set_right_before_the_end(what):
    run = Late(version=12).up()
    run.session.set_controls({'elevator': 0.5}, run.now)
    run.run(0.3)
    sent = len(run.sent)
    run.session.stop(run.now)
    run.run(0.5)
    run.sent[sent:] = []
    copy(run, 2.9, what)
    run.run(1.3)
    assert not run.session.leaving
    assert (run.peer.written[YOKE], run.peer.written[OVERRIDE]) == (0.0, 0.0)
    assert run.session.left == Left()
    assert run.peer.rref == {}


def test_a_late_copy_of_a_command_does_not_end_the_neutral():
    run = flown()
    sent = len(run.sent)
    run.session.centre(run.now)
    run.run(0.5)
    run.sent[sent:] = []
    copy(run, 2.0, OF_ELEVATOR)
    assert run.peer.written[YOKE] == 0.5
    run.run(0.3)
    assert run.peer.written[YOKE] == 0.0
    assert run.session.taken == TAKEN


@pytest.mark.parametrize('on', [True, False])
def test_a_late_copy_of_the_opposite_does_not_end_a_pause_or_a_resumption(on):
    run = Late(version=12).up()
    run.run(1.0)
    for each in (True, not on, on):
        run.session.pause(each, run.now)
        run.run(0.3)
    copy(run, 2.0, b'pause_off' if on else b'pause_on')
    assert run.peer.written[PAUSED] == float(not on)
    run.run(0.3)
    assert run.peer.written[PAUSED] == float(on)
    assert ('pause' in run.session.taken) is on


def test_late_copies_of_brakes_and_of_a_placing_are_set_right():
    run = Late(version=11).up()
    steer(run, 0.3, brake_left=0.5)
    run.session.send(xp.Vehx(0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0), run.now)
    run.peer.written[PLANEPATH] = 1.0
    run.run(0.5)
    run.session.release(run.now)
    run.run(0.5)
    wrong = {BRAKES[0]: 0.5, TOE_BRAKES: 1.0, PLANEPATH: 1.0}
    assert not any(run.peer.written[name] for name in wrong)
    run.peer.written |= wrong
    unconfirmed = set()
    for _ in range(65):
        run.run(0.01)
        unconfirmed |= {*run.session.unconfirmed}
    assert unconfirmed == {'brakes', 'flight model'}
    assert not any(run.peer.written[name] for name in wrong)
    assert run.session.unconfirmed == ()


def test_what_another_hand_writes_is_no_late_copy():
    run = flown()
    run.session.release(run.now)
    run.run(0.5)
    run.peer.written[YOKE] = 0.3
    run.run(0.5)
    assert run.peer.written[YOKE] == 0.3
    # Nor is one that can be none any more.
    run.run(4.0)
    run.peer.written[OVERRIDE] = 1.0
    run.run(1.0)
    assert run.peer.written[OVERRIDE] == 1.0


def test_x_plane_that_is_frozen_reads_a_late_copy_when_it_goes_on():
    run = flown()
    command = next(data for *_, data in reversed(run.sent) if data and OF_ELEVATOR in data)
    run.session.release(run.now)
    run.run(1.0)
    run.peer.on = False
    run.run(20.0)
    run.peer.on = True
    run.peer.handle('command', command, run.now)
    run.run(1.0)
    assert run.peer.written[YOKE] == 0.0


@pytest.mark.parametrize('version', [6, 9, 12])
def test_a_late_copy_of_a_selection_is_deselected_before_the_end(version):
    run = Late(version=version, by_rows=True).start().run(2.5)
    selection = next(data for *_, data in reversed(run.sent) if data and data[:4] == b'DSEL')
    assert run.peer.rows
    run.session.stop(run.now)
    run.run(1.5)
    assert run.peer.rows == set()
    run.peer.handle('data', selection, run.now)
    assert run.peer.rows
    run.run(1.0)
    assert run.peer.rows == set()
    run.run(1.5)
    assert not run.session.leaving


def test_one_that_is_left_and_falls_silent_is_not_waited_for():
    run = flown()
    run.session.stop(run.now)
    run.run(0.5)
    run.peer.on = False
    run.run(1.8)
    assert not run.session.leaving
    assert run.session.left == Left()
    assert drefs(run)[-1] == (OVERRIDE, 0.0)
