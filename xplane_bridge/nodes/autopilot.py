"""autopilot_node: fly any vehicle of this package by its common topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, make_dataclass
import math
import time
from typing import Any

from sensor_msgs.msg import Imu, NavSatFix
from std_srvs.srv import SetBool

from xplane_bridge.autopilot import Autopilot, Gains, Measurement, Target
from xplane_bridge.conversions import frames
from xplane_bridge.conversions.units import DEGREE
from xplane_bridge.conversions.vehicle import Controls
from xplane_bridge.msg import AirData, AutopilotTarget, FlightControls
from xplane_bridge.nodes.base import BaseParameters, BridgeNode, OK, run, STALE, Status, WARN
from xplane_bridge.nodes.parameters import parameter
from xplane_bridge.nodes.vehicle import CONTROLS, LATCHED

# Altitude and airspeed older than this are not flown by; the bridge's watchdog then acts.
_OLDEST = 0.5


@dataclass(frozen=True)
class _OwnParameters(BaseParameters):
    """Parameters of autopilot_node, without the gains."""

    engage: bool = parameter(False, 'Engage as soon as telemetry arrives.')
    altitude: float = parameter(
        math.nan, 'Target at engaging: metres above the WGS-84 ellipsoid, as in fix; NaN holds '
        'what is flown.')
    heading_deg: float = parameter(
        math.nan, 'Target at engaging: degrees clockwise from true north; NaN holds what is '
        'flown.')
    airspeed: float = parameter(
        math.nan, 'Target at engaging: indicated airspeed, m/s; NaN holds what is flown.')


AutopilotParameters = make_dataclass(
    'AutopilotParameters',
    [
        (gain.name, float, parameter(
            gain.default, 'Gain or limit of the control law; see autopilot.py.', live=True,
            name=f'gains.{gain.name}'))
        for gain in fields(Gains)
    ],
    bases=(_OwnParameters,), frozen=True)


class AutopilotNode(BridgeNode[Any]):
    """
    Run the control law at each imu/data, on the newest fix and air_data.

    It needs no other topics, so it flies whatever this package bridges.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('autopilot_node', AutopilotParameters, **options)

    def open(self) -> None:
        """Make topics and the service."""
        self._law = Autopilot(self._gains(self.parameters))
        self._altitude = self._airspeed = (math.nan, 0.0)
        self._reported = Controls()
        self._engaged = False
        self._wants_to_engage = self.parameters.engage
        self._last: tuple[Measurement, int] | None = None
        self._updates = 0
        self._command = FlightControls()
        self._command_publisher = self.make_publisher(FlightControls, 'command/controls', 1)
        self._target_publisher = self.make_publisher(
            AutopilotTarget, 'autopilot/active_target', LATCHED)
        self.make_command(Imu, 'imu/data', self._on_imu, 10)
        self.make_command(NavSatFix, 'fix', self._on_fix, 10)
        self.make_command(AirData, 'air_data', self._on_air_data, 10)
        self.make_command(FlightControls, 'controls', self._on_controls, 10)
        self.make_command(AutopilotTarget, 'autopilot/target', self._on_target)
        self.make_service(SetBool, 'autopilot/engage', self._on_engage)

    def begin(self) -> None:
        """Wait for telemetry."""

    def end(self) -> None:
        """Stop commanding."""
        self._engaged = False

    def close(self) -> None:
        """Nothing but topics was opened."""

    def changed(self, given: Any) -> None:
        """Use new gains."""
        self._law.gains = self._gains(given)

    @staticmethod
    def _gains(given: Any) -> Gains:
        return Gains(**{gain.name: getattr(given, gain.name) for gain in fields(Gains)})

    # Telemetry.

    def _on_fix(self, message: NavSatFix) -> None:
        self._altitude = (message.altitude, time.monotonic())

    def _on_air_data(self, message: AirData) -> None:
        speed = message.indicated_airspeed
        if math.isnan(speed):
            speed = message.true_airspeed
        self._airspeed = (speed, time.monotonic())

    def _on_controls(self, message: FlightControls) -> None:
        self._reported = Controls(**{
            name: None if math.isnan(value := getattr(message, name)) else value
            for name in CONTROLS
        })

    def _on_imu(self, message: Imu) -> None:
        measurement = self._measure(message)
        if measurement is None:
            return
        stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        last, self._last = self._last, (measurement, stamp)
        if self._wants_to_engage and not self._engaged:
            given = self.parameters
            self._engage(measurement, AutopilotTarget(
                altitude=given.altitude, heading=given.heading_deg * DEGREE,
                airspeed=given.airspeed))
        if not self._engaged or last is None:
            return
        controls = self._law.update(measurement, (stamp - last[1]) * 1e-9)
        self._command.header.stamp = message.header.stamp
        for name in CONTROLS:
            value = getattr(controls, name)
            setattr(self._command, name, math.nan if value is None else value)
        self._command_publisher.publish(self._command)
        self._updates += 1

    def _measure(self, message: Imu) -> Measurement | None:
        """Return what the law needs, or None while something is missing or old."""
        now = time.monotonic()
        (altitude, altitude_at), (airspeed, airspeed_at) = self._altitude, self._airspeed
        if (
            message.orientation_covariance[0] == -1.0
            or message.angular_velocity_covariance[0] == -1.0
            or now - min(altitude_at, airspeed_at) > _OLDEST
            or not math.isfinite(altitude + airspeed)
        ):
            return None
        orientation = message.orientation
        roll, pitch, yaw = frames.quaternion_to_euler(
            (orientation.w, orientation.x, orientation.y, orientation.z))
        rates = message.angular_velocity
        roll_rate, pitch_rate, yaw_rate = frames.flu_to_frd((rates.x, rates.y, rates.z))
        return Measurement(
            roll=roll, pitch=-pitch, heading=frames.yaw_to_heading(yaw), roll_rate=roll_rate,
            pitch_rate=pitch_rate, yaw_rate=yaw_rate, altitude=altitude, airspeed=airspeed)

    # Commands.

    def _on_target(self, message: AutopilotTarget) -> None:
        if not self._engaged:
            raise ValueError('the autopilot is not engaged; call autopilot/engage first')
        self._set_target(message)

    def _set_target(self, message: AutopilotTarget) -> None:
        old = self._law.target
        given = (message.altitude, message.heading, message.airspeed)
        if any(map(math.isinf, given)):
            raise ValueError(f'a target must be finite, or NaN to leave it: {given}')
        altitude, heading, airspeed = (
            before if math.isnan(new) else new
            for new, before in zip(
                given, (old.altitude, old.heading, old.airspeed), strict=True))
        self._law.target = Target(altitude, heading, airspeed)
        self._target_publisher.publish(AutopilotTarget(
            altitude=altitude, heading=heading, airspeed=airspeed))

    def _on_engage(self, request: SetBool.Request, response: SetBool.Response) -> None:
        if not request.data:
            self._engaged = self._wants_to_engage = False
            response.message = 'disengaged; the controls stay as they are'
        elif self._engaged:
            response.message = 'engaged already'
        elif self._last is None or time.monotonic() - self._altitude[1] > _OLDEST:
            raise ValueError('no telemetry: imu/data, fix and air_data must arrive first')
        else:
            self._engage(self._last[0], AutopilotTarget(
                altitude=math.nan, heading=math.nan, airspeed=math.nan))
            response.message = 'engaged; holding what is flown'
        response.success = True

    def _engage(self, measurement: Measurement, target: AutopilotTarget) -> None:
        self._law.engage(measurement, self._reported)
        self._engaged = True
        self._set_target(target)
        self.get_logger().info('engaged')

    def diagnose(self) -> Sequence[Status]:
        """Return what the autopilot does."""
        now = time.monotonic()
        fresh = now - min(self._altitude[1], self._airspeed[1]) < _OLDEST
        target = self._law.target
        return (Status(
            'autopilot',
            OK if fresh else STALE if not self._engaged else WARN,
            ('engaged' if self._engaged else 'not engaged')
            + ('' if fresh else '; no telemetry arrives'),
            (
                ('updates', str(self._updates)),
                ('target altitude, m', f'{target.altitude:.1f}'),
                ('target heading, deg', f'{target.heading / DEGREE:.1f}'),
                ('target airspeed, m/s', f'{target.airspeed:.1f}'),
            ),
        ),)


def main(args: Sequence[str] | None = None) -> int:
    """Run autopilot_node; return the process's exit code."""
    return run(AutopilotNode, args)
