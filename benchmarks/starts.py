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

"""Starts: from a process's start to its first message elsewhere, beside a bare publisher's."""

import time

import numpy as np
from processes import Peer
from shortest import usual
from tables import Goals

STARTUP_RATIO = 1.5
STARTS = usual(3, 1)


def bare_start(subscriber: Peer, topic: str) -> float:
    """Return the time from a bare publisher's start to its first message elsewhere, in s."""
    begin = time.time_ns()
    with Peer('publisher') as publisher:
        publisher.ask('open', topics={topic: 'fix'})
        publisher.ask('publish', groups=[[topic]], rate=50.0, seconds=0.02)
        if not subscriber.ask('wait', topic=topic):
            raise RuntimeError(f'nothing came on {topic}')
        first: int = subscriber.ask('report')[topic][0][2]
        return (first - begin) / 1e9


STARTED = ('', 'median s', 'of bare', f'goal <= {STARTUP_RATIO}', 'fastest s', 'slowest s')


def started(
    goals: Goals, times: dict[str, list[float]], bare: list[float]
) -> list[list[object]]:
    """Return the rows of starts, the first of which is judged, and of a bare publisher's."""
    rows: list[list[object]] = []
    least = float(np.median(bare))
    for what, seconds in {**times, 'bare rclpy publisher, first message': bare}.items():
        median = float(np.median(seconds))
        rows.append([
            what, f'{median:.2f}', f'{median / least:.2f}',
            '' if rows else goals.at_most(median / least, STARTUP_RATIO),
            f'{min(seconds):.2f}', f'{max(seconds):.2f}'])
    return rows
