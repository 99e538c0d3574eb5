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

"""X-Plane's datarefs and world on top of the aircraft, against JSBSim and by hand."""

from collections.abc import Sequence
import math
import random

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from simulated_xplane import FRAME, Sim

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.geometry import XplaneLocalFrame
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore
from xplane_bridge.simulation.peers.xplane.entries import DatarefType

P = 'sim/flightmodel/position/'
PARKED = Initial(parked=True, heading_deg=90.0)
# The multiples of half a degree nearest to the home airfield: the local frame's origin.
ORIGIN = (47.5, 8.5)


@pytest.fixture
def sim() -> Sim:
    """Return a trimmed aircraft heading east."""
    return Sim()


@pytest.fixture(scope='module')
def turning() -> Sim:
    """Return an aircraft in a climbing turn in wind, three seconds on. Read-only."""
    sim = Sim(version=12)
    sim.aircraft.set_wind(3.0, -4.0)
    sim.put('sim/joystick/yoke_roll_ratio', 0.15)
    sim.put('sim/joystick/yoke_pitch_ratio', 0.1)
    sim.put('sim/flightmodel/controls/flaprqst', 0.5)
    sim.run(3.0)
    return sim


# Values against JSBSim, conversion factors by hand

MAPPINGS = [
    (P + 'latitude', 'position/lat-geod-deg', 1.0, 0.0),
    (P + 'longitude', 'position/long-gc-deg', 1.0, 0.0),
    (P + 'elevation', 'position/h-sl-ft', 0.3048, 0.0),
    (P + 'y_agl', 'position/h-agl-ft', 0.3048, 0.0),
    ('sim/flightmodel2/position/ellipsoid_height', 'position/geod-alt-ft', 1.0, 0.0),
    ('sim/flightmodel2/position/pressure_altitude', 'atmosphere/pressure-altitude', 1.0, 0.0),
    (P + 'true_psi', 'attitude/psi-deg', 1.0, 0.0),
    (P + 'true_theta', 'attitude/theta-deg', 1.0, 0.0),
    (P + 'true_phi', 'attitude/phi-deg', 1.0, 0.0),
    (P + 'groundspeed', 'velocities/vg-fps', 0.3048, 0.0),
    (P + 'hpath', 'flight-path/psi-gt-rad', 57.29578, 0.0),
    (P + 'vpath', 'flight-path/gamma-deg', 1.0, 0.0),
    (P + 'vh_ind', 'velocities/h-dot-fps', 0.3048, 0.0),
    (P + 'vh_ind_fpm', 'velocities/h-dot-fps', 60.0, 0.0),
    (P + 'Prad', 'velocities/p-rad_sec', 1.0, 0.0),
    (P + 'Qrad', 'velocities/q-rad_sec', 1.0, 0.0),
    (P + 'Rrad', 'velocities/r-rad_sec', 1.0, 0.0),
    (P + 'P', 'velocities/p-rad_sec', 57.29578, 0.0),
    (P + 'Q', 'velocities/q-rad_sec', 57.29578, 0.0),
    (P + 'R', 'velocities/r-rad_sec', 57.29578, 0.0),
    (P + 'Q_dot', 'accelerations/qdot-rad_sec2', 57.29578, 0.0),
    (P + 'psi_dot', 'velocities/psidot-rad_sec', 57.29578, 0.0),
    (P + 'alpha', 'aero/alpha-deg', 1.0, 0.0),
    (P + 'beta', 'aero/beta-deg', 1.0, 0.0),
    (P + 'indicated_airspeed', 'velocities/vc-kts', 1.0, 0.0),
    (P + 'equivalent_airspeed', 'velocities/ve-kts', 1.0, 0.0),
    (P + 'true_airspeed', 'velocities/vtrue-fps', 0.3048, 0.0),
    ('sim/flightmodel/misc/machno', 'velocities/mach', 1.0, 0.0),
    ('sim/flightmodel/misc/Qstatic', 'aero/qbar-psf', 1.0, 0.0),
    ('sim/weather/temperature_ambient_c', 'atmosphere/T-R', 5.0 / 9.0, -273.15),
    ('sim/weather/aircraft/temperature_ambient_deg_c', 'atmosphere/T-R', 5.0 / 9.0, -273.15),
    ('sim/weather/barometer_current_inhg', 'atmosphere/P-psf', 0.0141390, 0.0),
    ('sim/weather/aircraft/barometer_current_pas', 'atmosphere/P-psf', 47.8803, 0.0),
    ('sim/weather/rho', 'atmosphere/rho-slugs_ft3', 515.379, 0.0),
    ('sim/weather/sigma', 'atmosphere/sigma', 1.0, 0.0),
    ('sim/weather/speed_sound_ms', 'atmosphere/a-fps', 0.3048, 0.0),
    ('sim/cockpit2/engine/indicators/engine_speed_rpm', 'propulsion/engine/engine-rpm', 1.0, 0.0),
    ('sim/flightmodel/engine/ENGN_tacrad', 'propulsion/engine/engine-rpm', 0.10471976, 0.0),
    ('sim/cockpit2/engine/indicators/MPR_in_hg', 'propulsion/engine/map-inhg', 1.0, 0.0),
    ('sim/cockpit2/engine/indicators/CHT_deg_C', 'propulsion/engine/cht-degF',
     5.0 / 9.0, -160.0 / 9.0),
    ('sim/cockpit2/engine/indicators/oil_pressure_psi', 'propulsion/engine/oil-pressure-psi',
     1.0, 0.0),
    ('sim/flightmodel/engine/POINT_thrust', 'propulsion/engine/thrust-lbs', 4.448222, 0.0),
    ('sim/flightmodel/engine/ENGN_FF_', 'propulsion/engine/fuel-flow-rate-pps', 0.453592, 0.0),
    ('sim/flightmodel2/engines/throttle_used_ratio', 'fcs/throttle-pos-norm', 1.0, 0.0),
    ('sim/flightmodel/weight/m_fuel', 'propulsion/tank/contents-lbs', 0.453592, 0.0),
    ('sim/flightmodel/weight/m_total', 'inertia/weight-lbs', 0.453592, 0.0),
    ('sim/flightmodel/controls/flaprat', 'fcs/flap-pos-norm', 1.0, 0.0),
    ('sim/flightmodel2/gear/deploy_ratio', 'gear/gear-pos-norm', 1.0, 0.0),
    ('sim/weather/temperature_le_c', 'propulsion/tat-c', 1.0, 0.0),
    ('sim/weather/aircraft/temperature_leadingedge_deg_c', 'propulsion/tat-c', 1.0, 0.0),
    ('sim/cockpit2/gauges/indicators/ground_speed_kt', 'velocities/vg-fps', 0.592484, 0.0),
    ('sim/cockpit2/gauges/indicators/calibrated_airspeed_kts_pilot', 'velocities/vc-kts',
     1.0, 0.0),
    ('sim/cockpit2/engine/indicators/prop_speed_rsc', 'propulsion/engine/propeller-rpm',
     0.10471976, 0.0),
    ('sim/flightmodel/weight/m_fuel2', 'propulsion/tank[1]/contents-lbs', 0.453592, 0.0),
    # To the tail, to the right, and up; the moments as the rates.
    ('sim/flightmodel/forces/faxil_prop', 'forces/fbx-prop-lbs', -4.448222, 0.0),
    ('sim/flightmodel/forces/faxil_aero', 'forces/fbx-aero-lbs', -4.448222, 0.0),
    ('sim/flightmodel/forces/fside_aero', 'forces/fby-aero-lbs', 4.448222, 0.0),
    ('sim/flightmodel/forces/fnrml_aero', 'forces/fbz-aero-lbs', -4.448222, 0.0),
    ('sim/flightmodel/forces/L_aero', 'moments/l-aero-lbsft', 1.355818, 0.0),
    ('sim/flightmodel/forces/M_total', 'moments/m-total-lbsft', 1.355818, 0.0),
    ('sim/flightmodel/forces/N_prop', 'moments/n-prop-lbsft', 1.355818, 0.0),
]


@pytest.mark.parametrize(('name', 'source', 'factor', 'offset'), MAPPINGS)
def test_dataref_equals_jsbsim(turning: Sim, name: str, source: str, factor: float,
                               offset: float) -> None:
    value = turning.one(name)
    assert value != 0.0
    expected = turning.aircraft.property_value(source) * factor + offset
    assert value == pytest.approx(expected, rel=5e-5)


def test_types_are_xplanes(sim: Sim) -> None:
    for name, kind, size in [
            (P + 'latitude', DatarefType.DOUBLE, 1), (P + 'q', DatarefType.FLOAT_ARRAY, 4),
            (P + 'psi', DatarefType.FLOAT, 1), ('sim/time/paused', DatarefType.INT, 1),
            ('sim/operation/override/override_planepath', DatarefType.INT_ARRAY, 20),
            ('sim/flightmodel/engine/ENGN_thro', DatarefType.FLOAT_ARRAY, 8),
            ('sim/aircraft/view/acf_tailnum', DatarefType.BYTES, 40)]:
        value = sim.store.read(name)
        assert value is not None
        assert (value.type, len(value.values)) == (kind, size)
    for name in sim.store.names:
        value = sim.store.read(name)
        assert value is not None
        kind_of_number = int if value.type.is_integer else float
        assert all(type(v) is kind_of_number for v in value.values), name


def test_texts_are_bytes_filled_with_nuls(sim: Sim) -> None:
    assert bytes(map(int, sim.many('sim/aircraft/view/acf_ICAO'))) == b'C172' + bytes(36)


# Attitude, frames and quaternion

QUATERNIONS = [     # docs/wire/xplane_datarefs.md, section 6
    ('A level', 90.0, 0.0, 0.0, (.70711, 0.0, 0.0, .70711)),
    ('B right bank', 90.0, 0.0, 30.0, (.68301, .18301, .18301, .68301)),
    ('C nose up', 90.0, 10.0, 0.0, (.70442, -.06163, .06163, .70442)),
    ('F right wing down', 90.0, 0.0, 10.0, (.70442, .06163, .06163, .70442)),
    ('E north', 0.0, 0.0, 0.0, (1.0, 0.0, 0.0, 0.0)),
]


@pytest.mark.parametrize(('case', 'psi', 'theta', 'phi', 'q'), QUATERNIONS)
def test_quaternion_at_the_origin_is_the_notes(sim: Sim, case: str, psi: float, theta: float,
                                               phi: float, q: Sequence[float]) -> None:
    sim.world.teleport(0, *ORIGIN, 1500.0, theta, phi, psi)
    assert sim.many(P + 'q') == pytest.approx(q, abs=2e-5)
    assert math.remainder(sim.one(P + 'psi') - psi, 360.0) == pytest.approx(0.0, abs=1e-6)
    assert sim.one(P + 'theta') == pytest.approx(theta, abs=1e-6)
    assert sim.one(P + 'phi') == pytest.approx(phi, abs=1e-6)
    assert sim.many(P + 'local_x') + sim.many(P + 'local_z') == pytest.approx((0, 0), abs=1e-6)
    assert sim.one(P + 'local_y') == pytest.approx(1500.0, abs=0.01)


def test_origin_is_at_sea_level_on_half_degrees(sim: Sim) -> None:
    assert (sim.one(P + 'lat_ref'), sim.one(P + 'lon_ref')) == ORIGIN
    # 0.1 degrees south of it: 11.1 km along +z; the surface has dropped by d^2 / 2R = 9.7 m.
    assert sim.one(P + 'local_z') == pytest.approx(11_121.0, abs=10.0)
    assert sim.one(P + 'local_x') == pytest.approx(0.0, abs=1e-3)
    assert sim.one(P + 'local_y') == pytest.approx(1500.0 - 9.7, abs=0.1)


def test_local_angles_differ_from_true_ones_by_the_meridians_convergence(sim: Sim) -> None:
    # Half a degree east of the origin, where true north leans west in the origin's axes by
    # 0.5 sin 47.5 = 0.369 degrees and up leans east by 0.5 cos 47.5 = 0.338 degrees.
    sim.world.teleport(0, 47.5, 9.0, 1500.0, 0.0, 0.0, 0.0)
    assert sim.one(P + 'lon_ref') == 8.5                # 38 km is not far enough for a jump
    assert sim.one(P + 'true_psi') == pytest.approx(0.0, abs=1e-6)
    assert sim.one(P + 'psi') == pytest.approx(360.0 - 0.369, abs=0.002)
    assert sim.one(P + 'phi') == pytest.approx(0.338, abs=0.002)    # level, but leaning east
    assert sim.one(P + 'true_phi') == pytest.approx(0.0, abs=1e-6)
    w, _, _, z = sim.many(P + 'q')
    assert 2.0 * math.atan2(z, w) == pytest.approx(math.radians(-0.369), abs=1e-4)
    speed = sim.one(P + 'groundspeed')
    assert sim.one(P + 'local_vx') == pytest.approx(-speed * math.sin(math.radians(0.369)),
                                                    abs=0.01)


def test_origin_jumps_when_the_aircraft_is_far(sim: Sim) -> None:
    sim.world.teleport(0, 47.5, 9.1, 1500.0)            # 45 km
    assert sim.one(P + 'lon_ref') == 8.5
    before = sim.one(P + 'local_x')
    assert before == pytest.approx(45_200.0, abs=200.0)
    sim.world.teleport(0, 47.5, 9.2, 1500.0)            # 53 km
    assert (sim.one(P + 'lat_ref'), sim.one(P + 'lon_ref')) == (47.5, 9.0)
    assert sim.one(P + 'local_x') == pytest.approx(15_060.0, abs=60.0)
    assert sim.one(P + 'longitude') == pytest.approx(9.2, abs=1e-9)


def test_origin_jumps_in_flight() -> None:
    sim = Sim(Initial(lat_deg=47.5, lon_deg=8.5, airspeed_kt=100.0))
    sim.world.teleport(0, lon_deg=9.16, heading_deg=90.0)       # 49.7 km east
    assert sim.one(P + 'lon_ref') == 8.5
    sim.run(10.0)
    assert sim.one(P + 'lon_ref') == 9.0


def test_local_frame_round_trip() -> None:
    frame = XplaneLocalFrame(47.5, 8.5)
    x, y, z = frame.to_local(47.2, 8.9, 2000.0)
    assert x > 30_000.0
    assert z > 33_000.0
    assert frame.to_geodetic(x, y, z) == pytest.approx((47.2, 8.9, 2000.0), abs=1e-6)


# Velocity and acceleration


def test_local_velocity_is_the_difference_of_position_and_acceleration_that_of_velocity(
        sim: Sim) -> None:
    sim.put('sim/joystick/yoke_roll_ratio', 0.2)
    sim.run(2.0)
    names = {kind: [P + f'local_{kind}{axis}' for axis in 'xyz'] for kind in ('', 'v', 'a')}
    rows = []
    for _ in range(3):
        rows.append({kind: [sim.one(n) for n in names[kind]] for kind in names})
        sim.aircraft.step()
    first, middle, last = rows
    for axis in range(3):
        assert middle['v'][axis] == pytest.approx(
            (last[''][axis] - first[''][axis]) * 60.0, abs=0.01)
        assert middle['a'][axis] == pytest.approx(
            (last['v'][axis] - first['v'][axis]) * 60.0, abs=0.05)


def test_velocity_axes_are_east_up_south(sim: Sim) -> None:
    sim.aircraft.teleport(*ORIGIN, 1500.0, velocity_ned=(30.0, 40.0, -2.0))
    velocity = [sim.one(P + f'local_v{axis}') for axis in 'xyz']
    assert velocity == pytest.approx([40.0, 2.0, -30.0], abs=0.01)
    assert sim.one(P + 'groundspeed') == pytest.approx(50.0, abs=0.01)
    assert sim.one(P + 'hpath') == pytest.approx(53.13, abs=0.01)
    assert sim.one(P + 'vh_ind') == pytest.approx(2.0, abs=0.01)


def test_parked_load_is_one_g_and_nose_up_makes_the_axial_one_negative() -> None:
    sim = Sim(PARKED)
    theta = math.radians(sim.one(P + 'true_theta'))
    phi = math.radians(sim.one(P + 'true_phi'))
    assert math.degrees(theta) == pytest.approx(2.4, abs=0.2)
    f = 'sim/flightmodel/forces/'
    assert sim.one(f + 'g_nrml') == pytest.approx(math.cos(theta), abs=1e-3)
    assert sim.one(f + 'g_axil') == pytest.approx(-math.sin(theta), abs=1e-3)     # case C
    assert sim.one(f + 'g_side') == pytest.approx(-math.sin(phi), abs=1e-3)       # case F
    assert sim.one('sim/flightmodel2/misc/gforce_axil') == sim.one(f + 'g_axil')
    assert [sim.one(P + f'local_a{axis}') for axis in 'xyz'] == pytest.approx(
        [0.0, 0.0, 0.0], abs=0.01)
    assert sim.one('sim/flightmodel/failures/onground_any') == 1
    assert sim.one('sim/flightmodel/failures/onground_all') == 1
    assert sim.many('sim/flightmodel2/gear/on_ground') == (1, 1, 1, 0, 0, 0, 0, 0, 0, 0)


def test_acceleration_on_the_runway_is_negative_axial_and_braking_positive() -> None:
    sim = Sim(PARKED)
    sim.put('sim/flightmodel/controls/parkbrake', 0.0)
    sim.put('sim/flightmodel/engine/ENGN_thro', 1.0)
    sim.run(5.0)
    f = 'sim/flightmodel/forces/'
    assert sim.one(f + 'g_axil') < -0.15
    assert sim.one(P + 'local_ax') > 1.0
    sim.put('sim/flightmodel/engine/ENGN_thro', 0.0)
    sim.put('sim/cockpit2/controls/left_brake_ratio', 1.0)
    sim.put('sim/cockpit2/controls/right_brake_ratio', 1.0)
    sim.run(0.5)
    assert sim.one(f + 'g_axil') > 0.1                  # case D
    assert sim.one(P + 'local_ax') < -1.0


def test_side_load_is_positive_to_the_right(sim: Sim) -> None:
    # Air from the right pushes the fuselage to the left: the force, and so g_side, is negative.
    sim.aircraft.set_wind(10.0, 0.0)                    # heading east, from the south
    sim.run(0.05)
    assert sim.one(P + 'beta') > 5.0
    assert sim.one('sim/flightmodel/forces/g_side') < -0.05


def test_coordinated_turn_of_30_degrees_is_case_b() -> None:
    sim = Sim(Initial(lat_deg=47.5, lon_deg=8.5))
    for _ in range(60 * 25):                            # hold 30 degrees of bank, level
        roll = 0.1 * (30.0 - sim.one(P + 'true_phi')) - 0.02 * sim.one(P + 'P')
        pitch = 0.05 * (0.0 - sim.one(P + 'vh_ind')) - 0.02 * sim.one(P + 'Q')
        sim.put('sim/joystick/yoke_roll_ratio', roll)
        sim.put('sim/joystick/yoke_pitch_ratio', pitch + 0.15)
        sim.put('sim/joystick/yoke_heading_ratio', 0.1 * sim.one(P + 'beta'))
        sim.world.advance(FRAME)
    bank = math.radians(sim.one(P + 'true_phi'))
    assert math.degrees(bank) == pytest.approx(30.0, abs=2.0)
    speed = sim.one(P + 'true_airspeed')
    rate = 9.80665 * math.tan(bank) / speed
    assert sim.one('sim/flightmodel/forces/g_nrml') == pytest.approx(1 / math.cos(bank), rel=0.02)
    assert sim.one('sim/flightmodel/forces/g_side') == pytest.approx(0.0, abs=0.03)
    assert sim.one(P + 'Prad') == pytest.approx(0.0, abs=0.01)
    assert sim.one(P + 'Qrad') == pytest.approx(rate * math.sin(bank), rel=0.1)
    assert sim.one(P + 'Rrad') == pytest.approx(rate * math.cos(bank), rel=0.1)
    # The acceleration points to the right of the track: south when heading east.
    right = math.radians(sim.one(P + 'hpath') + 90.0)
    toward_right = (sim.one(P + 'local_ax') * math.sin(right)
                    - sim.one(P + 'local_az') * math.cos(right))
    assert toward_right == pytest.approx(9.80665 * math.tan(bank), rel=0.05)


def test_right_yoke_rolls_right_and_pulled_yoke_pitches_up(sim: Sim) -> None:
    sim.put('sim/joystick/yoke_roll_ratio', 0.5)
    sim.run(1.0)
    assert sim.one(P + 'P') > 5.0
    assert sim.one(P + 'phi') > 5.0
    pulled = Sim()
    pulled.put('sim/cockpit2/controls/yoke_pitch_ratio', 0.3)
    pulled.run(0.5)
    assert pulled.one(P + 'Q') > 2.0
    assert pulled.one(P + 'theta') > 1.5
    pushed = Sim()
    pushed.put('sim/joystick/yoke_heading_ratio', 0.5)
    pushed.run(0.5)
    assert pushed.one(P + 'R') > 1.0


# Air


def test_wind_points_downwind_and_its_direction_is_where_it_comes_from(sim: Sim) -> None:
    sim.aircraft.teleport(*ORIGIN, 1500.0)
    sim.aircraft.set_wind(0.0, 10.0)                    # a west wind: the air moves east
    sim.world.advance(FRAME)
    wind = [sim.one(f'sim/weather/wind_now_{axis}_msc') for axis in 'xyz']
    assert wind == pytest.approx([10.0, 0.0, 0.0], abs=0.01)
    assert sim.one('sim/weather/wind_direction_degt') == pytest.approx(270.0)
    assert sim.one('sim/weather/wind_speed_kt') == pytest.approx(10.0)      # m/s nevertheless
    sim.aircraft.set_wind(-5.0, 0.0, 1.0)               # a sinking north wind
    sim.world.advance(FRAME)
    wind = [sim.one(f'sim/weather/wind_now_{axis}_msc') for axis in 'xyz']
    assert wind == pytest.approx([0.0, -1.0, 5.0], abs=0.01)
    assert sim.one('sim/weather/wind_direction_degt') == pytest.approx(0.0, abs=1e-6)


def test_airspeed_is_ground_velocity_less_wind(turning: Sim) -> None:
    air = [turning.one(P + f'local_v{a}') - turning.one(f'sim/weather/wind_now_{a}_msc')
           for a in 'xyz']
    assert math.hypot(*air) == pytest.approx(turning.one(P + 'true_airspeed'), rel=1e-4)


def test_magnetic_variation_is_positive_west(sim: Sim) -> None:
    sim.run(1.0)
    assert sim.one(P + 'magnetic_variation') == -3.0
    assert sim.one(P + 'mag_psi') == pytest.approx(sim.one(P + 'true_psi') - 3.0)


# Versions


def test_weather_names_of_12_do_not_exist_in_11_and_the_old_ones_remain_in_12() -> None:
    world = World(Aircraft())
    old, new = (f'sim/weather/{n}' for n in ('temperature_ambient_c',
                                             'aircraft/temperature_ambient_deg_c'))
    for version in (9, 10, 11):
        store = DatarefStore(world, version)
        assert store.read(old) is not None
        assert store.read(new) is None
    twelve = DatarefStore(world, 12)
    assert twelve.read(old) is not None
    assert not twelve.write(old, [1.0])
    assert twelve.read(new) is not None


@pytest.mark.parametrize(('name', 'since'), [
    (P + 'true_psi', 10), (P + 'mag_psi', 10), (P + 'equivalent_airspeed', 12),
    ('sim/time/sim_speed_actual', 10), ('sim/time/sim_speed_actual_ogl', 11),
    ('sim/time/ground_speed_flt', 11), ('sim/time/is_in_replay', 11),
    ('sim/version/xplane_internal_version', 11),
    ('sim/operation/override/override_toe_brakes', 11),
    ('sim/cockpit2/controls/flap_handle_request_ratio', 12), (P + 'psi', 9)])
def test_names_exist_since_their_version(name: str, since: int) -> None:
    world = World(Aircraft())
    for version in (9, 10, 11, 12):
        assert (DatarefStore(world, version).read(name) is not None) == (version >= since)


def test_internal_version_has_six_digits() -> None:
    world = World(Aircraft())
    for version in (11, 12):
        value = DatarefStore(world, version).read('sim/version/xplane_internal_version')
        assert value is not None
        assert value.values[0] // 10_000 == version


def test_engine_arrays_have_16_elements_in_12() -> None:
    assert len(Sim(version=12).many('sim/flightmodel/engine/ENGN_thro')) == 16


def test_aircraft_say_whether_their_gear_retracts() -> None:
    for model, retracts in (('c172p', 0), ('c310', 1)):
        assert Sim(PARKED, model=model).one('sim/aircraft/gear/acf_gear_retract') == retracts


def test_the_ground_bears_a_parked_aircraft() -> None:
    sim = Sim(PARKED)
    weight = sim.one('sim/flightmodel/weight/m_total') * 9.80665
    assert sim.one('sim/flightmodel/forces/fnrml_gear') == pytest.approx(weight, rel=0.02)
    assert sim.one('sim/aircraft/overflow/acf_num_tanks') == 2
    sim.put('sim/flightmodel/weight/m_fuel2', 12.0)
    assert sim.many('sim/flightmodel/weight/m_fuel')[1] == pytest.approx(12.0)
    sim.put('sim/flightmodel/weight/m_fuel3', 12.0)
    assert sim.one('sim/flightmodel/weight/m_fuel3') == 0.0


def test_unknown_version_is_refused() -> None:
    with pytest.raises(ValueError, match='version is 8'):
        DatarefStore(World(Aircraft()), 8)


# Missing datarefs


def test_unmodelled_and_misspelt_names_are_unknown(sim: Sim) -> None:
    for name in ('sim/flightmodel2/misc/gforce_axial', 'sim/flightmodel/controls/parkbrakel',
                 'sim/cockpit/radios/nav1_hdef_dot', 'sim/weather/thermal_percent',
                 'sim/flightmodel/engine/ENGN_thro[0]', '', 'sim/none'):
        assert sim.store.read(name) is None
        assert not sim.store.write(name, [1.0])
        assert sim.store.element_reader(name, 0) is None


def test_figures_that_an_engine_has_not_are_0() -> None:
    jet = Sim(Initial(altitude_msl=3000.0, airspeed_kt=250.0), model='737')
    n1 = jet.many('sim/flightmodel/engine/ENGN_N1_')
    assert min(n1[:2]) > 50.0
    assert not any(n1[2:])
    assert not any(jet.many('sim/cockpit2/engine/indicators/MPR_in_hg'))
    assert not any(Sim().many('sim/cockpit2/engine/indicators/N1_percent'))


# The panel


def test_settings_stay_as_written_under_all_of_their_names(sim: Sim) -> None:
    before = sim.world.aircraft.state
    for old, new, value in (
            ('sim/cockpit/radios/com1_freq_hz',
             'sim/cockpit2/radios/actuators/com1_frequency_hz', 11_830),
            ('sim/cockpit/autopilot/heading_mag',
             'sim/cockpit2/autopilot/heading_dial_deg_mag_pilot', 180.5),
            ('sim/cockpit/autopilot/altitude', 'sim/cockpit2/autopilot/altitude_dial_ft', 2000.0),
            ('sim/cockpit/autopilot/autopilot_mode',
             'sim/cockpit2/autopilot/flight_director_mode', 2)):
        sim.put(old, value)
        assert sim.one(new) == value
        assert DatarefStore(sim.world, 12).element_reader(new, 0)() == value
    assert sim.one('sim/cockpit2/autopilot/servos_on') == 1
    sim.put('sim/cockpit2/electrical/battery_on', 0, 1)
    assert sim.one('sim/cockpit/electrical/battery_on') == 0
    sim.put('sim/aircraft/view/acf_tailnum', *b'D-EFGH', -1)
    assert bytes(map(int, sim.many('sim/aircraft/view/acf_tailnum')))[:7] == b'D-EFGH\xff'
    for version, engines in ((11, 8), (12, 16)):
        pumps = DatarefStore(sim.world, version).read('sim/cockpit/engine/fuel_pump_on')
        assert pumps is not None
        assert len(pumps.values) == engines
    sim.put('sim/test/test_float', 0.25)
    assert sim.one('sim/test/test_float') == 0.25
    assert sim.world.aircraft.state is before


def test_settings_that_pyg5_shows(sim: Sim) -> None:
    """It asks for the units of pressure, the tank in use and the carburettor's heat."""
    heat = 'sim/cockpit2/engine/actuators/carb_heat_ratio'
    assert sim.one('sim/physics/metric_press') == 0
    assert sim.one('sim/cockpit2/fuel/fuel_tank_selector') == 4
    assert sim.store.element_reader(heat, 0)() == 0.0
    sim.put(heat, 0.5)
    assert sim.many(heat)[:2] == (0.5, 0.0)


def test_altimeter_follows_its_setting(sim: Sim) -> None:
    altitude = sim.one(P + 'elevation') / 0.3048
    pilot = 'sim/cockpit2/gauges/indicators/altitude_ft_pilot'
    setting = 'sim/cockpit2/gauges/actuators/barometer_setting_in_hg_pilot'
    assert sim.one(setting) == 29.92
    assert sim.one(pilot) == pytest.approx(altitude, abs=5.0)
    # An inch of mercury is about 920 ft.
    sim.put(setting, 30.92)
    assert sim.one(pilot) - altitude == pytest.approx(920.0, rel=0.02)
    assert sim.one('sim/cockpit2/gauges/indicators/altitude_ft_copilot') == pytest.approx(
        altitude, abs=5.0)
    sim.put(setting, -1.0)
    assert math.isfinite(sim.one(pilot))


def test_trends_are_the_changes_of_what_is_shown(sim: Sim) -> None:
    gauges = 'sim/cockpit2/gauges/indicators/'
    sim.put('sim/joystick/yoke_pitch_ratio', -0.2)
    sim.run(2.0)

    def energy() -> float:
        return (sim.one(P + 'elevation')
                + sim.one(P + 'true_airspeed') ** 2 / 2.0 / sim.aircraft.state.gravity)

    airspeed, height = sim.one(P + 'indicated_airspeed'), energy()
    trend = sim.one(gauges + 'airspeed_acceleration_kts_sec_pilot')
    total = sim.one(gauges + 'total_energy_fpm')
    assert trend > 1.0
    sim.run(0.1)
    trend += sim.one(gauges + 'airspeed_acceleration_kts_sec_pilot')
    total += sim.one(gauges + 'total_energy_fpm')
    assert sim.one(P + 'indicated_airspeed') - airspeed == pytest.approx(0.05 * trend, rel=0.02)
    assert (energy() - height) / 0.3048 == pytest.approx(
        0.05 * total / 60.0, rel=0.02, abs=0.02)


def test_gyros_show_the_attitude(turning: Sim) -> None:
    for kind in ('AHARS', 'vacuum', 'electric'):
        gauges = 'sim/cockpit2/gauges/indicators/'
        assert turning.one(f'{gauges}pitch_{kind}_deg_pilot') == turning.one(P + 'true_theta')
        assert turning.one(f'{gauges}roll_{kind}_deg_copilot') == turning.one(P + 'true_phi')
        assert turning.one(f'{gauges}heading_{kind}_deg_mag_pilot') == turning.one(P + 'mag_psi')


# Rules of reading and writing


def test_elements_are_read_by_index(sim: Sim) -> None:
    q = sim.many(P + 'q')
    assert sim.store.element_reader(P + 'q', 3)() == q[3]
    assert sim.store.element_reader(P + 'q', 4) is None
    assert sim.store.element_reader(P + 'q', -1) is None
    assert sim.store.element_reader(P + 'latitude', 0)() == sim.one(P + 'latitude')


def test_read_only_is_not_written(sim: Sim) -> None:
    for name in (P + 'latitude', P + 'true_psi', 'sim/time/paused', P + 'local_ax',
                 'sim/flightmodel/forces/g_nrml', 'sim/aircraft/view/acf_ICAO',
                 'sim/flightmodel2/engines/throttle_used_ratio'):
        before = sim.many(name)
        assert not sim.store.write(name, [1.0])
        assert sim.many(name) == before


def test_short_long_and_offset_writes_of_arrays(sim: Sim) -> None:
    name = 'sim/operation/override/override_planepath'
    sim.put(name, *[1.0] * 25)                          # surplus dropped
    assert sim.many(name) == (1,) * 20
    sim.put(name, 0.0, 0.0)                             # the rest is unchanged
    assert sim.many(name) == (0, 0) + (1,) * 18
    assert sim.store.write(name, [0.0, 0.0, 0.0], offset=18)
    assert sim.many(name) == (0, 0) + (1,) * 16 + (0, 0)
    assert not sim.store.write(name, [1.0], offset=20)
    assert not sim.store.write(name, [])
    assert not sim.store.write('sim/time/sim_speed', [2.0], offset=1)


def test_ints_are_cut_toward_zero(sim: Sim) -> None:
    sim.put('sim/time/sim_speed', 2.9)
    assert sim.one('sim/time/sim_speed') == 2
    sim.put('sim/operation/override/override_joystick', -0.9)
    assert sim.one('sim/operation/override/override_joystick') == 0


def test_numbers_that_are_none_are_not_written(sim: Sim) -> None:
    for bad in (math.nan, math.inf, -math.inf):
        assert not sim.store.write('sim/joystick/yoke_pitch_ratio', [bad])
        assert not sim.store.write('sim/flightmodel/engine/ENGN_thro', [0.5, bad])
    assert sim.one('sim/joystick/yoke_pitch_ratio') == 0.0


def test_any_writes_leave_every_dataref_finite() -> None:
    sim = Sim(version=12)
    rng = random.Random(1)
    numbers = [0.0, 1.0, -1.0, 1e9, -1e300, 1e300, -2.0, 0.5, math.nan, -1e-320]
    for k in range(600):
        values = [rng.choice([*numbers, rng.uniform(-400.0, 400.0)])
                  for _ in range(rng.randint(0, 20))]
        sim.store.write(rng.choice(sim.store.names), values, rng.choice([0, 0, 0, 1, 7]))
        if k % 3 == 0:
            sim.world.sim_speed = 1
            sim.world.advance(FRAME)
        if k % 50 == 0:
            for name in sim.store.names:
                assert all(map(math.isfinite, sim.many(name))), name


# Controls


@pytest.mark.parametrize(('name', 'source', 'sign'), [
    ('sim/joystick/yoke_pitch_ratio', 'fcs/elevator-cmd-norm', -1.0),
    ('sim/cockpit2/controls/yoke_pitch_ratio', 'fcs/elevator-cmd-norm', -1.0),
    ('sim/joystick/yoke_roll_ratio', 'fcs/aileron-cmd-norm', 1.0),
    ('sim/cockpit2/controls/yoke_roll_ratio', 'fcs/aileron-cmd-norm', 1.0),
    ('sim/joystick/yoke_heading_ratio', 'fcs/rudder-cmd-norm', -1.0),
    ('sim/flightmodel/controls/elv_trim', 'fcs/pitch-trim-cmd-norm', -1.0),
    ('sim/cockpit2/controls/aileron_trim', 'fcs/roll-trim-cmd-norm', 1.0),
    ('sim/flightmodel/controls/flaprqst', 'fcs/flap-cmd-norm', 1.0),
    ('sim/cockpit2/controls/flap_ratio', 'fcs/flap-cmd-norm', 1.0),
    ('sim/cockpit2/engine/actuators/throttle_ratio_all', 'fcs/throttle-cmd-norm', 1.0),
    ('sim/flightmodel/engine/ENGN_thro', 'fcs/throttle-cmd-norm', 1.0),
    ('sim/flightmodel/engine/ENGN_mixt', 'fcs/mixture-cmd-norm', 1.0),
    ('sim/flightmodel/controls/sbrkrqst', 'fcs/speedbrake-cmd-norm', 1.0),
    ('sim/flightmodel/controls/parkbrake', 'fcs/left-brake-cmd-norm', 1.0),
    ('sim/cockpit2/controls/right_brake_ratio', 'fcs/right-brake-cmd-norm', 1.0),
])
def test_controls_reach_jsbsim_and_read_back(sim: Sim, name: str, source: str,
                                             sign: float) -> None:
    sim.put(name, 0.25)
    assert sim.aircraft.property_value(source) == pytest.approx(0.25 * sign)
    assert sim.one(name) == pytest.approx(0.25)


@pytest.mark.parametrize('override', ['override_control_surfaces', 'override_flightcontrol'])
def test_single_surfaces_obey_an_override_only(sim: Sim, override: str) -> None:
    controls = 'sim/flightmodel/controls/'
    moves = {'wing1l_ail1def': ('roll', 0.5), 'wing2r_ail2def': ('roll', -0.5),
             'hstab1_elv1def': ('pitch', -0.5), 'vstab1_rud1def': ('heading', 0.5)}
    for name, (axis, ratio) in moves.items():
        yoke = f'sim/joystick/yoke_{axis}_ratio'
        sim.put(f'sim/operation/override/{override}', 0)
        before = sim.one(yoke)
        sim.put(controls + name, 10.0)
        assert sim.one(yoke) == before
        sim.put(f'sim/operation/override/{override}', 1)
        sim.put(controls + name, 10.0)
        assert sim.one(yoke) == pytest.approx(ratio)
        assert sim.one(controls + name) == pytest.approx(10.0)
        sim.put(controls + name, -45.0)
        assert sim.one(yoke) == -math.copysign(1.0, ratio)


def test_gear_handle(sim: Sim) -> None:
    sim.put('sim/cockpit/switches/gear_handle_status', 0.0)
    assert sim.aircraft.property_value('gear/gear-cmd-norm') == 0.0
    assert sim.one('sim/cockpit2/controls/gear_handle_down') == 0
    sim.put('sim/cockpit2/controls/gear_handle_down', 1.0)
    assert sim.one('sim/cockpit/switches/gear_handle_status') == 1


def test_armed_speed_brake_is_kept(sim: Sim) -> None:
    sim.put('sim/flightmodel/controls/sbrkrqst', -0.5)
    assert sim.one('sim/flightmodel/controls/sbrkrqst') == -0.5
    assert sim.aircraft.property_value('fcs/speedbrake-cmd-norm') == 0.0


def engine_throttle(sim: Sim) -> float:
    return sim.aircraft.property_value('fcs/throttle-cmd-norm')


def test_throttle_latch_is_released_by_minus_two_only(sim: Sim) -> None:
    latch, handles = (f'sim/flightmodel/engine/{n}' for n in ('ENGN_thro_override', 'ENGN_thro'))
    assert sim.one(latch) == -2.0
    sim.put(handles, *[0.4] * 8)
    sim.put(latch, 0.9)
    assert engine_throttle(sim) == pytest.approx(0.9)
    sim.put(handles, *[0.2] * 8)                        # the handles move, the engine does not
    assert engine_throttle(sim) == pytest.approx(0.9)
    assert sim.many(handles) == (0.2,) * 8
    for value in (-1.0, -998.0, -0.5):
        sim.put(latch, value)
        assert engine_throttle(sim) == pytest.approx(0.9)
    sim.put(latch, -2.0)
    assert engine_throttle(sim) == pytest.approx(0.2)
    assert sim.one(latch) == -2.0


def test_override_throttles_hands_the_engines_to_thro_use(sim: Sim) -> None:
    use, flag = ('sim/flightmodel/engine/ENGN_thro_use',
                 'sim/operation/override/override_throttles')
    cruise = engine_throttle(sim)
    sim.put(use, 0.1)                                   # no effect without the override
    assert engine_throttle(sim) == cruise
    sim.put(flag, 1.0)
    assert engine_throttle(sim) == pytest.approx(cruise)
    sim.put(use, 0.1)
    assert engine_throttle(sim) == pytest.approx(0.1)
    sim.put('sim/flightmodel/engine/ENGN_thro', 0.8)
    assert engine_throttle(sim) == pytest.approx(0.1)
    sim.put(flag, 0.0)
    assert engine_throttle(sim) == pytest.approx(0.8)


def test_handles_follow_a_throttle_that_another_face_moves(sim: Sim) -> None:
    sim.aircraft.set_controls(throttle=0.33)
    assert sim.one('sim/flightmodel/engine/ENGN_thro') == pytest.approx(0.33)
    sim.put('sim/operation/override/override_joystick', 1.0)
    sim.put('sim/flightmodel/engine/ENGN_thro_override', -2.0)
    assert engine_throttle(sim) == pytest.approx(0.33)


def test_lights_are_one_under_both_names(sim: Sim) -> None:
    sim.put('sim/cockpit/electrical/beacon_lights_on', 1.0)
    assert sim.one('sim/cockpit2/switches/beacon_on') == 1
    sim.put('sim/cockpit2/switches/navigation_lights_on', 1.0)
    assert sim.one('sim/cockpit/electrical/nav_lights_on') == 1


def test_engine_failure_by_dataref(sim: Sim) -> None:
    name = 'sim/operation/failures/rel_engfai0'
    assert sim.one(name) == 0
    sim.put(name, 6.0)
    sim.run(5.0)
    assert sim.one(name) == 6
    assert sim.many('sim/flightmodel/engine/ENGN_running') == (0,) * 8
    sim.put(name, 0.0)
    sim.run(1.0)
    assert sim.one('sim/flightmodel/engine/ENGN_running') == 1


def test_fuel_is_written_by_tank(sim: Sim) -> None:
    sim.put('sim/flightmodel/weight/m_fuel', 10.0, 20.0, 30.0)
    assert sim.many('sim/flightmodel/weight/m_fuel')[:3] == pytest.approx((10.0, 20.0, 0.0))
    assert sim.one('sim/flightmodel/weight/m_fuel_total') == pytest.approx(30.0)


# Placement by dataref


def test_local_position_moves_the_aircraft(sim: Sim) -> None:
    sim.world.teleport(0, *ORIGIN, 1500.0, 0.0, 0.0, 90.0)
    speed = sim.one(P + 'groundspeed')
    sim.put(P + 'local_x', 1000.0)
    sim.put(P + 'local_y', 2000.0)
    sim.put(P + 'local_z', -3000.0)
    # North by 3 km and east by 1 km at 47.5 degrees: 111.19 km and 75.3 km per degree.
    assert sim.one(P + 'latitude') == pytest.approx(47.5 + 3.0 / 111.19, abs=1e-4)
    assert sim.one(P + 'longitude') == pytest.approx(8.5 + 1.0 / 75.3, abs=1e-4)
    assert sim.one(P + 'elevation') == pytest.approx(2000.8, abs=0.3)
    assert sim.one(P + 'groundspeed') == pytest.approx(speed, abs=0.1)


def test_local_velocity_and_rates_are_written(sim: Sim) -> None:
    sim.put(P + 'local_vx', 45.0)
    sim.put(P + 'local_vy', 3.0)
    sim.put(P + 'local_vz', 5.0)
    assert [sim.one(P + f'local_v{a}') for a in 'xyz'] == pytest.approx([45, 3, 5], abs=0.01)
    sim.put(P + 'Q', 5.0)
    sim.put(P + 'Prad', -0.1)
    assert sim.one(P + 'Qrad') == pytest.approx(math.radians(5.0), abs=1e-4)
    assert sim.one(P + 'P') == pytest.approx(math.degrees(-0.1), abs=0.01)


def test_quaternion_is_live_in_flight_and_angles_while_frozen(sim: Sim) -> None:
    sim.world.teleport(0, *ORIGIN, 1500.0, 0.0, 0.0, 90.0)
    sim.put(P + 'phi', 20.0)
    assert sim.one(P + 'phi') == pytest.approx(0.0, abs=1e-6)
    sim.put(P + 'q', .68301, .18301, .18301, .68301)
    assert sim.one(P + 'phi') == pytest.approx(30.0, abs=0.01)
    sim.world.freeze(0, True)
    sim.put(P + 'q', 1.0, 0.0, 0.0, 0.0)
    assert sim.one(P + 'phi') == pytest.approx(30.0, abs=0.01)
    sim.put(P + 'phi', -10.0)
    sim.put(P + 'theta', 5.0)
    sim.put(P + 'psi', 200.0)
    assert (sim.one(P + 'true_phi'), sim.one(P + 'true_theta'), sim.one(P + 'true_psi')) \
        == pytest.approx((-10.0, 5.0, 200.0), abs=1e-5)


# Time, pause and freezing


def test_times_run_with_frames_and_speed(sim: Sim) -> None:
    sim.run(2.0)
    for name in ('total_running_time_sec', 'total_flight_time_sec'):
        assert sim.one(f'sim/time/{name}') == pytest.approx(2.0)
    assert sim.one('sim/operation/misc/frame_rate_period') == pytest.approx(FRAME)
    assert sim.one('sim/time/zulu_time_sec') == pytest.approx(43_202.0)
    sim.put('sim/time/sim_speed', 2.0)
    sim.run(1.0)
    assert sim.one('sim/time/total_running_time_sec') == pytest.approx(4.0)
    assert sim.aircraft.time == pytest.approx(4.0)
    assert sim.one('sim/operation/misc/frame_rate_period') == pytest.approx(2.0 * FRAME)
    assert sim.one('sim/network/misc/network_time_sec') == pytest.approx(3.0)


@pytest.mark.parametrize('how', ['paused', 'sim_speed'])
def test_paused_world_stands_still_but_network_time_goes_on(sim: Sim, how: str) -> None:
    setattr(sim.world, how, how == 'paused')
    before = {name: sim.many(name) for name in sim.store.names}
    sim.run(1.0)
    after = {name: sim.many(name) for name in sim.store.names}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {'sim/network/misc/network_time_sec'}
    assert sim.one('sim/time/sim_speed_actual') == 0.0


def test_frozen_aircraft_stands_while_time_goes_on(sim: Sim) -> None:
    sim.put('sim/operation/override/override_planepath', 1.0)
    assert sim.world.frozen(0)
    assert not sim.world.frozen(1)
    place = sim.one(P + 'longitude')
    other = sim.one('sim/multiplayer/position/plane1_lon')
    sim.run(1.0)
    assert sim.one(P + 'longitude') == place
    assert sim.one('sim/time/total_running_time_sec') == pytest.approx(1.0)
    assert sim.one('sim/multiplayer/position/plane1_lon') > other
    sim.world.freeze(0, False)
    sim.run(1.0)
    assert sim.one(P + 'longitude') > place


def test_freeze_all_and_single_others(sim: Sim) -> None:
    sim.world.freeze(None, True)
    sim.world.freeze(5, False)
    before = [other.lon_deg for other in sim.world.others]
    sim.run(0.5)
    moved = [n for n, other in enumerate(sim.world.others, 1) if other.lon_deg != before[n - 1]]
    assert moved == [5]


def test_reset_flight_restarts_flight_time_only(sim: Sim) -> None:
    sim.run(2.0)
    assert sim.commands.run('sim/operation/reset_flight')
    assert sim.one('sim/time/total_flight_time_sec') == 0.0
    assert sim.one('sim/time/total_running_time_sec') == pytest.approx(2.0)
    assert sim.one(P + 'longitude') == pytest.approx(8.5)
    sim.run(10.0)
    assert sim.one(P + 'elevation') == pytest.approx(1500.0, abs=5.0)


def test_time_does_not_run_backward(sim: Sim) -> None:
    with pytest.raises(ValueError, match='cannot advance'):
        sim.world.advance(-0.1)


# Other aircraft


def test_others_fly_level_abreast_with_the_users_speed(sim: Sim) -> None:
    base = 'sim/multiplayer/position/plane1_'
    lon = sim.one(base + 'lon')
    # The first is 150 m to the right, which is south when heading east.
    assert sim.one(base + 'lat') == pytest.approx(47.4 - 150.0 / 111_200.0, abs=1e-6)
    sim.run(10.0)
    assert (sim.one(base + 'lon') - lon) * 75_400.0 == pytest.approx(553.0, abs=3.0)
    assert sim.one(base + 'el') == pytest.approx(1500.0, abs=0.01)
    assert sim.one(base + 'v_x') == pytest.approx(55.3, abs=0.1)
    assert sim.one(base + 'psi') == pytest.approx(90.0, abs=0.2)


def test_others_answer_yoke_and_throttle(sim: Sim) -> None:
    base = 'sim/multiplayer/position/plane3_'
    sim.put(base + 'yolk_roll', 0.5)
    sim.put(base + 'yolk_pitch', 0.4)
    sim.put(base + 'throttle', *[1.0] * 8)
    sim.run(5.0)
    assert sim.one(base + 'phi') == pytest.approx(30.0, abs=1.0)
    assert sim.one(base + 'the') == pytest.approx(6.0, abs=0.5)
    assert 90.0 + 20.0 < sim.one(base + 'psi') < 90.0 + 40.0
    assert sim.one(base + 'el') > 1510.0
    assert sim.one(base + 'v_y') > 4.0
    speed = math.hypot(*(sim.one(base + f'v_{a}') for a in 'xyz'))
    assert 60.0 < speed < 80.0
    assert sim.one('sim/multiplayer/position/plane4_phi') == pytest.approx(0.0, abs=0.3)


def test_others_are_placed(sim: Sim) -> None:
    sim.world.teleport(7, 47.6, 8.6, 2000.0, 5.0, 10.0, 200.0)
    base = 'sim/multiplayer/position/plane7_'
    assert (sim.one(base + 'lat'), sim.one(base + 'lon'), sim.one(base + 'el')) == (
        47.6, 8.6, 2000.0)
    assert sim.one(base + 'psi') == pytest.approx(200.0 - 0.074, abs=0.01)
    for angle, value in (('psi', 200.0), ('the', -4.0), ('phi', 15.0)):
        sim.put(base + angle, value)
        assert sim.one(base + angle) == pytest.approx(value, abs=1e-6)
    sim.put(base + 'x', 0.0)
    sim.put(base + 'z', 0.0)
    assert (sim.one(base + 'lat'), sim.one(base + 'lon')) == pytest.approx(ORIGIN, abs=1e-6)
    with pytest.raises(ValueError, match='latitude is nan'):
        sim.world.teleport(7, math.nan)


def test_others_gear_flaps_and_lights_are_kept(sim: Sim) -> None:
    base = 'sim/multiplayer/position/plane19_'
    sim.put(base + 'gear_deploy', *[0.0] * 10)
    sim.put(base + 'flap_ratio', 0.5)
    sim.put(base + 'speedbrake_ratio', 1.5)
    sim.put(base + 'beacon_lights_on', 1.0)
    assert sim.many(base + 'gear_deploy') == (0.0,) * 10
    assert sim.one(base + 'flap_ratio') == 0.5
    assert sim.one(base + 'speedbrake_ratio') == 1.5
    assert sim.one(base + 'beacon_lights_on') == 1
    assert sim.store.read('sim/multiplayer/position/plane20_lat') is None
    assert sim.store.read('sim/multiplayer/position/plane0_lat') is None


def test_newer_control_arrays_start_with_the_user(sim: Sim) -> None:
    name = 'sim/multiplayer/controls/yoke_roll_ratio'
    assert sim.store.write(name, [0.3, 0.6])
    assert sim.one('sim/joystick/yoke_roll_ratio') == pytest.approx(0.3)
    assert sim.one('sim/multiplayer/position/plane1_yolk_roll') == pytest.approx(0.6)
    assert sim.store.write('sim/multiplayer/controls/engine_throttle_request', [0.25], offset=2)
    assert sim.many('sim/multiplayer/position/plane2_throttle') == (0.25,) * 8


def test_others_stop_at_the_ground(sim: Sim) -> None:
    other = sim.world.others[0]
    other.place(altitude_msl=-100.0)
    assert other.altitude_msl == pytest.approx(432.0, abs=0.1)


def test_others_of_a_parked_user_fly_above_it() -> None:
    sim = Sim(PARKED)
    assert sim.one('sim/multiplayer/position/plane1_el') == pytest.approx(931.0, abs=1.0)


# Commands


def test_unknown_command_is_told(sim: Sim) -> None:
    assert not sim.commands.run('sim/flight_controls/flaps_sideways')
    assert sim.commands.run('sim/none/none')


def test_flaps_move_by_notches_within_bounds(sim: Sim) -> None:
    run, flaps = sim.commands.run, 'sim/flightmodel/controls/flaprqst'
    run('sim/flight_controls/flaps_down')
    assert sim.one(flaps) == pytest.approx(1 / 3)
    for _ in range(5):
        run('sim/flight_controls/flaps_down')
    assert sim.one(flaps) == 1.0
    run('sim/flight_controls/flaps_up')
    assert sim.one(flaps) == pytest.approx(2 / 3)


def test_toggles(sim: Sim) -> None:
    run = sim.commands.run
    for command, name, values in [
            ('sim/flight_controls/landing_gear_toggle',
             'sim/cockpit/switches/gear_handle_status', (0, 1)),
            ('sim/flight_controls/brakes_toggle_max',
             'sim/flightmodel/controls/parkbrake', (1.0, 0.0)),
            ('sim/flight_controls/speed_brakes_toggle',
             'sim/flightmodel/controls/sbrkrqst', (1.0, 0.0)),
            ('sim/lights/nav_lights_toggle', 'sim/cockpit/electrical/nav_lights_on', (1, 0)),
            ('sim/lights/taxi_lights_toggle', 'sim/cockpit2/switches/taxi_light_on', (1, 0)),
            ('sim/operation/pause_toggle', 'sim/time/paused', (1, 0))]:
        for value in values:
            assert run(command)
            assert sim.one(name) == value, command


def test_held_throttle_moves_until_it_is_let_go(sim: Sim) -> None:
    run, handle = sim.commands.run, 'sim/flightmodel/engine/ENGN_thro'
    sim.put(handle, 0.0)
    run('sim/engines/throttle_up', 'begin')
    sim.run(1.0)
    run('sim/engines/throttle_up', 'end')
    raised = sim.one(handle)
    assert raised == pytest.approx(0.55, abs=0.02)
    sim.run(1.0)
    assert sim.one(handle) == raised
    run('sim/engines/throttle_down')
    assert sim.one(handle) == pytest.approx(raised - 0.05)


def test_held_brakes_let_go(sim: Sim) -> None:
    run, brake = sim.commands.run, 'sim/cockpit2/controls/left_brake_ratio'
    run('sim/flight_controls/brakes_max', 'begin')
    sim.run(0.1)
    assert sim.one(brake) == 1.0
    run('sim/flight_controls/brakes_max', 'end')
    assert sim.one(brake) == 0.0


def test_trim_commands_move_the_trim(sim: Sim) -> None:
    trim = sim.one('sim/flightmodel/controls/elv_trim')
    sim.commands.run('sim/flight_controls/pitch_trim_up')
    assert sim.one('sim/flightmodel/controls/elv_trim') == pytest.approx(trim + 0.01)


def test_every_command_runs(sim: Sim) -> None:
    for name in sim.commands.names:
        for phase in ('begin', 'end', 'once'):
            assert sim.commands.run(name, phase)
        sim.world.advance(FRAME)


def test_same_world_twice_is_the_same_flight() -> None:
    def fly() -> dict[str, tuple[float, ...]]:
        sim = Sim()
        sim.aircraft.set_turbulence(10.0, 3)
        for k in range(180):
            sim.put('sim/joystick/yoke_roll_ratio', 0.1 * math.sin(k / 20.0))
            sim.world.advance(FRAME)
        return {name: sim.many(name) for name in sim.store.names}
    assert fly() == fly()
