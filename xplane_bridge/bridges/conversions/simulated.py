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


"""
Convert the state of the simulated aircraft to the state of a vehicle: nothing in between.

``state`` is an AircraftState of simulation/aircraft/state.py, which has the definitions: SI, body
axes forward, right, down, world axes north, east, down. The bridges arrive at the same numbers
from what a protocol leaves of it.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.axes import Quaternion, Vector
from xplane_bridge.bridges.conversions.vehicle import (
    Air,
    Controls,
    EngineControls,
    TrafficTarget,
    VehicleState,
)
from xplane_bridge.common.controls import BRAKES
from xplane_bridge.common.quantities import AIR


def vehicle_state(state: Any, time: float) -> VehicleState:
    """Return all of it; ``time`` is the simulator's own, in seconds."""
    return VehicleState(
        state.lat_deg, state.lon_deg, state.altitude_msl, orientation(state),
        angular_velocity(state), specific_force(state), velocity(state), air(state),
        controls(state), engines(state), time)


def traffic_target(name: str, state: Any) -> TrafficTarget:
    """Return how a receiver of traffic reports it."""
    return TrafficTarget(
        name, state.lat_deg, state.lon_deg, state.altitude_msl, velocity(state),
        any(state.wheels_on_ground))


def orientation(state: Any) -> Quaternion:
    """Return the orientation: of the two quaternions of an attitude the one of the bridges."""
    return axes.ned_frd_to_enu_flu(
        axes.euler_to_quaternion(state.phi, state.theta, state.psi))


def angular_velocity(state: Any) -> Vector:
    """Return the body rates relative to the earth, FLU, rad/s."""
    return axes.frd_to_flu((state.p, state.q, state.r))


def specific_force(state: Any) -> Vector:
    """Return what accelerometers at the centre of gravity read, FLU, m/s^2."""
    return axes.frd_to_flu((state.f_x, state.f_y, state.f_z))


def velocity(state: Any) -> Vector:
    """Return the velocity over ground, ENU, m/s."""
    return state.v_east, state.v_north, -state.v_down


_air = attrgetter(*(one.state for one in AIR))


def air(state: Any) -> Air:
    """Return the air data; the dynamic pressure is that of the true airspeed."""
    wind = state.wind_east, state.wind_north, -state.wind_down
    return Air(*(*_air(state), wind))


def controls(state: Any) -> Controls:
    """Return the controls as commanded; the throttle of a glider is 0."""
    return Controls(
        state.elevator, state.aileron, state.rudder,
        state.engines[0].throttle if state.engines else 0.0, state.flaps, state.gear,
        state.speedbrake, state.left_brake, state.right_brake, state.elevator_trim,
        state.aileron_trim, state.rudder_trim)


def engines(state: Any) -> EngineControls | None:
    """Return the levers of each engine as commanded, None if there is no engine."""
    if not state.engines:
        return None
    return EngineControls(*(
        tuple(getattr(engine, name) for engine in state.engines)
        for name in EngineControls.__slots__))


def by_cockpit(command: Controls) -> dict[str, float]:
    """Return the controls of a command by the names of Aircraft.set_controls."""
    found = {BRAKES.get(name, name): value for name, value in command.given().items()}
    if not found.keys().isdisjoint(BRAKES.values()):
        # Whoever brakes by himself needs no parking brake.
        found['parking_brake'] = 0.0
    return found
