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


"""Commands that are held over the WebSocket, each until X-Plane shows that it is released."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
import math

from xplane_bridge.bridges.xplane_udp.protocol.web_api import WebApiRefusedError
from xplane_bridge.bridges.xplane_udp.web.presses import check_count, check_lease

# One command that is held over the WebSocket: what is wanted, asked, and known of it.

NEVER = -math.inf


@dataclass(slots=True)
class Waiters:
    """Those who wait for the same, and until when."""

    tickets: list[int] = field(default_factory=list)
    until: float = math.inf

    def join(self, ticket: int | None, until: float) -> None:
        """Wait too, without a ticket in vain."""
        if ticket is not None:
            self.tickets.append(ticket)
            self.until = min(self.until, until)

    def leave(self) -> tuple[int, ...]:
        """Return who has waited; nobody does any more."""
        left, self.tickets, self.until = tuple(self.tickets), [], math.inf
        return left


@dataclass(slots=True)
class Hold:
    """One command; ``due`` is when something is to be asked about it, but for its wish."""

    # Until when it is to be held, of which X-Plane has not been asked yet, and since when; with a
    # length it is that long from when X-Plane is asked.
    wish: float | None = None
    wished: float = 0.0
    length: float | None = None
    begins: Waiters = field(default_factory=Waiters)
    # What X-Plane is being asked: until when, by whom, for how long if the request has left.
    asking: float | None = None
    asked_length: float | None = None
    askers: tuple[int, ...] = ()
    seconds: float | None = None
    # Until when it is held, and over which connection. By ``over`` X-Plane has released it for
    # certain, but not before ``floor``.
    until: float = NEVER
    connection: int = -1
    over: float = NEVER
    floor: float = NEVER
    # It is unconfirmed. Over which connection X-Plane has accepted its release, over which it was
    # asked to look, and what it has reported since.
    ends: bool = False
    ended: Waiters = field(default_factory=Waiters)
    accepted: int = -1
    looked: int = -1
    report: bool | None = None
    due: float = math.inf

    @property
    def since(self) -> float:
        """From when on X-Plane is to be asked something."""
        if self.asking is not None:
            return math.inf
        return self.wished if self.wish is not None and not self.ends else self.due

    @property
    def may_be_active(self) -> bool:
        """Whether X-Plane may have been asked to hold it."""
        return self.over > NEVER or self.seconds is not None

    @property
    def is_anothers(self) -> bool:
        """Whether it is active though X-Plane has accepted its release."""
        return self.report is True and self.accepted == self.looked != -1

    def is_shown(self, connection: int) -> bool:
        """Return whether X-Plane has said that it is released."""
        return self.report is False and connection in (self.accepted, self.looked)

    def must_release(self, connection: int) -> bool:
        """Return whether X-Plane is to be asked to release it, rather than to look."""
        return self.ends and self.accepted != connection and (
            self.connection == connection or self.looked == connection and self.report is True)

    def release(self, now: float) -> None:
        """Have it released from now on."""
        self.ends, self.due = True, now
        self.accepted, self.looked, self.report = -1, -1, None


# X-Plane reports changes at 10 Hz: after so long it is asked for what it has not reported.
_REPORT = 0.3
# From one attempt that failed, or one look without news, to the next.
_RETRY = 1.0
# X-Plane that releases a command so much before the end of its lease was told to by somebody.
_EARLY = 1.0
_RELEASED = 'X-Plane has released it'


class Ask(Enum):
    """What is to be asked of X-Plane."""

    HOLD = 'hold a command for what is left of its lease'
    RELEASE = 'release it'
    LOOK = 'report anew whether it is active'


@dataclass(frozen=True, slots=True)
class HoldRequest:
    """What is to be asked of X-Plane, of which commands, and over which connection."""

    ask: Ask
    names: tuple[str, ...]
    connection: int


@dataclass(frozen=True, slots=True)
class Settled:
    """What the holders of ``tickets`` wanted was done, as ``said``, or why not."""

    tickets: tuple[int, ...]
    said: str
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class LostHold:
    """A command that is no longer held though nobody here has ended it, and why."""

    name: str
    why: str


class HeldCommands:
    """
    What is held over the WebSocket, and what was given back but is not shown as released.

    X-Plane is told for how long, so it releases a command when its lease ends, whatever happens
    here; also when it notices that the connection has ended. A command that is ended, or was held
    over a connection that was lost, is unconfirmed: X-Plane is asked to release it, or over a new
    connection whether it is active, until it says that it is not, or until its lease is over. A
    report that contradicts a lease is not believed before it is confirmed. A command that is begun
    while it is unconfirmed waits for its release.

    due() gives what is to be asked, one step after the other; asked() is called when a hold
    leaves, and done() with the outcome of each step. ``connection`` is the number of a connection,
    ``ticket`` whoever waits for the outcome; who has waited for ``patience`` seconds is told that
    X-Plane does not show it. Time is an argument, in seconds.
    """

    def __init__(self, patience: float = 5.0) -> None:
        self._patience = patience
        self._holds: dict[str, Hold] = {}
        self._announced: list[Settled | LostHold] = []

    def names(self, now: float) -> tuple[str, ...]:
        """Return what is held, or is about to be."""
        return tuple(
            name for name, hold in self._holds.items() if not hold.ends and (
                hold.asking is not None or hold.over > now or (hold.wish or NEVER) > now))

    def unconfirmed(self, now: float) -> tuple[str, ...]:
        """Return what was given back, or lost, and is not yet shown as released."""
        return tuple(name for name, hold in self._holds.items()
                     if hold.ends and (hold.asking is not None or hold.over > now))

    def longest(self, now: float) -> float:
        """Return after how many seconds X-Plane has released all of them by itself."""
        return max((hold.over - now for hold in self._holds.values()), default=0.0)

    def announced(self) -> list[Settled | LostHold]:
        """Return what was settled since the last call."""
        announced, self._announced = self._announced, []
        return announced

    # What is wanted.

    def begin(
        self, name: str, lease: float, now: float, ticket: int | None = None, *,
        from_now: bool = True,
    ) -> None:
        """
        Hold a command for ``lease`` seconds, from now or from when X-Plane is asked.

        Raises ValueError for a lease that is too long, or too many commands.
        """
        check_lease(lease)
        self._prune(now)
        if name not in self._holds:
            check_count(len(self._holds))
            self._holds[name] = Hold()
        hold = self._holds[name]
        if hold.wish is None:
            hold.wished = now
        hold.wish, hold.length = (now + lease, None) if from_now else (math.inf, lease)
        hold.begins.join(ticket, now + self._patience)

    def end(self, name: str, now: float, ticket: int | None = None) -> None:
        """Have it released. Raises ValueError if it is neither held nor unconfirmed."""
        self._prune(now)
        hold = self._holds.get(name)
        if hold is None:
            raise ValueError(f'{name} is not held')
        self._drop_wish(hold, f'{name} was ended before X-Plane was asked to hold it')
        hold.ended.join(ticket, now + self._patience)
        if not hold.may_be_active and hold.asking is None:
            self._close(name, hold, 'X-Plane had not been asked to hold it')
        elif not hold.ends:
            hold.release(now)

    def end_all(self, now: float) -> None:
        """Have all of them released."""
        self._prune(now)
        for name in list(self._holds):
            self.end(name, now)

    def drop_all(self, why: str) -> None:
        """Forget all of them: there is nobody who could be asked."""
        for name, hold in list(self._holds.items()):
            self._announced.append(LostHold(name, why))
            self._drop_wish(hold, why)
            self._refuse(hold.askers + hold.ended.leave(), ValueError(why))
            self._close(name, hold, why)

    # What is asked.

    def due(self, now: float, connection: int) -> HoldRequest | None:
        """Return what is to be asked now; ``connection`` is the present one."""
        self._prune(now)
        for name, hold in list(self._holds.items()):
            if hold.asking is None:
                self._look_at(name, hold, now, connection)
        since, name = min(
            ((hold.since, name) for name, hold in self._holds.items()), default=(math.inf, ''))
        if since > now:
            return None
        hold = self._holds[name]
        if hold.wish is not None and not hold.ends:
            hold.asking, hold.asked_length = hold.wish, hold.length
            hold.wish, hold.length, hold.seconds = None, None, None
            hold.askers = hold.begins.leave()
            return HoldRequest(Ask.HOLD, (name,), connection)
        if hold.must_release(connection):
            released = {name: hold for name, hold in self._holds.items()
                        if hold.since <= now and hold.must_release(connection)}
            for hold in released.values():
                hold.due, hold.looked, hold.report = math.inf, -1, None
            return HoldRequest(Ask.RELEASE, tuple(released), connection)
        hold.due, hold.looked, hold.report = math.inf, connection, None
        return HoldRequest(Ask.LOOK, (name,), connection)

    def deadline(self) -> float | None:
        """Return when due() may have something to do, as far as is known; None for never."""
        return min((
            at for hold in self._holds.values() if hold.asking is None
            for at in (hold.since, hold.begins.until if hold.ends else math.inf,
                       hold.ended.until, hold.over)
            if math.isfinite(at)), default=None)

    def asked(self, name: str, connection: int, now: float) -> float:
        """Note that a request to hold it leaves; return for how many seconds it is to be held."""
        hold = self._holds[name]
        assert hold.asking is not None
        if hold.asked_length is not None:
            hold.asking = now + hold.asked_length
        hold.connection, hold.seconds = connection, hold.asking - now
        return hold.seconds

    def done(
        self, step: HoldRequest, now: float, error: Exception | None, *, unanswered: bool = False
    ) -> None:
        """Note how a step has ended; of one that is unanswered nobody knows if it was done."""
        for name in step.names:
            hold = self._holds.get(name)
            if hold is None:
                continue
            if step.ask is Ask.HOLD:
                self._done_holding(name, hold, now, error, unanswered)
            elif step.ask is Ask.LOOK and isinstance(
                error, WebApiRefusedError) and error.is_unknown:
                # Another run of X-Plane, or a plugin that has gone, had it.
                self._close(name, hold, 'this X-Plane does not know it')
            elif hold.ends:
                self._done_ending(name, hold, step, now, error)
        if unanswered and step.ask is not Ask.HOLD:
            # What is unconfirmed has the same cause to fail: others get their turn.
            for hold in self._holds.values():
                if hold.ends:
                    hold.due = now + _RETRY

    def reported(self, name: str, is_active: bool, connection: int, now: float) -> None:
        """Note what X-Plane says of a command."""
        hold = self._holds.get(name)
        if hold is None or connection < max(hold.connection, hold.accepted, hold.looked):
            return
        hold.report = is_active
        if hold.ends:
            if hold.is_anothers:
                hold.due = math.inf
            elif hold.looked == connection and hold.must_release(connection):
                hold.due = now
            if hold.asking is None:
                self._close_if_shown(name, hold, connection)
        elif is_active:
            hold.looked, hold.due = -1, math.inf
        elif hold.asking is None and hold.until - now > _EARLY:
            if hold.looked == connection:
                self._announced.append(LostHold(name, 'X-Plane or somebody else has released it'))
                self._close(name, hold, _RELEASED)
            else:
                hold.due = now + _REPORT

    # What comes of it.

    def _done_holding(
        self, name: str, hold: Hold, now: float, error: Exception | None, unanswered: bool
    ) -> None:
        assert hold.asking is not None
        if error is None:
            self._settle(hold.askers, 'held')
        else:
            self._refuse(hold.askers, error)
        wanted, seconds = hold.asking, hold.seconds
        hold.asking, hold.askers, hold.seconds = None, (), None
        if error is None and seconds is not None:
            hold.until, hold.over = wanted, max(now + seconds, hold.floor)
            hold.looked = -1
            if hold.ends:
                hold.due = now
            elif hold.report is False and wanted - now > _EARLY:
                hold.due = now + _REPORT
        elif unanswered and seconds is not None:
            if not hold.ends and hold.over > now:
                self._announced.append(LostHold(name, 'the connection was lost'))
            hold.over = max(now + seconds, hold.over)
            hold.release(now)
        elif not hold.may_be_active:
            self._close(name, hold, 'X-Plane did not hold it')
        elif hold.ends:
            hold.due = now

    def _done_ending(
        self, name: str, hold: Hold, step: HoldRequest, now: float, error: Exception | None
    ) -> None:
        if hold.due == math.inf:
            hold.due = now + (_RETRY if error or step.ask is Ask.LOOK else _REPORT)
        if step.ask is Ask.RELEASE:
            if error is None:
                hold.accepted = step.connection
            elif hold.connection == step.connection:
                # It is not asked blindly again: does it know the command, and is it active?
                hold.connection = -1
        self._close_if_shown(name, hold, step.connection)

    def _look_at(self, name: str, hold: Hold, now: float, connection: int) -> None:
        """Note what has become of a command without anybody saying so."""
        if not hold.ends and hold.connection not in (-1, connection):
            self._announced.append(LostHold(name, 'the connection was lost'))
            hold.release(now)
        if hold.ends and hold.due == math.inf and connection not in (hold.accepted, hold.looked):
            hold.due = now
        if hold.ends and hold.begins.until <= now:
            self._drop_wish(hold, f'{name} is still being released: {_unshown(hold, now)}')
        if hold.ended.until <= now or hold.wish is not None and hold.is_anothers:
            self._refuse(hold.ended.leave(), ValueError(f'{name}: {_unshown(hold, now)}'))
        if hold.ends and hold.wish is not None and hold.is_anothers:
            hold.ends, hold.connection, hold.floor = False, -1, hold.over

    def _prune(self, now: float) -> None:
        """Drop what is over."""
        for name, hold in list(self._holds.items()):
            if hold.asking is not None:
                continue
            if hold.wish is not None and hold.wish <= now:
                self._drop_wish(hold, f'{name}: its time was over before X-Plane could be asked')
            if hold.over <= now and (hold.wish is None or hold.over > NEVER):
                self._close(name, hold, 'its lease has ended')

    def _close_if_shown(self, name: str, hold: Hold, connection: int) -> None:
        if hold.is_shown(connection):
            self._close(name, hold, _RELEASED)

    def _close(self, name: str, hold: Hold, said: str) -> None:
        """Drop a command that is not held, as ``said``; it may be begun again."""
        self._settle(hold.ended.leave(), said)
        if hold.wish is None:
            del self._holds[name]
        else:
            self._holds[name] = Hold(hold.wish, hold.wished, hold.length, hold.begins)

    def _drop_wish(self, hold: Hold, why: str) -> None:
        hold.wish = None
        self._refuse(hold.begins.leave(), ValueError(why))

    def _settle(self, tickets: tuple[int, ...], said: str) -> None:
        if tickets:
            self._announced.append(Settled(tickets, said))

    def _refuse(self, tickets: tuple[int, ...], error: Exception) -> None:
        if tickets:
            self._announced.append(Settled(tickets, '', error))


def _unshown(hold: Hold, now: float) -> str:
    """Return why it is not known to be released."""
    left = f'its lease ends in {max(hold.over - now, 0.0):.1f} s'
    if hold.is_anothers:
        return ('X-Plane has accepted its release and still reports it as active: somebody else '
                f'may hold it; {left}')
    return f'X-Plane does not show that it is released; it is asked until it does; {left}'
