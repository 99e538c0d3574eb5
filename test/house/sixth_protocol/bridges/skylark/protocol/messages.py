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

"""Messages between Skylark and its bridge: four bytes of tag, then little-endian fields."""

from dataclasses import dataclass
from typing import ClassVar

from xplane_bridge.bridges.protocols.base import float32, float64, Message, messages

PORT = 49100


@dataclass(frozen=True, slots=True)
class Poll(Message):
    """Request one report."""

    tag: ClassVar[str] = 'POLL'


@dataclass(frozen=True, slots=True)
class Controls(Message):
    """Move controls, with the signs of FlightControls; None leaves one as it is."""

    tag: ClassVar[str] = 'CTRL'

    elevator: float | None = float32(-1.0, 1.0, leave=-998.0, default=None)
    aileron: float | None = float32(-1.0, 1.0, leave=-998.0, default=None)
    rudder: float | None = float32(-1.0, 1.0, leave=-998.0, default=None)
    throttle: float | None = float32(0.0, 1.0, leave=-998.0, default=None)


@dataclass(frozen=True, slots=True)
class Report(Message):
    """The aircraft's position: degrees, metres above mean sea level; heading true."""

    tag: ClassVar[str] = 'STAT'

    latitude: float = float64(-90.0, 90.0)
    longitude: float = float64(-180.0, 180.0)
    altitude: float = float32()
    roll: float = float32(-180.0, 180.0)
    pitch: float = float32(-90.0, 90.0)
    heading: float = float32(0.0, 360.0)


MESSAGES = messages(bridge=(Poll, Controls), peer=(Report,))
