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

"""ulyssix_node: parameters from Altair or DEWESoft in Ulyssix's UDP packets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import sub
import time
from typing import Any, NamedTuple

from xplane_bridge.bridges.links.captures.replay import ReplayLoop
from xplane_bridge.bridges.links.causes import overload
from xplane_bridge.bridges.links.loop import SessionLoop, UdpLoop
from xplane_bridge.bridges.links.peer import ANY_PORT
from xplane_bridge.bridges.links.udp import resolve_sender, SocketCounters, UdpSocket
from xplane_bridge.bridges.nodes.common.diagnostics import ERROR, OK, STALE, Status, WARN
from xplane_bridge.bridges.nodes.common.running import run
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge, FRESH, Handler
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.ulyssix.node.mapped import MappedTopics
from xplane_bridge.bridges.ulyssix.node.messages import Publisher
from xplane_bridge.bridges.ulyssix.node.parameters import UlyssixParameters
from xplane_bridge.bridges.ulyssix.node.quality import QualityTopic
from xplane_bridge.bridges.ulyssix.protocol import WordOrder
from xplane_bridge.bridges.ulyssix.session import (
    CHANNEL,
    LONGEST_KEPT,
    mixed,
    named_rate,
    NamesChanged,
    PacketReceived,
    PublisherRestarted,
    Reminder,
    Timeline,
    UlyssixSession,
)
from xplane_bridge.common.text import counted

# Names change when somebody selects other parameters, not several times per second.
_RENAMED = 3
# More than the time zones of a country differ: the clock or its interpretation is wrong.
_LATE = 60.0


class _Counts(NamedTuple):
    """Counters that diagnostics compare from one second to the next."""

    packets: int = 0
    samples: int = 0
    lost: int = 0
    renamed: int = 0
    malformed: int = 0
    skipped: int = 0
    astray: int = 0
    alternations: int = 0


class UlyssixNode(Bridge[UlyssixParameters, UlyssixSession]):
    """Publish what a Ulyssix publisher sends; nothing is sent to it."""

    peer = 'the publisher'
    good = PeerState.STREAMING

    def __init__(self, **options: Any) -> None:
        super().__init__('ulyssix_node', UlyssixParameters, **options)

    def check(self, given: UlyssixParameters) -> None:
        """Require the port."""
        if not given.port and not given.capture_file:
            raise ValueError(
                'parameter port: it is required; use the port that the publisher sends to')

    # Lifecycle.

    def made_later(self) -> Sequence[str]:
        """Return the topics of single parameters, whose names arrive."""
        return ('samples',)

    def make_session(self) -> UlyssixSession:
        """Return the session, by the parameters."""
        given = self.parameters
        return UlyssixSession(
            Timeline(
                word_order=None if given.word_order == 'auto' else WordOrder(given.word_order),
                day_base=None if given.day_base == 'auto' else int(given.day_base),
                year=given.year or None,
                utc_offset_hours=given.utc_offset,
            ),
            integer_width=None if given.integer_width == 'auto' else int(given.integer_width),
            names=tuple(name for name in given.parameter_names if name),
            rates=tuple(map(named_rate, given.sample_rates)),
        )

    def make_replay(self) -> ReplayLoop:
        """Accept what was sent to the port."""
        given = self.parameters
        self._granted: int | None = None
        sender, sender_port = self._sender()
        return self.replay(
            channels={given.port: CHANNEL}, sender=sender, sender_port=sender_port)

    def make_link(self) -> SessionLoop:
        """Open the port that the publisher sends to."""
        given = self.parameters
        sender, sender_port = self._sender()
        # Bound to the group, the socket receives nothing else.
        link = UdpSocket(
            (given.group or given.bind_address, given.port), sender=sender,
            sender_port=sender_port, group=given.group or None, interface=given.bind_address,
            receive_buffer=given.receive_buffer)
        # Linux doubles the requested size, and reports the actual one.
        self._granted = link.receive_buffer // 2
        if self._granted < given.receive_buffer:
            self.get_logger().warning(
                f'the kernel grants a receive buffer of {self._granted} of '
                f'{given.receive_buffer} bytes, so packets may be lost in busy moments; '
                f'allow more: sysctl -w net.core.rmem_max={given.receive_buffer}')

        def open_channel(channel: str) -> UdpSocket:
            raise ValueError(f'nothing is sent, so there is no channel {channel}')

        return UdpLoop(
            self.session, open_channel, self.on_event, self.on_failure,
            channels={CHANNEL: link}, name='ulyssix link')

    def _sender(self) -> tuple[str | None, int]:
        """Return the only accepted address, and its only accepted port."""
        given = self.parameters
        return resolve_sender(given.sender) if given.sender else (None, ANY_PORT)

    def make_topics(self) -> None:
        """Create publishers."""
        given = self.parameters
        self._mapped = MappedTopics(self, given) if given.map else None
        if self._mapped is not None and self._mapped.plausibility is not None:
            self.plausibilities[''] = self._mapped.plausibility
        self._publisher = Publisher(self, given, self._mapped)
        self._quality = QualityTopic(
            self, given.constant_after, self._mapped.map.good if self._mapped else None,
        ) if given.quality else None
        self._seen, self._seen_at = _Counts(), time.monotonic()
        self._link_before = SocketCounters()

    def close(self) -> None:
        """Close the socket and join the thread."""
        self._publisher.samples.close()
        super().close()

    def peer_address(self) -> str:
        """Return where packets come from."""
        given = self.parameters
        return given.capture_file or (
            f'UDP {given.group or given.bind_address or "any address"}:{given.port}')

    def hint(self, state: PeerState) -> str:
        """Return what the user can do about a silent publisher."""
        return '' if self.plays_capture else super().hint(state)

    # From the publisher: in the link's thread.

    def handlers(self) -> dict[type, Handler]:
        """Return the handlers of the session's own events."""
        return {
            PacketReceived: self._publish,
            NamesChanged: lambda event, _: self._publisher.announce(event.names),
            PublisherRestarted: self._on_restarted,
            Reminder: self._on_reminder,
        }

    def tell(self, state: PeerState) -> None:
        """Log a new state of the publisher, or that it has been silent for a while."""
        if state is self.good:
            self.inform('sending', 'packets arrive')
        elif not (isinstance(self.link, ReplayLoop) and self.link.finished):
            self.warn(state.name, self.sentence(state))

    def _publish(self, event: PacketReceived, stamp_ns: int) -> None:
        self._publisher.samples.follow(event.names)
        # The publisher's clock is compared with the kernel's, regardless of ROS time.
        placed = self.session.timeline.place(event.packet, stamp_ns)
        stamp = self.stamps.received(placed.first_ns)
        if self._mapped is not None:
            self._mapped.follow(event.names)
        if stamp is not None:
            shift, decimation = stamp - placed.first_ns, self.parameters.decimation
            self._publisher.publish(event, placed, shift, decimation)
            derived = () if self._mapped is None else self._mapped.take(
                event, placed, shift, decimation)
            if self._quality is not None:
                self._quality.take(event, placed, stamp_ns, shift, derived)
            if self._quality is not None or self._mapped is not None:
                self.session.remind(LONGEST_KEPT)
        self.last_update = time.monotonic()

    def _on_reminder(self, event: Reminder, _: int) -> None:
        if self._quality is not None:
            self._quality.follow()
        if self._mapped is not None:
            self._mapped.settle()

    def _on_restarted(self, event: PublisherRestarted, _: int) -> None:
        if self._quality is not None:
            self._quality.restart()
        if self._mapped is not None:
            self._mapped.restart()
        self.warn('restart', 'the packet counter restarted: the publisher was restarted, or '
                  'another one sends to this port too (diagnostics then name both)')

    # Diagnostics.

    def diagnose(self) -> Sequence[Status]:
        """Return the state of link, publisher, times and topics, from changes since the last."""
        with self.link.lock:
            statistics = self.session.statistics
            seen = _Counts(
                statistics.packets, statistics.samples, statistics.lost, statistics.renamed,
                statistics.malformed.total, statistics.skipped.total,
                statistics.restarts + statistics.too_late, statistics.alternations)
            self._senders = self.session.senders
        now = time.monotonic()
        self._new = _Counts(*map(sub, seen, self._seen))
        self._seconds = max(now - self._seen_at, 1e-6)
        self._seen, self._seen_at = seen, now
        return super().diagnose()

    def diagnose_link(self, counters: SocketCounters) -> Status:
        """Return the status of the link."""
        given, statistics, new = self.parameters, self.session.statistics, self._new
        before, self._link_before = self._link_before, counters
        level, text = OK, 'open'
        if isinstance(self.link, ReplayLoop):
            text = 'the capture has ended' if self.link.finished else 'playing a capture'
        useless = new.malformed + new.skipped
        share = 100 * useless / max(useless + new.packets, 1)
        if new.malformed:
            level = WARN
            text = (f'{counted(new.malformed, "malformed datagram")} in the last second, '
                    f'{share:.0f} % of the traffic is useless: {statistics.last_error}')
        elif counters.dropped and not counters.received:
            level = WARN
            text = f'datagrams arrive, but none from the sender {given.sender}'
        elif statistics.malformed and not statistics.packets:
            level = WARN
            text = f'no datagram received is a Ulyssix packet: {statistics.last_error}'
        elif new.skipped > new.packets:
            level = WARN
            text = f'{share:.0f} % of the traffic is packets of unknown types'
        if too_much := overload(counters, before):
            text = f'{too_much}; {text}' if level == WARN else too_much
            level = WARN
        if level == WARN and useless and not given.sender and not given.capture_file:
            text += ('; if others send to this port, set the parameter sender to the address of '
                     'the publisher')
        return Status('link', level, text, (
            ('source', self.peer_address()),
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

    def diagnose_peer(self) -> Status:
        """Return the status of the publisher."""
        session, statistics, new = self.session, self.session.statistics, self._new
        state = session.peer_state
        age = self._age
        if not self.active:
            level, text = STALE, 'not active'
        elif age is None and state is self.good:
            level = WARN
            text = 'no data packet yet: only packets without samples, or of other types'
        elif age is None:
            level, text = WARN, self.sentence(state)
        elif age > FRESH:
            hint = self.hint(PeerState.SILENT)
            level, text = STALE, f'no packet for {age:.0f} s' + (f'; {hint}' if hint else '')
        elif self._mixed:
            level, text = WARN, mixed(
                self._senders, 'set the parameter sender to the right one, such as')
        elif new.renamed > _RENAMED:
            level = WARN
            text = (f'the names of the parameters changed {new.renamed} times in the last second: '
                    'two publishers send through the same address; have one send to another port')
        elif new.astray > _RENAMED:
            level = WARN
            text = (f'{new.astray} packets in the last second do not continue the numbers of the '
                    'others: two publishers send through the same address, or the network holds '
                    'packets back')
        elif new.lost > 0:
            level, text = WARN, f'{counted(new.lost, "packet")} lost in the last second'
        elif not session.names:
            level = OK
            text = ('sending, without names: switch them on in the publisher, or set the '
                    'parameter parameter_names')
        else:
            level, text = OK, session.sentences[state]
        return Status('publisher', level, text, (
            ('packets/s', f'{new.packets / self._seconds:.1f}'),
            ('samples/s', f'{new.samples / self._seconds:.0f}'),
            ('packets', str(statistics.packets)),
            ('lost', str(statistics.lost)),
            ('outstanding', str(session.awaited)),
            ('lost samples, by the total', str(statistics.missing_samples)),
            ('late', str(statistics.late)),
            ('too late, dropped', str(statistics.too_late)),
            ('duplicates, dropped', str(statistics.duplicates)),
            ('restarts', str(statistics.restarts)),
            ('totals that do not match', str(statistics.total_mismatches)),
            ('parameters', str(session.parameter_count or 'none yet')),
            ('names', str(len(session.names)) if session.names else 'not known'),
            ('packets without names', str(statistics.unnamed)),
            ('changes of names', str(statistics.renamed)),
            ('integer width, bytes', str(session.integer_width or 'no integers yet')),
            ('age of the last, s', 'none yet' if age is None else f'{age:.3f}'),
            *((f'packets, lost from {one.address}', f'{one.packets}, {one.lost}')
              for one in self._senders),
        ))

    @property
    def _age(self) -> float | None:
        """Return the age of the last packet in s, None before the first."""
        return time.monotonic() - self.last_update if self.last_update else None

    @property
    def _mixed(self) -> bool:
        """Return whether several publishers sent in the last second."""
        return self._new.alternations > 0 and len(self._senders) > 1

    def diagnose_values(self, now: float) -> Sequence[Status]:
        """Return nothing: no values are requested."""
        return ()

    def diagnose_telemetry(self, now: float) -> Status:
        """Return the status of packet and sample times."""
        timeline, statistics = self.session.timeline, self.session.statistics
        latency = None if timeline.latency_ns is None else timeline.latency_ns / 1e9
        level, text = OK, 'settled' if timeline.word_order else 'the word order is not settled'
        if latency is None:
            text = 'no packet yet'
        elif not timeline.readable:
            level, text = ERROR, 'the last packet has no valid time'
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
            ('day base', 'assumed 1' if timeline.day_base is None else str(timeline.day_base)),
            ('sample times ahead, days', str(timeline.sample_days or 0)),
            ('year', str(timeline.year or 'none yet')),
            ('latency, s', 'none yet' if latency is None else f'{latency:.3f}'),
            ('unreadable', str(statistics.times_unreadable)),
            ('word order guessed', str(statistics.times_guessed)),
            ('samples disagreeing with packet', str(statistics.times_disagreeing)),
            ('sample times out of range', str(statistics.times_out_of_range)),
        ))

    def diagnose_commands(self, now: float) -> Sequence[Status]:
        """Return nothing: a publisher accepts no commands."""
        return ()

    def diagnose_more(self, now: float) -> Iterable[Status]:
        """Return the status of topics of single parameters."""
        yield from self._publisher.samples.diagnose()
        age = self._age
        if self._mapped is not None:
            yield from self._mapped.diagnose(age is None or age > FRESH)
        if self._quality is not None:
            self._quality.publish(self.session.statistics)
            yield self._quality.diagnose(self._mixed, age)
        yield from super().diagnose_more(now)


def main(args: Sequence[str] | None = None) -> int:
    """Run ulyssix_node; return the process's exit code."""
    return run(UlyssixNode, UlyssixParameters, args)
