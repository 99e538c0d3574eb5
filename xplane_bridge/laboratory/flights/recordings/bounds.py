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

"""
How much of a recording is read, whoever made it: all of its bounds. No ROS.

They let pass what recorders write, and keep whatever else a file may claim below 2 GB of memory.
A fault ends what is read of a file; a topic or a type beyond a bound is left out on its own.
"""

from __future__ import annotations

MAX_CHUNK = 64 * 1024 * 1024
"""Bytes of one chunk or message, compressed or not. rosbag2 writes chunks of 768 KiB."""

MAX_METADATA = 1024 * 1024
"""Bytes of rosbag2's metadata: a thousand topics."""

MAX_FILES = 1000
"""Files of one bag."""

_UNPACKED_AT_LEAST, _UNPACKED_RATIO = 64 * 1024 * 1024, 100
_RECORDS_AT_LEAST, _BYTES_PER_RECORD = 1_000_000, 4

MAX_NAME = 255
"""Characters of a topic, a type or a field. No middleware takes more for a topic."""

MAX_CHANNELS = 65_536
"""Topics that are distinguished while reading; MCAP cannot number more."""

MAX_DEFINITION, MAX_DEFINITIONS = 256 * 1024, 4 * 1024 * 1024
"""Bytes of one type's definition, with all it consists of; and of all types of a recording."""

MAX_FIELDS, MAX_ALL_FIELDS = 4_000, 30_000
"""Fields, and elements of arrays of types and texts, of one definition; and of all of them, each
of which counts FIELDS_OF_TYPE more."""

FIELDS_OF_TYPE = 15

MAX_DEPTH = 16
"""Types within each other."""

MAX_VALUES = 10_000
"""Values that every message of a type has, lists counting one."""

MAX_ELEMENTS = 8 * 1024 * 1024
"""Numbers of one array or list."""

MAX_OBJECTS = 4 * 1024 * 1024
"""Bytes of a message that has lists of types or texts: each may become a hundred in memory."""


class TooMuchError(ValueError):
    """A bound of the recording as a whole is reached: nothing more is read of it."""


class UnpackBudget:
    """
    What a recording may unpack to, relative to its size on disk (bytes).

    Recordings are compressed to a fifth or a tenth; zeros are compressed to a ten-thousandth.
    """

    def __init__(self, size: int) -> None:
        self.unpacked = _UNPACKED_AT_LEAST + _UNPACKED_RATIO * size
        self.records = _RECORDS_AT_LEAST + size // _BYTES_PER_RECORD

    def unpack(self, count: int) -> None:
        """Take ``count`` bytes; TooMuchError if these are not left."""
        self.unpacked -= count
        if self.unpacked < 0:
            raise TooMuchError(f'its content is {-self.unpacked} bytes larger than expected of a '
                          'recording of its size')

    def record(self, count: int) -> None:
        """Take ``count`` records; TooMuchError if these are not left."""
        self.records -= count
        if self.records < 0:
            raise TooMuchError('it has more messages than expected of a recording of its size')
