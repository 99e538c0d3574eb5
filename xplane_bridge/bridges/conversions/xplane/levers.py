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
Controls as X-Plane's datarefs: as reported, and what is written of brakes, trims and engines.

Numbers such as 4.22 refer to rows of docs/wire/xplane_datarefs.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xplane_bridge.bridges.conversions.vehicle import Controls, EngineControls
from xplane_bridge.common.controls import SURFACES

_CONTROLS = 'sim/cockpit2/controls/'
_ACTUATORS = 'sim/cockpit2/engine/actuators/'

# Without it X-Plane mixes in the user's pedals (4.22).
TOE_BRAKES = 'sim/operation/override/override_toe_brakes'
BRAKES = {
    'brake_left': _CONTROLS + 'left_brake_ratio', 'brake_right': _CONTROLS + 'right_brake_ratio'}
# Nothing else releases it, and whoever brakes by himself does not need it (4.22).
PARKING_BRAKE = _CONTROLS + 'parking_brake_ratio'
TRIMS = {f'{axis}_trim': f'{_CONTROLS}{axis}_trim' for axis in SURFACES}
LEVERS = {**BRAKES, **TRIMS}
# Arrays, one value per engine (4.10, 4.11).
ENGINES = {
    'throttle': 'sim/flightmodel/engine/ENGN_thro', 'mixture': _ACTUATORS + 'mixture_ratio',
    'propeller': _ACTUATORS + 'prop_ratio'}
ENGINE_COUNT = 'sim/aircraft/engine/acf_num_engines'

# The arrays have 8 elements, and 16 in X-Plane 12, which are as many engines as a row's values.
_SLOTS = 8
# Each element is a subscription of its own.
MOST_REPORTED = 4


_YOKE = _CONTROLS + 'yoke_'
_REPORTED = {
    'elevator': _YOKE + 'pitch_ratio', 'aileron': _YOKE + 'roll_ratio',
    'rudder': _YOKE + 'heading_ratio', 'flaps': 'sim/flightmodel/controls/flaprqst',
    'gear': 'sim/cockpit/switches/gear_handle_status',
    'speedbrake': 'sim/flightmodel/controls/sbrkrqst', **LEVERS}
THROTTLE = ENGINES['throttle']
FIRST_THROTTLE = THROTTLE + '[0]'
_IN_ORDER = tuple(_REPORTED.get(name, THROTTLE) for name in Controls._fields)
_THROTTLE_PLACE = _IN_ORDER.index(THROTTLE)

# What reported_controls() and engine_controls() read.
DATAREFS = (*_REPORTED.values(), *ENGINES.values(), ENGINE_COUNT)


def reported_controls(values: Mapping[str, float | None]) -> Controls:
    """Return the controls of the user's aircraft; what ``values`` lack is None."""
    levers = [*map(values.get, _IN_ORDER)]
    if levers[_THROTTLE_PLACE] is None:
        levers[_THROTTLE_PLACE] = values.get(FIRST_THROTTLE)
    return Controls(*levers)


def lever_datarefs(controls: Mapping[str, float]) -> dict[str, tuple[float, ...]]:
    """Return what to write for those of the controls that are LEVERS, by dataref."""
    written: dict[str, tuple[float, ...]] = {}
    if not BRAKES.keys().isdisjoint(controls):
        written |= {TOE_BRAKES: (1.0,), PARKING_BRAKE: (0.0,)}
    for name, dataref in LEVERS.items():
        if name in controls:
            written[dataref] = (controls[name],)
    return written


def engine_datarefs(engines: EngineControls) -> dict[str, tuple[float, ...]]:
    """Return what to write for the levers of engines, by dataref: arrays from the first on."""
    return {ENGINES[name]: for_each(values) for name, values in engines.given().items()}


def flat(engines: EngineControls) -> dict[str, float]:
    """Return levers by name, 'throttle' for all engines or 'throttle[0]' for the first."""
    return {
        name if len(values) == 1 else f'{name}[{n}]': value
        for name, values in engines.given().items() for n, value in enumerate(values)}


def elements(dataref: str) -> tuple[str, ...]:
    """Return what to ask X-Plane for, which sends no arrays: the first elements of one."""
    if dataref not in ENGINES.values():
        return (dataref,)
    return tuple(f'{dataref}[{n}]' for n in range(MOST_REPORTED))


_ELEMENTS = {dataref: elements(dataref) for dataref in ENGINES.values()}


def to_arrays(values: Mapping[str, float]) -> dict[str, list[float]]:
    """Return the arrays of engines from their elements."""
    return {
        dataref: [values[name] for name in names if name in values]
        for dataref, names in _ELEMENTS.items()}


def for_each(values: Sequence[float], count: int = _SLOTS) -> tuple[float, ...]:
    """Return a value for each of ``count`` engines if there is one for all of them."""
    return tuple(values) * count if len(values) == 1 else tuple(values)


def engine_controls(
    count: float | None, arrays: Mapping[str, Sequence[float]]
) -> EngineControls | None:
    """Return the reported levers of an aircraft's engines from their arrays, by dataref."""
    engines = int(count) if count is not None and 0.0 < count <= 16.0 else 0
    if not engines:
        return None
    found = {}
    for name, dataref in ENGINES.items():
        if dataref in arrays and len(values := arrays[dataref]) >= engines:
            found[name] = tuple(values[:engines])
    return EngineControls(**found) if found else None
