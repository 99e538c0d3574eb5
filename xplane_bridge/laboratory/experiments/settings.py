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

"""An experiment: a flight with a report for people. No ROS."""

from __future__ import annotations

from dataclasses import dataclass

from xplane_bridge.laboratory.flights.order import Order

# Exit codes of an experiment.
PASSED, MISSED, NOT_FLOWN, INTERRUPTED = 0, 1, 2, 130

# Where Foxglove and Lichtblick look by default.
LIVE_PORT = 8765


@dataclass(frozen=True, slots=True)
class Files:
    """
    Where the results go; an empty name omits one.

    ``recordings`` are the files of the ``recording``: of several aircraft each has its table.
    """

    recording: str = ''
    picture: str = ''
    figures: str = ''
    log: str = ''
    recordings: tuple[str, ...] = ()

    def results(self) -> list[str]:
        """Return all names but those of logs, which a flight that did not begin leaves too."""
        return [name for name in (
            *(self.recordings or (self.recording,)), self.picture, self.figures) if name]


@dataclass(frozen=True, slots=True)
class Experiment:
    """
    What is flown, where its results go, and the title of its picture.

    ``live`` is the port of the live view, 0 for none. A flight that could be faster is held back
    to ``pace`` times real time, for those who watch; 0 for none.
    """

    order: Order
    files: Files
    title: str
    live: int = 0
    pace: float = 0.0
