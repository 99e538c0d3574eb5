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


"""The simulated X-Plane's WebSocket between two frames, without a socket; and over a real one."""

import asyncio
from contextlib import ExitStack
import http.client
import json
import select
import socket

import pytest

pytest.importorskip('jsbsim', reason='JSBSim is not installed')

from hypothesis import given, settings
from hypothesis import strategies as st

from xplane_bridge.common import optional
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers import http as bounds
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend
from xplane_bridge.simulation.peers.xplane_udp.web_api import SimulatedWebApi
from xplane_bridge.simulation.peers.xplane_udp.web_server import WebServer

DEADLINE = 30.0
TAIL = 'sim/aircraft/view/acf_tailnum'
PATHS = 'sim/operation/override/override_planepath'
Q = 'sim/flightmodel/position/q'
BRAKES = 'sim/flight_controls/brakes_max'
FLAPS_DOWN = 'sim/flight_controls/flaps_down'


class Client:
    """One WebSocket of a simulated X-Plane, and that X-Plane's time."""

    def __init__(self, version='v3', xplane=None):
        self.world = World(Aircraft()) if xplane is None else xplane.store.world
        self.xplane = xplane or SimulatedWebApi(self.world)
        self.peer = self.xplane.join(f'/api/{version}')
        self.number = 0

    def id(self, name):
        return next(ids[name] for ids in self.xplane.store.ids.values() if name in ids)

    def ask(self, type_, **params):
        self.number += 1
        result = json.loads(self.peer.receive(json.dumps(
            {'req_id': self.number, 'type': type_, 'params': params})))
        assert (result['req_id'], result['type']) == (self.number, 'result')
        return result.get('error_code', '') if not result['success'] else 'success'

    def advance(self, seconds, step=0.02):
        """Return the updates of a time, each with its message."""
        updates = []
        for _ in range(round(seconds / step)):
            self.world.advance(step)
            self.xplane.step()
            updates += map(json.loads, self.peer.step())
        return updates


def values(updates, number):
    return [update['data'][str(number)] for update in updates if str(number) in update['data']]


def test_values_come_ten_times_per_second_when_they_change():
    client = Client()
    q, tail, paths = map(client.id, (Q, TAIL, PATHS))
    assert client.ask('dataref_subscribe_values', datarefs=[
        {'id': q}, {'id': tail}, {'id': paths, 'index': [9, 1]}]) == 'success'
    updates = client.advance(1.0)
    assert {update['type'] for update in updates} == {'dataref_update_values'}
    assert 9 <= len(values(updates, q)) <= 11
    assert len(values(updates, q)[0]) == 4
    assert values(updates, tail) == ['TjE3MlhC' + 'AAAA' * 11 + 'AA==']
    assert values(updates, paths) == [[0, 0]]
    assert client.ask('dataref_set_values', datarefs=[
        {'id': paths, 'index': 9, 'value': 1}]) == 'success'
    assert values(client.advance(0.2), paths) == [[0, 1]]
    # Another element joins in ascending order; one that goes leaves no gap.
    one, three = {'id': paths, 'index': 1}, {'id': paths, 'index': 3}
    assert client.ask('dataref_subscribe_values', datarefs=[three]) == 'success'
    assert client.ask('dataref_set_values', datarefs=[three | {'value': 1}]) == 'success'
    assert values(client.advance(0.2), paths) == [[0, 1, 1]]
    assert client.ask('dataref_unsubscribe_values', datarefs=[one]) == 'success'
    assert values(client.advance(0.2), paths) == [[1, 1]]
    assert client.ask('dataref_unsubscribe_values', datarefs='all') == 'success'
    assert client.advance(0.3) == []


def test_what_is_wrong_with_one_dataref_fails_all_of_a_request():
    client = Client()
    q, tail, lat = map(client.id, (Q, TAIL, 'sim/flightmodel/position/latitude'))
    for item, code in (
            ({'id': 3}, 'invalid_dataref_id'), ({'id': q, 'index': 4}, 'index_out_of_range'),
            ({'id': q, 'index': []}, 'index_out_of_range'),
            ({'id': q, 'index': -1}, 'index_out_of_range'),
            ({'id': lat, 'index': 0}, 'not_an_array'), ({'id': tail, 'index': 0}, 'not_an_array'),
            ({'id': '1'}, 'invalid_value'), (7, 'invalid_value')):
        assert client.ask('dataref_subscribe_values', datarefs=[{'id': lat}, item]) == code, item
    assert client.advance(0.3) == []
    for item, code in (
            ({'id': q, 'value': [1.0]}, 'insufficient_data'), ({'id': q}, 'insufficient_data'),
            ({'id': lat, 'value': 1.0}, 'dataref_is_readonly'),
            ({'id': q, 'value': 1.0, 'index': 9}, 'index_out_of_range'),
            ({'id': tail, 'value': '?'}, 'insufficient_data')):
        assert client.ask('dataref_set_values', datarefs=[item]) == code, item


def test_a_command_is_held_until_it_is_released_and_its_state_is_told():
    client = Client('v2')
    brakes, flaps = client.id(BRAKES), client.id(FLAPS_DOWN)
    assert client.ask('command_subscribe_is_active', commands=[{'id': brakes}]) == 'success'
    assert values(client.advance(0.2), brakes) == [False]
    held = {'id': brakes, 'is_active': True}
    pressed = {'id': flaps, 'is_active': True, 'duration': 0}
    assert client.ask('command_set_is_active', commands=[held, pressed]) == 'success'
    updates = client.advance(15.0, step=0.1)
    assert values(updates, brakes) == [True]
    assert client.world.aircraft.state.left_brake == 1.0
    assert list(client.world.held) == [BRAKES]
    # A duration replaces what was there; an end cancels it.
    assert client.ask('command_set_is_active', commands=[
        {'id': brakes, 'is_active': True, 'duration': 0.5}]) == 'success'
    assert client.ask('command_set_is_active', commands=[
        {'id': brakes, 'is_active': True, 'duration': 1.5}]) == 'success'
    assert values(client.advance(1.3), brakes) == []
    assert values(client.advance(0.5), brakes) == [False]
    assert client.ask('command_unsubscribe_is_active', commands='all') == 'success'
    for item, code in (
            ({'id': 5, 'is_active': True}, 'invalid_command_id'),
            ({'id': brakes, 'is_active': True, 'duration': 90_000}, 'duration_out_of_range'),
            ({'id': brakes, 'is_active': True, 'duration': -1}, 'duration_out_of_range'),
            ({'id': brakes, 'is_active': 1}, 'invalid_value')):
        assert client.ask('command_set_is_active', commands=[item]) == code, item


def test_what_a_connection_holds_is_released_with_it_and_not_what_others_hold():
    one = Client()
    other = Client(xplane=one.xplane)
    number = one.id(BRAKES)
    for client in (one, other):
        client.ask('command_set_is_active', commands=[{'id': number, 'is_active': True}])
    one.peer.close()
    assert one.world.held
    other.peer.close()
    assert not one.world.held


def test_v1_has_no_commands_and_other_paths_no_websocket():
    client = Client('v1')
    assert client.ask('command_set_is_active', commands=[]) == 'unknown_type'
    assert client.ask('dataref_subscribe_values', datarefs=[]) == 'success'
    xplane = SimulatedWebApi(client.world, 'v2')
    assert xplane.join('/api/v2') is not None
    for path in ('/api/v3', '/api/', '/', '/api/v2/datarefs'):
        assert xplane.join(path) is None
    assert SimulatedWebApi(client.world, 'disabled').join('/api/v2') is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(['all', 10 ** 400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(['id', 'index', 'value', 'is_active', 'duration', 'datarefs', 'commands']),
        inner, max_size=4), max_leaves=8)


def test_whatever_is_said_has_a_result():
    client = Client()

    @given(st.text() | st.builds(
        lambda type_, params, number: json.dumps(
            {'type': type_, 'params': params, 'req_id': number}),
        st.sampled_from(sorted(client.peer._types)), JSON, st.integers() | st.none()))
    @settings(max_examples=60, deadline=None)
    def check(text):
        result = json.loads(client.peer.receive(text))
        assert result['type'] == 'result'
        assert result['success'] or result['error_code']
        client.peer.step()

    check()
    assert json.loads(client.peer.receive('[' * 50_000))['error_code'] == 'invalid_body'


# Over a real socket.


def test_a_burst_is_answered_a_stranger_is_refused_and_a_restart_ends_all():
    pytest.importorskip('wsproto', reason='wsproto is not installed')
    from xplane_bridge.bridges.links.websocket_frames import WebSocketConnection
    web = WebServer(('127.0.0.1', 0))
    with running(XplaneUdpFrontend(UdpEndpoint(), sender=UdpEndpoint(), web=web)) as server:
        with socket.create_connection(web.address, DEADLINE) as plain:
            plain.sendall(b'GET /api/v3 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n'
                          b'Upgrade: websocket\r\n\r\n')
            # In one piece: so few bytes are sent at once.
            assert plain.recv(100).startswith(b'HTTP/1.1 400')
        with socket.create_connection(web.address, DEADLINE) as connection:
            frames, heard = WebSocketConnection.client('a', '/api/v3'), []

            def receive(done):
                while not done():
                    connection.sendall(frames.take())
                    heard.extend(frames.receive(connection.recv(65536)))

            receive(lambda: frames.is_open)
            for number in range(600):
                frames.send(json.dumps({'req_id': number, 'type': 'dataref_unsubscribe_values',
                                        'params': {'datarefs': 'all'}}))
            receive(lambda: len(heard) == 600)
            assert [json.loads(text)['req_id'] for text in heard] == list(range(600))
            server.switch_off()
            receive(lambda: frames.ended)
            assert frames.ended == 'closed with code 1000'


def test_pages_of_other_computers_are_refused():
    web = WebServer(('127.0.0.1', 0))
    with running(XplaneUdpFrontend(UdpEndpoint(), sender=UdpEndpoint(), web=web)):
        for origins, status in (
                ([], 200), (['http://localhost:3000'], 200), (['https://127.0.0.1'], 200),
                (['file://'], 200), (['https://example.org'], 403), (['null'], 403),
                (['http://localhost.example.org'], 403),
                (['http://localhost', 'https://example.org'], 403)):
            asking = http.client.HTTPConnection(*web.address, timeout=DEADLINE)
            asking.putrequest('GET', '/api/capabilities')
            for origin in origins:
                asking.putheader('Origin', origin)
            asking.endheaders()
            assert asking.getresponse().status == status, origins
            asking.close()


def test_who_is_slow_makes_room_when_all_places_are_taken(monkeypatch):
    web = WebServer(('127.0.0.1', 0))
    with running(XplaneUdpFrontend(UdpEndpoint(), sender=UdpEndpoint(), web=web)), \
            ExitStack() as open_ones:
        slow = [open_ones.enter_context(socket.create_connection(web.address, DEADLINE))
                for _ in range(bounds.MOST_CONNECTIONS)]
        for connection in slow:
            connection.sendall(b'G')

        def status():
            asking = http.client.HTTPConnection(*web.address, timeout=DEADLINE)
            try:
                asking.request('GET', '/api/capabilities')
                return asking.getresponse().status
            except OSError:
                return 0
            finally:
                asking.close()

        monkeypatch.setattr(bounds, '_SLOW', DEADLINE)
        assert status() == 0
        monkeypatch.setattr(bounds, '_SLOW', 0.0)
        assert status() == 200
        # One of them, that with the oldest request.
        ended, _, _ = select.select(slow, [], [], DEADLINE)
        assert [connection.recv(1) for connection in ended] == [b'']


def test_another_implementation_of_websockets_understands_it():
    pytest.importorskip('wsproto', reason='wsproto is not installed')
    tornado = pytest.importorskip('tornado.websocket', reason='tornado is not installed')
    web = WebServer(('127.0.0.1', 0))

    async def talk(number):
        client = await tornado.websocket_connect(
            f'ws://127.0.0.1:{web.address[1]}/api/v2', connect_timeout=DEADLINE)
        client.ping(b'there?')
        await client.write_message(json.dumps({
            'req_id': 7, 'type': 'dataref_subscribe_values',
            'params': {'datarefs': [{'id': number}]}}))
        heard = [json.loads(await client.read_message()) for _ in range(3)]
        client.close(1000)
        while await client.read_message() is not None:
            pass
        return heard, client.close_code

    with running(XplaneUdpFrontend(UdpEndpoint(), sender=UdpEndpoint(), web=web)) as server:
        number = server.call(lambda _: web.web_api.store.ids['datarefs'][Q])
        heard, code = asyncio.run(asyncio.wait_for(talk(number), DEADLINE))
    assert heard[0] == {'req_id': 7, 'type': 'result', 'success': True}
    assert [list(update['data']) for update in heard[1:]] == [[str(number)]] * 2
    assert code == 1000


def test_without_wsproto_it_says_so_and_rest_works(monkeypatch):
    monkeypatch.setattr(optional.importlib.util, 'find_spec', lambda name: None)
    web = WebServer(('127.0.0.1', 0))
    frontend = XplaneUdpFrontend(UdpEndpoint(), sender=UdpEndpoint(), web=web)
    with running(frontend):
        assert "(REST only: X-Plane's WebSocket needs the Python package wsproto: " in (
            frontend.address)
        for path, headers, status, said in (
                ('/api/capabilities', {}, 200, b'12.4.0'),
                ('/api/v3', {'Upgrade': 'websocket'}, 501, b'needs the Python package wsproto')):
            asking = http.client.HTTPConnection(*web.address, timeout=DEADLINE)
            asking.request('GET', path, headers=headers)
            reply = asking.getresponse()
            assert (reply.status, said in reply.read()) == (status, True)
            asking.close()
