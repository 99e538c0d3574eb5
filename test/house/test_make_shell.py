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

"""The shell of `make shell` has ROS 2's Python, whatever the user's start-up file does."""

import os
from pathlib import Path
import subprocess

import pytest

SHELL = Path(__file__).parents[2] / 'tools' / 'shell.sh'
HOSTILE = """
export PATH=$HOME/shims:$PATH LD_LIBRARY_PATH=
alias kept='echo kept'
"""


def make_program(path, says):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho {says}\n')
    path.chmod(0o755)


@pytest.mark.parametrize(('arguments', 'typed'), [
    (['-i', '-c', 'python3; ros2_program; alias kept'], ''),
    ([], 'python3; ros2_program; echo alias kept'),
])
def test_pyenv_in_the_users_own_file_does_not_get_in_the_way(tmp_path, arguments, typed):
    root = tmp_path / 'build' / 'jazzy'
    make_program(root / 'venv/bin/python3', 'ours')
    make_program(root / 'install/xplane_bridge/lib/xplane_bridge/ros2_program', 'executable')
    make_program(tmp_path / 'shims/python3', 'pyenv: no such module')
    (tmp_path / '.bashrc').write_text(HOSTILE)
    environment = {name: value for name, value in os.environ.items() if name != 'ROS_DISTRO'}
    done = subprocess.run(
        [SHELL, root, *arguments], input=typed, capture_output=True, text=True, timeout=60.0,
        env=environment | {'HOME': str(tmp_path)}, check=True)
    assert done.stdout.splitlines()[:2] == ['ours', 'executable'], done.stderr
    assert 'alias kept' in done.stdout


def test_scripts_in_it_start_as_everywhere(tmp_path):
    (tmp_path / 'venv').mkdir()
    done = subprocess.run(
        [SHELL, tmp_path, '-c', 'bash -c "echo ${BASH_ENV:-none}"'], capture_output=True,
        text=True, timeout=60.0, check=True)
    assert done.stdout == 'none\n'
