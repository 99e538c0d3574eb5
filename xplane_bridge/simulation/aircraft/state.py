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
The state of the simulated aircraft, and the JSBSim property that each value comes from.

Plain SI (m, s, rad, kg, N, Pa, K), degrees where a name ends in ``_deg``. Body axes are forward,
right, down (FRD); wind and velocities are north, east, down (NED). Signs of the three control
axes are X-Plane's: elevator + is nose up, aileron + is right wing down, rudder + is nose right.
"""

from collections.abc import Callable
import math
from operator import itemgetter
from typing import Any, NamedTuple

from xplane_bridge.simulation.aircraft.geometry import matrix_ned_body, transform

FOOT = 0.3048
KNOT = 1852.0 / 3600.0
POUND = 0.45359237
STANDARD_GRAVITY = 9.80665

# JSBSim's elevator and rudder are positive with the trailing edge down and left: nose down and
# nose left (docs/wire/fdmdata.md, section 3). Everything outside has X-Plane's signs, so this is
# the one place that flips them.
ELEVATOR_SIGN = -1.0
AILERON_SIGN = 1.0
RUDDER_SIGN = -1.0

_POUND_FORCE = POUND * STANDARD_GRAVITY
_SLUG = _POUND_FORCE / FOOT
_PSF = _POUND_FORCE / FOOT ** 2
_PSI = _POUND_FORCE / 0.0254 ** 2
_RANKINE = 5.0 / 9.0
_HORSEPOWER = 550.0 * FOOT * _POUND_FORCE
_EARTH_RATE = 7.292115e-5

_LEFT_AILERON, _AILERON = 'fcs/left-aileron-pos-rad', 'fcs/aileron-pos-rad'
# (field of AircraftState, JSBSim property, factor to the field's unit), in the fields' order.
_PROPERTIES: tuple[tuple[str, str, float], ...] = (
    ('lat_deg', 'position/lat-geod-deg', 1.0),
    ('lon_deg', 'position/long-gc-deg', 1.0),
    ('lat_geocentric_deg', 'position/lat-gc-deg', 1.0),
    ('altitude_msl', 'position/h-sl-meters', 1.0),
    ('altitude_ellipsoid', 'position/geod-alt-km', 1e3),
    ('altitude_agl', 'position/h-agl-ft', FOOT),
    ('terrain_msl', 'position/terrain-elevation-asl-ft', FOOT),
    ('phi', 'attitude/phi-rad', 1.0),
    ('theta', 'attitude/theta-rad', 1.0),
    ('psi', 'attitude/psi-rad', 1.0),
    ('phi_dot', 'velocities/phidot-rad_sec', 1.0),
    ('theta_dot', 'velocities/thetadot-rad_sec', 1.0),
    ('psi_dot', 'velocities/psidot-rad_sec', 1.0),
    ('p', 'velocities/p-rad_sec', 1.0),
    ('q', 'velocities/q-rad_sec', 1.0),
    ('r', 'velocities/r-rad_sec', 1.0),
    ('p_dot', 'accelerations/pdot-rad_sec2', 1.0),
    ('q_dot', 'accelerations/qdot-rad_sec2', 1.0),
    ('r_dot', 'accelerations/rdot-rad_sec2', 1.0),
    ('v_north', 'velocities/v-north-fps', FOOT),
    ('v_east', 'velocities/v-east-fps', FOOT),
    ('v_down', 'velocities/v-down-fps', FOOT),
    ('u', 'velocities/u-fps', FOOT),
    ('v', 'velocities/v-fps', FOOT),
    ('w', 'velocities/w-fps', FOOT),
    ('f_eye_x', 'accelerations/a-pilot-x-ft_sec2', FOOT),
    ('f_eye_y', 'accelerations/a-pilot-y-ft_sec2', FOOT),
    ('f_eye_z', 'accelerations/a-pilot-z-ft_sec2', FOOT),
    ('alpha', 'aero/alpha-rad', 1.0),
    ('beta', 'aero/beta-rad', 1.0),
    ('tas', 'velocities/vt-fps', FOOT),
    ('cas', 'velocities/vc-fps', FOOT),
    ('eas', 'velocities/ve-fps', FOOT),
    ('mach', 'velocities/mach', 1.0),
    ('ground_speed', 'velocities/vg-fps', FOOT),
    ('wind_north', 'atmosphere/total-wind-north-fps', FOOT),
    ('wind_east', 'atmosphere/total-wind-east-fps', FOOT),
    ('wind_down', 'atmosphere/total-wind-down-fps', FOOT),
    ('static_pressure', 'atmosphere/P-psf', _PSF),
    ('temperature', 'atmosphere/T-R', _RANKINE),
    ('density', 'atmosphere/rho-slugs_ft3', _SLUG / FOOT ** 3),
    ('density_ratio', 'atmosphere/sigma', 1.0),
    ('speed_of_sound', 'atmosphere/a-fps', FOOT),
    ('pressure_altitude', 'atmosphere/pressure-altitude', FOOT),
    ('sea_level_pressure', 'atmosphere/P-sl-psf', _PSF),
    ('sea_level_temperature', 'atmosphere/T-sl-R', _RANKINE),
    ('qbar', 'aero/qbar-psf', _PSF),
    ('mass', 'inertia/mass-slugs', _SLUG),
    ('elevator', 'fcs/elevator-cmd-norm', ELEVATOR_SIGN),
    ('aileron', 'fcs/aileron-cmd-norm', AILERON_SIGN),
    ('rudder', 'fcs/rudder-cmd-norm', RUDDER_SIGN),
    ('elevator_trim', 'fcs/pitch-trim-cmd-norm', ELEVATOR_SIGN),
    ('aileron_trim', 'fcs/roll-trim-cmd-norm', AILERON_SIGN),
    ('rudder_trim', 'fcs/yaw-trim-cmd-norm', RUDDER_SIGN),
    ('elevator_position', 'fcs/elevator-pos-norm', ELEVATOR_SIGN),
    ('aileron_position', 'fcs/left-aileron-pos-norm', AILERON_SIGN),
    ('rudder_position', 'fcs/rudder-pos-norm', RUDDER_SIGN),
    ('elevator_deflection', 'fcs/elevator-pos-rad', ELEVATOR_SIGN),
    ('aileron_deflection', _LEFT_AILERON, AILERON_SIGN),
    ('rudder_deflection', 'fcs/rudder-pos-rad', RUDDER_SIGN),
    ('flaps', 'fcs/flap-cmd-norm', 1.0),
    ('flaps_position', 'fcs/flap-pos-norm', 1.0),
    ('speedbrake_position', 'fcs/speedbrake-pos-norm', 1.0),
    ('gear', 'gear/gear-cmd-norm', 1.0),
    ('gear_position', 'gear/gear-pos-norm', 1.0),
)

FACTORS = {
    **{name: (node, factor) for name, node, factor in _PROPERTIES},
    **{f'force_{axis}': (f'forces/fb{axis}-total-lbs', _POUND_FORCE) for axis in 'xyz'},
    **{f'turbulence_{axis}': (f'atmosphere/turb-{axis}-fps', FOOT)
       for axis in ('north', 'east', 'down')},
    'fuel': ('propulsion/total-fuel-lbs', POUND),
    'throttle': ('fcs/throttle-cmd-norm[0]', 1.0)}
"""Where single values come from, of the whole aircraft: JSBSim property, factor to the unit."""

# (field of EngineState, property below propulsion/engine[n], factor, offset).
_ENGINE_PROPERTIES: tuple[tuple[str, str, float, float], ...] = (
    ('thrust', 'thrust-lbs', _POUND_FORCE, 0.0),
    ('fuel_flow', 'fuel-flow-rate-pps', POUND, 0.0),
    ('rpm', 'engine-rpm', 1.0, 0.0),
    ('propeller_rpm', 'propeller-rpm', 1.0, 0.0),
    ('manifold_pressure', 'map-pa', 1.0, 0.0),
    ('power', 'power-hp', _HORSEPOWER, 0.0),
    ('cylinder_head_temperature', 'cht-degF', _RANKINE, 459.67 * _RANKINE),
    ('exhaust_gas_temperature', 'egt-degF', _RANKINE, 459.67 * _RANKINE),
    ('oil_temperature', 'oil-temperature-degF', _RANKINE, 459.67 * _RANKINE),
    ('oil_pressure', 'oil-pressure-psi', _PSI, 0.0),
    ('n1', 'n1', 1.0, 0.0),
    ('n2', 'n2', 1.0, 0.0),
)

ENGINE_FACTORS = {
    'throttle': ('fcs/throttle-cmd-norm[{}]', 1.0), 'mixture': ('fcs/mixture-cmd-norm[{}]', 1.0),
    'propeller': ('fcs/advance-cmd-norm[{}]', 1.0),
    **{name: (f'propulsion/engine[{{}}]/{node}', factor)
       for name, node, factor, offset in _ENGINE_PROPERTIES if not offset}}
"""The same of an engine, by its number."""


class EngineState(NamedTuple):
    """
    One engine. None marks what JSBSim does not model for this kind of engine.

    throttle is as commanded and throttle_position what the engine gets, both 0..1; mixture is
    0 (cut off) to 1 (rich), propeller 0 (coarse) to 1 (fine), as commanded; thrust in N,
    fuel_flow in kg/s, manifold_pressure and oil_pressure (gauge) in Pa, power in W, temperatures
    in K, n1 and n2 in percent.
    """

    running: bool
    throttle: float
    throttle_position: float
    mixture: float
    propeller: float
    thrust: float
    fuel_flow: float
    rpm: float | None
    propeller_rpm: float | None
    manifold_pressure: float | None
    power: float | None
    cylinder_head_temperature: float | None
    exhaust_gas_temperature: float | None
    oil_temperature: float | None
    oil_pressure: float | None
    n1: float | None
    n2: float | None


class AircraftState(NamedTuple):
    """
    The aircraft at one instant: SI, radians, body axes FRD, world axes NED.

    Position. lat_deg is geodetic, lat_geocentric_deg is JSBSim's own (what FDMData sends).
    altitude_msl is JSBSim's h-sl: the distance from the earth's centre minus that of the WGS-84
    ellipsoid below; there is no geoid, so mean sea level is the ellipsoid, and altitude_ellipsoid
    (along the vertical) differs by millimetres only. altitude_agl is above the terrain.

    Motion. p, q, r are body rates relative to the earth; *_dot their derivatives, phi_dot,
    theta_dot, psi_dot those of the Euler angles. v_* and u, v, w are the ground velocity.
    a_north, a_east, a_down are the acceleration relative to the earth (the derivative of that
    velocity: 0 at rest, without gravity). track is 0..2 pi. n_z is -f_z in standard g.

    Specific force (what accelerometers read). f_x, f_y, f_z at the centre of gravity: JSBSim's
    forces/fb*-total-lbs (aerodynamic, propulsive and ground forces without weight) divided by
    the mass; parked level they are (0, 0, -9.81). f_eye_* at the pilot's eye point is
    accelerations/a-pilot-*-ft_sec2, which JSBSim computes one step late. gravity is what a
    plumb line feels: JSBSim's gravitation minus the centrifugal acceleration.

    Air. beta is positive with the wind from the right, as in textbooks; wind_* is the velocity of
    the air including gusts and turbulence, pointing downwind. qbar is the dynamic pressure.

    Controls. elevator, aileron, rudder -1..1, flaps, gear (1 down), brakes 0..1 and speedbrake
    -0.5 (armed)..1.5 as commanded; *_position as JSBSim normalises the surface (the elevator of
    the c172p shows -0.1 when centred, as its travel is uneven), *_deflection in rad with the same
    signs, for the aileron that of the left one, or of both if the model's aerodynamics know no
    left one; of elevons and ruddervators half their sum and half their difference, as files of
    this package write it. wheels_on_ground has one value per wheel (nose, left, right). fuel is
    in kg per tank.
    """

    time: float
    lat_deg: float
    lon_deg: float
    lat_geocentric_deg: float
    altitude_msl: float
    altitude_ellipsoid: float
    altitude_agl: float
    terrain_msl: float
    phi: float
    theta: float
    psi: float
    phi_dot: float
    theta_dot: float
    psi_dot: float
    p: float
    q: float
    r: float
    p_dot: float
    q_dot: float
    r_dot: float
    v_north: float
    v_east: float
    v_down: float
    u: float
    v: float
    w: float
    f_eye_x: float
    f_eye_y: float
    f_eye_z: float
    alpha: float
    beta: float
    tas: float
    cas: float
    eas: float
    mach: float
    ground_speed: float
    wind_north: float
    wind_east: float
    wind_down: float
    static_pressure: float
    temperature: float
    density: float
    density_ratio: float
    speed_of_sound: float
    pressure_altitude: float
    sea_level_pressure: float
    sea_level_temperature: float
    qbar: float
    mass: float
    elevator: float
    aileron: float
    rudder: float
    elevator_trim: float
    aileron_trim: float
    rudder_trim: float
    elevator_position: float
    aileron_position: float
    rudder_position: float
    elevator_deflection: float
    aileron_deflection: float
    rudder_deflection: float
    flaps: float
    flaps_position: float
    speedbrake_position: float
    gear: float
    gear_position: float
    a_north: float
    a_east: float
    a_down: float
    f_x: float
    f_y: float
    f_z: float
    n_z: float
    gravity: float
    track: float
    speedbrake: float
    left_brake: float
    right_brake: float
    parking_brake: float
    engines: tuple[EngineState, ...]
    fuel: tuple[float, ...]
    wheels_on_ground: tuple[bool, ...]


class StateReader:
    """Reads an AircraftState from one JSBSim model through property nodes bound once."""

    def __init__(self, fdm: Any, aerodynamics: str = '') -> None:
        """Bind to a loaded jsbsim.FGFDMExec, whose file has these ``aerodynamics``."""
        manager = fdm.get_property_manager()
        # JSBSim's f16 shows a left aileron that follows the one that acts.
        self._others = {_LEFT_AILERON: _AILERON} if (
            _AILERON in aerodynamics and _LEFT_AILERON not in aerodynamics) else {}

        def bind(name: str) -> Callable[[], float]:
            get: Callable[[], float] = manager.get_node(name).get_double_value
            return get

        def count(pattern: str) -> int:
            n = 0
            while manager.hasNode(pattern.format(n)):
                n += 1
            return n

        self._plain = tuple((bind(self.acting(name)), factor) for _, name, factor in _PROPERTIES)
        self._body_acceleration = tuple(bind(f'accelerations/{c}dot-ft_sec2') for c in 'uvw')
        self._force = tuple(bind(f'forces/fb{c}-total-lbs') for c in 'xyz')
        self._gravitation = bind('accelerations/gravity-ft_sec2')
        self._radius = bind('position/radius-to-vehicle-ft')
        self._tanks = tuple(bind(f'propulsion/tank[{n}]/contents-lbs')
                            for n in range(count('propulsion/tank[{}]/contents-lbs')))
        self._wheels = tuple(bind(f'gear/unit[{n}]/WOW')
                             for n in range(count('gear/unit[{}]/WOW')))
        self.engine_count = count('propulsion/engine[{}]/set-running')
        self.tank_count = len(self._tanks)
        engines = []
        for n in range(self.engine_count):
            base = f'propulsion/engine[{n}]/'
            commands = tuple(bind(f'{name}[{n}]') for name in (
                'fcs/throttle-cmd-norm', 'fcs/throttle-pos-norm', 'fcs/mixture-cmd-norm',
                'fcs/advance-cmd-norm'))
            figures = tuple(
                (bind(base + name), factor, offset) if manager.hasNode(base + name) else None
                for _, name, factor, offset in _ENGINE_PROPERTIES)
            engines.append((bind(base + 'set-running'), commands, figures))
        self._engines = tuple(engines)

    def acting(self, node: str) -> str:
        """Return a property, or the one that acts in its place on this model."""
        return self._others.get(node, node)

    def read(self, time: float, speedbrake: float, left_brake: float, right_brake: float,
             parking_brake: float) -> AircraftState:
        """Return the current state; the arguments are what JSBSim does not keep itself."""
        plain = [get() * factor for get, factor in self._plain]
        lat_gc, phi, theta, psi, p, q, r, v_north, v_east, u, v, w, mass = _inputs(plain)
        # JSBSim's udot is the derivative of body components; their rotation adds omega x v.
        u_dot, v_dot, w_dot = [get() * FOOT for get in self._body_acceleration]
        a_north, a_east, a_down = transform(
            matrix_ned_body(phi, theta, psi),
            (u_dot + q * w - r * v, v_dot + r * u - p * w, w_dot + p * v - q * u))
        f_x, f_y, f_z = [get() * _POUND_FORCE / mass for get in self._force]
        across = self._radius() * FOOT * math.cos(math.radians(lat_gc)) ** 2
        return AircraftState._make((
            time, *plain, a_north, a_east, a_down, f_x, f_y, f_z, -f_z / STANDARD_GRAVITY,
            self._gravitation() * FOOT - _EARTH_RATE ** 2 * across,
            math.atan2(v_east, v_north) % math.tau,
            speedbrake, left_brake, right_brake, parking_brake,
            tuple([_read_engine(*engine) for engine in self._engines]),
            tuple([get() * POUND for get in self._tanks]),
            self.wheels_on_ground()))

    def wheels_on_ground(self) -> tuple[bool, ...]:
        """Return which wheels touch the ground."""
        return tuple([get() > 0.5 for get in self._wheels])

    def throttles(self) -> list[float]:
        """Return the throttle of each engine, as commanded."""
        return [get() for _, (get, *_), _ in self._engines]


_NAMES = [name for name, _, _ in _PROPERTIES]
_inputs = itemgetter(*(_NAMES.index(name) for name in (
    'lat_geocentric_deg', 'phi', 'theta', 'psi', 'p', 'q', 'r', 'v_north', 'v_east',
    'u', 'v', 'w', 'mass')))


def _read_engine(running: Callable[[], float], commands: tuple[Callable[[], float], ...],
                 figures: tuple[Any, ...]) -> EngineState:
    return EngineState._make((
        running() > 0.5, *[get() for get in commands],
        *[None if bound is None else bound[0]() * bound[1] + bound[2] for bound in figures]))
