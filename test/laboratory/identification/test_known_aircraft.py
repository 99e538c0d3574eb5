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

"""A flight of JSBSim's c172p, whose derivatives are known, from the recording to the model."""

from contextlib import redirect_stdout
from io import StringIO
import re

import pytest
import yaml

pytest.importorskip('jsbsim', reason='the simulated aircraft need jsbsim')
pytest.importorskip('pyarrow', reason='pyarrow is not installed')
pytest.importorskip('matplotlib', reason='matplotlib is not installed')

import flown_in_core
import pyarrow
from pyarrow import parquet

from xplane_bridge.commands import identify as command
from xplane_bridge.commands import tune
from xplane_bridge.laboratory.flights.core import CoreFlight
from xplane_bridge.laboratory.flights.flight import Silent
from xplane_bridge.laboratory.flights.order import Keep, Order
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.identification.disturbances import collect_figures
from xplane_bridge.simulation.aircraft.linear_model import from_json
from xplane_bridge.simulation.aircraft.studies.linearize import linearize
from xplane_bridge.simulation.aircraft.studies.modes import compute_modes
from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight

pytestmark = pytest.mark.xdist_group('identified')

# The ailerons stay on one side of where their effect changes, beside the roll trim of 0.033.
SCENARIO = """
duration: 92.0
initial: {altitude: 1500.0, heading_deg: 90.0, airspeed: 51.444}
events:
  - {at: 0.2, engage: true}
  - {at: 5.0, 3211: {axis: elevator, amplitude: 0.03}, for: 3.5, free: 6.0}
  - {at: 15.0, engage: true}
  - {at: 24.0, 3211: {axis: aileron, amplitude: 0.025}, for: 3.5, free: 7.0}
  - {at: 35.0, engage: true}
  - {at: 47.0, doublet: {axis: rudder, amplitude: 0.1}, for: 2.0, free: 11.0}
  - {at: 61.0, engage: true}
  - {at: 74.0, doublet: {axis: throttle, amplitude: -0.06}, for: 8.0, free: 9.0}
criteria:
  - {quantity: airspeed, statistic: min, at_least: 40.0}
"""
# Steps of JSBSim per second: at 120 its own flow angle of a step before makes C_m_q 3 % larger.
RATE = 480


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return a folder with a table of a flight, and what the command wrote of it."""
    path = tmp_path_factory.mktemp('identified')
    found, step = flown_in_core.flown(SCENARIO, physics_rate=RATE)
    assert step == 1.0 / RATE
    assert [one.name for one in found.manoeuvres] == [
        '3211_elevator', '3211_aileron', 'doublet_rudder', 'doublet_throttle']
    parquet.write_table(
        pyarrow.table({'time': found.times, **found.values}), path / 'flight.parquet')
    return path


def identify(folder, *options):
    return command.main([
        str(folder / 'flight.parquet'), '--model', 'c172p', '--simulation-step', str(1.0 / RATE),
        *options])


@pytest.fixture(scope='module')
def said(folder):
    """Return what the command says of the flight, and have what it writes."""
    with redirect_stdout(StringIO()) as output:
        assert identify(folder) == command.IDENTIFIED
    return output.getvalue()


def test_ideal_sensors_give_what_jsbsim_has(folder, said):
    assert re.search(r'C_m_q +-1[89]\.\d+ +0\.\d+ +-19\.\S+ +.* sigma', said)
    assert re.search(r'not identifiable \(standard .* 10 %; .*\): C_Y_delta_a \(\d+ %\)', said)
    assert {one.name for one in folder.glob('*.png')} == {
        f'flight_identified_{name}.png'
        for name in ('sensors_1', 'longitudinal_1', 'lateral_1', 'lateral_2', 'speed_1',
                     'speed_2')}
    model = yaml.safe_load((folder / 'flight_identified.yaml').read_text())
    assert model['not_identified'] == {}
    found = {
        name: one for form in model['forms'].values() for name, one in form['derivatives'].items()
        if 'estimate' in one}
    assert {'C_L_alpha', 'C_m_alpha', 'C_m_q', 'C_m_delta_e', 'C_Y_beta', 'C_l_beta', 'C_l_p',
            'C_l_delta_a', 'C_n_beta', 'C_n_r', 'C_n_delta_r', 'C_D_alpha',
            'C_D_delta_t', 'C_m_delta_t'} <= found.keys()
    # Nine seconds after the throttle's doublet do not tell drag by airspeed from thrust.
    assert 'C_D_u' not in found
    # Within 2 %, or what the flight can tell if that is less.
    assert {name: one for name, one in found.items() if not (
        one['jsbsim']['low'] - allowed(one) <= one['estimate'] <= one['jsbsim']['high'] + allowed(
            one))} == {}


def allowed(one):
    return max(0.02 * abs(one['jsbsim']['value']), one['two_sigma'])


def test_its_modes_are_those_of_jsbsim_and_have_bounds(folder, said):
    modes = yaml.safe_load((folder / 'flight_identified.yaml').read_text())['modes']
    assert modes.keys() == {'short_period', 'phugoid', 'dutch_roll', 'roll', 'spiral'}
    spare, _ = in_steady_flight('c172p', 1500.0, 51.444)
    known = collect_figures(compute_modes(linearize(spare, 'differences')))
    for (name, figure), value in known.items():
        found = modes[name][figure]
        if name in ('phugoid', 'spiral'):
            # 26 and 43 s: no manoeuvre lasts so long.
            assert found == {'unit': found['unit'], 'identifiable': False}, name
            continue
        assert abs(found['estimate'] - value) <= found['two_sigma'], (name, figure)
        assert found['two_sigma'] < 0.1 * abs(value), (name, figure)
    assert re.search(r'mode +figure +estimate +2 sigma +unit +JSBSim +off by', said)
    assert 'not identifiable from this: frequency of phugoid (it takes 2' in said


def test_what_flight_does_not_show_by_itself_stands_beside_the_number(said):
    shares = re.search(
        r'C_m_alpha_dot, .* is in these: (\S+) times in C_m_alpha, (\S+) times in C_m_q', said)
    # Of rho S c / 4 m = 0.0075 and a lift slope of 5.3.
    assert [float(one) for one in shares.groups()] == pytest.approx([-0.040, 0.96], abs=0.003)


def test_it_becomes_an_aircraft_that_flies_so(folder, capsys):
    assert identify(
        folder, '--no-pictures', '--stepwise', '--output', str(folder / 'fewer'),
        '--write-aircraft', str(folder / 'aircraft/mine')) == command.IDENTIFIED
    output = capsys.readouterr().out
    assert f'--model mine --aircraft-path {folder}/aircraft' in output
    assert 'not needed, by stepwise regression: C_Y_delta_a' in output
    told = from_json((folder / 'fewer_linear.json').read_text())
    spare, steady = in_steady_flight('mine', told.altitude_msl, told.airspeed,
                                     aircraft_path=str(folder / 'aircraft'))
    # The trim is that of the flight, whose surfaces were commanded from the trim wheels' zero on.
    _, before = in_steady_flight('c172p', told.altitude_msl, told.airspeed)
    assert steady.angle_of_attack == pytest.approx(before.angle_of_attack, abs=5e-4)
    assert steady.throttle == pytest.approx(before.throttle, abs=0.01)
    for surface in (steady.elevator, steady.aileron, steady.rudder):
        assert abs(surface) < 0.005
    flown = linearize(spare, 'differences')
    for matrix, columns in (('a', told.states), ('b', told.inputs)):
        kind = 'states' if matrix == 'a' else 'inputs'
        for i, row in enumerate(told.states):
            mine = getattr(told, matrix)[i]
            at = [flown.index(kind, one.name) for one in columns]
            its = getattr(flown, matrix)[flown.index('states', row.name), at]
            assert its == pytest.approx(
                mine, rel=0.05, abs=0.03 * abs(mine).max() + 2e-3), (matrix, row.name)


def test_the_autopilot_is_tuned_for_the_linear_model(folder, said):
    assert tune.main([
        '--linear-model', str(folder / 'flight_identified_linear.json'), '-o',
        str(folder / 'mine.yaml')]) == 0
    assert 'pitch_rate_to_elevator' in (folder / 'mine.yaml').read_text()


def test_several_flights_are_identified_each_by_itself(folder, capsys):
    several = folder / 'several'
    several.mkdir()
    # Without the throttle's.
    light = re.sub(
        r'.*at: (61|74)\.0, .*\n', '', SCENARIO.replace('duration: 92.0', 'duration: 60.0'))
    (folder / 'light.yaml').write_text(light)
    # The heavier one is known to be so: otherwise all of its derivatives would be 17 % too small.
    (folder / 'heavy.yaml').write_text(light.replace(
        'airspeed: 51.444', 'airspeed: 51.444, plant: {mass: 1000.0}'))
    for name in ('light', 'heavy'):
        with CoreFlight(Order(
            scenario.load(str(folder / f'{name}.yaml')),
            keep=Keep(str(several / f'{name}.parquet'))), Silent()) as flight:
            flight.fly()
            flight.result()
    (several / 'notes.txt').write_text('none')
    assert command.main([str(several)]) == command.IDENTIFIED
    said = capsys.readouterr().out
    assert '2 flights of 2 identified, each by itself' in said
    assert re.search(r'two sigma contain the value of JSBSim in \d+\.\d % of \d+ cases', said)
    model = yaml.safe_load((folder / 'several_identified.yaml').read_text())
    assert model['derivatives']['C_m_alpha']['flights'] == 2
    for name in ('C_L_alpha', 'C_Y_beta', 'C_l_p'):
        found = model['derivatives'][name]
        assert found['estimate'] == pytest.approx(found['jsbsim'], rel=0.05), name
        assert found['single_flights'] < 0.06 * abs(found['jsbsim']), name
    empty = folder / 'empty'
    empty.mkdir()
    assert command.main([str(empty)]) == command.NOT_IDENTIFIED
    assert 'expected recordings in it' in capsys.readouterr().err


def test_nothing_is_overwritten_without_being_told(folder, said, capsys):
    assert identify(folder) == command.NOT_IDENTIFIED
    assert re.search(
        r'flight_identified.yaml, .* exist; --force overwrites', capsys.readouterr().err)


def test_what_cannot_be_read_is_said_in_a_sentence(tmp_path, capsys):
    path = tmp_path / 'flight.csv'
    path.write_text('time\n0.0\n')
    assert command.main([str(path)]) == command.NOT_IDENTIFIED
    assert "there is no column 'roll' for roll" in capsys.readouterr().err
    assert command.main([str(tmp_path / 'none.mcap')]) == command.NOT_IDENTIFIED
    assert 'there is no recording' in capsys.readouterr().err


def test_an_aircraft_has_to_be_named(folder, capsys):
    assert command.main([
        str(folder / 'flight.parquet'), '--output', str(folder / 'other')
    ]) == command.NOT_IDENTIFIED
    assert 'of which aircraft? Expected --model, or --airframe' in capsys.readouterr().err


def test_an_airframe_is_read_with_its_mistakes(folder, tmp_path, capsys):
    path = tmp_path / 'frame.yaml'
    path.write_text(
        '{mass: 852.0, i_xx: 2061.0, i_yy: -1.0, i_zz: 3419.0, i_xz: -22.0, wing_area: 16.2, '
        'wing_span: 10.9, chord: 1.49}')
    assert command.main([
        str(folder / 'flight.parquet'), '--airframe', str(path), '--output', str(folder / 'other')
    ]) == command.NOT_IDENTIFIED
    assert 'i_yy: expected above 0 kg m², got -1' in capsys.readouterr().err
