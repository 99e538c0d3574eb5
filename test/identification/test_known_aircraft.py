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

"""Flights of JSBSim's c172p, of which the derivatives are known."""

from pathlib import Path

import numpy as np
from orders import order_of
import pytest
import yaml

pytest.importorskip('jsbsim', reason='the simulated aircraft need jsbsim')
pytest.importorskip('scipy', reason='scipy is not installed')

from xplane_bridge.commands import identify as command
from xplane_bridge.flights.core import CoreFlight
from xplane_bridge.flights.flight import Silent
from xplane_bridge.flights.scenario import scenario
from xplane_bridge.identification.identify import identify
from xplane_bridge.identification.reading.core import of_core
from xplane_bridge.identification.truth import Known

# The ailerons stay on one side of where their effect changes, beside the roll trim of 0.033.
SCENARIO = """
duration: 46.0
initial: {altitude: 1500.0, heading_deg: 90.0, airspeed: 51.444}
events:
  - {at: 0.2, 3211: {axis: elevator, amplitude: 0.03}, for: 3.5, free: 7.0}
  - {at: 11.0, trim: {}}
  - {at: 11.5, doublet: {axis: elevator, amplitude: 0.04}, for: 1.0, free: 6.0}
  - {at: 19.0, trim: {}}
  - {at: 19.5, 3211: {axis: aileron, amplitude: 0.025}, for: 3.5, free: 7.0}
  - {at: 31.0, trim: {}}
  - {at: 31.5, doublet: {axis: rudder, amplitude: 0.1}, for: 2.0, free: 10.0}
"""
# Steps of JSBSim per second: at 120 its own integration is 3 % off.
RATE = 960


def flown(tmp_path, **given):
    path = tmp_path / 'inputs.yaml'
    path.write_text(SCENARIO)
    order = order_of(scenario.load(str(path)), sim='core')
    from dataclasses import replace
    with CoreFlight(replace(order, **given), Silent()) as flight:
        return of_core(flight)


def test_ideal_sensors_give_what_jsbsim_has(tmp_path):
    flight, step = flown(tmp_path, physics_rate=RATE)
    known = Known('c172p', float(np.median(flight.values['true_airspeed'])),
                  float(np.median(flight.values['density'])))
    found = identify([flight], known.airframe, step)
    assert not found.refused
    truth = known.derivatives()
    identifiable = {
        str(name): one.value / truth[name].value - 1.0
        for form in found.forms.values() for name, one in form.fit.derivatives.items()
        if form.is_identifiable(name) and name in truth}
    assert {'C_L_alpha', 'C_m_alpha', 'C_m_q', 'C_m_delta_e', 'C_Y_beta', 'C_l_beta', 'C_l_p',
            'C_l_delta_a', 'C_n_beta', 'C_n_r', 'C_n_delta_r'} <= identifiable.keys()
    assert {name: off for name, off in identifiable.items() if abs(off) > 0.02} == {}
