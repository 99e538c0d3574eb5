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

"""A recording's files before they are read: damage, the scenario's start, which clock it has."""

from __future__ import annotations

import json
from pathlib import Path

from xplane_bridge import plain_yaml
from xplane_bridge.experiments import mcap_file, rosbag2
from xplane_bridge.experiments.mcap_file import RecordingError
from xplane_bridge.plain_yaml import shown

# Next to a recording, and in it: the figures of an experiment, rosbag2's metadata (bytes).
_MAX_FIGURES = 1024 * 1024
_MAX_METADATA = 1024 * 1024
# The maximum of a stamp's seconds.
_LATEST = 2.0**31


def check(path: Path) -> None:
    """Raise RecordingError for known kinds of damage before a library reads the file."""
    if not path.is_dir():
        mcap_file.check(path)
        return
    for part in path.glob('*.mcap'):
        mcap_file.check(part)
    metadata = path / 'metadata.yaml'
    if metadata.exists() and metadata.stat().st_size > _MAX_METADATA:
        raise RecordingError(
            f'{path} is not read as a recording: {metadata.name} has more than '
            f'{_MAX_METADATA} bytes')


def beginning(path: Path) -> float | None:
    """Return when the scenario started, from an experiment's figures; None if there are none."""
    try:
        with path.open('rb') as stream:
            begin = json.loads(stream.read(_MAX_FIGURES)).get('begin')
    except FileNotFoundError:
        return None
    except (ValueError, AttributeError, RecursionError):
        raise RecordingError(f'{path}: expected the figures of an experiment, as JSON') from None
    if begin is None:
        return None
    if type(begin) in (int, float) and 0 <= begin < _LATEST:
        return float(begin)
    raise RecordingError(f'{path}: expected the time of "begin", got {shown(begin)}')


def log_time(path: Path) -> str:
    """Return what a recording uses as recording time."""
    if path.is_dir():
        # The recorder of rosbag2 in Jazzy and later uses the middleware's.
        return rosbag2.RECEIVED
    try:
        from mcap.reader import make_reader
    except ImportError:
        return ''
    found = ''
    with open(path, 'rb') as stream:
        for record in make_reader(stream).iter_metadata():
            if record.name == rosbag2.METADATA_RECORD:
                metadata = plain_yaml.load(
                    record.metadata.get('serialized_metadata', ''), _MAX_METADATA) or {}
                found = str((metadata.get('custom_data') or {}).get(rosbag2.LOG_TIME, ''))
    return found
