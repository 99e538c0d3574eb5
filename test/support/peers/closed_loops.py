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
A simulated aircraft and a session with it, frame by frame: one loop for each protocol.

Simulator, datagrams, session and conversions are real; only sockets and time are simulated.
"""

from dataclasses import replace

from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.conversions.xplane import levers as xplane_levers
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.fdmdata import conversion as huginn
from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.fdmdata.session import CONTROLS_CHANNEL, FdmdataSession, PollEntry
from xplane_bridge.bridges.fdmdata.session import Telemetry as FdmdataTelemetry
from xplane_bridge.bridges.xpc.conversion import LocalAxes
from xplane_bridge.bridges.xpc.session import Polled, Telemetry, XpcSession
from xplane_bridge.bridges.xplane_udp.conversion import rows_state, telemetry_rows
from xplane_bridge.bridges.xplane_udp.session import (
    DATA_CHANNEL,
    RowTelemetry,
    Sources,
    XplaneUdpSession,
)
from xplane_bridge.bridges.xplane_udp.session import Telemetry as PushedTelemetry

FRAME = 1.0 / 60.0
BRIDGE = ('127.0.0.1', 50000)


class XpcLoop:
    """XpcSession and simulated plugin, frame by frame, at 50 updates per second."""

    def __init__(self):
        from memory_endpoint import MemoryEndpoint

        from xplane_bridge.simulation.aircraft.aircraft import Aircraft
        from xplane_bridge.simulation.peers.world import World
        from xplane_bridge.simulation.peers.xpc import XpcFrontend
        self.world = World(Aircraft())
        self.endpoint = MemoryEndpoint()
        self.frontend = XpcFrontend(self.endpoint)
        self.frontend.open(self.world, 0.0)
        self.session = XpcSession(
            {0: Polled(
                (*xplane.OWN_DATAREFS, *xplane.LOCAL_PLACE), xplane.OWN_PLACE,
                LocalAxes().make_pose_reader(0))}, rate=50.0)
        self.session.start(0.0)
        self.channels = {}
        self.now = 0.0

    def frame(self):
        """Advance one frame; return the states that arrived."""
        for channel, data in self.session.poll(self.now):
            if data is not None:
                port = self.channels.setdefault(channel, BRIDGE[1] + len(self.channels))
                self.endpoint.deliver(data, (BRIDGE[0], port), self.now)
        self.now += FRAME
        self.world.advance(FRAME)
        self.frontend.frame(self.now)
        names = {port: channel for channel, port in self.channels.items()}
        states = []
        for data, (_, port) in self.endpoint.collect():
            for event in self.session.receive(names[port], data, None, self.now):
                if isinstance(event, Telemetry):
                    place = event.pose
                    states.append(xplane.own_state(
                        (place.lat, place.lon, place.alt),
                        (place.heading, place.pitch, place.roll), event.values))
        return states

    def command(self, controls):
        self.session.set_controls({
            name: getattr(controls, name)
            for name in ('elevator', 'aileron', 'rudder', 'throttle')}, self.now)


class FdmdataLoop:
    """FdmdataSession and simulated Huginn, at the node's default rates."""

    def __init__(self):
        from xplane_bridge.simulation.aircraft.aircraft import Aircraft
        from xplane_bridge.simulation.peers.fdmdata import Huginn
        from xplane_bridge.simulation.peers.world import World
        self.world = World(Aircraft())
        self.huginn = Huginn(self.world)
        self.session = FdmdataSession()
        self.session.start(0.0)
        self.session.set_plan({
            'gps': PollEntry((Command.GPS,), 20.0),
            'imu': PollEntry((Command.ACCELEROMETER, Command.GYROSCOPE, Command.INS), 50.0),
            'air': PollEntry((Command.THERMOMETER, Command.PITOT_TUBE, Command.STATIC_PRESSURE,
                              Command.GPS), 10.0),
        }, 0.0)
        self.now = 0.0
        self.fix = self.air = None

    def frame(self):
        """Advance one frame; return the states from imu/data, fix and air_data."""
        self.now += FRAME
        self.world.advance(FRAME)
        self.huginn.step()
        states = []
        for channel, data in self.session.poll(self.now):
            if data is None:
                continue
            if channel == CONTROLS_CHANNEL:
                self.huginn.control(data)
                continue
            for event in self.session.receive(
                    channel, self.huginn.answer(data), None, self.now):
                if isinstance(event, FdmdataTelemetry):
                    states += self._take(event)
        return states

    def _take(self, sample):
        state = huginn.vehicle_state(sample.values, huginn.Interpretation())
        if sample.name == 'gps':
            self.fix = state
        elif sample.name == 'air':
            self.air = state.air
        elif sample.name == 'imu' and self.fix is not None and self.air is not None:
            return [replace(
                state, altitude_msl=self.fix.altitude_msl, air=self.air, controls=Controls(),
                time=self.now)]
        return []

    def command(self, controls):
        self.session.set_controls(huginn.to_huginn(controls), self.now)


class XplaneLoop:
    """XplaneUdpSession and simulated X-Plane of one version, by datarefs or by rows."""

    def __init__(self, version):
        from memory_endpoint import MemoryEndpoint

        from xplane_bridge.simulation.aircraft.aircraft import Aircraft
        from xplane_bridge.simulation.peers.world import World
        from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend
        self.world = World(Aircraft())
        self.endpoint = MemoryEndpoint()
        self.frontend = XplaneUdpFrontend(self.endpoint, version, data_target=BRIDGE)
        self.frontend.open(self.world, 0.0)
        self.session = XplaneUdpSession(
            Sources(
                {version: tuple(element for name in xplane.own_datarefs(12)
                                for element in xplane_levers.elements(name))},
                {version: telemetry_rows(version)}),
            rate=50.0, version=version, peer=self.endpoint.address, row_kind='joystick')
        self.channels = {DATA_CHANNEL: BRIDGE[1]}
        self.now = 0.0
        self.session.start(self.now)

    def frame(self):
        """Advance one frame; return the states that arrived."""
        for channel, data in self.session.poll(self.now):
            if data is not None:
                port = self.channels.setdefault(channel, BRIDGE[1] + len(self.channels))
                self.endpoint.deliver(data, (BRIDGE[0], port), self.now)
        self.now += FRAME
        self.world.advance(FRAME)
        self.frontend.frame(self.now)
        names = {port: channel for channel, port in self.channels.items()}
        states = []
        for data, (_, port) in self.endpoint.collect():
            for event in self.session.receive(names[port], data, None, self.now):
                if isinstance(event, PushedTelemetry):
                    states.append(self._by_datarefs(event))
                elif isinstance(event, RowTelemetry):
                    states.append(rows_state(event.version, event.segments))
        return states

    def _by_datarefs(self, event):
        pose = event.pose
        return xplane.own_state(
            (pose.lat, pose.lon, pose.ele_m),
            (pose.heading_true_deg, pose.pitch_deg, pose.roll_deg), event.values)

    def command(self, controls):
        self.session.set_controls({
            name: getattr(controls, name)
            for name in ('elevator', 'aileron', 'rudder', 'throttle')}, self.now)
