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
A scenario flown in this process, without ROS: the simulated aircraft, a control law, the events.

    from xplane_bridge.flights.core import CoreRun
    from xplane_bridge.flights.scenario.scenario import find, load

    run = CoreRun(load(find('steps')))
    run.fly()
    print(run.evaluate().judgements)

Each frame is that of a flight through ROS in lockstep: the state is measured, what is due happens,
the law commands, and the aircraft flies on with that command. What a wire rounds is not rounded
here, unless one is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
import math
import sys
import time
from typing import Any

from xplane_bridge.aircraft.aircraft import Aircraft
from xplane_bridge.aircraft.initial import Initial
from xplane_bridge.common.units import KNOT
from xplane_bridge.control.cascade import Cascade
from xplane_bridge.control.policy.action import CONTROLS
from xplane_bridge.control.policy.load import load as load_policy
from xplane_bridge.conversions.vehicle import Controls
from xplane_bridge.experiments import report
from xplane_bridge.experiments.live import Live, served
from xplane_bridge.experiments.settings import (
    DEFAULT_MODEL,
    Experiment,
    gains_of,
    INTERRUPTED,
    NO_SENSORS,
    NOT_FLOWN,
    PASSED,
)
from xplane_bridge.flights.controller import Law
from xplane_bridge.flights.core_vehicle import CoreVehicle, Wire
from xplane_bridge.flights.laws import ActionLaw, PolicyLaw
from xplane_bridge.flights.scenario.scenario import Scenario, ScenarioError
from xplane_bridge.flights.script import Display, ExperimentError
from xplane_bridge.flights.sensed import figures_of
from xplane_bridge.flights.stepped import SteppedRun
from xplane_bridge.nodes.flight.bridges import simulated_start


class Silent:
    """Shows nothing of a flight."""

    def say(self, text: str) -> None:
        """Do nothing."""

    def update(self, phase: str, progress: float) -> None:
        """Do nothing."""


class Printed(Silent):
    """Prints what happens in a flight."""

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, flush=True)


class Watched(Printed):
    """Prints what happens, shows it live, and holds the flight back to ``speed`` x real time."""

    def __init__(self, live: Live, speed: float) -> None:
        self._live = live
        self._speed = speed
        self._begin = math.nan
        self._duration = math.nan

    def begin(self, run: CoreRun) -> None:
        """Show this flight, which begins now."""
        self._live.begin(run, run.vehicle)
        self._duration = run.scenario.duration
        self._begin = time.monotonic()

    def say(self, text: str) -> None:
        """Print a line, and log it."""
        super().say(text)
        self._live.say(text)

    def update(self, phase: str, progress: float) -> None:
        """Show the state, and wait until it is due."""
        self._live.update(progress)
        due = self._begin + progress * self._duration / self._speed
        time.sleep(max(0.0, due - time.monotonic()))


class CoreRun(SteppedRun):
    """
    Fly a scenario in this process.

    ``vehicle`` is what flies; another law than the autopilot's may be given, other sensors (name
    or file, 'none') than the scenario's, and a wire that rounds (see CoreVehicle). What a law of
    your own commands is judged as docs/reference/controllers.md has it: out of range, or not
    finite, it is counted, and the aircraft keeps the command before. Raises ScenarioError for a
    scenario that needs real time or other sensors, and ValueError if the initial state cannot be
    trimmed, or if the autopilot is to fly an aircraft without gains.
    """

    def __init__(self, scenario: Scenario, seed: int = 0, law: Law | None = None,
                 display: Display | None = None, sensors: str = '',
                 wire: Callable[[Aircraft], Wire] | None = None) -> None:
        if scenario.needs_real_time():
            raise ScenarioError(
                f'scenario {scenario.name} works in real time only, because of '
                f'{", ".join(scenario.needs_real_time())}')
        initial = scenario.initial
        sensors = sensors or scenario.sensors
        self.vehicle = CoreVehicle(
            start_of(initial), seed, law, initial.get('model', DEFAULT_MODEL),
            initial.get('aircraft_path', ''),
            figures_of(sensors) if sensors not in ('', NO_SENSORS) else None, wire,
            initial.get('gains', ''))
        if scenario.engages() and (law is None or (
                isinstance(law, ActionLaw) and law.action is not CONTROLS)):
            gains_of(initial)
        super().__init__(scenario, self.vehicle, self.vehicle, display or Silent())
        self.begin = 0.0
        if law is not None and not isinstance(law, Cascade | ActionLaw):
            self.hold_to_contract(type(law).__name__)

    def fly(self) -> None:
        """Fly it to its end; raise ExperimentError if that is not possible."""
        for _ in self.frames():
            pass

    def frames(self) -> Iterator[Controls]:
        """Fly it frame by frame, yielding the command that each was flown with."""
        while self.look():
            yield self.fly_on()


def start_of(initial: Mapping[str, Any]) -> Initial:
    """Return where a scenario starts: what it does not say is simulator_node's default."""
    default = Initial()
    given = simulated_start(initial)
    return Initial(
        lat_deg=given.get('latitude_deg', default.lat_deg),
        lon_deg=given.get('longitude_deg', default.lon_deg),
        altitude_msl=given.get('altitude', default.altitude_msl),
        heading_deg=given.get('heading_deg', default.heading_deg),
        airspeed_kt=given['airspeed'] / KNOT if 'airspeed' in given else default.airspeed_kt,
        parked=given.get('parked', default.parked))


def fly(experiment: Experiment) -> int:
    """
    Fly a scenario in this process; write the files, print the report.

    Return PASSED, MISSED, NOT_FLOWN (with the reason on stderr) or INTERRUPTED.
    """
    settings = experiment.settings
    with ExitStack() as stack:
        try:
            live = stack.enter_context(served(experiment))
            display = Printed() if live is None else Watched(live, settings.speed)
            run = CoreRun(experiment.scenario, settings.seed,
                          PolicyLaw(load_policy(settings.policy)) if settings.policy else None,
                          display, settings.sensors)
        except (ImportError, ValueError) as error:
            print(f'experiment: {error}', file=sys.stderr, flush=True)
            return NOT_FLOWN
        return _fly(experiment, run, display)


def _fly(experiment: Experiment, run: CoreRun, display: Printed) -> int:
    report.clear(experiment.files)
    if isinstance(display, Watched):
        display.begin(run)
    code, begin = PASSED, time.process_time()
    try:
        run.fly()
    except KeyboardInterrupt:
        print('interrupted; the results so far follow', flush=True)
        code = INTERRUPTED
    except (ExperimentError, ValueError) as error:
        print(f'experiment: {error}', file=sys.stderr, flush=True)
        code = NOT_FLOWN
    used = time.process_time() - begin
    if not run.flown:
        return code
    print(f'{run.flown:.1f} s flown in {used:.2f} s of processor time', flush=True)
    return report.report_on(experiment, run.vehicle.flight(), run, code)
