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

"""Files of anybody, read within bounds: only regular files, and only so many bytes."""

from __future__ import annotations

import errno
import os
from pathlib import Path
import stat
from typing import BinaryIO


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """
    Open a file for reading.

    Raises OSError as ``open`` does, and for anything else than a regular file: a FIFO, a terminal
    or a device would be waited for, or never end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(code, os.strerror(code) if stat.S_ISDIR(mode) else 'Not a regular file',
                      os.fspath(path))
    return os.fdopen(descriptor, 'rb')


def read(path: str | os.PathLike[str], most: int) -> bytes:
    """Return a regular file's content; OSError as ``open_regular``, ValueError if it is longer."""
    with open_regular(path) as stream:
        found = stream.read(most + 1)
    if len(found) > most:
        raise ValueError(f'{Path(path).name} has more than {most} bytes')
    return found
