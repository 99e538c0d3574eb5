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

"""The weather that parameters of simulator_node say."""

from __future__ import annotations

from collections.abc import Sequence

from xplane_bridge.simulation.aircraft import weather_settings as weather
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.weather_settings import WEATHER
from xplane_bridge.simulation.node.parameters import SimulatorParameters
from xplane_bridge.simulation.peers.world import World

# East and north, roughness and exponent.
_NO_SHEAR = (0.0, 0.0, 0.0, 0.0)


def changed_weather(given: SimulatorParameters, old: SimulatorParameters) -> list[str]:
    """Return which of the parameters of the weather have changed."""
    return [name for name in WEATHER if getattr(given, name) != getattr(old, name)]


def set_weather(
    world: World, given: SimulatorParameters, names: Sequence[str] = WEATHER
) -> None:
    """Let all aircraft fly in what these parameters say."""
    for aircraft in world.flown:
        set_weather_of(aircraft, given, names)


def set_weather_of(
    aircraft: Aircraft, given: SimulatorParameters, names: Sequence[str] = WEATHER
) -> None:
    """Let one of them do so; a gust begins."""
    for name in names:
        value = tuple(map(float, getattr(given, name)))
        if name == 'wind_shear' and not any(value):
            value = _NO_SHEAR
        if name != 'gust' or any(value):
            weather.set_weather(aircraft, name, value)
