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

"""A session's memory of reports, rows and takeovers from X-Plane, in isolation."""

import pytest

from xplane_bridge.protocols.xplane_udp import encode, RrefRequest, Segment
from xplane_bridge.sessions.ledger import Entry, Held
from xplane_bridge.sessions.xplane_udp.dialect import Dialect, Wire
from xplane_bridge.sessions.xplane_udp.identity import Identity
from xplane_bridge.sessions.xplane_udp.items import Items
from xplane_bridge.sessions.xplane_udp.reports import Reports
from xplane_bridge.sessions.xplane_udp.requests.queue import RequestQueue
from xplane_bridge.sessions.xplane_udp.requests.rows import LISTENING, Rows

# Reports.


def test_a_report_is_believed_for_a_while_only():
    reports = Reports()
    reports.hear({'paused': 1.0, 'override': None}, 10.0)
    assert reports.get('paused', 10.5) == 1.0
    assert reports.get('override', 10.5) is None
    assert reports.get('paused', 30.0) is None
    assert reports.before('paused', 30.0) is None


def test_what_was_just_written_counts_until_x_plane_had_time_to_read_it():
    reports = Reports()
    reports.hear({'paused': 1.0}, 10.0)
    reports.written({'paused': 0.0}, 10.1)
    reports.hear({'paused': 1.0}, 10.2)
    assert reports.get('paused', 10.2) is None
    assert reports.before('paused', 10.2) == 0.0
    reports.hear({'paused': 1.0}, 10.6)
    assert reports.get('paused', 10.6) == reports.before('paused', 10.6) == 1.0


@pytest.mark.parametrize(('seconds', 'silence', 'same'), [
    # It resumed where it was; advanced as long as nobody listened; went back by a float32 step.
    (500.0, 30.0, True), (530.0, 30.0, True), (499.95, 0.02, True), (500.4, 600.0, True),
    # It goes back; it may have run for no longer than nobody listened.
    (499.8, 0.02, False), (10.0, 30.0, False), (520.0, 600.0, False)])
def test_another_run_is_told_by_the_running_time(seconds, silence, same):
    identity = Identity()
    assert not identity.is_known
    assert identity.is_same(500.0, 1000.0)
    identity.learn(500.0, 1000.0)
    assert identity.is_known
    assert identity.is_same(seconds, 1000.0 + silence) is same
    identity.forget()
    assert identity.is_same(0.0, 2000.0)


# What was taken.


def test_what_was_taken_is_on_hold_until_it_is_the_same_run():
    taken = Items()
    taken.take('elevator_trim', 0.125)
    taken.hold()
    assert taken.on_hold
    assert taken.names == ()
    # Taken again meanwhile: the value before our first command counts.
    taken.take('elevator_trim', 0.5)
    taken.restore()
    assert not taken.on_hold
    # It is owed until it is forgotten, after a silence too.
    owed = [Entry(0, 'elevator_trim', 0.125, Held.OWED)]
    assert taken.owe() == owed
    taken.hold()
    taken.restore()
    assert taken.owe() == owed
    assert taken.owed == ('elevator_trim',)
    taken.forget('elevator_trim')
    assert taken.owe() == []


def test_another_run_is_not_given_what_the_former_lost():
    taken = Items()
    taken.take('joystick')
    taken.hold()
    taken.drop()
    taken.restore()
    assert taken.owe() == []


# Rows.


def row(index):
    return Segment(index, (0.0,) * 8)


def selected(now=LISTENING):
    """Return rows 17 and 20, selected at this time."""
    rows = Rows((17, 20))
    rows.begin(0.0)
    assert rows.due(now, Dialect(12, True, Wire()).own(12), True)
    return rows


def test_rows_are_ours_again_once_it_is_the_same_run():
    rows = selected()
    rows.hold()
    assert rows.cancel() == ()
    rows.restore()
    assert (rows.cancel(), rows.cancel()) == ((17, 20), ())


def test_rows_that_another_run_has_are_not_ours():
    rows = selected()
    rows.hold()
    rows.disown()
    rows.restore()
    assert rows.cancel() == ()


def test_a_frame_waits_a_second_for_a_row_that_has_not_come_yet():
    rows = selected()
    for at in (LISTENING + 0.5, LISTENING + 0.9):
        assert rows.receive([row(17)], at) is None
    assert rows.receive([row(17), row(20)], LISTENING + 0.95) == (row(17), row(20))


def test_a_frame_waits_for_a_row_that_was_selected_late():
    rows = selected(LISTENING + 2.0)
    assert rows.receive([row(17)], LISTENING + 2.9) is None


def test_a_frame_goes_without_a_row_that_does_not_come():
    rows = selected()
    assert rows.receive([row(17)], LISTENING + 0.5) is None
    assert rows.receive([row(17)], LISTENING + 1.3) is None
    assert rows.receive([row(17)], LISTENING + 1.6) == (row(17),)
    assert rows.absent(LISTENING + 1.6) == (20,)


def test_no_row_is_left_out_after_a_silence():
    rows = selected()
    both = (row(17), row(20))
    assert rows.receive(both, LISTENING + 0.5) == both
    assert rows.receive([row(17)], LISTENING + 2.0) is None
    assert rows.receive([row(20)], LISTENING + 2.0) == both


def test_a_waiting_request_takes_the_newer_rate_and_keeps_its_turn():
    """A version or a rate that changes for ever does not fill the queue."""
    def request(number, rate):
        return encode(RrefRequest(rate, number, f'test/{number}'))

    queue = RequestQueue()
    queue.push('telemetry', [request(1, 20), request(2, 20), b'USEL\0'])
    for rate in range(21, 60):
        queue.push('telemetry', [request(3, rate), request(2, rate)])
    # What ends an earlier subscription leaves by the port that has it.
    queue.push('telemetry', [request(1, 0), None])
    queue.push('telemetry', [request(1, 5)])
    taken = []
    while queue:
        taken += queue.take_closings() or [queue.take()]
    assert [data for _, data in taken] == [
        request(1, 0), request(2, 59), b'USEL\0', request(3, 59), None, request(1, 5)]
