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

"""What diagnostics say about rates that are not reached; no node runs."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from xplane_bridge.bridges.nodes.common.diagnostics import OK, WARN
from xplane_bridge.bridges.xpc.node.node import RatesReport
from xplane_bridge.bridges.xpc.node.parameters import XpcParameters
from xplane_bridge.bridges.xpc.session.events import Statistics


def reported(given, per_second, frame_rate=60.0, round_trip=0.015, seconds=7):
    """Return the statuses of some seconds in which the counters grow evenly."""
    session = SimpleNamespace(
        statistics=Statistics(), frame_rate=frame_rate, round_trip=round_trip)
    report = RatesReport()
    now = report._rates._at
    statuses = []
    for _ in range(seconds):
        now += 1.0
        for name, count in per_second.items():
            if name == 'updates':
                session.statistics.updates[0] += count
            else:
                setattr(session.statistics, name, getattr(session.statistics, name) + count)
        statuses.append(report.status(session, given, now, applies=True))
    return statuses


@pytest.mark.parametrize(('given', 'per_second', 'options', 'sentence'), [
    ({'rate': 50.0}, {'updates': 20, 'requests': 40, 'held_by_budget': 15}, {},
     'aircraft 0: 20.0 updates per second instead of 50.0; '
     'max_datagrams_per_second (240) is used up'),
    ({'rate': 50.0}, {'updates': 30, 'requests': 60}, {'frame_rate': 30.0},
     'aircraft 0: 30.0 updates per second instead of 50.0; X-Plane draws 30 frames per second'),
    ({'rate': 0.0}, {'updates': 40, 'requests': 120, 'lost': 30}, {},
     'aircraft 0: 40.0 updates per second instead of 60.0; '
     '25 % of the replies are lost, or late'),
    ({'rate': 50.0}, {'updates': 4, 'requests': 8}, {'round_trip': 0.25},
     'aircraft 0: 4.0 updates per second instead of 50.0; '
     'the round trip of 250 ms is too long'),
    ({'rate': 50.0}, {'updates': 40, 'requests': 100}, {},
     'aircraft 0: 40.0 updates per second instead of 50.0; the plugin answers too slowly'),
    ({'rate': 50.0, 'datarefs': ('sim/a',)}, {'updates': 50, 'watched': 2, 'requests': 104},
     {'round_trip': 0.4},
     'datarefs: 2.0 updates per second instead of 10.0; the round trip of 400 ms is too long'),
])
def test_a_rate_that_is_not_reached_is_a_warning_with_the_reason(
        given, per_second, options, sentence):
    statuses = reported(XpcParameters(**given), per_second, **options)
    # The plugin's distance is found out first.
    assert [status.level for status in statuses[:4]] == [OK] * 4
    assert (statuses[-1].level, statuses[-1].message) == (WARN, sentence)


def test_rates_that_are_reached_are_fine():
    statuses = reported(XpcParameters(rate=50.0), {'updates': 48, 'requests': 100})
    assert {(status.level, status.message) for status in statuses} == {(OK, 'as asked')}
