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

from collections.abc import Collection, Mapping
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


def files(path: str, vehicles: Collection[str]) -> dict[str, str]:
    """
    Return the files of a recording, with the vehicle that each is of: '' is all.

    A table is of one: of several each has its own, with its name in that of the file.
    """
    if not path or len(vehicles) < 2 or format_of(path) == 'mcap':
        return {path: ''} if path else {}
    return {str(Path(path).with_suffix(f'.{name}{Path(path).suffix}')): name for name in vehicles}


def check(path: str) -> None:
    """Raise ImportError without what its format needs."""
    optional.require('recording a flight', *FORMATS[format_of(path)], extra='export')


def write(
    path: str, namespace: str, flown: Mapping[str, Collected], facts: Mapping[str, Any]
) -> None:
    """
    Write a recording, which takes the place of an earlier one when it is whole.

    ``flown`` are the vehicles by their names, whose topics are below ``namespace``; see files().
    Raises OSError.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    for name, vehicle in files(path, flown).items():
        text = json.dumps(
            {**facts, **({'vehicle': vehicle} if vehicle else {})}, allow_nan=False)
        with plain_files.output(Path(name)) as stream:
            if format_of(path) == 'mcap':
                mcap_writer.write(stream, Path(name).name, [
                    topic for own, one in flown.items()
                    for topic in to_topics(one, f'{namespace}/{own}')], text)
            else:
                parquet_file.write(
                    stream, flown[vehicle] if vehicle else next(iter(flown.values())), text)
