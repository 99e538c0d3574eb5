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

"""Unusable YAML yields one short sentence and takes no more than a second."""

import random
import re

import pytest

from xplane_bridge.common import plain_yaml
from xplane_bridge.common.text import abbreviated

LAUGHS = 'a0: &a0 [x, x, x, x, x, x, x, x, x]\n' + ''.join(
    f'a{level}: &a{level} [{", ".join([f"*a{level - 1}"] * 9)}]\n' for level in range(1, 9))
FILE = b"""# What people write.
duration: 20
events:
  - {at: 1, engage: true, when: 2026-11-22}
  - at: 0x10
    change: {heading_deg: -1.5e+1, text: "a\\x20b", none: ~}
description: >
  Two lines,
  folded.
"""


def test_what_people_write_is_read():
    found = plain_yaml.load(FILE)
    assert found['events'][1]['change'] == {'heading_deg': -15.0, 'text': 'a b', 'none': None}
    assert found['description'] == 'Two lines, folded.\n'
    assert plain_yaml.load('') is None


@pytest.mark.parametrize(('text', 'sentence'), [
    ('[' * 10_000 + ']' * 10_000, 'more than 32 levels in line 1, column 33'),
    ('- ' * 10_000, 'more than 32 levels in line 1, column 65'),
    ('a: ' + '9' * 5000, 'a number of 5000 characters in line 1, column 4'),
    ('a: 0x' + 'f' * 5000, 'a number of 5002 characters in line 1, column 4'),
    ('a: ' + ':'.join(['59'] * 400), 'a number of 1199 characters in line 1, column 4'),
    (LAUGHS, 'an alias, which is not supported: write the value itself in line 2, column 10'),
    ('&a [*a]', 'an alias, which is not supported: write the value itself in line 1, column 5'),
    ('a: 2001-99-99', 'it has an invalid value (ValueError: month must be in 1..12)'),
    ('!!bool perhaps', "it has an invalid value (KeyError: 'perhaps')"),
    ('!!int ""', 'it has an invalid value (IndexError: string index out of range)'),
    ('a: b: c', 'mapping values are not allowed here in line 1, column 5'),
    ('{[a]: b}', 'found unhashable key in line 1, column 2'),
    ('a\n---\nb', 'but found another document in line 2, column 1'),
    (b'a: \xff', 'invalid start byte in line 1: save it as UTF-8'),
    ('a: \x01', 'special characters are not allowed in line 1'),
    ('x' * 65_537, 'it has more than 65536 bytes'),
], ids=lambda value: repr(value)[:40])
def test_what_cannot_be_used_is_said_in_a_sentence(text, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        plain_yaml.load(text)
    assert str(caught.value) == sentence


def test_a_file_is_not_read_further_than_its_bound(tmp_path):
    path = tmp_path / 'large.yaml'
    with path.open('wb') as stream:
        stream.truncate(10**12)
    with pytest.raises(ValueError, match='more than 65536 bytes'):
        plain_yaml.load_file(str(path))


def test_mutants_give_nothing_but_sentences():
    chance = random.Random(14)
    for _ in range(300):
        mutant = bytearray(FILE)
        for _ in range(chance.randint(1, 5)):
            at = chance.randrange(len(mutant))
            mutant[at:at + chance.choice((0, 1, 5))] = chance.choice((
                b'', chance.randbytes(1), b'[{', b'&a ', b'*a', b'!!float ', b'\n', b'\t',
                b'? ', b'<<: ', b'9' * 50, mutant[at:at + 20]))
        try:
            abbreviated(plain_yaml.load(bytes(mutant)))
        except ValueError as error:
            assert '\n' not in str(error)
            assert len(str(error)) < 300
