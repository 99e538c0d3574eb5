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
One point of an aircraft's envelope: its trim, linear model, modes, margins and gains, as a row.

A point that is not possible is a row too, with the reason: a hole in the envelope.

| column | what it is |
|---|---|
| ``number`` | of the point in its grid, from 0 |
| ``airspeed``, ``altitude_msl``, ``mass``, ``cg``, ``flaps`` | where, of the axes that are given |
| ``outcome``, ``reason`` | TRIMMED, or why it is a hole |
| ``trim.NAME`` | SI; surfaces and throttle as ratios, trim wheels included |
| ``mode.MODE.NAME`` | frequency (rad/s), damping, time_constant and time_to_double (s), level |
| ``margin.CONTROL.NAME`` | gain (dB), phase (deg), delay (s), disk |
| ``margin.disk``, ``margin.time_to_double`` | of all controls at once; of a divergence (s) |
| ``gain.NAME`` | gains that are tuned there |
| ``A``, ``B``, ``C``, ``D`` | the linear model, rows of numbers |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
import math
from typing import Any

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.control.gains import Gains, NAMES
from xplane_bridge.laboratory.control.tuning.robustness import robustness
from xplane_bridge.laboratory.control.tuning.tune import LoopRequirements, tune
from xplane_bridge.simulation.aircraft.linear_model import LinearModel
from xplane_bridge.simulation.aircraft.plant import Plant
from xplane_bridge.simulation.aircraft.studies.linearize import linearize
from xplane_bridge.simulation.aircraft.studies.modes import compute_modes, levels
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight
from xplane_bridge.simulation.aircraft.trim import Steady

Row = dict[str, Any]

TRIMMED, NO_FLIGHT = 'trimmed', 'no steady flight'
"""What may become of a point, beside what becomes of a process that hangs or dies."""

OPTIONS = ('airspeed', 'altitude_msl', 'flaps')
"""Axes that are no difference from the model's file."""

_FOUND_IN_TRIM = ('true_airspeed', 'angle_of_attack', 'sideslip', 'pitch', 'roll', *FLOWN)
_OF_MODES = ('frequency', 'damping', 'time_constant', 'time_to_double')


@dataclass(frozen=True, slots=True)
class Study:
    """
    What is studied at each point of a grid.

    ``controls`` is the file that says what moves it, if not the one beside it.
    Of ``gains`` the margins are found, with the delay and the lag of ``limits``. ``tunes`` says
    whether gains are found with these limits and ``bandwidths``. Levels are those of
    ``aircraft_class`` and ``category``.
    """

    model: str
    aircraft_path: str = ''
    aircraft_class: str = 'I'
    category: str = 'B'
    gains: Gains | None = None
    tunes: bool = False
    bandwidths: Mapping[str, float] = field(default_factory=dict)
    limits: LoopRequirements = LoopRequirements()
    controls: str = ''


@dataclass(frozen=True, slots=True)
class PointJob:
    """A point that is to be studied; ``time_limit`` in s of the wall's time."""

    study: Study
    number: int
    point: Mapping[str, float]
    time_limit: float = 300.0

    def row(self, outcome: str, reason: str = '', **more: Any) -> Row:
        """Return the point's row: where it is, what became of it, and what of it is known."""
        # How long it took is no part of it: equal points are equal rows.
        more.pop('seconds', None)
        return {'number': self.number, **self.point, 'outcome': outcome, 'reason': reason} | more


def studied(job: PointJob) -> Row:
    """Return the row of a point, whatever becomes of it."""
    try:
        return job.row(TRIMMED, **_found(job.study, job.point))
    except ValueError as error:
        return job.row(NO_FLIGHT, str(error))


def _found(study: Study, point: Mapping[str, float]) -> Row:
    plant = Plant.of({name: value for name, value in point.items() if name not in OPTIONS})
    spare, steady = in_steady_flight(
        study.model, point['altitude_msl'], point['airspeed'], flaps=point.get('flaps', 0.0),
        aircraft_path=study.aircraft_path, plant=plant, controls=study.controls)
    model = linearize(spare, 'differences')
    modes = compute_modes(model)
    found: Row = {'trim.mass': spare.state.mass} | _trim(steady)
    level = levels(modes, study.aircraft_class, study.category)
    for name, mode in modes.modes.items():
        found |= {f'mode.{name}.{figure}': getattr(mode, figure) for figure in _OF_MODES}
        found[f'mode.{name}.level'] = level[name]
    found['mode.short_period.anticipation'] = modes.anticipation
    gains = study.gains
    if study.tunes:
        try:
            gains = tune(model, study.bandwidths, study.limits).gains
            found |= {f'gain.{name}': getattr(gains, name) for name in NAMES}
        except ValueError as error:
            found['reason'] = f'no gains: {error}'
    if gains is not None:
        found |= _margins(model, gains, study.limits)
    return found | {name.upper(): getattr(model, name).tolist() for name in 'abcd'}


def _trim(steady: Steady) -> Row:
    return {f'trim.{name}': value for name in _FOUND_IN_TRIM
            if not math.isnan(value := getattr(steady, name))}


def _margins(model: LinearModel, gains: Gains, limits: LoopRequirements) -> Row:
    found = robustness(model, gains, limits.delay, limits.engine_lag)
    return {
        **{f'margin.{control}.{item.name}': getattr(margins, item.name)
           for control, margins in found.loops.items() for item in fields(margins)},
        'margin.disk': found.disk, 'margin.time_to_double': found.time_to_double}
