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
Faults of this machine: its disk, its memory, its processes, or what is installed on it.

They say nothing of what was being flown: what ends by one has no result, and is done again.
"""

from __future__ import annotations

from concurrent.futures import BrokenExecutor
import errno
import os

# Of a disk, memory, processes, open files and ports. Not ENOENT: a policy may ask for what is
# nowhere.
LOST = 'lost'
"""What became of what this machine has kept from being done: no result of any kind."""

_CODES = (
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOMEM, errno.EAGAIN, errno.EMFILE,
    errno.ENFILE, errno.EADDRINUSE, errno.ENOBUFS)
_KINDS = (MemoryError, ImportError, BrokenExecutor)
# What programs print that end by one.
_TEXTS = (*map(os.strerror, _CODES), 'MemoryError', 'bad_alloc', ' cannot be written: ')


class MachineError(OSError):
    """This machine has kept something from being done; the text says what, and why."""


def is_at_fault(error: BaseException | None) -> bool:
    """Return whether an error, or one that it came of, is a fault of this machine."""
    while error is not None:
        if isinstance(error, (MachineError, *_KINDS)) or (
                isinstance(error, OSError) and error.errno in _CODES):
            return True
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def is_told_in(text: str) -> bool:
    """Return whether the output of a program tells of such a fault."""
    return any(one in text for one in _TEXTS)
