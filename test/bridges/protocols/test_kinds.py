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

"""Keys from a peer, counted by kind within bounds; its text in an error is printable."""

import random

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.protocols.kinds import FREQUENT_KINDS, Kinds, OTHER


def test_the_text_of_an_error_of_the_peer_is_printable_and_short():
    error = ProtocolError(f'label {"x" * 10_000}\n\x1b[2J')
    assert str(error).isprintable()
    assert len(str(error)) < 450


def test_kinds_count_as_a_counter_does():
    kinds = Kinds(['RREF'])
    assert not kinds
    assert kinds == {}
    for kind in ('a', 'RREF', 'a'):
        kinds.add(kind)
    assert kinds == {'RREF': 1, 'a': 2}
    assert (kinds['a'], kinds['b'], kinds.total) == (2, 0, 3)
    assert 'a' in kinds
    assert 'b' not in kinds


def test_200_000_kinds_are_a_few_and_other():
    kinds = Kinds(['RREF'])
    for number in range(200_000):
        kinds.add(f'kind {number}')
        if number % 1000 == 0:
            kinds.add('RREF')
    assert len(kinds) <= FREQUENT_KINDS + 2
    assert kinds['RREF'] == 200
    assert kinds.total == sum(kinds.values()) == 200_200
    assert kinds[OTHER] >= 200_000 - FREQUENT_KINDS


def test_a_frequent_kind_is_seen_in_a_flood_of_others():
    kinds = Kinds()
    chance = random.Random(1)
    for number in range(50_000):
        kinds.add('real' if chance.random() < 0.2 else f'junk {number}')
    assert kinds['real'] > 9_000


def test_kinds_hold_nothing_long_or_raw():
    kinds = Kinds()
    for number in range(1000):
        kinds.add(f'\x1b[2J{number}' + 'x' * 60_000)
    assert all(kind.isprintable() and len(kind) < 80 for kind in kinds)


def test_a_kind_named_other_is_no_second_one():
    kinds = Kinds(few=1)
    for kind in ('a', OTHER, 'b', OTHER):
        kinds.add(kind)
    assert kinds.total == 4
    assert list(kinds).count(OTHER) == 1
