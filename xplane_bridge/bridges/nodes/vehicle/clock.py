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

"""The simulator's own time as ROS time."""

from __future__ import annotations

import time
from typing import Any

from rosgraph_msgs.msg import Clock

from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, STALE, Status, WARN
from xplane_bridge.common.timing import SECOND_NS

# Offset between stamps of different poses at the same simulator time. X-Plane sends float32
# seconds: after the first eight they are further apart, so the next frame is never earlier.
_STEP_NS = 1_000

# A smaller step back is a reply that was overtaken by another, not a restart.
_LATE_NS = 200_000_000

# The maximum of builtin_interfaces/Time.
_LAST_NS = (2**31 - 1) * SECOND_NS

# How long diagnostics warn of a jump.
_ANNOUNCED = 60.0

_WITHOUT = 'stamp is simulator, but the simulator has not reported its time'


class SimulatorTime:
    """
    ROS time derived from a simulator's own: that plus an offset, 0 until the simulator restarts.

    So a restarted bridge continues close to where it was, and a gap in the telemetry is as long as
    the time flown in it. ROS time never goes back while this object lives, which is as long as its
    node: not by deactivation, nor by clean-up and reconfiguration. It stops during a pause, even
    if the simulator's time does not. If the simulator's time steps back, it has restarted: ROS
    time continues from where it was, and ``jumps``, ``jump_s`` (the size of the last one, seconds)
    and ``jumped_ns`` (the ROS time at which) record it. A new flight is not a jump: X-Plane's
    running time continues (docs/wire/xplane_datarefs.md, rows 3.1 and 3.13).

    Two different poses of a vehicle never have the same stamp; an unchanged pose may, even though
    the commands have changed since: in lockstep the simulator's time waits for them.
    """

    def __init__(self) -> None:
        # 0 means not known yet.
        self.now_ns = 0
        self.jumps = 0
        self.jump_s = 0.0
        self.jumped_ns = 0
        self._simulator_ns: int | None = None
        self._offset_ns = 0
        self._paused = False
        # For each vehicle: last stamp, pose and simulator's time, and the jumps until then.
        self._vehicles: dict[int, tuple[int, Any, int, int]] = {}

    def stamp(
        self, seconds: float | None, paused: bool, pose: Any, vehicle: int = 0
    ) -> int | None:
        """
        Return the ROS time in ns of a vehicle's pose at a simulator's time; None if not known yet.

        ``seconds`` is None if this update does not contain it; ``pose`` is compared with ==.
        """
        last = self._simulator_ns
        if seconds is not None and 0.0 <= seconds * SECOND_NS < _LAST_NS:
            now = round(seconds * SECOND_NS)
        elif last is None:
            return None
        else:
            now = last
        before = self._vehicles.get(vehicle)
        if last is None or now > last:
            # The first update of a pause includes what was flown before it.
            if last is not None and paused and self._paused:
                self._offset_ns -= now - last
            self._simulator_ns, self._paused = now, paused
        elif before is not None and before[3] == self.jumps and now < before[2] - _LATE_NS:
            # Relative to its own time: the reply about another aircraft may be older.
            self.jumps += 1
            self.jump_s = (now - last) / SECOND_NS
            self.jumped_ns = self.now_ns
            self._offset_ns = self.now_ns + _STEP_NS - now
            self._simulator_ns, self._paused = now, paused
        elif now == last:
            self._paused = paused
        # A stamp of 0 would mean "the latest" to tf2.
        stamp = min(max(now + self._offset_ns, _STEP_NS), _LAST_NS)
        if before is not None and stamp <= before[0]:
            stamp = before[0] if before[1] == pose else before[0] + _STEP_NS
        self._vehicles[vehicle] = stamp, pose, now, self.jumps
        self.now_ns = max(self.now_ns, stamp)
        return stamp

    def forget(self, vehicle: int) -> None:
        """Forget a vehicle that is there no more."""
        self._vehicles.pop(vehicle, None)


class SimulatorClock:
    """Stamp telemetry with the simulator's time, and publish that on /clock."""

    def __init__(self, node: BridgeNode[Any], simulated: SimulatorTime) -> None:
        self._node = node
        self._simulated = simulated
        self._publisher = node.make_publisher(Clock, '/clock')
        self._message = Clock()
        self._jumps = simulated.jumps
        self._jumped_at = float('-inf')
        self._said = False

    @property
    def now_ns(self) -> int | None:
        """Return the newest stamp; None if there is none yet."""
        return self._simulated.now_ns or None

    def stamp(
        self, seconds: float | None, paused: bool, pose: Any, vehicle: int = 0,
    ) -> int | None:
        """Return the stamp of a vehicle's pose, once published on /clock; None if none yet."""
        simulated = self._simulated
        stamp = simulated.stamp(seconds, paused, pose, vehicle)
        if stamp is None:
            if not self._said:
                self._said = True
                self._node.warn('clock', f'{_WITHOUT}: nothing is published until it does')
            return None
        if simulated.jumps != self._jumps:
            self._jumps = simulated.jumps
            self._jumped_at = time.monotonic()
            self._node.warn('jump', self._jump())
        if self._publisher.get_subscription_count():
            clock = self._message.clock
            clock.sec, clock.nanosec = divmod(simulated.now_ns, SECOND_NS)
            self._publisher.publish(self._message)
        return stamp

    def _jump(self) -> str:
        simulated = self._simulated
        return (
            f"the simulator's time stepped back by {-simulated.jump_s:.3f} s, as after a restart; "
            f'ROS time continues from {simulated.jumped_ns / SECOND_NS:.3f} s')

    def diagnose(self) -> Status:
        """Return the state of /clock for diagnostics."""
        simulated = self._simulated
        if not self._node.active:
            level, sentence = STALE, 'not active'
        elif not simulated.now_ns:
            level, sentence = WARN, f'{_WITHOUT}: nothing is published'
        elif time.monotonic() - self._jumped_at < _ANNOUNCED:
            level, sentence = WARN, self._jump()
        else:
            level, sentence = OK, "the simulator's time is published"
        return Status('clock', level, sentence, (
            ('ROS time, s', f'{simulated.now_ns / SECOND_NS:.3f}'),
            ('jumps', str(simulated.jumps)),
            *((('last jump, s', f'{simulated.jump_s:.3f}'),
               ('last jump at ROS time, s', f'{simulated.jumped_ns / SECOND_NS:.3f}'))
              if simulated.jumps else ()),
        ))
