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

"""The Foxglove layouts and the RViz config, as far as can be checked without a display."""

from collections import defaultdict
from io import StringIO
import json
from pathlib import Path
import re
import threading
from types import SimpleNamespace

import pytest
import yaml

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from harness import process
from xplane_bridge.laboratory.experiments import display, live
from xplane_bridge.laboratory.experiments.display import LiveView
from xplane_bridge.laboratory.nodes.flight.monitor import Monitor
from xplane_bridge.laboratory.nodes.record.recorder import message_class

VIEW = Path(__file__).parents[3] / 'xplane_bridge' / 'data' / 'view'
NAMESPACE = '/experiment'


def layout(name='foxglove_layout'):
    return json.loads((VIEW / f'{name}.json').read_text())


def rviz():
    return yaml.safe_load((VIEW / 'experiment.rviz').read_text())


def panels(tree):
    """Return the panels of a layout's tree, checking that each split has both halves."""
    if isinstance(tree, str):
        return [tree]
    assert tree['direction'] in ('row', 'column')
    return panels(tree['first']) + panels(tree['second'])


def strings(value):
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in strings(part)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def paths():
    """Return all topics with their fields, such as ('/experiment/fix', ['altitude'])."""
    found = {}
    for text in strings(layout()['configById']) + strings(rviz()):
        match = re.fullmatch(r'(/[a-z_]+(?:/[a-z_]+)*)((?:\.[a-z_]+)*)', text)
        if match:
            found.setdefault(match[1], set()).add(match[2].lstrip('.'))
    return found


@pytest.mark.parametrize(('name', 'last'), [
    ('foxglove_layout', 'DiagnosticSummary'), ('foxglove_live', 'RosOut')])
def test_each_panel_is_placed_and_configured(name, last):
    found = layout(name)
    placed = panels(found['layout'])
    assert sorted(placed) == sorted(found['configById'])
    assert {name.split('!')[0] for name in placed} == {'map', '3D', 'Plot', last}


def test_the_live_layout_shows_what_the_live_view_serves():
    shown = {text for text in strings(layout('foxglove_live')['configById'])
             if re.fullmatch(r'/[a-z]+(\.[a-z_]+)?', text)}
    served = {f'/{topic}' for topic in ('aircraft', 'path', 'target', 'route', 'fix', 'log')}
    served |= {f'/state.{name}' for name in live._STATE_NAMES}
    served |= {f'/controls.{name}' for name in live.FLOWN}
    assert served >= shown >= {'/aircraft', '/path', '/target', '/fix', '/log'}
    assert len(shown) > 15


def test_the_aircraft_is_shown_in_the_frame_of_odom():
    manager = rviz()['Visualization Manager']
    assert manager['Global Options']['Fixed Frame'] == 'odom'
    aircraft, = (display for display in manager['Displays']
                 if display['Class'] == 'rviz_default_plugins/RobotModel')
    # It is published once, before RViz looks.
    assert aircraft['Description Topic']['Durability Policy'] == 'Transient Local'
    layer = layout()['configById']['3D!aircraft']['layers']['aircraft']
    assert layer['topic'] == aircraft['Description Topic']['Value']


def test_topics_that_they_show_exist_with_those_fields(ros, simulator):
    wanted = paths()
    assert {f'{NAMESPACE}/{topic}' for topic in (
        'fix', 'robot_description', 'view/path', 'view/target', 'autopilot/active_path')} | {
        '/diagnostics'} <= set(wanted)
    port = simulator('xpc')
    scope = ('--ros-args', '-r', f'__ns:={NAMESPACE}')
    with process('xpc_node', *scope, '-p', f'port:={port}'), process(
            'autopilot_node', *scope), process('view_node', *scope):
        def types():
            known = {topic: kinds for topic, kinds in ros.observer.get_topic_names_and_types()
                     if ros.observer.count_publishers(topic)}
            return known if set(wanted) <= set(known) else None

        known = ros.wait_for(types, f'the topics {sorted(wanted)}')
    for topic, fields in wanted.items():
        kind, = known[topic]
        for field in fields:
            message = message_class(kind)()
            for part in filter(None, field.split('.')):
                assert hasattr(message, part), f'{topic} ({kind}) has no {field}'
                message = getattr(message, part)
            if field:
                assert isinstance(message, float)
    assert known[f'{NAMESPACE}/fix'] == ['sensor_msgs/msg/NavSatFix']
    assert known[f'{NAMESPACE}/view/path'] == ['nav_msgs/msg/Path']


# How an experiment prints text from others


def test_the_name_of_a_phase_is_no_markup():
    """The text comes from a scenario file, and rich would fail on an unbalanced closing tag."""
    console = pytest.importorskip('rich.console').Console(width=100, file=StringIO())
    view = LiveView(None)
    last = defaultdict(float)
    console.print(view._panel('climb [/red] [bold]', 0.5, last))
    assert 'climb [/red] [bold]' in console.file.getvalue()


def test_where_no_terminal_shows_it_progress_is_a_line_for_each_tenth(monkeypatch, capsys):
    monkeypatch.setattr(display, '_LINE_PERIOD', 0.0)
    view = LiveView(None)
    view.begin(SimpleNamespace(
        telemetry=SimpleNamespace(last=lambda name: 0.0), traffic=lambda: ((), 0.0)))
    for step in range(1001):
        view.update('cruise', step / 1000)
    assert [line.split('%')[0].strip() for line in capsys.readouterr().out.splitlines()] == [
        *map(str, range(0, 101, 10))]


def test_diagnostics_of_others_are_printable_and_bounded():
    monitor = Monitor.__new__(Monitor)
    monitor.arrived, monitor.diagnostics, monitor.crash = threading.Condition(), {}, None
    for number in range(1000):
        monitor._on_diagnostics(DiagnosticArray(status=[DiagnosticStatus(
            name=f'/node {number}\n: peer', message='\x1b[2J' + 'x' * 5000)]))
    assert len(monitor.diagnostics) <= 500
    name, text = monitor.diagnostics.popitem()
    assert name.isprintable()
    assert text.isprintable()
    assert len(text) < 1100
