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

"""What controls have written to X-Plane last, compared with what it reports."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from xplane_bridge.bridges.xplane_udp.session.reports import is_close

# How long what is commanded and what is reported may differ: a report, and what was lost.
_CONTRADICTED = 1.5
# As many before the last one are known as ours: as many may be lost in a row.
_EARLIER = 64


class WrittenControls:
    """The last value of each control, by the name of its report, and since when it is that."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, float]] = {}
        self._earlier: dict[str, deque[float]] = {}
        # Those that were reported as written last, and since then as written earlier.
        self._seen: set[str] = set()
        self._seen_earlier: set[str] = set()

    @property
    def values(self) -> Mapping[str, float]:
        """Return the last values."""
        return {report: value for report, (value, _) in self._last.items()}

    def note(self, written: Mapping[str, float], now: float) -> dict[str, float]:
        """Record what is written; return what of it is new."""
        new = {report: value for report, value in written.items()
               if self._last.get(report, (None, 0.0))[0] != value}
        for report in new.keys() & self._last.keys():
            self._earlier.setdefault(report, deque(maxlen=_EARLIER)).append(self._last[report][0])
        self._last.update((report, (value, now)) for report, value in new.items())
        self._seen -= new.keys()
        self._seen_earlier -= new.keys()
        return new

    def on_reply(self, report: str, reported: float | None, now: float) -> bool:
        """
        Handle a report; return whether others have taken it back.

        That is so if it was reported as written, and then differently. If the last was lost, it is
        reported as written earlier: then what differs counts once the last must have been shown.
        """
        if report not in self._last or reported is None:
            return False
        value, since = self._last[report]
        if is_close(reported, value):
            self._seen.add(report)
            return False
        if report not in self._seen and any(
                is_close(reported, earlier) for earlier in self._earlier.get(report, ())):
            self._seen_earlier.add(report)
            return False
        taken_back = report in self._seen or (
            report in self._seen_earlier and now >= since + _CONTRADICTED)
        self._seen.discard(report)
        if taken_back:
            self._seen_earlier.discard(report)
        return taken_back

    def contradictions(self, reports: Mapping[str, float | None], now: float) -> list[str]:
        """Return for which of these reports X-Plane has other values for longer than it may."""
        found = []
        for report, reported in reports.items():
            written, since = self._last.get(report, (None, now))
            if (written is not None and reported is not None and now >= since + _CONTRADICTED
                    and not is_close(reported, written)):
                found.append(f'{report}: {written:g} was sent, X-Plane reports {reported:g}')
        return found

    def clear(self) -> None:
        """Forget everything: it is another run of X-Plane."""
        self._last.clear()
        self._earlier.clear()
        self._seen.clear()
        self._seen_earlier.clear()
