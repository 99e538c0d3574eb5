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

"""Watchdog: commands that stop are a fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.timer import Timer

from xplane_bridge.bridges.nodes.common.base import BridgeNode


class CommandWatchdog:
    """
    Call ``on_timeout`` once when commands have arrived and then stop for ``timeout`` seconds.

    The first command arms it, as does the first after a time-out. It runs on the steady clock. A
    timeout of 0 disables it.
    """

    def __init__(
        self, node: BridgeNode[Any], timeout: float, on_timeout: Callable[[], None]
    ) -> None:
        self._node = node
        self._on_timeout = on_timeout
        self.expired = False
        self._timer: Timer | None = None
        self.set_timeout(timeout)

    def set_timeout(self, timeout: float) -> None:
        """Change the timeout in seconds; an armed watchdog starts over."""
        armed = self._timer is not None and not self._timer.is_canceled()
        self.close()
        if timeout > 0.0:
            self._timer = self._node.create_timer(
                timeout, self._expire, clock=self._node.steady_clock
            )
            if not armed:
                self._timer.cancel()

    def feed(self) -> None:
        """Record that a command arrived."""
        self.expired = False
        if self._timer is not None:
            self._timer.reset()

    def disarm(self) -> None:
        """Wait for the next command."""
        self.expired = False
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        """Destroy the timer."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def _expire(self) -> None:
        self.disarm()
        self.expired = True
        self._on_timeout()
