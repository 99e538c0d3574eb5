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

"""X-Plane's TCAS targets as traffic: from the simulated X-Plane by a session, and alone."""

from dataclasses import replace
import math
import struct

from hypothesis import given, strategies
import pytest

from xplane_bridge.bridges.conversions.vehicle import TrafficTarget
from xplane_bridge.bridges.conversions.xplane import traffic
from xplane_bridge.bridges.conversions.xplane.state import running_time
from xplane_bridge.bridges.xplane_udp.session import (
    FLIGHT_IDS,
    Sources,
    TRAFFIC,
    WatchedDatarefs,
    XplaneUdpSession,
)

TARGETS = 'sim/cockpit2/tcas/targets/'
PEER = ('127.0.0.1', 49000)
SLOT_1 = {
    f'{TARGETS}modeS_id[1]': 0xA1B2C3, f'{TARGETS}position/lat[1]': 47.0,
    f'{TARGETS}position/lon[1]': 8.0, f'{TARGETS}position/ele[1]': 500.0,
    f'{TARGETS}position/vx[1]': 10.0, f'{TARGETS}position/vy[1]': 1.0,
    f'{TARGETS}position/vz[1]': -20.0, f'{TARGETS}position/weight_on_wheels[1]': 0.0}
TARGET = TrafficTarget('a', 47.0, 8.0, 500.0, (10.0, 20.0, 1.0))


def only(values, callsigns=None):
    """Return the target in slot 1, as float32 carries its values."""
    return traffic.read_targets(1, {
        name: struct.unpack('<f', struct.pack('<f', value))[0]
        for name, value in values.items()}, callsigns or {}).get(1, 'not known')


# Against the simulated X-Plane

class Loopback:
    """A session and the simulated X-Plane, with nothing but time between them."""

    def __init__(self):
        pytest.importorskip('jsbsim', reason='JSBSim is not installed')
        from xplane_bridge.simulation.aircraft.aircraft import Aircraft
        from xplane_bridge.simulation.peers.flown import beside, fly_beside
        from xplane_bridge.simulation.peers.world import World
        from xplane_bridge.simulation.peers.xplane_udp import XPlane
        aircraft = Aircraft()
        self.world = World(aircraft, fleet=fly_beside(
            ['c172p'], beside(aircraft.initial, 1, [(3000.0, 20e3, 200.0)]), seed=0))
        self.xplane = XPlane(self.world, 12)
        self.session = XplaneUdpSession(
            Sources({12: ('sim/time/paused',)}, {}), rate=10.0, version=12, peer=PEER)
        self.events = []
        self.now = 100.0

    def run(self, seconds):
        for _ in range(round(60 * seconds)):
            for channel, data in self.session.poll(self.now):
                if data:
                    # A channel is a socket of its own.
                    self.xplane.handle(data, (channel, 1))
            self.world.advance(1.0 / 60.0)
            for data, (channel, _) in self.xplane.frame(self.now):
                self.events += self.session.receive(channel, data, PEER, self.now)
            self.now += 1.0 / 60.0
        return self

    def last(self, watch):
        event = [event for event in self.events if isinstance(event, WatchedDatarefs)
                 and event.watch == watch][-1]
        return {name: value for name, value in zip(event.names, event.values, strict=True)
                if value is not None}


def test_targets_of_the_simulated_x_plane_are_where_its_aircraft_are():
    loopback = Loopback()
    session = loopback.session
    session.start(loopback.now)
    session.watch(traffic.target_datarefs(22), 10.0, loopback.now, TRAFFIC)
    session.watch(traffic.flight_id_datarefs(22), 1.0, loopback.now, FLIGHT_IDS)
    # 333 requests, two in three frames.
    loopback.run(8.0)
    loopback.world.paused = True
    loopback.run(1.5)
    values, callsigns = loopback.last(TRAFFIC), traffic.flight_ids(
        22, loopback.last(FLIGHT_IDS))
    found = traffic.read_targets(22, values, callsigns)
    assert running_time(values)[0] == pytest.approx(loopback.world.total_running_time, abs=1e-3)
    assert [slot for slot, target in found.items() if target is None] == [20, 21, 22]
    assert len({target.id for target in found.values() if target}) == 19
    for slot in range(1, 20):
        target, truth = found[slot], loopback.world.others[slot - 1]
        assert target.latitude_deg == pytest.approx(truth.lat_deg, abs=4e-6)
        assert target.longitude_deg == pytest.approx(truth.lon_deg, abs=1e-6)
        assert target.altitude_msl == pytest.approx(truth.altitude_msl, abs=1e-3)
        north, east, down = truth.velocity_ned
        # Some 20 km from the origin of the local axes.
        assert target.velocity == pytest.approx((east, north, -down), abs=2e-4)
        assert target.callsign == f'N{100 + slot}XB'
        assert target.on_ground is False
    # One ends.
    loopback.world.tcas_count = 3
    loopback.run(0.5)
    found = traffic.read_targets(22, loopback.last(TRAFFIC), callsigns)
    assert [slot for slot, target in found.items() if target] == [1, 2]


# What X-Plane says of one

def test_velocity_is_east_north_up_at_the_target():
    target = only(SLOT_1)
    assert target.velocity == (10.0, 20.0, 1.0)
    # 2 degrees east of the origin at 47 degrees north: the meridians converge by 1.46 degrees.
    origin = {'sim/flightmodel/position/lat_ref': 47.0, 'sim/flightmodel/position/lon_ref': 6.0}
    level = {f'{TARGETS}position/vy[1]': 0.0}
    east, north, _ = only(SLOT_1 | level | origin).velocity
    assert math.degrees(math.atan2(east, north) - math.atan2(10.0, 20.0)) == pytest.approx(
        2.0 * math.sin(math.radians(47.0)), abs=0.02)


@pytest.mark.parametrize(('raw', 'name', 'address'), [
    (0xA1B2C3, 'a1b2c3', 0xA1B2C3), (1, '000001', 1), (0xFFFFFF, 'ffffff', 0xFFFFFF),
    # Those of real aircraft: as an int32 negative, and a float32 rounds the last seven bits.
    (0xA1B2B0 - 2**31, 'a1b280-1', 0), (0xA1B2FF - 2**31, 'a1b300-1', 0),
    # Nobody defines these.
    (2**24, '000000-1', 0), (-2**31, '000000-1', 0)])
def test_address_is_given_where_float32_carries_it(raw, name, address):
    target = only(SLOT_1 | {f'{TARGETS}modeS_id[1]': raw})
    assert (target.id, target.address) == (name, address)


def test_slot_without_an_address_is_empty():
    assert only(SLOT_1 | {f'{TARGETS}modeS_id[1]': 0.0}) is None


@pytest.mark.parametrize('wrong', [
    {'modeS_id[1]': math.nan}, {'modeS_id[1]': 2.0**31}, {'position/lat[1]': 91.0},
    {'position/lon[1]': math.inf}, {'position/ele[1]': -1e6}])
def test_impossible_target_is_not_known(wrong):
    assert only(SLOT_1 | {
        TARGETS + name: value for name, value in wrong.items()}) == 'not known'


@pytest.mark.parametrize('missing', ['modeS_id[1]', 'position/lat[1]'])
def test_target_whose_values_do_not_come_is_not_known(missing):
    values = dict(SLOT_1)
    del values[TARGETS + missing]
    assert only(values) == 'not known'


def test_target_without_a_possible_velocity_is_shown():
    assert only(SLOT_1 | {f'{TARGETS}position/vx[1]': math.nan}).velocity is None
    assert only(SLOT_1 | {f'{TARGETS}position/vx[1]': 1e6}).velocity is None
    values = dict(SLOT_1)
    del values[f'{TARGETS}position/weight_on_wheels[1]']
    assert only(values).on_ground is None
    assert only(SLOT_1 | {f'{TARGETS}position/weight_on_wheels[1]': 1.0}).on_ground is True


@given(strategies.dictionaries(
    strategies.sampled_from([*SLOT_1, *traffic.flight_id_datarefs(1)]),
    strategies.floats(width=32)))
def test_whatever_x_plane_says_gives_possible_targets(given_values):
    target = only(SLOT_1 | given_values, traffic.flight_ids(1, given_values))
    if isinstance(target, TrafficTarget):
        assert abs(target.latitude_deg) <= 90.0
        assert 0 <= target.address < 2**24
        assert target.callsign.isprintable()
        assert target.velocity is None or all(map(math.isfinite, target.velocity))


def test_flight_ids_are_text_whatever_the_bytes():
    def letters(slot, text):
        return {f'{TARGETS}flight_id[{8 * slot + n}]': float(letter)
                for n, letter in enumerate(text)}

    said = letters(1, b'DLH4A\0x') | letters(2, b'\0abcdef') | letters(3, b'\xff\x1bABCDE')
    said |= {f'{TARGETS}flight_id[32]': math.nan, f'{TARGETS}flight_id[33]': 1e9,
             f'{TARGETS}flight_id[34]': 256.0, f'{TARGETS}flight_id[35]': -1.0}
    found = traffic.flight_ids(4, said)
    assert found[1] == 'DLH4A'
    assert 2 not in found
    assert 4 not in found
    assert found[3].isprintable()
    assert only(SLOT_1, found).callsign == 'DLH4A'


def test_63_targets_fit_into_what_may_be_watched():
    names = traffic.target_datarefs(63) + traffic.flight_id_datarefs(63)
    assert len(names) == len(set(names)) == 63 * 15 + 3
    assert traffic.target_datarefs(0) == traffic.flight_id_datarefs(0) == ()
    assert f'{TARGETS}flight_id[510]' in names
    assert f'{TARGETS}position/lat[63]' in names
    assert f'{TARGETS}position/lat[0]' not in names


# Ages

def ages(*heard):
    """Return the ages by keys after hearing targets at times."""
    known = traffic.Ages()
    for now, targets in heard:
        known.update(targets, now)
    return {key: age for key, (_, age) in known.reports().items()}


def moved(metres):
    return replace(TARGET, latitude_deg=47.0 + metres * 1e-5)


def test_target_that_moves_is_new():
    assert ages((0.0, {1: TARGET}), (1.0, {1: moved(20.0)})) == {1: 0.0}


def test_target_that_claims_to_move_and_does_not_ages():
    assert ages((0.0, {1: TARGET}), (1.0, {1: TARGET}), (3.0, {1: TARGET})) == {1: 3.0}


def test_target_that_stands_is_new():
    parked = replace(TARGET, velocity=(0.0, 0.0, 0.0))
    assert ages((0.0, {1: parked}), (60.0, {1: parked})) == {1: 0.0}


def test_target_without_news_ages_and_is_dropped():
    others = {2: moved(5.0)}
    assert ages((0.0, {1: TARGET}), (4.0, others))[1] == 4.0
    assert ages((0.0, {1: TARGET}), (10.5, others)) == {2: 0.0}
    # It stays away as long as it does not move.
    assert 1 not in ages((0.0, {1: TARGET}), (10.5, {1: TARGET}), (11.0, {1: TARGET}))
    assert ages((0.0, {1: TARGET}), (11.0, {1: TARGET}), (11.5, {1: moved(9.0)}))[1] == 0.0


def test_target_that_ends_is_gone_and_another_in_its_slot_is_new():
    assert ages((0.0, {1: TARGET}), (0.2, {1: None})) == {}
    another = replace(TARGET, id='b')
    assert ages((0.0, {1: TARGET}), (5.0, {1: another})) == {1: 0.0}


def test_pause_ages_nothing():
    assert ages((7.0, {1: TARGET}), *[(7.0, {1: TARGET})] * 100) == {1: 0.0}


def test_another_run_of_the_simulator_starts_with_nothing():
    assert ages((500.0, {1: TARGET, 2: TARGET}), (3.0, {1: TARGET})) == {1: 0.0}
    # Reports that overtake each other do not.
    assert ages((500.0, {1: TARGET}), (499.9, {2: TARGET})) == pytest.approx(
        {1: 0.0, 2: 0.1})
