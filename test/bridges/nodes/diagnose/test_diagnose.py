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

"""diagnose: what is not OK, the worst first, and the exit code that follows."""

import threading

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from diagnostic_msgs.msg import DiagnosticArray

from harness import process
from xplane_bridge.bridges.nodes.common.diagnostics import (
    diagnostic_array,
    ERROR,
    OK,
    STALE,
    Status,
    WARN,
)
from xplane_bridge.bridges.nodes.diagnose.node import lines


def statuses(name='/uav1/xpc_node', **levels):
    return diagnostic_array(name, [
        Status(part, level, f'{part} says so') for part, level in levels.items()], 0)


def test_the_worst_is_first_and_what_is_ok_is_only_counted():
    found = statuses(link=OK, peer=WARN, commands=ERROR, telemetry=STALE).status
    assert [line.split() for line in lines(found)] == [
        ['ERROR', '/uav1/xpc_node:', 'commands', 'commands', 'says', 'so'],
        ['WARN', '/uav1/xpc_node:', 'peer', 'peer', 'says', 'so'],
        ['STALE', '/uav1/xpc_node:', 'telemetry', 'telemetry', 'says', 'so']]
    assert lines(statuses(link=OK).status) == ['OK: 1 status of 1 node']
    hostile = statuses(link=WARN).status
    hostile[0].message, hostile[0].level = 'a\x1b[2J', b'\x07'
    assert lines(hostile) == [r"level b'\x07'  /uav1/xpc_node: link  a\x1b[2J"]


@pytest.mark.parametrize(('namespace', 'code', 'said'), [
    ('/', 1, 'WARN  /uav2/xpc_node: peer  peer says so\n'),
    ('uav1', 0, 'OK: 1 status of 1 node\n'),
    ('/uav', 2, 'diagnose: no node below /uav/ reports')])
def test_it_listens_to_all_nodes_or_to_a_namespace(ros, namespace, code, said):
    topic = ros.observer.create_publisher(DiagnosticArray, '/diagnostics', 10)
    over = threading.Event()

    def report():
        while not over.wait(0.2):
            topic.publish(statuses(link=OK))
            topic.publish(statuses('/uav2/xpc_node', peer=WARN))

    reporter = threading.Thread(target=report)
    reporter.start()
    try:
        with process('diagnose', '-n', namespace) as child:
            output, _ = child.communicate(timeout=60)
    finally:
        over.set()
        reporter.join()
    assert (child.returncode, output.startswith(said)) == (code, True), output
