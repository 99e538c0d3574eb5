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
How often two sigma contain the truth: ``python3 benchmarks/identification_coverage.py [FLIGHTS]``.

Each flight of the c172p flies the scenario identification with other errors of its sensors: noise,
biases and scale factors of a consumer IMU, a pitot tube and vanes. Of each derivative that is
identifiable it counts how often JSBSim's own value is within two sigma.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
import sys
from tempfile import TemporaryDirectory

import numpy as np

from xplane_bridge.flights.core import CoreFlight
from xplane_bridge.flights.flight import Silent
from xplane_bridge.flights.order import Order
from xplane_bridge.flights.scenario import scenario
from xplane_bridge.identification.identify import identify
from xplane_bridge.identification.reading.core import of_core
from xplane_bridge.identification.truth import Known

FLIGHTS = 20
# At 120 JSBSim's own rate of the angle of attack, of a step before, makes C_m_q 3 % larger.
RATE = 480
SENSORS = """
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


def main(flights: int) -> int:
    """Fly and count; 0 if the share of all is between 90 and 99 %."""
    plan = scenario.load(scenario.find('identification'))
    known = truth = None
    found: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    with TemporaryDirectory() as folder:
        sensors = Path(folder) / 'sensors.yaml'
        sensors.write_text(SENSORS, encoding='utf-8')
        for seed in range(flights):
            order = Order(plan, seed=seed, sensors=str(sensors), physics_rate=RATE)
            with CoreFlight(order, Silent()) as flight:
                measured, step = of_core(flight)
            if known is None:
                known = Known('c172p', *(
                    float(np.nanmedian(measured.values[name]))
                    for name in ('true_airspeed', 'density')))
                truth = known.truth({
                    'angle_of_attack': (-0.02, 0.02), 'aileron': (-0.05, 0.05)}).slopes
            result = identify([measured], known.airframe, step)
            for form in result.forms.values():
                for name, one in form.fit.derivatives.items():
                    if form.is_identifiable(name) and name in truth:
                        away = truth[name].away(one.value)
                        found[str(name)].append((
                            abs(away) <= 2.0 * one.deviation, away / truth[name].value))
    for derivative, cases in found.items():
        inside, off = zip(*cases, strict=True)
        print(f'{derivative:12} {len(cases):3} of {flights} identifiable, two sigma contain the '
              f'truth in {100.0 * np.mean(inside):5.1f} %, rms off {100.0 * np.std(off):.1f} %')
    share = float(np.mean([inside for cases in found.values() for inside, _ in cases]))
    print(f'all: {100.0 * share:.1f} %')
    return not 0.90 <= share <= 0.99


if __name__ == '__main__':
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else FLIGHTS))
