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
What a flight reads of the aircraft in each frame: SI, in the units and axes of AircraftState.

A frame's whole AircraftState costs as much as JSBSim's own step. So only what each frame keeps is
read in each frame (Sample), and the rest of what is observed when a law or an observation asks
(Surroundings). Both have the same bits as the AircraftState of the same instant.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from xplane_bridge.aircraft.state import FACTORS


class Sample(NamedTuple):
    """Position, attitude, rates, airspeed, flow, and controls as commanded."""

    lat_deg: float
    lon_deg: float
    altitude_msl: float
    phi: float
    theta: float
    psi: float
    p: float
    q: float
    r: float
    cas: float
    alpha: float
    beta: float
    elevator: float
    aileron: float
    rudder: float
    throttle: float


SampleRow = tuple[float, ...]
"""The values of a Sample, in its order: a plain tuple costs less to make, and to keep."""


class Surroundings(NamedTuple):
    """Velocity over ground, mass and the force on it without weight (N, body axes), air."""

    v_north: float
    v_east: float
    v_down: float
    ground_speed: float
    mass: float
    force_x: float
    force_y: float
    force_z: float
    tas: float
    static_pressure: float
    qbar: float
    temperature: float
    density: float
    wind_north: float
    wind_east: float
    wind_down: float


class Sampler:
    """
    Reads samples from one JSBSim model through property nodes bound once.

    ``sample()`` returns what each frame keeps.
    """

    def __init__(self, fdm: Any) -> None:
        """Bind to a loaded jsbsim.FGFDMExec."""
        manager = fdm.get_property_manager()

        def bind(name: str) -> tuple[Callable[[], float], float]:
            property_name, factor = FACTORS[name]
            # A glider has no throttle.
            if not manager.hasNode(property_name):
                return (lambda: 0.0), factor
            return manager.get_node(property_name).get_double_value, factor

        self.sample = _sampling(bind)
        self._more = tuple(map(bind, Surroundings._fields))

    def surroundings(self) -> Surroundings:
        """Return the rest of what is observed."""
        return Surroundings._make([get() * factor for get, factor in self._more])


def _sampling(bind: Callable[[str], tuple[Callable[[], float], float]]) -> Callable[[], SampleRow]:
    """Return a function that reads a sample; spelled out, it takes 0.4 of the time of a loop."""
    bound = dict(zip(Sample._fields, map(bind, Sample._fields), strict=True))
    (lat_deg, lon_deg, altitude_msl, phi, theta, psi, p, q, r, cas, alpha, beta, elevator,
     aileron, rudder, throttle) = (get for get, _ in bound.values())
    per_cas, per_elevator, per_rudder = (
        bound.pop(name)[1] for name in ('cas', 'elevator', 'rudder'))
    # All others are in the unit of their property.
    assert all(factor == 1.0 for _, factor in bound.values())

    def sample() -> SampleRow:
        return (
            lat_deg(), lon_deg(), altitude_msl(), phi(), theta(), psi(), p(), q(), r(),
            cas() * per_cas, alpha(), beta(), elevator() * per_elevator, aileron(),
            rudder() * per_rudder, throttle())

    return sample
