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


"""
A flight shown live: what a viewer receives by its own protocol.

It is decoded by other people's decoders, from the definitions that it comes with: protobuf's own,
and rosbags' for ROS 2.
"""

import asyncio
import base64
from collections import defaultdict
from contextlib import suppress
import json
import math
from pathlib import Path
import re
import socket
import struct
import sys
import threading
from xml.etree import ElementTree

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('foxglove', reason='the live view needs foxglove-sdk')
pytest.importorskip('google.protobuf', reason='messages are decoded with protobuf')
pytest.importorskip('rosbags', reason='messages are decoded with rosbags')
pytest.importorskip('tornado.websocket', reason='the client needs tornado')

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
from tornado import websocket

from xplane_bridge.bridges.conversions import aircraft_model
from xplane_bridge.commands import experiment as main
from xplane_bridge.common.signals import Interrupts
from xplane_bridge.laboratory.experiments.display import LiveView
from xplane_bridge.laboratory.experiments.fly import conduct
from xplane_bridge.laboratory.experiments.live import Live
from xplane_bridge.laboratory.experiments.settings import (
    Experiment,
    Files,
    LIVE_PORT,
    NOT_FLOWN,
    PASSED,
)
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.open_flight import open_flight

ROOT = Path(__file__).resolve().parents[3]
# Opcodes of the protocol's binary messages.
DATA, TIME = 1, 2
FLIGHT = """
duration: 8.0
initial: {altitude: 1200.0, heading_deg: 90.0, airspeed: 50.0}
events:
  - {at: 0.2, engage: true}
  - {at: 0.4, change: {altitude: 20.0}}
criteria:
  - {quantity: altitude, statistic: first, at_least: 1199.9, at_most: 1200.1}
"""


class Viewer:
    """A client that subscribes to all that is advertised, and decodes it."""

    def __init__(self, address, topics=10):
        self.expected = topics
        self.opened = []
        self.topics = {}
        self.channels = {}
        self.heard = defaultdict(list)
        self.times = []
        self.subscribed = threading.Event()
        # The end of what is said to all.
        self.said = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self._read(address)))
        self.thread.start()

    async def _read(self, address):
        socket = await websocket.websocket_connect(address, subprotocols=['foxglove.sdk.v1'])
        while (message := await socket.read_message()) is not None:
            if isinstance(message, bytes):
                self._take(message)
                continue
            said = json.loads(message)
            self.opened.append(said)
            if said['op'] == 'advertise':
                for channel in said['channels']:
                    self.channels[channel['topic']] = channel
                    self.topics[channel['id']] = channel['topic'], decoder(channel)
                await socket.write_message(json.dumps({'op': 'subscribe', 'subscriptions': [
                    {'id': number, 'channelId': number} for number in self.topics]}))
                if len(self.topics) == self.expected:
                    self.subscribed.set()

    def _take(self, message):
        if message[0] == TIME:
            self.times.append(struct.unpack_from('<Q', message, 1)[0])
        elif message[0] == DATA:
            number, stamp = struct.unpack_from('<IQ', message, 1)
            topic, decode = self.topics[number]
            self.heard[topic].append((stamp, decoded := decode(message[13:])))
            if topic == '/log' and decoded.message == 'the end':
                self.said.set()


def decoder(channel):
    """Return the function that decodes a channel's messages, from the schema it came with."""
    if channel['encoding'] == 'json':
        return json.loads
    if channel['encoding'] == 'cdr':
        assert channel['schemaEncoding'] == 'ros2msg'
        name, store = channel['schemaName'], get_typestore(Stores.EMPTY)
        store.register(get_types_from_msg(channel['schema'], name))
        return lambda data: vars(store.deserialize_cdr(data, name))
    files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(channel['schema']))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(
        pool.FindMessageTypeByName(channel['schemaName'])).FromString


def flown(tmp_path):
    """Fly as --live does; return the viewer, the exit code, and the flight."""
    path = tmp_path / 'flight.yaml'
    path.write_text(FLIGHT)
    order = Order(scenario.load(str(path)))
    with Live(0, 'a flight') as live:
        viewer = Viewer(live.address)
        assert viewer.subscribed.wait(30.0)
        view = LiveView(live, pace=8.0)
        flight = open_flight(order, view)
        code = conduct(flight, view, Experiment(order, Files(), ''), Interrupts())
    viewer.thread.join(30.0)
    return viewer, code, flight


def test_a_viewer_sees_the_aircraft_its_path_its_target_and_its_numbers(tmp_path):
    viewer, code, flight = flown(tmp_path)
    assert code == PASSED
    server = viewer.opened[0]
    assert (server['op'], server['name'], server['capabilities']) == (
        'serverInfo', 'a flight', ['time'])
    heard = {topic: [message for _, message in messages]
             for topic, messages in viewer.heard.items()}
    assert set(heard) == {'/tf', '/fix', '/log', '/aircraft', '/path', '/target', '/state',
                          '/controls', '/flight'}
    # Its time is that of the flight, and goes on.
    stamps = [stamp for stamp, _ in viewer.heard['/state']]
    assert stamps == sorted(stamps)
    states = heard['/state']
    assert (stamps[-1] - stamps[0]) * 1e-9 == pytest.approx(
        states[-1]['flight_time_s'] - states[0]['flight_time_s'], abs=1e-6)
    assert viewer.times[-1] == stamps[-1]
    last, vehicle = states[-1], flight.vehicle
    assert last['flight_time_s'] == 8.0
    assert last['target_altitude_m'] == vehicle.last('target_altitude')
    began = flight.history().series['altitude'].values[0]
    assert states[0]['altitude_m'] == pytest.approx(began, abs=1.0)
    assert 85.0 < last['heading_deg'] < 95.0
    assert {'elevator', 'throttle'} <= set(heard['/controls'][-1])
    # Before it is engaged there is no target. A sum of twelve frames is a bit less than 0.2 s.
    assert all(math.isnan(state['target_altitude_m'])
               for state in states if state['flight_time_s'] < 0.19)
    assert any('engage' in log.message for log in heard['/log'])
    last = heard['/flight'][-1]
    assert last['duration_s'] == 8.0
    assert [event['text'] for event in last['events']] == [log.message for log in heard['/log']]
    is_in_place(heard, states[-1], began)
    plotjuggler_plots(viewer)
    page_reads(viewer)


def test_a_viewer_sees_all_aircraft_of_a_fleet_where_they_are(tmp_path):
    content = {
        'duration': 4.0, 'initial': {'altitude': 1200.0, 'heading_deg': 90.0, 'airspeed': 50.0},
        'events': [{'at': 0.2, 'engage': True}], 'vehicles': [
            {'name': 'lead'}, {'name': 'wing', 'initial': {'forward': -60.0, 'up': 5.0}}],
        'criteria': [{'separation': 'all', 'at_least': 30.0}]}
    order = Order(scenario.parse('two', content))
    with Live(0, 'two', [*order.of_vehicles()]) as live:
        viewer = Viewer(live.address, topics=13)
        assert viewer.subscribed.wait(30.0)
        view = LiveView(live, pace=8.0)
        flight = open_flight(order, view)
        assert conduct(flight, view, Experiment(order, Files(), ''), Interrupts()) == PASSED
    viewer.thread.join(30.0)
    heard = {topic: [message for _, message in messages]
             for topic, messages in viewer.heard.items()}
    place = {one.child_frame_id: one.translation
             for message in heard['/tf'] for one in message.transforms}
    lead, wing = place['lead/base_link'], place['wing/base_link']
    # Both are seen in the same frame, from where the first began.
    east, north, up = flight.offset('lead', 'wing')
    assert (wing.x - lead.x, wing.y - lead.y, wing.z - lead.z) == pytest.approx(
        (east, north, up), abs=0.05)
    assert heard['/lead/state'][-1]['flight_time_s'] == 4.0
    assert heard['/wing/state'][-1]['east_m'] == flight.vehicles['wing'].last('east')
    # The leader's newest states were never shown beside older ones of the other.
    for first, second in zip(heard['/lead/state'], heard['/wing/state'], strict=True):
        assert first['east_m'] - second['east_m'] == pytest.approx(0.0, abs=0.5)
    links = {entity.id for message in heard['/aircraft'] for entity in message.entities}
    assert {'lead/base_link', 'wing/base_link', 'wing/elevator'} <= links
    assert {message.entities[0].id for message in heard['/path']} == {'lead/path', 'wing/path'}


def plotjuggler_plots(viewer):
    """
    Check that PlotJuggler's layout names series that it has when it reads this server.

    It takes channels of CDR with ROS 2's definitions only, and names a series by topic and field:
    its plugin's PROTOCOL.md, 3.17.2.
    """
    layout = ElementTree.parse(ROOT / 'xplane_bridge/data/view/plotjuggler_live.xml').getroot()
    plugin = layout.find('Plugins/plugin')
    assert plugin.get('ID') == layout.find('previouslyLoaded_Streamer').get('name')
    client = plugin.find('foxglove_client')
    assert client.get('url').endswith(f':{LIVE_PORT}')
    readable = {topic for topic, channel in viewer.channels.items()
                if (channel['encoding'], channel['schemaEncoding']) == ('cdr', 'ros2msg')}
    assert {topic.get('name') for topic in client.iter('topic')} == readable
    series = {f'{topic}/{name}' for topic in readable for name in viewer.heard[topic][-1][1]}
    curves = {curve.get('name') for curve in layout.iter('curve')}
    assert len(curves) > 10
    assert curves <= series
    for split in layout.iter('DockSplitter'):
        assert int(split.get('count')) == len(split) == len(split.get('sizes').split(';'))


def page_reads(viewer):
    """Check that the page for browsers reads what is served, by its numbers and names."""
    page = (ROOT / 'xplane_bridge/data/view/live.html').read_text()
    served = {}
    for channel in viewer.channels.values():
        if channel['encoding'] == 'protobuf':
            files = descriptor_pb2.FileDescriptorSet.FromString(
                base64.b64decode(channel['schema']))
            served |= {message.name: {field.name: field.number for field in message.field}
                       for file in files.file for message in file.message_type}
    read = json.loads(re.search(r'const FIELDS = (\{.*?\n\});', page, re.DOTALL)[1])
    assert len(read) > 5
    for name, fields in read.items():
        assert fields.items() <= served[name].items()
    for topic in 'state', 'controls':
        names = {*re.findall(rf'\b{topic}\.(\w+)', page)} - {'climb_m_s'}
        assert len(names) > 5
        assert names <= viewer.heard[f'/{topic}'][-1][1].keys()


def test_a_viewer_that_does_not_read_stalls_neither_the_flight_nor_another_one():
    with Live(0, 'a flight') as live, socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(('127.0.0.1', int(live.address.rpartition(':')[2])))
        slow.sendall(handshake('') + masked(json.dumps({'op': 'subscribe', 'subscriptions': [
            {'id': number, 'channelId': number} for number in range(1, 50)]})))
        viewer = Viewer(live.address)
        assert viewer.subscribed.wait(30.0)
        # More than all that lies between them can keep.
        for _ in range(200):
            live.say('x' * 100_000)
        live.say('the end')
        assert viewer.said.wait(30.0)
    viewer.thread.join(30.0)


def test_a_viewer_sees_the_end_of_a_flight_however_much_was_shown_before(tmp_path):
    path = tmp_path / 'flight.yaml'
    path.write_text(FLIGHT)
    with Live(0, 'a flight') as live:
        for number in range(300):
            live.say(f'before anybody looked {number}')
        viewer = Viewer(live.address)
        assert viewer.subscribed.wait(30.0)
        with open_flight(Order(scenario.load(str(path))), LiveView(live)) as flight:
            flight.start()
            # A server that is stopped at once has not sent all of these.
            for _ in range(100):
                live.update(1.0)
        live.say('the end')
    viewer.thread.join(30.0)
    assert viewer.heard['/log'][-1][1].message == 'the end'
    assert [flight['is_over'] for _, flight in viewer.heard['/flight'][-2:]] == [False, True]
    events = [event['text'] for event in viewer.heard['/flight'][-1][1]['events']]
    assert (len(events), events[-1]) == (200, 'the end')
    assert 'before anybody looked 299' in events


def is_in_place(heard, state, began):
    """Compare the scene with the numbers, and with the altitude where the flight began."""
    moved = {one.child_frame_id: one for one in heard['/tf'][-1].transforms}
    body = moved['base_link']
    assert (body.parent_frame_id, moved['elevator'].parent_frame_id) == ('odom', 'base_link')
    assert body.translation.x == pytest.approx(state['east_m'])
    assert body.translation.z == pytest.approx(state['altitude_m'] - began, abs=0.01)
    # It climbs to the east: its nose, (1, 0, 0) in the body, points there and up.
    q = body.rotation
    nose = (1 - 2 * (q.y**2 + q.z**2), 2 * (q.x * q.y + q.w * q.z), 2 * (q.x * q.z - q.w * q.y))
    assert nose[0] > 0.98
    assert nose[2] == pytest.approx(math.sin(math.radians(state['pitch_deg'])), abs=1e-6)
    assert state['pitch_deg'] > 1.0
    # The elevator's angle is its share of what the URDF allows; + is about y, trailing edge up.
    elevator = heard['/controls'][-1]['elevator']
    joint = aircraft_model.load(ROOT / 'xplane_bridge/data/view/aircraft.urdf').joints['elevator']
    angle = elevator * (joint.upper if elevator > 0.0 else -joint.lower)
    assert 2.0 * math.asin(moved['elevator'].rotation.y) == pytest.approx(angle, abs=1e-9)
    frames = {entity.frame_id: entity for entity in heard['/aircraft'][-1].entities}
    assert set(frames) == set(moved)
    assert frames['base_link'].cubes
    assert all(entity.frame_locked for entity in frames.values())
    path = heard['/path'][-1].entities[0].lines[0].points
    assert [point.x for point in path] == sorted(point.x for point in path)
    assert len(path) > 20
    arrow = heard['/target'][-1].entities[0].arrows[0].pose.position
    assert arrow.x == pytest.approx(body.translation.x + 100.0, abs=1.0)
    assert arrow.z == pytest.approx(state['target_altitude_m'] - began, abs=0.01)


def refused(capsys, *arguments):
    """Return why an experiment with --live is not flown."""
    assert main.main(['--sim', 'core', '--scenario', 'steps', *arguments]) == NOT_FLOWN
    return capsys.readouterr().err


def test_what_is_wrong_with_a_live_view_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for port in ('70000', '0'):
        with pytest.raises(SystemExit):
            main.main(['--live', port])
        assert f"argument --live: '{port}' is not a port, 1..65535" in capsys.readouterr().err
    assert 'speed (speed is for --live)' in refused(capsys, '--speed', '2')
    assert 'speed is 0.0' in refused(capsys, '--speed', '0', '--live')
    with Live(0, 'one') as live:
        port = live.address.rpartition(':')[2]
        error = refused(capsys, '--live', port)
    assert f'port {port} cannot be opened for the live view' in error
    monkeypatch.setitem(sys.modules, 'foxglove', None)
    assert 'the live view needs the Python package foxglove-sdk' in refused(capsys, '--live')


def handshake(origin):
    """Return how a page asks for the WebSocket; '' is no page."""
    return '\r\n'.join((
        'GET / HTTP/1.1', 'Host: 127.0.0.1', 'Upgrade: websocket', 'Connection: Upgrade',
        'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Protocol: foxglove.sdk.v1',
        *([f'Origin: {origin}'] if origin else []), '', '')).encode()


def masked(text):
    """Return a WebSocket's frame of a client: a text of 126 to 65535 bytes, masked with zeros."""
    return struct.pack('>BBHI', 0x81, 0x80 | 126, len(text), 0) + text.encode()


@pytest.mark.parametrize(('origin', 'status'), [
    ('https://evil.example', 403), ('null', 403), ('http://127.0.0.1.evil.example', 403),
    ('https://foxglove.dev.evil.example', 403), ('http://evil.example:8765', 403),
    ('https://app.foxglove.dev', 101), ('http://localhost:8080', 101), ('file://', 101),
    ('', 101)])
def test_pages_that_are_no_viewers_are_refused(origin, status):
    with Live(0, 'a flight') as live:
        address = '127.0.0.1', int(live.address.rpartition(':')[2])
        with socket.create_connection(address, timeout=30.0) as viewer:
            viewer.sendall(handshake(origin))
            assert viewer.recv(1000).startswith(f'HTTP/1.1 {status} '.encode())


def test_a_head_without_an_end_is_not_waited_for_in_memory():
    with Live(0, 'a flight') as live:
        address = '127.0.0.1', int(live.address.rpartition(':')[2])
        with socket.create_connection(address, timeout=30.0) as stranger:
            with suppress(ConnectionError):
                for _ in range(100):
                    stranger.sendall(b'x' * 10_000)
            with suppress(ConnectionError):
                assert stranger.recv(1000) == b''
