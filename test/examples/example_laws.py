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

"""The control laws of examples/: without their nodes, in Python and C++, and flown in core."""

import ast
from contextlib import contextmanager
import math
from pathlib import Path
import shutil
import subprocess
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTROLLERS = ROOT / 'examples' / 'controllers'
PACKAGE = ROOT / 'examples' / 'my_controller_cpp'
STATE = ('roll', 'pitch', 'heading', 'course', 'roll_rate', 'pitch_rate', 'yaw_rate', 'altitude',
         'airspeed')
TARGET = ('altitude', 'true_heading', 'course', 'airspeed')
# What of the examples is not part of the law.
_ROS = ('rclpy', 'nav_msgs', 'sensor_msgs', 'xplane_bridge', 'minimal')
_NODE = ('Controller', 'measured', 'nanoseconds', 'main')


def _is_of_the_node(part):
    if isinstance(part, ast.Import | ast.ImportFrom):
        return (getattr(part, 'module', None) or part.names[0].name).split('.')[0] in _ROS
    return getattr(part, 'name', '') in _NODE


def without_ros(name):
    """Return what a Python example defines, except for its node."""
    path = CONTROLLERS / f'{name}.py'
    tree = ast.parse(path.read_text())
    tree.body = [part for part in tree.body if not _is_of_the_node(part)]
    found = {'__name__': name}
    exec(compile(tree, path, 'exec'), found)
    return SimpleNamespace(**found)


@contextmanager
def law_in_cpp(tmp_path):
    """Compile the law in C++ with g++ alone, and provide it as a class as in Python."""
    if shutil.which('g++') is None:
        pytest.skip('needs g++')
    program = tmp_path / 'run_law'
    subprocess.run(
        ['g++', '-std=c++17', '-O0', '-Wall', '-Wextra', '-Werror', f'-I{PACKAGE / "include"}',
         ROOT / 'test' / 'examples' / 'run_law.cpp', '-o', program], check=True)
    with subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        class Law:
            def __init__(self, now, controls):
                print(repr(controls.elevator), repr(controls.throttle), file=process.stdin)

            def update(self, now, target, dt):
                print(*(repr(getattr(now, name)) for name in STATE),
                      *(repr(target.get(name, math.nan)) for name in TARGET), repr(dt),
                      file=process.stdin, flush=True)
                return tuple(map(float, process.stdout.readline().split()))

        yield Law
        process.stdin.close()


class InCore:
    """A law of the examples as experiments.core flies it."""

    def __init__(self, law):
        from xplane_bridge.laboratory.control.targets import Target
        self.new_law, self.target = law, Target()

    def engage(self, now, controls, target=None):
        from xplane_bridge.laboratory.control.targets import Target
        self.target = target or Target(now.altitude, now.heading, now.airspeed)
        self.law = self.new_law(now, controls)

    def update(self, now, dt):
        from xplane_bridge.bridges.conversions.vehicle import Controls
        target = {name: value for name, value in (
            ('altitude', self.target.altitude), ('true_heading', self.target.heading),
            ('course', self.target.course), ('airspeed', self.target.airspeed))
            if not math.isnan(value)}
        return Controls(*self.law.update(now, target, dt))
