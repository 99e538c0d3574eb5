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
The cascade: path -> target -> attitude -> rates -> controls.

Each level may be commanded; the last command wins, and the levels above it are off. Pure:
measurements in, controls out, time passed in; SI units and radians throughout.
docs/explanation/control.md explains the laws.

    path      waypoints, legs and arcs                        -> bank
    target    altitude or climb rate, course or heading       -> bank, pitch
    attitude  roll, pitch (and a coordinated turn)            -> rates
    rates     roll, pitch and yaw rate                        -> aileron, elevator, rudder
    airspeed, at every level that does not set a throttle     -> throttle, or pitch in a glider
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
import math

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.corners import Point
from xplane_bridge.laboratory.control.envelope import Envelope
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.geofence import Guard, lead_into
from xplane_bridge.laboratory.control.laws import attitude_rates, bank_to_turn, ClimbLaw, RateLaw
from xplane_bridge.laboratory.control.loops import clamp, known_or
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.path import bank_to_follow, OnPath, PathFollower, turn_radius
from xplane_bridge.laboratory.control.targets import (
    AttitudeTarget,
    check_targets,
    Level,
    RateTarget,
    Target,
    with_changes,
)

LONGEST_STEP = 0.2
"""Longer gaps (s) between measurements are not integrated."""

# The circle before a geofence needs this share of the bank that is allowed.
_SHARE_AT_FENCE = 0.9
# Until a commanded bank is reached: the time constant of the roll loop, and this (s).
_ROLL_DELAY = 0.35
# Nearer than this (m) to its path an aircraft is inside the geofence, as the path is.
_ON_PATH = 30.0
_CIRCLES = 'geofence: it flies a circle before the edge until something else is commanded'
_RETURNS = 'geofence: it is outside, and flies back'


class Cascade:
    """
    Fly one aircraft, at the level that was commanded last.

    ``engage`` takes over from the current controls, so that the first output equals them; then
    ``update`` returns the controls. Commands: ``target`` (or ``change_target``, ``hold``),
    ``follow``, ``hold_attitude``, ``hold_rates``. Each method returns a sentence for each value
    that the envelope limits, and raises ValueError for what it refuses: then all stays as it was.
    ``gains`` and ``envelope`` may be changed at any time. ``level`` is the one commanded, ``at``
    where the aircraft is on the path of ``follower``, and ``limits`` are sentences on what the
    envelope has changed of the last command and in the last update.
    """

    def __init__(self, gains: Gains | None = None, envelope: Envelope | None = None) -> None:
        self._gains = self._anywhere = gains or Gains()
        self._rate_law = RateLaw(self._gains)
        self._climb_law = ClimbLaw(self._gains)
        self._now: Measurement | None = None
        self._last = Controls()
        self._target = Target()
        self._attitude = AttitudeTarget()
        self._rates = RateTarget()
        # Last wanted.
        self._roll = self._pitch = 0.0
        # Whether they ran in the last update; if not, they start from the present state.
        self._pitch_runs = self._throttle_runs = False
        self._altitudes: Sequence[float] = ()
        self._leg = -1
        self._clamped: list[str] = []
        self._fenced = self._bounded = ''
        self.level = Level.TARGET
        self.follower: PathFollower | None = None
        self.at: OnPath | None = None
        self.envelope = envelope or Envelope()

    @property
    def gains(self) -> Gains:
        """Return the gains; scheduled ones as they are where it flies."""
        return self._gains

    @gains.setter
    def gains(self, gains: Gains) -> None:
        self._anywhere = self._gains = self._rate_law.gains = self._climb_law.gains = gains

    @property
    def envelope(self) -> Envelope:
        """Return the envelope; a new one holds from now on, also for the route that is flown."""
        return self._envelope

    @envelope.setter
    def envelope(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self._bank = envelope.bank
        self._guard = Guard(envelope.geofence) if envelope.geofence else None
        self._path_is_inside = False

    @property
    def limits(self) -> tuple[str, ...]:
        """Return sentences on what the envelope has changed; empty if nothing."""
        return tuple(filter(None, (*self._clamped, self._fenced, self._bounded)))

    # Commands.

    @property
    def target(self) -> Target:
        """Return what is held at level target; of a path, its altitude and airspeed."""
        return self._target

    @target.setter
    def target(self, target: Target) -> None:
        self._hold_target(target)

    def engage(self, now: Measurement, controls: Controls, target: Target | None = None) -> None:
        """Start from ``controls``; without a target, hold the current state."""
        self._observe(now)
        self._last = controls
        self._rate_law.engage(controls)
        self._climb_law.engage(now)
        self._pitch_runs = self._throttle_runs = False
        self._roll, self._pitch = now.roll, now.pitch
        self.target = target or Target(now.altitude, now.heading, now.airspeed)

    def change_target(self, values: Mapping[str, float]) -> list[str]:
        """
        Hold these from now on, by the names of Target; those not given keep their value.

        A path is flown on at another altitude or airspeed; a course or a heading ends it. After
        another level, what is not given is held as it is at that moment.
        """
        check_targets({name: value for name, value in values.items() if value == value})
        target = with_changes(self._held(), values)
        if self.level is Level.PATH and math.isnan(target.course) and math.isnan(target.heading):
            self._altitudes = ()
            self._target, said = self._envelope.limited_target(target)
            self._clamped = said
            return said
        return self._hold_target(target)

    def hold(self) -> list[str]:
        """Hold the present altitude and course, and the airspeed that was held."""
        now = self._measured()
        return self._hold_target(Target(now.altitude, airspeed=self._held().airspeed,
                                        course=now.track))

    def follow(
        self, waypoints: Sequence[Point], altitudes: Sequence[float] = (),
        airspeed: float = math.nan, closed: bool = False,
    ) -> list[str]:
        """
        Follow a route (m east and north in the local frame), from here to the first waypoint.

        ``altitudes`` (m): of each waypoint, held on the leg that leads to it; without, and without
        an airspeed, they keep their value. After its end the last course is held.
        """
        now = self._measured()
        if math.isnan(now.east + now.north):
            raise ValueError('a route needs the position in the local frame, which is not known')
        if altitudes and len(altitudes) != len(waypoints):
            raise ValueError(f'{len(waypoints)} waypoints have {len(altitudes)} altitudes')
        check_targets({'airspeed': airspeed} if airspeed == airspeed else {})
        heights, said = self._envelope.limited_altitudes(altitudes)
        target = replace(
            with_changes(self._held(), {'airspeed': airspeed}), course=math.nan, heading=math.nan)
        target, more = self._envelope.limited_target(target)
        path, first = self._path(now, waypoints, target.airspeed, closed)
        self._follow(path, target, said + more)
        self._altitudes = heights[first:] + heights[:first]
        return self._clamped

    def follow_path(self, path: PathFollower) -> None:
        """Follow a path that is known already, at the altitude and the airspeed that are held."""
        self._measured()
        self._follow(path, replace(self._held(), course=math.nan, heading=math.nan), [])

    def hold_attitude(self, wanted: AttitudeTarget) -> list[str]:
        """Hold roll and pitch; what is not given stays as it is."""
        now = self._measured()
        if self.level is Level.ATTITUDE:
            old = self._attitude
        elif self.level is Level.RATES:
            old = AttitudeTarget(now.roll, now.pitch, throttle=self._throttle())
        else:
            old = AttitudeTarget(self._roll, self._pitch, airspeed=self._target.airspeed)
        if wanted.throttle == wanted.throttle and wanted.airspeed == wanted.airspeed:
            raise ValueError('an attitude has a throttle or an airspeed, not both')
        engine = old if math.isnan(wanted.throttle) and math.isnan(wanted.airspeed) else wanted
        given = AttitudeTarget(
            known_or(wanted.roll, old.roll), known_or(wanted.pitch, old.pitch), engine.throttle,
            engine.airspeed, old.yaw_damper if wanted.yaw_damper is None else wanted.yaw_damper)
        check_targets({name: value for name in ('roll', 'pitch', 'throttle', 'airspeed')
                       if (value := getattr(given, name)) == value})
        self._attitude, said = self._envelope.limited_attitude(given)
        self._take(Level.ATTITUDE, said)
        return said

    def hold_rates(self, wanted: RateTarget) -> list[str]:
        """Hold body rates and a throttle; what is not given stays as it is, rates at first 0."""
        self._measured()
        old = self._rates if self.level is Level.RATES else RateTarget(
            0.0, 0.0, math.nan, self._throttle())
        given = RateTarget(*(
            known_or(getattr(wanted, name), getattr(old, name)) for name in RateTarget._fields))
        check_targets({'roll_rate': given.roll, 'pitch_rate': given.pitch,
                       'yaw_rate': known_or(given.yaw, 0.0), 'throttle': given.throttle})
        self._rates = given
        self._take(Level.RATES, [])
        return []

    # Each update.

    def update(self, now: Measurement, dt: float) -> Controls:
        """Return the controls for a measurement taken ``dt`` seconds after the last."""
        dt = clamp(dt, 0.0, LONGEST_STEP)
        self._observe(now)
        self._climb_law.observe(now, dt)
        if self._guard is not None:
            self._mind_the_fence(self._guard, now)
        least = self._least_climb(now)
        low, high, why = self._envelope.pitches(now, self._climb_law.climb, least)
        if self.level is Level.RATES:
            rates, throttle = self._rates_within(now, low, high), self._rates.throttle
            self._pitch_runs = self._throttle_runs = False
        elif self.level is Level.ATTITUDE:
            wanted = self._attitude
            throttle = self._throttle_within(now, 0.0, wanted.airspeed, wanted.throttle, dt)
            rates = self._attitude_rates(now, wanted.roll, clamp(wanted.pitch, low, high))
            self._bounded = why if rates and not low <= wanted.pitch <= high else ''
            self._pitch_runs = False
        else:
            climb = max(self._climb_law.wanted(now, self._target), least)
            roll = clamp(self._turn(now), -self._bank, self._bank)
            throttle = self._throttle_within(now, climb, self._target.airspeed, math.nan, dt)
            if not self._pitch_runs:
                self._climb_law.start_pitch(now)
                self._pitch_runs = True
            pitch = self._climb_law.pitch(now, climb, dt, low, high)
            self._bounded = why if pitch in (low, high) else ''
            rates = self._attitude_rates(now, roll, pitch)
        slowest, fastest = self._envelope.pitch_rates(now)
        elevator, aileron, rudder = self._rate_law.update(
            now, rates.roll, clamp(rates.pitch, slowest, fastest), rates.yaw, dt)
        self._last = Controls(elevator, aileron, rudder, throttle)
        return self._last

    def _observe(self, now: Measurement) -> None:
        self._now = now
        if (gains := self._anywhere.at(now.airspeed, now.altitude)) is not self._gains:
            self._gains = self._rate_law.gains = self._climb_law.gains = gains

    def _attitude_rates(self, now: Measurement, roll: float, pitch: float) -> RateTarget:
        self._roll, self._pitch = roll, pitch
        rates = attitude_rates(self._gains, now, roll, pitch)
        if self.level is Level.ATTITUDE and self._attitude.yaw_damper is False:
            return rates._replace(yaw=math.nan)
        return rates

    def _rates_within(self, now: Measurement, low: float, high: float) -> RateTarget:
        """Return the commanded rates, as far as bank and pitch stay within their limits."""
        gains, wanted, bank = self._gains, self._rates, self._bank
        turn = attitude_rates(gains, now, now.roll, now.pitch)
        to_roll, to_pitch = gains.roll_to_roll_rate, gains.pitch_to_pitch_rate
        roll = clamp(wanted.roll, turn.roll + to_roll * (-bank - now.roll),
                     turn.roll + to_roll * (bank - now.roll))
        pitch = clamp(wanted.pitch, turn.pitch + to_pitch * (low - now.pitch),
                      turn.pitch + to_pitch * (high - now.pitch))
        self._bounded = '' if (roll, pitch) == (wanted.roll, wanted.pitch) else (
            'rates: the limit of bank or pitch is near')
        return RateTarget(roll, pitch, known_or(wanted.yaw, turn.yaw))

    def _throttle_within(
        self, now: Measurement, climb: float, airspeed: float, throttle: float, dt: float
    ) -> float:
        """Return the commanded throttle, or that which leads to the airspeed."""
        self._throttle_runs, ran = math.isnan(throttle), self._throttle_runs
        if not self._throttle_runs:
            return throttle
        if not ran:
            self._climb_law.start_throttle(now, self._throttle())
        return self._climb_law.throttle(now, climb, airspeed, dt)

    def _least_climb(self, now: Measurement) -> float:
        """Return the least climb rate (m/s) with which it stays above the floor."""
        floor = self._envelope.altitude_floor
        if math.isnan(floor):
            return -math.inf
        return min(self._gains.altitude_to_climb * (floor - now.altitude),
                   self._gains.climb_limit)

    def _turn(self, now: Measurement) -> float:
        """Return the bank that leads along the path or to the target, not limited."""
        follower = self.follower
        if self.level is not Level.PATH or follower is None:
            return bank_to_turn(self._gains, now, self._target)
        if math.isnan(now.east + now.north):
            return 0.0
        self.at = at = follower.locate(now.east, now.north)
        if self._altitudes and at.leg != self._leg:
            self._leg = at.leg
            self._target = replace(
                self._target, altitude=self._altitudes[at.leg % len(self._altitudes)])
        if follower.done:
            # It stays known where the path ended.
            self._target = replace(self._target, course=at.course)
            self.level = Level.TARGET
        return bank_to_follow(
            at, now.track, now.speed_over_ground, self._gains.course_to_turn_rate)

    def _mind_the_fence(self, guard: Guard, now: Measurement) -> None:
        """Command a circle, or the way back, if the fence would otherwise be left."""
        here = now.east, now.north
        if math.isnan(now.east + now.north) or self._fenced == _CIRCLES or guard.is_far(here) or (
                self.level is Level.PATH and self._path_is_inside
                and (self.at is None or abs(self.at.across) < _ON_PATH)):
            return
        bank = _SHARE_AT_FENCE * self._bank
        found = guard.watch(
            here, now.track, turn_radius(self._fastest(now, math.nan), bank),
            {side: lead_into(now, side, bank, self._gains.roll_rate_limit, self._lead())
             for side in (1.0, -1.0)})
        if found is None:
            self._fenced = ''
            return
        held, clamped = self._held(), self._clamped
        if isinstance(found, float):
            self._hold_target(replace(held, course=found, heading=math.nan))
            self._fenced = _RETURNS
        else:
            self._hold_target(replace(held, course=math.nan, heading=math.nan))
            self._take(Level.PATH, [])
            self.follower = found
            self._fenced = _CIRCLES
        self._clamped = clamped

    # Parts of commands.

    def _measured(self) -> Measurement:
        if self._now is None:
            raise ValueError('the cascade is not engaged')
        return self._now

    def _held(self) -> Target:
        """Return what is held; at the levels below, what would be if it were to be held."""
        if self.level in (Level.PATH, Level.TARGET):
            return self._target
        now = self._measured()
        airspeed = self._attitude.airspeed if self.level is Level.ATTITUDE else math.nan
        return Target(now.altitude, airspeed=known_or(airspeed, now.airspeed), course=now.track)

    def _hold_target(self, target: Target) -> list[str]:
        self._target, said = self._envelope.limited_target(target)
        self._take(Level.TARGET, said)
        return said

    def _take(self, level: Level, said: list[str]) -> None:
        """Fly at a level from now on."""
        self.level = level
        self.follower, self.at = None, None
        self._altitudes = ()
        self._path_is_inside = False
        self._clamped, self._fenced, self._bounded = said, '', ''

    def _follow(self, path: PathFollower, target: Target, said: list[str]) -> None:
        if self._guard is not None:
            self._guard.fence.check(path.drawn())
        self._take(Level.PATH, said)
        self._target, self.follower, self._leg = target, path, -1
        self._path_is_inside = True

    def _path(
        self, now: Measurement, waypoints: Sequence[Point], airspeed: float, closed: bool
    ) -> tuple[PathFollower, int]:
        """Return the path from here, and the number of the waypoint that it leads to first."""
        here, speed = (now.east, now.north), now.speed_over_ground
        # What is reached within a second would be behind when the turn begins.
        first = 0
        while first < len(waypoints) - 1 and math.dist(waypoints[first], here) < speed:
            first += 1
        onward = [*waypoints[first:], *(waypoints[:first] if closed else ())]
        radius = turn_radius(self._fastest(now, airspeed), self._envelope.bank_of_turns)
        return PathFollower(here, onward, radius, self._lead() * speed, now.track, closed), first

    def _lead(self) -> float:
        """Return how many seconds before a turn its bank is commanded."""
        return 1.0 / self._gains.roll_to_roll_rate + _ROLL_DELAY

    def _fastest(self, now: Measurement, airspeed: float) -> float:
        """Return the ground speed with the wind from behind."""
        ratio = now.speed / max(now.airspeed, 1.0)
        wanted = 0.0 if math.isnan(airspeed) else airspeed * ratio
        return max(now.speed, wanted, 1.0) + now.wind

    def _throttle(self) -> float:
        return self._gains.cruise_throttle if self._last.throttle is None else self._last.throttle
