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
The simulated aircraft seen as a vessel of Kerbal Space Program.

What JSBSim does not model is not sent: the game's resources, targets, manoeuvres, temperatures.
The vessel is an aeroplane with a pilot, in its last stage. JSBSim's orbital elements are those of
the ellipse that the aircraft would follow without the atmosphere; the game shows them for an
aircraft too.
"""

from __future__ import annotations

import math

from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import ActionGroup, FlightFlags, SimpitMessage
from xplane_bridge.simulation.aircraft.state import AircraftState, FOOT, STANDARD_GRAVITY
from xplane_bridge.simulation.peers.world import World

_FULL = 32767
_EARTH_RATE = 7.292115e-5
_KILOPASCAL = 1000.0
_BODY = 'Earth'
# Vessel.Situations and VesselType of the game's interface: landed, flying; an aeroplane.
_LANDED, _FLYING, _PLANE = 1, 8, 8
_AIR = (simpit.AtmosphereFlags.HAS_ATMOSPHERE | simpit.AtmosphereFlags.HAS_OXYGEN
        | simpit.AtmosphereFlags.VESSEL_INSIDE)
# Groups without a counterpart in the aircraft: they are only on or off.
_WITHOUT_PARTS = ActionGroup.RCS | ActionGroup.SAS | ActionGroup.ABORT


class Vessel:
    """
    What a plugin reads from the aircraft and makes it do.

    load: the airspeed channel carries the load, and the flight status stage and type, as from
    plugin 2.2 on.
    """

    def __init__(self, world: World, *, load: bool) -> None:
        self._world = world
        self._load = load
        self._groups = ActionGroup(0)
        self._custom: set[int] = set()

    # Telemetry.

    def telemetry(self) -> list[SimpitMessage]:
        """Return all telemetry of the aircraft's current state."""
        state = self._world.aircraft.state
        specific_force = math.hypot(state.f_x, state.f_y, state.f_z) / STANDARD_GRAVITY
        value = self._world.aircraft.property_value
        return [
            simpit.Altitude(state.altitude_msl, state.altitude_agl),
            simpit.Velocities(
                value('velocities/eci-velocity-mag-fps') * FOOT,
                math.hypot(state.v_north, state.v_east, state.v_down), -state.v_down),
            simpit.Airspeed(state.cas, state.mach, specific_force if self._load else None),
            *self._orbit(state),
            self._attitude(state),
            simpit.Atmosphere(
                _AIR, state.density, state.temperature, state.static_pressure / _KILOPASCAL),
            simpit.ActionStatus(self.groups),
            simpit.CustomActionGroupStatus(tuple(sorted(self._custom))),
            self._status(state),
            simpit.SphereOfInfluence(_BODY),
            simpit.VesselName(self._world.aircraft.model[:simpit.MAX_PAYLOAD]),
            simpit.Rotation(
                _axis(state.elevator), _axis(state.aileron), _axis(state.rudder), 0),
            *(simpit.Throttle(_axis(engine.throttle)) for engine in state.engines[:1]),
        ]

    def _orbit(self, state: AircraftState) -> list[SimpitMessage]:
        value = self._world.aircraft.property_value
        eccentricity = value('orbital/eccentricity')
        apoapsis = value('orbital/apoapsis-radius-ft') * FOOT
        periapsis = value('orbital/periapsis-radius-ft') * FOOT
        true_anomaly = math.radians(value('orbital/true-anomaly-deg'))
        period = value('orbital/period-sec')
        eccentric_anomaly = 2.0 * math.atan2(
            math.sqrt(1.0 - eccentricity) * math.sin(true_anomaly / 2.0),
            math.sqrt(1.0 + eccentricity) * math.cos(true_anomaly / 2.0))
        mean_anomaly = (
            eccentric_anomaly - eccentricity * math.sin(eccentric_anomaly)) % math.tau
        # The altitude is above sea level.
        sea_level = value('position/radius-to-vehicle-ft') * FOOT - state.altitude_msl
        turn = period / math.tau
        return [
            simpit.Orbit(
                eccentricity, (apoapsis + periapsis) / 2.0, value('orbital/inclination-deg'),
                value('orbital/right-ascension-deg') % 360.0,
                value('orbital/argument-of-perigee-deg') % 360.0, true_anomaly, mean_anomaly,
                period),
            simpit.Apsides(periapsis - sea_level, apoapsis - sea_level),
            simpit.ApsidesTime(
                int((math.tau - mean_anomaly) * turn),
                int((math.pi - mean_anomaly) % math.tau * turn)),
        ]

    def _status(self, state: AircraftState) -> simpit.FlightStatus:
        """Return whether it flies; full control by its pilot, who is in reach of everybody."""
        flags = (FlightFlags.IN_FLIGHT | FlightFlags.CONTROL_LEVEL_LOW
                 | FlightFlags.CONTROL_LEVEL_HIGH)
        landed = any(state.wheels_on_ground)
        if landed:
            flags |= FlightFlags.RECOVERABLE
        return simpit.FlightStatus(
            flags, _LANDED if landed else _FLYING, 0, 1, 1, 100,
            *((0, _PLANE) if self._load else ()))

    def _attitude(self, state: AircraftState) -> simpit.Attitude:
        radius = self._world.aircraft.property_value('position/radius-to-vehicle-ft') * FOOT
        turning = _EARTH_RATE * radius * math.cos(math.radians(state.lat_geocentric_deg))
        return simpit.Attitude(
            math.degrees(state.psi) % 360.0,
            math.degrees(state.theta),
            # The game's roll is positive with the right wing up.
            -math.degrees(state.phi),
            *_direction(state.v_north, state.v_east + turning, state.v_down),
            *_direction(state.v_north, state.v_east, state.v_down))

    @property
    def groups(self) -> ActionGroup:
        """Return the standard action groups that are on."""
        state = self._world.aircraft.state
        groups = self._groups
        if state.gear > 0.5:
            groups |= ActionGroup.GEAR
        if state.parking_brake > 0.5:
            groups |= ActionGroup.BRAKES
        if any(self._world.lights.values()):
            groups |= ActionGroup.LIGHT
        return groups

    # Commands.

    def obey(self, message: SimpitMessage) -> None:
        """Carry out a device's message; what the aircraft has no counterpart for is ignored."""
        if isinstance(message, simpit.ActionGroups):
            self._act(message)
        elif isinstance(message, simpit.CustomActionGroups):
            for group in message.groups:
                if message.verb == 'activate':
                    self._custom.add(group)
                elif message.verb == 'deactivate':
                    self._custom.discard(group)
                else:
                    self._custom ^= {group}
        elif isinstance(message, simpit.Rotation):
            axes = (('elevator', message.pitch), ('aileron', message.roll),
                    ('rudder', message.yaw))
            self._world.aircraft.set_controls(**{
                name: axis / _FULL for bit, (name, axis) in enumerate(axes)
                if message.mask >> bit & 1})
        elif isinstance(message, simpit.Throttle):
            self._world.set_throttle_handles(
                [message.throttle / _FULL] * self._world.aircraft.engine_count)

    def _act(self, message: simpit.ActionGroups) -> None:
        now = self.groups
        if message.verb == 'activate':
            after = now | message.action_bits
        elif message.verb == 'deactivate':
            after = now & ~message.action_bits
        else:
            after = now ^ message.action_bits
        changed = now ^ after
        aircraft = self._world.aircraft
        if ActionGroup.GEAR in changed:
            aircraft.set_controls(gear=float(ActionGroup.GEAR in after))
        if ActionGroup.BRAKES in changed:
            aircraft.set_controls(parking_brake=float(ActionGroup.BRAKES in after))
        if ActionGroup.LIGHT in changed:
            self._world.lights.update(
                dict.fromkeys(self._world.lights, int(ActionGroup.LIGHT in after)))
        self._groups = after & _WITHOUT_PARTS


def _axis(value: float) -> int:
    return round(min(max(value, -1.0), 1.0) * _FULL)


def _direction(north: float, east: float, down: float) -> tuple[float, float]:
    """Return the heading 0..360 and pitch of a velocity, in degrees."""
    return (math.degrees(math.atan2(east, north)) % 360.0,
            math.degrees(math.atan2(-down, math.hypot(north, east))))
