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

from collections.abc import Mapping, Sequence
import math
import os
from typing import Any, NamedTuple

from rclpy.node import Node

from xplane_bridge.common.processes.supervised import Supervised
from xplane_bridge.laboratory.control import gains
from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.control.policy.load import absolute
from xplane_bridge.laboratory.flights.analysis.quantities import ORDERED, POLICY_TARGET, TARGET
from xplane_bridge.laboratory.flights.laws import ActionLaw, make_autopilot
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
from xplane_bridge.laboratory.nodes.flight.actions import LawVehicle
from xplane_bridge.laboratory.nodes.flight.controllers import ControlledVehicle
from xplane_bridge.laboratory.nodes.flight.monitor import Monitor
from xplane_bridge.laboratory.nodes.flight.observer import Observer
from xplane_bridge.laboratory.nodes.flight.processes import Announced, Processes, RECORDER_PATIENCE
from xplane_bridge.laboratory.nodes.flight.simulation import sent_again
from xplane_bridge.laboratory.nodes.flight.started import Started
from xplane_bridge.laboratory.nodes.flight.vehicle import Vehicle

# The autopilot's parameters in lockstep, if it is not and if it is below a policy.
_LOCKSTEP: Mapping[bool, Mapping[str, Any]] = {
    False: {'lockstep': True, 'hold_at': 0.0},
    True: {'lockstep': True, 'wait_for_command': True},
}
# What it holds then is not what is to be held.
_BELOW_POLICY = {ORDERED: POLICY_TARGET, TARGET: 'policy/active_target'}


def make_vehicle(
    node: Node, monitor: Monitor, processes: Processes, order: Order, display: Progress,
    name: str = '', simulator: str = '', failures: dict[str, Sequence[str]] | None = None,
    patience: float = math.inf,
) -> Vehicle:
    """
    Start what flies an order, its autopilot or its controller, and return the vehicle.

    Of several it has a ``name``. ``simulator`` and ``failures`` are Vehicle's, ``patience`` is
    wait_for's.
    """
    flown_by = order.flown_by
    if flown_by.actions:
        assert isinstance(monitor, Observer)
        initial, law = order.scenario.initial, ActionLaw(LEVELS[flown_by.actions])
        commanded = LawVehicle(node, order, monitor, processes, law, simulator, failures)
        law.place(commanded.observation, make_autopilot(
            order.model, initial.get('aircraft_path', ''), initial.get('gains', ''),
            order.plant.gains))
        return commanded
    autopilot = start_autopilot(
        processes, order, display, f'{name}.autopilot_node' if name else '') if (
        flown_by.needs_autopilot()) else None
    if flown_by.external:
        return ControlledVehicle(
            node, order, monitor, processes, start_controller(processes, order), simulator,
            failures, patience)
    vehicle = Vehicle(node, order, monitor, processes, simulator, failures)
    vehicle.autopilot = autopilot
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
