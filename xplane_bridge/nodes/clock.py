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

from builtin_interfaces.msg import Time
from rosgraph_msgs.msg import Clock

from xplane_bridge.nodes.base import BridgeNode

# A jump ahead of more than this is a restart or a reload, not time that was flown.
_LONGEST_STEP = 10.0


class SimulatorClock:
    """
    Accumulate the simulator's running time, and publish it on /clock.

    It stands still in a pause, and a step back (a restart, a new flight) counts as nothing, so
    that ROS time never runs backwards (dataref notes, 3.13).
    """

    def __init__(self, node: BridgeNode) -> None:
        self._publisher = node.make_publisher(Clock, '/clock')
        self._last: float | None = None
        self._paused = False
        self.now_ns = 0
        self.resets = 0

    def advance(self, time: float | None, paused: bool) -> int:
        """Take the simulator's time in seconds; publish and return the ROS time in ns."""
        if time is not None:
            # The first update of a pause ends with what was flown before it.
            if self._last is not None and not (paused and self._paused):
                step = time - self._last
                if 0.0 <= step < _LONGEST_STEP:
                    self.now_ns += round(step * 1e9)
                else:
                    self.resets += 1
            self._last, self._paused = time, paused
        seconds, nanoseconds = divmod(self.now_ns, 1_000_000_000)
        self._publisher.publish(Clock(clock=Time(sec=seconds, nanosec=nanoseconds)))
        return self.now_ns
