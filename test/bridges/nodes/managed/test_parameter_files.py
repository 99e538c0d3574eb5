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

"""The parameter files in config/ match the nodes' dataclasses."""

from importlib import import_module
from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from lifecycle_msgs.srv import ChangeState
from nested_parameters import flattened
from parameter_dumps import dumped, loaded
from rclpy.lifecycle import TransitionCallbackReturn

from harness import free_port
from xplane_bridge.bridges.nodes.managed.parameters import describe
from xplane_bridge.bridges.nodes.managed.registry import nodes, parameter_table

CONFIG = Path(__file__).resolve().parents[4] / 'config'
EXAMPLES = CONFIG.parent / 'examples'
# For a node of another package, and what is no parameter file.
OTHERS = {'ekf', 'ulyssix_map'}
# What nodes do not start without.
REQUIRED = {
    'policy_node': {'policy': f'{EXAMPLES}/policies/level_flight.py:policy'},
    'simpit_node': {'port': '/tmp/absent', 'profile': 'v2'},
    'xpc_node': {'aircraft': [0, 1]},
}
# What another program may have opened.
PORTS = {'fdmdata_node': 'data_port', 'simulator_node': 'port', 'ulyssix_node': 'port',
         'xplane_udp_node': 'data_port'}


def test_each_node_has_a_parameter_file():
    assert {path.stem for path in CONFIG.glob('*.yaml')} - OTHERS == {
        name.removesuffix('_node') for name in nodes()}


@pytest.mark.parametrize('name', nodes())
def test_the_template_of_a_parameter_file_has_all_parameters_with_their_defaults(name):
    text = (CONFIG / f'{name.removesuffix("_node")}.yaml').read_text()
    given = flattened(yaml.safe_load(text)['/**']['ros__parameters'])
    described = {one.name: one.default for one in describe(parameter_table(name))}
    # An empty list has no type in a parameter file, and a required port has no default.
    absent = {one for one in described if one not in given}
    assert absent - {'port'} <= {one for one in described if described[one] == '[]'}
    assert all(f'# {one}:' in text for one in absent)
    assert set(given) <= set(described)
    for one, value in given.items():
        assert str(value) == str(yaml.safe_load(described[one])), one


@pytest.mark.parametrize('name', nodes())
def test_a_node_loads_its_dump_in_any_state_and_its_template_while_unconfigured(
    ros, tmp_path, name
):
    """And an impossible transition ends no node."""
    if name == 'simulator_node':
        pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    entry = nodes()[name]
    kind = getattr(import_module(f'xplane_bridge.{entry.module}'),
                   f'{"".join(map(str.capitalize, entry.name.split("_")))}Node')
    port = {PORTS[name]: free_port()} if name in PORTS else {}
    node = ros.start(kind, **REQUIRED.get(name, {}), **port)
    assert node.active, node.failed
    file = dumped(ros, name, tmp_path / 'dumped.yaml')
    assert loaded(ros, name, file) == []
    assert not ros.call(
        ChangeState, f'/{name}/change_state', ChangeState.Request()).success
    for change in (node.trigger_deactivate, node.trigger_cleanup):
        assert ros.run_in(node, change) == TransitionCallbackReturn.SUCCESS
    for path in (CONFIG / f'{name.removesuffix("_node")}.yaml', file):
        assert loaded(ros, name, path) == []
    assert ros.run_in(node, node.trigger_configure) == TransitionCallbackReturn.SUCCESS
    assert dumped(ros, name, tmp_path / 'again.yaml').read_text() == file.read_text()
