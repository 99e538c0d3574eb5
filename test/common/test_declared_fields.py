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

"""Fields: whatever is wrong with one is said in the same words, wherever it is written."""

from __future__ import annotations

from dataclasses import dataclass
import math

import pytest

from xplane_bridge.common.fields import (
    declared,
    FieldError,
    in_file,
    LARGEST,
    limits,
    number,
    read,
    REQUIRED,
    shown,
    table_of,
    whole,
)


@dataclass(frozen=True, slots=True)
class Wing:
    """A section, which may be empty."""

    sweep: float = declared(0.0, 'of the leading edge', name='sweep_deg', unit='deg', low=-60.0,
                            high=60.0)
    slats: bool = declared(False, 'whether it has them')


@dataclass(frozen=True, slots=True)
class Glider:
    """A file."""

    span: float = declared(REQUIRED, 'of the wing', unit='m', above=0.0)
    seats: int = declared(1, 'who may fly in it', low=1, high=2)
    tail: str = declared('T', 'its form', choices=('T', 'V'))
    wing: Wing | None = declared(None, 'more of it')
    stations: tuple[float, ...] = declared((), 'places of loads', unit='m')
    centre: tuple[float, float] = declared((0.0, 0.0), 'of gravity', form='[forward, up] in m')
    note: str = declared('', 'any text')
    spare: float = 0.0

    def __post_init__(self):
        """Refuse what contradicts."""
        if self.span < 5.0 and self.seats == 2:
            raise ValueError('two do not fit below a span of 5 m')


def test_a_file_becomes_the_dataclass_that_declares_it():
    found = read(Glider, {'span': 15, 'wing': {'sweep_deg': -30}, 'stations': [1, 2.5],
                          'centre': [0.5, 0]}, spare=3.0)
    assert found == Glider(15.0, wing=Wing(math.radians(-30.0)), stations=(1.0, 2.5),
                           centre=(0.5, 0.0), spare=3.0)
    assert isinstance(found.span, float)
    assert read(Glider, {'span': 15, 'wing': None}).wing == Wing()
    assert 'spare' not in table_of(Glider)


@pytest.mark.parametrize(('content', 'sentence'), [
    ([], 'the file: expected names with values, got []'),
    ({}, 'the file: span is missing'),
    ({'span': 1, 'spare': 1}, "the file: unknown name 'spare', expected span, seats, tail"),
    ({'span': 1, 'seat': 1}, 'centre, note; did you mean seats?'),
    ({'span': 1, 'x' * 200: 1}, 'centre, note'),
    ({'span': True}, 'span: expected a number, got True'),
    ({'span': 'wide'}, "span: expected a number, got 'wide'"),
    ({'span': math.nan}, 'span: expected a finite number, got nan'),
    ({'span': math.inf}, 'span: expected a finite number, got inf'),
    ({'span': 0}, 'span: expected above 0 m, got 0'),
    ({'span': 10 ** 39}, 'span: expected above 0 and at most 1e+09 m, got 1000000000'),
    ({'span': 1, 'seats': 1.0}, 'seats: expected a whole number, got 1.0'),
    ({'span': 1, 'seats': True}, 'seats: expected a whole number, got True'),
    ({'span': 1, 'seats': 3}, 'seats: expected 1 to 2, got 3'),
    ({'span': 1, 'seats': 2}, 'two do not fit below a span of 5 m'),
    ({'span': 1, 'tail': 'X'}, "tail: expected one of T, V, got 'X'"),
    ({'span': 1, 'tail': ['T']}, "tail: expected one of T, V, got ['T']"),
    ({'span': 1, 'note': 3}, 'note: expected a text, got 3'),
    ({'span': 1, 'wing': 3}, 'wing: expected names with values, got 3'),
    ({'span': 1, 'wing': {'sweep': 3}}, "wing: unknown name 'sweep', expected sweep_deg, slats"),
    ({'span': 1, 'wing': {'sweep_deg': 90}}, 'wing.sweep_deg: expected -60 to 60 deg, got 90'),
    ({'span': 1, 'wing': {'slats': 1}}, 'wing.slats: expected true or false, got 1'),
    ({'span': 1, 'stations': 1}, 'stations: expected a list, got 1'),
    ({'span': 1, 'stations': [1, 'x']}, "stations[1]: expected a number, got 'x'"),
    ({'span': 1, 'centre': [1]}, 'centre: expected [forward, up] in m, got [1]'),
    ({'span': 1, 'centre': 'ab'}, "centre: expected [forward, up] in m, got 'ab'"),
    ({'span': 1, 'centre': [1, None]}, 'centre[1]: expected a number, got None'),
])
def test_a_mistake_says_where_expected_and_got(content, sentence):
    with pytest.raises(FieldError) as caught:
        read(Glider, content)
    assert sentence in str(caught.value)


def test_a_mistake_in_a_section_says_its_place():
    with pytest.raises(FieldError, match=r'planes\[1\]: span is missing'):
        read(Glider, {}, 'planes[1]')
    with pytest.raises(FieldError, match=r'planes\[1\]\.span: expected above 0 m'):
        read(Glider, {'span': -1}, 'planes[1]')
    with pytest.raises(FieldError, match=r'planes\[1\]: two do not fit'):
        read(Glider, {'span': 1, 'seats': 2}, 'planes[1]')


def test_a_file_is_put_before_what_is_said_of_its_fields():
    class PaintError(FieldError):
        pass

    with pytest.raises(PaintError, match='^paint.yaml: coats: expected 1 to 9, got 0$'), (
            in_file('paint.yaml', PaintError)):
        whole(0, 'coats', 1, 9)


def test_numbers_are_shown_with_the_digits_that_tell_them_apart():
    assert [shown(one) for one in (5, 2.0, 0.1, 2147483645, 1e9, 1234567.5)] == [
        '5', '2', '0.1', '2147483645', '1e+09', '1234567.5']
    assert limits(None, None) == ''
    assert limits(None, 20.0, 0.0) == 'above 0 and at most 20'
    assert limits(0.0, 1.0) == '0 to 1'


@pytest.mark.parametrize(('value', 'sentence'), [
    (-2e9, 'x: expected -1e+09 to 1e+09, got -2e+09'), (2e9, 'expected -1e+09 to 1e+09')])
def test_no_number_exceeds_the_largest(value, sentence):
    assert number(LARGEST, 'x') == LARGEST
    with pytest.raises(FieldError) as caught:
        number(value, 'x')
    assert sentence in str(caught.value)
