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
How aircraft begin in steady flight: trimmed once, and set up so whenever they begin there again.

A trim takes as long as 400 frames of flight. What it finds is set on a new model, also the first
time: so a flight is the same to the last bit, whether its aircraft was trimmed before or not.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import product
import math
import threading

from xplane_bridge.simulation.aircraft import steady
from xplane_bridge.simulation.aircraft.cockpit import Cockpit
from xplane_bridge.simulation.aircraft.geometry import Vector
from xplane_bridge.simulation.aircraft.loading.files import Origin
from xplane_bridge.simulation.aircraft.model import Model
from xplane_bridge.simulation.aircraft.model_pool import ModelSpec
from xplane_bridge.simulation.aircraft.state import FOOT
from xplane_bridge.simulation.aircraft.trim import differ

# Initial states of one process whose trims are kept: a campaign may have thousands.
_MOST_KEPT = 256
_SURFACES = ('elevator-cmd', 'aileron-cmd', 'rudder-cmd', 'pitch-trim-cmd', 'roll-trim-cmd',
             'yaw-trim-cmd')


@dataclass(frozen=True, slots=True)
class Trim:
    """
    Level flight that was found: its calibrated airspeed, properties of its controls, and motion.

    ``velocity`` is in body axes (forward, right, down; m/s). ``by_jsbsim``: JSBSim's own trim has
    found it.
    """

    airspeed_kt: float
    by_jsbsim: bool
    commands: tuple[tuple[str, float], ...]
    pitch_deg: float
    roll_deg: float
    velocity: Vector

    def set_up(self, model: Model, cockpit: Cockpit, at: steady.Place) -> None:
        """Put a model that is new into this flight; engines and surfaces are as it needs them."""
        steady.place(model, at, model.wheel_height(), 'ic/vc-kts', self.airspeed_kt)
        steady.into_the_air(model, cockpit)
        for name, value in self.commands:
            model.set(name, value)
        model.set_initial_motion(
            self.pitch_deg, self.roll_deg, self.velocity, (0.0, 0.0, 0.0))
        model.equilibrate(by_jsbsim=self.by_jsbsim)
        # What the integrators know of the past is then of this flight too.
        model.initialise()


@dataclass(frozen=True, slots=True)
class TrimCondition:
    """
    The level flight of an aircraft that is wanted, in still air.

    ``origin`` are the files of the kind as they are now. Without an airspeed (kt, calibrated) it
    is one that is usual.
    """

    kind: ModelSpec
    origin: Origin
    at: steady.Place
    airspeed_kt: float | None

    @property
    def known(self) -> Trim | None:
        """Return what was found before, None if it was not looked for."""
        with _lock:
            if self in _known:
                _known.move_to_end(self)
            return _known.get(self)

    def find(self) -> Trim:
        """Look for it. Raises ValueError, which says why there is none."""
        model = self.kind.load(0)
        ways = steady.ways(model)
        airspeeds = (steady.usual_airspeeds(model) if self.airspeed_kt is None
                     else [self.airspeed_kt])
        self.kind.keep(model)
        failures = []
        for airspeed_kt, by_jsbsim in product(airspeeds, ways):
            found, failure = _tried(self.kind, self.at, airspeed_kt, by_jsbsim)
            if found is not None:
                with _lock:
                    _known[self] = found
                    while len(_known) > _MOST_KEPT:
                        _known.popitem(last=False)
                return found
            failures.append(steady.untrimmed(self.kind.name, airspeed_kt, self.at[2], failure))
        # At the most usual speed, by the means that says the most.
        raise ValueError(failures[len(ways) - 1])


_known: OrderedDict[TrimCondition, Trim] = OrderedDict()
_lock = threading.Lock()


def _tried(kind: ModelSpec, at: steady.Place, airspeed_kt: float, by_jsbsim: bool,
           ) -> tuple[Trim | None, str]:
    """Return what was found, or what failed, and why."""
    # The seed is that of turbulence, of which there is none.
    model = kind.load(0)
    cockpit = Cockpit(model)
    steady.place(model, at, model.wheel_height(), 'ic/vc-kts', airspeed_kt)
    steady.into_the_air(model, cockpit)
    if failure := steady.trim_level(model, cockpit, by_jsbsim=by_jsbsim):
        return None, failure
    get = model.get
    engines = range(model.reader.engine_count)
    u, v, w = (get(f'velocities/{axis}-fps') * FOOT for axis in 'uvw')
    found = Trim(
        airspeed_kt, by_jsbsim,
        tuple((name, get(name)) for name in (
            *(f'fcs/{surface}-norm' for surface in _SURFACES),
            *(f'fcs/throttle-cmd-norm[{n}]' for n in engines))),
        math.degrees(get('attitude/theta-rad')), math.degrees(get('attitude/phi-rad')),
        (u, v, w))
    # A wheel may do less than the control whose place it takes.
    model.work_out_forces()
    left = model.accelerations()
    kind.keep(model)
    again = kind.load(0)
    found.set_up(again, Cockpit(again), at)
    if changed := differ(again.accelerations(), left):
        return None, f'it does not come again where it is set up: {changed}'
    kind.keep(again)
    return found, ''
