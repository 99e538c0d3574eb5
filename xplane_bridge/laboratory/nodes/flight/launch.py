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

"""The processes of a flight through ROS: controller, simulator, bridge, and recorder."""

from __future__ import annotations

from collections.abc import Mapping
import os
from typing import Any, NamedTuple

from rclpy.node import Node

from xplane_bridge.common.supervised import Supervised
from xplane_bridge.laboratory.control import gains
from xplane_bridge.laboratory.control.policy.load import absolute
from xplane_bridge.laboratory.flights.analysis.quantities import ORDERED, POLICY_TARGET, TARGET
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.flown_by import (
    described,
    EXTERNAL,
    launch_arguments,
    ros_arguments,
    split_command,
)
from xplane_bridge.laboratory.flights.script import Progress
from xplane_bridge.laboratory.nodes.flight import bridges as peers
from xplane_bridge.laboratory.nodes.flight import recorders
from xplane_bridge.laboratory.nodes.flight.controllers import ControlledVehicle
from xplane_bridge.laboratory.nodes.flight.monitor import Monitor
from xplane_bridge.laboratory.nodes.flight.processes import Announced, Processes, RECORDER_PATIENCE
from xplane_bridge.laboratory.nodes.flight.simulation import sent_again, start_simulation
from xplane_bridge.laboratory.nodes.flight.started import Started, wait_for
from xplane_bridge.laboratory.nodes.flight.vehicle import Vehicle

# The autopilot's parameters in lockstep, if it is not and if it is below a policy.
_LOCKSTEP: Mapping[bool, Mapping[str, Any]] = {
    False: {'lockstep': True, 'hold_at': 0.0},
    True: {'lockstep': True, 'wait_for_command': True},
}
# What it holds then is not what is to be held.
_BELOW_POLICY = {ORDERED: POLICY_TARGET, TARGET: 'policy/active_target'}


def start_vehicle(
    node: Node, monitor: Monitor, processes: Processes, order: Order, display: Progress,
    patience: float,
) -> Vehicle:
    """Start the processes that an order wants, and return the vehicle; ``patience``: wait_for."""
    link, flown_by = order.link, order.flown_by
    if not flown_by.external:
        autopilot = _start(processes, order, display)
        return Vehicle(
            node, link.namespace, monitor, processes, autopilot, link.lockstep,
            bool(order.keep.recording))
    controller = start_controller(processes, order)
    vehicle = ControlledVehicle(
        node, link.namespace, monitor, processes, controller, flown_by, link.lockstep,
        bool(order.keep.recording), patience)
    # A simulator that waited for it as well would fly on without anybody at the controls.
    wait_for(controller, node, link.namespace, flown_by.targets, display.say, patience)
    _start(processes, order, display)
    return vehicle


def start_controller(processes: Processes, order: Order) -> Started:
    """Start the controller of an order, unless it runs elsewhere."""
    link, flown_by = order.link, order.flown_by
    name, log = described(order.figures()), order.keep.controller_log
    behind_sensors = bool(order.sensed_by)
    if flown_by.command == EXTERNAL:
        return Started(name)
    if flown_by.launch:
        command = launch_arguments(
            flown_by.launch, link.namespace, order.follows_clock, link.lockstep, behind_sensors)
    elif flown_by.policy:
        # It is loaded by its node, after this has seen that it is the one ordered.
        flown_by.load()
        command = split_command('policy_node', peers.ros_arguments(link.namespace, {
            **_time_of(order), 'policy': absolute(flown_by.policy), 'lockstep': link.lockstep,
            'behind_sensors': behind_sensors}))
    else:
        command = split_command(flown_by.command, ros_arguments(
            link.namespace, order.follows_clock, link.lockstep, behind_sensors))
    return Started(name, processes.start_group(command, log), log)


def _start(processes: Processes, order: Order, display: Progress) -> Supervised | None:
    """Start recorder, autopilot, simulator and bridge; return the autopilot's process."""
    link, flown_by, recording = order.link, order.flown_by, order.keep.recording
    # All at once; only the bridge waits for the simulator, and a flight for all of them.
    recorder = start_recorder(processes, display, recording, link.namespace) if (
        recording) else None
    autopilot = (
        start_autopilot(processes, order, display) if flown_by.needs_autopilot() else None)
    flying = start_simulation(processes, order, flown_by.external and link.lockstep)
    flying += described(order.figures()) if flown_by.external else 'autopilot_node'
    if recorder is not None:
        flying += f'; {recorder.name} to {recording}'
        if recorder.announced is not None:
            recorder.announced.wait()
    display.say(flying)
    return autopilot


def start_autopilot(
    processes: Processes, order: Order, display: Progress, name: str = ''
) -> Supervised:
    """Start the autopilot of an order, by a ``name`` that tells it from others."""
    link, is_below = order.link, order.flown_by.external
    moved = _BELOW_POLICY if is_below else {}
    kept = peers.kept_messages(
        link.namespace, [moved.get(topic, topic) for topic in peers.AUTOPILOT])
    route = order.scenario.route
    turns = {} if route is None else {'envelope.route_bank': route.bank}
    return processes.start('autopilot_node', peers.ros_arguments(link.namespace, {
        **_time_of(order), **kept, 'behind_sensors': bool(order.sensed_by),
        **_gains_for(order, display), **turns,
        **(_LOCKSTEP[is_below] if link.lockstep else {})}, moved),
        name=name)


def _time_of(order: Order) -> dict[str, bool]:
    return {'use_sim_time': True} if order.follows_clock else {}


def _gains_for(order: Order, display: Progress) -> gains.Parameters:
    """Return the autopilot's parameters for an aircraft, {} for one that nobody named."""
    if order.link.host and not {'model', 'gains'} & order.scenario.initial.keys():
        display.say('which aircraft flies there is not known: the autopilot has the gains of '
                    'the c172p; --gains names others')
        return {}
    try:
        return gains.scaled_parameters(order.gains(), order.plant.gains)
    except ValueError:
        if order.scenario.engages():
            raise
        # Nobody asks it.
        return {}


class RecorderProcess(NamedTuple):
    """A recorder's name, and what says that it records, which ros2 bag does not."""

    name: str
    announced: Announced | None


def start_recorder(
    processes: Processes, display: Progress, recording: str, namespace: str
) -> RecorderProcess:
    """Start the recorder of all below a namespace."""
    command, *arguments = recorders.command(recording, namespace, sent_again())
    if recorders.find_missing_packages() == ['rosbag2_storage_mcap']:
        display.say('ros2 bag has no MCAP storage (package rosbag2_storage_mcap is not '
                    'installed): recording with record')
    if command == recorders.RECORD:
        return RecorderProcess(command, processes.announce(command, arguments, RECORDER_PATIENCE))
    processes.start(command, arguments, RECORDER_PATIENCE)
    return RecorderProcess(os.path.basename(command), None)
