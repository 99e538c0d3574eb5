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

"""A publisher of Ulyssix packets, which is only listened to: senders, words, clocks, gaps, map."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import time

from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.ulyssix.conversion.first_map import first_map, summary
from xplane_bridge.bridges.ulyssix.protocol import PacketFlag
from xplane_bridge.bridges.ulyssix.session import (
    CHANNEL,
    mixed,
    PacketReceived,
    Timeline,
    UlyssixSession,
)
from xplane_bridge.common.text import counted, printable
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.export.ulyssix.map import Survey
from xplane_bridge.laboratory.export.ulyssix.sources import Arrival
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord
from xplane_bridge.laboratory.verification.evidence.line import Answer, PeerNetwork
from xplane_bridge.laboratory.verification.reach import UnreachableError

# Seconds: of a clock that is right, of a pause in a stream, and of a time zone.
_CLOCK, _PAUSE, _HOUR = 2.0, 1.0, 3600.0


class PublisherVerification:
    """
    Verifies who sends to a port here; nothing is ever sent, so nothing is taken.

    ``tell`` takes lines for people; ``clock`` is that of this computer, ns since 1970. ``map`` has
    the text of a first map once parameters with names have come.
    """

    left: tuple[str, ...] = ()
    gave_back: tuple[str, ...] = ()

    def __init__(
        self, network: PeerNetwork, port: int, seconds: float, tell: Callable[[str], None],
        group: str = '', clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.findings: list[CheckResult] = []
        self.program = 'Ulyssix publisher'
        self.record = FlightRecord([])
        self.map = ''
        self._network = network
        self._port = port
        self._seconds = seconds
        self._tell = tell
        self._group = group
        self._clock = clock

    def run(self) -> None:
        """Listen, and look at what came. Raises UnreachableError if nothing did."""
        where = f'UDP port {self._port}' + (f' of {self._group}' if self._group else '')
        self._tell(f'\nReach: listens at {where} for {self._seconds:g} s.')
        begun = self._clock()
        heard = self._network.overhear(self._port, self._seconds, self._group)
        if not heard:
            raise UnreachableError(
                f'no datagram at {where} within {self._seconds:g} s: '
                f'{UlyssixSession.advice[PeerState.UNKNOWN]}')
        for finding in self._look(heard, begun):
            self.findings.append(finding)
            self._tell(f'  {finding}')

    def close(self) -> None:
        """Do nothing: nothing was taken."""

    def _look(self, heard: Sequence[Answer], begun: int) -> Iterator[CheckResult]:
        timeline = Timeline()
        session = UlyssixSession(timeline)
        session.start(0.0)
        latencies: list[float] = []
        for answer in heard:
            for event in session.receive(CHANNEL, answer.data, answer.sender, answer.after):
                if isinstance(event, PacketReceived):
                    timeline.place(event.packet, begun + round(answer.after * SECOND_NS))
                    if timeline.readable and timeline.latency_ns is not None:
                        latencies.append(timeline.latency_ns / SECOND_NS)
        yield from _reach(session, heard)
        if not session.statistics.packets:
            return
        yield from _numbers(session, heard)
        yield from _clocks(timeline, latencies)
        yield from self._parameters(session, heard, begun)

    def _parameters(
        self, session: UlyssixSession, heard: Sequence[Answer], begun: int
    ) -> Iterator[CheckResult]:
        if not session.names:
            yield CheckResult(
                'Telemetry', 'names', Outcome.NOT_SEEN,
                f'{counted(session.parameter_count or 0, "parameter")} without names: switch them '
                'on in the publisher', 'ULX-08')
            return
        yield CheckResult('Telemetry', 'names', Outcome.SEEN,
                          f'{counted(len(session.names), "parameter")} with names', 'ULX-08')
        survey = Survey()
        survey.read(_Overheard(heard, begun))
        self.map = first_map(survey.seen(), 'verify')
        yield CheckResult('Telemetry', 'map', Outcome.SEEN, f'a first map: '
                          f'{summary(survey.seen())}', 'ULX-25')


class _Overheard:
    """What was overheard, as a source of datagrams; ``begun`` is when, ns since 1970."""

    where = 'the network'

    def __init__(self, heard: Sequence[Answer], begun: int) -> None:
        self._heard = heard
        self._begun = begun

    def arrivals(self) -> Iterator[Arrival | None]:
        """Yield the datagrams."""
        for one in self._heard:
            yield Arrival(one.data, self._begun + round(one.after * SECOND_NS), one.after,
                          one.sender)

    def problems(self) -> list[str]:
        """Return none: what is wrong was said."""
        return []

    def close(self) -> None:
        """Do nothing."""


def _reach(session: UlyssixSession, heard: Sequence[Answer]) -> Iterator[CheckResult]:
    statistics = session.statistics
    senders = list(dict.fromkeys(one.sender for one in heard))
    shown = ', '.join(f'{address}:{port}' for address, port in senders[:4])
    if statistics.packets:
        yield CheckResult('Reach', 'packets', Outcome.SEEN,
                          f'{counted(statistics.packets, "packet")} from {shown}', 'ULX-01')
    if statistics.malformed.total:
        yield CheckResult(
            'Reach', 'datagrams', Outcome.DIFFERS,
            f'{counted(statistics.malformed.total, "datagram")} from {shown} are no Ulyssix '
            f'packets: {printable(statistics.last_error)}', 'ULX-15', 'packets',
            str(statistics.malformed.total))
    if session.mixed:
        yield CheckResult(
            'Reach', 'senders', Outcome.DIFFERS, mixed(session.mixed, 'of one, set sender to'),
            '', 'one sender', str(len(session.mixed)))


def _numbers(session: UlyssixSession, heard: Sequence[Answer]) -> Iterator[CheckResult]:
    """Return findings of packet numbers, totals and counts of samples, and of pauses."""
    statistics = session.statistics
    astray = statistics.lost + statistics.too_late + statistics.restarts + session.awaited
    if not session.mixed and (astray or statistics.duplicates):
        yield CheckResult(
            'Telemetry', 'numbers', Outcome.DIFFERS, 'packet numbers do not follow one another: '
            f'{counted(statistics.lost + session.awaited, "packet")} lost, '
            f'{statistics.duplicates} doubled, {counted(statistics.restarts, "restart")}',
            'ULX-05', 'one more with each packet', f'{astray + statistics.duplicates} others')
    elif not session.mixed:
        yield CheckResult(
            'Telemetry', 'numbers', Outcome.SEEN, 'packet numbers follow one another', 'ULX-05')
    if statistics.total_mismatches:
        yield CheckResult(
            'Telemetry', 'totals', Outcome.DIFFERS, 'totals do not match the samples', 'ULX-19',
            'the samples so far', f'{statistics.total_mismatches} others')
    wrong = statistics.flags[PacketFlag.SAMPLE_COUNT_MISMATCH]
    if wrong:
        yield CheckResult(
            'Telemetry', 'samples', Outcome.DIFFERS,
            'the number of samples is not that of the samples', 'ULX-18', 'their number',
            f'{counted(wrong, "packet")} with another one')
    longest = max((later.after - one.after
                   for one, later in zip(heard, heard[1:], strict=False)), default=0.0)
    if longest > _PAUSE:
        yield CheckResult(
            'Telemetry', 'gaps', Outcome.DIFFERS, f'nothing came for {longest:.1f} s', 'ULX-26',
            'packets every 10 to 50 ms', f'a pause of {longest:.1f} s')


def _clocks(timeline: Timeline, latencies: Sequence[float]) -> Iterator[CheckResult]:
    if not latencies:
        yield CheckResult(
            'Telemetry', 'clock', Outcome.DIFFERS, 'the time of the packets cannot be read',
            'ULX-20', 'a time in BCD', 'other digits')
        return
    order = timeline.word_order
    yield CheckResult(
        'Telemetry', 'word order', *(
            (Outcome.SEEN, f'the word order of times is {order.value}') if order is not None else
            (Outcome.NOT_SEEN, 'both word orders of times make sense')), 'ULX-22')
    latency = sorted(latencies)[len(latencies) // 2]
    hours = round(latency / _HOUR)
    if abs(latency) <= _CLOCK:
        yield CheckResult('Telemetry', 'clock', Outcome.SEEN,
                          f'its clock is that of this computer, within {_CLOCK:g} s', 'ULX-20')
    elif hours and abs(latency - hours * _HOUR) <= _CLOCK:
        yield CheckResult(
            'Telemetry', 'clock', Outcome.DIFFERS, f'its clock is {-hours:+d} h off: is that its '
            'time zone? Set utc_offset', 'ULX-20', 'UTC', f'{-hours:+d} h')
    else:
        yield CheckResult(
            'Telemetry', 'clock', Outcome.DIFFERS, 'its clock is not that of this computer',
            'ULX-20', f'within {_CLOCK:g} s', f'{-latency:+.1f} s')
