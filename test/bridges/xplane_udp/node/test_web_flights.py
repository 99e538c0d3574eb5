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


"""What start_flight refuses before it asks X-Plane anything, and what it asks otherwise."""

import math
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')
pytest.importorskip('xplane_bridge.msg', reason='the messages are not built')

from masked import masked

from xplane_bridge.bridges.xplane_udp.node.web_api import WebFlights
from xplane_bridge.msg import AircraftPose
from xplane_bridge.srv import StartFlight

PLACE = {'latitude': 46.5, 'longitude': 7.25, 'true_heading': 0.0}
POSE = masked(AircraftPose, **PLACE, altitude=2500.0)


def started(**request):
    """Return what X-Plane is asked for a request, or the refusal."""
    asked = []

    async def ask(wanted, seconds):
        asked.append(wanted)
        return 'a path'

    client = SimpleNamespace(start_flight=dict, update_flight=dict)
    poses = SimpleNamespace(
        position=lambda pose: (pose['latitude'], pose['longitude'], pose['altitude']),
        attitude=lambda pose: (pose['roll'], pose['pitch'], pose['true_heading']))
    response = StartFlight.Response()
    call = WebFlights(client, poses, ask).start(StartFlight.Request(**request), response)
    try:
        call.send(None)
    except StopIteration:
        assert response.success
        return asked[0]
    except ValueError as error:
        assert not asked
        return str(error)
    raise AssertionError('it waits for something else')


@pytest.mark.parametrize(('request_', 'said'), [
    ({}, 'nothing given'),
    ({'livery': 'red'}, 'livery: give its aircraft'),
    ({'aircraft': 'Aircraft/a.acf'}, 'aircraft: give a place'),
    ({'airport': 'KPDX', 'runway': '10R', 'ramp': 'A1'}, 'one place, got runway and ramp'),
    ({'airport': 'KPDX'}, 'airport and either runway or ramp'),
    ({'runway': '10R'}, 'airport and either runway or ramp'),
    ({'final_distance': 100.0, 'weather': 'real'}, 'final_distance: give a runway'),
    ({'airport': 'KPDX', 'runway': '10R', 'final_distance': 1e7}, 'final_distance 1e+07 m is not'),
    ({'airport': 'KPDX', 'runway': '10R', 'final_distance': math.nan}, 'final_distance nan m'),
    ({'pose': POSE, 'airspeed': -1.0}, 'airspeed -1 m/s is not in'),
    ({'pose': POSE, 'on_ground': True}, 'has no ALTITUDE')])
def test_what_is_no_flight_is_refused_in_a_sentence(request_, said):
    assert said in started(**request_)


def test_a_place_and_what_is_changed_are_asked_of_xplane():
    assert 'runway_start' in started(airport='KPDX', runway='10R', final_distance=1000.0)
    assert 'ramp_start' in started(airport='KPDX', ramp='A1')
    assert 'lle_ground_start' in started(pose=masked(AircraftPose, **PLACE), on_ground=True)
    assert 'lle_air_start' in started(pose=POSE, airspeed=60.0)
    assert 'weather' in started(weather='real')
