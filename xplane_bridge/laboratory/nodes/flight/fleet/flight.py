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

"""
A flight of several aircraft through ROS, in lockstep: one simulator_node, a controller for each.

All have one clock: a frame waits until each aircraft was commanded. Where something is due for one
of them, or for what binds them, all autopilots hold their commands until that is done. So it is
done by the same states in each flight, whatever the order in which messages arrive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
import os
import tempfile
from typing import NamedTuple

from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rclpy.node import Node

from xplane_bridge.bridges.conversions.axes import Vector
from xplane_bridge.bridges.links.claim import claim
from xplane_bridge.bridges.nodes.vehicle.controls import EXPERIMENT
from xplane_bridge.common.timing import HALF_STAMP
from xplane_bridge.laboratory.control import gains
from xplane_bridge.laboratory.control.gains import Gains
from xplane_bridge.laboratory.control.measurement import Measurement
from xplane_bridge.laboratory.control.policy.observation import Numbers
from xplane_bridge.laboratory.control.policy.observation import Vector as Observation
from xplane_bridge.laboratory.flights.analysis.quantities import ORDERED, TARGET
from xplane_bridge.laboratory.flights.fleet import MultiFlight
from xplane_bridge.laboratory.flights.flight import Display, FlightState
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.flown_by import described
from xplane_bridge.laboratory.flights.script import ExperimentError, Script
from xplane_bridge.laboratory.nodes.flight.alone import check_free
from xplane_bridge.laboratory.nodes.flight.controllers import ControlledVehicle
from xplane_bridge.laboratory.nodes.flight.flight import choose_namespace, RosFlight
from xplane_bridge.laboratory.nodes.flight.launch import (
    start_autopilot,
    start_controller,
    start_recorder,
)
from xplane_bridge.laboratory.nodes.flight.observer import FleetObserver, numbers_to_measurement
from xplane_bridge.laboratory.nodes.flight.processes import Processes
from xplane_bridge.laboratory.nodes.flight.simulation import observing, start_fleet
from xplane_bridge.laboratory.nodes.flight.started import wait_for
from xplane_bridge.laboratory.nodes.flight.steppers import InLockstep
from xplane_bridge.laboratory.nodes.flight.vehicle import Vehicle

_SIMULATION = 'simulator_node: simulation'


class RosFleetFlight(MultiFlight['OneOfFleet']):
    """
    A flight of several aircraft through ROS; its processes end with it, as RosFlight's do.

    It is recorded always, in a temporary file if the order names none: a frame's states are looked
    at here only where something is due. Raises what RosFlight raises.
    """

    def __init__(self, order: Order, display: Display) -> None:
        namespace = choose_namespace(order)
        super().__init__(
            replace(order, link=replace(order.link, namespace=namespace)), display)
        self._resources = ExitStack()
        self._resources.enter_context(claim(namespace))
        scratch = self._resources.enter_context(tempfile.TemporaryDirectory())
        recording = order.keep.recording or os.path.join(scratch, 'flight.mcap')
        self._recording = recording
        # Of each that has one the controller has a log of its own.
        self._log = order.keep.log or os.path.join(scratch, 'log')
        log, _ = os.path.splitext(self._log)
        self.flights = {
            name: OneOfFleet(
                replace(one, keep=replace(one.keep, recording=recording, log=f'{log}.{name}.log'),
                        link=replace(one.link, namespace=f'{namespace}/{name}')),
                self._news.of(name, number))
            for number, (name, one) in enumerate(order.of_vehicles().items())}

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""
        return self._first.time

    def observation(self) -> Observation:
        """Refuse: nobody gives actions."""
        return self._first.observation()

    def truth(self) -> Numbers:
        """Refuse: nobody gives actions."""
        return self._first.truth()

    def lacking(self) -> str:
        """Return a sentence for each history that lacks what was heard in flight, or is cut."""
        return '; '.join(
            f'{name}: {lacking}' for name, one in self.flights.items()
            if (lacking := one.lacking()))

    def traffic(self) -> tuple[Mapping[str, int], float]:
        """Return the messages so far of the first one by topic, and the newest latency (s)."""
        return self._first.traffic()

    def _start(self) -> FlightState:
        order, use = self.order, self._resources.enter_context
        namespace = order.link.namespace
        node, heard = use(observing(EXPERIMENT, namespace, False, self._monitors))
        self.telemetry = next(iter(heard.monitors.values()))
        self._monitors_of = heard.monitors
        check_free(node, [one.order.link.namespace for one in self.flights.values()])
        # Left before the node is: these end in order.
        self._at_once = use(ThreadPoolExecutor(len(self.flights), 'asks an aircraft'))
        processes = use(Processes(self._log))
        recorder = start_recorder(processes, self._display, self._recording, namespace)
        failures: dict[str, Sequence[str]] = {}
        for name, one in self.flights.items():
            one.launch(node, heard.monitors[name], processes, namespace, name, failures)
        for name, one in self.flights.items():
            self._whose = name
            one.wait_for_controller(node)
        flying = start_fleet(
            processes, order, {name: one.order for name, one in self.flights.items()})
        controllers = described(order.figures()) if order.flown_by.external else (
            'autopilot_node')
        self._display.say(
            f'{flying}{len(self.flights)} {controllers}; {recorder.name} to {self._recording}')
        if recorder.announced is not None:
            recorder.announced.wait()
        for name, one in self.flights.items():
            self._whose = name
            one.get_ready()
        self.script = self._first.script
        self._bind({name: one.member() for name, one in self.flights.items()})
        self._news.tell()
        self._display.begin(self)
        for name, one in self.flights.items():
            self._whose = name
            one.take_first_state()
        return self._looked(is_over=False)

    def _monitors(self, node: Node) -> _Monitors:
        return _Monitors({
            name: FleetObserver(
                node, one.order.link.namespace, ORDERED if one.order.flown_by.external else TARGET,
                bool(one.order.sensed_by))
            for name, one in self.flights.items()})

    def _step(self, action: Sequence[float] | None, frames: int) -> FlightState:
        steppers = {name: one.stepper for name, one in self.flights.items()}
        # One that was trimmed is ahead, by less than a frame.
        stamp = max(stepper.stamp for stepper in steppers.values())
        due = min(stepper.due for stepper in steppers.values())
        binds = self.script.begin + min(self._formation.due, self._watch.due) - HALF_STAMP
        due = max(min(due, binds), stamp + HALF_STAMP)
        for monitor in self._monitors_of.values():
            monitor.wait_only_for(due)
        # Each is asked, and answers when its process comes to it: not one after another.
        asked = {name: self._at_once.submit(stepper.command_until, due)
                 for name, stepper in steppers.items()}
        for name, done in asked.items():
            self._whose = name
            done.result()
        # Who does not command is known, whoever waits.
        self._whose = ''
        for name, stepper in steppers.items():
            stepper.wait(due)
            if stepper.newest != self._first.stepper.newest:
                raise ExperimentError(
                    f'{name} is at {stepper.newest:.6f} s, and {next(iter(steppers))} at '
                    f'{self._first.stepper.newest:.6f} s: they are not in lockstep')
        going = True
        for name, stepper in steppers.items():
            self._whose = name
            going = stepper.look() and going
        return self._looked(not going)

    def _looked(self, is_over: bool) -> FlightState:
        """Do what binds them in the frame that waits."""
        self._whose = ''
        going = self._look(is_over)
        self._news.tell()
        if not going:
            for line in self._first.stepper.how_fast():
                self._display.say(line)
        return self._after(going)

    def _end(self) -> None:
        try:
            # Those that are ended read the recording; the first ends the recorder.
            for one in self.flights.values():
                one.close()
            for one in self.flights.values():
                one.wait_until_read()
        finally:
            self._resources.close()


class OneOfFleet(RosFlight):
    """One aircraft of several through ROS: the fleet flies it."""

    def launch(
        self, node: Node, monitor: FleetObserver, processes: Processes, simulator: str, name: str,
        failures: dict[str, Sequence[str]],
    ) -> None:
        """
        Start what flies it; ``simulator`` is the namespace of simulator_node.

        ``failures`` has the engines that have failed, of each aircraft: all write into it.
        """
        order = self.order
        self.telemetry = self._monitor = self._observer = monitor
        self._processes = processes
        autopilot = self.autopilot = start_autopilot(
            processes, order, self._display, f'{name}.autopilot_node') if (
            order.flown_by.needs_autopilot()) else None
        vehicle: _FleetVehicle
        if order.flown_by.external:
            self._controller = start_controller(processes, order)
            vehicle = _ControlledInFleet(
                node, order.link.namespace, monitor, processes, self._controller, order.flown_by,
                lockstep=True, simulator=simulator)
        else:
            vehicle = _FleetVehicle(
                node, order.link.namespace, monitor, processes, autopilot, lockstep=True,
                simulator=simulator)
        vehicle.failures = failures
        self._vehicle = vehicle

    def wait_for_controller(self, node: Node) -> None:
        """Wait until its controller, if that is not the autopilot, can be flown."""
        order = self.order
        if order.flown_by.external:
            wait_for(self._controller, node, order.link.namespace, order.flown_by.targets,
                     self._display.say)

    def get_ready(self) -> None:
        """Wait until all that it needs is connected."""
        vehicle, monitor = self._vehicle, self._monitor
        assert vehicle is not None
        assert monitor is not None
        script = self.script = Script(self.order.scenario, vehicle, monitor, self._display)
        vehicle.excited = script.excited
        vehicle.wait_until_ready(bool(self.order.scenario.needs_simulator()))
        self._stepper = self.stepper = InLockstep(script, vehicle, self._display)

    def take_first_state(self) -> None:
        """Wait for the first state, and do what is due at it."""
        self.stepper.begin()

    def member(self) -> RosMember:
        """Return what binds it to the others."""
        assert self._vehicle is not None
        return RosMember(
            self._vehicle, self._observer, self.script,
            None if self.order.flown_by.external else gains.load(self.order.gains()))


class RosMember(NamedTuple):
    """An aircraft of a fleet, by its topics."""

    vehicle: Vehicle
    observer: FleetObserver
    script: Script
    gains: Gains | None

    @property
    def place(self) -> Vector:
        """Return where it is, in truth."""
        last = self.observer.last
        return (last('latitude'), last('longitude'), last('altitude'))

    @property
    def known_place(self) -> Vector:
        """Return where it knows to be; NaN without a fix."""
        known = self.observer.known
        return self.place if known is None else known.place()

    @property
    def engaged(self) -> bool:
        """Return whether its controller is engaged."""
        return self.script.engaged

    @property
    def held_airspeed(self) -> float:
        """Return the airspeed that it holds."""
        return self.observer.last('target_airspeed')

    def measurement(self) -> Measurement:
        """Return what it knows of itself."""
        known = self.observer.known
        return (numbers_to_measurement(self.observer.observation()) if known is None
                else known.measurement())

    def set_target(self, values: Mapping[str, float]) -> None:
        """Tell it what to hold; SI."""
        self.vehicle.set_target(values)


class _FleetVehicle(Vehicle):
    """A vehicle of several that one simulator flies, which says for which of them it waits."""

    failures: dict[str, Sequence[str]]

    def disturb(self, name: str, value: bool | Sequence[float]) -> None:
        """Set a live parameter; failed engines are set beside those of the others."""
        if name != 'engine_failed':
            super().disturb(name, value)
            return
        own = self._namespace.rpartition('/')[2]
        self.failures[own] = ([own] if value else []) if isinstance(value, bool) else [
            f'{own}:{number:.0f}' for number in value]
        failed = [text for engines in self.failures.values() for text in engines]
        self._set('simulator_node', [Parameter(
            name='fleet_failed_engines', value=ParameterValue(
                type=ParameterType.PARAMETER_STRING_ARRAY, string_array_value=failed))])

    def why(self) -> str:
        """Return what is known about why nothing arrives."""
        if failed := self._processes.failed():
            return failed
        with self.monitor.arrived:
            said = [text for name, text in self.monitor.diagnostics.items()
                    if name.endswith(_SIMULATION)]
        return f'the simulator is {said[0]}' if said else super().why()


class _ControlledInFleet(_FleetVehicle, ControlledVehicle):
    """One that a controller other than the autopilot flies."""


class _Monitors(NamedTuple):
    """The monitors of all, by the aircraft's names."""

    monitors: Mapping[str, FleetObserver]

    def pause(self) -> float:
        """Return how long nobody needs to know of new messages, in seconds."""
        return min(monitor.pause() for monitor in self.monitors.values())
