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

"""Controls as X-Plane takes them: datarefs since X-Plane 10, rows before; and what they take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from xplane_bridge.protocols.xplane_udp import Cmnd, Data, Dref, Layout, to_segments, Value

FIRST_WITH_DATAREFS = 10
"""RREF, DREF and CMND are known for X-Plane 10 and later (wire notes, section 5)."""

RowKind = Literal['trim', 'joystick']

_OVERRIDE = 'sim/operation/override/override_joystick'
_PLANEPATH = 'sim/operation/override/override_planepath[0]'
_STICKS = {
    'elevator': 'sim/joystick/yoke_pitch_ratio',
    'aileron': 'sim/joystick/yoke_roll_ratio',
    'rudder': 'sim/joystick/yoke_heading_ratio',
}
_DATAREFS = {
    **_STICKS,
    'throttle': 'sim/cockpit2/engine/actuators/throttle_ratio_all',
    'flaps': 'sim/flightmodel/controls/flaprqst',
    'gear': 'sim/cockpit/switches/gear_handle_status',
    'speedbrake': 'sim/flightmodel/controls/sbrkrqst',
}
_OTHER_ROWS = {'flaps': 'flaps_request', 'gear': 'gear', 'speedbrake': 'speedbrake_request'}
TRIMS = tuple(f'{name}_trim' for name in _STICKS)
_ENGINES = 8

JOYSTICK_OVERRIDE = Dref(1.0, _OVERRIDE)


def control_datarefs(controls: Mapping[str, float]) -> list[Dref]:
    """Return the datarefs to write for controls, by the names of FlightControls."""
    return [
        Dref(float(round(value)) if name == 'gear' else value, _DATAREFS[name])
        for name, value in controls.items()]


def control_rows(
    version: int, controls: Mapping[str, float], kind: RowKind, layout: Layout
) -> Data:
    """Return the rows to write for controls: the three axes as trims or as the joystick's."""
    values: dict[str, Value] = {}
    for name, value in controls.items():
        if name in _STICKS:
            values[f'{name}_trim' if kind == 'trim' else f'stick_{name}'] = value
        elif name == 'throttle':
            values['throttle'] = (value,) * _ENGINES
        else:
            values[_OTHER_ROWS[name]] = float(round(value)) if name == 'gear' else value
    return Data(to_segments(version, values), layout)


def trim_rows(version: int, trims: Mapping[str, float], layout: Layout) -> Data:
    """Return the row that sets trims (elevator_trim ...)."""
    return Data(to_segments(version, trims), layout)


def pause(on: bool) -> Cmnd:
    """Return the command that pauses, or lets go on."""
    return Cmnd('sim/operation/pause_on' if on else 'sim/operation/pause_off')


class Taken:
    """
    What commands have taken from the user of the simulator.

    ``what`` holds 'joystick' (the override), 'axes' (written as rows), 'flight model' (stopped by
    VEHX) and 'pause'. ``trims`` are the user's own, from before the first command that moved them.
    """

    def __init__(self) -> None:
        self.what: set[str] = set()
        self.trims: dict[str, float] = {}

    def give_back(self) -> list[Dref | Cmnd]:
        """Return what undoes it by datarefs and commands, and forget that."""
        messages: list[Dref | Cmnd] = []
        if 'joystick' in self.what:
            # Centred first, so that nothing stays deflected (dataref notes, 4.4).
            messages += [Dref(0.0, name) for name in _STICKS.values()]
            messages.append(Dref(0.0, _OVERRIDE))
        if 'flight model' in self.what:
            messages.append(Dref(0.0, _PLANEPATH))
        if 'pause' in self.what:
            messages.append(pause(False))
        self.what -= {'joystick', 'flight model', 'pause'}
        return messages

    def rows_to_give_back(self, version: int, kind: RowKind, layout: Layout) -> Data | None:
        """Return the row that centres the joystick or restores the trims, and forget that."""
        if 'axes' not in self.what:
            return None
        self.what.discard('axes')
        if kind == 'joystick':
            return control_rows(version, dict.fromkeys(_STICKS, 0.0), kind, layout)
        return trim_rows(version, self.trims, layout) if self.trims else None


def is_axis(names: Iterable[str]) -> bool:
    """Tell whether one of the controls is elevator, aileron or rudder."""
    return any(name in _STICKS for name in names)
