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

"""An aircraft that a script flies: against JSBSim itself, which runs the same file."""

from array import array
import os
from pathlib import Path
import re
import shutil

import pytest

jsbsim = pytest.importorskip('jsbsim', reason='JSBSim is not installed')

from xplane_bridge.common.data import folder  # noqa: E402
from xplane_bridge.simulation.aircraft.loading.inert import NOWHERE  # noqa: E402
from xplane_bridge.simulation.aircraft.model import MOVED_SEEDS  # noqa: E402
from xplane_bridge.simulation.aircraft.runscript.script import read  # noqa: E402
from xplane_bridge.simulation.aircraft.runscript.scripted import ScriptedAircraft  # noqa: E402

ROOT = Path(jsbsim.get_default_root_dir())
# Steps in a frame, and frames of which one is compared.
_FRAME, _COMPARED = 2, 10
# That of friction JSBSim does not initialise.
_NOT_COMPARED = ('randomseed', 'side_friction_coeff')

_INITIAL = """
<initialize name="mine">
  <longitude unit="DEG">11.3</longitude><latitude unit="DEG" type="geodetic">48.1</latitude>
  <altitudeMSL unit="M">1800</altitudeMSL><elevation unit="M">550</elevation>
  <psi unit="DEG">70</psi><phi unit="DEG">5</phi><vc unit="KTS">95</vc><gamma unit="DEG">1</gamma>
  <vwind unit="KTS">12</vwind><winddir unit="DEG">300</winddir><running>0</running>
</initialize>"""
_TRIMMED = """
<initialize name="mine">
  <latitude unit="DEG">48.1</latitude><altitude unit="FT">4.4</altitude><trim>ground</trim>
</initialize>"""
_IN_ORBIT = """
<initialize name="mine" version="2.0">
  <position frame="ECEF"><latitude unit="DEG" type="geod">10</latitude>
    <longitude unit="DEG">20</longitude><altitudeMSL unit="FT">90000</altitudeMSL></position>
  <orientation unit="DEG" frame="LOCAL"><yaw>90</yaw></orientation>
  <velocity unit="FT/SEC" frame="LOCAL"><x>10</x><y>2000</y><z>-30</z></velocity>
  <attitude_rate unit="DEG/SEC" frame="ECEF"><x>1</x></attitude_rate>
</initialize>"""

# What a script may do, in a few seconds.
_ALL = """
    <property value="0.1">my/elevator</property>
    <property>my/rolls</property>
    <event name="ramp" persistent="true">
      <condition logic="OR">my/rolls gt 0.5
        <condition logic="AND">simulation/sim-time-sec ge 0.5
          simulation/sim-time-sec lt 1.5</condition></condition>
      <delay>0.2</delay>
      <set name="fcs/elevator-cmd-norm" type="FG_DELTA" action="FG_RAMP" value="-0.1" tc="0.4"/>
      <set name="fcs/aileron-cmd-norm" action="exp" value="0.2" tc="0.3"/>
      <notify format="kml"><property caption="pitch">attitude/theta-deg</property>
        <property>fcs/elevator-cmd-norm</property></notify>
    </event>
    <event name="sine" continuous="true">
      <condition>simulation/sim-time-sec ge my/elevator</condition>
      <set name="fcs/rudder-cmd-norm"><function><product><value>0.2</value>
        <sin><property>simulation/sim-time-sec</property></sin></product></function></set>
    </event>
    <event><condition>-attitude/phi-deg lt -6</condition>
      <set name="my/rolls" value="1"/><set name="atmosphere/turb-type" value="3"/>
      <set name="atmosphere/turbulence/milspec/windspeed_at_20ft_AGL-fps" value="50"/>
      <set name="atmosphere/turbulence/milspec/severity" value="4"/></event>"""
_END = """<event name="end"><condition>simulation/sim-time-sec ge 0.5</condition>
  <set name="simulation/terminate" value="1"/></event>"""


def written(folder: Path, run: str, aircraft: str = 'c172x', initial: str = _INITIAL,
            timing: str = 'start="0" end="3" dt="0.0083333"', more: str = '') -> str:
    """Return where a script was written, with its initial state beside it."""
    (folder / 'begin.xml').write_text(initial, encoding='utf-8')
    file = folder / 'mine.xml'
    file.write_text(
        f'<runscript name="mine"><use aircraft="{aircraft}" initialize="{folder}/begin.xml"/>'
        f'<run {timing}>{run}</run>{more}</runscript>', encoding='utf-8')
    return str(file)


def event(content: str) -> str:
    """Return an event at once."""
    return f'<event><condition>simulation/sim-time-sec ge 0.1</condition>{content}</event>'


def by_itself(path: str, trim: int | None):
    """Return JSBSim, which has loaded a script, in its initial state."""
    fdm = jsbsim.FGFDMExec(str(ROOT))
    fdm.set_debug_level(0)
    fdm.set_output_path(NOWHERE)
    assert fdm.load_script(path)
    for generator in ('simulation', 'atmosphere'):
        fdm.set_property_value(f'{generator}/randomseed', MOVED_SEEDS[0])
    fdm.run_ic()
    if trim is not None:
        fdm.do_trim(trim)
        fdm.set_property_value('simulation/trim-completed', 0)
    return fdm


def fly_both(path: str, trim: int | None = None) -> ScriptedAircraft:
    """Return the aircraft of a script at its end; all of its properties are JSBSim's own."""
    aircraft, fdm = ScriptedAircraft(read(path)), by_itself(path, trim)
    # Outputs have some more.
    names = [name for name in aircraft.properties.names()
             if not any(part in name for part in _NOT_COMPARED)]
    own = [aircraft._model.getter(name) for name in names]
    plain = [fdm.get_property_manager().get_node(name).get_double_value for name in names]
    going, flown = True, 0
    while True:
        if flown % _COMPARED == 0 or aircraft.is_over:
            here, there = (array('d', [get() for get in side]) for side in (own, plain))
            if here.tobytes() != there.tobytes():
                # Names say more than bytes.
                assert dict(zip(names, here, strict=True)) == dict(zip(names, there, strict=True))
        if aircraft.is_over:
            break
        before = aircraft.steps_left
        aircraft.step(_FRAME)
        for _ in range(before - aircraft.steps_left):
            assert going
            going = fdm.run()
        flown += 1
    assert len(names) > 300
    assert flown > 10
    # By itself JSBSim ends there too.
    assert not (going and fdm.run())
    return aircraft


@pytest.mark.parametrize(('given', 'trim'), [
    ({'run': _ALL}, None),
    ({'run': _ALL, 'initial': _TRIMMED}, 2),
    ({'run': _ALL, 'timing': 'start="-1.5" end="1.201" dt="0.01"'}, None),
    ({'run': _END}, None),
    ({'run': '', 'aircraft': 'ball', 'initial': _IN_ORBIT,
      'timing': 'start="0" end="2" dt="0.005"'}, None)],
    ids=['all', 'trimmed', 'from another time', 'ends itself', 'version 2'])
def test_it_flies_as_jsbsim_does_to_the_last_bit(tmp_path, given, trim):
    aircraft = fly_both(written(tmp_path, **given), trim)
    assert aircraft.crash is None


@pytest.mark.parametrize(('name', 'events'), [('c1724', 2), ('x151', 1)])
def test_scripts_of_jsbsim_itself_do_too(name, events):
    assert len(fly_both(str(ROOT / 'scripts' / f'{name}.xml')).told) == events


def test_so_many_of_them_are_flown_as_the_page_says():
    page = (Path(__file__).parents[4] / 'docs' / 'reference' / 'scenarios.md').read_text()
    version = jsbsim.FGJSBBase().get_version().split()[0]
    if f'JSBSim {version}' not in page:
        pytest.skip(f'the page does not speak of JSBSim {version}')
    refused = {}
    files = [file for file in sorted((ROOT / 'scripts').glob('*.xml'))
             if '<runscript' in file.read_text()]
    for file in files:
        try:
            ScriptedAircraft(read(str(file)))
        except ValueError as error:
            refused[file.stem] = str(error)
    assert f'Of the {len(files)} scripts that come with JSBSim {version} it flies ' + (
        f'{len(files) - len(refused)}') in page
    assert not [name for name in refused if f'`{name}`' not in page]


def test_each_event_is_told_with_the_values_of_its_time(tmp_path):
    aircraft = ScriptedAircraft(read(written(tmp_path, _ALL)))
    seen = []
    while not aircraft.is_over:
        aircraft.step()
        seen += [(one, aircraft.time, aircraft.property_value('fcs/elevator-cmd-norm'))
                 for one in aircraft.told[len(seen):]]
    assert [str(one.event) for one, _, _ in seen] == ['sine', 'event 2', 'ramp']
    assert all(one.at == time for one, time, _ in seen)
    ramp, _, elevator = seen[2]
    # 0.2 s after its condition, when it has begun.
    assert ramp.at == pytest.approx(0.7, abs=0.02)
    assert ramp.values['fcs/elevator-cmd-norm'] == elevator
    assert list(ramp.values) == ['pitch', 'fcs/elevator-cmd-norm']
    assert str(ramp) == f'ramp: pitch {ramp.values["pitch"]:.6g}, fcs/elevator-cmd-norm ' + (
        f'{elevator:.6g}')


def test_values_by_functions_of_outputs_are_left_out(tmp_path):
    aircraft = ScriptedAircraft(read(written(tmp_path, event(
        '<notify><property apply="twice">velocities/vt-fps</property>'
        '<property caption="left">-velocities/vt-fps</property></notify>'))))
    while not aircraft.told:
        aircraft.step()
    told, = aircraft.told
    assert list(told.values) == ['left']
    # As JSBSim prints it, before it flies the step.
    assert told.values['left'] == pytest.approx(
        -aircraft.property_value('velocities/vt-fps'), rel=1e-3)
    assert aircraft.left_out == ['values of event 0 by functions of outputs']


def test_nothing_is_written(tmp_path, monkeypatch, capfd):
    (here := tmp_path / 'here').mkdir()
    monkeypatch.chdir(here)
    aircraft = ScriptedAircraft(read(written(
        tmp_path, """<event><condition>simulation/sim-time-sec ge 0.1</condition>
            <set name="simulation/write-state-file" value="1"/>
            <set name="simulation/jsbsim-debug" value="1"/></event>""",
        more='<output name="leak.csv" type="CSV" rate="10"><velocities>ON</velocities></output>')))
    aircraft.step(60)
    assert not os.listdir(here)
    assert sorted(os.listdir(tmp_path)) == ['begin.xml', 'here', 'mine.xml']
    assert capfd.readouterr() == ('', '')


def test_an_aircraft_whose_file_has_another_name_is_found(tmp_path):
    shutil.copytree(folder('aircraft') / 'electric_trainer', tmp_path / 'mine')
    path = written(tmp_path, _END.replace('0.5', '0.02'), 'mine', _INITIAL.replace('95', '35'))
    aircraft = ScriptedAircraft(read(path), aircraft_path=str(tmp_path))
    aircraft.step(10)
    assert (aircraft.is_over, len(aircraft.told)) == (True, 1)


@pytest.mark.parametrize(('given', 'said'), [
    ({'run': event('<set name="fcs/elevator-cmd" value="1"/>')},
     'event[0]: set[0]: expected a property of c172x, got fcs/elevator-cmd; did you mean '
     'fcs/elevator-cmd-norm?'),
    ({'run': event('<set name="velocities/vt-fps" value="1"/>')},
     'event[0]: set[0]: expected a property that can be written, got velocities/vt-fps, which '
     'JSBSim computes'),
    ({'run': event('<set name="fcs/elevator-cmd-norm"><function><quotient><v>1</v></quotient>'
                   '</function></set>')}, '<quotient> should have at least 2 argument(s).'),
    ({'run': '', 'aircraft': 'c172y'}, "use: aircraft: JSBSim has no aircraft 'c172y'"),
])
def test_what_its_aircraft_has_not_is_named(tmp_path, given, said):
    path = written(tmp_path, **given)
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        ScriptedAircraft(read(path))
    assert path in str(error.value)


@pytest.mark.parametrize(('initial', 'said'), [
    ('<init/>', 'expected the initial state of {script}, whose root is <initialize>, got <init>'),
    (_INITIAL.replace('vc', 'vcal'), 'initialize: unknown element <vcal>, expected running,'),
    (_INITIAL.replace('95', 'nan'), "initialize: vc: expected a finite number, got 'nan'"),
    (_INITIAL.replace('KTS">95', 'MPH">95'), 'Supplied unit: "MPH" does not exist'),
    (_INITIAL.replace('>0<', '>77<'), 'initialize: running: expected the number of an engine'),
    (_TRIMMED.replace('ground', 'some'), 'initialize: trim: expected one of 0, 1, longitudinal,'),
    (_INITIAL.replace('<running>', '<trim>full</trim><running>'), 'Trim Failed'),
    (_IN_ORBIT.replace('2.0', '7'), 'initialize: version: expected 1 or 2, got 7'),
    (_IN_ORBIT.replace('</init', '<vc>1</vc></init'), 'initialize: unknown element <vc>'),
])
def test_a_mistake_in_its_initial_state_is_named(tmp_path, initial, said):
    path = written(tmp_path, '', initial=initial)
    with pytest.raises(ValueError, match=re.escape(said.format(script=path))) as error:
        ScriptedAircraft(read(path))
    assert str(tmp_path) in str(error.value)


def test_an_initial_state_that_is_not_there_is_named_with_those_that_are(tmp_path):
    path = written(tmp_path, '')
    (tmp_path / 'begin.xml').unlink()
    with pytest.raises(ValueError, match=r'mine.xml: use: initialize: there is no .*begin.xml$'):
        ScriptedAircraft(read(path))
    file = Path(path)
    file.write_text(file.read_text().replace(f'{tmp_path}/begin.xml', 'reset77'))
    with pytest.raises(ValueError, match=r'reset77.xml; expected one of .*, reset00, reset01'):
        ScriptedAircraft(read(path))


@pytest.mark.parametrize(('name', 'value', 'said'), [
    ('simulation/do_simple_trim', 99, 'Illegal trimming mode!'),
    ('propulsion/set-running', 99, 'Tried to initialize a non-existent engine!')])
def test_what_jsbsim_cannot_do_in_flight_is_named(tmp_path, name, value, said):
    path = written(tmp_path, event(f'<set name="{name}" value="{value}"/>'))
    aircraft = ScriptedAircraft(read(path))
    with pytest.raises(ValueError, match=rf'JSBSim cannot fly {path} beyond 0\.1\d+ s: {said}'):
        aircraft.step(60)


def test_one_that_diverges_says_so_and_flies_no_more(tmp_path):
    aircraft = ScriptedAircraft(read(written(
        tmp_path, event('<set name="atmosphere/wind-north-fps" value="1e200"/>'))))
    for _ in range(3):
        aircraft.step(30)
    assert 'no longer finite' in str(aircraft.crash)
    assert aircraft.time < 0.2
