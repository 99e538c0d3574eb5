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

"""What is not recorded, and why: nobody publishes it, or it is no message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from xplane_bridge.common.text import printable

# More are counted, not named.
_MOST_SHOWN = 8
# Feedback, and what the introspection of services publishes.
_KINDS = {'action': 'part of an action', 'srv': 'part of a service'}


def sentence(
    namespace: str, wanted: Collection[str], published: Mapping[str, Collection[str]]
) -> str:
    """
    Return which topics have no publisher, and what there is instead; '' if none is missing.

    ``wanted`` are absolute names; without any, one topic in ``namespace`` is enough.
    ``published`` has the namespaces of a topic's publishers.
    """
    base = namespace.rstrip('/') + '/'
    inside = sorted(topic for topic in published if topic.startswith(base))
    if wanted:
        absent = sorted(topic for topic in wanted if topic not in published)
        if not absent:
            return ''
        text = f'nothing publishes {_shown(absent)}'
        others = [topic for topic in inside if topic not in wanted]
        if others:
            return f'{text} yet; in {namespace} there are {_shown(others)}'
    elif inside:
        return ''
    else:
        text = f'nothing publishes in {namespace}'
    topics = Counter(space for spaces in published.values() for space in {*spaces})
    if not topics:
        return f'{text} yet, nor anywhere else in this ROS domain'
    found = [f'{space} ({number} topic{"s" * (number > 1)})'
             for space, number in sorted(topics.items())]
    return f'{text} yet; there are publishers in {_shown(found)}'


def no_message(types: Sequence[str]) -> str:
    """Return why a topic of these types cannot be recorded, '' if it can."""
    if len(types) != 1:
        return f'nodes do not agree on its type: {_shown(map(printable, types))}'
    _, kind, *_ = f'{types[0]}//'.split('/')
    return '' if kind == 'msg' else (
        f'its type {printable(types[0])} is {_KINDS.get(kind, "not one of ROS")}, and only '
        'messages are recorded')


def _shown(names: Iterable[str]) -> str:
    found = [*names]
    more = len(found) - _MOST_SHOWN
    return ', '.join(found[:_MOST_SHOWN]) + (f' and {more} more' if more > 0 else '')
