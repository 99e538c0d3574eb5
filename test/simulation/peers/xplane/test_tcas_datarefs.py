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

"""TCAS targets of the simulated X-Plane, against its other datarefs of the same aircraft."""

import math

import pytest

pytest.importorskip('jsbsim', reason='JSBSim is not installed')

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.flown import beside, fly_beside
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore

TARGETS = 'sim/cockpit2/tcas/targets/'
POSITION = TARGETS + 'position/'


@pytest.fixture(scope='module')
def store():
    """Return the datarefs of three with flight models, in a turn, and 17 others. Read-only."""
    aircraft = Aircraft('c172p')
    world = World(aircraft, fleet=fly_beside(
        ['c172p', 'c172p'], beside(aircraft.initial, 2), seed=0))
    aircraft.set_controls(aileron=0.2)
    world.flown[1].set_controls(aileron=-0.2, elevator=0.1)
    for _ in range(60):
        world.advance(1.0 / 60.0)
    return DatarefStore(world, 12)


def many(store, name):
    value = store.read(name)
    assert value is not None, name
    return value.values


def test_all_are_as_long_as_xplanes(store):
    names = [name for name in store.names if name.startswith(TARGETS)]
    assert len(names) == 20
    for name in names:
        is_text = name.endswith(('flight_id', 'icao_type'))
        assert len(many(store, name)) == (512 if is_text else 64), name
        assert not store.is_writable(name)


@pytest.mark.parametrize(('target', 'plane', 'own'), [
    ('lat', 'lat', 'latitude'), ('lon', 'lon', 'longitude'), ('ele', 'el', 'elevation'),
    ('x', 'x', 'local_x'), ('y', 'y', 'local_y'), ('z', 'z', 'local_z'),
    ('vx', 'v_x', 'local_vx'), ('vy', 'v_y', 'local_vy'), ('vz', 'v_z', 'local_vz')])
def test_targets_are_the_other_aircraft_and_the_first_is_the_users(store, target, plane, own):
    values = many(store, POSITION + target)
    assert values[0] == many(store, f'sim/flightmodel/position/{own}')[0]
    assert values[1:20] == tuple(
        many(store, f'sim/multiplayer/position/plane{n}_{plane}')[0] for n in range(1, 20))
    assert not any(values[20:])
    assert len(set(values[:20])) > 1


@pytest.mark.parametrize('n', [0, 1, 7])
def test_path_and_speed_are_those_of_the_velocity(store, n):
    def of(name):
        return many(store, POSITION + name)[n]

    # Within some kilometres of the origin, the local axes are east, up, south.
    east, up, south = of('vx'), of('vy'), of('vz')
    assert of('V_msc') == pytest.approx(math.hypot(east, up, south))
    assert math.remainder(
        of('hpath') - math.degrees(math.atan2(east, -south)), 360.0) == pytest.approx(0, abs=0.5)
    assert math.sin(math.radians(of('vpath'))) * of('V_msc') == pytest.approx(
        of('vertical_speed') * 0.00508)
    assert of('vertical_speed') * 0.00508 == pytest.approx(up, abs=0.5)


def test_own_angles_are_relative_to_the_earth(store):
    for name, own in (('psi', 'true_psi'), ('the', 'true_theta'), ('phi', 'true_phi')):
        assert many(store, POSITION + name)[0] == many(
            store, f'sim/flightmodel/position/{own}')[0]
    assert many(store, POSITION + 'phi')[1] < -1.0


def test_addresses_have_24_bits_and_flight_ids_seven_letters(store):
    addresses = many(store, TARGETS + 'modeS_id')
    assert len(set(addresses[:20])) == 20
    assert all(0 < address < 1 << 24 for address in addresses[:20])
    assert not any(addresses[20:])
    text = bytes(many(store, TARGETS + 'flight_id'))
    names = [text[8 * n:8 * n + 8] for n in range(64)]
    assert len(set(names[:20])) == 20
    assert all(name[7] == 0 and name[0] for name in names[:20])
    assert not any(map(any, names[20:]))


def test_types_are_of_those_with_flight_models(store):
    text = bytes(many(store, TARGETS + 'icao_type'))
    assert text == b'C172\0\0\0\0' * 3 + bytes(8 * 61)
    assert bytes(many(store, 'sim/aircraft/view/acf_ICAO')).startswith(b'C172\0')
    assert many(store, 'sim/aircraft/view/acf_modeS_id')[0] == many(
        store, TARGETS + 'modeS_id')[0]


def test_wheels_are_on_the_ground_where_parked_and_others_end():
    world = World(Aircraft('c172p', Initial(parked=True)))
    store = DatarefStore(world, 11)
    wheels = many(store, POSITION + 'weight_on_wheels')
    assert wheels[0] == 1
    assert not any(wheels[1:])
    read = store.element_reader(POSITION + 'lat', 3)
    assert read is not None
    assert read() == many(store, POSITION + 'lat')[3] != 0.0
    world.tcas_count = 3
    assert read() == many(store, TARGETS + 'modeS_id')[3] == 0
    assert many(store, TARGETS + 'modeS_id')[2] != 0
    assert many(store, 'sim/cockpit2/tcas/indicators/tcas_num_acf') == (3,)


def test_nobody_but_a_plugin_takes_tcas_over():
    store = DatarefStore(World(Aircraft('c172p')), 12)
    assert not store.write('sim/operation/override/override_TCAS', [1.0])
    assert not store.write(POSITION + 'x', [1.0], 1)
    assert not [name for name in DatarefStore(store.world, 10).names if 'tcas' in name.lower()]
