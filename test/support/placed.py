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

"""A model in the air, for trims."""

from xplane_bridge.simulation.aircraft.model import Model
from xplane_bridge.simulation.aircraft.state import KNOT


def placed(name: str, altitude: float, airspeed: float, path: str = '',
           controls: str | None = '') -> Model:
    """Return a model in the air with running engines, gear up, at a calibrated airspeed."""
    model = Model(name, 1.0 / 120.0, 0, path, controls=controls)
    model.set_initial_conditions(47.0, 8.0, 400.0, altitude, 90.0)
    model.set('ic/vc-kts', airspeed / KNOT)
    model.initialise()
    for property_ in ('gear/gear-cmd-norm', 'gear/gear-pos-norm'):
        model.set(property_, 0.0)
    for n in range(model.reader.engine_count):
        for lever in ('mixture', 'advance'):
            model.set(f'fcs/{lever}-cmd-norm[{n}]', 1.0)
        model.engines.start(n)
    return model
