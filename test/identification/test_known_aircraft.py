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

import re

import numpy as np
import pytest
import yaml

pytest.importorskip('jsbsim', reason='the simulated aircraft need jsbsim')
pytest.importorskip('scipy', reason='scipy is not installed')

from xplane_bridge.commands import identify as command
from xplane_bridge.flights.core import CoreFlight
from xplane_bridge.flights.flight import Silent
from xplane_bridge.flights.order import Order
from xplane_bridge.flights.scenario import scenario
from xplane_bridge.identification.identify import identify
from xplane_bridge.identification.reading.core import of_core
from xplane_bridge.identification.truth import Known

# The ailerons stay on one side of where their effect changes, beside the roll trim of 0.033.
SCENARIO = """
duration: 63.0
initial: {altitude: 1500.0, heading_deg: 90.0, airspeed: 51.444}
events:
  - {at: 0.2, engage: true}
  - {at: 5.0, 3211: {axis: elevator, amplitude: 0.03}, for: 3.5, free: 6.0}
  - {at: 15.0, engage: true}
  - {at: 24.0, 3211: {axis: aileron, amplitude: 0.025}, for: 3.5, free: 7.0}
  - {at: 35.0, engage: true}
  - {at: 47.0, doublet: {axis: rudder, amplitude: 0.1}, for: 2.0, free: 12.0}
criteria:
  - {quantity: airspeed, statistic: min, at_least: 40.0}
"""
# Steps of JSBSim per second: at 120 its own integration is 3 % off.
RATE = 480


def flown(tmp_path, **given):
    path = tmp_path / 'inputs.yaml'
    path.write_text(SCENARIO)
    order = Order(scenario.load(str(path)), **given)
    with CoreFlight(order, Silent()) as flight:
        return of_core(flight)


def test_ideal_sensors_give_what_jsbsim_has(tmp_path):
    flight, step = flown(tmp_path, physics_rate=RATE)
    known = Known('c172p', float(np.median(flight.values['true_airspeed'])),
                  float(np.median(flight.values['density'])))
    found = identify([flight], known.airframe, step)
    assert not found.refused
    # Where the slope depends on the angle of attack, it is a range.
    truth = known.derivatives({'angle_of_attack': (-0.02, 0.02)})
    off = {
        str(name): (truth[name].away(one.value) / truth[name].value, one.bound)
        for form in found.forms.values() for name, one in form.fit.derivatives.items()
        if form.is_identifiable(name) and name in truth}
    assert {'C_L_alpha', 'C_m_alpha', 'C_m_q', 'C_m_delta_e', 'C_Y_beta', 'C_l_beta', 'C_l_p',
            'C_l_delta_a', 'C_n_beta', 'C_n_r', 'C_n_delta_r'} <= off.keys()
    # Within 2 %, or what the flight can tell if that is less.
    assert {name: both for name, both in off.items()
            if abs(both[0]) > max(0.02, 2.0 * both[1])} == {}


def test_the_command_writes_table_model_and_pictures(tmp_path, capsys):
    pyarrow = pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    pytest.importorskip('matplotlib', reason='matplotlib is not installed')
    from pyarrow import parquet
    flight, step = flown(tmp_path)
    path = tmp_path / 'flight.parquet'
    parquet.write_table(pyarrow.table({'time': flight.times, **flight.values}), path)
    arguments = [str(path), '--model', 'c172p', '--simulation-step', str(step)]
    assert command.main([*arguments, '--validate', str(path)]) == command.IDENTIFIED
    said = capsys.readouterr().out
    assert re.search(r'C_m_alpha +-1\.\d+ +0\.\d+ +1/rad +-1\.\S+.* sigma', said)
    assert 'not identifiable (standard deviation above 10 %): ' in said
    assert 'validation, pitch_rate: R2 1.000' in said
    model = yaml.safe_load((tmp_path / 'flight_identified.yaml').read_text())
    found = model['forms']['longitudinal']['derivatives']['C_m_alpha']
    assert abs(found['estimate'] - found['jsbsim']['value']) < 0.03 * abs(found['estimate'])
    assert {one.name for one in tmp_path.glob('*.png')} == {
        f'flight_identified_{name}.png'
        for name in ('sensors_1', 'longitudinal_1', 'longitudinal_2', 'lateral_1', 'lateral_2')}
    assert command.main(arguments) == command.NOT_IDENTIFIED
    assert 'flight_identified.yaml exists; --force overwrites it' in capsys.readouterr().err


def test_an_aircraft_has_to_be_named(tmp_path, capsys):
    path = tmp_path / 'flight.csv'
    path.write_text('time\n0.0\n')
    assert command.main([str(path)]) == command.NOT_IDENTIFIED
    assert 'no column' in capsys.readouterr().err
    assert command.main([str(tmp_path / 'none.mcap')]) == command.NOT_IDENTIFIED
    assert 'there is no recording' in capsys.readouterr().err
