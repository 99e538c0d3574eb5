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

"""autopilot_node: fly any vehicle of this package through its common topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, make_dataclass
from functools import partial
import math
import time
from typing import Any

from sensor_msgs.msg import Imu, NavSatFix
from std_srvs.srv import SetBool

from xplane_bridge.autopilot import Autopilot, check_targets, Gains, Measurement, Target
from xplane_bridge.conversions import frames
from xplane_bridge.conversions.masks import Mask
from xplane_bridge.conversions.units import DEGREE
from xplane_bridge.conversions.vehicle import Controls
from xplane_bridge.msg import AirData, AutopilotTarget, FlightControls
from xplane_bridge.nodes.base import BaseParameters, BridgeNode
from xplane_bridge.nodes.controls import CONTROLS_MASK, fill_controls
from xplane_bridge.nodes.diagnostics import OK, STALE, Status, WARN
from xplane_bridge.nodes.parameters import parameter
from xplane_bridge.nodes.running import run
from xplane_bridge.nodes.vehicle import LATCHED

# Topics of one update of a vehicle, all of which lockstep waits for.
_UPDATE = ('fix', 'air_data', 'controls', 'imu/data')
# Updates that may be incomplete at any time: messages of different topics overtake each other.
_INCOMPLETE = 8
# A simulator in lockstep that still sends the same state after this long, and has repeated it this
# often, has lost the command. Time alone is not proof: on a busy machine the command may be in
# transit, and a second one would count for the next state. More than any subscription here holds;
# and after a silence as long as the last one all counts anew: what a bridge that was stopped finds
# in its socket is older than the command.
_REPEAT_AFTER = 1.0
_REPEATED = 20
_SILENCE = 0.5

_TARGET_MASK = Mask(AutopilotTarget)

# Altitude and airspeed older than this are not used; the bridge's watchdog then acts.
_OLDEST = 0.5


@dataclass(frozen=True)
class _OwnParameters(BaseParameters):
    """Parameters of autopilot_node, without the gains."""

    engage: bool = parameter(False, 'Engage as soon as telemetry arrives.')
    engage_at: float = parameter(
        math.nan, 'Stamp of imu/data, s, at which, or after which, it engages; NaN is never.',
        live=True)
    altitude: float = parameter(
        math.nan, 'Target when engaging: metres above the WGS-84 ellipsoid, as in fix; NaN holds '
        'the current altitude.')
    true_heading_deg: float = parameter(
        math.nan, 'Target when engaging: degrees clockwise from true north; NaN holds the '
        'current heading.')
    airspeed: float = parameter(
        math.nan, 'Target when engaging: indicated airspeed, m/s; NaN holds the current one.')
    lockstep: bool = parameter(
        False, 'Command once per stamp, when imu/data, fix, air_data and controls of that stamp '
        'have arrived: for a simulator in lockstep behind a bridge with stamp: simulator.')
    hold_at: float = parameter(
        math.nan, 'In lockstep: stamp of imu/data, s, from which on nothing is commanded until '
        'this is set to a later one; NaN is never.', live=True)
    subscribers: int = parameter(
        0, 'In lockstep: how many subscribers command/controls must have before the first '
        'command, so that none misses it; until then the simulation waits.', minimum=0, live=True)


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
    Run the control law for each imu/data, with the newest fix and air_data.

    It needs no other topics, so it flies any vehicle bridged by this package. In lockstep it runs
    once for each update of the vehicle, using only that update.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('autopilot_node', AutopilotParameters, **options)

    def check(self, given: Any) -> None:
        """Refuse targets that cannot be flown."""
        check_targets({name: value for name, value in _wanted(given).items() if value == value})

    def open(self) -> None:
        """Create topics and the service."""
        self._law = Autopilot(self._gains(self.parameters))
        self._altitude = self._airspeed = (math.nan, 0.0)
        self._reported = Controls()
        self._engaged = False
        self._wants_to_engage = self.parameters.engage
        self._engage_at = _at(self.parameters.engage_at)
        self._hold_at = _at(self.parameters.hold_at)
        self._subscribers = self.parameters.subscribers
        # What the control law has for the update that is held.
        self._held: tuple[Measurement, float] | None = None
        self._last: tuple[Measurement, int] | None = None
        self._updates = 0
        self._incomplete: dict[int, dict[str, Any]] = {}
        self._commanded_at = 0.0
        self._repeated = 0
        self._heard_at = 0.0
        self._command = FlightControls()
        self._command_publisher = self.make_publisher(FlightControls, 'command/controls', 1)
        self._target_publisher = self.make_publisher(
            AutopilotTarget, 'autopilot/active_target', LATCHED)
        handlers = {
            'fix': (NavSatFix, self._on_fix),
            'air_data': (AirData, self._on_air_data),
            'controls': (FlightControls, self._on_controls),
            'imu/data': (Imu, self._on_imu),
        }
        self._handlers = {topic: handler for topic, (_, handler) in handlers.items()}
        for topic, (kind, handler) in handlers.items():
            self.make_command(
                kind, topic, partial(self._gather, topic) if self.parameters.lockstep else handler,
                10)
        self.make_command(AutopilotTarget, 'autopilot/target', self._on_target)
        self.make_service(SetBool, 'autopilot/engage', self._on_engage)

    def begin(self) -> None:
        """Wait for telemetry."""

    def end(self) -> None:
        """Stop commanding."""
        self._engaged = False
        self._held = None

    def close(self) -> None:
        """Do nothing: only topics were opened."""

    def changed(self, given: Any) -> None:
        """Use new gains, engage at a new stamp, or hold at another one."""
        self._law.gains = self._gains(given)
        if given.engage_at != self.parameters.engage_at:
            self._engage_at = _at(given.engage_at)
            if given.lockstep and not self._engaged and self._last is not None and (
                    self._last[1] >= self._engage_at):
                # The simulator waits at this update.
                self._fly(*self._last, 0.0)
        self._hold_at = _at(given.hold_at)
        if given.subscribers != self.parameters.subscribers:
            self._subscribers = given.subscribers
        self._release()

    @staticmethod
    def _gains(given: Any) -> Gains:
        return Gains(**{gain.name: getattr(given, gain.name) for gain in fields(Gains)})

    # Telemetry.

    def _gather(self, topic: str, message: Any) -> None:
        """Handle the messages of one update when the last of them has arrived."""
        stamp = _nanoseconds(message)
        update = self._incomplete.setdefault(stamp, {})
        update[topic] = message
        if len(update) < len(_UPDATE):
            if len(self._incomplete) > _INCOMPLETE:
                del self._incomplete[next(iter(self._incomplete))]
            return
        self._incomplete = {
            at: others for at, others in self._incomplete.items() if at > stamp}
        now = time.monotonic()
        if now - self._heard_at > _SILENCE:
            self._commanded_at, self._repeated = now, 0
        self._heard_at = now
        if self._engaged and self._last is not None and stamp == self._last[1]:
            # The simulator has not advanced yet. A command for its next state would be wrong.
            self._repeated += 1
            self._release()
            if self._held is None and self._repeated > _REPEATED and (
                    now - self._commanded_at > _REPEAT_AFTER):
                self._publish_command()
            return
        for name in _UPDATE:
            self._handlers[name](update[name])

    def _on_fix(self, message: NavSatFix) -> None:
        self._altitude = (message.altitude, time.monotonic())

    def _on_air_data(self, message: AirData) -> None:
        speed = message.indicated_airspeed
        if math.isnan(speed):
            speed = message.true_airspeed
        self._airspeed = (speed, time.monotonic())

    def _on_controls(self, message: FlightControls) -> None:
        self._reported = Controls(**CONTROLS_MASK.known(message))

    def _on_imu(self, message: Imu) -> None:
        measurement = self._measure(message)
        if measurement is None:
            return
        stamp = _nanoseconds(message)
        last, self._last = self._last, (measurement, stamp)
        self._fly(measurement, stamp, 0.0 if last is None else (stamp - last[1]) * 1e-9)

    def _fly(self, measurement: Measurement, stamp: int, elapsed: float) -> None:
        """Engage if that is due; command if engaged, unless this update is held."""
        if not self._engaged and stamp >= self._engage_at:
            self._engage_at, self._wants_to_engage = math.inf, True
        if self._wants_to_engage and not self._engaged:
            self._engage(measurement, _wanted(self.parameters))
            # Engaged now, whatever the previous update was.
            elapsed = 0.0
        if self._engaged:
            self._held = measurement, elapsed
            self._release()

    def _release(self) -> None:
        """Command for the update that is held, unless it still is to be."""
        if self._held is None or self._last is None or self._last[1] >= self._hold_at:
            return
        if self._subscribers:
            if self._command_publisher.get_subscription_count() < self._subscribers:
                return
            self._subscribers = 0
        (measurement, elapsed), self._held = self._held, None
        controls = self._law.update(measurement, elapsed)
        stamp = self._command.header.stamp
        stamp.sec, stamp.nanosec = divmod(self._last[1], 1_000_000_000)
        fill_controls(self._command, controls)
        self._publish_command()
        self._updates += 1

    def _publish_command(self) -> None:
        self._commanded_at = time.monotonic()
        self._repeated = 0
        self._command_publisher.publish(self._command)

    def _measure(self, message: Imu) -> Measurement | None:
        """Return the control law's input, or None while something is missing or stale."""
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
        given = _TARGET_MASK.given(message)
        check_targets(given)
        self._set_target(given)

    def _set_target(self, given: Mapping[str, float]) -> None:
        """Hold the given targets from now on; those not given, or NaN, keep their value."""
        old = self._law.target
        target = {
            'altitude': old.altitude, 'true_heading': old.heading, 'airspeed': old.airspeed}
        target.update({name: value for name, value in given.items() if value == value})
        self._law.target = Target(
            target['altitude'], target['true_heading'], target['airspeed'])
        message = AutopilotTarget()
        _TARGET_MASK.fill(message, target)
        # There is a state: a target is set only while the autopilot is engaged.
        if self._last is not None:
            stamp = message.header.stamp
            stamp.sec, stamp.nanosec = divmod(self._last[1], 1_000_000_000)
        self._target_publisher.publish(message)

    def _on_engage(self, request: SetBool.Request, response: SetBool.Response) -> None:
        if not request.data:
            self._disengage()
            response.message = 'disengaged; the controls keep their positions'
        elif self._engaged:
            response.message = 'already engaged'
        elif self.parameters.lockstep:
            # At this update or the next, whichever came first, runs would not be reproducible.
            self._wants_to_engage = True
            response.message = 'engages at the update for which the simulator waits'
        elif self._last is None or time.monotonic() - self._altitude[1] > _OLDEST:
            raise ValueError('no telemetry: imu/data, fix and air_data must arrive first')
        else:
            self._engage(self._last[0], {})
            response.message = 'engaged; holding the current state'
        response.success = True

    def _disengage(self) -> None:
        self._engaged = self._wants_to_engage = False
        self._held = None

    def _engage(self, measurement: Measurement, target: Mapping[str, float]) -> None:
        self._law.engage(measurement, self._reported)
        self._engaged = True
        self._set_target(target)
        self.get_logger().info('engaged')

    def diagnose(self) -> Sequence[Status]:
        """Return the state of the autopilot."""
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
                ('target true heading, deg', f'{target.heading / DEGREE:.1f}'),
                ('target airspeed, m/s', f'{target.airspeed:.1f}'),
            ),
        ),)


def _wanted(given: Any) -> dict[str, float]:
    """Return the targets set by the parameters, NaN for none."""
    return {'altitude': given.altitude, 'true_heading': given.true_heading_deg * DEGREE,
            'airspeed': given.airspeed}


def _nanoseconds(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec * 1_000_000_000 + stamp.nanosec)


def _at(seconds: float) -> float:
    """Return a stamp in nanoseconds, infinity for NaN."""
    return math.inf if math.isnan(seconds) else round(seconds * 1e9)


def main(args: Sequence[str] | None = None) -> int:
    """Run autopilot_node; return the process's exit code."""
    return run(AutopilotNode, AutopilotParameters, args)
