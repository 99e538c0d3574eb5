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
Every command of every node, as a careless user and as the documentation write it.

A message that nobody filled in is rejected, by the real node on its real topic, and counted; every
example line in a definition or on a page is accepted.
"""

import array
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict
import math
from pathlib import Path
import re

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from masked import masked
import numpy as np
from sensor_msgs.msg import Imu, NavSatFix
from simpit_peer import Plugin
import std_msgs.msg
import yaml

from harness import free_port
from xplane_bridge import msg, srv
from xplane_bridge.bridges.fdmdata.node import FdmdataNode
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.node import SimpitNode
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.bridges.xplane_udp.node import XplaneUdpNode
from xplane_bridge.laboratory.control.runway.performance import load
from xplane_bridge.laboratory.nodes.autopilot import AutopilotNode
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.fdmdata import FdmdataFrontend
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.xpc import XpcFrontend
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend
from xplane_bridge.simulation.peers.xplane_udp.web_server import WebServer

ROOT = Path(__file__).parents[3]

# Commands of each node besides the std_srvs services, which have at most one bool.
COMMANDS = {
    'xpc_node': {
        'command/controls', 'command/engines', 'command/pose', 'command/datarefs', 'command/data',
        'command/text', 'command/view', 'command/waypoints', 'get_datarefs', 'set_datarefs',
        'run_command', 'get_terrain', 'place_and_probe'},
    'xplane_udp_node': {
        'command/controls', 'command/engines', 'command/pose', 'command/datarefs', 'command/data',
        'get_datarefs', 'set_datarefs', 'run_command', 'select_rows', 'describe_datarefs',
        'write_dataref', 'start_flight', 'command/hold', 'command/dataref_values'},
    'fdmdata_node': {'command/controls', 'command/engines'},
    'simpit_node': {
        'command/controls', 'command/action_groups', 'command/custom_action_groups',
        'command/axes', 'command/sas', 'command/time_warp', 'command/text', 'command/packets',
        'command/camera', 'command/key', 'command/log', 'command/resend', 'ping'},
    'autopilot_node': {
        'command/target', 'command/attitude', 'command/rates', 'command/route',
        'autopilot/pattern', 'autopilot/go_around'},
}
# What autopilot_node hears besides, of types of other packages or as its input.
TELEMETRY = {'fix', 'air_data', 'controls', 'imu/data', 'odom', 'datum', 'command/path', 'joy'}
# A read that changes nothing may be meaningful without being filled in.
MAY_BE_EMPTY = {'get_terrain'}
PAGES_OF = {
    'xpc_node': {'xpc.md'}, 'xplane_udp_node': {'xplane_udp.md', 'web_api.md'},
    'fdmdata_node': {'fdmdata.md'}, 'simpit_node': {'simpit.md', 'cockpit.md'}}

MODULES = {'xplane_bridge': {'msg': msg, 'srv': srv}, 'std_msgs': {'msg': std_msgs.msg}}
_LINE = re.compile(
    r'ros2 (?:topic pub|service call)(?: -\S+| [0-9.]+)* /(\S+) (\w+/(?:msg|srv)/\w+) '
    r"""(['"])(.*?)\3""")


def lines():
    """Return (file, topic or service, type, YAML) of each example line that needs a value."""
    found = []
    for path in (*ROOT.glob('msg/*.msg'), *ROOT.glob('srv/*.srv'), *ROOT.glob('docs/**/*.md'),
                 ROOT / 'README.md', ROOT / 'CHANGELOG.rst'):
        found += [(path.name, *match.group(1, 2, 4)) for match in _LINE.finditer(path.read_text())]
    return [line for line in found if line[2].split('/')[0] in MODULES]


LINES = lines()


def filled(kind, text):
    """Return a message as `ros2 topic pub` fills it: unset fields are 0."""
    message = kind()
    fill(message, yaml.safe_load(text))
    return message


def fill(message, values):
    for name, value in values.items():
        old = getattr(message, name)
        if isinstance(value, dict):
            fill(old, value)
        elif isinstance(old, array.array):
            setattr(message, name, array.array(old.typecode, value))
        elif isinstance(old, np.ndarray):
            setattr(message, name, np.array(value, dtype=old.dtype))
        else:
            setattr(message, name, type(old)(value))


def kind_of(name):
    """Return the class for a type name, the request class for a service."""
    package, folder, kind = name.split('/')
    return getattr(MODULES[package][folder], kind)


@pytest.fixture
def commands(monkeypatch):
    """Return topic -> kind for a node's commands, and how often each was accepted."""
    taken = Counter()
    topics, services = {}, {}
    make_command, make_service = BridgeNode.make_command, BridgeNode.make_service

    def noting_command(node, kind, topic, handler, depth=1, **options):
        def noting(message):
            handler(message)
            taken[topic] += 1

        if topic not in TELEMETRY or not isinstance(node, AutopilotNode):
            topics[topic] = kind
        make_command(node, kind, topic, noting, depth, **options)

    def noting_service(node, kind, name, handler):
        if not kind.__module__.startswith('std_srvs'):
            services[name] = kind
        make_service(node, kind, name, handler)

    monkeypatch.setattr(BridgeNode, 'make_command', noting_command)
    monkeypatch.setattr(BridgeNode, 'make_service', noting_service)
    commands.topics, commands.services, commands.taken = topics, services, taken
    return commands


def x_plane_12(stack):
    web = WebServer(('127.0.0.1', 0))
    frontend = XplaneUdpFrontend(UdpEndpoint(), 12, sender=UdpEndpoint(), web=web)
    server = stack.enter_context(running(frontend))
    return server, XplaneUdpNode, {
        'version': '12', 'port': frontend.endpoint.address[1], 'data_port': free_port(),
        'web_port': web.address[1]}


def x_plane_with_the_plugin(stack):
    frontend = XpcFrontend(UdpEndpoint())
    server = stack.enter_context(running(frontend))
    return server, XpcNode, {'port': frontend.endpoint.address[1]}


def start_xpc_node(ros, stack, tmp_path):
    _, kind, parameters = x_plane_with_the_plugin(stack)
    return ros.start(kind, **parameters)


def start_xplane_udp_node(ros, stack, tmp_path):
    _, kind, parameters = x_plane_12(stack)
    return ros.start(kind, **parameters)


def start_fdmdata_node(ros, stack, tmp_path):
    frontend = FdmdataFrontend(UdpEndpoint(), UdpEndpoint(), ('127.0.0.1', 0), False)
    stack.enter_context(running(frontend))
    return ros.start(FdmdataNode, data_port=frontend.data.address[1],
                     controls_port=frontend.controls.address[1], rpc_port=frontend.rpc_address[1])


def start_simpit_node(ros, stack, tmp_path):
    plugin = Plugin(tmp_path / 'ksp', 'cobs')
    stack.callback(plugin.close)
    plugin.say(simpit.Altitude(1234.5, 67.25))
    ros.subscribe(msg.SimpitAltitude, 'altitude')
    node = ros.start(SimpitNode, port=plugin.path, profile='cobs', channels=['altitude'])
    ros.next('altitude')
    return node


def start_autopilot_node(ros, stack, tmp_path):
    ros.subscribe(msg.AutopilotTarget, 'autopilot/active_target')
    node = ros.start(AutopilotNode, engage=True, **{
        f'performance__{name}': value for name, value in asdict(load('c172p')).items()})
    fix, air, imu = (ros.publisher(kind, topic) for kind, topic in (
        (NavSatFix, 'fix'), (msg.AirData, 'air_data'), (Imu, 'imu/data')))
    level = Imu()
    level.orientation.w = 1.0

    def engaged():
        fix.publish(NavSatFix(latitude=47.46, longitude=8.55, altitude=1000.0))
        air.publish(msg.AirData(indicated_airspeed=50.0))
        imu.publish(level)
        return ros.messages['autopilot/active_target']

    ros.wait_for(engaged, 'the autopilot to engage')
    return node


def telemetry_of(ros, node):
    """Wait until a node knows its aircraft's position, which partial commands need."""
    if isinstance(node, XpcNode):
        ros.wait_for(lambda: node.publisher.last_state(0), 'telemetry')
    elif isinstance(node, XplaneUdpNode):
        ros.subscribe(NavSatFix, 'fix')
        ros.next('fix', 2)


@pytest.mark.parametrize('name', COMMANDS)
def test_nothing_filled_in_is_refused_and_what_is_documented_is_taken(
        ros, commands, tmp_path, name):
    with ExitStack() as stack:
        node = globals()[f'start_{name}'](ros, stack, tmp_path)
        telemetry_of(ros, node)
        assert commands.topics.keys() | commands.services.keys() == COMMANDS[name]
        publishers = {topic: ros.publisher(kind, topic) for topic, kind in commands.topics.items()}
        for topic, publisher in publishers.items():
            publisher.publish(commands.topics[topic]())
            ros.wait_for(lambda topic=topic: node.refused[topic] == 1, f'the refusal of {topic}')
        for service, kind in commands.services.items():
            response = ros.call(kind, service, kind.Request())
            assert response.success == (service in MAY_BE_EMPTY), service
            assert response.success or response.message
        empty = commands.topics.keys() | commands.services.keys() - MAY_BE_EMPTY
        _, _, values = ros.diagnosed('refused', node=node)
        assert values == dict.fromkeys(empty, '1')
        assert commands.taken['command/controls'] == 0

        for file, topic, kind, text in LINES:
            if file in set().union(*PAGES_OF.values()) - PAGES_OF.get(name, set()):
                continue
            if 'airport' in text:
                # The simulated world has none.
                continue
            if (name, file) == ('fdmdata_node', 'EngineControls.msg'):
                # Two throttles: Huginn has one.
                continue
            kind = kind_of(kind)
            if commands.topics.get(topic) is kind:
                count = commands.taken[topic]
                publishers[topic].publish(filled(kind, text))
                ros.wait_for(
                    lambda topic=topic, count=count: commands.taken[topic] == count + 1
                    or node.refused[topic] > 1, f'{file}: {topic}')
                assert node.refused[topic] == 1, (file, topic, text)
            elif commands.services.get(topic) is kind:
                response = ros.call(kind, topic, filled(kind.Request, text))
                assert response.success, (file, topic, text, response.message)


def test_each_line_to_copy_is_for_a_command_and_each_command_has_one():
    known = set().union(*COMMANDS.values())
    named = {re.sub('^(uav[12]|panel)/', '', topic) for _, topic, kind, _ in LINES
             if kind.startswith('xplane_bridge/')}
    # Those of simulator_node, which commands no simulator of another program.
    own = {'trim', 'linearize', 'get_properties', 'set_properties', 'list_properties'}
    # A go-around is taken on an approach only.
    assert named - own == known - {'command/hold', 'command/resend', 'autopilot/go_around'}
    for name, pages in PAGES_OF.items():
        on_pages = {topic for file, topic, _, _ in LINES if file in pages}
        # The plugin that simpit.md starts has no resend.
        assert on_pages | {'command/resend'} >= {
            topic for topic in COMMANDS[name] if '/' in topic}, name


@pytest.mark.parametrize('simulator', [x_plane_with_the_plugin, x_plane_12])
def test_a_pose_of_an_altitude_changes_the_altitude_only(ros, simulator):
    names = ('position/lat-geod-deg', 'position/long-gc-deg', 'attitude/phi-rad',
             'attitude/theta-rad', 'attitude/psi-rad', 'gear/gear-cmd-norm',
             'fcs/throttle-cmd-norm', 'position/h-sl-meters')
    with ExitStack() as stack:
        server, kind, parameters = simulator(stack)

        def hold(world):
            world.aircraft.teleport(47.25, 8.5, 1500.0, 10.0, 30.0, 120.0, speed=60.0)
            world.paused = True

        def values():
            return dict(zip(names, server.call(lambda world: [
                world.aircraft.property_value(name) for name in names]), strict=True))

        server.call(hold)
        before = values()
        node = ros.start(kind, undulation=0.0, **parameters)
        telemetry_of(ros, node)
        ros.publisher(msg.AircraftPose, 'command/pose').publish(
            filled(msg.AircraftPose, '{fields: 4, altitude: 3000}'))
        ros.wait_for(lambda: abs(values()['position/h-sl-meters'] - 3000.0) < 0.01, 'the altitude')
        assert values() == pytest.approx(before | {'position/h-sl-meters': 3000.0}, abs=1e-5)


@pytest.mark.parametrize('simulator', [x_plane_with_the_plugin, x_plane_12])
def test_a_report_says_which_controls_are_known(ros, simulator):
    with ExitStack() as stack:
        _, kind, parameters = simulator(stack)
        ros.subscribe(msg.FlightControls, 'controls')
        ros.start(kind, **parameters)
        report = ros.next('controls')
        assert report.fields == 4095
        assert not any(math.isnan(getattr(report, name)) for name in (
            'elevator', 'aileron', 'rudder', 'throttle', 'flaps', 'gear', 'speedbrake'))


@pytest.mark.parametrize(('target', 'words'), [
    ({'airspeed': 0.0}, 'airspeed 0 m/s is not in 1 .. 1000 m/s'),
    ({'airspeed': -20.0}, 'airspeed -20 m/s'),
    ({'altitude': 1e6}, 'altitude 1e.06 m'),
    # Apparently in degrees.
    ({'true_heading': 90.0}, 'true_heading 90 rad'),
    ({'altitude': 1000.0, 'true_heading': math.nan}, 'true_heading is nan'),
])
def test_targets_that_cannot_be_flown_are_refused(ros, tmp_path, target, words):
    node = start_autopilot_node(ros, None, tmp_path)
    said = []
    refuse = node.refuse
    node.refuse = lambda what, error: (said.append(str(error)), refuse(what, error))
    ros.publisher(msg.AutopilotTarget, 'command/target').publish(
        masked(msg.AutopilotTarget, **target))
    ros.wait_for(lambda: node.refused['command/target'], 'the refusal')
    assert re.search(words, said[0])
    # Nothing of it, not even the part that could be flown.
    assert len(ros.messages['autopilot/active_target']) == 1


@pytest.mark.parametrize('parameters', [
    {'airspeed': 0.0}, {'altitude': 1e6}, {'true_heading_deg': 1000.0}, {'altitude': math.inf}])
def test_parameters_of_targets_that_cannot_be_flown_are_refused(ros, parameters):
    node = ros.start(AutopilotNode, activate=False, **parameters)
    assert next(iter(parameters)).removesuffix('_deg') in node.failed
