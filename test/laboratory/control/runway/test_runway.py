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
"""A runway as a pilot sees it, and what an aircraft needs to be known of to use it."""

from dataclasses import replace
import math
from types import SimpleNamespace

import pytest
import yaml

from xplane_bridge.laboratory.control.gains import load
from xplane_bridge.laboratory.control.runway import performance
from xplane_bridge.laboratory.control.runway.runway import Runway
from xplane_bridge.laboratory.control.tuning.report import parameter_file
from xplane_bridge.laboratory.control.tuning.tune import LoopRequirements, Tuning
from xplane_bridge.laboratory.envelope.runway_performance import Flaps, runway_performance
from xplane_bridge.simulation.aircraft.loading.parameter_file import read

RUNWAY = Runway((100.0, -50.0), math.radians(90.0), 478.0, 1200.0, 30.0)


def test_a_place_is_seen_from_the_threshold_along_and_to_the_right():
    assert RUNWAY.locate(400.0, -50.0) == pytest.approx((300.0, 0.0))
    # South of a runway that leads east is to its right.
    assert RUNWAY.locate(100.0, -60.0) == pytest.approx((0.0, 10.0))
    assert RUNWAY.point(300.0, 10.0) == pytest.approx((400.0, -60.0))
    assert RUNWAY.locate(*RUNWAY.point(-700.0, 33.0)) == pytest.approx((-700.0, 33.0))


def test_a_direction_is_compared_across_north():
    north = replace(RUNWAY, direction=math.radians(350.0))
    assert math.degrees(north.turned(math.radians(10.0))) == pytest.approx(20.0)
    assert math.degrees(north.turned(math.radians(340.0))) == pytest.approx(-10.0)


@pytest.mark.parametrize(('along', 'across', 'is_on'), [
    (0.0, 0.0, True), (1200.0, -15.0, True), (-1.0, 0.0, False), (1201.0, 0.0, False),
    (600.0, 15.1, False)])
def test_its_surface_ends_where_it_ends(along, across, is_on):
    assert RUNWAY.is_on(along, across) is is_on


@pytest.mark.parametrize(('changes', 'sentence'), [
    ({'elevation': math.nan}, 'the elevation of the runway is not known'),
    ({'direction': math.inf}, 'must be finite'),
    ({'length': 0.0}, 'length of the runway is 0'),
    ({'width': -1.0}, 'width of the runway is -1'),
    ({'glide_path': 1.0}, 'glide_path of the runway is 1'),
    ({'aiming_point': 1200.0}, 'aiming_point of the runway is 1200')])
def test_a_runway_that_cannot_be_one_is_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(RUNWAY, **changes)


def test_an_aircraft_without_its_own_performance_has_none():
    assert performance.load('c310') is None
    found = performance.load('c172p')
    assert found.approach_speed == pytest.approx(1.3 * found.landing_stall_speed, rel=1e-3)
    assert found.rotation_speed == pytest.approx(1.1 * found.stall_speed, rel=1e-3)
    assert not found.has_tail_wheel
    assert performance.load('J3Cub').has_tail_wheel


def test_a_large_aeroplane_approaches_slower():
    pytest.importorskip('jsbsim', reason='performance is found by trims')
    found = runway_performance('737', Flaps(take_off=0.3))
    assert found.approach_speed == pytest.approx(1.23 * found.landing_stall_speed)
    assert performance.load('737').approach_speed == pytest.approx(found.approach_speed, rel=1e-3)
    assert runway_performance('J3Cub', Flaps()).approach_speed == pytest.approx(
        performance.load('J3Cub').approach_speed, rel=1e-3)


@pytest.mark.parametrize(('changes', 'sentence'), [
    ({'steering': None}, 'steering missing: make the file again'),
    ({'wings': 2.0}, 'performance.wings is unknown'),
    ({'approach_speed': 20.0}, 'approach_speed is 20 m/s, expected above the stall at 22.93'),
    ({'rest_height': 0.0}, 'rest_height is 0, expected above 0'),
    ({'climb_pitch': math.nan}, 'climb_pitch is nan, expected a finite number')])
def test_what_is_wrong_with_a_performance_is_said(changes, sentence, tmp_path):
    known = {**read('c172p')[performance.GROUP], **changes}
    file = tmp_path / 'mine.yaml'
    file.write_text(yaml.safe_dump({'/**': {'ros__parameters': {'performance': {
        name: value for name, value in known.items() if value is not None}}}}))
    with pytest.raises(ValueError, match=sentence):
        performance.load(file)


def test_a_performance_is_read_as_tune_writes_it(tmp_path):
    model = SimpleNamespace(model='c172p', altitude_msl=1500.0, airspeed=51.4)
    found = Tuning(load('c172p'), frozenset(), {}, ())
    file = tmp_path / 'again.yaml'
    file.write_text(parameter_file(
        model, found, LoopRequirements(), 'tune', performance.load('c172p')))
    assert performance.load(file) == performance.load('c172p')
