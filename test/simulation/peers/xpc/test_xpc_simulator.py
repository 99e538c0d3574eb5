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
The simulated X-Plane Connect plugin against measurements of the real one.

Requests are built byte by byte and expectations by hand: neither goes through the codec.
"""

from collections import deque
import math
import random
import struct
from typing import NamedTuple

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from memory_endpoint import MemoryEndpoint
from vector_files import vectors

from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.simulation.aircraft import terrain
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.faults import SimulatorCrashError
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xpc import PLUGIN_VERSIONS, XpcFrontend, XpcPlugin
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore, DatarefValue
from xplane_bridge.simulation.peers.xplane.entries import DatarefType

VECTORS = [
    vector for vector in vectors('xpc')
    if vector['direction'] == 'client->plugin']
CLIENT = ('127.0.0.1', 50000)
# An unremarkable position where X-Plane's local frame has its origin, so that angles relative to
# it are true ones.
ORIGIN = Initial(lat_deg=47.5, lon_deg=8.5, altitude_msl=1500.0)

POSITION = 'sim/flightmodel/position/'
ENGINE = 'sim/flightmodel/engine/'
PLANE_3 = 'sim/multiplayer/position/plane3_'
ZULU = 'sim/time/zulu_time_sec'
SPEED = 'sim/time/sim_speed'
GEAR_HANDLE = 'sim/cockpit/switches/gear_handle_status'
LONG_TEXT = 'sim/aircraft/view/acf_descrip'         # byte[260]
GETC = b'GETC\0\0'
GETP = b'GETP\0\0'
PLANEPATH = 'sim/operation/override/override_planepath'
PANEL = 'sim/cockpit2/switches/panel_brightness_ratio'


class Bench:
    """One run of the plugin, fed datagram by datagram."""

    def __init__(self, plugin_version='rc6', version=12, store=None):
        self.aircraft = Aircraft(initial=ORIGIN)
        self.world = World(self.aircraft)
        self.store = store or DatarefStore(self.world, version)
        self.plugin = XpcPlugin(self.world, self.store, plugin_version)
        self.screen = self.plugin.screen

    def frame(self, *datagrams):
        """Let one frame handle datagrams, given with or without a sender; return all replies."""
        queue = deque(d if isinstance(d, tuple) else (d, CLIENT) for d in datagrams)
        replies = []
        self.plugin.frame(lambda: queue.popleft() if queue else None,
                          lambda data, to: replies.append((data, to)))
        return replies

    def ask(self, datagram):
        """Return the one reply to a datagram, or None for silence."""
        replies = self.frame(datagram)
        assert len(replies) <= 1
        return replies[0][0] if replies else None

    def read(self, name):
        """Return a dataref's values."""
        return self.store.read(name).values

    def one(self, name):
        """Return a dataref's first value."""
        return self.read(name)[0]

    def property(self, name):
        """Return JSBSim's own value."""
        return self.aircraft.property_value(name)


@pytest.fixture
def bench():
    """Return rc6 in X-Plane 12."""
    return Bench()


def ctrl(elevator=-998.0, aileron=-998.0, rudder=-998.0, throttle=-998.0, gear=-1, flaps=-998.0,
         aircraft=0, speedbrake=-998.0):
    """Return a CTRL of 31 bytes."""
    return b'CTRL\0' + struct.pack('<4fbfBf', elevator, aileron, rudder, throttle, gear, flaps,
                                   aircraft, speedbrake)


def posi(lat=-998.0, lon=-998.0, alt=-998.0, pitch=-998.0, roll=-998.0, heading=-998.0,
         gear=-998.0, aircraft=0, form='<B3d4f', tag=b'POSI'):
    """Return a POSI of 46 bytes, or of 34 with ``form`` '<B3f4f'."""
    return tag + b'\0' + struct.pack(form, aircraft, lat, lon, alt, pitch, roll, heading, gear)


def dref(*items):
    """Return a DREF of pairs of a name and values."""
    return b'DREF\0' + b''.join(
        bytes((len(name),)) + name.encode() + bytes((len(values),))
        + struct.pack(f'<{len(values)}f', *values) for name, values in items)


def names(tag, *values):
    """Return a COMM, or with its count a GETD."""
    count = bytes((len(values),)) if tag == b'GETD' else b''
    return tag + b'\0' + count + b''.join(bytes((len(v),)) + v.encode() for v in values)


def rows_of(resp):
    """Return the rows of a RESP."""
    assert resp[:5] == b'RESP\0'
    rows, offset = [], 6
    for _ in range(resp[5]):
        rows.append(struct.unpack_from(f'<{resp[offset]}f', resp, offset + 1))
        offset += 1 + 4 * resp[offset]
    assert offset == len(resp)
    return rows


def data(*rows):
    """Return a DATA of rows: number and eight values."""
    return b'DATA\0' + b''.join(struct.pack('<I8f', *row) for row in rows)


def wypt(op, *points):
    """Return a WYPT."""
    return b'WYPT\0' + bytes((op, len(points))) + b''.join(
        struct.pack('<3f', *point) for point in points)


@pytest.mark.parametrize('given', [
    {'elevator': 0.1, 'aileron': -0.2, 'rudder': 0.05, 'throttle': 0.6},
    {'elevator': 1.5, 'aileron': -7.0, 'rudder': 0.0, 'throttle': 1.0},
    {'elevator': 0.1, 'aileron': -0.2, 'rudder': 0.05, 'throttle': -0.5}])
@pytest.mark.parametrize('forced', [-2.0, 0.3])
def test_whole_controls_do_what_their_parts_do(given, forced):
    """The whole ones, which come in each frame of a flight, have a shorter way."""
    whole, parts = Bench(), Bench()
    for bench, datagrams in (
            (whole, [ctrl(**given)]), (parts, [ctrl(**{k: v}) for k, v in given.items()])):
        bench.frame(dref((ENGINE + 'ENGN_thro_override', (forced,))))
        bench.aircraft.commanded.clear()
        bench.frame(*datagrams)
        bench.world.advance(0.1)
    assert whole.aircraft.commanded == parts.aircraft.commanded == set(given)
    assert whole.aircraft.state == parts.aircraft.state
    for name in ('throttle_handles', 'throttle_use', 'throttle_override'):
        assert getattr(whole.world, name) == getattr(parts.world, name)


# Frames and the socket


class Framed(NamedTuple):
    """A frontend in memory, without a network."""

    frontend: XpcFrontend
    endpoint: MemoryEndpoint


@pytest.fixture
def framed():
    """Return an open frontend."""
    endpoint = MemoryEndpoint()
    frontend = XpcFrontend(endpoint)
    frontend.open(World(Aircraft()), 0.0)
    return Framed(frontend, endpoint)


@pytest.mark.parametrize(('backlog', 'answered'), [
    (0, 0), (1, 1), (19, 19), (20, 20), (21, 20), (25, 20), (100, 20)])
def test_twenty_datagrams_a_frame_and_the_rest_is_lost(framed, backlog, answered):
    for _ in range(backlog):
        framed.endpoint.deliver(GETP, CLIENT, 0.0)
    framed.frontend.frame(0.01)
    assert len(framed.endpoint.collect()) == answered
    assert framed.frontend.plugin.counters.resets == int(backlog >= 20)
    framed.endpoint.deliver(GETC, CLIENT, 0.02)
    framed.frontend.frame(0.03)
    assert [reply[:4] for reply, _ in framed.endpoint.collect()] == [b'CTRL']


@pytest.mark.parametrize('junk', [b'', b'G', b'GET'])
def test_a_datagram_below_four_bytes_ends_the_frame_and_the_rest_waits(framed, junk):
    for datagram in (GETP, junk, GETC, junk, GETP):
        framed.endpoint.deliver(datagram, CLIENT, 0.0)
    seen = []
    for n in range(4):
        framed.frontend.frame(0.01 * n)
        seen.append([reply[:4] for reply, _ in framed.endpoint.collect()])
    assert seen == [[b'POSI'], [b'CTRL'], [b'POSI'], []]


def test_nothing_is_answered_between_frames(framed):
    framed.endpoint.deliver(GETP, CLIENT, 0.0)
    framed.frontend.poll(0.0)
    assert framed.endpoint.collect() == []


def test_what_is_not_answered_counts_towards_the_twenty(bench):
    replies = bench.frame(*[b'XXXX\0'] * 19, GETP, GETP)
    assert len(replies) == 1
    assert bench.plugin.counters.unknown == 19


def test_each_answer_goes_to_its_sender(bench):
    a, b = ('127.0.0.1', 1111), ('192.0.2.7', 2222)
    replies = bench.frame((GETP, a), (GETC, b), (GETC, a))
    assert [(reply[:4], to) for reply, to in replies] == [
        (b'POSI', a), (b'CTRL', b), (b'CTRL', a)]


def test_the_plugin_remembers_a_bounded_number_of_clients(bench):
    for port in range(1, 3000):
        replies = bench.frame((GETC, ('192.0.2.7', port)))
        assert [to for _, to in replies] == [('192.0.2.7', port)]
    assert len(bench.plugin._connections) == 1000


@pytest.mark.parametrize('byte', [0, 5, 255])
def test_byte_4_is_ignored(bench, byte):
    assert bench.ask(b'GETP' + bytes((byte, 0)))[:5] == b'POSI\0'
    bench.ask(b'SIMU' + bytes((byte, 1)))
    assert bench.world.frozen(0)


@pytest.mark.parametrize('tag', [b'RREF', b'RPOS', b'CMND', b'ALRT', b'QUIT', b'PREL', b'ACFN',
                                 b'RESP', b'getp', b'XXXX', b'\0\0\0\0'])
def test_unknown_tags_are_silent(bench, tag):
    assert bench.ask(tag + b'\0' + bytes(40)) is None
    assert (bench.plugin.counters.unknown, bench.plugin.counters.forwarded) == (1, 0)


@pytest.mark.parametrize('tag', [
    b'DSEL', b'USEL', b'DCOC', b'UCOC', b'MOUS', b'CHAR', b'MENU', b'SOUN', b'FAIL', b'RECO',
    b'PAPT', b'VEHN', b'VEH1', b'VEHA', b'GSET', b'OBJN', b'OBJL', b'ISET', b'BOAT'])
def test_nineteen_tags_are_forwarded(bench, tag):
    assert bench.ask(tag + b'\0' + bytes(8)) is None
    assert (bench.plugin.counters.unknown, bench.plugin.counters.forwarded) == (0, 1)


@pytest.mark.parametrize(('end', 'speed'), [(4095, 2), (4096, 2), (4097, 1), (4100, 1)])
def test_what_is_beyond_4096_bytes_is_cut_off(bench, end, speed):
    item = dref((SPEED, (2.0,)))[5:]
    # Items without values: a name of n bytes takes n + 2.
    sizes = [200] * 20
    sizes.append(end - 5 - len(item) - sum(sizes))
    bench.ask(dref(*(('x' * (size - 2), ()) for size in sizes)) + item + bytes(3))
    assert bench.one(SPEED) == speed


# CTRL and GETC


def test_controls_reach_jsbsim(bench):
    bench.ask(ctrl(0.5, 0.25, 0.125, 0.0625, 1, 0.75))
    # JSBSim's elevator and rudder are positive with the trailing edge down and left.
    assert bench.property('fcs/elevator-cmd-norm') == -0.5
    assert bench.property('fcs/aileron-cmd-norm') == 0.25
    assert bench.property('fcs/rudder-cmd-norm') == -0.125
    assert bench.property('fcs/throttle-cmd-norm') == 0.0625
    assert bench.property('fcs/flap-cmd-norm') == 0.75
    assert bench.property('gear/gear-cmd-norm') == 1.0


@pytest.mark.parametrize(('length', 'taken'), [
    (25, False), (26, True), (27, True), (28, False), (30, False), (31, True), (32, False)])
@pytest.mark.parametrize('plugin_version', PLUGIN_VERSIONS)
def test_lengths_of_ctrl(plugin_version, length, taken):
    bench = Bench(plugin_version)
    assert bench.ask((ctrl(elevator=0.5) + b'\0')[:length]) is None
    assert bench.property('fcs/elevator-cmd-norm') == (-0.5 if taken else 0.0)


def test_ctrl_without_an_aircraft_number_is_for_the_users(bench):
    bench.ask(ctrl(elevator=0.25, aircraft=3))
    bench.ask(ctrl(elevator=0.5, aircraft=3)[:26])
    assert bench.property('fcs/elevator-cmd-norm') == -0.5
    assert bench.one(PLANE_3 + 'yolk_pitch') == 0.25


@pytest.mark.parametrize(('value', 'applied'), [
    (-998.0, False), (-997.95, False), (-999.05, False), (-997.85, True), (-999.2, True)])
def test_window_of_leave(bench, value, applied):
    bench.ask(ctrl(elevator=0.5, aileron=0.5, rudder=0.5, throttle=0.5, flaps=0.5,
                   speedbrake=0.5))
    bench.ask(ctrl(elevator=value, aileron=value, rudder=value, throttle=value, flaps=value,
                   speedbrake=value))
    reply = struct.unpack('<4fbfBf', bench.ask(GETC)[5:])
    # Applied literally, and then limited by the ends of the controls.
    expected = (-1.0, -1.0, -1.0, 0.0, 1, 0.0, 0, -1.5) if applied else (
        0.5, 0.5, 0.5, 0.5, 1, 0.5, 0, 0.5)
    assert reply == expected


@pytest.mark.parametrize(('gear', 'handle'), [(0, 0), (1, 1), (-1, 1), (5, 1), (-9, 1), (-128, 1)])
def test_gear_of_ctrl(bench, gear, handle):
    bench.ask(ctrl(gear=gear))
    assert bench.property('gear/gear-cmd-norm') == handle


def test_throttle_is_latched_until_it_is_released(bench):
    bench.ask(ctrl(throttle=0.25))
    assert bench.one(ENGINE + 'ENGN_thro_override') == 0.25
    bench.ask(dref((ENGINE + 'ENGN_thro', (0.75,) * 8)))
    assert bench.property('fcs/throttle-cmd-norm') == 0.25
    bench.ask(dref((ENGINE + 'ENGN_thro_override', (-2.0,))))
    bench.ask(dref((ENGINE + 'ENGN_thro', (0.75,) * 8)))
    assert bench.property('fcs/throttle-cmd-norm') == 0.75


def test_all_eight_throttles_are_set(bench):
    bench.ask(ctrl(throttle=0.25))
    bench.ask(dref((ENGINE + 'ENGN_thro_override', (-2.0,))))
    assert bench.read(ENGINE + 'ENGN_thro')[:8] == (0.25,) * 8


@pytest.mark.parametrize('request_', [
    ctrl(elevator=math.nan), ctrl(throttle=math.nan), ctrl(flaps=math.nan, aircraft=3),
    dref((ENGINE + 'ENGN_thro', (0.5, math.nan)))])
def test_nan_passes_the_plugin_into_the_flight_model(bench, request_):
    with pytest.raises(SimulatorCrashError, match='NaN has entered the flight model'):
        bench.ask(request_)


def test_infinities_pass_the_plugin_and_move_controls_to_their_stop(bench):
    bench.ask(ctrl(elevator=math.inf, aileron=-math.inf, throttle=math.inf))
    assert bench.property('fcs/elevator-cmd-norm') == -1.0
    assert bench.property('fcs/aileron-cmd-norm') == -1.0
    assert bench.property('fcs/throttle-cmd-norm') == 1.0
    bench.ask(dref((PLANEPATH, (0.0, math.nan))))
    assert bench.read(PLANEPATH)[:3] == (0, -2 ** 31, 0)
    bench.ask(dref((PANEL, (0.5, math.nan))))
    assert math.isnan(bench.read(PANEL)[1])
    rows = rows_of(bench.ask(names(b'GETD', PANEL)))
    assert rows[0][0] == 0.5
    assert math.isnan(rows[0][1])


def test_getc_of_the_users_aircraft(bench):
    bench.ask(ctrl(0.25, -0.5, 0.125, 0.75, 0, 0.5, 0, -0.5))
    assert bench.ask(GETC) == b'CTRL\0' + struct.pack(
        '<4fbfBf', 0.25, -0.5, 0.125, 0.75, 0, 0.5, 0, -0.5)


def test_getc_of_another_aircraft_has_no_surfaces(bench):
    bench.ask(ctrl(0.25, -0.5, 0.125, 0.75, 0, 0.5, 3, 0.25))
    assert bench.ask(b'GETC\0\3') == b'CTRL\0' + struct.pack(
        '<4fbfBf', 0.0, 0.0, 0.0, 0.75, 0, 0.5, 3, 0.25)
    assert [bench.one(PLANE_3 + name) for name in ('yolk_pitch', 'yolk_roll', 'yolk_yaw')] == [
        0.25, -0.5, 0.125]
    assert bench.read(PLANE_3 + 'gear_deploy') == (0.0,) * 10
    assert bench.property('fcs/elevator-cmd-norm') == 0.0
    assert bench.one(ENGINE + 'ENGN_thro_override') == -2.0


@pytest.mark.parametrize('request_', [GETC, GETP])
def test_getc_and_getp_need_six_bytes(bench, request_):
    assert bench.ask(request_) is not None
    assert bench.ask(request_[:5]) is None
    assert bench.ask(request_ + b'\0') is None


# POSI and GETP


def expected_place(bench):
    """Return what JSBSim itself says: degrees and metres."""
    return tuple(bench.property(name) for name in (
        'position/lat-geod-deg', 'position/long-gc-deg', 'position/h-sl-meters'))


def expected_attitude(bench):
    """Return JSBSim's pitch, roll, heading in degrees."""
    return tuple(math.degrees(bench.property(f'attitude/{name}-rad'))
                 for name in ('theta', 'phi', 'psi'))


def near(*values, abs=1e-3):
    """Compare numbers."""
    return pytest.approx(values, abs=abs)


def test_position_places_the_aircraft(bench):
    bench.ask(posi(47.5, 8.5, 2000.0, 10.0, 30.0, 90.0))
    assert expected_place(bench) == near(47.5, 8.5, 2000.0, abs=1e-6)
    assert expected_attitude(bench) == near(10.0, 30.0, 90.0)


@pytest.mark.parametrize(('plugin_version', 'form', 'length'), [
    ('1.2.1', '<B7f', 34), ('rc5', '<B7f', 34), ('rc6', '<B3d4f', 46),
    ('develop', '<B3d4f', 46)])
def test_getp_says_where_jsbsim_is(plugin_version, form, length):
    bench = Bench(plugin_version)
    bench.world.advance(0.5)
    reply = bench.ask(GETP)
    assert reply[:5] == b'POSI\0'
    assert len(reply) == length
    handle, lat, lon, alt, pitch, roll, heading, gear = struct.unpack(form, reply[5:])
    tolerance = 1e-9 if length == 46 else 1e-4
    assert (lat, lon, alt) == near(*expected_place(bench), abs=tolerance)
    assert (pitch, roll, heading) == near(*expected_attitude(bench), abs=2e-2)
    assert (handle, gear) == (1, bench.property('gear/gear-pos-norm'))


def test_angles_are_those_of_the_local_frame(bench):
    # At 47.5 N the meridians 0.25 degrees apart converge by 0.25 * sin(47.5) = 0.184 degrees.
    bench.ask(posi(47.5, 8.75, 2000.0, 0.0, 0.0, 45.0))
    assert struct.unpack_from('<3f', bench.ask(GETP), 30) == near(0.0, 0.0, 45.0)
    assert expected_attitude(bench)[2] == pytest.approx(45.184, abs=0.003)
    assert bench.one(POSITION + 'true_psi') == pytest.approx(45.184, abs=0.003)


def test_omitted_figures_stay(bench):
    before = expected_place(bench)
    bench.ask(posi(alt=2500.0))
    assert expected_place(bench) == near(before[0], before[1], 2500.0, abs=1e-6)
    pitch, _, heading = expected_attitude(bench)
    bench.ask(posi(roll=20.0))
    assert expected_attitude(bench) == near(pitch, 20.0, heading)
    assert expected_place(bench) == near(before[0], before[1], 2500.0, abs=1e-6)


@pytest.mark.parametrize('given', [{'heading': 0.0}, {'lat': 47.6, 'pitch': 10.0}])
def test_a_pose_leaves_velocity_and_rates_as_they_are(bench, given):
    bench.aircraft.set_controls(aileron=0.3)
    bench.aircraft.advance(1.0)
    before = bench.aircraft.state
    assert before.v_east > 40.0
    assert abs(before.p) > 0.05
    bench.ask(posi(**given))
    after = bench.aircraft.state
    # Along the earth's axes, as X-Plane's local_vx, _vy and _vz.
    assert (after.v_north, after.v_east, after.v_down) == near(
        before.v_north, before.v_east, before.v_down, abs=0.05)
    assert (after.p, after.q, after.r) == near(before.p, before.q, before.r, abs=1e-3)
    if 'heading' in given:
        assert abs(after.beta) > math.radians(70.0)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize('field', ['lat', 'lon', 'alt'])
def test_one_nan_in_the_place_drops_the_place_only(bench, field, bad):
    before = expected_place(bench)
    bench.ask(posi(**({'lat': 47.6, 'lon': 8.6, 'alt': 2000.0, 'pitch': 5.0, 'roll': 6.0,
                       'heading': 7.0} | {field: bad})))
    assert expected_place(bench) == near(*before, abs=1e-6)
    assert expected_attitude(bench) == near(5.0, 6.0, 7.0)


@pytest.mark.parametrize('field', ['pitch', 'roll', 'heading'])
def test_one_nan_in_the_angles_drops_the_angles_only(bench, field):
    before = expected_attitude(bench)
    bench.ask(posi(**({'lat': 47.5, 'lon': 8.5, 'alt': 2000.0, 'pitch': 5.0, 'roll': 6.0,
                       'heading': 7.0} | {field: math.nan})))
    assert expected_place(bench) == near(47.5, 8.5, 2000.0, abs=1e-6)
    assert expected_attitude(bench) == near(*before)


def test_heading_of_0_is_read_as_0(bench):
    # Its way through the local frame and float32 would make it 360.
    bench.frame(b'SIMU\0\x01', posi(38.0, -121.0, 2000.0, -10.0, 0.0, 0.0, 0.0))
    rows = rows_of(bench.ask(names(b'GETD', 'sim/flightmodel/position/psi')))
    assert rows[0][0] == pytest.approx(0.0, abs=1e-4)


def test_a_latitude_out_of_range_is_accepted(bench):
    # The model's own limit: at the pole there is no longitude.
    bench.ask(posi(lat=123.0))
    assert bench.property('position/lat-geod-deg') == pytest.approx(89.9)


@pytest.mark.parametrize(('gear', 'handle', 'deployed'), [
    (0.0, 0, 0.0), (1.0, 1, 1.0), (0.5, 0, 0.5), (-1.0, 1, 1.0), (-998.0, 1, 1.0), (1.5, 1, 1.0),
    (math.nan, 1, 1.0)])
def test_gear_of_posi(bench, gear, handle, deployed):
    bench.ask(posi(gear=gear))
    assert bench.property('gear/gear-cmd-norm') == handle
    assert bench.property('gear/gear-pos-norm') == deployed
    reply = bench.ask(GETP)
    assert (reply[5], struct.unpack_from('<f', reply, 42)[0]) == (handle, deployed)


def test_byte_5_of_getp_is_no_aircraft_number(bench):
    assert bench.ask(b'GETP\0\3')[5] == 0
    assert bench.ask(GETP)[5] == 1


@pytest.mark.parametrize('n', [1, 19])
def test_other_aircraft_are_placed_too(bench, n):
    bench.ask(posi(47.6, 8.4, 2222.0, 1.0, 2.0, 3.0, 0.5, aircraft=n))
    reply = bench.ask(b'GETP\0' + bytes((n,)))
    assert struct.unpack('<B3d4f', reply[5:]) == near(
        0, 47.6, 8.4, 2222.0, 1.0, 2.0, 3.0, 0.5)
    base = f'sim/multiplayer/position/plane{n}_'
    assert [bench.one(base + name) for name in ('lat', 'lon', 'el')] == [47.6, 8.4, 2222.0]
    assert expected_place(bench) == near(47.5, 8.5, 1500.0)


def test_aircraft_20_reaches_the_users_aircraft(bench):
    bench.ask(posi(alt=1800.0, aircraft=20))
    assert bench.property('position/h-sl-meters') == pytest.approx(1800.0)
    reply = bench.ask(b'GETP\0\24')
    assert struct.unpack_from('<d', reply, 22)[0] == pytest.approx(1800.0)
    assert bench.ask(b'GETC\0\24')[26] == 20


@pytest.mark.parametrize('number', [21, 127, 128, 255])
@pytest.mark.parametrize('make', [
    lambda n: b'GETP\0' + bytes((n,)), lambda n: b'GETC\0' + bytes((n,)),
    lambda n: posi(47.0, 8.0, 1000.0, aircraft=n), lambda n: ctrl(elevator=0.0, aircraft=n)])
def test_an_aircraft_beyond_20_crashes_the_simulator(make, number):
    with pytest.raises(SimulatorCrashError, match=f'X-Plane has crashed: aircraft {number}'):
        Bench().ask(make(number))


@pytest.mark.parametrize(('plugin_version', 'taken'), [
    ('1.2.1', {34, 35, 40, 45, 46, 47}), ('rc5', {34, 46}), ('rc6', {34, 46}),
    ('develop', {34, 46})])
def test_lengths_of_posi(plugin_version, taken):
    bench = Bench(plugin_version)
    seen = set()
    for length in (26, 33, 34, 35, 40, 45, 46, 47):
        bench.world.teleport(0, 47.5, 8.5, 1500.0)
        bench.ask((posi(alt=2000.0, form='<B3f4f') + bytes(20))[:length])
        if expected_place(bench) != near(47.5, 8.5, 1500.0):
            seen.add(length)
    assert seen == taken


def test_1_2_1_takes_the_long_form_for_garbage():
    # The low words of 37.5 and -122.0 are 0; the high word of 37.5 is the float32 3.0429688.
    bench = Bench('1.2.1')
    bench.ask(posi(37.5, -122.0, 1000.0, 0.0, 0.0, 0.0))
    assert expected_place(bench)[:2] == near(0.0, 3.0429688, abs=1e-6)


@pytest.mark.parametrize('given', [{'alt': 2000.0}, {'heading': 90.0}])
def test_1_2_1_rounds_what_it_reads_back(given):
    bench = Bench('1.2.1')
    bench.ask(posi(47.4000001, 8.5, 1500.0, form='<B3f4f'))
    bench.world.advance(1.0)
    lat, lon, _ = expected_place(bench)
    bench.ask(posi(form='<B3f4f', **given))
    single = struct.unpack('<2f', struct.pack('<2f', lat, lon))
    assert expected_place(bench)[:2] == near(*single, abs=1e-9)
    assert expected_place(bench)[:2] != near(lat, lon, abs=1e-9)


@pytest.mark.parametrize(('plugin_version', 'deployed'), [
    ('1.2.1', 0.75), ('rc5', 0.25), ('rc6', 0.75), ('develop', 0.75)])
def test_rc5_reads_the_gear_of_the_short_form_from_stale_memory(plugin_version, deployed):
    bench = Bench(plugin_version)
    bench.ask(b'XXXX\0' + bytes(37) + struct.pack('<f', 0.25))
    bench.ask(posi(47.0, 8.0, 1500.0, 0.0, 0.0, 0.0, 0.75, aircraft=3, form='<B3f4f'))
    assert bench.one(PLANE_3 + 'gear_deploy') == deployed


# GETD and RESP


def test_datarefs_come_in_the_order_of_the_request(bench):
    reply = bench.ask(names(b'GETD', POSITION + 'true_airspeed', 'sim/no/such', POSITION + 'q',
                            GEAR_HANDLE))
    airspeed, unknown, q, gear = rows_of(reply)
    assert airspeed[0] == pytest.approx(bench.property('velocities/vt-fps') * 0.3048, rel=1e-6)
    assert unknown == ()
    assert len(q) == 4
    assert math.hypot(*q) == pytest.approx(1.0)
    assert gear == (1.0,)


def test_doubles_come_as_float32(bench):
    bench.ask(posi(lat=47.123456789))
    (latitude,), = rows_of(bench.ask(names(b'GETD', POSITION + 'latitude')))
    assert latitude == struct.unpack('<f', struct.pack('<f', 47.123456789))[0]


@pytest.mark.parametrize('name', ['', 'sim/no/such', ENGINE + 'ENGN_thro[0]', POSITION + 'q[1]'])
def test_unknown_names_have_no_values(bench, name):
    assert bench.ask(names(b'GETD', name)) == b'RESP\0\1\0'


class FakeStore:
    """Datarefs of sizes that the model does not have."""

    xplane_version = 11
    values = {
        'floats': DatarefValue(DatarefType.FLOAT_ARRAY, tuple(range(300))),
        'ints': DatarefValue(DatarefType.INT_ARRAY, tuple(range(250))),
        'bytes': DatarefValue(DatarefType.BYTES, tuple(n % 256 for n in range(600))),
    }

    def type_of(self, name):
        """Return a dataref's type."""
        return self.values[name].type if name in self.values else None

    def reader(self, name):
        """Return what reads a dataref."""
        return (lambda: self.values[name].values) if name in self.values else None


def test_a_request_is_understood_by_all_its_bytes_and_no_others():
    bench = Bench(store=FakeStore())
    rows = {name: rows_of(bench.ask(names(b'GETD', *name))) for name in (
        ('floats', 'ints'), ('ints', 'floats'))}
    assert rows['floats', 'ints'] == rows['ints', 'floats'][::-1]
    # A name that goes on beyond the datagram's end reads what an earlier one has left there.
    whole = names(b'GETD', 'floats')
    cut = whole[:-3]
    known = bench.ask(whole)
    assert bench.ask(cut) == known
    bench.ask(names(b'GETD', 'floppy'))
    assert bench.ask(cut) != known


def test_arrays_are_cut_and_bytes_are_signed():
    floats, ints, characters = rows_of(
        Bench(store=FakeStore()).ask(names(b'GETD', 'floats', 'ints', 'bytes')))
    assert floats == tuple(range(255))
    assert ints == tuple(range(200))
    assert characters == (*range(128), *range(-128, -1))


def test_an_answer_beyond_4096_bytes_crashes_the_simulator_once_sent(bench):
    assert len(bench.ask(names(b'GETD', *[LONG_TEXT] * 4))) == 4090
    with pytest.raises(SimulatorCrashError, match='answer of 5111 bytes') as crash:
        bench.ask(names(b'GETD', *[LONG_TEXT] * 5))
    (reply, to), = crash.value.replies
    assert (len(reply), to) == (5111, CLIENT)


def test_count_0_answers_no_rows_to_who_has_asked_before(bench):
    other = ('127.0.0.1', 50001)
    assert bench.ask(b'GETD\0\0') is None
    bench.ask(names(b'GETD', ZULU))
    assert bench.ask(b'GETD\0\0') == b'RESP\0\0'
    assert bench.frame((b'GETD\0\0', other)) == []


def test_a_getd_that_ends_too_early_reads_on_in_stale_memory(bench):
    bench.ask(names(b'GETD', 'sim/none', GEAR_HANDLE, 'sim/none'))
    rows = rows_of(bench.ask(names(b'GETD', 'sim/none').replace(b'\0\1', b'\0\2')))
    assert rows == [(), (1.0,)]


# DREF


def test_several_datarefs_in_one_datagram(bench):
    bench.ask(dref((ZULU, (100.0,)), ('sim/no/such', (1.0, 2.0)), (SPEED, (2.0,))))
    assert (bench.one(ZULU), bench.one(SPEED)) == (100.0, 2)


@pytest.mark.parametrize('cut', [1, 3, 4, 5, 12])
def test_items_before_a_malformed_one_are_applied(bench, cut):
    bench.ask(dref((ZULU, (100.0,)), (SPEED, (2.0,)))[:-cut])
    assert (bench.one(ZULU), bench.one(SPEED)) == (100.0, 1)


def test_values_beyond_an_array_are_dropped_and_missing_ones_stay(bench):
    name = 'sim/operation/override/override_planepath'
    bench.ask(dref((name, (1.0,) * 30)))
    assert bench.read(name) == (1,) * 20
    bench.ask(dref((name, (0.0, 0.0))))
    assert bench.read(name) == (0, 0, *(1,) * 18)


def test_integers_are_cut_toward_zero(bench):
    bench.ask(dref((SPEED, (2.9,))))
    assert bench.one(SPEED) == 2
    bench.ask(dref((GEAR_HANDLE, (-0.9,))))
    assert bench.one(GEAR_HANDLE) == 0


def test_nan_skips_its_item_only(bench):
    bench.ask(dref((ZULU, (math.nan,)), (SPEED, (2.0,))))
    assert (bench.one(ZULU), bench.one(SPEED)) == (43_200.0, 2)


def test_nan_behind_the_first_value_of_a_scalar_passes(bench):
    bench.ask(dref((ZULU, (100.0, math.nan))))
    assert bench.one(ZULU) == 100.0


def test_998_is_literal_in_dref(bench):
    bench.ask(dref((ZULU, (-998.0,))))
    assert bench.one(ZULU) == 86_400.0 - 998.0


def test_dref_does_not_understand_an_index(bench):
    bench.ask(dref((ENGINE + 'ENGN_thro[0]', (0.125,))))
    assert bench.property('fcs/throttle-cmd-norm') != 0.125


def test_read_only_datarefs_stay(bench):
    bench.ask(dref((POSITION + 'latitude', (10.0,))))
    assert bench.one(POSITION + 'latitude') == pytest.approx(47.5)


def test_no_value_at_all_writes_stale_bytes(bench):
    request = dref((ZULU, ()))
    bench.ask(b'XXXX\0' + bytes(len(request) - 5) + struct.pack('<f', 1234.0))
    bench.ask(request)
    assert bench.one(ZULU) == 1234.0


# SIMU


def frozen(bench):
    """Return the numbers of the aircraft that are held."""
    return {n for n in range(20) if bench.world.frozen(n)}


ALL = set(range(20))


def test_simu_holds_and_releases_aircraft(bench):
    for op, expected in ((1, ALL), (205, ALL - {5}), (219, ALL - {5, 19}), (105, ALL - {19}),
                         (2, {19}), (100, {0, 19}), (2, ALL - {0, 19}), (0, set()),
                         (119, {19})):
        assert bench.ask(b'SIMU\0' + bytes((op,))) is None
        assert frozen(bench) == expected


@pytest.mark.parametrize('op', [3, 99, 120, 199, 220, 255])
def test_other_values_of_simu_are_ignored(bench, op):
    bench.ask(b'SIMU\0' + bytes((op,)))
    assert frozen(bench) == set()


def test_simu_of_1_2_1_knows_no_single_aircraft():
    bench = Bench('1.2.1')
    bench.ask(b'SIMU\0' + bytes((105,)))
    assert frozen(bench) == set()
    bench.ask(b'SIMU\0\2')
    assert frozen(bench) == ALL


def test_simu_of_any_length_counts(bench):
    bench.ask(b'SIMU\0\1rest')
    assert frozen(bench) == ALL


def test_held_aircraft_stand_still_while_time_goes_on(bench):
    bench.ask(b'SIMU\0\1')
    before, time_before = expected_place(bench), bench.one('sim/time/total_running_time_sec')
    bench.world.advance(1.0)
    assert expected_place(bench) == before
    assert bench.one('sim/time/total_running_time_sec') == pytest.approx(time_before + 1.0)
    assert bench.one('sim/time/paused') == 0
    bench.ask(b'SIMU\0\0')
    bench.world.advance(1.0)
    assert expected_place(bench) != before


# The screen


def text(x, y, content, length=None):
    """Return a TEXT."""
    return b'TEXT\0' + struct.pack(
        '<iiB', x, y, len(content) if length is None else length) + content


@pytest.mark.parametrize(('request_', 'shown'), [
    (text(10, 700, b'Hello'), (10, 700, 'Hello')),
    (text(-1, -1, b'A'), (10, 600, 'A')),
    (text(0, 0, b'A'), (0, 0, 'A')),
    (text(1, 2, b'one\ntwo\rthree'), (1, 2, 'one\ntwo\rthree')),
    (text(1, 2, b'one\0two'), (1, 2, 'one')),
    (text(1, 2, b'q' * 255), (1, 2, 'q' * 255)),
])
def test_text_is_shown(bench, request_, shown):
    bench.ask(request_)
    seen = bench.screen.text
    assert (seen.x, seen.y, seen.text) == shown


@pytest.mark.parametrize('clear', [text(1, 2, b''), text(1, 2, b'\0')])
def test_empty_text_clears(bench, clear):
    bench.ask(text(1, 2, b'A'))
    bench.ask(clear)
    assert bench.screen.text is None


def test_text_below_14_bytes_is_ignored(bench):
    bench.ask(text(1, 2, b'A'))
    bench.ask(text(1, 2, b'')[:13])
    assert bench.screen.text.text == 'A'


def test_text_trusts_its_length_byte(bench):
    bench.ask(text(1, 2, b'first'))
    bench.ask(text(1, 2, b'SEC', length=5))
    assert bench.screen.text.text == 'SECst'


def view(code, camera=b''):
    """Return a VIEW."""
    return b'VIEW\0' + struct.pack('<i', code) + camera


@pytest.mark.parametrize(('plugin_version', 'lengths'), [
    ('1.2.1', {9}), ('rc5', {9, 37}), ('rc6', {9, 49}), ('develop', {9, 49})])
def test_lengths_of_view(plugin_version, lengths):
    bench = Bench(plugin_version)
    seen = set()
    for length in (8, 9, 10, 36, 37, 48, 49, 50):
        bench.screen.view = None
        bench.ask(view(73, bytes(41))[:length])
        if bench.screen.view is not None:
            seen.add(length)
    assert seen == lengths


def test_cameras(bench):
    bench.ask(view(79, struct.pack('<3d3ff', 47.0, 8.0, 500.0, -998.0, -998.0, -998.0, 1.5)))
    camera = bench.screen.view.camera
    assert (camera.loc, camera.direction, camera.zoom) == (
        (47.0, 8.0, 500.0), (None, None, None), 1.5)
    bench.ask(view(80, struct.pack('<3d3ff', 30.0, 0.0, 10.0, 0.0, -5.0, -180.0, 1.0)))
    camera = bench.screen.view.camera
    assert (camera.loc, camera.direction, camera.zoom) == (
        (30.0, 0.0, 10.0), (0.0, -5.0, -180.0), 1.0)
    bench.ask(view(78, bytes(40)))
    assert (bench.screen.view.view, bench.screen.view.camera) == (78, None)


def test_the_camera_of_rc5_looks_at_the_aircraft():
    bench = Bench('rc5')
    bench.ask(view(79, struct.pack('<3df', 47.0, 8.0, 500.0, 1.5)))
    assert bench.screen.view.camera == xpc.Camera((47.0, 8.0, 500.0), None, 1.5)


def test_view_type_tells_the_views_that_nasa_tests(bench):
    for code, number in ((73, 1000), (80, 1017)):
        bench.ask(view(code))
        assert bench.one('sim/graphics/view/view_type') == number


def test_view_0_is_the_pause_key(bench):
    bench.ask(view(73))
    bench.ask(view(0))
    assert bench.one('sim/time/paused') == 1
    assert bench.screen.view.view == 73
    bench.ask(view(0))
    assert bench.one('sim/time/paused') == 0


def test_waypoints_are_added_removed_and_cleared(bench):
    a, b = (37.5, -122.25, 1000.0), (37.5, -122.5, 1000.0)
    for request, shown in ((wypt(1, a, b), [a, b]), (wypt(2, a), [b]), (wypt(2, a), [b]),
                           (wypt(1, a), [b, a]), (wypt(9, b), [b, a]), (wypt(3), [])):
        bench.ask(request)
        assert bench.screen.waypoints == shown


@pytest.mark.parametrize('point', [(1.0, 2.0, 3.0), (7.0, 8.0, 9.0)])
def test_a_waypoint_removed_twice_in_one_datagram_takes_the_last_one_along(bench, point):
    bench.ask(wypt(1, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), (7.0, 8.0, 9.0)))
    bench.ask(wypt(2, point, point))
    assert len(bench.screen.waypoints) == 1


def test_the_only_waypoint_removed_twice_in_one_datagram_crashes_the_simulator(bench):
    bench.ask(wypt(1, (1.0, 2.0, 3.0)))
    with pytest.raises(SimulatorCrashError, match='waypoints'):
        bench.ask(wypt(2, (1.0, 2.0, 3.0), (1.0, 2.0, 3.0)))


def test_waypoints_are_compared_as_float32(bench):
    bench.ask(wypt(1, (37.6, -122.1, 100.0)))
    bench.ask(wypt(2, (37.60001, -122.1, 100.0)))
    assert len(bench.screen.waypoints) == 1
    bench.ask(wypt(2, (37.6, -122.1, 100.0)))
    assert bench.screen.waypoints == []


def test_128_waypoints_are_stored(bench):
    bench.ask(wypt(1, *[(float(n), 0.0, 0.0) for n in range(100)]))
    bench.ask(wypt(1, *[(float(n), 1.0, 0.0) for n in range(100)]))
    assert len(bench.screen.waypoints) == 128
    assert bench.screen.waypoints[-1] == (27.0, 1.0, 0.0)


def test_more_than_128_removals_crash_the_simulator(bench):
    points = [(float(n), 0.0, 0.0) for n in range(100)]
    bench.ask(wypt(1, *points))
    bench.ask(wypt(2, *points, *[(0.0, 1.0, 0.0)] * 100))
    assert bench.screen.waypoints == []
    bench.ask(wypt(1, *points))
    with pytest.raises(SimulatorCrashError, match='waypoints'):
        bench.ask(wypt(2, *points, *points[:29]))


# Commands


def test_several_commands_in_one_datagram(bench):
    bench.ask(names(b'COMM', 'sim/flight_controls/landing_gear_up', 'sim/no/such',
                    'sim/operation/pause_on'))
    assert bench.property('gear/gear-cmd-norm') == 0.0
    assert bench.world.paused


def test_commands_before_a_malformed_one_are_run(bench):
    bench.ask(names(b'COMM', 'sim/flight_controls/landing_gear_up',
                    'sim/operation/pause_on')[:-1])
    assert bench.property('gear/gear-cmd-norm') == 0.0
    assert not bench.world.paused


def test_held_commands_act_until_they_end():
    bench = Bench('develop')
    held = 'sim/flight_controls/brakes_max'
    bench.ask(names(b'BCOM', held))
    assert bench.property('fcs/left-brake-cmd-norm') == 1.0
    bench.world.advance(0.5)
    assert bench.property('fcs/left-brake-cmd-norm') == 1.0
    bench.ask(names(b'ECOM', held))
    assert bench.property('fcs/left-brake-cmd-norm') == 0.0


def test_an_end_without_a_begin_still_ends():
    bench = Bench('develop')
    bench.aircraft.set_controls(left_brake=1.0, right_brake=1.0)
    bench.ask(names(b'ECOM', 'sim/flight_controls/brakes_max'))
    assert bench.property('fcs/left-brake-cmd-norm') == 0.0


@pytest.mark.parametrize(('plugin_version', 'known'), [
    ('1.2.1', set()), ('rc5', set()), ('rc6', {b'COMM', b'GETT', b'POST'}),
    ('develop', {b'COMM', b'GETT', b'POST', b'BCOM', b'ECOM'})])
def test_tags_that_a_plugin_version_does_not_know_are_silent(plugin_version, known):
    bench = Bench(plugin_version)
    seen = set()
    for tag in (b'COMM', b'BCOM', b'ECOM', b'GETT', b'POST'):
        bench.plugin.counters.unknown = 0
        body = {b'GETT': bytes(25), b'POST': posi()[5:]}.get(tag, b'\7sim/a/b')
        replied = bench.ask(tag + b'\0' + body) is not None
        if not bench.plugin.counters.unknown:
            seen.add(tag)
        assert replied == (tag in known & {b'GETT', b'POST'})
    assert seen == known


# Terrain


def terr(reply):
    """Return the fields of a TERR."""
    assert reply[:5] == b'TERR\0'
    assert len(reply) == 62
    number, lat, lon, alt, *rest = struct.unpack('<B3d3f3f2i', reply[5:])
    return number, (lat, lon, alt), tuple(rest[:3]), tuple(rest[3:6]), rest[6], rest[7]


def gett(lat, lon, alt, aircraft=0):
    """Return a GETT."""
    return b'GETT\0' + struct.pack('<B3d', aircraft, lat, lon, alt)


def test_terrain_at_a_place(bench):
    # The flat ground of the home airfield, 430 m high. X-Plane's axes are those of the origin,
    # 0.1 degrees north: there the ground's vertical leans to the south by 0.1 degrees.
    number, place, normal, velocity, is_wet, status = terr(bench.ask(gett(47.4, 8.5, 0.0, 4)))
    assert (number, place) == (4, near(47.4, 8.5, 430.0, abs=1e-6))
    assert normal == near(0.0, math.cos(math.radians(0.1)), math.sin(math.radians(0.1)), abs=1e-5)
    assert (velocity, is_wet, status) == ((0.0, 0.0, 0.0), 0, 0)


def test_terrain_at_sea(bench):
    *_, is_wet, status = terr(bench.ask(gett(47.4, 9.5, 0.0)))
    assert terrain.elevation_m(47.4, 9.5) == 0.0
    assert (is_wet, status) == (1, 0)


@pytest.mark.parametrize('place', [(-998.0, 8.5, 0.0), (47.5, -998.0, 0.0), (47.5, 8.5, -998.0)])
def test_any_998_means_below_the_aircraft(bench, place):
    bench.ask(posi(47.41, 8.52, 1500.0, aircraft=3))
    assert terr(bench.ask(gett(*place)))[1][:2] == near(47.5, 8.5, abs=1e-6)
    assert terr(bench.ask(gett(*place, aircraft=3)))[:2] == (
        3, near(47.41, 8.52, 430.0, abs=1e-6))


def test_gett_has_no_window_of_leave(bench):
    assert terr(bench.ask(gett(10.0, 20.0, -997.95)))[1][:2] == (10.0, 20.0)


@pytest.mark.parametrize('place', [(91.0, 8.5, 0.0), (math.nan, 8.5, 0.0), (47.4, math.inf, 0.0)])
def test_a_probe_that_misses_is_silent(bench, place):
    assert bench.ask(gett(*place)) is None


@pytest.mark.parametrize('length', [6, 29, 31, 46])
def test_gett_needs_thirty_bytes(bench, length):
    assert bench.ask((gett(47.4, 8.5, 0.0) + bytes(20))[:length]) is None


def test_post_places_and_probes(bench):
    reply = bench.ask(posi(47.42, 8.53, 1600.0, tag=b'POST'))
    assert terr(reply)[1] == near(47.42, 8.53, 430.0, abs=1e-6)
    assert expected_place(bench) == near(47.42, 8.53, 1600.0, abs=1e-6)


def test_post_of_a_bad_length_still_probes(bench):
    reply = bench.ask(posi(47.42, 8.53, 1600.0, tag=b'POST')[:40])
    assert terr(reply)[1][:2] == near(47.5, 8.5, abs=1e-6)
    assert expected_place(bench) == near(47.5, 8.5, 1500.0, abs=1e-3)


def test_gett_crashes_only_where_it_looks_for_the_aircraft(bench):
    assert terr(bench.ask(gett(47.4, 8.5, 0.0, aircraft=21)))[0] == 21
    with pytest.raises(SimulatorCrashError):
        bench.ask(gett(-998.0, 8.5, 0.0, aircraft=21))


# CONN


def conn(port):
    """Return a CONN."""
    return b'CONN\0' + struct.pack('<H', port)


def test_conf_goes_to_the_new_port_and_answers_to_the_old_one(bench):
    a, b = ('127.0.0.1', 1111), ('127.0.0.1', 2222)
    replies = bench.frame((conn(50971), a), (GETP, a), (conn(50972), b))
    # The connection has moved to port 50971, so a's next request opens a new one.
    assert [(reply[:4], to) for reply, to in replies] == [
        (b'CONF', ('127.0.0.1', 50971)), (b'POSI', a), (b'CONF', ('127.0.0.1', 50972))]
    assert (replies[0][0], replies[2][0]) == (b'CONF\0\0', b'CONF\0\2')


def test_what_was_asked_moves_with_the_connection(bench):
    old, new = ('127.0.0.1', 1111), ('127.0.0.1', 2222)
    bench.frame((names(b'GETD', ZULU), old), (conn(2222), old))
    assert bench.frame((b'GETD\0\0', old)) == []
    assert bench.frame((b'GETD\0\0', new)) == [(b'RESP\0\0', new)]


def test_connections_are_numbered_modulo_256(bench):
    ids = [bench.frame((conn(20_000 + n), ('127.0.0.1', 10_000 + n)))[0][0][5]
           for n in range(300)]
    assert ids == [n % 256 for n in range(300)]


# DATA


def test_row_17_turns_the_aircraft(bench):
    bench.ask(data((17, 5.0, 10.0, 45.0, 99.0, 0.0, 0.0, 0.0, 0.0)))
    assert expected_attitude(bench) == near(5.0, 10.0, 45.0)
    bench.ask(data((17, -998.0, 20.0, -998.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
    assert expected_attitude(bench) == near(5.0, 20.0, 45.0)


def test_row_20_is_read_one_column_late(bench):
    bench.ask(data((20, 99.0, 47.25, 8.25, 2500.0, 99.0, 0.0, 0.0, 0.0)))
    assert expected_place(bench) == near(47.25, 8.25, 2500.0, abs=1e-6)


def test_row_25_sets_all_throttles_from_its_first_value(bench):
    bench.ask(data((25, 0.25, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75)))
    assert bench.read(ENGINE + 'ENGN_thro')[:8] == (0.25,) * 8
    assert bench.one(ENGINE + 'ENGN_thro_override') == -2.0
    bench.ask(data((25, math.nan, *[0.5] * 7)))
    assert bench.property('fcs/throttle-cmd-norm') == 0.25
    bench.ask(data((25, -998.0, *[0.5] * 7)))
    assert bench.property('fcs/throttle-cmd-norm') == 0.0


def test_row_14_moves_the_gear(bench):
    bench.ask(data((14, 0.0, *[1.0] * 7)))
    assert bench.property('gear/gear-pos-norm') == 0.0
    assert bench.aircraft.state.left_brake == 0.0


@pytest.mark.parametrize(('row', 'forwards'), [
    (8, 5), (0, 8), (133, 8), (14, 3), (26, 7), (17, 0), (20, 0), (25, 0), (134, 0), (255, 0)])
def test_cells_that_the_plugin_does_not_know_forward_the_datagram(bench, row, forwards):
    bench.ask(data((row, *[-998.0] * 8)))
    assert bench.plugin.counters.forwarded == forwards


def test_scalar_rows_set_nothing(bench):
    bench.ask(data((8, 0.5, 0.5, 0.5, *[-998.0] * 5)))
    assert bench.property('fcs/elevator-cmd-norm') == 0.0


def test_only_the_low_byte_of_a_row_number_counts(bench):
    bench.ask(data((0x12345600 + 25, 0.25, *[0.0] * 7)))
    assert bench.property('fcs/throttle-cmd-norm') == 0.25


def test_several_rows_and_a_rest(bench):
    bench.ask(data((25, 0.25, *[0.0] * 7), (14, 0.0, *[0.0] * 7)) + bytes(35))
    assert bench.property('fcs/throttle-cmd-norm') == 0.25
    assert bench.property('gear/gear-cmd-norm') == 0.0


def test_31_rows_are_borne_and_32_crash_the_simulator(bench):
    bench.ask(data(*[(25, 0.25, *[0.0] * 7)] * 31))
    assert bench.property('fcs/throttle-cmd-norm') == 0.25
    with pytest.raises(SimulatorCrashError, match='32 rows'):
        bench.ask(data(*[(25, 0.25, *[0.0] * 7)] * 32))


def test_data_without_its_fifth_byte_crashes_the_simulator(bench):
    bench.ask(b'DATA\0')
    with pytest.raises(SimulatorCrashError, match='4 bytes'):
        bench.ask(b'DATA')


# The beacon


@pytest.mark.parametrize(('plugin_version', 'beacons'), [
    ('1.2.1', False), ('rc5', True), ('rc6', True), ('develop', True)])
def test_plugin_versions_with_a_beacon(plugin_version, beacons):
    assert (Bench(plugin_version).plugin.beacon(1.0) is not None) == beacons


def test_beacon_once_a_second_from_the_first_second_on(bench):
    times = [n / 16 for n in range(60) if bench.plugin.beacon(n / 16) is not None]
    assert times == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(('version', 'said'), [(11, 11550), (12, 12100)])
def test_beacon_says_port_and_version(version, said):
    beacon = Bench(version=version).plugin.beacon(1.0)
    assert beacon == b'BECN\0' + struct.pack('<HI', 49009, said) + b'1.3-rc.1' + bytes(8)
    assert len(beacon) == 27


def test_a_late_beacon_makes_none_up(bench):
    assert bench.plugin.beacon(7.5) is not None
    assert bench.plugin.beacon(8.25) is None
    assert bench.plugin.beacon(8.5) is not None


# Recorded requests of real clients

@pytest.fixture(scope='module')
def benches():
    """Return a plugin of each version."""
    return {plugin_version: Bench(plugin_version) for plugin_version in PLUGIN_VERSIONS}


ANSWERS = {'GETC': b'CTRL', 'GETP': b'POSI', 'GETD': b'RESP', 'CONN': b'CONF', 'GETT': b'TERR',
           'POST': b'TERR'}


@pytest.mark.parametrize('vector', VECTORS, ids=lambda vector: vector['name'])
@pytest.mark.parametrize('plugin_version', PLUGIN_VERSIONS)
def test_recorded_requests_get_their_kind_of_answer_or_silence(benches, plugin_version, vector):
    bench = benches[plugin_version]
    replies = bench.frame(bytes.fromhex(vector['hex']))
    tag = vector['fields']['type']
    expected = ANSWERS.get(tag)
    if tag in ('GETT', 'POST') and plugin_version in ('1.2.1', 'rc5'):
        expected = None
    assert [reply[:4] for reply, _ in replies] == ([expected] if expected else [])
    bench.world.advance(0.1)


def values(**expected):
    """Return a check of JSBSim's properties, '-' and '/' written as '_' and '__'."""
    def check(bench):
        for name, value in expected.items():
            name = name.replace('__', '/').replace('_', '-')
            assert bench.property(name) == pytest.approx(value, abs=1e-6), name
    return check


def datarefs(base, **expected):
    """Return a check of datarefs."""
    def check(bench):
        for name, value in expected.items():
            assert bench.one(base + name) == pytest.approx(value, abs=1e-6), name
    return check


def shows(what, expected):
    """Return a check of the screen."""
    def check(bench):
        shown = getattr(bench.screen, what)
        if what == 'text' and shown is not None:
            shown = (shown.x, shown.y, shown.text)
        if what == 'view' and shown is not None:
            shown = (shown.view, shown.camera)
        assert shown == expected
    return check


def holds(expected):
    """Return a check of which aircraft are held."""
    return lambda bench: frozen(bench) == expected or pytest.fail(str(frozen(bench)))


def stays(bench):
    """Check that the user's aircraft is where it was."""
    assert expected_place(bench) == near(47.5, 8.5, 1500.0, abs=1e-3)


ELEVATOR, AILERON, RUDDER, THROTTLE = (
    'fcs__elevator_cmd_norm', 'fcs__aileron_cmd_norm', 'fcs__rudder_cmd_norm',
    'fcs__throttle_cmd_norm')
PLANE = 'sim/multiplayer/position/plane'
LAT, LON, ALT = 'position__lat_geod_deg', 'position__long_gc_deg', 'position__h_sl_meters'
P1, P2 = (37.5, -122.0, 1000.0), (37.599998474121094, -122.0999984741211, 1100.0)

OUTCOMES = {
    'py3_CTRL_00': values(**{ELEVATOR: -0.25, AILERON: 0.0}),
    'py3_CTRL_01': values(**{ELEVATOR: 1.0, AILERON: 1.0}),
    'py3_CTRL_02': datarefs(PLANE + '2_yolk_', pitch=0.0, roll=0.5),
    'py3_CTRL_04': values(**{ELEVATOR: 0.0, THROTTLE: 1.0}),
    'py3_CTRL_09': datarefs(PLANE + '7_', speedbrake_ratio=-0.5, throttle=0.0, gear_deploy=1.0),
    'c-v1.2.1_CTRL_998': datarefs(PLANE + '19_', throttle=0.6000000238418579),
    'java_CTRL6': datarefs(PLANE + '2_', yolk_pitch=0.5, yolk_roll=-0.25, yolk_yaw=0.75,
                           throttle=1.0, flap_ratio=0.5, gear_deploy=0.0),
    'java_CTRL1': values(**{ELEVATOR: -0.5, AILERON: 0.0, RUDDER: 0.0}),
    'plugin-master_accepts_CTRL26': values(
        **{ELEVATOR: -0.5, AILERON: 0.25, RUDDER: -0.125, THROTTLE: 0.0625},
        fcs__flap_cmd_norm=0.75),
    'py3_POSI_02': datarefs(PLANE + '1_', lat=-89.9, lon=179.999999999, gear_deploy=0.0),
    'py3_POSI_03': values(**{LAT: 20.0, LON: 8.5, ALT: 1500.0}),
    'py3_POSI_04': values(**{LAT: 47.5, LON: 8.5, ALT: 1500.125}),
    'py3_POSI_07': datarefs(PLANE + '19_', lat=47.1, lon=8.6, gear_deploy=0.5),
    'c_POSI3': datarefs(PLANE + '5_', lat=-37.5, lon=179.999999999),
    'c_POSI_998': datarefs(PLANE + '1_', the=5.0, psi=90.0),
    'c-v1.2.1_POSI7_34': stays,
    'java_POSI7': datarefs(PLANE + '3_', lat=37.5, lon=-122.25, el=1000.125),
    'java_POSI3': values(**{LAT: 37.5, LON: -122.25, ALT: 1000.125}),
    'plugin-master_accepts_POSI34': values(**{LAT: 10.5, LON: 20.25}),
    'py3_DREF_scalar_0': stays,
    'c_DREF8': values(**{THROTTLE: 0.10000000149011612}),
    'py3_TEXT_2': shows('text', (10, 700, 'Hello, X-Plane!')),
    'py3_TEXT_4': shows('text', (2147483647, 2147483647, 'z' * 255)),
    'c_TEXT0': shows('text', None),
    'c_TEXT1': shows('text', (10, 600, 'A')),
    'c_TEXTnl': shows('text', (100, 700, 'hello\nworld')),
    'c_TEXT255': shows('text', (5, 6, 'q' * 255)),
    'c-v1.2.1_TEXT0': shows('text', None),
    'py3_VIEW_73': shows('view', (73, None)),
    'c_VIEW73': shows('view', (73, None)),
    'c_VIEW85': shows('view', (85, None)),
    'plugin-master_accepts_VIEW49_runway': shows('view', (79, xpc.Camera(
        (37.6, -122.4, 50.0), (None, None, None), 1.5))),
    'plugin-master_accepts_VIEW49_chase': shows('view', (80, xpc.Camera(
        (30.0, 0.0, 10.0), (0.0, -5.0, 0.0), 1.0))),
    # Six points: two sent, four from stale memory, which is still empty here.
    'py3_WYPT_op1_badcount': shows('waypoints', [P1, P2] + [(0.0, 0.0, 0.0)] * 4),
    'py3_WYPT_op2_badcount': shows('waypoints', []),
    'py3_WYPT_clear': shows('waypoints', []),
    'py3_SIMU_0': holds(set()),
    'py3_SIMU_2': holds(ALL),
    'c_SIMU1': holds(ALL),
    'c_SIMU119': holds({19}),
    'java_SIMU105': holds({5}),
    'plugin-master_accepts_SIMU119': holds({19}),
    'plugin-master_accepts_SIMU200': holds(set()),
    'c_COMM': values(gear__gear_cmd_norm=0.0),
    'c-v1.2.1_DATA2': values(**{ELEVATOR: 0.0, THROTTLE: 0.75}),
    'java_DSEL': lambda bench: bench.plugin.counters.forwarded == 1 or pytest.fail('forwarded'),
}


@pytest.mark.parametrize('name', OUTCOMES)
def test_recorded_requests_have_the_outcome_of_the_real_plugin(bench, name):
    vector, = (vector for vector in VECTORS if vector['name'] == name)
    bench.frame(bytes.fromhex(vector['hex']))
    OUTCOMES[name](bench)


def test_the_40_bytes_of_the_1_2_1_client_place_the_aircraft_of_plugin_1_2_1():
    vector, = (vector for vector in VECTORS if vector['name'] == 'c-v1.2.1_POSI7_34')
    bench = Bench('1.2.1')
    bench.frame(bytes.fromhex(vector['hex']))
    assert expected_place(bench) == near(37.52399826, -122.06899261, 2500.0, abs=1e-6)


@pytest.mark.parametrize('plugin_version', PLUGIN_VERSIONS)
def test_mutated_requests_do_no_other_harm_than_the_known_crashes(plugin_version):
    chance = random.Random(plugin_version)
    bench = Bench(plugin_version)
    for _ in range(300):
        request = bytearray.fromhex(chance.choice(VECTORS)['hex'])
        for _ in range(chance.randrange(4)):
            request[chance.randrange(4, len(request))] = chance.randrange(256)
        request += chance.randbytes(chance.choice((0, 0, 0, 1, 12)))
        try:
            bench.frame(bytes(request[:chance.choice((len(request), len(request), 6))]))
        except SimulatorCrashError:
            bench = Bench(plugin_version)
        bench.world.advance(0.01)
    assert all(map(math.isfinite, expected_place(bench)))
