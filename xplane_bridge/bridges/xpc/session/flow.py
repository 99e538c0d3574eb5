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

"""Flow control to a plugin: per second, and per frame."""

from __future__ import annotations

from collections import deque

from xplane_bridge.bridges.sessions.budget import Budget

# The plugin reads at most 20 datagrams per frame, 0.07 ms each, until none is pending. A request
# sent sooner after a reply could be answered in the same frame, and add to those 20.
FRAME_GAP = 0.002

# Datagrams sent at once.
_BURST = 8
# What polling leaves of the budget, so that a command need not wait for it; what reads and watched
# datarefs leave in addition, so that telemetry need not wait for them; and what commands and reads
# together may take of it, so that polling continues.
_LEFT_FOR_COMMANDS = 2
_LEFT_FOR_TELEMETRY = 2
_LEFT_FOR_POLLS = _LEFT_FOR_COMMANDS + _LEFT_FOR_TELEMETRY
_COMMAND_SHARE = 0.75
_COMMAND_BURST = 6

# At the 20th datagram of a frame the plugin drops all that follow (docs/wire/xpc.md, section 1),
# and a frame may last long. So only this many may be pending, as others send to it too, and what
# gives back or probes does not wait. If replies fail to come, polls are not repeated beyond this.
_WAITING_POLLS = 8
_WAITING_COMMANDS = 4
WAITING_IN_LOCKSTEP = 12
_REPEATED_POLLS = 4
# A plugin that is slow, as its computer has little time, may go on reading in the same frame
# while requests come. Of one frame that was seen to last, no more than this is sent, until no
# request has been answered for so long, in seconds: copies of replies may come without end.
_MOST_IN_FRAME = 16
_LONG_FRAME = 0.2
# X-Plane's running time is a float32: after three days frames have the same one.
_COARSE = 2.0 ** 18
# What watched datarefs leave of the first to telemetry.
_LARGEST_ROOM = 8


class Flow:
    """
    Keep to ``rate`` datagrams per second, and to what the plugin can read in one frame.

    Polling has one part of both, commands and reads have the other; in the budget, telemetry has
    priority over reads and watched datarefs, unless these are ``overdue`` a turn. The plugin reads
    in order of arrival: a reply shows that its request, and everything sent before, is no longer
    pending; but its frame may not be over yet, and count what is sent now: not before FRAME_GAP
    after the last reply. ``stalled`` says that replies are overdue. Over a slow network, what was
    sent within the last ``distance`` seconds has not arrived, and is not pending either. A frame
    may last longer, as its running time shows: see show_frame(). ``frame_gap`` replaces FRAME_GAP:
    0 for a simulator in lockstep, whose next frame is drawn only after the reply; it reads at any
    time, so ``waiting_commands`` may be WAITING_IN_LOCKSTEP.
    """

    def __init__(
        self, rate: float, frame_gap: float = FRAME_GAP,
        waiting_commands: int = _WAITING_COMMANDS,
    ) -> None:
        self.distance = 0.0
        self._waiting_commands = waiting_commands
        self._frame_gap = frame_gap
        self.stalled = False
        # Of what is under way: when it was sent, and how many polls and commands before.
        self._under_way: deque[tuple[float, int, int]] = deque()
        self._budget = Budget(rate, _BURST)
        self._command_budget = Budget(_COMMAND_SHARE * rate, _COMMAND_BURST)
        # How many polls and commands were sent, and how many of them the plugin has read.
        self._polls = self._commands = 0
        self._read_polls = self._read_commands = 0
        # How many of them were read in earlier frames, and when the last reply came.
        self._past_polls = self._past_commands = 0
        self._answered_at = -frame_gap
        # When a request was last answered, and not only a reply came.
        self._shown_at = -_LONG_FRAME
        self._asked = 0
        self._requests: dict[str, tuple[int, int]] = {}
        # How many datagrams were sent until the last answered request; of the frame that was last
        # seen, its time, until which of them others were read, how many had been sent at its first
        # reply, and whether it has answered later ones.
        self._answered = 0
        self._frame: float | None = None
        self._frame_from = self._last_shown = self._sent_before = 0
        self._is_long = False

    @property
    def sent_commands(self) -> int:
        """Return how many commands and reads were sent."""
        return self._commands

    @property
    def read_commands(self) -> int:
        """Return how many of them the plugin has read, or lost."""
        return self._read_commands

    @property
    def unanswered(self) -> bool:
        """Return whether a reply is outstanding that would show something new."""
        return self._asked > self._read_polls + self._read_commands

    @property
    def unread(self) -> int:
        """Return how many datagrams may wait in the plugin's socket."""
        return self._polls + self._commands - self._read_polls - self._read_commands

    @property
    def needs_reply(self) -> bool:
        """Return whether only a new request can show that commands were read."""
        return self._commands - self._read_commands >= self._waiting_commands and (
            not self.unanswered)

    def take_poll(self, count: int, now: float, *, leave: int = 0) -> bool:
        """Take this many datagrams for telemetry, if ``leave`` remain; return whether taken."""
        if self._is_full(count + leave, now) or not self._budget.take(
                count, now, leave=_LEFT_FOR_COMMANDS + leave):
            return False
        self._send(now, polls=count)
        return True

    def when_poll(self, count: int, now: float, *, leave: int = 0) -> float | None:
        """Return when take_poll() succeeds, None if that depends on a reply."""
        if self._is_full(count + leave, now):
            return self._next_frame(now)
        return self._budget.when(count, now, leave=_LEFT_FOR_COMMANDS + leave)

    def take_watch(self, now: float, *, room: int, overdue: bool = False) -> bool:
        """
        Take a datagram for watched datarefs; return whether it was taken.

        ``room`` must remain in the plugin's frame for pending telemetry.
        """
        count = 1 if overdue else 1 + min(room, _LARGEST_ROOM)
        if self._is_full(count, now) or not self._budget.take(
                1, now, leave=_LEFT_FOR_COMMANDS if overdue else _LEFT_FOR_POLLS):
            return False
        self._send(now, polls=1)
        return True

    def when_watch(self, now: float, *, room: int) -> float | None:
        """Return when take_watch() succeeds, None if that depends on a reply."""
        if self._is_full(1 + min(room, _LARGEST_ROOM), now):
            return self._next_frame(now)
        return self._budget.when(1, now, leave=_LEFT_FOR_POLLS)

    def take_command(self, now: float, *, leave: int = 0) -> bool:
        """Take a datagram for a command if ``leave`` remain for a read; return whether taken."""
        return self._take_command(now, leave, 0)

    def when_command(self, now: float, *, leave: int = 0) -> float | None:
        """Return when take_command() succeeds, None if that depends on a reply."""
        return self._when_command(now, leave, 0)

    def take_read(self, now: float, *, overdue: bool = False) -> bool:
        """Take a datagram for a read; return whether it was taken."""
        return self._take_command(now, 0, 0 if overdue else _LEFT_FOR_POLLS)

    def when_read(self, now: float) -> float | None:
        """Return when take_read() succeeds, None if that depends on a reply."""
        return self._when_command(now, 0, _LEFT_FOR_POLLS)

    def _take_command(self, now: float, leave: int, left_for_polls: int) -> bool:
        if self._is_full_of_commands(1 + leave, now) or self._command_budget.when(
            1, now, leave=leave
        ) > now or not self._budget.take(1, now, leave=left_for_polls):
            return False
        self._command_budget.charge(1, now)
        self._send(now, commands=1)
        return True

    def _when_command(self, now: float, leave: int, left_for_polls: int) -> float | None:
        if self._is_full_of_commands(1 + leave, now):
            return self._next_frame(now)
        return max(
            self._budget.when(1, now, leave=left_for_polls),
            self._command_budget.when(1, now, leave=leave))

    def charge(self, count: int, now: float) -> None:
        """Take datagrams that cannot wait."""
        self._budget.charge(count, now)
        self._send(now, commands=count)

    def ask(self, channel: str) -> None:
        """Record that what was just taken includes a request, answered on ``channel``."""
        self._requests[channel] = self._polls, self._commands
        self._asked = self._polls + self._commands

    def answer(self, channel: str, now: float) -> int:
        """Record a reply on ``channel``; return how many commands were sent before its request."""
        self._settle(now)
        self._answered_at = now
        if channel in self._requests:
            self._shown_at = now
        polls, commands = self._requests.pop(channel, (0, 0))
        if polls > self._read_polls:
            self._read_polls = polls
        if commands > self._read_commands:
            self._read_commands = commands
        self._answered = polls + commands
        return commands

    def show_frame(self, running_time: float) -> None:
        """
        Record that the last reply had this running time, which stands within a frame.

        If that of a request does which was sent after the frame's first reply, the frame lasts.
        """
        if running_time != self._frame:
            self._frame = running_time
            self._is_long = False
            self._frame_from = self._last_shown
            self._sent_before = self._polls + self._commands
        elif self._answered > self._sent_before and running_time < _COARSE:
            self._is_long = True
        self._last_shown = max(self._last_shown, self._answered)

    def forget(self, channel: str) -> None:
        """Record that ``channel`` is closed."""
        self._requests.pop(channel, None)

    def reset(self) -> None:
        """Treat everything sent so far as read, or lost."""
        self._read_polls, self._read_commands = self._polls, self._commands
        self._past_polls, self._past_commands = self._polls, self._commands
        self._asked = 0
        self._frame, self._is_long = None, False
        self._requests.clear()
        self._under_way.clear()

    def _send(self, now: float, *, polls: int = 0, commands: int = 0) -> None:
        self._arrived(now)
        self._under_way.append((now, self._polls, self._commands))
        self._polls += polls
        self._commands += commands

    def _settle(self, now: float) -> None:
        """Close the frame of the last replies, if no other reply has come for a while."""
        if now >= self._answered_at + self._frame_gap:
            self._past_polls, self._past_commands = self._read_polls, self._read_commands

    def _next_frame(self, now: float) -> float | None:
        """Return when what was answered no longer counts, None if it does not any more."""
        if self._is_long:
            return self._shown_at + _LONG_FRAME
        self._settle(now)
        if (self._past_polls, self._past_commands) == (self._read_polls, self._read_commands):
            return None
        return self._answered_at + self._frame_gap

    def _is_full(self, count: int, now: float) -> bool:
        self._settle(now)
        most = _REPEATED_POLLS if self.stalled else _WAITING_POLLS
        if self._is_long and self._lasts(count, now):
            return True
        return self._arrived(now)[0] - self._past_polls + count > most

    def _is_full_of_commands(self, count: int, now: float) -> bool:
        self._settle(now)
        if self._is_long and self._lasts(count, now):
            return True
        return self._arrived(now)[1] - self._past_commands + count > self._waiting_commands

    def _lasts(self, count: int, now: float) -> bool:
        """Return whether the frame that lasts would read too much with so many more."""
        if self._polls + self._commands + count - self._frame_from <= _MOST_IN_FRAME:
            return False
        if now < self._shown_at + _LONG_FRAME:
            return True
        self._frame, self._is_long = None, False
        return False

    def _arrived(self, now: float) -> tuple[int, int]:
        """Return how many polls and commands may have reached the plugin."""
        while self._under_way and self._under_way[0][0] <= now - self.distance:
            self._under_way.popleft()
        if not self._under_way:
            return self._polls, self._commands
        return self._under_way[0][1:]
