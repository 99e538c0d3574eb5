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

"""Conversations between a KerbalSimpit device and a plugin, both sides."""

from xplane_bridge.sessions.simpit.events import (
    CHANNEL,
    Command,
    Connected,
    DeviceHandshake,
    EchoDone,
    Event,
    Game,
    PeerChanged,
    PeerState,
    PluginEvent,
    PluginStatistics,
    PortDeaf,
    ProfileHint,
    ProfileKnown,
    Statistics,
    Subscriptions,
    Telemetry,
)
from xplane_bridge.sessions.simpit.plugin import PluginSession
from xplane_bridge.sessions.simpit.registration import registrable
from xplane_bridge.sessions.simpit.session import SimpitSession

__all__ = [
    'CHANNEL', 'Command', 'Connected', 'DeviceHandshake', 'EchoDone', 'Event', 'Game',
    'PeerChanged', 'PeerState', 'PluginEvent', 'PluginSession', 'PluginStatistics', 'PortDeaf',
    'ProfileHint', 'ProfileKnown', 'SimpitSession', 'Statistics', 'Subscriptions', 'Telemetry',
    'registrable']
