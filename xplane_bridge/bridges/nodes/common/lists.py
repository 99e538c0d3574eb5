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

"""Lists in commands and services: their limits, and how they appear in messages."""

from __future__ import annotations

from collections.abc import Sequence

# Dataref values that one command or service may write: no more fit into a datagram of 4096 bytes,
# the longest that X-Plane Connect reads.
_MOST_WRITTEN = 1024

# Number of names in a message.
_NAMED = 5


def check_count(what: str, count: int, most: int) -> None:
    """Raise ValueError if there are too many of ``what`` in a message."""
    if count > most:
        raise ValueError(f'{count} {what}, at most {most} in one message')


def dataref_values(
    names: Sequence[str], sizes: Sequence[int], values: Sequence[float]
) -> list[tuple[str, tuple[float, ...]]]:
    """
    Return names with their values.

    Raises ValueError for none, for too many, or if the numbers do not add up.
    """
    if not names:
        raise ValueError('no dataref given')
    check_count('names', len(names), _MOST_WRITTEN)
    check_count('values', len(values), _MOST_WRITTEN)
    if len(names) != len(sizes) or sum(sizes) != len(values):
        raise ValueError(
            f'{len(names)} names, {len(sizes)} sizes with a sum of {sum(sizes)}, and '
            f'{len(values)} values do not match')
    items = []
    start = 0
    for name, size in zip(names, sizes, strict=True):
        items.append((name, tuple(values[start:start + size])))
        start += size
    return items


def named(names: Sequence[str], separator: str = ', ') -> str:
    """Return the first few names, and how many more there are."""
    more = f' and {len(names) - _NAMED} more' if len(names) > _NAMED else ''
    return separator.join(names[:_NAMED]) + more


def watched(datarefs: Sequence[str]) -> list[str]:
    """Return the datarefs to watch from a parameter; an empty name stands for none."""
    return [name for name in datarefs if name]
