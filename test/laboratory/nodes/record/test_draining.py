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

"""How long a recorder waits where nobody tells it what it lacks."""

from types import SimpleNamespace

import pytest

from xplane_bridge.laboratory.nodes.record import draining
from xplane_bridge.laboratory.nodes.record.draining import Quiet


@pytest.mark.parametrize(('ticked', 'wait', 'longest'), [
    (0.12, 0.3, 6.0), (0.2, 1.0, 15.0), (0.4, 1.5, 15.0)])
def test_one_without_processor_time_waits_for_what_is_sent_again(
        monkeypatch, ticked, wait, longest):
    now = 100.0
    monkeypatch.setattr(draining, 'time', SimpleNamespace(monotonic=lambda: now))
    quiet = Quiet(sent_again=1.5)
    now += ticked
    assert quiet.until() == pytest.approx(now + wait)
    assert quiet.longest() == longest
    # It has had time for long.
    while now < 120.0:
        now += 0.1
        quiet.tick()
    assert quiet.until() == pytest.approx(now + 0.3)
    assert quiet.longest() == 6.0
