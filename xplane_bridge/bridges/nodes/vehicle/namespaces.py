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

"""Namespaces of the aircraft of a fleet, in one node."""

from __future__ import annotations

from collections.abc import Sequence
import re

# As in ROS, below that of the node.
_NAMESPACE = re.compile(r'[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*', re.ASCII)


def check_namespaces(names: Sequence[str], count: int, of: str) -> None:
    """
    Raise ValueError unless there is a namespace for each of ``count`` aircraft, all different.

    ``of`` says in the sentence which aircraft they are; no names at all are fine.
    """
    if not names:
        return
    if len(names) != count:
        raise ValueError(
            f'parameter namespaces: expected {count}, one for each {of}, got {len(names)}')
    for name in names:
        if not _NAMESPACE.fullmatch(name):
            raise ValueError(
                f'parameter namespaces: {name!r} is no namespace below that of the node: expected '
                'letters, digits and underscores, between slashes if it is nested, no part '
                'beginning with a digit')
        if name.rpartition('/')[2] == 'command':
            # Its controls would be on the topic of somebody's command/controls.
            raise ValueError(
                f'parameter namespaces: {name!r} is not possible: below command others take their '
                'commands')
        if names.count(name) > 1:
            raise ValueError(f'parameter namespaces: {name!r} is there more than once')


def default_namespaces(count: int) -> tuple[str, ...]:
    """Return uav1, uav2, ... for so many aircraft."""
    return tuple(f'uav{number + 1}' for number in range(count))
