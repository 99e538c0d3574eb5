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
"""Runways as messages, and what autopilot_node offers for them."""

from __future__ import annotations

import math
from typing import Any

from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.control.runway.charted import (
    BOUNDS,
    ChartedRunway,
    usual_aiming_point,
    USUAL_GLIDE_PATH_DEG,
)
from xplane_bridge.msg import Runway

TAKE_OFF, LAND = 'take_off', 'land'
"""Actions."""
PATTERN, GO_AROUND = 'autopilot/pattern', 'autopilot/go_around'
"""Services."""

_MASK = Mask(Runway)


def charted(message: Runway) -> ChartedRunway:
    """Return the runway of a message; its elevation may be NaN. Raises ValueError if wrong."""
    if not _MASK.is_defined(message.fields):
        raise ValueError(f'runway: fields is {message.fields}, which is not defined here')
    given = _MASK.known(message)
    aiming_point = given.get('aiming_point', usual_aiming_point(message.length))
    glide_path_deg = given.get('glide_path', USUAL_GLIDE_PATH_DEG * DEGREE) / DEGREE
    values = {
        'latitude_deg': message.latitude, 'longitude_deg': message.longitude,
        'length': message.length, 'width': message.width, 'glide_path_deg': glide_path_deg,
        **{name: given[name] for name in ('elevation_msl',) if name in given}}
    for name, value in values.items():
        low, high = BOUNDS[name]
        if not low <= value <= high:
            raise ValueError(f'runway: {name} is {value:g}, expected {low:g} .. {high:g}')
    if not math.isfinite(message.true_heading):
        raise ValueError(f'runway: true_heading is {message.true_heading}, expected rad')
    if not 0.0 < aiming_point < message.length:
        raise ValueError(f'runway: aiming_point is {aiming_point:g} m, expected within its '
                         f'{message.length:g} m')
    return ChartedRunway(
        message.latitude, message.longitude, message.true_heading,
        given.get('elevation_msl', math.nan), message.length, message.width,
        glide_path_deg * DEGREE, aiming_point)


def to_message(runway: ChartedRunway, stamp: Any) -> Runway:
    """Return a runway as a message, with a stamp of builtin_interfaces/Time if there is one."""
    message = Runway(
        latitude=runway.latitude_deg, longitude=runway.longitude_deg,
        true_heading=runway.heading, length=runway.length, width=runway.width)
    _MASK.fill(message, {
        'elevation_msl': runway.elevation_msl, 'glide_path': runway.glide_path,
        'aiming_point': runway.aiming_point})
    if stamp is not None:
        message.header.stamp = stamp
    return message
