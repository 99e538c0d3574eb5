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

"""The simulated aircraft as a vessel of Kerbal Space Program with the plugin Kerbal Simpit."""

from xplane_bridge.simulation.peers.simpit.events import (
    DeviceCommand,
    DeviceHandshake,
    PortDeaf,
    Subscriptions,
)
from xplane_bridge.simulation.peers.simpit.frontend import SimpitFrontend
from xplane_bridge.simulation.peers.simpit.line import FaultyLine
from xplane_bridge.simulation.peers.simpit.options import add_options, make_frontend
from xplane_bridge.simulation.peers.simpit.plugin import PluginSession
from xplane_bridge.simulation.peers.simpit.vessel import Vessel

__all__ = [
    'DeviceCommand', 'DeviceHandshake', 'FaultyLine', 'PluginSession', 'PortDeaf',
    'SimpitFrontend', 'Subscriptions', 'Vessel', 'add_options', 'make_frontend']
