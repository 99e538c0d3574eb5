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

"""Fly a scenario on a simulator through ROS, with its own processes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from typing import Any

from ament_index_python.packages import get_packages_with_prefixes
from rclpy.node import Node

from xplane_bridge.common import optional
from xplane_bridge.common.interrupts import Interrupts
from xplane_bridge.common.supervised import Supervised
from xplane_bridge.control import gains
from xplane_bridge.control.policy.load import absolute
from xplane_bridge.experiments import settings as settings_module
from xplane_bridge.experiments.live import Live, served
from xplane_bridge.experiments.report import clear, report
from xplane_bridge.experiments.settings import (
    Experiment,
    gains_of,
    INTERRUPTED,
    is_above_autopilot,
    MISSED,
    NOT_FLOWN,
    PASSED,
    Settings,
)
from xplane_bridge.flights.analysis.quantities import ORDERED, POLICY_TARGET, TARGET
from xplane_bridge.flights.scenario.flown_by import (
    arguments_of,
    described,
    EXTERNAL,
    launch_arguments,
    ros_arguments,
)
from xplane_bridge.flights.scenario.scenario import ScenarioError
from xplane_bridge.flights.script import ExperimentError
from xplane_bridge.nodes.flight import bridges as peers
from xplane_bridge.nodes.flight import start as real_start
from xplane_bridge.nodes.flight.controllers import (
    ControlledVehicle,
    ControllerError,
    Started,
    wait_for,
)
from xplane_bridge.nodes.flight.display import View
from xplane_bridge.nodes.flight.flight import Run
from xplane_bridge.nodes.flight.monitor import Monitor
from xplane_bridge.nodes.flight.processes import Processes, RECORDER_PATIENCE
from xplane_bridge.nodes.flight.simulation import observing, start_simulation
from xplane_bridge.nodes.flight.vehicle import NODE, Vehicle

# The autopilot's parameters in lockstep, if it is not and if it is below a policy.
_LOCKSTEP: dict[bool, dict[str, Any]] = {
    False: {'lockstep': True, 'hold_at': 0.0},
    True: {'lockstep': True, 'wait_for_command': True},
}
# What it holds then is not what is to be held.
_BELOW_POLICY = {ORDERED: POLICY_TARGET, TARGET: 'policy/active_target'}


def fly(experiment: Experiment) -> int:
    """
    Fly a scenario with its own processes; write the files, print the report.

    Return PASSED, MISSED, NOT_FLOWN (with the reason on stderr) or INTERRUPTED.
    """
    settings = experiment.settings
    try:
        settings_module.check(settings, experiment.scenario)
        # Reported before the flight, not after it.
        optional.require(
            'an experiment', *(() if settings.host else ('jsbsim',)),
            *(('mcap',) if missing_of_rosbag2() else ()), 'rosbags',
            extra='fly,export')
        viewers = served(experiment)
    except (ImportError, ValueError) as error:
        print(f'experiment: {error}', file=sys.stderr, flush=True)
        return NOT_FLOWN
    interrupts = Interrupts()
    with tempfile.TemporaryDirectory() as scratch, viewers as live:
        recording = experiment.files.recording or os.path.join(scratch, 'flight.mcap')
        run, code = attempt(experiment, recording, live=live, interrupts=interrupts)
        if run is not None and run.flown > 0.0:
            try:
                with interrupts.allowed(by_sigterm=False):
                    code = report(experiment, recording, run, code)
            except KeyboardInterrupt:
                print('interrupted; the report is incomplete', flush=True)
                code = INTERRUPTED
    return code


def attempt(
    experiment: Experiment, recording: str, make_run: type[Run] = Run,
    make_view: type[View] = View, live: Live | None = None,
    interrupts: Interrupts | None = None,
) -> tuple[Run | None, int]:
    """
    Fly it; return the flight, if it started, and the exit code before the verdict.

    Nothing is recorded if ``recording`` is empty; ``live`` shows it too.
    """
    run: Run | None = None
    settings = experiment.settings
    allowed = (interrupts or Interrupts()).allowed

    def make_monitor(node: Node) -> Monitor:
        return Monitor(
            node, experiment.namespace, settings.lockstep,
            ORDERED if settings.foreign else TARGET, bool(experiment.sensors))

    with observing(
        NODE, experiment.namespace, settings.follows_clock, make_monitor
    ) as (node, monitor):
        try:
            # Left before the processes are: these end in order.
            with Processes(experiment.files.log) as processes, allowed():
                clear(experiment.files)
                view = make_view(monitor)
                view.served = live
                vehicle = start_vehicle(node, monitor, processes, view, experiment, recording)
                real_start.place(vehicle, settings, experiment.scenario.initial, view)
                run = make_run(vehicle, experiment.scenario, view)
                if live is not None:
                    live.begin(run, monitor)
                with view:
                    run.fly()
            return run, PASSED
        except ControllerError as error:
            print(f'experiment: {error}', file=sys.stderr, flush=True)
            return run, MISSED if run is not None and run.flown > 0.0 else NOT_FLOWN
        except KeyboardInterrupt:
            flown = run is not None and run.flown > 0.0
            print('interrupted; the results so far follow' if flown else
                  'interrupted before the flight began', flush=True)
            return run, INTERRUPTED
        except (ExperimentError, ScenarioError, RuntimeError, OSError) as error:
            print(f'experiment: {error}', file=sys.stderr, flush=True)
            return run, NOT_FLOWN


def start_vehicle(
    node: Node, monitor: Monitor, processes: Processes, view: View, experiment: Experiment,
    recording: str,
) -> Vehicle:
    """
    Start the processes of a flight, and return the vehicle.

    Those are controller, simulator, bridge, and recorder, if ``recording`` is not empty.
    """
    settings, namespace = experiment.settings, experiment.namespace
    if not settings.foreign:
        autopilot = _start(processes, view, experiment, recording)
        return Vehicle(node, namespace, monitor, processes, autopilot, settings.lockstep)
    controller = start_controller(processes, experiment)
    vehicle = ControlledVehicle(
        node, namespace, monitor, processes, controller, settings.controller_timeout,
        settings.guidance, settings.lockstep, recorded=bool(recording))
    # A simulator that waited for it as well would fly on without anybody at the controls.
    wait_for(controller, node, namespace, view.say)
    _start(processes, view, experiment, recording)
    return vehicle


def start_controller(processes: Processes, experiment: Experiment) -> Started:
    """Start the controller of an experiment, unless it runs elsewhere."""
    settings, namespace = experiment.settings, experiment.namespace
    name = described(settings.figures())
    if settings.controller == EXTERNAL:
        return Started(name)
    if settings.controller_launch:
        command = launch_arguments(
            settings.controller_launch, namespace, settings.follows_clock, settings.lockstep,
            bool(experiment.sensors))
    elif settings.policy:
        command = arguments_of('policy_node', peers.ros_arguments(namespace, {
            **_time_of(settings), 'policy': absolute(settings.policy),
            'lockstep': settings.lockstep, 'behind_sensors': bool(experiment.sensors)}))
    else:
        command = arguments_of(settings.controller, ros_arguments(
            namespace, settings.follows_clock, settings.lockstep, bool(experiment.sensors)))
    log = experiment.files.controller_log
    return Started(name, processes.start_group(command, log), log)


def _start(
    processes: Processes, view: View, experiment: Experiment, recording: str
) -> Supervised | None:
    """Start simulator, bridge, autopilot and recorder; return the autopilot's process."""
    settings, namespace = experiment.settings, experiment.namespace
    initial = experiment.scenario.initial
    flying = start_simulation(
        processes, settings, namespace, initial, experiment.sensors,
        settings.foreign and settings.lockstep)
    moved = _BELOW_POLICY if settings.foreign else {}
    kept = peers.kept_messages(namespace, [moved.get(topic, topic) for topic in peers.AUTOPILOT])
    autopilot = None if settings.foreign and not is_above_autopilot(settings) else (
        processes.start('autopilot_node', peers.ros_arguments(namespace, {
            **_time_of(settings), **kept, 'behind_sensors': bool(experiment.sensors),
            **_gains_for(experiment, view),
            **(_LOCKSTEP[settings.foreign] if settings.lockstep else {})}, moved)))
    flying += described(settings.figures()) if settings.foreign else 'autopilot_node'
    if recording:
        flying += f'; {_record(processes, view, recording, namespace)} to {recording}'
    view.say(flying)
    return autopilot


def _time_of(settings: Settings) -> dict[str, bool]:
    return {'use_sim_time': True} if settings.follows_clock else {}


def _gains_for(experiment: Experiment, view: View) -> dict[str, float]:
    """Return the autopilot's parameters for an aircraft, {} for one that nobody named."""
    settings, scenario = experiment.settings, experiment.scenario
    if settings.host and not {'model', 'gains'} & scenario.initial.keys():
        view.say('which aircraft flies there is not known: the autopilot has the gains of the '
                 'c172p; --gains names others')
        return {}
    try:
        return gains.parameters_of(gains_of(scenario.initial))
    except ValueError:
        if scenario.engages():
            raise
        # Nobody asks it.
        return {}


def _record(processes: Processes, view: View, recording: str, namespace: str) -> str:
    """Start the recorder; return its name."""
    command = recorder(recording, namespace)
    if missing_of_rosbag2() == ['rosbag2_storage_mcap']:
        view.say('ros2 bag has no MCAP storage (package rosbag2_storage_mcap is not installed): '
                 'recording with record')
    if command[0] == 'record':
        processes.start_and_wait(command[0], command[1:], RECORDER_PATIENCE)
    else:
        processes.start(command[0], command[1:], RECORDER_PATIENCE)
    return os.path.basename(command[0])


def recorder(path: str, namespace: str) -> list[str]:
    """Return the recording command: rosbag2 with MCAP storage if installed, otherwise record."""
    ros2 = shutil.which('ros2')
    if ros2 and not missing_of_rosbag2():
        return [ros2, 'bag', 'record', '--storage', 'mcap', '--output', path, '--regex',
                f'^({namespace}/.*|/diagnostics|/clock|/tf|/tf_static)$']
    return ['record', '--output', path, '--namespace', namespace]


def missing_of_rosbag2() -> list[str]:
    """Return the missing packages for recording with rosbag2."""
    packages = get_packages_with_prefixes()
    return [name for name in ('ros2bag', 'rosbag2_storage_mcap') if name not in packages]
