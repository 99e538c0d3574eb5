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

"""Which values of X-Plane are late ones of ours: at each time, and for each value."""

import pytest

from xplane_bridge.bridges.xpc.session import written as module
from xplane_bridge.bridges.xpc.session.written import SentValues

KEY, OTHER = (0, 'elevator'), (3, 'pause')


def sent(*pairs):
    """Return what was written: values and times, in this order."""
    found = SentValues()
    for value, now in pairs:
        found.note(KEY, (value,), now)
    return found


@pytest.mark.parametrize(('row', 'asked_at', 'is_late'), [
    # 0.25 nobody writes by chance: ours whenever it comes. 1.0 only while it may be under way.
    ((0.25,), None, True), ((0.25,), 99.0, True), ((1.0,), None, True), ((1.0,), 12.9, True),
    ((1.0,), 13.0, False), ((0.5,), None, False), ((0.75,), None, False),
    ((0.25, 7.0), None, True), ((0.1,), None, True)])
def test_what_was_sent_before_is_a_late_one(row, asked_at, is_late):
    found = sent((0.25, 9.0), (1.0, 10.0), (0.1, 10.0), (0.5, 11.0))
    if asked_at is not None:
        found.show(KEY, asked_at)
        found.show(KEY, asked_at - 5.0)
    # As X-Plane has them, as float32.
    row = tuple(module._as_read((one,))[0] for one in row)
    assert found.is_late(KEY, row, (0.5,), 3.0) is is_late


def test_it_is_settled_once_asked_after_the_last_other_value_may_have_come():
    found = sent((0.25, 9.0), (1.0, 10.0), (0.5, 11.0))
    assert found.until(KEY, (0.5,), 3.0) == 13.0
    assert found.until(KEY, (1.0,), 3.0) == 14.0
    assert not found.is_settled(KEY, (0.5,), 3.0)
    found.show(KEY, 12.9)
    assert not found.is_settled(KEY, (0.5,), 3.0)
    found.show(KEY, 13.0)
    assert found.is_settled(KEY, (0.5,), 3.0)
    # Of nothing else that was sent nothing can come.
    assert sent((0.5, 11.0)).is_settled(KEY, (0.5,), 3.0)
    assert SentValues().is_settled(KEY, (0.5,), 3.0)


def test_what_anybody_may_write_is_recognised_for_a_while_only():
    assert not SentValues().may_come(KEY)
    assert not sent((1.0, 1.0), (0.0, 2.0), (-1.0, 3.0), (-2.0, 4.0)).may_come(KEY)
    assert sent((1.0, 1.0), (0.25, 2.0)).may_come(KEY)


@pytest.mark.parametrize(('row', 'aim', 'ours'), [
    ((0.25,), (0.5,), True), ((0.5,), (0.5,), False), ((0.75,), (0.5,), False),
    ((0.25, 9.0), (0.5,), True)])
def test_values_may_be_ours_if_they_were_sent(row, aim, ours):
    assert sent((0.25, 1.0), (0.5, 2.0)).may_be_ours(KEY, row, aim) is ours
    # Where nothing else was sent, nobody knows.
    assert sent((0.5, 2.0)).may_be_ours(KEY, row, aim)
    assert sent((0.25, 1.0)).was_sent(KEY, (0.25,))
    assert not sent((0.25, 1.0)).was_sent(KEY, (0.5,))


def test_what_is_forgotten_was_neither_sent_nor_shown():
    found = sent((0.25, 9.0))
    found.show(KEY, 50.0)
    found.note(OTHER, (0.25,), 9.0)
    found.show(OTHER, 50.0)
    found.keep([OTHER])
    assert not found.was_sent(KEY, (0.25,))
    assert found.was_sent(OTHER, (0.25,))
    found.note(KEY, (1.0,), 60.0)
    found.note(KEY, (0.5,), 61.0)
    assert found.is_late(KEY, (1.0,), (0.5,), 3.0)
    found.forget(KEY)
    assert not found.may_come(KEY)
    found.note(KEY, (0.25,), 49.0)
    assert not found.is_settled(KEY, (0.5,), 1.0)


def test_the_newest_values_of_an_item_are_kept(monkeypatch):
    monkeypatch.setattr(module, '_MOST', 3)
    found = sent((0.1, 1.0), (0.2, 2.0), (0.3, 3.0), (0.1, 4.0), (0.4, 5.0))
    known = [value for value in (0.1, 0.2, 0.3, 0.4)
             if found.was_sent(KEY, module._as_read((value,)))]
    assert known == [0.1, 0.3, 0.4]
