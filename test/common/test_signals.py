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

"""Executables interrupted while starting, and again while stopping: no traceback."""

from contextlib import suppress
from functools import partial
import os
import signal
import subprocess
import threading
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from harness import DEADLINE
from xplane_bridge.common import signals
from xplane_bridge.common.signals import calling_on_signal
from xplane_bridge.laboratory.nodes.flight.processes import executable_path

NEEDS = {'simulator': ['jsbsim'], 'record': ['mcap'],
         'experiment': ['jsbsim', 'mcap', 'rosbags', 'matplotlib']}


@pytest.mark.parametrize(('name', 'arguments'), [
    ('xpc_node', ()), ('simulator', ('xpc', '--port', '0', '--no-beacon')), ('dissect', ('xpc',)),
])
def test_an_interrupt_at_the_start_ends_it_without_a_traceback(tmp_path, name, arguments):
    # From before Python can report anything until well into its imports.
    for milliseconds in (5, 12, 18, 25, 50):
        child = subprocess.Popen(
            [executable_path(name), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, cwd=tmp_path)
        try:
            time.sleep(milliseconds * 1e-3)
            output = None
            while output is None:
                # Where env cannot block it, Python may swallow it just before its script runs.
                child.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    output, _ = child.communicate(timeout=1.0)
        finally:
            child.kill()
        assert child.returncode in (0, -signal.SIGINT)
        assert 'Traceback' not in output


@pytest.mark.parametrize(('name', 'arguments', 'says', 'codes'), [
    ('simulator', ('xpc', '--port', '0', '--no-beacon'), 'frames/s', {0}),
    # There was nothing to record.
    ('record', ('-o', 'flight.mcap'), 'recording to', {1}),
    ('experiment', (), 'port ', {130}),
])
def test_one_that_is_interrupted_twice_ends_as_if_once(
        tmp_path, monkeypatch, name, arguments, says, codes):
    for package in NEEDS[name]:
        pytest.importorskip(package, reason=f'{name} needs {package}')
    monkeypatch.chdir(tmp_path)
    child = subprocess.Popen(
        [executable_path(name), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True)
    try:
        while says not in (line := child.stdout.readline()):
            assert line, 'it ended by itself'
        for _ in range(3):
            child.send_signal(signal.SIGINT)
            time.sleep(0.01)
        output, _ = child.communicate(timeout=DEADLINE)
    finally:
        child.kill()
    assert child.returncode in codes
    assert 'Traceback' not in output


def test_the_first_signal_is_heard_by_a_thread_and_the_second_ignored(request, capfd):
    heard = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        request.addfinalizer(partial(signal.signal, number, signal.getsignal(number)))
    with calling_on_signal(heard.set):
        os.kill(os.getpid(), signal.SIGINT)
        assert heard.wait(DEADLINE)
        for _ in range(3):
            time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    # It is about to exit.
    os.kill(os.getpid(), signal.SIGINT)
    assert capfd.readouterr() == ('', '')


def test_who_asks_by_sigusr1_is_heard_each_time_and_ends_nothing(request):
    heard, asked = threading.Event(), threading.Semaphore(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        request.addfinalizer(partial(signal.signal, number, signal.getsignal(number)))
    with calling_on_signal(heard.set, asked=asked.release):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGUSR1)
            assert asked.acquire(timeout=DEADLINE)
        assert not heard.is_set()
        os.kill(os.getpid(), signal.SIGINT)
        assert heard.wait(DEADLINE)
        # Too late, and no reason to die.
        os.kill(os.getpid(), signal.SIGUSR1)


@pytest.mark.parametrize(('same', 'more', 'insists'), [
    (60.0, [signal.SIGTERM, signal.SIGINT, signal.SIGINT], False), (0.0, [signal.SIGTERM], True),
    (0.0, [signal.SIGINT], False), (0.0, [signal.SIGINT, signal.SIGINT], True)])
def test_who_insists_is_heard_but_not_the_second_signal_of_one_interrupt(
        request, monkeypatch, same, more, insists):
    monkeypatch.setattr(signals, '_SAME', same)
    heard, again = threading.Event(), threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        request.addfinalizer(partial(signal.signal, number, signal.getsignal(number)))
    with calling_on_signal(heard.set, finish=True, again=again.set):
        os.kill(os.getpid(), signal.SIGINT)
        assert heard.wait(DEADLINE)
        for number in more:
            os.kill(os.getpid(), number)
        assert again.wait(DEADLINE if insists else 0.05) is insists
