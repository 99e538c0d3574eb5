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

"""The flight of one scenario: what happens when, by topics, services and parameters only."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
import math
import os
import signal
import threading
import time
from typing import Any

import numpy as np
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.time import Time
from std_srvs.srv import SetBool

from xplane_bridge.conversions.masks import Mask
from xplane_bridge.conversions.units import DEGREE
from xplane_bridge.experiments.analysis import Series
from xplane_bridge.experiments.guidance import Guidance
from xplane_bridge.experiments.monitor import Monitor
from xplane_bridge.experiments.peers import KEPT
from xplane_bridge.experiments.processes import Processes
from xplane_bridge.experiments.quantities import stamp_of
from xplane_bridge.experiments.scenario import Event, Scenario
from xplane_bridge.experiments.verdict import flown_step, Made
from xplane_bridge.experiments.view import View
from xplane_bridge.msg import AutopilotTarget, FlightControls

START_TIMEOUT = 30.0
RECORDERS = ('record', 'rosbag2_recorder')
_NEEDED = ('fix', 'imu/data', 'air_data')
_SHOWN = (*_NEEDED, 'odom', 'controls')
_ANSWER_TIMEOUT = 10.0
# A service's response is lost while it does not know of its client yet: then it is asked again.
_ASK_AGAIN_AFTER = 1.0
# Events that a busy machine makes later than this are said to be late.
_LATE = 0.5
# Telemetry that stays away for longer, without a scenario that wants it, ends the experiment.
_LONGEST_SILENCE = 5.0
# How long the flight waits for a message before it looks at the time.
_TICK = 0.02
_CONTROLS_MASK = Mask(FlightControls)
_TARGET_MASK = Mask(AutopilotTarget)
_SURFACES = ('elevator', 'aileron', 'rudder')
_IN_LOCKSTEP = (*_SURFACES, 'throttle')
# A world in lockstep that has not gone on for so long, and has said so as often, has lost its
# command. Time alone does not tell: on a busy machine the command may still be under way.
_REPEAT_AFTER = 1.0
_REPEATED = 20
# A new heading target is sent when it differs by more.
_HEADING_STEP = 0.25 * DEGREE


class ExperimentFailure(Exception):
    """The experiment cannot go on; the text says why."""


class Run:
    """
    Fly a scenario on a vehicle below a namespace that has a bridge and an autopilot.

    In lockstep the autopilot's commands come on autopilot/controls, and are handed on when all
    that the scenario wants at their stamp has been done: so each run does the same at the same
    frame, with one command for each. ``begin`` is the stamp of the scenario's time 0, ``flown``
    how far it got (s), and ``made`` the events that have been made.
    """

    def __init__(
        self, node: Node, namespace: str, scenario: Scenario, monitor: Monitor, view: View,
        processes: Processes, autopilot_pid: int | None = None, lockstep: bool = False,
    ) -> None:
        self._node = node
        self._namespace = namespace
        self._scenario = scenario
        self._monitor = monitor
        self._view = view
        self._processes = processes
        self._autopilot_pid = autopilot_pid
        self._lockstep = lockstep
        self._controls = node.create_publisher(
            FlightControls, f'{namespace}/command/controls', KEPT)
        self._targets = node.create_publisher(AutopilotTarget, f'{namespace}/autopilot/target', 1)
        self._engage: Any = node.create_client(SetBool, f'{namespace}/autopilot/engage')
        self._parameters: dict[str, Any] = {
            name: node.create_client(
                SetParametersAtomically, f'{namespace}/{name}/set_parameters_atomically')
            for name in ('simulator_node', 'autopilot_node')}
        self._commands: deque[FlightControls] = deque()
        if lockstep:
            node.create_subscription(
                FlightControls, f'{namespace}/autopilot/controls', self._on_command, 10)
        self.begin = math.nan
        self.flown = 0.0
        self.made: list[Made] = []
        self._waiting: list[Made] = []
        self.guidance: Guidance | None = None
        self._events = deque(scenario.events)
        self._held: tuple[Event, float, float] | None = None
        self._engaged = False
        self._silence_wanted = False
        self._heading = math.nan
        self._standing: dict[str, float] = {}
        self._handed_on: tuple[float, FlightControls] | None = None
        self._phase = scenario.name
        self._frozen = False

    def fly(self) -> None:
        """Fly it to its end; ExperimentFailure if that cannot be."""
        self._wait_for_telemetry()
        try:
            if self._lockstep:
                self._fly_in_lockstep()
            else:
                self._fly_by_the_clock()
        finally:
            if self._frozen:
                self._freeze_autopilot(False)

    # Before it begins.

    def _wait_for_telemetry(self) -> None:
        counts = self._monitor.counts
        deadline = time.monotonic() + START_TIMEOUT
        while not self._monitor.wait_for(
            lambda: all(counts[topic] for topic in _NEEDED), _TICK
        ):
            if failed := self._processes.failed():
                raise ExperimentFailure(failed)
            if time.monotonic() < deadline:
                continue
            missing = ', '.join(topic for topic in _NEEDED if not counts[topic])
            raise ExperimentFailure(
                f'no message on {missing} within {START_TIMEOUT:.0f} s; {self._why()}')
        if not self._engage.wait_for_service(START_TIMEOUT):
            raise ExperimentFailure(
                self._processes.failed() or 'the autopilot offers no service autopilot/engage')
        with self._monitor.arrived:
            arrived = [topic for topic in _SHOWN if counts[topic]]
        self._wait_for_recorder(arrived)
        self._wait_for_listeners()
        self._check_alone()
        self._view.say(f'receiving telemetry on {", ".join(arrived)}')

    def _wait_for_recorder(self, arrived: Sequence[str]) -> None:
        for name in ('imu/data', 'command/controls'):
            topic = f'{self._namespace}/{name}'
            if not self._monitor.wait_for(
                lambda topic=topic: any(
                    info.node_name in RECORDERS
                    for info in self._node.get_subscriptions_info_by_topic(topic)),
                START_TIMEOUT,
            ):
                raise ExperimentFailure(
                    f'the recorder has not subscribed to {topic}; {self._why()}')
        # That it listens does not mean that it hears yet. Ours says when it does.
        heard = {f'recording {self._namespace}/{topic}' for topic in arrived}
        if self._processes.runs('record') and not self._monitor.wait_for(
            lambda: heard <= set(self._processes.said('record')), START_TIMEOUT
        ):
            raise ExperimentFailure(f'the recorder does not receive all of {", ".join(arrived)}')

    def _wait_for_listeners(self) -> None:
        """Wait until who listens to the experiment hears it, and who is asked answers."""
        for publisher in (self._controls, self._targets):
            topic, count = publisher.topic_name, publisher.get_subscription_count
            if not self._monitor.wait_for(count, START_TIMEOUT):
                raise ExperimentFailure(f'no subscriber on {topic}; {self._why()}')
            self._monitor.wait_for(
                lambda topic=topic, count=count: count() >= self._node.count_subscribers(topic),
                _LONGEST_SILENCE)
        # Called once now, so that they answer at once when the scenario is at it.
        self.call(self._engage, SetBool.Request(data=False), 'autopilot/engage')
        if self._lockstep:
            self._set('autopilot_node', [])
        if self._scenario.needs_simulator():
            self._set('simulator_node', [])

    def _check_alone(self) -> None:
        others = self._node.count_publishers(f'{self._namespace}/imu/data') - 1
        if others > 0:
            raise ExperimentFailure(
                f'{self._namespace}/imu/data has {others} more publisher{"s" * (others > 1)}, '
                'perhaps of another experiment; give this one its own --namespace or '
                'ROS_DOMAIN_ID')

    def _why(self) -> str:
        """Return what is known about why nothing comes."""
        failed = self._processes.failed()
        with self._monitor.arrived:
            peers = [f'{name}: {text}' for name, text in self._monitor.diagnostics.items()
                     if name.endswith(': peer')]
        return failed or '; '.join(peers) or 'the log says more'

    # Time.

    def _now(self) -> float:
        """Return the time in the stamps' clock, seconds."""
        return float(self._node.get_clock().now().nanoseconds) * 1e-9

    def _fly_by_the_clock(self) -> None:
        monitor = self._monitor
        self.begin = self._now()
        heard, heard_at = -1, self.begin
        while (now := self._now()) < self.begin + self._scenario.duration:
            with monitor.arrived:
                count = monitor.counts['imu/data']
            if count != heard or self._silence_wanted:
                heard, heard_at = count, now
            elif now - heard_at > _LONGEST_SILENCE:
                raise ExperimentFailure(f'telemetry stopped; {self._why()}')
            if failed := self._processes.failed():
                raise ExperimentFailure(failed)
            self._act(now)
            self._hold(now)
            with monitor.arrived:
                monitor.arrived.wait(_TICK)
        # What is due at the very end.
        self._act(now)

    def _fly_in_lockstep(self) -> None:
        last = -math.inf
        while True:
            stamp, command = self._next_turn()
            if math.isnan(self.begin):
                self.begin = stamp
            if stamp > last:
                last = stamp
                was_engaged = self._engaged
                self._act(stamp)
                if self.flown == self._scenario.duration:
                    return
                if self._engaged and not was_engaged:
                    # Then the autopilot commands at this stamp already.
                    continue
            if command is None:
                command = self._own_command(stamp)
            self._standing = {name: getattr(command, name) for name in _IN_LOCKSTEP}
            self._handed_on = stamp, command
            self._controls.publish(command)

    def _next_turn(self) -> tuple[float, FlightControls | None]:
        """
        Wait for what the world waits for; return its stamp.

        With it comes the autopilot's command, or None while it does not fly.
        """
        monitor, stamps = self._monitor, self._monitor.stamps
        done, command = self._handed_on or (-math.inf, None)

        def autopilot() -> bool:
            # A command that was repeated has been handed on already.
            while self._commands and stamp_of(self._commands[0]) <= done:
                self._commands.popleft()
            return bool(self._commands) and (
                'odom' not in stamps or stamps['odom'] >= stamp_of(self._commands[0]))

        def vehicle() -> bool:
            return stamps['imu/data'] > done and (
                stamps.get('controls', -math.inf) >= stamps['imu/data'])

        waited, heard = 0.0, monitor.counts['imu/data']
        while not monitor.wait_for(autopilot if self._engaged else vehicle, _REPEAT_AFTER):
            waited += _REPEAT_AFTER
            if waited >= _LONGEST_SILENCE or self._processes.failed():
                raise ExperimentFailure(f'lockstep has stalled; {self._why()}')
            # A second command for one state would be taken as one for the next.
            repeated = monitor.counts['imu/data'] - heard
            if command is not None and stamps['imu/data'] <= done and repeated > _REPEATED:
                self._controls.publish(command)
                heard = monitor.counts['imu/data']
        with monitor.arrived:
            if self._engaged:
                command = self._commands.popleft()
                return stamp_of(command), command
            return stamps['imu/data'], None

    def _on_command(self, command: FlightControls) -> None:
        with self._monitor.arrived:
            self._commands.append(command)
            self._monitor.arrived.notify_all()

    def _own_command(self, stamp: float) -> FlightControls:
        """Return the controls as they stand, but for those that the scenario holds."""
        values = dict(self._standing) or {
            name: self._monitor.last(name) for name in _IN_LOCKSTEP}
        if self._held is not None:
            event, end, _ = self._held
            if stamp < end:
                values.update(event.value)
            else:
                values.update({name: 0.0 for name in event.value if name in _SURFACES})
                self._let_go()
        return self._command({
            name: 0.0 if math.isnan(value) else value for name, value in values.items()})

    def _command(self, values: Mapping[str, float]) -> FlightControls:
        """Return a command of these; the others stay as they are."""
        command = FlightControls()
        _CONTROLS_MASK.fill(command, values)
        # As the autopilot's: the stamp of the telemetry that it answers.
        command.header.stamp = Time(seconds=self._monitor.stamps['imu/data']).to_msg()
        return command

    # What happens.

    def _act(self, now: float) -> None:
        """Do all that is due."""
        # Others may come later, or be known of later, than this began.
        self._check_alone()
        over = now >= self.begin + self._scenario.duration
        self.flown = self._scenario.duration if over else now - self.begin
        while self._events and self._events[0].at <= self.flown:
            event = self._events.popleft()
            if self.flown - event.at > _LATE:
                self._view.say(
                    f'{self.flown:5.1f} s  {event}: {self.flown - event.at:.1f} s late')
            made = Made(event, self.flown, self._before(event))
            self._do(event, now)
            self.made.append(made)
            if event.expect is not None:
                self._waiting.append(made)
        route = self._scenario.route
        if route is not None and self.flown >= route.begin:
            self._follow(now)
        self._judge_steps()
        self._view.update(self._phase, self.flown / self._scenario.duration)

    def _before(self, event: Event) -> float:
        if event.action != 'change' or len(event.value) != 1:
            return math.nan
        name, = event.value
        return self._monitor.last(f'target_{name}')

    def _do(self, event: Event, now: float) -> None:
        self._phase = str(event)
        if event.action == 'engage':
            self._engage_autopilot(event.value, now)
        elif event.action == 'controls':
            self._held = event, now + event.lasts, self._monitor.last('pitch')
        elif event.action in ('target', 'change'):
            self._set_target({
                name: value + (self._monitor.last(f'target_{name}')
                               if event.action == 'change' else 0.0)
                for name, value in event.value.items()})
        elif event.action == 'autopilot_frozen':
            self._freeze_autopilot(event.value)
        else:
            self._disturb(event.action, event.value)
        if event.expect is None and event.action != 'controls':
            self._view.say(f'{self.flown:5.1f} s  {event}')

    def _hold(self, now: float) -> None:
        """Keep commanding what a scenario holds by hand, then centre it."""
        if self._held is None:
            return
        event, end, _ = self._held
        if now < end:
            self._controls.publish(self._command(event.value))
            return
        self._controls.publish(self._command({
            name: 0.0 for name in event.value if name in _SURFACES}))
        self._let_go()

    def _let_go(self) -> None:
        assert self._held is not None
        event, end, pitch = self._held
        self._held = None
        with self._monitor.arrived:
            _, values = self._monitor.series['pitch'].since(end - event.lasts)
        risen = (max(values, default=math.nan) - pitch) / DEGREE
        self._view.say(f'{event} pitched the aircraft by {risen:+.1f} deg')

    def _engage_autopilot(self, on: bool, now: float) -> None:
        counts = self._monitor.counts
        before = counts['autopilot/active_target']
        if on and self._lockstep:
            # It may be behind with what it has heard; so it is told at which stamp.
            self._set('autopilot_node', [Parameter(name='engage_at', value=_double(now))])
        else:
            deadline = time.monotonic() + _ANSWER_TIMEOUT
            while True:
                response = self.call(self._engage, SetBool.Request(data=on), 'autopilot/engage')
                if response.success:
                    break
                if time.monotonic() > deadline:
                    raise ExperimentFailure(f'the autopilot does not engage: {response.message}')
                # It may not have heard yet what was heard here: on a busy machine topics are
                # matched one by one.
                heard = counts['imu/data']
                self._monitor.wait_for(
                    lambda heard=heard: counts['imu/data'] > heard, _ASK_AGAIN_AFTER)
        self._engaged = on
        if on and not self._monitor.wait_for(
            lambda: counts['autopilot/active_target'] > before, _ANSWER_TIMEOUT
        ):
            raise ExperimentFailure('the autopilot does not report its target')

    def _set_target(self, values: dict[str, float]) -> None:
        given = dict(values)
        if 'heading' in given:
            # Change by change it may have gone round more often than a target may.
            heading = given.pop('heading')
            given['true_heading'] = (
                math.remainder(heading, math.tau) if abs(heading) > math.tau else heading)
        message = AutopilotTarget()
        _TARGET_MASK.fill(message, given)
        counts = self._monitor.counts
        with self._monitor.arrived:
            before = counts['autopilot/active_target']
        self._targets.publish(message)
        if self._lockstep and not self._monitor.wait_for(
            lambda: counts['autopilot/active_target'] > before, _ANSWER_TIMEOUT
        ):
            raise ExperimentFailure('the autopilot does not accept its target')

    def _disturb(self, name: str, value: bool | Sequence[float]) -> None:
        """Set a live parameter of simulator_node."""
        self._set('simulator_node', [Parameter(
            name=name, value=_boolean(value) if isinstance(value, bool) else _doubles(value))])
        if name == 'link_down':
            self._silence_wanted = bool(value)

    def _set(self, node: str, parameters: Sequence[Parameter]) -> None:
        """Set live parameters of a node."""
        result = self.call(
            self._parameters[node], SetParametersAtomically.Request(parameters=parameters),
            node).result
        if not result.successful:
            raise ExperimentFailure(
                f'{node} refuses {", ".join(one.name for one in parameters)}: {result.reason}')

    def _freeze_autopilot(self, on: bool) -> None:
        """Stop the autopilot's process, or let it go on: its commands stop coming."""
        assert self._autopilot_pid is not None
        os.kill(self._autopilot_pid, signal.SIGSTOP if on else signal.SIGCONT)
        self._frozen = on

    def call(self, client: Any, request: Any, what: str) -> Any:
        """Return the response to a request that may come twice."""
        if not client.wait_for_service(_ANSWER_TIMEOUT):
            raise ExperimentFailure(self._processes.failed() or f'{what} is not offered')
        answered = threading.Event()
        futures = []
        for _ in range(round(_ANSWER_TIMEOUT / _ASK_AGAIN_AFTER)):
            futures.append(client.call_async(request))
            futures[-1].add_done_callback(lambda _: answered.set())
            if answered.wait(_ASK_AGAIN_AFTER):
                return next(future.result() for future in futures if future.done())
        raise ExperimentFailure(self._processes.failed() or f'{what} does not respond')

    def _follow(self, now: float) -> None:
        """Send the heading that the route wants."""
        route = self._scenario.route
        assert route is not None
        east, north = self._monitor.last('east'), self._monitor.last('north')
        if math.isnan(east):
            raise ExperimentFailure('the route needs odom, which this simulator does not provide')
        if self.guidance is None:
            self.guidance = Guidance(route, east, north)
        passed = len(self.guidance.passed)
        self._phase = f'route, leg {passed + 1}'
        heading = self.guidance.heading(now - self.begin, east, north)
        if self.guidance.done:
            self._phase = 'route complete'
        if len(self.guidance.passed) > passed:
            _, across = self.guidance.passed[-1]
            self._view.say(
                f'{self.flown:5.1f} s  waypoint {len(self.guidance.passed)}, cross-track '
                f'{across:+.0f} m')
        if not abs(math.remainder(heading - self._heading, math.tau)) < _HEADING_STEP:
            self._heading = heading
            self._set_target({'heading': heading})

    def _judge_steps(self) -> None:
        """Say how a step was flown when its time is over."""
        for made in list(self._waiting):
            expect = made.event.expect
            assert expect is not None
            if self.flown < made.at + expect.until - made.event.at:
                continue
            self._waiting.remove(made)
            name, = made.event.value
            with self._monitor.arrived:
                times, values = self._monitor.series[name].since(self.begin + made.at)
            try:
                self._view.say(str(flown_step(
                    {name: Series(np.asarray(times) - self.begin, np.asarray(values))}, made)))
            except ValueError as error:
                self._view.say(str(error))


def _boolean(value: bool) -> ParameterValue:
    return ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=value)


def _double(value: float) -> ParameterValue:
    return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)


def _doubles(values: Sequence[float]) -> ParameterValue:
    return ParameterValue(
        type=ParameterType.PARAMETER_DOUBLE_ARRAY, double_array_value=list(values))
