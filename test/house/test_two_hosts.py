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

"""Simulator on one host, bridge and controller on another: two network namespaces, one link."""

import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('rosbags', reason='reading back needs rosbags')

from harness import process
from xplane_bridge.laboratory.flights.analysis import history as analysis
from xplane_bridge.laboratory.nodes.flight.processes import executable_path

pytestmark = pytest.mark.xdist_group('journeys')

IP = shutil.which('ip')
SIMULATOR, CONTROLLER = '10.213.77.1', '10.213.77.2'
DELAY, LOSS = 0.02, 0.02
SCENARIO = """
duration: 8.0
events:
  - {at: 0.5, engage: true}
  - {at: 1.0, change: {heading_deg: 20.0}}
criteria:
  - {quantity: roll_deg, statistic: max, from: 1.0, at_least: 5.0}
  - {quantity: altitude_error, statistic: max_abs, from: 1.0, at_most: 10.0}
  - {figure: rates.imu/data.rate, at_least: 8.0}
"""


def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


@pytest.fixture
def hosts():
    """Return the names of two joined namespaces, and whether netem adds delay between them."""
    if IP is None:
        pytest.skip('needs the command ip (iproute2)')
    names = [f'xpb{os.getpid()}{end}' for end in 'ab']
    made = []
    try:
        try:
            for name in names:
                run('ip', 'netns', 'add', name)
                made.append(name)
            run('ip', 'link', 'add', names[0], 'netns', names[0], 'type', 'veth',
                'peer', 'name', names[1], 'netns', names[1])
            for name, address in zip(names, (SIMULATOR, CONTROLLER), strict=True):
                run('ip', '-n', name, 'address', 'add', f'{address}/24', 'dev', name)
                run('ip', '-n', name, 'link', 'set', name, 'up')
                run('ip', '-n', name, 'link', 'set', 'lo', 'up')
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip('needs the privilege to make network namespaces: '
                        + (getattr(error, 'stderr', '') or str(error)).strip())
        yield names, all(_netem(name) for name in names)
    finally:
        for name in made:
            run('ip', 'netns', 'delete', name)


def _netem(name):
    """Add outgoing delay and loss; return whether the kernel supports that."""
    try:
        run('tc', '-n', name, 'qdisc', 'add', 'dev', name, 'root', 'netem',
            'delay', f'{DELAY * 1e3:.0f}ms', 'loss', f'{LOSS:.0%}')
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


@pytest.mark.parametrize(('arguments', 'sim'), [(('xpc',), 'xpc'), (('xplane12',), 'xplane12')])
def test_the_experiment_goes_over_a_network_with_delay_and_loss(hosts, tmp_path, arguments, sim):
    (far, near), netem = hosts
    faults = () if netem else ('--delay', str(DELAY), '--loss', str(LOSS))
    scenario = tmp_path / 'two.yaml'
    scenario.write_text(SCENARIO)
    with process(IP, 'netns', 'exec', far, executable_path('simulator'), *arguments,
                 '--host', SIMULATOR, '--no-beacon', *faults) as simulator:
        assert SIMULATOR in simulator.stdout.readline()
        with process(IP, 'netns', 'exec', near, executable_path('experiment'), '--sim', sim,
                     '--host', SIMULATOR, '--scenario', str(scenario),
                     '--output', str(tmp_path / 'two'), '--no-picture') as experiment:
            output, _ = experiment.communicate(timeout=180)
    log = (tmp_path / 'two.log').read_text()
    assert experiment.returncode == 0, output + log
    assert 'Traceback' not in log
    flight = analysis.load(tmp_path / 'two.mcap')
    if sim == 'xpc':
        # The network was indeed bad: a request and its reply are lost with probability 1 - 0.98^2.
        link = analysis.figures(flight)['link']
        assert int(link['lost']) > 0, link


SERVER = f"""
import socket
with socket.create_server(('{SIMULATOR}', 7000)) as server:
    print('listens', flush=True)
    server.accept()[0].recv(1)
"""
CLIENT = f"""
import threading
from xplane_bridge.bridges.links.serial import SerialLoop

class Silent:
    rests = False

    def opened(self, now): pass
    def lost(self, now): pass
    def poll(self, now): return ()
    def next_deadline(self): return None
    def expired(self): return ()

SerialLoop(Silent(), 'socket://{SIMULATOR}:7000', 115200,
           lambda event, _: print(event.text, flush=True), print).start()
threading.Event().wait()
"""


def test_a_serial_server_that_is_unplugged_is_noticed(hosts):
    (far, near), _ = hosts
    with process(IP, 'netns', 'exec', far, sys.executable, '-P', '-c', SERVER) as server:
        assert server.stdout.readline() == 'listens\n'
        with process(IP, 'netns', 'exec', near, sys.executable, '-P', '-c', CLIENT) as client:
            assert client.stdout.readline() == f'socket://{SIMULATOR}:7000: open\n'
            # No packet says so: the address is gone.
            run('ip', '-n', far, 'address', 'delete', f'{SIMULATOR}/24', 'dev', far)
            assert 'lost (Connection timed out)' in client.stdout.readline()
