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

"""Run something on a stranger's file, in bounded memory and time."""

from contextlib import contextmanager
import os
from pathlib import Path
import resource
import subprocess
import sys

ROOT = Path(__file__).resolve().parents[2]
MEMORY = 2 * 1024**3
_PAGE = os.sysconf('SC_PAGE_SIZE')
# Of processor time; a shared machine stalls.
SECONDS = 60


def limited(code, *arguments, seconds=SECONDS, cwd=None):
    """Return (exit code, output, errors) of Python code, in a child with 2 GB and some seconds."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    done = subprocess.run(
        [sys.executable, '-P', '-c', code, *map(str, arguments)], preexec_fn=limit, cwd=cwd,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join([str(ROOT), *sys.path[1:]])},
        capture_output=True, timeout=5 * seconds)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@contextmanager
def growing_by(memory):
    """Let this process have so many more bytes than now."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path('/proc/self/statm').read_text().split()[0]) * _PAGE
    resource.setrlimit(resource.RLIMIT_AS, (now + memory, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
