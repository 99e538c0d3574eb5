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
How often two sigma contain the truth.

    python3 benchmarks/identification_coverage.py [AIRCRAFT] [FLIGHTS] [SEVERITY]

Each flight flies the scenario identification with another aircraft's speed and inputs, where it is
another aircraft, and with other errors of its sensors: one of two has a consumer IMU with vanes,
one the package's tactical set. SEVERITY is of the turbulence, 0 for none. Of each derivative that
is identifiable it counts how often JSBSim's own value is within two sigma. All cores are used.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
import sys
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from xplane_bridge.flights.core import CoreFlight
from xplane_bridge.flights.flight import Silent
from xplane_bridge.flights.order import Order
from xplane_bridge.flights.scenario import scenario
from xplane_bridge.identification.identify import identify
from xplane_bridge.identification.motion.signals import IdentificationError
from xplane_bridge.identification.reading.core import of_core
from xplane_bridge.identification.truth import flown_as, reached

FLIGHTS = 20
CONSUMER = """
imu:
  rate: 60.0
  gyroscope: {noise_density: 1.75e-4, bias_turn_on: 3.5e-3, scale_factor: 0.005}
  accelerometer: {noise_density: 2.94e-3, bias_turn_on: 0.05, scale_factor: 0.005}
  tilt: {noise: 8.7e-4, bias_turn_on: 8.7e-3}
  heading: {noise: 1.7e-3}
gnss:
  rate: 5.0
  horizontal: {noise: 0.15}
  vertical: {noise: 0.25}
  horizontal_velocity: {noise: 0.05}
  vertical_velocity: {noise: 0.10}
air_data:
  rate: 60.0
  static_pressure: {noise: 1.2, bias_turn_on: 50.0}
  pitot_pressure: {noise: 4.0, bias_turn_on: 5.0, scale_factor: 0.01}
  temperature: {noise: 0.1, bias_turn_on: 1.5}
  flow_angles: {noise: 3.5e-3, bias_turn_on: 8.7e-3}
"""


class Flown(NamedTuple):
    """
    Altitude (m), calibrated airspeed (m/s), and the inputs' parts of those of the c172p.

    At 120 steps per second JSBSim's own rate of the angle of attack, of a step before, makes C_m_q
    3 % larger. But at more the c310 cannot be trimmed.
    """

    altitude: float
    airspeed: float
    pitching: float = 1.0
    turning: float = 1.0
    rate: int = 480


AIRCRAFT = {
    'c172p': Flown(1500.0, 51.444), 'c310': Flown(1500.0, 65.0, 0.8, 0.8, 120),
    '737': Flown(3000.0, 130.0, 1.5, 1.5), 'f16': Flown(3000.0, 150.0, 2.0),
    'T37': Flown(3000.0, 120.0)}
Case = tuple[str, bool, float]


class Job(NamedTuple):
    """One flight."""

    aircraft: str
    seed: int
    sensors: str
    severity: int


def plan(aircraft: str, severity: int) -> scenario.Scenario:
    """Return the scenario identification as flown by an aircraft."""
    import yaml
    flown = AIRCRAFT[aircraft]
    given: dict[str, Any] = yaml.safe_load(
        Path(scenario.find('identification')).read_text(encoding='utf-8'))
    given['initial'] |= {
        'altitude': flown.altitude, 'airspeed': flown.airspeed, 'model': aircraft}
    given['criteria'] = [{'figure': 'duration', 'at_least': 0.0}]
    for event in given['events']:
        for kind in ('3211', 3211, 'doublet'):
            if kind in event and event[kind]['axis'] != 'throttle':
                event[kind]['amplitude'] *= (
                    flown.pitching if event[kind]['axis'] == 'elevator' else flown.turning)
    if severity:
        given['events'].insert(0, {'at': 0.0, 'turbulence': [7.5, severity]})
    return scenario.parse('identification', given)


def identified(job: Job) -> tuple[str, list[Case], int]:
    """Fly and identify: why not, or each identifiable derivative; and how many there were."""
    order = Order(plan(job.aircraft, job.severity), seed=job.seed, sensors=job.sensors,
                  physics_rate=AIRCRAFT[job.aircraft].rate)
    with CoreFlight(order, Silent()) as flight:
        measured, step = of_core(flight)
    known = flown_as(job.aircraft, measured)
    try:
        found = identify([measured], known.airframe, step)
    except IdentificationError as error:
        return str(error), [], 0
    truth = known.truth(reached(found), found.surfaces).slopes
    cases, count = [], 0
    for form in found.forms.values():
        for name, one in form.fit.derivatives.items():
            count += 1
            if form.is_identifiable(name) and name in truth:
                away = truth[name].away(one.value)
                cases.append((str(name), abs(away) <= 2.0 * one.deviation,
                              away / truth[name].value))
    return '; '.join(found.refused.values()), cases, count


def main(aircraft: str = 'c172p', flights: int = FLIGHTS, severity: int = 0) -> int:
    """Fly and count; 0 if the share of all is between 90 and 99 %."""
    cases: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    refused: Counter[str] = Counter()
    with TemporaryDirectory() as folder, ProcessPoolExecutor() as pool:
        consumer = Path(folder) / 'consumer_with_vanes.yaml'
        consumer.write_text(CONSUMER, encoding='utf-8')
        jobs = [Job(aircraft, seed, 'tactical' if seed % 2 else str(consumer), severity)
                for seed in range(flights)]
        for number, (reason, found, count) in enumerate(pool.map(identified, jobs), 1):
            if reason:
                refused[reason.split(':')[0]] += 1
            for name, inside, off in found:
                cases[name].append((inside, off))
            if number % 20 == 0:
                print(f'{number} of {flights} flown, the last with {len(found)} of {count} '
                      'derivatives identifiable', flush=True)
    for derivative, each in cases.items():
        within, errors = [inside for inside, _ in each], [error for _, error in each]
        print(f'{derivative:14} {len(each):3} of {flights} identifiable, two sigma contain the '
              f'truth in {100.0 * np.mean(within):5.1f} %, rms off {100.0 * np.std(errors):.1f} %')
    for reason, times in refused.items():
        print(f'not identified in {times} of {flights}: {reason}')
    every = [inside for each in cases.values() for inside, _ in each]
    share = float(np.mean(every))
    print(f'{aircraft}, severity {severity}: {100.0 * share:.1f} % of {len(every)} intervals')
    return not 0.90 <= share <= 0.99


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:2], *map(int, sys.argv[2:4])))  # type: ignore[arg-type]
