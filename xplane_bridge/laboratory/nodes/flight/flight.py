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
A flight through ROS: by topics, services and parameters only.

With a simulator of this package it may be in lockstep: each frame waits for its command, and equal
seeds give equal flights. A real simulator flies in real time.
"""

from __future__ import annotations

import atexit
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
import math
import os
import tempfile
from typing import NamedTuple
import weakref

from rclpy.node import Node

from xplane_bridge.bridges.links.claim import claim
from xplane_bridge.bridges.nodes.vehicle.controls import EXPERIMENT
from xplane_bridge.common import command_line, optional
from xplane_bridge.common.timing import HALF_STAMP
from xplane_bridge.laboratory.flights.analysis.quantities import ORDERED, TARGET
from xplane_bridge.laboratory.flights.flight import Display, Flight, FlightState
from xplane_bridge.laboratory.flights.laws import ActionLaw
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.flown_by import described, EXTERNAL
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError
from xplane_bridge.laboratory.flights.script import ExperimentError, Progress, Script
from xplane_bridge.laboratory.nodes.flight import recorders
from xplane_bridge.laboratory.nodes.flight import start as real_start
from xplane_bridge.laboratory.nodes.flight.actions import LawVehicle
from xplane_bridge.laboratory.nodes.flight.alone import check_free, CLOCK, FOUND_WITHIN
from xplane_bridge.laboratory.nodes.flight.bridges import check_namespace
from xplane_bridge.laboratory.nodes.flight.controllers import ControlledVehicle
from xplane_bridge.laboratory.nodes.flight.launch import make_vehicle, start_recorder
from xplane_bridge.laboratory.nodes.flight.monitor import Monitor
from xplane_bridge.laboratory.nodes.flight.observer import Observer
from xplane_bridge.laboratory.nodes.flight.procedures import Procedures
from xplane_bridge.laboratory.nodes.flight.processes import FORKS, Processes
from xplane_bridge.laboratory.nodes.flight.simulation import observing, start_simulation
from xplane_bridge.laboratory.nodes.flight.started import wait_for
from xplane_bridge.laboratory.nodes.flight.steppers import (
    ByActions,
    ByTheClock,
    InLockstep,
    Stepper,
)
from xplane_bridge.laboratory.nodes.flight.vehicle import Vehicle

_flights = count()


class RosFlight(Flight):
    """
    A flight through ROS; its simulator, bridge, controllers and recorder are processes.

    They end when it is over, fails or is closed, and with the interpreter. Several vehicles have
    one clock, and their namespaces below the flight's. They are recorded always, in a temporary
    file if the order names none: a frame's states are looked at here only where something is due.
    Raises OrderError or ScenarioError for a namespace that cannot be used, MachineError for one in
    which another flies, ImportError without what it needs.
    ``patience`` is how long (s) a controller of your own may be there without being ready.
    """

    vehicles: dict[str, Vehicle]

    def __init__(
        self, order: Order, display: Display, patience: float = math.inf
    ) -> None:
        namespace = choose_namespace(order)
        by_actions, are_several = bool(order.flown_by.actions), bool(order.scenario.vehicles)
        # What is commanded from here is known here.
        self._records = not by_actions and (are_several or bool(order.keep.recording))
        # Reported before the flight, not after it.
        needed = [] if order.link.host else ['jsbsim']
        if self._records:
            needed += [*recorders.needed(), 'rosbags']
        optional.require(
            'a flight through ROS', *needed, extra='fly,export' if self._records else 'fly')
        super().__init__(
            replace(order, link=replace(order.link, namespace=namespace)), display)
        self._patience = patience
        if command_line.is_alone():
            FORKS.begin_as_copy()
        # Nobody else is waited for in one that was made for this flight.
        self._is_named = bool(order.link.namespace)
        self._resources = ExitStack()
        # Before anything is started, or a file of the other one's is taken for an old one.
        self._resources.enter_context(claim(namespace))
        if self.order.follows_clock:
            self._resources.enter_context(claim(CLOCK))
        self._steppers: dict[str, Stepper] = {}
        self._laws: list[ActionLaw] = []
        self._processes: Processes | None = None
        self._is_ended = False
        # The end of its processes, if that goes on while somebody looks at what was flown.
        self._ending: Future[None] | None = None
        _open.add(self)

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""
        return next((one.time for one in self._steppers.values()), 0.0)

    def lacking(self) -> str:
        """Return a sentence for each history that lacks what was heard in flight, or is cut."""
        return '; '.join(
            f'{name}: {lacking}' if name else lacking for name, one in self.vehicles.items()
            if (lacking := one.lacking()))

    def traffic(self) -> tuple[Mapping[str, int], float]:
        """Return the messages so far of the first by topic, and the newest latency (s) or NaN."""
        monitor = next(iter(self.vehicles.values())).monitor
        with monitor.arrived:
            return dict(monitor.counts), monitor.latency

    def _start(self) -> FlightState:
        order, use = self.order, self._resources.enter_context
        self._say_remarks()
        scratch = use(tempfile.TemporaryDirectory())
        recording = (order.keep.recording or os.path.join(scratch, 'flight.mcap')) if (
            self._records) else ''
        log = order.keep.log or os.path.join(scratch, 'log')
        self._orders = _name_files(order, recording, log)
        node, heard = use(observing(
            EXPERIMENT, order.link.namespace, order.follows_clock, self._make_monitors))
        check_free(node, [one.link.namespace for one in self._orders.values()],
                   any(one.flown_by.command == EXTERNAL for one in self._orders.values()),
                   FOUND_WITHIN if self._is_named else 0.0)
        # Left before the node is: these end in order.
        self._at_once = use(ThreadPoolExecutor(len(self._orders), 'asks a vehicle'))
        processes = self._processes = use(Processes(log))
        vehicles = self._launch(node, heard.monitors, processes, recording)
        for name, vehicle in vehicles.items():
            self._whose = name
            self._get_ready(node, vehicle, self._displays[name])
        self._bind(vehicles)
        self._display.begin(self)
        going = True
        for name, stepper in self._steppers.items():
            self._whose = name
            going = stepper.begin() and going
        going = self._look_at_all(going)
        if order.flown_by.actions:
            while going and not all(one.engaged for one in vehicles.values()):
                going = self._fly_on()
            if not going and self.crash is None:
                from xplane_bridge.laboratory.flights.core import never_engaged
                raise never_engaged(order.scenario.name)
        return self._after(going)

    def _make_monitors(self, node: Node) -> _Monitors:
        return _Monitors({
            name: self._make_monitor(node, one) for name, one in self._orders.items()})

    def _make_monitor(self, node: Node, order: Order) -> Monitor:
        flown_by, sensors = order.flown_by, bool(order.sensed_by)
        # Of those who are commanded or led from here, or told what they measure, more is known.
        kind = Observer if (
            flown_by.actions or self.order.scenario.fleet.stations
            or (flown_by.external and sensors)) else Monitor
        return kind(
            node, order.link.namespace, order.link.lockstep,
            ORDERED if flown_by.actions or flown_by.external else TARGET, sensors)

    def _launch(
        self, node: Node, monitors: Mapping[str, Monitor], processes: Processes, recording: str
    ) -> dict[str, Vehicle]:
        """Start all processes, and return the vehicles."""
        order = self.order
        # All at once; only the bridge waits for the simulator, and a flight for all of them.
        recorder = start_recorder(
            processes, self._display, recording, order.link.namespace) if recording else None
        failures: dict[str, Sequence[str]] | None = {} if order.scenario.vehicles else None
        self._displays: dict[str, Progress] = {}
        vehicles: dict[str, Vehicle] = {}
        for number, (name, one) in enumerate(self._orders.items()):
            display = self._displays[name] = self._news.of(name, number)
            vehicles[name] = make_vehicle(
                node, monitors[name], processes, one, display, name, order.link.namespace,
                failures, self._patience)
        for name, vehicle in vehicles.items():
            self._whose = name
            # A simulator that waited for it as well would fly on without anybody at the controls.
            if isinstance(vehicle, ControlledVehicle):
                wait_for(
                    vehicle.controller, node, vehicle.order.link.namespace,
                    vehicle.order.flown_by.targets, self._displays[name].say, self._patience)
        self._whose = ''
        self._news.tell()
        flying = start_simulation(processes, order, self._orders)
        flying += _describe_controllers(self._orders)
        if recorder is not None:
            flying += f'; {recorder.name} to {recording}'
            if recorder.announced is not None:
                recorder.announced.wait()
        self._display.say(flying)
        return vehicles

    def _get_ready(self, node: Node, vehicle: Vehicle, display: Progress) -> None:
        """Wait until all that a vehicle needs is connected."""
        order, scenario = vehicle.order, vehicle.order.scenario
        if why := real_start.place(vehicle, order, display):
            if order.flown_by.actions:
                raise ScenarioError(f'initial cannot be flown on {order.link.host}: {why}')
            if scenario.needs_runway():
                raise ScenarioError(f'{order.link.host} is not on the runway: {why}')
            display.say(f'{order.link.host} keeps its own state, initial is not applied: {why}')
        script = vehicle.script = Script(scenario, vehicle, vehicle.monitor, display)
        vehicle.excited = script.excited
        arrived = vehicle.wait_until_ready(bool(scenario.needs_simulator()))
        if isinstance(vehicle, LawVehicle):
            assert isinstance(vehicle.law, ActionLaw)
            self._laws.append(vehicle.law)
            self._steppers[self._whose] = ByActions(script, vehicle)
            return
        if scenario.needs_runway():
            vehicle.procedures = Procedures(node, order.link.namespace, vehicle.monitor)
        display.say(f'receiving telemetry on {", ".join(arrived)}')
        kind = InLockstep if order.link.lockstep else ByTheClock
        self._steppers[self._whose] = kind(script, vehicle, display)

    def _step(self, action: Sequence[float] | None, frames: int) -> FlightState:
        if action is not None and self._laws:
            self._give(action, self._laws)
        return self._after(all(self._fly_on() for _ in range(frames)))

    def _fly_on(self) -> bool:
        """Fly on to where something is due, for one of them or for what binds them."""
        steppers = self._steppers
        # One that was trimmed is ahead, by less than a frame.
        stamp = max(one.stamp for one in steppers.values())
        binds = self.script.begin + min(self._formation.due, self._watch.due) - HALF_STAMP
        due = max(min(binds, *(one.due for one in steppers.values())), stamp + HALF_STAMP)
        (first, leading), *others = steppers.items()
        # Each is asked, and answers when its process comes to it: not one after another.
        asked = {name: self._at_once.submit(one.command_until, due, binds)
                 for name, one in others}
        self._whose = first
        leading.command_until(due, binds)
        for name, done in asked.items():
            self._whose = name
            done.result()
        # Who does not command is known, whoever waits.
        self._whose = ''
        for name, one in steppers.items():
            one.wait(due)
            if one.newest != leading.newest:
                raise ExperimentError(
                    f'{name} is at {one.newest:.6f} s, and {first} at {leading.newest:.6f} s: '
                    'they are not in lockstep')
        going = True
        for name, one in steppers.items():
            self._whose = name
            going = one.look() and going
        return self._look_at_all(going)

    def _look_at_all(self, going: bool) -> bool:
        """Do what binds them in the frame that waits; return whether it goes on."""
        self._whose = ''
        going = self._look(going)
        if not going:
            for line in next(iter(self._steppers.values())).how_fast():
                self._display.say(line)
        return going

    def _end(self) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        _open.discard(self)
        try:
            for vehicle in self.vehicles.values():
                vehicle.conclude()
            if self._records and self.began:
                assert self._processes is not None
                self._processes.end_recorders(self._tell_published)
                for vehicle in self.vehicles.values():
                    vehicle.read_recording()
                if not self.order.keep.recording:
                    # It goes with all that is temporary.
                    for vehicle in self.vehicles.values():
                        vehicle.wait_until_read()
        finally:
            if self.ends_at_once:
                self._resources.close()
            else:
                ends = ThreadPoolExecutor(1, 'ends a flight')
                self._ending = ends.submit(self._resources.close)
                ends.shutdown(wait=False)

    def close(self) -> None:
        """End it, and wait until its processes have ended; closing twice is fine."""
        self.ends_at_once = True
        super().close()
        if self._ending is not None:
            self._ending.result()

    def _tell_published(self) -> None:
        for vehicle in self.vehicles.values():
            vehicle.tell_published()


class _Monitors(NamedTuple):
    """The monitors of all vehicles, by their names."""

    monitors: Mapping[str, Monitor]

    def pause(self) -> float:
        """Return how long nobody needs to know of new messages, in seconds."""
        return min(monitor.pause() for monitor in self.monitors.values())


def _name_files(order: Order, recording: str, log: str) -> dict[str, Order]:
    """Return the orders of the vehicles, with their namespaces and files."""
    # Of several, each that has one the controller has a log of its own.
    common, _ = os.path.splitext(log)
    return {
        name: replace(
            one, keep=replace(
                one.keep, recording=recording, log=f'{common}.{name}.log' if name else log),
            link=replace(one.link, namespace=f'{order.link.namespace}/{name}'.rstrip('/')))
        for name, one in order.of_vehicles().items()}


def _describe_controllers(orders: Mapping[str, Order]) -> str:
    """Return who flies, and how many of several."""
    found = Counter(
        described(one.figures()) if one.flown_by.external else
        'by actions' if one.flown_by.actions else 'autopilot_node' for one in orders.values())
    return ', '.join(what if '' in orders else f'{number} {what}'
                     for what, number in found.items())


def choose_namespace(order: Order) -> str:
    """Return the namespace of a flight, one of its own by default. Raises ScenarioError."""
    given = order.link.namespace or f'flight_{os.getpid()}_{next(_flights)}'
    namespace = f'/{given.strip("/")}'
    check_namespace(namespace)
    return namespace


# Those that have processes; it keeps none of them alive.
_open: weakref.WeakSet[RosFlight] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for flight in list(_open):
        flight.close()
