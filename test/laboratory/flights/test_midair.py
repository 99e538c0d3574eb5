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

"""The watch for mid-airs: it may look seldom, but nobody meets unseen."""

from itertools import combinations
import math
import random

import pytest

from xplane_bridge.bridges.conversions.geodesy import geodetic_to_ecef, LocalFrame
from xplane_bridge.common.timing import FRAME
from xplane_bridge.laboratory.flights.fleet import ProximityWatch
from xplane_bridge.laboratory.flights.scenario.fleet import Midair

HOME = LocalFrame(47.4, 8.5, 500.0)


class Flown:
    """A point that is pulled about at up to 10 g."""

    def __init__(self, drawn):
        self._drawn = drawn
        self._at = [drawn.uniform(-400.0, 400.0) for _ in range(3)]
        self._speed = [drawn.uniform(-150.0, 150.0) for _ in range(3)]
        self.looks = 0

    def fly_on(self):
        for axis in range(3):
            # Towards the middle, where the others are.
            pull = -math.copysign(self._drawn.uniform(0.0, 55.0), self._at[axis])
            self._speed[axis] += pull * FRAME
            self._at[axis] += self._speed[axis] * FRAME

    @property
    def where(self):
        return HOME.enu_to_geodetic(tuple(self._at))

    @property
    def place(self):
        self.looks += 1
        return self.where


@pytest.mark.parametrize('seed', range(6))
def test_nobody_meets_unseen(seed):
    drawn = random.Random(seed)
    flown = {f'uav{number}': Flown(drawn) for number in range(4)}
    watch = ProximityWatch(flown, Midair(radius=25.0))
    found, expected, near = [], [], set()
    frames = 1200
    for frame in range(frames):
        now = frame * FRAME
        if now >= watch.due:
            found += [(one.at, one.first, one.second) for one in watch.look(now)]
        places = {name: geodetic_to_ecef(*one.where) for name, one in flown.items()}
        met = {pair for pair in combinations(flown, 2)
               if math.dist(*(places[name] for name in pair)) < 25.0}
        expected += [(now, *pair) for pair in sorted(met - near)]
        near = met
        for one in flown.values():
            one.fly_on()
    assert found == expected
    assert flown['uav0'].looks < frames / 2


def test_who_parts_and_meets_again_has_met_twice():
    class Placed:
        place = HOME.enu_to_geodetic((0.0, 0.0, 0.0))

    one, two = Placed(), Placed()
    watch = ProximityWatch({'one': one, 'two': two}, Midair())
    distances = []
    for second, east in enumerate((100.0, 9.0, 8.0, 11.0, 9.5, 9.0)):
        two.place = HOME.enu_to_geodetic((east, 0.0, 0.0))
        distances += [round(met.distance, 3) for met in watch.look(10.0 * second)]
    assert distances == [9.0, 9.5]
    assert str(next(ProximityWatch({'one': one, 'two': two}, Midair()).look(3.0))) == (
        '  3.0 s  mid-air: one and two are 9.0 m apart')


def test_one_alone_meets_nobody():
    alone = Flown(random.Random(1))
    watch = ProximityWatch({'one': alone}, Midair())
    assert watch.due == math.inf
    assert [*watch.look(0.0)] == []
    assert not alone.looks
