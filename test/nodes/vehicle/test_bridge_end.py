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

"""A bridge that leaves counts as having given back only what its session says was shown."""

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from xplane_bridge.nodes.fdmdata import FdmdataNode
from xplane_bridge.sessions.fdmdata import FdmdataSession


def test_a_session_that_does_not_end_in_time_is_an_error(ros, monkeypatch):
    monkeypatch.setattr(FdmdataSession, 'leaving', True)
    monkeypatch.setattr(FdmdataSession, 'owed', ('elevator',))
    node = ros.start(FdmdataNode, release_timeout=0.1)
    ros.run_in(node, node.trigger_deactivate)
    assert (node.left.owed, node.left.is_error, node.exit_code) == (('elevator',), True, 1)
    assert 'too busy' in node.left.reason
