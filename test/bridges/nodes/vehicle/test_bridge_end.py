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

"""How a bridge ends: by itself only after ten mistakes in a row, owing what was not shown."""

import struct

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from xplane_bridge.bridges.fdmdata.node import FdmdataNode
from xplane_bridge.bridges.fdmdata.session import FdmdataSession
from xplane_bridge.bridges.links.session import SessionError
from xplane_bridge.bridges.nodes.common.diagnostics import STALE, WARN


def status(node, name):
    """Return level and text of a status."""
    [found] = [one for one in node.diagnose() if one.name == name]
    return found.level, found.message


def test_a_session_that_does_not_end_in_time_is_an_error(ros, monkeypatch, capfd):
    monkeypatch.setattr(FdmdataSession, 'leaving', True)
    monkeypatch.setattr(FdmdataSession, 'unconfirmed', ('elevator',))
    node = ros.start(FdmdataNode, release_timeout=0.1)
    assert status(node, 'peer')[0] == WARN
    ros.run_in(node, node.trigger_deactivate)
    assert (node.left.unconfirmed, node.left.is_error, node.exit_code) == (('elevator',), True, 1)
    assert 'too busy' in node.left.reason
    assert 'may stay as it was left: elevator; the link was too busy' in capfd.readouterr().err
    assert status(node, 'peer') == (STALE, 'not active')


def test_only_ten_mistakes_in_a_row_end_a_node(ros):
    node, ended, told = ros.start(FdmdataNode), [], []
    node.quit = lambda: ended.append(True)
    node.warn = lambda kind, text: told.append(text)
    try:
        raise IndexError('no value 19 of 4')
    except IndexError as error:
        for failure in (OSError('refused'), error, *(
                SessionError(error, in_a_row) for in_a_row in range(1, 10))):
            node.on_failure(failure)
        assert (node.faults.count, node.exit_code, ended) == (10, 0, [])
        assert told == ['OSError while handling a datagram: refused']
        node.on_failure(SessionError(error, 10))
    assert (node.faults.count, node.exit_code, ended) == (11, 1, [True])


def test_a_node_that_plays_a_capture_says_how_far_it_is(ros, tmp_path):
    path = tmp_path / 'empty.pcap'
    path.write_bytes(struct.pack('<IHHiIII', 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    node = ros.start(FdmdataNode, capture_file=str(path))
    assert not node.failed
    assert node.plays_capture
    assert [one.name for one in node.diagnose()][-1] == 'capture'
