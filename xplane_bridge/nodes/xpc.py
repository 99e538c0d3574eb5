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

"""xpc_node: X-Plane through NASA's X-Plane Connect plugin."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
import time
from typing import Any

from xplane_bridge.conversions import xplane
from xplane_bridge.conversions.plausibility import NOWHERE
from xplane_bridge.conversions.vehicle import Controls, VehicleState
from xplane_bridge.links.loop import SessionLoop, UdpLoop
from xplane_bridge.links.replay import ReplayLoop
from xplane_bridge.links.udp import LinkError, resolve, UdpSocket
from xplane_bridge.msg import Datarefs
from xplane_bridge.nodes.base import BridgeNode, OK, run, STALE, Status, WARN
from xplane_bridge.nodes.clock import SimulatorClock, SimulatorTime
from xplane_bridge.nodes.datagrams import LinkReport, Rate, values_status
from xplane_bridge.nodes.lists import watched
from xplane_bridge.nodes.parameters import parameter
from xplane_bridge.nodes.plausibility import plausibility_status
from xplane_bridge.nodes.vehicle import (
    ALL_BUT_FIX,
    CommandGate,
    make_undulation,
    TOPICS,
    VehicleParameters,
    VehiclePublisher,
)
from xplane_bridge.nodes.xpc_commands import XpcCommands
from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.base import CommandDone
from xplane_bridge.sessions.xpc import (
    BEACON_CHANNEL,
    check_watched,
    Event,
    Generation,
    PeerChanged,
    PeerReplaced,
    PeerState,
    ReadDone,
    Telemetry,
    WatchedDatarefs,
    XpcSession,
)

# X-Plane has no air data of the others.
_OTHER_TOPICS = tuple(topic for topic in TOPICS if topic != 'air_data')

_HINTS = {
    PeerState.UNKNOWN: 'waiting for the first answer',
    PeerState.AWAY: 'check that X-Plane runs, that the plugin XPlaneConnect is enabled in it, the '
                    'parameters host and port, and that no firewall drops UDP',
    PeerState.LOADING: 'leave the menu or wait until the scenery is loaded; the plugin answers '
                       'only while frames are drawn',
}


@dataclass(frozen=True)
class XpcParameters(VehicleParameters):
    """Parameters of xpc_node."""

    host: str = parameter('127.0.0.1', "Address or name of X-Plane's computer.")
    port: int = parameter(
        xpc.PORT, 'UDP port of the plugin.', minimum=1, maximum=65535)
    bind_address: str = parameter(
        '', 'Local address to send from and listen on; empty leaves it to the routing.')
    rate: float = parameter(
        50.0, 'Updates a second and aircraft; 0 is one a frame of the simulator.',
        minimum=0.0, maximum=2000.0)
    aircraft: tuple[int, ...] = parameter(
        (0,), "Numbers of the aircraft to bridge, 0..19; 0 is the user's. The others appear "
        'below aircraft_<number>/.')
    max_datagrams_per_second: float = parameter(
        240.0, 'Datagrams to send in all. The plugin drops everything when 20 come in one frame: '
        'keep well below 20 times the lowest frame rate.', minimum=10.0, maximum=100000.0)
    plugin: str = parameter(
        'auto', 'Generation of the plugin; auto finds out, but cannot tell develop from rc6.',
        choices=('auto', *(generation.value for generation in Generation)))
    specific_force: str = parameter(
        'g_loads', 'What imu/data takes its linear acceleration from: the three g loads, or the '
        'acceleration along the local axes and gravity.', choices=('g_loads', 'acceleration'))
    stamp: str = parameter(
        'receive', 'Time in the messages: when the kernel received the datagram, or the '
        "simulator's own time, which is then published on /clock.",
        choices=('receive', 'simulator'))
    lockstep: bool = parameter(
        False, 'The simulator waits for command/controls in each frame (simulator_node with '
        'lockstep): poll after each command, instead of by rate.')
    override_joystick: bool = parameter(
        False, "Keep the joystick of the simulator's user from overwriting commands, from the "
        'first command to deactivation.')
    datarefs: tuple[str, ...] = parameter(
        (), 'Names of further datarefs to publish on datarefs, at most 3000.', live=True)
    datarefs_rate: float = parameter(
        10.0, 'Updates of datarefs a second.', minimum=0.01, maximum=1000.0, live=True)

    def __post_init__(self) -> None:
        """Check what single values cannot say."""
        VehicleParameters.__post_init__(self)
        if not self.aircraft:
            raise ValueError('parameter aircraft: at least one number is needed')
        for number in self.aircraft:
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 19:
                raise ValueError(
                    f'parameter aircraft: {number!r} is not in 0..19; X-Plane crashes on others')
        if len(set(self.aircraft)) != len(self.aircraft):
            raise ValueError(f'parameter aircraft: {list(self.aircraft)} names one twice')
        try:
            check_watched(watched(self.datarefs))
        except (ValueError, TypeError) as error:
            raise ValueError(f'parameter datarefs: {error}') from error


class XpcNode(BridgeNode[XpcParameters]):
    """Bridge one X-Plane with the X-Plane Connect plugin."""

    def __init__(self, **options: Any) -> None:
        super().__init__('xpc_node', XpcParameters, **options)
        self._simulator_time = SimulatorTime()

    # Lifecycle.

    def open(self) -> None:
        """Make the session, the sockets, and everything that ROS sees."""
        given = self.parameters
        host = resolve(given.host)
        undulation = make_undulation(given)

        def open_channel(_: str) -> UdpSocket:
            # The plugin answers from the port that was asked.
            return UdpSocket((given.bind_address, 0), peer=(host, given.port), sender=host,
                             sender_port=given.port)

        # A bad bind address shall stop configuring, not the first datagram.
        open_channel('').close()
        self.get_logger().info(undulation.description)
        beacons = {} if given.capture_file else self._open_beacon(host)
        self.session = XpcSession(
            {
                number: xplane.other_datarefs(number) if number else xplane.OWN_DATAREFS
                for number in given.aircraft
            },
            rate=given.rate,
            budget=given.max_datagrams_per_second,
            lifetime=given.command_lifetime,
            generation=None if given.plugin == 'auto' else Generation(given.plugin),
            hears_beacons=bool(beacons or given.capture_file),
            address=f'{given.host}:{given.port}',
            port=given.port,
            lockstep=given.lockstep,
        )
        if given.capture_file:
            self.link: SessionLoop = ReplayLoop(
                given.capture_file, self.session, self._on_event, self._on_failure,
                speed=given.capture_speed, channels={xpc.BEACON_PORT: BEACON_CHANNEL},
                peer_port=given.port, on_end=self.capture_ended, holds=self.audience.holds,
                name='xpc replay')
        else:
            self.link = UdpLoop(
                self.session, open_channel, self._on_event, self._on_failure, channels=beacons,
                name='xpc link')
        self.vehicles = {}
        self.gates = {}
        for number in given.aircraft:
            prefix = f'aircraft_{number}/' if number else ''
            self.vehicles[number] = VehiclePublisher(
                self, given, prefix, undulation, TOPICS if number == 0 else _OTHER_TOPICS)
            self.gates[number] = self._make_gate(number, prefix)
        self._simulator_clock = (
            SimulatorClock(self, self._simulator_time) if given.stamp == 'simulator' else None)
        self._datarefs_publisher = self.make_publisher(Datarefs, 'datarefs')
        self._commands = XpcCommands(
            self, self.session, self.link, undulation, self.last_state, self.local_origin)
        self._last: dict[int, tuple[VehicleState, Telemetry]] = {}
        self._last_update = 0.0
        self._link_report = LinkReport()
        self._seen = (time.monotonic(), dict(self.session.statistics.updates))
        self._datarefs_rate = Rate()
        self.link.start()

    def begin(self) -> None:
        """Start to poll."""
        self.link.call(self.session.start)
        self._watch(self.parameters)

    def end(self) -> None:
        """Stop polling; give back throttle, joystick, pause and screen."""
        for gate in self.gates.values():
            gate.watchdog.disarm()
        self.link.call(self.session.stop)

    def close(self) -> None:
        """Close the sockets and join the thread."""
        self.link.close()
        for gate in self.gates.values():
            gate.watchdog.close()

    def changed(self, given: XpcParameters) -> None:
        """Use new live parameters."""
        old = self.parameters
        # Which may refuse: then nothing has changed.
        if (given.datarefs, given.datarefs_rate) != (old.datarefs, old.datarefs_rate):
            self._watch(given)
        if given.command_timeout != old.command_timeout:
            for gate in self.gates.values():
                gate.watchdog.set_timeout(given.command_timeout)

    def _open_beacon(self, host: str) -> dict[str, UdpSocket]:
        """Listen to the plugin's beacon, where the network has multicast."""
        try:
            return {BEACON_CHANNEL: UdpSocket(
                ('', xpc.BEACON_PORT), sender=host, sender_port=self.parameters.port,
                group=xpc.BEACON_GROUP)}
        except LinkError as error:
            self.get_logger().info(
                f'no beacons ({error}); a simulator that loads cannot be told from none')
            return {}

    def _watch(self, given: XpcParameters) -> None:
        self.link.call(self.session.watch, watched(given.datarefs), given.datarefs_rate)

    def _make_gate(self, number: int, prefix: str) -> CommandGate:
        def send(controls: Controls) -> None:
            message = xpc.Controls(
                elevator=controls.elevator,
                aileron=controls.aileron,
                rudder=controls.rudder,
                throttle=controls.throttle,
                gear=None if controls.gear is None else round(controls.gear),
                flaps=controls.flaps,
                aircraft=number,
                speedbrake=controls.speedbrake,
            )
            if number == 0 and self.parameters.override_joystick:
                self.link.call(self.session.take_joystick)
            self.link.call(self.session.set_controls, message)

        return CommandGate(
            self, send, partial(self.link.call, partial(self.session.release, aircraft=number)),
            prefix, neutral=partial(self.link.call, self.session.centre, number))

    # From the peer: these run in the link's thread.

    def _on_event(self, event: Event, stamp_ns: int) -> None:
        if isinstance(event, Telemetry):
            self._publish_telemetry(event, stamp_ns)
        elif isinstance(event, WatchedDatarefs):
            self._publish_datarefs(event, stamp_ns)
        elif isinstance(event, ReadDone | CommandDone):
            self._commands.finish(event)
        elif isinstance(event, PeerReplaced):
            self.warn(
                'replaced', f'another X-Plane answers at {self.parameters.host}: {event.reason}')
        elif isinstance(event, PeerChanged):
            if event.state is PeerState.ANSWERING:
                self.inform('answering', f'X-Plane Connect answers at {self.parameters.host}')
            elif event.state is not PeerState.UNKNOWN:
                self.warn(event.state.name, f'{event.state.value}; {_HINTS[event.state]}')

    def _on_failure(self, error: Exception) -> None:
        self.warn('failure', f'{type(error).__name__} while handling a datagram: {error}')

    def _publish_telemetry(self, event: Telemetry, stamp_ns: int) -> None:
        if not self.active:
            return
        reply = event.position
        vehicle = self.vehicles[event.aircraft]
        position = vehicle.plausibility.place(reply.lat, reply.lon, reply.alt)
        clock = self._simulator_clock
        attitude = (reply.heading, reply.pitch, reply.roll)
        stamp = self.stamps.received(stamp_ns) if clock is None else clock.stamp(
            *xplane.running_time(event.values), (position, attitude), event.aircraft)
        # To compute the state takes about as long as to publish: fix, the first, need not wait.
        if stamp is not None:
            vehicle.publish_fix(*position, stamp)
        if event.aircraft == 0:
            state = xplane.own_state(
                position, attitude, event.values,
                by_acceleration=self.parameters.specific_force == 'acceleration')
        else:
            state = xplane.other_state(event.aircraft, position, attitude, event.values)
        if position is not NOWHERE:
            self._last[event.aircraft] = state, event
        if stamp is not None:
            vehicle.publish(state, stamp, ALL_BUT_FIX)
        self._last_update = time.monotonic()

    def _publish_datarefs(self, event: WatchedDatarefs, stamp_ns: int) -> None:
        clock = self._simulator_clock
        stamp = self.stamps.received(stamp_ns) if clock is None else clock.now_ns
        if stamp is None:
            return
        message = Datarefs()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        message.names = list(event.names)
        message.sizes = array('I', map(len, event.values))
        message.values = array('f', [value for row in event.values for value in row])
        self._datarefs_publisher.publish(message)

    # For commands and services: these run in the executor.

    def last_state(self, aircraft: int) -> VehicleState | None:
        """Return the last state of one of the bridged aircraft."""
        last = self._last.get(aircraft)
        return None if last is None else last[0]

    def local_origin(self) -> tuple[float, float] | None:
        """Return latitude and longitude (deg) of the origin of X-Plane's local axes."""
        for _, event in self._last.values():
            return xplane.origin(event.aircraft, event.values)
        return None

    # Diagnostics.

    def _force_difference(self) -> str:
        """Return how far the two ways to the user's aircraft's specific force are apart."""
        if 0 not in self._last:
            return ''
        state, event = self._last[0]
        place = event.position
        difference = xplane.force_difference(
            (place.lat, place.lon, place.alt), state, event.values)
        return '' if difference is None else f'{difference:.3f}'

    def diagnose(self) -> Sequence[Status]:
        """Return the state of link, peer and telemetry."""
        now = time.monotonic()
        with self.link.lock:
            statistics = self.session.statistics
            state = self.session.peer_state
            generation = self.session.generation
            beacon = self.session.beacon
            taken = self.session.taken
            wanted = self.session.wanted if self.active else ()
            missing = self.session.missing(now) if self.active else {}
            updates = dict(statistics.updates)
            malformed = dict(statistics.malformed)
        counters = self.link.counters()
        before, seen = self._seen
        self._seen = (now, updates)
        rates = {
            number: (updates.get(number, 0) - seen.get(number, 0)) / max(now - before, 1e-6)
            for number in self.parameters.aircraft
        }
        age = now - self._last_update if self._last_update else None
        if not self.active:
            peer = Status('peer', STALE, 'not active')
        elif state is PeerState.ANSWERING:
            peer = Status('peer', OK, state.value)
        else:
            peer = Status('peer', WARN, f'{state.value}; {_HINTS[state]}')
        fresh = age is not None and age < 1.0
        return (
            self._link_report.status(
                counters, malformed, statistics.last_error,
                ('peer address', f'{self.parameters.host}:{self.parameters.port}'),
            ),
            Status(peer.name, peer.level, peer.message, (
                ('state', state.name.lower()),
                ('plugin generation', generation.value if generation else 'not known yet'),
                ('X-Plane version', str(beacon.xplane_version) if beacon else 'no beacon heard'),
                ('requests', str(statistics.requests)),
                ('replies', str(statistics.replies)),
                ('lost', str(statistics.lost)),
                ('late or unexpected', str(statistics.unexpected)),
                ('replies of two frames', str(statistics.split)),
                ('frames answered twice', str(statistics.repeated)),
                ('taken from the user', ', '.join(sorted(taken)) or 'nothing'),
            )),
            values_status(wanted, {name: missing[name] for name in xplane.missed(missing)}, now),
            Status(
                'telemetry', OK if fresh else STALE,
                'arriving' if fresh else 'nothing arrives',
                (
                    *((f'aircraft {number}: updates/s', f'{rate:.1f}')
                      for number, rate in rates.items()),
                    ('datarefs: updates/s',
                     f'{self._datarefs_rate.per_second(statistics.watched, now):.1f}'),
                    ('age of the last, s', 'none yet' if age is None else f'{age:.3f}'),
                    ('g loads against acceleration, m/s^2',
                     self._force_difference()),
                ),
            ),
            Status(
                'commands', WARN if any(gate.watchdog.expired for gate in self.gates.values())
                else OK,
                'commands stopped coming' if any(
                    gate.watchdog.expired for gate in self.gates.values()) else 'watched',
                tuple(
                    (f'aircraft {number}: commands', str(gate.commands))
                    for number, gate in self.gates.items()
                ) + (('merged, budget used up', str(statistics.held_back)),),
            ),
            plausibility_status({
                f'aircraft {number}: ' if number else '': vehicle.plausibility
                for number, vehicle in self.vehicles.items()}),
            *(() if self._simulator_clock is None else (self._simulator_clock.diagnose(),)),
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run xpc_node; return the process's exit code."""
    return run(XpcNode, XpcParameters, args)
