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
A flight in this process, without ROS: the simulated aircraft, a control law, the events.

Each frame is that of a flight through ROS in lockstep: the state is measured, what is due happens,
the law commands, and the aircraft flies on with that command. What a protocol rounds is not
rounded here, unless the order names one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
import math
import time

from xplane_bridge.common.controls import SURFACES
from xplane_bridge.common.machine import MachineError
from xplane_bridge.common.timing import FRAME, ROUNDED_TIME
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.control.policy.traffic import PERIOD, TrafficReport
from xplane_bridge.laboratory.control.runway.autopilot import Autopilot
from xplane_bridge.laboratory.flights.controller import ControlLaw
from xplane_bridge.laboratory.flights.core_vehicle import CoreVehicle, make_aircraft, Rounding
from xplane_bridge.laboratory.flights.flight import Display, Flight, FlightState
from xplane_bridge.laboratory.flights.laws import ActionLaw, PolicyLaw
from xplane_bridge.laboratory.flights.order import FlownBy, Order
from xplane_bridge.laboratory.flights.recordings import written
from xplane_bridge.laboratory.flights.recordings.collected import Collector
from xplane_bridge.laboratory.flights.rounding import make_rounding
from xplane_bridge.laboratory.flights.scenario.excitation import Excitation
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario, ScenarioError
from xplane_bridge.laboratory.flights.scenario.start import find_start
from xplane_bridge.laboratory.flights.script import Progress, Script
from xplane_bridge.laboratory.flights.scripted import RunScriptVehicle
from xplane_bridge.laboratory.flights.sensed import load_sensors
from xplane_bridge.laboratory.flights.simulation_frames import FrameStepper
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.loading.control_effects import idle_surfaces
from xplane_bridge.simulation.aircraft.runscript.scripted import ScriptedAircraft
from xplane_bridge.simulation.aircraft.studies.physics_rate import physics_rate
from xplane_bridge.simulation.aircraft.studies.spare import make_spare
from xplane_bridge.simulation.aircraft.terrain import elevation_m

# What a sum of frames may be wrong by, in frames.
_ROUNDED = 1e-6


class _Landing:
    """An autopilot that may go around by itself, and what was ``told`` of that."""

    def __init__(self, law: Autopilot, display: Progress) -> None:
        self.law, self.told = law, law.broken_off
        self._display = display

    def tell(self, time: float) -> None:
        """Say why it goes around, at a time (s) of the scenario, if it does."""
        self.told = self.law.broken_off
        if self.told:
            self._display.say(f'{time:5.1f} s  goes around: {self.told[-1]}')


class CoreFlight(Flight):
    """
    A flight in this process.

    ``vehicle`` is its first or only one. ``law`` takes the place of the autopilot: what it
    commands is judged as docs/reference/controllers.md has it: out of range, or not finite, it
    is counted, and the aircraft keeps the command before.

    Where all are in the same frame, followers are told their targets by the states that all have
    then, who sees traffic is told where the others are, and it is seen who meets: in which order
    they fly on makes no difference. Until that is due again each flies some frames by itself, with
    its model in the processor's caches.
    """

    vehicles: dict[str, CoreVehicle]
    vehicle: CoreVehicle

    def __init__(self, order: Order, display: Display, law: ControlLaw | None = None) -> None:
        if order.keep.recording:
            # Reported before the flight, not after it.
            written.check(order.keep.recording)
        super().__init__(on_simulated_ground(order), display)
        self._law = law
        self._steppers: dict[str, FrameStepper] = {}
        self._laws: list[ActionLaw] = []
        self._landing: list[_Landing] = []
        # The newest of where each is, and when those who see traffic are told next.
        self._reports: dict[str, TrafficReport] = {}
        self._reports_due = math.inf
        self._used = 0.0

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""
        return self.vehicle.time if self.vehicles else 0.0

    @property
    def jsbsim_time(self) -> float:
        """Return what JSBSim's steps have taken of this process's time in s."""
        return math.fsum(one.aircraft.processor_time for one in self.vehicles.values())

    def retire(self) -> None:
        """Close it, and let a later flight have its aircraft: to load one takes 3 ms."""
        if self.state is not FlightState.CLOSED:
            super().retire()
            for vehicle in self.vehicles.values():
                vehicle.aircraft.retire()

    def _start(self) -> FlightState:
        self._began = time.process_time()
        self._say_remarks()
        vehicles: dict[str, CoreVehicle] = {}
        for number, (name, order) in enumerate(self._orders.items()):
            self._whose = name
            law = self._law or make_law(order.flown_by)
            if isinstance(law, ActionLaw):
                self._laws.append(law)
            display = self._news.of(name, number)
            vehicle = vehicles[name] = _make_vehicle(order, law, display)
            if isinstance(vehicle.law, Autopilot) and order.scenario.runway is not None:
                self._landing.append(_Landing(vehicle.law, display))
            self._steppers[name] = FrameStepper(
                vehicle.script, vehicle,
                '' if isinstance(law, Cascade | ActionLaw | None) else type(law).__name__)
        self._bind(vehicles)
        if self._are_several and any(one.reports is not None for one in vehicles.values()):
            self._reports_due = 0.0
        self.vehicle = next(iter(vehicles.values()))
        self._display.begin(self)
        going = True
        for name, stepper in self._steppers.items():
            self._whose = name
            going = stepper.look() and going
        self._whose = ''
        going = self._look(going)
        if self._are_several:
            self._tell_traffic()
        if self.order.flown_by.actions:
            while going and not all(one.engaged for one in vehicles.values()):
                going = self._fly(1)
            if not going and self.crash is None:
                raise never_engaged(self.order.scenario.name)
        return self._after(going)

    def _step(self, action: Sequence[float] | None, frames: int) -> FlightState:
        if action is not None and self._laws:
            self._give(action, self._laws)
        going = True
        while going and frames > 0:
            apart = self._frames_apart(frames) if self._are_several else frames
            going = self._fly(apart)
            frames -= apart
        for who in self._landing:
            if who.law.broken_off is not who.told:
                who.tell(self.time)
        return self._after(going)

    def _frames_apart(self, frames: int) -> int:
        """Return how many of so many frames each can fly without regard to the others."""
        due = min(self._formation.due, self._watch.due, self._reports_due) - self.time
        return max(1, min(math.ceil(due / FRAME - _ROUNDED), frames))

    def _tell_traffic(self) -> None:
        """Tell who sees traffic where the others are, if it is due."""
        if self.time <= self._reports_due - ROUNDED_TIME:
            return
        self._reports_due += PERIOD
        heard = {name: one for name, one in self.vehicles.items() if not one.script.is_unheard}
        self._reports |= {name: one.report() for name, one in heard.items()}
        for name, vehicle in heard.items():
            if vehicle.reports is not None:
                vehicle.reports = tuple(
                    report for other, report in self._reports.items() if other != name)

    def _fly(self, frames: int) -> bool:
        """Fly frames, each by itself; return whether there is another to be flown."""
        going = True
        for name, stepper in self._steppers.items():
            self._whose = name
            going = stepper.fly(frames) and going
        self._whose = ''
        going = self._look(going)
        if self._are_several:
            self._tell_traffic()
        return going

    def _end(self) -> None:
        if self.state is not FlightState.CLOSED and self.flown and not self._used:
            self._record()
            self._used = time.process_time() - self._began
            several = f'{len(self.vehicles)} aircraft, ' if self._are_several else ''
            self._display.say(
                f'{several}{self.flown:.1f} s flown in {self._used:.2f} s of processor time')

    def _record(self) -> None:
        """Write the recording, if one is wanted; without it the flight has failed."""
        order = self.order
        if not order.keep.recording:
            return
        try:
            written.write(
                order.keep.recording, order.link.namespace or written.NAMESPACE,
                {name: vehicle.collected() for name, vehicle in self.vehicles.items()},
                {**order.facts(), 'flown': self.flown,
                 'crash': None if self.crash is None else self.crash.outcome})
        except (OSError, MemoryError) as error:
            if self.error is None:
                why = getattr(error, 'strerror', None) or error or 'there is not enough memory'
                self.state, self.error = FlightState.FAILED, MachineError(
                    f'the recording {order.keep.recording} cannot be written: {why}')


def _make_vehicle(order: Order, law: ControlLaw | None, display: Progress) -> CoreVehicle:
    """Return the vehicle of an order, with its script."""
    scenario, initial = order.scenario, order.scenario.initial
    vehicle: CoreVehicle
    if scenario.runscript is None:
        rate: float = order.given_physics_rate or physics_rate(
            order.model, find_start(initial, scenario.runway), initial.get('aircraft_path', ''))
        vehicle = _make_flown(order, law, int(rate))
    else:
        rate = 1.0 / scenario.runscript.dt
        aircraft = ScriptedAircraft(
            scenario.runscript, order.seed, initial.get('aircraft_path', ''))
        for left_out in aircraft.left_out:
            display.say(f'left out, as it only writes or prints: {left_out}')
        vehicle = RunScriptVehicle(aircraft, display)
    if order.keep.recording or scenario.needs_more():
        vehicle.collector = Collector(
            vehicle.aircraft, each_frame=scenario.runscript is not None)
    vehicle.order, vehicle.script = order, Script(scenario, vehicle, vehicle, display)
    vehicle.script.physics_rate, vehicle.script.begin = rate, 0.0
    vehicle.script.exceedances = vehicle.aircraft.exceedances
    return vehicle


def _make_flown(order: Order, law: ControlLaw | None, rate: int) -> CoreVehicle:
    """Return a vehicle of so many steps per second, flown by a law or the autopilot."""
    scenario, initial = order.scenario, order.scenario.initial
    rounding: Callable[[Aircraft], Rounding] | None = (
        partial(make_rounding, order.rounding) if order.rounding else None)
    vehicle = CoreVehicle(
        make_aircraft(
            find_start(initial, scenario.runway), order.seed, order.model,
            initial.get('aircraft_path', ''), rate),
        law,
        load_sensors(order.sensed_by).later(order.plant.sensor_delay) if order.sensed_by
        else None, rounding, initial.get('gains', ''), order.sensor_seed,
        scenario.runway is not None)
    _refuse_idle(scenario, vehicle.aircraft)
    return vehicle


def _refuse_idle(scenario: Scenario, aircraft: Aircraft) -> None:
    """Raise ScenarioError for test inputs of a surface that moves nothing of this aircraft."""
    axes = {event.value.axis for event in scenario.events if isinstance(event.value, Excitation)}
    if not aircraft.aircraft_path or axes.isdisjoint(SURFACES):
        return
    if idle := [name for name in idle_surfaces(make_spare(aircraft).model()) if name in axes]:
        raise ScenarioError(
            f'scenario {scenario.name} moves the {" and the ".join(idle)} by test inputs, which '
            f'moves nothing of {aircraft.model}')


def make_law(flown_by: FlownBy) -> ActionLaw | None:
    """
    Return the law of an order, None for the autopilot.

    Raises ValueError for a policy that cannot be loaded, MachineError if it is not what it was.
    """
    if flown_by.actions:
        return ActionLaw(LEVELS[flown_by.actions])
    if not flown_by.policy:
        return None
    return PolicyLaw(flown_by.load())


def on_simulated_ground(order: Order) -> Order:
    """Return an order whose runway, if its elevation is not given, has that of the ground."""
    runway = order.scenario.runway
    if runway is None or runway.has_elevation:
        return order
    known = runway.on_ground(elevation_m(runway.latitude_deg, runway.longitude_deg))
    return replace(order, scenario=replace(order.scenario, runway=known))


def never_engaged(name: str) -> ScenarioError:
    """Return the error of a scenario in which no action counts."""
    return ScenarioError(
        f'scenario {name} never engages a controller: an episode needs the event engage')
