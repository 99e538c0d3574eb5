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
Generate the table of the topics of each node, from what the nodes advertise.

topic_matrix.py docs/reference/topics.md rewrites the table in place.
"""

from collections import defaultdict
import os
from pathlib import Path
import sys
from tempfile import NamedTemporaryFile

from xplane_bridge.bridges.ulyssix.conversion.quantities import QUANTITIES

# Each node in the configuration with the most topics; its variants are versions of its peer.
_DATAREFS = {'datarefs': ['sim/time/paused']}
NODES = {
    'xpc_node': {
        'one aircraft': {**_DATAREFS, 'stamp': 'simulator'},
        'several aircraft': {**_DATAREFS, 'stamp': 'simulator', 'aircraft': [0, 1]}},
    'xplane_udp_node': {
        version: {'version': version, 'stamp': 'simulator',
                  **(_DATAREFS if int(version) >= 10 else {})}
        for version in ('12', '9', '6')},
    'fdmdata_node': {'': {}},
    'simpit_node': {profile: {'profile': profile} for profile in ('v0', 'v1', 'v2', 'cobs')},
    # With a map, it has the topics that the map feeds; one of all is written for it.
    'ulyssix_node': {'no map': {}, 'with a map': {'map': ''}},
    'simulator_node': {'': {'telemetry': 'direct'}},
}
COMMON = ('fix', 'datum', 'fix_velocity', 'imu/data', 'odom', 'air_data', 'controls', 'engines',
          '/clock', 'command/controls', 'command/engines')
PAGES = {name: f'peers/{name.removesuffix("_node")}.md' for name in NODES} | {
    'simulator_node': 'jsbsim_node.md'}
# Topics that are advertised, as their parameter is live, and silent while that has its default:
# the parameter, and what the table says.
SILENT = {('xplane_udp_node', 'traffic'): (
    'traffic', 'with the parameter `traffic`, from 11.50 on')}
BEGIN, END = '<!-- topics begin -->', '<!-- topics end -->'
# Topics of a second aircraft, which are those of the first.
ANOTHER = 'aircraft_1/'
# Common to every node, belonging to ROS itself, or (tf) absent unless tf2_msgs is installed.
IGNORED = ('/diagnostics', '/tf', '/parameter_events', '/rosout', '~/transition_event')


def advertised(harness, make_node, ports, **parameters):
    """Return the topics of one configured node, each with its type."""
    node = harness.start(make_node, activate=False, **ports, **parameters)
    name, space = node.get_name(), node.get_namespace()
    prefix = f'{space.rstrip("/")}/{name}/'
    found = {}
    # Asking the graph would be a race: it learns of a node's own topics by discovery as well.
    for end in (*node.publishers, *node.subscriptions):
        package, folder = end.msg_type.__module__.split('.')[:2]
        short = end.topic_name.replace(prefix, '~/')
        short = short if short in ('/clock', *IGNORED) else short.lstrip('/')
        if short not in IGNORED and not short.startswith(ANOTHER):
            found[short] = f'{package}/{folder}/{end.msg_type.__name__}'
    harness.run_in(node, node.shut_down)
    return found


def collect():
    """Return the topics of each node and variant, each with its type."""
    from importlib import import_module

    from harness import free_port, Harness
    from xplane_bridge.bridges.nodes.managed.registry import nodes
    topics = defaultdict(dict)
    for name, variants in NODES.items():
        module = import_module(f'xplane_bridge.{nodes()[name].module}')
        make_node = getattr(module, name.title().replace('_', ''))
        for variant, parameters in variants.items():
            number = free_port()
            ports = {'ulyssix_node': {'port': number}, 'simpit_node': {'port': '/dev/null'},
                     'xplane_udp_node': {'data_port': number}}.get(name, {})
            with Harness() as harness, NamedTemporaryFile('w', suffix='.yaml') as file:
                if 'map' in parameters:
                    # In the default units, so that pint is not needed.
                    file.write('parameters:\n' + ''.join(
                        f'  {one}: {{quantity: {one}}}\n' for one in QUANTITIES))
                    file.flush()
                    parameters = {'map': file.name}
                topics[name][variant] = advertised(harness, make_node, ports, **parameters)
    return topics


def table(topics):
    """
    Return the table as Markdown.

    A topic whose type differs between nodes has one row per type.
    """
    def cell(name, topic, kind):
        if (name, topic) in SILENT:
            return SILENT[name, topic][1]
        having = [variant for variant, found in topics[name].items() if found.get(topic) == kind]
        return '-' if not having else 'yes' if len(having) == len(topics[name]) else \
            ', '.join(having)

    owners, kinds = defaultdict(set), defaultdict(set)
    for name, variants in topics.items():
        for found in variants.values():
            for topic, kind in found.items():
                owners[topic].add(name)
                kinds[topic].add(kind)
    shown = [*COMMON, *sorted(
        topic for topic, names in owners.items() if topic not in COMMON and len(names) > 1)]
    rows = [['topic', 'type', *(f'`{name}`' for name in topics)], ['---'] * (len(topics) + 2)]
    for topic in shown:
        assert topic not in COMMON or len(kinds[topic]) == 1, f'{topic} is {kinds[topic]}'
        rows += [[f'`{topic}`', kind.replace('/msg/', '/'),
                  *(cell(name, topic, kind) for name in topics)]
                 for kind in sorted(kinds[topic])]
    own = {name: {topic for found in variants.values() for topic in found} - set(shown)
           for name, variants in topics.items()}
    rows.append(['others', '', *(
        f'[{len(found)}]({PAGES[name]})' if found else '-' for name, found in own.items())])
    return '\n'.join('| ' + ' | '.join(row) + ' |' for row in rows)


def put(document, text):
    """Return a document with the table between its markers."""
    before, _, rest = document.partition(BEGIN)
    _, mark, after = rest.partition(END)
    assert mark, f'the document has no {BEGIN} ... {END}'
    return f'{before}{BEGIN}\n{text}\n{END}{after}'


if __name__ == '__main__':
    # Started with -P: the harness is beside this file.
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    os.environ.setdefault('ROS_DOMAIN_ID', '77')
    page = Path(sys.argv[1])
    page.write_text(put(page.read_text(), table(collect())))
