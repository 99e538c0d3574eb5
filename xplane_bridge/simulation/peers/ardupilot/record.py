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

"""The record of a flight of SITL: each frame that was flown, and the state that it came to."""

from __future__ import annotations

import math
from pathlib import Path

from xplane_bridge.bridges.ardupilot_json.protocol import encode, PORT, Servos
from xplane_bridge.bridges.links.captures.writing import CaptureFile
from xplane_bridge.common.command_line import refuse_existing
from xplane_bridge.common.timing import SECOND_NS

# Not the real ports, nor the time of day: equal flights have equal records, to the last byte.
_SITL = ('127.0.0.1', PORT + 1)
_PHYSICS = ('127.0.0.1', PORT)


class Record:
    """
    A capture with the simulated time as its stamps: repeated and late frames are not in it.

    It ends after some ``seconds`` of simulated time. All raise OSError, with a sentence.
    """

    def __init__(self, path: Path, seconds: float | None = None) -> None:
        refuse_existing((path,), by='', elsewhere='--record')
        self._path, self._seconds = path, math.inf if seconds is None else seconds
        self._file: CaptureFile | None = None

    def open(self) -> None:
        """Make the file; opening twice is fine."""
        if self._file is None:
            try:
                self._file = CaptureFile(self._path, _PHYSICS)
            except OSError as error:
                raise self._failed(error) from None

    def add(self, servos: Servos, line: bytes, time: float) -> None:
        """Append a frame and its state, unless the record has ended."""
        if self._file is None or time > self._seconds:
            return
        stamp = round(time * SECOND_NS)
        try:
            self._file.write(encode(servos), stamp, _SITL)
            self._file.write(line, stamp, _PHYSICS, _SITL)
            # Whoever ends a job of CI does not wait.
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> OSError:
        return OSError(f'the record {self._path} cannot be written: {error.strerror}')
