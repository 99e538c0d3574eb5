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

"""Controls in X-Plane's form: datarefs from X-Plane 10 on, rows before."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from xplane_bridge.bridges.protocols.base import Message
from xplane_bridge.bridges.protocols.xplane_versions import HIGHEST_PLAUSIBLE_ROW
from xplane_bridge.bridges.xplane_udp.protocol import (
    Cmnd,
    Data,
    DataLayout,
    Dref,
    encode,
    MOST_ROWS,
    to_segments,
    Value,
    Vehx,
)

COMMAND_CHANNEL = 'command'
DATA_CHANNEL = 'data'
"""Rows arrive there, and leave from there."""

MOST_MESSAGES = 512
"""Datagrams of one command: at the usual pacing they are sent within a fraction of a second."""

# X-Plane 10 and later reads everything pending in each frame: this many are sent together.
_BURST = 32

RowKind = Literal['trim', 'joystick']

STICKS = {
    'elevator': 'sim/joystick/yoke_pitch_ratio',
    'aileron': 'sim/joystick/yoke_roll_ratio',
    'rudder': 'sim/joystick/yoke_heading_ratio',
}
TOE_BRAKES = 'sim/operation/override/override_toe_brakes'
BRAKES = {
    'brake_left': 'sim/cockpit2/controls/left_brake_ratio',
    'brake_right': 'sim/cockpit2/controls/right_brake_ratio',
}
# Nothing else releases it, and whoever brakes by himself does not need it.
PARKING_BRAKE = 'sim/cockpit2/controls/parking_brake_ratio'
TRIMS = tuple(f'{name}_trim' for name in STICKS)
SHOWN_BY_ROWS = (*TRIMS, *(f'stick_{name}' for name in STICKS))
"""What X-Plane 6 to 9 reports of what commands take, by its name in a row."""

_ACTUATORS = 'sim/cockpit2/engine/actuators/'
# Levers of engines: of the n-th one ('throttle[n]'), and of all of them ('throttle').
_LEVERS = {'throttle': 'throttle_ratio', 'mixture': 'mixture_ratio', 'propeller': 'prop_ratio'}
_DATAREFS = {
    **STICKS,
    **BRAKES,
    **{name: f'sim/cockpit2/controls/{name}' for name in TRIMS},
    **{name: f'{_ACTUATORS}{lever}_all' for name, lever in _LEVERS.items()},
    'flaps': 'sim/flightmodel/controls/flaprqst',
    'gear': 'sim/cockpit/switches/gear_handle_status',
    'speedbrake': 'sim/flightmodel/controls/sbrkrqst',
}
_OTHER_ROWS = {
    'flaps': 'flaps_request', 'gear': 'gear', 'speedbrake': 'speedbrake_request',
    'brake_left': 'left_toe_brake', 'brake_right': 'right_toe_brake',
    **{name: name for name in TRIMS},
}
_ENGINES = 8

_LARGEST = 3e38


@dataclass(frozen=True, slots=True)
class CommandDatagrams:
    """Datagrams sent together, and the aircraft whose flight model they stop, if any."""

    channel: str
    datagrams: tuple[bytes, ...]
    stops: int | None = None


def to_commands(
    messages: Sequence[Message], what: str, version: int, layout: DataLayout
) -> list[CommandDatagrams]:
    """Return messages of one kind as commands; ValueError if one cannot be sent."""
    if len(messages) > MOST_MESSAGES:
        raise ValueError(
            f'{what}: {len(messages)} values, at most {MOST_MESSAGES} can be set at once')
    return [_command(messages[start:start + _BURST], version, layout)
            for start in range(0, len(messages), _BURST)]


def _command(messages: Sequence[Message], version: int, layout: DataLayout) -> CommandDatagrams:
    first = messages[0]
    if isinstance(first, Data):
        return CommandDatagrams(DATA_CHANNEL, tuple(
            encode(Data(message.segments, layout), version)
            for message in messages if isinstance(message, Data)))
    return CommandDatagrams(
        COMMAND_CHANNEL, tuple(encode(message, version) for message in messages),
        first.p if isinstance(first, Vehx) else None)


def check_values(controls: Mapping[str, float]) -> None:
    """Raise ValueError for a value that is not a float32."""
    for name, value in controls.items():
        if not -_LARGEST < value < _LARGEST:
            raise ValueError(f'{name}: got {value:g}, expected a number')


def check_rows(rows: Collection[int]) -> None:
    """Raise ValueError if there are too many rows to select, or X-Plane does not have them."""
    if len(rows) > MOST_ROWS:
        raise ValueError(f'{len(rows)} rows, at most {MOST_ROWS} can be selected')
    for row in rows:
        if not 0 <= row <= HIGHEST_PLAUSIBLE_ROW:
            raise ValueError(f'row {row} is not in 0..{HIGHEST_PLAUSIBLE_ROW}')


def control_datarefs(controls: Mapping[str, float]) -> list[Dref]:
    """Return the datarefs to write for controls, by the names of FlightControls."""
    return [
        Dref(float(round(value)) if name == 'gear' else value, _dataref(name))
        for name, value in controls.items()]


def _dataref(name: str) -> str:
    """Return the dataref of a control, or of a lever of one engine."""
    lever, bracket, index = name.partition('[')
    return f'{_ACTUATORS}{_LEVERS[lever]}[{index}' if bracket else _DATAREFS[name]


def control_rows(
    version: int, controls: Mapping[str, float], kind: RowKind, layout: DataLayout
) -> Data:
    """
    Return the rows to write for controls: the three axes as trims or as the joystick's.

    Raises ValueError for what no row carries.
    """
    values: dict[str, Value] = {}
    throttles: list[float | None] = [None] * _ENGINES
    for name, value in controls.items():
        lever, _, index = name.partition('[')
        if name in STICKS:
            values[f'{name}_trim' if kind == 'trim' else f'stick_{name}'] = value
        elif name in TRIMS and kind == 'trim':
            raise ValueError(
                f'{name}: with command_rows: trim the trims are what {name.removesuffix("_trim")} '
                'moves; set command_rows: joystick to command both')
        elif lever == 'throttle':
            for n in range(_ENGINES) if not index else [int(index.rstrip(']'))]:
                if n < _ENGINES:
                    throttles[n] = value
            values['throttle'] = tuple(throttles)
        elif name not in _OTHER_ROWS:
            raise ValueError(
                f'{lever}: the rows of X-Plane {version} have no documented column for it; '
                'X-Plane 10 and later take it')
        else:
            values[_OTHER_ROWS[name]] = float(round(value)) if name == 'gear' else value
    return Data(to_segments(version, values), layout)


def stick_and_trim_rows(version: int, values: Mapping[str, float], layout: DataLayout) -> Data:
    """Return the rows that set the joystick's axes (stick_elevator ...) or trims."""
    return Data(to_segments(version, values), layout)


def pause(on: bool) -> Cmnd:
    """Return the command that pauses or resumes."""
    return Cmnd('sim/operation/pause_on' if on else 'sim/operation/pause_off')
