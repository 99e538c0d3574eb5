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
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
import math
import os
import tempfile
import weakref

import numpy as np
from rclpy.node import Node

from xplane_bridge.bridges.links.claim import claim
from xplane_bridge.bridges.nodes.vehicle.controls import EXPERIMENT
from xplane_bridge.common import optional
from xplane_bridge.common.timing import ROUNDED_TIME
from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.control.policy.observation import Numbers, numbers, Vector
from xplane_bridge.laboratory.flights.analysis import history as analysis
from xplane_bridge.laboratory.flights.analysis.quantities import ORDERED, TARGET
from xplane_bridge.laboratory.flights.analysis.series import Arrivals, History
from xplane_bridge.laboratory.flights.flight import Display, Flight, FlightState
from xplane_bridge.laboratory.flights.laws import ActionLaw, make_autopilot
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario.flown_by import EXTERNAL
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError
from xplane_bridge.laboratory.flights.script import Script
from xplane_bridge.laboratory.nodes.flight import recorders
from xplane_bridge.laboratory.nodes.flight import start as real_start
from xplane_bridge.laboratory.nodes.flight.actions import LawVehicle
from xplane_bridge.laboratory.nodes.flight.alone import check_free, CLOCK, FOUND_WITHIN
from xplane_bridge.laboratory.nodes.flight.bridges import check_namespace
from xplane_bridge.laboratory.nodes.flight.launch import start_vehicle
from xplane_bridge.laboratory.nodes.flight.monitor import Monitor
from xplane_bridge.laboratory.nodes.flight.observer import Observer
from xplane_bridge.laboratory.nodes.flight.procedures import Procedures
from xplane_bridge.laboratory.nodes.flight.processes import Processes
from xplane_bridge.laboratory.nodes.flight.simulation import observing, start_simulation
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
    A flight through ROS; its simulator, bridge, controller and recorder are processes.

    They end when it is over, fails or is closed, and with the interpreter. Raises OrderError or
    ScenarioError for a namespace that cannot be used, MachineError for one in which another flies,
    ImportError without what it needs.
    ``patience`` is how long (s) a controller of your own may be there without being ready.
    """

    def __init__(
        self, order: Order, display: Display, patience: float = math.inf
    ) -> None:
        namespace = choose_namespace(order)
        # Reported before the flight, not after it.
        needed = [] if order.link.host else ['jsbsim']
        if order.keep.recording:
            needed += [*recorders.needed(), 'rosbags']
        optional.require(
            'a flight through ROS', *needed,
            extra='fly,export' if order.keep.recording else 'fly')
        super().__init__(
            replace(order, link=replace(order.link, namespace=namespace)), display)
        self._patience = patience
        # Nobody else is waited for in one that was made for this flight.
        self._is_named = bool(order.link.namespace)
        self._resources = ExitStack()
        # Before anything is started, or a file of the other one's is taken for an old one.
        self._resources.enter_context(claim(namespace))
        if self.order.follows_clock:
            self._resources.enter_context(claim(CLOCK))
        self._monitor: Monitor | None = None
        self._vehicle: Vehicle | None = None
        self._stepper: Stepper | None = None
        self._heard: Mapping[str, float] = {}
        self._history: History | None = None
        self._loading: Future[History] | None = None
        self._processes: Processes | None = None
        self._is_ended = False
        _open.add(self)

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""
        return 0.0 if self._stepper is None else self._stepper.time

    def observation(self) -> Vector:
        """Return what whoever gives the actions is told (control.policy.observation.FIELDS)."""
        self._check_began()
        if not isinstance(self._vehicle, LawVehicle):
            raise ValueError('only a flight by actions has observations')
        return self._vehicle.observation()

    def truth(self) -> Numbers:
        """Return the observation: there are no sensors."""
        return numbers(self.observation())

    def history(self) -> History:
        """
        Return all that was measured, commanded and wanted, with its times.

        If it is recorded, and ended, that is read from the recording, and has its namespace;
        otherwise it is what was heard here, and its namespace is 'ros'.
        """
        if self._history is None:
            self._check_began()
            if not (self.order.keep.recording and self._is_ended):
                return self._flown_part(self._heard_here())
            self._history = self._flown_part(
                self._load() if self._loading is None else self._loading.result())
        return self._history

    def _heard_here(self) -> History:
        if isinstance(self._vehicle, LawVehicle):
            return self._vehicle.history()
        assert self._monitor is not None
        return self._monitor.history(self.script.begin)

    def _flown_part(self, history: History) -> History:
        """Return a history without the wreck, which goes on to be simulated."""
        return history if self.crash is None else history.until(self.crash.at)

    def _load(self) -> History:
        return analysis.load(
            self.order.keep.recording, self.order.link.namespace, self.script.begin)

    def lacking(self) -> str:
        """Return a sentence if the history lacks what was heard in flight, or is cut."""
        if cut := self.history().cut:
            return cut
        topics = self.history().topics
        nothing = Arrivals(np.full(1, -math.inf), np.empty(0))
        missing = {topic: stamp - float(topics.get(topic, nothing).stamps.max())
                   for topic, stamp in self._heard.items()}
        found = ', '.join(f'{topic} ({seconds:.3f} s)' for topic, seconds in missing.items()
                          if seconds > ROUNDED_TIME)
        return f'the recording lacks the end of {found}' if found else ''

    def traffic(self) -> tuple[Mapping[str, int], float]:
        """Return the messages so far by topic, and the newest latency (s), NaN if unknown."""
        assert self._monitor is not None
        with self._monitor.arrived:
            return dict(self._monitor.counts), self._monitor.latency

    def heard_by_others(self, topics: Collection[str]) -> set[str]:
        """Return those topics that not only this flight subscribes to."""
        assert self._vehicle is not None
        return self._vehicle.heard_by_others(topics)

    def _start(self) -> FlightState:
        order, use = self.order, self._resources.enter_context
        link = order.link
        node, monitor = use(observing(
            EXPERIMENT, link.namespace, order.follows_clock, self._make_monitor))
        self.telemetry = self._monitor = monitor
        check_free(node, [link.namespace], order.flown_by.command == EXTERNAL,
                   FOUND_WITHIN if self._is_named else 0.0)
        # Left before the node is: these end in order.
        processes = self._processes = use(Processes(order.keep.log or os.path.join(
            use(tempfile.TemporaryDirectory()), 'log')))
        if order.flown_by.actions:
            stepper = self._stepper = self._by_actions(node, processes)
        else:
            stepper = self._stepper = self._by_others(node, processes)
        self._display.begin(self)
        going = stepper.begin()
        if order.flown_by.actions:
            while going and not self.script.engaged:
                going = stepper.step()
            if not going and self.crash is None:
                from xplane_bridge.laboratory.flights.core import never_engaged
                raise never_engaged(order.scenario.name)
        return self._after(going)

    def _step(self, action: Sequence[float] | None, frames: int) -> FlightState:
        assert self._stepper is not None
        if action is not None and isinstance(self._vehicle, LawVehicle):
            self._law.given = tuple(action)
        going = all(self._stepper.step() for _ in range(frames))
        return self._after(going)

    def _end(self) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        _open.discard(self)
        try:
            if self._vehicle is not None and self._stepper is not None:
                assert self._monitor is not None
                if self.order.keep.recording:
                    # What comes after its end is not judged.
                    self._heard = self._monitor.newest(
                        self.script.begin + self.flown + ROUNDED_TIME if self.began else math.inf)
                if not self.order.flown_by.actions:
                    self.script.account = self._vehicle.account()
                    self._vehicle.thaw_autopilot()
                if self.order.keep.recording and self.began:
                    self._load_early()
        finally:
            self._resources.close()

    def wait_until_read(self) -> None:
        """Wait until the recording, if it is being read, is needed no more."""
        if self._loading is not None:
            wait([self._loading])

    def _load_early(self) -> None:
        """Read the recording, which is complete then, while all others still end."""
        assert self._processes is not None
        self._processes.end_recorders()
        reader = ThreadPoolExecutor(1, 'reader of the recording')
        self._loading = reader.submit(self._load)
        reader.shutdown(wait=False)

    def _make_monitor(self, node: Node) -> Monitor:
        order = self.order
        if order.flown_by.actions:
            return Observer(node, order.link.namespace, order.link.lockstep)
        return Monitor(
            node, order.link.namespace, order.link.lockstep,
            ORDERED if order.flown_by.external else TARGET, bool(order.sensed_by))

    def _by_actions(self, node: Node, processes: Processes) -> Stepper:
        order, monitor = self.order, self._monitor
        assert isinstance(monitor, Observer)
        initial = order.scenario.initial
        start_simulation(processes, order)
        law = self._law = ActionLaw(LEVELS[order.flown_by.actions])
        vehicle = self._vehicle = LawVehicle(
            node, order.link.namespace, monitor, processes, law, order.link.lockstep,
            bool(order.scenario.needs_simulator()))
        law.place(vehicle.observation, make_autopilot(
            order.model, initial.get('aircraft_path', ''), initial.get('gains', ''),
            order.plant.gains))
        if why := real_start.place(vehicle, order, self._display):
            raise ScenarioError(f'initial cannot be flown on {order.link.host}: {why}')
        vehicle.begin()
        self.script = Script(order.scenario, vehicle, monitor, self._display)
        return ByActions(self.script, vehicle)

    def _by_others(self, node: Node, processes: Processes) -> Stepper:
        order, monitor = self.order, self._monitor
        assert monitor is not None
        vehicle = self._vehicle = start_vehicle(
            node, monitor, processes, order, self._display, self._patience)
        if why := real_start.place(vehicle, order, self._display):
            if order.scenario.needs_runway():
                raise ScenarioError(f'{order.link.host} is not on the runway: {why}')
            self._display.say(
                f'{order.link.host} keeps its own state, initial is not applied: {why}')
        script = self.script = Script(order.scenario, vehicle, monitor, self._display)
        vehicle.excited = script.excited
        arrived = vehicle.wait_until_ready(bool(order.scenario.needs_simulator()))
        if order.scenario.needs_runway():
            vehicle.procedures = Procedures(node, order.link.namespace, monitor)
        self._display.say(f'receiving telemetry on {", ".join(arrived)}')
        kind = InLockstep if order.link.lockstep else ByTheClock
        return kind(script, vehicle, self._display)


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
