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
X-Plane's world around the simulated aircraft: the other aircraft, time, pause, overrides.

What X-Plane itself keeps and JSBSim does not is kept here, once for all frontends: the datarefs
(datarefs.py) and commands (commands.py) are views of it. Time advances in ``advance`` only.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
import math
from typing import Any, cast, TypeAlias

from xplane_bridge.common.fields import DAY
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.geometry import (
    euler_angles,
    Matrix,
    matrix_ned_body,
    multiply,
    Quaternion,
    quaternion,
    transform,
    transpose,
    Vector,
    XplaneLocalFrame,
)
from xplane_bridge.simulation.aircraft.state import AircraftState
from xplane_bridge.simulation.peers.flown import FlownAircraft
from xplane_bridge.simulation.peers.traffic import formation, OtherAircraft
from xplane_bridge.simulation.peers.wind_layers import WindLayers

# An aircraft's motion along the axes of X-Plane's local frame.

class LocalMotion:
    """
    An aircraft in X-Plane's local frame: +x east, +y up, +z south at the frame's origin.

    position in m; psi, theta, phi in deg, psi 0..360; q is (w, x, y, z), body FRD to the frame's
    north, east, down; velocity and wind in m/s along x, y, z. What is asked
    for rarely is computed when asked for.
    """

    def __init__(self, frame: XplaneLocalFrame, place: Vector, attitude: Vector, velocity: Vector,
                 wind: Vector) -> None:
        """Take what is true at ``place`` (deg, m): roll, pitch, heading; vectors in NED."""
        self._frame, self._place, self._attitude = frame, place, attitude
        self._turn = frame.matrix_from_ned(place[0], place[1])
        self.velocity, self.wind = self.axes(velocity), self.axes(wind)

    @cached_property
    def position(self) -> Vector:
        """Return where it is."""
        return self._frame.to_local(*self._place)

    @property
    def phi(self) -> float:
        """Return the roll."""
        return math.degrees(self._angles[0])

    @property
    def theta(self) -> float:
        """Return the pitch."""
        return math.degrees(self._angles[1])

    @property
    def psi(self) -> float:
        """Return the heading."""
        return math.degrees(self._angles[2])

    @cached_property
    def q(self) -> Quaternion:
        """Return the attitude."""
        phi, theta, psi = self._angles
        # Of its two quaternions, the one that changes sign at south, not north.
        return quaternion(phi, theta, math.remainder(psi, math.tau))

    @cached_property
    def _angles(self) -> Vector:
        return euler_angles(multiply(self._turn, matrix_ned_body(*self._attitude)))

    def axes(self, ned: Vector) -> Vector:
        """Return a vector, which is north, east, down at the aircraft, along x, y, z."""
        north, east, down = transform(self._turn, ned)
        return (east, -down, -north)


AIRCRAFT_COUNT = 20
THROTTLE_COUNT = 16
# Writing this, and nothing else, releases ENGN_thro_override (docs/wire/xplane_datarefs.md, row
# 4.14).
THROTTLE_OVERRIDE_RELEASE = -2.0

_MAX_SIM_SPEED = 16
# X-Plane knows no leap years.
DAYS_PER_YEAR = 365
# 21 June, counted from 0 as X-Plane does.
_MIDSUMMER = 171
# The local frame's origin is on half degrees, so the nearest one is always within 40 km.
_ORIGIN_STEP_DEG = 0.5
_DEGREES_PER_HOUR, _HOUR = 15.0, 3600.0
_ORIGIN_REACH = 50e3

STEP_TIME = 0.1
"""Seconds of holding that a command run once stands for."""

OVERRIDES = (
    'override_joystick', 'override_joystick_pitch', 'override_joystick_roll',
    'override_joystick_heading', 'override_throttles', 'override_control_surfaces',
    'override_flightcontrol', 'override_forces', 'override_toe_brakes',
)
# X-Plane's numbers of views, those that a source gives.
VIEW_TYPES = {'forward': 1000, 'chase': 1017, 'cockpit': 1026}
LIGHTS = ('beacon', 'landing', 'nav', 'strobe', 'taxi')

Other: TypeAlias = OtherAircraft | FlownAircraft


class World:
    """
    The user's aircraft (number 0), the others (1 to 19) and X-Plane's own state.

    magnetic_variation_deg is the same everywhere and, as in X-Plane, positive to the west:
    magnetic heading = true heading + variation. Callers may set the attribute paused.
    """

    def __init__(self, aircraft: Aircraft, magnetic_variation_deg: float = -3.0,
                 zulu_time: float = 43_200.0, traffic_flies: bool = True,
                 fleet: Sequence[Aircraft] = ()) -> None:
        """
        Place 19 aircraft abreast of the user's; zulu_time is UTC in seconds of the day.

        Aircraft 1, 2, ... are those of ``fleet``, with flight models, where these are; the others
        have simple kinematics. Unless ``traffic_flies`` the latter stay there, for a flight in
        which nobody looks at them. Raises ValueError for more than 19.
        """
        if len(fleet) >= AIRCRAFT_COUNT:
            raise ValueError(f'{len(fleet) + 1} aircraft are too many: X-Plane has '
                             f'{AIRCRAFT_COUNT}')
        self._traffic_flies = traffic_flies
        self.aircraft = aircraft
        self.flown = (aircraft, *fleet)
        self.magnetic_variation_deg = magnetic_variation_deg
        self._others = self._make_others()
        # Frames that the kinematic ones are behind: of what length, and who was frozen in them.
        self._behind = 0
        self._frame_behind: tuple[float, tuple[int, ...]] = (0.0, ())
        self.paused = False
        self.sim_speed = 1
        self.total_running_time = 0.0
        self.flight_time = 0.0
        self.network_time = 0.0
        self.frame_period = 0.0
        self.zulu_time, self.zulu_date = zulu_time, _MIDSUMMER
        self.wind_layers = WindLayers(self.flown)
        # How many aircraft TCAS shows, the user's among them.
        self.tcas_count = AIRCRAFT_COUNT
        self.planepath = [0] * AIRCRAFT_COUNT
        self.ai_autopilot = [0] * AIRCRAFT_COUNT
        self.overrides = dict.fromkeys(OVERRIDES, 0)
        self.lights = dict.fromkeys(LIGHTS, 0)
        # Radios, dials and switches, which move nothing, by a name of xplane/panel.py.
        self.settings: dict[str, list[float]] = {}
        self.view_type = VIEW_TYPES['cockpit']
        self.throttle_override = THROTTLE_OVERRIDE_RELEASE
        # Commands that are held down, and what each does in a given time.
        self.held: dict[str, Callable[[float], None]] = {}
        # Starters that turn, and until when (simulated time in s).
        self._cranked: dict[int, float] = {}
        self._handles = [0.0] * THROTTLE_COUNT
        self._throttle_use = [0.0] * THROTTLE_COUNT
        self._handles[:aircraft.engine_count] = aircraft.sampler.throttles()
        self._local_key: AircraftState | None = None
        self._seen: AircraftState | None = None
        self._local_others: dict[int, tuple[tuple[object, ...], LocalMotion]] = {}
        self.frame = _nearest_frame(aircraft.state.lat_deg, aircraft.state.lon_deg)

    # Time

    def idle(self, frame_seconds: float) -> None:
        """Advance one frame of real time in which the simulated time stops."""
        self.network_time += frame_seconds
        self.frame_period = 0.0

    def advance(self, frame_seconds: float) -> None:
        """
        Advance one frame of real time.

        Only the network time advances while paused or at sim_speed 0. Frozen aircraft do not move
        while time continues. Raises ValueError unless frame_seconds is finite and at least 0.
        """
        if not 0.0 <= frame_seconds < math.inf:
            raise ValueError(f'cannot advance by {frame_seconds} s')
        self.network_time += frame_seconds
        self.frame_period = 0.0 if self.paused else frame_seconds * self.sim_speed
        if self.frame_period == 0.0:
            return
        if self.held or self._cranked:
            self._hold_buttons(frame_seconds)
        self.total_running_time += self.frame_period
        self.flight_time += self.frame_period
        days, self.zulu_time = divmod(self.zulu_time + self.frame_period, DAY)
        self.zulu_date = (self.zulu_date + int(days)) % DAYS_PER_YEAR
        if self.wind_layers.are_written:
            self.wind_layers.advance(self.total_running_time)
        if not self.frozen(0):
            self.aircraft.advance(self.frame_period)
        for n in range(1, len(self.flown)):
            if not self.frozen(n):
                self._others[n - 1].advance(self.frame_period)
        if self._traffic_flies:
            frame = (self.frame_period, tuple(self.planepath))
            if frame != self._frame_behind:
                self.fly_traffic()
                self._frame_behind = frame
            self._behind += 1
        self._move_origin()

    @property
    def others(self) -> list[Other]:
        """Return the others, 1 to 19: where they are now, which a later frame does not change."""
        self.fly_traffic()
        return self._others

    def fly_traffic(self, least: int = 1) -> None:
        """Fly the others without a flight model to where they are, if ``least`` frames behind."""
        if self._behind < least:
            return
        behind, self._behind = self._behind, 0
        seconds, frozen = self._frame_behind
        for n, other in enumerate(self._others, start=1):
            if isinstance(other, OtherAircraft) and not frozen[n]:
                other.advance(seconds, behind)

    def _make_others(self) -> list[Other]:
        others: list[Other] = [*formation(
            AIRCRAFT_COUNT - 1, self.aircraft.state, self.aircraft.initial.airfield)]
        others[:len(self.flown) - 1] = [FlownAircraft(one) for one in self.flown[1:]]
        for other in others:
            other.lights.update(dict.fromkeys(LIGHTS, 0))
        return others

    def frozen(self, n: int) -> bool:
        """Return whether aircraft n (0..19) is frozen by override_planepath."""
        return self.planepath[n] != 0

    def freeze(self, n: int | None, on: bool) -> None:
        """Freeze or release aircraft n (0..19) or, with None, all, as XPC's SIMU does."""
        for i in range(AIRCRAFT_COUNT) if n is None else (n,):
            self.planepath[i] = int(on)

    @property
    def local_time(self) -> tuple[int, float]:
        """Return the local date, 0 on 1 January, and time in s: by nautical time zones."""
        days, seconds = divmod(self.zulu_time + self._zone, DAY)
        return (self.zulu_date + int(days)) % DAYS_PER_YEAR, seconds

    def set_local_date(self, days: int) -> None:
        """Set the local date, 0 on 1 January; the time of day stays."""
        self.zulu_date = (days - int((self.zulu_time + self._zone) // DAY)) % DAYS_PER_YEAR

    @property
    def _zone(self) -> float:
        return _HOUR * round(self.state.lon_deg / _DEGREES_PER_HOUR)

    def set_sim_speed(self, speed: int) -> None:
        """Set the time multiplier, 0 (stopped) to 16; other values are clamped."""
        self.sim_speed = min(max(int(speed), 0), _MAX_SIM_SPEED)

    def reset_flight(self) -> None:
        """Restart the flight: aircraft, others and flight time, not the total time."""
        for aircraft in self.flown:
            aircraft.reset()
        self._others, self._behind = self._make_others(), 0
        self._cranked.clear()
        self.flight_time = 0.0
        self._handles[:self.aircraft.engine_count] = self.aircraft.sampler.throttles()
        self._apply_throttles()
        self._move_origin()

    def crank(self, engine: int, seconds: float) -> None:
        """Let the starter of an engine, if it has one, turn it for so long from now."""
        if engine in self.aircraft.starters:
            self._cranked[engine] = self.total_running_time + seconds
            self.aircraft.set_starter(engine, on=True)

    def _hold_buttons(self, seconds: float) -> None:
        for name in sorted(self.held):
            self.held[name](seconds)
        for engine, until in tuple(self._cranked.items()):
            if until <= self.total_running_time:
                del self._cranked[engine]
                self.aircraft.set_starter(engine, on=False)

    # Placing

    def teleport(self, n: int, lat_deg: float | None = None, lon_deg: float | None = None,
                 altitude_msl: float | None = None, pitch_deg: float | None = None,
                 roll_deg: float | None = None, heading_deg: float | None = None,
                 velocity_ned: Vector | None = None, rates: Vector = (0.0, 0.0, 0.0)) -> None:
        """
        Move aircraft n (0..19), frozen or not; None keeps a value.

        Pitch, roll and heading are true, relative to the earth below the aircraft. velocity_ned
        and rates are for those with a flight model; the others have none of their own. See
        Aircraft.teleport for what is kept and clamped. Raises ValueError for NaN and infinities.
        """
        given = (lat_deg, lon_deg, altitude_msl, pitch_deg, roll_deg, heading_deg)
        if n < len(self.flown):
            self.flown[n].teleport(*given, velocity_ned=velocity_ned, rates=rates)
        else:
            self.others[n - 1].place(*given)
        self._move_origin()

    def trim_at(self, lat_deg: float, lon_deg: float, altitude_msl: float, heading_deg: float,
                speed: float, n: int = 0) -> None:
        """
        Move aircraft n, which has a flight model, into steady flight, as Aircraft.trim_at does.

        Raises ValueError, changing nothing, if no trim exists.
        """
        if n == 0 and self._throttles_forced:
            raise ValueError('throttles are overridden, so a trim cannot set them')
        self.flown[n].trim_at(lat_deg, lon_deg, altitude_msl, heading_deg, speed)
        self._move_origin()

    def turn_locally(self, n: int, phi_deg: float, theta_deg: float, psi_deg: float) -> None:
        """Set roll, pitch and heading (deg) of aircraft n (0..19) relative to the local frame."""
        attitude = matrix_ned_body(
            math.radians(phi_deg), math.radians(theta_deg), math.radians(psi_deg))
        if n == 0:
            self.move_locally(attitude=attitude)
            return
        other = self.others[n - 1]
        turn = self.frame.matrix_from_ned(other.lat_deg, other.lon_deg)
        phi, theta, psi = map(math.degrees, euler_angles(multiply(transpose(turn), attitude)))
        other.place(pitch_deg=theta, roll_deg=phi, heading_deg=psi)

    def move_locally(self, position: Vector | None = None, attitude: Matrix | None = None,
                     velocity: Vector | None = None, rates: Vector | None = None) -> None:
        """
        Move the user's aircraft as the local frame's datarefs do; None keeps a value.

        position (m) and velocity (m/s) along local x, y, z; attitude rotates body axes to the
        frame's north, east, down; rates are p, q, r in rad/s.
        """
        s = self.aircraft.state
        turn = self.frame.matrix_from_ned(s.lat_deg, s.lon_deg)
        if position is None:
            lat, lon, altitude = s.lat_deg, s.lon_deg, s.altitude_msl
        else:
            lat, lon, altitude = self.frame.to_geodetic(*position)
        phi, theta, psi = s.phi, s.theta, s.psi
        if attitude is not None:
            phi, theta, psi = euler_angles(multiply(transpose(turn), attitude))
        velocity_ned = (s.v_north, s.v_east, s.v_down)
        if velocity is not None:
            east, up, south = velocity
            velocity_ned = transform(transpose(turn), (-south, east, -up))
        self.aircraft.teleport(
            lat, lon, altitude, math.degrees(theta), math.degrees(phi), math.degrees(psi),
            velocity_ned=velocity_ned, rates=rates or (s.p, s.q, s.r))

    # What is seen of the user's aircraft

    @property
    def state(self) -> AircraftState:
        """Return the state that datarefs are read of."""
        return self.aircraft.state if self._seen is None else self._seen

    def read(self, readers: Sequence[Callable[[], Any]]) -> list[Any]:
        """Return what readers of datarefs say, of one state, which is looked up once."""
        return self._read_of(self.aircraft.state, readers)

    def observed(self, readers: Sequence[Callable[[], float]]) -> list[float]:
        """Return what readers of an observed state's datarefs say, in half of the time."""
        return self._read_of(cast('AircraftState', self.aircraft.seen), readers)

    def _read_of(self, state: AircraftState, readers: Sequence[Callable[[], Any]]) -> list[Any]:
        self._seen = state
        try:
            return [read() for read in readers]
        finally:
            self._seen = None

    # The local frame

    @property
    def local(self) -> LocalMotion:
        """Return the user's aircraft in the local frame, computed once per state."""
        s = self.state
        if self._local_key is not s:
            self._local = LocalMotion(
                self.frame, (s.lat_deg, s.lon_deg, s.altitude_msl), (s.phi, s.theta, s.psi),
                (s.v_north, s.v_east, s.v_down), (s.wind_north, s.wind_east, s.wind_down))
            self._local_key = s
        return self._local

    def compute_local(self, n: int) -> LocalMotion:
        """
        Return aircraft n (0..19) in the local frame, computed once per state.

        Those without a flight model have no wind.
        """
        if n == 0:
            return self.local
        o = self.others[n - 1]
        key = (self.frame, o.lat_deg, o.lon_deg, o.altitude_msl, o.phi, o.theta, o.psi,
               o.velocity_ned)
        known = self._local_others.get(n)
        if known is None or known[0] != key:
            known = self._local_others[n] = key, LocalMotion(
                self.frame, (o.lat_deg, o.lon_deg, o.altitude_msl), (o.phi, o.theta, o.psi),
                o.velocity_ned, o.wind_ned)
        return known[1]

    def _move_origin(self) -> None:
        """Move the local origin to the nearest half degrees once the aircraft is far from it."""
        lat_deg, lon_deg, altitude, *_ = self.aircraft.sampler.sample()
        x, _, z = self.frame.to_local(lat_deg, lon_deg, altitude)
        if math.hypot(x, z) > _ORIGIN_REACH:
            self.frame = _nearest_frame(lat_deg, lon_deg)
            self._local_key = None

    # Throttles: handles, override_throttles, and the latch ENGN_thro_override

    @property
    def throttle_handles(self) -> tuple[float, ...]:
        """Return the 16 throttle handles; those without an engine keep what was written."""
        if not self._throttles_forced:
            self._handles[:self.aircraft.engine_count] = self.aircraft.sampler.throttles()
        return tuple(self._handles)

    @property
    def throttle_use(self) -> tuple[float, ...]:
        """Return the 16 throttles that go to the engines."""
        if self.throttle_override >= 0.0:
            return (self.throttle_override,) * THROTTLE_COUNT
        if self.overrides['override_throttles']:
            return tuple(self._throttle_use)
        return self.throttle_handles

    def set_throttle_handles(self, values: Sequence[float | None]) -> None:
        """Move the handles (0..1, None keeps one); without effect while throttles are forced."""
        _update(self._handles, self.throttle_handles, values)
        self._apply_throttles()

    def fly_by(self, elevator: float, aileron: float, rudder: float, throttle: float,
               handles: int, is_forced: bool) -> None:
        """
        Move the yoke and so many throttle handles (0..1), and force the engines' too if asked.

        As writing each of them does, in a tenth of the time. The throttles must not be forced
        already, but by this.
        """
        self._handles[:handles] = [throttle] * handles
        if is_forced:
            self.throttle_override = throttle
        self.aircraft.fly_by(elevator, aileron, rudder, throttle)

    def set_throttle_use(self, values: Sequence[float | None]) -> None:
        """Force throttles while override_throttles is set; otherwise no effect, as in X-Plane."""
        if self.overrides['override_throttles']:
            _update(self._throttle_use, self._throttle_use, values)
            self._apply_throttles()

    def set_throttle_override(self, value: float) -> None:
        """Force all engines to 0..1; -2.0 releases them, other negative numbers do nothing."""
        self._handles[:] = self.throttle_handles
        if value >= 0.0:
            self.throttle_override = min(value, 1.0)
        elif value == THROTTLE_OVERRIDE_RELEASE:
            self.throttle_override = THROTTLE_OVERRIDE_RELEASE
        self._apply_throttles()

    def set_override(self, name: str, value: int) -> None:
        """Set one of OVERRIDES (without its path)."""
        if name != 'override_throttles':
            self.overrides[name] = value
        elif bool(value) != bool(self.overrides[name]):
            # The engines keep their power until ENGN_thro_use is written or the handles return.
            self._handles[:] = self.throttle_handles
            self._throttle_use[:] = self.throttle_use
            self.overrides[name] = value
            self._apply_throttles()

    @property
    def _throttles_forced(self) -> bool:
        return self.throttle_override >= 0.0 or self.overrides['override_throttles'] != 0

    def _apply_throttles(self) -> None:
        values = self.throttle_use if self._throttles_forced else self._handles
        self.aircraft.set_controls(throttle=list(values))


def _nearest_frame(lat_deg: float, lon_deg: float) -> XplaneLocalFrame:
    return XplaneLocalFrame(round(lat_deg / _ORIGIN_STEP_DEG) * _ORIGIN_STEP_DEG,
                            round(lon_deg / _ORIGIN_STEP_DEG) * _ORIGIN_STEP_DEG)


def _update(target: list[float], now: Sequence[float],
            values: Sequence[float | None]) -> None:
    target[:] = now
    for n, value in enumerate(values[:THROTTLE_COUNT]):
        if value is not None:
            target[n] = min(max(value, 0.0), 1.0)
