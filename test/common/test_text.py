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

"""Text of strangers, made printable, and numbers that can be told apart."""

import math

from hypothesis import given
from hypothesis import strategies as st
import pytest

from xplane_bridge.common.text import counted, known, printable, two_numbers


@pytest.mark.parametrize(
    'text', ['', 'Cessna 172SP', 'Höhe µ °', 'C:\\X-Plane 12', '高度 [m]', 'a\xa0b'])
def test_what_can_be_printed_stays(text):
    assert printable(text) == text


@pytest.mark.parametrize(('text', 'shown'), [
    ('\x1b[2J\x1b]0;owned\x07', r'\x1b[2J\x1b]0;owned\x07'),
    ('one\n[ERROR] [1.0] [xpc_node]: forged', r'one\n[ERROR] [1.0] [xpc_node]: forged'),
    ('\r\t\0\x7f\x9b31m', r'\r\t\x00\x7f\x9b31m'),
    ('\u202egnp.exe\u200b\u2066', r'\u202egnp.exe\u200b\u2066'),
    ('\u2028\u2029', r'\u2028\u2029'),
    ('\ud800 \udcff', r'\ud800 \udcff'),
    ('\U000e0041', r'\U000e0041'),
])
def test_what_cannot_becomes_an_escape(text, shown):
    assert printable(text) == shown


def test_a_long_text_is_cut_visibly():
    assert printable('x' * 200) == 'x' * 200
    assert printable('x' * 201) == 'x' * 200 + '... (201 characters)'
    assert printable('abcdef', 3) == 'abc... (6 characters)'


def test_an_escape_is_whole_or_not_there():
    assert printable('ab\n\n', 5) == r'ab\n... (4 characters)'


@given(st.text(st.characters(codec=None), max_size=300), st.integers(0, 250))
def test_any_text_becomes_short_and_printable(text, limit):
    shown = printable(text, limit)
    assert len(shown) <= limit + len(f'... ({len(text)} characters)')
    assert ''.join(shown.split()).isprintable()
    assert not any(char in shown for char in '\n\r\x1b\x9b\u2028\u202e')


@pytest.mark.parametrize(('least', 'most', 'shown'), [
    (900.0, 12000.0, ('900', '12000')), (1499.9982, 1500.0021, ('1499.9982', '1500.0021')),
    (47.397741, 47.397743, ('47.397741', '47.397743')), (84561.3, 84561.3, ('84561', '84561')),
    (-1.0, 20.0, ('-1', '20')), (0.0, 0.0, ('0', '0')), (1e-7, 3e-7, ('1e-07', '3e-07')),
    (-math.inf, 1.0, ('-inf', '1')), (math.nan, math.nan, ('nan', 'nan')),
    (2.0**40, 2.0**40 + 1, ('1.09951163e+12', '1.09951163e+12')),
])
def test_two_numbers_have_the_digits_that_tell_them_apart(least, most, shown):
    assert two_numbers(least, most) == shown


def test_one_thing_is_counted_as_one_and_what_is_not_known_is_a_word():
    assert [counted(n, 'byte') for n in (0, 1, 2)] == ['0 bytes', '1 byte', '2 bytes']
    assert counted(2, 'property', 'properties') == '2 properties'
    assert known(1.25, '{:.1f} m') == '1.2 m'
    assert known(math.nan, '{:.1f} m') == known(math.inf, '{:.1f} m') == 'unknown'
    assert known(math.nan, '{:.1f} m', 'never') == 'never'
