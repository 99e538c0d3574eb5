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

from typing import Any

from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from xplane_bridge.links.http import UnansweredError
from xplane_bridge.links.udp import LinkError
from xplane_bridge.links.xmlrpc import XmlRpc
from xplane_bridge.nodes.bridge import Bridge
from xplane_bridge.protocols.foreign import printable
from xplane_bridge.sessions.fdmdata import FdmdataSession

# Why a call to Huginn may fail.
_WHY = {
    'reset': ', that is to trim the aircraft at its initial conditions: resume it if it is held, '
             'move the elevator off its stop, and reset it again',
}

# A reset reinitialises and trims the flight model.
_TIMEOUT = 5.0
# The last call, when the node ends.
_TIMEOUT_AT_END = 1.0


class _UnknownOutcomeError(ValueError):
    """A method was called, but it is unknown whether it was executed."""


class FdmdataCommands:
    """The services pause and reset, and whether Huginn is paused by us."""

    def __init__(self, node: Bridge[Any, FdmdataSession], rpc: XmlRpc) -> None:
        self._node = node
        self._rpc = rpc
        self._paused_here = False
        node.make_service(SetBool, 'pause', self._pause)
        node.make_service(Trigger, 'reset', self._reset)

    def end(self, *, in_doubt: bool) -> None:
        """Resume a Huginn that was paused here, unless it may have been replaced since."""
        # Nobody waits for them any more; an unanswered pause may have been executed.
        self._rpc.end()
        if not self._paused_here:
            return
        self._paused_here = False
        if in_doubt:
            self._node.warn(
                'paused', 'it stays paused: Huginn was silent, and may have been restarted')
            return
        try:
            self._rpc.call('resume', _TIMEOUT_AT_END)
        except LinkError as error:
            self._node.warn('paused', f'it stays paused: {printable(str(error))}')

    def forget(self) -> None:
        """Forget what was paused: Huginn was restarted."""
        self._paused_here = False

    async def _pause(self, request: SetBool.Request, response: SetBool.Response) -> None:
        before = self._paused_here
        # From now on it may be paused, answered or not.
        self._paused_here |= request.data
        try:
            await self._call('pause' if request.data else 'resume')
        except _UnknownOutcomeError:
            raise
        except ValueError:
            self._paused_here = before
            raise
        self._paused_here = bool(request.data)
        response.success = True
        response.message = 'paused' if request.data else 'resumed'

    async def _reset(self, _: Trigger.Request, response: Trigger.Response) -> None:
        try:
            await self._call('reset')
        finally:
            # It trims: previous commands no longer say anything about the controls.
            self._node.link.call(self._node.session.forget_controls)
        response.success = True
        response.message = 'back at the initial conditions'

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
        if not good:
            raise ValueError(f'Huginn reports that {method} failed{_WHY.get(method, "")}')
