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
"""The figures of a flight from a runway and to it, by histories made up by hand."""

import math

import numpy as np
import pytest

from xplane_bridge.laboratory.flights.analysis.measured import Touched
from xplane_bridge.laboratory.flights.analysis.quantities import CONTACTS
from xplane_bridge.laboratory.flights.analysis.runway import figures
from xplane_bridge.laboratory.flights.analysis.series import History, Series
from xplane_bridge.laboratory.flights.scenario.runway import parse

RUNWAY = parse({'heading_deg': 90.0, 'elevation_msl': 430.0, 'length': 1000.0, 'width': 30.0,
                'aiming_point': 200.0})
STANDS = 1.3


def history(along, across, height, on_ground, structure=None, strut=None, rate=10.0):
    """Return a flight by lists of numbers, one for each tenth of a second."""
    times = np.arange(len(along)) / rate
    frame = RUNWAY.own_frame()
    places = np.array([
        frame.enu_to_geodetic((x, -y, h + STANDS)) for x, y, h in zip(
            along, across, height, strict=True)])
    contacts = (on_ground, structure or [0.0] * len(along), strut or [1.0] * len(along))
    values = dict(zip(('latitude', 'longitude', 'altitude'), places.T, strict=True)) | dict(
        zip(CONTACTS, map(np.array, contacts), strict=True))
    return History('core', 0.0, {
        name: Series(times, np.asarray(value, float)) for name, value in values.items()}, {}, {})


def circuit(glide_error_deg=0.0, across=0.0):
    """Return a flight that rolls, is away for a while, descends, touches down and stops."""
    along, height, ground = [], [], []
    for step in range(100):
        along.append(0.05 * step ** 2)
        height.append(0.0)
        ground.append(3.0)
    slope = math.tan(RUNWAY.glide_path + math.radians(glide_error_deg))
    for step in range(1500):
        x = 240.0 - 3.0 * (1500 - step)
        along.append(x)
        height.append(max((RUNWAY.aiming_point - x) * slope, 0.5 + (1500 - step) * 0.05))
        ground.append(0.0)
    for step in range(100):
        along.append(240.0 + 3.0 * step - 0.015 * step ** 2)
        height.append(0.0)
        ground.append(3.0)
    for _ in range(30):
        along.append(along[-1])
        height.append(0.0)
        ground.append(3.0)
    return along, [across] * len(along), height, ground


def test_a_flight_is_judged_from_its_first_metre_to_its_last():
    found = figures(history(*circuit(across=1.5)), RUNWAY, math.nan)
    assert found['rolling_across'] == pytest.approx(1.5, abs=1e-3)
    assert found['lift_off'] == pytest.approx(1000.0 - (240.0 - 4500.0), abs=5.0)
    assert found['touch_down'] == pytest.approx(40.0, abs=0.1)
    assert found['touch_down_across'] == pytest.approx(1.5, abs=1e-3)
    assert found['glide_path_deg'] == pytest.approx(0.0, abs=0.02)
    # From 0.55 m to 0 in a tenth of a second.
    assert found['sink'] == pytest.approx(5.5, abs=0.1)
    assert found['stop'] == pytest.approx(1000.0 - 240.0 - 150.0, abs=1.0)
    assert found['bounces'] == found['structural_contacts'] == 0.0
    assert found['strut'] == pytest.approx(1.0)


def test_the_glide_path_is_judged_by_its_angle():
    found = figures(history(*circuit(glide_error_deg=0.4)), RUNWAY, math.nan)
    assert found['glide_path_deg'] == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize('seconds', [1.0, 3.0])
def test_a_hop_on_the_runway_is_a_bounce_and_neither_the_lift_off_nor_the_touch_down(seconds):
    found = []
    for hops in ((), (40, 1605)):
        along, across, height, ground = circuit()
        for hop in hops:
            for number in range(hop, hop + int(10.0 * seconds)):
                ground[number], height[number] = 0.0, 1.5
        found.append(figures(history(along, across, height, ground), RUNWAY, math.nan))
    without, hopped = found
    assert hopped == pytest.approx(without | {'bounces': 1.0}, abs=1e-6)


def test_a_flight_that_stays_low_lifts_off_and_touches_down_too():
    along, across, height, ground = circuit()
    low = [min(one, 5.0) for one in height]
    found = figures(history(along, across, low, ground), RUNWAY, math.nan)
    assert found['touch_down'] == pytest.approx(40.0, abs=0.1)
    assert found['lift_off'] == pytest.approx(1000.0 - (240.0 - 4500.0), abs=5.0)


def test_what_did_not_happen_is_not_a_number():
    along, across, height, ground = (part[:90] for part in circuit())
    found = figures(history(along, across, height, ground), RUNWAY, math.nan)
    for name in ('lift_off', 'touch_down', 'sink', 'glide_path_deg', 'stop'):
        assert math.isnan(found[name]), name
    assert found['rolling_across'] == pytest.approx(0.0, abs=1e-3)


def test_contacts_count_while_it_moves_only():
    along, across, height, ground = circuit()
    structure, strut = [0.0] * len(along), [1.0] * len(along)
    structure[-1], strut[-1] = 1.0, 4.0
    still = figures(history(along, across, height, ground, structure, strut), RUNWAY, math.nan)
    assert (still['structural_contacts'], still['strut']) == (0.0, pytest.approx(1.0))
    structure[1610], strut[1610] = 1.0, 4.0
    found = figures(history(along, across, height, ground, structure, strut), RUNWAY, math.nan)
    assert (found['structural_contacts'], found['strut']) == (1.0, pytest.approx(4.0))


def test_without_contacts_the_wheels_are_on_the_ground_where_it_is_no_higher_than_standing():
    flight = history(*circuit())
    bare = History('x', 0.0, {name: flight.series[name] for name in (
        'latitude', 'longitude', 'altitude')}, {}, {})
    known, found = (figures(one, RUNWAY, math.nan) for one in (flight, bare))
    for name in ('structural_contacts', 'strut'):
        assert math.isnan(found.pop(name)), name
    # It is a little lower than that before it touches.
    assert found == {name: pytest.approx(known[name], abs=5.0) for name in found}
    assert found['sink'] == pytest.approx(known['sink'], abs=0.5)


def test_struts_are_compared_with_those_of_the_standing_aircraft():
    touched = Touched((0.1, 0.2, 0.0))
    touched.add(1.5, 3, 0, (0.1, 0.4, 0.005))
    assert touched.rows.rows().tolist() == [[1.5, 3.0, 0.0, pytest.approx(2.0)]]
