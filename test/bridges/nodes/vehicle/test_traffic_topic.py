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

"""The topic traffic of X-Plane's TCAS targets, of X-Plane Connect's aircraft, and of a fleet."""

import math

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from sensor_msgs.msg import NavSatFix

from harness import free_port
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.bridges.xplane_udp.node import XplaneUdpNode
from xplane_bridge.msg import Traffic, TrafficTarget
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.node import SimulatorNode
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.flown import beside, fly_beside
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xpc import XpcFrontend
from xplane_bridge.simulation.peers.xplane.tcas import flight_id, mode_s_id
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend


def world_of_two():
    """Return a world with a second aircraft that flies 500 m ahead, with a flight model."""
    aircraft = Aircraft()
    return World(aircraft, fleet=fly_beside(
        ['c172p'], beside(aircraft.initial, 1, [(500.0, 0.0, 50.0)]), seed=0))


def stamp(message):
    return message.header.stamp.sec + message.header.stamp.nanosec * 1e-9


def check_is_at(target, truth, abs_deg=4e-6):
    """Assert that a target is where an aircraft is that stands still."""
    assert target.latitude == pytest.approx(truth.lat_deg, abs=abs_deg)
    assert target.longitude == pytest.approx(truth.lon_deg, abs=abs_deg)
    assert target.altitude == pytest.approx(truth.altitude_msl, abs=0.01)
    north, east, down = truth.velocity_ned
    assert (target.velocity.x, target.velocity.y, target.velocity.z) == pytest.approx(
        (east, north, -down), abs=1e-3)


def test_tcas_targets_of_x_plane(ros):
    ros.subscribe(Traffic, 'traffic')
    frontend = XplaneUdpFrontend(UdpEndpoint(), 12, sender=UdpEndpoint())
    with running(frontend, make_world=world_of_two) as server:
        node = ros.start(
            XplaneUdpNode, version='12', undulation=0.0, port=frontend.endpoint.address[1],
            data_port=free_port(), pacing=0.001, traffic=2, traffic_rate=20.0)
        message = ros.next('traffic', where=lambda message: len(message.targets) == 2 and all(
            target.callsign for target in message.targets))
        assert message.header.frame_id == 'base_link_enu'
        for number, target in enumerate(message.targets, 1):
            assert target.icao_address == mode_s_id(number)
            assert target.id == f'{mode_s_id(number):06x}'
            assert target.callsign == flight_id(number)
            assert target.air_ground_state == TrafficTarget.AIRBORNE
            assert target.age == 0.0
        # They stand, though they say that they move: that ages, but not in a pause.
        server.call(lambda world: world.freeze(None, True))
        ros.next('traffic', where=lambda message: all(
            target.age > 0.2 for target in message.targets))
        server.call(lambda world: setattr(world, 'paused', True))
        latest = ros.next('traffic', 3).targets
        for number, target in enumerate(latest):
            check_is_at(target, server.call(lambda world, at=number: world.others[at]))
        age = ros.next('traffic', 3).targets[0].age
        assert ros.next('traffic', 5).targets[0].age == age
        # One ends; then none is wanted any more.
        server.call(lambda world: setattr(world, 'tcas_count', 2))
        ros.next('traffic', where=lambda message: [
            target.id for target in message.targets] == [f'{mode_s_id(1):06x}'])
        ros.change(node, traffic=0)
        ros.wait_for(lambda: not [name for name in node.session.wanted if 'tcas' in name],
                     'no target to be wanted')


def test_aircraft_of_x_plane_connect_are_the_traffic_of_one_another(ros):
    for topic in ('lead/traffic', 'second/traffic'):
        ros.subscribe(Traffic, topic)
    frontend = XpcFrontend(UdpEndpoint())
    with running(frontend, make_world=world_of_two) as server:
        ros.start(
            XpcNode, port=frontend.endpoint.address[1], aircraft=[0, 1], undulation=0.0,
            namespaces=['lead', 'second'], traffic_rate=20.0)
        server.call(lambda world: setattr(world, 'paused', True))
        ahead, = ros.next(
            'lead/traffic', 2, where=lambda message: message.targets).targets
        behind, = ros.next(
            'second/traffic', where=lambda message: message.targets).targets
        assert (ahead.id, behind.id) == ('second', 'lead')
        assert ahead.icao_address == 0
        assert ahead.air_ground_state == TrafficTarget.UNKNOWN
        check_is_at(ahead, server.call(lambda world: world.others[0]), abs_deg=1e-4)
        assert ahead.altitude - behind.altitude == pytest.approx(50.0, abs=5.0)


def test_fleet_sees_one_another_in_simulated_time(ros):
    for name in ('uav1', 'uav2', 'uav3'):
        ros.subscribe(Traffic, f'{name}/traffic', 100)
    node = ros.start(
        SimulatorNode, telemetry='direct', undulation=0.0, fleet=['c172p', 'c172p'],
        fleet_places=[300.0, 0.0, 0.0, 0.0, 100.0, 20.0], traffic_rate=10.0)
    second = ros.next('uav2/traffic', 4)
    assert second.header.frame_id == 'uav2/base_link_enu'
    assert [target.id for target in second.targets] == ['uav1', 'uav3']
    assert all(target.age == 0.0 for target in second.targets)
    first, third = second.targets
    # Abreast, to the right of an eastbound one: south of it.
    east = (third.longitude - first.longitude) * math.cos(math.radians(47.0)) * 111.2e3
    north = (third.latitude - first.latitude) * 111.2e3
    assert (east, north) == pytest.approx((0.0, -100.0), abs=3.0)
    assert third.altitude - first.altitude == pytest.approx(20.0, abs=1.0)
    assert first.velocity.x > 30.0
    assert first.air_ground_state == TrafficTarget.AIRBORNE
    # The others leave: that is told once.
    node.server.call(lambda _: setattr(node, 'vehicles', node.vehicles[:1]))
    ros.wait_for(lambda: [one for one in ros.messages['uav1/traffic'] if not one.targets],
                 'uav1 to be alone')
    ros.subscribe(NavSatFix, 'uav1/fix')
    ros.next('uav1/fix', 30)
    assert len([one for one in ros.messages['uav1/traffic'] if not one.targets]) == 1
    times = [stamp(message) for message in ros.messages['uav2/traffic']]
    assert all(after - before > 0.099 for before, after in zip(times, times[1:], strict=False))
