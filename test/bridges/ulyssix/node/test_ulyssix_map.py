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

"""ulyssix_node with a map: the shipped example flown by JSBSim, alarms, integers, mistakes."""

from datetime import datetime, UTC
from pathlib import Path
import re
import socket

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')
pytest.importorskip('pint', reason='units are converted by pint')

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TwistWithCovarianceStamped
from jsbsim_expectations import array, axes_of, body_axes, specific_force, velocity_enu
from memory_endpoint import MemoryEndpoint
from nav_msgs.msg import Odometry
import numpy as np
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu, NavSatFix, Temperature

from harness import free_port
from xplane_bridge.bridges.ulyssix.node import UlyssixNode
from xplane_bridge.msg import AirData, UlyssixQuality, UlyssixSamples
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers import ulyssix
from xplane_bridge.simulation.peers.server import SimulatedComputer
from xplane_bridge.simulation.peers.world import World

EXAMPLE = Path(__file__).resolve().parents[4] / 'config' / 'ulyssix_map.yaml'
DEEP = QoSProfile(depth=1000)
BEGIN = datetime(2026, 3, 5, 6, 7, 8, tzinfo=UTC)
BEGIN_NS = int(BEGIN.timestamp()) * 10**9
RATE = 60
STREAM = ulyssix.Stream()
FOOT, PSF, RANKINE = 0.3048, 47.88025898, 5 / 9
TOPICS = {
    'fix': NavSatFix, 'fix_velocity': TwistWithCovarianceStamped, 'imu/data': Imu,
    'odom': Odometry, 'air_data': AirData, 'samples/G_TOTAL': UlyssixSamples,
}


def flown(seconds, stream=STREAM):
    """Return the packets of a climbing turn, and JSBSim's properties of each frame by name."""
    aircraft = Aircraft(initial=Initial(lat_deg=47.5, lon_deg=8.5, altitude_msl=1500.0))
    world, endpoint = World(aircraft), MemoryEndpoint()
    frontend = ulyssix.UlyssixFrontend(
        endpoint, ('127.0.0.1', 5000), stream, clock=lambda _: BEGIN_NS)
    simulation = SimulatedComputer([frontend], lambda: world, frame_rate=float(RATE))
    simulation.open(0.0)
    aircraft.set_controls(elevator=0.2, aileron=0.3, rudder=0.2)
    names = [
        'position/lat-geod-deg', 'position/long-gc-deg', 'position/h-sl-ft', 'velocities/vc-fps',
        'velocities/vt-fps', 'atmosphere/P-psf', 'atmosphere/T-R', 'aero/alpha-rad',
        'aero/beta-rad', 'inertia/mass-slugs',
        *(f'attitude/{name}-rad' for name in ('phi', 'theta', 'psi')),
        *(f'velocities/{name}-rad_sec' for name in 'pqr'),
        *(f'velocities/v-{name}-fps' for name in ('north', 'east', 'down')),
        *(f'forces/fb{axis}-total-lbs' for axis in 'xyz')]
    frames = [None]
    for number in range(1, round(seconds * RATE) + 1):
        simulation.frame(number / RATE)
        frames.append({name: aircraft.property_value(name) for name in names})
    return [data for data, _ in endpoint.collect()], frames


def at_frames(messages, frames):
    """Yield the messages whose stamp is that of a frame, each with JSBSim's properties."""
    for message in messages:
        stamp = message.header.stamp
        number = (stamp.sec * 10**9 + stamp.nanosec - BEGIN_NS) * RATE / 1e9
        # Stamps have whole microseconds.
        if abs(number - round(number)) < 1e-3 and round(number):
            yield message, frames[round(number)].__getitem__


def send(port, packets):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for packet in packets:
            sender.sendto(packet, ('127.0.0.1', port))


def started(ros, topics, **parameters):
    """Return an active node with subscribers, and its port."""
    port = free_port()
    node = ros.start(UlyssixNode, activate=False, port=port, **parameters)
    for topic, kind in topics.items():
        ros.subscribe(kind, topic, DEEP)
    ros.wait_for(lambda: all(
        publisher.get_subscription_count() for publisher in node.publishers
        if publisher.topic_name.lstrip('/') in topics), 'the subscriptions')
    ros.run_in(node, node.trigger_activate)
    return node, port


def test_who_asks_for_the_temperature_alone_gets_it(ros):
    packets, frames = flown(1.5)
    _, port = started(
        ros, {'temperature': Temperature}, map=str(EXAMPLE), undulation=0.0, year=2026)
    send(port, packets)
    found = ros.wait_for(lambda: [
        (one.temperature, jsbsim('atmosphere/T-R'))
        for one, jsbsim in at_frames(ros.messages['temperature'], frames)], 'the temperature')
    for celsius, rankine in found:
        assert celsius == pytest.approx(rankine / 1.8 - 273.15, abs=0.1)


def test_the_example_gives_jsbsims_flight_on_the_common_topics(ros):
    packets, frames = flown(2.5)
    node, port = started(ros, TOPICS, map=str(EXAMPLE), undulation=0.0, year=2026)
    level, text, _ = ros.diagnosed('limits position', node=node)
    assert (level, text) == (
        DiagnosticStatus.STALE, 'no sample yet of altitude_msl, v_down')
    more = len(packets) * 2 // 5
    rest = iter(packets[-more:])
    send(port, packets[:-more])
    ros.wait_for(lambda: len(ros.messages['fix']) >= 28 and len(ros.messages['imu/data']) >= 140
                 and len(ros.messages['air_data']) >= 10, 'the flight')
    counts = dict.fromkeys(TOPICS, 0)
    for fix, jsbsim in at_frames(ros.messages['fix'], frames):
        counts['fix'] += 1
        # Single precision: 4e-6 degrees, and 0.1 mm.
        assert fix.latitude == pytest.approx(jsbsim('position/lat-geod-deg'), abs=4e-6)
        assert fix.longitude == pytest.approx(jsbsim('position/long-gc-deg'), abs=1e-6)
        assert fix.altitude == pytest.approx(jsbsim('position/h-sl-ft') * FOOT, abs=0.01)
    for twist, jsbsim in at_frames(ros.messages['fix_velocity'], frames):
        counts['fix_velocity'] += 1
        assert array(twist.twist.twist.linear) == pytest.approx(velocity_enu(jsbsim), abs=1e-4)
    for imu, jsbsim in at_frames(ros.messages['imu/data'], frames):
        counts['imu/data'] += 1
        for axis, expected in zip(axes_of(imu.orientation), body_axes(jsbsim), strict=True):
            assert axis == pytest.approx(expected, abs=1e-5)
        p, q, r = (jsbsim(f'velocities/{name}-rad_sec') for name in 'pqr')
        assert array(imu.angular_velocity) == pytest.approx([p, -q, -r], abs=1e-5)
        assert array(imu.linear_acceleration) == pytest.approx(specific_force(jsbsim), abs=1e-3)
    for odom, jsbsim in at_frames(ros.messages['odom'], frames):
        counts['odom'] += 1
        forward, left, up = body_axes(jsbsim)
        velocity = velocity_enu(jsbsim)
        assert array(odom.twist.twist.linear) == pytest.approx(
            [velocity @ forward, velocity @ left, velocity @ up], abs=1e-3)
    for air, jsbsim in at_frames(ros.messages['air_data'], frames):
        counts['air_data'] += 1
        assert air.indicated_airspeed == pytest.approx(jsbsim('velocities/vc-fps') * FOOT, abs=.01)
        assert air.true_airspeed == pytest.approx(jsbsim('velocities/vt-fps') * FOOT, abs=0.01)
        assert air.angle_of_attack == pytest.approx(jsbsim('aero/alpha-rad'), abs=1e-4)
        assert air.sideslip == pytest.approx(jsbsim('aero/beta-rad'), abs=1e-4)
        assert air.static_pressure == pytest.approx(jsbsim('atmosphere/P-psf') * PSF, abs=1.0)
        # Of 1 Hz.
        assert air.temperature == pytest.approx(jsbsim('atmosphere/T-R') * RANKINE, abs=0.1)
    for samples in ros.messages['samples/G_TOTAL']:
        stamps = np.array(samples.times) - BEGIN_NS
        for number in np.flatnonzero(stamps % 50_000_000 == 0):
            if stamps[number]:
                counts['samples/G_TOTAL'] += 1
                jsbsim = frames[round(stamps[number] * RATE / 1e9)].__getitem__
                assert samples.values[number] == pytest.approx(
                    np.linalg.norm(specific_force(jsbsim)), abs=1e-3)
    assert all(count >= 9 for count in counts.values()), counts
    level, text, values = ros.diagnosed('map', node=node)
    assert (level, text) == (DiagnosticStatus.OK, '21 of 21 parameters are in ulyssix_map.yaml')
    assert values['velocity_up from'] == 'v_down'
    check_the_end(ros, node, lambda: send(port, [each for each in [next(rest, None)] if each]))


def check_the_end(ros, node, send_one):
    """Check that what arrives is within its limits, and that nobody says so afterwards."""
    for status, text in (('limits position', '2 parameters within their limits'),
                         ('quality', '22 parameters without faults in the last second')):
        assert ros.diagnosed(status, lambda level, *_: (
            send_one() or level == DiagnosticStatus.OK), node=node)[1] == text
    for status in ('limits position', 'quality'):
        _, text, _ = ros.diagnosed(
            status, lambda level, *_: level == DiagnosticStatus.STALE, node=node)
        assert re.fullmatch(r'no sample for \d+ s( of altitude_msl, v_down)?', text)


def test_integers_become_values_and_alarms_are_latched(ros, tmp_path, capfd):
    path = tmp_path / 'my.yaml'
    path.write_text("""
parameters:
  altitude_msl: {unit: ft, scale: 1.0e-3, offset: 100, limits: [0, 10], group: nav}
  "t?s": {unit: kt, scale: 1.0e-4}
  ta_s: {limits: [0, 1], group: air}
derived:
  HALF: {expression: altitude_msl / 2, unit: ft, limits: [null, 5]}
""")
    stream = ulyssix.Stream((('altitude_msl', 100.0), ('tas', 100.0), ('p', 100.0)),
                            integer_width=8)
    packets, frames = flown(0.2, stream)
    topics = {f'samples/{name}': UlyssixSamples for name in ('altitude_msl', 'p', 'HALF')}
    topics['quality'] = UlyssixQuality
    node, port = started(ros, topics, map=str(path), sample_topics=['altitude_msl', 'p'],
                         max_sample_topics=2)
    send(port, packets[:1])
    ros.wait_for(lambda: sum(
        publisher.get_subscription_count() for publisher in node.publishers
        if 'samples/' in publisher.topic_name) == 3, 'the topics')
    send(port, packets[1:])
    ros.wait_for(lambda: len(ros.messages['samples/HALF']) >= len(packets), 'all')
    # 1e-4 m are the simulator's counts: 10 counts of 1e-3 ft each, from 100 ft on.
    feet = frames[6]['position/h-sl-ft'] * FOOT * 10 + 100
    last = next(message for message in ros.messages['samples/altitude_msl']
                if message.header.stamp.nanosec == 100_000_000)
    assert list(last.integers) == []
    assert last.values[0] == pytest.approx(feet * FOOT, rel=1e-6)
    assert len(ros.messages['samples/p'][0].integers) == 1
    half = next(message for message in ros.messages['samples/HALF']
                if message.header.stamp.nanosec == 100_000_000)
    assert half.values[0] == pytest.approx(feet * FOOT / 2, rel=1e-6)
    level, text, values = ros.diagnosed('limits nav', node=node)
    assert level == DiagnosticStatus.ERROR
    assert text.startswith('out of limits: altitude_msl 15')
    assert text.endswith(' ft, above 10')
    assert values['altitude_msl, latched'].startswith(f'{len(packets)} samples, 1 time,')
    level, _, _ = ros.diagnosed('limits parameters', node=node)
    assert level == DiagnosticStatus.ERROR
    level, text, _ = ros.diagnosed('map', node=node)
    assert (level, text) == (DiagnosticStatus.WARN, 'in my.yaml, but not sent: ta_s')
    # In the log too, once.
    assert capfd.readouterr().err.count(text) == 1
    level, text, _ = ros.diagnosed('limits air', node=node)
    assert (level, text) == (DiagnosticStatus.WARN, 'not watched: ta_s is not sent')
    # The derived one is judged with those that are sent.
    ros.wait_for(lambda: any(
        list(each.names) == ['altitude_msl', 'tas', 'p', 'HALF'] and each.out_of_limits[0]
        and each.out_of_limits[3] for each in ros.messages['quality']), 'the quality')


@pytest.mark.parametrize(('text', 'sentence'), [
    ('parameters:\n  ALT: {quantity: altitude_msl, unit: furlong/s}\n',
     "parameter map: my.yaml line 2: ALT: unit 'furlong/s' is not a length (quantity "
     'altitude_msl)'),
    (None, 'parameter map: there is no map {path}'),
])
def test_a_bad_map_fails_configuration(ros, tmp_path, text, sentence):
    path = tmp_path / 'my.yaml'
    if text is not None:
        path.write_text(text)
    node = ros.start(UlyssixNode, port=free_port(), map=str(path))
    assert node.failed == sentence.format(path=path)
