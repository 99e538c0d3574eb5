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

"""Events of a session with an X-Plane Connect plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from xplane_bridge.bridges.protocols.kinds import Kinds
from xplane_bridge.bridges.sessions import base
from xplane_bridge.bridges.xpc.protocol import MESSAGES, PositionReply


class PluginVersion(Enum):
    """Versions of the plugin (docs/wire/xpc.md, section 6); develop cannot be told from rc6."""

    V1_2_1 = '1.2.1'
    RC5 = 'rc5'
    RC6 = 'rc6'
    DEVELOP = 'develop'

    @property
    def has_commands(self) -> bool:
        """Return whether COMM, GETT and POST exist."""
        return self in (PluginVersion.RC6, PluginVersion.DEVELOP)

    @property
    def pauses_one(self) -> bool:
        """Return whether SIMU can pause a single aircraft."""
        return self is not PluginVersion.V1_2_1


@dataclass(frozen=True, slots=True)
class Polled:
    """
    The datarefs to poll for one aircraft.

    ``place`` names its latitude, longitude and elevation: they tell whether a position and the
    datarefs are from the same frame. ``pose`` gives the pose from the values alone, None if they
    do not determine it: then many aircraft can share one request. For that, ``sizes`` has how many
    values those datarefs can have that are arrays.
    """

    names: tuple[str, ...]
    place: tuple[str, ...]
    pose: Callable[[Mapping[str, float]], PositionReply | None] | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    arrays: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Telemetry(base.Telemetry):
    """
    One aircraft at one frame: its pose, and the (first) values of its datarefs by name.

    A dataref that this X-Plane does not know is missing. ``arrays`` has all values of those that
    were polled as arrays.
    """

    pose: PositionReply
    arrays: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WatchedDatarefs:
    """
    The datarefs selected by the user, all requested at once.

    One that this X-Plane does not know, or whose reply was lost, is an empty tuple.
    """

    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class PeerReplaced:
    """A different instance of X-Plane answers, for this reason."""

    reason: str


@dataclass(slots=True)
class Statistics(base.Statistics):
    """
    Monotonic counters: updates counts by aircraft.

    split counts polls that met two frames, repeated frames that were polled twice, overtaken
    those that came after a newer one, and held_by_budget polls that waited for the budget.
    """

    requests: int = 0
    replies: int = 0
    lost: int = 0
    split: int = 0
    repeated: int = 0
    overtaken: int = 0
    held_by_budget: int = 0
    watched: int = 0
    malformed: Kinds = field(default_factory=lambda: Kinds(MESSAGES['peer']))
