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

"""Services of fdmdata_node: Huginn's XML-RPC."""

from __future__ import annotations

import threading
from typing import Any

from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from xplane_bridge.bridges.fdmdata.session import FdmdataSession
from xplane_bridge.bridges.links.http import UnansweredError
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.links.xmlrpc import XmlRpc
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.common.text import printable

# Why a call to Huginn may fail.
_WHY = {
    'reset': ', that is to trim the aircraft at its initial conditions: resume it if it is held, '
             'move the elevator off its stop, and reset it again',
}

# Of an answer that makes no sense, in a sentence.
_LONGEST_ANSWER = 60

# A reset reinitialises and trims the flight model.
_TIMEOUT = 5.0
# When the node is deactivated: one call, and the time between two.
_TIMEOUT_AT_END = 1.0
_PERIOD_AT_END = 0.5


class _UnknownOutcomeError(ValueError):
    """A method was called, but it is unknown whether it was executed."""


class FdmdataCommands:
    """The services pause and reset; the session knows whether Huginn is paused by us."""

    def __init__(self, node: Bridge[Any, FdmdataSession], rpc: XmlRpc) -> None:
        self._node = node
        self._rpc = rpc
        self._left = threading.Event()
        self._resuming: threading.Thread | None = None
        node.make_service(SetBool, 'pause', self._pause)
        node.make_service(Trigger, 'reset', self._reset)

    def leave(self) -> None:
        """Abandon pending calls; resume a Huginn that was paused here, until left()."""
        # Nobody waits for them any more; an unanswered pause may have been executed.
        self._rpc.end()
        session = self._node.session
        with self._node.link.lock:
            paused = session.is_paused_here
        if not paused:
            return
        self._left.clear()
        self._resuming = threading.Thread(
            target=self._resume, args=(session,), name='resume', daemon=True)
        self._resuming.start()

    def left(self) -> None:
        """Stop resuming it: its data show that it runs, or the time is up."""
        if self._resuming is not None:
            self._left.set()
            self._rpc.end()
            self._resuming.join()
            self._resuming = None

    def _resume(self, session: FdmdataSession) -> None:
        """Resume Huginn again and again, unless it may be another one by now."""
        while not self._left.is_set():
            with self._node.link.lock:
                in_doubt = session.in_doubt
            if not in_doubt:
                try:
                    self._rpc.call('resume', _TIMEOUT_AT_END)
                except LinkError as error:
                    if not self._left.is_set():
                        self._node.warn('paused', f'not resumed yet: {printable(str(error))}')
            self._left.wait(_PERIOD_AT_END)

    async def _pause(self, request: SetBool.Request, response: SetBool.Response) -> None:
        link, session = self._node.link, self._node.session
        before = session.is_paused_here
        method = 'pause' if request.data else 'resume'
        if request.data and not before:
            # From now on it may be paused, answered or not.
            link.call(session.take_pause)
        try:
            await self._call(method)
        except _UnknownOutcomeError:
            raise
        except ValueError:
            if not before:
                link.call(session.forget_pause)
            raise
        done = await self._node.pending.wait(
            link.call, session.expect_motion, not request.data, method)
        if not request.data:
            link.call(session.forget_pause)
        response.success = True
        response.message = f'{"paused" if request.data else "resumed"}: {done.message}'

    async def _reset(self, _: Trigger.Request, response: Trigger.Response) -> None:
        link, session = self._node.link, self._node.session
        link.call(session.expect_reset)
        try:
            await self._call('reset')
            done = await self._node.pending.wait(link.call, session.await_reset)
        finally:
            link.call(session.end_reset)
        response.success = True
        response.message = done.message

    async def _call(self, method: str) -> None:
        """Call a method of Huginn's XML-RPC without blocking. Raises ValueError."""
        if self._node.plays_capture:
            raise ValueError('a capture is being replayed: there is no Huginn to call')
        future = Future(executor=self._node.executor)
        # Without a callback the future would not wake the executor that awaits it.
        future.add_done_callback(lambda _: None)
        try:
            self._rpc.start(method, _TIMEOUT, lambda *ended: future.set_result(ended))
        except LinkError as error:
            raise ValueError(str(error)) from error
        good, failure = await future
        if failure is not None:
            kind = _UnknownOutcomeError if isinstance(failure, UnansweredError) else ValueError
            raise kind(printable(str(failure)))
        if not isinstance(good, bool):
            raise _UnknownOutcomeError(
                f'{method}: the answer is {printable(repr(good)[:_LONGEST_ANSWER])}, expected a '
                'boolean: is this Huginn?')
        if not good:
            raise ValueError(f'Huginn reports that {method} failed{_WHY.get(method, "")}')
