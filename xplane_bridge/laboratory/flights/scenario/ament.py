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

"""Where ROS packages are installed, by the index that ament keeps as plain files. No ROS."""

from __future__ import annotations

import os

_INDEX = os.path.join('share', 'ament_index', 'resource_index', 'packages')


def prefix_of(package: str) -> str:
    """
    Return the install space of a package: the first of AMENT_PREFIX_PATH that has it.

    Raises LookupError if none has.
    """
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix and os.path.basename(package) == package and os.path.isfile(
                os.path.join(prefix, _INDEX, package)):
            return prefix
    raise LookupError(f'there is no package {package!r} in AMENT_PREFIX_PATH')
