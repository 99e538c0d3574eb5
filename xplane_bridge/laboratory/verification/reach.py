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

"""The first step: whether the peer answers, from where, how fast, and whether it is it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import statistics

from xplane_bridge.bridges.links import causes
from xplane_bridge.bridges.links.udp import SocketCounters
from xplane_bridge.bridges.sessions.base import Address, PeerState, with_advice
from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.line import Answer, Exchange, Line, PeerNetwork
from xplane_bridge.laboratory.verification.peers.base import Probe, VerifiedPeer

STEP = 'Reach'

_QUESTIONS = 20
# How long answers are listened to that come again and again.
_STREAMS = 3.0
# Shares of lost datagrams, and seconds, that are told as a fault.
_LOST = 0.02
_JITTER = 0.05
_BEACON = 2.5
# Of the updates: how many of those asked for are enough, how many may be missing, and how far, in
# periods, they may be off on average.
_ENOUGH, _MISSED, _UNEVEN = 0.75, 0.04, 0.4
# How long a conversation takes to begin: rows are recognised within seconds.
_BEGINS = 12.0


class AstrayError(Exception):
    """What answers cannot be talked to, as a finding has said: nothing more can be looked at."""


class UnreachableError(Exception):
    """The peer could not be reached: its text says what was tried, and what was found."""


def reach(
    peer: VerifiedPeer, network: PeerNetwork, others: Mapping[str, Probe]
) -> Iterator[CheckResult]:
    """
    Ask the peer without a conversation; ``others`` are the questions of other programs.

    Raises UnreachableError if nothing answers, and AstrayError if it cannot be read.
    """
    yield from _networks(peer.to[0], network)
    question = peer.question
    if question is not None:
        yield from _asked(peer, question, network, others)
    if peer.beacon is not None:
        yield from _beacons(peer, network.overhear(
            peer.beacon[1], _BEACON, peer.beacon[0],
            '' if peer.to[0].startswith('127.') else peer.to[0]))


def _networks(host: str, network: PeerNetwork) -> Iterator[CheckResult]:
    """Say which networks this computer has, and which one leads to the peer."""
    addresses, own = network.networks(host)
    if not addresses or host.startswith('127.'):
        return
    shown = ', '.join(f'{name} {address}' for name, address in addresses.items())
    if own:
        yield CheckResult(STEP, 'networks', Outcome.SEEN,
                          f'this computer has {shown}; it sends to {host} from {own}')
    else:
        yield CheckResult(
            STEP, 'networks', Outcome.DIFFERS, f'no network of this computer leads to {host}: it '
            f'has {shown}', '', 'a route', 'none')


def elsewhere(counters: SocketCounters) -> Iterator[CheckResult]:
    """Return findings of datagrams that came from elsewhere, or were dropped."""
    for subject, cause, sender in (
            ('other port', causes.OTHER_PROGRAM, counters.dropped_from),
            ('other address', causes.OTHER_ADDRESS, counters.stranger)):
        if sender is not None:
            yield CheckResult(
                STEP, subject, Outcome.DIFFERS, cause.said(sender=f'{sender[0]}:{sender[1]}'), '',
                'datagrams of the peer', f'{counters.dropped} of others')
    if dropped := causes.overload(counters, SocketCounters()):
        yield CheckResult(STEP, 'buffer', Outcome.DIFFERS, dropped, '', 'none dropped',
                          str(counters.kernel_drops))


def _asked(
    peer: VerifiedPeer, question: Probe, network: PeerNetwork, others: Mapping[str, Probe]
) -> Iterator[CheckResult]:
    exchange = network.stream(
        question.data, peer.to, _STREAMS, question.closing) if question.rate else network.ask(
        question.data, peer.to, _QUESTIONS, question.closing)
    host, port = peer.to
    sent = (f'{counted(exchange.sent, "datagram")} of {counted(len(question.data), "byte")} sent '
            f'to {host}:{port} from {exchange.own[0] or "any address"}:{exchange.own[1]}')
    if not exchange.answers:
        found = ', '.join(
            f'{title} answers at {host}:{other.port}' for title, other in others.items()
            if network.ask(other.data, (host, other.port), 1, other.closing).answers)
        raise UnreachableError(
            f'{sent}, nothing came back: ' + (
                f'{peer.session.sentences[PeerState.AWAY]}. But {found}' if found else with_advice(
                    peer.session.sentences[PeerState.AWAY],
                    peer.session.advise(PeerState.AWAY))))
    senders = list(dict.fromkeys(answer.sender for answer in exchange.answers))
    yield CheckResult(
        STEP, 'answers', Outcome.SEEN,
        f'{sent}; {len(exchange.answers)} came back from '
        + ', '.join(f'{address}:{its}' for address, its in senders[:4]), question.requirement)
    if exchange.buffer:
        yield CheckResult(STEP, 'buffer', Outcome.SEEN,
                          f'{exchange.buffer} bytes can wait to be received')
    yield from _from_where(peer, senders)
    wrong = list(dict.fromkeys(filter(None, (
        peer.reads(answer.data) for answer in exchange.answers))))
    if wrong:
        yield CheckResult(STEP, 'answer', Outcome.DIFFERS, wrong[0], question.requirement,
                      f'an answer of {peer.title}', 'another one')
        raise AstrayError(wrong[0])
    if question.rate:
        yield from regularity([answer.after for answer in exchange.answers], question.rate)
    else:
        yield from _timing(exchange)


def _from_where(peer: VerifiedPeer, senders: Sequence[Address]) -> Iterator[CheckResult]:
    host, port = peer.to
    strange = [address for address, _ in senders if address != host]
    if strange and not host.startswith('127.'):
        yield CheckResult(
            STEP, 'address', Outcome.DIFFERS,
            f'answers come from another address of that computer: use --host {strange[0]}', '',
            host, strange[0])
    ports = sorted({its for address, its in senders if address == host and its != port})
    if ports and peer.answers_from_its_port:
        yield CheckResult(
            STEP, 'port', Outcome.DIFFERS, 'answers come from another port than was asked: is '
            'there a NAT router between?', '', str(port), ', '.join(map(str, ports)))


def _timing(exchange: Exchange) -> Iterator[CheckResult]:
    trips = exchange.round_trips
    middle = statistics.median(trips)
    yield CheckResult(
        STEP, 'round trip', Outcome.SEEN, f'round trip: {1e3 * middle:.0f} ms, at most '
        f'{1e3 * max(trips):.0f} ms')
    share = exchange.lost / exchange.sent
    yield CheckResult(
        STEP, 'loss', *(
            (Outcome.DIFFERS, f'{100.0 * share:.0f} % of the answers are lost: use a cable, '
             'wireless networks lose datagrams', '', 'none lost',
             f'{exchange.lost} of {exchange.sent}') if share > _LOST else
            (Outcome.SEEN, 'no answer is lost')))
    spread = statistics.quantiles(trips, n=10)[-1] - middle if len(trips) > 2 else 0.0
    if spread > _JITTER:
        yield CheckResult(
            STEP, 'jitter', Outcome.DIFFERS,
            'answers come unevenly: does a wireless network save power?', '',
            f'within {1e3 * _JITTER:.0f} ms', f'{1e3 * spread:.0f} ms later than usual')


def _beacons(peer: VerifiedPeer, heard: Sequence[Answer]) -> Iterator[CheckResult]:
    host, port = peer.to
    local = host.startswith('127.')
    said = {answer.sender[0]: found for answer in heard
            if (found := peer.beacon_port(answer.data)) is not None}
    own = {address: its for address, its in said.items() if local or address == host}
    assert peer.beacon is not None
    where = f'{peer.beacon[0]}:{peer.beacon[1]}'
    if not own:
        others = f'; others come from {", ".join(said)}' if said else ''
        yield CheckResult(
            STEP, 'beacon', Outcome.NOT_SEEN,
            f'no beacon from it at {where} within {_BEACON:g} s: multicast does not get through'
            f'{others}')
    elif port in own.values():
        yield CheckResult(STEP, 'beacon', Outcome.SEEN, f'its beacon at {where} names port {port}')
    else:
        its = next(iter(own.values()))
        yield CheckResult(
            STEP, 'beacon', Outcome.DIFFERS, 'its beacon names another port', '', str(port),
            str(its))


def begin(peer: VerifiedPeer, line: Line) -> Iterator[CheckResult]:
    """Begin the conversation. Raises UnreachableError if it does not come about."""
    session = peer.session
    line.call(session.start)
    if not line.wait_for(peer.is_there, _BEGINS):
        raise UnreachableError(
            f'{peer.to[0]}:{peer.to[1]}: no conversation within {_BEGINS:g} s: '
            f'{session.explained()}')
    line.listen(1.0)
    yield CheckResult(STEP, 'program', Outcome.SEEN, f'it is {peer.who()}')
    if unlike := peer.unlike():
        yield CheckResult(STEP, 'version', Outcome.DIFFERS, unlike, '', 'the one that is named',
                      'another one')


def regularity(times: Sequence[float], asked: float) -> Iterator[CheckResult]:
    """
    Return findings of the times, in seconds, at which values came that were asked for.

    A rate that is halved is even; lost ones leave gaps of whole periods.
    """
    steps = [later - earlier for earlier, later in zip(times, times[1:], strict=False)]
    if len(steps) < 4:
        yield _of_rate(Outcome.DIFFERS, 'rate', 'hardly any value comes', f'{asked:g} per second',
                       f'{len(times)} in all')
        return
    span = max(times[-1] - times[0], 1e-9)
    rate, middle = len(steps) / span, statistics.median(steps)
    # What is on time shows the rate, whatever is lost between.
    is_slow = middle * asked > 1.0 / _ENOUGH
    period = middle if is_slow else 1.0 / asked
    share = max(0.0, 1.0 - rate * period)
    uneven = statistics.pstdev(steps)
    if is_slow:
        yield _of_rate(
            Outcome.DIFFERS, 'rate', 'values come less often than asked: are there fewer frames '
            'per second?', f'{asked:g} per second', f'{rate:.1f}')
    else:
        yield _of_rate(Outcome.SEEN, 'rate', f'{rate:.1f} values per second')
    if share > _MISSED:
        yield _of_rate(
            Outcome.DIFFERS, 'gaps', f'{100.0 * share:.0f} % of the values are missing: use a '
            'cable, wireless networks lose datagrams', 'none missing',
            f'{rate:.1f} of {1.0 / period:.1f} per second')
    elif uneven > _UNEVEN * period:
        yield _of_rate(
            Outcome.DIFFERS, 'jitter', 'values come unevenly: does a wireless network save '
            'power?', f'every {1e3 * period:.0f} ms', f'{1e3 * uneven:.0f} ms off')


def _of_rate(
    outcome: Outcome, subject: str, sentence: str, expected: str = '', got: str = ''
) -> CheckResult:
    return CheckResult(STEP, subject, outcome, sentence, '', expected, got)
