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

"""A scripted X-Plane Connect plugin and the network to it, in simulated time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
import heapq
import itertools
import math
import random

from fake_xpc import BEACON, Plugin

from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.session import Polled, Telemetry, XpcSession

# docs/wire/xpc.md, section 1: at most 20 datagrams per frame, answered 0.07 ms apart; after 20 the
# socket is reopened and the rest is lost.
FRAME_LIMIT = 20
HANDLING = 0.00007

Event = tuple[float, object]

RUNNING_TIME = 'sim/time/total_running_time_sec'
JOYSTICK = 'sim/operation/override/override_joystick'
THROTTLE = 'sim/flightmodel/engine/ENGN_thro_override'
HELD = 'sim/operation/override/override_planepath'
OVERRIDES = {JOYSTICK: (0.0,), THROTTLE: (-2.0,), HELD: (0.0,) * 20}
YOKES = {
    'elevator': 'sim/joystick/yoke_pitch_ratio', 'aileron': 'sim/joystick/yoke_roll_ratio',
    'rudder': 'sim/joystick/yoke_heading_ratio'}
CENTRED = dict.fromkeys(YOKES.values(), (0.0,))


def names_of(aircraft: int, *more: str) -> Polled:
    """Return datarefs that the scripted plugin knows: position, aircraft and frame number."""
    names = tuple(f'plane{aircraft}/{what}' for what in ('lat', 'lon', 'alt', 'number', 'frame'))
    return Polled((*names, *more), names[:3])


def latitude(frame: int) -> float:
    """Return a latitude that encodes the frame, even when rounded to float32."""
    return 40.0 + (frame % 2**18) / 2**14


def frame_of(lat: float) -> int:
    """Return the frame that a latitude encodes."""
    return round((lat - 40.0) * 2**14)


def values_of(name: str) -> Callable[[int], tuple[float, ...]]:
    """Return a function giving a dataref's value from the frame number."""
    parts = name.removeprefix('sim/').removeprefix('big/').split('/')
    if parts[0] == 'n':
        # n/<value>/<count>: X-Plane's own with sim/ in front, else another plugin's
        constant = (float(parts[1]),) * int(parts[2])
        return lambda frame: constant
    number = float(parts[0].removeprefix('plane')) if parts[0].startswith('plane') else 0.0
    return {
        'lat': lambda frame: (latitude(frame),),
        'lon': lambda frame: (number,),
        'alt': lambda frame: (100.0,),
        'number': lambda frame: (number,),
        'frame': lambda frame: (float(frame),),
    }.get(parts[-1], lambda frame: ())


class ScriptedPlugin(Plugin):
    """A plugin whose datarefs encode the frame and whose overrides and pauses can be written."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._rows: dict[str, Callable[[int], tuple[float, ...]]] = {}

    @property
    def plugin_version(self) -> str:  # type: ignore[override]
        """Return the run number, which changes with a restart."""
        return self._world.plugin_version

    def place(self, aircraft: int) -> tuple[float, float, float]:
        """Return a position that encodes frame and aircraft."""
        # The double is more precise than the dataref, which is rounded to float32.
        return latitude(self._world.frame) + 1e-6, float(aircraft), 100.0

    def read(self, name: str) -> tuple[float, ...]:
        """Return what was written, or else the value for the frame."""
        world = self._world
        if name == RUNNING_TIME and world.datarefs:
            return (world.last_frame - world.started,)
        if values := world.datarefs.get(name):
            return values
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = values_of(name)
        return row(world.frame)

    def obey(self, request: xpc.Request, data: bytes) -> None:
        """Change the datarefs as a command does."""
        world = self._world
        world.commands.append((world.now, data))
        written: dict[str, tuple[float, ...]] = {}
        if isinstance(request, xpc.SetDatarefs):
            written = dict(request.items)
        elif isinstance(request, xpc.SetControls) and request.aircraft == 0:
            if request.throttle is not None:
                written[THROTTLE] = (request.throttle,)
            written.update(
                (name, (value,)) for surface, name in YOKES.items()
                if (value := getattr(request, surface)) is not None)
        elif isinstance(request, xpc.Simulation) and HELD in world.datarefs:
            written[HELD] = _held(world.datarefs[HELD], request.op)
        world.datarefs.update(
            (name, values) for name, values in written.items() if name in world.datarefs)


def _held(before: tuple[float, ...], op: int) -> tuple[float, ...]:
    """Return which aircraft are paused after SIMU."""
    held = list(before)
    for number in range(20) if op < 3 else (op % 100,):
        held[number] = 1.0 - held[number] if op == 2 else float(op in range(1, 120))
    return tuple(held)


class World:
    """
    Run a session against a plugin that answers once per frame, as the real one does.

    Probabilities are per datagram and direction, ``delay`` is the range of one-way delays in
    seconds; unequal delays reorder datagrams. Time begins at 1000. ``datarefs`` are writable;
    commands take effect on them.
    """

    def __init__(
        self,
        session: XpcSession,
        *,
        fps: float = 60.0,
        plugin_version: str = 'rc6',
        loss: float = 0.0,
        duplication: float = 0.0,
        delay: tuple[float, float] = (0.0001, 0.0001),
        beacon: bool = False,
        seed: int = 1,
        datarefs: dict[str, tuple[float, ...]] | None = None,
    ) -> None:
        self.session = session
        self.now = 1000.0
        self.fps = fps
        self.plugin_version = plugin_version
        self.loss = loss
        self.duplication = duplication
        self.delay = delay
        self.datarefs = dict(datarefs or {})
        self._defaults = dict(self.datarefs)
        self.started = self.now - 100.0
        self.events: list[Event] = []
        self.sent: list[tuple[float, str, bytes]] = []
        self.keep_sent = True
        self.commands: list[tuple[float, bytes]] = []
        self.silent_to_tags: set[bytes] = set()
        self.largest_reply = 4096
        # What each frame handled: the number of datagrams, and the most of one kind and aircraft.
        self.handling = HANDLING
        self.handled: Counter[int] = Counter()
        self.polls: Counter[tuple[int, bytes]] = Counter()
        self.resets = 0
        self.open: set[str] = set()
        self.opened = 0
        self.frame = 0
        self._random = random.Random(seed)
        self._heap: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._serial = itertools.count()
        self._queue: list[tuple[str, bytes]] = []
        self._frame_at = math.inf
        self.last_frame = self.now
        self._frozen_until = 0.0
        self._down_until = 0.0
        self._spins = 0
        self._to_lose = 0
        self._plugin = ScriptedPlugin(self)
        if beacon:
            self.beacon()

    # Actions of a test.

    def call(
        self, function: Callable[..., object], *arguments: object, **options: object
    ) -> object:
        """Call the session and send what that makes due, as the link does."""
        result = function(*arguments, self.now, **options)
        self._pump()
        return result

    def run(self, seconds: float) -> list[Event]:
        """Let time pass; return the events of that time."""
        until = self.now + seconds
        first = len(self.events)
        while True:
            deadline = self.session.next_deadline()
            at = min(self._heap[0][0] if self._heap else math.inf, deadline or math.inf)
            if at > until:
                self.now = until
                return self.events[first:]
            if at <= self.now:
                self._spins += 1
                assert self._spins < 500, 'a deadline stays in the past'
            else:
                self._spins = 0
                self.now = at
            if self._heap and self._heap[0][0] <= self.now:
                self._spins = 0
                _, _, action, arguments = heapq.heappop(self._heap)
                action(*arguments)
            self._pump()

    def at(self, when: float, action: Callable[..., None], *arguments: object) -> None:
        """Schedule an action."""
        heapq.heappush(self._heap, (when, next(self._serial), action, arguments))

    def freeze(self, seconds: float) -> None:
        """Render no frames: the plugin queues datagrams and answers them afterwards."""
        self._frozen_until = self.now + seconds

    def restart(self, seconds: float, plugin_version: str = '') -> None:
        """Go away for some time, lose what was queued, and return with another plugin."""
        self._queue.clear()
        self._down_until = self.now + seconds
        self.started = self._down_until
        self.datarefs = dict(self._defaults)
        self.plugin_version = plugin_version or self.plugin_version

    def lose_commands(self, count: int) -> None:
        """Lose the next commands, and no requests."""
        self._to_lose = count

    def beacon(self) -> None:
        """Start sending beacons, once per second, whenever X-Plane is up."""
        if self.now >= self._down_until:
            self._receive('beacon', BEACON)
        self.at(self.now + 1.0, self.beacon)

    # The path to the plugin.

    def _pump(self) -> None:
        now = self.now
        for channel, data in self.session.poll(now):
            if data is None:
                self.open.discard(channel)
                continue
            if channel not in self.open:
                self.open.add(channel)
                self.opened += 1
            if self.keep_sent:
                self.sent.append((now, channel, data))
            if channel == 'command' and self._to_lose:
                self._to_lose -= 1
                continue
            self._transmit(self._arrive, channel, data)
        for event in self.session.expired():
            self.events.append((now, event))

    def _transmit(self, deliver: Callable[..., None], *arguments: object, after: float = 0.0):
        chance = self._random.random
        shortest, longest = self.delay
        for _ in range(2 if self.duplication and chance() < self.duplication else 1):
            if self.loss and chance() < self.loss:
                continue
            delay = shortest + (longest - shortest) * chance() if longest > shortest else longest
            self.at(self.now + after + delay, deliver, *arguments)

    def _arrive(self, channel: str, data: bytes) -> None:
        if self.now < self._down_until:
            return
        self._queue.append((channel, data))
        if self._frame_at == math.inf:
            self._plan_frame()

    def _plan_frame(self) -> None:
        # Frames without work are skipped.
        period = 1.0 / self.fps
        number = math.floor((self.now - self.last_frame) / period + 1e-6) + 1
        self.frame += number - 1
        self._frame_at = self.last_frame + number * period
        self.at(self._frame_at, self._handle_frame)

    # The plugin.

    def _handle_frame(self) -> None:
        if self.now < self._frozen_until:
            self.at(self._frozen_until, self._handle_frame)
            return
        self._frame_at = math.inf
        self.last_frame = self.now
        self.frame += 1
        if not self._queue:
            return
        self._handle_next(self.frame)

    def _handle_next(self, frame: int) -> None:
        """Handle one datagram; what arrives meanwhile is handled in the same frame."""
        if not self._queue:
            return
        channel, data = self._queue.pop(0)
        self.handled[frame] += 1
        tag = data[:4]
        self.polls[frame, data[:6] if tag == b'GETP' else data] += 1
        reply = self._plugin.answer(data)
        if reply and tag not in self.silent_to_tags and len(reply) <= self.largest_reply:
            self._transmit(self._receive, channel, reply)
        if self.handled[frame] == FRAME_LIMIT:
            self.resets += 1
            self._queue.clear()
        else:
            self.at(self.now + self.handling, self._handle_next, frame)

    def _receive(self, channel: str, data: bytes) -> None:
        if channel == 'beacon' or channel in self.open:
            for event in self.session.receive(channel, data, None, self.now):
                self.events.append((self.now, event))


def telemetry(events: list[Event], aircraft: int | None = None) -> list[tuple[float, Telemetry]]:
    """Return the telemetry among the events, by its time."""
    return [
        (at, event) for at, event in events
        if isinstance(event, Telemetry) and aircraft in (None, event.vehicle)]


def check_telemetry(events: list[Event]) -> None:
    """Check that each update is of one aircraft and of one frame."""
    for _, update in telemetry(events):
        plane = f'plane{update.vehicle}/'
        assert update.pose.lon == update.values[plane + 'number'] == update.vehicle
        assert update.values[plane + 'frame'] == frame_of(update.pose.lat)


def busiest_second(sent: list[tuple[float, str, bytes]]) -> int:
    """Return the most datagrams sent within any second."""
    times = [at for at, _, _ in sent]
    most = first = 0
    for last, at in enumerate(times):
        while at - times[first] >= 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most
