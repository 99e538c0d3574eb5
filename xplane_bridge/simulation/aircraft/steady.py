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

"""Brings a model into steady flight: engines running, gear up, trimmed by JSBSim or by us."""

from xplane_bridge.common.controls import SURFACES
from xplane_bridge.simulation.aircraft.cockpit import Cockpit
from xplane_bridge.simulation.aircraft.limits import MAX_ALTITUDE
from xplane_bridge.simulation.aircraft.model import Model, TrimError
from xplane_bridge.simulation.aircraft.state import KNOT
from xplane_bridge.simulation.aircraft.trim import trim as own_trim

# Without an airspeed given: that which is usual, times one of these factors.
_FACTORS = (1.0, 1.25, 0.85)
_USUAL_KT = {'c172p': 100.0}


def usual_airspeeds(model: Model) -> list[float]:
    """
    Return calibrated airspeeds in kt at which it may fly, the most usual first.

    Raises ValueError without a wing.
    """
    speed = model.usual_airspeed() / KNOT
    usual = _USUAL_KT.get(model.files.model)
    return [*([] if usual is None else [usual]), *(round(factor * speed) for factor in _FACTORS)]


Place = tuple[float, float, float, float]
"""Latitude and longitude (deg), altitude above mean sea level (m), true heading (deg)."""


def place(model: Model, at: Place, rest_height: float, airspeed: str, airspeed_kt: float) -> None:
    """
    Put a model into level flight at the property ``airspeed``, not trimmed yet.

    Raises ValueError for an altitude below its ``rest_height`` (m) above the ground.
    """
    lat_deg, lon_deg, altitude_msl, heading_deg = at
    ground = model.elevation_m(lat_deg, lon_deg)
    if not ground + rest_height < altitude_msl <= MAX_ALTITUDE:
        raise ValueError(f'altitude_msl is {altitude_msl} m, must be above the ground '
                         f'({ground:.0f} m) and at most {MAX_ALTITUDE:.0f} m')
    model.set_initial_conditions(lat_deg, lon_deg, ground, altitude_msl, heading_deg)
    model.set(airspeed, airspeed_kt)
    model.initialise()


def start_engines(model: Model, cockpit: Cockpit) -> None:
    """Set all engines running that have not failed, at the throttles that are set."""
    engines = [n for n in range(model.reader.engine_count) if n not in cockpit.failed]
    for n in engines:
        model.engines.start(n)
    # Starting one lets JSBSim look for a steady state of all, in steps that may stall others.
    for n in engines:
        model.engines.restart(n)


def into_the_air(model: Model, cockpit: Cockpit) -> None:
    """Prepare a placed model that has just been loaded: engines running, gear up."""
    start_engines(model, cockpit)
    gear = 0.0 if model.retractable else 1.0
    cockpit.move({'gear': gear}, {}, dict.fromkeys(range(model.reader.engine_count), 1.0))
    if not gear:
        model.set('gear/gear-pos-norm', 0.0)


def ways(model: Model) -> tuple[bool, ...]:
    """
    Return whether to trim by JSBSim, for each attempt in order.

    That needs a throttle, and engines that bear JSBSim's long steps.
    """
    return (True, False) if (
        model.reader.engine_count and (model.pistons or not model.runs_engines)
        and not model.has_governor) else (False,)


def trim_level(model: Model, cockpit: Cockpit, *, by_jsbsim: bool) -> str:
    """
    Trim a placed model so that centred controls hold it level; return '' or what failed, and why.

    JSBSim's own trim leaves the model in disorder if it fails. Ours descends without an engine.
    """
    try:
        if by_jsbsim:
            model.trim()
        else:
            own_trim(model)
    except TrimError as error:
        return str(error) or 'JSBSim finds no trim'
    to_trim_wheels(model, cockpit)
    return ''


def to_trim_wheels(model: Model, cockpit: Cockpit) -> None:
    """Move what was trimmed to the trim wheels that the model has, and centre those controls."""
    now = cockpit.state(0.0)
    cockpit.move({
        name: value for axis in SURFACES if model.has_trim(axis)
        for name, value in (
            (axis, 0.0), (f'{axis}_trim', getattr(now, axis) + getattr(now, f'{axis}_trim')))
    }, {}, {})
    model.reach_commands()


def untrimmed(model: str, airspeed_kt: float, altitude: float, why: str) -> str:
    """Return the sentence that a flight cannot be trimmed, and why."""
    return (f'{model} cannot be trimmed at {airspeed_kt * KNOT:.1f} m/s and {altitude} m: choose '
            f'a speed and altitude that it can hold ({why})')
