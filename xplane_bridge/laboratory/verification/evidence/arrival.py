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

"""What arrives of telemetry: which values, whether possible, and whether time keeps pace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xplane_bridge.bridges.conversions.plausibility import Plausibility
from xplane_bridge.bridges.links import causes
from xplane_bridge.laboratory.verification.evidence.consistency import STEP
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.flight_record import Sample

# Values that do not arrive, each with a line of its own.
_MOST_NAMED = 12
# The simulator's own time against ours.
_TIME_WITHIN = 0.1


def missing(names: Sequence[str], wanted: int) -> Iterator[CheckResult]:
    """Return findings of how many values arrive, and of ``names``, which do not."""
    yield CheckResult(
        STEP, 'values', Outcome.SEEN, f'{wanted - len(names)} of {wanted} values arrive')
    for name in names[:_MOST_NAMED]:
        yield CheckResult(
            STEP, name, Outcome.DIFFERS, causes.ABSENT.said(name=name), '', 'a value', 'none',
            name)
    if len(names) > _MOST_NAMED:
        more = names[_MOST_NAMED:]
        yield CheckResult(
            STEP, 'values', Outcome.DIFFERS, causes.ABSENT_VALUES.said(
                absent=len(names), wanted=wanted, names=f'{more[0]} and {len(more) - 1} more'),
            '', str(wanted), str(wanted - len(names)))


def impossible(gate: Plausibility) -> Iterator[CheckResult]:
    """Return findings of values that cannot be."""
    for name, withheld in gate.withheld.items():
        yield CheckResult(
            STEP, name, Outcome.DIFFERS, f'{name} is impossible, {withheld.count} times', '',
            'a possible value', f'{withheld.value:.6g}')


def pace(
    samples: Sequence[Sample], heard: Sequence[float], requirement: str
) -> Iterator[CheckResult]:
    """Compare the simulator's own time with ours, ``heard``, of the same updates."""
    # It may begin to arrive later than the others.
    timed = [(sample.at, at) for sample, at in zip(samples, heard, strict=False)
             if sample.state.time is not None]
    if len(timed) < 2:
        return
    (begun, since), (ended, until) = timed[0], timed[-1]
    found = (ended - begun) / (until - since)
    if abs(found - 1.0) <= _TIME_WITHIN:
        yield CheckResult(
            STEP, 'time', Outcome.SEEN, "the simulator's time keeps pace", requirement)
    else:
        yield CheckResult(
            STEP, 'time', Outcome.DIFFERS, "the simulator's time does not keep pace", requirement,
            '1 s per second', f'{found:.2f} s per second')
