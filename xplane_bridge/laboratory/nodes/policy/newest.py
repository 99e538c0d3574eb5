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

"""What policy_node receives of the vehicle: an observation, from its common topics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
import math
import time
from typing import Any

from nav_msgs.msg import Odometry
import numpy as np
from sensor_msgs.msg import Imu, NavSatFix

from xplane_bridge.bridges.conversions.message_numbers import NUMBERS
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.spinning import handle_waiting
from xplane_bridge.bridges.nodes.vehicle.updates import nanoseconds, Updates
from xplane_bridge.laboratory.control.policy.observation import SIZE, SLICES, Vector
from xplane_bridge.msg import AirData

_STATE = 'imu/data'
_KINDS = {'fix': NavSatFix, 'air_data': AirData, 'odom': Odometry, _STATE: Imu}
_DEPTH = 10
# What is older than this is not used; the bridge's watchdog then acts.
_OLDEST = 0.5
# Behind sensors: a receiver of 1 Hz may lose one.
_OLDEST_SENSED = 2.5


class Newest:
    """
    The newest state of the vehicle, as an observation (control.observation.FIELDS).

    ``heard(stamp)`` is called for each imu/data; in lockstep when all messages of that stamp
    (nanoseconds) have arrived. ``used`` are the topics without which there is no action.
    """

    def __init__(
        self, node: BridgeNode[Any], lockstep: bool, sensors: bool, used: Collection[str],
        heard: Callable[[int], None],
    ) -> None:
        self.observation: Vector = np.zeros(SIZE)
        self._heard = heard
        self._used = [topic for topic in _KINDS if topic in used or topic == _STATE]
        self._at = dict.fromkeys(_KINDS, -math.inf)
        # In lockstep nothing is late by the clock: the simulation waits.
        self._oldest = 3600.0 if lockstep else _OLDEST_SENSED if sensors else _OLDEST
        awaited = (_STATE,) if sensors else tuple(_KINDS)
        self._updates = Updates(awaited, self._take_update)
        # What sensors publish before imu/data.
        self._before: list[Any] = []
        for topic, kind in _KINDS.items():
            waits = lockstep and topic in awaited
            made = node.make_command(
                kind, topic, partial(self._gather if waits else self._take, topic), _DEPTH)
            if lockstep and not waits:
                self._before.append(made)

    @property
    def missing(self) -> list[str]:
        """Return which of the topics that are used have fallen silent."""
        since = time.monotonic() - self._oldest
        return [topic for topic in self._used if self._at[topic] < since]

    @property
    def waits_for(self) -> list[str]:
        """Return what the newest update still lacks, in lockstep."""
        return self._updates.waits_for

    def _gather(self, topic: str, message: Any) -> None:
        self._updates.add(nanoseconds(message), topic, message)

    def _take_update(self, stamp: int, update: Mapping[str, Any]) -> None:
        for subscription in self._before:
            handle_waiting(subscription)
        # imu/data is the last of them.
        for topic in _KINDS:
            if topic in update:
                self._take(topic, update[topic])

    def _take(self, topic: str, message: Any) -> None:
        self.observation[SLICES[topic]] = NUMBERS[topic](message)
        self._at[topic] = time.monotonic()
        if topic == _STATE:
            self._heard(nanoseconds(message))
