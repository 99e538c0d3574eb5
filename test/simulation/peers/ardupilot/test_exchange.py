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

"""SITL's frames and their answers, doubled, delayed, reordered and lost: nothing comes of it."""

import random

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from sitl_peer import frame, Line, RATE

# What may happen to a datagram: when its copies arrive.
FAULTS = {
    'lost': (), 'doubled': (0.0, 0.0), 'again after 0.3 s': (0.0, 0.3),
    'again after 0.7 s': (0.0, 0.7), 'again after 2 s': (0.0, 2.0), '0.05 s late': (0.05,),
    '0.3 s late': (0.3,), '1 s late': (1.0,), '3 s late': (3.0,)}
# By number from each side.
WHICH = (0, 7, 300)
# From an answer to the next frame: as fast as possible, and in real time.
PACES = {'fast': 5e-3, 'real time': 1.0 / RATE}


def check_in_step(line, sitl, restarts=0):
    """SITL waits for the answer to the frame that was flown last, and has no other."""
    physics = line.frontend.physics
    for _ in range(100):
        line.step()
        if sitl.waits and not sitl.queue and physics.count == sitl.count:
            break
    assert (physics.count, list(sitl.queue), sitl.waits) == (sitl.count, [], True)
    assert line.world.flight_time == pytest.approx((sitl.count + 1) / RATE)
    assert physics.restarts == restarts
    # Its newest answer is that of the frame before.
    assert sitl.read[-1] == pytest.approx(sitl.count / RATE)
    if not restarts:
        assert line.world.times == sorted(line.world.times)


def flown(faults, pace, seconds=6.0, **given):
    line = Line(faults, **given)
    sitl = line.start(pace=PACES[pace])
    line.until(seconds)
    return line, sitl


@pytest.mark.parametrize('pace', PACES)
@pytest.mark.parametrize('fault', FAULTS)
@pytest.mark.parametrize('side', ['frames', 'answers'])
def test_one_datagram_changes_nothing(side, fault, pace):
    for number in WHICH:
        check_in_step(*flown({(side, number): FAULTS[fault]}, pace))


def test_pairs_of_them_change_nothing():
    numbers = random.Random(49)
    for _ in range(50):
        faults = {(numbers.choice(['frames', 'answers']), numbers.choice((0, 1, 5, 6, 7, 300))):
                  FAULTS[numbers.choice(list(FAULTS))] for _ in range(numbers.choice((2, 3)))}
        line, sitl = flown(faults, numbers.choice(list(PACES)))
        check_in_step(line, sitl)


@pytest.mark.parametrize('computes', [1e-6, 5e-3])
def test_a_physics_faster_or_slower_than_sitl_finds_answers_too_many(computes):
    for pace in PACES:
        for number in WHICH:
            line, sitl = flown(
                {('answers', number): FAULTS['again after 0.3 s']}, pace, computes=computes)
            check_in_step(line, sitl)


@pytest.mark.parametrize('pace', PACES)
def test_a_pause_of_the_physics_leaves_nothing_behind(pace):
    # SITL repeats its frame three times, and all four copies are read at once.
    line = Line()
    sitl = line.start(pace=PACES[pace])
    line.until(1.0)
    line.frontend.frame, frames = lambda now: None, line.frontend.frame
    line.until(4.5)
    line.frontend.frame = frames
    line.compute()
    line.until(4.6)
    check_in_step(line, sitl)
    assert line.told == ['SITL at 127.0.0.1:5501']


@pytest.mark.parametrize('pace', PACES)
def test_sitl_that_is_stopped_goes_on_where_it_was(pace):
    line = Line()
    sitl = line.start(pace=PACES[pace])
    line.until(1.0)
    sitl.pause(7.0)
    line.until(9.0)
    check_in_step(line, sitl)


@pytest.mark.parametrize('side', ['frames', 'answers'])
@pytest.mark.parametrize('pace', PACES)
def test_a_burst_of_twenty_old_ones_after_a_pause_changes_nothing(side, pace):
    for seconds in (0.4, 8.0):
        line = Line()
        sitl = line.start(pace=PACES[pace])
        line.until(seconds)
        sitl.pause(3.0)
        for number, data in enumerate(line.kept[side][:20]):
            line.bring(2.0 + 0.002 * number, side, [data], sitl.address)
        line.until(seconds + 8.0)
        check_in_step(line, sitl)


def test_sitl_is_told_of_answers_too_many():
    line, sitl = flown({('answers', 50): (0.0, 0.3)}, 'real time')
    check_in_step(line, sitl)
    assert line.told[1:] == [
        'SITL was 1 frame behind: it had more answers than frames, and was given none until it '
        'was not']


def restarted(after, port, gone=2.5, **given):
    """Return after how many seconds a restarted SITL has had its first answer, and second one."""
    line = Line(**given)
    first = line.start(pace=PACES['real time'])
    line.until(after)
    first.alive = False
    line.until(after + gone)
    second = line.start(port=port, pace=PACES['real time'])
    begin = line.now
    while len(second.read) < 2:
        line.until(line.now + 0.01)
        assert line.now < begin + 10.0
    if not given.get('lockstep', True):
        while not line.frontend.physics.restarts:
            line.until(line.now + 0.01)
    took = line.now - begin
    line.until(line.now + 5.0)
    if given.get('lockstep', True):
        check_in_step(line, second, restarts=1)
        assert second.read[0] == pytest.approx(1.0 / RATE)
    assert line.frontend.physics.restarts == 1
    assert 'SITL was started again: so is the flight' in line.told
    return took


@pytest.mark.parametrize(('after', 'port', 'gone', 'at_most'), [
    (10.0, 5502, 2.5, 0.05), (1.0, 5502, 2.5, 0.05), (10.0, 5501, 2.5, 0.15),
    (1.0, 5501, 2.5, 0.15), (10.0, 5501, 0.2, 0.35), (1.0, 5501, 0.2, 1.15)])
def test_a_restart_of_sitl_is_recognised(after, port, gone, at_most):
    assert restarted(after, port, gone) < at_most


@pytest.mark.parametrize('port', [5502, 5501])
def test_a_restart_is_recognised_in_real_time(port):
    assert restarted(10.0, port, lockstep=False) < 0.15


def test_a_restart_within_a_second_waits_for_the_silence_of_the_one_before():
    assert restarted(10.0, 5502, gone=0.2) < 1.2


@pytest.mark.parametrize('count', [0, 90])
def test_two_late_frames_while_sitl_waits_for_a_lost_answer_change_nothing(count):
    line = Line({('answers', 100): ()})
    sitl = line.start(pace=PACES['fast'])
    while sitl.count < 100:
        line.step()
    for delay in (0.1, 0.8):
        line.bring(delay, 'frames', [frame(count)], sitl.address)
    line.until(4.0)
    check_in_step(line, sitl)
    assert sitl.read == sorted(sitl.read)


def test_late_frames_a_second_apart_while_sitl_goes_on_change_nothing():
    line = Line()
    sitl = line.start(pace=PACES['real time'])
    for delay in (1.0, 2.2):
        line.bring(delay, 'frames', [frame(0)], sitl.address)
    line.until(4.0)
    check_in_step(line, sitl)
    assert line.frontend.exchange.late == 2


def test_first_frames_that_were_not_answered_confirm_nothing():
    line = Line()
    sitl = line.start(pace=PACES['real time'], begin=50)
    line.until(6.0)
    sitl.pause(3.0)
    for number in (0, 1):
        line.bring(1.5 + 0.2 * number, 'frames', [frame(number)], sitl.address)
    line.until(12.0)
    assert line.frontend.physics.restarts == 0
    assert line.told == ['SITL at 127.0.0.1:5501']


def test_a_copy_that_comes_soon_after_its_answer_is_not_answered():
    line = Line()
    sitl = line.start(pace=PACES['real time'])
    line.until(1.0)
    sitl.pause(1.0)
    line.bring(0.3, 'frames', [frame(sitl.count)], sitl.address)
    line.until(1.1)
    sent = line.sent['answers']
    line.until(1.5)
    assert line.sent['answers'] == sent


def test_strangers_are_not_heard_while_sitl_speaks():
    line = Line()
    sitl = line.start(pace=PACES['real time'])
    for number in (0, 1, 2):
        line.bring(1.0 + 0.001 * number, 'frames', [frame(number)], ('10.0.0.9', 7))
    line.until(3.0)
    check_in_step(line, sitl)
    assert line.frontend.exchange.strangers == 3
    assert line.told == ['SITL at 127.0.0.1:5501']


def test_late_frames_of_the_flight_before_change_nothing():
    line = Line()
    first = line.start(pace=5e-3)
    line.until(8.0)
    first.alive = False
    line.until(10.0)
    second = line.start(pace=5e-3)
    line.until(10.5)
    assert line.frontend.physics.restarts == 1
    # A frame that is ahead of the new flight's, and its copy.
    for delay in (0.0, 0.7):
        line.bring(delay, 'frames', [frame(second.count + 90)], first.address)
    line.until(14.0)
    check_in_step(line, second, restarts=1)


def test_a_stranger_is_no_peer_on_the_word_of_one_frame():
    for count in (0, 5, 10_000):
        line = Line()
        sitl = line.start(pace=PACES['real time'])
        line.until(8.0)
        sitl.pause(4.0)
        line.bring(2.0, 'frames', [frame(count)], ('10.0.0.9', 7))
        line.until(15.0)
        check_in_step(line, sitl)
        assert line.told == ['SITL at 127.0.0.1:5501']


def test_sitl_behind_another_port_goes_on_where_it_was():
    line = Line()
    sitl = line.start(pace=5e-3)
    line.until(2.0)
    sitl.alive = False
    line.until(4.0)
    second = line.start(port=5502, begin=sitl.count + sitl.waits - 1)
    second.read = sitl.read
    line.until(9.0)
    check_in_step(line, second)


def test_frames_are_counted_in_32_bits():
    line = Line()
    sitl = line.start(begin=2**32 - 50)
    while sitl.count < 2**32:
        line.step()
    sitl.count -= 2**32
    line.until(3.0)
    physics = line.frontend.physics
    assert physics.restarts == 0
    assert physics.count > 100
    assert line.world.flight_time == pytest.approx((physics.count + 51) / RATE)


def test_a_jump_of_the_count_is_believed_once_it_is_repeated():
    line = Line()
    line.start(begin=50).alive = False
    line.until(1.0)
    other = line.start(begin=90_000)
    line.until(5.0)
    assert line.frontend.physics.restarts == 0
    assert 90_000 < other.count - 1 <= line.frontend.physics.count
