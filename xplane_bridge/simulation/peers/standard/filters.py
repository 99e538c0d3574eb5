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

"""Filters for the entities of a scene: by name, category, tags or place."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
import math
import re

from xplane_bridge.simulation.aircraft.geometry import Vector


class UnsupportedBoundsError(ValueError):
    """Bounds of a type that is not supported."""


@dataclass(frozen=True, slots=True)
class Sphere:
    """A volume of the scene."""

    centre: Vector
    radius: float

    def holds(self, point: Vector) -> bool:
        """Return whether a point is in it."""
        return math.dist(self.centre, point) <= self.radius


@dataclass(frozen=True, slots=True)
class Box:
    """A volume of the scene, along its axes, between two opposite corners."""

    one: Vector
    other: Vector

    def holds(self, point: Vector) -> bool:
        """Return whether a point is in it."""
        return all(min(a, b) <= x <= max(a, b)
                   for a, b, x in zip(self.one, self.other, point, strict=True))


@dataclass(frozen=True, slots=True)
class Filters:
    """
    A filter of entities: all conditions must hold; an empty one always does.

    pattern is a POSIX extended regular expression for the whole name. Aircraft count as points:
    JSBSim has no outline of them.
    """

    pattern: str = ''
    categories: Collection[int] = ()
    tags: Collection[str] = ()
    all_tags: bool = False
    bounds: Sphere | Box | None = None


def posix_pattern(text: str) -> re.Pattern[str]:
    """
    Convert a POSIX extended regular expression to Python's syntax.

    Raises ValueError for what POSIX leaves undefined, which Python would read in its own way.
    """
    def error(at: int) -> ValueError:
        return ValueError(f"'{text}' is not a POSIX extended regular expression: '{text[at:]}' "
                          'is undefined there')

    parts, at, repeatable = [], 0, False
    while at < len(text):
        token = _POSIX_TOKEN.match(text, at)
        if token is None:
            raise error(at)
        piece = token[0]
        if piece in ('*', '+', '?') or piece.startswith('{'):
            if not repeatable:
                raise error(at)
            repeatable = False
        else:
            repeatable = piece not in ('(', '|', '^', '$')
        if piece.startswith('['):
            piece = _bracket(piece[1:-1])
        parts.append(r'\Z' if piece == '$' else piece)
        at = token.end()
    try:
        return re.compile(''.join(parts), re.DOTALL)
    except re.error as problem:
        raise ValueError(f"'{text}' is not a regular expression: {problem}") from None


# A bracket expression, an escaped character, an interval, any other character.
_POSIX_TOKEN = re.compile(
    r'\[\^?\]?(?:\[:[a-z]+:\]|[^]])*\]|\\[][^$.*+?(){}|\\]|\{\d+(?:,\d*)?\}|[^][\\{]')
_POSIX_CLASSES = {
    'alnum': 'A-Za-z0-9', 'alpha': 'A-Za-z', 'digit': '0-9', 'lower': 'a-z', 'upper': 'A-Z',
    'xdigit': '0-9A-Fa-f', 'blank': ' \\t', 'space': '\\s', 'punct': '!-/:-@\\[-`{-~',
}


def _bracket(inside: str) -> str:
    """Convert a bracket expression to Python's; in POSIX a backslash in it is literal."""
    if '[.' in inside or '[=' in inside:
        raise ValueError('collating symbols and equivalence classes are not supported')
    negated = inside.startswith('^')
    parts = []
    for piece in re.split(r'(\[:[a-z]+:\])', inside[negated:]):
        if piece.startswith('[:') and piece.endswith(':]'):
            name = piece[2:-2]
            if name not in _POSIX_CLASSES:
                raise ValueError(f"POSIX has no character class '{name}'")
            parts.append(_POSIX_CLASSES[name])
        else:
            parts.append(re.sub(r'([]\\[&~|])', r'\\\1', piece))
    return f'[{"^" if negated else ""}{"".join(parts)}]'
