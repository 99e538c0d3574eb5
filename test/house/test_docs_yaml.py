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

"""Every YAML block of a page is read by what it is for, whether a command on it runs or not."""

from itertools import pairwise
from pathlib import Path
import shlex

from docs_blocks import blocks, joined, PAGES, place
from nested_parameters import flattened
import pytest

from xplane_bridge.bridges.ulyssix.conversion import reading
from xplane_bridge.common import plain_yaml
from xplane_bridge.laboratory.campaigns.plan import plan
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.identification.motion import airframe
from xplane_bridge.laboratory.identification.reading import published
from xplane_bridge.laboratory.identification.reading import tables as tables_of_flights
from xplane_bridge.simulation.aircraft.loading import controls

BLOCKS = {place(page, block.number): block for page in PAGES for block in blocks(page)}
# Arguments of the nodes' launch files, or of rclpy, that are no parameters of ours.
LAUNCHED = {'aircraft', 'log_level', 'namespace', 'params_file', 'respawn', 'sensors',
            'use_sim_time'}
# A file of another program is marked with for=PROGRAM.
YAML = [name for name, block in BLOCKS.items()
        if block.language == 'yaml' and 'for' not in block.options]


def tables():
    """Return the parameters that each node declares."""
    pytest.importorskip('rclpy', reason='rclpy is not installed')
    pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
    from xplane_bridge.bridges.nodes.managed.parameters import Declared
    from xplane_bridge.bridges.nodes.managed.registry import nodes, parameter_table
    return {name: Declared(parameter_table(name)) for name in nodes()}


def check_parameters(content):
    """Raise an error for a parameter that the node of its section, or no node, has."""
    declared = tables()
    from rclpy.parameter import Parameter
    for section, inner in content.items():
        (values,) = inner.values()
        node = section.rsplit('/', 1)[-1]
        names = list(declared) if node in ('**', '*') else [node]
        for name, value in flattened(values).items():
            owners = [declared[one] for one in names if name in declared[one]]
            assert owners, f'{section} has no parameter {name}'
            for owner in owners:
                owner.check(Parameter(name, value=value))


def check_file(file, content):
    """Read a file as what its names say that it is."""
    if any('ros__parameters' in inner for inner in content.values() if isinstance(inner, dict)):
        check_parameters(content)
    elif 'scenarios' in content:
        if 'record' in content:
            pytest.importorskip('pyarrow', reason='flights are recorded by pyarrow')
        plan.load(str(file))
    elif 'runscript' in content:
        jsbsim = pytest.importorskip('jsbsim', reason='its scripts come with JSBSim')
        script = Path(jsbsim.get_default_root_dir()) / 'scripts' / content['runscript']
        (file.parent / content['runscript']).symlink_to(script)
        scenario.load(str(file))
    elif 'events' in content:
        if any('expression' in one for one in content['criteria']):
            pytest.importorskip('pint', reason='units are checked by pint')
        scenario.load(str(file))
    elif 'controls' in content:
        assert controls.load(file)
    else:
        pytest.importorskip('pint', reason='maps need pint')
        reader_of(content)(str(file))


def reader_of(content):
    """Return what reads a file of identification, or a map of Ulyssix."""
    if 'specific_force_z' in content:
        return tables_of_flights.load_map
    if 'wing_area' in content:
        return airframe.load
    return published.load_prior if content.keys() <= {*published.NAMES} else reading.load


@pytest.mark.parametrize('name', YAML)
def test_a_file_on_a_page_is_read_as_it_stands(name, tmp_path, monkeypatch):
    # Pages are read at the top of the repository, beside the files that they have had saved.
    for entry in Path(__file__).parents[2].iterdir():
        (tmp_path / entry.name).symlink_to(entry)
    for block in blocks(BLOCKS[name].page):
        if block.language == 'python' and 'file' in block.options:
            (tmp_path / block.options['file']).write_text('\n'.join(block.lines) + '\n')
    monkeypatch.chdir(tmp_path)
    file = tmp_path / 'page.yaml'
    file.write_text('\n'.join(BLOCKS[name].lines) + '\n')
    content = plain_yaml.load_file(str(file))
    check_file(file, content)


def given_parameters(command):
    """Return the node of a command, if it starts or sets one, and the parameters that it gives."""
    words = shlex.split(command.removesuffix('&'), comments=True)
    if words[:3] == ['ros2', 'run', 'xplane_bridge']:
        return words[3], [after.split(':=')[0] for word, after in pairwise(words)
                          if word in ('-p', '--param')]
    if words[:3] == ['ros2', 'launch', 'xplane_bridge']:
        return words[3].replace('.launch.py', '_node'), [
            word.split(':=')[0] for word in words if ':=' in word]
    if words[:3] == ['ros2', 'param', 'set']:
        return words[3].rsplit('/', 1)[-1], [words[4]]
    return '', []


def test_commands_give_parameters_that_there_are():
    """Also those that cannot be run here, for want of a simulator or hardware."""
    declared = tables()
    checked = 0
    for name, block in BLOCKS.items():
        for command in joined(block.lines) if block.language == 'bash' else ():
            node, parameters = given_parameters(command)
            for parameter in parameters if node in declared else ():
                assert (parameter in declared[node] or parameter in LAUNCHED
                        or parameter.startswith('qos_overrides.')), f'{name}: {command}'
                checked += 1
    assert checked > 50
