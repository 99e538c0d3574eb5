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

import math

import pytest

from xplane_bridge.bridges.sessions.ledger import Held, LedgerEntry
from xplane_bridge.bridges.xplane_udp.protocol import encode, RrefRequest, Segment
from xplane_bridge.bridges.xplane_udp.session.dialect import SpokenDialect, Wire
from xplane_bridge.bridges.xplane_udp.session.identity import Identity, Sign
from xplane_bridge.bridges.xplane_udp.session.overrides import Items
from xplane_bridge.bridges.xplane_udp.session.pending import Sent
from xplane_bridge.bridges.xplane_udp.session.reports import Reports, Sieve
from xplane_bridge.bridges.xplane_udp.session.requests.queue import RequestQueue
from xplane_bridge.bridges.xplane_udp.session.requests.rows import LISTENING, Rows

# Reports.


def test_a_report_is_believed_for_a_while_only():
    reports = Reports()
    reports.on_reply({'paused': 1.0}, 10.0)
    assert reports.get('paused', 10.5) == 1.0
    assert reports.get('override', 10.5) is None
    assert reports.get('paused', 30.0) is None
    assert reports.before('paused', 30.0) is None


def test_what_was_just_written_counts_until_x_plane_had_time_to_read_it():
    reports = Reports()
    reports.on_reply({'paused': 1.0}, 10.0)
    reports.written({'paused': 0.0}, 10.1)
    reports.on_reply({'paused': 1.0}, 10.2)
    assert reports.get('paused', 10.2) is None
    assert reports.before('paused', 10.2) == 0.0
    reports.on_reply({'paused': 1.0}, 10.6)
    assert reports.get('paused', 10.6) == reports.before('paused', 10.6) == 1.0


# Whose reports, and of when.

def known(time=500.0, at=1000.0):
    """Return an identity that has heard a running time."""
    identity = Identity()
    assert not identity.is_known
    assert identity.on_reply(time, at) is Sign.NEWER
    return identity


@pytest.mark.parametrize(('seconds', 'silence', 'sign'), [
    # It resumed where it was; advanced as long as nobody listened; eight times as fast as usual.
    (500.1, 30.0, Sign.NEWER), (530.0, 30.0, Sign.NEWER), (500.4, 600.0, Sign.NEWER),
    (500.8, 0.1, Sign.NEWER), (500.0, 30.0, Sign.AGAIN),
    # It goes back; it may have run for no longer than nobody listened; it is far ahead.
    (499.95, 0.02, Sign.LATE), (10.0, 30.0, Sign.LATE), (520.0, 600.0, Sign.LATE),
    (1500.0, 0.1, Sign.LATE), (None, 0.1, Sign.UNDATED), (math.nan, 0.1, Sign.UNDATED)])
def test_a_report_is_of_the_same_run_or_not_yet_believed(seconds, silence, sign):
    identity = known()
    assert identity.is_known
    assert identity.on_reply(seconds, 1000.0 + silence) is sign
    identity.forget()
    assert identity.on_reply(0.0, 2000.0) is Sign.NEWER


@pytest.mark.parametrize('start', [0.0, 20.0])
def test_another_run_is_believed_once_two_reports_show_it(start):
    identity = known()
    signs = [identity.on_reply(start + 0.1 * n, 1030.0 + 0.1 * n) for n in range(3)]
    assert signs == [Sign.LATE, Sign.OTHER, Sign.NEWER]


def test_a_run_that_stands_still_is_believed_too():
    identity = known()
    assert [identity.on_reply(2.0, at) for at in (1030.0, 1030.1, 1030.2)] == [
        Sign.LATE, Sign.OTHER, Sign.AGAIN]


def test_old_reports_in_one_burst_or_beside_new_ones_are_no_other_run():
    identity = known()
    for n in range(20):
        assert identity.on_reply(498.0 + 0.1 * n, 1002.0) is Sign.LATE
    assert identity.on_reply(502.0, 1002.05) is Sign.NEWER
    for n in range(1, 50):
        now = 1002.05 + 0.1 * n
        # One of a second path, and every third of the first is lost.
        assert identity.on_reply(501.6 + 0.1 * n, now) is Sign.LATE
        assert n % 3 == 0 or identity.on_reply(502.0 + 0.1 * n, now + 0.01) is Sign.NEWER


def test_a_time_far_ahead_is_believed_if_it_goes_on_and_is_the_same_run():
    identity = known()
    assert identity.on_reply(5000.0, 1000.1) is Sign.LATE
    assert identity.on_reply(500.2, 1000.2) is Sign.NEWER
    signs = {identity.on_reply(5000.0 + 0.1 * n, 1000.2 + 0.1 * n) for n in range(1, 8)}
    assert signs == {Sign.LATE, Sign.NEWER}


def test_reports_that_do_not_say_when_count_once_the_next_one_agrees():
    sieve = Sieve()

    def takes(value, *, dated=False):
        return 'stick' in sieve.take({'stick': value, 'absent': None}, dated=dated)

    assert takes(0.5)
    # Those before and after a late one are the same.
    assert [takes(value) for value in (0.0, 0.5, 0.0, 0.0, 0.0)] == [
        False, True, False, True, True]
    # A stick that moves.
    assert [takes(value) for value in (0.1, 0.2, 0.3, 0.4)] == [False, True, False, True]
    assert not takes(0.9)
    assert takes(0.9, dated=True)
    assert [takes(value) for value in (0.9, 0.4, 0.9)] == [True, False, True]


def test_of_what_was_sent_little_is_kept():
    sent = Sent(lambda: 3.0)
    for n in range(10_000):
        sent.note({'stick': n / 10_000}, n / 100)
    assert len(sent._until['stick']) < 500
    assert sent.holds('stick', 0.9999, 100.0)
    assert not sent.holds('stick', 0.9, 100.0)
    assert sent.until('stick', 0.9999) == pytest.approx(103.28)


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
    unconfirmed = [LedgerEntry(0, 'elevator_trim', 0.125, Held.UNCONFIRMED)]
    assert taken.release() == unconfirmed
    taken.hold()
    taken.restore()
    assert taken.release() == unconfirmed
    assert taken.unconfirmed == ('elevator_trim',)
    taken.forget('elevator_trim')
    assert taken.release() == []


def test_another_run_is_not_given_what_the_former_lost():
    taken = Items()
    taken.take('joystick')
    taken.hold()
    taken.drop()
    taken.restore()
    assert taken.release() == []


# Rows.


def row(index):
    return Segment(index, (0.0,) * 8)


def selected(now=LISTENING):
    """Return rows 17 and 20, selected at this time."""
    rows = Rows((17, 20))
    rows.begin(0.0)
    assert rows.due(now, SpokenDialect(12, True, Wire()).own(12), True)
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
