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

"""Mistakes in this package that a link's thread has met: they are counted and reported."""

from __future__ import annotations

import traceback

from xplane_bridge.bridges.links.session import SessionError
from xplane_bridge.bridges.nodes.common.diagnostics import ERROR, Status
from xplane_bridge.common.text import LONGEST_LINE, printable, printable_lines

MOST_IN_A_ROW = 10
"""How many calls of a session may raise in a row until the node ends."""

# Tracebacks in the log, one per place in the code.
_MOST_PLACES = 20
_MOST_TEXT = 20_000


class InternalErrors:
    """
    What a session, or a handler of its events, has raised.

    A mistake is known by its place in the code: its traceback is shown the first time.
    """

    def __init__(self) -> None:
        self.count = 0
        self._last = ''
        self._places: set[tuple[str, str, int]] = set()

    def note(self, error: Exception) -> str:
        """Count a mistake; return its traceback, or nothing if it was shown before."""
        cause = error.__cause__ if isinstance(error, SessionError) else error
        assert cause is not None
        frame = traceback.extract_tb(cause.__traceback__)[-1]
        place = type(cause).__name__, frame.filename, frame.lineno or 0
        self.count += 1
        self._last = printable(f'{place[0]}: {cause}', LONGEST_LINE)
        if place in self._places or len(self._places) >= _MOST_PLACES:
            return ''
        self._places.add(place)
        return printable_lines(''.join(traceback.format_exception(cause))[-_MOST_TEXT:])

    def status(self) -> Status:
        """Return the diagnostics status; only if there was one."""
        times = 'once' if self.count == 1 else f'{self.count} times'
        return Status(
            'faults', ERROR, f'a mistake in this package, met {times}; the last: {self._last}; '
            'the log has its traceback, please report it', (('faults', str(self.count)),))
