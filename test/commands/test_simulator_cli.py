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

"""The command ``simulator`` as a process: its output, signals and exit status."""

from contextlib import contextmanager
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from xplane_bridge.commands.linearize import main as linearize_main
from xplane_bridge.commands.simulator import main
from xplane_bridge.commands.tune import main as tune_main
from xplane_bridge.simulation.aircraft import model_pool

DEADLINE = 60.0
INTERFACES = (
    ('xpc', '--beacon-interface'), ('xplane_udp', '--beacon-interface'),
    ('xplane12', '--beacon-interface'), ('ulyssix', '--port', '5000', '--interface'))
PORTS = (
    ('xpc', '--port'), ('xplane_udp', '--port'), ('xplane6', '--port'), ('fdmdata', '--port'),
    ('fdmdata', '--controls-port'), ('fdmdata', '--rpc-port'), ('ulyssix', '--port'))

MODULE = [sys.executable, '-m', 'xplane_bridge', 'simulator']


@contextmanager
def simulator(*arguments, command=None):
    """Start the command on a free port; yield the process and its first line once printed."""
    process = subprocess.Popen(
        [*(command or MODULE), 'xpc', '--port', '0', *arguments], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    # If no line came in time readline() would wait forever.
    timer = threading.Timer(DEADLINE, process.kill)
    timer.start()
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()
        timer.cancel()


def without_pyserial(*arguments):
    """Run the command where of all that pip can install only numpy, jsbsim and pyyaml are."""
    program = """
import sys
sys.modules.update(dict.fromkeys(('serial', 'scipy', 'matplotlib', 'rich', 'rclpy')))
from xplane_bridge.commands.simulator import main
sys.exit(main())
"""
    return subprocess.run(
        [sys.executable, '-c', program, *arguments], capture_output=True, text=True,
        timeout=DEADLINE)


def ask(line, request):
    """Send a request to the address in a line of output; return the reply."""
    host, port = re.search(r' on ([0-9.]+):(\d+), ', line).groups()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(DEADLINE)
        client.connect((host, int(port)))
        client.send(request)
        return client.recv(4096)


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_answers_and_ends_on_a_signal(number):
    with simulator('--frame-rate', '100', '--no-beacon') as (process, line):
        assert re.fullmatch(
            r'X-Plane Connect \(rc6\) of a c172p on 127\.0\.0\.1:\d+, 100 frames/s\n', line)
        reply = ask(line, b'GETP\0\0')
        assert reply[:5] == b'POSI\0'
        assert len(reply) == 46
        process.send_signal(number)
        rest, errors = process.communicate(timeout=DEADLINE)
        assert process.returncode == 0
        assert re.fullmatch(r'stopped after [0-9.]+ s: \d+ frames?, 1 packet received, 1 sent\n',
                            rest)
        assert errors == ''


def test_options_reach_the_simulation():
    with simulator('--plugin', '1.2.1', '--xplane-version', '10', '--latitude', '-33.9',
                   '--longitude', '151.2', '--altitude-msl', '2000', '--heading', '0',
                   '--airspeed', '46.3', '--host', '127.0.0.2', '--frame-rate', '30') as (_, line):
        assert re.fullmatch(
            r'X-Plane Connect \(1\.2\.1\) of a c172p on 127\.0\.0\.2:\d+, 30 frames/s\n', line)
        reply = ask(line, b'GETP\0\0')
        assert len(reply) == 34
        lat, lon, alt = struct.unpack_from('<3f', reply, 6)
        assert (lat, lon, alt) == pytest.approx((-33.9, 151.2, 2000.0), abs=0.5)
        name = b'sim/weather/aircraft/qnh_pas'      # new in X-Plane 12
        assert ask(line, b'GETD\0\1' + bytes((len(name),)) + name) == b'RESP\0\1\0'


def test_a_fleet_has_flight_models():
    with simulator('--fleet', 'T37', 'c172p', '--no-beacon') as (_, line):
        name = b'sim/multiplayer/position/plane1_throttle'
        reply = ask(line, b'GETD\0\1' + bytes((len(name),)) + name)
        assert reply[:6] == b'RESP\0\1'
        left, right = struct.unpack_from('<2f', reply, 7)
        # A T-37 has two engines, each at its trim.
        assert 0.2 < left == right < 0.9
        assert struct.unpack_from('<f', reply, 15) == (0.0,)


@pytest.mark.parametrize(('arguments', 'sentence'), [
    (['fdmdata', '--fleet', 'c172p'],
     '--fleet: fdmdata shows one aircraft only; more are shown by xpc, xplane_udp'),
    (['xpc', '--fleet', *['c172p'] * 20],
     '--fleet: 20 more aircraft are too many; numbers 1 to 19 are free'),
    (['xpc', '--fleet', 'c172p', 'nosuch'], 'nosuch'),
])
def test_a_fleet_that_cannot_be_is_refused(arguments, sentence, capsys):
    assert main([arguments[0], '--port', '0', *arguments[1:]]) == 1
    assert sentence in capsys.readouterr().err


def test_parked():
    with simulator('--parked') as (_, line):
        name = b'sim/flightmodel/failures/onground_all'
        reply = ask(line, b'GETD\0\1' + bytes((len(name),)) + name)
        assert reply == b'RESP\0\1\1' + struct.pack('<f', 1.0)


def test_it_ends_after_its_duration_and_ignores_what_ros_appends():
    done = subprocess.run(
        [*MODULE, 'xpc', '--port', '0', '--duration', '0.3', '--ros-args', '-r', '__node:=x',
         '--params-file', 'y'], capture_output=True, text=True, timeout=DEADLINE)
    assert (done.returncode, done.stderr) == (0, '')
    assert [line.split(' ')[0] for line in done.stdout.splitlines()] == ['X-Plane', 'stopped']


def test_a_port_in_use_is_said(capsys):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(('127.0.0.1', 0))
        port = other.getsockname()[1]
        assert main(['xpc', '--port', str(port)]) == 1
    out, err = capsys.readouterr()
    assert out == ''
    assert re.fullmatch(rf'simulator: UDP 127\.0\.0\.1:{port}: .*another program using it\?\n',
                        err)


def test_without_jsbsim_it_says_what_is_missing(capsys, monkeypatch):
    # A model that is kept from another test needs no JSBSim any more.
    model_pool._kept.clear()
    monkeypatch.setitem(sys.modules, 'jsbsim', None)
    assert main(['xpc', '--port', '0']) == 1
    assert capsys.readouterr().err == (
        'simulator: the simulated aircraft needs the Python package jsbsim: pip install jsbsim\n')


@pytest.mark.parametrize('arguments', [
    ['xplane12', '--for', 'ardupilot', '--port', '0', '--data-target', '127.0.0.1:9',
     '--send-port', '0'], ['all', 'xpc --port 0']], ids=lambda value: value[0])
def test_a_peer_imports_only_what_it_needs(arguments):
    done = without_pyserial(*arguments, '--duration', '0.05')
    assert (done.returncode, done.stderr) == (0, '')
    assert ' of a c172p on ' in done.stdout


def test_a_peer_on_a_serial_port_says_what_that_needs():
    for arguments in (['simpit'], ['all', 'simpit']):
        done = without_pyserial(*arguments)
        assert (done.returncode, done.stdout) == (1, '')
        assert done.stderr == (
            'simulator: a serial port needs the Python package pyserial: pip install pyserial\n')


def test_the_name_that_an_option_had_is_refused_with_the_present_one(capsys):
    for command in (main, linearize_main, tune_main):
        protocol = ['xpc'] if command is main else []
        with pytest.raises(SystemExit):
            command([*protocol, '--altitude', '2000'])
        assert 'error: --altitude is now called --altitude-msl\n' in capsys.readouterr().err


@pytest.mark.parametrize(('options', 'said'), [
    (['--model', 'nosuch'], "JSBSim has no aircraft 'nosuch'"),
    (['--altitude-msl', '100'], 'altitude_msl is 100.0 m, must be above the ground'),
    (['--host', 'no.such.host.invalid'], 'no IPv4 address found'),
])
def test_what_cannot_be_simulated_is_said(capsys, options, said):
    assert main(['xpc', '--port', '0', *options]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(('options', 'said'), [
    (['xplane12', '--version', '11'],
     'xplane12 is version 12: omit --version, or choose xplane_udp --version 11'),
    (['all', 'xplane6 --version 7'], 'xplane6 is version 6: omit --version'),
    (['all', 'xplane'], "'xplane' is not one of xpc, xplane_udp, fdmdata"),
])
def test_a_name_and_a_version_that_contradict_are_refused(capsys, options, said):
    assert main(options) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(('options', 'said'), [
    (['xpc', '--loss', '2'], "'2' is not a probability"),
    (['xpc', '--delay', '-1'], "'-1' is not a time in seconds"),
    (['xpc', '--frame-rate', '0'], "'0' is not a number above 0"),
    (['xpc', '--frame-rate', 'nan'], "'nan' is not a number above 0"),
    (['xpc', '--port', '70000'], "'70000' is not a port"),
    (['xpc', '--plugin', 'rc7'], 'rc7'),
    (['xplane12', '--port', '65535'], "'65535' is not a port, 0..65534"),
    (['fdmdata', '--rpc-port', '70000'], "'70000' is not a port"),
    (['xplane_udp', '--data-target', '127.0.0.1:99999'], 'is not an address and a port'),
    (['xplane_udp', '--data-target', 'no.such.host.invalid:1'], 'no IPv4 address found'),
    *(([*command, port], f'{port!r} is not a port') for command in PORTS
      for port in ('99999', '-1', 'foo')),
    *((['all', ' '.join([*command, '99999'])], "'99999' is not a port") for command in PORTS),
    *((['all', ' '.join([*command, 'foo'])], "'foo' is not an IPv4 address")
      for command in INTERFACES),
    (['simpit', '--baud', '0'], "'0' is not a baud rate, above 0"),
    (['ulyssix', '--port', '0'], "'0' is not a port, 1..65535"),
    *(([*command, name], f'{name!r} is not an IPv4 address') for command in INTERFACES
      for name in ('foo', 'eth0')),
    *(([*command, '192.0.2.1'], "'192.0.2.1' is not the address of an interface of this machine")
      for command in INTERFACES),
    (['nosuch'], 'nosuch'),
    (['xplane'], "invalid choice: 'xplane'"),
    ([], 'SIMULATOR'),
])
def test_options_out_of_range_are_refused(capsys, options, said):
    with pytest.raises(SystemExit) as end:
        main([*options])
    assert end.value.code == 2
    assert said in capsys.readouterr().err


def test_main_gives_the_signals_back():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert main(['xpc', '--port', '0', '--duration', '0.05', '--no-beacon']) == 0
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_crash_is_said_and_its_status_is_not_0():
    with simulator() as (process, line):
        host, port = re.search(r' on ([0-9.]+):(\d+), ', line).groups()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.sendto(b'GETP\0\25', (host, int(port)))
        _, errors = process.communicate(timeout=DEADLINE)
        assert process.returncode == 1
        assert errors.startswith('simulator: X-Plane has crashed: aircraft 21 ')


def test_faults_by_options():
    with simulator('--loss', '1') as (process, line):
        host, port = re.search(r' on ([0-9.]+):(\d+), ', line).groups()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(0.2)
            client.sendto(b'GETP\0\0', (host, int(port)))
            with pytest.raises(TimeoutError):
                client.recv(4096)
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=DEADLINE)
        assert ' 1 packet received, 0 sent' in rest


def test_all_serves_several_faces_of_one_aircraft():
    process = subprocess.Popen(
        [*MODULE, 'all', 'xpc --port 0 --no-beacon',
         'fdmdata --port 0 --controls-port 0 --rpc-port 0', '--altitude-msl', '2222'],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        xpc, huginn = process.stdout.readline(), process.stdout.readline()
        assert xpc.startswith('X-Plane Connect (rc6)')
        position = ask(xpc, b'GETP\0\0')
        port = int(re.search(r':(\d+), controls', huginn)[1])
        gps = ask(f' on 127.0.0.1:{port}, ', b'\0')
        assert struct.unpack_from('<d', position, 22)[0] == pytest.approx(2222.0, abs=1.0)
        assert struct.unpack_from('>f', gps, 10)[0] == pytest.approx(2222.0, abs=1.0)
    finally:
        process.terminate()
        assert process.wait(DEADLINE) == 0
        process.stdout.close()


def test_a_face_of_all_that_does_not_exist_is_said(capsys):
    assert main(['all', 'xpc --port 0', 'flightgear']) == 1
    assert "'flightgear' is not one of xpc" in capsys.readouterr().err
