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

"""Gusts and wind shear as the aircraft feels them, against their formulas."""

import math
import re

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.weather import Gust, Shear

FOOT = 0.3048
DT = 1.0 / 120.0


def felt(aircraft):
    """Return the whole wind north, east, down in m/s."""
    return [aircraft.property_value(f'atmosphere/total-wind-{axis}-fps') * FOOT
            for axis in ('north', 'east', 'down')]


def flown_through(aircraft, frames):
    """Return the way through the air before each frame, and the wind in it."""
    x, rows = 0.0, []
    for _ in range(frames):
        way = aircraft.property_value('velocities/vt-fps') * FOOT * DT
        aircraft.step()
        rows.append((x, felt(aircraft)))
        x += way
    return rows


def test_a_gust_of_the_specification_builds_up_and_stays():
    """MIL-F-8785C: half of it times 1 - cos(pi x / d) up to d, then all of it."""
    aircraft = Aircraft('c172p', Initial(airspeed_kt=100.0))
    aircraft.meet(Gust(0.0, 0.0, 5.0, length=60.0))
    rows = flown_through(aircraft, 240)
    assert rows[-1][0] > 90.0
    for x, (north, east, down) in rows:
        wanted = 2.5 * (1.0 - math.cos(math.pi * x / 60.0)) if x < 60.0 else 5.0
        assert -down == pytest.approx(wanted, abs=1e-9)
        assert (north, east) == pytest.approx((0.0, 0.0), abs=1e-9)
    assert aircraft.state.alpha != pytest.approx(0.0, abs=1e-3)


def test_a_gust_along_and_across_the_heading_is_a_pulse_where_it_is_wanted():
    """After 30 m: up over 20 m, held 10 m, down over 20 m; beside it the steady wind."""
    heading = math.radians(60.0)
    aircraft = Aircraft('c172p', Initial(airspeed_kt=100.0, heading_deg=60.0))
    aircraft.set_wind(3.0, 0.0)
    aircraft.meet(Gust(-4.0, 2.0, 0.0, length=20.0, distance=30.0, hold=10.0))
    greatest = 0.0
    for x, (north, east, down) in flown_through(aircraft, 300):
        inside = x - 30.0
        share = 0.0
        if 0.0 < inside < 50.0:
            edge = inside if inside < 20.0 else 50.0 - inside if inside > 30.0 else 20.0
            share = (1.0 - math.cos(math.pi * edge / 20.0)) / 2.0
        forward, right = -4.0 * share, 2.0 * share
        greatest = max(greatest, share)
        assert north - 3.0 == pytest.approx(
            forward * math.cos(heading) - right * math.sin(heading), abs=1e-7)
        assert east == pytest.approx(
            forward * math.sin(heading) + right * math.cos(heading), abs=1e-7)
        assert down == 0.0
    assert greatest == 1.0
    assert not aircraft._gusts


def test_gusts_add_up_and_a_new_flight_has_none():
    aircraft = Aircraft('c172p', Initial(airspeed_kt=100.0))
    for _ in range(2):
        aircraft.meet(Gust(0.0, 0.0, 1.5, length=1.0))
    aircraft.step(60)
    assert felt(aircraft)[2] == pytest.approx(-3.0)
    aircraft.reset()
    aircraft.step(2)
    assert felt(aircraft) == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    still = Aircraft('c172p', Initial(airspeed_kt=100.0))
    still.step(2)
    assert still.state == aircraft.state


@pytest.mark.parametrize(('shear', 'share'), [
    (Shear(2.0, -6.0, roughness=0.15 * FOOT),
     lambda feet: math.log(feet / 0.15) / math.log(20.0 / 0.15)),
    (Shear(2.0, -6.0, exponent=1.0 / 7.0), lambda feet: (feet / 20.0) ** (1.0 / 7.0)),
], ids=['logarithmic', 'power'])
def test_shear_is_its_profile_at_the_height_above_the_ground(shear, share):
    aircraft = Aircraft('c172p', Initial(airspeed_kt=80.0))
    ground = aircraft.state.terrain_msl
    aircraft.set_wind(1.0, 0.0)
    aircraft.set_shear(shear)
    for height in (900.0, 300.0, 100.0, 20.0, 3.0):
        aircraft.teleport(altitude_msl=ground + height * FOOT)
        for _ in range(3):
            feet = aircraft.property_value('position/h-agl-ft')
            aircraft.step()
            wanted = share(min(max(feet, 3.0), 1000.0))
            assert felt(aircraft) == pytest.approx([1.0 + 2.0 * wanted, -6.0 * wanted, 0.0])
    aircraft.set_shear(None)
    aircraft.step()
    assert felt(aircraft) == pytest.approx([1.0, 0.0, 0.0])


def test_shear_at_twenty_feet_is_its_wind_and_above_a_thousand_no_more():
    shear = Shear(0.0, 1.0, roughness=0.6)
    assert shear.share(20.0 * FOOT) == pytest.approx(1.0)
    assert shear.share(2000.0) == shear.share(1000.0 * FOOT)
    assert Shear(0.0, 1.0, roughness=1.0).share(0.5) == 0.0


@pytest.mark.parametrize(('change', 'said'), [
    (lambda it: it.meet(Gust(0.0, 0.0, 101.0, 10.0)), '101 m/s is no wind'),
    (lambda it: it.meet(Gust(0.0, 0.0, math.nan, 10.0)), 'up is nan'),
    (lambda it: it.meet(Gust(0.0, 0.0, 1.0, 0.0)), 'length: expected above 0 and at'),
    (lambda it: it.meet(Gust(0.0, 0.0, 1.0, 1.0, -1.0)), 'distance: expected 0 to 100000 m'),
    (lambda it: it.meet(Gust(0.0, 0.0, 1.0, 1.0, 0.0, math.inf)), 'hold: expected a finite'),
    (lambda it: it.set_shear(Shear(1.0, 1.0, 9.0)), 'roughness: expected 0.0001 to 5 m, got 9'),
    (lambda it: it.set_shear(Shear(1.0, 1.0, 0.0, 2.0)), 'exponent: expected 0 to 1, got 2'),
])
def test_what_no_air_does_is_refused(change, said):
    aircraft = Aircraft('c172p', Initial(parked=True))
    with pytest.raises(ValueError, match=re.escape(said)):
        change(aircraft)
