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

"""
Controllers in C++, compiled with the real messages and run on a script.

rclcpp has no wheel, so a stub replaces it: rclcpp_stub/, which also says what a script is.
"""

import os
from pathlib import Path
import shutil
import subprocess
from types import SimpleNamespace

import pytest

STUB = Path(__file__).resolve().parent / 'rclcpp_stub'


def compiled(source, folder, *includes):
    """Return the program of a node."""
    messages = [
        package for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(':')
        if (Path(prefix) / 'include').is_dir() for package in (Path(prefix) / 'include').iterdir()]
    if shutil.which('g++') is None or not any(
            (include / 'sensor_msgs/msg/imu.hpp').exists() for include in messages):
        pytest.skip('needs g++ and the C++ messages')
    program = folder / source.stem
    done = subprocess.run(
        ['g++', '-std=c++17', '-O0', '-Wall', '-Wextra', '-Werror', f'-I{STUB}',
         *(f'-I{include}' for include in includes),
         *(f'-isystem{include}' for include in messages), source, STUB / 'script.cpp', '-o',
         program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def said(program, script, **environment):
    """Return the commands of a node that hears the lines of a script."""
    printed = subprocess.run(
        [program], input='\n'.join(script), capture_output=True, text=True, check=True,
        env={**os.environ, **environment}).stdout
    return [
        SimpleNamespace(
            stamp=(int(sec), int(nanosec)), fields=int(fields), elevator=float(elevator),
            aileron=float(aileron), rudder=float(rudder), throttle=float(throttle))
        for sec, nanosec, fields, elevator, aileron, rudder, throttle in map(
            str.split, printed.splitlines())]
