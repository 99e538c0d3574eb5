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
How many steps per second an aircraft of one's own needs: as many as its fastest mode.

JSBSim integrates rates by Euler's rule: a mode of w rad/s decays without overshoot while a step is
no longer than 1/w, and diverges from 2/w on. So steps are no longer than 1/w, in steady flight at
the airspeed in which it begins; twice as fast it still does not diverge. The speed of a propeller
is a mode too, which no linear model has.
"""

from __future__ import annotations

from dataclasses import replace
import os

import numpy as np

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent, AirframeEventKind
from xplane_bridge.common.timing import PHYSICS_RATE
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.loading.controls import as_line
from xplane_bridge.simulation.aircraft.loading.files import CONTROLS_FILE, Origin
from xplane_bridge.simulation.aircraft.model import found_controls, Model
from xplane_bridge.simulation.aircraft.studies.linearize import linearize
from xplane_bridge.simulation.aircraft.studies.spare import make_spare

HIGHEST = 1200
"""More than these per second are not chosen; an aircraft that needs them is told so."""

_RATES = (PHYSICS_RATE, 240, 480, 960, HIGHEST)
# By so much faster the air comes to see that, and a propeller that moves by less (rpm) does not.
_FASTER, _MOVES = 1.02, 1e-9
# Flights that differ in their start may each need their own; each takes as long as to begin one.
_MOST_KNOWN = 64
_known: dict[tuple[str, str, Initial], tuple[Origin, float]] = {}


def fastest_mode(model: str, initial: Initial, aircraft_path: str = '') -> float:
    """
    Return the fastest mode (rad/s) of an aircraft in steady flight, 0 if it has none.

    Raises ValueError for a model that cannot be loaded, ImportError without JSBSim.
    """
    key = model, aircraft_path and os.path.abspath(aircraft_path), replace(initial, parked=False)
    if (known := _known.get(key)) is not None and known[0].is_current:
        return known[1]
    fastest = 0.0
    # None is flown here, but engines reach their speed in steps too: then in short ones.
    for rate in (PHYSICS_RATE, HIGHEST):
        try:
            aircraft = Aircraft(model, key[2], 1.0 / rate, aircraft_path=aircraft_path)
            spare = make_spare(aircraft)
            system = linearize(spare, 'differences')
        except ValueError:
            # Whoever flies it says why it cannot; what only ever stands has no such mode.
            continue
        modes = np.abs(np.linalg.eigvals(np.array(system.a)))
        fastest = max(float(modes.max()), _fastest_propeller(spare.model()))
        while len(_known) >= _MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[key] = aircraft.origin, fastest
        if fastest <= rate:
            break
    return fastest


def _fastest_propeller(model: Model) -> float:
    """Return how fast (rad/s) a propeller of a placed model follows the air, 0 without one."""
    model.equilibrate()
    model.set('ic/vt-kts', _FASTER * model.get('ic/vt-kts'))
    model.initialise()
    speeds = [model.propeller_speeds()]
    with model.held():
        for _ in range(2):
            model.settle(1)
            speeds.append(model.propeller_speeds())
    # In each step of Euler's rule so much of what is left is lost as the step is of 1/mode.
    first, second = np.diff(speeds, axis=0)
    moving = np.abs(first) > _MOVES
    return float(np.max((1.0 - second[moving] / first[moving]) / model.dt, initial=0.0))


def rate_for(mode: float) -> int:
    """Return the steps per second for a fastest mode (rad/s)."""
    return next((rate for rate in _RATES if rate >= mode), HIGHEST)


def physics_rate(model: str, initial: Initial, aircraft_path: str = '') -> int:
    """Return the steps per second of an aircraft; those of JSBSim have PHYSICS_RATE."""
    if not aircraft_path:
        return PHYSICS_RATE
    return rate_for(fastest_mode(model, initial, aircraft_path))


def remarks(model: str, initial: Initial, aircraft_path: str = '', given_rate: float = 0,
            ) -> list[str]:
    """
    Return what to say of an aircraft of one's own before it flies, a line each.

    That is what moves it, where that was found (model.moved_by), and how many steps it takes,
    unless they are given or as many as usual. What cannot be loaded, its flight says.
    """
    if not aircraft_path:
        return []
    said = []
    try:
        if found := found_controls(model, aircraft_path, initial.controls):
            said.append(f'{model} has no {CONTROLS_FILE}: it is moved by what was found, '
                        f'{as_line(found)}')
        mode = fastest_mode(model, initial, aircraft_path)
    except (ImportError, ValueError):
        return []
    if (rate := rate_for(mode)) != PHYSICS_RATE and not given_rate:
        said.append(f'{model} is computed {rate} times per second, which takes up to '
                    f'{rate / PHYSICS_RATE:g} times as long as {PHYSICS_RATE}: its fastest mode '
                    f'has {mode:.0f} rad/s')
    return said


def explained(aircraft: Aircraft) -> AirframeEvent | None:
    """Return its crash; where it diverged, with how many steps per second do, if more would."""
    crash = aircraft.crash
    if crash is None or crash.kind is not AirframeEventKind.DIVERGED:
        return crash
    mode = fastest_mode(aircraft.model, aircraft.initial, aircraft.aircraft_path)
    needed, given = rate_for(mode), round(1.0 / aircraft.dt)
    return crash if needed <= given else replace(
        crash, hint=f'its fastest mode of {mode:.0f} rad/s needs {needed} steps per second '
        f'instead of {given}: physics_rate')
