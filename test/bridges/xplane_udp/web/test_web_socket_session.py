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


"""The bridge's end of X-Plane's WebSocket: messages, session, and the simulated X-Plane."""

from contextlib import contextmanager
import json
import math
import queue
import time
from types import SimpleNamespace

import pytest

pytest.importorskip('jsbsim', reason='JSBSim is not installed')

from hypothesis import given
from hypothesis import strategies as st
from kept_ports import kept_endpoint, kept_port

from xplane_bridge.bridges.links.http_queue import HttpQueue
from xplane_bridge.bridges.links.websocket import WebSocket
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xplane_udp.protocol import web_api, web_socket
from xplane_bridge.bridges.xplane_udp.protocol.web_api import DatarefInfo, WebApiRefusedError
from xplane_bridge.bridges.xplane_udp.web.socket import (
    CommandReported,
    MOST_ELEMENTS,
    ValuesChanged,
    Watched,
    WebApiSession,
)
from xplane_bridge.bridges.xplane_udp.web.web_client import WebClient
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend
from xplane_bridge.simulation.peers.xplane_udp.web_api import SimulatedWebApi
from xplane_bridge.simulation.peers.xplane_udp.web_server import WebServer

DEADLINE = 30.0
TAIL = 'sim/aircraft/view/acf_tailnum'
PATHS = 'sim/operation/override/override_planepath'
LATITUDE = 'sim/flightmodel/position/latitude'
BRAKES = 'sim/flight_controls/brakes_max'


# Messages.


@pytest.mark.parametrize('text', [
    '', '[]', '1', '{}', '{"type": "x"}', '[' * 100_000, '{"type": "result"}',
    '{"type": "result", "req_id": true, "success": true}',
    '{"type": "result", "req_id": 1, "success": 1}', '{"type": "dataref_update_values"}',
    '{"type": "dataref_update_values", "data": {"x": 1}}',
    '{"type": "dataref_update_values", "data": {"-1": 1}}',
    '{"type": "dataref_update_values", "data": {"99999999999999999999": 1}}',
    '{"type": "command_update_is_active", "data": {"1": 1}}',
    '{"type": "command_update_is_active", "data": {"²": true}}',
])
def test_messages_that_make_no_sense_are_protocol_errors(text):
    with pytest.raises(ProtocolError):
        web_socket.read(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(['1', '2', '3', 'x']), inner, max_size=3), max_leaves=6)


@given(st.text() | st.builds(
    lambda type_, data, number, success: json.dumps(
        {'type': type_, 'data': data, 'req_id': number, 'success': success}),
    st.sampled_from(['result', 'dataref_update_values', 'command_update_is_active']), JSON,
    JSON, JSON))
def test_whatever_is_heard_the_session_goes_on(text):
    session = watching()
    session.ask(b'{}')
    session.receive(text, 0.0)


def test_requests_are_what_the_document_shows():
    array = DatarefInfo(4, 'a', 'int_array')
    data = DatarefInfo(5, 'd', 'data')
    for request, type_, params in (
            (web_socket.subscribe('/r', {4: None, 5: (1, 5)}), 'dataref_subscribe_values',
             {'datarefs': [{'id': 4}, {'id': 5, 'index': [1, 5]}]}),
            (web_socket.watch_command('/r', 7), 'command_subscribe_is_active',
             {'commands': [{'id': 7}]}),
            (web_socket.unwatch_command('/r', 7), 'command_unsubscribe_is_active',
             {'commands': [{'id': 7}]}),
            (web_socket.unsubscribe_all('/r'), 'dataref_unsubscribe_values', {'datarefs': 'all'}),
            (web_socket.set_values('/r', [(array, (1.0, 2.0), None), (array, (3.0,), 2),
                                          (data, b'A\0', None)]), 'dataref_set_values',
             {'datarefs': [{'id': 4, 'value': [1, 2]}, {'id': 4, 'value': 3, 'index': 2},
                           {'id': 5, 'value': 'QQA='}]}),
            (web_socket.hold('/r', 7, 15), 'command_set_is_active',
             {'commands': [{'id': 7, 'is_active': True, 'duration': 15.0}]}),
            (web_socket.release('/r', [7]), 'command_set_is_active',
             {'commands': [{'id': 7, 'is_active': False}]})):
        assert (request.method, request.path) == (web_socket.SOCKET, '/r')
        assert json.loads(web_socket.numbered(request.body, 12)) == {
            'req_id': 12, 'type': type_, 'params': params}
    for value in (0.5, math.inf):
        with pytest.raises(ValueError, match='holds whole numbers|finite'):
            web_socket.set_values('/r', [(array, (value,), 0)])


# The session.


def watching():
    session = WebApiSession()
    session.watch({
        1: Watched(DatarefInfo(1, 'a', 'float_array'), (1, 3), {'a[3]': 3, 'a[1]': 1}),
        2: Watched(DatarefInfo(2, 't', 'data'), None, {'t': None}),
        3: Watched(DatarefInfo(3, 'b', 'float_array'), None, {'b': None, 'b[1]': 1})})
    return session


def told(session, type_='dataref_update_values', **data):
    return session.receive(json.dumps(
        {'type': type_, 'data': {key[1:]: value for key, value in data.items()}}), 5.0)


def test_values_have_the_names_that_were_asked_for_and_bad_ones_spoil_no_others():
    session = watching()
    changed, = told(session, _1=[0.5, 7.0], _2='SEIA', _3=[1.0, 2.0], _99=4)
    assert isinstance(changed, ValuesChanged)
    assert {name: reading.text or reading.value for name, reading in changed.values.items()} == {
        'a[3]': (7.0,), 'a[1]': (0.5,), 't': 'HB', 'b': (1.0, 2.0), 'b[1]': (2.0,)}
    changed, = told(session, _1=[1.0], _2='?', _3=[4.0, 5.0])
    assert changed.values['b'].value == (4.0, 5.0)
    assert changed.values['a[3]'].value == (7.0,)
    assert session.statistics.malformed == 2
    assert 'got 1 values, expected the elements 1, 3' in session.statistics.last_error or (
        'expected base64' in session.statistics.last_error)
    assert told(session, _3=[0.0] * (MOST_ELEMENTS + 1)) == []
    assert session.last_update == 5.0
    session.lost()
    assert not session.is_watching
    assert told(session, _3=[1.0]) == []


def test_what_x_plane_says_of_a_command_is_told_with_its_connection():
    session = WebApiSession()
    session.lost()
    session.watch_command(8, BRAKES)
    for active in (False, True, True, False, True):
        assert told(session, 'command_update_is_active', _8=active, _9=True) == [
            CommandReported(BRAKES, active, 1)]
        assert session.active == ((BRAKES,) if active else ())
    assert session.number_of(BRAKES) == 8
    session.lost()
    assert session.active == ()
    assert session.number_of(BRAKES) is None


def test_an_answer_counts_though_the_connection_ended_just_after_it():
    session = WebApiSession()
    answered, open_ = session.ask(b'{}')[0], session.ask(b'{}')[0]
    session.receive(json.dumps({'req_id': answered, 'type': 'result', 'success': True}), 0.0)
    session.lost()
    assert session.answer(answered).status == 200
    assert session.answer(open_) is None
    session.forget(answered)
    assert session.answer(answered) is None


# Against the simulated X-Plane, in its time.


class Line:
    """A WebClient and a simulated X-Plane, between two frames."""

    def __init__(self):
        self.client = WebClient()
        self.events = []
        self.asked = self.requests = 0
        self.start()

    def start(self):
        """Start X-Plane anew."""
        self.world = World(Aircraft())
        self.xplane = SimulatedWebApi(self.world)
        self.peer = None

    def lose(self):
        """Lose the connection, as when X-Plane ends."""
        if self.peer is not None:
            self.peer.close()
            self.peer = None
        self.client.socket.lost()

    def converse(self, steps):
        reply = None
        try:
            while True:
                reply = self.ask(steps.send(reply))
        except StopIteration as end:
            return end.value

    def ask(self, request):
        self.requests += 1
        if request.method != web_socket.SOCKET:
            status, body = self.xplane.answer(request.method, request.path, request.body)
            return SimpleNamespace(status=status, body=body)
        session = self.client.socket
        assert request.connection == session.connection
        self.peer = self.peer or self.xplane.join(request.path)
        self.asked += 1
        number, text = session.ask(request.body)
        self.events += session.receive(self.peer.receive(text), 0.0)
        return session.answer(number)

    def advance(self, seconds, step=0.1):
        for _ in range(round(seconds / step)):
            self.world.advance(step)
            self.xplane.step()
            for text in self.peer.step() if self.peer is not None else ():
                self.events += self.client.socket.receive(text, 0.0)


def test_a_command_is_held_for_30_s_without_a_gap_and_released_at_once():
    line = Line()
    line.converse(line.client.hold(BRAKES, lambda connection: 100.0))
    for _ in range(300):
        line.advance(0.1)
        assert line.world.aircraft.state.left_brake == 1.0
    assert line.client.socket.active == (BRAKES,)
    line.converse(line.client.release([BRAKES]))
    line.advance(0.2)
    assert line.world.aircraft.state.left_brake == 0.0
    assert [event.is_active for event in line.events] == [True, False]
    # A lease ends in X-Plane, even if nobody is here any more; and renewal replaces it.
    line.converse(line.client.hold(BRAKES, lambda connection: 1.0))
    line.advance(0.8)
    asked = line.asked
    line.converse(line.client.hold(BRAKES, lambda connection: 1.0))
    # X-Plane tells of this command already.
    assert line.asked == asked + 1
    line.advance(0.8)
    assert line.world.held
    line.advance(0.4)
    assert not line.world.held
    line.converse(line.client.hold(BRAKES, lambda connection: 50.0))
    line.lose()
    assert not line.world.held
    with pytest.raises(ValueError, match='its time was over'):
        line.converse(line.client.hold(BRAKES, lambda connection: 0.0))
    with pytest.raises(WebApiRefusedError, match='invalid_command_name'):
        line.converse(line.client.hold('sim/no', lambda connection: 1.0))
    # Nothing is held over this connection.
    with pytest.raises(OSError, match='the connection was lost'):
        line.converse(line.client.release(['sim/no']))


def test_datarefs_are_watched_and_written_with_arrays_and_text():
    line = Line()
    names = [TAIL, f'{PATHS}[3]', f'{PATHS}[1]', LATITUDE, 'sim/no', f'{PATHS}[77]']
    failed = line.converse(line.client.watch(names))
    # An index that X-Plane does not have spoils its dataref only.
    assert set(failed) == {'sim/no', f'{PATHS}[1]', f'{PATHS}[3]', f'{PATHS}[77]'}
    assert 'index_out_of_range' in failed[f'{PATHS}[77]']
    assert line.converse(line.client.watch(names[:4])) == {}
    line.converse(line.client.set_values([
        (TAIL, (), 'HB-XYZ'), (f'{PATHS}[3]', (1.0,), '')]))
    line.advance(0.3)
    values = line.events[-1].values
    assert values[TAIL].text == 'HB-XYZ'
    assert (values[f'{PATHS}[3]'].value, values[f'{PATHS}[1]'].value) == ((1.0,), (0.0,))
    assert values[LATITUDE].value == (line.world.aircraft.state.lat_deg,)
    line.converse(line.client.set_values([(PATHS, [0.0] * 20, '')]))
    line.advance(0.3)
    assert line.events[-1].values[f'{PATHS}[3]'].value == (0.0,)
    for item, said in (((PATHS, [1.0], ''), 'insufficient_data'), ((TAIL, [1.0], ''), 'give text'),
                       ((TAIL, (), 'x' * 40), '40 bytes and a final NUL do not fit into its 40'),
                       ((LATITUDE, [1.0], ''), 'is read-only')):
        with pytest.raises(ValueError, match=said):
            line.converse(line.client.set_values([item]))
    # Of other datarefs only those are sent.
    assert line.converse(line.client.watch([PATHS])) == {}
    line.advance(0.3)
    assert set(line.events[-1].values) == {PATHS}
    assert list(line.peer._datarefs) == [line.xplane.store.ids['datarefs'][PATHS]]
    assert line.converse(line.client.watch([])) == {}
    assert not line.client.socket.is_watching


def test_many_datarefs_cost_few_requests_and_an_unknown_one_costs_few_more():
    line = Line()
    names = sorted(line.xplane.store.ids['datarefs'])[:50]
    assert line.converse(line.client.watch(names)) == {}
    # Versions, two of look-ups, and two over the WebSocket.
    assert line.requests <= 5
    line.advance(0.3)
    assert line.client.socket.arrived == line.client.found(names) == 50
    line.requests = 0
    assert line.converse(line.client.watch(names)) == {}
    assert line.requests == 2
    names[7], names[30] = 'sim/no', 'sim/no[3]'
    line.client.forget()
    line.requests = 0
    assert set(line.converse(line.client.watch(names))) == {'sim/no', 'sim/no[3]'}
    assert line.requests < 20
    assert [reading is None for reading in line.converse(line.client.describe(names))] == [
        name.startswith('sim/no') for name in names]


def test_what_was_looked_up_survives_a_time_out_and_a_server_may_heed_one_filter_only():
    line = Line()
    names = sorted(line.xplane.store.ids['datarefs'])[:50]
    answer, asked = line.xplane.answer, []

    def first_filter(method, target, body=b''):
        asked.append(target)
        return answer(method, target.partition('&')[0], body)

    line.xplane.answer = first_filter
    steps = line.client.watch(names)
    request = next(steps)
    for _ in range(20):
        request = steps.send(line.ask(request))
    with pytest.raises(OSError, match='timed out'):
        # Then once more, and it is over.
        steps.throw(OSError('timed out'))
        steps.throw(OSError('timed out'))
    found = line.client.found(names)
    assert found >= 15
    asked.clear()
    assert line.converse(line.client.watch(names)) == {}
    assert len(asked) <= 50 - found + 3


def test_another_run_of_xplane_is_asked_for_its_ids():
    line = Line()
    line.converse(line.client.watch([TAIL]))
    line.converse(line.client.hold(BRAKES, lambda connection: 9.0))
    line.lose()
    line.start()
    # Nobody has noticed that it is another one: X-Plane refuses the ids.
    line.converse(line.client.hold(BRAKES, lambda connection: 9.0))
    line.advance(0.2)
    assert line.world.held
    assert line.converse(line.client.watch([TAIL])) == {}
    line.advance(0.2)
    assert line.events[-1].values[TAIL].text == 'N172XB'


def test_what_does_no_harm_twice_is_asked_again_over_a_new_connection():
    line = Line()

    def lose_first(steps):
        """Converse, with the connection lost at the first message over it."""
        request, is_lost = next(steps), False
        try:
            while True:
                if request.method == web_socket.SOCKET and not is_lost:
                    is_lost = True
                    line.lose()
                    request = steps.throw(OSError('lost'))
                else:
                    request = steps.send(line.ask(request))
        except StopIteration as end:
            return end.value

    lose_first(line.client.set_values([(TAIL, (), 'HB-XYZ')]))
    assert lose_first(line.client.watch([TAIL])) == {}
    line.advance(0.2)
    assert line.events[-1].values[TAIL].text == 'HB-XYZ'

    def fail(steps, *errors):
        """Converse until the first message over the connection, which fails each time."""
        request, errors = next(steps), list(errors)
        while True:
            request = steps.throw(errors.pop(0)) if request.method == web_socket.SOCKET else (
                steps.send(line.ask(request)))

    with pytest.raises(OSError, match='whether it was done'):
        fail(line.client.watch([TAIL]), OSError('whether it was done'), OSError('time is over'))
    # A command would be held for too long.
    with pytest.raises(OSError, match='lost'):
        lose_first(line.client.hold(BRAKES, lambda connection: 1.0))


# Over real sockets.


@contextmanager
def talking(address):
    """Yield a function that holds conversations, with its client, events and losses."""
    client, events, lost = WebClient(), queue.Queue(), queue.Queue()
    line = WebSocket(address, 'the Web API', client.socket, on_event=events.put,
                     on_lost=lost.put)
    http = HttpQueue(address, 'Web API', web_api.CONTENT_TYPE, due=lambda now: (None, None),
                     due_timeout=DEADLINE, web_socket=line)

    def ask(steps):
        ended = queue.Queue()
        http.start(steps, DEADLINE, lambda *result: ended.put(result))
        result, error = ended.get(timeout=DEADLINE)
        if error is not None:
            raise error
        return result

    ask.client, ask.events, ask.lost, ask.close = client, events, lost, line.end
    yield ask
    http.end()


def test_over_a_real_socket_through_a_restart_of_xplane():
    pytest.importorskip('wsproto', reason='wsproto is not installed')
    web = WebServer(('127.0.0.1', kept_port()))
    with running(XplaneUdpFrontend(kept_endpoint(), sender=kept_endpoint(), web=web)) as server, \
            talking(web.address) as ask:
        client = ask.client
        for _ in range(2):
            assert ask(client.watch([TAIL, LATITUDE])) == {}
            while TAIL not in (values := ask.events.get(timeout=DEADLINE).values):
                pass
            assert values[TAIL].text == 'N172XB'
            ask(client.hold(BRAKES, lambda connection: 60.0))
            assert server.call(lambda world: list(world.held)) == [BRAKES]
            # What is held over a connection is released with it.
            ask.close()
            deadline = time.monotonic() + DEADLINE
            while server.call(lambda world: list(world.held)):
                assert time.monotonic() < deadline
            ask(client.hold(BRAKES, lambda connection: 60.0))
            server.switch_off()
            assert 'closed with code 1000' in ask.lost.get(timeout=DEADLINE)
            with pytest.raises(OSError, match='refused'):
                ask(client.hold(BRAKES, lambda connection: 60.0))
            server.switch_on()
            assert server.call(lambda world: list(world.held)) == []
            while not ask.events.empty():
                ask.events.get()
