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


"""Commands that are held by presses: when they are pressed, and when no longer."""

import pytest

from xplane_bridge.bridges.xplane_udp.web.presses import MOST_HELD, Presses

A, B = 'sim/a', 'sim/b'


def presses(holds, until, step=0.01, delay=0.004):
    """Return the presses of a time, each accepted ``delay`` after it was due, as (at, length)."""
    made, now = [], 0.0
    while now < until:
        if (press := holds.take(now)) is not None:
            name, length = press
            holds.pressed(name, length, now + delay)
            made.append((name, round(now, 2), round(length, 3)))
        now += step
    return made


def test_a_command_is_pressed_again_until_its_lease_ends_and_never_twice_at_once():
    holds = Presses(0.5)
    assert holds.begin(A, 1.2, 0.0)
    made = presses(holds, 5.0)
    assert made[0] == (A, 0.0, 0.5)
    for (_, before, length), (_, at, _) in zip(made, made[1:], strict=False):
        assert before + length < at < before + length + 0.06
    # X-Plane has released it when the lease ends, whatever happens here.
    assert made[-1][1] + made[-1][2] == pytest.approx(1.2, abs=0.011)
    assert holds.names == ()
    assert holds.deadline() is None


def test_a_short_hold_is_a_single_press_of_that_length():
    holds = Presses(10.0)
    holds.begin(A, 3.25, 0.0)
    assert presses(holds, 20.0) == [(A, 0.0, 3.25)]


def test_renewal_extends_it_and_an_end_ends_it():
    holds = Presses(0.5)
    holds.begin(A, 0.3, 0.0)
    assert holds.take(0.0) == (A, 0.3)
    assert not holds.begin(A, 1.0, 0.2)
    assert holds.take(0.25) is None
    name, length = holds.take(0.34)
    assert (name, length) == (A, 0.5)
    holds.pressed(A, length, 0.36)
    assert holds.end(A, 0.46) == pytest.approx(0.43)
    assert holds.take(10.0) is None
    with pytest.raises(ValueError, match='sim/a is not held'):
        holds.end(A, 1.0)


def test_several_are_held_side_by_side_and_a_refused_one_is_dropped():
    holds = Presses(0.5)
    holds.begin(A, 2.0, 0.0)
    holds.begin(B, 2.0, 0.0)
    assert {holds.take(0.0)[0], holds.take(0.0)[0]} == {A, B}
    assert holds.take(0.0) is None
    holds.drop(A, 0.1)
    assert holds.names == (B,)
    holds.end_all()
    assert holds.take(9.0) is None


@pytest.mark.parametrize('lease', [0.0, -1.0, 3601.0, float('nan')])
def test_impossible_leases_are_refused(lease):
    with pytest.raises(ValueError, match='is not in 0 .. 3600 s'):
        Presses(0.5).begin(A, lease, 0.0)


def test_too_many_are_refused():
    holds = Presses(0.5)
    for n in range(MOST_HELD):
        holds.begin(f'sim/{n}', 1.0, 0.0)
    with pytest.raises(ValueError, match='20 commands are held already'):
        holds.begin(A, 1.0, 0.0)


def test_a_press_that_may_have_been_heard_is_held_until_it_is_over():
    holds = Presses(0.5)
    holds.begin(A, 9.0, 0.0)
    _, length = holds.take(0.0)
    holds.drop(A, 5.0, length)
    assert holds.take(5.4) is None
    assert holds.names == (A,)
    assert holds.end(A, 5.4) == pytest.approx(0.1)
    holds.begin(A, 9.0, 6.0)
    holds.drop(A, 6.0)
    assert holds.names == ()
