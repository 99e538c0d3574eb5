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

"""Wind and turbulence of a JSBSim model."""

from dataclasses import dataclass

from xplane_bridge.aircraft.model import Model
from xplane_bridge.aircraft.state import FOOT

# JSBSim's turb-type for MIL-F-8785C.
_TURBULENCE_TYPE = 3
_TURBULENCE = 'atmosphere/turbulence/milspec'


@dataclass(frozen=True, slots=True)
class Weather:
    """
    The velocity of the air (north, east, down in m/s), and turbulence.

    wind_at_20ft in m/s and severity 0..7 are those of MIL-F-8785C.
    """

    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    wind_at_20ft: float = 0.0
    severity: int = 0

    def apply(self, model: Model) -> None:
        """Apply it to a model."""
        for name, value in zip(('north', 'east', 'down'), self.wind, strict=True):
            model.set(f'atmosphere/wind-{name}-fps', value / FOOT)
        model.set('atmosphere/turb-type', _TURBULENCE_TYPE)
        model.set(f'{_TURBULENCE}/windspeed_at_20ft_AGL-fps', self.wind_at_20ft / FOOT)
        model.set(f'{_TURBULENCE}/severity', self.severity)


def calm(model: Model) -> None:
    """Remove turbulence until weather is applied again; Model.initialise removes the wind."""
    model.set(f'{_TURBULENCE}/windspeed_at_20ft_AGL-fps', 0.0)
    model.set(f'{_TURBULENCE}/severity', 0)
    for name in 'pqr':
        model.set(f'ic/{name}-rad_sec', 0.0)
