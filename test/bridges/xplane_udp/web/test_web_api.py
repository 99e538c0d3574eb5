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


"""The client of X-Plane's Web API against the simulated X-Plane, over real HTTP on loopback."""

from contextlib import contextmanager
import json
import math
import queue
import socket
from types import SimpleNamespace

import pytest

pytest.importorskip('jsbsim', reason='JSBSim is not installed')

from xplane_bridge.bridges.links.http_queue import HttpQueue
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xplane_udp.protocol import flight, web_api
from xplane_bridge.bridges.xplane_udp.protocol.web_api import WebApiRefusedError
from xplane_bridge.bridges.xplane_udp.web.web_client import WebClient
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend
from xplane_bridge.simulation.peers.xplane_udp.web_api import SimulatedWebApi
from xplane_bridge.simulation.peers.xplane_udp.web_server import WebServer

DEADLINE = 30.0
TAIL = 'sim/aircraft/view/acf_tailnum'
PATHS = 'sim/operation/override/override_planepath'
BRAKES = 'sim/flight_controls/brakes_max'


@contextmanager
def asking(api='v3'):
    """Run the simulated X-Plane; yield a function that holds conversations with it."""
    web = WebServer(('127.0.0.1', 0), api)
    with running(XplaneUdpFrontend(UdpEndpoint(), sender=UdpEndpoint(), web=web)) as server:
        http = HttpQueue(web.address, 'Web API', web_api.CONTENT_TYPE,
                         due=lambda now: (None, None), due_timeout=DEADLINE)

        def ask(steps):
            ended = queue.Queue()
            http.start(steps, DEADLINE, lambda *result: ended.put(result))
            result, error = ended.get(timeout=DEADLINE)
            if error is not None:
                raise error
            return result

        ask.server, ask.address = server, web.address
        yield ask
        http.end()


def world_of(**state):
    return World(Aircraft(**state))


def test_datarefs_are_described_read_and_written_over_http():
    client = WebClient()
    with asking() as ask:
        capabilities = ask(client.greet())
        assert (capabilities.xplane, capabilities.root) == ('12.4.0', '/api/v3')
        text, lat, unknown, paths, one = ask(client.describe(
            [TAIL, 'sim/flightmodel/position/latitude', 'sim/no', PATHS, f'{PATHS}[3]']))
        assert (text.info.type, text.text, len(text.value)) == ('data', 'N172XB', 40)
        assert (lat.info.type, lat.info.writable) == ('double', False)
        # A double, where UDP has a float32.
        exact = ask.server.state().lat_deg
        assert lat.value[0] == pytest.approx(exact, abs=1e-4)
        assert unknown is None
        assert (paths.info.type, paths.value, one.value) == ('int_array', (0.0,) * 20, (0.0,))
        assert ask(client.write(TAIL, [], 'HB-XYZ')).text == 'HB-XYZ'
        assert ask(client.write(f'{PATHS}[3]', [1.0], '')).value == (1.0,)
        assert ask(client.write(PATHS, [0.0] * 20, '')).value == (0.0,) * 20
        for name, values, given, said in (
                (TAIL, [1.0], '', 'holds data: give text'),
                (TAIL, [], 'x' * 40, '40 bytes and a final NUL do not fit into its 40'),
                (PATHS, [0.5] * 20, '', 'holds whole numbers, got 0.5'),
                (PATHS, [1.0] * 3, '', 'incompatible_data'),
                (f'{PATHS}[20]', [1.0], '', 'index_out_of_range'),
                (PATHS, [], 'text', 'is a int_array: give values'),
                ('sim/flightmodel/position/latitude', [1.0], '', 'is read-only'),
                ('sim/flightmodel/position/latitude[0]', [1.0], '', 'is read-only'),
                ('sim/no', [1.0], '', 'invalid_dataref_name'),
                ('', [1.0], '', 'expected a name')):
            with pytest.raises(ValueError, match=said):
                ask(client.write(name, values, given))


def test_settings_that_disable_it_and_programs_that_are_no_xplane_are_told_apart():
    with asking('disabled') as ask, pytest.raises(WebApiRefusedError, match='Network') as error:
        ask(WebClient().greet())
    assert error.value.is_disabled
    with asking() as ask, socket.create_connection(ask.address) as connection:
        # Port 8086 is InfluxDB's as well.
        for request, status in ((b'GET /ping HTTP/1.1\r\n\r\n', b'404'),
                                (b'POST /api/v3/flight HTTP/1.1\r\n'
                                 b'Content-Length: 70000\r\n\r\n', b'413')):
            connection.sendall(request)
            assert connection.recv(4096).startswith(b'HTTP/1.1 ' + status)


# Without a socket: the simulated X-Plane between two frames.


def converse(xplane, steps, seconds=0.0):
    """Return the result of a conversation with a SimulatedWebApi."""
    reply = None
    try:
        while True:
            request = steps.send(reply)
            status, body = xplane.answer(request.method, request.path, request.body)
            reply = SimpleNamespace(status=status, body=body)
    except StopIteration as end:
        return end.value


def test_a_press_lasts_as_long_as_it_is_said_and_overlapping_ones_count_separately():
    world = world_of()
    xplane, client = SimulatedWebApi(world), WebClient()
    brake = []
    converse(xplane, client.press(BRAKES, 0.3))
    for frame in range(8):
        if frame == 2:
            converse(xplane, client.press(BRAKES, 0.3))
        world.advance(0.1)
        xplane.step()
        brake.append(world.aircraft.state.left_brake)
    assert brake == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    converse(xplane, client.press('sim/flight_controls/flaps_down', 0.0))
    assert world.held == {}
    for name, duration, said in ((BRAKES, 10.5, 'duration_out_of_range'),
                                 ('sim/no', 1.0, 'invalid_command_name')):
        with pytest.raises(WebApiRefusedError, match=said):
            converse(xplane, client.press(name, duration))


def test_ids_of_an_earlier_run_are_asked_for_again():
    client = WebClient()
    first, second = SimulatedWebApi(world_of()), SimulatedWebApi(world_of())
    assert converse(first, client.describe([TAIL]))[0].text == 'N172XB'
    converse(first, client.press(BRAKES, 0.1))
    assert converse(second, client.describe([TAIL]))[0].text == 'N172XB'
    converse(second, client.press(BRAKES, 0.1))


def test_a_flight_starts_in_the_air_where_and_as_fast_as_it_is_said():
    world = world_of()
    xplane, client = SimulatedWebApi(world), WebClient()
    place = flight.air_start(46.5, 7.25, 2500.0, 400.0, 60.0)
    assert place['lle_air_start']['heading_true'] == 40.0
    converse(xplane, client.start_flight(place))
    state = world.aircraft.state
    assert (state.lat_deg, state.lon_deg) == pytest.approx((46.5, 7.25), abs=1e-4)
    assert state.altitude_msl == pytest.approx(2500.0, abs=1.0)
    assert math.degrees(state.psi) == pytest.approx(40.0, abs=2.0)
    assert state.ground_speed == pytest.approx(60.0, abs=1.0)
    converse(xplane, client.start_flight(flight.ground_start(47.0, 8.0, 90.0)))
    assert world.aircraft.state.altitude_agl < 3.0
    assert world.aircraft.state.ground_speed < 1.0
    converse(xplane, client.update_flight(
        {'gmt_time': {'day_of_year': 100, 'time_in_24_hours': 6.5}}))
    assert (world.zulu_date, world.zulu_time) == (100, 23_400.0)
    for wanted, said in (
            (flight.runway_start('KPDX', '10R', 3704.0), 'missing_scenery'),
            (place | flight.aircraft('Aircraft/a.acf'), 'missing_aircraft'),
            (flight.air_start(91.0, 0.0, 0.0, 0.0), 'latitude is not valid'),
            (place | flight.ground_start(0.0, 0.0, 0.0), 'one start is not valid'),
            ({'weather': 3} | place, 'weather is not valid')):
        with pytest.raises(WebApiRefusedError, match=said):
            converse(xplane, client.start_flight(wanted))
    with pytest.raises(ValueError, match=r'X-Plane 12.1.4 cannot start flights'):
        converse(SimulatedWebApi(world, 'v2'), WebClient().start_flight(place))


def test_numbers_of_a_flight_have_a_decimal_point():
    """X-Plane was reported to refuse others."""
    request = web_api.start_flight('/api/v3', flight.air_start(46, 7, 2500, 40, 60, 2))
    assert json.loads(request.body)['data']['lle_air_start'] == {
        'latitude': 46.0, 'longitude': 7.0, 'elevation_in_meters': 2500.0, 'heading_true': 40.0,
        'speed_in_meters_per_second': 60.0, 'pitch_in_degrees': 2.0}
    assert request.body.count(b'.0') == 6
    assert flight.runway_start('KPDX', '10R', 3704.0)['runway_start'][
        'final_distance_in_nautical_miles'] == 2.0


def test_requests_that_make_no_sense_are_answered():
    xplane = SimulatedWebApi(world_of())
    number = json.loads(xplane.answer('GET', f'/api/v3/datarefs?filter[name]={TAIL}')[1])[
        'data'][0]['id']
    value = f'/api/v3/datarefs/{number}/value'
    for method, target, body, status in (
            ('GET', 'http://[', b'', 404), ('GET', '/api/v3/datarefs?start=-1', b'', 400),
            ('GET', '/api/v3/datarefs?start=9999', b'', 400), ('DELETE', value, b'', 404),
            ('GET', '/api/v3/datarefs?fields=a', b'', 400), ('GET', '/api/v9/datarefs', b'', 404),
            ('GET', '/api/v1/commands', b'', 404), ('PATCH', value, b'[' * 100_000, 400),
            ('PATCH', value, b'{"data": "?"}', 400), ('PATCH', value, b'{"data": [NaN]}', 400),
            ('POST', '/api/v3/flight', b'{"data": 1}', 400),
            ('POST', '/api/v3/flight', b'{"data": {"lle_air_start": 1, "aircraft": 1}}', 400),
            ('GET', f'/api/v3/datarefs/{10 ** 19}/value', b'', 404)):
        assert xplane.answer(method, target, body)[0] == status, (method, target, body[:40])


@pytest.mark.parametrize(('call', 'said'), [
    (lambda: flight.aircraft('/etc/passwd.acf'), 'below X-Plane'),
    (lambda: flight.aircraft('Aircraft/../../a.acf'), 'below X-Plane'),
    (lambda: flight.aircraft('Aircraft/a.xml'), 'acf file'),
    (lambda: flight.weather('sunny'), 'expected real or one of vfr_few_clouds'),
    (lambda: flight.more('[1]', {}), 'expected a JSON object'),
    (lambda: flight.more('{"a": [1e999]}', {}), 'more: .*not JSON'),
    (lambda: flight.more('{"weather": 1}', {'weather': 2}), 'weather is given twice'),
    (lambda: flight.more('{"boat_start": {}}', {'ramp_start': {}}), 'starts at one place'),
])
def test_impossible_flights_are_refused_before_they_are_sent(call, said):
    with pytest.raises(ValueError, match=said):
        call()


DATAREF = web_api.DatarefInfo(1, 'a', 'float_array')


@pytest.mark.parametrize('read', [
    web_api.read_capabilities, web_api.read_count,
    lambda reply: web_api.read_dataref('a', reply),
    lambda reply: web_api.read_command('a', reply),
    lambda reply: web_api.read_value(DATAREF, reply),
])
@pytest.mark.parametrize('body', [
    b'', b'null', b'[]', b'{}', b'{"data": null}', b'{"data": [{"name": "a"}]}', b'[' * 100_000,
    b'{"data": [{"name": "a", "id": -1, "value_type": "int"}]}', b'{"data": {"a": 1}}',
    b'{"data": [{"name": "a", "id": true, "value_type": "int"}]}', b'{"data": [[1.0]]}',
    b'{"data": [1' + b'0' * 400 + b']}', b'\xff\xfe', b'{"data": "AAA"}', b'{"data": ["1"]}',
    b'{"api": {"versions": 1}, "x-plane": {"version": 1}}', b'{"data": [' + b'9' * 5000 + b']}',
])
def test_replies_that_make_no_sense_are_protocol_errors(read, body):
    with pytest.raises(ProtocolError):
        read(SimpleNamespace(status=200, body=body))
