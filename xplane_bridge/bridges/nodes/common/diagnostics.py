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

"""The lines of /diagnostics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from xplane_bridge.common.text import LONGEST_LINE, printable
from xplane_bridge.common.timing import SECOND_NS

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR
STALE = DiagnosticStatus.STALE


@dataclass(frozen=True, slots=True)
class Status:
    """One line of /diagnostics: a name below the node's, a level, a sentence, and values."""

    name: str
    level: bytes
    message: str
    values: tuple[tuple[str, str], ...] = ()


def diagnostic_array(name: str, lines: Iterable[Status], stamp_ns: int) -> DiagnosticArray:
    """Return the lines of the node with that name as a message."""
    message = DiagnosticArray()
    stamp = message.header.stamp
    stamp.sec, stamp.nanosec = divmod(stamp_ns, SECOND_NS)
    message.status = [
        DiagnosticStatus(
            level=line.level,
            name=f'{name}: {line.name}',
            message=printable(line.message, LONGEST_LINE),
            hardware_id=name,
            values=[
                KeyValue(key=printable(key), value=printable(value, LONGEST_LINE))
                for key, value in line.values],
        ) for line in lines]
    return message
