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

"""
State machines of a conversation: the words of its tables, and where it stands.

Two machines are coupled: State says where the peer stands, Teardown whether it is being left. Each
protocol has their tables in its ``states.py``, made of the words in this module. A table contains
neither times nor conditions: the protocol's Peer turns messages and time into what happens, and
its Session does what the tables say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class State(Enum):
    """Where a conversation stands; ``shown`` is the PeerState that its owner sees."""

    def __init__(self, sentence: str, shown: str) -> None:
        self.sentence = sentence
        self.shown = shown

    OFF = 'not started, or ended', 'unknown'
    OFF_OPEN = 'not started, or ended, and the port is open', 'unknown'
    OFF_CLOSED = 'not started, or ended, and the port was closed', 'closed'
    SEARCHING = 'the address of the peer is not known', 'searching'
    CLOSED = 'the port is not open', 'closed'
    WAITING = 'nothing was heard yet', 'unknown'
    WAITING_LONG = 'asked for a while, and nothing was heard yet', 'unknown'
    ANSWERING = 'the peer answers, and is known', 'answering'
    DOUBTED = 'something answers, and may be another peer', 'answering'
    STREAMING = 'the peer sends what was requested', 'streaming'
    LOADING = 'the peer answers nothing, but shows that it runs', 'loading'
    SILENT = 'the peer has stopped sending', 'silent'
    AWAY = 'the peer has stopped answering', 'away'
    ABSENT = 'nothing has ever answered', 'away'


class Teardown(Enum):
    """Whether the peer is being left; ``shown`` is what its owner then sees of any state."""

    def __init__(self, sentence: str, shown: str) -> None:
        self.sentence = sentence
        self.shown = shown

    NONE = 'the peer is not being left', ''
    LEAVING = 'giving back what was taken, after the owner has stopped it', 'leaving'
    MOVING = 'giving back at the old address, before the new one is used', 'leaving'


class Event(Enum):
    """What happens."""

    START = 'the owner starts it'
    STOP = 'the owner stops it'
    SHOWN = 'nothing is left to be given back'
    EXPIRED = 'the time to give back is over'
    ENDED = 'the peer has ended: nothing listens where it did'

    FOUND = 'the address of the peer is known'
    MOVED = 'the peer has another address'
    OPENED = 'the port was opened'
    UNPLUGGED = 'the port was closed'

    HEARD = 'the peer is heard'
    STALLED = 'a reply is overdue'
    MUTE = 'nothing answers, but there are signs that the peer runs'
    GONE = 'nothing answers, and there is no sign of the peer'

    ODD = 'something does not fit the peer that is known'
    SAME = 'it is the same peer as before'
    OTHER = 'it is another peer than before'

    UNDERSTOOD = 'the form of the protocol that the peer speaks is known'
    CHANGED = 'the peer speaks another form of the protocol than was known'

    FLYING = 'the peer has a vehicle that can be commanded'
    LANDED = 'the peer has no vehicle any more'
    QUIET = 'the peer has stopped sending about its vehicle'


class Action(Enum):
    """What is done about it."""

    BEGIN = 'request everything'
    RESUME = 'request everything again'
    AGAIN = 'request again what a restarted peer has forgotten'
    CHECK = 'ask who answers'
    KEEP = 'keep one request, which only the same peer can answer'
    FORGET_PROBE = 'forget the request that was kept'
    DROP = 'end waiting commands'
    DROP_UNLESS_LOCKSTEP = 'end waiting commands, but those that a simulator in lockstep waits for'
    END = 'end waiting reads'
    FORGET = 'forget what is outstanding'
    FORGET_FRAME = 'forget what is outstanding, and let one frame pass'
    HOLD = 'keep what was taken until it is known who answers'
    RESTORE = 'count what was kept as taken again'
    FORGET_TAKEN = 'forget what was taken: to this peer nothing is owed'
    FORGET_REPORTS = 'forget what was reported: the flight may be another one'
    FLIGHT_ENDED = 'forget what was taken for the flight that has ended'
    SEND_RELEASES = 'give back what is owed'
    LEAVE = 'give back what was taken'
    LOOK_BACK = 'note what the peer has not shown to be given back, and forget it'
    CLOSE = 'close the channels'
    HURRY = 'ask again at once'
    SETTLE = 'count what is missing as lost'
    TELL = 'tell the owner'
    TELL_STATE = 'tell the owner the state, which is the same as before'


@dataclass(frozen=True, slots=True)
class Cell:
    """
    One cell of a table: where each machine goes, and what to do, in this order.

    A machine for which it names nothing stays where it is.
    """

    state: State | None = None
    actions: tuple[Action, ...] = ()
    teardown: Teardown | None = None


Table: TypeAlias = Mapping[State, Mapping[Event, Cell]]
"""The cells of each state, while the peer is not left; anything else changes nothing."""

TeardownTable: TypeAlias = Mapping[Teardown | tuple[Teardown, State], Mapping[Event, Cell]]
"""The cells while it is left, wherever it stands, or in one state; nor does anything else."""


def to(state: State, *actions: Action) -> Cell:
    """Return the cell that leads to ``state``, whether the peer is being left or not."""
    return Cell(state, actions)


def stay(*actions: Action) -> Cell:
    """Return the cell in which both machines stay."""
    return Cell(None, actions)


def leave(state: State, *actions: Action) -> Cell:
    """Return the cell that begins to leave a peer, which stands in ``state``."""
    return Cell(state, actions, Teardown.LEAVING)


def move(state: State, *actions: Action) -> Cell:
    """Return the cell that begins to leave a peer for another address."""
    return Cell(state, actions, Teardown.MOVING)


def end(state: State, *actions: Action) -> Cell:
    """Return the cell that leads to ``state`` as the peer has been left."""
    return Cell(state, actions, Teardown.NONE)


_STAY = Cell()


def total(
    table: Table, teardowns: TeardownTable
) -> dict[tuple[State, Teardown], dict[Event, Cell]]:
    """Return a row for each state of both machines, with a cell that names both for each event."""
    rows: dict[tuple[State, Teardown], Mapping[Event, Cell]] = {
        (state, Teardown.NONE): row for state, row in table.items()}
    for teardown in (key for key in teardowns if isinstance(key, Teardown)):
        for state in table:
            rows[state, teardown] = {**teardowns[teardown], **teardowns.get((teardown, state), {})}
    return {
        (state, teardown): {
            event: Cell(cell.state or state, cell.actions, cell.teardown or teardown)
            for event in Event for cell in (row.get(event, _STAY),)}
        for (state, teardown), row in rows.items()}


_NEVER_LEFT: TeardownTable = {}


class Machine:
    """Where a conversation stands in its tables."""

    def __init__(
        self, table: Table, teardowns: TeardownTable = _NEVER_LEFT, state: State = State.OFF
    ) -> None:
        self._rows = total(table, teardowns)
        self.state, self.teardown = state, Teardown.NONE
        # A state has a slow hash: looked up when it changes.
        self._row = self._rows[state, Teardown.NONE]

    def process(self, event: Event) -> tuple[Action, ...]:
        """Go to the next states; return what to do."""
        cell = self._row[event]
        if cell.state is not self.state or cell.teardown is not self.teardown:
            assert cell.state is not None
            assert cell.teardown is not None
            self.state, self.teardown = cell.state, cell.teardown
            self._row = self._rows[cell.state, cell.teardown]
        return cell.actions


class Peer(ABC):
    """
    The peer of a conversation: whether it is there, is the same, and what it speaks.

    It turns messages and time into what happens, and knows nothing of what follows.
    """

    def __init__(self, table: Table, teardowns: TeardownTable = _NEVER_LEFT) -> None:
        self._machine = Machine(table, teardowns)
        # Where the conversation stands: looked at some twenty times for each reply.
        self.state, self.teardown = self._machine.state, self._machine.teardown

    @property
    def shown(self) -> str:
        """Return what the owner sees: the value of a PeerState, by default of its states."""
        return self.teardown.shown or self.state.shown

    @property
    @abstractmethod
    def absence(self) -> str:
        """Return why the peer accepts no commands now; empty if it does."""

    def check_timeouts(self, now: float) -> Iterable[Event]:
        """Yield what has happened because time passed."""
        return ()

    @property
    def deadline(self) -> float | None:
        """Return when check_timeouts() has something, None if only messages matter."""
        return None

    def process(self, event: Event, now: float) -> tuple[Action, ...]:
        """Let something happen; return what to do."""
        actions = self._machine.process(event)
        self.state, self.teardown = self._machine.state, self._machine.teardown
        return actions
