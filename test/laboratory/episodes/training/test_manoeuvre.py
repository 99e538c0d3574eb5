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


"""Flights of manoeuvres: what is drawn, and how far from its corridors a flight is."""

import numpy as np
import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.laboratory.episodes.training import manoeuvre
from xplane_bridge.laboratory.episodes.training.holding import PARAMETERS
from xplane_bridge.laboratory.episodes.training.manoeuvre import drawn, DURATION, Strayed, strayed
from xplane_bridge.laboratory.flights.analysis.series import make_flight, Series

TIMES = np.arange(0.0, DURATION, 0.1)
TARGETS = {'altitude': 1500.0, 'heading': np.pi / 2, 'airspeed': 51.444}


def flight(steps, **off):
    """Return a flight that is on its targets, but for an error of ``off`` (m, rad, m/s)."""
    series = {'roll': Series(TIMES, off.get('roll', 0.0 * TIMES))}
    for index, (name, value) in enumerate(TARGETS.items()):
        target = np.full(len(TIMES), value)
        for at, kind, size in steps:
            if kind == index:
                target[at <= TIMES] += np.radians(size) if name == 'heading' else size
        series[f'target_{name}'] = Series(TIMES, target)
        series[name] = Series(TIMES, target + off.get(name, 0.0))
    return make_flight('/', 0.0, series, {})


def test_a_flight_has_one_step_of_each_target_and_equal_seeds_give_equal_ones():
    sizes = set()
    for seed in range(20):
        scenario, steps = drawn(seed)
        assert drawn(seed)[1] == steps
        assert sorted(step.kind for step in steps) == [0, 1, 2]
        assert scenario.duration == DURATION
        assert [event.at for event in scenario.events if event.action == 'change'] == [
            step.at for step in steps]
        sizes.update((step.kind, step.size > 0.0) for step in steps)
    assert len(sizes) == 6


def test_on_its_targets_a_flight_does_not_stray():
    for seed in range(5):
        _, steps = drawn(seed)
        assert strayed(flight(steps), steps) == Strayed((0.0, 0.0, 0.0, 0.0))


@pytest.mark.parametrize('size', [40.0, -40.0])
def test_until_it_is_settled_a_step_may_be_on_its_way_but_not_beyond(size):
    steps = [manoeuvre._Step(10.0, 0, size)]
    begun = (TIMES >= 10.0) & (TIMES < 15.0)
    late = (TIMES >= 40.0) & (TIMES < 45.0)
    after = float(np.sum(TIMES >= 6.0))
    for share, when, wanted in (
            # 24 m to go, 1 m beyond: in the corridor. 3 m beyond: 1.8 bands outside of it.
            (-0.6, begun, 0.0), (0.025, begun, 0.0), (0.075, begun, 1.8),
            # Later the band is 1 m.
            (-0.6, late, 23.0), (0.025, late, 0.0), (0.075, late, 2.0)):
        found = strayed(flight(steps, altitude=np.where(when, share * size, 0.0)), steps)
        assert found.errors[0] == pytest.approx(wanted * np.sqrt(np.sum(when) / after))
        assert found.errors[1:] == (0.0, 0.0, 0.0)


def test_a_steep_bank_counts():
    found = strayed(flight([], roll=np.full(len(TIMES), np.radians(-30.0))), [])
    assert found.errors == pytest.approx((0.0, 0.0, 0.0, 3.0))


def test_the_autopilot_strays_little_and_controls_in_trim_further():
    held, left = manoeuvre.fly(None, 1), manoeuvre.fly([0.0] * len(PARAMETERS), 1)
    assert held.flown == 1.0
    assert max(held.errors) < 2.0
    assert left.flown < 1.0 or max(left.errors) > 10.0
