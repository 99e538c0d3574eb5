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

"""
Messages, services and actions are those of the last release, or what has changed is told.

``make released-types`` writes released_types.tsv at a release. Of each type it has a hash of its
definition, constants included, and ROS's own of its fields (RIHS01), by which nodes and recordings
know a type.
"""

from hashlib import sha256
import json
import os
from pathlib import Path
import re

import pytest

ROOT = Path(__file__).resolve().parents[2]
RELEASED = Path(__file__).with_name('released_types.tsv')
# A sign in a text begins no comment.
BEFORE_COMMENT = re.compile(r"""(?:"[^"]*"|'[^']*'|[^#"'])*""")


def definition(text):
    """Return a hash of a type's definition without comments and blanks."""
    lines = (' '.join(BEFORE_COMMENT.match(line)[0].split()) for line in text.splitlines())
    return sha256('\n'.join(filter(None, lines)).encode()).hexdigest()[:16]


def defined():
    """Return the hash of each definition, by the type's full name."""
    return {f'xplane_bridge/{kind}/{path.stem}': definition(path.read_text())
            for kind in ('msg', 'srv', 'action') for path in sorted(ROOT.glob(f'{kind}/*.{kind}'))}


@pytest.fixture
def built():
    """Return ROS's own hash of each type, as the package is built here."""
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    from ament_index_python.packages import get_package_share_directory
    share = Path(get_package_share_directory('xplane_bridge'))
    hashes = {}
    for kind in ('msg', 'srv', 'action'):
        for path in share.glob(f'{kind}/*.json'):
            found = json.loads(path.read_text())['type_hashes']
            hashes |= {item['type_name']: item['hash_string'] for item in found
                       if item['type_name'] == f'xplane_bridge/{kind}/{path.stem}'}
    return hashes


def released():
    """Return both hashes of each type of the last release."""
    rows = (line.split('\t') for line in RELEASED.read_text().splitlines()[1:])
    return {name: (text, fields) for name, text, fields in rows}


def untold(before, now, forthcoming, page):
    """Return the released types that have changed or gone, without a word of it in both texts."""
    return [name for name in before if now.get(name) != before[name] and not all(
        re.search(rf'\b{name.rpartition("/")[2]}\b', text) for text in (forthcoming, page))]


def forthcoming():
    """Return what the changelog says of the next release, '' at a release."""
    _, _, text = (ROOT / 'CHANGELOG.rst').read_text().partition('\nForthcoming\n')
    return re.split(r'^\d+\.\d+\.\d+ \(', text, maxsplit=1, flags=re.MULTILINE)[0]


def test_what_has_changed_since_the_release_is_in_changelog_and_migration():
    before = {name: text for name, (text, _) in released().items()}
    now, told = defined(), forthcoming()
    page = (ROOT / 'docs' / 'how-to' / 'migrate.md').read_text()
    assert untold(before, now, told, page) == []
    # A release has all of its types; new ones are frozen by it.
    assert told or before == now, 'make released-types'


def test_ros_knows_each_type_by_the_hash_of_the_release(built):
    if os.environ.get('RELEASED') == 'rewrite':
        rows = [f'{name}\t{text}\t{built[name]}\n' for name, text in defined().items()]
        RELEASED.write_text(''.join(['type\tdefinition\tRIHS01\n', *rows]))
    assert built.keys() == defined().keys()
    same = [name for name, (text, _) in released().items() if defined().get(name) == text]
    assert {name: built[name] for name in same} == {name: released()[name][1] for name in same}


@pytest.mark.parametrize(('now', 'told', 'page', 'expected'), [
    ({'p/msg/A': '1'}, '', '', []),
    ({'p/msg/A': '1', 'p/msg/B': '2'}, '', '', []),
    ({'p/msg/A': '2'}, '``A`` has', '', ['p/msg/A']),
    ({'p/msg/A': '2'}, '', 'Type A', ['p/msg/A']),
    ({}, '', '', ['p/msg/A']),
    ({}, 'AB', 'AB', ['p/msg/A']),
    ({'p/msg/A': '2'}, '``A`` has', 'Type `A`', []),
])
def test_a_change_is_told_in_both_places(now, told, page, expected):
    assert untold({'p/msg/A': '1'}, now, told, page) == expected


@pytest.mark.parametrize(('line', 'same'), [
    ('uint8 A=1  # one', True), ('uint8   A=1', True), ('uint8 A=2', False),
    ('uint16 A=1', False), ('uint8 A=1\nuint8 b', False)])
def test_a_definition_is_its_fields_and_constants(line, same):
    assert (definition(line) == definition('# A.\n\nuint8 A=1\n')) is same


def test_a_sign_in_a_text_begins_no_comment():
    assert definition('string A="#1"') != definition('string A="#2"  # two')
    assert definition('string A="#1"') == definition('string A="#1"  # one')


def test_each_own_message_is_reviewed_beside_the_standard_ones():
    page = (ROOT / 'docs' / 'reference' / 'topics.md').read_text()
    table = page.partition('| own | nearest standard message |')[2].partition('\n\n')[0]
    own = ' '.join(row.split('|')[1] for row in table.splitlines() if row.count('|') > 2)
    prefixes = tuple(re.findall(r'`(\w+)…`', own))
    missing = [name for name in defined() if f'`{name.rpartition("/")[2]}`' not in own
               and not name.rpartition('/')[2].startswith(prefixes)]
    assert missing == []
