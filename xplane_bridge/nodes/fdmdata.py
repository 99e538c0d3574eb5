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

"""fdmdata_node: the Huginn simulator by its FDMData protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
import math
import time
from typing import Any

from rclpy.task import Future
from sensor_msgs.msg import FluidPressure, MagneticField, Temperature
from std_srvs.srv import SetBool, Trigger

from xplane_bridge.conversions import frames, huginn
from xplane_bridge.conversions.geoid import Undulation
from xplane_bridge.conversions.units import DEGREE, kelvin_to_celsius
from xplane_bridge.conversions.vehicle import Controls, VehicleState
from xplane_bridge.links.loop import SessionLoop, UdpLoop
from xplane_bridge.links.replay import ReplayLoop
from xplane_bridge.links.udp import LinkError, resolve, UdpSocket
from xplane_bridge.links.xmlrpc import UnansweredError, XmlRpc
from xplane_bridge.msg import Navigation
from xplane_bridge.nodes.base import BridgeNode, OK, run, STALE, Status, WARN
from xplane_bridge.nodes.datagrams import LinkReport, values_status
from xplane_bridge.nodes.parameters import parameter
from xplane_bridge.nodes.plausibility import plausibility_status
from xplane_bridge.nodes.vehicle import (
    CommandGate,
    make_undulation,
    VehicleParameters,
    VehiclePublisher,
)
from xplane_bridge.protocols import fdmdata
from xplane_bridge.protocols.fdmdata import Command
from xplane_bridge.protocols.foreign import printable
from xplane_bridge.sessions.fdmdata import (
    CONTROLS_CHANNEL,
    Event,
    FdmdataListener,
    FdmdataSession,
    PeerChanged,
    PeerRecognized,
    PeerState,
    Sample,
    Wanted,
)

RPC_PORT = 10500

_HINTS = {
    PeerState.UNKNOWN: 'waiting for the first answer',
    PeerState.AWAY: 'check that Huginn runs, the parameters host and data_port, and that no '
                    'firewall drops UDP',
    PeerState.HELD: 'resume it: call the service pause with data false, or huginn_control.py '
                    'resume',
    PeerState.BROKEN: 'restart Huginn; somebody sent it a NaN',
}

# What the wire has of controls.
_CONTROLS = ('elevator', 'aileron', 'rudder', 'throttle')

# Why Huginn says that a call failed.
_WHY = {
    'reset': ', that is to trim the aircraft at its initial conditions: resume it if it is held, '
             'take the elevator from its stop, and reset it again',
}

# How often it is looked who subscribes.
_SUBSCRIBERS_PERIOD = 0.2

# A reset initialises and trims the flight model anew.
_RPC_TIMEOUT = 5.0
# The last call, at the end of the node.
_RPC_TIMEOUT_AT_END = 1.0


@dataclass(frozen=True)
class FdmdataParameters(VehicleParameters):
    """Parameters of fdmdata_node."""

    host: str = parameter('127.0.0.1', "Address or name of Huginn's computer.")
    data_port: int = parameter(
        fdmdata.DATA_PORT, 'UDP port that Huginn answers requests for data on.', minimum=1,
        maximum=65535)
    controls_port: int = parameter(
        fdmdata.CONTROLS_PORT, 'UDP port that Huginn takes controls on.', minimum=1,
        maximum=65535)
    rpc_port: int = parameter(
        RPC_PORT, 'TCP port of its XML-RPC, for the services pause and reset.', minimum=1,
        maximum=65535)
    bind_address: str = parameter(
        '', 'Local address to send from and listen on; empty leaves it to the routing.')
    gps_rate: float = parameter(
        20.0, 'Polls of the GPS a second: fix, gps; 0 for none.', minimum=0.0, maximum=500.0,
        live=True)
    ins_rate: float = parameter(
        20.0, 'Polls of the inertial navigation system a second: odom, ins; 0 for none.',
        minimum=0.0, maximum=500.0, live=True)
    imu_rate: float = parameter(
        50.0, 'Polls of accelerometer and gyroscope a second: imu/data; 0 for none. Each asks for '
        'the attitude too.', minimum=0.0, maximum=500.0, live=True)
    air_data_rate: float = parameter(
        10.0, 'Polls of thermometer, pitot tube and static pressure a second: air_data, '
        'temperature, static_pressure, dynamic_pressure; 0 for none.', minimum=0.0,
        maximum=500.0, live=True)
    magnetometer_rate: float = parameter(
        1.0, 'Polls of the magnetometer a second: magnetic_field; 0 for none. Huginn has none '
        'and says zeros, which are not published.', minimum=0.0, maximum=500.0, live=True)
    latitude: str = parameter(
        'geodetic', "What the latitude on the wire is: Huginn's is geocentric, though its own "
        'display takes it for geodetic. geocentric converts it.', choices=huginn.LATITUDES)
    temperature_unit: str = parameter(
        'auto', 'Unit of the temperature on the wire: Celsius by the document, kelvin from '
        'Huginn. auto tells them apart by the value.', choices=huginn.TEMPERATURE_UNITS)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is asked together: the topics that it feeds, its sensors, its rate's parameter."""

    topics: frozenset[str]
    commands: tuple[Command, ...]
    rate: str


_ENTRIES = {
    'gps': _Entry(frozenset({'fix', 'gps'}), (Command.GPS,), 'gps_rate'),
    'ins': _Entry(
        frozenset({'odom', 'datum', 'ins'}), (Command.INS, Command.GYROSCOPE), 'ins_rate'),
    'imu': _Entry(
        frozenset({'imu/data'}), (Command.ACCELEROMETER, Command.GYROSCOPE, Command.INS),
        'imu_rate'),
    'air': _Entry(
        frozenset({'air_data', 'temperature', 'static_pressure', 'dynamic_pressure'}),
        (Command.THERMOMETER, Command.PITOT_TUBE, Command.STATIC_PRESSURE, Command.GPS),
        'air_data_rate'),
    'magnetometer': _Entry(
        frozenset({'magnetic_field'}), (Command.MAGNETOMETER,), 'magnetometer_rate'),
}

_TOPICS = frozenset[str]().union(*(entry.topics for entry in _ENTRIES.values()))


def _plan(given: FdmdataParameters, topics: frozenset[str]) -> dict[str, Wanted]:
    """Return what to ask for these topics."""
    return {
        name: Wanted(entry.commands, rate) for name, entry in _ENTRIES.items()
        if entry.topics & topics and (rate := getattr(given, entry.rate))
    }


class _UnansweredError(ValueError):
    """A method was called, and nobody knows whether it was done."""


class FdmdataNode(BridgeNode[FdmdataParameters]):
    """Bridge one Huginn."""

    def __init__(self, **options: Any) -> None:
        super().__init__('fdmdata_node', FdmdataParameters, **options)

    # Lifecycle.

    def check(self, given: FdmdataParameters) -> None:
        """Refuse what Huginn cannot do."""
        if given.on_command_timeout == 'release':
            raise ValueError(
                'parameter on_command_timeout: Huginn has nobody to give the controls back to; '
                "choose 'neutral' or 'hold'")

    def open(self) -> None:
        """Make the session, the sockets, and everything that ROS sees."""
        given = self.parameters
        host = resolve(given.host)
        self._rpc = XmlRpc(host, given.rpc_port)
        undulation = make_undulation(given)
        self.get_logger().info(undulation.description)
        self.session = FdmdataListener() if given.capture_file else FdmdataSession(
            f'{given.host}:{given.data_port}')
        self.link = self._replay() if given.capture_file else self._open_link(host)
        self._reading = huginn.Reading(given.latitude, given.temperature_unit)
        self._make_topics(given, undulation)
        self.gate = CommandGate(
            self, self._send, lambda: None, clamp=True, takes=_CONTROLS, neutral=self._centre)
        self.make_service(SetBool, 'pause', self._pause)
        self.make_service(Trigger, 'reset', self._reset)
        self._paused_here = False
        self._magnetic = False
        self._last_update = 0.0
        self._not_on_the_wire = 0
        self._subscribed: frozenset[str] = frozenset()
        self._link_report = LinkReport()
        self._seen = (time.monotonic(), dict(self.session.statistics.updates))
        self._subscribers_timer = self.create_timer(
            _SUBSCRIBERS_PERIOD, self._follow_subscribers, clock=self.steady_clock)
        self.link.start()

    def _replay(self) -> SessionLoop:
        given = self.parameters
        # Who subscribes later shall find the beginning; and the first call would start to play.
        self.session.set_plan(_plan(given, _TOPICS), 0.0)
        return ReplayLoop(
            given.capture_file, self.session, self._on_event, self._on_failure,
            speed=given.capture_speed, source_port=given.data_port,
            on_end=self.capture_ended, holds=self.audience.holds,
            name='fdmdata replay')

    def _open_link(self, host: str) -> SessionLoop:
        given = self.parameters

        def open_channel(channel: str) -> UdpSocket:
            port = given.controls_port if channel == CONTROLS_CHANNEL else given.data_port
            # Huginn answers from the port that was asked.
            return UdpSocket(
                (given.bind_address, 0), peer=(host, port), sender=host, sender_port=port)

        # A bad bind address shall stop configuring, not the first datagram.
        open_channel('').close()
        return UdpLoop(
            self.session, open_channel, self._on_event, self._on_failure, name='fdmdata link')

    def begin(self) -> None:
        """Start to ask."""
        self.link.call(self.session.start)

    def end(self) -> None:
        """Stop asking; centre the surfaces and resume, if they were moved or it was paused."""
        self.gate.watchdog.disarm()
        with self.link.lock:
            in_doubt = self.session.in_doubt
        self.link.call(self.session.stop)
        # Nobody waits for them any more; a pause that is not answered may have been done.
        self._rpc.end()
        if self._paused_here:
            self._paused_here = False
            if in_doubt:
                self.warn(
                    'paused', 'it stays paused: Huginn was silent, and may be another one by now')
                return
            try:
                self._rpc.call('resume', _RPC_TIMEOUT_AT_END)
            except LinkError as error:
                self.warn('paused', f'it stays paused: {printable(str(error))}')

    def close(self) -> None:
        """Close the sockets and join the thread."""
        self.destroy_timer(self._subscribers_timer)
        self.link.close()
        self.gate.watchdog.close()

    def changed(self, given: FdmdataParameters) -> None:
        """Use new live parameters."""
        if given.command_timeout != self.parameters.command_timeout:
            self.gate.watchdog.set_timeout(given.command_timeout)
        self._set_plan(given)

    def _make_topics(self, given: FdmdataParameters, undulation: Undulation) -> None:
        self.vehicle = VehiclePublisher(
            self, given, undulation=undulation,
            topics=('fix', 'imu/data', 'odom', 'datum', 'air_data'))
        kinds = {
            'gps': Navigation, 'ins': Navigation, 'temperature': Temperature,
            'static_pressure': FluidPressure, 'dynamic_pressure': FluidPressure,
            'magnetic_field': MagneticField,
        }
        self._own_publishers = {
            topic: self.make_publisher(kind, topic) for topic, kind in kinds.items()}
        self._messages = {topic: kind() for topic, kind in kinds.items()}
        for topic, message in self._messages.items():
            frame = {'gps': given.gps_frame, 'ins': given.imu_frame}.get(topic, given.base_frame)
            message.header.frame_id = given.frame_prefix + frame
        self._messages['gps'].roll = self._messages['gps'].pitch = math.nan

    def _follow_subscribers(self) -> None:
        """Ask for what somebody wants to hear."""
        subscribed = frozenset(self.vehicle.subscribed().union(
            (topic for topic, publisher in self._own_publishers.items()
             if publisher.get_subscription_count()),
            ('odom',) if self.parameters.publish_tf or self.parameters.publish_enu_tf else ()))
        if subscribed != self._subscribed:
            self._subscribed = subscribed
            self._set_plan(self.parameters)

    def _set_plan(self, given: FdmdataParameters) -> None:
        if not given.capture_file:
            self.link.call(self.session.set_plan, _plan(given, self._subscribed))

    # Commands and services: these run in the executor.

    def _send(self, controls: Controls) -> None:
        if not (controls.flaps is controls.gear is controls.speedbrake is None):
            self._not_on_the_wire += 1
        self.link.call(partial(self.session.set_controls, **huginn.to_huginn(controls)))

    def _centre(self) -> None:
        self.link.call(self.session.give_back)

    async def _pause(self, request: SetBool.Request, response: SetBool.Response) -> None:
        before = self._paused_here
        # From now on it may be paused, whether that is answered or not.
        self._paused_here |= request.data
        try:
            await self._call('pause' if request.data else 'resume')
        except _UnansweredError:
            raise
        except ValueError:
            self._paused_here = before
            raise
        self._paused_here = bool(request.data)
        response.success = True
        response.message = 'paused' if request.data else 'resumed'

    async def _reset(self, _: Trigger.Request, response: Trigger.Response) -> None:
        try:
            await self._call('reset')
        finally:
            # It trims: what was commanded tells nothing any more about the controls.
            self.link.call(self.session.forget_controls)
        response.success = True
        response.message = 'back at the initial conditions'

    async def _call(self, method: str) -> None:
        """Call a method of Huginn's XML-RPC while the executor goes on. Raises ValueError."""
        if self.parameters.capture_file:
            raise ValueError('a capture file is being played: there is no Huginn to call')
        future = Future(executor=self.executor)
        # A future without a callback would not wake the executor that awaits it.
        future.add_done_callback(lambda _: None)
        try:
            self._rpc.start(
                method, _RPC_TIMEOUT, lambda *ended: future.set_result(ended))
        except LinkError as error:
            raise ValueError(str(error)) from error
        good, error = await future
        if error is not None:
            kind = _UnansweredError if isinstance(error, UnansweredError) else ValueError
            raise kind(printable(str(error)))
        if not good:
            raise ValueError(f'Huginn says that {method} failed{_WHY.get(method, "")}')

    # From the peer: these run in the link's thread.

    def _on_event(self, event: Event, stamp_ns: int) -> None:
        if isinstance(event, Sample):
            if self.active:
                self._publish(event, stamp_ns)
        elif isinstance(event, PeerChanged):
            if event.state is PeerState.ANSWERING:
                self.inform('answering', f'Huginn answers at {self.parameters.host}')
            else:
                self.warn(event.state.name, f'{event.state.value}; {_HINTS[event.state]}')
        elif isinstance(event, PeerRecognized):
            self._recognize(event.same)

    def _recognize(self, same: bool) -> None:
        """Go on with a Huginn that only stood still, or begin anew with another one."""
        if not same:
            self._paused_here = False
            self.inform(
                'restarted',
                'Huginn was silent, and counts as restarted: what was commanded is forgotten')
        elif self.gate.watchdog.expired and self.parameters.on_command_timeout == 'neutral':
            # Commands stopped while it could not be told.
            try:
                self._centre()
            except ValueError as error:
                self.refuse('command/controls', error)

    def _on_failure(self, error: Exception) -> None:
        self.warn('failure', f'{type(error).__name__} while handling a datagram: {error}')

    def _publish(self, sample: Sample, stamp_ns: int) -> None:
        replies = huginn.plausible(sample.replies, self.vehicle.plausibility.withhold)
        if not replies:
            return
        stamp = self.stamps.received(stamp_ns)
        if stamp is None:
            self._last_update = time.monotonic()
            return
        stamp_ns = stamp
        if sample.name == 'magnetometer':
            self._publish_magnetic_field(replies[Command.MAGNETOMETER], stamp_ns)
            return
        self._last_update = time.monotonic()
        state = huginn.vehicle_state(replies, self._reading)
        if sample.name == 'gps':
            self.vehicle.publish(state, stamp_ns, ('fix',))
            self._publish_navigation('gps', replies[Command.GPS], stamp_ns)
        elif sample.name == 'imu':
            self.vehicle.publish(state, stamp_ns, ('imu/data',))
        elif sample.name == 'ins' and Command.INS in replies:
            self.vehicle.publish(state, stamp_ns, ('odom',))
            self._publish_navigation('ins', replies[Command.INS], stamp_ns)
        elif sample.name == 'air':
            self.vehicle.publish(state, stamp_ns, ('air_data',))
            self._publish_air(state, stamp_ns)

    def _publish_navigation(self, topic: str, reply: Any, stamp_ns: int) -> None:
        message = self._messages[topic]
        message.latitude = reply.latitude
        message.longitude = reply.longitude
        message.altitude = reply.altitude
        message.true_airspeed = reply.airspeed
        message.true_heading = reply.heading * DEGREE
        if topic == 'ins':
            message.roll = reply.roll * DEGREE
            message.pitch = reply.pitch * DEGREE
        self._publish_own(topic, stamp_ns)

    def _publish_air(self, state: VehicleState, stamp_ns: int) -> None:
        air = state.air
        if air is None:
            return
        if air.temperature is not None:
            # This message, unlike all others, is in degrees Celsius.
            self._messages['temperature'].temperature = kelvin_to_celsius(air.temperature)
            self._publish_own('temperature', stamp_ns)
        for name in ('static_pressure', 'dynamic_pressure'):
            pressure = getattr(air, name)
            if pressure is not None:
                self._messages[name].fluid_pressure = pressure
                self._publish_own(name, stamp_ns)

    def _publish_magnetic_field(self, reply: Any, stamp_ns: int) -> None:
        field = (reply.x, reply.y, reply.z)
        self._magnetic |= any(field)
        if self._magnetic:
            vector = self._messages['magnetic_field'].magnetic_field
            vector.x, vector.y, vector.z = frames.frd_to_flu(field)
            self._publish_own('magnetic_field', stamp_ns)
            self._last_update = time.monotonic()

    def _publish_own(self, topic: str, stamp_ns: int) -> None:
        message = self._messages[topic]
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
        self._own_publishers[topic].publish(message)

    # Diagnostics.

    def diagnose(self) -> Sequence[Status]:
        """Return the state of link, peer, telemetry and commands."""
        now = time.monotonic()
        with self.link.lock:
            statistics = self.session.statistics
            state = self.session.peer_state
            refused = self.session.refused
            updates = dict(statistics.updates)
            malformed = dict(statistics.malformed)
            taken = self.session.taken
            wanted_values = [c.name.lower() for c in self.session.wanted if self.active]
            missing = {
                c.name.lower(): since for c, since in self.session.missing(now).items()}
        counters = self.link.counters()
        before, seen = self._seen
        self._seen = (now, updates)
        rates = tuple(
            (f'{name}: updates/s',
             f'{(updates.get(name, 0) - seen.get(name, 0)) / max(now - before, 1e-6):.1f}')
            for name in _ENTRIES)
        names = ', '.join(sorted(command.name.lower() for command in refused))
        age = now - self._last_update if self._last_update else None
        wanted = _plan(self.parameters, self._subscribed)
        period = min((1.0 / entry.rate for entry in wanted.values()), default=0.0)
        fresh = age is not None and age < max(1.0, 1.5 * period)
        if not self.active:
            level, message = STALE, 'not active'
        elif state is not PeerState.ANSWERING:
            level, message = WARN, f'{state.value}; {_HINTS[state]}'
        elif refused:
            level, message = WARN, f'it refuses {names}: another version of Huginn?'
        else:
            level, message = OK, state.value
        stopped = self.gate.watchdog.expired
        return (
            self._link_report.status(
                counters, malformed, statistics.last_error,
                ('peer address', f'{self.parameters.host}:{self.parameters.data_port}'),
            ),
            Status('peer', level, message, (
                ('state', state.name.lower()),
                ('requests', str(statistics.requests)),
                ('replies', str(statistics.replies)),
                ('lost', str(statistics.lost)),
                ('error replies', str(statistics.errors)),
                ('refused', names or 'nothing'),
                ('late or unexpected', str(statistics.unexpected)),
            )),
            Status(
                'telemetry', OK if fresh or not wanted else STALE,
                'arriving' if fresh and wanted
                else 'nothing arrives' if wanted
                else 'nothing is asked for: the rates are 0' if self._subscribed
                else 'nobody subscribes',
                (
                    *rates,
                    ('age of the last, s', 'none yet' if age is None else f'{age:.3f}'),
                ),
            ),
            Status(
                'commands', WARN if stopped else OK,
                'commands stopped coming' if stopped else 'watched',
                (
                    ('commands', str(self.gate.commands)),
                    ('controls sent', str(statistics.controls)),
                    ('taken from the user', ', '.join(taken) or 'nothing'),
                    ('with flaps, gear or speedbrake, left out', str(self._not_on_the_wire)),
                ),
            ),
            *(() if self.parameters.capture_file
              else (values_status(wanted_values, missing, now),)),
            plausibility_status({'': self.vehicle.plausibility}),
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run fdmdata_node; return the process's exit code."""
    return run(FdmdataNode, FdmdataParameters, args)
