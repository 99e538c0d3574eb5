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

"""A flight that is flown in this process, as identification takes it."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.common.controls import FLOWN
from xplane_bridge.common.quantities import AIR_DATA
from xplane_bridge.laboratory.control.policy.observation import INDEX
from xplane_bridge.laboratory.flights.core import CoreFlight
from xplane_bridge.laboratory.flights.flight import FlightState
from xplane_bridge.laboratory.identification.motion.signals import (
    Array,
    DEFLECTIONS,
    fields_in,
    FlightSignals,
    IdentificationError,
    Manoeuvre,
    OPTIONAL,
)
from xplane_bridge.simulation.aircraft.sample import AIRFRAME_STATE

_AIR = fields_in(AIR_DATA)
_deflections = itemgetter(*map(AIRFRAME_STATE.index, DEFLECTIONS.values()))


def read_core(flight: CoreFlight) -> tuple[FlightSignals, float]:
    """
    Return the signals of a flight in core, flown to its end here, and the step of JSBSim (s).

    What its sensors say, where it has some. Raises IdentificationError if it fails.
    """
    times: list[float] = []
    observed: list[Array] = []
    controls: list[tuple[Any, ...]] = []
    flight.start()
    while flight.state is FlightState.READY:
        times.append(flight.time)
        observed.append(flight.observation())
        controls.append((*flight.vehicle.reported_controls()[:len(FLOWN)],
                         *_deflections(flight.vehicle.aircraft.sampler.airframe())))
        flight.step(None, 1)
    scenario = flight.order.scenario.name
    if flight.state is FlightState.FAILED:
        raise IdentificationError(f'{scenario}: {flight.why}')
    if flight.crash is not None:
        raise IdentificationError(f'{scenario}: it {flight.crash.outcome}')
    manoeuvres = tuple(
        Manoeuvre(window.name, window.begin, window.until) for window in flight.result().windows
        if np.isfinite((window.begin, window.until)).all())
    return FlightSignals(
        scenario, np.array(times),
        _signals(np.array(observed), flight.vehicle.has_sensors) | dict(zip(
            (*FLOWN, *DEFLECTIONS.values()),
            np.array(controls, dtype=np.float64).T, strict=True)),
        manoeuvres, flight.order.model, flight.order.plant), 1.0 / flight.script.physics_rate


def _signals(observed: Array, sensed: bool) -> dict[str, Array]:
    """
    Return the signals of observations (n, SIZE): forward, left, up is turned.

    A sensor whose values are all those of the frame before has delivered none.
    """
    def column(name: str) -> Array:
        found: Array = observed[:, INDEX[name]]
        return found

    angles = np.array([
        axes.quaternion_to_euler((w, x, y, z)) for w, x, y, z in np.stack(
            [column(f'imu/data.orientation.{axis}') for axis in 'wxyz'], axis=1).tolist()])
    found = {'roll': angles[:, 0], 'pitch': -angles[:, 1]}
    for topic in ('imu/data', AIR_DATA):
        for name, (field, factor) in fields_in(topic).items():
            found[name] = factor * column(f'{topic}.{field}')
    for name in _AIR:
        # What no sensor measures is 0 in an observation.
        if name in OPTIONAL and not found[name].any():
            found[name][:] = np.nan
    if sensed:
        for together in ([name for name in found if name not in _AIR], _AIR):
            steps = np.diff(np.stack([found[name] for name in together]), axis=1)
            same = ~np.nan_to_num(steps).any(axis=0)
            for name in together:
                found[name][1:][same] = np.nan
    return found
