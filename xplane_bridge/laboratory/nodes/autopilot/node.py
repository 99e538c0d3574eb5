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
from functools import partial
import math
import time
from typing import Any

from sensor_msgs.msg import Joy
from std_srvs.srv import SetBool

from xplane_bridge.bridges.conversions.topics import AIRFRAME_TOPIC, VEHICLE
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import OK, Status
from xplane_bridge.bridges.nodes.common.running import run
from xplane_bridge.bridges.nodes.common.waiting import StampedCommands
from xplane_bridge.bridges.nodes.vehicle.controls import control_numbers
from xplane_bridge.bridges.nodes.vehicle.namespaces import make_vehicle_nodes, VehicleNode
from xplane_bridge.bridges.nodes.vehicle.templates import Template
from xplane_bridge.bridges.nodes.vehicle.updates import nanoseconds
from xplane_bridge.common.controls import CONTROLS
from xplane_bridge.common.timing import SECOND_NS
from xplane_bridge.laboratory.control.gains import read_parameters
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.runway.autopilot import Autopilot
from xplane_bridge.laboratory.control.targets import check_targets, Level
from xplane_bridge.laboratory.nodes.autopilot.actions import Actions
from xplane_bridge.laboratory.nodes.autopilot.goals import Ask, Asker
from xplane_bridge.laboratory.nodes.autopilot.joystick import (
    Joystick,
    JoystickRequest,
    JoystickSettings,
)
from xplane_bridge.laboratory.nodes.autopilot.levels import Levels
from xplane_bridge.laboratory.nodes.autopilot.parameters import (
    AutopilotParameters,
    read_envelope,
    read_gains,
    read_joystick,
    read_performance,
    read_targets,
    stamp_at,
)
from xplane_bridge.laboratory.nodes.autopilot.reports import (
    autopilot_status,
    AutopilotReports,
    envelope_status,
    JOYSTICK,
    OFF,
)
from xplane_bridge.laboratory.nodes.autopilot.telemetry import AutopilotTelemetry
from xplane_bridge.laboratory.nodes.flight.recorders import RecorderWait
from xplane_bridge.laboratory.nodes.messages.newest import STATE
from xplane_bridge.laboratory.sensors.topics import SENSED, TRUTH
from xplane_bridge.msg import AutopilotTarget, FlightControls

# What is published of a vehicle in each frame; behind sensors the bridge's topics are elsewhere.
_OF_FRAMES = (*VEHICLE, *(f'{TRUTH}/{topic}' for topic in SENSED), AIRFRAME_TOPIC,
              'command/controls', '/clock')

# The pilot's joystick as a topic: joy.

class Pilot:
    """
    Hears ``joy``; calls ``take_over()`` and ``give_back()`` when the pilot asks for it.

    ``in_charge`` says whether the joystick's controls are commanded; ``now`` is the time of the
    newest state, in seconds.
    """

    def __init__(
        self, node: BridgeNode[Any], settings: JoystickSettings, take_over: Callable[[], None],
        give_back: Callable[[], None],
    ) -> None:
        self._node = node
        self._take_over = take_over
        self._give_back = give_back
        self.now = 0.0
        self._taken_over = self._fell_silent = 0
        self.joystick = Joystick(settings)
        node.make_command(Joy, 'joy', self._on_joy)

    @property
    def in_charge(self) -> bool:
        """Return whether the joystick flies."""
        return self.joystick.in_charge

    @in_charge.setter
    def in_charge(self, value: bool) -> None:
        self.joystick.in_charge = value

    def check_not_in_charge(self) -> None:
        """Raise ValueError while the joystick flies."""
        if self.in_charge:
            raise ValueError(
                'the joystick is in charge: its button joystick.give_back_button '
                f'({self.joystick.settings.give_back_button}) gives back')

    def mind_silence(self) -> None:
        """Give back if a joystick in charge has fallen silent."""
        if self.in_charge and self.joystick.is_silent(self.now):
            self._fell_silent += 1
            self._node.warn('joystick', (
                f'joy has been silent for {self.joystick.settings.timeout:g} s while the joystick '
                'was in charge: altitude, course and airspeed are held'))
            self._give_back()

    def _on_joy(self, message: Joy) -> None:
        asked = self.joystick.on_joy(message.axes, message.buttons, self.now)
        if asked is JoystickRequest.TAKE_OVER:
            self._take_over()
            self._taken_over += 1
            self._node.inform('joystick', 'the joystick has taken over')
        elif asked is JoystickRequest.GIVE_BACK:
            self._give_back()
            self._node.inform(
                'joystick', 'the joystick has given back: altitude, course and airspeed are held')

    def diagnose(self) -> Status:
        """Return whether the joystick is in charge."""
        return Status(
            'joystick', OK,
            'in charge' if self.in_charge else 'not in charge',
            (('taken over', str(self._taken_over)), ('fell silent', str(self._fell_silent))))


# A simulator in lockstep that still sends the same state after this long, and has repeated it this
# often, has lost the command. Time alone is not proof: on a busy machine the command may be in
# transit, and a second one would count for the next state. More than any subscription here holds;
# and after a silence as long as the last one all counts anew: what a bridge that was stopped finds
# in its socket is older than the command.
_REPEAT_AFTER = 1.0
_REPEATED = 20
_SILENCE = 0.5

# Further from the origin of the local frame than this (m), a new one is better.
_FAR = 20e3

# What happens to the controls is the bridge's part.
_DISENGAGED = (
    'disengaged: no more commands are sent; after its command_timeout the bridge does what its '
    'on_command_timeout says (neutral centres the surfaces, hold leaves all controls as they are, '
    'release gives them back)')


# So many diagnostics after its start an autopilot says whose telemetry nobody publishes.
_PATIENCE = 5


class AutopilotNode(VehicleNode[Any]):
    """
    Run the cascade for each imu/data, with the newest fix, air_data and odom.

    It flies any vehicle bridged by this package, at the level that was commanded last, or lets a
    joystick. In lockstep it runs once for each update of the vehicle, using only that update.
    """

    def __init__(self, **options: Any) -> None:
        self._gains_of: tuple[str, ...] = ()
        self._no_gains = ''
        super().__init__('autopilot_node', AutopilotParameters, **options)

    def defaults(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is known of the aircraft in gains_of."""
        names = given.get('gains_of') or ()
        self._gains_of = (names,) if isinstance(names, str) else tuple(map(str, names))
        if not self._gains_of:
            return {}
        try:
            return read_parameters(self._gains_of[min(self.number, len(self._gains_of) - 1)])
        except ValueError as error:
            self._no_gains = f'parameter gains_of: {error}'
            return {}

    def check(self, given: Any) -> None:
        """Refuse targets that cannot be flown, and limits that are not possible."""
        super().check(given)
        if given.gains_of != self._gains_of:
            raise ValueError(
                'parameter gains_of: it is used only when the node is created, expected '
                f'{list(self._gains_of)}, got {list(given.gains_of)}')
        if self._no_gains:
            raise ValueError(self._no_gains)
        check_targets({
            name: value for name, value in read_targets(given).items() if value == value})
        read_gains(given)
        read_envelope(given, None)
        read_performance(given)

    def open(self) -> None:
        """Create topics, the action and the service."""
        given = self.parameters
        self._cascade = Autopilot(
            read_gains(given), read_envelope(given, None), read_performance(given))
        # Behind sensors only a range finder knows the height above a runway to a metre.
        self._cascade.exact = not given.behind_sensors
        self._engaged = False
        self._wants_to_engage = given.engage
        self._engage_at = stamp_at(given.engage_at)
        self._hold_at = stamp_at(given.hold_at)
        self._subscribers = given.subscribers
        self._recorder = RecorderWait(self, _OF_FRAMES) if given.wait_for_recorder else None
        # What the control law has for the update that is held.
        self._held: tuple[Measurement, float] | None = None
        self._last: tuple[Measurement, int] | None = None
        self._waiting = StampedCommands()
        self._updates = 0
        self._limited = 0
        # Diagnostics in a row in which nobody published its telemetry.
        self._unheard = 0
        # The state for which this was last commanded, and the one that was last commanded for.
        self._asked_for, self._commanded_for = -1, -1
        self._commanded_at = 0.0
        self._repeated = 0
        self._heard_at = 0.0
        self._prepared = Template(FlightControls(), 'header.stamp', 'fields', *CONTROLS)
        # The last one, as it is published.
        self._command: Any = FlightControls()
        self._command_publisher = self.make_publisher(FlightControls, 'command/controls', 1)
        self._telemetry = AutopilotTelemetry(
            self, given.lockstep, given.behind_sensors, self._on_state)
        self._reports = AutopilotReports(self, self._telemetry)
        self._fence_frame = self._telemetry.local
        self._levels = Levels(
            self, self._cascade, self._telemetry, self._take_command, self._take_release)
        self._actions = Actions(self, self._cascade, self._telemetry, self._levels, Asker(
            self._ask, self._await, self._hold))
        self._entities.append((Actions.retire, self._actions))
        self._pilot = Pilot(self, read_joystick(given), self._take_over, self._give_back)
        self.make_service(SetBool, 'autopilot/engage', self._on_engage)

    def begin(self) -> None:
        """Wait for telemetry."""
        self._report()

    def end(self) -> None:
        """Stop commanding."""
        self._disengage('autopilot_node has been deactivated')
        self._waiting.clear()

    def close(self) -> None:
        """Do nothing: only topics were opened."""

    def changed(self, given: Any) -> None:
        """Use new gains and limits, engage at a new stamp, or hold at another one."""
        self._cascade.gains = read_gains(given)
        self._cascade.performance = read_performance(given)
        envelope = read_envelope(given, self._telemetry.local)
        # NaN is not equal to itself.
        if repr(envelope) != repr(self._cascade.envelope):
            self._cascade.envelope = envelope
        self._pilot.joystick.settings = read_joystick(given)
        self._hold_at = stamp_at(given.hold_at)
        if given.subscribers != self.parameters.subscribers:
            self._subscribers = given.subscribers
        if given.engage_at != self.parameters.engage_at:
            self._engage_at = stamp_at(given.engage_at)
            self._reconsider()
        self._release()

    # The state.

    def _on_state(self, stamp: int) -> None:
        if self.parameters.lockstep and self._is_repeated(stamp):
            return
        measurement = self._telemetry.measure()
        if measurement is None:
            return
        self._mind_the_frame(measurement)
        last, self._last = self._last, (measurement, stamp)
        self._pilot.now = stamp * 1e-9
        self._fly(measurement, stamp, 0.0 if last is None else (stamp - last[1]) * 1e-9)

    def _mind_the_frame(self, measurement: Measurement) -> None:
        """Express the geofence in the local frame, whose origin must not be too far away."""
        telemetry = self._telemetry
        if math.hypot(measurement.east, measurement.north) > _FAR and (
                self._cascade.level not in (Level.RUNWAY, Level.PATH)):
            telemetry.move_frame()
        if telemetry.local is not self._fence_frame:
            self._fence_frame = telemetry.local
            if self.parameters.geofence_deg:
                self._cascade.envelope = read_envelope(self.parameters, telemetry.local)

    def _is_repeated(self, stamp: int) -> bool:
        """Return whether this state has been flown; send its command again if it was lost."""
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
        """Do what is due, then command if engaged, unless this update is held."""
        was_engaged = self._engaged
        self._do_due(stamp)
        if not self._engaged and stamp >= self._engage_at:
            self._engage_at, self._wants_to_engage = math.inf, True
        if self._wants_to_engage and not self._engaged:
            self._engage(measurement, read_targets(self.parameters))
            self._report()
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

        In lockstep the simulator waits at that state, so it gets a command unless it has one.
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
        """Send the command for the update that was held, unless it is still to be held."""
        if self._held is None or self._last is None or self._last[1] >= self._hold_at:
            return
        if self.parameters.wait_for_command and self.parameters.lockstep and (
                self._asked_for < self._last[1]):
            return
        if self._subscribers:
            if self._command_publisher.get_subscription_count() < self._subscribers:
                return
            self._subscribers = 0
        if self._recorder is not None:
            if not self._recorder.is_over(time.monotonic()):
                return
            self._recorder = None
        (measurement, elapsed), self._held = self._held, None
        self._commanded_for = stamp = self._last[1]
        self._pilot.mind_silence()
        if self._pilot.in_charge:
            controls = self._pilot.joystick.controls(elapsed)
        else:
            controls = self._cascade.update(measurement, elapsed)
            self._pilot.joystick.follow(controls, elapsed)
        self._command = self._prepared.filled(
            *divmod(stamp, SECOND_NS), *control_numbers(controls))
        self._publish_command()
        self._updates += 1
        self._actions.advance(stamp * 1e-9)
        self._report()

    def _publish_command(self) -> None:
        self._commanded_at = time.monotonic()
        self._repeated = 0
        self._command_publisher.publish(self._command)

    # Commands.

    def _take_command(self, topic: str, message: Any, ask: Ask) -> None:
        """Command the cascade from the first state on that a message is meant for."""
        self._pilot.check_not_in_charge()
        self._asked_for = nanoseconds(message)
        self._await(topic, message, partial(self._ask, topic, ask))

    def _take_release(self, message: AutopilotTarget) -> None:
        self._await(
            'command/target', message,
            partial(self._disengage, 'command/target has released'))

    def _await(self, topic: str, message: Any, do: Callable[[], None]) -> None:
        """Do something at the first state that a command is meant for: perhaps this one."""
        self._waiting.add(
            nanoseconds(message), topic, do, self._last[1] if self._last else None)
        self._reconsider()

    def _ask(self, topic: str, ask: Ask) -> None:
        """Command the cascade, which engages it. Raises ValueError if it refuses."""
        self._pilot.check_not_in_charge()
        assert self._last is not None
        was_engaged = self._engaged
        if not was_engaged:
            self._engage(self._last[0], {})
        try:
            said = ask()
        except ValueError:
            if not was_engaged:
                self._let_go()
            raise
        self._say_limits(topic, said)
        self._actions.commanded(topic)
        self._report(again=topic != 'command/attitude' and topic != 'command/rates')

    def _say_limits(self, topic: str, said: Sequence[str]) -> None:
        self._limited += len(said)
        for sentence in said:
            self.warn(f'envelope {topic}', f'{topic}: {sentence}')

    def _hold(self) -> None:
        """Hold the present altitude, course and airspeed."""
        if self._engaged and not self._pilot.in_charge:
            self._say_limits('hold', self._cascade.hold())
            self._report(again=True)

    def _on_engage(self, request: SetBool.Request, response: SetBool.Response) -> None:
        if not request.data:
            engaged = self._engaged or self._wants_to_engage
            self._disengage('autopilot/engage has released')
            response.message = _DISENGAGED if engaged else 'not engaged'
        elif self._pilot.in_charge:
            self._pilot.check_not_in_charge()
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
            self._report()
            response.message = 'engaged; holding the current state'
        response.success = True

    def _engage(self, measurement: Measurement, target: Mapping[str, float]) -> None:
        self._cascade.engage(measurement, self._telemetry.reported)
        self._pilot.joystick.forget()
        self._engaged = True
        self._wants_to_engage = False
        self._say_limits('engage', self._cascade.change_target(
            {name.removeprefix('true_'): value for name, value in target.items()}))
        self.get_logger().info('engaged')

    def _disengage(self, why: str) -> None:
        self._let_go()
        self._actions.end(why)
        self._report()

    def _let_go(self) -> None:
        self._engaged = self._wants_to_engage = False
        self._held = None
        self._pilot.in_charge = False

    # The joystick.

    def _take_over(self) -> None:
        """Let the joystick fly. Raises ValueError without a state."""
        if self._last is None or not (self.parameters.lockstep or self._telemetry.is_fresh):
            raise ValueError('no telemetry: imu/data, fix and air_data must arrive first')
        self._actions.end('the joystick has taken over')
        if not self._engaged:
            self._engage(self._last[0], {})
            self._pilot.joystick.follow(self._telemetry.reported, 0.0)
        self._pilot.in_charge = True
        self._report()
        self._reconsider()

    def _give_back(self) -> None:
        """Hold what the joystick leaves behind."""
        assert self._last is not None
        self._pilot.in_charge = False
        self._cascade.engage(self._last[0], self._pilot.joystick.controls(0.0))
        self._hold()

    # Reports.

    @property
    def _level(self) -> str:
        if not self._engaged:
            return OFF
        return JOYSTICK if self._pilot.in_charge else self._cascade.level.value

    def _report(self, again: bool = False) -> None:
        """Publish level and target if they have changed, the target also ``again``."""
        self._reports.publish(
            self._level, self._cascade, self._last[1] if self._last else 0, again)

    def diagnose(self) -> Sequence[Status]:
        """Return the state of the autopilot, of its envelope, and of the joystick."""
        limits = self._cascade.limits if self._engaged and not self._pilot.in_charge else ()
        return (
            autopilot_status(
                self._engaged, self._telemetry, self._cascade.target, self._silence(),
                ('level', self._level), ('phase', self._cascade.phase),
                ('updates', str(self._updates)),
                ('commands waiting for their stamp', str(len(self._waiting)))),
            envelope_status(limits, self._limited), self._pilot.diagnose())

    def _silence(self) -> str:
        """Return why no telemetry arrives, as far as that is known, and log it once."""
        topic = self.resolve_topic_name(STATE)
        if self._telemetry.is_fresh or self.count_publishers(topic):
            self._unheard = 0
            return ''
        self._unheard += 1
        if self._unheard == _PATIENCE:
            self.warn('publishers', (
                f'nobody publishes {topic}: there is no such aircraft, or its bridge has not been '
                'started'))
        return f'nobody publishes {topic}'


def main(args: Sequence[str] | None = None) -> int:
    """Run autopilot_node, or one for each of ``namespaces``; return the process's exit code."""
    return run(
        lambda: make_vehicle_nodes(AutopilotNode, 'autopilot_node'), AutopilotParameters, args)
