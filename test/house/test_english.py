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

"""The English of the pages: short sentences, words that the field uses, terms said first."""

from pathlib import Path
import re

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob('*.md')), ROOT / 'examples' / 'README.md',
         *sorted((ROOT / 'docs').rglob('*.md'))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
LONGEST = 30
# A semicolon ends a sentence as a full stop does, and so does a colon before a capital.
_END = re.compile(r'(?<=[.!?;])["”)]*\s+|(?<=[.!?][")])\s+|(?<=:)\s+(?=[A-Z"“(])')
_GENERATED = re.compile(r'^<!-- (.+) begin -->$.*?^<!-- \1 end -->$', re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r'(?:[-*]|\d+\.) +')
# What is not said here, and what is said instead.
WORDS = {
    r'hears?': 'subscribes to, receives',
    r'hears and says': 'subscribes and publishes',
    r'(?:once|twice|times|bytes|datagrams|frames|messages|packets|samples|updates) a '
    r'(?:second|minute|hour)': 'per second',
    r'[Ss]ome \d+': 'about',
    r'as ever': 'as usual, unchanged',
    r'from nothing': 'from scratch',
    r'(?:write|writes|written) over': 'overwrite',
    r'stands? (?:a|all|every|the)': 'withstands',
    r'becomes? of': 'happens to',
    r'(?:told|tell) apart': 'distinguish',
    r'e\.g\.|i\.e\.|etc\.': 'for example, that is, and so on',
    r'(?:in order to|utili[sz]es?|simply|obviously)': 'the same without it',
}
# A newcomer need not know these: a page for newcomers first has one in a link or *explained*.
TERMS = ('bridge', 'datum', 'latched', 'lockstep', 'peer', 'undulation')
FOR_NEWCOMERS = [name for name in NAMES if name.startswith(('README', 'docs/tutorials/'))]
_MARKED = re.compile(r'\[[^\]]*\]\([^)]*\)|(?<!\*)\*[^*\s][^*]*\*')


def paragraphs(name, tables=False):
    """Yield a page's paragraphs, list items and headings, each with its first line's number."""
    text = _GENERATED.sub(
        lambda match: '\n' * match[0].count('\n'), (ROOT / name).read_text(encoding='utf-8'))
    inside, first, lines = False, 0, []
    for number, line in enumerate([*text.splitlines(), ''], 1):
        fence = line.lstrip().startswith(('```', '~~~'))
        item = _ITEM.match(line.lstrip())
        row = line.lstrip().startswith('|')
        if lines and (fence or item or row or not line.strip() or line.startswith('#')):
            yield first, ' '.join(lines)
            lines = []
        inside ^= fence
        if inside or fence or (row and not tables) or line.startswith('<!--'):
            continue
        if line.strip():
            first = first if lines else number
            lines.append(line.strip()[item.end() if item else 0:])


def plain(text):
    """Return text with CODE for its code, without emphasis and the addresses of links."""
    text = re.sub(r'(`+).+?\1', 'CODE', text)
    text = re.sub(r'\*+(?=\S)|(?<=\S)\*+', '', text)
    return re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', text)


@pytest.mark.parametrize('name', NAMES)
def test_no_sentence_is_longer_than_a_breath(name):
    long = [
        f'{name}:{number}: {len(words)} words: {sentence}'
        for number, text in paragraphs(name) for sentence in _END.split(plain(text))
        if len(words := re.findall(r'\S*\w\S*', sentence)) > LONGEST]
    assert not long, '\n'.join(long)


@pytest.mark.parametrize('name', NAMES)
def test_words_are_those_of_the_field(name):
    found = [
        f'{name}:{number}: {word[0]!r}: say {instead}'
        for number, text in paragraphs(name, tables=True)
        for pattern, instead in WORDS.items()
        for word in re.finditer(rf'(?<!\w)(?:{pattern})(?!\w)', plain(text))]
    assert not found, '\n'.join(found)


@pytest.mark.parametrize('name', [name for name in NAMES if name.startswith('docs/')])
def test_a_page_first_says_for_whom_it_is_and_how_long_it_takes(name):
    _, (_, first), *_ = (
        one for one in paragraphs(name) if not one[1].startswith('!['))
    assert first.startswith('For '), f'{name}: {first}'
    if name.startswith(('docs/tutorials/', 'docs/how-to/')):
        assert re.search(r'\b(?:minutes?|hours?)\b', first), f'{name}: {first}'


@pytest.mark.parametrize('term', TERMS)
def test_a_term_is_explained_where_a_newcomer_first_meets_it(term):
    glossary = (ROOT / 'docs' / 'explanation' / 'glossary.md').read_text(encoding='utf-8')
    assert re.search(rf'^\| (?:.*, )?{term}(?:, .*)? \|', glossary, re.MULTILINE)
    bare = []
    for name in FOR_NEWCOMERS:
        for number, text in paragraphs(name, tables=True):
            text = re.sub(r'(`+).+?\1', 'CODE', text)
            found = re.search(rf'\b{term}s?\b', text)
            if found and not text.startswith('#'):
                if not any(span.start() <= found.start() < span.end()
                           for span in _MARKED.finditer(text)):
                    bare.append(f'{name}:{number}: {term}: link it, or say what it *is*')
                break
    assert not bare, '\n'.join(bare)
