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

"""XML-RPC calls against servers that answer well, badly, or not at all."""

from contextlib import contextmanager, suppress
import queue
import socket
import threading

from dripping import dripping
import pytest

from xplane_bridge.bridges.links.http import UnansweredError
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.links.xmlrpc import XmlRpc

DEADLINE = 30.0

# What twisted.web.xmlrpc answers for a method that returns True.
GOOD = (
    b'HTTP/1.0 200 OK\r\nContent-Type: text/xml\r\n\r\n'
    b"<?xml version='1.0'?><methodResponse><params><param><value><boolean>1</boolean></value>"
    b'</param></params></methodResponse>')
FAULT = (
    b'HTTP/1.0 200 OK\r\nContent-Type: text/xml\r\n\r\n'
    b"<?xml version='1.0'?><methodResponse><fault><value><struct>"
    b'<member><name>faultCode</name><value><int>8001</int></value></member>'
    b'<member><name>faultString</name><value><string>procedure reset not found</string></value>'
    b'</member></struct></value></fault></methodResponse>')


@contextmanager
def answering(answer):
    """Serve one connection with these bytes, whatever it asks; yield port and request."""
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        listener.listen()
        requests = []

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(5.0)
                data = b''
                while b'</methodCall>' not in data:
                    data += connection.recv(4096)
                requests.append(data)
                # A client that is sent too much closes.
                with suppress(OSError):
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], requests
        thread.join(60.0)


def test_result_of_a_method():
    with answering(GOOD) as (port, requests):
        assert XmlRpc('127.0.0.1', port).call('resume', DEADLINE) is True
    assert requests[0].startswith(b'POST / HTTP/1.1\r\n')
    assert b'<methodName>resume</methodName>' in requests[0]


@pytest.mark.parametrize(('answer', 'text'), [
    (FAULT, 'procedure reset not found'),
    (b'HTTP/1.0 404 Not Found\r\n\r\n', '404 Not Found'),
    (b'HTTP/1.0 200 OK\r\n\r\n<html></html>', 'not XML-RPC'),
    (b'HTTP/1.0 200 OK\r\n\r\nnothing of the kind', 'not XML-RPC'),
    (b'SSH-2.0-OpenSSH\r\n', 'not HTTP'),
    (b'', 'closed the connection'),
    # Each of these surfaces from Python's parser as another kind of exception.
    (GOOD.replace(b'boolean>', b'int>').replace(b'>1<', b'>abc<'), 'not XML-RPC'),
    (GOOD.replace(b'>1<', b'>7<'), 'not XML-RPC'),
    (GOOD[:GOOD.index(b'<?')] + '<?xml version="1.0"?><!DOCTYPE a>'.encode('utf-16'),
     'not XML-RPC'),
    (FAULT.replace(b'8001', b'8' * 5000), 'not XML-RPC'),
    (FAULT.replace(b'faultCode', b'code'), 'not XML-RPC'),
    (GOOD.replace(b'text/xml', b'text/html'), 'content is text/html'),
    (GOOD.replace(b'text/xml', b'text/xml\r\nContent-Encoding: gzip'), 'encoding gzip'),
    (GOOD.replace(b'<methodResponse>', b'<!DOCTYPE a [<!ENTITY b "cc">]><methodResponse>'),
     'document type'),
    (GOOD + b' ' * 70000, 'longer than 65536 bytes'),
])
def test_what_went_wrong_is_said(answer, text):
    with answering(answer) as (port, _), pytest.raises(LinkError, match=text) as error:
        XmlRpc('127.0.0.1', port).call('reset', DEADLINE)
    assert str(error.value).startswith(f'XML-RPC reset at 127.0.0.1:{port}: ')


def test_nobody_there():
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    with pytest.raises(LinkError, match='refused'):
        XmlRpc('127.0.0.1', port).call('pause', DEADLINE)


def test_silence_ends_in_time():
    with socket.socket() as deaf:
        deaf.bind(('127.0.0.1', 0))
        deaf.listen()
        with pytest.raises(UnansweredError, match='timed out'):
            XmlRpc('127.0.0.1', deaf.getsockname()[1]).call('pause', 0.2)


def test_a_server_that_drips_ends_in_time():
    """Each byte arrives in time, the answer never does."""
    with dripping() as (port, _), pytest.raises(UnansweredError, match='response within 0.3 s'):
        XmlRpc('127.0.0.1', port).call('resume', 0.3)


def test_calls_under_way_end_when_nobody_waits_any_more():
    ended = queue.Queue()
    with dripping() as (port, happened):
        rpc = XmlRpc('127.0.0.1', port)
        for _ in range(2):
            rpc.start('reset', 3600.0, lambda *result: ended.put(result))
        for _ in range(2):
            assert happened.get(timeout=DEADLINE) == 'reset asked'
        assert ended.empty()
        rpc.end()
        for _ in range(2):
            result, error = ended.get(timeout=DEADLINE)
            assert result is None
            assert isinstance(error, UnansweredError)
            assert str(error).endswith('cancelled before it was answered')
            assert happened.get(timeout=DEADLINE) == 'reset given up'
    # New calls may follow.
    with answering(GOOD) as (port, _):
        rpc = XmlRpc('127.0.0.1', port)
        rpc.end()
        assert rpc.call('resume', DEADLINE) is True


def test_more_than_four_calls_at_once_are_refused_and_none_is_lost():
    ended = queue.Queue()
    with dripping() as (port, happened):
        rpc = XmlRpc('127.0.0.1', port)
        for _ in range(4):
            rpc.start('reset', 3600.0, lambda *result: ended.put(result))
        for _ in range(4):
            assert happened.get(timeout=DEADLINE) == 'reset asked'
        before = threading.active_count()
        for _ in range(100):
            with pytest.raises(LinkError, match='4 calls of 127.0.0.1:.* are already waiting'):
                rpc.start('reset', 3600.0, lambda *result: ended.put(result))
        assert threading.active_count() <= before
        rpc.end()
        assert all(isinstance(ended.get(timeout=DEADLINE)[1], UnansweredError) for _ in range(4))
        assert ended.empty()
        # Finished calls free their slots.
        rpc.start('reset', 3600.0, lambda *result: ended.put(result))
        rpc.end()


def test_what_was_not_called_is_told_from_what_was_not_answered():
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    with pytest.raises(LinkError) as error:
        XmlRpc('127.0.0.1', port).call('pause', DEADLINE)
    assert not isinstance(error.value, UnansweredError)
    with answering(b'') as (port, _), pytest.raises(UnansweredError):
        XmlRpc('127.0.0.1', port).call('pause', DEADLINE)
