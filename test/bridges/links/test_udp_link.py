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

"""UDP sockets: timestamps, senders, buffers, errors. Through the kernel's loopback."""

from contextlib import ExitStack
import select
import socket
import threading
import time

import pytest

from xplane_bridge.bridges.links import udp
from xplane_bridge.bridges.links.gate import SocketFilter
from xplane_bridge.bridges.links.udp import (
    address_towards,
    is_own_address,
    LinkError,
    own_addresses,
    resolve,
    resolve_sender,
    SocketCounters,
    UdpSocket,
)

DEADLINE = 60.0
GROUP = '239.255.1.1'


@pytest.fixture
def open_socket():
    """Open UdpSockets that are closed afterwards."""
    links = []

    def make(*arguments, **options):
        links.append(UdpSocket(*arguments, **options))
        return links[-1]

    yield make
    for link in links:
        link.close()


@pytest.fixture
def other():
    """Return a plain socket on loopback, playing another program."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        plain.bind(('127.0.0.1', 0))
        plain.settimeout(2.0)
        yield plain


def receive(link, seconds=2.0):
    """Return the next datagram, or None if none arrives."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0.0:
        if select.select([link], [], [], left)[0] and (received := link.receive()):
            return received
    return None


def test_datagrams_go_there_and_back(open_socket, other):
    link = open_socket(('127.0.0.1', 0), peer=other.getsockname(), sender='127.0.0.1')
    assert link.send(b'ping')
    data, sender = other.recvfrom(100)
    assert (data, sender) == (b'ping', link.local)
    other.sendto(b'pong', sender)
    received = receive(link)
    assert received.data == b'pong'
    assert received.sender == other.getsockname()
    assert link.receive() is None
    assert (link.counters.sent, link.counters.received) == (1, 1)


def test_send_to_another_address_than_the_peer(open_socket, other):
    link = open_socket(('127.0.0.1', 0), peer=('127.0.0.1', 9))
    assert link.send(b'there', other.getsockname())
    assert other.recv(100) == b'there'


def test_stamp_is_the_kernels_receive_time(open_socket, other):
    link = open_socket(('127.0.0.1', 0))
    # The kernel begins to stamp some time after the first socket of a machine asks for it;
    # datagrams before that get the time at which they are read.
    for _ in range(20):
        before = time.time_ns()
        other.sendto(b'x', link.local)
        after = time.time_ns()
        # The datagram waits in the kernel until this program wants it.
        while time.time_ns() < after + 50_000_000:
            select.select([], [], [], 0.01)
        received = receive(link)
        assert before <= received.stamp_ns
        if received.stamp_ns <= after + 20_000_000:
            return
    raise AssertionError('20 datagrams were stamped when they were read, not when they came')


def test_strangers_are_dropped_and_counted(open_socket, other):
    link = open_socket(sender='192.0.2.1')
    for _ in range(100):
        other.sendto(b'x', ('127.0.0.1', link.local[1]))
    assert receive(link, 0.1) is None
    assert (link.counters.received, link.counters.strangers) == (0, 100)
    assert link.counters.stranger == other.getsockname()


def test_the_networks_of_this_machine_and_the_way_to_an_address():
    assert own_addresses()['lo'] == '127.0.0.1'
    assert address_towards('127.0.0.1') == '127.0.0.1'
    assert address_towards('255.255.255.255') == ''


def test_peer_is_heard_between_strangers(open_socket, other):
    link = open_socket(sender='127.0.0.1')
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(('127.0.0.2', 0))
        for _ in range(3):
            stranger.sendto(b'no', ('127.0.0.1', link.local[1]))
            other.sendto(b'yes', ('127.0.0.1', link.local[1]))
        received = [receive(link).data for _ in range(3)]
    assert received == [b'yes'] * 3
    assert link.counters.strangers == 3


def test_another_port_of_the_peers_address_is_dropped_counted_and_named(open_socket, other):
    link = open_socket(
        ('127.0.0.1', 0), sender='127.0.0.1', sender_port=other.getsockname()[1])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as forger:
        forger.bind(('127.0.0.1', 0))
        for _ in range(3):
            forger.sendto(b'no', link.local)
            other.sendto(b'yes', link.local)
        received = [receive(link).data for _ in range(3)]
        assert link.counters.dropped_from == forger.getsockname()
    assert received == [b'yes'] * 3
    assert (link.counters.strangers, link.counters.other_ports) == (0, 3)
    assert link.counters.dropped == 3
    assert 0.0 <= time.monotonic() - link.counters.dropped_at < 60.0


@pytest.fixture
def flooded(open_socket, other):
    """Return a link to ``other`` that has read a flood from it, and a function that floods it."""
    link = open_socket(
        ('127.0.0.1', 0), sender='127.0.0.1', sender_port=other.getsockname()[1])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as forger:
        forger.bind(('127.0.0.1', 0))

        def flood(count):
            for _ in range(count):
                forger.sendto(b'no', link.local)

        flood(64)
        assert link.receive() is None
        if link.shut_until is None:
            pytest.skip('this kernel has no filters')
        yield link, flood


def test_a_flood_is_turned_away_by_the_kernel_and_counted(flooded, other):
    link, flood = flooded
    assert link.counters.other_ports == 64
    flood(500)
    # Nothing is left to read, and the peer is heard.
    assert not select.select([link], [], [], 0.0)[0]
    other.sendto(b'yes', link.local)
    assert receive(link).data == b'yes'
    assert link.counters.other_ports == 564
    flood(36)
    link.reopen(link.shut_until - 0.001)
    assert link.shut_until is not None
    link.reopen(link.shut_until)
    assert link.shut_until is None
    assert (link.counters.other_ports, link.counters.kernel_drops) == (600, 0)
    flood(1)
    other.sendto(b'still', link.local)
    assert receive(link).data == b'still'
    assert link.counters.other_ports == 601


def test_what_a_closed_socket_turned_away_is_counted(flooded):
    link, flood = flooded
    flood(10)
    link.close()
    assert link.counters.other_ports == 74
    link.close()


class PortFilter:
    """Decides which port is the peer's, as the test says."""

    only = 0

    def admits(self, port):
        return self.only in (0, port)


def test_the_kernel_lets_another_port_in_as_soon_as_it_is_the_peers(open_socket, other):
    choice = PortFilter()
    choice.only = other.getsockname()[1]
    link = open_socket(('127.0.0.1', 0), sender='127.0.0.1', sender_port=choice)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as restarted:
        for _ in range(64):
            restarted.sendto(b'no', link.local)
        assert link.receive() is None
        choice.only = 0
        link.reopen(time.monotonic())
        assert link.shut_until is None
        restarted.sendto(b'now', link.local)
        assert receive(link).data == b'now'


@pytest.mark.parametrize(('address', 'port', 'heard'), [
    (True, True, [b'0']), (True, False, [b'0', b'1']), (False, True, [b'0'])])
def test_gate(address, port, heard):
    """By address, by port, by both: the peer, its computer's other port, another address."""
    with ExitStack() as stack:
        link, *senders = (
            stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            for _ in range(4))
        link.bind(('127.0.0.1', 0))
        link.settimeout(DEADLINE)
        for sender, host in zip(senders, ('127.0.0.1', '127.0.0.1', '127.0.0.2'), strict=True):
            sender.bind((host, 0))
        gate = SocketFilter(link)
        gate.shut('127.0.0.1' if address else '', senders[0].getsockname()[1] if port else 0)
        if gate.lets_in is None:
            pytest.skip('this kernel has no filters')
        for number, sender in enumerate(senders):
            sender.sendto(b'%d' % number, link.getsockname())
        gate.open()
        senders[2].sendto(b'end', link.getsockname())
        assert [link.recv(100) for _ in range(len(heard) + 1)] == [*heard, b'end']
        assert gate.drops() == 3 - len(heard)


def test_counters_of_sockets_add_up_and_name_the_last_who_was_dropped():
    total = SocketCounters(
        received=1, dropped_from=('127.0.0.1', 5), dropped_at=7.0, other_ports=1)
    total.add(
        SocketCounters(received=2, dropped_from=('127.0.0.1', 6), dropped_at=6.0, other_ports=1))
    total.add(SocketCounters(received=4))
    assert total == SocketCounters(
        received=7, dropped_from=('127.0.0.1', 5), dropped_at=7.0, other_ports=2)


def test_any_sender_is_heard_without_one_given(open_socket, other):
    link = open_socket(('127.0.0.1', 0))
    other.sendto(b'x', link.local)
    assert receive(link).data == b'x'


def test_own_addresses_are_told_from_others():
    assert is_own_address('127.0.0.1')
    assert not is_own_address('192.0.2.1')


def test_largest_datagram_arrives_whole(open_socket, other):
    link = open_socket(('127.0.0.1', 0))
    data = bytes(range(256)) * 255
    other.sendto(data, link.local)
    assert receive(link).data == data


def test_receive_buffer_is_what_the_kernel_grants(open_socket):
    assert open_socket().receive_buffer > 0
    assert open_socket(receive_buffer=10_000).receive_buffer < open_socket().receive_buffer


def test_unreachable_peer_is_counted_and_no_error(open_socket):
    link = open_socket(('127.0.0.1', 0), peer=('192.0.2.1', 9))
    # From the loopback address nothing leaves this machine.
    assert not link.send(b'x')
    assert link.counters.send_errors == 1


def test_peer_that_is_off_is_no_error(open_socket, other):
    link = open_socket(('127.0.0.1', 0), peer=('127.0.0.1', 9))
    for _ in range(5):
        link.send(b'x')
    assert link.receive() is None
    other.sendto(b'still here', link.local)
    assert receive(link).data == b'still here'


def test_send_without_a_peer_is_the_callers_fault(open_socket):
    with pytest.raises(ValueError, match='no peer'):
        open_socket().send(b'x')


def test_port_in_use_is_a_sentence(open_socket, other):
    port = other.getsockname()[1]
    with pytest.raises(LinkError) as caught:
        open_socket(('127.0.0.1', port))
    assert str(caught.value) == (
        f'UDP 127.0.0.1:{port}: Address already in use; is another program using it?')


def test_foreign_bind_address_is_a_sentence(open_socket):
    with pytest.raises(LinkError, match='this machine has no such address'):
        open_socket(('192.0.2.1', 0))


def test_name_of_a_host_is_resolved():
    assert resolve('localhost') == '127.0.0.1'
    assert resolve('192.0.2.7') == '192.0.2.7'


def test_name_servers_that_do_not_answer_are_waited_for_a_while_only(monkeypatch):
    answered = threading.Event()

    def slow(*_):
        answered.wait(DEADLINE)
        raise OSError('too late')

    monkeypatch.setattr(udp, '_RESOLVED_WITHIN', 0.01)
    monkeypatch.setattr(socket, 'getaddrinfo', slow)
    with pytest.raises(LinkError, match="host 'far': no name server answered within 0.01 s"):
        resolve('far')
    answered.set()


def test_sender_may_have_a_port():
    assert resolve_sender('localhost') == ('127.0.0.1', 0)
    assert resolve_sender('192.0.2.7:65535') == ('192.0.2.7', 65535)


@pytest.mark.parametrize('sender', ['localhost:', 'localhost:0', 'localhost:65536', '::1', 'a:b'])
def test_sender_with_a_port_that_is_none_is_a_sentence(sender):
    with pytest.raises(LinkError, match=f"sender '{sender}': expected host or host:port"):
        resolve_sender(sender)


def test_unknown_host_is_a_sentence():
    with pytest.raises(LinkError, match="host 'nowhere.invalid': no IPv4 address found"):
        resolve('nowhere.invalid')
    with pytest.raises(LinkError, match='not the name of a computer') as caught:
        resolve('x' * 100_000)
    assert len(str(caught.value)) < 120


def test_close_twice_is_fine(open_socket):
    link = open_socket()
    link.close()
    link.close()
    assert link.fileno() == -1


def test_multicast_is_heard_on_loopback_by_several_programs(open_socket, other):
    try:
        first = open_socket(('', 0), sender='127.0.0.1', group=GROUP)
    except LinkError as error:
        pytest.skip(f'no multicast here: {error}')
    second = open_socket(('', first.local[1]), sender='127.0.0.1', group=GROUP)
    other.setsockopt(
        socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton('127.0.0.1'))
    try:
        other.sendto(b'beacon', (GROUP, first.local[1]))
    except OSError as error:
        pytest.skip(f'no multicast here: {error}')
    received = receive(first)
    if received is None:
        pytest.skip('multicast is sent here, but not delivered')
    assert received.data == receive(second).data == b'beacon'


def test_who_else_talks_in_a_group_is_a_stranger_and_no_forger(open_socket, other):
    try:
        link = open_socket(('', 0), sender='127.0.0.1', sender_port=9, group=GROUP)
    except LinkError as error:
        pytest.skip(f'no multicast here: {error}')
    other.sendto(b'another beacon', ('127.0.0.1', link.local[1]))
    assert receive(link, 0.2) is None
    assert (link.counters.strangers, link.counters.other_ports) == (1, 0)


def test_beacon_sent_from_this_machines_network_address_counts_as_the_local_peers(open_socket):
    try:
        link = open_socket(('', 0), sender='127.0.0.1', group=GROUP)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plugin:
            plugin.sendto(b'beacon', (GROUP, link.local[1]))
    except OSError as error:
        pytest.skip(f'no multicast here: {error}')
    received = receive(link, 0.5)
    if received is None:
        pytest.skip('multicast is sent here, but not delivered')
    assert received.data == b'beacon'
    assert link.counters.strangers == 0


def test_what_the_kernel_drops_is_counted(open_socket, other):
    """Reported with the first datagram that finds room again, and counted once."""
    link = open_socket(('127.0.0.1', 0), receive_buffer=4096)
    for _ in range(100):
        other.sendto(bytes(1000), link.local)
    while link.receive() is not None:
        pass
    kept = link.counters.received
    assert 0 < kept < 100
    for _ in range(2):
        other.sendto(b'room', link.local)
        assert receive(link).data == b'room'
        assert link.counters.kernel_drops == 100 - kept


def test_what_strangers_make_the_kernel_drop_is_counted(open_socket, other):
    link = open_socket(('127.0.0.1', 0), sender='192.0.2.1', receive_buffer=4096)
    for _ in range(2):
        for _ in range(100):
            other.sendto(bytes(1000), link.local)
        assert link.receive() is None
    assert link.counters.kernel_drops >= 100 - link.counters.strangers // 2
    assert link.counters.received == 0


@pytest.fixture
def nowhere():
    """Return an address of this machine where nothing listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        plain.bind(('127.0.0.1', 0))
        return plain.getsockname()


def test_what_nothing_listens_to_is_refused_while_that_is_watched(open_socket, nowhere):
    link = open_socket(('127.0.0.1', 0), peer=nowhere)
    assert link.send(b'unwatched')
    assert link.take_refusals() == 0
    link.watch_refusals(True)
    for _ in range(5):
        assert link.send(b'watched')
    assert link.counters.send_errors == 0
    # It waits to be taken, and then no more: a loop would never sleep again.
    assert select.select([link], [], [], DEADLINE)[0]
    assert link.receive() is None
    assert link.take_refusals() >= 5
    assert not select.select([link], [], [], 0.0)[0]
    assert link.take_refusals() == 0
    assert link.send(b'watched')
    link.watch_refusals(False)
    assert link.send(b'unwatched')
    assert link.take_refusals() == 0
    assert not select.select([link], [], [], 0.0)[0]


def test_only_the_peers_refusals_count_and_no_other_machines(open_socket, other, nowhere):
    link = open_socket(('127.0.0.1', 0), peer=other.getsockname())
    link.watch_refusals(True)
    assert link.send(b'elsewhere', nowhere)
    assert link.send(b'there')
    assert other.recv(100) == b'there'
    assert link.take_refusals() == 0
    assert not select.select([link], [], [], 0.0)[0]
    far = open_socket(('', 0), peer=('192.0.2.1', 9))
    far.watch_refusals(True)
    far.send(b'there')
    assert far._refusals is None
