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

"""Flights in processes that hang and die: each is told of, and costs no other flight."""

import errno
import os

import flying_badly
import pytest

from xplane_bridge.common.processes import supervised
from xplane_bridge.laboratory.campaigns.engines import isolated
from xplane_bridge.laboratory.campaigns.engines.local import Local
from xplane_bridge.laboratory.campaigns.plan.task import Task
from xplane_bridge.laboratory.campaigns.table.rows import FAILED, LOST, PASSED


def tasks(folder, *scenarios):
    return [Task(n, f'{n:064}', name, {}, 'core', 'autopilot', 'autopilot', 'c172p', n,
                 0.5 if name == 'hangs' else 60.0, folder=str(folder))
            for n, name in enumerate(scenarios)]


@pytest.mark.timeout(60)
def test_a_flight_that_hangs_or_kills_its_process_costs_no_other_one(tmp_path):
    flown = {}
    given = tasks(
        tmp_path, 'ends', 'dies', 'hangs', 'ends', 'crashes', 'ends', 'raises', 'full')
    Local(2, flying_badly.fly).run(iter(given), lambda row: flown.update({row['flight']: row}))
    assert [flown[n]['outcome'] for n in range(len(given))] == [
        PASSED, PASSED, LOST, PASSED, LOST, PASSED, FAILED, LOST]
    assert flown[1]['reason'] == 'the second time'
    assert flown[2]['reason'] == 'it took longer than its time limit, 0.5 s'
    assert flown[4]['reason'] == 'its process died 2 times'
    assert flown[6]['reason'] == 'RuntimeError: unforeseen'
    assert flown[7]['reason'] == 'OSError: [Errno 28] No space left on device'


@pytest.mark.timeout(60)
def test_whatever_ends_a_campaign_leaves_no_process(tmp_path):
    seen = []

    def interrupted(row):
        seen.append(int(row['seconds']))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Local(1, flying_badly.fly).run(tasks(tmp_path, 'ends', 'hangs'), interrupted)
    with pytest.raises(ProcessLookupError):
        os.kill(seen[0], 0)


@pytest.mark.parametrize(('becomes', 'reason'), [
    (OSError(errno.EAGAIN, 'no process'), '[Errno 11] no process'),
    (supervised.HUNG, 'it took longer than its time limit, 60 s'),
    (-9, 'the flight ended with code -9: it said nothing'),
    (0, 'the flight ended with code 0: it said nothing'),
    ('{"row": null}', 'its recording was not complete, 3 times: this machine is too busy'),
    ('{"row": {"outc', 'the flight ended with code 0: it said nothing')])
def test_a_flight_through_ros_that_its_machine_ends_is_lost(
        tmp_path, monkeypatch, becomes, reason):
    def run(command, output, limit):
        output.touch()
        if isinstance(becomes, OSError):
            raise becomes
        if isinstance(becomes, str):
            (output.parent / 'row.json').write_text(becomes)
        return becomes if isinstance(becomes, int) else 0

    monkeypatch.setattr(isolated, '_run', run)
    row = isolated.fly(tasks(tmp_path, 'any')[0])
    assert row['outcome'] == LOST
    assert row['reason'].startswith(reason)
