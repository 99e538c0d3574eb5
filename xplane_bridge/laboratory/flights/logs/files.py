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

"""Logs of autopilots and X-Plane, by what they begin with, or else by their ending. No ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from xplane_bridge.common import plain_files
from xplane_bridge.laboratory.flights.logs import dataflash, fdr, ulog
from xplane_bridge.laboratory.flights.logs.log import FlightLog

Reader = Callable[[Path], FlightLog]

READERS: Mapping[str, Reader] = {'.ulg': ulog.read, '.bin': dataflash.read, '.fdr': fdr.read}
"""What reads a log, by the ending that its name usually has."""

_MAGIC = {ulog.MAGIC: '.ulg', dataflash.MAGIC: '.bin'}


def ending(path: Path) -> str:
    """Return the usual ending of a log of that kind, '' for a file that is none or not there."""
    if path.is_dir() or not path.exists():
        return ''
    with plain_files.open_regular(path) as stream:
        head = stream.read(max(map(len, _MAGIC)))
    found = next((one for magic, one in _MAGIC.items() if head.startswith(magic)), '')
    return found or (path.suffix.lower() if path.suffix.lower() in READERS else '')


def read(path: Path) -> FlightLog:
    """Return the tables of a log. Raises OSError, and RecordingError for any other file."""
    return READERS[ending(path)](path)
