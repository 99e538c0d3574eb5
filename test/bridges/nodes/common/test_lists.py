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

"""Lists in commands and services are bounded; longer ones are rejected with a sentence."""

import pytest

from xplane_bridge.bridges.nodes.common.lists import check_count, dataref_values, named, watched


def test_values_belong_to_their_names():
    assert dataref_values(['a', 'b'], [1, 2], [1.0, 2.0, 3.0]) == [
        ('a', (1.0,)), ('b', (2.0, 3.0))]


@pytest.mark.parametrize(('names', 'sizes', 'values', 'sentence'), [
    (0, 0, 0, 'no dataref given'),
    (1025, 1025, 1025, '1025 names, at most 1024 in one message'),
    (1, 1, 1025, '1025 values, at most 1024 in one message'),
    (2, 1, 1, '2 names, 1 sizes with a sum of 1, and 1 values do not match'),
])
def test_values_that_cannot_be_written_are_refused(names, sizes, values, sentence):
    with pytest.raises(ValueError, match=sentence):
        dataref_values(['a'] * names, [1] * sizes, [1.0] * values)


def test_a_sentence_names_a_few():
    assert named(['a', 'b']) == 'a, b'
    assert named(['a'] * 7) == 'a, a, a, a, a and 2 more'


def test_an_empty_name_stands_for_none():
    assert watched(('', 'a')) == ['a']


def test_as_many_as_may_be_are_taken():
    check_count('rows', 31, 31)
    with pytest.raises(ValueError, match='32 rows, at most 31 in one message'):
        check_count('rows', 32, 31)
