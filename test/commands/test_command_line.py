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

"""Every executable's command line: it explains itself and rejects mistakes."""

from configparser import ConfigParser
from importlib import import_module
from pathlib import Path
import re
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from xplane_bridge.__main__ import _main, COMMANDS
from xplane_bridge.bridges.nodes.managed.parameter_texts import parse
from xplane_bridge.bridges.nodes.managed.parameters import describe
from xplane_bridge.bridges.nodes.managed.registry import nodes, parameter_table
from xplane_bridge.common.command_line import without_ros_arguments
from xplane_bridge.common.fields import FieldError
from xplane_bridge.simulation.peers.registry import SIMULATORS


def entry_points():
    config = ConfigParser()
    config.read(Path(__file__).parents[2] / 'setup.cfg')
    lines = config['options.entry_points']['xplane_bridge.executables'].strip().splitlines()
    return dict(line.split(' = ') for line in lines)


@pytest.fixture(params=entry_points())
def executable(request, monkeypatch):
    """Return a name and what its executable calls."""
    monkeypatch.setattr('sys.argv', [f'/somewhere/{request.param}'])
    module, function = entry_points()[request.param].split(':')
    return request.param, getattr(import_module(module), function)


def test_it_explains_itself_and_ends(executable, capsys):
    name, main = executable
    with pytest.raises(SystemExit) as ended:
        main(['--help'])
    out, error = capsys.readouterr()
    assert (ended.value.code, error) == (0, '')
    assert f'{name} [-' in out
    if name in nodes():
        assert f'ros2 run xplane_bridge {name} --ros-args -p {nodes()[name].example}' in out
        assert '--params-file' in out
        for one in describe(parameter_table(name)):
            assert f'  {one.name} ({one.default}' in out
    else:
        # Its description, between usage and options.
        assert len(out.split('\n\n')) > 2


# What every command has, and what belongs to no subject.
_MOST_WITHOUT_SUBJECT = 8
_PARTS = ('campaign report', 'campaign compare', 'ulyssix record', 'ulyssix map', *(
    f'simulator {name}' for name in (*SIMULATORS, 'ulyssix', 'simpit', 'ardupilot', 'all')))


def told(command, monkeypatch, capsys):
    monkeypatch.setattr('sys.argv', ['xplane-bridge', *command.split(), '--help'])
    with pytest.raises(SystemExit):
        _main()
    return capsys.readouterr().out


@pytest.mark.parametrize('command', [
    *(name for name in COMMANDS if not name.endswith('_node')), *_PARTS])
def test_its_options_stand_by_subject(command, monkeypatch, capsys):
    sections = told(command, monkeypatch, capsys).split('\n\n')
    # What it needs, and not all that it has.
    assert len(sections[0]) < 200
    (options,) = (one for one in sections if one.startswith('options:'))
    assert len(re.findall('^  -', options, re.MULTILINE)) <= _MOST_WITHOUT_SUBJECT
    titles = [one.partition(':\n')[0] for one in sections if ':\n  -' in one]
    assert len(titles) == len({*titles})


@pytest.mark.parametrize('command', [*(name for name in COMMANDS if not name.endswith('_node')),
                                     *_PARTS])
def test_the_usage_has_the_command_as_it_was_started(command, monkeypatch, capsys):
    assert told(command, monkeypatch, capsys).startswith(f'usage: xplane-bridge {command} [-h]')


def test_a_simulator_speaks_of_what_it_is_and_airspeeds_are_in_m_s(monkeypatch, capsys):
    text = told('simulator ardupilot', monkeypatch, capsys)
    assert not re.search('X-Plane|--for |--fleet', text)
    assert all('--fleet' in told(f'simulator {name}', monkeypatch, capsys)
               for name in ('xpc', 'xplane12'))
    for command in ('simulator ardupilot', 'linearize', 'tune'):
        assert '--airspeed M/S' in told(command, monkeypatch, capsys)


def test_it_refuses_what_is_no_argument(executable, capsys):
    name, main = executable
    with pytest.raises(SystemExit) as ended:
        main(['--rate=20', *(('rate:=20',) if name in nodes() else ())])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    if name in nodes():
        assert '--rate=20 rate:=20: a node accepts only ROS arguments' in error


def test_a_setting_of_an_aircraft_says_what_it_is_and_its_unit():
    found = {one.name: one for one in describe(parameter_table('autopilot_node'))}
    gain, limit = found['gains.climb_limit'], found['envelope.altitude_floor']
    assert (gain.allowed, limit.allowed) == ('m/s', 'm')
    assert gain.text == 'Gain, the fastest climb; see docs/explanation/control.md.'
    assert limit.text.startswith('Limits commanded altitudes, as fix has them')


@pytest.mark.parametrize(('arguments', 'sentence'), [
    (['--params-file', '/no/such.yaml'], "params file: '--params-file /no/such.yaml'"),
    (['-p', 'prot:=3'], 'parameter prot: xpc_node has no parameter of that name; did you mean '
                        'port?'),
    (['-p', 'port:=abc'], "parameter port: expected a whole number, got 'abc'"),
])
def test_a_node_with_bad_ros_arguments_ends_with_a_sentence(arguments, sentence):
    program = 'import sys; from xplane_bridge.bridges.xpc.node import main; sys.exit(main())'
    done = subprocess.run([sys.executable, '-P', '-c', program, '--ros-args', *arguments],
                          capture_output=True, text=True, timeout=60.0)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert 'Traceback' not in done.stderr


def test_a_node_starts_without_the_protocols_of_others():
    """The help alone has an example of each."""
    said = subprocess.run([sys.executable, '-c', """
import sys
from xplane_bridge.laboratory.nodes.autopilot import AutopilotParameters
from xplane_bridge.bridges.nodes.common.running import check_command_line
check_command_line('', AutopilotParameters, [])
print(*(name for name in sys.modules if name.endswith('.codec')))
"""], capture_output=True, text=True, check=True).stdout
    assert said.split() == []


def test_every_node_is_registered():
    found = {name: target.split(':')[0].partition('.')[2]
             for name, target in entry_points().items() if name.endswith('_node')}
    assert {name: entry.module for name, entry in nodes().items()} == found
    for name in nodes():
        assert import_module(parameter_table(name).__module__)


def test_arguments_for_ros_are_left_out():
    assert without_ros_arguments(
        ['a', '--ros-args', '-p', 'x:=1', '--', 'b', '--ros-args', '-r', '__ns:=/c']) == ['a', 'b']


@pytest.mark.parametrize(('texts', 'values'), [
    ({'rate': '200'}, {'rate': 200.0}),
    ({'port': '49010', 'publish_tf': 'True'}, {'port': 49010, 'publish_tf': True}),
    ({'undulation': '.nan', 'host': '127'}, {'host': '127'}),
    ({'aircraft': '[0, 1]'}, {'aircraft': (0, 1)}),
    ({'aircraft': '2'}, {'aircraft': (2,)}),
    ({'datum': '[47, 8.5, 500]'}, {'datum': (47.0, 8.5, 500.0)}),
    ({'datarefs': 'sim/a[0]'}, {'datarefs': ('sim/a[0]',)}),
    ({'datarefs': '["sim/a[0]", sim/b]'}, {'datarefs': ('sim/a[0]', 'sim/b')}),
])
def test_parameters_may_be_written_as_text(texts, values):
    parsed = parse(parameter_table('xpc_node'), texts)
    parsed.pop('undulation', None)
    assert parsed == values
    assert list(map(type, parsed.values())) == list(map(type, values.values()))


@pytest.mark.parametrize(('name', 'text', 'expected'), [
    ('port', 'abc', "expected a whole number, got 'abc'"),
    ('port', '70000', 'expected 1 to 65535, got 70000'),
    ('rate', 'fast', "expected a number, got 'fast'"),
    ('publish_tf', 'perhaps', "expected true or false, got 'perhaps'"),
    ('plugin', 'rc9', 'expected one of auto'),
    ('aircraft', '[0, a]', "expected whole numbers, got 'a'"),
    ('datarefs', '[sim/a', 'expected a list such as'),
    ('port', '9' * 5000, "expected a whole number, got '9999"),
    ('rate', '1e300', 'expected 0 to 2000, got 1e+300'),
    ('rate', '9' * 400, "expected a number, got '9999"),
    ('aircraft', f'[{"9" * 5000}]', 'expected a list such as'),
    ('aircraft', '[0x' + 'f' * 30 + ']', "expected whole numbers, got '1329"),
    ('aircraft', '[' * 10_000 + ']' * 10_000, 'expected a list such as'),
    ('aircraft', '[&a [*a]]', 'expected a list such as'),
], ids=lambda value: value[:20])
def test_a_text_that_is_no_value_is_refused_with_what_was_expected(name, text, expected):
    with pytest.raises(FieldError) as raised:
        parse(parameter_table('xpc_node'), {name: text})
    assert str(raised.value).startswith(f'parameter {name}: {expected}')
    assert len(str(raised.value)) < 250
