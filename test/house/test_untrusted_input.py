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

"""
docs/explanation/untrusted_input.md: its sockets are what programs bind with their defaults.

And tables of strangers have one way in.
"""

from argparse import ArgumentParser
import ast
from importlib import import_module
from pathlib import Path
import re
import socket

import pytest

from xplane_bridge.bridges.nodes.managed.registry import nodes

PAGE = Path(__file__).parents[2] / 'docs' / 'explanation' / 'untrusted_input.md'


def documented():
    """Return the sockets in the page's table, by program."""
    sockets = {}
    rows = re.findall(r'^\| `([^`]+)` \| (UDP [^|]*|none) \|', PAGE.read_text(), re.M)
    for program, bound in rows:
        sockets.setdefault(program, set()).update(() if bound == 'none' else (bound.strip(),))
    return sockets


def said(kind, address):
    """Return a bound socket in the page's words."""
    host, port = address[:2]
    place = 'any address' if host in ('', '0.0.0.0') else host
    return f'{kind} {place}, ' + (f'port {port}' if port else 'a free port')


NODES = {
    'xpc_node': ('XpcNode', {}),
    'xplane_udp_node': ('XplaneUdpNode', {}),
    'fdmdata_node': ('FdmdataNode', {}),
    'ulyssix_node': ('UlyssixNode', {'port': 5000}),
    'simpit_node': ('SimpitNode', {'port': 'pty:'}),
    'autopilot_node': ('AutopilotNode', {}),
    'sensors_node': ('SensorsNode', {}),
    'view_node': ('ViewNode', {}),
    'simulator_node': ('SimulatorNode', {}),
}


@pytest.fixture
def bound(monkeypatch):
    """Return the sockets that this process binds from now on, in the page's words."""
    bound = []
    bind = socket.socket.bind

    def noted(self, address):
        if isinstance(address, tuple):
            bound.append(said('UDP' if self.type & socket.SOCK_DGRAM else 'TCP', address))
            # A free port instead: others may test the same here.
            address = (address[0], 0)
        bind(self, address)

    monkeypatch.setattr(socket.socket, 'bind', noted)
    return bound


@pytest.mark.parametrize('name', NODES)
def test_nodes_bind_what_the_page_says(name, ros, bound):
    pytest.importorskip('jsbsim', reason='simulator_node needs JSBSim')
    kind, parameters = NODES[name]
    make = getattr(import_module(f'xplane_bridge.{nodes()[name].module}'), kind)
    node = ros.start(make, **parameters)
    wanted = {one.replace('the port `port`', 'port 5000') for one in documented()[name]}
    ros.wait_for(lambda: set(bound) >= wanted or None, f'{wanted} bound by {node.get_name()}')
    assert set(bound) == wanted


@pytest.mark.parametrize('name', ['xpc', 'xplane_udp', 'fdmdata', 'ardupilot'])
def test_simulators_bind_what_the_page_says(name):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from xplane_bridge.bridges.protocols.registry import PROTOCOLS
    from xplane_bridge.simulation.peers.faults import Faults
    from xplane_bridge.simulation.peers.registry import load, WITHOUT_NODE

    module = load((PROTOCOLS | WITHOUT_NODE)[name])
    parser = ArgumentParser()
    module.add_options(parser)
    frontend = module.make_frontend(parser.parse_args([]), Faults())
    addresses = {said('UDP', endpoint.address) for endpoint in frontend.endpoints}
    assert addresses == documented()[f'simulator {name}']


def test_every_node_has_a_row():
    folder = Path(__file__).parents[2]
    executables = set(re.findall(r'^    (\w+_node) = ', (folder / 'setup.cfg').read_text(), re.M))
    assert executables - {'policy_node', 'jsbsim_node'} <= documented().keys()


PACKAGE = Path(__file__).parents[2] / 'xplane_bridge'
# What opens tables in pyarrow, pandas, numpy, scipy and the standard library, by usual names.
OPENERS = {
    'ParquetFile', 'ParquetDataset', 'read_table', 'read_schema', 'read_metadata', 'read_pandas',
    'read_parquet', 'read_csv', 'open_csv', 'dataset', 'reader', 'DictReader', 'loadtxt',
    'genfromtxt', 'loadmat', 'read_feather'}
OF = {
    'parquet', 'pq', 'pyarrow', 'arrow', 'feather', 'pandas', 'csv', 'numpy', 'np', 'scipy', 'io'}
NAMED = re.compile(rf'\b(?:{"|".join(OPENERS)})\b')


def opened(path):
    """Yield each call that opens a table, and each import of such a function."""
    text = path.read_text()
    if not NAMED.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in OPENERS and (
                isinstance(node.value, ast.Name) and node.value.id in OF):
            yield f'{node.value.id}.{node.attr}'
        elif isinstance(node, ast.ImportFrom) and (node.module or '').partition('.')[0] in OF:
            yield from (f'{node.module}.{one.name}' for one in node.names if one.name in OPENERS)


def test_a_table_is_opened_in_one_place():
    found = {str(path.relative_to(PACKAGE)): [*opened(path)] for path in PACKAGE.rglob('*.py')}
    assert {path: calls for path, calls in found.items() if calls} == {
        'common/tables/parquet.py': ['parquet.ParquetFile'],
        'common/tables/csv_file.py': ['csv.reader', 'arrow.read_csv']}
