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

"""What a verification finds: one line for each thing looked at, with the requirement behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """What became of one thing that was looked at."""

    SEEN = 'seen'
    NOT_SEEN = 'not seen'
    DIFFERS = 'differs'
    SKIPPED = 'skipped'


@dataclass(frozen=True, slots=True)
class CheckResult:
    """
    One thing that was looked at.

    ``subject`` names it: a signal, a control, 'round trip' ... ``sentence`` is for people.
    ``requirement`` is its number in docs/reference/conformance.md, or its row in
    docs/wire/xplane_datarefs.md; empty if it has none. Of what differs, ``expected`` and ``got``
    are said, and ``wire`` is the name of the value on the wire.
    """

    step: str
    subject: str
    outcome: Outcome
    sentence: str
    requirement: str = ''
    expected: str = ''
    got: str = ''
    wire: str = ''

    def __str__(self) -> str:
        number = f' [{self.requirement}]' if self.requirement else ''
        said = f' (expected {self.expected}, got {self.got})' if self.expected else ''
        return f'{self.outcome.value:9}{self.sentence}{said}{number}'


def worst(findings: Iterable[CheckResult]) -> Outcome:
    """Return DIFFERS if one of them does, else SEEN."""
    differs = any(one.outcome is Outcome.DIFFERS for one in findings)
    return Outcome.DIFFERS if differs else Outcome.SEEN


def counts(findings: Sequence[CheckResult]) -> str:
    """Return how many there are of each outcome, for people."""
    return ', '.join(
        f'{sum(one.outcome is outcome for one in findings)} {outcome.value}'
        for outcome in Outcome)
