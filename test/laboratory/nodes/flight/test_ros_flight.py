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


"""Flights by actions through ROS: equal to those in one process so rounded, and well ended."""

from dataclasses import replace
import os
from pathlib import Path
import re
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('gymnasium', reason='episodes need gymnasium')

from flight_states import Driver
import numpy as np

from xplane_bridge.laboratory.episodes.environment import FlightEnv
from xplane_bridge.laboratory.flights.flight import Fault, FlightState
from xplane_bridge.laboratory.flights.order import FlownBy, Link, Order
from xplane_bridge.laboratory.flights.refusals import OrderError
from xplane_bridge.laboratory.flights.scenario.events import parse as parse_event
from xplane_bridge.laboratory.flights.scenario.scenario import parse
from xplane_bridge.laboratory.flights.scenario.start import apply_start, Start
from xplane_bridge.laboratory.nodes.flight.processes import Processes
from xplane_bridge.laboratory.open_flight import open_flight
from xplane_bridge.msg import FlightControls

SCENARIO = parse('rough', {
    'duration': 60.0,
    'events': [{'at': 0.1, 'engage': True}, {'at': 1.0, 'change': {'heading_deg': 20.0}},
               {'at': 1.5, 'engine_failed': True}],
    'criteria': [{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 90.0}]})
# Two equal gusts, one after the other.
GUSTY = replace(SCENARIO, events=(*SCENARIO.events[:1], *(
    parse_event(event, 'events', 60.0) for event in (
        {'at': 0.2, 'gust': {'axis': 'vertical', 'amplitude': 2.0, 'length': 9.0}},
        {'at': 0.3, 'wind_shear': {'wind_at_20ft': [2.0, -3.0]}},
        {'at': 0.4, 'gust': {'axis': 'vertical', 'amplitude': 2.0, 'length': 9.0}})),
    *SCENARIO.events[1:]))
BRIEF = parse('brief', {
    'duration': 1.0, 'events': [{'at': 0.1, 'engage': True}],
    'criteria': [{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 90.0}]})
OPTIONS = {
    'wind': [3.0, 4.0, 0.0], 'turbulence': [15.0, 4],
    'initial': {'plant': {'mass': 900.0, 'aero.Clp': 0.9, 'command_delay': 0.05}}}
ACTION = (0.0, 0.0, 0.0, 0.7)
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


def by_actions(scenario, level='controls', sim='xpc', **link):
    """Return the order of a flight by actions, in lockstep unless ``link`` says otherwise."""
    return Order(
        scenario, sim, FlownBy(actions=level), seed=1, link=Link(**{'lockstep': True} | link))


@pytest.mark.parametrize(('sim', 'level', 'frames'), [
    ('xpc', 'controls', 300), ('xplane6', 'attitude', 30), ('xplane12', 'attitude', 60),
    ('direct', 'controls', 60)])
def test_lockstep_equals_one_process_rounded_so_to_the_last_bit(sim, level, frames):
    # What is published directly is rounded by nothing.
    rounding = '' if sim == 'direct' else sim
    here = fly(FlightEnv(GUSTY, level=level, rounding=rounding), level, frames)
    environment = FlightEnv(GUSTY, sim=sim, level=level)
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
    flight = open_flight(by_actions(SCENARIO, namespace=namespace))
    assert flight.start() is FlightState.READY
    flight.step(ACTION)
    simulator, = (
        pid for pid, line in commands_with(f'__ns:={namespace}').items()
        if 'simulator_node' in line and 'supervisor.py' not in line)
    os.kill(simulator, 9)
    for _ in range(10):
        if flight.step(ACTION) is not FlightState.READY:
            break
    assert flight.state is FlightState.FAILED
    assert 'simulator_node ended with code -9' in flight.why
    assert flight.fault is Fault.MACHINE
    assert not commands_with(f'__ns:={namespace}')
    with pytest.raises(ValueError, match='the flight is failed, expected ready: .*ended with'):
        flight.step(ACTION)


def test_a_stranger_who_commands_too_is_why_it_has_no_result(ros):
    namespace = f'/visited_{os.getpid()}'
    with open_flight(by_actions(SCENARIO, sim='direct', namespace=namespace)) as flight:
        assert flight.start() is FlightState.READY
        ros.observer.create_publisher(FlightControls, f'{namespace}/command/controls', 1)
        while flight.step(ACTION) is FlightState.READY:
            pass
        assert flight.why.startswith(f'{namespace}/command/controls in ROS domain ')
        # Its publisher may be known before its name.
        assert re.search(
            rf'by (/observer, {namespace}/experiment|{namespace}/experiment, a node whose name is '
            r'not known yet), expected only experiment: ', flight.why)
        assert flight.fault is Fault.MACHINE


def test_its_states_are_those_of_a_flight_in_one_process():
    namespace = f'/states_{os.getpid()}'
    driver = Driver(open_flight(by_actions(BRIEF, namespace=namespace)), ACTION)
    assert driver.do('step', 'history', 'observation', 'start') is FlightState.READY
    # At the first frame in which an action counts.
    assert driver.flight.time == pytest.approx(0.1)
    assert driver.do(
        *['step', 'history', 'result', 'observation'] * 20, 'start') is FlightState.READY
    assert driver.do('fly', 'step', 'history', 'result', 'observation') is FlightState.OVER
    # Its processes end with it, not with close().
    assert not commands_with(f'__ns:={namespace}')
    flown = driver.flight.history()
    assert flown.namespace == 'ros'
    # A state whose command is on its way for long is sent again.
    assert len(set(flown.series['altitude'].times.tolist())) == 61
    driver.do('close', 'close', 'history', 'result', 'start', 'step', 'fly')
    assert driver.flight.state is FlightState.CLOSED
    assert driver.flight.flown == 1.0


def test_what_was_flown_is_known_while_its_processes_end(monkeypatch):
    namespace, known = f'/ending_{os.getpid()}', threading.Event()
    end = Processes.__exit__

    def wait_and_end(*given):
        assert known.wait(_DEADLINE)
        end(*given)

    monkeypatch.setattr(Processes, '__exit__', wait_and_end)
    flight = open_flight(by_actions(BRIEF, sim='direct', namespace=namespace))
    flight.ends_at_once = False
    assert flight.start() is FlightState.READY
    assert flight.step(ACTION, 60) is FlightState.OVER
    assert commands_with(f'__ns:={namespace}')
    assert len(flight.history().series['altitude'].times)
    known.set()
    flight.close()
    assert not commands_with(f'__ns:={namespace}')


def test_behind_sensors_a_controller_is_given_to_hold_what_it_measures():
    """As the autopilot, and a law in one process, begin to hold what they know."""
    order = Order(BRIEF, seed=3, sensors='consumer', flown_by=FlownBy(policy='turbulence'))
    held = []
    for one in (order, replace(order, sim='direct', link=Link(lockstep=True))):
        with open_flight(one) as flight:
            assert flight.fly() is FlightState.OVER, flight.why
            series = flight.history().series
            held.append([series[f'target_{name}'].values[0]
                         for name in ('altitude', 'heading', 'airspeed')])
    assert held[0] == pytest.approx(held[1], abs=1e-5)
    # The error of the satellites is metres.
    assert abs(held[0][0] - series['altitude'].values[0]) > 1.0


def test_one_that_cannot_begin_has_failed_and_says_why():
    namespace = f'/failing_{os.getpid()}'
    too_fast = apply_start(BRIEF, Start(initial={'airspeed': 300.0}))
    driver = Driver(open_flight(by_actions(too_fast, namespace=namespace)), ACTION)
    assert driver.do('fly') is FlightState.FAILED
    assert driver.flight.why.startswith('simulator_node ended with code 1: ')
    assert 'cannot be trimmed' in driver.flight.why
    assert driver.flight.fault is Fault.FLIGHT
    assert not commands_with(f'__ns:={namespace}')
    driver.do('history', 'result', 'step', 'close', 'close', 'history', 'start')


def test_one_that_is_closed_before_it_began_has_no_history():
    driver = Driver(open_flight(by_actions(BRIEF)), ACTION)
    assert driver.do('close', 'history', 'result', 'start', 'step', 'fly') is FlightState.CLOSED


@pytest.mark.parametrize('killed', [False, True])
def test_no_process_outlives_the_interpreter(killed):
    namespace = f'/outlived_{os.getpid()}_{killed}'
    script = f"""
import os, runpy, signal, sys
from xplane_bridge.laboratory.flights.order import FlownBy, Link, Order
from xplane_bridge.laboratory.flights.scenario.scenario import parse
from xplane_bridge.msg import FlightControls
from xplane_bridge.laboratory.open_flight import open_flight
flight = open_flight(Order(parse('rough', {{
    'duration': 9.0, 'events': [{{'at': 0.0, 'engage': True}}],
    'criteria': [{{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 90.0}}]}}),
    'xpc', FlownBy(actions='controls'), link=Link(lockstep=True, namespace={namespace!r})))
flight.start()
if {killed}:
    os.kill(os.getpid(), signal.SIGKILL)
raise SystemExit(f'at {{flight.time:g}} s')
"""
    done = subprocess.run(
        [sys.executable, '-c', script], capture_output=True, text=True, timeout=60.0)
    assert killed or done.stderr.splitlines()[-1] == 'at 0 s'
    wait_until_ended(f'__ns:={namespace}')


def test_what_cannot_be_flown_through_ros_is_said():
    with pytest.raises(ValueError, match="there is no simulator 'dcs': expected one of xpc"):
        open_flight(by_actions(SCENARIO, sim='dcs'))
    with pytest.raises(ValueError, match='the flight is new, expected ready'):
        open_flight(by_actions(SCENARIO)).step(ACTION)
    real = by_actions(apply_start(SCENARIO, Start(initial={'altitude': 900.0})),
                      lockstep=False, host='192.0.2.1')
    with pytest.raises(OrderError) as refused:
        open_flight(real)
    assert [one.partition(': ')[0] for one in refused.value.sentences] == [
        'a real simulator (192.0.2.1) does not support initial',
        'a real simulator (192.0.2.1) does not support seed, engine_failed at 1.5 s']
    with pytest.raises(ValueError, match='--namespace: Invalid namespace'):
        open_flight(by_actions(SCENARIO, namespace='/uav-1'))
