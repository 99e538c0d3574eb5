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

"""What a session raises in its link's thread is told and counted; ten in a row end the node."""

import socket
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from harness import DEADLINE, free_port
from xplane_bridge.bridges.nodes.common.faults import InternalErrors
from xplane_bridge.bridges.ulyssix.node import UlyssixNode
from xplane_bridge.bridges.ulyssix.session import UlyssixSession
from xplane_bridge.bridges.xpc.node import XpcNode
from xplane_bridge.bridges.xpc.session import XpcSession

ERROR = b'\x02'


def broken(*_):
    raise IndexError('no value 19 of 4')


def logged_in(text):
    return text.count('Traceback (most recent call last)')


def test_a_mistake_in_receive_is_told_once_counted_and_the_node_goes_on(ros, monkeypatch, capfd):
    port = free_port()
    node = ros.start(UlyssixNode, host='127.0.0.1', port=port)
    ended = []
    node.quit = lambda: ended.append(True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as publisher:
        def send(count):
            before = node.link.counters().received
            for _ in range(3):
                publisher.sendto(b'x', ('127.0.0.1', port))
            ros.wait_for(lambda: node.link.counters().received == before + count, 'datagrams')

        with monkeypatch.context() as patch:
            patch.setattr(UlyssixSession, 'receive', broken)
            send(3)
            level, message, values = ros.diagnosed(
                'faults', lambda level, message, values: values['faults'] == '3', node)
        assert level == ERROR
        assert 'IndexError: no value 19 of 4' in message
        send(3)
        ros.diagnosed('link', lambda level, message, values: message.startswith('3 malf'), node)
        with monkeypatch.context() as patch:
            patch.setattr(UlyssixSession, 'receive', broken)
            send(3)
        assert node.faults.count == 6
    assert logged_in(''.join(capfd.readouterr())) == 1
    assert not ended
    assert node.exit_code == 0


def test_a_node_forgets_the_mistakes_of_its_last_session(ros, monkeypatch):
    node = ros.start(XpcNode, port=free_port())
    with monkeypatch.context() as patch:
        patch.setattr(XpcSession, 'poll', broken)
        ros.diagnosed('faults', node=node)
    ros.run_in(node, node.trigger_deactivate)
    ros.run_in(node, node.trigger_cleanup)
    ros.run_in(node, node.trigger_configure)
    assert node.faults.count == 0


@pytest.mark.parametrize(('name', 'session', 'arguments'), [
    ('xpc', 'XpcSession', ()),
    ('simpit', 'SimpitSession', ('-p', 'port:=pty:FOLDER/game')),
])
def test_ten_mistakes_in_a_row_end_the_process_with_code_1(name, session, arguments, tmp_path):
    program = (
        f'from xplane_bridge.bridges.{name}.node import main\n'
        f'from xplane_bridge.bridges.{name}.session import {session}\n'
        'import sys\n'
        'def poll(self, now):\n'
        "    raise IndexError('no value 19 of 4')\n"
        f'{session}.poll = poll\n'
        'sys.exit(main())\n')
    arguments = [each.replace('FOLDER', str(tmp_path)) for each in arguments]
    ended = subprocess.run(
        [sys.executable, '-P', '-c', program, '--ros-args', '-p', 'release_timeout:=0.0',
         *arguments],
        capture_output=True, text=True, timeout=DEADLINE, check=False)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 1, said
    assert logged_in(said) == 1
    assert 'has failed 10 times in a row, and the node ends: IndexError: no value 19 of 4' in said


def test_tracebacks_are_bounded_in_number_and_length():
    faults = InternalErrors()
    shown = []
    for number in range(30):
        try:
            exec(compile('\n' * number + 'raise ValueError("x\\x1b" * 50000)', 'f', 'exec'), {})
        except ValueError as error:
            shown.append(faults.note(error))
    assert len([text for text in shown if text]) == 20
    assert all(len(text) <= 100_000 and '\x1b' not in text for text in shown)
    assert faults.count == 30
