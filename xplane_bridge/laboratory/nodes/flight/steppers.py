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

"""How a flight through ROS goes on: frame by frame in lockstep, or by the clock."""

from __future__ import annotations

from collections.abc import Sequence
import math
import time
from typing import Protocol

from xplane_bridge.common.timing import HALF_STAMP
from xplane_bridge.laboratory.flights.script import Progress, Script
from xplane_bridge.laboratory.flights.simulation_frames import FrameStepper
from xplane_bridge.laboratory.nodes.flight.actions import LawVehicle
from xplane_bridge.laboratory.nodes.flight.lockstep import LockstepClient
from xplane_bridge.laboratory.nodes.flight.vehicle import LONGEST_SILENCE, Vehicle

# How long the flight waits for a message before it checks the time.
_TICK = 0.02


class Stepper(Protocol):
    """How a vehicle goes on: ``command_until`` a stamp, ``wait`` for it, and ``look`` there."""

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""

    @property
    def stamp(self) -> float:
        """Return the stamp of the frame that waits."""

    @property
    def newest(self) -> float:
        """Return the stamp that was waited for last."""

    @property
    def due(self) -> float:
        """Return the stamp at which something is due next, or that of the next frame."""

    def begin(self) -> bool:
        """Take the first state; return whether something is left to be flown."""

    def command_until(self, due: float, needed_from: float) -> None:
        """
        Command the frame that waits, or let others command all frames before a stamp.

        Of frames that are commanded from here all is needed from the stamp ``needed_from`` on.
        """

    def wait(self, due: float) -> None:
        """Wait for the frame of a stamp."""

    def look(self) -> bool:
        """Do what is due in the frame that waits; return whether something is left."""

    def how_fast(self) -> Sequence[str]:
        """Return in sentences how fast it was flown."""


class ByActions:
    """This process commands, frame by frame."""

    def __init__(self, script: Script, vehicle: LawVehicle) -> None:
        self._script, self._vehicle = script, vehicle
        self._frames = FrameStepper(script, vehicle)

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""
        return self._vehicle.time - self._vehicle.began

    @property
    def stamp(self) -> float:
        """Return the stamp of the frame that waits."""
        return self._vehicle.stamp

    @property
    def newest(self) -> float:
        """Return the same."""
        return self._vehicle.stamp

    @property
    def due(self) -> float:
        """Return the next frame's stamp."""
        return self._vehicle.stamp + HALF_STAMP

    def begin(self) -> bool:
        """Observe the first state."""
        self._vehicle.begin()
        self._script.begin = self._vehicle.began
        return self.look()

    def command_until(self, due: float, needed_from: float) -> None:
        """Command a frame, or in real time until the next state."""
        self._frames.command()

    def wait(self, due: float) -> None:
        """Wait for the state that follows."""
        self._vehicle.arrive()

    def look(self) -> bool:
        """Observe it, and do what is due; return whether something is left."""
        going = self._frames.look()
        self._script.exceedances = self._vehicle.exceedances
        return going

    def how_fast(self) -> Sequence[str]:
        """Return nothing: whoever gives the actions takes his time."""
        return ()


class _Scripted:
    """Another process commands, except where the scenario does."""

    def __init__(self, script: Script, vehicle: Vehicle, display: Progress) -> None:
        self._script = script
        self._vehicle = vehicle
        self._display = display

    @property
    def time(self) -> float:
        """Return the time of the scenario in s."""
        return self._script.flown

    def _has_crashed(self, now: float) -> bool:
        """Return whether the simulated aircraft has, which ends the flight; note exceedances."""
        script = self._script
        monitor = self._vehicle.monitor
        script.exceedances = monitor.exceeded(script.begin)
        crash = monitor.crashed(script.begin, now)
        if crash is not None:
            script.end_by(crash)
        return crash is not None

    def _act(self, now: float) -> None:
        # Other publishers may appear, or be discovered, later than this started.
        self._vehicle.check_alone()
        self._script.act(now)


class InLockstep(_Scripted):
    """
    The autopilot commands, except at a stamp at which something is due.

    There it holds its command until that is done. So each flight does the same at the same frame.
    """

    _needed_from = -math.inf

    def begin(self) -> bool:
        """Wait for the first state, and do what is due at it."""
        self._lockstep = LockstepClient(self._vehicle)
        self._script.begin = self._lockstep.wait(-math.inf)
        self._began, self._used = time.monotonic(), self._vehicle.cpu_seconds()
        return self.look()

    @property
    def stamp(self) -> float:
        """Return the stamp of the frame that waits."""
        return self._stamp

    @property
    def newest(self) -> float:
        """Return the stamp that was waited for last."""
        return self._lockstep.stamp

    @property
    def due(self) -> float:
        """Return the stamp at which something is due next, the next frame's without autopilot."""
        script, stamp = self._script, self._stamp
        # Another controller than ours still answers the state at which it is released.
        if script.engaged and self._vehicle.commands_itself(stamp, True):
            return script.due
        return stamp + HALF_STAMP

    def command_until(self, due: float, needed_from: float) -> None:
        """Let the autopilot command all frames before a stamp; or command the one that waits."""
        script, lockstep, stamp = self._script, self._lockstep, self._stamp
        is_answered = self._vehicle.commands_itself(stamp, script.engaged)
        self._needed_from = -math.inf if is_answered else min(script.due, needed_from)
        # Before the states come, of which few are looked at: others may be waited for first.
        self._vehicle.monitor.wait_only_for(due, self._needed_from)
        if is_answered:
            lockstep.let_autopilot_command(due)
        else:
            lockstep.command(script.held_controls(stamp) or {})

    def wait(self, due: float) -> None:
        """Wait for the frame of a stamp."""
        self._lockstep.wait(due, self._show_progress, self._needed_from)

    def look(self) -> bool:
        """Do what is due in the frame that waits; return whether something is left."""
        script, lockstep = self._script, self._lockstep
        stamp, done = lockstep.stamp, len(script.occurrences)
        if self._has_crashed(stamp):
            return False
        self._act(stamp)
        if any(one.event.action == 'trim' for one in script.occurrences[done:]):
            # The trimmed state is sent too, and it is that which waits for a command.
            stamp = lockstep.wait(stamp + HALF_STAMP)
        self._stamp = stamp
        return not script.is_over

    def how_fast(self) -> Sequence[str]:
        """Return in sentences how long it took, and which process has computed in that time."""
        flown, took = self._script.flown, time.monotonic() - self._began
        computed = (f'{name} {(seconds - self._used.get(name, 0.0)) / took:.0%}'
                    for name, seconds in self._vehicle.cpu_seconds().items())
        return (f'flown {flown:.1f} s in {took:.1f} s: {flown / took:.1f} times real time',
                f'computed in that time: {", ".join(computed)}')

    def _show_progress(self, stamp: float) -> None:
        self._vehicle.check_alone()
        self._script.show(stamp - self._script.begin)


class ByTheClock(_Scripted):
    """Time passes: what is due happens then."""

    stamp = newest = due = math.inf

    def begin(self) -> bool:
        """Take the time."""
        self._script.begin = self._heard_at = self._vehicle.now()
        self._heard = self._answered = -1
        self._commanded_at = -math.inf
        return self.look()

    def command_until(self, due: float, needed_from: float) -> None:
        """Do nothing: others command, and ``look`` where they do not."""

    def wait(self, due: float) -> None:
        """Wait for the next message, or a moment."""
        monitor = self._vehicle.monitor
        with monitor.arrived:
            monitor.arrived.wait(_TICK)

    def how_fast(self) -> Sequence[str]:
        """Return nothing: it was flown in real time."""
        return ()

    def look(self) -> bool:
        """Do what is due; return whether something is left."""
        script, vehicle, monitor = self._script, self._vehicle, self._vehicle.monitor
        now = vehicle.now()
        if self._has_crashed(now):
            return False
        if now >= script.begin + script.scenario.duration:
            # Events due at the very end.
            self._act(now)
            return False
        with monitor.arrived:
            count = monitor.counts['imu/data']
        if count != self._heard or script.silence_wanted:
            self._heard, self._heard_at = count, now
        elif now - self._heard_at > LONGEST_SILENCE:
            raise vehicle.lost(f'telemetry stopped; {vehicle.why()}')
        if vehicle.has_failed():
            raise vehicle.lost(vehicle.why())
        vehicle.check_controller()
        self._act(now)
        # Once for each state, and where they come slowly in between.
        if count != self._answered or now - self._commanded_at >= _TICK:
            self._answered, self._commanded_at = count, now
            if (held := script.held_controls(now)) is not None:
                vehicle.command(vehicle.make_command(held))
        return True
