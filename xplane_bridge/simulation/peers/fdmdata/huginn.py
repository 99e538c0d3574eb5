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

"""Huginn from its start to its end, as the real program was measured to be; without sockets."""

from collections.abc import Callable
import math

from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.fdmdata.protocol import Command
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.simulation.aircraft.state import (
    AILERON_SIGN,
    AircraftState,
    ELEVATOR_SIGN,
    RUDDER_SIGN,
)
from xplane_bridge.simulation.peers.world import World


class Huginn:
    """
    Huginn from its start to its end, without sockets.

    It answers with the aircraft's state at the last ``step``. ``held`` starts as the real program
    does: paused until it is resumed.
    """

    def __init__(self, world: World, held: bool = False) -> None:
        self.world = world
        self.poisoned = False
        if held:
            world.paused = True
        self.step()

    def step(self) -> None:
        """Take the values to answer with from now on."""
        self._state = self.world.aircraft.state

    def answer(self, data: bytes) -> bytes:
        """Return the reply to a datagram at the data port; there is always one."""
        try:
            request = fdmdata.decode(data, 'bridge')
        except ProtocolError:
            request = None
        if not isinstance(request, fdmdata.SensorRequest):
            return fdmdata.encode(fdmdata.ErrorReply())
        return fdmdata.encode(self.reading(request.command))

    def reading(self, command: Command) -> fdmdata.SensorReply:
        """Return what it replies to a command, in double precision yet."""
        reply = _SENSORS[command](self._state)
        if self.poisoned and command is not Command.MAGNETOMETER:
            reply = type(reply)(*(math.nan for _ in reply.__slots__))
        return reply

    def control(self, data: bytes) -> None:
        """Process a datagram at the controls port; one of another length is silently dropped."""
        try:
            controls = fdmdata.decode(data, 'bridge')
        except ProtocolError:
            return
        if not isinstance(controls, fdmdata.ControlPositions):
            return
        values = (controls.aileron, controls.elevator, controls.rudder, controls.throttle)
        if any(math.isnan(value) for value in values):
            # The real one does not clamp it, and it stays in the flight model for good. The
            # other frontends of this aircraft are not affected.
            self.poisoned = True
            return
        aileron, elevator, rudder = (min(max(value, -1.0), 1.0) for value in values[:3])
        self.world.aircraft.set_controls(
            aileron=AILERON_SIGN * aileron,
            elevator=ELEVATOR_SIGN * elevator,
            rudder=RUDDER_SIGN * rudder,
            throttle=min(max(controls.throttle, 0.0), 1.0),
        )

    def pause(self) -> bool:
        """Pause the simulation."""
        self.world.paused = True
        return True

    def resume(self) -> bool:
        """Resume the simulation."""
        self.world.paused = False
        return True

    def reset(self) -> bool:
        """Return to the initial conditions; a pause and NaN persist."""
        self.world.reset_flight()
        return not self.poisoned


def _degrees(state: AircraftState) -> tuple[float, float, float]:
    return math.degrees(state.phi), math.degrees(state.theta), math.degrees(state.psi) % 360.0


_SENSORS: dict[Command, Callable[[AircraftState], fdmdata.SensorReply]] = {
    Command.GPS: lambda s: fdmdata.GpsReply(
        s.lat_geocentric_deg, s.lon_deg, s.altitude_msl, s.tas, _degrees(s)[2]),
    Command.ACCELEROMETER: lambda s: fdmdata.AccelerometerReply(s.f_eye_x, s.f_eye_y, s.f_eye_z),
    Command.GYROSCOPE: lambda s: fdmdata.GyroscopeReply(
        math.degrees(s.p), math.degrees(s.q), math.degrees(s.r)),
    Command.MAGNETOMETER: lambda _: fdmdata.MagnetometerReply(0.0, 0.0, 0.0),
    Command.THERMOMETER: lambda s: fdmdata.ThermometerReply(s.temperature),
    Command.PITOT_TUBE: lambda s: fdmdata.PitotTubeReply(s.qbar),
    Command.STATIC_PRESSURE: lambda s: fdmdata.StaticPressureReply(s.static_pressure),
    Command.INS: lambda s: fdmdata.InsReply(
        *_degrees(s), s.lat_geocentric_deg, s.lon_deg, s.tas, s.altitude_msl),
}
