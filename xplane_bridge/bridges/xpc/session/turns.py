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

"""Whose turn it is in lockstep, where a simulator waits for a command for each aircraft."""

from __future__ import annotations


class Turns:
    """
    Knows when each aircraft that is commanded at all has been, for its newest state.

    Only then does the simulator advance, and only then is there something new to ask for.
    """

    def __init__(self) -> None:
        self._flown: set[int] = set()
        self._commanded: set[int] = set()
        self._times: dict[int, float | None] = {}

    def command(self, vehicle: int) -> bool:
        """Record a command; return whether all have been commanded now."""
        self._flown.add(vehicle)
        self._commanded.add(vehicle)
        return self._commanded == self._flown

    def on_reply(self, vehicle: int, time: float | None) -> None:
        """Record a state, at X-Plane's running time (s): its command is due, unless it had one."""
        if time is None or time != self._times.get(vehicle):
            self._times[vehicle] = time
            self._commanded.discard(vehicle)
