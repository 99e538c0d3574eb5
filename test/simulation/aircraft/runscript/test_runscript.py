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

"""Scripts of JSBSim as they are read: what they name, and what is wrong with them."""

from pathlib import Path

import pytest

from xplane_bridge.laboratory.flights.scenario.scenario import load, ScenarioError
from xplane_bridge.simulation.aircraft.runscript.script import read

_USE, _EVENT = '<use aircraft="ball" initialize="reset00"/>', (
    '<event><condition>simulation/sim-time-sec ge 1</condition>{}</event>')


def script(run: str = '', use: str = _USE, timing: str = 'end="1" dt="0.01"') -> str:
    """Return the text of a script."""
    return f'<runscript name="mine">{use}<run {timing}>{run}</run></runscript>'


def written(folder: Path, text: str) -> str:
    """Return where a script was written."""
    file = folder / 'mine.xml'
    file.write_text(text, encoding='utf-8')
    return str(file)


@pytest.mark.parametrize(('end', 'dt', 'steps', 'duration'), [
    # Added up, not multiplied; the last begins at most 0.99 of a step behind the end.
    ('20', '0.0083333', 2400, 19.999920000000596), ('10', '0.008333', 1201, 10.00793300000024),
    ('0.001', '0.01', 1, 0.01)])
def test_it_lasts_as_long_as_jsbsim_runs_it(tmp_path, end, dt, steps, duration):
    found = read(written(tmp_path, script(timing=f'end="{end}" dt="{dt}"')))
    assert (found.steps, found.duration) == (steps, duration)


def test_all_that_it_names_is_known(tmp_path):
    found = read(written(tmp_path, script("""
        <property value="1">my/switch</property>
        <event name="a">
          <condition logic="OR"> my/switch eq 1
            <condition> -velocities/vt-fps lt my/limit </condition> </condition>
          <set name="my/out" action="FG_RAMP" tc="2"><function><sum><p>my/in</p><v>1</v></sum>
          </function></set>
          <notify><property caption="speed">velocities/vt-fps</property></notify>
        </event>""")))
    assert [one.name for one in found.properties] == [
        'my/switch', 'velocities/vt-fps', 'my/limit', 'my/in', 'my/out', 'velocities/vt-fps']
    assert [one.name for one in found.properties if one.is_written] == ['my/out']
    assert found.defined == ('my/switch',)
    event, = found.events
    assert (event.name, event.shown) == ('a', (('speed', 'velocities/vt-fps', ''),))


def test_what_only_writes_or_prints_is_left_out(tmp_path):
    text = script(
        '<property value="3">simulation/output[1]/log_rate_hz</property>' + _EVENT.format(
            '<set name="simulation/write-state-file" value="1"/><set name="my/x" value="2"/>'),
        _USE + '<output name="a.csv" type="CSV"/>')
    found = read(written(tmp_path, text))
    assert found.left_out == (
        'output', 'property simulation/output[1]/log_rate_hz', 'set simulation/write-state-file')
    assert not [word for word in (b'<output', b'write-state', b'log_rate') if word in found.text]
    assert [one.name for one in found.properties] == ['simulation/sim-time-sec', 'my/x']


@pytest.mark.parametrize(('text', 'said'), [
    ('<runscript', 'is no XML'),
    ('<?xml version="1.0" encoding="klingon"?><runscript/>', 'is no XML'),
    ('<fdm_config/>', 'expected a script of JSBSim, whose root is <runscript>, got <fdm_config>'),
    (script('<!-- ' + 'x' * 2**20 + ' -->'), 'has more than 1048576 bytes'),
    (script('<event>' * 60 + '</event>' * 60), 'has elements within more than 50 others'),
    (script(use=''), 'runscript: expected one <use>, got 0'),
    (script(use='<use aircraft="ball"/>'), 'use: the attribute initialize is missing'),
    (script(use=_USE + '<input port="1"/>'), 'runscript: unknown element <input>, expected'),
    (script(timing='end="1"'), 'run: the attribute dt is missing'),
    (script(timing='end="1" dt="nan"'), "run: dt: expected a finite number, got 'nan'"),
    (script(timing='end="1" dt="1e-320"'), 'run: expected at most 10000000 steps of dt, got more'),
    (script(timing='end="1" dt="0.1"'), 'run: dt: expected above 0 and at most 0.02 s, got 0.1'),
    (script(timing='start="2" end="1" dt="0.01"'), 'run: end after start: expected above 0'),
    (script(timing='end="1e99" dt="0.01"'), 'run: end after start: expected above 0 and at most '
     '86400 s'),
    (script('<evnt/>'), 'run: unknown element <evnt>, expected description, property, event; did '
     'you mean event?'),
    (script('<event/>'), 'event[0]: <condition> is missing'),
    (script('<event name="a"><condition/></event>'), 'event[0] (a): condition: is empty'),
    (script('<event><condition>a b</condition></event>'), 'event[0]: condition: expected a '
     "property, a comparison, and a number or another property, got 'a b'"),
    (script('<event><condition>a is 1</condition></event>'), 'event[0]: condition: expected one '
     "of ==, !=, <, <=, >, >=, eq, ne, lt, le, gt, ge, EQ, NE, LT, LE, GT, GE, got 'is'"),
    (script('<event><condition>a ge 1e999</condition></event>'), 'expected a finite number'),
    (script('<event><condition logic="XOR">a ge 1</condition></event>'),
     "event[0]: condition: logic: expected one of AND, OR, got 'XOR'"),
    (script('<event persistent="yes"><condition>a ge 1</condition></event>'),
     "event[0]: persistent: expected one of true, false, got 'yes'"),
    (script(_EVENT.format('<set name="a"/>')), 'event[0]: set[0]: expected either a value or one '
     '<function>'),
    (script(_EVENT.format('<set value="1"/>')), 'event[0]: set[0]: the attribute name is missing'),
    (script(_EVENT.format('<set name="a" value="1" action="FG_SINE"/>')),
     "set[0]: action: expected one of FG_STEP, FG_RAMP, FG_EXP, got 'FG_SINE'"),
    (script(_EVENT.format('<set name="a" value="1" type="FG_SUM"/>')),
     "set[0]: type: expected one of FG_VALUE, FG_DELTA, FG_BOOL, got 'FG_SUM'"),
    (script(_EVENT.format('<set name="a" value="1" tc="0"/>')), 'set[0]: tc: expected above 0'),
    (script(_EVENT.format('<set name="a"><function><half/></function></set>')),
     'set[0]: function: unknown element <half>'),
    (script(_EVENT.format('<delay>soon</delay>')), 'delay: expected a finite number'),
    (script(_EVENT.format('<set name="simulation/reset" value="1"/>')),
     'simulation/reset is not set here: it would begin anew'),
    (script(_EVENT.format('<set name="simulation/do_linearization" value="1"/>')),
     'simulation/do_linearization is not set here: it writes files'),
    # By other names for the same property.
    (script(_EVENT.format('<set name="/fdm/jsbsim[0]//simulation[0]/reset" value="1"/>')),
     '/fdm/jsbsim[0]//simulation[0]/reset is not set here: it would begin anew'),
    (script(_EVENT.format('<set name="fcs/../simulation/reset" value="1"/>')),
     "expected the name of a property, got 'fcs/../simulation/reset'"),
    (script('<property value="1">simulation/reset[00]</property>'), 'it would begin anew'),
    (script(_EVENT.format('<set name="a"><function copyto="simulation/write-state-file"><v>1</v>'
                          '</function></set>')),
     'copyto: simulation/write-state-file only writes or prints: omit it'),
])
def test_a_mistake_is_named_with_its_file_and_place(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(ScenarioError) as error:
        load(path)
    assert str(error.value).startswith(path)
    assert said in str(error.value)
