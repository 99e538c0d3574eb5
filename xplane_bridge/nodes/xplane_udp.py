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

"""xplane_udp_node: X-Plane 6 to 12 by its own UDP, without a plugin."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math
import socket
import time
from typing import Any

from xplane_bridge.conversions import xplane
from xplane_bridge.conversions.plausibility import NOWHERE, place_fault
from xplane_bridge.conversions.vehicle import Controls, VehicleState
from xplane_bridge.conversions.xplane_rows import rows_state, telemetry_rows
from xplane_bridge.links.loop import SessionLoop, UdpLoop
from xplane_bridge.links.peer import ANY_PORT, FixedPort, LearntPort, SenderPort
from xplane_bridge.links.replay import ReplayLoop
from xplane_bridge.links.udp import LinkError, Received, resolve, UdpSocket
from xplane_bridge.msg import Datarefs, DataRows
from xplane_bridge.nodes.base import BridgeNode, OK, run, STALE, Status, WARN
from xplane_bridge.nodes.clock import SimulatorClock, SimulatorTime
from xplane_bridge.nodes.datagrams import LinkReport, Rate, values_status
from xplane_bridge.nodes.lists import watched
from xplane_bridge.nodes.parameters import parameter
from xplane_bridge.nodes.plausibility import plausibility_status
from xplane_bridge.nodes.vehicle import (
    CommandGate,
    CONTROLS,
    make_undulation,
    VehicleParameters,
    VehiclePublisher,
)
from xplane_bridge.nodes.xplane_udp_commands import XplaneUdpCommands
from xplane_bridge.protocols import xplane_udp
from xplane_bridge.protocols.xplane_udp import FIRST_WITH_DATAREFS, Layout, Segment, VERSIONS
from xplane_bridge.sessions.base import CommandDone
from xplane_bridge.sessions.xplane_udp import (
    BEACON_CHANNEL,
    BeaconHeard,
    check_rows,
    check_watched,
    DATA_CHANNEL,
    DataArrived,
    Event,
    Needs,
    PeerChanged,
    PeerState,
    ReadDone,
    RowTelemetry,
    Telemetry,
    VersionFound,
    WatchedDatarefs,
    Wire,
    XplaneUdpSession,
)

# Telemetry older than this tells nothing about now, in seconds.
_FRESH = 1.0

# These ran on Macs with the other byte order too. The platform byte of 6 names the order; whether
# X-Plane heeds that of a client is not documented.
_ON_OLD_MACS = (6, 7, 8, 9)
_WITH_PLATFORM = 6

# Its row of times has no total time.
_WITHOUT_TIME = 7

# Values of peer_port.
_LEARNT, _ALL_PORTS = 0, -1

# How long closing waits for what is owed to leave at its pace.
_FAREWELL = 1.0


@dataclass(frozen=True)
class XplaneUdpParameters(VehicleParameters):
    """Parameters of xplane_udp_node."""

    host: str = parameter('127.0.0.1', "Address or name of X-Plane's computer.")
    port: int = parameter(
        xplane_udp.PORT, 'UDP port that X-Plane listens on.', minimum=1, maximum=65535)
    peer_port: int = parameter(
        0, 'UDP port that X-Plane sends from; 0 takes the one that answers, until it is silent; '
        '-1 takes all ports of its computer.', minimum=-1, maximum=65535)
    bind_address: str = parameter(
        '', 'Local address to send from and listen on; empty leaves it to the routing.')
    discover: bool = parameter(
        False, 'Take host and port from the beacon of X-Plane 10 and later, and follow it.')
    version: str = parameter(
        'auto', 'Version of X-Plane. auto asks 10 and later, and knows 6 to 9 by the rows that '
        'they send.', choices=('auto', *map(str, VERSIONS)))
    telemetry: str = parameter(
        'auto', 'What telemetry is made of: datarefs (10 and later) or rows (before), or rows in '
        'any version.', choices=('auto', 'rows'))
    rate: float = parameter(
        50.0, 'Updates a second, by datarefs. Rows come as often as X-Plane is set to send them.',
        minimum=1.0, maximum=1000.0)
    data_port: int = parameter(
        49003, 'Local UDP port for rows. X-Plane 6 sends to 49000 only.',
        minimum=1, maximum=65535)
    set_data_target: bool = parameter(
        True, 'Tell X-Plane 9 and later to send rows here; false leaves that to its settings.')
    data_rows: tuple[int, ...] = parameter(
        (), 'Numbers of further rows, 0..200, to select and publish on data_rows.', live=True)
    byte_order: str = parameter(
        'auto', "Byte order of rows: that of X-Plane's computer, big for an old Mac. auto learns "
        'it from what comes, and begins with little.', choices=('auto', 'little', 'big'))
    trailer: str = parameter(
        'auto', 'Whether what is sent to X-Plane 6 and 7 ends with a trailer byte; auto: with for '
        '6, without for 7.', choices=('auto', 'with', 'without'))
    pacing: float = parameter(
        0.01, 'Seconds between two datagrams to X-Plane, which loses some of those sent back to '
        'back. Controls do not wait from 10 on.', minimum=0.0, maximum=1.0)
    command_rows: str = parameter(
        'trim', 'What command/controls moves in X-Plane 6 to 9: the trims, or the joystick, which '
        "locks the user's own out until X-Plane is restarted.", choices=('trim', 'joystick'))
    override_joystick: bool = parameter(
        True, "Keep the joystick of the simulator's user from overwriting commands (10 and "
        'later), from the first command to deactivation.')
    pose_message: str = parameter(
        'auto', 'What command/pose sends: VEHS moves once (12), VEHX moves and stops the flight '
        'model until deactivation, PREL starts a flight there, level. auto: VEHS in 12, else '
        'PREL.', choices=('auto', 'vehs', 'vehx', 'prel'))
    specific_force: str = parameter(
        'g_loads', 'What imu/data takes its linear acceleration from: the three g loads, or the '
        'acceleration along the local axes and gravity.', choices=('g_loads', 'acceleration'))
    stamp: str = parameter(
        'receive', 'Time in the messages: when the kernel received the datagram, or the '
        "simulator's own time, which is then published on /clock.",
        choices=('receive', 'simulator'))
    datarefs: tuple[str, ...] = parameter(
        (), 'Names of further datarefs to publish on datarefs, at most 1000; name[3] is an '
        'element of an array.', live=True)
    datarefs_rate: float = parameter(
        10.0, 'Updates of datarefs a second.', minimum=1.0, maximum=1000.0, live=True)

    def __post_init__(self) -> None:
        """Check what single values cannot say."""
        VehicleParameters.__post_init__(self)
        for row in self.data_rows:
            if isinstance(row, bool) or not isinstance(row, int):
                raise ValueError(f'parameter data_rows: {row!r} is no row number')
        for what, check, given in (
                ('data_rows', check_rows, set(self.data_rows)),
                ('datarefs', check_watched, watched(self.datarefs))):
            try:
                check(given)
            except (ValueError, TypeError) as error:
                raise ValueError(f'parameter {what}: {error}') from error
        if self.discover and self.capture_file:
            raise ValueError('parameter discover: a capture does not beacon; give host')
        if self.number is not None and self.number < FIRST_WITH_DATAREFS:
            if self.discover:
                raise ValueError(
                    f'parameter discover: X-Plane {self.version} has no beacon; give host')
            if any(self.datarefs):
                raise ValueError(
                    f'parameter datarefs: X-Plane {self.version} sends rows only; see data_rows')
            if self.stamp == 'simulator' and self.number == _WITHOUT_TIME:
                raise ValueError(
                    f'parameter stamp: X-Plane {self.version} does not say its time; give receive')

    @property
    def number(self) -> int | None:
        """Return the version, None for auto."""
        return None if self.version == 'auto' else int(self.version)

    @property
    def needs_rows(self) -> bool:
        """Tell whether rows are listened for from the beginning."""
        return (self.telemetry == 'rows' or any(True for _ in self.data_rows)
                or self.number is None or self.number < FIRST_WITH_DATAREFS)


class BeaconSocket(UdpSocket):
    """A socket that remembers whose datagram it gave last: a beacon does not say its address."""

    last_sender = ('', 0)

    def receive(self) -> Received | None:
        """Return the next datagram, or None when none is waiting."""
        received = super().receive()
        if received is not None:
            self.last_sender = received.sender
        return received


class XplaneUdpNode(BridgeNode[XplaneUdpParameters]):
    """Bridge one X-Plane by its own UDP."""

    def __init__(self, **options: Any) -> None:
        super().__init__('xplane_udp_node', XplaneUdpParameters, **options)
        self._simulator_time = SimulatorTime()

    # Lifecycle.

    def open(self) -> None:
        """Make the session, the sockets, and everything that ROS sees."""
        given = self.parameters
        host = None if given.discover else resolve(given.host)
        undulation = make_undulation(given)
        self.get_logger().info(undulation.description)
        self.session = XplaneUdpSession(
            Needs(
                {version: tuple(map(_asked, xplane.own_datarefs(version)))
                 for version in VERSIONS if version >= FIRST_WITH_DATAREFS},
                {version: telemetry_rows(version) for version in VERSIONS},
            ),
            rate=given.rate,
            version=given.number,
            peer=None if host is None else (host, given.port),
            by_rows=given.telemetry == 'rows',
            wire_format=Wire(
                byte_order=None if given.byte_order == 'auto' else given.byte_order,
                trailer={'auto': None, 'with': True, 'without': False}[given.trailer],
                pacing=given.pacing,
                data_target=self._data_target if given.set_data_target else None,
            ),
            row_kind=given.command_rows,
            override_joystick=given.override_joystick,
            lifetime=given.command_lifetime,
        )
        self._peer_port = LearntPort(self.session)
        self._beacon_socket: BeaconSocket | None = None
        self.link = self._replay(host) if given.capture_file else self._open_link(host)
        self.vehicle = VehiclePublisher(self, given, '', undulation)
        self.gate = CommandGate(
            self, self._send_controls, lambda: self.link.call(self.session.release))
        self._simulator_clock = (
            SimulatorClock(self, self._simulator_time) if given.stamp == 'simulator' else None)
        self._datarefs_publisher = self.make_publisher(Datarefs, 'datarefs')
        self._rows_publisher = self.make_publisher(DataRows, 'data_rows')
        self._commands = XplaneUdpCommands(
            self, self.session, self.link, undulation, self._flown)
        self._places = _places(given.number or VERSIONS[-1])
        self._last_state: VehicleState | None = None
        self._last_update = 0.0
        self._last_telemetry: tuple[Any, ...] | None = None
        self._link_report = LinkReport()
        self._seen = (time.monotonic(), 0)
        self._datarefs_rate = Rate()
        self.link.start()

    def begin(self) -> None:
        """Start to talk."""
        given = self.parameters

        def start(now: float) -> None:
            # In one call: the first one sets a capture going.
            self.session.watch(watched(given.datarefs), given.datarefs_rate, now)
            self.session.choose_rows(given.data_rows, now)
            self.session.start(now)

        self.link.call(start)
        if self.session.version is not None:
            self._explain(self.session.version)

    def end(self) -> None:
        """Stop talking; give back the controls, end subscriptions and selections."""
        self.gate.watchdog.disarm()
        self.link.call(self.session.stop)

    def close(self) -> None:
        """Close the sockets and join the thread, once what is owed has left at its pace."""
        if isinstance(self.link, UdpLoop):
            self.link.wait_for(lambda: self.session.drained, _FAREWELL)
        self.link.call(self.session.flush)
        self.link.close()
        self.gate.watchdog.close()

    def changed(self, given: XplaneUdpParameters) -> None:
        """Use new live parameters."""
        old = self.parameters
        if given.command_timeout != old.command_timeout:
            self.gate.watchdog.set_timeout(given.command_timeout)
        if (given.datarefs, given.datarefs_rate) != (old.datarefs, old.datarefs_rate):
            self.link.call(self.session.watch, watched(given.datarefs), given.datarefs_rate)
        if given.data_rows != old.data_rows:
            self.link.call(self.session.choose_rows, given.data_rows)

    def _replay(self, host: str | None) -> SessionLoop:
        """Take datagrams from a capture: rows by their port, datarefs by what was asked."""
        given = self.parameters
        # X-Plane 6 has one port both ways: there the sender tells the directions apart.
        both_ways = given.data_port == given.port
        return ReplayLoop(
            given.capture_file, self.session, self._on_event, self._on_failure,
            speed=given.capture_speed,
            channels={given.data_port: DATA_CHANNEL, xplane_udp.BEACON_PORT: BEACON_CHANNEL},
            peer_port=None if both_ways else given.port, sender=host if both_ways else None,
            on_end=self.capture_ended, holds=self.audience.holds,
            name='xplane_udp replay')

    def _open_link(self, host: str | None) -> SessionLoop:
        given = self.parameters
        # A bad bind address or a port in use shall stop configuring, not the first datagram.
        UdpSocket((given.bind_address, 0)).close()
        channels: dict[str, UdpSocket] = {}
        if given.needs_rows:
            data_socket = self._open_data(host)
            if host is None:
                data_socket.close()
            else:
                channels[DATA_CHANNEL] = data_socket
        self._beacon_socket = self._open_beacon(host)
        if self._beacon_socket is not None:
            channels[BEACON_CHANNEL] = self._beacon_socket
        return UdpLoop(
            self.session, self._open_channel, self._on_event, self._on_failure,
            channels=channels, port=self._peer_port, name='xplane_udp link')

    def _open_channel(self, channel: str) -> UdpSocket:
        host, port = self.session.peer or ('', 0)
        if channel == DATA_CHANNEL:
            return self._open_data(host)
        return UdpSocket(
            (self.parameters.bind_address, 0), peer=(host, port), sender=host,
            sender_port=self._sends_from(self._peer_port))

    def _sends_from(self, learnt: SenderPort) -> SenderPort:
        """Return which ports of X-Plane's computer are X-Plane."""
        given = self.parameters.peer_port
        if given == _LEARNT:
            return learnt
        return FixedPort(ANY_PORT if given == _ALL_PORTS else given)

    def _open_data(self, host: str | None) -> UdpSocket:
        given = self.parameters
        peer = self.session.peer
        try:
            return UdpSocket(
                (given.bind_address, given.data_port), peer=peer, sender=host,
                sender_port=self._sends_from(self._peer_port.unasked))
        except LinkError as error:
            raise LinkError(
                f'{error} Rows come to the port data_port; set that or bind_address'
            ) from error

    def _open_beacon(self, host: str | None) -> BeaconSocket | None:
        """Listen to X-Plane's beacon, where the network has multicast."""
        try:
            return BeaconSocket(
                ('', xplane_udp.BEACON_PORT), sender=host, group=xplane_udp.BEACON_GROUP)
        except LinkError as error:
            if host is None:
                raise LinkError(f'discover: {error}') from error
            self.get_logger().info(
                f'no beacons ({error}); a simulator that loads cannot be told from none')
            return None

    def _data_target(self, peer: str) -> tuple[str, int]:
        """Return where X-Plane reaches us: our address on the way to it."""
        given = self.parameters
        address = given.bind_address
        if not address:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                try:
                    probe.connect((peer, given.port))
                except OSError as error:
                    self.warn('route', f'no way to {peer}: {error.strerror}')
                address = probe.getsockname()[0]
        return resolve(address), given.data_port

    def _flown(self) -> VehicleState | None:
        """Return the state of the aircraft, None if it is not known any more."""
        fresh = time.monotonic() - self._last_update < _FRESH
        return self._last_state if fresh else None

    def _send_controls(self, controls: Controls) -> None:
        self.link.call(self.session.set_controls, {
            name: value for name in CONTROLS
            if (value := getattr(controls, name)) is not None})

    def _explain(self, version: int) -> None:
        """Say once what is special about this version."""
        if version >= FIRST_WITH_DATAREFS:
            return
        if self.parameters.command_rows == 'joystick':
            self.warn(
                'joystick',
                f'X-Plane {version}: command/controls writes the joystick row; the first command '
                "locks the user's own joystick out until X-Plane is restarted")
        else:
            self.inform(
                'trims',
                f'X-Plane {version}: command/controls moves the trims, the joystick stays the '
                "user's; command_rows: joystick has full authority")
        if any(self.parameters.datarefs):
            self.warn(
                'no datarefs',
                f'X-Plane {version} sends no datarefs; see the parameter data_rows')

    # From the peer: these run in the link's thread.

    def _on_event(self, event: Event, stamp_ns: int) -> None:
        if isinstance(event, Telemetry):
            self._publish_telemetry(event, stamp_ns)
        elif isinstance(event, RowTelemetry):
            self._publish(rows_state(event.version, event.segments), stamp_ns)
        elif isinstance(event, DataArrived):
            self._publish_rows(event.segments, stamp_ns)
        elif isinstance(event, WatchedDatarefs):
            self._publish_datarefs(event, stamp_ns)
        elif isinstance(event, ReadDone | CommandDone):
            self._commands.finish(event)
        elif isinstance(event, BeaconHeard):
            # Without a socket it comes from a capture, and is of the peer that was given.
            sender = ('', 0) if self._beacon_socket is None else self._beacon_socket.last_sender
            self.link.call(self.session.hear, event.beacon, sender)
        elif isinstance(event, VersionFound):
            self._places = _places(event.version)
            self.inform('version', f'this is X-Plane {event.version}')
            self._explain(event.version)
        elif isinstance(event, PeerChanged):
            self._tell(event.state)

    def _tell(self, state: PeerState) -> None:
        if state is PeerState.ANSWERING:
            self.inform('answering', f'X-Plane answers at {self._peer_address()}')
        elif state is not PeerState.UNKNOWN and self.active:
            self.warn(state.name, f'{state.value}; {self._hint(state)}')

    def _hint(self, state: PeerState) -> str:
        """Return what to check when nothing comes."""
        given = self.parameters
        if state is PeerState.SEARCHING:
            return ('check that X-Plane 10 or later runs in this network and that multicast gets '
                    'through, or set discover: false and host')
        if state is PeerState.UNKNOWN:
            return 'waiting for the first datagram'
        hint = 'check that X-Plane runs, the parameters host and port, and that no firewall ' \
               'drops UDP'
        if not self.session.uses_datarefs:
            hint += (f"; and that X-Plane's data output goes to this computer's port "
                     f'{given.data_port} (for 6 to 8 its settings say where)')
            if self.session.version in _ON_OLD_MACS and given.byte_order == 'auto':
                hint += '; X-Plane on an old Mac that sends no row yet needs byte_order: big'
            if self.session.version is None:
                hint += '; X-Plane 6 to 9 is known by the rows it sends, so tick some, or give ' \
                        'the parameter version'
        return hint

    def _peer_address(self) -> str:
        peer = self.session.peer
        return 'no address yet' if peer is None else f'{peer[0]}:{peer[1]}'

    def _on_failure(self, error: Exception) -> None:
        self.warn('failure', f'{type(error).__name__} while handling a datagram: {error}')

    def _publish_telemetry(self, event: Telemetry, stamp_ns: int) -> None:
        pose = event.pose
        values = event.values
        attitude: tuple[float, float, float] | None = None
        if pose is not None:
            position = self.vehicle.plausibility.place(pose.lat, pose.lon, pose.ele_m)
            attitude = (pose.heading_true_deg, pose.pitch_deg, pose.roll_deg)
        elif None in values[:3]:
            position = NOWHERE
        else:
            # The pose does not come: the datarefs say the same as float32, as rows do.
            position = self.vehicle.plausibility.place(*values[:3])
        rows = [() if place is None or values[place] is None else (values[place],)
                for place in self._places]
        state = xplane.own_state(
            position, attitude, rows,
            by_acceleration=self.parameters.specific_force == 'acceleration')
        self._last_telemetry = position, state, rows
        self._publish(state, stamp_ns)

    def _publish(self, state: VehicleState, stamp_ns: int) -> None:
        clock = self._simulator_clock
        stamp = self.stamps.received(stamp_ns) if clock is None else clock.stamp(
            state.time, state.paused, (
                state.latitude_deg, state.longitude_deg, state.altitude_msl, state.orientation))
        if place_fault(state.latitude_deg, state.longitude_deg, state.altitude_msl) is None:
            self._last_state = state
        if stamp is not None:
            self.vehicle.publish(state, stamp)
        self._last_update = time.monotonic()

    def _stamp(self, message: Any, stamp_ns: int) -> bool:
        """Stamp what is not telemetry; tell whether there is a time."""
        clock = self._simulator_clock
        stamp = self.stamps.received(stamp_ns) if clock is None else clock.now_ns
        if stamp is None:
            return False
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        return True

    def _publish_datarefs(self, event: WatchedDatarefs, stamp_ns: int) -> None:
        message = Datarefs()
        if not self._stamp(message, stamp_ns):
            return
        message.names = list(event.names)
        if None in event.values:
            message.sizes = array('I', [value is not None for value in event.values])
            message.values = array('f', [v for v in event.values if v is not None])
        else:
            message.sizes = array('I', [1]) * len(event.values)
            message.values = array('f', event.values)
        self._datarefs_publisher.publish(message)

    def _publish_rows(self, segments: Sequence[Segment], stamp_ns: int) -> None:
        message = DataRows()
        if not self._stamp(message, stamp_ns):
            return
        values = array('f')
        for segment in segments:
            if None in segment.values:
                values.extend([math.nan if v is None else v for v in segment.values])
            else:
                values.extend(segment.values)
        message.rows = array('I', [segment.index for segment in segments])
        message.values = values
        self._rows_publisher.publish(message)

    # Diagnostics.

    def _force_difference(self) -> str:
        """Return how far the two ways to the specific force are apart."""
        if self._last_telemetry is None:
            return ''
        difference = xplane.force_difference(*self._last_telemetry)
        return '' if difference is None else f'{difference:.3f}'

    def diagnose(self) -> Sequence[Status]:
        """Return the state of link, peer and telemetry."""
        now = time.monotonic()
        with self.link.lock:
            session = self.session
            statistics = session.statistics
            state = session.peer_state
            version = session.version
            beacon = session.beacon
            taken = session.taken
            updates = statistics.updates
            malformed = dict(statistics.malformed)
            missing = _missed(session.missing(now))
            wanted = session.wanted
            missing_rows = session.missing_rows(now)
            layout = session.layout
            every_frame = session.every_frame
            by_datarefs = session.uses_datarefs
            sends_from = self._peer_port.only
        counters = self.link.counters()
        before, seen = self._seen
        self._seen = (now, updates)
        rate = (updates - seen) / max(now - before, 1e-6)
        age = now - self._last_update if self._last_update else None
        if not self.active:
            level, sentence = STALE, 'not active'
        elif state is PeerState.ANSWERING:
            level, sentence = OK, state.value
        else:
            level, sentence = WARN, f'{state.value}; {self._hint(state)}'
        fresh = age is not None and age < _FRESH
        return (
            self._link_report.status(
                counters, malformed, statistics.last_error,
                ('peer address', self._peer_address()),
                ('data port', str(self.parameters.data_port)),
                ('X-Plane sends from port', str(sends_from or 'not known yet')),
                advice='; if it is X-Plane, that is taken once the other is silent, or set '
                       'peer_port',
            ),
            Status('peer', level, sentence, (
                ('state', state.name.lower()),
                ('X-Plane version', str(version) if version else 'not known yet'),
                ('beacon', f'{beacon.name}, {beacon.version}' if beacon else 'none heard'),
                ('asked again', str(statistics.asked_again)),
                ('late or unexpected', str(statistics.unexpected)),
                ('taken from the user', ', '.join(sorted(taken)) or 'nothing'),
            )),
            Status(
                'telemetry', OK if fresh else STALE,
                'arriving' if fresh else 'nothing arrives',
                (
                    ('source', ('datarefs, every frame' if every_frame else 'datarefs')
                     if by_datarefs else 'rows'),
                    ('updates/s', f'{rate:.1f}'),
                    ('datarefs: updates/s',
                     f'{self._datarefs_rate.per_second(statistics.watched, now):.1f}'),
                    ('age of the last, s', 'none yet' if age is None else f'{age:.3f}'),
                    ('rows received', str(statistics.rows)),
                    ('byte order of rows', _byte_order(layout)),
                    ('rows that do not come', ', '.join(map(str, missing_rows)) or 'none'),
                    ('datarefs of two frames', str(statistics.split)),
                    ('g loads against acceleration, m/s^2', self._force_difference()),
                ),
            ),
            values_status(wanted, missing, now),
            Status(
                'commands', WARN if self.gate.watchdog.expired else OK,
                'commands stopped coming' if self.gate.watchdog.expired else 'watched',
                (
                    ('commands', str(self.gate.commands)),
                    ('merged, faster than pacing', str(statistics.held_back)),
                ),
            ),
            plausibility_status({'': self.vehicle.plausibility}),
            *(() if self._simulator_clock is None else (self._simulator_clock.diagnose(),)),
        )


def _byte_order(layout: Layout | None) -> str:
    """Return the byte order of the rows that came, and with X-Plane 6 the platform byte."""
    if layout is None:
        return 'none came'
    if layout.framing != _WITH_PLATFORM:
        return layout.byte_order
    platform = '0, a PC' if layout.byte_order == 'little' else '1, a Mac'
    return f'{layout.byte_order}: platform {platform}'


def _asked(name: str) -> str:
    """Return how RREF asks for a dataref: of an array, for its first element."""
    return f'{name}[0]' if name == xplane.THROTTLE else name


def _missed(missing: Mapping[str, float]) -> dict[str, float]:
    """Return what does not come and is not made up for by another dataref."""
    spared = {*map(_asked, xplane.OWN_DATAREFS)}.intersection(missing)
    spared.difference_update(xplane.missed(spared))
    return {name: since for name, since in missing.items() if name not in spared}


def _places(version: int) -> list[int | None]:
    """Return for each of OWN_DATAREFS its place among those of this version."""
    own = xplane.own_datarefs(version)
    return [own.index(name) if name in own else None for name in xplane.OWN_DATAREFS]


def main(args: Sequence[str] | None = None) -> int:
    """Run xplane_udp_node; return the process's exit code."""
    return run(XplaneUdpNode, XplaneUdpParameters, args)
