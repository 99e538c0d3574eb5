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


"""Topic quality of ulyssix_node: what is missing, late, stuck or impossible, once per second."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
import threading
from typing import Any

import numpy as np

from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, STALE, Status, WARN
from xplane_bridge.bridges.nodes.vehicle.bridge import FRESH
from xplane_bridge.bridges.ulyssix.node.samples import to_array
from xplane_bridge.bridges.ulyssix.session import (
    Computed,
    Limits,
    PacketReceived,
    Placed,
    Quality,
    Statistics,
)
from xplane_bridge.common.text import counted
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.msg import UlyssixQuality

_COUNTS = ('packets', 'lost', 'late', 'duplicates', 'restarts')
# Names in a sentence, and lines of parameters with faults in diagnostics.
_MOST_NAMED = 5
_MOST_LINES = 30


class QualityTopic:
    """
    Publish the quality of a publisher's parameters, and its status in diagnostics.

    ``take`` runs in the link's thread, the rest in the executor.
    """

    def __init__(
        self, node: BridgeNode[Any], constant_after: float, limits: Limits | None = None
    ) -> None:
        self._lock = threading.Lock()
        self._quality = Quality(constant_after, limits)
        self._publisher = node.make_publisher(UlyssixQuality, 'quality')
        self._stamp_ns = 0
        self._counts: dict[str, int] = dict.fromkeys((*_COUNTS, 'malformed'), 0)
        self._jumps = 0
        self._jumped = False
        self._found = self._quality.report()
        self._faults: dict[str, tuple[str, ...]] = {}

    def take(
        self, event: PacketReceived, placed: Placed, received_ns: int, shift_ns: int,
        derived: Sequence[Computed],
    ) -> None:
        """Keep a packet, and the samples of derived parameters that it completes."""
        with self._lock:
            self._quality.take(event.names, event.packet, placed, received_ns, derived)
            self._stamp_ns = placed.first_ns + shift_ns

    def follow(self) -> None:
        """Follow the packets that are kept."""
        with self._lock:
            self._quality.follow()

    def restart(self) -> None:
        """Count no gap to the next packet."""
        with self._lock:
            self._quality.restart()

    def publish(self, statistics: Statistics) -> None:
        """Publish what is known, if there is something new since the last time."""
        counts = {name: getattr(statistics, name) for name in _COUNTS}
        counts['malformed'] = statistics.malformed.total
        if counts == self._counts:
            return
        with self._lock:
            if counts['packets'] and not self._quality.names:
                # The first packet is counted, and still being published.
                return
            self._counts = counts
            stamp_ns = self._stamp_ns
            before, self._found = self._found, self._quality.report()
            jumps, self._jumps = self._jumps, self._quality.time_jumps
            latency, latency_max = self._quality.latency, self._quality.latency_max
        found = self._found
        self._faults = found.faults(before)
        self._jumped = self._jumps > jumps
        if not self._publisher.get_subscription_count():
            # Diagnostics need what was found; a message of many names costs as much again.
            return
        message = UlyssixQuality(
            **counts, time_jumps=self._jumps, latency=latency, latency_max=latency_max)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(
            max(stamp_ns, 1), SECOND_NS)
        message.names = list(found.names)
        for name in ('rate', 'expected_rate', 'age', 'unchanged'):
            setattr(message, name, to_array('f', getattr(found, name).astype(np.float32)))
        for name, field in (
                ('samples', 'samples'), ('gaps', 'gaps'), ('late', 'late_samples'),
                ('invalid', 'invalid'), ('out_of_limits', 'out_of_limits')):
            setattr(message, field, to_array('Q', getattr(found, name).astype(np.uint64)))
        message.constant = array('B', found.constant.tobytes())
        self._publisher.publish(message)

    def diagnose(self, mixed: bool, age: float | None) -> Status:
        """
        Return the status of the parameters: faults since the previous.

        ``mixed``: they are several publishers'. ``age`` is that of the last packet in s, None
        before the first.
        """
        found, faults = self._found, self._faults
        named = {name: kind for kind, names in faults.items() for name in names}
        number = counted(len(found.names), 'parameter')
        level, text = OK, f'{number} without faults in the last second'
        if age is None:
            level, text = STALE, 'no sample yet'
        elif age > FRESH:
            level, text = STALE, f'no sample for {age:.0f} s'
        elif not found.names:
            text = 'no parameter yet'
        elif mixed:
            level, text = WARN, (
                'these are figures of several senders mixed: see the status publisher')
        elif named or self._jumped:
            level = WARN
            parts = [
                f'{kind}: {", ".join(names[:_MOST_NAMED])}'
                + (f' and {len(names) - _MOST_NAMED} more' if len(names) > _MOST_NAMED else '')
                for kind, names in faults.items()]
            text = '; '.join([*(['the clock of the publisher jumped'] if self._jumped else []),
                              *parts])
        totals = (
            ('missing samples', found.gaps), ('late samples', found.late),
            ('invalid samples', found.invalid), ('samples out of limits', found.out_of_limits))
        lines = found.lines(_MOST_LINES)
        return Status('quality', level, text, (
            ('parameters', str(len(found.names))),
            *((key, str(int(counts.sum()))) for key, counts in totals),
            ('time jumps', str(self._jumps)),
            *list(lines.items())[:_MOST_LINES],
            *((('parameters with faults', str(len(lines))),) if len(lines) > _MOST_LINES else ()),
        ))
