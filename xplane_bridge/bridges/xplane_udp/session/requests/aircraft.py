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

from collections.abc import Collection, Hashable, Mapping, Sequence

from xplane_bridge.bridges.sessions.base import soonest
from xplane_bridge.bridges.sessions.leases import Leases
from xplane_bridge.bridges.sessions.one_frame import is_same_place
from xplane_bridge.bridges.xplane_udp.protocol import encode, RposReply, RposRequest, RrefReply
from xplane_bridge.bridges.xplane_udp.session.events import Statistics, TELEMETRY, Telemetry
from xplane_bridge.bridges.xplane_udp.session.requests.subscription import Subscription

EVERY_FRAME = 1000
"""A rate above that of any X-Plane's frames."""

POSE = 'RPOS'
"""Name of the pose among missing values."""

POSITION = tuple(
    f'sim/flightmodel/position/{name}' for name in ('latitude', 'longitude', 'elevation'))
"""The datarefs that contain the same as the pose, as float32."""

_POSE_PATIENCE = 1.0
_LONGEST_PAUSE = 10.0

# RPOS and RREF run on independent timers (docs/wire/xplane_udp.md, section 6), so below the frame
# rate they are only sometimes from the same frame. When fewer than this share of the poses find
# their datarefs, all are requested every frame.
_GOOD_SHARE = 0.97
_FEWEST = 5
_MOST = 60
_ASK_AGAIN_AFTER = 5.0

# When this many in a row do not belong together even then: datarefs in several datagrams are those
# of one frame scattered over them. If the pose does not agree, the two representations of a
# position differ, and agreement is no longer required.
_DISAGREEMENTS = 60

# How early an update may be when every frame arrives, so that none is skipped for its jitter.
_EARLY = 0.3

# A pause of this fraction of a period ends a frame that is scattered over datagrams.
_FRAME_GAP = 0.5


class AircraftSubscription:
    """
    One RREF subscription and the pose by RPOS, both ``rate`` times per second.

    Those of ``names`` that are in POSITION show whether a pose and a datagram of datarefs are from
    the same frame. If one of the two stops while the other arrives, the other continues alone.
    """

    def __init__(self, names: Sequence[str], rate: int, first_index: int, pacing: float,
                 statistics: Statistics, version: int) -> None:
        self.datarefs = Subscription(names, rate, first_index, pacing, statistics)
        self._pose_lease = Leases[str](
            max(_POSE_PATIENCE, self.datarefs.frame_patience), longest=_LONGEST_PAUSE)
        self._rate = rate
        self._version = version
        self._statistics = statistics
        self._window = max(_FEWEST, min(_MOST, rate))
        self._listening = False
        self.end()

    @property
    def names(self) -> tuple[str, ...]:
        """Return what is requested: POSE, and the datarefs."""
        return (POSE, *self.datarefs.names)

    @property
    def every_frame(self) -> bool:
        """Return whether every frame had to be requested, more than wanted."""
        return self.datarefs.frequency > self._rate

    @property
    def deadline(self) -> float | None:
        """Return when due() must be called."""
        return soonest(
            self.datarefs.deadline, self._pose_lease.deadline if self._listening else None)

    def begin(self, at: float) -> None:
        """Request everything that has not arrived by time ``at``."""
        self._listening = True
        self.datarefs.begin(at)
        self._pose_lease.want((POSE,), at)
        self._pose_lease.renew(at)
        self._pose_at = self._state_at = at

    def end(self) -> None:
        """
        Request nothing, as X-Plane is silent; what has arrived no longer counts.

        If every frame was requested it stays so: the same X-Plane goes on sending that.
        """
        self._listening = False
        self.datarefs.end()
        self._needs_agreement = True
        self._scattered = False
        self._pose: RposReply | None = None
        self._values: Mapping[str, float] | None = None
        self._pose_at = self._state_at = 0.0
        self._poses = self._joined = self._disagreements = 0
        self._asked_again_at = 0.0
        self._asks_pose = False
        self._due = 0.0

    def due(self, now: float) -> list[bytes]:
        """Return the requests to send now."""
        if not self._listening:
            return []
        asks_pose = self._pose_lease.due(now) or self._asks_pose
        self._asks_pose = False
        datarefs = self.datarefs.due(now)
        return [self.pose_request(), *datarefs] if asks_pose else datarefs

    def pose_request(self, rate: int | None = None) -> bytes:
        """Return the request for the pose; rate 0 ends it."""
        if rate is None:
            rate = self.datarefs.frequency
        return encode(RposRequest(rate), self._version)

    @property
    def keys(self) -> tuple[str | int, ...]:
        """Return what to end: the pose, and the numbers of the datarefs."""
        return (POSE, *self.datarefs.indices)

    def cancel(self, keys: Collection[Hashable]) -> list[bytes]:
        """Return the requests that end these."""
        pose = [self.pose_request(0)] if POSE in keys else []
        return [*pose, *self.datarefs.cancel(keys)]

    def missing(self, now: float) -> dict[str, float]:
        """Return what is missing, and since when."""
        pose = self._pose_lease.missing(now) if self._listening else {}
        return {**pose, **self.datarefs.missing(now)}

    def receive_pose(self, pose: RposReply, now: float) -> Telemetry | None:
        """Handle a pose; return the telemetry that it completes."""
        self._pose_lease.heard((POSE,), now)
        self._end_silence(now)
        self.datarefs.answered(now)
        self._pose_at = now
        self._pose = pose
        if not self.datarefs.settled(now):
            return None
        if now - self._state_at > self.datarefs.frame_patience:
            return self._finish(Telemetry(0, {}, pose), now)
        self._poses += 1
        telemetry = self._join(now)
        if self._poses >= self._window:
            self._review(now)
        return telemetry

    def receive_state(self, reply: RrefReply, now: float) -> Telemetry | None:
        """Handle a datagram of datarefs; return the telemetry that it completes."""
        if self._scattered and now - self._state_at > _FRAME_GAP / self._rate:
            self.datarefs.take()
        self._end_silence(now)
        self._state_at = now
        complete = self.datarefs.receive(reply, now)
        if not self.datarefs.settled(now):
            return None
        if self._scattered:
            if not complete:
                return None
        elif complete and self.datarefs.datagrams > 1:
            # All fit into one datagram: these are from several frames.
            self.datarefs.take()
            complete = False
        alone = now - self._pose_at > self.datarefs.frame_patience
        if not alone and (self._values is not None or not complete):
            self._disagree(now, complete)
        if not complete:
            return None
        self._values = self.datarefs.take()
        if alone:
            self._pose = None
            return self._finish(Telemetry(0, self._values, None), now)
        return self._join(now)

    def _end_silence(self, now: float) -> None:
        """After a silence of both, as when X-Plane was busy, neither of the two is missing."""
        patience = self.datarefs.frame_patience
        if now - self._pose_at > patience and now - self._state_at > patience:
            self._pose_at = self._state_at = now

    def _disagree(self, now: float, complete: bool) -> None:
        """Record that datarefs matched no pose, or (not ``complete``) are from several frames."""
        self._statistics.split += 1
        if not self.every_frame:
            return
        self._disagreements += 1
        if self._disagreements < _DISAGREEMENTS:
            return
        self._disagreements = 0
        if complete:
            self._needs_agreement = False
        else:
            self._scattered = True
            self._ask_again(now, self._rate)

    def _review(self, now: float) -> None:
        """Check now and then how many of the poses found the datarefs of their frame."""
        good = self._joined >= _GOOD_SHARE * self._poses
        self._poses = self._joined = 0
        if good or self._scattered:
            return
        if not self.every_frame:
            self._ask_again(now, EVERY_FRAME)
        elif now - self._asked_again_at >= _ASK_AGAIN_AFTER:
            # Values still sent at the old rate, as a request was lost, spoil every sixth frame.
            self._ask_again(now, EVERY_FRAME)

    def _ask_again(self, now: float, frequency: int) -> None:
        self._asked_again_at = now
        self._asks_pose = True
        self.datarefs.retune(frequency)

    def _join(self, now: float) -> Telemetry | None:
        if self._pose is None or self._values is None:
            return None
        pose = self._pose
        if self._needs_agreement and not is_same_place(
                (pose.lat, pose.lon, pose.ele_m), POSITION, self._values):
            return None
        self._joined += 1
        return self._finish(Telemetry(0, self._values, pose), now)

    def _finish(self, telemetry: Telemetry, now: float) -> Telemetry | None:
        """Return telemetry at the requested rate."""
        self._pose = self._values = None
        self._disagreements = 0
        if self.every_frame:
            period = 1.0 / self._rate
            if now < self._due - _EARLY * period:
                return None
            self._due = max(self._due + period, now)
        self._statistics.updates[TELEMETRY] += 1
        return telemetry
