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
The relay of an external controller's commands in lockstep: one for each stamp. No ROS, no clock.

    imu/data ──> controller ──> command/controls ──> Relay ──> vehicle/command/controls ──> bridge

It passes on what answers the state for which the simulation waits, once, when what the experiment
has to do at that stamp is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from threading import RLock

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.flights.controller_checks.conduct import Conduct

# A lost datagram: the simulator sends its state again, at least this often for this long (s).
_REPEATED = 20
_REPEAT_AFTER = 1.0
# Our autopilot then commands again too. Topics overtake each other: half of that is enough here.
_SENT_AGAIN = _REPEATED // 2
# Commands that wait for one state; more are judged without it.
_MOST_EARLY = 8


class Relay:
    """
    Pass on commands by ``forward(stamp, values)``; all methods may be called from any thread.

    Values that a bridge would refuse are replaced by those passed on before, so that a flight goes
    on as it does in real time.
    """

    def __init__(
        self, conduct: Conduct, forward: Callable[[float, Mapping[str, float]], None]
    ) -> None:
        self.conduct = conduct
        self.lock = RLock()
        self._forward = forward
        self._standing: dict[str, float] = {}
        self._hold_at = -math.inf
        self._held: tuple[float, dict[str, float]] | None = None
        # Topics overtake each other: commands whose one state is still under way to here.
        self._early: list[tuple[float, dict[str, float]]] = []
        # The last command that was good, and how often its state has come since.
        self._taken: tuple[float, Mapping[str, float]] = (-math.inf, {})
        self._sent_again = 0
        self._forwarded = -math.inf
        self._forwarded_at = 0.0
        self._repeats = 0

    def start_from(self, standing: Mapping[str, float]) -> None:
        """Set the values that hold until commands say otherwise."""
        with self.lock:
            self._standing = dict(standing)

    def state(self, stamp: float, now: float) -> None:
        """Take note of a state, or of its repetition."""
        with self.lock:
            self._sent_again = self._sent_again + 1 if stamp == self._taken[0] else 0
            if stamp == self._forwarded:
                self._repeats += 1
                if self._repeats > _REPEATED and now - self._forwarded_at > _REPEAT_AFTER:
                    self._pass_on(stamp, {}, now)
                return
            self.conduct.state(stamp, now)
            # Now or never: the simulation waits at this one.
            self.finish(now)

    def command(self, stamp: float, values: dict[str, float], now: float) -> None:
        """Take a command of the controller."""
        with self.lock:
            if stamp > self.conduct.newest and self.conduct.engaged:
                if self._early and (
                        stamp != self._early[0][0] or len(self._early) == _MOST_EARLY):
                    self.finish(now)
                self._early.append((stamp, values))
            else:
                self._take(stamp, values, now)

    def finish(self, now: float) -> None:
        """Take the commands that have waited for their state, whether that has come or not."""
        with self.lock:
            early, self._early = self._early, []
            for stamp, values in early:
                self._take(stamp, values, now)

    def hold(self, until: float, now: float) -> None:
        """Pass on the commands for stamps before ``until``, and keep that for it."""
        with self.lock:
            self._hold_at = until
            if self._held is not None and self._held[0] < until:
                (stamp, values), self._held = self._held, None
                self._pass_on(stamp, values, now)

    def _take(self, stamp: float, values: dict[str, float], now: float) -> None:
        if self._sent_again >= _SENT_AGAIN and (stamp, values) == self._taken:
            # The simulator has sent the state again and again: it may have lost the command.
            return
        wrong, good = self.conduct.command(stamp, values, now)
        if wrong:
            return
        self._taken = stamp, values
        if stamp < self._hold_at:
            self._pass_on(stamp, good, now)
        else:
            self._held = stamp, good

    def _pass_on(self, stamp: float, values: Mapping[str, float], now: float) -> None:
        self._standing.update(values)
        self._forwarded, self._forwarded_at, self._repeats = stamp, now, 0
        self._forward(stamp, {
            **{name: self._standing.get(name, 0.0) for name in FLOWN}, **self._standing})
