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
from collections.abc import Mapping
import math
import os
import signal
import threading
from typing import Any

import numpy as np
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.time import Time
from std_srvs.srv import SetBool

from xplane_bridge.conversions.units import DEGREE
from xplane_bridge.experiments.analysis import Series
from xplane_bridge.experiments.guidance import Guidance
from xplane_bridge.experiments.monitor import Monitor
from xplane_bridge.experiments.processes import Processes
from xplane_bridge.experiments.quantities import stamp_of
from xplane_bridge.experiments.scenario import CONTROLS, Event, Scenario
from xplane_bridge.experiments.verdict import flown_step, Made
from xplane_bridge.experiments.view import View
from xplane_bridge.msg import AutopilotTarget, FlightControls

START_TIMEOUT = 30.0
RECORDERS = ('record', 'rosbag2_recorder')
_NEEDED = ('fix', 'imu/data', 'air_data')
_SHOWN = (*_NEEDED, 'odom', 'controls')
_ANSWER_TIMEOUT = 10.0
# Telemetry that stays away for longer, without a scenario that wants it, ends the experiment.
_LONGEST_SILENCE = 5.0
# How long the flight waits for a message before it looks at the time.
_TICK = 0.02
_SURFACES = ('elevator', 'aileron', 'rudder')
_IN_LOCKSTEP = (*_SURFACES, 'throttle')
# A new heading target is sent when it differs by more.
_HEADING_STEP = 0.25 * DEGREE


class ExperimentFailure(Exception):
    """The experiment cannot go on; the text says why."""


class Run:
    """
    Fly a scenario on a vehicle below a namespace that has a bridge and an autopilot.

    In lockstep the autopilot's commands come on autopilot/controls, and are handed on when all
    that the scenario wants at their stamp has been done: so each run does the same at the same
    frame. ``begin`` is the stamp of the scenario's time 0, ``flown`` how far it got (s), and
    ``made`` the events that have been made.
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
            FlightControls, f'{namespace}/command/controls', 1)
        self._targets = node.create_publisher(AutopilotTarget, f'{namespace}/autopilot/target', 1)
        self._engage: Any = node.create_client(SetBool, f'{namespace}/autopilot/engage')
        self._simulator: Any = node.create_client(
            SetParametersAtomically, f'{namespace}/simulator_node/set_parameters_atomically')
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
        if not self._monitor.wait_for(
            lambda: all(counts[topic] for topic in _NEEDED), START_TIMEOUT
        ):
            missing = ', '.join(topic for topic in _NEEDED if not counts[topic])
            raise ExperimentFailure(
                f'nothing arrived on {missing} within {START_TIMEOUT:.0f} s; {self._why()}')
        if not self._engage.wait_for_service(START_TIMEOUT):
            raise ExperimentFailure(
                self._processes.failed() or 'the autopilot does not offer its service')
        others = self._node.count_publishers(f'{self._namespace}/imu/data') - 1
        if others:
            raise ExperimentFailure(
                f'{others} more publish {self._namespace}/imu/data, as another experiment does; '
                'give this one a --namespace or a ROS_DOMAIN_ID of its own')
        for name in ('imu/data', 'command/controls'):
            topic = f'{self._namespace}/{name}'
            if not self._monitor.wait_for(
                lambda topic=topic: any(
                    info.node_name in RECORDERS
                    for info in self._node.get_subscriptions_info_by_topic(topic)),
                START_TIMEOUT,
            ):
                raise ExperimentFailure(f'the recorder does not listen to {topic}; {self._why()}')
        with self._monitor.arrived:
            arrived = [topic for topic in _SHOWN if counts[topic]]
        self._view.say(f'telemetry arrives on {", ".join(arrived)}')

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
        self.flown = self._scenario.duration
        self._judge_steps()

    def _fly_in_lockstep(self) -> None:
        last = -math.inf
        while True:
            stamp, command = self._next_turn(last)
            if math.isnan(self.begin):
                self.begin = stamp
            if stamp > last:
                last = stamp
                if stamp >= self.begin + self._scenario.duration:
                    self.flown = self._scenario.duration
                    self._judge_steps()
                    return
                was_engaged = self._engaged
                self._act(stamp)
                if self._engaged and not was_engaged:
                    # Then the autopilot commands at this stamp already.
                    continue
            if command is None:
                command = self._own_command(stamp)
            self._standing = {name: getattr(command, name) for name in _IN_LOCKSTEP}
            self._controls.publish(command)

    def _next_turn(self, last: float) -> tuple[float, FlightControls | None]:
        """Wait for what the world waits for: the autopilot's command, or ours before it flies."""
        def autopilot() -> bool:
            return bool(self._commands) and (
                'odom' not in stamps or stamps['odom'] >= stamp_of(self._commands[0]))

        monitor, stamps, counts = self._monitor, self._monitor.stamps, self._monitor.counts
        with monitor.arrived:
            heard = counts['imu/data']
        waited = 0.0
        while True:
            if self._engaged:
                if monitor.wait_for(autopilot, 1.0):
                    command = self._commands.popleft()
                    return stamp_of(command), command
            elif monitor.wait_for(
                # Repeated, as a command may get lost.
                lambda: (stamps['imu/data'] > last or counts['imu/data'] > heard + 50)
                and stamps.get('controls', -math.inf) >= stamps['imu/data'], 1.0
            ):
                return stamps['imu/data'], None
            waited += 1.0
            if waited >= _LONGEST_SILENCE or self._processes.failed():
                raise ExperimentFailure(f'lockstep stands still; {self._why()}')

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
        command = FlightControls(**{name: values.get(name, math.nan) for name in CONTROLS})
        # As the autopilot's: the stamp of the telemetry that it answers.
        command.header.stamp = Time(seconds=self._monitor.stamps['imu/data']).to_msg()
        return command

    # What happens.

    def _act(self, now: float) -> None:
        """Do all that is due."""
        self.flown = min(now - self.begin, self._scenario.duration)
        while self._events and self._events[0].at <= self.flown:
            event = self._events.popleft()
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
            self._call_engage(event.value)
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
            self._disturb(event)
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

    def _call_engage(self, on: bool) -> None:
        counts = self._monitor.counts
        before = counts['autopilot/active_target']
        response = self._call(self._engage, SetBool.Request(data=on), 'autopilot/engage')
        if not response.success:
            raise ExperimentFailure(f'the autopilot does not engage: {response.message}')
        self._engaged = on
        if on and not self._monitor.wait_for(
            lambda: counts['autopilot/active_target'] > before, _ANSWER_TIMEOUT
        ):
            raise ExperimentFailure('the autopilot does not say its target')

    def _set_target(self, values: dict[str, float]) -> None:
        message = AutopilotTarget(altitude=math.nan, heading=math.nan, airspeed=math.nan)
        for name, value in values.items():
            setattr(message, name, value)
        counts = self._monitor.counts
        with self._monitor.arrived:
            before = counts['autopilot/active_target']
        self._targets.publish(message)
        if self._lockstep and not self._monitor.wait_for(
            lambda: counts['autopilot/active_target'] > before, _ANSWER_TIMEOUT
        ):
            raise ExperimentFailure('the autopilot does not take its target')

    def _disturb(self, event: Event) -> None:
        """Set a live parameter of simulator_node."""
        value = ParameterValue()
        if isinstance(event.value, bool):
            value.type = ParameterType.PARAMETER_BOOL
            value.bool_value = event.value
        else:
            value.type = ParameterType.PARAMETER_DOUBLE_ARRAY
            value.double_array_value = list(event.value)
        request = SetParametersAtomically.Request(
            parameters=[Parameter(name=event.action, value=value)])
        result = self._call(self._simulator, request, 'simulator_node').result
        if not result.successful:
            raise ExperimentFailure(f'simulator_node refuses {event.action}: {result.reason}')
        if event.action == 'link_down':
            self._silence_wanted = event.value

    def _freeze_autopilot(self, on: bool) -> None:
        """Stop the autopilot's process, or let it go on: its commands stop coming."""
        assert self._autopilot_pid is not None
        os.kill(self._autopilot_pid, signal.SIGSTOP if on else signal.SIGCONT)
        self._frozen = on

    def _call(self, client: Any, request: Any, what: str) -> Any:
        done = threading.Event()
        if not client.wait_for_service(_ANSWER_TIMEOUT):
            raise ExperimentFailure(self._processes.failed() or f'{what} is not offered')
        future = client.call_async(request)
        future.add_done_callback(lambda _: done.set())
        if not done.wait(_ANSWER_TIMEOUT):
            raise ExperimentFailure(self._processes.failed() or f'{what} does not answer')
        return future.result()

    def _follow(self, now: float) -> None:
        """Send the heading that the route wants."""
        route = self._scenario.route
        assert route is not None
        east, north = self._monitor.last('east'), self._monitor.last('north')
        if math.isnan(east):
            raise ExperimentFailure('the route needs odom, which this simulator does not give')
        if self.guidance is None:
            self.guidance = Guidance(route, east, north)
        passed = len(self.guidance.passed)
        self._phase = f'leg {passed + 1} of the route'
        heading = self.guidance.heading(now - self.begin, east, north)
        if len(self.guidance.passed) > passed:
            _, across = self.guidance.passed[-1]
            self._view.say(
                f'{self.flown:5.1f} s  waypoint {len(self.guidance.passed)}, {across:+.0f} m '
                'beside the leg')
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
