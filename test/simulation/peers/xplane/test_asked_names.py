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

"""What public programs ask the simulated X-Plane for: there, or listed as absent in the page."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
import re

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from simulated_xplane import Sim

ASKED = Path(__file__).with_name('asked_names.txt')
PAGE = Path(__file__).parents[4] / 'docs' / 'how-to' / 'clients.md'


@pytest.fixture(scope='module')
def page() -> str:
    return PAGE.read_text(encoding='utf-8')


@pytest.fixture(scope='module')
def names() -> dict[str, set[str]]:
    """Return the datarefs of X-Plane 12, those of all versions, and the commands."""
    versions = [Sim(version=version) for version in (9, 10, 11, 12)]
    datarefs = [set(sim.store.names) for sim in versions]
    return {'12': datarefs[-1], 'all': set().union(*datarefs),
            'commands': set(versions[0].commands.names)}


@pytest.fixture(scope='module')
def absent(page: str) -> list[str]:
    """Return the patterns of the page's table."""
    table = page.partition('<!-- absent begin -->')[2].partition('<!-- absent end -->')[0]
    rows = [line.split('|')[1] for line in table.splitlines() if line.startswith('| `')]
    return [one for row in rows for name in re.findall('`([^`]+)`', row) for one in braced(name)]


def braced(pattern: str) -> Iterator[str]:
    """Return what a pattern with {a,b} stands for."""
    if (found := re.search(r'\{([^{}]*)\}', pattern)) is None:
        yield pattern
        return
    for one in found[1].split(','):
        yield from braced(pattern[:found.start()] + one + pattern[found.end():])


def asked() -> list[str]:
    return [line for line in ASKED.read_text(encoding='utf-8').splitlines()
            if not line.startswith('#')]


def is_there(name: str, names: dict[str, set[str]]) -> bool:
    """Return whether it is known: a program may write the layers' names without their [n]."""
    return name in names['all'] | names['commands'] or f'{name}[0]' in names['all']


def test_what_is_asked_for_is_there_or_listed(
        names: dict[str, set[str]], absent: list[str]) -> None:
    silent = [name for name in asked() if not is_there(name, names)
              and not any(fnmatchcase(name, pattern) for pattern in absent)]
    assert not silent


def test_what_is_listed_as_absent_is_not_there(
        names: dict[str, set[str]], absent: list[str]) -> None:
    known = names['all'] | names['commands']
    assert len(absent) > 50
    for pattern in absent:
        assert not [name for name in known if fnmatchcase(name, pattern)], pattern


def test_the_page_says_how_many_there_are(page: str, names: dict[str, set[str]]) -> None:
    assert f'{len(names["12"])} datarefs of X-Plane 12 exist, and {len(names["commands"])} ' \
        'commands' in page
    known = [name for name in asked() if is_there(name, names)]
    assert f'Of {len(asked())} names that at least two of 31 public programs use, ' \
        f'{len(known)} exist' in page
