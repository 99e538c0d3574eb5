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


"""xplane_udp_node and X-Plane's Web API: what UDP has not, through real sockets."""

from contextlib import contextmanager
from importlib.util import find_spec
import math
import socket

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='JSBSim is not installed')

from kept_ports import kept_endpoint, kept_port
from masked import masked
from relay import UdpRelay
from std_msgs.msg import String
from tcp_relay import TcpRelay

from harness import free_port
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.nodes.common.latched import LATCHED
from xplane_bridge.bridges.xplane_udp.node import web_api as node_side
from xplane_bridge.bridges.xplane_udp.node import XplaneUdpNode
from xplane_bridge.msg import AircraftPose, DatarefValues
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.xplane_udp import web_server as simulator_side
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend
from xplane_bridge.simulation.peers.xplane_udp.web_server import WebServer
from xplane_bridge.srv import DescribeDatarefs, RunCommand, StartFlight, WriteDataref

TAIL = 'sim/aircraft/view/acf_tailnum'
BRAKES = 'sim/flight_controls/brakes_max'
PATHS = 'sim/operation/override/override_planepath'
WITH_SOCKET = find_spec('wsproto') is not None


@contextmanager
def flying(web=None):
    """Run the simulated X-Plane; its ``parameters`` are what a node needs to find it."""
    frontend = XplaneUdpFrontend(kept_endpoint(), sender=kept_endpoint(), web=web)
    with running(frontend) as server:
        server.parameters = {
            'version': '12', 'port': frontend.endpoint.address[1], 'data_port': free_port()}
        if web is not None:
            server.parameters['web_port'] = web.address[1]
        yield server


def start(ros, **parameters):
    node = ros.start(XplaneUdpNode, **parameters)
    ros.wait_for(lambda: node.session.peer_state.name == 'ANSWERING', 'the first answer')
    return node


def hold(ros, action, **more):
    return ros.call(RunCommand, 'run_command', RunCommand.Request(
        name=BRAKES, action=getattr(RunCommand.Request, action), **more))


def test_datarefs_flights_and_held_commands(ros):
    with flying(WebServer(('127.0.0.1', kept_port()))) as server:
        node = start(ros, web_press=0.1, **server.parameters)
        level, text, values = ros.diagnosed(
            'web api', lambda level, text, values: 'answers' in text, node)
        assert (level, values['versions']) == (b'\0', 'v1, v2, v3')

        got = ros.call(DescribeDatarefs, 'describe_datarefs', DescribeDatarefs.Request(
            names=[TAIL, 'sim/no', 'sim/operation/override/override_planepath']))
        assert got.message == 'unknown: sim/no'
        assert list(got.types) == ['data', '', 'int_array']
        assert list(got.texts) == ['N172XB', '', '']
        assert (list(got.sizes), list(got.values)) == ([0, 0, 20], [0.0] * 20)
        assert list(got.writable) == [1, -1, 1]
        assert ros.call(WriteDataref, 'write_dataref', WriteDataref.Request(
            name=TAIL, text='HB-XYZ')).success

        def braked():
            return server.state().left_brake > 0.0

        # The lease of BEGIN ends by itself.
        assert hold(ros, 'BEGIN', duration=0.15).success
        ros.wait_for(lambda: not braked(), 'the end of the lease')
        # Held for longer than a press, until END.
        assert hold(ros, 'BEGIN').success
        ros.wait_for(braked, 'the brakes')
        assert hold(ros, 'END').message.startswith(
            'X-Plane has released it' if WITH_SOCKET else 'X-Plane releases it within 0.')
        ros.wait_for(lambda: not braked(), 'the release')
        assert 'is not held' in hold(ros, 'END').message

        pose = masked(AircraftPose, latitude=46.5, longitude=7.25, altitude=2500.0,
                      true_heading=math.pi / 2.0)
        assert ros.call(StartFlight, 'start_flight', StartFlight.Request(
            pose=pose, airspeed=60.0, weather='vfr_broken')).success
        state = server.state()
        assert state.lat_deg == pytest.approx(46.5, abs=0.01)
        # The geoid is 51 m above the ellipsoid there.
        assert state.altitude_msl == pytest.approx(2500.0 - 51.0, abs=10.0)
        refused = ros.call(StartFlight, 'start_flight', StartFlight.Request(
            airport='KPDX', runway='10R'))
        assert 'missing_scenery' in refused.message
        for said, request in (
                ('airspeed: give a pose in the air', {'weather': 'real', 'airspeed': 50.0}),
                ('airspeed: give a pose in the air', {
                    'airport': 'KPDX', 'runway': '10R', 'airspeed': 50.0}),
                ('on_ground: give a pose', {'weather': 'real', 'on_ground': True}),
                ('airspeed nan m/s is not in 0', {'pose': pose, 'airspeed': math.nan})):
            assert said in ros.call(
                StartFlight, 'start_flight', StartFlight.Request(**request)).message

        # What is held is given back when the node is deactivated.
        ros.publisher(String, 'command/hold').publish(String(data=BRAKES))
        ros.wait_for(braked, 'the brakes')
        node.trigger_deactivate()
        ros.wait_for(lambda: not braked(), 'the release')


def test_datarefs_both_ways_by_the_websocket_through_a_restart_of_xplane(ros):
    pytest.importorskip('wsproto', reason='wsproto is not installed')
    with flying(WebServer(('127.0.0.1', kept_port()))) as server:
        node = start(ros, web_datarefs=[TAIL, f'{PATHS}[3]', 'sim/no'], **server.parameters)
        ros.subscribe(DatarefValues, 'dataref_values', LATCHED)
        heard = ros.messages['dataref_values']

        def shows(tail, path):
            return lambda: heard and list(heard[-1].names) == [TAIL, f'{PATHS}[3]'] and (
                list(heard[-1].texts), list(heard[-1].sizes), list(heard[-1].values)) == (
                [tail, ''], [0, 1], [path])

        ros.wait_for(shows('N172XB', 0.0), 'the values')
        write = ros.publisher(DatarefValues, 'command/dataref_values')
        write.publish(DatarefValues(
            names=[TAIL, f'{PATHS}[3]'], sizes=[0, 1], values=[1.0], texts=['HB-XYZ', '']))
        ros.wait_for(shows('HB-XYZ', 1.0), 'what was written')
        refused = node.refused
        write.publish(DatarefValues(names=['sim/no'], sizes=[1], values=[1.0]))
        ros.wait_for(lambda: refused['command/dataref_values'], 'the refusal')

        # Held by nobody any more, and asked for again by the ids of the new run.
        assert hold(ros, 'BEGIN', duration=60.0).success
        ros.diagnosed('web api', lambda level, text, values: values[
            'active, as X-Plane says'] == values['held commands'] == BRAKES, node)
        server.switch_off()
        server.switch_on()

        def written():
            return ros.call(WriteDataref, 'write_dataref', WriteDataref.Request(
                name=TAIL, text='HB-NEW')).success

        ros.wait_for(written, 'the restart')
        # The override was of the run before.
        ros.wait_for(shows('HB-NEW', 0.0), 'the values after the restart')
        ros.diagnosed('web api', lambda level, text, values: values['held commands'] == values[
            'given back, not yet shown'] == 'none', node)
        assert 'is not held' in hold(ros, 'END').message


def held(server):
    """Return the commands that X-Plane holds, whoever has asked it to."""
    return server.call(lambda world: sorted(world.held))


def test_end_releases_a_command_after_a_silence_on_udp(ros):
    pytest.importorskip('wsproto', reason='wsproto is not installed')
    with flying(WebServer(('127.0.0.1', kept_port()))) as server, UdpRelay(
            'xplane_udp', ('127.0.0.1', server.parameters['port'])) as relay:
        node = start(ros, **server.parameters | {'port': relay.port})
        assert hold(ros, 'BEGIN', duration=60.0).success
        relay.loss = 1.0
        ros.wait_for(lambda: node.session.peer_state.name != 'ANSWERING', 'the silence')
        relay.loss = 0.0
        ros.wait_for(lambda: node.session.peer_state.name == 'ANSWERING', 'the next answer')
        assert held(server) == [BRAKES]
        assert hold(ros, 'END').message == 'X-Plane has released it'
        assert held(server) == []


def test_over_a_slow_line_values_arrive_and_no_hold_is_dropped(ros):
    pytest.importorskip('wsproto', reason='wsproto is not installed')
    web = WebServer(('127.0.0.1', kept_port()))
    with flying(web) as server, TcpRelay(web.address, delay=0.075) as relay:
        names = sorted(web.web_api.store.ids['datarefs'])[:50]
        node = start(ros, web_datarefs=names, **server.parameters | {'web_port': relay.port})
        ros.subscribe(DatarefValues, 'dataref_values', LATCHED)
        heard = ros.messages['dataref_values']
        ros.wait_for(lambda: heard and len(heard[-1].names) == 50, 'all values', timeout=20.0)
        ros.diagnosed('web api', lambda level, text, values: values[
            'web_datarefs'] == '50 wanted, 50 found, 50 arrive', node)
        # Versions, look-ups, and the WebSocket.
        assert relay.opened < 10
        for _ in range(4):
            assert hold(ros, 'BEGIN', duration=60.0).success
            assert hold(ros, 'END').success
        # The end of the last one is not taken for that of the next.
        assert hold(ros, 'BEGIN', duration=60.0).success
        ros.diagnosed('web api', lambda level, text, values: values[
            'active, as X-Plane says'] == values['held commands'] == BRAKES, node)
        assert hold(ros, 'BEGIN', duration=1.5).success
        # Nobody calls, and it is held no more.
        ros.diagnosed('web api', lambda level, text, values: values['held commands'] == 'none',
                      node)
        assert hold(ros, 'BEGIN', duration=60.0).success
        node.trigger_deactivate()
        assert held(server) == []
        assert (node.left.unconfirmed, node.exit_code) == ((), 0)


def test_what_is_not_shown_as_released_is_told_and_asked_for_again(ros):
    pytest.importorskip('wsproto', reason='wsproto is not installed')
    web = WebServer(('127.0.0.1', kept_port()))
    with flying(web) as server, TcpRelay(web.address) as relay:
        node = start(ros, release_timeout=1.0, web_timeout=2.0, **server.parameters | {
            'web_port': relay.port})
        assert hold(ros, 'BEGIN', duration=60.0).success
        relay.is_cut = True
        refused = hold(ros, 'END')
        assert not refused.success
        assert 'it is asked until it does; its lease ends in ' in refused.message
        ros.diagnosed('web api', lambda level, text, values: values[
            'given back, not yet shown'] == BRAKES and 'not shown as released' in text, node)
        node.trigger_deactivate()
        assert (node.left.unconfirmed, node.left.is_error, node.exit_code) == ((BRAKES,), True, 1)
        # X-Plane has noticed nothing of all that.
        assert held(server) == [BRAKES]
        relay.is_cut = False
        ros.wait_for(lambda: not held(server), 'the end of the connection')
        node.trigger_activate()
        ros.diagnosed('web api', lambda level, text, values: values[
            'given back, not yet shown'] == 'none', node)
        assert 'is not held' in hold(ros, 'END').message


def test_without_wsproto_commands_are_held_by_presses_and_it_is_said(ros, monkeypatch):
    def absent():
        raise LinkError('it needs the Python package wsproto')

    for part in (node_side, simulator_side):
        monkeypatch.setattr(part, 'check_installed', absent)
    with flying(WebServer(('127.0.0.1', kept_port()))) as server:
        node = start(ros, web_press=0.1, **server.parameters)
        ros.diagnosed('web api', lambda level, text, values: 'answers' in text and (
            values['WebSocket'] == 'it needs the Python package wsproto'), node)
        assert hold(ros, 'BEGIN').success
        ros.wait_for(lambda: server.state().left_brake > 0.0, 'the brakes')
        assert hold(ros, 'END').message.startswith('X-Plane releases it within 0.')
        refused = node.refused
        ros.publisher(DatarefValues, 'command/dataref_values').publish(
            DatarefValues(names=[TAIL], sizes=[0], texts=['HB-XYZ']))
        ros.wait_for(lambda: refused['command/dataref_values'], 'the refusal')


@pytest.mark.parametrize(('api', 'said'), [
    ('disabled', 'do not select Disable Incoming Traffic'), ('v2', 'X-Plane 12.1.4 cannot start'),
    ('', 'Connection refused; X-Plane 12.1.4 and later have it')])
def test_what_is_missing_is_said(ros, api, said):
    with socket.socket() as nobody:
        nobody.bind(('127.0.0.1', 0))
        web = WebServer(('127.0.0.1', 0), api) if api else None
        with flying(web) as server:
            node = start(ros, **{'web_port': nobody.getsockname()[1], **server.parameters})
            refused = ros.call(StartFlight, 'start_flight', StartFlight.Request(
                pose=masked(AircraftPose, latitude=46.5, longitude=7.25, true_heading=0.0),
                on_ground=True))
            assert not refused.success
            assert said in refused.message
            if api != 'v2':
                ros.diagnosed('web api', lambda level, text, values: said in text, node)
