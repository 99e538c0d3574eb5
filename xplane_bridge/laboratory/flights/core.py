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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
import time
from typing import Any

from xplane_bridge.common.machine import MachineError
from xplane_bridge.common.timing import PHYSICS_RATE
from xplane_bridge.common.units import KNOT
from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.control.policy.observation import Numbers, Vector, vector
from xplane_bridge.laboratory.control.runway.charted import ChartedRunway
from xplane_bridge.laboratory.flights.analysis.series import History
from xplane_bridge.laboratory.flights.controller import ControlLaw
from xplane_bridge.laboratory.flights.core_vehicle import CoreVehicle, Rounding
from xplane_bridge.laboratory.flights.flight import Display, Flight, FlightState
from xplane_bridge.laboratory.flights.laws import ActionLaw, PolicyLaw
from xplane_bridge.laboratory.flights.order import FlownBy, Order
from xplane_bridge.laboratory.flights.recordings import written
from xplane_bridge.laboratory.flights.recordings.collected import Collector
from xplane_bridge.laboratory.flights.rounding import make_rounding
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError
from xplane_bridge.laboratory.flights.scenario.start import simulated_start
from xplane_bridge.laboratory.flights.script import Script
from xplane_bridge.laboratory.flights.sensed import load_sensors
from xplane_bridge.laboratory.flights.simulation_frames import FrameStepper
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.plant import Plant
from xplane_bridge.simulation.aircraft.studies.physics_rate import fastest_mode, physics_rate
from xplane_bridge.simulation.aircraft.terrain import Airfield, elevation_m

_USUAL = Initial()


class CoreFlight(Flight):
    """
    A flight in this process.

    ``vehicle`` is what flies, from start() on. ``law`` takes the place of the autopilot: what it
    commands is judged as docs/reference/controllers.md has it: out of range, or not finite, it
    is counted, and the aircraft keeps the command before.
    """

    vehicle: CoreVehicle

    def __init__(self, order: Order, display: Display, law: ControlLaw | None = None) -> None:
        if order.keep.recording:
            # Reported before the flight, not after it.
            written.check(order.keep.recording)
        super().__init__(on_simulated_ground(order), display)
        self._law = law
        self._truth: Numbers | None = None
        self._used = 0.0

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""
        return self.vehicle.time if self.state is FlightState.READY or self.began else 0.0

    def observation(self) -> Vector:
        """Return what a policy is told of the observed state (control.observation.FIELDS)."""
        truth = self.truth()
        return self.vehicle.observation() if self.vehicle.has_sensors else vector(truth)

    def truth(self) -> Numbers:
        """Return the observation as it would be without sensors."""
        if self._truth is None:
            if self.state is not FlightState.READY:
                self._check_began()
            self._truth = self.vehicle.truth()
        return self._truth

    def history(self) -> History:
        """Return all that was measured, commanded and wanted."""
        self._check_began()
        return self.vehicle.history()

    def retire(self) -> None:
        """Close it, and let a later flight have its aircraft: to load one takes 3 ms."""
        if self.state is not FlightState.CLOSED:
            super().retire()
            if self.began:
                self.vehicle.aircraft.retire()

    def _start(self) -> FlightState:
        self._began = time.process_time()
        order, scenario = self.order, self.order.scenario
        law = self._law or make_law(order.flown_by)
        initial = scenario.initial
        rounding: Callable[[Aircraft], Rounding] | None = (
            partial(make_rounding, order.rounding) if order.rounding else None)
        start = find_start(initial, scenario.runway)
        path = initial.get('aircraft_path', '')
        rate = order.given_physics_rate or physics_rate(order.model, start, path)
        if rate != PHYSICS_RATE and not order.given_physics_rate:
            self._display.say(
                f'{order.model} is computed {rate} times per second: its fastest mode has '
                f'{fastest_mode(order.model, start, path):.0f} rad/s')
        vehicle = self.telemetry = self.vehicle = CoreVehicle(
            start, order.seed, law, order.model, path,
            load_sensors(order.sensed_by).later(order.plant.sensor_delay) if order.sensed_by
            else None, rounding,
            initial.get('gains', ''), rate, order.sensor_seed,
            scenario.runway is not None)
        if order.keep.recording or scenario.needs_more():
            vehicle.collector = Collector(vehicle.aircraft)
        script = self.script = Script(scenario, vehicle, vehicle, self._display)
        script.physics_rate = rate
        script.begin, script.exceedances = 0.0, vehicle.aircraft.exceedances
        self._frames = FrameStepper(
            script, vehicle,
            '' if isinstance(law, Cascade | ActionLaw | None) else type(law).__name__)
        self._actions = law if isinstance(law, ActionLaw) else None
        self._display.begin(self)
        going = self._frames.look()
        if order.flown_by.actions:
            while going and not script.engaged:
                going = self._frames.fly(1)
            if not going and script.crash is None:
                raise never_engaged(scenario.name)
        return self._after(going)

    def _step(self, action: Sequence[float] | None, frames: int) -> FlightState:
        if action is not None and self._actions is not None:
            self._actions.given = tuple(action)
        self._truth = None
        return self._after(self._frames.fly(frames))

    def _end(self) -> None:
        if self.state is not FlightState.CLOSED and self.flown and not self._used:
            record(self, {'': self.vehicle})
            self._used = time.process_time() - self._began
            self._display.say(
                f'{self.flown:.1f} s flown in {self._used:.2f} s of processor time')


def record(flight: Flight, vehicles: Mapping[str, CoreVehicle]) -> None:
    """
    Write the recording of a flight, if one is wanted; without it the flight has failed.

    ``vehicles`` are by the names below its namespace, one alone by ''.
    """
    order = flight.order
    if not order.keep.recording:
        return
    namespace = order.link.namespace or written.NAMESPACE
    try:
        written.write(
            order.keep.recording,
            {f'{namespace}/{name}': vehicle.collected() for name, vehicle in vehicles.items()},
            {**order.facts(), 'flown': flight.flown,
             'crash': None if flight.crash is None else flight.crash.outcome})
    except (OSError, MemoryError) as error:
        if flight.error is None:
            why = getattr(error, 'strerror', None) or error or 'there is not enough memory'
            flight.state, flight.error = FlightState.FAILED, MachineError(
                f'the recording {order.keep.recording} cannot be written: {why}')


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


def find_start(
    initial: Mapping[str, Any], runway: ChartedRunway | None = None, default: Initial = _USUAL
) -> Initial:
    """
    Return where a scenario starts: what it does not say is simulator_node's default.

    The ground around its runway is as high as that.
    """
    given = simulated_start(initial, runway)
    return Initial(
        lat_deg=given.get('latitude_deg', default.lat_deg),
        lon_deg=given.get('longitude_deg', default.lon_deg),
        altitude_msl=given.get('altitude_msl', default.altitude_msl),
        heading_deg=given.get('heading_deg', default.heading_deg),
        airspeed_kt=given['airspeed'] / KNOT if 'airspeed' in given else default.airspeed_kt,
        parked=given.get('parked', default.parked),
        airfield=Airfield(*given['airfield']) if runway else default.airfield,
        plant=Plant.of(initial.get('plant', {})))
