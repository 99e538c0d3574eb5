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


"""Frames of a WebSocket by any bytes, and a client against servers that misbehave."""

from contextlib import contextmanager, suppress
import json
import queue
import random
import socket
import threading
import time

import pytest

pytest.importorskip('wsproto', reason='wsproto is not installed')

from hypothesis import given, settings
from hypothesis import strategies as st

from xplane_bridge.bridges.links import websocket
from xplane_bridge.bridges.links.http import UnansweredError
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.links.websocket import TextLine, WebSocket
from xplane_bridge.bridges.links.websocket_frames import WebSocketConnection
from xplane_bridge.bridges.xplane_udp.protocol import web_socket
from xplane_bridge.bridges.xplane_udp.web.socket import WebApiSession

DEADLINE = 30.0
HEADERS = (('Host', 'a'), ('Connection', 'Upgrade'), ('Upgrade', 'websocket'),
           ('Sec-WebSocket-Key', 'AAAAAAAAAAAAAAAAAAAAAA=='), ('Sec-WebSocket-Version', '13'))


def ends(largest=1000):
    """Return both ends of an open WebSocket."""
    client = WebSocketConnection.client('a', '/api/v3', largest)
    head = client.take().decode('ascii').split('\r\n')
    server = WebSocketConnection.server(
        [tuple(line.split(': ', 1)) for line in head[1:-2]], '/api/v3', largest)
    assert server.is_open
    client.receive(server.take())
    assert client.is_open
    return client, server


def test_texts_arrive_whole_whatever_the_pieces():
    client, server = ends()
    for text in ('{"a": "ä"}', 'x' * 1000):
        client.send(text)
        sent = client.take()
        heard = [one for n in range(len(sent)) for one in server.receive(sent[n:n + 1])]
        assert heard == [text]
    server.ping()
    client.receive(server.take())
    assert server.receive(client.take()) == []
    client.close()
    assert server.receive(client.take()) == []
    assert (client.ended, server.ended) == ('closed here', 'closed with code 1000')
    client.send('too late')
    assert client.take() == b''


def test_a_message_that_is_too_long_or_not_text_ends_it():
    client, server = ends(largest=10)
    client.send('x' * 11)
    assert server.receive(client.take()) == []
    assert server.ended == 'a message is longer than 10 characters'
    client.receive(server.take())
    assert client.ended == 'closed with code 1009'
    client, server = ends()
    # Empty fragments of a text, masked with zeros: the first, then as many as one likes.
    server.receive(b'\x01\x80\0\0\0\0')
    for _ in range(99):
        server.receive(b'\x00\x80\0\0\0\0' * 100)
    assert (server.ended, server._parts) == ('', [])
    server.receive(b'\x00\x80\0\0\0\0' * 100)
    assert server.ended == 'a message has more than 10000 fragments'
    client, server = ends()
    # A binary message, masked with zeros.
    server.receive(b'\x82\x81\0\0\0\0a')
    assert server.ended == 'a message that is not text'


@pytest.mark.parametrize('place', range(len(HEADERS)))
def test_a_request_that_lacks_something_is_refused(place):
    frames = WebSocketConnection.server(HEADERS[:place] + HEADERS[place + 1:], '/')
    assert (frames.is_open, frames.take()[:12]) == (False, b'HTTP/1.1 400')
    assert frames.ended.startswith('not a WebSocket')


@given(st.binary(max_size=200), st.booleans(), st.integers(0, 1 << 32))
@settings(max_examples=200, deadline=None)
def test_any_bytes_end_it_at_worst(data, is_open, seed):
    client, server = ends() if is_open else (WebSocketConnection.client('a', '/'), ends()[1])
    server.send('{"a": 1}')
    spoilt = bytearray(server.take() + data)
    rng = random.Random(seed)
    for _ in range(rng.randrange(4)):
        spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
    for frames in (client, server):
        frames.receive(bytes(spoilt))
        frames.receive(b'')
        assert frames.ended
    name, value = HEADERS[seed % len(HEADERS)]
    WebSocketConnection.server([*HEADERS, (name, value + data.decode('latin-1')),
                                (data.decode('latin-1'), 'x')], '/')


# A client of a real socket.


@contextmanager
def serving(converse):
    """Run a server of WebSockets; ``converse(connection, frames)`` is called for each."""
    with socket.create_server(('127.0.0.1', 0)) as listener:
        def run():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    head = b''
                    while b'\r\n\r\n' not in head:
                        head += connection.recv(4096)
                    lines = head.decode('ascii').split('\r\n')
                    frames = WebSocketConnection.server(
                        [tuple(line.split(': ', 1)) for line in lines[1:-2]], '/')
                    converse(connection, frames)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield listener.getsockname()
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(DEADLINE)


def client_of(address):
    events, lost = queue.Queue(), queue.Queue()
    session = WebApiSession()
    client = WebSocket(address, 'test', session, on_event=events.put, on_lost=lost.put)
    return client, session, lost


def request(connection=0):
    return web_socket.WebRequest('WEBSOCKET', '/api/v3', b'{"type": "a"}', connection)


def answering(connection, frames, *answers):
    """Accept, answer each message with the next function, then close."""
    answers = list(answers)
    connection.sendall(frames.take())
    while answers and not frames.ended:
        for text in frames.receive(connection.recv(4096)):
            for answer in answers.pop(0)(json.loads(text)['req_id']):
                frames.send(answer)
            connection.sendall(frames.take())
    frames.close()
    connection.sendall(frames.take())


def result(number, **more):
    return json.dumps({'req_id': number, 'type': 'result', 'success': True} | more)


def test_results_find_their_questions_and_nonsense_is_counted():
    with serving(lambda connection, frames: answering(
            connection, frames,
            lambda number: ['', '[', result(99), result(number)],
            lambda number: [result(number, success=False, error_code='a')])) as address:
        client, session, lost = client_of(address)
        until = time.monotonic() + DEADLINE
        assert client.ask(request(), until, client.ends).status == 200
        refused = client.ask(request(), until, client.ends)
        assert (refused.status, json.loads(refused.body)['error_code']) == (400, 'a')
        assert (session.statistics.malformed, session.statistics.unexpected) == (1, 1)
        assert 'closed with code 1000' in lost.get(timeout=DEADLINE)
        # Ids were those of that connection.
        with pytest.raises(LinkError, match='the connection was lost meanwhile'):
            client.ask(request(), until, client.ends)
        assert client.ask(request(session.connection), until, client.ends).status == 200
        client.end()


def test_a_server_that_says_nothing_hangs_up_or_refuses_is_told():
    def silent(connection, frames):
        connection.sendall(frames.take())
        with suppress(ConnectionResetError):
            while connection.recv(4096):
                pass

    with serving(silent) as address:
        client, session, lost = client_of(address)
        with pytest.raises(UnansweredError, match='timed out'):
            client.ask(request(), time.monotonic() + 0.3, client.ends)
        # Whatever was asked, ends with the connection.
        assert 'a question was not answered' in lost.get(timeout=DEADLINE)
        assert session.connection == 1
        ended = queue.Queue()

        def ask():
            try:
                client.ask(request(1), time.monotonic() + DEADLINE, begun)
            except LinkError as error:
                ended.put(str(error))

        begun = client.ends
        thread = threading.Thread(target=ask)
        thread.start()
        client.end()
        assert 'cancelled' in ended.get(timeout=DEADLINE)
        thread.join(DEADLINE)
    for converse, said in (
            (lambda connection, frames: None, 'closed'),
            (lambda connection, frames: connection.sendall(b'HTTP/1.1 403 No\r\n\r\n'), '403'),
            (lambda connection, frames: connection.sendall(b'\xff\r\n\r\n'), 'not a WebSocket')):
        with serving(converse) as address:
            client, _, lost = client_of(address)
            with pytest.raises(LinkError, match=said):
                client.ask(request(), time.monotonic() + DEADLINE, client.ends)
            assert lost.empty()
    with pytest.raises(LinkError, match='refused'):
        client_of(address)[0].ask(request(), time.monotonic() + DEADLINE, 0)


def test_a_silent_peer_is_pinged_and_one_that_reads_nothing_is_left(monkeypatch):
    monkeypatch.setattr(websocket, '_SILENCE', 0.05)
    here, there = socket.socketpair()
    with here, there:
        client, server = ends()
        line = TextLine(lambda text: None)
        line.carry(here, server)
        assert line.ended == 'silent for 0.1 s'
        client.receive(there.recv(100))
        # It was pinged, and would have answered.
        assert client.take()[:1] == b'\x8a'
    for texts, size, most in ((300, 1, '256 messages'), (100, 1 << 17, '8388608 characters')):
        here, there = socket.socketpair()
        with here, there:
            line = TextLine(lambda text: None)
            for _ in range(texts):
                line.say('x' * size)
            # What is said after the end is not kept.
            assert not line._unsent
            line.carry(here, ends()[1])
            assert line.ended == f'{most} were not taken'
