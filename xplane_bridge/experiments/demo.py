"""The demo: fly a simulated aircraft through the bridge, by topics only, and judge the flight."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
import math
import re
import signal
import sys
import threading
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import SetBool

from xplane_bridge.experiments.monitor import Monitor
from xplane_bridge.experiments.processes import Processes
from xplane_bridge.experiments.response import step_response, StepResponse
from xplane_bridge.experiments.view import View
from xplane_bridge.msg import AutopilotTarget, FlightControls

_NAMESPACE = '/demo'
_DEGREE = math.pi / 180.0
_START_TIMEOUT = 20.0
_PULSE_ELEVATOR = 0.08
_PULSE_DURATION = 1.5
_PULSE_PITCH = 1.0 * _DEGREE
_STEADY = 4.0


@dataclass(frozen=True, slots=True)
class Step:
    """
    One step of one target, and what is demanded of the response.

    ``band`` is in the quantity's unit; settling in seconds, overshoot a fraction of the step.
    """

    quantity: str
    change: float
    duration: float
    band: float
    settling: float
    overshoot: float
    factor: float
    unit: str


STEPS = (
    Step('altitude', 50.0, 21.0, 2.5, 20.0, 0.10, 1.0, 'm'),
    Step('heading', 60.0 * _DEGREE, 20.0, 3.0 * _DEGREE, 18.0, 0.10, 1.0 / _DEGREE, 'deg'),
    Step('airspeed', -5.0, 15.0, 0.5, 14.0, 0.20, 1.0, 'm/s'),
)


class DemoFailure(Exception):
    """The demo cannot go on; the text says why."""


class Demo:
    """Fly the steps on a vehicle below a namespace that has a bridge and an autopilot."""

    def __init__(self, node: Node, monitor: Monitor, view: View, processes: Processes) -> None:
        self._node = node
        self._monitor = monitor
        self._view = view
        self._processes = processes
        self._controls = node.create_publisher(
            FlightControls, f'{_NAMESPACE}/command/controls', 1)
        self._targets = node.create_publisher(
            AutopilotTarget, f'{_NAMESPACE}/autopilot/target', 1)
        self._engage = node.create_client(SetBool, f'{_NAMESPACE}/autopilot/engage')
        self._elapsed = 0.0
        self._total = _PULSE_DURATION + _STEADY + sum(step.duration for step in STEPS)
        self.failures: list[str] = []
        self.responses: list[tuple[Step, StepResponse]] = []
        self.pulse_pitch = math.nan
        self.flown = 0.0

    def fly(self) -> None:
        """Fly everything; DemoFailure if it cannot go on."""
        wanted = ('fix', 'imu/data', 'air_data', 'odom', 'controls')
        if not self._monitor.wait_for(
            lambda: all(self._monitor.counts[topic] for topic in wanted), _START_TIMEOUT
        ):
            missing = [topic for topic in wanted if not self._monitor.counts[topic]]
            raise DemoFailure(
                f'nothing arrived on {", ".join(missing)} within {_START_TIMEOUT:.0f} s; '
                + (self._processes.failed() or 'the log says more'))
        self._view.say(f'telemetry arrives on {", ".join(wanted)}')
        if not self._engage.wait_for_service(_START_TIMEOUT):
            raise DemoFailure(
                self._processes.failed() or 'the autopilot does not offer its service')
        self._pulse()
        self._call_engage()
        self._wait('autopilot holds what is flown', _STEADY)
        for step in STEPS:
            self._fly_step(step)

    def _pulse(self) -> None:
        """Pull by a command topic, and see the nose come up."""
        with self._monitor.lock:
            before = self._monitor.series['pitch'].last
        command = FlightControls(
            elevator=_PULSE_ELEVATOR, aileron=math.nan, rudder=math.nan, throttle=math.nan,
            flaps=math.nan, gear=math.nan, speedbrake=math.nan)
        self._wait('elevator by topic', _PULSE_DURATION, lambda: self._controls.publish(command))
        with self._monitor.lock:
            times, values = self._monitor.series['pitch'].since(
                self._monitor.now - _PULSE_DURATION)
        self.pulse_pitch = max(values, default=math.nan) - before
        command.elevator = 0.0
        self._controls.publish(command)
        risen = self.pulse_pitch / _DEGREE
        self._view.say(
            f'elevator {_PULSE_ELEVATOR:+.2f} on command/controls for {_PULSE_DURATION} s pitched '
            f'the aircraft by {risen:+.1f} deg')
        if not self.pulse_pitch > _PULSE_PITCH:
            self.failures.append(
                f'the elevator command pitched the aircraft by {risen:.1f} deg only')

    def _call_engage(self) -> None:
        done = threading.Event()
        future = self._engage.call_async(SetBool.Request(data=True))
        future.add_done_callback(lambda _: done.set())
        if not done.wait(_START_TIMEOUT) or not future.result().success:
            raise DemoFailure(
                'the autopilot does not engage: '
                + (future.result().message if future.done() else 'no answer'))
        if not self._monitor.wait_for(
            lambda: bool(self._monitor.series['target_altitude'].values), _START_TIMEOUT
        ):
            raise DemoFailure('the autopilot does not say its target')

    def _fly_step(self, step: Step) -> None:
        with self._monitor.lock:
            start = self._monitor.series[f'target_{step.quantity}'].last
            if step.quantity == 'heading':
                # Measured headings are continuous, the target's may be a turn apart.
                flown = self._monitor.series['heading'].last
                start += math.tau * round((flown - start) / math.tau)
        target = start + step.change
        message = AutopilotTarget(altitude=math.nan, heading=math.nan, airspeed=math.nan)
        setattr(message, step.quantity, target)
        begun = self._monitor.now
        self._targets.publish(message)
        self._wait(
            f'{step.quantity} step of {step.change * step.factor:+.0f} {step.unit}',
            step.duration)
        with self._monitor.lock:
            times, values = self._monitor.series[step.quantity].since(begun)
        response = step_response(times, values, start, target, step.band)
        self.responses.append((step, response))
        self._view.say(_describe(step, response))
        if not response.settling <= step.settling:
            self.failures.append(
                f'{step.quantity}: settled after {response.settling:.1f} s, allowed are '
                f'{step.settling:.0f} s')
        if not response.overshoot <= step.overshoot:
            self.failures.append(
                f'{step.quantity}: overshot by {response.overshoot:.0%}, allowed are '
                f'{step.overshoot:.0%}')

    def _wait(self, phase: str, duration: float, action: Any = None) -> None:
        """Let time pass while telemetry comes; DemoFailure if it stops or a process ends."""
        begun = self._monitor.now
        while (elapsed := self._monitor.now - begun) < duration:
            count = self._monitor.counts['imu/data']
            if not self._monitor.wait_for(
                lambda count=count: self._monitor.counts['imu/data'] > count, 2.0
            ):
                raise DemoFailure(self._processes.failed() or 'telemetry stopped')
            if action is not None:
                action()
            self._view.update(phase, (self._elapsed + elapsed) / self._total)
        self._elapsed += duration
        self.flown = self._elapsed


def _describe(step: Step, response: StepResponse) -> str:
    return (
        f'{step.quantity:<9} {step.change * step.factor:+6.1f} {step.unit:<4} '
        f'rise {response.rise:5.1f} s   overshoot {response.overshoot:6.1%}   settling to '
        f'+-{response.band * step.factor:.1f} {step.unit} {response.settling:5.1f} s   '
        f'left over {response.error * step.factor:+.2f} {step.unit}')


def _summary(demo: Demo, monitor: Monitor, recorded: str, bag: str) -> list[str]:
    """Return the one-screen summary of what was flown."""
    with monitor.lock:
        counts = dict(monitor.counts)
        latencies = sorted(monitor.series['latency'].values)
        span = max((series.times[-1] - series.times[0]
                    for series in monitor.series.values() if len(series.times) > 1), default=0.0)
        diagnostics = dict(monitor.diagnostics)
    lines = ['', 'Summary']
    if not math.isnan(demo.pulse_pitch):
        lines.append(f'  elevator by topic: pitch {demo.pulse_pitch / _DEGREE:+.1f} deg')
    lines += ['  ' + _describe(step, response) for step, response in demo.responses]
    if span:
        rates = ', '.join(
            f'{topic} {counts[topic] / span:.1f}/s'
            for topic in ('fix', 'imu/data', 'odom', 'air_data', 'controls') if topic in counts)
        lines.append(f'  rates: {rates}')
    if latencies:
        lines.append(
            '  latency, datagram in the kernel to subscriber of another process: median '
            f'{latencies[len(latencies) // 2] * 1e3:.2f} ms, p99 '
            f'{latencies[int(len(latencies) * 0.99)] * 1e3:.2f} ms')
    peer = {key.rsplit(': ', 1)[1]: value for key, value in diagnostics.items()
            if ': peer: ' in key}
    if peer:
        lines.append(
            f'  requests {peer.get("requests")}, replies {peer.get("replies")}, lost '
            f'{peer.get("lost")}')
    if recorded:
        lines.append(f'  recorded {recorded} in {bag}')
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Fly the demo; 0 if all criteria are met, 1 if not, 2 if it could not be flown."""
    parser = argparse.ArgumentParser(prog='demo', description=__doc__)
    parser.add_argument('--bag', default='demo.mcap', help='recording to write')
    parser.add_argument('--picture', default='demo.png', help='picture to draw')
    parser.add_argument(
        '--join', action='store_true',
        help=f'fly what runs below {_NAMESPACE} already, as demo.launch.py does')
    parser.add_argument('--log', default='demo.log', help='output of the processes')
    arguments, _ = parser.parse_known_args(argv)
    # SIGTERM, as launch and CI send it, ends the demo as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = Node('demo', namespace=_NAMESPACE)
    monitor = Monitor(node, _NAMESPACE)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    spinner = threading.Thread(target=_spin, args=(executor,), daemon=True)
    spinner.start()
    demo: Demo | None = None
    code = 2
    try:
        with Processes(arguments.log) as processes:
            view = View(monitor)
            if not arguments.join:
                _start(processes, view, arguments.bag)
            demo = Demo(node, monitor, view, processes)
            with view:
                demo.fly()
        code = 1 if demo.failures else 0
    except KeyboardInterrupt:
        print('interrupted; this is what was flown until here', flush=True)
        code = 130
    except (DemoFailure, RuntimeError, FileNotFoundError) as error:
        print(f'the demo failed: {error}', file=sys.stderr, flush=True)
    finally:
        executor.shutdown()
        spinner.join(5.0)
    if demo is not None:
        _report(demo, monitor, arguments)
        for failure in demo.failures:
            print(f'  MISSED  {failure}')
        if code == 0:
            print('  all criteria are met')
    node.destroy_node()
    rclpy.try_shutdown()
    return code


def _start(processes: Processes, view: View, bag: str) -> None:
    """Start simulator, bridge, autopilot and recorder."""
    line = processes.start_and_wait('simulator', ['xpc', '--port', '0'])
    view.say(line)
    port = re.search(r':(\d+)', line)
    if port is None:
        raise DemoFailure(f'the simulator does not say its port: {line}')
    scope = ['--ros-args', '-r', f'__ns:={_NAMESPACE}']
    processes.start('xpc_node', [*scope, '-p', f'port:={port[1]}'])
    processes.start('autopilot_node', scope)
    processes.start_and_wait('record', ['--output', bag, '--namespace', _NAMESPACE])


def _spin(executor: SingleThreadedExecutor) -> None:
    with suppress(ExternalShutdownException):
        executor.spin()


def _report(demo: Demo, monitor: Monitor, arguments: argparse.Namespace) -> None:
    recorded = ''
    with open(arguments.log, encoding='utf-8') as log:
        for line in log:
            if line.startswith(f'{arguments.bag}: '):
                recorded = line.split(': ', 1)[1].strip()
    for line in _summary(demo, monitor, recorded, arguments.bag):
        print(line)
    if monitor.counts['fix'] < 2:
        return
    try:
        from xplane_bridge.experiments.picture import draw_flight
        with monitor.lock:
            draw_flight(
                monitor.series, arguments.picture,
                'xplane_bridge: a JSBSim c172p behind X-Plane Connect, flown by ROS topics')
        print(f'  picture: {arguments.picture}')
    except ImportError as error:
        print(f'  no picture: {error}')


if __name__ == '__main__':
    sys.exit(main())
