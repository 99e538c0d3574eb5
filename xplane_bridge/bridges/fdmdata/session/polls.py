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

"""Outstanding polls of Huginn's sensors, and their replies."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from xplane_bridge.bridges.fdmdata import protocol as fdmdata
from xplane_bridge.bridges.fdmdata.protocol import Command, SensorReply
from xplane_bridge.bridges.fdmdata.session.events import Statistics
from xplane_bridge.bridges.sessions.base import Outgoing
from xplane_bridge.bridges.sessions.channels import ChannelPool

# Outstanding polls each use one of this many sockets.
_CHANNELS = 16

# A reply normally takes microseconds, but waits for a step of the flight model to end.
TIMEOUT = 0.5

_REQUESTS = {command: fdmdata.encode(fdmdata.SensorRequest(command)) for command in Command}


class SensorPoll:
    """
    Requests sent together, in order, the replies so far, and what was not delivered yet.

    ``entries`` are sensors by entry of the plan; a poll without entries is lone: a single sensor,
    polled separately because it does not answer. ``last`` are the last sensors of entries, as
    Huginn answers in order; ``may_end`` is whether what was taken last may complete one.
    """

    __slots__ = (
        'commands', 'entries', 'errors', 'last', 'lone', 'may_end', 'replies', 'sent_at',
        'waiting')

    def __init__(
        self, entries: Mapping[str, tuple[Command, ...]], commands: Sequence[Command],
        last: Collection[Command], now: float,
    ) -> None:
        self.entries = dict(entries)
        self.last = last
        self.may_end = False
        self.lone = not entries
        self.commands = tuple(commands)
        self.waiting = list(commands)
        self.sent_at = now
        self.errors = 0
        self.replies: dict[Command, SensorReply] = {}

    def ended(self) -> list[tuple[str, dict[Command, SensorReply]]]:
        """Return each completed entry, once, with its replies if any."""
        ended = []
        for name in tuple(self.entries):
            commands = self.entries[name]
            for command in commands:
                if command in self.waiting:
                    break
            else:
                del self.entries[name]
                replies = {c: self.replies[c] for c in commands if c in self.replies}
                if replies:
                    ended.append((name, replies))
        return ended


class Polls:
    """
    The outstanding polls, in order.

    Requests are pipelined: those of one poll are sent together, and the next one does not wait for
    their replies. An error reply names no command: it counts for one request of its poll.
    """

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        self._pool = ChannelPool('data', _CHANNELS)
        # By channel.
        self.outstanding: dict[str, SensorPoll] = {}

    @property
    def deadline(self) -> float | None:
        """Return when the oldest poll times out, None without any."""
        for channel in self.outstanding:
            return self.outstanding[channel].sent_at + TIMEOUT
        return None

    def send(
        self, entries: Mapping[str, tuple[Command, ...]], commands: Sequence[Command],
        last: Collection[Command], now: float,
    ) -> list[Outgoing]:
        """Return one poll to send; nothing if none is due or no channel is free."""
        channel = self._pool.take() if commands else None
        if channel is None:
            return []
        self.outstanding[channel] = SensorPoll(entries, commands, last, now)
        self._statistics.requests += len(commands)
        return [(channel, _REQUESTS[command]) for command in commands]

    def refuse(self, channel: str) -> None:
        """Handle an error reply."""
        poll = self.outstanding.get(channel)
        if poll is None:
            self._statistics.unexpected += 1
        else:
            poll.errors += 1

    def take(self, channel: str, reply: SensorReply) -> SensorPoll | None:
        """Add a reply to its poll, and return the poll; None if it is late or a duplicate."""
        command = reply.command
        if channel not in self.outstanding or (
                command not in self.outstanding[channel].waiting):
            self._statistics.unexpected += 1
            return None
        poll = self.outstanding[channel]
        waiting = poll.waiting
        # Huginn answers in order: what is before it remains unanswered.
        unanswered = 0 if waiting[0] is command else waiting.index(command)
        del waiting[:unanswered + 1]
        poll.replies[command] = reply
        if unanswered:
            self._miss(poll, unanswered)
        self._statistics.replies += 1
        poll.may_end = unanswered > 0 or command in poll.last
        if not waiting:
            self._pool.give(channel)
            del self.outstanding[channel]
        return poll

    def give_up(self, now: float, *, every: bool = False) -> Iterator[tuple[str, SensorPoll]]:
        """
        Remove and yield polls that have timed out, or ``every`` poll, with its channel.

        Unanswered requests count as lost. The caller closes the channel with drop().
        """
        for channel, poll in list(self.outstanding.items()):
            if now < poll.sent_at + TIMEOUT and not every:
                break
            self._miss(poll, len(poll.waiting))
            del self.outstanding[channel]
            yield channel, poll

    def drop(self, channel: str) -> None:
        """Close the channel of a poll that timed out."""
        self._pool.drop(channel)

    def forget(self) -> None:
        """Forget all polls."""
        for channel in self.outstanding:
            self._pool.drop(channel)
        self.outstanding.clear()

    def closed(self) -> list[Outgoing]:
        """Return the channels to close."""
        return [(channel, None) for channel in self._pool.closed()] if self._pool.closing else []

    def _miss(self, poll: SensorPoll, unanswered: int) -> None:
        """Count unanswered requests: those without an error reply are lost."""
        refused = min(unanswered, poll.errors)
        if not poll.lone:
            poll.errors -= refused
        self._statistics.lost += unanswered - refused
