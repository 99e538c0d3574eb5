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


"""An aircraft, as far as its airframe is concerned: what crashes flies no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import math
from typing import Protocol

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent, EnvelopeLimits
from xplane_bridge.simulation.aircraft.airframe.watch import AirframeWatch


class WatchedModel(Protocol):
    """A model that is watched: where it was before the last step (deg), and what ended that."""

    watch: AirframeWatch
    event: AirframeEvent | None
    place: tuple[float, float]


class Crashing:
    """
    An aircraft whose airframe may crash.

    ``crash`` is what ended its flight. ``exceedances`` has the worst of each limit that it went
    beyond, of ``envelope_limits``: by default those in its file.
    """

    crash: AirframeEvent | None
    exceedances: dict[str, AirframeEvent]
    envelope_limits: EnvelopeLimits
    _given_limits = EnvelopeLimits()
    _has_limits: bool

    def bear(self, limits: EnvelopeLimits) -> None:
        """Take limits, for each flight; those that are not known stay as in its file."""
        self._given_limits = limits
        self._take_limits(self.envelope_limits)

    def _be_whole(self, model: WatchedModel) -> None:
        self.crash, self.exceedances = None, {}
        self._take_limits(model.watch.limits)

    def _take_limits(self, limits: EnvelopeLimits) -> None:
        self.envelope_limits = EnvelopeLimits(*(
            own if math.isnan(given) else given
            for own, given in zip(limits, self._given_limits, strict=True)))
        self._has_limits = self.envelope_limits.are_known

    def _note(
        self, model: WatchedModel, time: float, is_wet: Callable[[float, float], bool]
    ) -> None:
        """Note what has happened until a time (s); ``is_wet`` tells of a place (deg)."""
        if model.event is not None:
            self.crash = replace(
                model.event, at=time, surface='sea' if is_wet(*model.place) else 'ground')
            return
        for event in model.watch.beyond(self.envelope_limits):
            worst = self.exceedances.get(event.limit_name)
            if worst is None or abs(event.value) > abs(worst.value):
                self.exceedances[event.limit_name] = replace(event, at=time)
