"""Polling the datarefs that the user chose, at a rate of their own."""

from __future__ import annotations

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.xpc.events import Statistics, WatchedDatarefs
from xplane_bridge.sessions.xpc.reads import batches

_TIMEOUT = 0.5


class Watch:
    """
    Poll a list of datarefs in as few GETDs as fit, each on a channel of its own.

    A channel always asks for the same names, so a late reply still decodes right; a new grouping
    gets new channels. Sizes are learnt from the first, small groups.
    """

    def __init__(
        self, names: tuple[str, ...], period: float, serial: int, statistics: Statistics
    ) -> None:
        self.names = names
        self.period = period
        self.due = 0.0
        self._statistics = statistics
        self._serial = serial
        self._sizes: dict[str, int] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        self._rows: dict[str, tuple[tuple[float, ...], ...]] = {}
        self._sent_at: float | None = None
        self._group()

    def _group(self) -> None:
        """Plan the groups anew from the sizes known so far."""
        self._serial += 1
        self._groups = {
            f'watch {self._serial}.{number}': group
            for number, group in enumerate(batches(self.names, self._sizes))
        }

    @property
    def channels(self) -> tuple[str, ...]:
        """Return the channels in use."""
        return tuple(self._groups)

    @property
    def cost(self) -> int:
        """Return how many datagrams one round takes."""
        return len(self._groups)

    @property
    def waiting(self) -> bool:
        """Tell whether replies are outstanding."""
        return self._sent_at is not None

    @property
    def deadline(self) -> float:
        """Return when the outstanding replies are to be given up, or the next round is due."""
        return self.due if self._sent_at is None else self._sent_at + _TIMEOUT

    def start(self, now: float) -> list[tuple[str, bytes | None]]:
        """Begin the next round: return what to send."""
        self._rows.clear()
        self._sent_at = now
        self.due = max(self.due + self.period, now)
        self._statistics.requests += len(self._groups)
        return [
            (channel, xpc.encode(xpc.GetDatarefs(names)))
            for channel, names in self._groups.items()
        ]

    def give_up(self) -> None:
        """Count the outstanding replies as lost."""
        self._statistics.lost += len(self._groups) - len(self._rows)
        self._sent_at = None

    def receive(self, channel: str, reply: xpc.Reply) -> WatchedDatarefs | None:
        """Take one reply; return all values if they are complete now."""
        names = self._groups.get(channel)
        if (
            self._sent_at is None
            or names is None
            or not isinstance(reply, xpc.Datarefs)
            or len(reply.rows) != len(names)
        ):
            self._statistics.unexpected += 1
            return None
        self._statistics.replies += 1
        self._rows[channel] = reply.rows
        if len(self._rows) < len(self._groups):
            return None
        self._sent_at = None
        values = tuple(row for group in self._groups for row in self._rows[group])
        return WatchedDatarefs(self.names, values)

    def regroup(self, values: tuple[tuple[float, ...], ...]) -> tuple[str, ...]:
        """Use the sizes just read for larger groups; return the channels no longer used."""
        sizes = {name: len(row) for name, row in zip(self.names, values, strict=True)}
        if sizes == self._sizes:
            return ()
        self._sizes = sizes
        if len(tuple(batches(self.names, sizes))) == len(self._groups):
            return ()
        old = self.channels
        self._group()
        return old
