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

"""The vehicle flown by an experiment, accessed over ROS only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
import math
import threading
import time
from typing import Any

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.time import Time
from rclpy.topic_endpoint_info import TopicEndpointInfo
from std_srvs.srv import SetBool

from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.bridges.nodes.common.parameter_values import value_message
from xplane_bridge.bridges.nodes.common.subscribers import Published, tell_regularly
from xplane_bridge.bridges.nodes.vehicle.controls import EXPERIMENT
from xplane_bridge.common.machine import MachineError
from xplane_bridge.common.processes.supervised import Supervised
from xplane_bridge.common.timing import ROUNDED_TIME
from xplane_bridge.laboratory.control import gains
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.path import PathFollower
from xplane_bridge.laboratory.control.policy.observation import Numbers, numbers
from xplane_bridge.laboratory.control.policy.observation import Vector as Observation
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.flights.analysis.quantities import ORDERED, TARGET
from xplane_bridge.laboratory.flights.analysis.series import History
from xplane_bridge.laboratory.flights.controller_checks.conduct import Account
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.script import ExperimentError, Script
from xplane_bridge.laboratory.nodes.flight import recorders
from xplane_bridge.laboratory.nodes.flight.alone import Alone, FLYING
from xplane_bridge.laboratory.nodes.flight.bridges import KEPT
from xplane_bridge.laboratory.nodes.flight.monitor import MEASURED, Monitor
from xplane_bridge.laboratory.nodes.flight.observer import Observer, RecordedHistory
from xplane_bridge.laboratory.nodes.flight.procedures import Procedures
from xplane_bridge.laboratory.nodes.flight.processes import Processes
from xplane_bridge.laboratory.sensors.faults import SENSOR_FAULTS
from xplane_bridge.msg import AutopilotTarget, FlightControls
from xplane_bridge.srv import StartFlight, Trim

LONGEST_SILENCE = 5.0
"""An unexpected gap in the telemetry longer than this (s) ends an experiment."""
_NEEDED = ('fix', 'imu/data', 'air_data')
_SHOWN = (*_NEEDED, 'odom', 'controls')
_ANSWER_TIMEOUT = 20.0
# A response is lost while the service has not discovered its client: then the call is repeated,
# soon before the flight. During it a second call would come at another frame.
_FIRST_PATIENCE = 0.1
_ASK_AGAIN_AFTER = 1.0
# How long to wait before checking the processes.
_TICK = 0.02
_CONTROLS_MASK = Mask(FlightControls)
_TARGET_MASK = Mask(AutopilotTarget)
_TRIM_MASK = Mask(Trim.Request)
_SIMULATION = 'simulator_node: simulation'


def is_used_by_another(ends: Sequence[TopicEndpointInfo]) -> bool:
    """Return whether a topic's publishers or subscribers are not only those of an experiment."""
    return any(one.node_name not in (EXPERIMENT, *recorders.NODES) for one in ends)


class Vehicle:
    """
    A vehicle of a flight, with a bridge, an autopilot and perhaps simulator_node.

    Its order says its namespace, and its recording if it has one. ``script`` is set before it
    begins, ``autopilot`` is the process of that. Failures raise ExperimentError, those of this
    machine MachineError. simulator_node may be below another namespace, ``simulator``, and fly
    others too: then ``failures`` are the failed engines of all, by their names. ``own`` and
    ``external`` nodes command: see Alone.
    """

    command_topic = 'command/controls'
    target_qos: QoSProfile | int = 1
    script: Script
    engaged = False

    def __init__(
        self, node: Node, order: Order, monitor: Monitor, processes: Processes,
        simulator: str = '', failures: dict[str, Sequence[str]] | None = None,
        own: Sequence[str] = FLYING[:2], external: bool = False,
    ) -> None:
        self.order = order
        self.monitor = monitor
        self.lockstep = order.link.lockstep
        self.autopilot: Supervised | None = None
        self._node = node
        namespace = self._namespace = order.link.namespace
        self._processes = processes
        self._failures = failures
        self._gains: Gains | None = None
        self._recorded: RecordedHistory | None = None
        self._controls = node.create_publisher(
            FlightControls, f'{namespace}/{self.command_topic}', KEPT)
        self._targets = node.create_publisher(
            AutopilotTarget, f'{namespace}/{ORDERED}', self.target_qos)
        self._alone = Alone(
            node, namespace, [self._controls.topic_name, self._targets.topic_name], own, external)
        self._published = Published()
        self._published.add(self._controls)
        self._published.add(self._targets)
        self.tell_published = tell_regularly(node, self._published)
        self._engage: Any = node.create_client(SetBool, f'{namespace}/autopilot/engage')
        self._trim: Any = node.create_client(Trim, f'{namespace}/trim')
        self._parameters: dict[str, Any] = {
            name: node.create_client(
                SetParametersAtomically, f'{where}/{name}/set_parameters_atomically')
            for name, where in (('simulator_node', simulator or namespace),
                                ('autopilot_node', namespace), ('sensors_node', namespace))}
        self.procedures: Procedures | None = None
        self._paths: Publisher | None = None
        self._frozen = False
        # What a test input in closed loop makes of a command for a stamp.
        self.excited: Callable[[Mapping[str, float], float], Mapping[str, float]] = (
            lambda controls, stamp: controls)

    # What is known of it.

    @property
    def telemetry(self) -> Monitor:
        """Return the newest of what was measured."""
        return self.monitor

    @property
    def place(self) -> Vector:
        """Return where it is, in truth."""
        last = self.monitor.last
        return last('latitude'), last('longitude'), last('altitude')

    @property
    def known_place(self) -> Vector:
        """Return where it knows to be; NaN without a fix."""
        known = self._observer.known
        return self.place if known is None else known.place()

    def measurement(self) -> Measurement:
        """Return what it knows of itself."""
        return self._observer.measurement()

    @property
    def _observer(self) -> Observer:
        assert isinstance(self.monitor, Observer)
        return self.monitor

    @property
    def held_airspeed(self) -> float:
        """Return the airspeed that it holds."""
        return self.monitor.last('target_airspeed')

    @property
    def gains(self) -> Gains | None:
        """Return the gains of its autopilot; None if another controller flies it."""
        if self._gains is None and not self.order.flown_by.external:
            self._gains = gains.load(self.order.gains())
        return self._gains

    def observation(self) -> Observation:
        """Refuse: nobody gives actions."""
        raise ValueError('only a flight by actions has observations')

    def truth(self) -> Numbers:
        """Return the observation: there are no sensors."""
        return numbers(self.observation())

    def history(self) -> History:
        """
        Return all that was measured, commanded and wanted, with its times.

        If it is recorded, and over, that is read from the recording, and has its namespace;
        otherwise it is what was heard here, and its namespace is 'ros'. It is without the wreck,
        which goes on to be simulated.
        """
        found = self.heard_here() if self._recorded is None else self._recorded.read()
        return found if self.script.crash is None else found.until(self.script.crash.at)

    def heard_here(self) -> History:
        """Return what was heard here."""
        return self.monitor.history(self.script.begin)

    def lacking(self) -> str:
        """Return a sentence if the history lacks what was heard in flight, or is cut."""
        return '' if self._recorded is None else self._recorded.lacking()

    def conclude(self) -> None:
        """Take it that it is over: what comes after it is not judged."""
        script = self.script
        self._heard = self.monitor.newest(
            math.inf if math.isnan(script.begin) else script.begin + script.flown + ROUNDED_TIME)
        script.account = self.account()
        self.thaw_autopilot()

    def read_recording(self) -> None:
        """Read the recording, which is complete, while all others still end."""
        self._recorded = RecordedHistory(
            self.order.keep.recording, self._namespace, self.script.begin, self._heard)

    def wait_until_read(self) -> None:
        """Wait until the recording, if it is being read, is needed no more."""
        if self._recorded is not None:
            self._recorded.wait()

    def now(self) -> float:
        """Return the time in the stamps' clock, seconds."""
        return float(self._node.get_clock().now().nanoseconds) * 1e-9

    # Before the flight.

    def wait_until_ready(self, needs_simulator: bool) -> list[str]:
        """Wait until all participants are connected; return the topics that arrive."""
        counts = self.monitor.counts
        deadline = time.monotonic() + (limit := self._processes.start_limit).seconds
        while not self.monitor.wait_for(
                lambda: all(counts[topic] for topic in _NEEDED) and self._is_measured(), _TICK):
            if failed := self._processes.failed():
                raise self.lost(failed)
            if time.monotonic() < deadline:
                continue
            missing = [name for name in _NEEDED if not counts[name]] or ['imu/data of the sensors']
            raise self.lost(f'no message on {", ".join(missing)} within {limit}; {self.why()}')
        # Before anything is asked or commanded.
        self.check_alone()
        self._wait_for_controller()
        with self.monitor.arrived:
            arrived = [topic for topic in _SHOWN if counts[topic]]
        if self.order.keep.recording:
            self._wait_for_recorder(arrived)
        self._wait_for_listeners(needs_simulator)
        self.check_alone()
        return arrived

    def _wait_for_controller(self) -> None:
        if not self._engage.wait_for_service(self._processes.start_limit.seconds):
            raise self.lost(
                self._processes.failed() or 'the autopilot offers no service autopilot/engage')

    def _has_started(self, condition: Callable[[], object]) -> bool:
        """Wait for what is seen once all processes have started; return whether it is."""
        return self.monitor.wait_for(condition, self._processes.start_limit.seconds)

    def _is_measured(self) -> bool:
        """Return whether the sensors, if there are any, deliver."""
        return not self.monitor.sensors or MEASURED in self.monitor.stamps

    def _wait_for_recorder(self, arrived: Sequence[str]) -> None:
        for name in ('imu/data', 'command/controls'):
            topic = f'{self._namespace}/{name}'
            if not self._has_started(partial(recorders.is_recorded, self._node, topic)):
                raise MachineError(f'the recorder has not subscribed to {topic}; {self.why()}')
        # Having subscribed does not mean that it receives yet. Our recorder logs when it does.
        heard = {f'recording {self.monitor.full_name(topic)}' for topic in arrived}
        if self._processes.runs('record') and not self._has_started(
                lambda: heard <= set(self._processes.said('record'))):
            raise MachineError(f'the recorder does not receive all of {", ".join(arrived)}')

    def _wait_for_listeners(self, needs_simulator: bool) -> None:
        """Wait until subscribers receive the experiment's topics, and services respond."""
        for publisher in (self._controls, self._targets):
            topic, count = publisher.topic_name, publisher.get_subscription_count
            if not self._has_started(count):
                raise self.lost(f'no subscriber on {topic}; {self.why()}')
            self.monitor.wait_for(
                lambda topic=topic, count=count: count() >= self._node.count_subscribers(topic),
                LONGEST_SILENCE)
        # Called once now, so that they respond immediately during the scenario.
        self._prepare_controller()
        if needs_simulator:
            self._prepare_simulator()

    def _prepare_simulator(self) -> None:
        self._set('simulator_node', [], _FIRST_PATIENCE)

    def _prepare_controller(self) -> None:
        self._paths = self._node.create_publisher(Path, f'{self._namespace}/command/path', 1)
        self._published.add(self._paths)
        if not self._has_started(self._paths.get_subscription_count):
            raise self.lost(f'no subscriber on {self._paths.topic_name}; {self.why()}')
        self.call(
            self._engage, SetBool.Request(data=False), 'autopilot/engage', _FIRST_PATIENCE)
        if self.lockstep:
            self._set('autopilot_node', [], _FIRST_PATIENCE)

    def check_alone(self) -> None:
        """Check that nothing else publishes as this vehicle, or commands it."""
        self._alone.check()

    def why(self) -> str:
        """Return what is known about why nothing arrives."""
        with self.monitor.arrived:
            said = self.monitor.diagnostics.items()
            peers = [f'{name}: {text}' for name, text in said
                     if name.startswith(f'{self._namespace}/') and name.endswith(': peer')]
            simulator = [f'the simulator is {text}' for name, text in said
                         if name.endswith(_SIMULATION)]
        return self._processes.failed() or '; '.join(peers or simulator) or 'see the log'

    def lost(self, why: str) -> OSError | ExperimentError:
        """Return the error of what does not come: of this machine, unless a process gave up."""
        return ExperimentError(why) if self._processes.has_given_up() else MachineError(why)

    def has_failed(self) -> bool:
        """Return whether one of the processes has failed; why() says which."""
        return self._processes.failed() is not None

    def cpu_seconds(self) -> dict[str, float]:
        """Return the CPU time (s) that each process has used so far, this one last."""
        return {**self._processes.cpu_seconds(), EXPERIMENT: time.process_time()}

    # Commands and targets.

    def make_command(self, values: Mapping[str, float]) -> FlightControls:
        """Return a command that sets these; the others keep their value."""
        command = FlightControls()
        _CONTROLS_MASK.fill(command, values)
        # In lockstep it responds to a state, as the autopilot's do, and has its stamp.
        command.header.stamp = (
            self._stamp_of_state() if self.lockstep else self._node.get_clock().now().to_msg())
        return command

    def _stamp_of_state(self) -> Any:
        return Time(nanoseconds=round(self.monitor.stamps['imu/data'] * 1e9)).to_msg()

    def command(self, command: FlightControls) -> None:
        """Command the vehicle."""
        self._controls.publish(command)

    def engage(self, on: bool, now: float) -> None:
        """Engage the autopilot, in lockstep at the stamp ``now``; or disengage it."""
        counts = self.monitor.counts
        before = counts['autopilot/active_target']
        if on and self.lockstep:
            # It may lag behind with its input; so it is told at which stamp.
            # On a busy machine it may not have discovered the recorder yet.
            subscribers = self._node.count_subscribers(self._controls.topic_name)
            self._set('autopilot_node', [
                Parameter(name='subscribers', value=value_message(subscribers)),
                Parameter(name='engage_at', value=value_message(now))])
        else:
            self._ask_to_engage(on)
        if on and not self.monitor.wait_for(
            lambda: counts['autopilot/active_target'] > before, _ANSWER_TIMEOUT
        ):
            raise self.lost('the autopilot does not report its target')
        self.engaged = on

    def heard_by_others(self, topics: Collection[str]) -> set[str]:
        """Return those topics that not only an experiment subscribes to."""
        return {name for name in topics if is_used_by_another(
            self._node.get_subscriptions_info_by_topic(f'{self._namespace}/{name}'))}

    def commands_itself(self, stamp: float, engaged: bool) -> bool:
        """Return whether the controller commands for the state of this stamp."""
        return engaged

    def account(self) -> Account | None:
        """Return what is to be reported of the controller; of the autopilot, nothing."""
        return None

    def check_controller(self) -> None:
        """Raise ExperimentError if the controller no longer does its part."""

    def hold_autopilot(self, stamp: float) -> None:
        """Let the autopilot command in lockstep, but not at this stamp, nor later."""
        self._set('autopilot_node', [Parameter(name='hold_at', value=value_message(stamp))])

    def _ask_to_engage(self, on: bool) -> None:
        counts = self.monitor.counts
        deadline = time.monotonic() + _ANSWER_TIMEOUT
        while True:
            response = self.call(self._engage, SetBool.Request(data=on), 'autopilot/engage')
            if response.success:
                return
            if time.monotonic() > deadline:
                raise ExperimentError(f'the autopilot does not engage: {response.message}')
            # It may not have received yet what was received here: on a busy machine topics are
            # matched one by one.
            heard = counts['imu/data']
            self.monitor.wait_for(
                lambda heard=heard: counts['imu/data'] > heard, _ASK_AGAIN_AFTER)

    def set_target(self, values: Mapping[str, float]) -> None:
        """Set the autopilot's targets: altitude, heading, airspeed; SI."""
        given = dict(values)
        if 'heading' in given:
            given['true_heading'] = given.pop('heading')
        message = AutopilotTarget()
        _TARGET_MASK.fill(message, given)
        if self.lockstep:
            # The autopilot may not have this state yet.
            message.header.stamp = self._stamp_of_state()
        counts = self.monitor.counts
        with self.monitor.arrived:
            before = counts['autopilot/active_target']
        self._targets.publish(message)
        if self.lockstep and not self.monitor.wait_for(
            lambda: counts['autopilot/active_target'] > before, _ANSWER_TIMEOUT
        ):
            raise self.lost('the autopilot does not accept its target')

    def follow(self, path: PathFollower) -> str:
        """Let the autopilot follow a path, at the altitude that it holds."""
        message = Path()
        for east, north in path.corners()[1:]:
            pose = PoseStamped()
            point = pose.pose.position
            point.x, point.y, point.z = east, north, math.nan
            message.poses.append(pose)
        counts = self.monitor.counts
        with self.monitor.arrived:
            before = counts[TARGET]
        assert self._paths is not None
        self._paths.publish(message)
        if not self.monitor.wait_for(lambda: counts[TARGET] > before, _ANSWER_TIMEOUT):
            raise ExperimentError('the autopilot does not follow the route; see the log')
        return ''

    # Others.

    def disturb(self, name: str, value: bool | Sequence[float]) -> None:
        """Set a live parameter of simulator_node or sensors_node; failed engines may be listed."""
        changes: dict[str, bool | Sequence[float]] = {name: value}
        if name == 'engine_failed' and self._failures is not None:
            self._fail_beside_others(self._failures, value)
            return
        if name == 'engine_failed':
            changes = {name: value is True, 'failed_engines': () if isinstance(value, bool)
                       else tuple(map(int, value))}
        self._set('sensors_node' if name in SENSOR_FAULTS else 'simulator_node', [
            Parameter(name=key, value=value_message(changed))
            for key, changed in changes.items()])
        if name == 'gust':
            # The next one may be equal.
            self._set('simulator_node', [Parameter(name=name, value=value_message((0.0,)))])

    def _fail_beside_others(
        self, failures: dict[str, Sequence[str]], value: bool | Sequence[float]
    ) -> None:
        own = self._namespace.rpartition('/')[2]
        failures[own] = ([own] if value else []) if isinstance(value, bool) else [
            f'{own}:{number:.0f}' for number in value]
        failed = [text for engines in failures.values() for text in engines]
        self._set('simulator_node', [Parameter(
            name='fleet_failed_engines', value=ParameterValue(
                type=ParameterType.PARAMETER_STRING_ARRAY, string_array_value=failed))])

    def trim(self, values: Mapping[str, float]) -> dict[str, float]:
        """Trim the simulated aircraft where it is; return the controls that hold it there."""
        request = Trim.Request()
        if values:
            _TRIM_MASK.fill(request, values)
        # Asked once: trimmed twice, another gust would come next.
        response = self.call(self._trim, request, 'trim', _ANSWER_TIMEOUT)
        if not response.success:
            raise ExperimentError(response.message)
        return _CONTROLS_MASK.known(response.controls)

    def fly_procedure(
        self, name: str, values: Mapping[str, Any], runway: ChartedRunway | None
    ) -> None:
        """Let autopilot_node fly from a runway, or to it (scenario.runway.PROCEDURES)."""
        if self.procedures is None:
            raise ExperimentError(f'{name} is flown by the autopilot only')
        self.procedures.command(
            name, values, runway, self._stamp_of_state() if self.lockstep else None)

    def freeze_autopilot(self, on: bool) -> None:
        """Stop the autopilot's process, and with it its commands, or resume it."""
        assert self.autopilot is not None
        self.autopilot.freeze(on)
        self._frozen = on

    def thaw_autopilot(self) -> None:
        """Resume the autopilot's process if it was stopped."""
        if self._frozen:
            self.freeze_autopilot(False)

    def _set(
        self, node: str, parameters: Collection[Parameter], patience: float = _ASK_AGAIN_AFTER
    ) -> None:
        """Set live parameters of a node."""
        result = self.call(
            self._parameters[node],
            SetParametersAtomically.Request(parameters=list(parameters)), node, patience).result
        if not result.successful:
            raise ExperimentError(
                f'{node} refuses {", ".join(one.name for one in parameters)}: {result.reason}')

    def start_flight(self, request: StartFlight.Request, within: float) -> Any:
        """Return a real X-Plane's response to a new flight; it is asked once."""
        client = self._node.create_client(StartFlight, f'{self._namespace}/start_flight')
        return self.call(client, request, 'start_flight', within, within)

    def call(
        self, client: Any, request: Any, what: str, patience: float = _ASK_AGAIN_AFTER,
        within: float = _ANSWER_TIMEOUT,
    ) -> Any:
        """Return the response to a request that may be sent twice."""
        if not client.wait_for_service(_ANSWER_TIMEOUT):
            raise self.lost(self._processes.failed() or f'{what} is not offered')
        answered = threading.Event()
        futures = []
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            futures.append(client.call_async(request))
            futures[-1].add_done_callback(lambda _: answered.set())
            if answered.wait(patience):
                return next(future.result() for future in futures if future.done())
            if failed := self._processes.failed():
                raise self.lost(failed)
            patience = min(2.0 * patience, _ASK_AGAIN_AFTER)
        raise self.lost(f'{what} does not respond')
