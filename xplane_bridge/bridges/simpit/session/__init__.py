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

"""The conversation of a KerbalSimpit device with a plugin, and of a plugin with a cockpit."""

from xplane_bridge.bridges.simpit.session.cockpit.events import (
    CockpitCommand,
    CockpitLeft,
    CockpitWants,
)
from xplane_bridge.bridges.simpit.session.cockpit.session import CockpitSession
from xplane_bridge.bridges.simpit.session.commands import axes_in, request_for
from xplane_bridge.bridges.simpit.session.dialect import AUTO
from xplane_bridge.bridges.simpit.session.events import (
    Connected,
    EchoDone,
    Game,
    Lapsed,
    Presence,
    ProfileHint,
    ProfileKnown,
    Shared,
    Statistics,
    Telemetry,
)
from xplane_bridge.bridges.simpit.session.evidence import Shows
from xplane_bridge.bridges.simpit.session.ownership import RULES, STACK
from xplane_bridge.bridges.simpit.session.requests.channels import registrable
from xplane_bridge.bridges.simpit.session.session import CHANNEL, GEAR, SimpitSession

__all__ = [
    'AUTO', 'axes_in', 'CHANNEL', 'CockpitCommand', 'CockpitLeft', 'CockpitSession',
    'CockpitWants', 'Connected', 'EchoDone', 'GEAR', 'Game', 'Lapsed', 'Presence', 'ProfileHint',
    'ProfileKnown', 'registrable', 'request_for', 'RULES', 'Shared', 'Shows', 'SimpitSession',
    'STACK', 'Statistics', 'Telemetry']
