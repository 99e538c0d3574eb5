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

"""Supervised processes: nothing is left of them, however they or whoever started them end."""

import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time

from process_table import running
import pytest

from xplane_bridge.common.processes import supervisor
from xplane_bridge.common.processes.supervised import ABANDONED, HUNG, Supervised

DEADLINE = 30.0
# It leaves its session, ignores interrupts, and loses its parent.
STRAY = ('setsid sh -c "trap \\"\\" INT TERM; echo > {1}; sleep {0}; sleep {0}" & '
         'read x < {1}; echo ready; ')


def wait_until(predicate, what):
    deadline = time.monotonic() + DEADLINE
    while not predicate():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


@pytest.fixture
def mark(request):
    """Return a number of seconds that no other process sleeps."""
    return f'9{os.getpid()}{abs(hash(request.node.name)) % 1000}'


@pytest.mark.parametrize('end', ['limit', 'command', 'parent', 'signal', 'end'])
def test_the_supervisor_leaves_nothing(end, tmp_path, mark):
    fifo = tmp_path / 'fifo'
    os.mkfifo(fifo)
    command = STRAY.format(mark, fifo) + {
        'command': 'exit 3', 'limit': f'trap "" INT; sleep {mark}; sleep {mark}',
        'end': f'trap "" INT; sleep {mark}; sleep {mark}',
    }.get(end, f'exec sleep {mark}')
    process = Supervised(['sh', '-c', command], subprocess.PIPE, 0.3 if end == 'limit' else 60.0)
    assert process.stdout.readline() == 'ready\n'
    if end == 'parent':
        process._line.close()
    elif end == 'signal':
        process._supervisor.send_signal(signal.SIGTERM)
    elif end == 'end':
        process.end(0.2)
    code = process.wait(DEADLINE)
    assert not running(mark)
    process.stdout.close()
    assert code == {'limit': HUNG, 'command': 3}.get(end, ABANDONED)


@pytest.mark.parametrize('forked', [False, True])
def test_nothing_is_left_of_a_killed_process(mark, forked):
    """Not even if it was forked, and the fork holds all that it had open."""
    script = f"""
import os, subprocess, sys, time
from xplane_bridge.common.processes.supervised import Supervised
process = Supervised(['sleep', '{mark}'], subprocess.DEVNULL)
process.pid
if {forked} and not os.fork():
    os.close(1)
    time.sleep(99)
print('ready', flush=True)
time.sleep(99)
"""
    with subprocess.Popen(
        [sys.executable, '-P', '-c', script], stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as parent:
        assert parent.stdout.readline() == 'ready\n'
        parent.kill()
        wait_until(lambda: not running(f'sleep\0{mark}'), 'the end')
        if forked:
            os.killpg(parent.pid, signal.SIGKILL)


@pytest.mark.parametrize('patience', [0.1, DEADLINE])
def test_what_was_left_behind_has_its_own_time_to_end(tmp_path, patience):
    """As a recorder of a killed experiment, which completes its file."""
    released = tmp_path / 'released'
    os.mkfifo(released)
    command = (f'trap "read x < {released}; echo done; exit" INT; echo ready; '
               'while :; do sleep 0.01; done')
    process = Supervised(['bash', '-c', command], subprocess.PIPE, patience=patience)
    assert process.stdout.readline() == 'ready\n'
    process._line.close()
    if patience == DEADLINE:
        assert process.wait(0.3) is None
        released.write_text('now\n')
    assert process.stdout.read() == ('done\n' if patience == DEADLINE else '')
    assert process.wait(DEADLINE) == ABANDONED
    process.stdout.close()


def test_a_shell_is_interrupted_with_what_it_runs(tmp_path):
    """As by a terminal: a shell that waits for a command does not pass a signal on."""
    done = tmp_path / 'done'
    script = f'trap "echo > {done}; exit" INT; echo ready; while :; do sleep 0.01; done'
    process = Supervised(['bash', '-c', f"bash -c '{script}'; true"], subprocess.PIPE)
    assert process.stdout.readline() == 'ready\n'
    process.end(DEADLINE)
    assert process.wait(DEADLINE) == ABANDONED
    process.stdout.close()
    assert done.exists()


def test_it_has_its_time_to_end_where_proc_is_that_of_other_processes(tmp_path):
    """As in a container that has its own process ids, and the /proc of its host."""
    apart = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child']
    if not shutil.which('unshare') or subprocess.run([*apart, 'true'], check=False).returncode:
        pytest.skip('namespaces of processes are not permitted here')
    released = tmp_path / 'released'
    os.mkfifo(released)
    # Its end takes until it is released.
    slow = (f'trap "read x < {released}; echo done; exit" INT; echo ready; '
            'while :; do sleep 0.01; done')
    # The low numbers are those of the kernel's own processes there, which have children.
    script = f"""
import os, subprocess
for _ in range(400):
    os.waitpid(os.fork() or os._exit(0), 0)
from xplane_bridge.common.processes.supervised import Supervised
process = Supervised(['bash', '-c', {slow!r}], subprocess.PIPE)
assert process.stdout.readline() == 'ready\\n'
process.end({DEADLINE})
assert process.wait(0.2) is None
with open({str(released)!r}, 'w') as release:
    release.write('now')
assert process.stdout.readline() == 'done\\n'
process.wait({DEADLINE})
"""
    subprocess.run([*apart, sys.executable, '-P', '-c', script], check=True, timeout=2 * DEADLINE)


def test_a_signal_that_ended_the_command_is_a_negative_code():
    process = Supervised(['sh', '-c', 'kill -9 $$'], subprocess.DEVNULL)
    assert process.wait(DEADLINE) == -9
    assert process.poll() == -9
    missing = Supervised(['/no/such'], subprocess.PIPE)
    assert missing.wait(DEADLINE) == 127
    assert missing.stdout.read() == '/no/such: No such file or directory\n'
    missing.stdout.close()


def test_a_frozen_command_is_stopped_resumed_and_ended():
    process = Supervised(['sleep', '99'], subprocess.DEVNULL)

    def state():
        return Path(f'/proc/{process.pid}/stat').read_text().rpartition(')')[2].split()[0]

    wait_until(lambda: Path(f'/proc/{process.pid}/cmdline').read_text() == 'sleep\x0099\0',
               'the command')
    process.freeze(True)
    wait_until(lambda: state() == 'T', 'the stop')
    process.freeze(False)
    wait_until(lambda: state() == 'S', 'the continuation')
    process.freeze(True)
    process.end(DEADLINE)
    assert process.wait(DEADLINE) == ABANDONED
    # It has ended.
    process.freeze(False)


def test_the_supervisor_imports_the_standard_library_only():
    code = 'import sys, runpy; runpy.run_path(sys.argv[1]); print(*sys.modules)'
    said = subprocess.run(
        [sys.executable, '-I', '-S', '-c', code, supervisor.__file__], capture_output=True,
        text=True, check=True).stdout.split()
    assert not [name for name in said if name.startswith(('xplane_bridge', 'numpy', 'rclpy'))]


def test_no_worker_outlives_a_killed_process(tmp_path):
    """Workers of multiprocessing wait for their next call for ever."""
    script = tmp_path / 'spreading.py'
    script.write_text("""
import sys, time
from xplane_bridge.laboratory.episodes.training.parallel import mapping
def work(number):
    print('ready', flush=True)
    time.sleep(0.0 if number < 2 else 99.0)
if __name__ == '__main__':
    with mapping(2) as spread:
        list(spread(work, range(3)))
""")
    with subprocess.Popen(
        [sys.executable, '-P', str(script)], stdout=subprocess.PIPE, text=True,
    ) as parent:
        assert parent.stdout.readline() == 'ready\n'
        assert running('multiprocessing.spawn')
        parent.kill()
        # They hold its output open.
        parent.communicate(timeout=DEADLINE)
