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

"""What all commands do by one function: with a reader that goes, faults, and interrupts."""

from pathlib import Path
import re
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[2]


def ended(program, unbuffered, stderr=subprocess.PIPE):
    """Run a program whose first line is read, and no more; return its exit code and errors."""
    flags = ['-u'] if unbuffered else []
    with subprocess.Popen(
        [sys.executable, '-P', *flags, '-c', program], stdout=subprocess.PIPE, stderr=stderr,
        text=True, cwd=ROOT, env={'PYTHONPATH': str(ROOT)},
    ) as process:
        assert process.stdout.readline() == 'first\n'
        process.stdout.close()
        errors = '' if stderr == subprocess.STDOUT else process.stderr.read()
        return process.wait(30.0), errors


@pytest.mark.parametrize('unbuffered', [False, True])
@pytest.mark.parametrize('stream', ['stdout', 'stderr'])
def test_it_ends_quietly_and_in_order(unbuffered, stream, tmp_path):
    left = tmp_path / 'left'
    program = f"""
import sys
from xplane_bridge.common.command_line import run_command
def main():
    print('first', flush=True)
    try:
        while True:
            # Not an error that a command would report in its own words.
            try:
                print('next', file=sys.{stream}, flush=True)
            except (OSError, ValueError, RuntimeError) as error:
                print('refused', error)
                return 3
    finally:
        open({str(left)!r}, 'w').close()
sys.exit(run_command(main))
"""
    code, errors = ended(
        program, unbuffered, subprocess.STDOUT if stream == 'stderr' else subprocess.PIPE)
    assert (code, errors) == (141, '')
    # What a context manager ends is ended.
    assert left.exists()


def test_what_is_only_printed_at_the_end_is_dropped():
    program = """
import sys, time
from xplane_bridge.common.command_line import run_command
def main():
    print('first', flush=True)
    print('never read', end='')
    sys.stdin.read()
    return 0
sys.exit(run_command(main))
"""
    code, errors = ended(program, False)
    assert (code, errors) in ((0, ''), (141, ''))


def test_each_command_is_run_by_it():
    template = (ROOT / 'resource' / 'executable.py.in').read_text()
    assert 'sys.exit(run_command(@function@))' in template
    modules = re.findall(
        r'^ +\w+ = xplane_bridge\.([\w.]+):main$', (ROOT / 'setup.cfg').read_text(), re.MULTILINE)
    assert len(modules) > 20
    # By its name, and by xplane-bridge.
    assert 'return run_command(_main)' in (ROOT / 'xplane_bridge' / '__main__.py').read_text()
    for module in modules:
        path = ROOT / 'xplane_bridge' / module.replace('.', '/')
        files = path.glob('*.py') if path.is_dir() else [path.with_suffix('.py')]
        assert not any('__main__' in file.read_text() for file in files), module


@pytest.mark.parametrize(('fault', 'sentence'), [
    ('plain_files.write("/dev/full", "text")',
     (2, 'program: /dev/full cannot be written: the disk is full\n')),
    ('signal.raise_signal(signal.SIGINT)', (130, 'program: interrupted\n')),
])
def test_what_a_command_leaves_to_it_is_a_sentence(fault, sentence):
    program = f"""
import signal, sys
from xplane_bridge.common import plain_files
from xplane_bridge.common.command_line import run_command
def main():
    print('first', flush=True)
    {fault}
sys.argv = ['xplane-bridge program']
sys.exit(run_command(main))
"""
    assert ended(program, False) == sentence
