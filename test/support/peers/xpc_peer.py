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

"""A simulated X-Plane with the plugin, in this process, that a test can inspect."""

from contextlib import contextmanager

from geometry_msgs.msg import TwistWithCovarianceStamped
from kept_ports import kept_endpoint
from masked import masked
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, NavSatFix
from std_srvs.srv import SetBool

from harness import process
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.msg import AirData, FlightControls, ScreenText
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xpc import XpcFrontend

RELEASED = -2.0
TOPICS = {
    'fix': NavSatFix, 'fix_velocity': TwistWithCovarianceStamped, 'imu/data': Imu,
    'odom': Odometry, 'air_data': AirData, 'controls': FlightControls,
}


class XpcPeer:
    """A test's view of it, each access between two frames."""

    def __init__(self, server, frontend):
        self.server = server
        self.frontend = frontend

    @property
    def port(self):
        """Return the UDP port that it listens to."""
        return self.frontend.endpoint.address[1]

    @property
    def screen(self):
        """Return what the plugin displays."""
        return self.server.call(lambda _: self.frontend.plugin.screen)

    @property
    def received(self):
        """Return how many datagrams the plugin has handled."""
        return self.server.call(lambda _: self.frontend.plugin.counters.handled)

    def world(self, name):
        """Return an attribute of the world."""
        return self.server.call(lambda world: getattr(world, name))

    def state(self, name):
        """Return a figure of the aircraft's state."""
        return getattr(self.server.state(), name)

    def jsbsim(self, name):
        """Return a property of JSBSim, as it has it."""
        return self.server.call(lambda world: world.aircraft.property_value(name))

    def dataref(self, name):
        """Return the values of a dataref."""
        return self.server.call(lambda _: self.frontend.store.read(name).values)

    def pause(self, on=True):
        """Stop time as X-Plane's own pause does: frames go on, each with the same state."""
        def pause(world):
            world.paused = on

        self.server.call(pause)


@contextmanager
def flying(make_world=lambda: World(Aircraft()), frame_rate=60.0, port=0, **options):
    """Run X-Plane with the plugin for as long as the context lasts."""
    frontend = XpcFrontend(kept_endpoint(port), **options)
    with running(frontend, make_world=make_world, frame_rate=frame_rate) as server:
        yield XpcPeer(server, frontend)


def bridged(ros, peer, **given):
    """Connect a node to a peer, and wait until it accepts commands."""
    node = ros.start(XpcNode, **{'port': peer.port, **given})
    ros.wait_for(lambda: node.session.peer_state is PeerState.ANSWERING, 'the first answer')
    return node


def node_process(port, *arguments):
    """Run xpc_node in a process of its own."""
    return process('xpc_node', '--ros-args', '-p', f'port:={port}', *arguments)


def controls(**values):
    """Return a command with these controls."""
    return masked(FlightControls, **values)


def take_everything(ros, peer):
    """Take everything that can be taken, by topics and services."""
    ros.subscribe(NavSatFix, '/fix')
    ros.next('/fix')
    ros.publisher(FlightControls, '/command/controls').publish(
        controls(elevator=0.2, throttle=0.8))
    ros.publisher(ScreenText, '/command/text').publish(masked(ScreenText, text='ours'))
    assert ros.call(SetBool, '/pause', SetBool.Request(data=True)).success
    ros.wait_for(
        lambda: abs(peer.world('throttle_override') - 0.8) < 1e-6
        and peer.world('overrides')['override_joystick']
        and peer.screen.text and all(peer.world('planepath')), 'all to be taken')


def given_back(peer):
    """Return whether nothing is taken."""
    return (
        peer.world('throttle_override') == RELEASED
        and not peer.world('overrides')['override_joystick']
        and peer.screen.text is None
        and not any(peer.world('planepath'))
        and peer.jsbsim('fcs/elevator-cmd-norm') == 0.0)


def turning():
    """Return a world with an aircraft in a banked, climbing, slipping turn, in wind."""
    aircraft = Aircraft(initial=Initial(lat_deg=47.31, lon_deg=8.62))
    aircraft.set_wind(4.0, -7.0, 0.5)
    aircraft.set_controls(
        elevator=0.25, aileron=0.2, rudder=-0.15, throttle=0.9, flaps=0.33, speedbrake=0.4)
    aircraft.advance(2.5)
    return World(aircraft)


def paused(ros, peer):
    """Freeze time; return one message per topic, all from one later update."""
    for topic, kind in TOPICS.items():
        ros.subscribe(kind, f'/{topic}')
    ros.next('/controls')
    peer.pause()
    # The first may already have been in transit.
    stamp = ros.next('/controls', 2).header.stamp
    return {
        topic: ros.wait_for(
            lambda topic=topic: next((
                message for message in reversed(ros.messages[f'/{topic}'])
                if message.header.stamp == stamp), None),
            f'{topic} of the same stamp')
        for topic in TOPICS
    }
