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

"""X-Plane's datarefs, whoever transports them: sources of signals, and what must agree."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
import math
from typing import NamedTuple

import numpy as np

from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.plausibility import NOWHERE
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.conversions.xplane.state import OWN_PREFIX
from xplane_bridge.bridges.sessions.base import ReadDone
from xplane_bridge.bridges.xpc.session import XpcSession
from xplane_bridge.bridges.xplane_udp.session import XplaneUdpSession
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.verification.evidence.consistency import Source, STEP
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord
from xplane_bridge.laboratory.verification.evidence.line import Line
from xplane_bridge.laboratory.verification.evidence.relations import Series

_FORCES = 'sim/flightmodel/forces/'

# Rows of docs/wire/xplane_datarefs.md.
DATAREF_SOURCES: Mapping[str, Source] = {
    'latitude': Source(f'{OWN_PREFIX}latitude', '1.1'),
    'longitude': Source(f'{OWN_PREFIX}longitude', '1.1'),
    'altitude': Source(f'{OWN_PREFIX}elevation', '1.4'),
    'roll': Source(f'{OWN_PREFIX}true_phi', '1.12'),
    'pitch': Source(f'{OWN_PREFIX}true_theta', '1.12'),
    'heading': Source(f'{OWN_PREFIX}true_psi', '1.12'),
    'velocity_east': Source(f'{OWN_PREFIX}local_vx', '1.26'),
    'climb_rate': Source(f'{OWN_PREFIX}local_vy', '1.26'),
    'velocity_north': Source(f'{OWN_PREFIX}local_vz', '1.26'),
    'roll_rate': Source(f'{OWN_PREFIX}Prad', '1.35'),
    'pitch_rate': Source(f'{OWN_PREFIX}Qrad', '1.35'),
    'yaw_rate': Source(f'{OWN_PREFIX}Rrad', '1.35'),
    'specific_force_up': Source(f'{_FORCES}g_nrml', '1.39'),
    'specific_force_forward': Source(f'{_FORCES}g_axil', '1.39'),
    'specific_force_left': Source(f'{_FORCES}g_side', '1.39'),
    'airspeed': Source(f'{OWN_PREFIX}indicated_airspeed', '2.1'),
    'true_airspeed': Source(f'{OWN_PREFIX}true_airspeed', '2.3'),
    'angle_of_attack': Source(f'{OWN_PREFIX}alpha', '2.5'),
    'temperature': Source('sim/weather/aircraft/temperature_ambient_deg_c', '2.10'),
    'static_pressure': Source('sim/weather/aircraft/barometer_current_pas', '2.12'),
    'wind_east': Source('sim/weather/aircraft/wind_now_x_msc', '2.22'),
    'wind_north': Source('sim/weather/aircraft/wind_now_z_msc', '2.22'),
}
REQUIREMENTS: Mapping[str, str] = {
    'elevator': '4.1', 'aileron': '4.1', 'rudder': '4.1', 'throttle': '4.11', 'flaps': '4.17',
    'gear': '4.15', 'pause': '3.5', 'pose': '5.1', 'time': '3.1', 'given back': '4.2'}


IS_IN_REPLAY = 'sim/time/is_in_replay'
_LOOKS, _READ_WITHIN = 0.1, 2.0


def replays(session: XpcSession | XplaneUdpSession, line: Line) -> bool | None:
    """Return whether X-Plane says that it plays a replay, None if it does not say."""
    try:
        ticket = line.call(session.read_datarefs, (IS_IN_REPLAY,))
    except ValueError:
        return None
    left = _READ_WITHIN
    while left > 0.0:
        for heard in line.listen(_LOOKS):
            if isinstance(heard.event, ReadDone) and heard.event.ticket == ticket:
                values = [value for value in np.ravel(heard.event.values) if value is not None]
                return bool(values[0]) if values else None
        left -= _LOOKS
    return None


_REACH = 2.0
"""Degrees: the origin of X-Plane's local axes follows the aircraft within one."""


class Positions:
    """
    The aircraft's position of two sources: its pose, and the datarefs.

    Where they contradict each other the one near the origin of X-Plane's local axes counts, as
    nothing along these axes can be read with the other one.
    """

    _NAMES = ('latitude', 'longitude', 'altitude')
    _WITHIN = (0.01, 0.01, 100.0)

    def __init__(self, of_pose: str) -> None:
        self._of_pose = of_pose
        self._off: dict[str, tuple[float, float]] = {}
        self._seen = 0

    def choose(self, pose: Vector | None, values: Mapping[str, float]) -> Vector:
        """Return the position that counts, NOWHERE if there is none."""
        reported = tuple(values.get(name, math.nan) for name in xplane.OWN_PLACE)
        told: Vector = (reported[0], reported[1], reported[2])
        if pose is None:
            return told if all(map(math.isfinite, told)) else NOWHERE
        self._seen += 1
        off = [name for name, one, other, within in zip(
            self._NAMES, pose, told, self._WITHIN, strict=True) if abs(one - other) > within]
        self._off |= {name: (pose[place], told[place])
                      for place, name in enumerate(self._NAMES) if name in off}
        origin = xplane.origin(values)
        if off and origin is not None and max(
                abs(told[0] - origin[0]), abs(told[1] - origin[1])) < _REACH and (
                off != ['altitude']):
            return told
        return pose

    def findings(self) -> Iterable[CheckResult]:
        """Return what contradicts itself."""
        for name, (pose, told) in self._off.items():
            source = DATAREF_SOURCES[name]
            if math.isclose(pose, -told, rel_tol=1e-3):
                sentence = f'{name} of {self._of_pose} has the other sign'
            else:
                sentence = f'{name} of {self._of_pose} contradicts {source.wire}'
            yield CheckResult(STEP, name, Outcome.DIFFERS, sentence, source.requirement,
                          f'as {source.wire}', f'{pose / told:.4g} times it', self._of_pose)
        if self._seen and not self._off:
            yield CheckResult(STEP, 'position', Outcome.SEEN,
                          f'the position of {self._of_pose} is that of the datarefs', '1.1')


class _Twin(NamedTuple):
    """A dataref that says what another signal does, and how far they may be apart."""

    name: str
    requirement: str
    signal: str
    within: float
    factor: float = 1.0
    is_angle: bool = False


_APART = 1.5 * DEGREE
_TWINS = (
    _Twin('phi', '1.11', 'roll', _APART, DEGREE, True),
    _Twin('theta', '1.11', 'pitch', _APART, DEGREE, True),
    _Twin('psi', '1.11', 'heading', _APART, DEGREE, True),
)
# Accelerations follow the change of the velocity; these are much smoother.
_SPEED_WITHIN = 1.0
_WHOLE = (xplane.PAUSED, xplane.CRASHED, 'sim/flightmodel/failures/onground_any',
          'sim/cockpit/switches/gear_handle_status', 'sim/aircraft/engine/acf_num_engines')
_CONTROLS = 'sim/cockpit2/controls/'
# What is a ratio by definition, with some margin.
_RATIOS = {
    **{f'{_CONTROLS}yoke_{axis}_ratio': (-1.05, 1.05) for axis in ('pitch', 'roll', 'heading')},
    **{f'{_CONTROLS}{axis}_trim': (-1.05, 1.05) for axis in ('elevator', 'aileron', 'rudder')},
    'sim/flightmodel/controls/flaprqst': (-0.05, 1.05),
    'sim/flightmodel/controls/sbrkrqst': (-0.55, 1.55)}


def spoken_datarefs(record: FlightRecord, bad: Collection[str]) -> Iterable[CheckResult]:
    """
    Return findings of datarefs that say what others do, or that are whole numbers or ratios.

    What the physics has found ``bad`` is no witness.
    """
    for twin in _TWINS:
        if twin.signal not in bad:
            yield from _twin(twin, record)
    speed = np.hypot(record['velocity_north'], record['velocity_east'])
    yield from _level('groundspeed', '1.28', record.wire(f'{OWN_PREFIX}groundspeed') - speed,
                      _SPEED_WITHIN, 'm/s')
    for name in _WHOLE:
        values = record.wire(name)
        known = values[np.isfinite(values)]
        if len(known) and not np.all(known == np.round(known)):
            yield CheckResult(
                STEP, name, Outcome.DIFFERS, f'{name} is no whole number', '', 'a whole number',
                f'{known[known != np.round(known)][0]:g}', name)
    for name, (low, high) in _RATIOS.items():
        values = record.wire(name)
        known = values[np.isfinite(values)]
        if len(known) and not np.all((low <= known) & (known <= high)):
            yield CheckResult(
                STEP, name, Outcome.DIFFERS, f'{name} is no ratio', '',
                f'{low:g} to {high:g}', f'{float(known[np.argmax(np.abs(known))]):g}', name)


def _twin(twin: _Twin, record: FlightRecord) -> Iterable[CheckResult]:
    off = record.wire(OWN_PREFIX + twin.name) * twin.factor - record[twin.signal]
    if twin.is_angle:
        off = np.arctan2(np.sin(off), np.cos(off))
    yield from _level(twin.name, twin.requirement, off / twin.factor, twin.within / twin.factor,
                      'degrees')


def _level(
    name: str, requirement: str, off: Series, within: float, unit: str
) -> Iterable[CheckResult]:
    known = np.abs(off[np.isfinite(off)])
    if not len(known):
        return
    largest = float(np.quantile(known, 0.9))
    wire = OWN_PREFIX + name
    if largest <= within:
        yield CheckResult(STEP, name, Outcome.SEEN, f'{name} agrees with its like', requirement,
                      wire=wire)
    elif math.isfinite(largest):
        yield CheckResult(
            STEP, name, Outcome.DIFFERS, f'{name} contradicts its like ({wire})', requirement,
            f'within {within:.3g} {unit}', f'{largest:.3g} {unit} off', wire)
