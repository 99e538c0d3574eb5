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
"""How long processes may take to start: by their number, and by the cores of this machine."""

from __future__ import annotations

import os
from typing import NamedTuple

from xplane_bridge.common.text import counted

# What one takes to start, from its interpreter to its first message: 1.2 to 1.9 s of a core.
_CPU_SECONDS = 1.9
# Others work on the machine too: their share of it is this much.
_SHARED = 2.0
# Whatever is started (s): networks and disks take their time.
_LEAST = 30.0


class StartLimit(NamedTuple):
    """How long processes may take to start, in ``seconds``; as a text with the reason."""

    processes: int
    cores: int

    @property
    def seconds(self) -> float:
        """Return the limit in seconds."""
        return _LEAST + _SHARED * _CPU_SECONDS * self.processes / self.cores

    def __str__(self) -> str:
        """Return the limit with what it is made of."""
        return (f'{self.seconds:.0f} s, what {counted(self.processes, "process", "processes")} '
                f'may take to start on {counted(self.cores, "core")}: {_LEAST:.0f} s, and '
                f'{_SHARED:g} times the {_CPU_SECONDS:g} s of a core for each')


def start_limit(processes: int) -> StartLimit:
    """Return how long so many processes may take to start on this machine."""
    return StartLimit(processes, max(len(os.sched_getaffinity(0)), 1))
