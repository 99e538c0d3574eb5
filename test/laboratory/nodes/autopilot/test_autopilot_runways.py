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

"""autopilot_node takes off and lands a JSBSim aircraft in lockstep: actions and services."""

from dataclasses import asdict
import math
import re

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')
pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from action_msgs.msg import GoalStatus
from flown import Client, Flown
from masked import masked

from xplane_bridge.action import FlyRunway
from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.geoid import usual_undulation
from xplane_bridge.laboratory.control.runway import performance
from xplane_bridge.msg import AutopilotTarget, Runway
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.terrain import HOME
from xplane_bridge.srv import FlyPattern, GoAround

PERFORMANCE = {f'performance__{name}': value
               for name, value in asdict(performance.load('c172p')).items()}
# Here altitudes are above mean sea level, in fix too.
RUNWAY = {
    'latitude': HOME.lat_deg, 'longitude': HOME.lon_deg, 'true_heading': math.radians(90.0),
    'length': 1200.0, 'width': 30.0, 'fields': Runway.ELEVATION_MSL,
    'elevation_msl': HOME.elevation - usual_undulation().height_m(HOME.lat_deg, HOME.lon_deg)}


def at(east, **values):
    """Return an initial state so far (m) beyond the threshold."""
    place = LocalFrame(HOME.lat_deg, HOME.lon_deg, HOME.elevation)
    latitude, longitude, _ = place.enu_to_geodetic((east, 0.0, 0.0))
    return Initial(lat_deg=latitude, lon_deg=longitude, **values)


def goal(height=0.0, **changes):
    return FlyRunway.Goal(runway=Runway(**{**RUNWAY, **changes}), height=height)


def fly(flown, client, handle, seconds=0.0):
    """Fly until a goal has ended, or wait for its end; return its status and result."""
    result = handle.get_result_async()
    if seconds:
        flown.fly(seconds, until=result.done)
    ended = client.wait(result, 'the result')
    return ended.status, ended.result


def test_take_off_climbs_to_its_height_and_a_cancelled_one_stops_on_the_runway(ros):
    flown = Flown(ros, at(30.0, parked=True), **PERFORMANCE)
    client = Client(flown, FlyRunway, '/take_off')
    # It knows how high the runway is that it stands on, and that this cannot be it.
    status, result = fly(flown, client, client.send(goal(elevation_msl=900.0)))
    assert status == GoalStatus.STATUS_ABORTED
    assert "above the runway's elevation" in result.message
    first = client.send(goal(fields=0))
    flown.fly(12.0)
    assert flown.level() == 'runway'
    lands = Client(flown, FlyRunway, '/land')
    status, result = fly(flown, lands, lands.send(goal()))
    assert (status, result.message) == (
        GoalStatus.STATUS_ABORTED, 'land: it is 0 m above the runway, expected above 30 m; '
        'command take_off or go_around, and pattern, before')
    assert flown.level() == 'runway'
    assert flown.state.ground_speed > 5.0
    client.wait(first.cancel_goal_async(), 'the answer')
    status, result = fly(flown, client, first)
    assert (status, result.message) == (
        GoalStatus.STATUS_CANCELED, 'cancelled: it stops on the runway')
    flown.fly(25.0, until=lambda: flown.state.ground_speed < 0.2)
    assert flown.state.ground_speed < 0.5
    assert (flown.command.throttle, flown.command.brake_left) == (0.0, 1.0)
    client.feedback.clear()
    # Again from there, without an elevation.
    status, result = fly(flown, client, client.send(goal(60.0, fields=0)), 90.0)
    assert (status, result.success) == (GoalStatus.STATUS_SUCCEEDED, True)
    assert flown.level() == 'target'
    phases = list(dict.fromkeys(one.phase for one in client.feedback))
    assert phases == ['run-up', 'take-off roll', 'rotation', 'climb', 'level-off']
    assert not any(math.isnan(one.height + one.distance) for one in client.feedback)
    assert client.feedback[0].height == pytest.approx(0.0, abs=0.2)
    assert max(abs(one.cross_track) for one in client.feedback) < 5.0
    # Where its height has been seen, and not where the climb ends.
    standing = HOME.elevation + PERFORMANCE['performance__rest_height']
    assert flown.altitude == pytest.approx(standing + 60.0, abs=5.5)
    assert abs(flown.state.v_down) < 1.2
    assert re.fullmatch(r'it has taken off, and is (5[5-9]|6\d) m above the runway; that is held',
                        result.message)


def test_behind_sensors_the_height_is_not_known_and_nothing_takes_off_or_lands(ros):
    flown = Flown(ros, at(30.0, parked=True), behind_sensors=True, **PERFORMANCE)
    for name in ('take_off', 'land'):
        client = Client(flown, FlyRunway, f'/{name}')
        status, result = fly(flown, client, client.send(goal()))
        assert (status, result.message) == (
            GoalStatus.STATUS_ABORTED, f'{name}: the height above the runway is not known to a '
            'metre: expected a range finder that measures it')


def on_approach(ros, **parameters):
    """Return an aircraft on the glide path, 1 km before the aiming point, with its client."""
    flown = Flown(ros, at(-700.0, altitude_msl=HOME.elevation + 55.0, airspeed_kt=60.0),
                  **PERFORMANCE, **parameters)
    return flown, Client(flown, FlyRunway, '/land')


def test_land_stops_on_the_runway_whose_elevation_is_known(ros):
    flown, client = on_approach(ros)
    status, result = fly(flown, client, client.send(goal(fields=0)))
    assert (status, result.message) == (
        GoalStatus.STATUS_ABORTED,
        'the elevation of the runway is not known, so no height above it is')
    assert flown.level() == 'off'
    status, result = fly(flown, client, client.send(goal()), 90.0)
    assert (status, result.success) == (GoalStatus.STATUS_SUCCEEDED, True)
    phases = list(dict.fromkeys(one.phase for one in client.feedback))
    assert phases == ['approach', 'flare', 'roll-out']
    assert all(flown.state.wheels_on_ground)
    assert flown.state.ground_speed < 0.5
    _, north, _ = LocalFrame(HOME.lat_deg, HOME.lon_deg, HOME.elevation).geodetic_to_enu(
        flown.state.lat_deg, flown.state.lon_deg, HOME.elevation)
    assert abs(north) < 5.0


def test_behind_sensors_the_range_finder_knows_the_height_above_the_runway(ros):
    # Altitudes are wrong by 2 m.
    flown, client = on_approach(ros, behind_sensors=True, ground=HOME.elevation)
    status, result = fly(flown, client, client.send(goal(
        elevation_msl=RUNWAY['elevation_msl'] - 2.0)), 90.0)
    assert (status, result.success) == (GoalStatus.STATUS_SUCCEEDED, True), result.message
    assert all(flown.state.wheels_on_ground)
    assert client.feedback[-1].height == pytest.approx(0.0, abs=0.3)


def test_behind_sensors_an_approach_is_broken_off_when_the_range_finder_falls_silent(ros):
    flown, client = on_approach(ros, behind_sensors=True, ground=HOME.elevation)
    handle = client.send(goal())
    flown.fly(5.0)
    flown.ground = None
    status, result = fly(flown, client, handle, 30.0)
    assert status == GoalStatus.STATUS_ABORTED
    assert 'the range finder does not see the runway' in result.message
    flown.fly(5.0)
    assert flown.level() == 'runway'
    assert flown.command.throttle > 0.9
    assert not any(flown.state.wheels_on_ground)


def test_a_cancelled_landing_goes_around_and_flies_the_pattern_that_is_commanded(ros):
    flown, client = on_approach(ros)
    refused = ros.call(GoAround, '/autopilot/go_around', GoAround.Request())
    assert not refused.success
    first = client.send(goal())
    flown.fly(1.0)
    client.wait(first.cancel_goal_async(), 'the answer')
    status, result = fly(flown, client, first)
    assert status == GoalStatus.STATUS_CANCELED
    assert 'it goes around, climbs straight ahead to 300 m' in result.message
    pattern = FlyPattern.Request(runway=Runway(**RUNWAY), right=True)
    assert ros.call(FlyPattern, '/autopilot/pattern', pattern).message == 'the climb is flown'
    # A landing that waits for the pattern ends with the next command.
    second = client.send(goal())
    flown.fly(1.0)
    assert flown.command.throttle > 0.9
    pattern.runway.length = 20.0
    refused = ros.call(FlyPattern, '/autopilot/pattern', pattern)
    assert refused.message == 'runway: length is 20, expected 100 .. 20000'
    flown.publish('/command/target', masked(AutopilotTarget, airspeed=35.0))
    status, result = fly(flown, client, second)
    assert (status, result.message) == (
        GoalStatus.STATUS_ABORTED, 'command/target has been commanded')
