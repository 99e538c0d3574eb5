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

"""The processes of a flight: who ends when, what one says first, and how much each computes."""

from pathlib import Path
import sys
import time

import pytest

pytest.importorskip('ament_index_python', reason='ROS 2 is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from xplane_bridge.common.machine import MachineError
from xplane_bridge.laboratory.nodes.flight import processes, simulation
from xplane_bridge.laboratory.nodes.flight.processes import Processes, StartLimit

DEADLINE = 60.0
# Writes its name into a file when it is interrupted.
ENDS = """
import signal, sys
def end(*_):
    with open(sys.argv[1], 'a') as order:
        print(sys.argv[2], file=order)
    sys.exit()
signal.signal(signal.SIGINT, end)
print('ready', flush=True)
while True:
    signal.pause()
"""


def wait_for(condition, what):
    """Wait until something is true."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, f'waited in vain for {what}'
        time.sleep(0.01)


def test_who_records_ends_first_and_the_simulator_last(tmp_path):
    log, order = tmp_path / 'log', tmp_path / 'order'
    with Processes(str(log)) as processes:
        def of(name):
            return sys.executable, ['-c', ENDS, str(order), name]

        # A recorder is the first that is started, too.
        recorder = processes.announce(*of('recorder'), patience=DEADLINE)
        processes.start(*of('autopilot'))
        processes.start(*of('simulator'), is_last=True)
        processes.start(*of('bridge'))
        assert recorder.wait(DEADLINE) == 'ready'
        wait_for(lambda: log.read_text().count('ready') == 4, 'all of them')
    first, *others, last = order.read_text().split()
    assert (first, sorted(others), last) == ('recorder', ['autopilot', 'bridge'], 'simulator')


# Interrupted, it goes on until another one has been asked.
WAITS = """
import os, signal, sys, time
def end(*_):
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    sys.exit()
signal.signal(signal.SIGINT, end)
print('ready', flush=True)
while True:
    signal.pause()
"""
TELLS = """
import signal, sys
signal.signal(signal.SIGUSR1, lambda *_: open(sys.argv[1], 'a').close())
print('ready', flush=True)
while True:
    signal.pause()
"""


def test_while_a_recorder_ends_all_others_are_asked_what_they_have_published(tmp_path):
    log, told = tmp_path / 'log', tmp_path / 'told'
    asked_here = []
    with Processes(str(log)) as processes:
        recorder = processes.announce(
            sys.executable, ['-c', WAITS, str(told)], patience=DEADLINE)
        processes.start(sys.executable, ['-c', TELLS, str(told)])
        assert recorder.wait(DEADLINE) == 'ready'
        wait_for(lambda: log.read_text().count('ready') == 2, 'all of them')
        processes.end_recorders(lambda: asked_here.append(None))
    assert asked_here
    assert told.exists()


@pytest.mark.parametrize(('code', 'why'), [
    ('', 'it printed nothing'),
    ('import sys; print("no room"); sys.exit(1)', 'no room')])
def test_a_process_that_does_not_start_says_why(tmp_path, code, why):
    with Processes(str(tmp_path / 'log')) as processes:
        announced = processes.announce(sys.executable, ['-c', code])
        wait_for(lambda: announced.process.poll() is not None, 'its end')
        with pytest.raises(MachineError, match=f'did not start: {why}'):
            announced.wait(DEADLINE)
        assert why in processes.failed() or not code


@pytest.mark.parametrize(('code', 'patience', 'given_up'), [
    ('print("cannot be trimmed"); sys.exit(1)', 0.0, True),
    ('print("OSError: [Errno 28] No space left on device"); sys.exit(1)', 0.0, False),
    ('os.kill(os.getpid(), 9)', 0.0, False),
    # A recorder has nothing to decide.
    ('sys.exit(1)', 5.0, False)])
def test_whether_a_process_has_ended_by_a_decision_of_its_own(tmp_path, code, patience, given_up):
    with Processes(str(tmp_path / 'log')) as processes:
        process = processes.start(sys.executable, ['-c', f'import os, sys; {code}'], patience)
        assert process.wait(DEADLINE) is not None
        assert processes.failed()
        assert processes.has_given_up() is given_up


def test_the_time_that_a_process_computes_is_its_own(tmp_path):
    busy = Path(sys.executable).resolve()
    with Processes(str(tmp_path / 'log')) as processes:
        processes.start(str(busy), ['-c', 'while True: pass'])
        processes.start_group(['sleep', '1000'], str(tmp_path / 'controller.log'))
        wait_for(lambda: processes.cpu_seconds().get(str(busy), 0.0) > 0.1, 'some work')
        assert processes.cpu_seconds()['controller'] < 0.1


def test_who_starts_more_on_fewer_cores_waits_longer():
    assert StartLimit(4, 8).seconds < 32.0
    # They compute for 40 s on two cores, if nobody else does.
    assert StartLimit(42, 2).seconds > 2.0 * 42 * 1.9 / 2
    assert str(StartLimit(42, 2)) == (
        '110 s, what 42 processes may take to start on 2 cores: 30 s, and 2 times the 1.9 s of a '
        'core for each')


def test_a_simulator_that_is_not_there_in_time_is_named_with_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, '_LEAST', 0.0)
    monkeypatch.setattr(processes, '_SHARED', 0.0)
    with Processes(str(tmp_path / 'log')) as started:
        started.start(sys.executable, ['-c', ENDS, str(tmp_path / 'order'), 'simulator'])
        with pytest.raises(MachineError, match='its ports within 0 s, what 1 process may take'):
            simulation._wait_until_open(started)
