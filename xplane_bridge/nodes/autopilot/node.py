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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
import math
import time
from typing import Any

from std_srvs.srv import SetBool

from xplane_bridge.control.cascade import Cascade
from xplane_bridge.control.gains import Gains
from xplane_bridge.control.measurement import Measurement
from xplane_bridge.control.targets import check_targets, Target
from xplane_bridge.conversions.masks import Mask
from xplane_bridge.conversions.units import DEGREE
from xplane_bridge.msg import AutopilotTarget, FlightControls
from xplane_bridge.nodes.autopilot.parameters import AutopilotParameters
from xplane_bridge.nodes.autopilot.telemetry import nanoseconds, Telemetry
from xplane_bridge.nodes.autopilot.waiting import Waiting
from xplane_bridge.nodes.base import BridgeNode
from xplane_bridge.nodes.controls import fill_controls
from xplane_bridge.nodes.diagnostics import OK, STALE, Status, WARN
from xplane_bridge.nodes.latched import LATCHED
from xplane_bridge.nodes.running import run

# A simulator in lockstep that still sends the same state after this long, and has repeated it this
# often, has lost the command. Time alone is not proof: on a busy machine the command may be in
# transit, and a second one would count for the next state. More than any subscription here holds;
# and after a silence as long as the last one all counts anew: what a bridge that was stopped finds
# in its socket is older than the command.
_REPEAT_AFTER = 1.0
_REPEATED = 20
_SILENCE = 0.5

_TARGET_MASK = Mask(AutopilotTarget)


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
        self._law = Cascade(self._gains(self.parameters))
        self._engaged = False
        self._wants_to_engage = self.parameters.engage
        self._engage_at = _at(self.parameters.engage_at)
        self._hold_at = _at(self.parameters.hold_at)
        self._subscribers = self.parameters.subscribers
        # What the control law has for the update that is held.
        self._held: tuple[Measurement, float] | None = None
        self._last: tuple[Measurement, int] | None = None
        self._waiting = Waiting()
        self._updates = 0
        # The state that was last commanded for.
        self._commanded_for: int | None = None
        self._commanded_at = 0.0
        self._repeated = 0
        self._heard_at = 0.0
        self._command = FlightControls()
        self._command_publisher = self.make_publisher(FlightControls, 'command/controls', 1)
        self._target_publisher = self.make_publisher(
            AutopilotTarget, 'autopilot/active_target', LATCHED)
        self._telemetry = Telemetry(self, self.parameters.lockstep, self._on_state)
        self.make_command(AutopilotTarget, 'target', self._on_target, 10, latched=True)
        self.make_service(SetBool, 'autopilot/engage', self._on_engage)

    def begin(self) -> None:
        """Wait for telemetry."""

    def end(self) -> None:
        """Stop commanding."""
        self._disengage()
        self._waiting.clear()

    def close(self) -> None:
        """Do nothing: only topics were opened."""

    def changed(self, given: Any) -> None:
        """Use new gains, engage at a new stamp, or hold at another one."""
        self._law.gains = self._gains(given)
        self._hold_at = _at(given.hold_at)
        if given.subscribers != self.parameters.subscribers:
            self._subscribers = given.subscribers
        if given.engage_at != self.parameters.engage_at:
            self._engage_at = _at(given.engage_at)
            self._reconsider()
        self._release()

    @staticmethod
    def _gains(given: Any) -> Gains:
        return Gains(**{gain.name: getattr(given, f'gain_{gain.name}') for gain in fields(Gains)})

    # The state.

    def _on_state(self, stamp: int) -> None:
        if self.parameters.lockstep and self._is_repeated(stamp):
            return
        measurement = self._telemetry.measure()
        if measurement is None:
            return
        last, self._last = self._last, (measurement, stamp)
        self._fly(measurement, stamp, 0.0 if last is None else (stamp - last[1]) * 1e-9)

    def _is_repeated(self, stamp: int) -> bool:
        """Return whether this state is flown already; command again if that was lost."""
        now = time.monotonic()
        if now - self._heard_at > _SILENCE:
            self._commanded_at, self._repeated = now, 0
        self._heard_at = now
        if not self._engaged or self._last is None or stamp != self._last[1]:
            return False
        # The simulator has not advanced yet. A command for its next state would be wrong.
        self._repeated += 1
        self._release()
        if self._held is None and self._repeated > _REPEATED and (
                now - self._commanded_at > _REPEAT_AFTER):
            self._publish_command()
        return True

    def _fly(self, measurement: Measurement, stamp: int, elapsed: float) -> None:
        """Do and engage what is due; command if engaged, unless this update is held."""
        was_engaged = self._engaged
        self._do_due(stamp)
        if not self._engaged and stamp >= self._engage_at:
            self._engage_at, self._wants_to_engage = math.inf, True
        if self._wants_to_engage and not self._engaged:
            self._engage(measurement, _wanted(self.parameters))
        if self._engaged:
            # Engaged now, it does not matter what the previous update was.
            self._held = measurement, elapsed if was_engaged else 0.0
            self._release()

    def _do_due(self, stamp: int) -> None:
        for topic, do in self._waiting.due(stamp):
            try:
                do()
            except ValueError as error:
                self.refuse(topic, error)

    def _reconsider(self) -> None:
        """
        Do what has become due after its state has arrived.

        In lockstep the simulator waits at that state: it is commanded for unless it has been.
        """
        if self._last is None:
            return
        measurement, stamp = self._last
        if self.parameters.lockstep:
            if self._held is not None:
                self._fly(self._held[0], stamp, self._held[1])
            elif stamp != self._commanded_for:
                self._fly(measurement, stamp, 0.0)
            else:
                self._do_due(stamp)
        elif self._telemetry.is_fresh:
            self._do_due(stamp)

    def _release(self) -> None:
        """Command for the update that is held, unless it still is to be."""
        if self._held is None or self._last is None or self._last[1] >= self._hold_at:
            return
        if self._subscribers:
            if self._command_publisher.get_subscription_count() < self._subscribers:
                return
            self._subscribers = 0
        (measurement, elapsed), self._held = self._held, None
        self._commanded_for = self._last[1]
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

    # Commands.

    def _on_target(self, message: AutopilotTarget) -> None:
        if message.fields & AutopilotTarget.RELEASE:
            if message.fields != AutopilotTarget.RELEASE:
                raise ValueError('RELEASE (32) goes alone: it gives up all that is held')
            self._await('target', message, self._disengage)
            return
        given = _TARGET_MASK.given(message)
        check_targets(given)
        self._await('target', message, partial(self._take_target, given))

    def _await(self, topic: str, message: Any, do: Callable[[], None]) -> None:
        """Do something at the first state for which a command holds, which may have come."""
        self._waiting.add(nanoseconds(message), topic, do, self._last[1] if self._last else None)
        self._reconsider()

    def _take_target(self, given: Mapping[str, float]) -> None:
        assert self._last is not None
        if self._engaged:
            self._set_target(given)
        else:
            self._engage(self._last[0], given)

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
        elif self._last is None or not self._telemetry.is_fresh:
            raise ValueError('no telemetry: imu/data, fix and air_data must arrive first')
        else:
            self._engage(self._last[0], {})
            response.message = 'engaged; holding the current state'
        response.success = True

    def _disengage(self) -> None:
        self._engaged = self._wants_to_engage = False
        self._held = None

    def _engage(self, measurement: Measurement, target: Mapping[str, float]) -> None:
        self._law.engage(measurement, self._telemetry.reported)
        self._engaged = True
        self._set_target(target)
        self.get_logger().info('engaged')

    def diagnose(self) -> Sequence[Status]:
        """Return the state of the autopilot."""
        fresh = self._telemetry.is_fresh
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


def _at(seconds: float) -> float:
    """Return a stamp in nanoseconds, infinity for NaN."""
    return math.inf if math.isnan(seconds) else round(seconds * 1e9)


def main(args: Sequence[str] | None = None) -> int:
    """Run autopilot_node; return the process's exit code."""
    return run(AutopilotNode, AutopilotParameters, args)
