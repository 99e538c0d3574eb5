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
rclpy's parameters for the quality of service, such as qos_overrides./fix.publisher.depth.

rclpy declares them when it creates the publisher or subscription, raises an error that is no
sentence if a value is impossible, and ignores those of topics that a node does not have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xplane_bridge.common.text import abbreviated, did_you_mean

PREFIX = 'qos_overrides.'
_ENTITIES = {'publisher': 'publish', 'subscription': 'subscribe to'}
_CHOICES = {
    'history': ('keep_last', 'keep_all', 'system_default'),
    'reliability': ('reliable', 'best_effort', 'best_available', 'system_default'),
}
_DEPTH = 'depth'
# A queue is allocated as it fills.
_MOST = 1_000_000


def is_override(name: str) -> bool:
    """Return whether a parameter is one of these."""
    return name.startswith(PREFIX)


def check(name: str, value: Any) -> None:
    """Raise ValueError, with a sentence, for a name or a value that no topic can have."""
    parts = name.removeprefix(PREFIX).rsplit('.', 2)
    policies = (*_CHOICES, _DEPTH)
    if len(parts) < 3 or parts[1] not in _ENTITIES or parts[2] not in policies:
        raise ValueError(
            f'parameter {abbreviated(name)}: expected {PREFIX}<topic>.<publisher or subscription>.'
            f'<{" or ".join(sorted(policies))}>')
    policy = parts[2]
    if policy == _DEPTH:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
            raise ValueError(
                f'parameter {name}: expected a whole number from 0 to {_MOST}, '
                f'got {abbreviated(value)}')
    elif not isinstance(value, str) or value.lower() not in _CHOICES[policy]:
        raise ValueError(
            f'parameter {name}: {abbreviated(value)} is not one of {", ".join(_CHOICES[policy])}')


def is_below(name: str, topics: Iterable[str]) -> bool:
    """Return whether an override is of one of these topics, or of one below them."""
    topic = name.removeprefix(PREFIX).rsplit('.', 2)[0]
    return any(f'{topic}/'.startswith(f'{one}/') for one in topics)


def unused(name: str, node: str, used: Iterable[str]) -> str:
    """Return a sentence for an override of a topic that ``node`` does not have."""
    topic, entity, policy = name.removeprefix(PREFIX).rsplit('.', 2)
    have = {one.removeprefix(PREFIX).rsplit('.', 2)[0] for one in used
            if one.endswith(f'.{entity}.{policy}')}
    hint = did_you_mean(topic, have) or (
        f'; for another node, give it in a section of that node, not of {node}')
    return f'parameter {name}: {node} does not {_ENTITIES[entity]} {topic}{hint}'
