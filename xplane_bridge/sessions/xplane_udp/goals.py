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

"""Values that X-Plane must have in the end: written again until its reports show them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
import math

from xplane_bridge.protocols.base import Message
from xplane_bridge.sessions.xplane_udp.reports import SETTLING

# A lost datagram is followed by the next one after so many seconds: in a loading X-Plane's socket,
# which keeps about 150 of them, there is room for what was given back in any release_timeout.
PERIOD = 0.5

# How long the next report may take, in seconds.
_REPORT = 0.15

# Values travel as float32.
TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Goal:
    """
    One value that X-Plane must have in the end.

    ``report`` names the value among the reports, ``message`` writes it; None: it is in a row.
    ``item`` is what is given back by it, vehicle and name, None for nothing. ``ours`` is the value
    that we wrote before: if its ``group`` of controls is free, any third value is another hand's.
    ``ticket`` is that of who waits for it, ``what`` its name for people.
    """

    report: str
    value: float
    message: Message | None = None
    item: tuple[int, str] | None = None
    ours: float | None = None
    group: str = ''
    ticket: int | None = None
    what: str = ''


@dataclass(slots=True)
class _Pursuit:
    goal: Goal
    until: float
    settled_at: float
    send_at: float


class Goals:
    """
    The goals that no report has shown yet, each until it was shown, or for a limited time.

    A report that was on its way when we wrote proves nothing: one of the same value counts once
    X-Plane had time to read ours, unless it has reported another value until then.
    """

    def __init__(self) -> None:
        # By report; looked at with each datagram, and mostly empty.
        self.pursuits: dict[str, _Pursuit] = {}

    def __bool__(self) -> bool:
        return bool(self.pursuits)

    def __contains__(self, report: object) -> bool:
        return report in self.pursuits

    def __iter__(self) -> Iterator[Goal]:
        return iter([pursuit.goal for pursuit in self.pursuits.values()])

    def put(
        self, goal: Goal, reported: float | None, now: float, until: float, *, sent: bool = False
    ) -> Goal | None:
        """
        Pursue a goal until a time; return the one that it replaces.

        ``reported`` is the present value, None if it is not known. ``sent``: the goal is being
        written by the caller.
        """
        replaced = self.drop(goal.report)
        changes = reported is not None and not is_close(reported, goal.value)
        settled_at = now if changes else now + SETTLING
        pursuit = _Pursuit(goal, until, settled_at, now)
        if sent:
            pursuit.send_at = _next(pursuit, now)
        self.pursuits[goal.report] = pursuit
        return replaced

    def drop(self, report: str) -> Goal | None:
        """Pursue it no more; return it."""
        pursuit = self.pursuits.pop(report, None)
        return pursuit.goal if pursuit else None

    def clear(self) -> list[Goal]:
        """Pursue none any more; return them."""
        goals = list(self)
        self.pursuits.clear()
        return goals

    def hear(
        self, values: Mapping[str, float | None], free: Collection[str], now: float
    ) -> list[tuple[Goal, float]]:
        """
        Handle reports; return the goals that they show to be reached, each with its report.

        ``free`` are the groups of controls that nothing of ours overrides.
        """
        reached = []
        for report, pursuit in list(self.pursuits.items()):
            value, goal = values.get(report), pursuit.goal
            if value is None or now < pursuit.settled_at:
                continue
            if is_close(value, goal.value) or (
                    goal.ours is not None and not is_close(value, goal.ours)
                    and math.isfinite(value) and goal.group in free):
                del self.pursuits[report]
                reached.append((goal, value))
        return reached

    def due(self, now: float) -> list[Goal]:
        """Return what to write now."""
        due = []
        for pursuit in self.pursuits.values():
            if now >= pursuit.send_at:
                pursuit.send_at = _next(pursuit, now)
                due.append(pursuit.goal)
        return due

    def expire(self, now: float) -> list[Goal]:
        """Return those that were not shown in time, and pursue them no more."""
        late = [pursuit.goal for pursuit in self.pursuits.values() if now >= pursuit.until]
        for goal in late:
            del self.pursuits[goal.report]
        return late

    @property
    def deadline(self) -> float | None:
        """Return when due() or expire() have something."""
        return min(
            (min(pursuit.send_at, pursuit.until) for pursuit in self.pursuits.values()),
            default=None)


def _next(pursuit: _Pursuit, now: float) -> float:
    """Return when to write again: not before a report could show it."""
    return max(now + PERIOD, pursuit.settled_at + _REPORT)


def is_close(value: float, other: float) -> bool:
    """Return whether two values are the same as float32."""
    return abs(value - other) < TOLERANCE
