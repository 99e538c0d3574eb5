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

"""Run something on a stranger's file, in a child with 2 GB of memory and some seconds."""

import os
from pathlib import Path
import resource
import subprocess
import sys

ROOT = Path(__file__).resolve().parents[2]
MEMORY = 2 * 1024**3
# Of processor time; a shared machine stalls.
SECONDS = 60


def limited(code, *arguments, seconds=SECONDS, cwd=None):
    """Return (exit code, output, errors) of Python code, run within the limits."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    done = subprocess.run(
        [sys.executable, '-P', '-c', code, *map(str, arguments)], preexec_fn=limit, cwd=cwd,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join([str(ROOT), *sys.path[1:]])},
        capture_output=True, timeout=5 * seconds)
    return done.returncode, done.stdout.decode(), done.stderr.decode()
