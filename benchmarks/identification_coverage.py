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
How often the intervals that identify prints contain the truth.

    python3 benchmarks/identification_coverage.py [--shortest]
        [AIRCRAFT] [FLIGHTS] [SEVERITY] [PRIOR]

Each flight flies the scenario identification with another aircraft's speed and inputs, where it is
another aircraft, and with other errors of its sensors: one of two has a consumer IMU with vanes,
one the package's tactical set. SEVERITY is of the turbulence, 0 for none. Of each row that is
printed with an interval, of derivatives, modes and errors of sensors, it counts how often two
sigma contain what is true: JSBSim's own value, or the error that the sensor was given. Beside it
is how far estimates are off in their own standard deviations (rms): 1 where these are right. What
JSBSim has as a range that is wider than that deviation is shown, but not counted in the share of
all, as no interval could miss it. The share behind either set is given too. AIRCRAFT may be
navion, which is typed in from a paper. PRIOR is the standard deviation of a prior, as a part of
each derivative: in each flight it is drawn anew about JSBSim's own value, if that is no range.
All cores are used. --shortest flies the first manoeuvre only.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, is_dataclass, replace
import math
from pathlib import Path
import re
import sys
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from xplane_bridge.bridges.conversions import air, axes
from xplane_bridge.bridges.conversions.vehicle import Air
from xplane_bridge.laboratory.flights.core import CoreFlight
from xplane_bridge.laboratory.flights.flight import Silent
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.identification.disturbances import (
    altitude_and_airspeed,
    estimated_modes,
)
from xplane_bridge.laboratory.identification.identify import Identification, identify
from xplane_bridge.laboratory.identification.motion.signals import (
    FlightSignals,
    IdentificationError,
)
from xplane_bridge.laboratory.identification.reading.core import read_core
from xplane_bridge.laboratory.identification.reading.published import NAMES, PublishedDerivative
from xplane_bridge.laboratory.identification.report import is_shown
from xplane_bridge.laboratory.identification.truth import flown_as, reached, Truth
from xplane_bridge.laboratory.sensors.errors import Errors
from xplane_bridge.laboratory.sensors.imu import BodyMotion
from xplane_bridge.laboratory.sensors.specification import Figures, load
from xplane_bridge.laboratory.sensors.suite import Suite

FLIGHTS = 20
# From here on a reason has times and figures of a single flight.
_AT = re.compile(r' (?:at|from) \d')
# When the first manoeuvre of the scenario has ended (s).
FIRST = 22.0
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

    ``path`` is the folder of an aircraft that JSBSim does not have.

    At 120 steps per second JSBSim's own rate of the angle of attack, of a step before, makes C_m_q
    3 % larger. But at more the c310 cannot be trimmed.
    """

    altitude: float
    airspeed: float
    pitching: float = 1.0
    turning: float = 1.0
    rate: int = 480
    path: str = ''


AIRCRAFT = {
    'c172p': Flown(1500.0, 51.444), 'c310': Flown(1500.0, 65.0, 0.8, 0.8, 120),
    '737': Flown(3000.0, 130.0, 1.5, 1.5), 'f16': Flown(3000.0, 150.0, 2.0),
    'T37': Flown(3000.0, 120.0),
    'navion': Flown(1500.0, 53.64, path=str(Path(scenario.find('steps')).parents[1] / 'aircraft'))}


class Row(NamedTuple):
    """
    An interval that is printed: by how many of its standard deviations it is off the truth.

    ``is_range``: the truth is a range that is wider than one of these.
    """

    name: str
    off: float
    is_range: bool = False

    @property
    def is_inside(self) -> bool:
        """Return whether two sigma contain the truth."""
        return abs(self.off) <= 2.0


class Job(NamedTuple):
    """One flight, up to ``until`` (s)."""

    aircraft: str
    seed: int
    sensors: str
    severity: int
    until: float
    prior: float = 0.0


def plan(aircraft: str, severity: int, until: float = math.inf) -> scenario.Scenario:
    """Return the scenario identification as flown by an aircraft, ``until`` a time (s)."""
    import yaml
    flown = AIRCRAFT[aircraft]
    given: dict[str, Any] = yaml.safe_load(
        Path(scenario.find('identification')).read_text(encoding='utf-8'))
    given['initial'] |= {
        'altitude': flown.altitude, 'airspeed': flown.airspeed, 'model': aircraft,
        **({'aircraft_path': flown.path} if flown.path else {})}
    given['criteria'] = [{'figure': 'duration', 'at_least': 0.0}]
    given['duration'] = min(given['duration'], until)
    given['events'] = [event for event in given['events'] if event['at'] < until]
    for event in given['events']:
        for kind in ('3211', 3211, 'doublet'):
            if kind in event and event[kind]['axis'] != 'throttle':
                event[kind]['amplitude'] *= (
                    flown.pitching if event[kind]['axis'] == 'elevator' else flown.turning)
    if severity:
        given['events'].insert(0, {'at': 0.0, 'turbulence': [7.5, severity]})
    return scenario.parse('identification', given)


def identified(job: Job) -> tuple[str, list[Row]]:
    """Fly and identify: why not, and each interval that is printed."""
    order = Order(plan(job.aircraft, job.severity, job.until), seed=job.seed,
                  sensors=job.sensors, physics_rate=AIRCRAFT[job.aircraft].rate)
    try:
        with CoreFlight(order, Silent()) as flight:
            measured, step = read_core(flight)
        known = flown_as(job.aircraft, measured, AIRCRAFT[job.aircraft].path)
        found = identify([measured], known.airframe, step)
    except IdentificationError as error:
        return str(error), []
    truth = known.truth(reached(found), found.surfaces)
    if job.prior:
        found = identify([measured], known.airframe, step, prior=drawn(truth, job))
    given = sensor_errors(load(job.sensors), order.sensor_seed, measured)
    return '; '.join(found.refused.values()), [*printed(found, truth), *(
        Row(name, (one.value - given[name]) / one.deviation)
        for name, one in found.compatibility[0].errors.items()
        if is_shown(name, one) and name in given)]


def drawn(truth: Truth, job: Job) -> dict[str, PublishedDerivative]:
    """Return a prior about what is true: a range has no value that it could be about."""
    generator = np.random.default_rng(job.seed)
    return {str(name): PublishedDerivative(
        slope.value + sigma * float(generator.standard_normal()), sigma)
        for name, slope in truth.slopes.items()
        if str(name) in NAMES and slope.high - slope.low <= (
            sigma := job.prior * abs(slope.value)) > 0.0}


def printed(found: Identification, truth: Truth) -> list[Row]:
    """Return the intervals of derivatives and modes."""
    rows: list[Row] = []
    for form in found.forms.values():
        for name, one in form.fit.derivatives.items():
            if not form.is_identifiable(name) or name not in truth.slopes:
                continue
            slope = truth.slopes[name]
            # With a prior, what the flights say alone is printed too.
            told = {str(name): one} | (
                {f'{name} alone': form.mixed.alone[name]} if form.mixed else {})
            rows += (Row(label, slope.away(each.value) / each.deviation,
                         slope.high - slope.low > each.deviation)
                     for label, each in told.items())
    for mode, figures in estimated_modes(found.forms).figures.items():
        for figure, (one, _, unseen) in figures.items():
            value = truth.modes.get((mode, figure), math.nan)
            if not unseen and math.isfinite(value):
                rows.append(Row(f'{mode} {figure}', (one.value - value) / one.deviation))
    return rows


def sensor_errors(figures: Figures, seed: int, flight: FlightSignals) -> dict[str, float]:
    """Return the errors that sensors were given for a flight, by the names of ERRORS."""
    suite = Suite(_without_noise(figures), seed)
    level = (1.0, 0.0, 0.0, 0.0)
    still, moved = (suite.show_motion(
        stamp, BodyMotion(level, (size,) * 3, (size,) * 3))[0].reading.motion
        for stamp, size in ((0, 0.0), (10 ** 9, 1.0)))
    found = {}
    for kind, names, before, after in (
        ('rate', ('roll_rate', 'pitch_rate', 'yaw_rate'), still.angular_velocity,
         moved.angular_velocity),
        ('force', ('specific_force_x', 'specific_force_y', 'specific_force_z'),
         still.specific_force, moved.specific_force),
    ):
        assert before is not None, kind
        assert after is not None, kind
        # Forward, left, up is turned.
        for name, sign, bias, both in zip(names, (1.0, -1.0, -1.0), before, after, strict=True):
            found[f'{name}_bias'], found[f'{name}_scale'] = sign * bias, both - bias - 1.0
    assert still.orientation is not None
    roll, pitch, _ = axes.quaternion_to_euler(still.orientation)
    found |= {'roll_bias': roll, 'pitch_bias': -pitch}
    true = _air(flight)
    (_, felt), *_ = [*suite.show_air(0, true), *suite.show_air(10 ** 9, true)]
    return found | {
        'true_airspeed_scale': _ratio(felt.true_airspeed, true.true_airspeed) - 1.0,
        'density_scale': _ratio(felt.density, true.density) - 1.0,
        'angle_of_attack_bias': felt.angle_of_attack or 0.0,
        'sideslip_bias': felt.sideslip or 0.0,
        'angle_of_attack_scale': 0.0, 'sideslip_scale': 0.0}


def _ratio(felt: float | None, true: float | None) -> float:
    return felt / true if felt and true else math.nan


def _air(flight: FlightSignals) -> Air:
    """Return the standard atmosphere where a flight was."""
    speed, density = (float(np.nanmedian(flight.values[name]))
                      for name in ('true_airspeed', 'density'))
    altitude, indicated = altitude_and_airspeed(speed, density)
    static, temperature = (
        air.pressure_altitude_to_pressure(altitude), air.standard_temperature(altitude))
    return Air(indicated, air.calibrated_to_true_airspeed(indicated, static, temperature), 0.0,
               0.0, static, air.dynamic_pressure(speed, density), temperature,
               air.density(static, temperature))


def _without_noise(figures: Figures) -> Figures:
    """Return figures of sensors whose errors are constant."""
    def quiet(one: Any) -> Any:
        if isinstance(one, Errors):
            return Errors(bias_turn_on=one.bias_turn_on, scale_factor=one.scale_factor)
        if not is_dataclass(one) or isinstance(one, type):
            return one
        return replace(one, **{
            field.name: quiet(getattr(one, field.name)) for field in fields(one)})

    found: Figures = quiet(figures)
    return found


def main(aircraft: str = 'c172p', flights: int = FLIGHTS, severity: int = 0,
         prior: float = 0.0, *, until: float = math.inf) -> int:
    """Fly and count; 0 if the share of all is between 90 and 99 %."""
    cases: dict[str, list[Row]] = defaultdict(list)
    behind: dict[str, list[Row]] = defaultdict(list)
    refused: Counter[str] = Counter()
    with TemporaryDirectory() as folder, ProcessPoolExecutor() as pool:
        consumer = Path(folder) / 'consumer_with_vanes.yaml'
        consumer.write_text(CONSUMER, encoding='utf-8')
        jobs = [Job(aircraft, seed, 'tactical' if seed % 2 else str(consumer), severity, until,
                    prior)
                for seed in range(1, flights + 1)]
        for number, (job, (reason, found)) in enumerate(
                zip(jobs, pool.map(identified, jobs), strict=True), 1):
            if reason:
                refused[_AT.split(reason)[0]] += 1
            for row in found:
                cases[row.name].append(row)
            behind[Path(job.sensors).stem] += (row for row in found if not row.is_range)
            if number % 20 == 0:
                print(f'{number} of {flights} flown', flush=True)
    for name, rows in cases.items():
        share = _share(rows)
        ranges = sum(row.is_range for row in rows)
        print(f'{name:26} {len(rows):3} of {flights} printed, two sigma contain the truth in '
              f'{100.0 * share:5.1f} %, off by {_rms(rows):.2f} sigma (rms)'
              + (f', {ranges} times a range' if ranges else '')
              + ('' if share >= 0.90 else '  below 90 %'))
    for reason, times in refused.items():
        print(f'not identified in {times} of {flights}: {reason}')
    for sensors, rows in behind.items():
        if rows:
            print(f'behind {sensors}: {_counted(rows)}')
    every = [row for rows in behind.values() for row in rows]
    print(f'{aircraft}, severity {severity}'
          + f', prior of {100.0 * prior:g} %' * bool(prior) + f': {_counted(every)}')
    return not 0.90 <= _share(every) <= 0.99


def _counted(rows: Sequence[Row]) -> str:
    return (f'{100.0 * _share(rows):.1f} % of {len(rows)} intervals, '
            f'off by {_rms(rows):.2f} sigma (rms)')


def _share(rows: Sequence[Row]) -> float:
    return float(np.mean([row.is_inside for row in rows]))


def _rms(rows: Sequence[Row]) -> float:
    return float(np.sqrt(np.mean([row.off ** 2 for row in rows])))


if __name__ == '__main__':
    named, *numbers = [one for one in sys.argv[1:] if one != '--shortest'] or ['c172p']
    sys.exit(main(named, *map(int, numbers[:2]), *map(float, numbers[2:]),
                  until=FIRST if '--shortest' in sys.argv else math.inf))
