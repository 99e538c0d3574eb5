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
A sixth protocol, built from the base classes and one line in the registry alone.

Skylark is the smallest protocol that really works: a report, a request, a command. Its folder
and its simulated peer (sixth_protocol/, beside this file) have the names and places that a new
protocol has in the package; here they are overlaid on it. CONTRIBUTING.md, "A new protocol",
walks through them.
"""

from importlib import import_module
import io
import json
from pathlib import Path
import sys

from cells import cells, visited
import pytest

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.protocols.registry import PeerProtocol, PROTOCOLS
from xplane_bridge.bridges.sessions.base import PeerAbsentError, PeerChanged, PeerState, Telemetry
from xplane_bridge.commands import dissect

ROOMS = Path(__file__).resolve().parent / 'sixth_protocol'

# Packed by hand: 47.5 N, 8.25 W, 1000 m, rolled 30 degrees, pitched 10, heading 90.
REPORT = bytes.fromhex(
    '53544154 0000000000c04740 00000000008020c0 00007a44 0000f041 00002041 0000b442')
VALUES = {'latitude': 47.5, 'longitude': -8.25, 'altitude': 1000.0,
          'roll': 30.0, 'pitch': 10.0, 'heading': 90.0}


@pytest.fixture(autouse=True)
def sixth(monkeypatch):
    """Overlay the folders on the package's, and add the line to the registry."""
    for name, room in (('bridges', 'bridges'), ('simulation.peers', 'peers')):
        package = import_module(f'xplane_bridge.{name}')
        monkeypatch.setattr(package, '__path__', [*package.__path__, str(ROOMS / room)])
    monkeypatch.setitem(PROTOCOLS, 'skylark', PeerProtocol('skylark', 'Skylark', 49100))
    yield
    for name in [name for name in sys.modules if '.skylark' in name]:
        del sys.modules[name]


@pytest.fixture
def protocol():
    return import_module('xplane_bridge.bridges.skylark.protocol')


@pytest.fixture
def session():
    return import_module('xplane_bridge.bridges.skylark.session').SkylarkSession(10.0)


def dissected(monkeypatch, capsys, text, *arguments):
    """Return the lines that dissect prints for these."""
    monkeypatch.setattr(sys, 'stdin', io.TextIOWrapper(io.BufferedReader(io.BytesIO(
        text.encode()))))
    assert dissect.main(['skylark', *arguments]) == 0
    return capsys.readouterr().out.splitlines()


# protocol/


def test_messages_are_read_and_written(protocol):
    assert protocol.decode(REPORT, 'peer') == protocol.Report(**VALUES)
    assert protocol.encode(protocol.Report(**VALUES)) == REPORT
    controls = protocol.Controls(elevator=0.5)
    assert protocol.decode(protocol.encode(controls), 'bridge') == controls


@pytest.mark.parametrize(('data', 'sender'), [
    (b'', 'peer'), (REPORT[:-1], 'peer'), (REPORT, 'bridge'), (b'NONE', 'peer')])
def test_what_is_no_message_is_refused(protocol, data, sender):
    with pytest.raises(ProtocolError):
        protocol.decode(data, sender)


def test_what_must_not_be_sent_is_refused(protocol):
    with pytest.raises(ValueError, match='CTRL elevator: expected -1 to 1, got 2'):
        protocol.encode(protocol.Controls(elevator=2.0))


def test_dissect_shows_it_and_makes_it(monkeypatch, capsys):
    line, = dissected(monkeypatch, capsys, REPORT.hex())
    assert json.loads(line) == {'message': 'STAT', **VALUES}
    assert dissected(monkeypatch, capsys, line, '--encode') == [REPORT.hex()]
    line, = dissected(monkeypatch, capsys, '{"message": "CTRL", "throttle": 1.0}', '--encode')
    shown, = dissected(monkeypatch, capsys, line, '--from', 'bridge')
    assert json.loads(shown) == {'message': 'CTRL', 'elevator': None, 'aileron': None,
                                 'rudder': None, 'throttle': 1.0}


# session/


def test_the_session_asks_hears_and_notices_silence(session):
    session.start(0.0)
    assert session.poll(0.0) == [('skylark', b'POLL')]
    assert session.next_deadline() == pytest.approx(0.1)
    assert session.receive('skylark', REPORT, None, 0.05) == (
        PeerChanged(PeerState.ANSWERING), Telemetry(0, VALUES))
    assert session.poll(0.05) == []
    for tenth in range(1, 12):
        session.poll(0.1 * tenth)
    assert session.expired() == [PeerChanged(PeerState.AWAY)]


def test_the_session_gives_back_what_it_has_taken(session, protocol):
    session.start(0.0)
    session.poll(0.0)
    with pytest.raises(PeerAbsentError):
        session.set_controls({'elevator': 0.5}, 0.0)
    session.receive('skylark', REPORT, None, 0.05)
    session.set_controls({'elevator': 0.5, 'throttle': 1.0}, 0.06)
    assert session.taken == ('elevator', 'throttle')
    session.stop(0.07)
    assert [protocol.decode(data, 'bridge') for _, data in session.poll(0.07)] == [
        protocol.Controls(elevator=0.5, throttle=1.0), protocol.Controls(elevator=0.0)]


def test_each_cell_of_its_table_does_what_it_says(session, protocol):
    table = import_module('xplane_bridge.bridges.skylark.session.states').TABLE

    def sent(now):
        return [protocol.decode(data, 'bridge') for _, data in session.poll(now)]

    with visited() as found:
        session.start(0.0)
        session.stop(0.0)
        assert session.receive('skylark', REPORT, None, 0.0) == ()
        assert (sent(1.0), session.next_deadline()) == ([], None)
        session.start(2.0)
        assert sent(2.0) == [protocol.Poll()]
        for now in (2.0, 4.0):
            assert PeerChanged(PeerState.ANSWERING) in session.receive(
                'skylark', REPORT, None, now)
            session.set_controls({'elevator': 0.5}, now)
            sent(now)
            assert session.next_deadline() == now + 0.1
            sent(now + 1.0)
            assert session.expired() == [PeerChanged(PeerState.AWAY)]
            # Another one may answer next.
            assert session.taken == ()
        session.stop(5.0)
        assert (sent(5.0), session.peer_state) == ([], PeerState.UNKNOWN)
        session.start(6.0)
        session.receive('skylark', REPORT, None, 6.0)
        session.set_controls({'elevator': 0.5}, 6.0)
        session.stop(6.0)
        assert sent(6.0)[-1] == protocol.Controls(elevator=0.0)
    assert cells(table) - found == set()


def test_malformed_datagrams_are_counted(session):
    session.start(0.0)
    assert session.receive('skylark', REPORT[:9], None, 0.0) == ()
    assert session.statistics.malformed == {'STAT': 1}


# its simulated peer


def test_the_command_runs_its_simulator(capsys):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from xplane_bridge.commands.simulator import main
    assert main(['skylark', '--port', '0', '--duration', '0.2']) == 0
    assert capsys.readouterr().out.startswith('Skylark of a c172p on 127.0.0.1:')


# node/


def test_the_node_has_its_parameters_and_help(capsys):
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    from xplane_bridge.bridges.nodes.managed.registry import (
        declared_elsewhere,
        nodes,
        parameter_table,
    )
    assert nodes()['skylark_node'].example == 'host:=192.168.1.20'
    assert parameter_table('skylark_node').__name__ == 'SkylarkParameters'
    assert 'skylark_node' in declared_elsewhere('rate')


def test_an_aircraft_is_flown_through_it(ros):
    """Over UDP: telemetry arrives, a command gets through, silence is reported."""
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from diagnostic_msgs.msg import DiagnosticStatus
    from masked import masked
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import NavSatFix

    from xplane_bridge.bridges.skylark.node import SkylarkNode
    from xplane_bridge.msg import FlightControls
    from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
    from xplane_bridge.simulation.peers.server import running
    from xplane_bridge.simulation.peers.skylark import SkylarkFrontend

    frontend = SkylarkFrontend(UdpEndpoint())
    with running(frontend) as server:
        def jsbsim(name):
            return server.call(lambda world: world.aircraft.property_value(name))

        ros.subscribe(NavSatFix, 'fix')
        ros.subscribe(Odometry, 'odom')
        node = ros.start(
            SkylarkNode, port=frontend.endpoints[0].address[1], undulation=0.0,
            command_timeout=0.0)
        fix = ros.next('fix')
        assert fix.latitude == pytest.approx(jsbsim('position/lat-geod-deg'), abs=1e-3)
        assert ros.next('odom').header.frame_id == 'odom'

        ros.publisher(FlightControls, 'command/controls').publish(
            masked(FlightControls, elevator=0.25, throttle=0.5))
        ros.wait_for(lambda: jsbsim('fcs/throttle-cmd-norm') == pytest.approx(0.5), 'the command')
        # JSBSim's elevator is positive nose down.
        assert jsbsim('fcs/elevator-cmd-norm') == pytest.approx(-0.25)
        level, text, values = ros.diagnosed('peer', node=node)
        assert (level, text) == (DiagnosticStatus.OK, 'answering')
        _, _, values = ros.diagnosed('commands', node=node)
        assert values['taken from the user'] == 'elevator, throttle'

        ros.run_in(node, node.trigger_deactivate)
        ros.wait_for(lambda: jsbsim('fcs/elevator-cmd-norm') == 0.0, 'the elevator given back')
        assert jsbsim('fcs/throttle-cmd-norm') == pytest.approx(0.5)
        ros.run_in(node, node.trigger_activate)
        ros.diagnosed('peer', lambda level, *_: level == DiagnosticStatus.OK, node=node)
    level, text, _ = ros.diagnosed(
        'peer', lambda level, *_: level == DiagnosticStatus.WARN, node=node)
    assert text.startswith('stopped answering (looked for at 127.0.0.1:')
    assert text.endswith('; check that it runs, its address and port')
