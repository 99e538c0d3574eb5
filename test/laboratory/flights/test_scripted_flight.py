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

"""A script of JSBSim flown as a scenario: what is measured, told, recorded and refused."""

import json
from pathlib import Path
import pickle

import numpy as np
from orders import check, flown, order_of
import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

import jsbsim

from xplane_bridge.commands import experiment as main
from xplane_bridge.laboratory.campaigns.plan.sections import read_scenario
from xplane_bridge.laboratory.experiments.settings import NOT_FLOWN, PASSED
from xplane_bridge.laboratory.flights.disturbed import happens
from xplane_bridge.laboratory.flights.order import Keep, Order
from xplane_bridge.laboratory.flights.refusals import OrderError
from xplane_bridge.laboratory.flights.scenario.scenario import load, ScenarioError
from xplane_bridge.laboratory.open_flight import open_flight

_SCRIPT = """
<runscript name="pulse">
  <description>A pulse of the right throttle.</description>
  <use aircraft="c310" initialize="reset00"/>
  <run start="0" end="1.5" dt="0.0083333">
    <event name="right throttle">
      <condition>simulation/sim-time-sec ge 0.5</condition>
      <set name="fcs/throttle-cmd-norm[1]" action="FG_RAMP" value="0.5" tc="0.2"/>
      <set name="fcs/flap-cmd-norm" value="0.3"/>
      <notify><property>fcs/flap-cmd-norm</property></notify>
    </event>
    {more}
  </run>
  <output name="leak.csv" type="CSV" rate="10"/>
</runscript>"""
_END = """<event name="end"><condition>simulation/sim-time-sec ge 1</condition>
  <set name="simulation/terminate" value="1"/></event>"""


@pytest.fixture
def pulse(tmp_path):
    """Return where a script is."""
    return written(tmp_path)


def written(folder: Path, more: str = '') -> str:
    """Return where a script was written."""
    file = folder / 'pulse.xml'
    file.write_text(_SCRIPT.format(more=more))
    return str(file)


def by_itself(path: str, names: list[str]) -> np.ndarray:
    """Return these properties in JSBSim's own steps, shape (n, names)."""
    fdm = jsbsim.FGFDMExec(jsbsim.get_default_root_dir())
    fdm.set_debug_level(0)
    fdm.set_output_path('/dev/null/none')
    assert fdm.load_script(path)
    fdm.run_ic()
    rows, going = [], True
    while going:
        rows.append([fdm.get_property_value(name) for name in names])
        going = fdm.run()
    return np.array(rows)


def test_what_is_measured_is_what_jsbsim_computes(pulse):
    flight = flown(load(pulse))
    series = flight.history().series
    plain = by_itself(pulse, [
        'simulation/sim-time-sec', 'attitude/psi-rad', 'attitude/theta-rad',
        'velocities/p-rad_sec'])
    # Each second step is a frame, and the last one is its end.
    assert len(plain) % 2
    for column, name in enumerate(('heading', 'pitch', 'roll_rate'), start=1):
        np.testing.assert_array_equal(series[name].times, plain[::2, 0])
        np.testing.assert_array_equal(series[name].values, plain[::2, column])
    assert flight.flown == plain[-1, 0] == load(pulse).duration


def test_the_report_says_what_happened(pulse, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main.main(['--sim', 'core', '--scenario', 'pulse.xml', '--output', 'out',
                      '--no-picture']) == PASSED
    said = capsys.readouterr().out
    assert 'left out, as it only writes or prints: output\n' in said
    assert '  0.5 s  right throttle: fcs/flap-cmd-norm 0.3\n' in said
    assert '  it has no criteria\n' in said
    found = json.loads(Path('out.json').read_text())
    assert found['events'] == [{
        'at': pytest.approx(0.5, abs=0.01), 'event': 'right throttle',
        'values': {'fcs/flap-cmd-norm': 0.3}}]
    assert (found['complete'], found['passed'], found['criteria']) == (True, True, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ['out.json', 'pulse.xml']


def test_it_is_recorded_with_the_controls_of_each_engine(pulse, tmp_path):
    with open_flight(Order(
            load(pulse), keep=Keep(str(tmp_path / 'out.mcap')))) as flight:
        flight.fly()
    collected = flight.vehicles[''].collected()
    left, right, flaps = by_itself(pulse, [
        'fcs/throttle-cmd-norm[0]', 'fcs/throttle-cmd-norm[1]', 'fcs/flap-cmd-norm'])[::2].T
    for kept, wanted in ((collected.engines[0]['throttle'], left),
                         (collected.engines[1]['throttle'], right),
                         (collected.frames['flaps'], flaps)):
        np.testing.assert_array_equal(kept, wanted)
    assert left[-1] < right[-1]
    assert (tmp_path / 'out.mcap').stat().st_size > 10_000


def test_one_that_ends_itself_is_flown_until_then(tmp_path, capsys):
    path = written(tmp_path, _END)
    assert main.main(['--sim', 'core', '--scenario', path, '--no-picture',
                      '--output', str(tmp_path / 'out')]) == PASSED
    assert '  1.0 s  the script has ended itself\n' in capsys.readouterr().out
    assert json.loads((tmp_path / 'out.json').read_text())['flown'] == pytest.approx(1.0, abs=0.02)


def test_a_mistake_that_only_jsbsim_finds_is_told(tmp_path, capsys):
    path = written(tmp_path, _END.replace('simulation/terminate', 'fcs/no-such'))
    assert main.main(['--sim', 'core', '--scenario', path, '--no-picture',
                      '--output', str(tmp_path / 'out')]) == NOT_FLOWN
    assert capsys.readouterr().err == (
        f'experiment: {path}: event[1] (end): set[0]: expected a property of c310, got '
        'fcs/no-such\n')


def test_an_aircraft_beside_the_script_or_above_it_is_found(tmp_path):
    for folder in (tmp_path / 'aircraft' / 'mine', tmp_path / 'scripts'):
        folder.mkdir(parents=True)
    (tmp_path / 'aircraft' / 'mine' / 'mine.xml').write_text('<fdm_config/>')
    path = tmp_path / 'scripts' / 'pulse.xml'
    path.write_text(_SCRIPT.format(more='').replace('c310', 'mine'))
    assert load(str(path)).initial == {'model': 'mine', 'aircraft_path': str(tmp_path)}
    (tmp_path / 'aircraft').rename(tmp_path / 'scripts' / 'aircraft')
    assert load(str(path)).initial['aircraft_path'] == str(tmp_path / 'scripts')


@pytest.mark.parametrize(('options', 'said'), [
    ({'sim': 'xpc'}, 'JSBSim runs it in this process only: --sim core'),
    ({'sim': 'direct', 'lockstep': True}, 'JSBSim runs it in this process only: --sim core'),
    ({'policy': 'turbulence'}, 'omit a controller'),
    ({'sensors': 'consumer', 'physics_rate': 240}, 'omit sensors, physics_rate'),
    ({'model': 'c172p', 'gains': 'c172p'}, 'omit gains, model'),
    ({'seed': -1}, '--seed: -1 is not in'),
    ({'speed': 2.0}, 'core has no link'),
])
def test_what_a_script_cannot_be_flown_with_is_refused(pulse, options, said):
    with pytest.raises(OrderError) as refused:
        check(order_of(load(pulse), **{'sim': 'core', **options}))
    assert said in str(refused.value)


def test_no_campaign_and_no_other_program_flies_it(pulse, tmp_path):
    with pytest.raises(ValueError, match=r'pulse.xml is a script of JSBSim, of which nothing can'):
        read_scenario(pulse, 'scenarios[0]', str(tmp_path))
    with pytest.raises(ScenarioError, match='it is a script of JSBSim, which steers'):
        happens(pulse)


def test_a_file_of_yaml_judges_it(pulse, tmp_path):
    judged = tmp_path / 'judged.yaml'
    judged.write_text("""
        runscript: pulse.xml
        criteria:
          - {quantity: pitch_deg, statistic: max_abs, from: 0.1, to: 1.5, at_most: 90.0}
          - {quantity: throttle, statistic: max, at_least: 0.1}
          - {quantity: fuel, statistic: first, at_least: 1.0}""")
    flight = flown(load(str(judged)))
    assert flight.order.scenario.name == 'judged'
    # The right engine's is no quantity.
    assert [one.passed for one in flight.result().judgements] == [True, False, True]
    for text, said in (
            ('runscript: pulse.xml, duration: 3.0, criteria: []',
             "unknown name 'duration', expected runscript, criteria, description"),
            ('runscript: pulse.xml, criteria: []', 'criteria: expected at least one'),
            ('runscript: other.xml, criteria: []', 'other.xml: cannot be read: No such file')):
        judged.write_text(f'{{{text}}}')
        with pytest.raises(ScenarioError, match=rf'judged.yaml: .*{said}'):
            load(str(judged))


def test_it_can_be_sent_to_another_process(pulse):
    scenario = load(pulse)
    assert pickle.loads(pickle.dumps(scenario)) == scenario
