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
One flight of training in rough air: its errors, and how much the controls moved.

It is flown as ``experiment --sim core`` flies, with the policy as the law. manoeuvre.py has the
flights of the other kind, in calm air.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.controls import FLOWN
from xplane_bridge.laboratory.control.policy.load import LoadedPolicy
from xplane_bridge.laboratory.episodes.training.holding import Holding
from xplane_bridge.laboratory.flights.analysis.history import quantity
from xplane_bridge.laboratory.flights.analysis.series import History
from xplane_bridge.laboratory.flights.core import CoreFlight
from xplane_bridge.laboratory.flights.flight import FlightState, Silent
from xplane_bridge.laboratory.flights.laws import PolicyLaw
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.scenario import parse, Scenario

ERRORS = ('altitude_error', 'heading_error_deg', 'airspeed_error')
"""What is scored, and from when (s) on: the wind takes some time to be flown out."""
_ENGAGED, _WEATHER = 0.1, 1.0
_JUDGED = {'altitude_error': 6.0, 'heading_error_deg': 11.0, 'airspeed_error': 6.0}
# This far from where it began a flight is lost, and ends: m, rad, m/s.
_LOST = (120.0, 1.0, 20.0)
_LOOKED_AT = 30
TARGETS = {'altitude': 1500.0, 'heading_deg': 90.0, 'airspeed': 51.444}


@dataclass(frozen=True, slots=True)
class Score:
    """
    What a flight was like.

    ``errors`` are the root mean squares of ERRORS (m, deg, m/s), ``rates`` those of the controls'
    changes (1/s); ``flown`` is the share of it that was flown before it was lost.
    """

    errors: tuple[float, ...]
    rates: tuple[float, ...]
    flown: float = 1.0


def scenario(duration: float) -> Scenario:
    """Return a flight in which wind and turbulence begin at once."""
    return parse('training', {
        'duration': duration, 'initial': dict(TARGETS),
        'events': [
            {'at': _ENGAGED, 'engage': True}, {'at': _WEATHER, 'wind': [0.0, 6.0, 0.0]},
            {'at': _WEATHER, 'turbulence': [15.0, 4]}],
        'criteria': [{'quantity': 'altitude_error', 'statistic': 'rms', 'at_most': 8.0}]})


def fly(parameters: Sequence[float] | None, seed: int, duration: float) -> Score:
    """Fly a policy, or the shipped autopilot if None, for ``duration`` seconds (more than 12)."""
    flown = fly_policy(scenario(duration), parameters, seed)
    return score(flown) if isinstance(flown, History) else Score((), (), flown)


def fly_policy(flown: Scenario, parameters: Sequence[float] | None, seed: int) -> History | float:
    """Return a flight of a policy, or the share of it that was flown before it was lost."""
    law = None if parameters is None else PolicyLaw(LoadedPolicy(Holding(parameters)))
    flight = CoreFlight(Order(flown, seed=seed), Silent(), law)
    going, frame = flight.start(), 0
    vehicle = flight.vehicle
    while going is FlightState.READY:
        going = flight.step()
        frame += 1
        if (frame - 1) % _LOOKED_AT:
            continue
        state = vehicle.state
        off = (state.altitude_msl - TARGETS['altitude'], state.phi,
               state.cas - TARGETS['airspeed'])
        if any(abs(value) > most for value, most in zip(off, _LOST, strict=True)):
            return vehicle.time / flown.duration
    if flight.error is not None:
        raise flight.error
    return flight.history()


def score(flight: History) -> Score:
    """Return the score of a flight that was not lost."""
    errors = []
    for name in ERRORS:
        found = quantity(flight, name)
        errors.append(_rms(found.values[found.times >= _JUDGED[name]]))
    rates = []
    for name in FLOWN:
        found = flight.series[f'command_{name}']
        judged = found.times >= _JUDGED['altitude_error']
        rates.append(_rms(np.diff(found.values[judged]) / np.diff(found.times[judged])))
    return Score(tuple(errors), tuple(rates))


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
