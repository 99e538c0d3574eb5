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
Values that X-Plane must have in the end: written again until its reports show them.

And again if a late copy of what was written before has undone them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
import math
from typing import NamedTuple

from xplane_bridge.bridges.protocols.base import Message
from xplane_bridge.bridges.sessions.base import Outgoing
from xplane_bridge.bridges.sessions.pending import Pending, PendingTable
from xplane_bridge.bridges.xplane_udp.protocol import DataLayout, encode
from xplane_bridge.bridges.xplane_udp.session.commands import (
    COMMAND_CHANNEL,
    DATA_CHANNEL,
    stick_and_trim_rows,
    TRIMS,
)
from xplane_bridge.bridges.xplane_udp.session.reports import is_close, SETTLING

# A lost datagram is followed by the next one after so many seconds: in a loading X-Plane's socket,
# which keeps about 150 of them, there is room for what was given back in any release_timeout.
PERIOD = 0.5

# How long the next report may take, in seconds; and the one after it, which confirms it.
_REPORT = 0.15
_CONFIRMED = 0.3

# How long what no copy can show any more is kept, in seconds: so it is seldom dropped.
_KEPT = 1.0


class OtherHand(NamedTuple):
    """What else shows that a value is ours no more: another than it, if the group is free."""

    ours: float | None
    group: str


@dataclass(slots=True)
class PendingWrite(Pending[float, OtherHand | None]):
    """
    One value that X-Plane must have in the end.

    ``report`` names the value among the reports, ``message`` writes it; None: it is in a row.
    ``item`` is what is given back by it, vehicle and name, None for nothing.
    """

    report: str = ''
    message: Message | None = None
    item: tuple[int, str] | None = None

    def shown_by(self, value: float, free: Collection[str]) -> bool:
        """Return whether a report shows it, while these groups of controls are free."""
        if is_close(value, self.desired):
            return True
        ours, group = self.proof or (None, '')
        return ours is not None and not is_close(value, ours) and math.isfinite(value) and (
            group in free)


class Sent:
    """
    What was sent lately, by report and value, and until when a copy of it may show.

    A datagram may arrive ``latest()`` seconds after it was sent.
    """

    def __init__(self, latest: Callable[[], float]) -> None:
        self._latest = latest
        # By the time of the last one.
        self._until: defaultdict[str, dict[float, float]] = defaultdict(dict)
        self._stopped_at = math.inf

    def note(self, values: Mapping[str, float], now: float) -> None:
        """Record that these are sent."""
        until = now + self._latest() + _CONFIRMED
        for report, value in values.items():
            sent = self._until[report]
            if value in sent:
                del sent[value]
            sent[value] = until
            for oldest in sent:
                if sent[oldest] < now - _KEPT:
                    self._until[report] = {
                        each: at for each, at in sent.items() if at >= now}
                break

    def holds(self, report: str, value: float, now: float) -> bool:
        """Return whether a copy may show this value."""
        return any(
            now < until and is_close(value, sent)
            for sent, until in self._until.get(report, {}).items())

    def until(self, report: str, value: float) -> float:
        """Return until when a copy may show another value than this."""
        return max((
            until for sent, until in self._until.get(report, {}).items()
            if not is_close(value, sent)), default=0.0)

    def stop(self, at: float) -> None:
        """Record that X-Plane has read nothing since then; resume() that it does again."""
        self._stopped_at = min(self._stopped_at, at)

    def resume(self, now: float) -> None:
        """Let copies show as long after a silence as they could have without it."""
        silence, self._stopped_at = now - self._stopped_at, math.inf
        for sent in self._until.values():
            sent.update([(value, until + silence) for value, until in sent.items()])

    def clear(self) -> None:
        """Forget everything."""
        self._until.clear()
        self._stopped_at = math.inf


class PendingWrites(PendingTable[str, PendingWrite]):
    """
    The values that no report has shown yet, by report.

    Those that were reached are watched as long as copies of other values may arrive (``sent``).

    A report that was on its way when we wrote proves nothing: one of the same value counts once
    X-Plane had time to read ours, unless it has reported another value until then.
    """

    def __init__(self, latest: Callable[[], float]) -> None:
        super().__init__()
        # Looked at with each datagram, and mostly empty.
        self.reached: dict[str, PendingWrite] = {}
        self.sent = Sent(latest)

    def put(
        self, pending: PendingWrite, reported: float | None, now: float, until: float, *,
        sent: bool,
    ) -> PendingWrite | None:
        """
        Write a value until a time; return the one that it replaces.

        ``reported`` is the present value, None if it is not known. ``sent``: the value is being
        written by the caller.
        """
        replaced = self.drop(pending.report)
        changes = reported is not None and not is_close(reported, pending.desired)
        pending.reported, pending.since = reported, now if changes else now + SETTLING
        pending.again_at, pending.until = now, until
        if sent:
            self._note(pending, now)
        self[pending.report] = pending
        return replaced

    def drop(self, report: str) -> PendingWrite | None:
        """Write it no more, nor watch it; return it if it was not reached."""
        self.reached.pop(report, None)
        return self.pop(report, None)

    def forget(self) -> list[PendingWrite]:
        """Forget everything, as it is another run of X-Plane; return those that were written."""
        self.reached.clear()
        self.sent.clear()
        return self.empty()

    def on_reply(
        self, values: Mapping[str, float], free: Collection[str], now: float
    ) -> list[tuple[PendingWrite, float]]:
        """
        Handle reports; return the values that they show to be reached, each with its report.

        ``free`` are the groups of controls that nothing of ours overrides.
        """
        reached = []
        for report, pending in list(self.items()):
            value = values.get(report)
            if value is not None and now >= pending.since and pending.shown_by(value, free):
                del self[report]
                reached.append((pending, value))
                if is_close(value, pending.desired):
                    self.reached[report] = pending
        return reached

    def undone(self, values: Mapping[str, float], now: float) -> list[PendingWrite]:
        """Return the values that were reached, and that late copies of ours have undone."""
        undone = []
        for report, pending in list(self.reached.items()):
            value = values.get(report)
            if now >= self.sent.until(report, pending.desired):
                del self.reached[report]
            elif value is not None and not is_close(value, pending.desired):
                # Any other value is another hand's.
                del self.reached[report]
                if self.sent.holds(report, value, now):
                    undone.append(pending)
        return undone

    @property
    def watched_until(self) -> float:
        """Return until when late copies may undo what was reached."""
        return max((
            self.sent.until(report, pending.desired)
            for report, pending in self.reached.items()), default=0.0)

    def draw(self, now: float) -> list[PendingWrite]:
        """Return what to write now, and count it as written."""
        due = [self[report] for report in self.due(now)]
        for pending in due:
            self._note(pending, now)
        return due

    def _note(self, pending: PendingWrite, now: float) -> None:
        """Note that it is written: again not before a report could show it."""
        pending.again_at = max(now + PERIOD, pending.since + _REPORT)
        self.sent.note({pending.report: pending.desired}, now)


def to_datagrams(
    all_pending: Collection[PendingWrite], version: int, layout: DataLayout
) -> list[Outgoing]:
    """Return what writes pending values: commands, and a row for the sticks and the trims."""
    outgoing: list[Outgoing] = [
        (COMMAND_CHANNEL, encode(pending.message, version))
        for pending in all_pending if pending.message is not None]
    for of_trims in (False, True):
        row = {pending.report: pending.desired for pending in all_pending
               if pending.message is None and (pending.report in TRIMS) is of_trims}
        if row:
            outgoing.append((
                DATA_CHANNEL, encode(stick_and_trim_rows(version, row, layout), version)))
    return outgoing
