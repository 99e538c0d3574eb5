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
The standard simulator interface (ROS 2's simulation_interfaces) for this simulator.

Its constants are repeated here (release 1.0 to 2.1), so that this can be used and tested where
that package is not installed. It has states where this simulator has pause and reset:

    STOPPED --play--> PLAYING --pause--> PAUSED
       ^ ^--------------stop----------------|
       '--pause--> PAUSED

STOPPED is paused at the start of a flight. The simulated time continues across a stop and a reset,
as it does for X-Plane and as ROS time must, so SCOPE_TIME is not offered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
import math
import time

from xplane_bridge.common.text import counted
from xplane_bridge.simulation.aircraft.geometry import Vector
from xplane_bridge.simulation.peers.server import Server
from xplane_bridge.simulation.peers.standard.entities import BadPoseError, UnknownNameError
from xplane_bridge.simulation.peers.standard.filters import Box, Sphere, UnsupportedBoundsError
from xplane_bridge.simulation.peers.world import World


class ResultCode(IntEnum):
    """result in ResultCode.msg; above 100 those of single services."""

    FEATURE_UNSUPPORTED = 0
    OK = 1
    NOT_FOUND = 2
    INCORRECT_STATE = 3
    OPERATION_FAILED = 4
    # SetSimulationState
    ALREADY_IN_TARGET_STATE = 101
    STATE_TRANSITION_ERROR = 102


# SetEntityState, from 1.0.1 on.
INVALID_POSE = 101


class StateCode(IntEnum):
    """state in SimulationState.msg."""

    STOPPED = 0
    PLAYING = 1
    PAUSED = 2
    QUITTING = 3


class FeatureCode(IntEnum):
    """features in SimulatorFeatures.msg: the offered ones."""

    SPAWNING = 0
    DELETING = 1
    ENTITY_TAGS = 4
    ENTITY_BOUNDS_BOX = 6
    ENTITY_CATEGORIES = 8
    ENTITY_STATE_GETTING = 10
    ENTITY_STATE_SETTING = 11
    ENTITY_INFO_GETTING = 12
    SPAWNABLES = 14
    SIMULATION_RESET = 20
    SIMULATION_RESET_STATE = 22
    SIMULATION_RESET_SPAWNED = 23
    SIMULATION_STATE_GETTING = 24
    SIMULATION_STATE_SETTING = 25
    SIMULATION_STATE_PAUSE = 26
    STEP_SIMULATION_SINGLE = 31
    STEP_SIMULATION_MULTIPLE = 32
    STEP_SIMULATION_ACTION = 33
    SPAWNING_ENTITIES = 50


OF_SPAWNING = frozenset((
    FeatureCode.SPAWNING, FeatureCode.DELETING, FeatureCode.SPAWNABLES,
    FeatureCode.SIMULATION_RESET_SPAWNED, FeatureCode.SPAWNING_ENTITIES))
"""Those that are offered where aircraft can join and leave."""

# scope in ResetSimulation.srv, a bit field.
SCOPE_STATE = 2
SCOPE_SPAWNED = 4

# type in Bounds.msg.
_EMPTY = 0
_BOX = 1
_SPHERE = 3


class RequestRefusedError(ValueError):
    """The request is refused: why, as a sentence and as the interface's number."""

    def __init__(self, result: int, sentence: str) -> None:
        super().__init__(sentence)
        self.result = result


def result_of(error: ValueError) -> int:
    """Return the interface's number for an error."""
    if isinstance(error, RequestRefusedError):
        return error.result
    for kind, result in ((UnknownNameError, ResultCode.NOT_FOUND), (BadPoseError, INVALID_POSE),
                         (UnsupportedBoundsError, ResultCode.FEATURE_UNSUPPORTED)):
        if isinstance(error, kind):
            return result
    return ResultCode.OPERATION_FAILED


def make_bounds(kind: int, points: Sequence[Vector]) -> Sphere | Box | None:
    """Return the volume that Bounds.msg describes. Raises ValueError."""
    if kind == _EMPTY:
        return None
    if kind not in (_BOX, _SPHERE):
        raise UnsupportedBoundsError(
            f'bounds of type {kind} are not supported: only {_BOX} (box) and {_SPHERE} (sphere)')
    if len(points) != 2 or not all(math.isfinite(x) for point in points for x in point):
        raise ValueError(f'bounds of type {kind} need two finite points, got {list(points)}')
    if kind == _BOX:
        return Box(*points)
    radius = points[1][0]
    if radius < 0.0:
        raise ValueError(f'the radius of the bounds is {radius}, must be at least 0')
    return Sphere(points[0], radius)


class Stepping:
    """Frames run while paused: how many are wanted and completed, and why it ended early."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.completed = 0
        self.ended = ''

    @property
    def done(self) -> bool:
        """Return whether no more frames will run."""
        return bool(self.ended) or self.completed >= self.wanted


class StandardControl:
    """
    The standard interface's states and steps of a simulation; not thread-safe.

    ``reset`` restarts the flight. ``quit`` ends the program; None if others share it.
    ``despawn`` deletes what was spawned; None where nothing can be.
    """

    def __init__(self, server: Server, reset: Callable[[], None],
                 quit_program: Callable[[], None] | None = None,
                 despawn: Callable[[], None] | None = None) -> None:
        self._server = server
        self._reset = reset
        self._despawn = despawn
        self._quit = quit_program
        self._stopped = False
        self.stepping: Stepping | None = None

    @property
    def state(self) -> StateCode:
        """Return the state: PLAYING while stepping. Raises RequestRefusedError if it has ended."""
        self.check_running()

        def look(world: World) -> StateCode:
            if self.stepping is not None or not (self._server.simulation.held or world.paused):
                return StateCode.PLAYING
            # If anything else has advanced the time since, that ended STOPPED too.
            stopped = self._stopped and not world.flight_time
            return StateCode.STOPPED if stopped else StateCode.PAUSED

        state = self._server.call(look)
        self._stopped = state == StateCode.STOPPED
        return state

    def set_state(self, target: int) -> None:
        """Go to a state. Raises RequestRefusedError."""
        self.check_running()
        if target not in [state.value for state in StateCode]:
            raise RequestRefusedError(
                ResultCode.FEATURE_UNSUPPORTED, f'state {target} cannot be set; there are '
                f'{", ".join(f"{s.value} ({s.name.lower()})" for s in StateCode)}')
        if target == StateCode.QUITTING:
            if self._quit is None:
                raise RequestRefusedError(
                    ResultCode.STATE_TRANSITION_ERROR,
                    'the node shares its process with others, so it cannot quit')
            self.end_stepping('the simulator is quitting')
            self._server.pause(True)
            self._quit()
            return
        # Any request ends steps in progress, which count as PLAYING only until then.
        was_stepping = self.stepping is not None
        if target == self.state and not was_stepping:
            raise RequestRefusedError(
                ResultCode.ALREADY_IN_TARGET_STATE, f'already {StateCode(target).name.lower()}')
        self.end_stepping(f'the state was set to {StateCode(target).name.lower()}')
        self._server.pause(target != StateCode.PLAYING)
        self._stopped = False
        if target == StateCode.STOPPED:
            self._reset()
            self._stopped = True
        elif target == StateCode.PLAYING and self._server.call(self._is_held):
            raise RequestRefusedError(
                ResultCode.STATE_TRANSITION_ERROR,
                'paused by the parameter pause_at: set a later time, or .nan')

    def reset(self, scope: int) -> None:
        """Reset the given scopes. Raises RequestRefusedError for those that cannot be."""
        self.check_running()
        can = SCOPE_STATE if self._despawn is None else SCOPE_STATE | SCOPE_SPAWNED
        if not scope or scope & ~can:
            raise RequestRefusedError(
                ResultCode.FEATURE_UNSUPPORTED,
                f'time continues across a reset and nothing is spawned: only scope {SCOPE_STATE} '
                '(SCOPE_STATE) can be reset' if self._despawn is None else
                f'time continues across a reset: only the scopes {SCOPE_STATE} (SCOPE_STATE), '
                f'{SCOPE_SPAWNED} (SCOPE_SPAWNED) or both can be reset')
        if scope & SCOPE_SPAWNED and self._despawn is not None:
            self._despawn()
        if scope & SCOPE_STATE:
            stopped = self.state == StateCode.STOPPED
            self._reset()
            self._stopped = stopped

    def begin_steps(self, count: int) -> Stepping:
        """Start stepping; advance() does it. Raises RequestRefusedError unless paused."""
        self.check_running()
        if self.stepping is not None:
            raise RequestRefusedError(ResultCode.OPERATION_FAILED, 'other steps are in progress')
        state = self.state
        if state != StateCode.PAUSED:
            raise RequestRefusedError(
                ResultCode.OPERATION_FAILED,
                f'{state.name.lower()}: only a paused simulation can be stepped')
        if self._server.call(lambda world: world.paused):
            raise RequestRefusedError(
                ResultCode.OPERATION_FAILED,
                'paused through its own protocol, which steps do not override: set the state to '
                'playing, then to paused')
        self.stepping = Stepping(count)
        return self.stepping

    def advance(self, budget: float, on_step: Callable[[Stepping], None] | None = None) -> None:
        """Run frames for about ``budget`` seconds, at least one, or until they are done."""
        stepping, end = self.stepping, time.monotonic() + budget
        if stepping is None:
            return
        while not stepping.done:
            try:
                self._server.step()
            except ValueError as error:
                self.end_stepping(str(error))
                return
            stepping.completed += 1
            if on_step is not None:
                on_step(stepping)
            if time.monotonic() >= end:
                return

    def finish(self, stepping: Stepping) -> None:
        """Finish these steps. Raises RequestRefusedError unless all have been completed."""
        if self.stepping is stepping:
            self.stepping = None
        if stepping.completed < stepping.wanted:
            raise RequestRefusedError(
                ResultCode.OPERATION_FAILED,
                f'{stepping.ended}, after {stepping.completed} of '
                f'{counted(stepping.wanted, "step")}')

    def end_stepping(self, reason: str) -> None:
        """Run no more of the requested frames, if there are any."""
        if self.stepping is not None:
            self.stepping.ended = reason
            self.stepping = None

    def _is_held(self, world: World) -> bool:
        """Let X-Plane's own pause go, and tell whether pause_at holds the time."""
        world.paused = False
        return self._server.simulation.held

    def check_running(self) -> None:
        """Raise RequestRefusedError if the simulation has ended on its own."""
        if self._server.error is not None:
            raise RequestRefusedError(
                ResultCode.OPERATION_FAILED, f'the simulation has ended: {self._server.error}')
