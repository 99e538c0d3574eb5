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

"""What the command lines of all executables have in common. No ROS."""

from __future__ import annotations

from collections.abc import Sequence


def without_ros_arguments(argv: Sequence[str]) -> list[str]:
    """Return the arguments without the ROS ones: --ros-args up to --, or to the end."""
    own: list[str] = []
    is_own = True
    for argument in argv:
        if argument == '--ros-args':
            is_own = False
        elif argument == '--' and not is_own:
            is_own = True
        elif is_own:
            own.append(argument)
    return own
