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
One simulated computer: an aircraft in its world, and the frontends that serve it to the network.

SimulatedComputer is all of it except the clock, so that a test can simulate an hour in seconds;
Server runs it in real time, at a multiple of that, or in lockstep.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
import math
import threading
import time
from typing import TypeAlias, TypeVar

from xplane_bridge.common.timing import FRAME_RATE
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.state import AircraftState
from xplane_bridge.simulation.peers.base import Frontend
from xplane_bridge.simulation.peers.endpoints import Endpoint
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.lockstep import Lockstep
from xplane_bridge.simulation.peers.world import World

MakeWorld: TypeAlias = Callable[[], World]
OnFrame: TypeAlias = Callable[[float, AircraftState], None]

# Below about 19 frames per second X-Plane lets simulated time lag (docs/wire/xplane_datarefs.md,
# row 3.8): no frame is longer than that.
_LONGEST_FRAME = 1.0 / 19.0
# Other aircraft at which nobody looks are flown so many frames at a time, in less time.
_TRAFFIC_FRAMES = 60
_JOIN_TIMEOUT = 5.0
# Of a flood, after which nothing counts as new.
_MOST_NEWS = 4096

_Result = TypeVar('_Result')


class SimulatedComputer:
    """
    The simulated computer: running, frozen (no frames, what arrives waits) or switched off.

    ``make_world`` makes the world at each start. ``frame_rate`` is in frames per second.
    ``on_frame`` is called with the time and the aircraft's state at the end of each frame.
    Besides the freezes and restarts of ``faults``, ``frozen`` and ``switched_off`` can be set
    from outside; so can ``paused`` and ``pause_at`` (simulated seconds), which stop the world
    while frames continue and are answered. With ``lockstep`` the world waits for commands.
    """

    def __init__(self, frontends: Sequence[Frontend], make_world: MakeWorld,
                 frame_rate: float = FRAME_RATE, faults: Faults | None = None,
                 on_frame: OnFrame | None = None, lockstep: Lockstep | None = None) -> None:
        if not 0.0 < frame_rate < math.inf:
            raise ValueError(f'frame_rate is {frame_rate} per second, must be above 0 and finite')
        faults = faults if faults is not None else Faults()
        self.frontends = tuple(frontends)
        self.period = 1.0 / frame_rate
        self.frames = 0
        self.frozen = False
        self.switched_off = False
        self.paused = False
        self.pause_at = math.inf
        self.lockstep = lockstep
        self.reading = False
        self._make_world = make_world
        self._on_frame = on_frame
        self._freezes = faults.freezes()
        self._restarts = faults.restarts()
        self._running = False
        if lockstep is not None:
            lockstep.endpoint.may_read = self._may_read

    def open(self, now: float) -> None:
        """Start: make the world and open all frontends. Raises LinkError if one fails to open."""
        self.world = self._make_world()
        self._running = True
        try:
            for frontend in self.frontends:
                frontend.open(self.world, now)
        except OSError:
            self.close()
            raise
        self._await_command()

    def close(self) -> None:
        """Stop: close all frontends; closing twice is fine."""
        self._running = self.reading = False
        for frontend in self.frontends:
            frontend.close()

    @property
    def held(self) -> bool:
        """Return whether it is paused from outside."""
        return self.paused or self.world.total_running_time > self.pause_at - 0.5 * self.period

    @property
    def ready(self) -> bool:
        """Return whether, in lockstep, the next frame may run at once."""
        return (self.lockstep is not None and self.reading and not self.held
                and self.lockstep.is_complete(self.world))

    def frame(self, now: float, elapsed: float | None = None) -> None:
        """
        Run one frame of ``elapsed`` seconds, by default as the frame rate says.

        Raises what the frontends raise, notably SimulatorCrashError.
        """
        if self._look_whether_on(now):
            goes_on = not self.held and (self.lockstep is None or self.ready)
            self._frame(now, self.period if elapsed is None else elapsed, goes_on)

    def step(self, now: float) -> None:
        """Run one frame while paused. Raises ValueError if it is not paused."""
        if not self.held:
            raise ValueError('not paused: only a paused simulation can be stepped')
        if self._look_whether_on(now):
            self._frame(now, self.period, True)

    def listen(self, now: float) -> None:
        """Answer what has arrived, without running a frame, as in lockstep."""
        if self._look_whether_on(now):
            self._answer(now)

    def reset_flight(self) -> None:
        """Restart the flight; the simulated time continues."""
        self.change(World.reset_flight)

    def change(self, function: Callable[[World], None]) -> None:
        """Change the world's state; in lockstep the new state is sent and must be answered."""
        function(self.world)
        self._await_command()

    def _look_whether_on(self, now: float) -> bool:
        frozen = self.frozen or self._freezes.active(now)
        off = self.switched_off or self._restarts.active(now)
        if off == self._running:
            if off:
                self.close()
            else:
                self.open(now)
        self.reading = not (off or frozen)
        return self.reading

    def _frame(self, now: float, elapsed: float, goes_on: bool) -> None:
        self.frames += 1
        if goes_on:
            self.world.advance(elapsed)
            self._await_command()
        else:
            self.world.idle(elapsed)
        self._answer(now)
        if self._on_frame is not None:
            self._on_frame(now, self.world.aircraft.state)
        # While the answer is on its way: nobody has asked for them.
        self.world.fly_traffic(_TRAFFIC_FRAMES)

    def _answer(self, now: float) -> None:
        for frontend in self.frontends:
            frontend.frame(now)
        self._note()

    def _may_read(self) -> bool:
        # A fast client's reply to the last state may arrive while this is still reading.
        self._note()
        return not self.ready

    def _note(self) -> None:
        if self.lockstep is not None:
            self.lockstep.note(self.world, self._sent)

    def _await_command(self) -> None:
        if self.lockstep is not None:
            self.lockstep.begin(self.world, self._sent())

    def _sent(self) -> int:
        return sum(frontend.sent for frontend in self.frontends)

    def poll(self, now: float) -> None:
        """Do what is due between frames."""
        if self._running:
            for frontend in self.frontends:
                frontend.poll(now)

    @property
    def awaited(self) -> Endpoint | None:
        """Return the endpoint that is to be answered at once, if there is one."""
        found = [frontend.awaited for frontend in self.frontends if frontend.awaited is not None]
        return found[0] if found and self._running else None

    def next_due(self) -> float | None:
        """Return when to call poll() next, or None if frames are often enough."""
        if not self._running:
            return None
        times = [due for frontend in self.frontends if (due := frontend.next_due()) is not None]
        return min(times, default=None)


class Server:
    """
    Runs a SimulatedComputer in a thread of its own, ``speed`` times as fast as real time.

    Frames come at fixed times; missed ones are skipped, and the next one is longer. In lockstep
    they come as soon as possible, each as long as the frame rate says, and ``speed`` only
    affects frames that wait for commands. What ends the thread other than stop() is kept in
    ``error``.
    """

    def __init__(self, simulation: SimulatedComputer, speed: float = 1.0) -> None:
        if not 0.0 < speed < math.inf:
            raise ValueError(f'speed is {speed}, must be above 0 and finite')
        self.simulation = simulation
        self._speed = speed
        self.error: Exception | None = None
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name='simulator', daemon=True)

    def start(self) -> None:
        """Start, with all frontends open on return. Raises LinkError if one fails to open."""
        self.simulation.open(time.monotonic())
        self._thread.start()

    def end(self) -> None:
        """Request a stop, for which wait() waits. From any thread, at any time."""
        self._stopping.set()

    def linger(self, quiet: float, longest: float) -> None:
        """
        Return once nobody has commanded anything new for ``quiet`` seconds, or after ``longest``.

        At once if nobody has even asked for as long, and from end() on. Who gives back repeats it
        until it is shown: what was sent before is not new.
        """
        until = time.monotonic() + longest
        news = LastCommanded(self.simulation.frontends)
        while (left := min(news.last_at + quiet, until) - time.monotonic()) > 0.0:
            if self._stopping.wait(left):
                return

    def stop(self) -> None:
        """Stop, and close all frontends; stopping twice is fine."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_TIMEOUT)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended; return whether it has."""
        return self._ended.wait(timeout)

    def call(self, function: Callable[[World], _Result]) -> _Result:
        """Call a function with the world between two frames; return its result."""
        with self._lock:
            return function(self.simulation.world)

    def state(self) -> AircraftState:
        """Return the aircraft's state, between two frames."""
        return self.call(lambda world: world.aircraft.state)

    def freeze(self) -> None:
        """Stop rendering frames; what arrives waits."""
        with self._lock:
            self.simulation.frozen = True

    def resume(self) -> None:
        """Resume rendering frames."""
        with self._lock:
            self.simulation.frozen = False

    def pause(self, on: bool) -> None:
        """Pause or resume the world; frames are answered in any case."""
        with self._lock:
            self.simulation.paused = on

    def pause_at(self, seconds: float) -> None:
        """Pause the world once the simulated time has reached this."""
        with self._lock:
            self.simulation.pause_at = seconds

    def step(self) -> None:
        """Run one frame while paused. Raises ValueError if it is not paused, or has ended."""
        with self._lock:
            if self.error is not None:
                raise ValueError(f'the simulation has ended: {self.error}')
            self.simulation.step(time.monotonic())

    def switch_off(self) -> None:
        """Go away, as if X-Plane had been quit."""
        with self._lock:
            self.simulation.switched_off = True
            self.simulation.close()

    def switch_on(self) -> None:
        """Restart. Raises LinkError if a frontend cannot be opened."""
        with self._lock:
            if self.simulation.switched_off:
                self.simulation.open(time.monotonic())
                self.simulation.switched_off = False

    def _run(self) -> None:
        simulation = self.simulation
        period = simulation.period / self._speed
        # Whole frames, as the model flies whole steps: else the pose is not that of the time.
        most = max(1, int(_LONGEST_FRAME / simulation.period))
        due = time.monotonic() + period
        try:
            while not self._stopping.is_set():
                now = time.monotonic()
                with self._lock:
                    if simulation.ready:
                        due = now + period
                        simulation.frame(now)
                    elif now >= due:
                        count = 1 + int((now - due) / period)
                        due += count * period
                        simulation.frame(now, min(count, most) * simulation.period)
                    elif simulation.lockstep is not None:
                        simulation.listen(now)
                    simulation.poll(now)
                    next_due = simulation.next_due()
                    is_ready = simulation.ready
                wake = due if next_due is None else min(due, next_due)
                self._wait(0.0 if is_ready else max(0.0, wake - time.monotonic()))
        except Exception as error:
            self.error = error
        finally:
            with self._lock:
                simulation.close()
            self._ended.set()

    def _wait(self, seconds: float) -> None:
        lockstep = self.simulation.lockstep
        if lockstep is not None and self.simulation.reading:
            lockstep.endpoint.pause(seconds)
        elif (awaited := self.simulation.awaited) is not None:
            awaited.pause(seconds)
        else:
            self._stopping.wait(seconds)


class LastCommanded:
    """When frontends were last commanded anything that they had not been before."""

    def __init__(self, frontends: Sequence[Frontend]) -> None:
        self.last_at = max(
            endpoint.heard_at for frontend in frontends for endpoint in frontend.endpoints)
        self._seen: set[bytes] = set()
        for frontend in frontends:
            for endpoint in frontend.commanded:
                endpoint.listener = partial(self._note, frontend.questions)

    def _note(self, questions: frozenset[bytes], data: bytes, at: float) -> None:
        if data[:4] not in questions and data not in self._seen and len(self._seen) < _MOST_NEWS:
            self._seen.add(data)
            self.last_at = at


@contextmanager
def running(*frontends: Frontend, make_world: MakeWorld | None = None,
            frame_rate: float = FRAME_RATE, faults: Faults | None = None,
            on_frame: OnFrame | None = None) -> Iterator[Server]:
    """
    Run frontends of a new aircraft in real time for as long as the context lasts.

    By default it is a trimmed c172p. An error that ended the server is raised on exit.
    """
    server = Server(SimulatedComputer(frontends, make_world or (lambda: World(Aircraft())),
                                      frame_rate,
                                      faults, on_frame))
    server.start()
    try:
        yield server
    finally:
        server.stop()
    if server.error is not None:
        raise server.error
