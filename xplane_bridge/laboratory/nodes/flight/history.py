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

"""The history of a vehicle by its recording, and whether that has all that was heard in flight."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
import math

import numpy as np

from xplane_bridge.common.timing import ROUNDED_TIME
from xplane_bridge.laboratory.flights.analysis import history as analysis
from xplane_bridge.laboratory.flights.analysis.series import Arrivals, History


class RecordedHistory:
    """
    The history of a vehicle below a namespace, from a recording that is complete.

    It is read in a thread of its own. ``begin`` is the stamp at which the scenario began;
    ``heard`` has the newest stamp that was heard in flight of each topic.
    """

    def __init__(
        self, recording: str, namespace: str, begin: float, heard: Mapping[str, float]
    ) -> None:
        self._heard = heard
        reader = ThreadPoolExecutor(1, 'reader of the recording')
        self._loading = reader.submit(analysis.load, recording, namespace, begin)
        reader.shutdown(wait=False)

    def read(self) -> History:
        """Return it; ValueError, OSError or ImportError if it cannot be read."""
        return self._loading.result()

    def wait(self) -> None:
        """Wait until the recording is needed no more."""
        wait([self._loading])

    def lacking(self) -> str:
        """Return a sentence if it lacks what was heard in flight, or is cut."""
        history = self.read()
        if history.cut:
            return history.cut
        nothing = Arrivals(np.full(1, -math.inf), np.empty(0))
        missing = {topic: stamp - float(history.topics.get(topic, nothing).stamps.max())
                   for topic, stamp in self._heard.items()}
        found = ', '.join(f'{topic} ({seconds:.3f} s)' for topic, seconds in missing.items()
                          if seconds > ROUNDED_TIME)
        return f'the recording lacks the end of {found}' if found else ''
