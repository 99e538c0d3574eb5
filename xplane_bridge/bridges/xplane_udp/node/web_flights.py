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


"""Flights that X-Plane's Web API starts, in xplane_udp_node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xplane_bridge.bridges.nodes.vehicle.controls import POSE_MASK
from xplane_bridge.bridges.xplane_udp.node.poses import check_pose, Poses
from xplane_bridge.bridges.xplane_udp.protocol import flight
from xplane_bridge.bridges.xplane_udp.web.web_client import WebClient
from xplane_bridge.srv import StartFlight

# Until X-Plane has accepted a flight.
_TIMEOUT = 120.0
_FARTHEST = 1e6
_FASTEST = 1e4


class WebFlights:
    """The service start_flight; ``ask`` holds a conversation within a time."""

    def __init__(self, client: WebClient, poses: Poses, ask: Callable[..., Any]) -> None:
        self._client = client
        self._poses = poses
        self._ask = ask

    async def start(
        self, request: StartFlight.Request, response: StartFlight.Response
    ) -> None:
        """Start a flight, or change the one under way."""
        wanted = self._start_of(request)
        if request.aircraft:
            wanted |= flight.aircraft(request.aircraft, request.livery)
        elif request.livery:
            raise ValueError('livery: give its aircraft as well')
        if request.weather:
            wanted |= flight.weather(request.weather)
        wanted |= flight.more(request.more, wanted) if request.more else {}
        if not wanted:
            raise ValueError('nothing given: neither a place to start at, nor weather or more')
        if wanted.keys().isdisjoint(flight.STARTS):
            if 'aircraft' in wanted:
                raise ValueError('aircraft: give a place to start at as well')
            await self._ask(self._client.update_flight(wanted), _TIMEOUT)
            response.message = 'X-Plane has changed the flight'
        else:
            path = await self._ask(self._client.start_flight(wanted), _TIMEOUT)
            response.message = f'X-Plane starts a flight with {path}'
        response.success = True

    def _start_of(self, request: StartFlight.Request) -> dict[str, Any]:
        """Return the place to start at, {} for none. Raises ValueError."""
        given = POSE_MASK.given(request.pose) if request.pose.fields else {}
        ways = [name for name, way in (
            ('runway', request.runway), ('ramp', request.ramp), ('pose', given)) if way]
        if len(ways) > 1:
            raise ValueError(f'a flight starts at one place, got {" and ".join(ways)}')
        if bool(request.airport) != (ways in (['runway'], ['ramp'])):
            raise ValueError('airport and either runway or ramp go together')
        if request.final_distance and ways != ['runway']:
            raise ValueError('final_distance: give a runway')
        if not 0.0 <= request.final_distance <= _FARTHEST:
            raise ValueError(
                f'final_distance {request.final_distance:g} m is not in 0 .. {_FARTHEST:g} m')
        if not 0.0 <= request.airspeed <= _FASTEST:
            raise ValueError(f'airspeed {request.airspeed:g} m/s is not in 0 .. {_FASTEST:g} m/s')
        if request.on_ground and not given:
            raise ValueError('on_ground: give a pose')
        if request.airspeed and (request.on_ground or not given):
            raise ValueError('airspeed: give a pose in the air')
        if request.runway:
            return flight.runway_start(
                request.airport, request.runway, request.final_distance)
        if request.ramp:
            return flight.ramp_start(request.airport, request.ramp)
        return self._pose(request, given) if given else {}

    def _pose(self, request: StartFlight.Request, given: dict[str, float]) -> dict[str, Any]:
        """Return the start at a pose; what is not set keeps its value."""
        possible = {'latitude', 'longitude', 'true_heading'}
        if not request.on_ground:
            possible |= {'altitude', 'pitch'}
        if others := given.keys() - possible:
            raise ValueError(
                f'pose: a flight that starts there has no {", ".join(sorted(others)).upper()}')
        check_pose(given)
        # X-Plane starts level, and on the ground it knows the altitude.
        unused = {'altitude': 0.0} if request.on_ground else {}
        lat, lon, altitude = self._poses.position(unused | given)
        _, pitch, heading = self._poses.attitude({'roll': 0.0, 'pitch': 0.0} | given)
        if request.on_ground:
            return flight.ground_start(lat, lon, heading)
        return flight.air_start(
            lat, lon, altitude, heading, request.airspeed, pitch if 'pitch' in given else None)
