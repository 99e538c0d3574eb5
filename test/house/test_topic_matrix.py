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

"""The table of topics is what the nodes advertise, with one type for each common topic."""

from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='simulator_node needs jsbsim')

import topic_matrix

from xplane_bridge.bridges.nodes.managed.registry import nodes

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'reference' / 'topics.md'


@pytest.mark.parametrize('name', {name for name, _ in topic_matrix.SILENT})
def test_topics_that_are_silent_by_default_are(name):
    module = import_module(f'xplane_bridge.{nodes()[name].module}.parameters')
    title = name.removesuffix('_node').title().replace('_', '')
    given = getattr(module, f'{title}Parameters')()
    for parameter in (found for (node, _), (found, _) in topic_matrix.SILENT.items()
                      if node == name):
        assert not getattr(given, parameter)


@pytest.fixture(scope='module')
def advertised():
    """Return the topics of each node and variant, each with its type."""
    return topic_matrix.collect()


def test_the_table_of_topics_is_what_the_nodes_advertise(advertised):
    document = PAGE.read_text()
    assert topic_matrix.put(document, topic_matrix.table(advertised)) == document, \
        'make topic-table regenerates it'


def test_the_page_of_a_node_has_each_of_its_topics(advertised):
    pages = {name: (PAGE.parent / topic_matrix.PAGES[name]).read_text() for name in advertised}
    missing = {
        f'{name}: {topic}' for name, variants in advertised.items()
        for found in variants.values() for topic in found if f'`{topic}`' not in pages[name]}
    assert not missing
