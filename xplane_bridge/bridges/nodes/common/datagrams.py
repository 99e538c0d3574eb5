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

"""Common to nodes with datagram protocols: awaiting a reply, and reporting on the link."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
import time
from typing import Any

from rclpy.task import Future

from xplane_bridge.bridges.links import causes
from xplane_bridge.bridges.links.captures.replay import ReplayLoop
from xplane_bridge.bridges.links.udp import SocketCounters
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import ERROR, OK, Status, WARN
from xplane_bridge.bridges.nodes.common.lists import named
from xplane_bridge.bridges.sessions.base import CommandDone, NotShownError
from xplane_bridge.common.text import counted

# For how long diagnostics report another program's datagrams, in seconds.
_RECENT = 5.0


class AwaitedTickets:
    """
    Reads and commands of a session that coroutines wait for, by ticket.

    The session's completion event has ``ticket`` and ``error``.
    """

    def __init__(self, node: BridgeNode[Any]) -> None:
        self._node = node
        self._waiting: dict[int, Future] = {}

    async def wait(self, call: Callable[..., Any], ask: Callable[..., int], *given: Any) -> Any:
        """
        Start with ``ask(*given, now)``, which returns a ticket, through the link's ``call``.

        Returns the completion event without blocking the executor. Raises ValueError with the
        reason if it fails.
        """
        future = Future(executor=self._node.executor)
        # Without a callback the future would not wake the executor that awaits it.
        future.add_done_callback(lambda _: None)

        def begin(*arguments: Any) -> None:
            self._waiting[ask(*arguments)] = future

        call(begin, *given)
        done = await future
        if done.error:
            raise _to_error(done)
        return done

    def end(self, done: Any) -> None:
        """
        Wake whoever waits for this completion; for the link's thread.

        A command that nobody waits for and that was not sent is counted and logged as refused,
        unless the node has ended meanwhile; one that was sent and is not shown is logged.
        """
        future = self._waiting.pop(done.ticket, None)
        if future is not None:
            future.set_result(done)
        elif isinstance(done, CommandDone) and done.error and (
                self._node.active or done.was_sent):
            self._node.refuse(done.what, _to_error(done))


def _to_error(done: Any) -> ValueError:
    """Return the error of a read or a command."""
    was_sent = isinstance(done, CommandDone) and done.was_sent
    return NotShownError(done.error) if was_sent else ValueError(done.error)


class LinkReport:
    """The diagnostics status of a link's datagrams, from one second to the next."""

    def __init__(self) -> None:
        self._before = SocketCounters()

    def status(
        self, counters: SocketCounters, malformed: Mapping[str, int], last_error: str,
        *addresses: tuple[str, str], advice: str = '',
    ) -> Status:
        """
        Return the status, with ``addresses`` first; kernel drops count since the last one.

        ``advice`` is appended about datagrams from a different port than the peer's.
        """
        before, self._before = self._before, counters
        bad = sum(malformed.values())
        level, text = OK, 'open'
        if time.monotonic() - counters.dropped_at < _RECENT and counters.dropped_from is not None:
            address, port = counters.dropped_from
            level = WARN
            text = causes.OTHER_PROGRAM.said(sender=f'{address}:{port}') + advice
        elif counters.stranger is not None and not counters.received:
            address, port = counters.stranger
            level, text = WARN, causes.OTHER_ADDRESS.said(sender=f'{address}:{port}')
        elif bad:
            level, text = WARN, causes.malformed(bad, last_error)
        if too_much := causes.overload(counters, before):
            text = too_much if level == OK else f'{too_much}; {text}'
            level = WARN
        return Status('link', level, text, (
            *addresses,
            ('datagrams received', str(counters.received)),
            ('datagrams sent', str(counters.sent)),
            ('send errors', str(counters.send_errors)),
            ('from other addresses, dropped', str(counters.strangers)),
            ('from other ports of that address, dropped', str(counters.other_ports)),
            ('dropped by the kernel', str(counters.kernel_drops)),
            *((f'malformed {kind}', str(count)) for kind, count in malformed.items()),
        ))


class RateMeter:
    """Rates of events per second since the last call."""

    def __init__(self) -> None:
        self._at = time.monotonic()
        self._counts: dict[Any, int] = {}

    def per_second(self, counts: Mapping[Any, int], now: float) -> dict[Any, float]:
        """Return the rates, given the total counts so far."""
        before, self._counts = self._counts, dict(counts)
        seconds, self._at = max(now - self._at, 1e-6), now
        return {
            what: (count - before.get(what, 0)) / seconds for what, count in counts.items()}


def values_status(wanted: Collection[str], missing: Mapping[str, float], now: float) -> Status:
    """
    Return the diagnostics status of requested values.

    ``missing`` are those of ``wanted`` that do not arrive, each with the time since when
    it has been missing, on the clock of ``now``.
    """
    if not missing:
        return Status(
            'values', OK, f'all {len(wanted)} values arrive' if wanted else 'none requested')
    names = [f'{name} (for {now - since:.0f} s)' for name, since in missing.items()]
    return Status(
        'values', WARN, causes.ABSENT_VALUES.said(
            absent=len(names), wanted=len(wanted), names=named(names)))


def capture_status(link: ReplayLoop) -> Status:
    """Return the diagnostics status of a capture that is played instead of a network."""
    progress = link.progress()
    tally = progress.tally
    unplayed = progress.incomplete + progress.untimely
    level, text = OK, 'played to its end' if link.finished else 'being played'
    if progress.error:
        level, text = ERROR, f'ended early: {progress.error}'
    elif unplayed:
        level = WARN
        text = f'{counted(unplayed, "datagram")} not played: {progress.fault}'
    elif link.finished and not link.counters().received:
        level = WARN
        text = ('nothing in it was for this node: check the ports and addresses, and the counts '
                'below')
    return Status('capture', level, text, (
        ('file', link.path),
        ('packets', str(tally.packets)),
        ('UDP datagrams', str(tally.datagrams)),
        ('truncated by the capture', str(progress.incomplete)),
        ('outside the range of ROS time', str(progress.untimely)),
        ('jumps of the recorded time, not waited for', str(progress.jumps)),
        ('of other protocols', ', '.join(
            f'{count} {kind}' for kind, count in tally.kinds.items()) or '0'),
        ('of unsupported link types', str(tally.unknown_links)),
        ('malformed IP or UDP', str(tally.malformed)),
        ('truncated, of any program', str(tally.cut)),
        ('fragments', str(tally.fragments)),
        ('fragmented datagrams abandoned', str(tally.abandoned)),
    ))
