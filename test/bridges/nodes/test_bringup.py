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

"""What bringup.launch.py and the others refuse before anything starts, without launch."""

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from xplane_bridge.bridges.nodes.managed.registry import nodes
from xplane_bridge.commands.experiment import outputs
from xplane_bridge.laboratory.nodes.bringup import BringUpArguments, brought_up
from xplane_bridge.laboratory.nodes.launch_arguments import (
    AircraftArguments,
    checked_arguments,
    NodeArguments,
    SensorArguments,
    tables_of,
)
from xplane_bridge.laboratory.nodes.launch_checks import check_flown_by, check_tables


def given(**texts):
    """Return all arguments of bringup.launch.py with these."""
    return brought_up(checked_arguments('bringup.launch.py', texts, (
        BringUpArguments, AircraftArguments, SensorArguments, NodeArguments)))


@pytest.mark.parametrize(('arguments', 'sentence'), [
    ({'engage': 'true', 'autopilot': 'false'},
     'engage: with autopilot:=false there is none that could; omit it'),
    ({'lockstep': 'true', 'engage': 'false'}, 'engage: in lockstep each frame waits for the'),
    ({'lockstep': 'true', 'speed': '2'}, 'speed: lockstep runs as fast as possible; omit it'),
    ({'lockstep': 'true', 'use_sim_time': 'false'}, 'use_sim_time: with lockstep, and with a'),
    ({'speed': '2', 'use_sim_time': 'false'}, 'use_sim_time: with lockstep, and with a speed'),
    ({'sim': 'fdmdata', 'lockstep': 'true', 'autopilot': 'false'},
     'lockstep: fdmdata has no time in its protocol'),
    ({'host': '192.0.2.1', 'lockstep': 'true', 'autopilot': 'false'},
     'lockstep need a simulator of this package: omit host'),
    ({'host': '192.0.2.1', 'aircraft': 'c172p', 'autopilot': 'false'},
     'aircraft: with autopilot:=false nobody needs its gains, and no simulator'),
    ({'aircraft': 'mine.yaml', 'autopilot': 'false'}, 'aircraft: with autopilot:=false nobody'),
    ({'bag': 'mine.mcap'}, 'bag: nothing is recorded; add record:=true'),
    ({'sensors': 'good'}, "sensors: there are no sensors 'good': expected a file (.yaml), or one"),
    ({'sensors': 'no/such.yaml'}, 'sensors: no/such.yaml'),
])
def test_arguments_that_contradict_one_another_are_refused(arguments, sentence):
    with pytest.raises(ValueError, match='launch argument') as error:
        given(**arguments)
    assert sentence in str(error.value)


@pytest.mark.parametrize('arguments', [
    {'lockstep': 'true', 'autopilot': 'false', 'engage': 'false'},
    {'lockstep': 'true', 'engage': 'true', 'use_sim_time': 'true', 'speed': '1'},
    {'aircraft': 'c172p', 'autopilot': 'false'}, {'host': '192.0.2.1', 'aircraft': 'c172p'},
    {'sensors': 'px4', 'autopilot': 'false'}, {'engage': 'false'}])
def test_what_fits_is_not_refused(arguments):
    assert given(**arguments)['use_sim_time'] is ('lockstep' in arguments)


@pytest.mark.parametrize('executable', nodes())
def test_the_defaults_of_each_node_fit_one_another(executable):
    check_tables({}, tables_of(executable))


@pytest.mark.parametrize(('executable', 'texts', 'sentence'), [
    ('xplane_udp_node', {'discover': 'true', 'version': '9'}, 'discover: X-Plane 9 has no beacon'),
    ('xpc_node', {'aircraft': '[0, 1]', 'namespaces': '[uav1]'}, 'namespaces: expected 2, one'),
    ('simulator_node', {'telemetry': 'direct', 'loss': '0.1'}, 'loss: with telemetry: direct'),
    ('fdmdata_node', {'on_command_timeout': 'release'}, 'on_command_timeout: Huginn has nobody'),
])
def test_parameters_that_a_node_would_refuse_together_do_not_start_it(executable, texts, sentence):
    tables = tables_of(executable)
    arguments = checked_arguments('a.launch.py', texts, tables)
    with pytest.raises(ValueError, match=f'^launch argument {sentence}'):
        check_tables(arguments, tables)
    # There may be what fits in a file.
    check_tables({**arguments, 'params_file': 'mine.yaml'}, tables)


@pytest.mark.parametrize(('options', 'sentence'), [
    (['--lockstep', '--speed', '2'], 'lockstep runs as fast as possible: omit speed'),
    (['--port', '50000'], '--port and --web need --host'),
    (['--host', '192.0.2.1', '--lockstep'], 'does not support lockstep'),
    (['--sim', 'direct', '--loss', '0.1'], 'direct has no link: omit loss')])
def test_a_flight_that_cannot_be_is_refused_where_it_is_launched(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        outputs(options)


def test_a_policy_is_not_looked_at_by_launch(tmp_path):
    file = tmp_path / 'mine.py'
    file.write_text('raise SystemExit("it runs")')
    assert outputs(['--policy', f'{file}:it'])


@pytest.mark.parametrize(('arguments', 'sentence'), [
    ({'controller': 'mine', 'policy': 'mine.onnx'}, 'arguments controller and policy exclude'),
    ({'controller_launch': 'mine'}, 'argument controller_launch: expected a package and'),
])
def test_one_thing_flies_an_experiment(arguments, sentence):
    with pytest.raises(ValueError, match=f'^launch {sentence}'):
        check_flown_by(arguments)
