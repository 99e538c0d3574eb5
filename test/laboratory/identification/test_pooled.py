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

"""What many flights say together: the mean of each derivative, and its bound."""

import errno
import math

import numpy as np
import pytest

from xplane_bridge.common.machine import LOST
from xplane_bridge.laboratory.identification.pooled import (
    as_mapping,
    IdentificationJob,
    IDENTIFIED,
    identified,
    lines,
    pooled,
    REFUSED,
)


def mean_of(values, deviation):
    """Return the mean of a derivative by flights with these values."""
    rows = [IdentificationJob(number, '').row(IDENTIFIED, derivatives={
        'C_m_q': ('', [value, deviation, math.nan, math.nan])})
        for number, value in enumerate(values)]
    return pooled(rows)['C_m_q'].mean


def test_what_flights_do_not_differ_by_no_mean_makes_smaller():
    # As of a lag that is the same in each of them.
    assert mean_of([-20.05, -20.06, -20.04, -20.05], 0.36).deviation == pytest.approx(
        0.36, rel=0.01)
    assert mean_of([-20.05], 0.36).deviation == pytest.approx(0.36)


def test_what_they_differ_by_averages_out():
    values = np.random.default_rng(2).normal(-20.0, 0.36, 400)
    assert mean_of(values, 0.36).deviation == pytest.approx(0.36 / 20.0, rel=0.5)
    # More than their own bounds say.
    assert mean_of(values, 0.09).deviation == pytest.approx(0.36 / 20.0, rel=0.1)


def test_a_flight_that_the_machine_has_lost_is_not_one_that_cannot_be_identified(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr('xplane_bridge.laboratory.identification.pooled.read_recording', full)
    found = [
        identified(IdentificationJob(0, 'a.mcap')),
        IdentificationJob(1, 'b.mcap').row(REFUSED, 'too short')]
    assert [row['outcome'] for row in found] == [LOST, REFUSED]
    said = list(lines(found, {}))
    assert said[0] == '0 flights of 2 identified, each by itself'
    assert said[-2:] == [
        'lost, which is no result: [Errno 28] No space left on device',
        'not identified: too short']
    assert as_mapping({}, found)['lost'] == 1
