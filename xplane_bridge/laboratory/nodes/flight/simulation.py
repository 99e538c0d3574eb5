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


"""A simulator with its bridge, as processes, and the node that observes the vehicle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
import os
import threading
import time
from typing import Any, Protocol, TypeVar

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from xplane_bridge.bridges.conversions.topics import AIRFRAME_TOPIC, CONTACTS_TOPIC
from xplane_bridge.bridges.links.unused_ports import free_ports
from xplane_bridge.bridges.nodes.common.spinning import spin_until
from xplane_bridge.common.data import folder
from xplane_bridge.common.machine import MachineError
from xplane_bridge.common.text import counted
from xplane_bridge.common.timing import FRAME_RATE
from xplane_bridge.laboratory.flights.analysis.quantities import RELAYED
from xplane_bridge.laboratory.flights.order import DIRECT, Order, web_parameters
from xplane_bridge.laboratory.flights.scenario.start import fleet_start, simulated_start
from xplane_bridge.laboratory.flights.script import ExperimentError
from xplane_bridge.laboratory.nodes.flight import bridges as peers
from xplane_bridge.laboratory.nodes.flight.alone import CLOCK
from xplane_bridge.laboratory.nodes.flight.processes import Processes
from xplane_bridge.laboratory.nodes.flight.started import COMMAND
from xplane_bridge.laboratory.sensors.topics import moved_truth, SENSED

_TICK = 0.02
# The first is read by Fast DDS up to 2, the other since 3.
_PROFILES = {'FASTRTPS_DEFAULT_PROFILES_FILE': 'fastdds2.xml',
             'FASTDDS_DEFAULT_PROFILES_FILE': 'fastdds3.xml'}
# Many heartbeats of these: a process without processor time misses some.
_SENT_AGAIN = 3.0


class Pausing(Protocol):
    """What hears of the vehicles, and says how long nobody needs to know more."""

    def pause(self) -> float:
        """Return how long nobody needs to know of new messages, in seconds."""


_Monitor = TypeVar('_Monitor', bound=Pausing)


@contextmanager
def observing(
    name: str, namespace: str, follows_clock: bool, make_monitor: Callable[[Node], _Monitor],
) -> Iterator[tuple[Node, _Monitor]]:
    """Provide a node that spins in a separate thread and monitors the vehicle."""
    _find_each_other_soon()
    # Not the default context: whoever calls this from Python may use that.
    context = Context()
    rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = Node(name, context=context, namespace=namespace, parameter_overrides=[
        Parameter('use_sim_time', value=follows_clock)])
    monitor = make_monitor(node)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    stop = Future(executor=executor)
    spinner = threading.Thread(target=_spin, args=(executor, stop, monitor), daemon=True)
    spinner.start()
    try:
        yield node, monitor
    finally:
        # If it were shut down from here, a callback could find the guard condition destroyed.
        stop.set_result(None)
        spinner.join(5.0)
        executor.shutdown()
        # rclpy cannot destroy what an interrupt left half constructed.
        with suppress(ValueError):
            node.destroy_node()
        rclpy.try_shutdown(context=context)


def _find_each_other_soon() -> None:
    """Let the middleware repeat what was lost soon, here and in all processes of flights."""
    # What the user has set stays.
    for name, profile in _PROFILES.items():
        os.environ.setdefault(name, str(folder('discovery') / profile))


def sent_again() -> float | None:
    """Return within how many s what was lost is sent again; None by a profile of the user."""
    for name, profile in _PROFILES.items():
        if os.environ.get(name) != str(folder('discovery') / profile):
            return None
    return _SENT_AGAIN


def _spin(executor: SingleThreadedExecutor, stop: Future, monitor: Pausing) -> None:
    with suppress(ExternalShutdownException):
        spin_until(executor, stop, monitor.pause)


def start_simulation(processes: Processes, order: Order, orders: Mapping[str, Order]) -> str:
    """
    Start simulator, unless that is a real one, bridge and perhaps sensors; return a description.

    ``orders`` are those of the vehicles by their names, of one alone by ''.
    """
    moved = {name: moved_truth(one.sensed_by) | (
        {COMMAND: RELAYED} if one.flown_by.external and one.link.lockstep else {})
        for name, one in orders.items()}
    if order.sim == DIRECT:
        flying = _start_direct(processes, order, orders, moved)
    else:
        flying = _start_behind_bridge(processes, order, moved[''])
    for name, one in orders.items():
        _start_sensors(processes, one, f'{name}.sensors_node' if name else '')
    sensors = dict.fromkeys(one.sensed_by for one in orders.values() if one.sensed_by)
    return f'{flying}sensors_node ({", ".join(sensors)}); ' if sensors else flying


def _start_sensors(processes: Processes, order: Order, name: str) -> None:
    """Start the sensors of a vehicle, if it has any, by a ``name`` that tells them from others."""
    namespace = order.link.namespace
    if order.sensed_by:
        simulated = {'use_sim_time': True} if order.follows_clock else {}
        processes.start('sensors_node', peers.ros_arguments(
            namespace, simulated | peers.kept_messages(namespace, SENSED) | {
                'sensors': order.sensed_by, 'seed': order.sensor_seed,
                'lockstep': order.link.lockstep, 'added_latency': order.plant.sensor_delay,
                **_ground_of(order)}), name=name)


def _ground_of(order: Order) -> dict[str, float]:
    """Return sensors_node's parameter of the ground, which is as high as the runway."""
    runway = order.scenario.runway
    return {} if runway is None or not runway.has_elevation else {
        'ground_elevation': runway.elevation}


def _start_direct(
    processes: Processes, order: Order, orders: Mapping[str, Order],
    moved: Mapping[str, Mapping[str, str]],
) -> str:
    """Start simulator_node, which publishes what a bridge would of each vehicle."""
    link, is_of_one = order.link, '' in orders
    kept = peers.kept_messages(link.namespace, [CLOCK] if order.follows_clock else [])
    renamed: dict[str, str] = {}
    for name, one in orders.items():
        kept |= peers.kept_messages(
            one.link.namespace, [moved[name].get(topic, topic) for topic in peers.TELEMETRY])
        renamed |= {os.path.join(name, topic): os.path.join(name, truth)
                    for topic, truth in moved[name].items()}
    processes.start('simulator_node', peers.ros_arguments(link.namespace, {
        'telemetry': 'direct', 'speed': link.speed, 'lockstep': link.lockstep, 'seed': order.seed,
        'publish_clock': order.follows_clock, 'linger': 0.0, **kept,
        # The simulation waits for commands; the watchdog does not, and would command instead.
        **({'command_timeout': 0.0} if link.lockstep else {}),
        **(_initial_of(order) if is_of_one else _initial_of_several(order, orders))}, renamed))
    if link.lockstep:
        _wait_until_open(processes)
    return 'simulator_node, direct; ' if is_of_one else (
        f'simulator_node, direct, with {counted(len(orders), "aircraft", "aircraft")}; ')


def _initial_of(order: Order) -> dict[str, Any]:
    """Return simulator_node's parameters of the initial state, and of what a runway needs."""
    runway = order.scenario.runway
    topics = [AIRFRAME_TOPIC, *([] if runway is None else [CONTACTS_TOPIC])]
    return ({'physics_rate': order.given_physics_rate, **_gains_of(order.scenario.initial)}
            | simulated_start(order.scenario.initial, runway)
            | peers.kept_messages(order.link.namespace, topics))


def _initial_of_several(order: Order, orders: Mapping[str, Order]) -> dict[str, Any]:
    """Return the parameters of the initial states of several, and of their names."""
    initials = {name: one.scenario.initial for name, one in orders.items()}
    return {'physics_rate': order.given_physics_rate, 'namespaces': list(orders),
            **_gains_of(next(iter(initials.values()))), **fleet_start(initials)}


def _gains_of(initial: Mapping[str, Any]) -> dict[str, str]:
    """Return the gains that a scenario names: the limits of the airframe are with them."""
    return {'gains': initial['gains']} if 'gains' in initial else {}


def _start_behind_bridge(
    processes: Processes, order: Order, moved: Mapping[str, str]
) -> str:
    """Start the simulator, unless that is a real one, and its bridge."""
    simulator, link = order.simulator, order.link
    namespace = link.namespace
    host, port = link.host, link.port or simulator.port
    data_port = simulator.data_port
    if not host:
        host, data_port = '127.0.0.1', free_ports(1)
        port = free_ports(simulator.ports)
        processes.start('simulator_node', peers.ros_arguments(namespace, {
            'sim': simulator.name, 'port': port, 'data_port': data_port, 'speed': link.speed,
            'lockstep': link.lockstep, 'seed': order.seed, 'loss': link.loss,
            'delay': link.delay, 'jitter': link.jitter,
            # If stamps are simulated time, the bridge publishes them, and the only clock.
            'publish_clock': False, 'linger': 0.0, **_initial_of(order)}), is_last=True)
        if link.lockstep:
            _wait_until_open(processes)
    kept = peers.kept_by_bridge(simulator, namespace, moved, order.simulated_time)
    bridge = simulator.protocol.node
    given = peers.bridge_parameters(
        simulator, host, port, link.speed, order.simulated_time, link.lockstep, data_port,
        # A policy knows no time: it is asked as often as in core, where it has learnt.
        FRAME_RATE if order.flown_by.policy else peers.RATE)
    if simulator.protocol.name == 'xplane_udp':
        given |= web_parameters(link)
    processes.start(bridge, peers.ros_arguments(
        namespace, kept | given | peers.release_parameters(link), moved))
    where = link.host or f'simulator_node as {simulator.name}'
    return f'{where}, port {port}; {bridge}; '


def _wait_until_open(processes: Processes) -> None:
    """
    Wait until simulator_node has opened its ports, or say why it has not.

    A bridge that asks before gets no answer, and on a busy machine asks again seconds later.
    """
    limit = processes.start_limit
    deadline = time.monotonic() + limit.seconds
    while not processes.said('simulator_node'):
        if failed := processes.failed():
            raise (ExperimentError if processes.has_given_up() else MachineError)(failed)
        if time.monotonic() > deadline:
            raise MachineError(f'simulator_node has not opened its ports within {limit}')
        time.sleep(_TICK)
