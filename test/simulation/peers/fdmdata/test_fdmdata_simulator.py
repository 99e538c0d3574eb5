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

"""The simulated Huginn: recorded datagrams, JSBSim's values, sockets, XML-RPC, command line."""

from contextlib import closing
import http.client
import math
import re
import socket
import struct
import subprocess
import sys
import time
import xmlrpc.client

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from kept_ports import kept_endpoint, kept_port
from vector_files import vectors

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.fdmdata import FdmdataFrontend, Huginn
from xplane_bridge.simulation.peers.http import MOST_CONNECTIONS
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World

VECTORS = {
    vector['name']: vector
    for vector in vectors('fdmdata')
}
DEADLINE = 60.0
FOOT = 0.3048
KNOT = 0.514444
PSF = 4.4482216152605 / FOOT ** 2

# Lengths of replies and how to read them (docs/wire/fdmdata.md).
REPLIES = {0: '>xx5f', 1: '>xx3f', 2: '>xx3f', 3: '>xx3f', 4: '>xxf', 5: '>xxf', 6: '>xxf',
           7: '>xx7f'}
CONTROLS = ('aileron', 'elevator', 'rudder', 'throttle')


def manoeuvring():
    """Return a Huginn whose aircraft banks, climbs and yaws in wind."""
    world = World(Aircraft(initial=Initial(lat_deg=38.0, lon_deg=23.9)))
    world.aircraft.set_wind(4.0, -7.0, 0.5)
    world.aircraft.set_controls(elevator=0.25, aileron=0.2, rudder=-0.15, throttle=0.9)
    world.advance(2.5)
    huginn = Huginn(world)
    return huginn, world.aircraft.property_value


def values(huginn, command):
    reply = huginn.answer(bytes((command,)))
    assert reply[:2] == bytes((0, command))
    return struct.unpack(REPLIES[command], reply)


def commanded(world):
    """Return aileron, elevator, rudder, throttle as JSBSim has them: with Huginn's signs."""
    return tuple(world.aircraft.property_value(f'fcs/{name}-cmd-norm') for name in CONTROLS)


# Recorded datagrams.


@pytest.mark.parametrize('vector', [
    v for v in VECTORS.values() if v['direction'] == 'client_to_sim:10300'],
    ids=lambda vector: vector['name'])
def test_recorded_requests_get_replies_of_the_recorded_form(vector):
    huginn, _ = manoeuvring()
    data = bytes.fromhex(vector['hex'])
    reply = huginn.answer(data)
    if vector['fields'].get('error'):
        assert reply == b'\xff'
    else:
        assert reply[:2] == b'\0' + data
        assert len(reply) == struct.calcsize(REPLIES[data[0]])


@pytest.mark.parametrize('vector', [
    v for v in VECTORS.values() if 'after' in v['fields']], ids=lambda vector: vector['name'])
def test_recorded_controls_have_the_recorded_effect(vector):
    world = World(Aircraft())
    huginn = Huginn(world)
    before, after = (
        tuple(vector['fields'][when][name] for name in CONTROLS) for when in ('before', 'after'))
    huginn.control(struct.pack('>4f', *before))
    assert commanded(world) == pytest.approx(before)
    huginn.control(bytes.fromhex(vector['hex']))
    assert commanded(world) == pytest.approx(after)


@pytest.mark.parametrize('size', [0, 1, 12, 15])
def test_controls_of_another_length_are_dropped(size):
    world = World(Aircraft())
    huginn = Huginn(world)
    before = commanded(world)
    huginn.control(bytes(size))
    assert commanded(world) == before


def test_infinite_controls_are_clamped():
    world = World(Aircraft())
    Huginn(world).control(struct.pack('>4f', math.inf, -math.inf, math.inf, -math.inf))
    assert commanded(world) == (1.0, -1.0, 1.0, 0.0)


def test_nan_poisons_all_replies_for_good():
    huginn, _ = manoeuvring()
    huginn.control(bytes.fromhex(VECTORS['controls_nan_aileron']['hex']))
    assert huginn.reset() is False
    huginn.step()
    for command in (0, 1, 2, 4, 5, 6, 7):
        assert all(map(math.isnan, values(huginn, command)))
    assert values(huginn, 3) == (0.0, 0.0, 0.0)


# Meaning of the bytes, against JSBSim.


def test_replies_are_jsbsims_figures():
    huginn, jsbsim = manoeuvring()
    place = [jsbsim('position/lat-gc-deg'), jsbsim('position/long-gc-deg')]
    altitude = jsbsim('position/h-sl-ft') * FOOT
    airspeed = jsbsim('velocities/vtrue-kts') * KNOT
    roll, pitch, heading = (
        math.degrees(jsbsim(f'attitude/{name}')) for name in (
            'roll-rad', 'pitch-rad', 'heading-true-rad'))
    expected = {
        0: [*place, altitude, airspeed, heading],
        1: [jsbsim(f'accelerations/a-pilot-{axis}-ft_sec2') * FOOT for axis in 'xyz'],
        2: [math.degrees(jsbsim(f'velocities/{axis}-rad_sec')) for axis in 'pqr'],
        3: [0.0, 0.0, 0.0],
        4: [jsbsim('atmosphere/T-R') * 5.0 / 9.0],
        5: [jsbsim('aero/qbar-psf') * PSF],
        6: [jsbsim('atmosphere/P-psf') * PSF],
        7: [roll, pitch, heading, *place, airspeed, altitude],
    }
    for command, figures in expected.items():
        assert values(huginn, command) == pytest.approx(figures, rel=1e-5, abs=1e-7), command
    # None of it is trivial: banked, nose up, climbing through moving air.
    assert roll > 10.0
    assert abs(pitch) > 2.0
    assert abs(airspeed - jsbsim('velocities/vg-fps') * FOOT) > 1.0


def test_latitude_is_geocentric():
    huginn, jsbsim = manoeuvring()
    # 0.187 degrees south of the geodetic one at 38 degrees north: docs/wire/fdmdata.md, section 2.
    assert jsbsim('position/lat-geod-deg') - values(huginn, 0)[0] == pytest.approx(0.187, abs=1e-3)
    assert values(huginn, 7)[3] == values(huginn, 0)[0]


def test_parked_aircraft_feels_gravity_and_has_no_dynamic_pressure():
    huginn = Huginn(World(Aircraft(initial=Initial(parked=True))))
    x, y, z = values(huginn, 1)
    assert (y, z) == pytest.approx((0.0, -9.8), abs=0.1)
    assert values(huginn, 5)[0] == pytest.approx(0.0, abs=1e-3)
    # The runway is at about 400 m: far below 150, and far above, whatever the unit is called.
    assert 270.0 < values(huginn, 4)[0] < 300.0


def test_positive_controls_roll_right_pitch_down_and_yaw_left():
    for place, (axis, sign) in enumerate((('p', 1), ('q', -1), ('r', -1))):
        world = World(Aircraft())
        deflected = [0.0, 0.0, 0.0, 0.65]
        deflected[place] = 0.4
        Huginn(world).control(struct.pack('>4f', *deflected))
        world.advance(0.3)
        assert sign * world.aircraft.property_value(f'velocities/{axis}-rad_sec') > 0.02, axis


def test_even_parked_something_changes_and_held_nothing_does():
    world = World(Aircraft(initial=Initial(parked=True)))
    world.advance(30.0)
    huginn = Huginn(world)
    before = [huginn.answer(bytes((command,))) for command in (1, 2)]
    world.advance(2.0)
    huginn.step()
    assert [huginn.answer(bytes((command,))) for command in (1, 2)] != before
    huginn.pause()
    before = [huginn.answer(bytes((command,))) for command in range(8)]
    world.advance(2.0)
    huginn.step()
    assert [huginn.answer(bytes((command,))) for command in range(8)] == before


# On the network.


def make_frontend(rpc=True, held=False, faults=None):
    return FdmdataFrontend(
        kept_endpoint(faults=faults), kept_endpoint(faults=faults),
        ('127.0.0.1', kept_port()) if rpc else None, held)


def client(frontend, timeout=DEADLINE):
    """Return a socket connected to the data port."""
    result = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    result.settimeout(timeout)
    result.connect(frontend.data.address)
    return closing(result)


class ShortTimeout(xmlrpc.client.Transport):
    """HTTP that waits at most five seconds."""

    def make_connection(self, host):
        connection = super().make_connection(host)
        connection.timeout = 5.0
        return connection


def rpc(frontend):
    return xmlrpc.client.ServerProxy('http://{}:{}/'.format(*frontend.rpc_address))


def changes(connection, seconds=DEADLINE):
    """Wait for the gyroscope's reply to change; return whether it did."""
    connection.send(b'\2')
    first = connection.recv(100)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        connection.send(b'\2')
        if connection.recv(100) != first:
            return True
    return False


def test_pipelined_requests_are_answered_in_order_errors_in_their_place():
    frontend = make_frontend()
    with running(frontend), client(frontend) as connection:
        for request in (b'\7', b'\x08', b'', b'\0', b'\1\1', b'\6'):
            connection.send(request)
        replies = [connection.recv(100) for _ in range(6)]
    assert [reply[:2] for reply in replies] == [
        b'\0\7', b'\xff', b'\xff', b'\0\0', b'\xff', b'\0\6']


def test_requests_are_answered_at_once_and_values_change_with_the_frames():
    frontend = make_frontend(rpc=False)
    with running(frontend, frame_rate=20.0), client(frontend) as connection:
        replies = []
        for _ in range(400):
            connection.send(b'\2')
            replies.append(connection.recv(100))
        assert changes(connection)
    # Answered at frames only, they would have taken 400 frames; these saw a few.
    assert len(set(replies)) < 400


def test_controls_reach_the_aircraft_and_are_held():
    frontend = make_frontend(rpc=False)
    with running(frontend) as server, client(frontend), socket.socket(
            socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(struct.pack('>4f', 0.25, -0.5, 0.75, 0.4), frontend.controls.address)
        end = time.monotonic() + DEADLINE
        while server.call(commanded) != (0.25, -0.5, 0.75, pytest.approx(0.4)):
            assert time.monotonic() < end
            server.wait(0.01)


def test_held_until_resumed_and_paused_again():
    frontend = make_frontend(held=True)
    with running(frontend) as server, client(frontend) as connection:
        assert not changes(connection, 0.3)
        assert rpc(frontend).resume() is True
        assert changes(connection)
        assert rpc(frontend).pause() is True
        assert not changes(connection, 0.3)
        assert server.call(lambda world: world.paused)


def test_reset_goes_back_to_the_initial_conditions():
    frontend = make_frontend()
    with running(frontend) as server:
        server.call(lambda world: world.teleport(0, lat_deg=10.0, altitude_msl=3000.0))
        assert rpc(frontend).reset() is True
        assert server.state().lat_deg == pytest.approx(Initial().lat_deg, abs=0.01)
        with pytest.raises(xmlrpc.client.Fault):
            rpc(frontend).unpause()


def test_a_caller_who_says_nothing_keeps_nobody_waiting_and_the_log_stays_quiet(capfd):
    frontend = make_frontend()
    with running(frontend) as server, socket.create_connection(frontend.rpc_address) as idle:
        with socket.create_connection(frontend.rpc_address, timeout=DEADLINE) as browser:
            browser.sendall(b'GET / HTTP/1.0\r\n\r\n')
            assert b' 501 ' in browser.recv(100)
        with socket.create_connection(frontend.rpc_address) as rude:
            rude.sendall(b'POST / HTTP/1.0\r\nContent-Length: 9\r\n\r\n')
            rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        with xmlrpc.client.ServerProxy(
                'http://{}:{}/'.format(*frontend.rpc_address), transport=ShortTimeout()) as proxy:
            assert proxy.pause() is True
        assert server.call(lambda world: world.paused)
        assert idle.fileno() > 0
    assert capfd.readouterr() == ('', '')


@pytest.mark.parametrize(('header', 'status'), [
    (b'Content-Length: 700000000', b' 413 '), (b'Content-Length: 00000000000700000000', b' 413 '),
    (b'Content-Length: -1', b' 413 '), (b'Transfer-Encoding: chunked', b' 413 '),
    (b'Content-Encoding: gzip\r\nContent-Length: 9', b' 501 ')])
def test_a_body_that_is_too_large_or_compressed_is_refused_unread(header, status):
    frontend = make_frontend()
    with running(frontend):
        with socket.create_connection(frontend.rpc_address, timeout=DEADLINE) as flood:
            flood.sendall(b'POST / HTTP/1.0\r\n' + header + b'\r\n\r\n' + 9 * b'x')
            assert status in flood.recv(100)
        assert rpc(frontend).pause() is True


def test_callers_beyond_the_first_few_are_turned_away_until_one_goes():
    frontend = make_frontend()
    with running(frontend):
        idle = [socket.create_connection(frontend.rpc_address, timeout=DEADLINE)
                for _ in range(MOST_CONNECTIONS)]
        with socket.create_connection(frontend.rpc_address, timeout=DEADLINE) as further:
            assert further.recv(1) == b''
        for one in idle:
            one.close()
        deadline = time.monotonic() + DEADLINE
        while True:
            # Until the threads of the others have ended.
            try:
                assert rpc(frontend).pause() is True
                break
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < deadline


def test_a_stopped_program_answers_what_waited_once_it_goes_on():
    frontend = make_frontend(rpc=False)
    with running(frontend) as server, client(frontend, timeout=0.5) as connection:
        server.freeze()
        with pytest.raises(TimeoutError):
            while True:
                connection.send(b'\0')
                connection.recv(100)
        connection.send(b'\7')
        server.resume()
        connection.settimeout(DEADLINE)
        assert [connection.recv(100)[1] for _ in range(2)] == [0, 7]


def test_it_comes_back_at_the_same_ports():
    frontend = make_frontend()
    with running(frontend) as server:
        for _ in range(2):
            with client(frontend) as connection:
                connection.send(b'\0')
                assert len(connection.recv(100)) == 22
                server.switch_off()
                connection.settimeout(0.2)
                with pytest.raises((TimeoutError, ConnectionRefusedError)):
                    connection.send(b'\0')
                    connection.recv(100)
            with pytest.raises(ConnectionRefusedError):
                rpc(frontend).pause()
            server.switch_on()
        assert rpc(frontend).resume() is True


def test_faults_lose_replies():
    frontend = make_frontend(rpc=False, faults=Faults(loss=0.5, seed=1))
    with running(frontend), client(frontend) as connection:
        for _ in range(100):
            connection.send(b'\4')
        # A quarter gets through both ways.
        for _ in range(10):
            connection.recv(100)
        received = 10
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            while connection.recv(100):
                received += 1
    assert received <= 45


def test_command_serves_it():
    process = subprocess.Popen(
        [sys.executable, '-m', 'xplane_bridge', 'simulator', 'fdmdata', '--held', '--port',
         '0', '--controls-port', '0', '--rpc-port', '0', '--duration', '20'],
        stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        data, controls, server = map(int, re.fullmatch(
            r'Huginn \(FDMData\) of a c172p on 127\.0\.0\.1:(\d+), controls on port (\d+), '
            r'XML-RPC on port (\d+), 60 frames/s\n', line).groups())
        assert controls not in (0, data)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.settimeout(5.0)
            connection.connect(('127.0.0.1', data))
            assert not changes(connection, 0.2)
            assert xmlrpc.client.ServerProxy(f'http://127.0.0.1:{server}/').resume() is True
            assert changes(connection)
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_port_in_use_is_said():
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        frontend = make_frontend()
        frontend.rpc_address = other.getsockname()
        with pytest.raises(OSError, match='another program'), running(frontend):
            pass
