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

"""Identity of the peer: which plugin it has, and whether it is still the same X-Plane."""

from __future__ import annotations

from collections import deque
import math

from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session.events import PluginVersion

# The plugin sends a beacon once per second.
_BEACON_TIMEOUT = 3.5
# More than this between two, and X-Plane may have been restarted.
_MISSED = 1.5
# Less than this between two, and one may be a copy.
_APART = 0.9

# X-Plane's running time may seem to go back by this much if replies are late or out of order.
_LATE = 0.5

# After a gap of this long it is also checked that the running time has not gone ahead of ours, by
# more than rounding and a simulator that hurries.
_GAP = 0.25
_AHEAD = 2.0
_HURRY = 1.25
# Over how long the pace of the running time is measured.
_PACE_WINDOW = 1.0

# How long only another identity must have been seen: the known one would have replied.
_CONFIRMED = 0.05

# The kinds of replies that tell one X-Plane from another.
_POSITION, _STATE = 'position', 'state'


class Identity:
    """
    What is known about the X-Plane that answers, and about its plugin.

    ``chosen`` is the plugin's version if it was set, ``hears_beacons`` says whether beacons can be
    received; beacons that name another ``port`` are another X-Plane's. ``identifies`` says whether
    what is polled tells one X-Plane from another; otherwise the one that answers is believed.

    The on_...() methods return why this is a different instance of X-Plane, or an empty string.
    The owner then calls forget() and repeats the call. A single message may be garbage, forged, or
    an old one that comes late or again, and so may many: another identity counts when it is
    repeated without the known one in between, in a reply on a channel that no reply to earlier
    requests can reach. ``channels_since`` says since when a reply's channel can have been in use:
    if no reply has fitted since then, there is none to be copied.
    """

    def __init__(
        self, chosen: PluginVersion | None, *, hears_beacons: bool, port: int | None,
        identifies: bool,
    ) -> None:
        self.beacon: xpc.Beacon | None = None
        self._chosen = chosen
        self._hears_beacons = hears_beacons
        self._port = port
        self.identifies = identifies
        self._since = 0.0
        self._listened = False
        self._beacon_at: float | None = None
        # What was known before it disappeared, to tell whether the same one returns.
        self._beacon_before: xpc.Beacon | None = None
        self._bits: int | None = None
        self._bits_before: int | None = None
        # The newest two, of which the lower counts: one may be garbage.
        self._running_times: deque[float] = deque(maxlen=2)
        self._window = (math.inf, 0.0)
        self._pace = 1.0
        # Since when replies of each kind do not fit, and which kinds must fit before it is known.
        self._odd: dict[str, float] = {}
        # When the last one did.
        self._fitted_at: dict[str, float] = {}
        self._unseen: set[str] = set()
        self._rival: tuple[int, str] | None = None
        self._rival_at = 0.0

    @property
    def plugin_version(self) -> PluginVersion | None:
        """Return the plugin's version, None while unknown (docs/wire/xpc.md, section 6)."""
        if self._chosen is not None:
            return self._chosen
        if self._bits == 64:
            return PluginVersion.RC6
        if self._bits == 32:
            if self.beacon is not None:
                return PluginVersion.RC5
            if not self._hears_beacons or self._listened:
                return PluginVersion.V1_2_1
        return None

    # Whether it is known who answers.

    @property
    def is_known(self) -> bool:
        """Return whether the replies since the last doubt() show who answers."""
        return not self._unseen and not self.is_odd

    @property
    def is_odd(self) -> bool:
        """Return whether the last replies of some kind may come from another X-Plane."""
        return self.identifies and bool(self._odd)

    @property
    def known_at(self) -> float:
        """Return when there was a reply that fits, of the kinds that do not fit now."""
        return max((self._fitted_at.get(kind, -math.inf) for kind in self._odd),
                   default=-math.inf)

    @property
    def has_odd_state(self) -> bool:
        """Return whether the last reports may come from another X-Plane."""
        return _STATE in self._odd

    def fits_known(self, *, is_state: bool) -> bool:
        """Return whether what was just heard shows that this is still the same X-Plane."""
        return not self._odd and (is_state or not self.identifies)

    def doubt(self) -> None:
        """Require a reply of each kind before it is known who answers."""
        if self.identifies:
            self._unseen = {_POSITION, _STATE}

    def believe(self) -> None:
        """Require no replies: nothing has answered before."""
        self._unseen = set()

    # Beacons.

    @property
    def beacons_until(self) -> float | None:
        """Return until when the last beacon shows that X-Plane runs, None if there was none."""
        return None if self._beacon_at is None else self._beacon_at + _BEACON_TIMEOUT

    def listen_from(self, now: float) -> None:
        """Start listening for beacons."""
        self._since = now
        self._listened = False

    def listen(self, now: float) -> None:
        """Record that time passes: beacons would have arrived by now."""
        self._listened |= now - self._since > _BEACON_TIMEOUT

    def has_missed_beacons(self, now: float) -> bool:
        """Return whether the last beacon is older than it should be."""
        return self._beacon_at is not None and now > self._beacon_at + _MISSED

    def is_its(self, beacon: xpc.Beacon) -> bool:
        """Return whether a beacon is not that of another X-Plane on the same computer."""
        return self._port in (None, beacon.port)

    # What it was, and what it is.

    def lose(self) -> None:
        """Record that it has disappeared: it may be another X-Plane that returns."""
        self._beacon_before, self.beacon = self.beacon or self._beacon_before, None
        self._bits_before, self._bits = self._bits or self._bits_before, None

    def forget(self, now: float) -> None:
        """Forget everything: this is another instance of X-Plane."""
        self.beacon = self._beacon_before = self._beacon_at = self._rival = None
        self._bits = self._bits_before = None
        self._running_times.clear()
        self._window = (math.inf, 0.0)
        self._odd.clear()
        self._fitted_at.clear()
        self.listen_from(now)

    def on_beacon(self, beacon: xpc.Beacon, now: float) -> str:
        """Handle a beacon; another identity counts when it arrives twice in a row."""
        if not self.is_its(beacon):
            return ''
        self._beacon_at = now
        known = self.beacon or self._beacon_before
        if known is not None and _identity(known) != _identity(beacon):
            if self._rival != _identity(beacon):
                self._rival = _identity(beacon)
                self._rival_at = now
            if now < self._rival_at + _APART:
                return ''
            return f'its beacon now reports X-Plane {beacon.xplane_version}'
        self._rival = None
        self.beacon = beacon
        return ''

    def on_position(
        self, reply: xpc.PositionReply, channels_since: float, now: float
    ) -> str:
        """Handle a position; its precision is the plugin's."""
        self._unseen.discard(_POSITION)
        known = self._bits or self._bits_before
        if known in (None, reply.precision):
            self._bits = reply.precision
            self._fit(_POSITION, now)
            return ''
        if not self._is_confirmed(_POSITION, channels_since, now):
            return ''
        return f'its positions now have {reply.precision} bits'

    def is_old(self, seconds: float | None) -> bool:
        """Return whether something newer was heard than what X-Plane said at that time."""
        return seconds is not None and seconds < min(self._running_times, default=-math.inf)

    def on_time(self, seconds: float | None, channels_since: float, now: float) -> str:
        """Handle X-Plane's running time, if it has one. It goes back when X-Plane restarts."""
        if seconds is None or not math.isfinite(seconds):
            self._unseen.discard(_STATE)
            return ''
        before = min(self._running_times, default=seconds)
        if before - _LATE <= seconds < before:
            # A late one, or a copy: it shows nothing.
            return ''
        gap = now - self._fitted_at.get(_STATE, now)
        latest = max(self._running_times, default=seconds) + _AHEAD + _HURRY * self._pace * gap
        if before <= seconds <= latest:
            self._go_on(seconds, now, gap)
            return ''
        if not self._is_confirmed(_STATE, channels_since, now):
            return ''
        if seconds > before and gap - (now - self._odd[_STATE]) < _GAP:
            # Nobody had the time to start another one: it hurries.
            self._go_on(seconds, now, gap)
            return ''
        return f'it has been running for {seconds:.1f} s, before for {before:.1f} s'

    def _is_confirmed(self, kind: str, channels_since: float, now: float) -> bool:
        """Return whether what does not fit has not fitted for a while, and is no copy."""
        since = self._odd.setdefault(kind, now)
        return now >= since + _CONFIRMED and (
            not self.identifies or channels_since >= self._fitted_at.get(kind, -math.inf))

    def _fit(self, kind: str, now: float) -> None:
        """Record that a reply of this kind fits."""
        self._odd.pop(kind, None)
        self._fitted_at[kind] = now

    def _go_on(self, seconds: float, now: float, gap: float) -> None:
        """Record a running time that fits."""
        self._unseen.discard(_STATE)
        self._fit(_STATE, now)
        self._running_times.append(seconds)
        self._measure_pace(seconds, now, gap)

    def _measure_pace(self, seconds: float, now: float, gap: float) -> None:
        """Learn how fast the running time goes, without gaps: as ours, or that of a simulator."""
        at, value = self._window
        if gap >= _GAP or now < at:
            self._window = now, seconds
        elif now >= at + _PACE_WINDOW:
            self._pace = max(1.0, (seconds - value) / (now - at))
            self._window = now, seconds


def _identity(beacon: xpc.Beacon) -> tuple[int, str]:
    return beacon.xplane_version, beacon.plugin_version
