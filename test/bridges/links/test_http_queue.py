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


"""Conversations over HTTP with servers that answer well, badly, or not at all."""

from contextlib import contextmanager, suppress
import queue
import socket
import threading
import time
from types import SimpleNamespace

from dripping import dripping
import pytest

from xplane_bridge.bridges.links import http, http_queue
from xplane_bridge.bridges.links.http import is_complete, NoHttpError, parse, UnansweredError
from xplane_bridge.bridges.links.http_queue import HttpQueue
from xplane_bridge.bridges.links.udp import LinkError

DEADLINE = 30.0
GOOD = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"a": 1}'
CHUNKED = (b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
           b'3\r\n{"a\r\n5\r\n": 1}\r\n0\r\n\r\n')


@contextmanager
def answering(*answers):
    """Serve connections with these bytes, and leave them open; yield port and requests."""
    opened, requests = [], queue.Queue()
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        listener.listen()

        def serve():
            with suppress(OSError):
                for answer in answers:
                    connection, _ = listener.accept()
                    opened.append(connection)
                    requests.put(connection.recv(65536))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], requests
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(DEADLINE)
    for connection in opened:
        connection.close()


def conversation(*paths, method='GET', body=b''):
    got = []
    for path in paths:
        got.append((yield SimpleNamespace(method=method, path=path, body=body)))
    return got


def converse(port, steps, timeout=DEADLINE, **options):
    """Return the result of a conversation; raise its error."""
    ended = queue.Queue()
    http = HttpQueue(('127.0.0.1', port), 'test', 'application/json',
                     due=lambda now: (None, None), due_timeout=1.0, **options)
    http.start(steps, timeout, lambda *result: ended.put(result))
    result, error = ended.get(timeout=DEADLINE)
    http.end()
    if error is not None:
        raise error
    return result


@pytest.mark.parametrize('answer', [GOOD, CHUNKED])
def test_responses_that_are_complete_are_not_waited_for_any_longer(answer):
    """Both leave the connection open, as HTTP/1.1 servers may."""
    with answering(answer, answer) as (port, requests):
        first, second = converse(port, conversation('/a?b[c]=d', '/e'))
    assert first.body == second.body == b'{"a": 1}'
    request = requests.get(timeout=DEADLINE)
    assert request.startswith(b'GET /a?b[c]=d HTTP/1.1\r\n')
    assert b'Connection: close' in request
    for length in range(len(answer)):
        assert not is_complete(answer[:length])


def test_bodies_are_sent_with_their_length():
    with answering(GOOD) as (port, requests):
        converse(port, conversation('/a', method='PATCH', body=b'{}'))
    request = requests.get(timeout=DEADLINE)
    assert b'Content-Length: 2\r\n' in request
    assert request.endswith(b'\r\n\r\n{}')


@pytest.mark.parametrize(('answer', 'text'), [
    (GOOD.replace(b' 8', b' 900000') + b' ' * 900_000, 'longer than 65536 bytes'),
    (b'SSH-2.0-OpenSSH\r\n\r\n' * 4000, 'longer than 65536 bytes'),
    (b'HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n', 'not HTTP'),
    (b'HTTP/1.1 200 OK\r\n' + b'a: b\r\n' * 200 + b'Content-Length: 0\r\n\r\n', 'not HTTP'),
])
def test_what_is_wrong_is_said(answer, text):
    with answering(answer) as (port, _), pytest.raises(UnansweredError, match=text) as error:
        converse(port, conversation('/'))
    assert str(error.value).startswith(f'test at 127.0.0.1:{port}: ')


def test_a_conversation_is_told_its_error():
    told = []

    def steps():
        try:
            yield from conversation('/a')
        except LinkError as error:
            told.append(error)
            raise

    with answering(b'') as (port, _), pytest.raises(UnansweredError):
        converse(port, steps(), timeout=0.05)
    assert len(told) == 1


def test_any_bytes_give_a_response_or_an_error():
    for cut in range(len(CHUNKED)):
        with suppress(NoHttpError):
            parse(CHUNKED[:cut])
        with suppress(NoHttpError):
            parse(CHUNKED[:cut] + b'\xff\0' + CHUNKED[cut + 1:])


def test_a_server_that_drips_ends_in_time_and_the_rest_is_cancelled():
    ended = queue.Queue()
    with dripping() as (port, happened):
        with pytest.raises(UnansweredError, match='response within 0.2 s'):
            converse(port, conversation('/'), 0.2)
        http = HttpQueue(('127.0.0.1', port), 'test', '', due=lambda now: (None, None),
                         due_timeout=1.0)
        for n in range(3):
            http.start(conversation('/'), 3600.0, lambda *got, n=n: ended.put((n, *got)))
        asked = 0
        while asked < 2:
            asked += happened.get(timeout=DEADLINE).endswith('asked')
        http.end()
    for n in range(3):
        number, result, error = ended.get(timeout=DEADLINE)
        assert (number, result) == (n, None)
        assert isinstance(error, LinkError)
        assert 'cancelled' in str(error)


def test_what_is_being_asked_is_cancelled_alone():
    ended = queue.Queue()
    with dripping() as (port, happened):
        http = HttpQueue(('127.0.0.1', port), 'test', '', due=lambda now: (None, None),
                         due_timeout=1.0)
        for n in range(2):
            http.start(conversation('/'), 3600.0, lambda *got, n=n: ended.put((n, *got)))
        for n in range(2):
            while not happened.get(timeout=DEADLINE).endswith('asked'):
                pass
            http.interrupt()
            number, _, error = ended.get(timeout=DEADLINE)
            assert (number, 'cancelled' in str(error)) == (n, True)
        http.end()


def test_each_request_has_a_time_of_its_own(monkeypatch):
    passed = [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0])
    for module in (http, http_queue):
        monkeypatch.setattr(module, 'time', clock)

    def steps():
        for _ in range(3):
            yield SimpleNamespace(method='GET', path='/', body=b'')
            passed[0] += DEADLINE
        return 'answered'

    with answering(GOOD, GOOD, GOOD) as (port, _):
        assert converse(port, steps()) == 'answered'


def test_too_many_are_refused_and_due_conversations_are_held():
    told = queue.Queue()
    due = [(conversation('/due'), lambda *got: told.put(got))]
    with answering(GOOD, GOOD) as (port, requests):
        http = HttpQueue(('127.0.0.1', port), 'test', '', due_timeout=DEADLINE,
                         due=lambda now: (due.pop() if due else None, None))
        http.start(conversation('/first'), DEADLINE, lambda *got: told.put(got))
        for path in (b'/first', b'/due'):
            assert requests.get(timeout=DEADLINE).startswith(b'GET ' + path)
            assert told.get(timeout=DEADLINE)[1] is None
        http.end()
    with dripping() as (port, _):
        http = HttpQueue(('127.0.0.1', port), 'test', '', due=lambda now: (None, None),
                         due_timeout=1.0)
        with pytest.raises(LinkError, match='32 requests are waiting'):
            for _ in range(34):
                http.start(conversation('/'), DEADLINE, lambda *_: None)
        http.end()
