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

"""Programs that are forked: they are as if each had an interpreter of its own."""

import os
from pathlib import Path
import select
import signal
import subprocess
import sys

from process_table import running
import pytest

from xplane_bridge.common.processes.fork_server import ForkServer
from xplane_bridge.common.processes.supervised import ABANDONED, Supervised

DEADLINE = 30.0
# What an interpreter of its own would print, and how it would end.
PROGRAM = """#!/usr/bin/env python3
import os, signal, sys, threading
print(os.getcwd(), sys.argv[1:], os.environ['TOLD'], __name__, 'json' in sys.modules, flush=True)
print(os.path.samefile('/proc/self/fd/0', os.devnull), os.getsid(0) == os.getpid(),
      signal.getsignal(signal.SIGINT) is signal.SIG_DFL, sys.stdout.isatty(), flush=True)
with open('/proc/self/comm') as name, open('/proc/self/cmdline') as shown:
    print(name.read().strip(), shown.read().strip(chr(0)).split(chr(0)), flush=True)
print('to stderr', file=sys.stderr)
threading.Thread(target=lambda: print('a thread is waited for')).start()
if sys.argv[1:] == ['fails']:
    raise ValueError('a reason')
if sys.argv[1:] == ['waits']:
    print('ready', flush=True)
    signal.pause()
sys.exit('no more' if sys.argv[1:] == ['says'] else 7)
"""


@pytest.fixture(scope='module')
def forks():
    server = ForkServer('decimal')
    yield server
    server.close()


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / 'a_program_of_this_test'
    path.write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('TOLD', 'now')
    return path


def run(forks, *command, **options):
    process = Supervised([*map(str, command)], subprocess.PIPE, forks=forks, **options)
    with process.stdout:
        said = process.stdout.read().splitlines()
    return process.wait(DEADLINE), said


def test_a_forked_program_is_as_one_with_an_interpreter_of_its_own(forks, program):
    code, said = run(forks, program, 'one', 'two words')
    assert code == 7
    assert said == [
        f"{program.parent} ['one', 'two words'] now __main__ True", 'True True True False',
        f"a_program_of_th ['{Path(sys.executable).name}', '{program}', 'one', 'two words']",
        'to stderr',
        'a thread is waited for']
    assert run(forks, program, 'says')[0] == 1
    code, said = run(forks, program, 'fails')
    assert code == 1
    assert 'ValueError: a reason' in said
    code, said = run(forks, program.parent / 'none')
    assert code == 127
    assert 'No such file or directory' in said[-1]


def test_it_has_the_environment_that_it_is_given(forks, program):
    assert ' then __main__' in run(forks, program, environment=os.environ | {'TOLD': 'then'})[1][0]
    # What is read before the program begins is not changed by a fork.
    early = os.environ | {'PYTHONOPTIMIZE': '1'}
    assert forks.serves(program, os.environ)
    assert not forks.serves(program, early)
    assert not forks.serves('/bin/sh', os.environ)


def test_it_keeps_what_it_is_given_open_and_nothing_else(forks, program):
    reading, writing = os.pipe()
    process = Supervised(
        [str(program), 'waits'], subprocess.PIPE, forks=forks, descriptors=[writing])
    os.close(writing)
    while process.stdout.readline() not in ('ready\n', ''):
        pass
    open_now = {os.readlink(one) for one in Path(f'/proc/{process.pid}/fd').iterdir()}
    assert {one for one in open_now if not one.startswith(('/dev/null', 'pipe:'))} == set()
    # The output, and what it was given.
    assert len({one for one in open_now if one.startswith('pipe:')}) == 2
    process.end(DEADLINE)
    assert process.wait(DEADLINE) == ABANDONED
    assert os.read(reading, 1) == b''
    os.close(reading)
    process.stdout.close()


def test_a_signal_that_ends_it_is_a_negative_code(forks, program):
    process = Supervised([str(program), 'waits'], subprocess.PIPE, forks=forks)
    while process.stdout.readline() not in ('ready\n', ''):
        pass
    assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(DEADLINE) == -signal.SIGKILL
    process.stdout.close()


def test_a_server_that_was_killed_is_begun_anew_and_too_much_is_refused(forks, program):
    assert forks.serves(program, os.environ)
    process = Supervised([str(program), 'waits'], subprocess.PIPE, forks=forks)
    while process.stdout.readline() not in ('ready\n', ''):
        pass
    supervisor = int(Path(f'/proc/{process.pid}/stat').read_text().rpartition(')')[2].split()[1])
    server = int(Path(f'/proc/{supervisor}/stat').read_text().rpartition(')')[2].split()[1])
    os.kill(server, signal.SIGKILL)
    # What it had forked ends with it, and says so.
    assert process.wait(DEADLINE) == ABANDONED
    process.stdout.close()
    assert run(forks, program)[0] == 7
    with pytest.raises(OSError, match='too long'):
        run(forks, program, environment=os.environ | {'TOLD': '.' * 200_000})


@pytest.mark.parametrize('begins', ['as a copy', 'by itself'])
def test_all_end_with_the_process_that_started_them(program, begins):
    """Even if that is killed, and was forked itself."""
    script = program.parent / 'starts.py'
    script.write_text(f"""
import os, subprocess, time
from xplane_bridge.common.processes.fork_server import ForkServer
from xplane_bridge.common.processes.supervised import Supervised
forks = ForkServer()
if {begins == 'as a copy'}:
    forks.begin_as_copy()
process = Supervised([{str(program)!r}, 'waits'], subprocess.PIPE, forks=forks)
while process.stdout.readline() != 'ready\\n':
    pass
print(process.pid, flush=True)
if not os.fork():
    os.close(1)
time.sleep(99)
""")
    with subprocess.Popen(
        [sys.executable, '-P', str(script), 'room for other arguments' * 4],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    ) as parent:
        forked = int(parent.stdout.readline())
        assert running(str(program)) == [forked]
        ended = os.pidfd_open(forked)
        parent.kill()
        assert select.select([ended], [], [], DEADLINE)[0]
        os.close(ended)
        os.killpg(parent.pid, signal.SIGKILL)


def test_what_is_done_at_the_end_of_a_process_is_not_done_by_its_copies(program):
    script = f"""
import atexit, os, subprocess, sys, tempfile
from xplane_bridge.common.processes.fork_server import ForkServer
from xplane_bridge.common.processes.supervised import Supervised
folder = tempfile.TemporaryDirectory()
atexit.register(print, 'ended')
forks = ForkServer()
forks.begin_as_copy()
process = Supervised([{str(program)!r}], subprocess.PIPE, forks=forks)
print(process.stdout.read().splitlines()[-1], process.wait(), os.path.isdir(folder.name))
"""
    assert subprocess.run(
        [sys.executable, '-P', '-c', script], capture_output=True, text=True, check=True,
    ).stdout.splitlines() == ['a thread is waited for 7 True', 'ended']
