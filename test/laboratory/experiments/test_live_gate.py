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


"""The door of the live view, by sockets: one page for browsers, and WebSockets are passed on."""

from contextlib import closing, suppress
import re
import socket
import time

import pytest

from xplane_bridge.common.data import folder
from xplane_bridge.laboratory.experiments import live_gate
from xplane_bridge.laboratory.experiments.live_gate import answer, LiveGate

PAGE = b'<!DOCTYPE html><title>a page</title>'
# More than the kernel takes.
LARGE = bytes(8 * 2**20)
UPGRADE = (b'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n'
           b'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n')


@pytest.fixture
def behind():
    """Return a listening socket in place of the WebSocket server."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        server.settimeout(30.0)
        yield server


def connect(gate):
    """Return a connection to a gate."""
    return socket.create_connection(('127.0.0.1', gate.port), timeout=30.0)


def asked(gate, request):
    """Return all that a gate says to a request, until it closes the connection."""
    said = b''
    with connect(gate) as browser, suppress(ConnectionError):
        browser.sendall(request)
        while data := browser.recv(65536):
            said += data
    return said


def answered(gate):
    """Wait until a gate gives the page to somebody."""
    deadline = time.monotonic() + 30.0
    while not asked(gate, b'GET / HTTP/1.1\r\n\r\n').startswith(b'HTTP/1.1 200 '):
        assert time.monotonic() < deadline, 'no page'


@pytest.mark.parametrize(('line', 'status'), [
    (b'GET / HTTP/1.1', 200), (b'GET / HTTP/1.0', 200), (b'GET /?from=bookmark HTTP/1.1', 200),
    (b'GET /favicon.ico HTTP/1.1', 404), (b'GET /live.html HTTP/1.1', 404),
    (b'GET /../../../../etc/passwd HTTP/1.1', 404), (b'GET /%2e%2e/etc/passwd HTTP/1.1', 404),
    (b'GET //etc/passwd HTTP/1.1', 404), (b'GET /\\..\\x HTTP/1.1', 404),
    (b'POST / HTTP/1.1', 405), (b'HEAD / HTTP/1.1', 405), (b'OPTIONS / HTTP/1.1', 405),
    (b'CONNECT example.com:443 HTTP/1.1', 400), (b'GET http://example.com/ HTTP/1.1', 400),
    (b'GET / HTTP/2.0', 400), (b'GET /', 400), (b'GET / / HTTP/1.1', 400),
    (b'get / HTTP/1.1', 400), (b'GET /\xff HTTP/1.1', 400), (b'\x16\x03\x01\x02\x00', 400),
    (b'', 400)])
def test_there_is_one_page_and_nothing_else(line, status):
    said = answer(line + b'\r\nHost: 127.0.0.1\r\n\r\n', PAGE)
    head, _, body = said.partition(b'\r\n\r\n')
    assert head.startswith(f'HTTP/1.1 {status} '.encode())
    assert (body == PAGE) is (status == 200)
    assert f'\r\nContent-Length: {len(body)}\r\n'.encode() in head
    assert head.endswith(b'\r\nAllow: GET') is (status == 405)


def test_a_page_from_elsewhere_is_given_nothing():
    head = b'GET / HTTP/1.1\r\nOrigin: https://evil.example\r\n\r\n'
    assert answer(head, PAGE).startswith(b'HTTP/1.1 403 ')


def test_a_browser_gets_the_page_and_may_load_nothing_else(behind):
    with closing(LiveGate(0, behind.getsockname(), PAGE)) as gate:
        head, _, body = asked(gate, b'GET / HTTP/1.1\r\n\r\n').partition(b'\r\n\r\n')
    assert body == PAGE
    assert b'\r\nContent-Type: text/html; charset=utf-8\r\n' in head
    assert b"\r\nContent-Security-Policy: default-src 'none'; " in head


def test_a_websocket_is_passed_on(behind):
    with closing(LiveGate(0, behind.getsockname(), PAGE)) as gate, connect(gate) as viewer:
        viewer.sendall(UPGRADE)
        inner, _ = behind.accept()
        with inner:
            assert inner.recv(1000) == UPGRADE
            inner.sendall(b'HTTP/1.1 101 ')
            assert viewer.recv(1000) == b'HTTP/1.1 101 '


def test_a_seventeenth_connection_is_closed_until_another_one_leaves(behind):
    with closing(LiveGate(0, behind.getsockname(), LARGE)) as gate:
        idle = [connect(gate) for _ in range(16)]
        # Half of them ask, but read no more than the beginning.
        for one in idle[:8]:
            one.sendall(b'GET / HTTP/1.1\r\n\r\n')
            assert one.recv(1) == b'H'
        assert asked(gate, b'GET / HTTP/1.1\r\n\r\n') == b''
        idle.pop().close()
        answered(gate)
        for one in idle:
            one.close()


def test_browsers_that_do_not_read_are_left(behind, monkeypatch):
    monkeypatch.setattr(live_gate, '_PATIENCE', 0.1)
    with closing(LiveGate(0, behind.getsockname(), LARGE)) as gate:
        slow = [connect(gate) for _ in range(16)]
        for one in slow:
            one.sendall(b'GET / HTTP/1.1\r\n\r\n')
        answered(gate)
        for one in slow:
            one.close()


def test_the_page_is_small_and_stands_alone():
    text = (folder('view') / 'live.html').read_text(encoding='utf-8')
    assert len(text) < 48 * 1024
    # Text of a flight is never markup, nothing is loaded, and nothing is kept in the browser.
    assert not re.findall(
        r'innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(|fetch\('
        r'|\bimport\b|XMLHttp|\bsrc=|@import|url\(|localStorage|cookie|<iframe|<form|<a ', text)
    assert re.findall(r'https?://[^\s"\']+', text) == [
        'http://www.apache.org/licenses/LICENSE-2.0']
    assert set(re.findall(r'wss?://[^`\'"]+', text)) == {'ws://${location.host}'}
