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

"""The command verify, over real sockets: its exit codes, its report, and Ctrl-C."""

import json
import signal
import subprocess
import sys

import pytest

pytest.importorskip('jsbsim', reason='the simulated aircraft needs JSBSim')

from xplane_bridge.bridges.links.captures.capture import read_datagrams
from xplane_bridge.commands import verify
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.server import running
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane_udp import XplaneUdpFrontend


def frontend():
    return XplaneUdpFrontend(UdpEndpoint(), 12, sender=UdpEndpoint())


def command(port, *options):
    return [sys.executable, '-P', '-m', 'xplane_bridge', 'verify', 'xplane12', '--port', str(port),
            '--seconds', '3', *options]


def test_only_listening_over_sockets_finds_nothing_and_leaves_a_report(tmp_path):
    report = tmp_path / 'found.json'
    peer = frontend()
    with running(peer):
        done = subprocess.run(
            command(peer.endpoint.address[1], '--read-only', '--report', str(report), '--capture',
                    str(tmp_path / 'minute.pcap')),
            capture_output=True, text=True, timeout=120)
    assert 'seen     it is X-Plane 12' in done.stdout, done.stdout + done.stderr
    with (tmp_path / 'minute.pcap').open('rb') as stream:
        assert len(list(read_datagrams(stream))) > 100
    found = json.loads(report.read_text())
    assert found['program'].startswith('X-Plane 12')
    # A machine that is busy shows as a network that is.
    assert {one['subject'] for one in found['findings'] if one['outcome'] == 'differs'} <= {
        'rate', 'jitter', 'gaps', 'loss', 'time'}
    assert done.returncode == any(one['outcome'] == 'differs' for one in found['findings'])


def test_ctrl_c_in_a_command_gives_it_back_and_says_so():
    world = World(Aircraft())
    peer = frontend()
    with running(peer, make_world=lambda: world) as server:
        with subprocess.Popen(
                command(peer.endpoint.address[1], '--yes'), stdout=subprocess.PIPE,
                text=True) as process:
            for line in process.stdout:
                if 'aileron shows' in line:
                    process.send_signal(signal.SIGINT)
                    break
            rest = process.stdout.read()
            assert process.wait(60) == 130
        assert 'Interrupted: gives back what was taken.' in rest
        assert 'NOT given back' not in rest
        assert not any(server.call(lambda its: its.overrides).values())


def test_what_cannot_be_is_refused_before_anything_is_sent(tmp_path, capsys):
    there = tmp_path / 'there.md'
    there.write_text('mine')
    for options, sentence in (
            (['--report', str(tmp_path / 'found.pdf')], 'a report ends in .md, .json, .html'),
            (['--capture', str(there)], 'there.md exists; --force overwrites it'),
            (['--capture', str(there)], 'there.md exists; --force overwrites it'),
            (['--seconds', '1'], '--seconds 1 is not in 3..600'),
            (['--report', str(there)], 'there.md exists; --force overwrites it'),
            (['--host', 'no such name'], 'no such name')):
        assert verify.main(['xpc', *options]) == 2
        assert sentence in capsys.readouterr().err
    for peer in ('web_api', 'simpit'):
        assert verify.main([peer, '--capture', str(tmp_path / 'new.pcap')]) == 2
        assert f'--capture: there is none of {peer}: ' in capsys.readouterr().err
    for peer in ('web_api', 'simpit'):
        assert verify.main([peer, '--capture', str(tmp_path / 'new.pcap')]) == 2
        assert f'--capture: there is none of {peer}: ' in capsys.readouterr().err
    assert there.read_text() == 'mine'


def test_nobody_there_is_exit_code_2():
    done = subprocess.run(
        command(1, '--read-only'), capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert 'nothing came back' in done.stderr
