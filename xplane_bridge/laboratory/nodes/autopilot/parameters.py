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

"""Parameters of autopilot_node."""

from __future__ import annotations

from dataclasses import dataclass, fields, make_dataclass
import math
from typing import Any

from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.namespaces import NamespacesParameters
from xplane_bridge.common.fields import Declaration, declaration_of, table_of
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.control.envelope import Envelope
from xplane_bridge.laboratory.control.gains import Gains, NAMES, SCHEDULE, scheduled
from xplane_bridge.laboratory.control.runway.performance import from_numbers, GROUP, Performance
from xplane_bridge.laboratory.control.schedule import AIRSPEED, AXES
from xplane_bridge.laboratory.nodes.autopilot.joystick import JoystickSettings


@dataclass(frozen=True)
class OwnParameters(NamespacesParameters):
    """Parameters of autopilot_node, without those of the control law."""

    gains_of: tuple[str, ...] = parameter(
        (), 'Aircraft whose gains, envelope and performance it has where they are not given: '
        'names in data/gains, or parameter files; one for all namespaces, or one for each. Empty: '
        'of none.')
    engage: bool = parameter(False, 'Engage as soon as telemetry arrives.')
    engage_at: float = parameter(
        math.nan, 'Stamp of imu/data, s, at which, or after which, it engages; NaN is never.',
        live=True)
    altitude: float = parameter(
        math.nan, 'Target when engaging: metres above the WGS-84 ellipsoid, as in fix; NaN holds '
        'the current altitude.')
    true_heading_deg: float = parameter(
        math.nan, 'Target when engaging: degrees clockwise from true north; NaN holds the '
        'current heading.')
    airspeed: float = parameter(
        math.nan, 'Target when engaging: indicated airspeed, m/s; NaN holds the current one.')
    lockstep: bool = parameter(
        False, 'Command once per stamp, when imu/data, fix, air_data, controls and odom of that '
        'stamp have arrived: for a simulator in lockstep behind a bridge with stamp: simulator.')
    behind_sensors: bool = parameter(
        False, 'It is behind sensors_node: in lockstep wait for imu/data and controls of a stamp '
        'only, and use the newest of the others; positions may be 2.5 s old, not 0.5 s. The '
        'height above a runway is that of range.')
    wait_for_command: bool = parameter(
        False, 'In lockstep: command for a state only when attitude, rates, target, path or '
        'route with its stamp has come, as from policy_node.')
    hold_at: float = parameter(
        math.nan, 'In lockstep: stamp of imu/data, s, from which on nothing is commanded until '
        'this is set to a later one; NaN is never.', live=True)
    subscribers: int = parameter(
        0, 'In lockstep: how many subscribers command/controls must have before the first '
        'command, so that none misses it; until then the simulation waits.', low=0, live=True)
    wait_for_recorder: bool = parameter(
        False, 'In lockstep: command nothing before record or rosbag2 has subscribed to all that '
        'is published of the vehicle, so that it misses no frame; until then the simulation '
        'waits.')

    def __post_init__(self) -> None:
        """Check that nobody's gains are missing."""
        super().__post_init__()
        count = len(self.namespaces)
        if len(self.gains_of) not in (0, 1, count):
            raise ValueError(
                'parameter gains_of: expected one aircraft for all'
                + (f' or {count}, one for each of namespaces' if count > 1 else '')
                + f', got {len(self.gains_of)}')


# Fields of the envelope that are parameters as they are.
_LIMITS = table_of(Envelope)
_JOYSTICK = fields(JoystickSettings)
_SCHEDULED = (*AXES, *(name for name in NAMES if name != AIRSPEED))
_LEAST_CORNERS = 3


def _sentence(one: Declaration, page: str) -> str:
    """Return what is declared of a setting of an aircraft as a sentence, without markup."""
    return f'{one.meaning}; see {page}.'.replace('`', '')


AutopilotParameters = make_dataclass(
    'AutopilotParameters',
    [
        *((f'gain_{name}', float, parameter(
            one.default, f'Gain, {_sentence(one, "docs/explanation/control.md")}', live=True,
            unit=one.unit, name=f'gains.{name}'))
          for name, one in table_of(Gains).items()),
        *((f'scheduled_{name}', tuple[float, ...], parameter(
            (), 'Of a schedule of gains: airspeeds, altitudes, and of each gain that is scheduled '
            'a value for each of both, the altitude varying fastest; empty: not scheduled.',
            live=True, name=f'{SCHEDULE}.{name}'))
          for name in _SCHEDULED),
        *((f'limit_{name}', float, parameter(
            one.default, f'Limits {_sentence(one, "docs/reference/autopilot.md")} NaN is none, '
            'where there can be none.', live=True, unit=one.unit, name=f'envelope.{name}'))
          for name, one in _LIMITS.items()),
        *((f'performance_{name}', float, parameter(
            math.nan, f'Performance: {_sentence(one, "docs/reference/runway.md")} NaN: not known.',
            live=True, unit=one.unit, name=f'{GROUP}.{name}'))
          for name, one in table_of(Performance).items()),
        ('geofence_deg', tuple[float, ...], parameter(
            (), 'Corners of a polygon that is not to be left: latitude, longitude of one after '
            'the other.', live=True, name='envelope.geofence_deg')),
        *((f'joystick_{item.name}', item.type, parameter(
            one.default, one.meaning, low=one.low, high=one.high, live=True,
            name=f'joystick.{item.name}'))
          for item in _JOYSTICK for one in [declaration_of(item)]),
    ],
    bases=(OwnParameters,), frozen=True)


def read_gains(given: Any) -> Gains:
    """Return the gains among the parameters; ValueError for a schedule that is none."""
    return scheduled(
        Gains(**{name: getattr(given, f'gain_{name}') for name in NAMES}),
        {name: values for name in _SCHEDULED if (values := getattr(given, f'scheduled_{name}'))})


def read_envelope(given: Any, local: LocalFrame | None) -> Envelope:
    """
    Return the envelope among the parameters; its geofence is in a local frame, empty without one.

    Raises ValueError for limits that are not possible.
    """
    corners = given.geofence_deg
    if len(corners) % 2:
        raise ValueError(
            'envelope.geofence_deg: expected latitude, longitude of one corner after the other, '
            f'got {len(corners)} numbers')
    positions = list(zip(corners[::2], corners[1::2], strict=True))
    if 0 < len(positions) < _LEAST_CORNERS:
        raise ValueError(
            f'envelope.geofence_deg: expected at least {_LEAST_CORNERS} corners, '
            f'got {len(positions)}')
    for latitude, longitude in positions:
        if not (-90.0 <= latitude <= 90.0 and -180.0 <= longitude <= 360.0):
            raise ValueError(
                f'envelope.geofence_deg: {latitude:g}, {longitude:g} is not a latitude and a '
                'longitude')
    try:
        return Envelope(
            **{name: getattr(given, f'limit_{name}') for name in _LIMITS},
            geofence=() if local is None else tuple(
                local.geodetic_to_enu(latitude, longitude, local.height)[:2]
                for latitude, longitude in positions))
    except ValueError as error:
        raise ValueError(f'envelope.{error}') from None


def read_performance(given: Any) -> Performance | None:
    """
    Return the performance of take-off and landing, None if nothing of it is known.

    Raises ValueError if only some of it is, or if it is not possible.
    """
    return from_numbers({
        item.name: value for item in fields(Performance)
        if (value := getattr(given, f'{GROUP}_{item.name}')) == value})


def read_joystick(given: Any) -> JoystickSettings:
    """Return the settings of the joystick among the parameters."""
    return JoystickSettings(**{
        item.name: getattr(given, f'joystick_{item.name}') for item in _JOYSTICK})


def read_targets(given: Any) -> dict[str, float]:
    """Return the targets among the parameters, NaN for none."""
    return {'altitude': given.altitude, 'true_heading': given.true_heading_deg * DEGREE,
            'airspeed': given.airspeed}


def stamp_at(seconds: float) -> float:
    """Return a stamp in nanoseconds, infinity for NaN."""
    return math.inf if math.isnan(seconds) else round(seconds * 1e9)
