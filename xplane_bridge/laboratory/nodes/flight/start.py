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


"""The initial state of a scenario on a real X-Plane 12.4: its Web API starts a flight there."""

from __future__ import annotations

from collections.abc import Mapping
import math
import time
from typing import Any

from xplane_bridge.bridges.conversions.air import (
    calibrated_to_true_airspeed,
    pressure_altitude_to_pressure,
    standard_temperature,
)
from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.common.text import known
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.flights.order import NO_WEB, Order
from xplane_bridge.laboratory.flights.script import ExperimentError, Progress
from xplane_bridge.laboratory.nodes.flight.vehicle import Vehicle
from xplane_bridge.msg import AircraftPose
from xplane_bridge.srv import StartFlight

# Longer than the bridge waits for X-Plane's answer; then X-Plane loads scenery.
_ANSWERED_WITHIN = 130.0
_LOADED_WITHIN = 180.0
_TELEMETRY_WITHIN = 30.0
_TICK = 0.1
# In the air a flight has begun when it is this close, in metres and radians.
_CLOSE = 60.0
_TURNED = 15.0 * DEGREE
# On the ground it has when it is this close, in degrees.
_NEAR = 0.001
# With the engines running, as a flight of this package begins.
_MORE = '{"engine_status": {"all_engines": {"running": true}}}'
_POSE_MASK = Mask(AircraftPose)


def place(vehicle: Vehicle, order: Order, display: Progress) -> str:
    """
    Start a flight of a real simulator at the scenario's ``initial``; return why not, '' if it is.

    Raises ExperimentError if X-Plane accepts the flight, but it does not begin.
    """
    initial = order.scenario.initial
    if not order.link.host or not initial.keys() - {
            'model', 'aircraft_path', 'controls', 'gains'}:
        return ''
    return _refusal(order) or _start(vehicle, initial, display)


def _refusal(order: Order) -> str:
    if order.simulator.protocol.name != 'xplane_udp':
        return ('only X-Plane 12.4 and later can be placed, through its Web API and with its own '
                'UDP: --sim xplane12')
    if order.link.web == NO_WEB:
        return f'--web {NO_WEB}'
    return ''


def _start(vehicle: Vehicle, initial: Mapping[str, Any], display: Progress) -> str:
    """Start the flight and wait for it; return why it does not start, '' if it does."""
    monitor = vehicle.monitor
    if not monitor.wait_for(
        lambda: monitor.counts['fix'] and monitor.counts['imu/data'], _TELEMETRY_WITHIN
    ):
        return 'no telemetry arrives'
    vehicle.check_alone()
    response = vehicle.start_flight(
        make_request(initial, monitor.last('heading')), _ANSWERED_WITHIN)
    if not response.success:
        return str(response.message)
    display.say(f'initial: {response.message}')
    _wait(vehicle, initial)
    return ''


def make_request(initial: Mapping[str, Any], heading: float) -> StartFlight.Request:
    """Return the request; what is not given keeps its value, as does the aircraft."""
    given = {
        name: initial[key] for name, key in (
            ('latitude', 'latitude_deg'), ('longitude', 'longitude_deg'),
            ('altitude', 'altitude')) if key in initial}
    # A pose has at least one field.
    given['true_heading'] = (
        initial['heading_deg'] * DEGREE if 'heading_deg' in initial else heading)
    parked = bool(initial.get('parked', False))
    if parked:
        given.pop('altitude', None)
    request = StartFlight.Request(on_ground=parked, more=_MORE)
    _POSE_MASK.fill(request.pose, given)
    if 'airspeed' in initial and not parked:
        altitude = initial.get('altitude', 0.0)
        request.airspeed = calibrated_to_true_airspeed(
            initial['airspeed'], pressure_altitude_to_pressure(altitude),
            standard_temperature(altitude))
    return request


def _wait(vehicle: Vehicle, initial: Mapping[str, Any]) -> None:
    """Wait until telemetry shows the new flight."""
    monitor = vehicle.monitor
    deadline = time.monotonic() + _LOADED_WITHIN
    while not monitor.wait_for(lambda: _is_there(vehicle, initial), _TICK):
        if vehicle.has_failed():
            raise vehicle.lost(vehicle.why())
        if time.monotonic() > deadline:
            raise ExperimentError(
                f'X-Plane accepted initial, but {_LOADED_WITHIN:.0f} s later its altitude is '
                f'{known(monitor.last("altitude"), "{:.0f} m")}, its heading '
                f'{known(monitor.last("heading") / DEGREE % 360.0, "{:.0f} deg")}')


def _is_there(vehicle: Vehicle, initial: Mapping[str, Any]) -> bool:
    """Return whether the newest values are those of the new flight."""
    monitor = vehicle.monitor
    heading = initial.get('heading_deg')
    if heading is not None and not abs(math.remainder(
            monitor.last('heading') - heading * DEGREE, math.tau)) < _TURNED:
        return False
    if initial.get('parked'):
        # Scenery may be loaded for minutes, with the old flight's telemetry.
        return all(abs(monitor.last(name) - initial.get(f'{name}_deg', monitor.last(name))) < _NEAR
                   for name in ('latitude', 'longitude'))
    return 'altitude' not in initial or (
        abs(monitor.last('altitude') - initial['altitude']) < _CLOSE)
