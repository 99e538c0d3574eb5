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


"""The layouts for live plots of Ulyssix parameters, as far as can be checked without a display."""

import json
from pathlib import Path
import re
import xml.etree.ElementTree as ET

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from harness import free_port
from xplane_bridge.bridges.ulyssix.node import UlyssixNode
from xplane_bridge.msg import UlyssixQuality, UlyssixSamples

ROOT = Path(__file__).parents[4]
CURVE = re.compile(r'(/samples/\w+|/quality)[./](\w+)(?:\[(\d+)\])?')


def plotjuggler():
    """Return the curves of PlotJuggler's layout, and the topics that it subscribes to."""
    root = ET.parse(ROOT / 'config' / 'plotjuggler_ulyssix.xml').getroot()
    plugin = root.find('Plugins/plugin')
    assert plugin.get('ID') == root.find('previouslyLoaded_Streamer').get('name')
    for split in root.iter('DockSplitter'):
        assert int(split.get('count')) == len(split) == len(split.get('sizes').split(';'))
    return ({curve.get('name') for curve in root.iter('curve')},
            set(plugin.find('selected_topics').get('value').split(';')))


def foxglove():
    """Return the paths of Foxglove's layout, of which each panel is placed once."""
    layout = json.loads((ROOT / 'xplane_bridge/data/view/foxglove_ulyssix.json').read_text())

    def panels(tree):
        return [tree] if isinstance(tree, str) else [
            *panels(tree['first']), *panels(tree['second'])]

    assert sorted(panels(layout['layout'])) == sorted(layout['configById'])
    return {path['value'] for panel in layout['configById'].values()
            for path in panel.get('paths', ())}


def test_what_the_layouts_plot_is_published(ros, simulator):
    curves, topics = plotjuggler()
    wanted = {CURVE.fullmatch(text).groups() for text in curves | foxglove()}
    assert {topic for topic, _, _ in wanted} == topics
    port = free_port()
    ros.start(UlyssixNode, port=port, sample_topics=['*'])
    for topic in topics:
        ros.subscribe(UlyssixQuality if topic == '/quality' else UlyssixSamples, topic[1:])
    simulator('ulyssix', '--port', str(port))
    for topic, field, index in wanted:
        message = ros.wait_for(
            lambda topic=topic: ros.messages[topic[1:]], f'a message on {topic}')[-1]
        value = getattr(message, field)
        assert isinstance(value if index is None else value[int(index)], (int, float))
