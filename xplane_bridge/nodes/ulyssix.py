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

"""ulyssix_node: parameters from Altair or DEWESoft, by Ulyssix's UDP packets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import ipaddress
import time
from typing import Any, NamedTuple

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile

from xplane_bridge.links.loop import UdpLoop
from xplane_bridge.links.peer import ANY_PORT
from xplane_bridge.links.replay import ReplayLoop
from xplane_bridge.links.udp import Counters, RECEIVE_BUFFER, resolve_sender, UdpSocket
from xplane_bridge.msg import UlyssixPacket, UlyssixParameters
from xplane_bridge.nodes.base import (
    BridgeNode,
    CaptureParameters,
    ERROR,
    OK,
    run,
    STALE,
    Status,
    WARN,
)
from xplane_bridge.nodes.datagrams import overload
from xplane_bridge.nodes.parameters import parameter
from xplane_bridge.nodes.ulyssix_samples import (
    DEPTH,
    fill_values,
    NO_INTEGERS,
    SampleTopics,
    to_array,
)
from xplane_bridge.protocols.ulyssix import WordOrder
from xplane_bridge.sessions.ulyssix import (
    CHANNEL,
    Event,
    NamesChanged,
    PacketReceived,
    Placed,
    PublisherChanged,
    PublisherRestarted,
    PublisherState,
    Timeline,
    UlyssixSession,
)

_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

_FRESH = 1.0
# Names change when somebody chooses other parameters, not several times per second.
_RENAMED = 3
# More than the zones of one country differ: the clock or the reading of it is wrong.
_LATE = 60.0

# Whole years that a stamp can hold.
_FIRST_YEAR, _LAST_YEAR = 1970, 2037

_HINT = (
    '; check that the publisher is started, that it sends to this computer (or to the group or '
    'broadcast address) and to this port, and that no firewall drops UDP'
)


@dataclass(frozen=True)
class UlyssixNodeParameters(CaptureParameters):
    """Parameters of ulyssix_node."""

    port: int = parameter(
        0, 'UDP port that the publisher sends to. Required: there is no usual one. With '
        'capture_file: 0 takes the datagrams of all ports.', minimum=0, maximum=65535)
    bind_address: str = parameter(
        '', 'Local address to listen on; empty for all of them, which broadcasts need. With '
        'group: address of the network interface to join on; empty for the default route.')
    group: str = parameter('', 'Multicast group to join, if the publisher sends to one.')
    sender: str = parameter(
        '', 'Address or name of the only computer to listen to, or of that and the port that the '
        'publisher sends from, as host:port; empty for any.')
    receive_buffer: int = parameter(
        RECEIVE_BUFFER, 'Bytes of datagrams that the kernel is asked to keep for the node.',
        minimum=4096, maximum=2**30)
    word_order: str = parameter(
        'auto', "Which half of the packet's time is sent first: the date (first_word_high) or "
        'the clock (true_u64); auto finds out.',
        choices=('auto', *(order.value for order in WordOrder)))
    day_base: str = parameter(
        'auto', 'The number of 1 January in the packet time; auto asks the sample times, and is '
        '1 without them.', choices=('auto', '1', '0'))
    integer_width: str = parameter(
        'auto', 'Bytes of a value in integer mode; auto finds out.', choices=('auto', '8', '4'))
    year: int = parameter(
        0, 'Year of the first packet, for recordings; 0 is the one nearest to the time of '
        'reception.', minimum=0, maximum=_LAST_YEAR)
    utc_offset: float = parameter(
        0.0, "Hours that the publisher's clock is ahead of UTC.", minimum=-14.0, maximum=14.0)
    parameter_names: tuple[str, ...] = parameter(
        (), 'Names of the parameters in order, for packets without names.')
    sample_rates: tuple[str, ...] = parameter(
        (), 'Rates of parameters without time tags, as "name=samples a second"; the name may be '
        'a pattern with * and ?; the first that fits counts.')
    sample_topics: tuple[str, ...] = parameter(
        (), 'Names, or patterns with * and ?, of parameters to publish on samples/<name> too.')
    max_sample_topics: int = parameter(
        200, 'Parameters that get a topic of their own at most; the publisher may name any number '
        'of them.', minimum=1, maximum=10_000)
    decimation: int = parameter(
        1, 'Publish each n-th sample only on samples/<name>.', minimum=1, maximum=1_000_000,
        live=True)

    def __post_init__(self) -> None:
        """Check what single values cannot say."""
        if self.group:
            try:
                good = ipaddress.IPv4Address(self.group).is_multicast
            except ValueError:
                good = False
            if not good:
                raise ValueError(
                    f"parameter group: '{self.group}' is not a multicast address, "
                    '224.0.0.0 to 239.255.255.255')
        if 0 < self.year < _FIRST_YEAR:
            raise ValueError(
                f'parameter year: {self.year} is not 0, or {_FIRST_YEAR} to {_LAST_YEAR}')
        for name in ('parameter_names', 'sample_rates', 'sample_topics'):
            for text in getattr(self, name):
                if not isinstance(text, str):
                    raise ValueError(f'parameter {name}: expected texts, got {text!r}')
        for text in self.sample_rates:
            _parse_rate(text)


def _parse_rate(text: str) -> tuple[str, float]:
    """Return the pattern and the rate in "name=rate". Raises ValueError with a sentence."""
    pattern, _, number = text.rpartition('=')
    try:
        rate = float(number)
    except ValueError:
        rate = 0.0
    if not pattern or not 0.0 < rate < 1e9:
        raise ValueError(
            f"parameter sample_rates: '{text}' is not like 'name=100', samples a second")
    return pattern, rate


class _Counts(NamedTuple):
    """The time, and what diagnostics compare from one second to the next."""

    time: float
    packets: int
    samples: int
    lost: int
    malformed: int
    skipped: int
    renamed: int


class UlyssixNode(BridgeNode[UlyssixNodeParameters]):
    """Publish what a Ulyssix publisher sends."""

    def __init__(self, **options: Any) -> None:
        super().__init__('ulyssix_node', UlyssixNodeParameters, **options)

    def check(self, given: UlyssixNodeParameters) -> None:
        """Ask for the port."""
        if not given.port and not given.capture_file:
            raise ValueError(
                'parameter port: it is required; use the port that the publisher sends to')

    # Lifecycle.

    def open(self) -> None:
        """Make the session, the socket, and everything that ROS sees."""
        given = self.parameters
        self.session = UlyssixSession(
            Timeline(
                word_order=None if given.word_order == 'auto' else WordOrder(given.word_order),
                day_base=None if given.day_base == 'auto' else int(given.day_base),
                year=given.year or None,
                utc_offset_hours=given.utc_offset,
            ),
            integer_width=None if given.integer_width == 'auto' else int(given.integer_width),
            names=tuple(name for name in given.parameter_names if name),
            rates=tuple(map(_parse_rate, given.sample_rates)),
        )
        self._granted: int | None = None
        self._hint = '' if given.capture_file else _HINT
        self.link = self._open_link(given)
        self._packet = UlyssixPacket()
        self._packets_publisher = self.make_publisher(UlyssixPacket, 'packets', DEPTH)
        self._parameters_publisher = self.make_publisher(
            UlyssixParameters, 'parameters', _LATCHED)
        self._unannounced: tuple[str, ...] = ()
        self._samples = SampleTopics(self, given.sample_topics, given.max_sample_topics)
        self._last_packet = 0.0
        self._seen = self._counts()
        self._link_before = Counters()
        self.link.start()

    def begin(self) -> None:
        """Start to listen."""
        self.link.call(self.session.start)

    def end(self) -> None:
        """Ignore what comes from now on."""
        self.link.call(self.session.stop)

    def close(self) -> None:
        """Close the socket and join the thread."""
        self._samples.close()
        self.link.close()

    def _open_link(self, given: UlyssixNodeParameters) -> UdpLoop | ReplayLoop:
        sender, sender_port = resolve_sender(given.sender) if given.sender else (None, ANY_PORT)
        if given.capture_file:
            return ReplayLoop(
                given.capture_file, self.session, self._on_event, self._on_failure,
                speed=given.capture_speed, channels={given.port: CHANNEL}, sender=sender,
                sender_port=sender_port, on_end=self.capture_ended, holds=self.audience.holds,
                name='ulyssix replay')
        # Bound to the group, the socket hears nothing else.
        link = UdpSocket(
            (given.group or given.bind_address, given.port), sender=sender,
            sender_port=sender_port, group=given.group or None, interface=given.bind_address,
            receive_buffer=given.receive_buffer)
        # Linux doubles what it is asked for, and says what it has.
        self._granted = link.receive_buffer // 2
        if self._granted < given.receive_buffer:
            self.get_logger().warning(
                f'the kernel grants a receive buffer of {self._granted} of '
                f'{given.receive_buffer} bytes, and packets may be lost in busy moments; '
                f'allow more: sysctl -w net.core.rmem_max={given.receive_buffer}')

        def open_channel(channel: str) -> UdpSocket:
            raise ValueError(f'nothing is sent, so there is no channel {channel}')

        return UdpLoop(
            self.session, open_channel, self._on_event, self._on_failure,
            channels={CHANNEL: link}, name='ulyssix link')

    # From the publisher: these run in the link's thread.

    def _on_event(self, event: Event, stamp_ns: int) -> None:
        if isinstance(event, PacketReceived):
            self._samples.follow(event.names)
            # The publisher's clock is compared with the kernel's, whatever ROS time is.
            placed = self.session.timeline.place(event.packet, stamp_ns)
            stamp = self.stamps.received(placed.first_ns)
            if stamp is not None:
                self._publish(event, placed, stamp - placed.first_ns)
            self._last_packet = time.monotonic()
        elif isinstance(event, NamesChanged):
            self._unannounced = event.names
            # A replay waits for the topics before it goes on to the packet.
            self._samples.follow(event.names)
        elif isinstance(event, PublisherRestarted):
            self.warn('restart', 'packets are counted anew: the publisher was restarted, or two '
                      'of them send to this port (then set the parameter sender)')
        elif isinstance(event, PublisherChanged):
            if event.state is PublisherState.SENDING:
                self.inform('sending', 'packets arrive')
            elif not (isinstance(self.link, ReplayLoop) and self.link.finished):
                self.warn(event.state.name, f'{event.state.value}{self._hint}')

    def _on_failure(self, error: Exception) -> None:
        self.warn('failure', f'{type(error).__name__} while handling a packet: {error}')

    def _publish(self, event: PacketReceived, placed: Placed, shift_ns: int) -> None:
        """Publish a packet; stamps are ``shift_ns``, which use_sim_time makes, from its times."""
        packet, message = event.packet, self._packet
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(placed.first_ns + shift_ns, 1_000_000_000)
        if self._unannounced:
            announcement = UlyssixParameters(names=list(self._unannounced))
            announcement.header.stamp = stamp
            self._parameters_publisher.publish(announcement)
            self._unannounced = ()
        message.counter = packet.counter
        message.total_samples = packet.total_samples
        message.counts = to_array('I', packet.counts.astype(np.uint32))
        fill_values(message, packet, packet.values)
        message.times = NO_INTEGERS if placed.times is None else to_array('q', placed.times)
        self._packets_publisher.publish(message)
        self._samples.publish(event, placed, shift_ns, self.parameters.decimation)

    # Diagnostics.

    def _counts(self) -> _Counts:
        statistics = self.session.statistics
        return _Counts(
            time.monotonic(), statistics.packets, statistics.samples, statistics.lost,
            statistics.malformed.total, statistics.skipped.total, statistics.renamed)

    def diagnose(self) -> Sequence[Status]:
        """Return the state of link, publisher and times."""
        with self.link.lock:
            before, self._seen = self._seen, self._counts()
        after = self._seen
        new = _Counts(*(now - then for now, then in zip(after, before, strict=True)))
        return (
            self._diagnose_link(new),
            self._diagnose_publisher(new),
            self._diagnose_time(),
            *self._samples.diagnose(),
        )

    def _diagnose_link(self, new: _Counts) -> Status:
        given, statistics = self.parameters, self.session.statistics
        before, self._link_before = self._link_before, self.link.counters()
        counters = self._link_before
        level, text = OK, 'open'
        if isinstance(self.link, ReplayLoop):
            source = given.capture_file
            text = 'the capture is at its end' if self.link.finished else 'playing a capture'
        else:
            source = f'UDP {given.group or given.bind_address or "any address"}:{given.port}'
        useless = new.malformed + new.skipped
        share = 100 * useless / max(useless + new.packets, 1)
        if new.malformed:
            level = WARN
            text = (f'{new.malformed} malformed datagrams in the last second, {share:.0f} % of '
                    f'what comes is useless: {statistics.last_error}')
        elif counters.dropped and not counters.received:
            level = WARN
            text = f'datagrams come, but none from the sender {given.sender}'
        elif statistics.malformed and not statistics.packets:
            level = WARN
            text = f'nothing that comes is a Ulyssix packet: {statistics.last_error}'
        elif new.skipped > new.packets:
            level = WARN
            text = f'{share:.0f} % of what comes are packets of unknown types'
        if too_much := overload(counters, before):
            text = f'{too_much}; {text}' if level == WARN else too_much
            level = WARN
        if level == WARN and useless and not given.sender and not given.capture_file:
            text += ('; if others send to this port, set the parameter sender to the address of '
                     'the publisher')
        return Status('link', level, text, (
            ('source', source),
            ('receive buffer, bytes', 'none' if self._granted is None else str(self._granted)),
            ('datagrams received', str(counters.received)),
            ('from other addresses, dropped', str(counters.strangers)),
            ('from other ports of that address, dropped', str(counters.other_ports)),
            ('dropped by the kernel', str(counters.kernel_drops)),
            ('useless in the last second, %', f'{share:.0f}'),
            *((f'malformed: {kind}', str(count)) for kind, count in statistics.malformed.items()),
            *((f'packets of type {kind}, skipped', str(count))
              for kind, count in statistics.skipped.items()),
            *((f'packets where {flag.value}', str(count))
              for flag, count in statistics.flags.items()),
        ))

    def _diagnose_publisher(self, new: _Counts) -> Status:
        session, statistics = self.session, self.session.statistics
        seconds = max(new.time, 1e-6)
        age = time.monotonic() - self._last_packet if self._last_packet else None
        if not self.active:
            level, text = STALE, 'not active'
        elif age is None and session.publisher_state is PublisherState.SENDING:
            level = WARN
            text = 'no data packet yet: only packets without samples, or of other types'
        elif age is None:
            level, text = WARN, f'{session.publisher_state.value}{self._hint}'
        elif age > _FRESH:
            level, text = STALE, f'no packet for {age:.0f} s{self._hint}'
        elif new.lost > 0:
            level, text = WARN, f'{new.lost} packets lost in the last second'
        elif new.renamed > _RENAMED:
            level = WARN
            text = (f'the names of the parameters changed {new.renamed} times in the last second: '
                    'do two publishers send to this port? Then set the parameter sender')
        elif not session.names:
            level = OK
            text = ('sending, without names: switch them on in the publisher, or set the '
                    'parameter parameter_names')
        else:
            level, text = OK, session.publisher_state.value
        return Status('publisher', level, text, (
            ('packets/s', f'{new.packets / seconds:.1f}'),
            ('samples/s', f'{new.samples / seconds:.0f}'),
            ('packets', str(statistics.packets)),
            ('lost', str(statistics.lost)),
            ('not come yet', str(self.session.awaited)),
            ('lost samples, by the total', str(statistics.missing_samples)),
            ('late', str(statistics.late)),
            ('too late, dropped', str(statistics.too_late)),
            ('duplicates, dropped', str(statistics.duplicates)),
            ('restarts', str(statistics.restarts)),
            ('totals that do not fit', str(statistics.total_mismatches)),
            ('parameters', str(session.parameter_count or 'none yet')),
            ('names', str(len(session.names)) if session.names else 'not known'),
            ('packets without names', str(statistics.unnamed)),
            ('changes of names', str(statistics.renamed)),
            ('integer width, bytes', str(session.integer_width or 'no integers yet')),
            ('age of the last, s', 'none yet' if age is None else f'{age:.3f}'),
        ))

    def _diagnose_time(self) -> Status:
        timeline, statistics = self.session.timeline, self.session.statistics
        latency = None if timeline.latency_ns is None else timeline.latency_ns / 1e9
        level, text = OK, 'settled' if timeline.word_order else 'the word order is not settled'
        if latency is None:
            text = 'no packet yet'
        elif not timeline.readable:
            level, text = ERROR, 'the last packet has no time that can be read'
        elif latency is not None and abs(latency) > _LATE:
            level = WARN
            side = 'behind' if latency > 0 else 'ahead of'
            text = (f'packet times are {abs(latency):.0f} s {side} the time of reception; check '
                    "the publisher's clock, and the parameters utc_offset, day_base and year")
        elif timeline.sample_days:
            level = WARN
            text = f'sample times are {timeline.sample_days} day ahead, and corrected'
        return Status('time', level, text, (
            ('word order', timeline.word_order.value if timeline.word_order else 'not settled'),
            ('day base', 'taken as 1' if timeline.day_base is None else str(timeline.day_base)),
            ('sample times ahead, days', str(timeline.sample_days or 0)),
            ('year', str(timeline.year or 'none yet')),
            ('latency, s', 'none yet' if latency is None else f'{latency:.3f}'),
            ('unreadable', str(statistics.times_unreadable)),
            ('word order guessed', str(statistics.times_guessed)),
            ('samples disagreeing with packet', str(statistics.times_disagreeing)),
            ('sample times out of range', str(statistics.times_out_of_range)),
        ))


def main(args: Sequence[str] | None = None) -> int:
    """Run ulyssix_node; return the process's exit code."""
    return run(UlyssixNode, UlyssixNodeParameters, args)
