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

"""Topics of a vehicle, and names of measured quantities as ROS topic names."""

from collections.abc import Sequence
import re
import unicodedata

from xplane_bridge.common import quantities

STATE = ('fix', 'fix_velocity', 'imu/data', 'odom', 'air_data')
"""Topics of where a vehicle is and how it moves, which sensors measure."""

VEHICLE = (*STATE, 'controls', 'engines')
"""Topics that a vehicle's bridge publishes with each update."""

AIR_TOPICS = ('temperature', 'static_pressure', 'dynamic_pressure', 'wind')
"""What air_data says too, as standard messages; published while somebody subscribes."""

AIRFRAME_TOPIC = 'airframe'
CONTACTS_TOPIC = 'contacts'
"""Topics of a simulated aircraft alone."""

AIR = tuple(one.field for one in quantities.AIR)
"""The numbers of air_data."""

# A whole topic name, namespace included, may have 247 characters (rmw).
_LONGEST = 100


def topic_names(names: Sequence[str]) -> list[str]:
    """
    Return a unique, legal, non-hidden, single-level topic name for each name.

    Letters lose their accents, other characters become single underscores; a name that begins
    with a digit or becomes empty gets the prefix ``p``. If two become the same, the later one
    gets a number.
    """
    taken: set[str] = set()
    # The last number given to each: thousands of names may become the same.
    numbers: dict[str, int] = {}
    topics = []
    for name in names:
        plain = unicodedata.normalize('NFKD', name).encode('ascii', 'ignore').decode()
        base = re.sub('[^A-Za-z0-9]+', '_', plain).strip('_')[:_LONGEST].rstrip('_')
        if not base or base[0].isdigit():
            base = f'p_{base}'.rstrip('_')
        topic, number = base, numbers.get(base, 1)
        while topic in taken:
            number += 1
            topic = f'{base}_{number}'
        numbers[base] = number
        taken.add(topic)
        topics.append(topic)
    return topics
