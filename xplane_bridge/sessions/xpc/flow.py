"""How much may be sent to a plugin: in a second, and in one of its frames."""

from __future__ import annotations

from xplane_bridge.sessions.budget import Budget

# The plugin reads at most 20 datagrams a frame, 0.07 ms each, until none is waiting. A request
# sent sooner after a reply could be answered in the same frame, and adds to those 20.
FRAME_GAP = 0.002

# Datagrams at once.
_BURST = 8

# At the 20th datagram of a frame the plugin drops all that follow (XPC wire notes, section 1),
# and a frame may last long. So this many may wait for it, and others send to it too.
_LARGEST_QUEUE = 16


class Flow:
    """
    Keep to ``rate`` datagrams a second, and to what the plugin can read in one frame.

    The plugin reads in the order of arrival: a reply tells that its request, and all that was
    sent before, does not wait any more. With no request outstanding nothing is known, and only
    the budget counts.
    """

    def __init__(self, rate: float) -> None:
        self.budget = Budget(rate, _BURST)
        # Datagrams are numbered as they are sent.
        self._sent = 0
        self._read = 0
        self._asked = 0
        self._requests: dict[str, int] = {}

    @property
    def unanswered(self) -> bool:
        """Tell whether a reply is outstanding that would tell something new."""
        return self._asked > self._read

    def take(self, count: int, now: float, *, leave: int = 0) -> bool:
        """Take ``count`` datagrams if ``leave`` stay for others; tell whether they were taken."""
        if self._is_full(count + leave) or not self.budget.take(count, now, leave=leave):
            return False
        self._count(count)
        return True

    def charge(self, count: int, now: float) -> None:
        """Take ``count`` datagrams that cannot wait."""
        self.budget.charge(count, now)
        self._count(count)

    def when(self, count: int, now: float, *, leave: int = 0) -> float | None:
        """Return the time from which take() of as much succeeds, None if a reply decides it."""
        if self._is_full(count + leave):
            return None
        return self.budget.when(count, now, leave=leave)

    def ask(self, channel: str) -> None:
        """Note that what was just taken includes a request, answered on ``channel``."""
        self._asked = self._requests[channel] = self._sent

    def answer(self, channel: str) -> None:
        """Note a reply on ``channel``."""
        self._read = max(self._read, self._requests.pop(channel, 0))

    def forget(self, channel: str) -> None:
        """Note that ``channel`` is closed."""
        self._requests.pop(channel, None)

    def reset(self) -> None:
        """Take everything sent so far as read, or lost."""
        self._read = self._asked = self._sent
        self._requests.clear()

    def _is_full(self, count: int) -> bool:
        return self.unanswered and self._sent - self._read + count > _LARGEST_QUEUE

    def _count(self, count: int) -> None:
        if not self.unanswered:
            self._read = self._sent
        self._sent += count
