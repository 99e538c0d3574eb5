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

"""What the command lines of all executables have in common. No ROS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import io
import os
import sys
from typing import Any

# As of a command that SIGPIPE has ended.
_READER_GONE = 141


class _Output(io.FileIO):
    """A standard stream whose reader may go, as `head` does: then the process ends, quietly."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            # What is still buffered is written at exit.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            raise SystemExit(_READER_GONE) from None


def run_command(main: Callable[[], int | None]) -> int | None:
    """
    Return what an executable's ``main`` returns; what all of them have in common is done here.

    If nobody reads the output any more, SystemExit is raised where something is printed: whatever
    runs ends as after an error, but nothing is said.
    """
    sys.stdout, sys.stderr = streams = _quiet(sys.stdout), _quiet(sys.stderr)
    try:
        return main()
    finally:
        for stream in streams:
            if stream is not None:
                stream.flush()


def _quiet(stream: Any) -> Any:
    # A closed standard stream is None.
    if stream is None:
        return None
    stream.flush()
    raw = _Output(stream.fileno(), 'w', closefd=False)
    # By PYTHONUNBUFFERED nothing is buffered.
    return io.TextIOWrapper(
        raw if stream.write_through else io.BufferedWriter(raw), stream.encoding,
        stream.errors, line_buffering=stream.line_buffering, write_through=stream.write_through)


def without_ros_arguments(argv: Sequence[str]) -> list[str]:
    """Return the arguments without the ROS ones: --ros-args up to --, or to the end."""
    own: list[str] = []
    is_own = True
    for argument in argv:
        if argument == '--ros-args':
            is_own = False
        elif argument == '--' and not is_own:
            is_own = True
        elif is_own:
            own.append(argument)
    return own
