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
Datarefs of the flight: position, motion, forces, air data and the model, and how each is computed.

Meanings, units and signs follow docs/wire/xplane_datarefs.md, whose rows are cited as "1.41";
types and writability follow Laminar's lists for 9.55, 10.41, 11 and 12. Where that page leaves a
choice: beta has the textbook sign, + with the wind from the right (2.6);
P, Q, R are body rates (1.36); Qstatic is the dynamic pressure in psf (2.19). The constant 9.80665
converts specific force to g.

Simplified: psi, theta, phi can be written while the aircraft is frozen (1.25), q while it is not
(1.24).
"""

from functools import partial
import math

from xplane_bridge.simulation.aircraft.geometry import quaternion_to_matrix
from xplane_bridge.simulation.aircraft.state import AircraftState, FOOT, KNOT, STANDARD_GRAVITY
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.entries import (
    DatarefTable,
    element,
    padded,
    Read,
    replaced,
)

_PSF = 47.880258980
_WHEELS = 10
# Half a step of float32 below 360 degrees.
_NORTH = 360.0 - 2.0 ** -16
_INTERNAL_VERSION = {11: 115502, 12: 121001}
_ICAO_TYPES = {'c172p': 'C172'}
_POUND_FORCE = 4.4482216152605
_POUND_FOOT = _POUND_FORCE * FOOT

P = 'sim/flightmodel/position/'
P2 = 'sim/flightmodel2/position/'


def icao_type(model: str) -> str:
    """Return the type designator of a model; of one that has none here, its first letters."""
    return _ICAO_TYPES.get(model, model.upper()[:4])


def aircraft_path(model: str) -> str:
    """Return where X-Plane's file of an aircraft would be, below X-Plane's folder."""
    return f'Aircraft/JSBSim/{model}/{model}.acf'


def add_flight(t: DatarefTable, world: World) -> None:
    """Add docs/wire/xplane_datarefs.md, section 1 and air data, and related ones."""
    for add in (_place, _motion, _forces, _air, _model):
        add(t, world)


def _place(t: DatarefTable, world: World) -> None:
    """Add position and attitude (1.1 to 1.25)."""
    def s() -> AircraftState:
        return world.state

    def write_position(axis: int, value: float) -> None:
        world.move_locally(position=replaced(world.local.position, axis, value))

    local_angles: tuple[Read, ...] = (
        lambda: world.local.phi, lambda: world.local.theta,
        lambda: _below_360(world.local.psi))

    def write_angle(which: int, value: float) -> None:
        if world.frozen(0):
            world.turn_locally(0, *replaced([read() for read in local_angles], which, value))

    t.double(P + 'latitude', lambda: s().lat_deg)
    t.double(P + 'longitude', lambda: s().lon_deg)
    t.double(P + 'elevation', lambda: s().altitude_msl)
    t.double(P2 + 'ellipsoid_height',
             lambda: s().altitude_ellipsoid / FOOT, since=12)
    t.double(P2 + 'pressure_altitude',
             lambda: s().pressure_altitude / FOOT, since=12)
    t.float_(P + 'y_agl', lambda: s().altitude_agl)
    t.float_(P + 'lat_ref', lambda: world.frame.lat_ref_deg)
    t.float_(P + 'lon_ref', lambda: world.frame.lon_ref_deg)
    for i, axis in enumerate('xyz'):
        t.double(P + f'local_{axis}', element(lambda: world.local.position, i),
                 partial(write_position, i))

    def write_q(q: list[float]) -> None:
        if not world.frozen(0) and math.hypot(*q) > 0.1:
            world.move_locally(attitude=quaternion_to_matrix((q[0], q[1], q[2], q[3])))

    for i, name in enumerate(('phi', 'theta', 'psi')):
        t.float_(P + name, local_angles[i], partial(write_angle, i))
    t.floats(P + 'q', lambda: world.local.q, write_q)
    for base, since in ((P, 10), (P2, 11)):
        t.float_(base + 'true_psi', lambda: _below_360(math.degrees(s().psi)), since=since)
        t.float_(base + 'true_theta', lambda: math.degrees(s().theta), since=since)
        t.float_(base + 'true_phi', lambda: math.degrees(s().phi), since=since)
        t.float_(base + 'mag_psi', lambda: (
            _below_360((math.degrees(s().psi) + world.magnetic_variation_deg) % 360.0)),
            since=since)
    t.float_(P + 'magnetic_variation', lambda: world.magnetic_variation_deg)


def _below_360(heading_deg: float) -> float:
    """Return 0 for a heading that float32 would round to 360 degrees."""
    return heading_deg if heading_deg < _NORTH else 0.0


def _motion(t: DatarefTable, world: World) -> None:  # noqa: C901 -- a table of readers
    """Add velocity, acceleration, rates and load (1.26 to 1.48)."""
    def s() -> AircraftState:
        return world.state

    def write_velocity(axis: int, value: float) -> None:
        world.move_locally(velocity=replaced(world.local.velocity, axis, value))

    def rates() -> tuple[float, float, float]:
        return (s().p, s().q, s().r)

    def acceleration() -> tuple[float, float, float]:
        return world.local.axes((s().a_north, s().a_east, s().a_down))

    def write_rate(unit: float, which: int, value: float) -> None:
        world.move_locally(rates=replaced(rates(), which, value * unit))

    def of_state(field: str) -> Read:
        return lambda: getattr(s(), field)

    def in_degrees(field: str) -> Read:
        return lambda: math.degrees(getattr(s(), field))

    for i, axis in enumerate('xyz'):
        t.float_(P + f'local_v{axis}', element(lambda: world.local.velocity, i),
                 partial(write_velocity, i))
        t.float_(P + f'local_a{axis}', element(acceleration, i))
    for base, since in ((P, 9), (P2, 11)):
        t.float_(base + 'groundspeed', lambda: s().ground_speed, since=since)
        t.float_(base + 'hpath', lambda: math.degrees(s().track), since=since)
        t.float_(base + 'vpath', lambda: math.degrees(
            math.atan2(-s().v_down, s().ground_speed)), since=since)
    t.float_(P + 'vh_ind', lambda: -s().v_down)
    for name in ('vh_ind_fpm', 'vh_ind_fpm2'):
        t.float_(P + name, lambda: -s().v_down / FOOT * 60.0)
    for i, name in enumerate('PQR'):
        t.float_(P + name + 'rad', of_state(name.lower()), partial(write_rate, 1.0, i))
        t.float_(P + name, in_degrees(name.lower()), partial(write_rate, math.pi / 180.0, i))
        t.float_(P + name + '_dot', in_degrees(name.lower() + '_dot'))
    for name in ('phi_dot', 'theta_dot', 'psi_dot'):
        t.float_(P + name, in_degrees(name), since=12)
    for base, normal, axial, side in (
            ('sim/flightmodel/forces/', 'g_nrml', 'g_axil', 'g_side'),
            ('sim/flightmodel2/misc/', 'gforce_normal', 'gforce_axil', 'gforce_side')):
        t.float_(base + normal, lambda: -s().f_z / STANDARD_GRAVITY)
        # + toward the tail (1.42), whereas body x points forward.
        t.float_(base + axial, lambda: -s().f_x / STANDARD_GRAVITY)
        t.float_(base + side, lambda: s().f_y / STANDARD_GRAVITY)
    t.int_('sim/flightmodel/failures/onground_any', lambda: int(any(s().wheels_on_ground)))
    t.int_('sim/flightmodel/failures/onground_all', lambda: int(all(s().wheels_on_ground)))
    t.ints('sim/flightmodel2/gear/on_ground',
           lambda: padded(map(int, s().wheels_on_ground), _WHEELS, 0), since=11)


def _forces(t: DatarefTable, world: World) -> None:
    """Add forces and moments (1.49), which are looked up when they are asked for."""
    def add(name: str, node: str, factor: float) -> None:
        t.float_(f'sim/flightmodel/forces/{name}',
                 lambda: world.aircraft.property_value(node) * factor)

    for maker in ('aero', 'prop', 'gear'):
        for name, axis, sign in (('faxil', 'x', -1.0), ('fside', 'y', 1.0), ('fnrml', 'z', -1.0)):
            add(f'{name}_{maker}', f'forces/fb{axis}-{maker}-lbs', sign * _POUND_FORCE)
    for maker in ('aero', 'prop', 'gear', 'total'):
        for name in 'LMN':
            add(f'{name}_{maker}', f'moments/{name.lower()}-{maker}-lbsft', _POUND_FOOT)


def _air(t: DatarefTable, world: World) -> None:
    """Add air data (2.1 to 2.8, 2.19)."""
    def s() -> AircraftState:
        return world.state

    for name in ('indicated_airspeed', 'indicated_airspeed2'):
        t.float_(P + name, lambda: s().cas / KNOT)
    t.float_(P + 'true_airspeed', lambda: s().tas)
    t.float_(P + 'equivalent_airspeed', lambda: s().eas / KNOT, since=12)
    for base, since in ((P, 9), (P2, 11)):
        t.float_(base + 'alpha', lambda: math.degrees(s().alpha), since=since)
        t.float_(base + 'beta', lambda: math.degrees(s().beta), since=since)
    t.float_('sim/flightmodel2/misc/AoA_angle_degrees', lambda: math.degrees(s().alpha))
    t.float_('sim/flightmodel/misc/machno', lambda: s().mach)
    t.float_('sim/flightmodel/misc/Qstatic', lambda: s().qbar / _PSF)


def _model(t: DatarefTable, world: World) -> None:
    """Add crashes (3.14), the versions and the aircraft's names."""
    t.int_('sim/flightmodel2/misc/has_crashed', lambda: int(world.aircraft.crash is not None),
           since=10)
    t.int_('sim/version/xplane_internal_version', lambda: _INTERNAL_VERSION[t.version], since=11)
    t.int_('sim/aircraft/gear/acf_gear_retract', lambda: int(world.aircraft.retractable))
    t.int_('sim/aircraft/overflow/acf_num_tanks', lambda: world.aircraft.tank_count)
    model = world.aircraft.model
    t.text('sim/aircraft/view/acf_relative_path', aircraft_path(model), 512)
    t.text('sim/aircraft/view/acf_ICAO', icao_type(model), 40)
    t.text('sim/aircraft/view/acf_descrip', f'{model} (JSBSim)', 260)
    t.text('sim/aircraft/view/acf_ui_name', model, 250, since=12)
