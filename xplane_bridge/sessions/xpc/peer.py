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

"""Identity of the peer: whether it is there, which plugin, and whether it is still the same."""

from __future__ import annotations

from collections import deque
import math

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.base import PeerState
from xplane_bridge.sessions.xpc.events import PluginVersion

# The plugin sends a beacon once per second.
BEACON_TIMEOUT = 3.5
# More than this between two, and X-Plane may have been restarted.
_MISSED = 1.5

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


class Peer:
    """
    What is known about the plugin.

    ::

        UNKNOWN ---an answer---> ANSWERING ---silence, beacons come---> LOADING
                                  ^  ^   '----silence-----> AWAY         |  ^
                                  |  '-----an answer---------'  '--------|--'  beacons come or end
                                  '-----an answer------------------------'

    and LEAVING after stop(): see Leaving.

    ``chosen`` is the version if it was set, ``hears_beacons`` says whether beacons can be
    received; beacons that name another ``port`` are another X-Plane's. The hear_...() methods
    return why this is a different instance of X-Plane, or an empty string. The owner then calls
    forget() and repeats the call. A single message may be garbage, or forged: another identity
    counts when it is repeated without the known one in between.
    """

    def __init__(
        self, address: str, chosen: PluginVersion | None, hears_beacons: bool, port: int | None
    ) -> None:
        self.state = PeerState.UNKNOWN
        self.beacon: xpc.Beacon | None = None
        self.answered = False
        self.address = address
        self._chosen = chosen
        self._hears_beacons = hears_beacons
        self._port = port
        self._since = 0.0
        self._listened = False
        self._beacon_at: float | None = None
        # What was known before it disappeared, to tell whether the same one returns.
        self._beacon_before: xpc.Beacon | None = None
        self._bits: int | None = None
        self._bits_before: int | None = None
        # The last two, of which the lower counts.
        self._running_times: deque[float] = deque(maxlen=2)
        self._time_at: float | None = None
        self._window = (math.inf, 0.0)
        self._pace = 1.0
        self._doubts: dict[str, float] = {}
        self._rival: tuple[int, str] | None = None

    @property
    def silent(self) -> bool:
        """Return whether it was polled and did not answer."""
        return self.state in (PeerState.LOADING, PeerState.AWAY)

    @property
    def sends_beacons(self) -> bool:
        """Return whether a beacon was heard: it would show that X-Plane runs, if it loads."""
        return bool(self.beacon or self._beacon_before)

    @property
    def doubts(self) -> frozenset[str]:
        """Return which replies ('position', 'state') may come from another X-Plane."""
        return frozenset(self._doubts)

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

    @property
    def absence(self) -> str:
        """Return why it accepts no commands; empty if it does."""
        if self.state is PeerState.ANSWERING:
            return ''
        if self.state is PeerState.UNKNOWN:
            return f'waiting for the first reply from X-Plane Connect at {self.address}'
        if self.state is PeerState.LOADING:
            return f'X-Plane at {self.address} is loading or in a menu, and answers nothing'
        return f'nothing answers at {self.address}'

    def start(self, now: float) -> None:
        """Start listening."""
        self.state = PeerState.UNKNOWN
        self.answered = False
        self._listen_from(now)

    def quiet(self, now: float) -> PeerState:
        """Return the state of a peer that does not answer."""
        heard = self._beacon_at is not None and now - self._beacon_at < BEACON_TIMEOUT
        return PeerState.LOADING if heard else PeerState.AWAY

    @property
    def quiet_until(self) -> float | None:
        """Return when a loading peer counts as away unless a beacon comes."""
        if self.state is PeerState.LOADING and self._beacon_at is not None:
            return self._beacon_at + BEACON_TIMEOUT
        return None

    def become(self, state: PeerState, now: float) -> None:
        """Change the state."""
        if self.state is PeerState.AWAY and state is PeerState.ANSWERING:
            self._listen_from(now)
        if state is PeerState.AWAY:
            # It may be another X-Plane that returns.
            self._beacon_before, self.beacon = self.beacon or self._beacon_before, None
            self._bits_before, self._bits = self._bits or self._bits_before, None
        self.answered |= state is PeerState.ANSWERING
        self.state = state

    def forget(self, now: float) -> None:
        """Forget everything: this is another instance of X-Plane."""
        self.beacon = self._beacon_before = self._beacon_at = self._rival = None
        self._bits = self._bits_before = None
        self._running_times.clear()
        self._time_at = None
        self._window = (math.inf, 0.0)
        self._doubts.clear()
        self._listen_from(now)

    def listen(self, now: float) -> None:
        """Record that time passes: beacons would have arrived by now."""
        self._listened |= now - self._since > BEACON_TIMEOUT

    def has_missed_beacons(self, now: float) -> bool:
        """Return whether the last beacon is older than it should be."""
        return self._beacon_at is not None and now > self._beacon_at + _MISSED

    def is_its(self, beacon: xpc.Beacon) -> bool:
        """Return whether a beacon is not that of another X-Plane on the same computer."""
        return self._port in (None, beacon.port)

    def hear_beacon(self, beacon: xpc.Beacon, now: float) -> str:
        """Handle a beacon; another identity counts when it arrives twice in a row."""
        if not self.is_its(beacon):
            return ''
        self._beacon_at = now
        known = self.beacon or self._beacon_before
        if known is not None and _identity(known) != _identity(beacon):
            if self._rival != _identity(beacon):
                self._rival = _identity(beacon)
                return ''
            return f'its beacon now reports X-Plane {beacon.xplane_version}'
        self._rival = None
        self.beacon = beacon
        return ''

    def hear_position(self, reply: xpc.PositionReply, now: float) -> str:
        """Handle a position; its precision is the plugin's."""
        known = self._bits or self._bits_before
        if known in (None, reply.precision):
            self._bits = reply.precision
            self._doubts.pop('position', None)
            return ''
        if now < self._doubts.setdefault('position', now) + _CONFIRMED:
            return ''
        return f'its positions now have {reply.precision} bits'

    def hear_time(self, seconds: float, now: float) -> str:
        """Handle X-Plane's running time. It goes back when X-Plane restarts."""
        if not math.isfinite(seconds):
            return ''
        before = min(self._running_times, default=seconds)
        gap = 0.0 if self._time_at is None else now - self._time_at
        latest = before + (_AHEAD + _HURRY * self._pace * gap if gap >= _GAP else math.inf)
        if before - _LATE <= seconds <= latest:
            self._doubts.pop('state', None)
            self._running_times.append(seconds)
            self._time_at = now
            self._measure_pace(seconds, now, gap)
            return ''
        if now < self._doubts.setdefault('state', now) + _CONFIRMED:
            return ''
        return f'it has been running for {seconds:.1f} s, before for {before:.1f} s'

    def _measure_pace(self, seconds: float, now: float, gap: float) -> None:
        """Learn how fast the running time goes, without gaps: as ours, or that of a simulator."""
        at, value = self._window
        if gap >= _GAP or now < at:
            self._window = now, seconds
        elif now >= at + _PACE_WINDOW:
            self._pace = max(1.0, (seconds - value) / (now - at))
            self._window = now, seconds

    def _listen_from(self, now: float) -> None:
        self._since = now
        self._listened = False


def _identity(beacon: xpc.Beacon) -> tuple[int, str]:
    return beacon.xplane_version, beacon.plugin_version
