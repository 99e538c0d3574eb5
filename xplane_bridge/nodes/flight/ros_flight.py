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
A scenario flown by actions through ROS: through the bridge of a simulator.

With a simulator of this package the flight is in lockstep: each frame waits for its action, and
equal seeds give equal flights. A real simulator (``host``) flies in real time.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import count
import os
import tempfile
import weakref

from xplane_bridge.common import optional
from xplane_bridge.control.cascade import Cascade
from xplane_bridge.control.policy.action import Action, CONTROLS
from xplane_bridge.control.policy.observation import Vector
from xplane_bridge.experiments.settings import (
    DEFAULT_MODEL,
    gains_of,
    NO_SENSORS,
    Settings,
)
from xplane_bridge.flights.analysis.verdict import Judgement
from xplane_bridge.flights.core import Silent
from xplane_bridge.flights.core_vehicle import tuned
from xplane_bridge.flights.flight import Start
from xplane_bridge.flights.laws import ActionLaw
from xplane_bridge.flights.scenario.scenario import Scenario, ScenarioError
from xplane_bridge.flights.scenario.start import scenario_of
from xplane_bridge.flights.stepped import SteppedRun
from xplane_bridge.nodes.flight.actions import Observer, PilotedVehicle
from xplane_bridge.nodes.flight.processes import Processes
from xplane_bridge.nodes.flight.simulation import observing, start_simulation
from xplane_bridge.simulators.registry import SIMULATORS

_NODE = 'episode'
_flights = count()


class RosFlight:
    """
    A scenario through ROS; each reset starts simulator and bridge anew, as processes.

    ``sim`` is a simulator of simulators.registry. ``host`` and ``port`` are those of a real one.
    ``namespace`` is the vehicle's, by default one of its own for each episode; ``log`` is a file
    for what the processes print. All processes end with close(), with an error, and with the
    interpreter. Raises ValueError for what cannot be flown, ImportError without what it needs.
    """

    def __init__(
        self, scenario: Scenario, action: Action, frames_per_step: int = 1, sim: str = 'xpc',
        host: str = '', port: int = 0, namespace: str = '', log: str = '',
    ) -> None:
        if sim not in SIMULATORS:
            raise ValueError(f'sim: got {sim!r}, expected one of {", ".join(SIMULATORS)}')
        if not host:
            optional.require('room ros', 'jsbsim', extra='fly')
        self.scenario = self._given = scenario
        self._action = action
        self._frames = frames_per_step
        self._settings = partial(
            Settings, sim, host, port, lockstep=not host and SIMULATORS[sim].has_time)
        self._namespace = namespace
        self._log = log
        self._resources = ExitStack()
        self._run: SteppedRun | None = None
        # Not a bound method: that would keep this alive until then.
        atexit.register(_close, weakref.ref(self))

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""
        self._flown()
        return self._vehicle.time - self._vehicle.began

    @property
    def is_engaged(self) -> bool:
        """Return whether an action counts in the frame that waits."""
        return self._flown().engaged

    def reset(self, start: Start) -> Vector:
        """
        Start simulator and bridge, and fly on to the first frame in which the law is engaged.

        Raises ValueError if the start is not possible, ExperimentError if a process fails.
        """
        self.close()
        self.scenario = scenario_of(self._given, start)
        self._check(self.scenario, start)
        try:
            self._run = run = self._begin(start.seed)
            while run.look() and not run.engaged:
                run.fly_on()
        except BaseException:
            self.close()
            raise
        if run.is_over:
            self.close()
            raise ValueError(
                f'scenario {self.scenario.name} never engages a controller: an episode needs '
                'the event engage')
        return self._vehicle.observation()

    def step(self, action: Sequence[float]) -> tuple[Vector, bool]:
        """
        Fly on with an action; return the next observation, and whether the flight is over.

        Raises ExperimentError if simulator or bridge fail; then the flight is closed.
        """
        run = self._flown()
        if run.is_over:
            raise ValueError('the episode is over: reset() begins another')
        self._law.given = tuple(action)
        try:
            for _ in range(self._frames):
                run.fly_on()
                if not run.look():
                    break
        except BaseException:
            self.close()
            raise
        return self._vehicle.observation(), run.is_over

    def truth(self) -> Vector:
        """Return the last observation as it would be without sensors."""
        self._flown()
        return self._vehicle.truth()

    def judgements(self) -> list[Judgement]:
        """Return the judgements of the scenario's criteria on what has been flown."""
        return self._flown().evaluate().judgements

    def close(self) -> None:
        """End all processes; closing twice is fine."""
        self._run = None
        self._resources.close()

    def _check(self, scenario: Scenario, start: Start) -> None:
        """Raise ScenarioError for what cannot be flown here."""
        if scenario.sensors not in ('', NO_SENSORS):
            raise ScenarioError('room ros observes without sensors: give sensors "none"')
        if self._action is not CONTROLS:
            gains_of(scenario.initial)
        if not (host := self._settings().host):
            return
        wanted = [name for name in ('initial', 'aircraft', 'seed') if getattr(start, name)]
        if wanted := wanted + scenario.needs_simulator():
            raise ScenarioError(
                f'a real simulator ({host}) does not support {", ".join(wanted)}: its protocol '
                'has none of that; place the aircraft there, then reset without options')

    def _begin(self, seed: int) -> SteppedRun:
        """Start the processes, and wait for the first state."""
        settings = self._settings(seed=seed)
        namespace = self._namespace or f'/episode_{os.getpid()}_{next(_flights)}'
        use = self._resources.enter_context
        node, observer = use(observing(
            _NODE, namespace, False,
            lambda node: Observer(node, namespace, settings.lockstep)))
        log = self._log or os.path.join(use(tempfile.TemporaryDirectory()), 'log')
        processes = use(Processes(log))
        start_simulation(
            processes, settings, namespace, {} if settings.host else self.scenario.initial)
        initial = self.scenario.initial
        self._law = ActionLaw(self._action)
        vehicle = self._vehicle = PilotedVehicle(
            node, namespace, observer, processes, self._law, settings.lockstep,
            bool(self.scenario.needs_simulator()))
        self._law.place(
            vehicle.observation,
            Cascade(*tuned(
                initial.get('model', DEFAULT_MODEL), initial.get('aircraft_path', ''),
                initial.get('gains', ''))))
        vehicle.begin()
        run = SteppedRun(self.scenario, vehicle, vehicle.monitor, Silent())
        run.begin = vehicle.began
        return run

    def _flown(self) -> SteppedRun:
        if self._run is None:
            raise ValueError('no episode has begun: call reset() first')
        return self._run


def _close(flight: weakref.ref[RosFlight]) -> None:
    if (known := flight()) is not None:
        known.close()
