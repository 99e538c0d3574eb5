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

"""What the stand-in for ros2 says to what cannot be: one sentence, as the launch files do."""

import importlib.util
from pathlib import Path
import signal
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytestmark = pytest.mark.skipif(
    any(map(importlib.util.find_spec, ('ros2cli', 'launch_ros'))),
    reason='ros2 is installed, so nothing stands in for it')

STAND_IN = Path(__file__).parents[2] / 'tools' / 'ros2' / 'stand_in.py'
CONTROLS = 'xplane_bridge/msg/FlightControls'


@pytest.mark.parametrize(('words', 'sentence'), [
    ('launch xplane_bridge xplane_udp.launch.py port:=490o1',
     "launch argument port: expected a whole number, got '490o1'"),
    ('launch xplane_bridge xplane_udp.launch.py discover:=maybe',
     "launch argument discover: expected true or false, got 'maybe'"),
    ('launch xplane_bridge xpc.launch.py rat:=20',
     'launch argument rat: xpc.launch.py has no argument of that name; did you mean rate?'),
    ('launch xplane_bridge xpc.launch.py port', "launch argument 'port': expected name:=value"),
    ('launch xplane_bridge xpc.lunch.py',
     "xplane_bridge has no launch file 'xpc.lunch.py'; did you mean xpc.launch.py?"),
    ('launch no_such xpc.launch.py', "there is no package 'no_such' here"),
    ('run xplane_bridge simulatr', "xplane_bridge has no executable 'simulatr'; did you mean"),
    (f'topic pub /c {CONTROLS} {{elevtor:0.1}}',
     "FlightControls has no field 'elevtor:0.1'; did you mean elevator?"),
    (f'topic pub /c {CONTROLS} {{"elevator":up}}',
     "FlightControls.elevator: expected double, got 'up'"),
    (f'topic pub /c {CONTROLS}s {{}}', f"there is no interface '{CONTROLS}s'; did you mean"),
])
def test_what_cannot_be_is_said_in_one_line(words, sentence):
    done = subprocess.run(
        [sys.executable, STAND_IN, *words.split()], capture_output=True, text=True,
        timeout=60.0, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(sentence)
    assert done.stderr.count('\n') == 1


@pytest.fixture(name='stand_in')
def fixture_stand_in(tmp_path, monkeypatch):
    """Return the module with executables that write their arguments and wait for Ctrl-C."""
    monkeypatch.syspath_prepend(str(STAND_IN.parent))
    stand_in = importlib.import_module('stand_in')
    # The simulator ends when the autopilots are there.
    until = {'simulator_node': f'test -e {tmp_path / "autopilot_node.txt"}'}

    def stub(_, name):
        path = tmp_path / name
        path.write_text(
            f'#!/bin/sh\ntrap "exit 5" INT\nprintf "%s\\n" "$@" > {path}.txt\n'
            f'until {until.get(name, "false")}; do sleep 0.02; done\nexit 3\n')
        path.chmod(0o755)
        return str(path)

    monkeypatch.setattr(stand_in, 'executable', stub)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield stand_in
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_a_fleet_is_started_and_ends_with_its_simulator(stand_in, tmp_path, capfd):
    assert stand_in.main(['launch', 'xplane_bridge', 'fleet.launch.py', 'count:=2',
                          'namespace:=team', 'engage:=true', 'spacing:=50']) == 5
    simulator, autopilots = (
        (tmp_path / f'{name}_node.txt').read_text().splitlines()
        for name in ('simulator', 'autopilot'))
    for given in (simulator, autopilots):
        assert given[:3] == ['--ros-args', '-r', '__ns:=/team']
        assert {'namespaces:=[uav1, uav2]', 'use_sim_time:=true'} <= {*given}
    assert {'telemetry:=direct', 'fleet:=[c172p]', 'publish_clock:=true'} <= {*simulator}
    assert 'engage:=true' in autopilots
    out, err = capfd.readouterr()
    assert [line.split()[:4] for line in out.splitlines()] == [
        ['ros2', 'run', 'xplane_bridge', f'{name}_node'] for name in ('simulator', 'autopilot')]
    assert err == ''


@pytest.mark.parametrize(('argument', 'code', 'sentence'), [
    ('respawn:=true', 64, 'the argument respawn needs the package launch_ros'),
    ('count:=99', 1, 'launch argument count: '),
    ('autopilot:=false engage:=true', 1, 'launch argument engage: with autopilot:=false'),
])
def test_a_fleet_that_cannot_be_started_is_not(stand_in, tmp_path, capsys, argument, code,
                                               sentence):
    assert stand_in.main([
        'launch', 'xplane_bridge', 'fleet.launch.py', *argument.split()]) == code
    assert capsys.readouterr().err.startswith(sentence)
    assert not [*tmp_path.iterdir()]
