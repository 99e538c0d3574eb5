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

"""What was received of one flight, as series over time, for the checks of its physics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import math

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.vehicle import VehicleState
from xplane_bridge.laboratory.verification.evidence.relations import Series

_NOTHING = (math.nan, math.nan, math.nan)
# Samples further apart than this, in seconds, are not of one piece of a flight.
_GAP = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """
    The aircraft at one time, in seconds: the simulator's own, or that of the reception.

    ``values`` are those of the wire, by their names there.
    """

    at: float
    state: VehicleState
    values: Mapping[str, float] = field(default_factory=dict)


class FlightRecord:
    """
    The series of a flight, in SI, radians and aeronautical signs; NaN is unknown.

    ``signals`` has them by the names of common/quantities.py; a check may repair one that it has
    found wrong, so that the next are not misled. Places are metres east and north of the first.
    """

    def __init__(self, samples: Sequence[Sample]) -> None:
        kept: list[Sample] = []
        for sample in samples:
            if not kept or sample.at > kept[-1].at:
                kept.append(sample)
        self.samples = kept
        self.at: Series = np.array([sample.at for sample in kept])
        self.signals: dict[str, Series] = {}
        self._read([sample.state for sample in kept])

    def __len__(self) -> int:
        return len(self.at)

    def __getitem__(self, name: str) -> Series:
        return self.signals[name]

    def wire(self, name: str) -> Series:
        """Return a value of the wire as a series."""
        return np.array([sample.values.get(name, math.nan) for sample in self.samples])

    def drop(self, name: str) -> None:
        """Count a signal as unknown from now on."""
        self.signals[name] = np.full(len(self), math.nan)

    def _read(self, states: Sequence[VehicleState]) -> None:
        count = len(states)

        def columns(vectors: Sequence[Sequence[float]], *names: str) -> None:
            table = np.array(vectors, dtype=float).reshape(count, len(names))
            self.signals |= {name: table[:, place] for place, name in enumerate(names)}

        columns([_angles(state) for state in states], 'roll', 'pitch', 'heading')
        columns([axes.flu_to_frd(state.angular_velocity or _NOTHING) for state in states],
                'roll_rate', 'pitch_rate', 'yaw_rate')
        columns([state.specific_force or _NOTHING for state in states],
                'specific_force_forward', 'specific_force_left', 'specific_force_up')
        columns([state.velocity or _NOTHING for state in states],
                'velocity_east', 'velocity_north', 'climb_rate')
        columns(_places(states), 'longitude', 'latitude')
        columns([(state.altitude_msl,) for state in states], 'altitude')
        airs = [state.air for state in states]
        for name, field_name in (
                ('airspeed', 'indicated_airspeed'), ('true_airspeed', 'true_airspeed'),
                ('angle_of_attack', 'angle_of_attack'), ('static_pressure', 'static_pressure'),
                ('temperature', 'temperature')):
            columns([(_known(getattr(air, field_name, None)),) for air in airs], name)
        columns([(air.wind if air else None) or _NOTHING for air in airs],
                'wind_east', 'wind_north', 'wind_up')

    # Pieces of the flight.

    def pieces(self, seconds: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return first and last samples of pieces about so long, that follow one another."""
        firsts, lasts = [], []
        begin = 0
        for place in range(1, len(self)):
            if self.at[place] - self.at[place - 1] > _GAP:
                begin = place
            elif self.at[place] - self.at[begin] >= seconds - 1e-6:
                firsts.append(begin)
                lasts.append(place)
                begin = place
        return np.array(firsts, dtype=np.intp), np.array(lasts, dtype=np.intp)

    def mean(self, name: str, seconds: float) -> Series:
        """Return a signal's mean in each piece, by the trapezoidal rule."""
        firsts, lasts = self.pieces(seconds)
        values = self.signals[name]
        steps = np.diff(self.at)
        area = np.concatenate(([0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * steps)))
        if np.isnan(area).any():
            return np.array([
                np.nanmean(values[first:last + 1]) if np.isfinite(values[first:last + 1]).all()
                else math.nan for first, last in zip(firsts, lasts, strict=True)])
        return (area[lasts] - area[firsts]) / (self.at[lasts] - self.at[firsts])

    def slope(self, name: str, seconds: float) -> Series:
        """Return how much a signal changes per second in each piece."""
        firsts, lasts = self.pieces(seconds)
        values = self.signals[name]
        return (values[lasts] - values[firsts]) / (self.at[lasts] - self.at[firsts])

    def rates_of_attitude(self, seconds: float) -> tuple[Series, Series, Series]:
        """Return roll, pitch and yaw rate of the aircraft, as its attitude changes."""
        firsts, lasts = self.pieces(seconds)
        matrices = self.attitude()
        turns = np.einsum('nji,njk->nik', matrices[firsts], matrices[lasts])
        cosine = np.clip((np.trace(turns, axis1=1, axis2=2) - 1.0) / 2.0, -1.0, 1.0)
        angle = np.arccos(cosine)
        # sin(x)/x of small angles.
        scale = 0.5 / np.sinc(angle / math.pi) / (self.at[lasts] - self.at[firsts])
        return (
            scale * (turns[:, 2, 1] - turns[:, 1, 2]),
            scale * (turns[:, 0, 2] - turns[:, 2, 0]),
            scale * (turns[:, 1, 0] - turns[:, 0, 1]))

    def attitude(self) -> NDArray[np.float64]:
        """Return the rotation of each sample, body FRD to NED."""
        cr, sr = np.cos(self['roll']), np.sin(self['roll'])
        cp, sp = np.cos(self['pitch']), np.sin(self['pitch'])
        cy, sy = np.cos(self['heading']), np.sin(self['heading'])
        return np.stack([
            np.stack([cp * cy, sr * sp * cy - cr * sy, cr * sp * cy + sr * sy], -1),
            np.stack([cp * sy, sr * sp * sy + cr * cy, cr * sp * sy - sr * cy], -1),
            np.stack([-sp, sr * cp, cr * cp], -1)], 1)

    def to_body(self, north: Series, east: Series, down: Series) -> tuple[Series, Series, Series]:
        """Return a vector of each sample along its body axes, forward, right and down."""
        found = np.einsum('nji,nj->ni', self.attitude(), np.stack([north, east, down], -1))
        return found[:, 0], found[:, 1], found[:, 2]


def _angles(state: VehicleState) -> tuple[float, float, float]:
    if state.orientation is None:
        return _NOTHING
    return axes.quaternion_to_euler(axes.enu_flu_to_ned_frd(state.orientation))


def _places(states: Sequence[VehicleState]) -> list[tuple[float, float]]:
    """Return metres east and north of the first known place."""
    known = next((state for state in states if math.isfinite(state.latitude_deg)), None)
    if known is None:
        return [(math.nan, math.nan)] * len(states)
    frame = LocalFrame(known.latitude_deg, known.longitude_deg, 0.0)
    return [frame.geodetic_to_enu(state.latitude_deg, state.longitude_deg, 0.0)[:2]
            for state in states]


def _known(value: float | None) -> float:
    return math.nan if value is None else value
