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

"""Write the recording of a flight in this process: MCAP or Parquet, as its name ends. No ROS."""

from __future__ import annotations

from collections.abc import Mapping
import json
from pathlib import Path
from typing import Any

from xplane_bridge.common import optional, plain_files
from xplane_bridge.laboratory.flights.recordings import mcap_writer, parquet_file
from xplane_bridge.laboratory.flights.recordings.collected import Collected
from xplane_bridge.laboratory.flights.recordings.vehicle_topics import to_topics

FORMATS: Mapping[str, tuple[str, ...]] = {
    'mcap': ('mcap', 'rosbags'), 'parquet': ('pyarrow',)}
"""Formats, each with the packages that it needs."""

NAMESPACE = '/experiment'
"""That of the topics, if the order has none."""


def format_of(path: str) -> str:
    """Return the format of a file by its name, '' if it is none of FORMATS."""
    ending = Path(path).suffix.removeprefix('.')
    return ending if ending in FORMATS else ''


def check(path: str) -> None:
    """Raise ImportError without what its format needs."""
    optional.require('recording a flight', *FORMATS[format_of(path)], extra='export')


def write(path: str, flown: Mapping[str, Collected], facts: Mapping[str, Any]) -> None:
    """
    Write a recording, which takes the place of an earlier one when it is whole.

    ``flown`` are the vehicles by their namespaces; a table has one. Raises OSError.
    """
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(facts, allow_nan=False)
    with plain_files.output(file) as stream:
        if format_of(path) == 'mcap':
            mcap_writer.write(stream, file.name, [
                topic for namespace, one in flown.items() for topic in to_topics(one, namespace)],
                text)
        else:
            one, = flown.values()
            parquet_file.write(stream, one, text)
