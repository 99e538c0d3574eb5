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
A scenario for several aircraft as a PettingZoo ParallelEnv.

    from xplane_bridge.laboratory.episodes.fleet import FleetEnv

    env = FleetEnv('crossing', level='target')
    observations, infos = env.reset(seed=1)
    while env.agents:
        actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        observations, rewards, terminations, truncations, infos = env.step(actions)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple
import warnings

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.optional import missing
from xplane_bridge.common.timing import FRAME_RATE
from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.control.policy.observation import FIELDS, Numbers, OTHERS, Vector
from xplane_bridge.laboratory.control.policy.traffic import velocity_over_ground
from xplane_bridge.laboratory.episodes.checks import (
    check_arguments,
    checked_reason,
    checked_reward,
    checked_seed,
    drawn_seed,
    in_aircraft,
)
from xplane_bridge.laboratory.episodes.environment import box
from xplane_bridge.laboratory.episodes.reward import (
    EnvelopeLeft,
    Reward,
    Step,
    Termination,
    TrackingReward,
)
from xplane_bridge.laboratory.flights.flight import Flight, FlightState
from xplane_bridge.laboratory.flights.order import (
    CORE,
    FlownBy,
    goes_in_lockstep,
    Link,
    Order,
    remarks,
)
from xplane_bridge.laboratory.flights.refusals import OrderError, refusals
from xplane_bridge.laboratory.flights.scenario import scenario as scenarios
from xplane_bridge.laboratory.flights.scenario.scenario import Scenario
from xplane_bridge.laboratory.flights.scenario.start import apply_start, make_start, Start
from xplane_bridge.laboratory.open_flight import open_flight

try:
    from gymnasium import logger
    from gymnasium.spaces import Box
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise missing(
        'an environment of several aircraft', 'gymnasium', 'pettingzoo', extra='train') from error

# An aircraft's place is its own: these are of all.
_OPTIONS = ('wind', 'turbulence', 'failures', 'model', 'aircraft_path', 'sensors')

Made = Callable[[Scenario], Any]
"""What makes a reward or a termination for an aircraft, of its scenario."""


class _Agent(NamedTuple):
    """What judges an aircraft in an episode."""

    scenario: Scenario
    reward: Reward
    termination: Termination


class FleetEnv(ParallelEnv[str, NDArray[Any], NDArray[Any]]):
    """
    Fly a scenario for several; an agent is an aircraft, by its name.

    ``scenario`` is the name of one, a file, or a Scenario; ``sim`` is 'core', in this process, or
    'direct', through ROS in lockstep. ``level``, ``rounding``, ``frames_per_step``, ``sensors``,
    ``model``, ``aircraft_path`` and ``physics_rate`` are those of FlightEnv, for each.
    ``reward`` and ``termination`` are called with the scenario of an aircraft at each reset, and
    return what FlightEnv is given: by default TrackingReward and EnvelopeLeft. Raises ValueError
    with a sentence for what cannot be flown.

    An agent observes all fields of FlightEnv, then OTHERS of each other aircraft, in their order
    and in truth. An episode begins when all are engaged.
    """

    metadata = {
        'name': 'xplane_bridge_fleet_v0', 'render_modes': ['ansi'],
        'render_fps': round(FRAME_RATE), 'is_parallelizable': True}

    def __init__(
        self, scenario: str | Scenario = 'crossing', level: str = 'target', rounding: str = '',
        frames_per_step: int = 6, reward: Made | None = None, termination: Made | None = None,
        sensors: str | None = None, model: str | None = None, aircraft_path: str | None = None,
        physics_rate: int = 0, render_mode: str | None = None, sim: str = CORE,
    ) -> None:
        check_arguments(
            scenario=scenario, frames_per_step=frames_per_step, reward=reward,
            termination=termination, render_mode=render_mode, level=level, rounding=rounding,
            sensors=sensors or '', model=model or '', aircraft_path=aircraft_path or '', sim=sim)
        if isinstance(scenario, str):
            scenario = scenarios.load(scenarios.find(scenario))
        if not scenario.vehicles:
            raise ValueError(
                f'scenario {scenario.name} has one aircraft: use FlightEnv, or one with vehicles')
        self.render_mode = render_mode
        self._usual = Start(sensors=sensors or '')
        self._order = Order(
            in_aircraft(scenario, model, aircraft_path), sim, FlownBy(actions=level),
            sensors=sensors or '', rounding=rounding,
            physics_rate=physics_rate, link=Link(lockstep=goes_in_lockstep(sim)))
        if sentences := refusals(self._order):
            raise OrderError(sentences)
        for line in remarks(self._order):
            logger.warn(line)
        self._action, self._frames = LEVELS[level], int(frames_per_step)
        self._make_reward: Made = reward or TrackingReward
        self._make_termination: Made = termination or EnvelopeLeft
        self.possible_agents = [one.name for one in scenario.vehicles]
        self.agents: list[str] = []
        observed = (*FIELDS, *OTHERS * (len(self.possible_agents) - 1))
        self.observation_spaces = {name: box(observed) for name in self.possible_agents}
        self.action_spaces = {name: box(self._action.fields) for name in self.possible_agents}
        self._random = np.random.default_rng()
        self._flight: Flight | None = None
        self._judges: dict[str, _Agent] = {}
        self._truths: dict[str, Numbers] = {}
        self._held: dict[str, tuple[float, ...]] = {}

    def observation_space(self, agent: str) -> Box:
        """Return the space of what an agent observes."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Box:
        """Return the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Vector], dict[str, dict[str, Any]]]:
        """
        Begin an episode; the same seed gives the same to the bit.

        ``options``: some of wind, turbulence, failures, model, aircraft_path and sensors, of each
        aircraft, as FlightEnv has them; others are ignored with a warning, as PettingZoo has it.
        Raises ValueError with a sentence.
        """
        seed = checked_seed(seed)
        if seed is not None:
            self._random = np.random.default_rng(seed)
        flown = drawn_seed(self._random) if seed is None else seed
        given = dict(options or {})
        if unknown := [str(name) for name in given if name not in _OPTIONS]:
            warnings.warn(
                f'reset: {", ".join(unknown):.200} is ignored: options are {", ".join(_OPTIONS)}',
                stacklevel=2)
        whole = self._order.scenario
        start = make_start(
            flown, {name: given[name] for name in _OPTIONS if name in given}, self._usual,
            whole.duration)
        flight = self._begin(replace(self._order, seed=flown, scenario=replace(
            whole, vehicles=tuple(apply_start(one, start) for one in whole.vehicles)),
            sensors=start.sensors or self._order.sensors))
        self.agents = list(self.possible_agents)
        self._truths = {name: one.truth() for name, one in flight.vehicles.items()}
        return self._observed(flight, self.agents), {
            name: {'seed': flown, **_info(flight, name)} for name in self.agents}

    def step(self, actions: Mapping[str, NDArray[Any]]) -> tuple[
        dict[str, Vector], dict[str, float], dict[str, bool], dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """
        Fly on with an action of each agent, limited to its bounds.

        One is terminated where its flight is lost, or in a mid-air that ends the flight; then its
        aircraft flies on with its last action. One that crashes is terminated, and the flight
        ends; its ``infos`` have ``crash``. All others are truncated at the flight's end.
        ``infos`` have then ``reason``, ``passed`` and ``judgements``, those of the agent and those
        over two. Raises ValueError for agents that are not there, and as FlightEnv for an action.
        """
        agents, flight = list(self.agents), self._flight
        if not agents or flight is None:
            raise ValueError('no episode has begun, or it is over: call reset() first')
        self._take(actions, agents)
        flight.step(
            [number for name in self.possible_agents for number in self._held[name]],
            self._frames)
        if flight.error is not None:
            self.agents = []
            raise flight.error
        before, self._truths = self._truths, {
            name: one.truth() for name, one in flight.vehicles.items()}
        met = {name for one in flight.meetings for name in (one.first, one.second)} if (
            flight.state is FlightState.OVER
            and flight.flown < flight.order.scenario.duration) else ()
        rewards: dict[str, float] = {}
        reasons: dict[str, str] = {}
        for name in agents:
            judge = self._judges[name]
            step = Step(judge.scenario, flight.time, before[name], self._held[name],
                        self._truths[name])
            crash = flight.vehicles[name].script.crash
            reasons[name] = (
                crash.outcome if crash is not None else 'mid-air' if name in met
                else checked_reason(judge.termination(step)))
            rewards[name] = checked_reward(judge.reward(step))
        over = flight.state in (FlightState.OVER, FlightState.CRASHED)
        infos = {name: _info(flight, name) for name in agents}
        for name in agents:
            if reasons[name] or over:
                infos[name] |= _ending(flight, name, reasons[name])
        self.agents = [] if over else [name for name in agents if not reasons[name]]
        return (
            self._observed(flight, agents), rewards,
            {name: bool(reasons[name]) for name in agents},
            {name: over and not reasons[name] for name in agents}, infos)

    def render(self) -> str | None:
        """Return the state of each in a line, if render_mode is ansi."""
        flight = self._flight
        if self.render_mode is None or flight is None:
            return None
        return '\n'.join(
            f'{flight.time:7.2f} s  {name}  altitude {last("altitude"):7.1f} m  airspeed '
            f'{last("airspeed"):5.1f} m/s' for name, last in (
                (name, one.telemetry.last) for name, one in flight.vehicles.items()))

    def close(self) -> None:
        """End the flight."""
        if self._flight is not None:
            self._flight.retire()

    def _begin(self, order: Order) -> Flight:
        self.agents = []
        self.close()
        flight = open_flight(order)
        self._flight = flight
        if flight.start() is FlightState.FAILED:
            assert flight.error is not None
            raise flight.error
        if flight.crash is not None:
            raise ValueError(f'{flight.crashed} {flight.crash.outcome}, before an action counted')
        self._judges = {one.name: _Agent(
            one, self._make_reward(one), self._make_termination(one))
            for one in order.scenario.vehicles}
        return flight

    def _take(self, actions: Mapping[str, NDArray[Any]], agents: list[str]) -> None:
        """Take an action of each agent."""
        if not isinstance(actions, Mapping) or {*actions} != {*agents}:
            given = ', '.join(map(str, actions)) if isinstance(actions, Mapping) else actions
            raise ValueError(
                f'actions: expected one of each of {", ".join(agents)}, got {given!s:.200}')
        self._held = self._held | {
            name: self._action.checked(actions[name]) for name in agents}

    def _observed(self, flight: Flight, agents: list[str]) -> dict[str, Vector]:
        velocities = {
            name: velocity_over_ground(truth) for name, truth in self._truths.items()}
        found = {}
        for name in agents:
            own = velocities[name]
            others = [number for other in self.possible_agents if other != name for number in (
                *flight.offset(name, other),
                *(its - mine for its, mine in zip(velocities[other], own, strict=True)))]
            found[name] = np.concatenate((flight.vehicles[name].observation(), np.array(others)))
        return found


def _info(flight: Flight, name: str) -> dict[str, Any]:
    return {'time': flight.time, 'engaged': flight.vehicles[name].script.engaged}


def _ending(flight: Flight, name: str, reason: str) -> dict[str, Any]:
    """Return what is told of an agent's end."""
    others = tuple(f'{one}: ' for one in flight.vehicles if one != name)
    judgements = [one for one in flight.result().judgements
                  if not one.criterion.startswith(others)]
    at_end = flight.flown == flight.order.scenario.duration
    own = flight.vehicles[name].script.crash
    return ({} if own is None else {'crash': own.plain()}) | {
        'reason': reason or (
            'the scenario is flown to its end' if at_end else
            'others have met in the air' if flight.crash is None else
            f'{flight.crashed} has crashed'),
        'passed': at_end and all(one.passed for one in judgements),
        'judgements': [
            {'criterion': one.criterion, 'value': one.value, 'passed': one.passed}
            for one in judgements]}
