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

"""The user's aircraft by RPOS and RREF: pose and datarefs of the same frame, joined."""

from __future__ import annotations

from collections.abc import Sequence
import struct

from xplane_bridge.protocols.xplane_udp import encode, RposReply, RposRequest, RrefReply
from xplane_bridge.sessions.xplane_udp.events import Statistics, Telemetry
from xplane_bridge.sessions.xplane_udp.subscription import Subscription

EVERY_FRAME = 1000
"""A rate above that of any X-Plane's frames."""

# When so many in a row do not belong together, X-Plane sends different datarefs in different
# frames, each at its own time: then all are asked for every frame. When they come in several
# datagrams even then, this peer scatters one frame over them. When it is the pose that does not
# agree, its two ways to say a position differ, and agreement is no longer asked for.
_DISAGREEMENTS = 60

# How early an update may be when every frame comes, so that none is passed over for its jitter.
_EARLY = 0.3

# A pause of this part of a period ends a frame that is scattered over datagrams.
_FRAME_GAP = 0.5

_FLOAT = struct.Struct('<f')


class Aircraft:
    """
    One RREF subscription and the pose by RPOS, both ``rate`` times a second.

    The first three of ``names`` are latitude, longitude and elevation: they tell whether a pose
    and a datagram of datarefs are of one frame.
    """

    def __init__(self, names: Sequence[str], rate: int, first_index: int,
                 statistics: Statistics, version: int) -> None:
        self.state = Subscription(names, rate, first_index)
        self.pose_at: float | None = None
        self._rate = rate
        self._version = version
        self._statistics = statistics
        self._pose_changed = False
        self._pose: RposReply | None = None
        self._values: tuple[float | None, ...] | None = None
        self._disagreements = 0
        self._needs_agreement = True
        self._scattered = False
        self._state_at = 0.0
        self._due = 0.0

    @property
    def every_frame(self) -> bool:
        """Tell whether every frame had to be asked for, more than is wanted."""
        return self.state.frequency > self._rate

    def pose_request(self, rate: int | None = None) -> bytes:
        """Return the request for the pose; rate 0 ends it."""
        self._pose_changed = False
        return encode(RposRequest(self.state.frequency if rate is None else rate), self._version)

    def forget(self) -> None:
        """Take X-Plane as restarted."""
        self.state.forget()
        self.pose_at = self._pose = self._values = None
        self._disagreements = 0

    def receive_pose(self, pose: RposReply, now: float) -> Telemetry | None:
        """Take a pose; return the telemetry that it completes."""
        # What still comes at an old rate is no answer to the new request.
        if not self._pose_changed:
            self.pose_at = now
        self._pose = pose
        return self._join(now)

    def receive_state(self, reply: RrefReply, now: float) -> Telemetry | None:
        """Take a datagram of datarefs; return the telemetry that it completes."""
        if self._scattered and now - self._state_at > _FRAME_GAP / self._rate:
            self.state.take()
        self._state_at = now
        complete = self.state.receive(reply)
        if not self.state.settled:
            return None
        if self._scattered:
            if not complete:
                return None
        elif complete and self.state.datagrams > 1:
            # All fit into one datagram: these are of several frames.
            self.state.take()
            complete = False
        if self._values is not None or not complete:
            self._disagree(now, complete)
        if not complete:
            return None
        self._values = self.state.take()
        return self._join(now)

    def _disagree(self, now: float, complete: bool) -> None:
        """Note that datarefs were of no pose's frame, or (not ``complete``) of several frames."""
        self._statistics.split += 1
        if self._pose is None:
            return
        self._disagreements += 1
        if self._disagreements >= _DISAGREEMENTS:
            self._disagreements = 0
            if self.state.frequency < EVERY_FRAME and not self._scattered:
                self._change_frequency(EVERY_FRAME, now)
            elif complete:
                self._needs_agreement = False
            else:
                self._scattered = True
                self._change_frequency(self._rate, now)

    def _change_frequency(self, frequency: int, now: float) -> None:
        self.state.change_frequency(frequency, now)
        self.pose_at = None
        self._pose_changed = True

    def _join(self, now: float) -> Telemetry | None:
        if self._pose is None or self._values is None:
            return None
        if self._needs_agreement and not _of_one_frame(self._pose, self._values):
            return None
        telemetry = Telemetry(self._pose, self._values)
        self._pose = self._values = None
        self._disagreements = 0
        if self.every_frame:
            period = 1.0 / self._rate
            if now < self._due - _EARLY * period:
                return None
            self._due = max(self._due + period, now)
        self._statistics.updates += 1
        return telemetry


def _of_one_frame(pose: RposReply, values: Sequence[float | None]) -> bool:
    """Tell whether both say the same place, to the last bit of a float32."""
    return all(
        single is None or _same_float(exact, single)
        for exact, single in zip((pose.lat, pose.lon, pose.ele_m), values, strict=False))


def _same_float(exact: float, single: float) -> bool:
    """Tell whether a double is ``single`` when it travels as float32."""
    try:
        return bool(_FLOAT.unpack(_FLOAT.pack(exact))[0] == single) or exact != exact
    except OverflowError:
        return False
