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

"""docs/reference/episodes.md has the fields of observations and actions."""

from pathlib import Path
import re

from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.control.policy.observation import FIELDS

PAGE = (Path(__file__).resolve().parents[2] / 'docs' / 'reference' / 'episodes.md').read_text()


def rows(of):
    """Return the rows of a table in the page, from a pattern of their first column."""
    return re.findall(rf'^\| {of} \|.*$', PAGE, re.MULTILINE)


def row(first, field):
    return f'| {first} | `{field.name}` | {field.unit or "-"} | {field.low:g} | {field.high:g} |'


def test_the_page_has_each_field_of_an_observation():
    assert rows(r'\d+') == [row(number, field) for number, field in enumerate(FIELDS)]


def test_the_page_has_each_field_of_an_action():
    assert [line for level in LEVELS for line in rows(f'`{level}`') if line.count('|') == 6] == [
        row(f'`{level}`', field) for level, action in LEVELS.items() for field in action.fields]
