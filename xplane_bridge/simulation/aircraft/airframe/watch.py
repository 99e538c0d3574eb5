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


"""
Sees what has happened to an airframe, in each step of its model.

It has diverged where its state is not finite, or beyond what a step of the model can follow. It
has struck the ground with its structure, or with a gear that sinks faster than it bears. What
that is comes from the model: its contact points, its weight and its wing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import math
from typing import Any, NamedTuple

from xplane_bridge.bridges.conversions.airframe_events import (
    AirframeEvent,
    AirframeEventKind,
    DIVERGED,
    EnvelopeLimits,
)
from xplane_bridge.common.units import FOOT, KNOT

# No step may turn the aircraft further (rad): JSBSim integrates rates by Euler's rule.
_MOST_TURN = 0.5
# No airframe, and no missile, bears this (g); nor is any aircraft so fast (ft/s).
MOST_LOAD = 100.0
MOST_SPEED = 5_000.0
# 14 CFR 23.473(d) and 25.473(a): the limit descent velocity is 4.4 (W/S)^(1/4) ft/s, with W/S in
# lb/ft2, from 7 to 10 ft/s; times the factor of safety of 23.303, a gear may fail.
_DESCENT, _LEAST_DESCENT, _MOST_DESCENT, _SAFETY = 4.4, 7.0, 10.0, 1.5
# A place of the structure that touches is no strike where the aircraft stands, slower (ft/s) than
# this: in a wind from behind JSBSim's models rock.
_STANDS = 3.3
# The aircraft stands on what is not this much (in) above the line below its wheels; and on wing
# tips, where its wheels are all within this (in) of the plane of symmetry.
_ABOVE, _NO_BASE = 6.0, 12.0
# The centre of gravity moves as fuel burns (ft).
_MARGIN = 5.0
# As aircraft of FlightGear have them (Aircraft/Generic/limits.nas): knots, and g.
_LIMITS = {'never_exceed_speed': ('limits/vne', KNOT),
           'load_factor_high': ('limits/max-positive-g', 1.0),
           'load_factor_low': ('limits/max-negative-g', 1.0)}


class _Point(NamedTuple):
    """A contact point by its property, and where it is (in, aft, right, up)."""

    name: str
    x: float
    y: float
    z: float

    def interpolate_height(self, other: _Point, x: float) -> float:
        """Return the height at ``x`` of the line to another one, seen from the side."""
        return self.z + (other.z - self.z) * (x - self.x) / (other.x - self.x)


class AirframeWatch:
    """
    Watches one JSBSim model.

    ``reach`` (ft): higher above the ground none of its contact points touches it. ``most_turn``
    is the fastest rate (rad/s) that its steps follow; ``limits`` are those in its file.
    """

    def __init__(self, fdm: Any, dt: float) -> None:
        """Bind to a jsbsim.FGFDMExec that has its centre of gravity."""
        manager = fdm.get_property_manager()

        def bind(name: str) -> Callable[[], float]:
            get: Callable[[], float] = manager.get_node(name).get_double_value
            return get

        def value(name: str) -> float:
            return bind(name)() if manager.hasNode(name) else math.nan

        self.most_turn, self._turns = _MOST_TURN / dt, tuple(
            (f'{axis}_rate', bind(f'velocities/{letter}-rad_sec'))
            for axis, letter in (('roll', 'p'), ('pitch', 'q'), ('yaw', 'r')))
        self._load = bind('accelerations/Nz')
        self._airspeed = bind('velocities/vc-kts')
        self._down, self._over_ground = bind('velocities/v-down-fps'), bind('velocities/vg-fps')
        self._speed, self._pitch = bind('velocities/vt-fps'), bind('attitude/theta-rad')
        self._weight, self._wing = bind('inertia/weight-lbs'), bind('metrics/Sw-sqft')
        count = int(value('gear/num-units'))
        wheels, structure = ([
            _Point(unit, *(bind(f'{unit}/{axis}-position')() for axis in 'xyz'))
            for unit in (f'{kind}/unit[{n}]' for n in range(count))
            if manager.hasNode(f'{unit}/WOW')] for kind in ('gear', 'contact'))
        balance = bind('inertia/cg-x-in')(), 0.0, bind('inertia/cg-z-in')()
        stands_on = _stands_on(wheels, structure, balance[0])
        self._struts = [
            (bind(f'{one.name}/WOW'), bind(f'{one.name}/compression-velocity-fps'))
            for one in (*wheels, *stands_on)]
        self._structure = [
            bind(f'{one.name}/WOW') for one in structure if one not in stands_on]
        self.begin()
        self.reach = _MARGIN + max((
            math.dist((one.x, one.y, one.z), balance) / 12.0
            for one in (*wheels, *structure)), default=0.0)
        self.limits = EnvelopeLimits(**{
            name: value(node) * unit for name, (node, unit) in _LIMITS.items()})

    def begin(self) -> None:
        """Take it as it is: what touches the ground then has not struck it."""
        self._is_touching = True

    @property
    def bears(self) -> float:
        """Return the sink rate (m/s) that its gear bears."""
        wing = self._wing()
        loading = self._weight() / wing if wing > 0.0 else math.inf
        return _SAFETY * FOOT * min(
            max(_DESCENT * math.sqrt(math.sqrt(loading)), _LEAST_DESCENT), _MOST_DESCENT)

    def look(self, height: float) -> AirframeEvent | None:
        """Return what has happened, if anything, at a height above the ground (ft)."""
        most, load, speed = self.most_turn, self._load(), self._speed() * FOOT
        if not math.isfinite(height + load + speed + sum(get() for _, get in self._turns)):
            return DIVERGED
        for name, get in self._turns:
            if not -most < get() < most:
                return AirframeEvent(AirframeEventKind.DIVERGED, name, get(), most)
        if height < self.reach and (event := self._touch(height)) is not None:
            return event
        for name, value, limit in (('load_factor', load, MOST_LOAD),
                                   ('speed', speed, MOST_SPEED * FOOT)):
            if not -limit < value < limit:
                return AirframeEvent(AirframeEventKind.DIVERGED, name, value, limit)
        return None

    def _touch(self, height: float) -> AirframeEvent | None:
        """Return what strikes the ground, which is within reach."""
        touch = [fast() for on_ground, fast in self._struts if on_ground() > 0.5]
        was_touching, self._is_touching = self._is_touching, bool(touch)
        sink = self._down() * FOOT
        if touch:
            # JSBSim takes less in the step in which a wheel touches (FGLGear::GetBodyForces), and
            # far more where a strut lies along the ground: no faster than the aircraft is it.
            most = math.hypot(self._over_ground(), self._down())
            fastest = max(min(max(touch), most) * FOOT, -math.inf if was_touching else sink)
            if fastest > (bears := self.bears):
                return self._struck(fastest, bears, f'its gear bears {bears:.1f} m/s')
        elif height < 0.0:
            # Its gear is up, and no place of its structure touches.
            return self._struck(sink, 0.0)
        if any(on_ground() > 0.5 for on_ground in self._structure) and (
                max(self._over_ground(), self._down()) > _STANDS):
            # What does not sink strikes with its speed along the ground.
            return self._struck(sink, 0.0) if sink > _STANDS * FOOT else self._struck(
                self._over_ground() * FOOT, 0.0, quantity='ground_speed')
        return None

    def _struck(
        self, value: float, limit: float, hint: str = '', quantity: str = 'sink_rate',
    ) -> AirframeEvent:
        return AirframeEvent(
            AirframeEventKind.STRUCK, quantity, value, limit, pitch=self._pitch(), hint=hint)

    def beyond(self, limits: EnvelopeLimits) -> Iterator[AirframeEvent]:
        """Yield what is beyond limits now."""
        speed, load = self._airspeed() * KNOT, self._load()
        for name, value, limit, is_beyond in (
                ('airspeed', speed, limits.never_exceed_speed, speed > limits.never_exceed_speed),
                ('load_factor', load, limits.load_factor_high, load > limits.load_factor_high),
                ('load_factor', load, limits.load_factor_low, load < limits.load_factor_low)):
            if is_beyond:
                yield AirframeEvent(AirframeEventKind.BEYOND, name, value, limit)


def _stands_on(
    wheels: Sequence[_Point], structure: Sequence[_Point], balance: float
) -> list[_Point]:
    """Return the places of the structure that it stands on, with its balance there (in)."""
    if max((abs(one.y) for one in wheels), default=0.0) < _NO_BASE:
        # Floats, a bomb's nose; wing tips of a glider on one wheel.
        return [*structure]
    # Seen from the side, it rests on the two points whose line is lowest below its balance.
    points = (*wheels, *structure)
    edges = [(before.interpolate_height(behind, balance), before, behind)
             for before in points for behind in points if before.x < balance <= behind.x]
    if not edges:
        return [*structure]
    _, before, behind = min(edges)
    return [one for one in structure if one.z < before.interpolate_height(behind, one.x) + _ABOVE]
