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

"""When a recorder waits for what was published before its end and has not arrived."""

from types import SimpleNamespace

import pytest

from xplane_bridge.nodes.record import draining
from xplane_bridge.nodes.record.draining import Flow, is_behind, Quiet

END = 1_800_000_000_000_000_000


def flow(*published, before=10):
    """Return a topic by the times of its messages, ms after the recording's end."""
    found = Flow()
    for _ in range(before):
        found.add(END - 10_000_000_000)
    for milliseconds in published:
        found.add(END + milliseconds * 1_000_000)
    return found


ON = flow(-17, -1, 16)


@pytest.mark.parametrize(('flows', 'behind'), [
    # All of the node's topics have gone on.
    ([('/bridge', ON), ('/bridge', flow(-18, -2, 15))], False),
    # One has not: its next message was dropped, and is sent again up to 3 s later.
    ([('/bridge', ON), ('/bridge', flow(-52, -35))], True),
    ([('/bridge', ON), ('/bridge', flow(-2452, -2435))], True),
    # It had ended before.
    ([('/bridge', ON), ('/bridge', flow(-4052, -4035))], False),
    # Another node's topic, which may have ended.
    ([('/bridge', ON), ('/autopilot', flow(-52, -35))], False),
    # The machine has paused once.
    ([('/bridge', ON), ('/bridge', flow(-552, -535, -35))], True),
    # Published now and then.
    ([('/bridge', ON), ('/bridge', flow(-2035, -1035, -35)),
      ('/bridge', flow(-2035, -35))], False),
    # All wait for the next frame.
    ([('/bridge', flow(-17, -1)), ('/bridge', flow(-18, -2))], False),
    # In lockstep nothing follows; one has stopped before the other.
    ([('/bridge', flow(-17, -1)), ('/bridge', flow(-417, -400))], True),
    ([('/bridge', flow(-17, -1)), ('/bridge', flow(-117, -90))], False),
    ([('/bridge', flow(-17, -1)), ('/bridge', flow(-290, -190))], False),
    ([('/bridge', flow(-17, -1)), ('/bridge', flow(-4052, -4035))], False),
    ([], False),
])
def test_a_topic_that_does_not_go_on_while_its_node_does_is_waited_for(flows, behind):
    assert is_behind(flows, END) is behind


@pytest.mark.parametrize(('topic', 'behind'), [
    # Nothing has come since, of none of the node's topics.
    (flow(-6017, -6001), True),
    (flow(-3017, -3001), True),
    # It goes on as long as the other node's.
    (flow(-17, -1), False),
    # It had ended before, or was no flow.
    (flow(-6917, -6901), False),
    (flow(-6017, -6001, before=1), False),
])
def test_a_topic_that_flowed_until_the_recorder_was_stopped_is_waited_for(topic, behind):
    flows = [('/bridge', topic), ('/simulator', flow(-17, -1))]
    assert is_behind(flows, END, END - 6_100_000_000) is behind
    assert not is_behind(flows, END)


@pytest.mark.parametrize(('ticked', 'wait'), [(0.12, 0.3), (0.2, 1.0), (0.4, 1.5)])
def test_one_without_processor_time_waits_for_what_is_sent_again(monkeypatch, ticked, wait):
    now = 100.0
    monkeypatch.setattr(draining, 'time', SimpleNamespace(
        monotonic=lambda: now, time_ns=lambda: END + round(now * 1e9)))
    quiet = Quiet(sent_again=1.5)
    now += ticked
    assert quiet.until() == pytest.approx(now + wait)
    expected = END + 100_000_000_000 if ticked > 0.3 else None
    assert quiet.starved() == expected
    assert quiet.is_busy() == (ticked > 0.15)
    now += 20.0
    quiet.tick()
    # Two that follow each other are one.
    began = 100.0 if ticked > 0.3 else 100.0 + ticked
    assert quiet.starved() == pytest.approx(END + began * 1e9, abs=1000)
