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
"""The autopilot: the cascade, and above its levels a flight from runway to runway."""

from __future__ import annotations

from collections.abc import Callable
import math

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.laboratory.control.cascade import Cascade, LONGEST_STEP
from xplane_bridge.laboratory.control.corners import Point
from xplane_bridge.laboratory.control.envelope import Envelope
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.laws import attitude_rates
from xplane_bridge.laboratory.control.loops import clamp
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.runway.charted import USUAL_HEIGHT
from xplane_bridge.laboratory.control.runway.pattern import Pattern
from xplane_bridge.laboratory.control.runway.performance import Performance
from xplane_bridge.laboratory.control.runway.phases import (
    Approach,
    Climb,
    Flare,
    Phase,
    Roll,
    RollOut,
    Rotate,
    Stand,
)
from xplane_bridge.laboratory.control.runway.runway import Runway
from xplane_bridge.laboratory.control.runway.setting import PhaseSetpoint, Setting
from xplane_bridge.laboratory.control.runway.stability import why_too_long, why_unstable
from xplane_bridge.laboratory.control.targets import Level, Target

# The altitude by which a runway is flown: corrected by a range finder where that sees it.

# The ground is as high as the runway so far (m) before its threshold, and so far to each side of
# the extended centreline: ICAO, Annex 14, volume I, section 3.8, "Radio altimeter operating area".
_BEFORE, _BESIDE = 300.0, 60.0
# What altitude and range finder differ by at first is removed with this time constant (s), and
# what they differed by at last is forgotten with that one.
_BLENDS, _FORGETS = 2.0, 60.0
# Which steps of the altitude's updates are smoothed within (s).
_SMOOTHS = 1.0


class Height:
    """
    Correct the altitude of measurements, by the height above the ground near a runway.

    Over the runway and shortly before it, within reach of the range finder, the corrected altitude
    becomes the runway's elevation and the measured height. The first one that is seen in flight is
    approached smoothly; on the ground it holds at once. Elsewhere it is the altitude that was
    measured, with the last correction, which is slowly forgotten.
    """

    def __init__(self) -> None:
        self._correction = 0.0
        # Of what is seen now, what is still to be removed, once something has been seen.
        self._gap = 0.0
        self._standing = 0.0
        self.is_seen = False

    def stand(self, now: Measurement, height: float) -> None:
        """Stand on the runway, the centre of gravity at this height (m): take it for that."""
        self._standing = now.height_above_ground - height
        self._gap, self.is_seen = 0.0, True

    def corrected(self, now: Measurement, runway: Runway, dt: float) -> Measurement:
        """Return a measurement, ``dt`` seconds after the last, with the corrected altitude."""
        was_seen, self.is_seen = self.is_seen, _sees(now, runway)
        if not self.is_seen:
            self._correction *= math.exp(-dt / _FORGETS)
            if not self._correction:
                return now
            return now._replace(altitude=now.altitude + self._correction)
        seen = runway.elevation + now.height_above_ground - self._standing
        known = not math.isnan(now.altitude)
        if not was_seen:
            self._gap = now.altitude + self._correction - seen if known else 0.0
        self._gap *= math.exp(-dt / _BLENDS)
        altitude = seen + self._gap
        if known:
            share = 1.0 if not was_seen else 1.0 - math.exp(-dt / _SMOOTHS)
            self._correction += share * (altitude - now.altitude - self._correction)
        return now._replace(altitude=altitude)


def _sees(now: Measurement, runway: Runway) -> bool:
    """Return whether the range finder measures the height above the runway."""
    if not math.isfinite(now.height_above_ground):
        return False
    along, across = runway.locate(now.east, now.north)
    # Not known is not near.
    return -_BEFORE <= along <= runway.length and abs(across) <= _BESIDE


LEFT, RIGHT = 'left', 'right'
# A take-off begins at rest (m/s), in the direction of the runway (rad).
_AT_REST, _LINED_UP = 0.5, math.radians(10.0)
# Standing on it, it is this near (m) to its elevation, all the slope of a runway included.
_ON_SURFACE = 15.0
# A take-off roll is broken off if brakes that decelerate by this (m/s2) stop it on the runway.
_REJECTS = 3.0
# An approach begins in a sector of the extended centreline (rad), not above this share of the
# glide path's height, and above this height (m).
_SECTOR, _ABOVE, _LOWEST_APPROACH = math.radians(25.0), 1.25, 30.0
# It is seen at a height if it is this near (m), and neither climbs nor sinks faster (m/s).
_AT_HEIGHT, _SETTLED = 5.0, 1.0
# An approach whose height above the runway is not known so far (m) before the threshold is broken
# off, and climbs to this height (m).
_DECISION, _CLIMBS_TO = 150.0, 300.0
_TAKES_OFF = (Stand, Roll, Rotate, Climb)
_APPROACHES = (Approach, Flare)
_LANDS = (*_APPROACHES, RollOut)
# So often a landing from a pattern is tried again; then the pattern is flown on.
_TRIES_AGAIN = 3
_Begin = Callable[[Measurement, Controls], Phase]


class Autopilot(Cascade):
    """
    Fly as the cascade does, and from runway to runway.

    Commands of level runway: ``take_off``, ``pattern``, ``land``, ``go_around``. A pattern that is
    commanded during a take-off or a go-around begins when its height is reached, and a landing
    that is commanded in a pattern on the final leg; without them the pattern is flown round and
    round, and after a climb altitude and course are held. Any other command ends all of it.
    ``phase`` is the name of what is flown, empty at other levels. A take-off goes on until
    ``is_at_height``, whatever levels off.

    An approach that is not stable below 60 m, or has too little of the runway left, goes around by
    itself: back into the pattern that it came from, to try again up to three times, else to 300 m.
    ``broken_off`` says why, of each time since the landing was commanded.

    If the altitude is not ``exact`` to a metre, as by sensors, the height above the runway is that
    of a range finder: without one take-offs and landings are refused, and an approach that does
    not see the runway by it is broken off.
    """

    def __init__(
        self, gains: Gains | None = None, envelope: Envelope | None = None,
        performance: Performance | None = None,
    ) -> None:
        self._flies: Phase | None = None
        # After a climb that levels off: from which runway, and to which height above it.
        self._climbed: tuple[Setting, float] | None = None
        self._pattern: _Begin | None = None
        self._is_to_land = False
        # The pattern that is flown, or that it came from.
        self._circuit: tuple[_Begin, float] | None = None
        self.broken_off: tuple[str, ...] = ()
        self._replaced = (False, False)
        self._height = Height()
        self.exact = True
        self.performance = performance
        super().__init__(gains, envelope)

    @property
    def phase(self) -> str:
        """Return the name of the phase of take-off, pattern or landing, empty if none."""
        return '' if self._flies is None else self._flies.name

    @property
    def height(self) -> float:
        """Return the height (m) of its main wheels above the runway, NaN without one."""
        setting = self._runway_setting
        return math.nan if setting is None else setting.height(self._measured())

    @property
    def place(self) -> Point:
        """Return m beyond the runway's threshold and right of its centreline, else NaN."""
        now, setting = self._measured(), self._runway_setting
        return (math.nan, math.nan) if setting is None else (
            setting.runway.locate(now.east, now.north))

    @property
    def _runway_setting(self) -> Setting | None:
        """Return that of the runway which it is flown to, or has climbed from."""
        if self._flies is not None:
            return self._flies.setting
        return None if self._climbed is None else self._climbed[0]

    @property
    def takes_off(self) -> bool:
        """Return whether it takes off or goes around: until something else is commanded."""
        return isinstance(self._flies, _TAKES_OFF) or self._climbed is not None

    @property
    def is_at_height(self) -> bool:
        """
        Return whether a take-off or a go-around is seen at its height, no more than 5 m from it.

        There it neither climbs nor sinks by more than 1 m/s; unless it is flown on to a higher
        pattern. Above a lower one that pattern's height counts.
        """
        if self._climbed is None:
            return False
        now, (setting, wanted) = self._measured(), self._climbed
        height = setting.height(now)
        if isinstance(self._flies, Pattern):
            if self._flies.height > wanted + _AT_HEIGHT:
                return height > wanted - _AT_HEIGHT
            wanted = self._flies.height
        return abs(height - wanted) < _AT_HEIGHT and abs(now.climb_rate) < _SETTLED

    @property
    def lands(self) -> bool:
        """Return whether it lands, or has landed, or will once it is on the final leg."""
        return self._is_to_land or isinstance(self._flies, _LANDS)

    @property
    def has_stopped(self) -> bool:
        """Return whether it stands after a landing, or a take-off that was broken off."""
        return isinstance(self._flies, RollOut) and self._flies.has_stopped

    # Commands.

    def take_off(self, runway: Runway, height: float) -> None:
        """
        Take off from standing, and climb to a height (m) above the runway.

        Raises ValueError if it does not stand on the runway, in its direction.
        """
        now, setting = self._measured(), self._setting(runway)
        along, across = runway.locate(now.east, now.north)
        if now.speed_over_ground > _AT_REST:
            raise ValueError(
                f'take_off: it moves with {now.speed_over_ground:.1f} m/s, expected to stand')
        if not runway.is_on(along, across):
            raise ValueError(
                f'take_off: it stands {along:.0f} m beyond the threshold and {across:+.0f} m to '
                'the right, which is not on the runway')
        if abs(runway.turned(now.heading)) > _LINED_UP:
            raise ValueError(
                f'take_off: its heading is {math.degrees(now.heading) % 360.0:.0f} deg, expected '
                f'that of the runway, {math.degrees(runway.direction) % 360.0:.0f} deg')
        if self.exact and not abs(setting.height(now)) < _ON_SURFACE:
            raise ValueError(
                f'take_off: by its altitude it stands {setting.height(now):+.0f} m above the '
                "runway's elevation: one of them is wrong, and a landing would be too")
        self._check_height('take_off', now)
        self._begin(Stand(setting, height))
        if not self.exact:
            self._height.stand(now, setting.performance.rest_height)

    def pattern(self, runway: Runway, height: float, side: str = LEFT) -> None:
        """Fly the pattern of a runway at a height (m) above it, with turns to that side."""
        now, setting = self._measured(), self._setting(runway)
        self._check_place(now)
        if side not in (LEFT, RIGHT):
            raise ValueError(f'pattern: side is {side!r}, expected {LEFT} or {RIGHT}')

        def begin(now: Measurement, last: Controls) -> Phase:
            return Pattern(setting, now, last, height, side == LEFT)

        circuit = begin, height
        if isinstance(self._flies, _TAKES_OFF):
            self._pattern = begin
        elif self._flies is None or isinstance(self._flies, (*_APPROACHES, Pattern)):
            if not setting.height(now) > _LOWEST_APPROACH:
                raise ValueError(
                    f'pattern: it is {round(setting.height(now))} m above the runway, expected '
                    f'above {_LOWEST_APPROACH:.0f} m; command take_off or go_around before')
            climbed = self._climbed
            self._begin(begin(now, self._last))
            self._climbed = climbed
        else:
            raise ValueError('pattern: it has landed; command take_off before')
        self._circuit = circuit

    def land(self, runway: Runway) -> None:
        """
        Land: from the pattern, or from a place on the approach.

        Raises ValueError where no approach can begin.
        """
        now, setting = self._measured(), self._setting(runway)
        self._check_place(now)
        self._check_height('land', now)
        self.broken_off = ()
        if isinstance(self._flies, Pattern) or self._pattern is not None:
            self._is_to_land = True
            return
        _check_approach(setting, now)
        self._begin(Approach(setting, now, self._last))

    def go_around(self, height: float) -> None:
        """Break a landing off, and climb along the runway's track to a height (m) above it."""
        now, flies = self._measured(), self._flies
        if not isinstance(flies, _APPROACHES):
            raise ValueError(
                'go_around: nothing is to be broken off: it is not on the approach, and has not '
                'touched down')
        self._begin(Climb(flies.setting, now, height, self._last))

    def break_off_take_off(self) -> str:
        """
        Stop on the runway if that is possible, else climb on; say which.

        What was to follow is not flown.
        """
        now, flies = self._measured(), self._flies
        if isinstance(flies, Stand | Roll):
            runway = flies.setting.runway
            along, _ = runway.locate(now.east, now.north)
            if now.speed_over_ground ** 2 / (2.0 * _REJECTS) < runway.length - along:
                self._begin(RollOut(flies.setting, now))
                return 'it stops on the runway'
        self._pattern, self._is_to_land = None, False
        if isinstance(flies, Pattern):
            return 'the pattern is flown on'
        return 'it climbs straight ahead to its height, and holds that'

    def break_off_landing(self) -> str:
        """Go around if it approaches, else go on with what it flies; say which."""
        now, flies = self._measured(), self._flies
        self._is_to_land = False
        if isinstance(flies, _APPROACHES):
            self._begin(Climb(flies.setting, now, USUAL_HEIGHT, self._last))
            return (f'it goes around, climbs straight ahead to {USUAL_HEIGHT:.0f} m above the '
                    'runway, and holds that')
        if isinstance(flies, RollOut):
            return 'it has touched down, and stops on the runway'
        return f'the {self.phase} is flown on'

    # Each update.

    def update(self, now: Measurement, dt: float) -> Controls:
        """Return the controls for a measurement taken ``dt`` seconds after the last."""
        dt = clamp(dt, 0.0, LONGEST_STEP)
        if self._flies is not None:
            if not self.exact:
                now = self._height.corrected(now, self._flies.setting.runway, dt)
            self._observe(now)
            self._go_on(self._flies, now)
        if self._flies is None:
            return super().update(now, dt)
        self._last = self._flown(now, self._flies.fly(now, dt, self._last), dt)
        return self._last

    def _flown(self, now: Measurement, wanted: PhaseSetpoint, dt: float) -> Controls:
        if self.has_stopped:
            # No surface moves an aircraft that stands: laws would integrate for nothing.
            return Controls(
                wanted.elevator or 0.0, 0.0, 0.0, wanted.throttle, wanted.flaps, wanted.gear,
                wanted.speedbrake, brake_left=wanted.brake, brake_right=wanted.brake)
        replaced = (wanted.elevator is not None, wanted.rudder is not None)
        if replaced != self._replaced:
            # What did not act has integrated for nothing.
            self._rate_law.engage(self._last)
            self._replaced = replaced
        roll, pitch, yaw, _ = attitude_rates(self._gains, now, wanted.roll, wanted.pitch)
        slowest, fastest = self._envelope.pitch_rates(now)
        elevator, aileron, rudder = self._rate_law.update(
            now, roll, clamp(pitch, slowest, fastest),
            yaw if math.isnan(wanted.yaw_rate) else wanted.yaw_rate, dt,
            wanted.rudder is not None and isinstance(self._flies, RollOut))
        if wanted.elevator is not None:
            elevator = wanted.elevator
        if wanted.rudder is not None:
            rudder = wanted.rudder
        return Controls(
            elevator, aileron, rudder, wanted.throttle, wanted.flaps, wanted.gear,
            wanted.speedbrake, brake_left=wanted.brake, brake_right=wanted.brake)

    def _go_on(self, flies: Phase, now: Measurement) -> None:
        """Let the next phase begin if it is time."""
        following = flies.next(now, self._last)
        if isinstance(flies, Climb) and flies.is_done:
            if self._pattern is None:
                wanted = flies.reached(now)
                self._hold_target(wanted)
                # What the envelope limits is not the height that was commanded.
                if self._target.altitude == wanted.altitude:
                    self._climbed = flies.setting, flies.height
                return
            self._climbed = flies.setting, flies.height
            following, self._pattern = self._pattern(now, self._last), None
        elif isinstance(flies, Pattern) and self._is_to_land and flies.is_on_final(now):
            self._climbed = None
            following = Approach(flies.setting, now, self._last)
        elif isinstance(flies, Approach) and self._is_blind(now, flies.setting.runway):
            following = Climb(flies.setting, now, _CLIMBS_TO, self._last)
        elif isinstance(flies, _APPROACHES) and (
                why := why_unstable(flies.setting, now) if isinstance(flies, Approach)
                else why_too_long(flies.setting, now)):
            following = self._go_around(why, flies.setting, now)
        if following is not None:
            self._flies = following

    def _go_around(self, why: str, setting: Setting, now: Measurement) -> Phase:
        """Return the climb of a landing that is broken off, and what is to follow it."""
        self.broken_off = (*self.broken_off, why)
        height = _CLIMBS_TO
        if self._circuit is not None:
            self._pattern, height = self._circuit
            self._is_to_land = len(self.broken_off) <= _TRIES_AGAIN
        return Climb(setting, now, height, self._last)

    def _is_blind(self, now: Measurement, runway: Runway) -> bool:
        """Return whether the height is not known where it must be."""
        if self.exact or self._height.is_seen:
            return False
        # Not known where it is is no place to go on.
        return not runway.locate(now.east, now.north)[0] < -_DECISION

    # Parts of commands.

    def _setting(self, runway: Runway) -> Setting:
        figures, envelope = self.performance, self._envelope
        if figures is None:
            raise ValueError(
                'no take-off and landing performance is known for this aircraft: find it (tune)')
        return Setting(self._gains, figures, runway, envelope.bank, envelope.pitch_limit_up,
                       -envelope.pitch_limit_down, self.exact)

    def _check_place(self, now: Measurement) -> None:
        if math.isnan(now.east + now.north + now.altitude):
            raise ValueError(
                'a runway needs position and altitude of the aircraft, which are not known')

    def _check_height(self, name: str, now: Measurement) -> None:
        if not self.exact and math.isnan(now.height_above_ground):
            raise ValueError(
                f'{name}: the height above the runway is not known to a metre: expected a range '
                'finder that measures it')

    def _begin(self, phase: Phase) -> None:
        if self._flies is None:
            self._height = Height()
        self._take(Level.RUNWAY, [])
        self._flies, self._target = phase, Target()

    def _take(self, level: Level, said: list[str]) -> None:
        super()._take(level, said)
        if self._flies is not None:
            # The levels below go on from what was flown here.
            now = self._measured()
            self._rate_law.engage(self._last)
            self._climb_law.engage(now)
            self._pitch_runs = self._throttle_runs = False
        self._flies, self._pattern, self._is_to_land = None, None, False
        self._climbed = self._circuit = None
        self._replaced = (False, False)


def _check_approach(setting: Setting, now: Measurement) -> None:
    """Raise ValueError where no approach of a runway can begin, with where one can."""
    runway = setting.runway
    along, across = runway.locate(now.east, now.north)
    before, height = runway.aiming_point - along, setting.height(now)
    highest = _ABOVE * before * math.tan(runway.glide_path)
    if abs(across) < before * math.tan(_SECTOR) and _LOWEST_APPROACH < height < highest:
        return
    if not height > _LOWEST_APPROACH:
        raise ValueError(
            f'land: it is {round(height)} m above the runway, expected above '
            f'{_LOWEST_APPROACH:.0f} m; command take_off or go_around, and pattern, before')
    nearest = _LOWEST_APPROACH / (_ABOVE * math.tan(runway.glide_path))
    allowed = (f'{_LOWEST_APPROACH:.0f} to {highest:.0f} m above it' if before > nearest
               else f'at least {math.ceil(nearest)} m before that')
    raise ValueError(
        f'land: it is {abs(before):.0f} m {"before" if before > 0.0 else "beyond"} the aiming '
        f'point, {abs(across):.0f} m to the {"left" if across < 0.0 else "right"} of the '
        f'centreline and {round(height)} m above the runway; expected within '
        f'{math.degrees(_SECTOR):.0f} deg of the extended centreline and {allowed}: command '
        'pattern before')
