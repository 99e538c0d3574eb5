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
What a policy is told of the vehicle: the fields of its common topics, in one vector.

The names are those of topic and field, as ``ros2 topic echo imu/data --field
angular_velocity.x`` has them; units and axes are those of the messages (REP-103, REP-145).
What is not known is 0, as in a message whose field is not set; ``target.fields`` says which
targets are set. Of other aircraft only those policies are told that name a field of TRAFFIC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.quantities import AIR_DATA, fields_of


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a topic: name, unit, and the bounds that no vehicle of these topics exceeds."""

    name: str
    unit: str
    low: float
    high: float

    @property
    def topic(self) -> str:
        """Return its topic."""
        return self.name.partition('.')[0]


def _fields(
    path: str, unit: str, low: float, high: float, axes: str = 'xyz'
) -> tuple[Field, ...]:
    return tuple(Field(f'{path}.{axis}', unit, low, high) for axis in axes)


def _quantities(topic: str) -> tuple[Field, ...]:
    return tuple(Field(f'{topic}.{one.field}', one.unit, *one.observed)
                 for one in fields_of(topic))


FIELDS = (
    *_fields('imu/data.orientation', '', -1.0, 1.0, 'xyzw'),
    *_quantities('imu/data'),
    *_quantities('fix'),
    *_quantities('odom'),
    *_fields('odom.pose.pose.orientation', '', -1.0, 1.0, 'xyzw'),
    *_fields('odom.twist.twist.linear', 'm/s', -1e4, 1e4),
    *_fields('odom.twist.twist.angular', 'rad/s', -100.0, 100.0),
    *_quantities(AIR_DATA),
    Field('target.fields', '', 0.0, 63.0),
    Field('target.altitude', 'm', -1000.0, 30000.0),
    Field('target.true_heading', 'rad', -4.0 * math.pi, 4.0 * math.pi),
    Field('target.airspeed', 'm/s', 0.0, 1000.0),
    Field('target.course', 'rad', -4.0 * math.pi, 4.0 * math.pi),
    Field('target.climb_rate', 'm/s', -100.0, 100.0),
)
"""All fields, in their order in an observation."""

NAMES = tuple(field.name for field in FIELDS)
INDEX = {name: index for index, name in enumerate(NAMES)}
SIZE = len(FIELDS)
_OF_FIELDS = [field.topic for field in FIELDS]
TOPICS = tuple(dict.fromkeys(_OF_FIELDS))
OTHERS = (
    Field('east', 'm', -1e8, 1e8), Field('north', 'm', -1e8, 1e8), Field('up', 'm', -1e8, 1e8),
    Field('east_speed', 'm/s', -1e4, 1e4), Field('north_speed', 'm/s', -1e4, 1e4),
    Field('up_speed', 'm/s', -1e4, 1e4))
"""What is observed of each other aircraft: where it is, and moves, as seen from the own one."""

NEAREST = 8
"""Of so many other aircraft a policy may be told."""

TRAFFIC = (
    Field('traffic.count', '', 0.0, NEAREST),
    *(replace(field, name=f'traffic.{number}.{field.name}')
      for number in range(NEAREST) for field in OTHERS))
"""Of the nearest others, the nearest first; they follow FIELDS in an observation."""

_COLUMNS = {field.name: index for index, field in enumerate((*FIELDS, *TRAFFIC))}

SLICES = {
    topic: slice(_OF_FIELDS.index(topic), _OF_FIELDS.index(topic) + _OF_FIELDS.count(topic))
    for topic in TOPICS}
"""Where the fields of a topic are in an observation."""

Vector = NDArray[np.float64]
Numbers = tuple[float, ...]
"""The same as plain numbers."""

_DOUBLES = Struct(f'{SIZE}d')


def columns(names: Sequence[str]) -> NDArray[np.intp]:
    """
    Return the indices of fields in an observation with traffic.

    Raises ValueError for names that are not one.
    """
    unknown = [name for name in names if name not in _COLUMNS]
    if unknown:
        raise ValueError(
            f'an observation has no {", ".join(unknown)}; it has {", ".join(_COLUMNS)}')
    return np.array([_COLUMNS[name] for name in names], dtype=np.intp)


def vector(observation: Numbers) -> Vector:
    """Return all fields as an array of its own: in half of the time of np.array."""
    return np.frombuffer(bytearray(_DOUBLES.pack(*observation)))


def numbers(observation: Vector) -> Numbers:
    """Return an observation as plain numbers."""
    return tuple(observation.tolist())


def known(observation: Vector) -> Vector:
    """Return an observation in which what is not known (NaN) is 0; the array itself."""
    observation[np.isnan(observation)] = 0.0
    return observation
