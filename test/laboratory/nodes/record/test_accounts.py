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

"""What nodes say they have published, within bounds."""

import pytest

pytest.importorskip('diagnostic_msgs.msg', reason='diagnostic_msgs is not installed')
pytest.importorskip('rclpy', reason='rclpy is not installed')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from xplane_bridge.laboratory.nodes.record import accounts
from xplane_bridge.laboratory.nodes.record.accounts import Accounts


def said(node, **counts):
    return DiagnosticArray(status=[DiagnosticStatus(
        name=f'{node}: published', hardware_id=node,
        values=[KeyValue(key=topic, value=count) for topic, count in counts.items()])])


def test_who_is_known_is_heard_although_strangers_say_much(monkeypatch):
    monkeypatch.setattr(accounts, '_MOST_TOPICS', 2)
    found = Accounts()
    found.on_diagnostics(said('/bridge', fix='1'), 1)
    found.on_diagnostics(said('/stranger', a='5', b='6', c='7'), 2)
    found.on_diagnostics(said('/bridge', fix='3'), 3)
    assert (found.published('/bridge', 'fix'), found.said('/bridge')) == (3, 3)
    assert not found.counts('/stranger', 'b')
    found.on_diagnostics(said('/bridge', fix='many'), 4)
    assert found.said('/bridge') == 3
