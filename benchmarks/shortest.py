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
The shortest form of the benchmarks: everything runs once, and nothing is measured well.

It shows that a benchmark still runs. test/house/test_programs.py runs each in it.
"""

import os
from typing import TypeVar

_VARIABLE = 'XPLANE_BRIDGE_SHORTEST'
_T = TypeVar('_T')


def is_shortest() -> bool:
    """Return whether the benchmarks are to be as short as can be."""
    return _VARIABLE in os.environ


def choose_shortest() -> None:
    """Let the benchmarks that are imported from now on, here and in processes, be short."""
    os.environ[_VARIABLE] = '1'


def usual(value: _T, shortest: _T) -> _T:
    """Return the usual value, or in the shortest form the other."""
    return shortest if is_shortest() else value
