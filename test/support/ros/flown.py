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

"""A JSBSim aircraft in lockstep with an autopilot_node, in the process of the test."""

import math

from masked import masked
from nav_msgs.msg import Odometry, Path
from rclpy.action import ActionClient
from sensor_msgs.msg import Imu, NavSatFix, Range
from std_msgs.msg import String

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.simulated import by_cockpit
from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.nodes.vehicle.controls import CONTROLS_MASK
from xplane_bridge.laboratory.nodes.autopilot import AutopilotNode
from xplane_bridge.msg import AirData, AutopilotTarget, FlightControls
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial

FRAME = 1.0 / 30.0


class Flown:
    """
    A JSBSim aircraft behind the common topics: it flies a frame with each command.

    ``ground`` is its height (m) for a range finder, None without one.
    """

    def __init__(self, ros, initial=None, ground=None, **parameters):
        self.ros = ros
        self.ground = ground
        self.aircraft = Aircraft(initial=initial or Initial())
        self.frames = self.until = 0
        self.command = None
        self.publishers = {}
        ros.subscribe(String, '/autopilot/level', LATCHED)
        ros.subscribe(AutopilotTarget, '/autopilot/active_target', LATCHED)
        ros.subscribe(Path, '/autopilot/active_path', LATCHED)
        self.node = ros.start(AutopilotNode, lockstep=True, **parameters)
        ros.observer.create_subscription(FlightControls, '/command/controls', self._take, 10)
        self.topics = {
            topic: ros.publisher(kind, f'/{topic}', 10) for topic, kind in (
                ('fix', NavSatFix), ('air_data', AirData), ('controls', FlightControls),
                ('imu/data', Imu), ('odom', Odometry),
                *(() if ground is None else (('range', Range),)))}
        ros.wait_for(lambda: self.node.count_subscribers('/command/controls'), 'who hears it')
        state = self.aircraft.state
        self.datum = LocalFrame(state.lat_deg, state.lon_deg, state.altitude_msl)
        ros.observer.create_publisher(NavSatFix, '/datum', LATCHED).publish(NavSatFix(
            latitude=state.lat_deg, longitude=state.lon_deg, altitude=state.altitude_msl))
        ros.wait_for(lambda: self.node._telemetry.datum, 'the datum')
        self.said = []
        refuse, warn = self.node.refuse, self.node.warn
        self.node.refuse = lambda what, error: (self.said.append(str(error)), refuse(what, error))
        self.node.warn = lambda kind, text: (self.said.append(text), warn(kind, text))
        self._publish()

    @property
    def state(self):
        return self.aircraft.state

    @property
    def altitude(self):
        return self.state.altitude_msl

    @property
    def east_north(self):
        state = self.state
        return self.datum.geodetic_to_enu(state.lat_deg, state.lon_deg, self.altitude)[:2]

    def ahead(self, forward, right=0.0):
        """Return where something is from the datum, east and north, seen from the aircraft."""
        east, north = self.east_north
        sine, cosine = math.sin(self.state.psi), math.cos(self.state.psi)
        return east + forward * sine + right * cosine, north + forward * cosine - right * sine

    def at(self, east, north):
        """Return the latitude and longitude of a position from the datum."""
        return self.datum.enu_to_geodetic((east, north, 0.0))[:2]

    def _publish(self):
        state = self.state
        orientation = axes.ned_frd_to_enu_flu(axes.euler_to_quaternion(
            state.phi, state.theta, state.psi))
        imu, odom = Imu(), Odometry()
        turned = imu.orientation
        turned.w, turned.x, turned.y, turned.z = orientation
        rates = imu.angular_velocity
        rates.x, rates.y, rates.z = state.p, -state.q, -state.r
        odom.header.frame_id, odom.child_frame_id = 'odom', 'base_link'
        linear = odom.twist.twist.linear
        linear.x, linear.y, linear.z = axes.rotate_inverse(
            orientation, (state.v_east, state.v_north, -state.v_down))
        ranges = () if self.ground is None else (('range', Range(range=(
            (self.altitude - self.ground) / (math.cos(state.phi) * math.cos(state.theta))))),)
        for topic, message in (
            *ranges,
            ('fix', NavSatFix(
                latitude=state.lat_deg, longitude=state.lon_deg, altitude=self.altitude)),
            ('air_data', AirData(indicated_airspeed=state.cas, true_airspeed=state.tas)),
            ('controls', masked(
                FlightControls, elevator=state.elevator, aileron=state.aileron,
                rudder=state.rudder, throttle=state.engines[0].throttle)),
            ('imu/data', imu), ('odom', odom),
        ):
            stamp = message.header.stamp
            stamp.sec, stamp.nanosec = divmod(self.stamp, 1_000_000_000)
            self.topics[topic].publish(message)

    @property
    def stamp(self):
        return round((self.frames + 1) * FRAME * 1e9)

    def _take(self, command):
        stamp = command.header.stamp
        assert stamp.sec * 1_000_000_000 + stamp.nanosec == self.stamp, 'one command a stamp'
        assert self.command is None, 'one command a stamp'
        self.command = command
        self._advance()

    def _advance(self):
        if self.command is None or self.frames >= self.until:
            return
        command, self.command = self.command, None
        self.aircraft.set_controls(**by_cockpit(Controls(**CONTROLS_MASK.known(command))))
        self.aircraft.advance(FRAME)
        self.frames += 1
        self._publish()

    def fly(self, seconds, until=lambda: False):
        """Fly on, and wait for the command that follows."""
        end = self.frames + round(seconds / FRAME)
        step = max(1, round(1.0 / FRAME))
        while self.frames < end and not until():
            self.until = min(self.frames + step, end)
            self.ros.run_in(self.ros.observer, self._advance)
            self.ros.wait_for(
                lambda: self.frames >= self.until and self.command is not None, 'the commands')

    def publish(self, topic, message):
        """Command, and wait until that has been taken."""
        if topic not in self.publishers:
            self.publishers[topic] = self.ros.publisher(type(message), topic, 10)
        count = len(self.ros.messages['/autopilot/active_target']) + len(self.said)
        self.publishers[topic].publish(message)
        if topic != '/joy':
            self.ros.wait_for(lambda: count < len(self.said) + len(
                self.ros.messages['/autopilot/active_target']), f'what {topic} does')

    def level(self):
        return self.ros.messages['/autopilot/level'][-1].data

    def values(self, part):
        """Return the values of a status."""
        return {key: value for status in self.node.diagnose() if status.name == part
                for key, value in status.values}


class Client:
    """A client of an action, whose goals are sent while the simulation waits."""

    def __init__(self, flown, kind, name):
        self.flown, self.ros = flown, flown.ros
        self.feedback = []
        self.client = ActionClient(self.ros.observer, kind, name)
        assert self.client.wait_for_server(60.0)

    def send(self, goal):
        """Send a goal; return its handle."""
        return self.wait(self.client.send_goal_async(
            goal, lambda message: self.feedback.append(message.feedback)), 'the goal')

    def wait(self, future, what):
        """Return the result of a future."""
        return self.ros.wait_for(lambda: [future.result()] if future.done() else None, what)[0]
