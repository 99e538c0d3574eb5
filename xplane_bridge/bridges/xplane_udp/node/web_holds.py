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


"""Commands that xplane_udp_node holds by X-Plane's Web API: run_command and command/hold."""

from __future__ import annotations

from collections.abc import Callable, Generator
import itertools
import math
import threading
import time
from typing import Any

from rclpy.task import Future
from std_msgs.msg import String

from xplane_bridge.bridges.links.http import UnansweredError
from xplane_bridge.bridges.links.http_queue import Done, HttpQueue, Steps
from xplane_bridge.bridges.nodes.common.lists import named
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.bridges.sessions.base import PeerState
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.xplane_udp.node.parameters import XplaneUdpParameters
from xplane_bridge.bridges.xplane_udp.session import XplaneUdpSession
from xplane_bridge.bridges.xplane_udp.web.held import (
    Ask,
    HeldCommands,
    HoldRequest,
    LostHold,
    Settled,
)
from xplane_bridge.bridges.xplane_udp.web.presses import Presses
from xplane_bridge.bridges.xplane_udp.web.socket import CommandReported
from xplane_bridge.bridges.xplane_udp.web.web_client import WebClient
from xplane_bridge.srv import RunCommand

# Of run_command with BEGIN and no duration, and of one message on command/hold.
_LEASE = 10.0
_LEASE_OF_MESSAGE = 1.0
# Queue depth: several commands may be held by messages in turn.
_DEPTH = 20

_OnSettled = Callable[[Settled], None]


class WebHolds:
    """
    What is held, over the WebSocket, or by presses where wsproto is not installed.

    It has a queue of its own, so that what others ask of X-Plane delays no release. ``ready``
    raises ValueError if X-Plane cannot be asked, and else sets ``queue``; ``note`` takes how a
    conversation has ended, and returns the error to tell.
    """

    def __init__(
        self, node: Bridge[XplaneUdpParameters, XplaneUdpSession], client: WebClient,
        without_socket: str, ready: Callable[[], None],
        note: Callable[[Exception | None], ValueError | None],
    ) -> None:
        self.queue: HttpQueue | None = None
        self._node = node
        self._client = client
        self._without_socket = without_socket
        self._ready = ready
        self._note = note
        # Of the queue's thread.
        self._presses = Presses(node.parameters.web_press)
        # These are used by all threads, under the lock of the condition.
        self._changed = threading.Condition()
        self._held = HeldCommands(node.parameters.web_timeout)
        self._waiting: dict[int, _OnSettled] = {}
        self._tickets = itertools.count(1)
        # Commands of messages on command/hold, of which nobody knows yet whether they are held.
        self._begun: set[str] = set()
        # When the node is deactivated: until when it is given back, and whether X-Plane was there.
        self._back_by = 0.0
        self._was_there = False
        node.make_command(String, 'command/hold', self._hold, _DEPTH)

    # Called by the node.

    def begin(self) -> None:
        """Go on with what was left when the node was deactivated. Raises ValueError."""
        if self.unconfirmed():
            self._ready()
            self._wake()

    def give_back(self) -> None:
        """Begin to release what is held."""
        session = self._node.session
        self._back_by = time.monotonic() + session.release_timeout
        self._was_there = session.peer_state is not PeerState.AWAY
        with self._changed:
            self._held.end_all(time.monotonic())
        if self.queue is not None:
            # A release must not wait for a name that REST does not find.
            self.queue.interrupt()
        self._wake()

    def end(self) -> Left:
        """Return when X-Plane has shown that all is released, or what it has not shown in time."""
        with self._changed:
            self._changed.wait_for(
                lambda: not self._held.unconfirmed(time.monotonic()),
                max(self._back_by - time.monotonic(), 0.0))
        if self.queue is not None:
            # X-Plane releases what is held over a connection when it notices that it has ended.
            self.queue.end()
        self._presses.end_all()
        with self._changed:
            unconfirmed, longest = self.unconfirmed(), self._held.longest(time.monotonic())
            waiting, self._waiting = self._waiting, {}
        for on_settled in waiting.values():
            on_settled(Settled((), '', ValueError(
                'the node was deactivated before X-Plane showed it')))
        if not unconfirmed:
            return Left()
        return Left(unconfirmed, (
            'X-Plane has not shown that it is released; it releases it when it notices that the '
            f'connection has ended, or in {longest:.0f} s'), self._was_there)

    def moved(self) -> None:
        """Note that another X-Plane is asked from now on."""
        if self.queue is not None:
            self.queue.end()
        with self._changed:
            self._held.drop_all('another X-Plane is asked from now on; the one that held it '
                                  'releases it as the connection ends, or at the end of its lease')
        self._tell()

    def lost(self) -> None:
        """Note that the connection has ended."""
        if self.queue is not None:
            self.queue.wake()

    def on_report(self, event: CommandReported) -> None:
        """Note what X-Plane says of a command."""
        with self._changed:
            self._held.reported(
                event.name, event.is_active, event.connection, time.monotonic())
        self._tell()
        if self.queue is not None:
            self.queue.wake()

    def names(self) -> tuple[str, ...]:
        """Return what is held."""
        if self._without_socket:
            return self._presses.names
        with self._changed:
            return self._held.names(time.monotonic())

    def unconfirmed(self) -> tuple[str, ...]:
        """Return what was given back, and is not yet shown as released."""
        with self._changed:
            return self._held.unconfirmed(time.monotonic())

    # Wishes: in the executor.

    async def run(self, request: RunCommand.Request, response: RunCommand.Response) -> None:
        """Begin or end a command for run_command."""
        name: str = request.name
        lease = request.duration or _LEASE
        future = Future(executor=self._node.executor)
        # Without a callback the future would not wake the executor that awaits it.
        future.add_done_callback(lambda _: None)
        if request.action == RunCommand.Request.BEGIN:
            if not math.isfinite(lease):
                raise ValueError(f'duration {lease}: expected seconds')
            self._begin(name, lease, future.set_result, from_now=False)
        elif request.action == RunCommand.Request.END:
            self._end(name, future.set_result)
        else:
            raise ValueError(f'action {request.action} is not one of ONCE, BEGIN, END')
        settled: Settled = await future
        if settled.error is not None:
            raise settled.error
        response.success = True
        response.message = settled.said if request.action == RunCommand.Request.END else (
            f'held for {lease:g} s, unless it is begun again or ended')

    def _hold(self, message: String) -> None:
        name: str = message.data

        def on_settled(settled: Settled) -> None:
            self._begun.discard(name)
            if settled.error is not None:
                self._node.refuse('command/hold', settled.error)

        is_new = name not in self._begun
        self._begun.add(name)
        try:
            self._begin(name, _LEASE_OF_MESSAGE, on_settled if is_new else None, from_now=True)
        except ValueError:
            self._begun.discard(name)
            raise

    def _begin(
        self, name: str, lease: float, on_settled: _OnSettled | None, *, from_now: bool
    ) -> None:
        self._ready()
        now = time.monotonic()
        if self._without_socket:
            self._start(self._press_first(name, lease, now if from_now else math.inf), on_settled)
            return
        self._note_wish(on_settled, lambda ticket: self._held.begin(
            name, lease, now, ticket, from_now=from_now))

    def _end(self, name: str, on_settled: _OnSettled) -> None:
        if self.queue is None:
            # Else it is released where it is held, whatever UDP says.
            self._ready()
        if self._without_socket:
            self._start(self._press_no_more(name), on_settled)
            return
        self._note_wish(on_settled, lambda ticket: self._held.end(name, time.monotonic(), ticket))

    def _note_wish(
        self, on_settled: _OnSettled | None, note: Callable[[int | None], None]
    ) -> None:
        """Note a wish, and who is told its outcome. Raises ValueError for an impossible one."""
        ticket = None if on_settled is None else next(self._tickets)
        with self._changed:
            note(ticket)
            if ticket is not None and on_settled is not None:
                self._waiting[ticket] = on_settled
        self._wake()

    def _wake(self) -> None:
        """Have due() called; what was settled at once is told before."""
        self._tell()
        if self.queue is not None and not self._without_socket:
            self.queue.begin()

    def _tell(self) -> None:
        """Tell what was settled. Not under the lock."""
        with self._changed:
            announced = self._held.announced()
            waiting = [(self._waiting.pop(ticket, None), settled)
                       for settled in announced if isinstance(settled, Settled)
                       for ticket in settled.tickets]
            self._changed.notify_all()
        if lost := [each for each in announced if isinstance(each, LostHold)]:
            self._node.warn('held', 'no longer held: ' + named(
                [f'{each.name} ({each.why})' for each in lost], '; '))
        for call, settled in waiting:
            if call is not None:
                call(settled)

    # What is asked: in the queue's thread.

    def due(self, now: float) -> tuple[tuple[Steps, Done] | None, float | None]:
        """Return what is to be asked now, and when to ask again; for the queue."""
        if self._without_socket:
            return self._due_press(now)
        with self._changed:
            step = self._held.due(now, self._client.socket.connection)
            again = self._held.deadline()
        self._tell()
        if step is None:
            return None, again

        def done(_: Any, error: Exception | None) -> None:
            noted = self._note(error)
            with self._changed:
                self._held.done(
                    step, time.monotonic(), noted, unanswered=isinstance(error, OSError))
            self._tell()

        return (self._steps(step), done), None

    def _steps(self, step: HoldRequest) -> Steps:
        if step.ask is Ask.RELEASE:
            return self._client.release(step.names)
        name, = step.names
        if step.ask is Ask.LOOK:
            return self._client.look(name)
        return self._client.hold(name, lambda connection: self._asked(name, connection))

    def _asked(self, name: str, connection: int) -> float:
        with self._changed:
            return self._held.asked(name, connection, time.monotonic())

    # By presses: in the queue's thread.

    def _start(self, steps: Steps, on_settled: _OnSettled | None) -> None:
        def done(said: Any, error: Exception | None) -> None:
            noted = self._note(error)
            if on_settled is not None:
                on_settled(Settled((), said or '', noted))

        assert self.queue is not None
        self.queue.start(steps, self._node.parameters.web_timeout, done)

    def _press_first(self, name: str, lease: float, since: float) -> Generator[Any, Any, None]:
        left = min(since + lease - time.monotonic(), lease)
        if left <= 0.0 or not self._presses.begin(name, left, time.monotonic()):
            return
        length = min(left, self._node.parameters.web_press)
        try:
            yield from self._press(name, length)
        except Exception as error:
            self._press_failed(name, length, error)
            raise

    def _press_no_more(self, name: str) -> Generator[Any, Any, str]:
        yield from ()
        left = self._presses.end(name, time.monotonic())
        return f'X-Plane releases it within {left:.1f} s'

    def _press(self, name: str, length: float) -> Generator[Any, Any, None]:
        yield from self._client.press(name, length)
        self._presses.pressed(name, length, time.monotonic())

    def _press_failed(self, name: str, length: float, error: Exception) -> None:
        may_be_heard = isinstance(error, UnansweredError)
        self._presses.drop(name, time.monotonic(), length if may_be_heard else 0.0)

    def _due_press(self, now: float) -> tuple[tuple[Steps, Done] | None, float | None]:
        """Return the next press of a held command."""
        if (press := self._presses.take(now)) is None:
            return None, self._presses.deadline()

        def done(_: Any, error: Exception | None) -> None:
            noted = self._note(error)
            if error is not None:
                self._press_failed(*press, error)
                self._node.warn('held', f'no longer held: {press[0]} ({noted})')

        return (self._press(*press), done), None
