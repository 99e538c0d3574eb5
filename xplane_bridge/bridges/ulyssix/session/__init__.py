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

"""Listening to a Ulyssix UDP publisher: Altair, or the DEWESoft plug-in."""

from xplane_bridge.bridges.ulyssix.session.events import (
    NamesChanged,
    PacketReceived,
    PublisherRestarted,
    Reminder,
    Statistics,
)
from xplane_bridge.bridges.ulyssix.session.judged import CONSTANT, MOVING, ParameterQuality, STUCK
from xplane_bridge.bridges.ulyssix.session.quality import (
    Computed,
    CONSTANT_AFTER,
    Limits,
    LONGEST_KEPT,
    MOST_KEPT,
    Quality,
)
from xplane_bridge.bridges.ulyssix.session.senders import mixed, Sender
from xplane_bridge.bridges.ulyssix.session.session import CHANNEL, named_rate, UlyssixSession
from xplane_bridge.bridges.ulyssix.session.timeline import Placed, Timeline

__all__ = [
    'CHANNEL',
    'CONSTANT',
    'CONSTANT_AFTER',
    'Computed',
    'LONGEST_KEPT',
    'Limits',
    'MOST_KEPT',
    'MOVING',
    'NamesChanged',
    'PacketReceived',
    'ParameterQuality',
    'Placed',
    'PublisherRestarted',
    'Quality',
    'Reminder',
    'STUCK',
    'Sender',
    'Statistics',
    'Timeline',
    'UlyssixSession',
    'mixed',
    'named_rate',
]
