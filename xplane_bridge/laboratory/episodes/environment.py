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
A scenario as a Gymnasium environment.

    import gymnasium
    import xplane_bridge.laboratory.episodes

    env = gymnasium.make('xplane_bridge/Flight-v0', scenario='turbulence')
    observation, info = env.reset(seed=1, options={'wind': [0.0, 5.0, 0.0]})
    observation, reward, terminated, truncated, info = env.step([0.0, 0.0, 0.0, 0.7])
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xplane_bridge.common.optional import missing
from xplane_bridge.common.timing import FRAME_RATE
from xplane_bridge.laboratory.control.policy.action import LEVELS
from xplane_bridge.laboratory.control.policy.observation import (
    Field,
    FIELDS,
    INDEX,
    NAMES,
    Numbers,
    numbers,
    Vector,
    vector,
)
from xplane_bridge.laboratory.episodes.checks import (
    check_arguments,
    checked_fields,
    checked_reason,
    checked_reward,
    checked_seed,
    checked_snapshot,
    drawn_seed,
    in_aircraft,
    refuse_fleet,
    refuse_names,
)
from xplane_bridge.laboratory.episodes.reward import (
    EnvelopeLeft,
    Reward,
    seen,
    Step,
    Termination,
    TrackingReward,
)
from xplane_bridge.laboratory.episodes.snapshot import Snapshot
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
    import gymnasium
    from gymnasium import logger
    from gymnasium.spaces import Box
except ImportError as error:
    raise missing('an environment', 'gymnasium', extra='train') from error


def box(fields: Sequence[Field]) -> Box:
    """
    Return the space of a vector of fields.

    In double precision, as in the messages: latitudes need it, and a command arrives as it was
    chosen.
    """
    low, high = (
        np.array([getattr(field, side) for field in fields], dtype=np.float64)
        for side in ('low', 'high'))
    return Box(low, high, dtype=np.float64)


class FlightEnv(gymnasium.Env[NDArray[Any], NDArray[Any]]):
    """
    Fly a scenario, frame by frame.

    ``scenario`` is the name of one, a file, or a Scenario; ``sim`` is 'core' (in this process;
    ``rounding`` names a simulator as whose protocol it rounds), or a simulator: through ROS and
    its bridge, in lockstep where its protocol has time.
    ``level`` is that of control.action. A step is ``frames_per_step`` frames of 1/60 s with one
    action; ``physics_rate`` is how many times per second the aircraft is computed, 0: as often as
    its model needs. ``fields`` names what is observed, in its order (default: all of
    control.observation). ``reward`` and ``termination`` take the place of the scenario's
    (reward.py), and ``sensors``, ``model`` and ``aircraft_path`` (the folder of one of your own)
    that of its own. Raises ValueError with a sentence for what cannot be flown.

    An episode begins when the scenario engages its controller; until then, and whenever it is
    not engaged, the scenario's own controls fly, and actions do not count (``info['engaged']``).
    """

    metadata = {'render_modes': ['ansi'], 'render_fps': round(FRAME_RATE)}

    def __init__(
        self, scenario: str | Scenario = 'turbulence', sim: str = CORE,
        level: str = 'controls', rounding: str = '', frames_per_step: int = 1,
        reward: Reward | None = None, termination: Termination | None = None,
        sensors: str | None = None, model: str | None = None, aircraft_path: str | None = None,
        physics_rate: int = 0, fields: Sequence[str] | None = None,
        render_mode: str | None = None, **given: object,
    ) -> None:
        refuse_names(given, signature(FlightEnv).parameters)
        made_with = {
            'scenario': scenario, 'sim': sim, 'level': level, 'rounding': rounding,
            'frames_per_step': frames_per_step, 'sensors': sensors or '',
            'model': model or '', 'aircraft_path': aircraft_path or ''}
        check_arguments(
            **made_with, reward=reward, termination=termination, render_mode=render_mode)
        self.render_mode = render_mode
        self.fields = NAMES if fields is None else checked_fields(fields)
        # All, if None.
        self._columns = None if fields is None else [INDEX[name] for name in self.fields]
        if isinstance(scenario, str):
            scenario = scenarios.load(scenarios.find(scenario))
        refuse_fleet(scenario)
        self._duration = scenario.duration
        self._usual = Start(sensors=sensors or '')
        self._frames = int(frames_per_step)
        self._order = Order(
            in_aircraft(scenario, model, aircraft_path), sim, FlownBy(actions=level),
            sensors=sensors or '', rounding=rounding,
            physics_rate=physics_rate, link=Link(lockstep=goes_in_lockstep(sim)))
        if sentences := refusals(self._order):
            raise OrderError(sentences)
        for line in remarks(self._order):
            logger.warn(line)
        self._flight: Flight | None = None
        # What an environment that restores a snapshot of this one must have been given too.
        self._made_with = {
            **made_with, 'scenario': scenario, 'physics_rate': physics_rate,
            'fields': self.fields}
        self._flown = array('d')
        self.level, self._action = level, LEVELS[level]
        self._given_reward, self._given_termination = reward, termination
        self._reward: Reward
        self._termination: Termination
        # Of the last frame, also of an episode that is over.
        self._truth: Numbers | None = None
        self._goes_on = False
        self.observation_space = box([FIELDS[INDEX[name]] for name in self.fields])
        self.action_space = box(self._action.fields)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Vector, dict[str, Any]]:
        """
        Begin an episode with a newly trimmed aircraft; the same seed gives the same to the bit.

        ``seed`` is also that of the turbulence, as in ``experiment --seed``; without one it is
        drawn. ``options``: some of initial, wind, turbulence, failures, model, aircraft_path and
        sensors (start.OPTIONS), for this episode only. Raises ValueError with a sentence.
        """
        seed = checked_seed(seed)
        super().reset(seed=seed)
        flown = drawn_seed(self.np_random) if seed is None else seed
        flight = self._begin(make_start(
            flown, {} if options is None else options, self._usual, self._duration))
        self._truth, self._goes_on = flight.truth(), True
        return self._observation(flight), {'seed': flown, **_info(flight)}

    def step(
        self, action: NDArray[Any]
    ) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """
        Fly on with an action, limited to its bounds.

        It is terminated where the flight is lost, truncated at the scenario's end. Then ``info``
        has ``reason``, ``passed``, and ``judgements``: criterion, value and whether it is met.
        After a crash, which terminates it, ``crash`` says what happened.
        Raises ValueError for an action of a wrong shape or with a number that is not finite.
        """
        values = self._action.checked(action)
        flight, before = self._in_flight(), self._truth
        assert before is not None
        self._fly(flight, values)
        over = flight.state is FlightState.OVER
        observation = self._observation(flight)
        after = self._truth = flight.truth()
        info = _info(flight)
        step = Step(flight.order.scenario, info['time'], before, values, after)
        crash = flight.crash if flight.state is FlightState.CRASHED else None
        reason = (checked_reason(self._termination(step)) if crash is None
                  else crash.outcome)
        reward = checked_reward(self._reward(step))
        if reason or over:
            self._goes_on = False
            judgements = flight.result().judgements
            info |= {
                'reason': reason or 'the scenario is flown to its end',
                'passed': (over or crash is not None and not flight.crash_verdict) and all(
                    one.passed for one in judgements),
                'judgements': [
                    {'criterion': one.criterion, 'value': one.value, 'passed': one.passed}
                    for one in judgements]}
            if crash is not None:
                info['crash'] = crash.plain()
        return observation, reward, bool(reason), over and not reason, info

    def snapshot(self) -> Snapshot:
        """
        Return the episode so far, to go on from here again.

        It is plain data that can be pickled: 8 bytes for each number of each action so far. Raises
        ValueError if no episode is in flight, or it is flown in real time.
        """
        flight = self._in_flight()
        if flight.order.sim != CORE and not flight.order.link.lockstep:
            raise ValueError(
                f'snapshot: {flight.order.sim} flies in real time, where no flight comes again')
        return Snapshot(
            self._made_with, self._start, self._flown.tobytes(), flight.observation().tobytes(),
            self.np_random.bit_generator.state)

    def restore(self, snapshot: Snapshot) -> tuple[Vector, dict[str, Any]]:
        """
        Return to a snapshot, and what was observed there.

        From here on the same actions give the same episode, to the last bit. It is flown again
        from its reset (snapshot.py says why), which takes as long as it took to fly. The snapshot
        may be of another environment that was made with the same arguments; reward and
        termination are this one's. Raises ValueError that says what differs.
        """
        checked_snapshot(snapshot).check(self._made_with)
        flight = self._begin(snapshot.start)
        for values in snapshot.rows(len(self._action.fields)):
            self._fly(flight, values)
        snapshot.check_arrival(flight.observation())
        self.np_random.bit_generator.state = snapshot.random
        self._truth, self._goes_on = flight.truth(), True
        return self._observation(flight), {'seed': snapshot.start.seed, **_info(flight)}

    def render(self) -> str | None:
        """Return the state in one line, if render_mode is ansi."""
        if self.render_mode is None or self._truth is None or self._flight is None:
            return None
        now = seen(self._truth)
        return (f'{self._flight.time:7.2f} s  altitude {now.altitude:7.1f} m  airspeed '
                f'{now.airspeed:5.1f} m/s  roll {now.roll_deg:+6.1f} deg  pitch '
                f'{now.pitch_deg:+6.1f} deg')

    def close(self) -> None:
        """End the flight."""
        if self._flight is not None:
            self._flight.retire()

    def _begin(self, start: Start) -> Flight:
        """Begin an episode; return its flight, in which no action has counted yet."""
        self._truth, self._goes_on = None, False
        self.close()
        scenario = apply_start(self._order.scenario, start)
        flight = self._flight = open_flight(replace(
            self._order, scenario=scenario, seed=start.seed,
            sensors=start.sensors or self._order.sensors))
        if flight.start() is FlightState.FAILED:
            assert flight.error is not None
            raise flight.error
        if flight.crash is not None:
            raise ValueError(f'it {flight.crash.outcome}, before an action counted')
        self._reward = self._given_reward or TrackingReward(scenario)
        self._termination = self._given_termination or EnvelopeLeft(scenario)
        self._start, self._flown = start, array('d')
        self._is_sensed = bool(flight.order.sensed_by)
        return flight

    def _observation(self, flight: Flight) -> Vector:
        """Return what is observed, an array of its own."""
        # Without sensors that is the truth, which is needed in any case.
        known = numbers(flight.observation()) if self._is_sensed else flight.truth()
        if self._columns is None:
            return vector(known)
        return np.array([known[column] for column in self._columns])

    def _in_flight(self) -> Flight:
        if not self._goes_on or self._flight is None:
            raise ValueError('no episode has begun, or it is over: call reset() first')
        return self._flight

    def _fly(self, flight: Flight, values: Sequence[float]) -> None:
        """Fly the frames of a step."""
        self._flown.extend(values)
        flight.step(values, self._frames)
        if flight.error is not None:
            self._goes_on = False
            raise flight.error


def _info(flight: Flight) -> dict[str, Any]:
    return {'time': flight.time, 'engaged': flight.script.engaged}
