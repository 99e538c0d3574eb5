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

"""A minute of the traffic of a verification, as a capture without names and places."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from xplane_bridge.bridges.links.captures.writing import CaptureFile
from xplane_bridge.bridges.sessions.base import Address
from xplane_bridge.common.plain_files import WriteError
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.verification.evidence.places import Unplaced

OURS, THEIRS = '192.0.2.1', '192.0.2.2'
"""In place of the addresses: those of nobody (RFC 5737)."""

_SECONDS = 60
_MOST, _MOST_BYTES = 40_000, 32 * 1024 * 1024


class _Noted(NamedTuple):
    data: bytes
    is_ours: bool
    own_port: int
    other_port: int
    stamp_ns: int


class Traffic:
    """The datagrams of a conversation, of its first minute; note() is the link's thread's."""

    def __init__(self) -> None:
        self._noted: list[_Noted] = []
        self._bytes = 0

    def note(
        self, data: bytes, is_ours: bool, own: Address, other: Address, stamp_ns: int
    ) -> None:
        """Note a datagram, as UdpLoop's ``tap``."""
        if len(self._noted) >= _MOST or self._bytes + len(data) > _MOST_BYTES or (
                self._noted and stamp_ns - self._noted[0].stamp_ns > _SECONDS * SECOND_NS):
            return
        self._bytes += len(data)
        self._noted.append(_Noted(data, is_ours, own[1], other[1], stamp_ns))

    def write(self, path: Path, unplaced: Unplaced) -> tuple[int, int]:
        """
        Write it; return how many datagrams are in the file, and how many were left out.

        It takes the place of a file that is there. Raises WriteError, and leaves no half then.
        """
        file = CaptureFile(path, (OURS, 0), replaces=True)
        kept = 0
        try:
            for one in list(self._noted):
                data = unplaced.clean(one.data, 'bridge' if one.is_ours else 'peer')
                if data is None:
                    continue
                kept += 1
                own, other = (OURS, one.own_port), (THEIRS, one.other_port)
                source, to = (own, other) if one.is_ours else (other, own)
                file.write(data, one.stamp_ns, source, to)
            file.close()
        except BaseException:
            with suppress(WriteError):
                file.remove()
            raise
        return kept, len(self._noted) - kept
