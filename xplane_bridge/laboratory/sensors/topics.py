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

"""Which topics sensors stand in for, and where the truth goes on."""

from xplane_bridge.bridges.conversions.topics import AIR_TOPICS, STATE

TRUTH = 'truth'
"""A bridge's topics are below this if there are sensors behind it."""

SENSED = (*STATE, *AIR_TOPICS)
"""Topics that sensors_node publishes in the bridge's stead."""


RANGE, MAGNETIC_FIELD = 'range', 'imu/mag'
"""Topics of its own, of which no bridge has the truth."""


def moved_truth(sensors: str) -> dict[str, str]:
    """Return the topics of a bridge that are moved, by name; none if there are no sensors."""
    return {topic: f'{TRUTH}/{topic}' for topic in SENSED} if sensors else {}
