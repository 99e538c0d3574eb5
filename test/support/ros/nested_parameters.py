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

"""Parameters as files have them."""


def flattened(values, prefix=''):
    """Return parameters under the names that ROS gives to nested ones."""
    found = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= flattened(value, f'{prefix}{name}.')
        else:
            found[f'{prefix}{name}'] = value
    return found
