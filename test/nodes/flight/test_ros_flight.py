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


"""Episodes through ROS: equal to those in one process behind the same wire, and well ended."""

import os
from pathlib import Path
import subprocess
import sys
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('gymnasium', reason='episodes need gymnasium')

import numpy as np

from xplane_bridge.control.policy.action import LEVELS
from xplane_bridge.episodes.environment import FlightEnv
from xplane_bridge.flights.flight import Start
from xplane_bridge.flights.scenario.scenario import parse
from xplane_bridge.flights.script import ExperimentError
from xplane_bridge.nodes.flight.ros_flight import RosFlight

SCENARIO = parse('rough', {
    'duration': 60.0,
    'events': [{'at': 0.1, 'engage': True}, {'at': 1.0, 'change': {'heading_deg': 20.0}},
               {'at': 1.5, 'engine_failed': True}],
    'criteria': [{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 90.0}]})
OPTIONS = {'wind': [3.0, 4.0, 0.0], 'turbulence': [15.0, 4]}
_DEADLINE = 20.0


def fly(environment, level, frames):
    """Return the observations and rewards of an episode with random actions."""
    low, high = np.array({
        'controls': [(-0.3, 0.3), (-0.3, 0.3), (-0.3, 0.3), (0.4, 1.0)],
        'attitude': [(-0.3, 0.3), (-0.1, 0.1), (0.4, 1.0)]}[level]).T
    random = np.random.default_rng(3)
    observation, _ = environment.reset(seed=11, options=OPTIONS)
    found = [(*observation, 0.0)]
    for _ in range(frames):
        observation, reward, _, _, _ = environment.step(random.uniform(low, high))
        found.append((*observation, reward))
    return np.array(found)


def commands_with(text):
    """Return the command lines of processes that contain a text, by process id."""
    found = {}
    for path in Path('/proc').glob('[0-9]*/cmdline'):
        try:
            line = path.read_bytes().decode(errors='replace')
        except OSError:
            continue
        if text in line and 'python3\0-c' not in line:
            found[int(path.parent.name)] = line
    return found


def wait_until_ended(text):
    deadline = time.monotonic() + _DEADLINE
    while left := commands_with(text):
        assert time.monotonic() < deadline, f'still running: {left}'


@pytest.mark.parametrize(('sim', 'level', 'frames'), [
    ('xpc', 'controls', 300), ('xplane6', 'attitude', 30), ('xplane12', 'attitude', 60)])
def test_lockstep_equals_one_process_behind_that_wire_to_the_last_bit(sim, level, frames):
    here = fly(FlightEnv(SCENARIO, level=level, wire=sim), level, frames)
    environment = FlightEnv(SCENARIO, room='ros', sim=sim, level=level)
    try:
        there = fly(environment, level, frames)
        # Again, after a reset: the same seed.
        again = fly(environment, level, frames) if sim == 'xpc' else there
    finally:
        environment.close()
    assert here.tobytes() == there.tobytes()
    assert again.tobytes() == there.tobytes()
    # It has moved: of the rates none was constant.
    assert np.ptp(here, axis=0)[4:7].min() > 0.0


def test_a_killed_simulator_is_an_error_and_leaves_no_process():
    namespace = f'/killed_{os.getpid()}'
    flight = RosFlight(SCENARIO, LEVELS['controls'], namespace=namespace)
    flight.reset(Start(seed=1))
    flight.step((0.0, 0.0, 0.0, 0.7))
    simulator, = (
        pid for pid, line in commands_with(f'__ns:={namespace}').items()
        if 'simulator_node' in line and 'supervisor.py' not in line)
    os.kill(simulator, 9)
    with pytest.raises(ExperimentError, match='simulator_node ended with code -9'):
        for _ in range(10):
            flight.step((0.0, 0.0, 0.0, 0.7))
    assert not commands_with(f'__ns:={namespace}')
    with pytest.raises(ValueError, match='call reset'):
        flight.step((0.0, 0.0, 0.0, 0.7))


@pytest.mark.parametrize('killed', [False, True])
def test_no_process_outlives_the_interpreter(killed):
    namespace = f'/outlived_{os.getpid()}_{killed}'
    script = f"""
import os, runpy, signal, sys
from xplane_bridge.control.policy.action import LEVELS
from xplane_bridge.flights.flight import Start
from xplane_bridge.nodes.flight.ros_flight import RosFlight
from xplane_bridge.flights.scenario.scenario import parse
flight = RosFlight(parse('rough', {{
    'duration': 9.0, 'events': [{{'at': 0.0, 'engage': True}}],
    'criteria': [{{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 90.0}}]}}),
    LEVELS['controls'], namespace={namespace!r})
flight.reset(Start())
if {killed}:
    os.kill(os.getpid(), signal.SIGKILL)
raise SystemExit(f'at {{flight.time:g}} s')
"""
    done = subprocess.run(
        [sys.executable, '-c', script], capture_output=True, text=True, timeout=60.0)
    assert killed or done.stderr.splitlines()[-1] == 'at 0 s'
    wait_until_ended(f'__ns:={namespace}')


def test_what_a_room_of_ros_cannot_do_is_said():
    with pytest.raises(ValueError, match="sim: got 'dcs', expected one of xpc"):
        RosFlight(SCENARIO, LEVELS['controls'], sim='dcs')
    with pytest.raises(ValueError, match='call reset'):
        RosFlight(SCENARIO, LEVELS['controls']).step((0.0, 0.0, 0.0, 0.7))
    real = RosFlight(SCENARIO, LEVELS['controls'], host='192.0.2.1')
    with pytest.raises(ValueError, match=r'does not support initial, engine_failed at 1.5 s'):
        real.reset(Start(initial={'altitude': 900.0}))
