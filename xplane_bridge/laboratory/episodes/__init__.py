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
Episodes: the simulated aircraft as a Gymnasium environment, and training on it.

Importing this registers ``xplane_bridge/Flight-v0`` if gymnasium is installed; by the name
``xplane_bridge:xplane_bridge/Flight-v0`` gymnasium imports it itself.
"""

from importlib.util import find_spec

ID = 'xplane_bridge/Flight-v0'

if find_spec('gymnasium') is not None:
    from gymnasium.envs.registration import register, registry

    if ID not in registry:
        register(
            ID, 'xplane_bridge.laboratory.episodes.environment:FlightEnv',
            vector_entry_point='xplane_bridge.laboratory.episodes.vector:FlightVectorEnv')
