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

from rcl_interfaces.srv import SetParameters
from rclpy.parameter import parameter_dict_from_yaml_file

from xplane_bridge.nodes.parameters import describe
from xplane_bridge.nodes.registry import nodes, parameter_table

CONFIG = Path(__file__).resolve().parents[2] / 'config'
# For a node of another package, and what is no parameter file.
OTHERS = {'ekf', 'ulyssix_map'}


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
def test_a_dump_of_its_own_and_its_template_are_loaded_while_unconfigured(ros, tmp_path, name):
    """As ros2 param load does: it makes texts of some numbers, and one file after the other."""
    module = nodes()[name].module
    kind = getattr(import_module(f'xplane_bridge.nodes.{module}'),
                   f'{"".join(map(str.capitalize, module.split("_")))}Node')
    node = ros.start(kind, configure=False)
    names = node.list_parameters([], 0).names
    file = tmp_path / 'dumped.yaml'
    file.write_text(yaml.dump({'/**': {'ros__parameters': {
        one: node.get_parameter(one).value for one in names}}}))
    for path in (file, CONFIG / f'{name.removesuffix("_node")}.yaml'):
        given = parameter_dict_from_yaml_file(str(path), True).values()
        results = ros.call(SetParameters, f'/{name}/set_parameters', SetParameters.Request(
            parameters=list(given))).results
        assert [result.reason for result in results if not result.successful] == []
    assert node.list_parameters([], 0).names == names


def flattened(values, prefix=''):
    """Return parameters under the names that ROS gives to nested ones."""
    found = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= flattened(value, f'{prefix}{name}.')
        else:
            found[f'{prefix}{name}'] = value
    return found
