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

"""ulyssix_node through real sockets: every kind of packet, route and fault."""

from contextlib import contextmanager
from datetime import datetime, UTC
from pathlib import Path
import re
import signal
import socket
import struct
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from captures import pcap
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import DurabilityPolicy, QoSProfile
from ulyssix_packets import bcd, datagram, INTEGER, NAMES, SECOND, TAGGED, tagged, utc

from harness import free_port, process
from xplane_bridge.bridges.ulyssix.node import UlyssixNode
from xplane_bridge.msg import UlyssixPacket, UlyssixParameters, UlyssixQuality, UlyssixSamples

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
DEEP = QoSProfile(depth=1000)
LOOPBACK = '127.0.0.1'
SENDER = ('10.0.0.1', 4000)


@contextmanager
def publisher(port, host=LOOPBACK):
    """Yield a function that sends a datagram to the node."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sender.setsockopt(
            socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(LOOPBACK))
        yield lambda data: sender.sendto(data, (host, port))


class Setup:
    """A node that listens on ``port``, and the messages on its packets topic."""

    def __init__(self, ros, topics=(), **parameters):
        self.ros = ros
        self.port = parameters.setdefault('port', free_port())
        self.node = ros.start(UlyssixNode, activate=False, **parameters)
        ros.subscribe(UlyssixPacket, 'packets', DEEP)
        ros.wait_for(lambda: self.node.count_subscribers('packets'), 'the subscription')
        ros.run_in(self.node, self.node.trigger_activate)

    def send(self, *datagrams, host=LOOPBACK):
        with publisher(self.port, host) as send:
            for data in datagrams:
                send(data)

    def got(self, count=1):
        return self.ros.wait_for(
            lambda: len(self.ros.messages['packets']) >= count
            and list(self.ros.messages['packets']), f'{count} packets')


def now():
    """Return the time to the second: in ns since 1970, as in a packet, and since 1 January."""
    date = datetime.now(UTC).replace(microsecond=0)
    begin = datetime(date.year, 1, 1, tzinfo=UTC)
    raw = bcd(date.timetuple().tm_yday, date.hour, date.minute, date.second)
    return int(date.timestamp()) * SECOND, raw, int((date - begin).total_seconds())


def stamp_ns(message):
    return message.header.stamp.sec * SECOND + message.header.stamp.nanosec


# Contents of the messages


def test_a_tagged_packet_with_names_becomes_one_message(ros):
    setup = Setup(ros)
    at, raw, since = now()
    data = struct.pack('<IfdI', 1, 1.5, since + 0.25, 0) + struct.pack(
        '<Ifdfd', 2, 2.5, since, 3.5, since + 0.5)
    setup.send(datagram(7, 2**40, data, 3, TAGGED | NAMES, b'A\x1fEmpty\x1fB', raw))
    message, = setup.got()
    assert stamp_ns(message) == at
    assert (message.counter, message.total_samples) == (7, 2**40)
    assert list(message.counts) == [1, 0, 2]
    assert list(message.values) == [1.5, 2.5, 3.5]
    assert list(message.integers) == []
    assert [time - at for time in message.times] == [
        pytest.approx(ns, abs=8) for ns in (250_000_000, 0, 500_000_000)]


@pytest.mark.parametrize(('width', 'value'), [(8, 'q'), (4, 'i')])
def test_integers_are_integers(ros, width, value):
    setup = Setup(ros)
    at, raw, since = now()
    largest = 2 ** (8 * width - 1) - 1
    setup.send(tagged((-1, since * 10**6), (largest, since * 10**6 + 1), time=raw,
                      layout=f'<{value}Q', control=TAGGED | INTEGER))
    message, = setup.got()
    assert list(message.integers) == [-1, largest]
    assert list(message.values) == []
    assert list(message.times) == [at, at + 1000]
    _, _, values = ros.diagnosed('publisher', node=setup.node)
    assert values['integer width, bytes'] == str(width)


def test_a_fixed_width_is_used(ros):
    setup = Setup(ros, integer_width='4')
    setup.send(datagram(0, 1, struct.pack('<Iq', 1, 5), 1, INTEGER))
    assert list(setup.got()[0].counts) == [1, 0]


def test_terse_packets_get_names_and_spacing_from_parameters(ros):
    setup = Setup(ros, parameter_names=['Altitude', 'Acc'], sample_rates=['A?c=1000'])
    ros.subscribe(UlyssixParameters, 'parameters', LATCHED)
    at, raw, _ = now()
    setup.send(datagram(0, 5, struct.pack('<IffIfff', 2, 1, 2, 3, 3, 4, 5), 5, time=raw))
    message, = setup.got()
    assert [time - at for time in message.times] == [0, 0, 0, 1_000_000, 2_000_000]
    names = ros.wait_for(lambda: ros.messages['parameters'], 'the names')[0]
    assert (list(names.names), stamp_ns(names)) == (['Altitude', 'Acc'], at)


def test_without_times_and_rates_the_stamp_is_all_there_is(ros):
    setup = Setup(ros)
    at, raw, _ = now()
    setup.send(datagram(time=raw))
    message, = setup.got()
    assert (stamp_ns(message), list(message.times)) == (at, [])
    # Diagnostics may be asked for before the node has noted that it has published.
    ros.diagnosed(
        'publisher', lambda level, text, values: 'parameter_names' in text, setup.node)


def test_the_largest_datagram_passes(ros):
    setup = Setup(ros)
    count = (65507 - 53) // 4
    data = struct.pack(f'<I{count}f', count, *range(count))
    packet = datagram(0, count, data, count)
    assert len(packet) > 65500
    setup.send(packet)
    message, = setup.got()
    assert list(message.values) == list(range(count))


def test_names_are_latched_and_told_again_when_they_change(ros):
    setup = Setup(ros)
    setup.send(*(datagram(counter, counter, control=NAMES, names=names)
                 for counter, names in enumerate((b'A', b'A', b'B'))))
    setup.got(3)
    ros.subscribe(UlyssixParameters, 'parameters', LATCHED)
    assert list(ros.next('parameters').names) == ['B']
    setup.send(datagram(3, 3, control=NAMES, names=b'C'))
    ros.wait_for(lambda: [list(m.names) for m in ros.messages['parameters']] == [['B'], ['C']],
                 'the new name')


# Topics for single parameters


def test_parameters_that_are_asked_for_have_topics_of_their_own(ros):
    setup = Setup(ros, sample_topics=['Acc*', 'Höhe (m)'])
    at, raw, since = now()

    def packet(counter):
        data = b''.join(
            struct.pack('<Ifdfd', 2, 10 * number + counter, since + counter, number,
                        since + counter + 0.5) for number in range(4))
        names = 'Acc 1\x1fAcc_1\x1fOther\x1fHöhe (m)'.encode()
        return datagram(counter, 8 * counter, data, 8, TAGGED | NAMES, names, raw)

    setup.send(packet(0))
    topics = ['samples/Acc_1', 'samples/Acc_1_2', 'samples/Hohe_m']
    for topic in topics:
        ros.subscribe(UlyssixSamples, topic, DEEP)
    # The graph showing both ends does not mean that they have matched.
    ros.wait_for(lambda: sum(
        'samples/' in publisher.topic_name and publisher.get_subscription_count() > 0
        for publisher in setup.node.publishers) == len(topics), 'the subscriptions')
    assert ros.observer.count_publishers('samples/Other') == 0
    setup.send(packet(1))
    for topic, number, name in zip(
            topics, (0, 1, 3), ('Acc 1', 'Acc_1', 'Höhe (m)'), strict=True):
        message = ros.wait_for(lambda topic=topic: ros.messages[topic], topic)[-1]
        assert message.name == name
        assert list(message.values) == [10 * number + 1, number]
        assert [ns - at for ns in message.times] == [
            pytest.approx(SECOND, abs=8), pytest.approx(1.5 * SECOND, abs=8)]
        assert stamp_ns(message) == message.times[0]


def test_decimation_counts_across_packets_and_may_change(ros):
    setup = Setup(ros, sample_topics=['*'], decimation=3)
    numbers = iter(range(1000))

    def packet(counter, count=5):
        data = struct.pack(f'<I{count}f', count, *(next(numbers) for _ in range(count)))
        return datagram(counter, 5 * counter, data, count, NAMES, b'x')

    ros.subscribe(UlyssixSamples, 'samples/x', DEEP)
    setup.send(packet(0))
    setup.got(1)
    ros.wait_for(lambda: setup.node.count_subscribers('samples/x')
                 and ros.observer.count_publishers('samples/x'), 'the topic')
    # Only now the first ones are forwarded; earlier packets did not count.
    del ros.messages['samples/x'][:]
    setup.send(*(packet(counter) for counter in (1, 2, 3, 4)))
    setup.got(5)

    def values():
        return [value for message in ros.messages['samples/x'] for value in message.values]

    got = ros.wait_for(lambda: len(values()) >= 6 and values(), 'samples')
    assert {later - before for before, later in zip(got, got[1:], strict=False)} == {3.0}
    assert ros.change(setup.node, decimation=1).successful
    last = got[-1]
    setup.send(packet(5))
    ros.wait_for(lambda: values()[-1] == 29.0, 'all samples')
    assert values()[values().index(last) + 1:][-5:] == [25.0, 26.0, 27.0, 28.0, 29.0]
    assert not ros.change(setup.node, decimation=0).successful


# Routes of a packet


def test_broadcasts_are_heard(ros):
    setup = Setup(ros)
    setup.send(datagram(), host='127.255.255.255')
    setup.got()


@pytest.mark.parametrize('interface', ['', LOOPBACK])
def test_a_multicast_group_is_heard(ros, interface):
    setup = Setup(ros, group='239.1.2.3', bind_address=interface)
    setup.send(datagram(), host='239.1.2.3')
    setup.got()


def test_only_the_sender_is_heard_if_one_is_given(ros):
    setup = Setup(ros, sender='localhost')
    setup.send(datagram())
    setup.got()
    other = Setup(ros, sender='192.0.2.1')
    other.send(datagram(5))
    level, text, values = ros.diagnosed(
        'link', lambda _, text, values: values['from other addresses, dropped'] == '1',
        node=other.node)
    assert (level, text) == (
        DiagnosticStatus.WARN, 'datagrams arrive, but none from the sender 192.0.2.1')
    assert len(ros.messages['packets']) == 1


def test_only_the_port_of_the_sender_is_heard_if_one_is_given(ros):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as publisher:
        publisher.bind(('127.0.0.1', 0))
        setup = Setup(ros, sender=f'localhost:{publisher.getsockname()[1]}')
        setup.send(datagram(5))
        level, text, _ = ros.diagnosed(
            'link', lambda _, text, values:
            values['from other ports of that address, dropped'] == '1', node=setup.node)
        assert level == DiagnosticStatus.WARN
        assert text.startswith('datagrams arrive, but none from')
        publisher.sendto(datagram(), ('127.0.0.1', setup.port))
        setup.got()
    assert len(ros.messages['packets']) == 1


def test_a_buffer_that_the_kernel_does_not_grant_is_told(ros, capfd):
    setup = Setup(ros, receive_buffer=2**30)
    _, _, values = ros.diagnosed('link', node=setup.node)
    assert 0 < int(values['receive buffer, bytes']) < 2**30
    assert 'sysctl -w net.core.rmem_max=1073741824' in ''.join(capfd.readouterr())


def write_capture(tmp_path, count, step, make=lambda number: datagram(number, number)):
    path = tmp_path / 'capture.pcap'
    begin = utc(2026, 2, 14, 12, 34, 57)
    path.write_bytes(pcap(*(
        (begin // SECOND + step * number, SENDER, ('10.0.0.2', 5000), make(number))
        for number in range(count))))
    return str(path)


@pytest.mark.parametrize(('speed', 'port'), [(0.0, 0), (1.0, 5000), (20.0, 5000)])
def test_a_capture_is_played_in_the_place_of_the_network(ros, tmp_path, speed, port):
    setup = Setup(ros, capture_file=write_capture(tmp_path, 30, 0.01), capture_speed=speed,
                  port=port)
    messages = setup.got(30)
    assert [message.counter for message in messages] == list(range(30))
    # Its year is that of the recording, whatever the current year.
    assert stamp_ns(messages[0]) == utc(2026, 2, 14, 12, 34, 56, ns=789_012_000)
    ros.diagnosed('link', lambda _, text, __: text == 'the capture has ended')
    _, _, values = ros.diagnosed('time', node=setup.node)
    assert values['latency, s'] == '0.501'
    _, text, _ = ros.diagnosed(
        'publisher', lambda _, text, __: text.startswith('no packet for'), node=setup.node)
    assert 'firewall' not in text


def test_a_capture_that_is_cut_short_is_played_so_far_and_said(ros, tmp_path, capfd):
    path = Path(write_capture(tmp_path, 5, 0.01))
    data = path.read_bytes()
    path.write_bytes(data[:-3])
    setup = Setup(ros, capture_file=str(path), capture_speed=0.0, port=5000)
    assert len(setup.got(4)) == 4
    said = f'the file is truncated at offset {len(data) - 3}, expected 3 more bytes'
    _, text, values = ros.diagnosed(
        'capture', lambda level, *_: level == DiagnosticStatus.ERROR,
        node=setup.node)
    assert text.startswith(f'ended early: capture {path}: packet 5 at offset ')
    assert text.endswith(said)
    assert (values['packets'], values['UDP datagrams']) == ('4', '4')
    logged = ''

    def is_logged():
        nonlocal logged
        logged += ''.join(capfd.readouterr())
        return said in logged

    # The link's thread does that just after it knows.
    ros.wait_for(is_logged, 'the sentence in the log')


@pytest.mark.parametrize('speed', [0.0, 1.0])
def test_topics_of_parameters_begin_with_the_first_packet_of_a_capture(ros, tmp_path, speed):
    def make(number):
        data = struct.pack('<IfIff', 1, number, 2, 0.5, 1.5)
        return datagram(number, 3 * (number + 1), data, 2, NAMES, b'A\x1fB')

    for topic in ('samples/A', 'samples/B'):
        ros.subscribe(UlyssixSamples, topic, DEEP)
    ros.start(UlyssixNode, capture_file=write_capture(tmp_path, 101, 0.01, make),
              capture_speed=speed, sample_topics=['*'])
    ros.wait_for(lambda: len(ros.messages['samples/B']) == 101, 'all samples of B')
    ros.wait_for(lambda: len(ros.messages['samples/A']) == 101, 'all samples of A')
    assert [message.values[0] for message in ros.messages['samples/A']] == list(range(101))


def test_a_capture_that_is_not_there_fails_to_configure(ros):
    node = ros.start(UlyssixNode, capture_file='/no/such/file.pcap', configure=False)
    ros.run_in(node, node.trigger_configure)
    assert node.failed == 'capture /no/such/file.pcap: No such file or directory'


# Impossible requests


@pytest.mark.parametrize(('parameters', 'sentence'), [
    ({}, 'parameter port: it is required; use the port that the publisher sends to'),
    ({'port': 70000}, 'port'),
    ({'port': 5000, 'group': '10.0.0.1'}, "parameter group: '10.0.0.1' is not a multicast"),
    ({'port': 5000, 'sample_rates': ['x']}, "parameter sample_rates: 'x' is not like"),
    ({'port': 5000, 'sample_rates': ['x=0']}, "parameter sample_rates: 'x=0' is not like"),
    ({'port': 5000, 'word_order': 'big'}, 'parameter word_order: expected one of auto'),
    ({'port': 5000, 'year': 25}, 'parameter year: 25 is not 0, or 1970 to 2037'),
    ({'port': 5000, 'bind_address': '192.0.2.1'}, 'this machine has no such address'),
    ({'port': 5000, 'group': '239.1.2.3', 'bind_address': '192.0.2.1'},
     'UDP 239.1.2.3:5000: cannot join on 192.0.2.1; this machine has no such address'),
])
def test_bad_parameters_are_refused_with_a_sentence(ros, parameters, sentence):
    node = ros.start(UlyssixNode, configure=False, **parameters)
    ros.run_in(node, node.trigger_configure)
    assert sentence in node.failed


def test_a_port_that_is_taken_is_refused(ros):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(('', 0))
        node = ros.start(UlyssixNode, configure=False, port=taken.getsockname()[1])
        ros.run_in(node, node.trigger_configure)
    assert 'is another program using it?' in node.failed


def test_malformed_datagrams_are_counted_and_end_nothing(ros):
    setup = Setup(ros)
    setup.send(b'not Ulyssix at all', datagram()[:-3])
    level, text, values = ros.diagnosed(
        'link', lambda _, __, values: values['datagrams received'] == '2', node=setup.node)
    assert level == DiagnosticStatus.WARN
    assert values['malformed: payload header'] == '1'
    assert values['malformed: end string'] == '1'
    # Nothing more arrives, so this is not the second in which it arrived.
    level, text, values = ros.diagnosed(
        'link', lambda _, text, __: 'in the last second' not in text, node=setup.node)
    assert level == DiagnosticStatus.WARN
    assert text.startswith('no datagram received is a Ulyssix packet: ')
    setup.send(datagram(3))
    assert setup.got()[0].counter == 3
    level, text, values = ros.diagnosed(
        'link', lambda _, __, values: values['datagrams received'] == '3', node=setup.node)
    assert (level, text) == (DiagnosticStatus.OK, 'open')


def test_losses_are_told(ros):
    setup = Setup(ros)
    ros.subscribe(UlyssixQuality, 'quality', DEEP)
    ros.wait_for(lambda: setup.node.count_subscribers('quality'), 'the subscription')
    setup.send(datagram(0, 1), datagram(4, 5), datagram(4, 5), datagram(
        5, 6, struct.pack('<If', 1, float('nan'))))
    setup.got(3)
    level, text, values = ros.diagnosed(
        'publisher', lambda _, __, values: values['lost'] == '3', node=setup.node)
    assert (values['duplicates, dropped'], values['lost samples, by the total']) == ('1', '3')
    found = ros.wait_for(
        lambda: [one for one in ros.messages['quality'] if one.lost == 3], 'the quality')[0]
    assert (found.packets, found.duplicates, found.restarts, found.time_jumps) == (3, 1, 0, 0)
    assert (found.names, list(found.samples), list(found.invalid)) == (['parameter_1'], [3], [1])
    level, text, values = ros.diagnosed(
        'quality', lambda _, __, values: 'parameter_1' in values, node=setup.node)
    assert values['parameter_1'] == '1 invalid'


def test_two_publishers_on_one_port_are_named(ros):
    setup = Setup(ros)
    with publisher(setup.port) as one, publisher(setup.port) as other:
        for n in range(30):
            one(datagram(n, n + 1))
            other(datagram(7000 + n, 7001 + n))
    setup.got(60)
    level, text, values = ros.diagnosed(
        'publisher', lambda level, *_: level == DiagnosticStatus.WARN, node=setup.node)
    found = re.fullmatch(
        r'2 senders are mixed: (127.0.0.1:\d+) \(30 packets, 0 lost\) and (127.0.0.1:\d+) '
        r'\(30 packets, 0 lost\); set the parameter sender to the right one, such as (.*)', text)
    assert found, text
    assert found[3] == found[1] != found[2]
    assert (values['lost'], values[f'packets, lost from {found[2]}']) == ('0', '30, 0')
    # The parameters are not blamed for it, in the same message.
    said = [status.message for message in ros.messages['/diagnostics']
            if any(status.message == text for status in message.status)
            for status in message.status if status.name.endswith(': quality')]
    assert said[0] == 'these are figures of several senders mixed: see the status publisher'


def test_two_publishers_behind_one_address_are_told_by_the_counter(ros):
    setup = Setup(ros)
    setup.send(*(each for n in range(20) for each in (
        datagram(n, n + 1), datagram(7000 + n, 7001 + n))))
    _, text, _ = ros.diagnosed(
        'publisher', lambda _, text, __: 'do not continue the numbers of the others' in text,
        node=setup.node)
    assert re.match(r'\d+ packets in the last second do not', text)
    assert 'two publishers send through the same address' in text


@pytest.mark.parametrize(('options', 'date'), [
    ({}, (2026, 2, 14)),
    ({'day_base': '0'}, (2026, 2, 15)),
    ({'year': 2019}, (2019, 2, 14)),
    ({'utc_offset': 5.5}, (2026, 2, 14)),
])
def test_options_of_time_do_what_they_say(ros, tmp_path, options, date):
    setup = Setup(ros, port=0, capture_file=write_capture(tmp_path, 1, 0.0), capture_speed=0.0,
                  **options)
    hour, minute = (7, 4) if 'utc_offset' in options else (12, 34)
    assert stamp_ns(setup.got()[0]) == utc(*date, hour, minute, 56, ns=789_012_000)


def test_a_word_order_that_is_given_is_used(ros):
    setup = Setup(ros, word_order='true_u64')
    setup.send(datagram())
    # Read that way the time makes no sense, so the time of reception is used.
    assert abs(stamp_ns(setup.got()[0]) - time.time_ns()) < 60 * SECOND
    level, text, values = ros.diagnosed(
        'time', lambda _, __, values: values['unreadable'] == '1', node=setup.node)
    assert (level, text) == (
        DiagnosticStatus.ERROR, 'the last packet has no valid time')


@pytest.mark.parametrize(('year', 'side'), [(2019, 'behind'), (2037, 'ahead of')])
def test_a_clock_that_is_wrong_is_told(ros, year, side):
    setup = Setup(ros, year=year)
    setup.send(datagram())
    setup.got()
    level, text, values = ros.diagnosed(
        'time', lambda _, __, values: values['year'] == str(year), node=setup.node)
    assert level == DiagnosticStatus.WARN
    assert f' s {side} the time of reception' in text
    assert 'utc_offset, day_base and year' in text
    assert '-' not in text
    assert values['day base'] == 'assumed 1'


# Starting and stopping


def test_nothing_is_published_while_inactive(ros):
    setup = Setup(ros)
    setup.send(datagram(1, 1))
    setup.got(1)
    ros.run_in(setup.node, setup.node.trigger_deactivate)
    setup.send(datagram(2, 2))
    ros.diagnosed('link', lambda _, __, values: values['datagrams received'] == '2',
                  node=setup.node)
    ros.run_in(setup.node, setup.node.trigger_activate)
    setup.send(datagram(9, 9))
    assert [message.counter for message in setup.got(2)] == [1, 9]
    _, _, values = ros.diagnosed('publisher', node=setup.node)
    assert values['lost'] == '0'


def test_it_can_be_configured_again(ros):
    setup = Setup(ros, sample_topics=['*'])
    for counter in (1, 2):
        setup.send(datagram(counter, counter, control=NAMES, names=b'x'))
        setup.got(counter)
        for transition in ('deactivate', 'cleanup', 'configure', 'activate'):
            ros.run_in(setup.node, getattr(setup.node, f'trigger_{transition}'))
        ros.wait_for(lambda: setup.node.count_publishers('packets')
                     and setup.node.count_subscribers('packets'), 'the topic')


# The simulator as the publisher

VARIANTS = {
    'Altair, verbose': ([], {}),
    'Altair, 8-byte integers': (['--integer-width', '8'], {}),
    'Altair, 4-byte integers, other word order': (
        ['--integer-width', '4', '--word-order', 'true_u64'], {}),
    'Altair, terse': (
        ['--no-names', '--no-times'],
        {'parameter_names': ['altitude_msl', 'tas'], 'sample_rates': ['*=500']}),
    'DEWESoft, verbose': (['--program', 'dewesoft'], {}),
    'DEWESoft, other word order': (['--program', 'dewesoft', '--word-order', 'true_u64'], {}),
}


@pytest.mark.parametrize('variant', VARIANTS)
def test_each_kind_of_publisher_is_understood(ros, simulator, variant):
    arguments, parameters = VARIANTS[variant]
    setup = Setup(ros, **parameters)
    simulator('ulyssix', '--port', str(setup.port), '--parameter', 'altitude_msl=500',
              '--parameter', 'tas=100', *arguments)
    messages = setup.got(12)[2:]
    scale = 1e-4 if 'integers' in variant else 1.0
    for message in messages:
        values = [value * scale for value in message.integers or message.values]
        altitudes = values[:message.counts[0]]
        assert all(1400 < altitude < 1600 for altitude in altitudes)
        # 100 knots calibrated at 1500 m.
        assert all(45 < speed < 65 for speed in values[message.counts[0]:])
        assert abs(stamp_ns(message) - time.time_ns()) < 20 * SECOND
        assert min(message.times) == pytest.approx(stamp_ns(message), abs=1000)
    times = [ns for message in messages for ns in message.times[:message.counts[0]]]
    steps = [later - before for before, later in zip(times, times[1:], strict=False)]
    slack = 60_000_000 if variant == 'Altair, terse' else 2000
    assert all(0 <= step - 2_000_000 <= slack for step in steps)
    # In the first seconds of a minute a time may fit both word orders.
    level, text, values = ros.diagnosed(
        'time', lambda level, text, values: values['word order'] != 'not settled',
        node=setup.node)
    assert values['word order'] == (
        'true_u64' if 'other' in variant else 'first_word_high')
    assert values['samples disagreeing with packet'] == '0'


def test_new_year_is_passed_without_a_jump(ros, simulator):
    setup = Setup(ros, year=2025)
    simulator('ulyssix', '--port', str(setup.port), '--start-time', '2025-12-31T23:59:59.700',
              '--parameter', 'tas=200')
    new_year = utc(2026, 1, 1)
    ros.wait_for(lambda: any(stamp_ns(m) > new_year + 100_000_000
                             for m in ros.messages['packets']), 'the new year')
    times = [ns for message in list(ros.messages['packets']) for ns in message.times]
    assert times[0] < new_year
    assert {round((later - before) / 1e6)
            for before, later in zip(times, times[1:], strict=False)} == {5}


def test_a_multicasting_simulator_is_heard(ros, simulator):
    setup = Setup(ros, group='239.1.2.4')
    simulator('ulyssix', '--host', '239.1.2.4', '--port', str(setup.port))
    setup.got(3)


def test_a_publisher_that_dies_and_comes_back_is_followed(ros, simulator):
    setup = Setup(ros)
    simulator('ulyssix', '--port', str(setup.port))
    setup.got(20)
    simulator.children[0].send_signal(signal.SIGKILL)
    level, text, _ = ros.diagnosed('publisher', lambda level, *_: level == DiagnosticStatus.STALE)
    assert text.startswith('no packet for')
    before = len(ros.messages['packets'])
    simulator('ulyssix', '--port', str(setup.port))
    setup.got(before + 20)
    _, _, values = ros.diagnosed('publisher', lambda level, *_: level == DiagnosticStatus.OK)
    assert (values['restarts'], values['lost']) == ('1', '0')


def test_a_frozen_publisher_goes_on_without_a_loss(ros, simulator):
    setup = Setup(ros)
    simulator('ulyssix', '--port', str(setup.port))
    setup.got(20)
    child = simulator.children[0]
    child.send_signal(signal.SIGSTOP)
    ros.diagnosed('publisher', lambda level, *_: level == DiagnosticStatus.STALE)
    child.send_signal(signal.SIGCONT)
    _, _, values = ros.diagnosed('publisher', lambda level, *_: level == DiagnosticStatus.OK)
    assert (values['restarts'], values['lost']) == ('0', '0')


def test_a_lossy_network_is_counted(ros, simulator):
    setup = Setup(ros)
    simulator('ulyssix', '--port', str(setup.port), '--loss', '0.3', '--duplicate', '0.1')
    messages = setup.got(100)
    _, _, values = ros.diagnosed('publisher', lambda _, __, values: int(values['lost']) > 10)
    assert int(values['duplicates, dropped']) > 0
    counters = [message.counter for message in messages]
    assert len(counters) == len(set(counters))


# The program


def test_the_program_says_what_is_missing_and_fails():
    with process('ulyssix_node') as node:
        output, _ = node.communicate(timeout=90)
    assert node.returncode == 1
    assert 'cannot configure: parameter port: it is required' in output


def test_the_program_ends_cleanly_on_a_signal(simulator):
    port = free_port()
    simulator('ulyssix', '--port', str(port))
    with process('ulyssix_node', '--ros-args', '-p', f'port:={port}') as node:
        for line in node.stdout:
            if 'packets arrive' in line:
                break
        node.send_signal(signal.SIGINT)
        assert node.wait(60) == 0


# Other senders on the port


def test_topics_go_with_their_names_and_are_limited(ros):
    setup = Setup(ros, sample_topics=['*'], max_sample_topics=2)
    node = setup.node

    def there():
        return sorted(topic for topic, _ in node.get_publisher_names_and_types_by_node(
            node.get_name(), node.get_namespace()) if topic.startswith('/samples/'))

    def sent(number, *names):
        data = struct.pack('<If', 1, 1.5) * len(names)
        return datagram(number, 9 * number, data, len(names), NAMES, '\x1f'.join(names).encode())

    setup.send(sent(1, 'A', 'B', 'C'))
    ros.wait_for(lambda: there() == ['/samples/A', '/samples/B'], 'the first two')
    level, message, values = ros.diagnosed('samples', node=node)
    assert level == DiagnosticStatus.WARN
    assert message.startswith(
        '3 parameters match sample_topics, but only the first 2 have a topic')
    # New topics are created once per second at most: the packet is repeated until they exist.
    numbers = iter(range(2, 10**6))
    ros.wait_for(lambda: setup.send(sent(next(numbers), 'B', 'D')) or there() == [
        '/samples/B', '/samples/D'], 'those of the new names')
    ros.diagnosed('samples', lambda level, message, values: (
        level == DiagnosticStatus.OK and values['topics samples/<name>'] == '2'), node=node)
    assert not [name for name in node._parameters if 'samples' in name and 'qos' in name]


def test_a_flood_of_garbage_is_told_with_the_advice_to_set_sender(ros):
    """Packets of other types count as useless too, even if well-formed."""
    setup = Setup(ros)
    kinds = iter(range(1, 2**32))

    def flood():
        setup.send(datagram(0, 1), *(datagram(kind=next(kinds)) for _ in range(20)))

    def told(level, message, values):
        flood()
        return level == DiagnosticStatus.WARN and 'packets of unknown types' in message

    _, message, values = ros.diagnosed('link', told, node=setup.node)
    assert message.endswith('set the parameter sender to the address of the publisher')
    assert int(values['useless in the last second, %']) > 50
    assert len(values) < 25


def test_datagrams_that_the_kernel_drops_are_told(ros):
    setup = Setup(ros, receive_buffer=4096)

    def told(level, message, values):
        with setup.node.link.lock:
            setup.send(*[datagram()] * 50)
        return level == DiagnosticStatus.WARN and 'the kernel dropped' in message

    _, message, values = ros.diagnosed('link', told, node=setup.node)
    assert 'net.core.rmem_max' in message
    assert int(values['dropped by the kernel']) > 0
