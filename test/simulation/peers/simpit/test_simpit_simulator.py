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

"""The simulated Kerbal Space Program: its telemetry against JSBSim's own properties."""

from collections import deque
import math
import os
import queue
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import tty

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('serial', reason='pyserial is not installed')

from xplane_bridge.bridges.links.serial import SerialLoop
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import ActionGroup, ActionGroups, Packet, PROFILES
from xplane_bridge.bridges.simpit.session import registrable, SimpitSession, Telemetry
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.server import running, SimulatedComputer
from xplane_bridge.simulation.peers.simpit import FaultyLine, PluginSession, SimpitFrontend, Vessel
from xplane_bridge.simulation.peers.simpit.frontend import SimulatedGame
from xplane_bridge.simulation.peers.world import World

DEADLINE = 60.0
FOOT = 0.3048
COMMAND = (sys.executable, '-m', 'xplane_bridge', 'simulator', 'simpit')


class Device:
    """A device with all telemetry registered, at the end of a pseudo-terminal."""

    def __init__(self, port, profile, channels=None):
        self.changed = threading.Condition()
        self.telemetry = {}
        self.counts = {}
        names = channels or [row.name for row in registrable(PROFILES[profile])]
        self.session = SimpitSession(names, profile=profile)
        self.loop = SerialLoop(self.session, port, 115200, self._event, self._event)

    def __enter__(self):
        self.loop.start()
        self.loop.call(self.session.start)
        return self

    def __exit__(self, *_):
        self.loop.call(self.session.stop)
        self.loop.close()

    def _event(self, event, stamp_ns=0):
        with self.changed:
            if isinstance(event, Telemetry):
                self.telemetry |= event.values
                for name in event.values:
                    self.counts[name] = self.counts.get(name, 0) + 1
            self.changed.notify_all()

    def wait_for(self, predicate, what):
        with self.changed:
            assert self.changed.wait_for(predicate, DEADLINE), f'waited for {what}'

    def send(self, message):
        self.loop.call(self.session.send, message)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / 'ksp')


def vessel(**initial):
    """Return a vessel, and JSBSim's properties behind it."""
    world = World(Aircraft('c172p', Initial(**initial)))
    return Vessel(world, load=True), world.aircraft.property_value


def said(vessel, kind):
    (message,) = [each for each in vessel.telemetry() if isinstance(each, kind)]
    return message


# Telemetry, from JSBSim's properties.


def test_heights_and_speeds_are_jsbsims():
    ship, value = vessel(altitude_msl=2000.0, heading_deg=60.0)
    altitude = said(ship, simpit.Altitude)
    assert altitude.sea_level_m == pytest.approx(value('position/h-sl-ft') * FOOT)
    assert altitude.surface_m == pytest.approx(value('position/h-agl-ft') * FOOT)
    speeds = said(ship, simpit.Velocities)
    assert speeds.orbital_mps == pytest.approx(value('velocities/eci-velocity-mag-fps') * FOOT)
    assert speeds.vertical_mps == pytest.approx(value('velocities/h-dot-fps') * FOOT, abs=1e-3)
    ground = value('velocities/vg-fps') * FOOT
    assert speeds.surface_mps == pytest.approx(ground, rel=1e-4)
    air = said(ship, simpit.Airspeed)
    assert air.ias_mps == pytest.approx(value('velocities/vc-kts') * 0.5144444, rel=1e-5)
    assert air.mach == pytest.approx(value('velocities/mach'))
    assert air.g_force == pytest.approx(1.0, abs=0.02)


def test_atmosphere_is_jsbsims():
    ship, value = vessel()
    air = said(ship, simpit.Atmosphere)
    # Slug per cubic foot, degrees Rankine, pounds per square foot.
    assert air.density_kgpm3 == pytest.approx(
        value('atmosphere/rho-slugs_ft3') * 515.379, rel=1e-4)
    assert air.temperature_k == pytest.approx(value('atmosphere/T-R') / 1.8)
    assert air.pressure_kpa == pytest.approx(value('atmosphere/P-psf') * 0.04788026, rel=1e-5)
    assert air.flags == 7


def test_attitude_of_a_right_bank_nose_up():
    ship, value = vessel(heading_deg=90.0)
    ship._world.aircraft.teleport(roll_deg=30.0, pitch_deg=10.0, heading_deg=45.0)
    attitude = said(ship, simpit.Attitude)
    assert attitude.heading == pytest.approx(45.0, abs=0.01)
    assert attitude.pitch == pytest.approx(10.0, abs=0.01)
    # The game's roll is positive with the right wing up.
    assert attitude.roll == pytest.approx(-30.0, abs=0.01)
    track = math.degrees(math.atan2(
        value('velocities/v-east-fps'), value('velocities/v-north-fps')))
    assert attitude.surface_vel_heading == pytest.approx(track, abs=1e-6)
    climb = math.degrees(value('flight-path/gamma-rad'))
    assert attitude.surface_vel_pitch == pytest.approx(climb, abs=0.01)
    # JSBSim's inertial speed, seen from the horizon: the eastward part includes the earth's
    # rotation.
    inertial = value('velocities/eci-velocity-mag-fps')
    up = -value('velocities/v-down-fps') / inertial
    assert math.sin(math.radians(attitude.orbital_vel_pitch)) == pytest.approx(up, abs=1e-4)
    north = value('velocities/v-north-fps') / inertial
    assert math.cos(math.radians(attitude.orbital_vel_heading)) * math.cos(
        math.radians(attitude.orbital_vel_pitch)) == pytest.approx(north, abs=1e-4)


def test_orbit_obeys_kepler():
    ship, value = vessel()
    orbit = said(ship, simpit.Orbit)
    assert orbit.eccentricity == pytest.approx(value('orbital/eccentricity'))
    assert orbit.inclination_deg == pytest.approx(value('orbital/inclination-deg'))
    assert orbit.period_s == pytest.approx(
        math.tau * math.sqrt(orbit.semi_major_m ** 3 / 3.986004e14), rel=1e-4)
    radius = orbit.semi_major_m * (1 - orbit.eccentricity ** 2) / (
        1 + orbit.eccentricity * math.cos(orbit.true_anomaly))
    assert radius == pytest.approx(value('position/radius-to-vehicle-ft') * FOOT, rel=1e-4)
    apsides = said(ship, simpit.Apsides)
    assert apsides.apoapsis_m - apsides.periapsis_m == pytest.approx(
        2 * orbit.semi_major_m * orbit.eccentricity, rel=1e-6)
    # An aircraft is near the highest point of the ellipse on which it would fall.
    assert apsides.apoapsis_m == pytest.approx(said(ship, simpit.Altitude).sea_level_m, abs=50.0)
    times = said(ship, simpit.ApsidesTime)
    assert 0 <= times.apoapsis_s <= orbit.period_s
    assert abs(times.periapsis_s - times.apoapsis_s) == pytest.approx(orbit.period_s / 2, abs=1.0)


@pytest.mark.parametrize(('true_anomaly', 'mean', 'periapsis', 'apoapsis'), [
    # Half way round by angle is a third by the eccentric anomaly: 60 degrees, less 0.5 sin 60.
    (90.0, math.pi / 3 - math.sqrt(3) / 4, 566, 252),
    (270.0, math.tau - math.pi / 3 + math.sqrt(3) / 4, 61, 375),
    (180.0, math.pi, 314, 0),
])
def test_anomalies_of_an_ellipse_by_hand(
        monkeypatch, true_anomaly, mean, periapsis, apoapsis):
    """Eccentricity 0.5, one orbit in 200 pi seconds: a radian of mean anomaly in 100 s."""
    ship, value = vessel()
    half = {
        'orbital/eccentricity': 0.5, 'orbital/period-sec': 200.0 * math.pi,
        'orbital/true-anomaly-deg': true_anomaly}
    monkeypatch.setattr(
        ship._world.aircraft, 'property_value', lambda name: half.get(name) or value(name))
    orbit = said(ship, simpit.Orbit)
    assert orbit.true_anomaly == pytest.approx(math.radians(true_anomaly))
    assert orbit.mean_anomaly == pytest.approx(mean)
    times = said(ship, simpit.ApsidesTime)
    assert times.periapsis_s == pytest.approx(periapsis, abs=1)
    assert times.apoapsis_s == pytest.approx(apoapsis, abs=1)


# Actions.


@pytest.mark.parametrize(('message', 'expected'), [
    (simpit.Rotation(16384, 0, 0, 1), {'fcs/elevator-cmd-norm': -0.5}),
    (simpit.Rotation(0, 16384, 0, 2), {'fcs/aileron-cmd-norm': 0.5}),
    (simpit.Rotation(0, 0, 16384, 4), {'fcs/rudder-cmd-norm': -0.5}),
    # What the mask omits is left as it is.
    (simpit.Rotation(9999, 16384, 9999, 2), {
        'fcs/elevator-cmd-norm': 0.0, 'fcs/aileron-cmd-norm': 0.5, 'fcs/rudder-cmd-norm': 0.0}),
    (simpit.Throttle(32767), {'fcs/throttle-cmd-norm': 1.0}),
    (ActionGroups('deactivate', ActionGroup.GEAR), {'gear/gear-cmd-norm': 0.0}),
    (ActionGroups('toggle', ActionGroup.GEAR | ActionGroup.BRAKES), {
        'gear/gear-cmd-norm': 0.0, 'fcs/left-brake-cmd-norm': 1.0,
        'fcs/right-brake-cmd-norm': 1.0}),
    (ActionGroups('activate', ActionGroup.BRAKES), {
        'fcs/left-brake-cmd-norm': 1.0, 'gear/gear-cmd-norm': 1.0}),
])
def test_commands_move_jsbsims_controls(message, expected):
    ship, value = vessel()
    ship.obey(message)
    for name, wanted in expected.items():
        assert value(name) == pytest.approx(wanted, abs=1e-4), name


@pytest.mark.parametrize(('rotation', 'rate'), [
    (simpit.Rotation(16384, 0, 0, 1), 'velocities/q-rad_sec'),
    (simpit.Rotation(0, 16384, 0, 2), 'velocities/p-rad_sec'),
    (simpit.Rotation(0, 0, 16384, 4), 'velocities/r-rad_sec'),
])
def test_positive_axes_turn_nose_up_right_wing_down_nose_right(rotation, rate):
    ship, value = vessel()
    ship.obey(rotation)
    ship._world.advance(0.5)
    assert value(rate) > 0.02


@pytest.mark.parametrize(('messages', 'lines', 'state'), [
    ([simpit.CameraMode(52), simpit.CameraMode(6), simpit.CameraMode(53), simpit.CameraMode(10),
      simpit.CameraMode(3)],
     ['camera: flight, free', 'camera: flight, locked', 'camera: flight, chase',
      'camera: inside', 'camera: mode 3 has no effect while it is inside'],
     {'camera': 'inside', 'submode': 'chase'}),
    # Steps of 32767, by hand; what the mask omits, and roll, turn nothing.
    ([simpit.CameraRotation(32767, 32767, -32767, 32767, 0b0111),
      simpit.CameraRotation(9, 9, 9, -1000, 0b1000), simpit.CameraTranslation(9, 9, 9, 7)],
     ['', '', ''], {'pitch': 0.65534, 'yaw': -1.96602, 'distance': 49.0}),
    ([simpit.Keyboard(3, 9), simpit.Keyboard(8, 87), simpit.Keyboard(8, 65),
      simpit.Keyboard(16, 65)],
     ['key: shift+control+9 pressed', 'key: 87 held down', 'key: 65 held down',
      'key: 65 released'], {'keys': {87}}),
    ([simpit.NavballMode()] * 3,
     ['navball: orbit', 'navball: target', 'navball: surface'], {'navball': 'surface'}),
    ([simpit.Log(0, 'a'), simpit.Log(1, 'b'), simpit.Log(6, 'c\0'), simpit.Log(3, 'd')],
     ['log: Simpit : a', '', 'screen: c\\x00', 'screen: Simpit : d'],
     {'lines': deque(['Simpit : a', 'c\0']), 'screen': deque(['c\0', 'Simpit : d'])}),
])
def test_the_game_does_what_is_not_the_vessels(messages, lines, state):
    game = SimulatedGame()
    assert [game.obey(message) for message in messages] == lines
    for name, value in state.items():
        found = getattr(game, name)
        assert found == (pytest.approx(value) if isinstance(value, float) else value), name


def test_lights_and_groups_without_parts_are_kept():
    ship, _ = vessel()
    assert ship.groups == ActionGroup.GEAR
    ship.obey(ActionGroups('toggle', ActionGroup.LIGHT | ActionGroup.SAS | ActionGroup.STAGE))
    assert set(ship._world.lights.values()) == {1}
    assert ship.groups == ActionGroup.GEAR | ActionGroup.LIGHT | ActionGroup.SAS
    ship.obey(ActionGroups('deactivate', ActionGroup.LIGHT | ActionGroup.GEAR))
    assert ship.groups == ActionGroup.SAS
    for verb, group, after in (
        ('activate', 3, (3,)), ('toggle', 5, (3, 5)), ('toggle', 3, (5,)), ('deactivate', 5, ()),
    ):
        ship.obey(simpit.CustomActionGroups(verb, (group,)))
        assert said(ship, simpit.CustomActionGroupStatus).active == after


@pytest.mark.parametrize(('initial', 'situation', 'recoverable'), [
    ({'parked': True}, 1, True), ({}, 8, False)])
def test_the_flight_status_says_whether_it_has_landed(initial, situation, recoverable):
    ship, _ = vessel(**initial)
    status = said(ship, simpit.FlightStatus)
    assert (status.situation, bool(status.flags & simpit.FlightFlags.RECOVERABLE)) == (
        situation, recoverable)
    assert status.flags & simpit.FlightFlags.IN_FLIGHT
    assert status.control_level == 3
    assert len(simpit.encode_packet(status, 'peer', PROFILES['v2.3']).payload) == 8


# Through a pseudo-terminal.


@pytest.mark.parametrize('profile', PROFILES)
def test_each_profile_shows_the_aircraft_and_obeys(path, profile):
    frontend = SimpitFrontend(profile, (f'pty:{path}',))
    with running(frontend) as server, Device(path, profile) as device:
        device.wait_for(lambda: device.counts.get('altitude', 0) > 1, 'altitude')
        assert device.telemetry['altitude'].sea_level_m == pytest.approx(
            server.state().altitude_msl, abs=2.0)
        device.send(ActionGroups('activate', ActionGroup.BRAKES))
        device.wait_for(
            lambda: server.state().parking_brake == 1.0 or device.changed.wait(0.02), 'brakes')
        device.send(ActionGroups('deactivate', ActionGroup.BRAKES | ActionGroup.GEAR))
        if profile != 'v0':
            device.wait_for(lambda: device.telemetry.get('action_status') is not None, 'status')
        server_state = server.state
        device.wait_for(
            lambda: server_state().gear == 0.0 or device.changed.wait(0.02), 'gear')


MODELLED = {
    'altitude', 'apsides', 'apsides_time', 'velocities', 'airspeed', 'orbit', 'attitude',
    'atmosphere', 'action_status', 'custom_action_group_status', 'sphere_of_influence',
    'vessel_name', 'rotation', 'throttle', 'flight_status',
}


@pytest.mark.parametrize('profile', PROFILES)
def test_what_is_not_modelled_is_silent(path, profile):
    with running(SimpitFrontend(profile, (f'pty:{path}',))), Device(path, profile) as device:
        expected = MODELLED & {row.name for row in registrable(PROFILES[profile])}
        if profile == 'v1':
            # Sent on change, and it does not change; registration does not trigger it.
            expected -= {'sphere_of_influence'}
        device.wait_for(lambda: expected <= set(device.counts), f'{expected}')
        device.wait_for(lambda: device.counts['altitude'] > 12, 'a second of telemetry')
        assert set(device.counts) == expected


def test_several_devices_share_one_vessel(tmp_path):
    ports = [str(tmp_path / name) for name in ('left', 'right')]
    frontend = SimpitFrontend('v2', [f'pty:{port}' for port in ports])
    with running(frontend), Device(ports[0], 'v2') as left, Device(ports[1], 'v2') as right:
        for device in (left, right):
            device.wait_for(lambda device=device: 'action_status' in device.telemetry, 'status')
        left.send(ActionGroups('activate', ActionGroup.LIGHT))
        for device in (left, right):
            device.wait_for(
                lambda device=device: ActionGroup.LIGHT in
                device.telemetry['action_status'].action_bits, 'the light')
        assert frontend.paths == tuple(ports)
        assert frontend.counters.received > 4


def test_a_bare_device_of_the_document_is_answered_byte_by_byte(path):
    """SYN, register channel 4, and an echo: docs/wire/simpit.md, section 2. Then it is deaf."""
    frontend = SimpitFrontend('v0', (f'pty:{path}',))
    told = queue.Queue()
    frontend.report = told.put
    with running(frontend):
        port = os.open(path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(port)
        try:
            def read(size):
                data = b''
                while len(data) < size:
                    assert select.select([port], [], [], DEADLINE)[0], data.hex()
                    data += os.read(port, size - len(data))
                return data

            os.write(port, bytes.fromhex('aa5002000037'))
            assert read(6).hex() == 'aa5002000137'
            os.write(port, bytes.fromhex('aa500301112233'))
            assert read(7).hex() == 'aa500302112233'
            os.write(port, bytes.fromhex('aa50010304'))
            frame = read(12)
            assert frame[:4].hex() == 'aa500804'
            sea_level, surface = struct.unpack('<2f', frame[4:])
            assert 1400.0 < sea_level < 1600.0
            assert 0.0 < surface < sea_level
            os.write(port, bytes.fromhex('aa5001ff00 aa5001ff00'))
            assert told.get(timeout=DEADLINE) == (
                f'{path}: a real plugin would now be deaf on this port: a packet on channel 255 '
                "ended the plugin's reader; only a restart of the game revives it. So is this "
                'one, until the simulator restarts')
            assert told.empty()
            termios.tcflush(port, termios.TCIFLUSH)
        finally:
            os.close(port)


def test_switched_off_and_on_again_at_the_same_link(path):
    with running(SimpitFrontend('v2', (f'pty:{path}',))) as server, Device(path, 'v2') as device:
        device.wait_for(lambda: 'altitude' in device.telemetry, 'altitude')
        server.switch_off()
        assert not os.path.lexists(path)
        device.wait_for(lambda: not device.loop.is_open, 'the loss')
        seen = device.counts['altitude']
        server.switch_on()
        device.wait_for(lambda: device.counts['altitude'] > seen, 'altitude again')


def test_commands_wait_while_the_game_is_frozen(path):
    with running(SimpitFrontend('v2', (f'pty:{path}',))) as server, Device(path, 'v2') as device:
        device.wait_for(lambda: 'altitude' in device.telemetry, 'altitude')
        server.freeze()
        device.send(ActionGroups('activate', ActionGroup.BRAKES))
        seen = device.counts['altitude']
        device.wait_for(lambda: device.counts['altitude'] > seen + 3, 'the same altitude')
        assert server.state().parking_brake == 0.0
        server.resume()
        device.wait_for(
            lambda: server.state().parking_brake == 1.0 or device.changed.wait(0.02), 'brakes')


def test_port_that_cannot_be_had_is_said(tmp_path):
    simulation = SimulatedComputer([SimpitFrontend(ports=(f'pty:{tmp_path}/no/such/folder',))],
                                   lambda: World(Aircraft()))
    with pytest.raises(LinkError, match='no/such/folder'):
        simulation.open(time.monotonic())


@pytest.mark.parametrize(('arguments', 'reason'), [
    (('v9',), 'v9'), (('v2', ('',)), 'no serial port'), (('v2', ('nonsense://x',)), 'nonsense')])
def test_what_can_never_be_right_is_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        SimpitFrontend(*arguments)


# A line with faults, without a clock.


SYN = bytes.fromhex('aa5002000037')
SYNACK = bytes.fromhex('aa5002000137')


def line(**faults):
    made = FaultyLine(PluginSession('v2'), Faults(**faults))
    made.opened(0.0)
    return made


def test_line_without_faults_hands_on():
    made = line()
    made.receive('serial', SYN, None, 1.0)
    assert made.poll(1.0) == [('serial', SYNACK)]
    assert made.next_deadline() is None


def test_delayed_line_hands_on_later():
    made = line(delay=0.5)
    made.receive('serial', SYN, None, 1.0)
    assert made.poll(1.0) == []
    assert made.next_deadline() == 1.5
    assert made.poll(1.5) == []
    assert made.expired()
    assert made.poll(2.0) == [('serial', SYNACK)]


def test_lossy_line_loses():
    made = line(loss=1.0)
    made.receive('serial', SYN, None, 1.0)
    assert made.poll(1.0) == []
    assert made.expired() == []


def test_doubling_line_doubles():
    made = line(duplicate=1.0)
    made.receive('serial', SYN, None, 1.0)
    assert made.poll(1.0) == [('serial', SYNACK)] * 4


def test_lost_port_loses_what_is_under_way():
    made = line(delay=0.5)
    made.receive('serial', SYN, None, 1.0)
    made.lost(1.2)
    assert made.poll(3.0) == []
    assert made.expired() == []


def test_plugin_is_found_and_heard_over_a_bad_line(path):
    faults = Faults(loss=0.1, duplicate=0.1, delay=0.02, jitter=0.02, seed=4)
    frontend = SimpitFrontend('cobs', (f'pty:{path}',), faults=faults)
    with running(frontend), Device(path, 'cobs', ['altitude']) as device:
        device.wait_for(lambda: device.counts.get('altitude', 0) > 20, 'altitude')


# The command line.


def start(*arguments):
    return subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_command_prints_its_ports_and_ends_on_sigterm(path):
    with start('--port', f'pty:{path}', '--port', 'pty:', '--profile', 'v1') as child:
        said = child.stdout.readline()
        found = re.fullmatch(
            rf'Kerbal Simpit 0\.8 to 1\.4 \(v1\) of a c172p on {path}, (/dev/pts/\d+), '
            r'60 frames/s\n', said)
        assert found, said
        with Device(found[1], 'v1') as device:
            device.wait_for(lambda: 'altitude' in device.telemetry, 'altitude')
        child.send_signal(signal.SIGTERM)
        assert child.wait(DEADLINE) == 0
        assert re.search(r'[1-9]\d* packets received, [1-9]\d* sent', child.stdout.read())
    assert not os.path.lexists(path)


def test_command_says_why_it_cannot_start():
    with start('--port', 'pty:/no/such/folder/x') as child:
        assert child.wait(DEADLINE) == 1
        assert 'simulator: pty:/no/such/folder/x: no link can be made there' in child.stdout.read()


def test_packet_of_a_channel_that_no_plugin_has_is_ignored(path):
    with running(SimpitFrontend('v2', (f'pty:{path}',))), Device(path, 'v2') as device:
        device.wait_for(lambda: 'altitude' in device.telemetry, 'altitude')
        device.send(Packet(200, b'\1'))
        seen = device.counts['altitude']
        device.wait_for(lambda: device.counts['altitude'] > seen, 'altitude')
