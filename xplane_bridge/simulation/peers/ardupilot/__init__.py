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

"""The physics behind ArduPilot's SITL, through its JSON interface."""

from xplane_bridge.simulation.peers.ardupilot.frontend import ArdupilotFrontend
from xplane_bridge.simulation.peers.ardupilot.options import add_options, make_frontend
from xplane_bridge.simulation.peers.ardupilot.physics import Physics, SensorReadings, ServoChannels

__all__ = [
    'add_options', 'ArdupilotFrontend', 'ServoChannels', 'make_frontend', 'SensorReadings',
    'Physics']
