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

"""The simulated X-Plane with its native UDP: recorded bytes in, the real one's behaviour out."""

from argparse import ArgumentParser
import math
import struct

import pytest

pytest.importorskip('jsbsim', reason='JSBSim is not installed')

from memory_endpoint import MemoryEndpoint
from vector_files import vectors

from xplane_bridge.commands.simulator import main
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.registry import SIMULATORS
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp import (
    add_options,
    make_frontend,
    XPlane,
    XplaneUdpFrontend,
)

VECTORS = {
    vector['name']: bytes.fromhex(vector['hex'])
    for vector in vectors('xplane_udp')}
CLIENT = ('10.0.0.1', 40001)
OTHER = ('10.0.0.1', 40002)
TARGET = ('10.0.0.1', 49003)
KNOT = 1852 / 3600


@pytest.fixture(scope='module')
def aircraft():
    return Aircraft()


@pytest.fixture
def world(aircraft):
    aircraft.reset()
    return World(aircraft)


def seconds(xplane, duration=1.0, start=100.0, rate=60):
    """Return what is sent in a period at that frame rate."""
    sent = []
    for frame in range(round(duration * rate)):
        sent += xplane.frame(start + frame / rate)
    return sent


def rref(freq, index, name):
    return b'RREF\0' + struct.pack('<ii', freq, index) + name.encode().ljust(400, b'\0')


def dref(value, name):
    return b'DREF\0' + struct.pack('<f', value) + (name.encode() + b'\0').ljust(500)


def values(datagram):
    return dict(struct.iter_unpack('<if', datagram[5:]))


def float32(value):
    return struct.unpack('<f', struct.pack('<f', value))[0]


def property_of(world, name):
    return world.aircraft.property_value(name)


# RREF

@pytest.mark.parametrize('name', [
    'RREF_subscribe', 'measured_pyxpudpserver_rref_subscribe'])
def test_recorded_subscription_is_served(world, name):
    xplane = XPlane(world, 12)
    xplane.handle(VECTORS[name], CLIENT)
    sent = seconds(xplane)
    assert len(sent) == pytest.approx(30, abs=1)
    assert {to for _, to in sent} == {CLIENT}
    index, = struct.unpack_from('<i', VECTORS[name], 9)
    got = values(sent[0][0])
    assert list(got) == [index]
    assert got[index] == pytest.approx(property_of(world, 'position/lat-geod-deg'), rel=1e-7)


def test_each_client_has_its_own_rate(world):
    xplane = XPlane(world, 12)
    xplane.handle(rref(10, 1, 'sim/time/paused'), CLIENT)
    xplane.handle(rref(20, 1, 'sim/time/paused'), OTHER)
    sent = seconds(xplane, 2.0)
    assert sum(to == CLIENT for _, to in sent) == pytest.approx(20, abs=1)
    assert sum(to == OTHER for _, to in sent) == pytest.approx(40, abs=1)


def test_array_element_and_whole_array(world):
    xplane = XPlane(world, 12)
    world.set_throttle_handles([0.25, 0.75])
    xplane.handle(rref(60, 1, 'sim/flightmodel/engine/ENGN_thro[1]'), CLIENT)
    xplane.handle(rref(60, 2, 'sim/flightmodel/engine/ENGN_thro'), CLIENT)
    got = values(seconds(xplane)[0][0])
    assert got[2] == world.throttle_handles[0]
    assert got[1] == world.throttle_handles[1]


def test_names_that_end_in_brackets_are_no_elements(world):
    xplane = XPlane(world, 11)
    xplane.handle(dref(20.0, 'sim/weather/wind_speed_kt[1]'), CLIENT)
    for n, name in enumerate(('wind_speed_kt', 'wind_speed_kt[0]', 'wind_speed_kt[1]')):
        xplane.handle(rref(60, n, f'sim/weather/{name}'), CLIENT)
    world.advance(1 / 60)
    got = values(seconds(xplane)[0][0])
    # It flies above all three layers.
    assert got == pytest.approx({0: 0.0, 1: 0.0, 2: 20.0})


@pytest.mark.parametrize('name', ['sim/no/such', 'sim/time/paused[1]', 'ENGN_thro[', ''])
def test_unknown_dataref_is_met_with_silence(world, name):
    xplane = XPlane(world, 12)
    xplane.handle(rref(60, 1, name), CLIENT)
    assert seconds(xplane) == []


def test_frequency_0_ends_a_subscription(world):
    xplane = XPlane(world, 12)
    xplane.handle(rref(60, 1, 'sim/time/paused'), CLIENT)
    xplane.handle(rref(60, 2, 'sim/time/sim_speed'), CLIENT)
    xplane.handle(rref(0, 1, 'sim/time/paused'), CLIENT)
    assert list(values(seconds(xplane)[0][0])) == [2]


def test_at_most_183_values_in_a_datagram(world):
    xplane = XPlane(world, 12)
    for n in range(200):
        xplane.handle(rref(60, n, 'sim/time/sim_speed'), CLIENT)
    first, second = (data for data, _ in xplane.frame(100.0))
    assert (len(first), len(second)) == (1469, 5 + 17 * 8)
    assert first[:5] == b'RREF,'


def test_datarefs_are_those_of_the_version(world):
    for version, known in ((11, False), (12, True)):
        xplane = XPlane(world, version)
        xplane.handle(rref(60, 1, 'sim/weather/aircraft/barometer_current_pas'), CLIENT)
        assert bool(seconds(xplane)) is known


@pytest.mark.parametrize('version', [6, 7, 8, 9])
def test_old_versions_know_no_rref(world, version):
    xplane = XPlane(world, version)
    xplane.handle(VECTORS['RREF_subscribe'], CLIENT)
    assert seconds(xplane) == []
    assert xplane.beacon(1e9) is None


# RPOS

def test_pose_has_the_longitude_first(world):
    xplane = XPlane(world, 12)
    xplane.handle(b'RPOS\x0020\0', CLIENT)
    sent = seconds(xplane)
    assert len(sent) == pytest.approx(20, abs=1)
    data = sent[0][0]
    assert len(data) == 69
    lon, lat, ele, agl, theta, psi, phi, east, up, south, p, q, r = struct.unpack(
        '<3d10f', data[5:])
    assert lon == property_of(world, 'position/long-gc-deg')
    assert lat == property_of(world, 'position/lat-geod-deg')
    assert ele == pytest.approx(property_of(world, 'position/h-sl-ft') * 0.3048, abs=1e-6)
    assert agl == pytest.approx(property_of(world, 'position/h-agl-ft') * 0.3048, abs=1e-3)
    assert theta == pytest.approx(property_of(world, 'attitude/theta-deg'), abs=1e-4)
    assert psi == pytest.approx(property_of(world, 'attitude/psi-deg'), abs=1e-4)
    assert phi == pytest.approx(property_of(world, 'attitude/phi-deg'), abs=1e-4)
    # A few kilometres from the local origin its axes are not quite east and south.
    assert east == pytest.approx(property_of(world, 'velocities/v-east-fps') * 0.3048, abs=0.5)
    assert south == pytest.approx(-property_of(world, 'velocities/v-north-fps') * 0.3048, abs=0.5)
    assert up == pytest.approx(-property_of(world, 'velocities/v-down-fps') * 0.3048, abs=0.5)
    for got, name in ((p, 'p'), (q, 'q'), (r, 'r')):
        assert got == pytest.approx(property_of(world, f'velocities/{name}-rad_sec'), abs=1e-6)


def test_recorded_pose_requests(world):
    xplane = XPlane(world, 11)
    xplane.handle(VECTORS['RPOS_request_padded10'], CLIENT)
    assert len(seconds(xplane)) == pytest.approx(60, abs=1)
    xplane.handle(VECTORS['RPOS_stop'], CLIENT)
    assert seconds(xplane, start=200.0) == []
    old = XPlane(world, 10)
    old.handle(VECTORS['RPOS_request_v10_int'], CLIENT)
    assert len(seconds(old, 5.0)) == 5
    # Clients send 10 the rate as text, too. A rate of 50, as an int32, reads as the text 2.
    for rate, count in ((b'20\0', 20), (b'100\0', 60), (b'30'.ljust(10, b'\0'), 30),
                        (struct.pack('<i', 50), 50)):
        old.handle(b'RPOS\0' + rate, CLIENT)
        assert len(seconds(old)) == pytest.approx(count, abs=1)


@pytest.mark.parametrize(('version', 'given', 'label'), [
    (10, None, b'RREFO'), (10, 'RREF,', b'RREF,'), (11, None, b'RREF,'), (12, 'RREFO', b'RREFO')])
def test_label_of_replies_can_be_chosen(world, version, given, label):
    xplane = XPlane(world, version, rref_label=given)
    xplane.handle(rref(20, 7, 'sim/cockpit2/controls/yoke_pitch_ratio'), CLIENT)
    data, _ = seconds(xplane)[0]
    assert data[:5] == label
    assert values(data) == {7: 0.0}


# Writing

def test_dref_of_12_must_have_509_bytes(world):
    data = dref(1.0, 'sim/cockpit/electrical/beacon_lights_on')
    for version, length, done in ((12, 509, 1), (12, 508, 0), (11, 508, 1), (11, 509, 1)):
        world.lights['beacon'] = 0
        XPlane(world, version).handle(data[:length], CLIENT)
        assert world.lights['beacon'] == done, (version, length)


def test_dref_writes_elements(world):
    xplane = XPlane(world, 12)
    xplane.handle(dref(0.625, 'sim/flightmodel/engine/ENGN_thro[0]'), CLIENT)
    assert property_of(world, 'fcs/throttle-cmd-norm') == 0.625


@pytest.mark.parametrize('number', [1, -1, 7, 12_345, -98_765, 2 ** 24 + 1])
def test_int_datarefs_are_written_as_float_or_as_int32(world, number):
    xplane = XPlane(world, 12)
    name = 'sim/cockpit/radios/nav1_freq_hz'
    as_int = b'DREF\0' + struct.pack('<i', number) + (name.encode() + b'\0').ljust(500)
    for request, expected in ((as_int, number), (dref(0.0, name), 0),
                              (dref(float(number), name), int(float32(number)))):
        xplane.handle(request, CLIENT)
        assert world.settings[name] == [expected]
    # A float is never taken for an int.
    xplane.handle(dref(1e-40, 'sim/joystick/yoke_roll_ratio'), CLIENT)
    assert world.aircraft.state.aileron == pytest.approx(0.0, abs=1e-30)


def test_recorded_command_runs(world):
    world.aircraft.set_controls(flaps=1.0)
    XPlane(world, 12).handle(VECTORS['CMND_flaps_up'], CLIENT)
    assert property_of(world, 'fcs/flap-cmd-norm') == pytest.approx(2 / 3)


def test_vehs_moves_once_and_vehx_stops_the_flight_model(world):
    XPlane(world, 12).handle(VECTORS['VEHS'], CLIENT)
    assert property_of(world, 'position/lat-geod-deg') == pytest.approx(37.926488, abs=1e-6)
    assert property_of(world, 'position/long-gc-deg') == pytest.approx(23.93183, abs=1e-6)
    assert property_of(world, 'position/h-sl-ft') * 0.3048 == pytest.approx(609.6, abs=0.1)
    assert property_of(world, 'attitude/psi-deg') == pytest.approx(45.0, abs=1e-3)
    assert property_of(world, 'attitude/theta-deg') == pytest.approx(1.5, abs=1e-3)
    assert property_of(world, 'attitude/phi-deg') == pytest.approx(-2.5, abs=1e-3)
    assert not world.frozen(0)
    world.advance(1.0)
    assert property_of(world, 'position/lat-geod-deg') > 37.92650
    XPlane(world, 12).handle(VECTORS['VEHX'], CLIENT)
    world.advance(1.0)
    assert world.frozen(0)
    assert property_of(world, 'position/lat-geod-deg') == pytest.approx(37.926488, abs=1e-6)


def test_vehs_is_known_since_11(world):
    before = world.aircraft.state.lat_deg
    XPlane(world, 10).handle(VECTORS['VEHS'], CLIENT)
    assert world.aircraft.state.lat_deg == before
    XPlane(world, 11).handle(VECTORS['VEHS'], CLIENT)
    assert world.aircraft.state.lat_deg == pytest.approx(37.926488, abs=1e-6)


def test_recorded_start_of_a_flight(world):
    world.freeze(0, True)
    XPlane(world, 11).handle(VECTORS['PREL_specify_lle'], CLIENT)
    assert not world.frozen(0)
    assert property_of(world, 'position/lat-geod-deg') == pytest.approx(37.926488, abs=1e-6)
    assert property_of(world, 'velocities/vt-fps') * 0.3048 == pytest.approx(46.3, abs=0.1)
    assert property_of(world, 'attitude/phi-deg') == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize('name', [
    'ACPR', 'ALRT', 'FAIL_145', 'QUIT', 'NREC', 'LSND', 'RADR_request_10'])
def test_what_is_not_modelled_does_nothing(world, name):
    xplane = XPlane(world, 12)
    xplane.handle(VECTORS[name], CLIENT)
    assert seconds(xplane) == []


def test_repairing_all_restarts_engines(world):
    world.aircraft.fail_engine()
    XPlane(world, 12).handle(VECTORS['RESE'], CLIENT)
    assert not world.aircraft.failed_engines


# Rows

def rows_of(data, start, end=None, code='<'):
    return {row: numbers for row, *numbers in struct.iter_unpack(
        code + 'i8f', data[start:end])}


def test_v6_rows_in_their_frame(world):
    xplane = XPlane(world, 6, data_target=TARGET, data_rate=20.0)
    xplane.handle(b'DSEL\0' + b'0' + struct.pack('<5i', 16, 17, 18, 19, 33) + b'0', CLIENT)
    sent = seconds(xplane)
    assert len(sent) == pytest.approx(20, abs=1)
    assert {to for _, to in sent} == {TARGET}
    data = sent[0][0]
    assert data[:6] == b'DATA\0' + b'0'
    assert data[-1:] == b'0'
    rows = rows_of(data, 6, -1)
    assert list(rows) == [16, 17, 18, 19, 33]
    expected = [property_of(world, f'attitude/{name}-deg') for name in ('theta', 'phi', 'psi')]
    assert rows[17][:3] == pytest.approx(expected, abs=1e-4)
    assert rows[18][0] == pytest.approx(property_of(world, 'position/lat-geod-deg'), rel=1e-7)
    assert rows[18][2] == pytest.approx(property_of(world, 'position/h-sl-ft'), rel=1e-6)
    assert rows[33][0] == pytest.approx(property_of(world, 'propulsion/engine/engine-rpm'))
    assert rows[33][1:] == [-999.0] * 7
    assert rows[16][:3] == pytest.approx([
        property_of(world, f'velocities/{name}-rad_sec') for name in 'qpr'], abs=1e-6)


@pytest.mark.parametrize('version', [8, 9, 10, 11, 12])
def test_engine_speed_is_row_37_since_8(world, version):
    xplane = XPlane(world, version, data_target=TARGET)
    xplane.handle(b'DSEL\0' + struct.pack('<i', 37), CLIENT)
    assert rows_of(seconds(xplane)[0][0], 5)[37][0] == pytest.approx(
        property_of(world, 'propulsion/engine/engine-rpm'))


def test_mac_of_6_is_big_endian(world):
    xplane = XPlane(world, 6, byte_order='big', data_target=TARGET)
    xplane.handle(b'DSEL\0' + b'1' + struct.pack('>i', 17) + b'1', CLIENT)
    data = seconds(xplane)[0][0]
    assert data[:6] == b'DATA\0' + b'1'
    assert data[-1:] == b'1'
    assert rows_of(data, 6, -1, '>')[17][2] == pytest.approx(90.0, abs=1.0)
    # Rows in the byte order of a PC are not rows to it.
    xplane.handle(b'DSEL\0' + b'0' + struct.pack('<i', 18) + b'0', CLIENT)
    assert xplane.selected == {17}


@pytest.mark.parametrize(('name', 'left'), [
    ('v6_usel_16_17_18_mac', {33}), ('v6_usel_16_17_18_no_trailer_mac', {33})])
def test_recorded_deselection_of_6(world, name, left):
    xplane = XPlane(world, 6, byte_order='big')
    xplane.selected = {16, 17, 18, 33}
    xplane.handle(VECTORS[name], CLIENT)
    assert xplane.selected == left


@pytest.mark.parametrize(('version', 'fifth'), [(9, b'@'), (10, b'@'), (11, b'*'), (12, b'*')])
def test_rows_go_where_x_plane_is_told(world, version, fifth):
    xplane = XPlane(world, version)
    xplane.handle(b'DSEL\0' + struct.pack('<2i', 3, 20), CLIENT)
    assert seconds(xplane) == []
    if version == 9:
        target = b'ISET\0' + struct.pack('<i', 60) + b'10.0.0.1'.ljust(16, b'\0') + (
            b'49003\0\0\0' + struct.pack('<i', 1))
    else:
        target = b'ISE4\0' + struct.pack('<i', 64) + b'10.0.0.1'.ljust(16, b'\0') + (
            b'49003\0\0\0' + struct.pack('<i', 1))
    xplane.handle(target, CLIENT)
    sent = seconds(xplane, start=200.0)
    assert {to for _, to in sent} == {TARGET}
    data = sent[0][0]
    assert data[:5] == b'DATA' + fifth
    rows = rows_of(data, 5)
    assert list(rows) == [3, 20]
    assert rows[3][0] == pytest.approx(property_of(world, 'velocities/vc-kts'), rel=1e-5)
    assert rows[3][2] == pytest.approx(
        property_of(world, 'velocities/vt-fps') * 0.3048 / KNOT, rel=1e-5)


def test_recorded_target_and_deselection(world):
    xplane = XPlane(world, 12)
    xplane.selected = {3, 17, 20, 37}
    xplane.handle(VECTORS['ISE4_data_output'], CLIENT)
    assert xplane.data_target == ('127.0.0.1', 49010)
    xplane.handle(VECTORS['USEL_3_17_20'], CLIENT)
    assert xplane.selected == {37}


@pytest.mark.parametrize(('version', 'row', 'expected'), [
    (9, 17, ('q', 'p', 'r', 1.0)), (11, 16, ('q', 'p', 'r', 1.0)),
    (12, 16, ('p', 'q', 'r', 180 / math.pi))])
def test_order_and_unit_of_rates_by_version(world, version, row, expected):
    world.aircraft.set_controls(aileron=0.5, elevator=-0.3)
    world.advance(0.5)
    xplane = XPlane(world, version, data_target=TARGET)
    xplane.selected = {row}
    *names, unit = expected
    assert rows_of(seconds(xplane)[0][0], 5)[row][:3] == pytest.approx([
        property_of(world, f'velocities/{name}-rad_sec') * unit for name in names], rel=1e-5)


@pytest.mark.parametrize(('name', 'version', 'order'), [
    ('v6_send_flight_controls_with_trailer_pc', 6, 'little'),
    ('v6_send_flight_controls_no_trailer_pc', 6, 'little'),
    ('v6_send_flight_controls_no_trailer_mac', 6, 'big')])
def test_recorded_controls_of_6(world, name, version, order):
    world.aircraft.set_controls(rudder=0.75)
    XPlane(world, version, byte_order=order).handle(VECTORS[name], CLIENT)
    # JSBSim's elevator and rudder are positive nose down and nose left.
    assert property_of(world, 'fcs/elevator-cmd-norm') == -0.25
    assert property_of(world, 'fcs/aileron-cmd-norm') == -0.5
    assert property_of(world, 'fcs/rudder-cmd-norm') == -0.75, '-999 leaves it alone'


def test_recorded_trim_and_throttle_of_6(world):
    XPlane(world, 6).handle(VECTORS['v6_send_trim_and_throttle_combined_pc'], CLIENT)
    assert property_of(world, 'fcs/pitch-trim-cmd-norm') == pytest.approx(-0.1)
    assert property_of(world, 'fcs/throttle-cmd-norm') == 0.75


@pytest.mark.parametrize('name', [
    'v6_bad_trailer_mismatch', 'v6_truncated_segment'])
def test_malformed_rows_are_dropped(world, name):
    xplane = XPlane(world, 6)
    xplane.handle(VECTORS[name], CLIENT)
    assert xplane.counters.malformed == 1


@pytest.mark.parametrize('value', [math.nan, math.inf])
def test_nan_of_the_aircraft_is_sent_as_it_is(world, value):
    xplane = XPlane(world, 12)
    xplane._store.element_reader = lambda *_: lambda: value
    xplane.handle(rref(10, 1, 'sim/flightmodel/position/P'), CLIENT)
    (data, _), = xplane.frame(0.0)
    assert repr(struct.unpack_from('<f', data, 9)[0]) == repr(value)


def test_nan_does_not_get_into_the_aircraft(world):
    xplane = XPlane(world, 12)
    xplane.handle(b'DATA\0' + struct.pack('<i8f', 8, *[math.nan] * 8), CLIENT)
    xplane.handle(b'DATA\0' + struct.pack('<i8f', 25, *[math.inf] * 8), CLIENT)
    xplane.handle(dref(math.nan, 'sim/joystick/yoke_pitch_ratio'), CLIENT)
    xplane.handle(b'VEHS\0' + struct.pack('<i3d3f', 0, *[math.nan] * 6), CLIENT)
    world.advance(0.1)
    assert math.isfinite(world.aircraft.state.lat_deg)


def test_four_datagrams_back_to_back_to_6_lose_two(world):
    endpoint = MemoryEndpoint()
    frontend = XplaneUdpFrontend(endpoint, 6, data_target=TARGET)
    frontend.open(world, 100.0)
    for row in (16, 17, 18, 19):
        endpoint.deliver(b'DSEL\0' + b'0' + struct.pack('<i', row) + b'0', CLIENT, 100.0)
    frontend.frame(100.0)
    assert frontend.xplane.selected == {16, 17}
    assert frontend.xplane.counters.lost == 2


# Endpoint, beacon and command line

def test_answers_come_from_another_port_and_beacons_on_their_interfaces(world):
    endpoint, sender = MemoryEndpoint(), MemoryEndpoint()
    frontend = XplaneUdpFrontend(endpoint, 12, sender=sender, beacon_interfaces=('127.0.0.1',))
    frontend.open(world, 100.0)
    endpoint.deliver(rref(60, 1, 'sim/time/paused'), CLIENT, 100.0)
    frontend.frame(100.1)
    frontend.poll(101.1)
    (data, to), (beacon, group) = sender.collect()
    assert (data[:5], to) == (b'RREF,', CLIENT)
    assert group == ('239.255.1.1', 49707)
    assert struct.unpack_from('<4sxBBiiIH', beacon) == (
        b'BECN', 1, 2, 1, 121001, 1, endpoint.address[1])
    assert endpoint.collect() == []


def test_restarted_x_plane_has_forgotten(world):
    endpoint = MemoryEndpoint()
    frontend = XplaneUdpFrontend(endpoint, 12)
    frontend.open(world, 100.0)
    endpoint.deliver(rref(60, 1, 'sim/time/paused'), CLIENT, 100.0)
    frontend.frame(100.1)
    assert endpoint.collect()
    frontend.close()
    frontend.open(world, 101.0)
    frontend.frame(101.1)
    assert endpoint.collect() == []


@pytest.mark.parametrize('version', ['6', '12'])
def test_command_line(version, capsys):
    assert main([f'xplane{version}', '--port', '0', '--duration', '0.1']) == 0
    assert f'X-Plane {version} of a c172p on 127.0.0.1:' in capsys.readouterr().out


@pytest.mark.parametrize('options', [
    ('--version', '5'), ('--port', '65535'), ('--data-target', 'nowhere'), ('--data-rate', '0'),
    ('--rows', '21-16'), ('--rows', '3,x'), ('--rows', '300'), ('--send-port', '70000'),
    ('--for', 'nobody')])
def test_bad_options_are_refused(options, capsys):
    with pytest.raises(SystemExit):
        main(['xplane_udp', *options])
    assert 'error' in capsys.readouterr().err


@pytest.mark.parametrize('options', [
    ('--web-api', 'v2'), ('--send-port', '48123', '--port', '48123')])
def test_options_that_have_no_effect_alone_are_refused(options, capsys):
    assert main(['xplane_udp', *options]) == 1
    assert f'simulator: {options[0]}: ' in capsys.readouterr().err


# Timers of their own, and rows ticked by its user

def test_streams_that_drift_are_in_one_frame_only_now_and_then(world):
    xplane = XPlane(world, 12, drift=0.01)
    xplane.handle(b'RPOS\x0050\0', CLIENT)
    xplane.handle(rref(50, 1, 'sim/time/sim_speed'), CLIENT)
    poses, together = 0, 0
    for frame in range(600):
        tags = [data[:4] for data, _ in xplane.frame(100.0 + frame / 60)]
        poses += b'RPOS' in tags
        together += len(tags) == 2
    assert poses == pytest.approx(500, rel=0.02)
    assert 0.5 < together / poses < 0.95


def test_rows_that_the_user_ticked_are_selected_in_each_run(world):
    frontend = XplaneUdpFrontend(MemoryEndpoint(), 6, data_target=TARGET, ticked=(17,))
    for _ in range(2):
        frontend.open(world, 100.0)
        assert frontend.xplane.selected == {17}
        frontend.xplane.selected.clear()
        frontend.close()


def frontend_of(*arguments):
    parser = ArgumentParser()
    add_options(parser)
    return make_frontend(parser.parse_args(['--no-beacon', *arguments]), Faults())


def test_rows_ports_and_presets_of_the_command_line():
    frontend = frontend_of('--rows', '3,16-21,17', '--send-port', '49011',
                           '--data-target', '127.0.0.1:49005')
    assert frontend.ticked == (3, 16, 17, 18, 19, 20, 21)
    assert frontend.sender.address[1] == 49_011
    assert frontend.data_target == ('127.0.0.1', 49_005)
    ardupilot = frontend_of('--for', 'ardupilot')
    assert set(ardupilot.ticked) == set(ARDUPILOT_ROWS)
    assert ardupilot.data_rate == 99.0
    assert ardupilot.data_target == ('127.0.0.1', 49_001)
    assert ardupilot.sender.address[1] != 49_001
    changed = frontend_of('--for', 'ardupilot', '--rows', '1', '--send-port', '0')
    assert (changed.ticked, changed.sender.address[1]) == ((1,), 0)
    # As simulator_node gives them.
    node = SIMULATORS['xplane11'].make_frontend(
        Faults(), rows=(3, 16), send_port=49_012, data_target=TARGET, no_beacon=True)
    assert (node.ticked, node.sender.address[1], node.data_target) == ((3, 16), 49_012, TARGET)


# A program that flies by rows: ArduPilot's X-Plane backend, by docs/how-to/ardupilot.md

ARDUPILOT_ROWS = (1, 20, 3, 17, 21, 16, 4, 13, 39, 37, 38, 136)


class RowFlyer:
    """
    Waits for a first row, then selects what it misses and deselects what it does not know.

    It writes all controls whenever rates arrive, and asks for the version.
    """

    def __init__(self):
        self.seen = {}
        self.asked_version = False
        self.version = None

    def receive(self, data):
        """Return the datagrams that it sends after this one."""
        if data[:4] == b'RREF':
            self.version = struct.unpack_from('<If', data, 5)
            return []
        assert data[:4] == b'DATA'
        sent = []
        fresh = {index: row for index, *row in struct.iter_unpack('<i8f', data[5:])}
        for index in fresh:
            if index not in ARDUPILOT_ROWS:
                sent.append(b'USEL0' + struct.pack('<8I', index, *[0] * 7))
        self.seen |= {index: row for index, row in fresh.items() if index in ARDUPILOT_ROWS}
        missing = [index for index in ARDUPILOT_ROWS if index not in self.seen]
        assert len(missing) <= 8
        if missing:
            sent.append(b'DSEL0' + struct.pack('<8I', *missing, *[0] * (8 - len(missing))))
        if not self.asked_version:
            self.asked_version = True
            sent.append(b'RREF0' + struct.pack('<II400s', 1, 1, b'sim/version/'
                                               b'xplane_internal_version'))
        if 16 in fresh:
            sent += [self.control(name, value) for name, value in (
                ('sim/operation/override/override_joystick', 1.0),
                ('sim/operation/override/override_throttles', 1.0),
                ('sim/flightmodel/engine/ENGN_thro_use[0]', 0.75),
                ('sim/joystick/yoke_roll_ratio', 0.25),
                ('sim/joystick/yoke_pitch_ratio', -0.125),
                ('sim/joystick/yoke_heading_ratio', 0.5),
                ('sim/cockpit2/controls/flap_ratio', 1.0))]
        return sent

    @staticmethod
    def control(name, value):
        return b'DREF0' + struct.pack('<f500s', value, name.encode())


@pytest.mark.parametrize('ticked', [ARDUPILOT_ROWS, (3, 4, 5, 16, 17)])
def test_program_that_waits_for_a_first_row_flies(world, ticked):
    xplane = XPlane(world, 12, data_target=CLIENT, data_rate=60.0, ticked=ticked)
    flyer = RowFlyer()
    for frame in range(90):
        world.advance(1 / 60)
        for data, _ in xplane.frame(frame / 60):
            for request in flyer.receive(data):
                xplane.handle(request, CLIENT)
    assert xplane.selected == set(ARDUPILOT_ROWS)
    assert flyer.version == (1, 121_001.0)
    assert xplane.counters.malformed == xplane.counters.ignored == 0
    # The stick is centred, no button is pressed, and the mission time runs.
    assert flyer.seen[136] == [0.5] * 6 + [0.0] * 2
    assert flyer.seen[1][2] == pytest.approx(1.5, abs=0.05)
    assert flyer.seen[16][0] == pytest.approx(
        property_of(world, 'velocities/p-rad_sec') * 180.0 / math.pi, abs=1e-3)
    assert flyer.seen[38][0] == pytest.approx(property_of(world, 'propulsion/engine/'
                                                          'propeller-rpm'), rel=1e-5)
    assert property_of(world, 'fcs/throttle-cmd-norm') == 0.75
    assert property_of(world, 'fcs/aileron-cmd-norm') == 0.25
    assert property_of(world, 'fcs/flap-cmd-norm') == 1.0
    assert world.aircraft.state.phi > math.radians(5.0)


@pytest.mark.parametrize('trailer', [True, False])
@pytest.mark.parametrize('order', ['little', 'big'])
@pytest.mark.parametrize('version', [6, 7])
def test_rows_to_6_and_7_are_read_with_and_without_a_trailer(world, version, order, trailer):
    """A public sender to 6 leaves it out; the byte order is the computer's own."""
    code = '<' if order == 'little' else '>'
    mark = {6: b'0' if order == 'little' else b'1', 7: b''}[version]
    end = (mark or b'\0') if trailer else b''
    xplane = XPlane(world, version, byte_order=order)
    xplane.handle(b'DSEL\0' + mark + struct.pack(code + '2i', 17, 18) + end, CLIENT)
    assert xplane.selected == {17, 18}
    xplane.handle(b'USEL\0' + mark + struct.pack(code + 'i', 18) + end, CLIENT)
    assert xplane.selected == {17}
    row = 8 if version == 6 else 9
    xplane.handle(b'DATA\0' + mark + struct.pack(
        code + 'i8f', row, 0.25, *[-999.0] * 7) + end, CLIENT)
    assert (xplane.counters.handled, xplane.counters.malformed) == (3, 0)


def test_what_clients_ask_for_has_bounds(world):
    """Any number of ports may request any rates; the first of them are served."""
    xplane = XPlane(world, 12)
    for port in range(2000):
        client = '10.0.0.1', 40_000 + port
        xplane.handle(b'RPOS\0%d\0' % (port + 1), client)
        for index in range(3):
            xplane.handle(rref(port + 1, index, 'sim/time/paused'), client)
        xplane.handle(b'RPOS\0%d\0' % (port + 10_000), CLIENT)
        if port % 500 == 0:
            list(xplane.frame(port / 60))
    sent = list(xplane.frame(100.0))
    list(xplane.frame(101.0))
    assert ('10.0.0.1', 40_000) in {to for _, to in sent}
    assert len(sent) <= 200
    assert len(xplane._ticks) <= 400
