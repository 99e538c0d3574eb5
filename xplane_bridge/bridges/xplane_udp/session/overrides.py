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

"""What commands have taken from the user of X-Plane, and how it is given back."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_DATAREFS
from xplane_bridge.bridges.sessions.base import CommandDone, Outgoing, Tickets
from xplane_bridge.bridges.sessions.ledger import Held, Ledger, LedgerEntry, name_of
from xplane_bridge.bridges.xplane_udp import protocol as wire
from xplane_bridge.bridges.xplane_udp.protocol import DataLayout, Dref
from xplane_bridge.bridges.xplane_udp.session.commands import (
    BRAKES,
    check_values,
    COMMAND_CHANNEL,
    control_datarefs,
    control_rows,
    DATA_CHANNEL,
    PARKING_BRAKE,
    pause,
    RowKind,
    STICKS,
    TOE_BRAKES,
    TRIMS,
)
from xplane_bridge.bridges.xplane_udp.session.giving_back import (
    AXES,
    FLIGHT_MODEL,
    giving_back,
    report_of,
    TAKEN_BRAKES,
)
from xplane_bridge.bridges.xplane_udp.session.pending import (
    OtherHand,
    PendingWrite,
    PendingWrites,
    to_datagrams,
)
from xplane_bridge.bridges.xplane_udp.session.reports import (
    OVERRIDE,
    PAUSED,
    planepath,
    REPORTED,
    Reports,
)
from xplane_bridge.bridges.xplane_udp.session.written import WrittenControls

# Ledger of what was taken from the user of X-Plane, on hold while it may be another run.

OWN = 0
"""The user's aircraft: X-Plane's native UDP commands no others."""


class Items:
    """
    The ledger of one conversation, by value: 'elevator', 'joystick', 'pause' ...

    After a silence X-Plane may be another run, from which nothing was taken: then everything taken
    before is on hold until that is known.
    """

    def __init__(self) -> None:
        self._ledger = Ledger[float]()
        self._held: list[LedgerEntry[float]] = []

    def __bool__(self) -> bool:
        """Return whether anything is taken, or unconfirmed; what is on hold is neither."""
        return bool(self._ledger)

    def __contains__(self, value: str) -> bool:
        return (OWN, value) in self._ledger

    @property
    def names(self) -> tuple[str, ...]:
        """Return what commands have taken."""
        return self._ledger.names

    def take(self, value: str, before: float | None = None, aircraft: int = OWN) -> None:
        """Record that this was taken, and what it was before: unchanged if it is unconfirmed."""
        self._ledger.take(aircraft, value, before)

    def forget(self, value: str, aircraft: int = OWN) -> None:
        """Forget one item: another client has it now, or it was shown to be given back."""
        self._ledger.forget(aircraft, value)

    def release(self) -> list[LedgerEntry[float]]:
        """Record that all taken by commands is given back; return all that is unconfirmed."""
        self._ledger.release()
        return self._ledger.entries(held=Held.UNCONFIRMED)

    def release_again(self, item: tuple[int, str], before: float) -> None:
        """Record that an item, aircraft and value, given back before, is unconfirmed again."""
        aircraft, value = item
        self._ledger.take(aircraft, value, before)
        self._ledger.release(aircraft, (value,))

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Return what was given back and is not shown yet."""
        return self._ledger.unconfirmed

    def is_owed(self, value: str) -> bool:
        """Return whether one item was given back and is not shown yet."""
        return any(
            entry.value == value for entry in self._ledger.entries(held=Held.UNCONFIRMED))

    # Is it still the same X-Plane?

    @property
    def on_hold(self) -> bool:
        """Return whether something that commands have taken is on hold."""
        return bool(self._held)

    def hold(self) -> None:
        """Put on hold what was taken from an X-Plane that fell silent."""
        self._held += self._everything()

    def restore(self) -> None:
        """Restore what was on hold: it is the same run of X-Plane."""
        later = self._everything()
        for entry in (*self._held, *later):
            self._ledger.take(entry.vehicle, entry.value, entry.before)
            if entry.held is Held.UNCONFIRMED:
                self._ledger.release(entry.vehicle, (entry.value,))
        self._held = []

    def clear(self) -> None:
        """Forget everything."""
        self._ledger.clear()
        self._held = []

    def drop(self) -> None:
        """Forget what was on hold: it is another run of X-Plane."""
        self._held = []

    def _everything(self) -> list[LedgerEntry[float]]:
        """Return all of the ledger, and empty it."""
        entries = [*self._ledger.entries(), *self._ledger.entries(held=Held.UNCONFIRMED)]
        self._ledger.clear()
        return entries


_SHOWN = 'X-Plane shows it'
# What somebody else has taken back once these reports are 0.
_TAKEN_BY = ('pause', PAUSED), ('joystick', OVERRIDE), (FLIGHT_MODEL, planepath(OWN))
_REPLACED = 'sent; replaced by a later command before X-Plane showed it'


class Overrides:
    """
    What commands have taken from the user of one X-Plane, and what they have left to be shown.

    What must be true in the end is written until X-Plane's reports show it, for ``patience()``
    seconds. ``moved`` are the axes that commands have moved since they were centred.
    """

    def __init__(
        self, tickets: Tickets, row_kind: RowKind, override_joystick: bool,
        patience: Callable[[], float],
    ) -> None:
        self.version: int | None = None
        self.moved: set[str] = set()
        self._items = Items()
        self._pending = PendingWrites(patience)
        self._reports = Reports()
        self._written = WrittenControls()
        self._tickets = tickets
        self._row_kind: RowKind = row_kind
        self._override_joystick = override_joystick
        self._patience = patience
        self._ended: list[CommandDone] = []
        # Axes that were to be centred while X-Plane was silent.
        self._to_centre: set[str] = set()
        # Whether what is on hold is to be given back once it is the same run.
        self._release_is_due = False

    def begin(self, version: int) -> None:
        """Command an X-Plane of this version from now on."""
        self.version = version

    @property
    def names(self) -> tuple[str, ...]:
        """Return what release() would give back."""
        return self._items.names

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Return what was given back and is not shown yet."""
        return self._items.unconfirmed

    @property
    def has_pending(self) -> bool:
        """Return whether something is repeated until X-Plane shows it."""
        return bool(self._pending)

    @property
    def watched_until(self) -> float:
        """Return until when late copies of what was sent may undo what was given back."""
        return self._pending.watched_until

    # Commands.

    def pause(self, on: bool, now: float) -> int:
        """Pause X-Plane, or resume it, and again until it shows that; return the ticket."""
        ticket = self._tickets.draw()
        before = self._reports.before(PAUSED, now)
        if not on:
            self._items.forget('pause')
        elif not before:
            self._items.take('pause', before)
        self._put_pending(PendingWrite(
            'pause', float(on), None, ticket=ticket, report=PAUSED, message=pause(on)), now)
        return ticket

    def command(self, controls: Mapping[str, float], layout: DataLayout) -> None:
        """Write nothing else for these controls; ValueError for what cannot be sent."""
        assert self.version is not None
        check_values(controls)
        if self.version < FIRST_WITH_DATAREFS:
            # Raises ValueError for controls that have no row in this version.
            control_rows(self.version, controls, self._row_kind, layout)
        self._release_is_due = False
        axes = STICKS.keys() & controls
        # Who sets only the flaps has left the surfaces to whom they belong.
        self.moved |= axes
        self._to_centre -= axes
        for axis in axes:
            self._drop(self._report_of(axis))

    def centre(self, now: float) -> None:
        """Centre the axes that commands have moved, and again until X-Plane shows that."""
        for axis in sorted(self.moved):
            self._pursue_neutral(axis, now)
        self.moved.clear()

    def centre_later(self) -> None:
        """Centre them once X-Plane is back, if it is the same run."""
        self._to_centre |= self.moved
        self.moved.clear()

    # What X-Plane shows.

    def on_reply(self, values: Mapping[str, float], now: float) -> None:
        """Handle reports, by name."""
        self._reports.on_reply(values, now)
        for pending in self._pending.undone(values, now) if self._pending.reached else ():
            if pending.item is not None:
                self._items.release_again(pending.item, pending.desired)
            pending.ticket = 0
            self._put_pending(pending, now)
        if self._pending:
            for pending, value in self._pending.on_reply(values, self._free(now), now):
                self._reports.confirm(pending.report, value, now)
                self._end(pending)
                self._settle(pending)
        self._compare(now)

    def _compare(self, now: float) -> None:
        """Forget what others have taken back, and what is shown after all; rows report trims."""
        for name, report in _TAKEN_BY if self._items else ():
            if report in self._pending or self._reports.get(report, now) != 0.0:
                continue
            if name in self._items or self._items.is_owed(name):
                self._items.forget(name)
        for name in TRIMS if (self.version or 0) < FIRST_WITH_DATAREFS else ():
            if name not in self._pending and self._written.on_reply(
                    name, self._reports.get(name, now), now):
                self._items.forget(name)

    def due(self, now: float, layout: DataLayout, *, tells: bool) -> list[Outgoing]:
        """Return what is to be written now; end, and tell, what was not shown in time."""
        all_pending = self._pending.draw(now)
        for pending in self._pending.expire(now):
            self._give_up(pending, tells)
        return [] if self.version is None else to_datagrams(all_pending, self.version, layout)

    @property
    def deadline(self) -> float | None:
        """Return when due() has something."""
        return 0.0 if self._ended else self._pending.deadline

    def ended(self) -> list[CommandDone]:
        """Return the commands that ended since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def contradictions(self, now: float) -> list[str]:
        """Return where what is commanded, held and reported disagree for longer than it may."""
        reports = (
            self._report_of(axis) for axis in STICKS
            if axis in self._items or f'{axis}_trim' in self._items)
        found = [] if AXES in self._free(now) else self._written.contradictions(
            {report: self._reports.get(report, now) for report in reports}, now)
        if (self._reports.get(OVERRIDE, now) and 'joystick' not in self._items
                and OVERRIDE not in self._pending):
            found.append(
                'X-Plane reports that the joystick is overridden, and not by this node: another '
                'program did that, or a node that was killed')
        return found

    # Giving back.

    def release(self, now: float) -> None:
        """Give back what commands have taken, and again until X-Plane shows that."""
        self._release_is_due = self._items.on_hold
        self.moved.clear()
        self._to_centre.clear()
        entries = self._items.release()
        if self.version is None:
            return
        for pending in self._pending.empty():
            self._end(pending, _REPLACED)
        for pending in giving_back(
                entries, self.version, self._row_kind, self._written.values):
            self._put_pending(pending, now)
        for entry in entries:
            if not self._gives_back((entry.vehicle, entry.value)):
                # There is nothing to write: what it was before is not known.
                self._items.forget(entry.value, entry.vehicle)

    def lose(self, heard_at: float) -> None:
        """Stop repeating: X-Plane is silent. What is unconfirmed is given back once it is back."""
        self._pending.sent.stop(heard_at)
        self._release_is_due |= bool(self._items.unconfirmed)
        for pending in self._pending.empty():
            if pending.item is None and pending.desired == 0.0:
                self._to_centre |= {
                    axis for axis in STICKS if pending.report == self._report_of(axis)}
            self._end(pending, 'sent; X-Plane fell silent before it showed it')
        self._reports.clear()

    def hold(self) -> None:
        """Keep what was taken until it is known which run of X-Plane answers."""
        self._reports.clear()
        self._items.hold()

    def restore(self) -> None:
        """Count as taken again what was on hold: it is the same run of X-Plane."""
        self._items.restore()

    def resume(self, now: float) -> None:
        """Do what was left over: it is the same run of X-Plane as before a silence."""
        self._pending.sent.resume(now)
        for axis in sorted(self._to_centre):
            self._pursue_neutral(axis, now)
        self._to_centre.clear()
        if self._release_is_due:
            self.release(now)

    def disown(self) -> None:
        """Forget what was left over: it is another run of X-Plane."""
        self._release_is_due = False
        self._to_centre.clear()
        self._written.clear()
        self._items.drop()
        for pending in self._pending.forget():
            self._end(pending, 'sent; X-Plane was restarted before it showed it')

    def forget(self) -> None:
        """Forget everything: the conversation is over."""
        self.disown()
        self._items.clear()
        self._reports.clear()

    # What is sent.

    def depart(self, aircraft: int, now: float) -> None:
        """Record that what is sent now stops the flight model of an aircraft."""
        name = planepath(aircraft)
        before = self._reports.before(name, now)
        self._reports.written({name: 1.0}, now)
        self._pending.sent.note({name: 1.0}, now)
        if not before:
            self._items.take(FLIGHT_MODEL, before, aircraft)

    def write(
        self, controls: Mapping[str, float], layout: DataLayout, now: float
    ) -> list[Outgoing]:
        """Record what controls take that are sent now; return their datagrams."""
        version = self.version
        assert version is not None
        axes = [name for name in STICKS if name in controls]
        written = {self._report_of(name): controls[name] for name in axes}
        if version < FIRST_WITH_DATAREFS:
            for name in axes:
                if self._row_kind == 'joystick':
                    self._items.take(name)
                else:
                    trim = f'{name}_trim'
                    self._items.take(trim, self._reports.before(trim, now))
            self._note(written, now)
            rows = control_rows(version, controls, self._row_kind, layout)
            return [(DATA_CHANNEL, wire.encode(rows, version))]
        self._note(written, now)
        for name in axes:
            self._items.take(name)
        messages = control_datarefs(controls)
        if not BRAKES.keys().isdisjoint(controls):
            self._note({BRAKES[name]: controls[name] for name in BRAKES if name in controls}, now)
            for name in BRAKES.values():
                self._drop(name)
            override = Dref(1.0, TOE_BRAKES)
            if TAKEN_BRAKES not in self._items:
                self._put_pending(PendingWrite(
                    'brakes', 1.0, None, report=TOE_BRAKES, message=override), now, sent=True)
            self._items.take(TAKEN_BRAKES)
            self._pending.sent.note({TOE_BRAKES: 1.0}, now)
            messages[:0] = [override, Dref(0.0, PARKING_BRAKE)]
        if axes and self._override_joystick and self._override(now):
            messages.insert(0, Dref(1.0, OVERRIDE))
        return [(COMMAND_CHANNEL, wire.encode(message, version)) for message in messages]

    # Inside.

    def _note(self, written: Mapping[str, float], now: float) -> None:
        """Record what is written: reports say nothing of it until X-Plane has read it."""
        self._pending.sent.note(written, now)
        new = self._written.note(written, now)
        if new:
            self._reports.written(new, now)

    def _override(self, now: float) -> bool:
        """Take the joystick, unless it is known to be overridden; return whether it was taken."""
        if self._items.is_owed('joystick'):
            reported: float | None = 0.0
        elif OVERRIDE in self._pending:
            return False
        else:
            reported = self._reports.get(OVERRIDE, now)
            if reported:
                return False
        self._items.take('joystick', reported)
        self._put_pending(PendingWrite(
            'override of the joystick', 1.0, None, report=OVERRIDE,
            message=Dref(1.0, OVERRIDE)), now, sent=True)
        return True

    def _report_of(self, axis: str) -> str:
        """Return the name under which X-Plane reports what controls of an axis write."""
        return report_of(axis, self.version or 0, self._row_kind)

    def _free(self, now: float) -> frozenset[str]:
        """Return the groups of controls that are the user's: nothing overrides them."""
        free = set()
        if (self.version or 0) < FIRST_WITH_DATAREFS:
            are_free = self._row_kind == 'trim'
        else:
            are_free = 'joystick' not in self._items and self._reports.get(OVERRIDE, now) == 0.0
        if are_free:
            free.add(AXES)
        if self._reports.get(TOE_BRAKES, now) == 0.0:
            free.add(TAKEN_BRAKES)
        return frozenset(free)

    def _pursue_neutral(self, axis: str, now: float) -> None:
        report = self._report_of(axis)
        ours = self._written.values.get(report)
        modern = (self.version or 0) >= FIRST_WITH_DATAREFS
        self._put_pending(PendingWrite(
            f'neutral {axis}', 0.0, OtherHand(ours, AXES), report=report,
            message=Dref(0.0, report) if modern else None), now)
        self._note({report: 0.0}, now)

    def _put_pending(self, pending: PendingWrite, now: float, *, sent: bool = False) -> None:
        replaced = self._pending.put(
            pending, self._reports.get(pending.report, now), now, now + self._patience(),
            sent=sent)
        self._reports.written({pending.report: pending.desired}, now)
        if replaced is not None:
            self._end(replaced, _REPLACED)

    def _drop(self, report: str) -> None:
        """Write one value no more: a newer command has replaced it."""
        dropped = self._pending.drop(report)
        if dropped is not None:
            self._end(dropped, _REPLACED)

    def _end(self, pending: PendingWrite, error: str = '') -> None:
        """Tell who waits for it how a pending value has ended."""
        if pending.ticket:
            self._ended.append(pending.done('' if error else _SHOWN, error))

    def _settle(self, pending: PendingWrite) -> None:
        """Forget what was given back once all of it is shown."""
        if pending.item is not None and not self._gives_back(pending.item):
            aircraft, name = pending.item
            self._items.forget(name, aircraft)

    def _gives_back(self, item: tuple[int, str]) -> bool:
        """Return whether an item is being given back: some of it is not shown yet."""
        return any(pending.item == item for pending in self._pending.values())

    def _give_up(self, pending: PendingWrite, tells: bool) -> None:
        """Tell that a value was not shown; what cannot be shown has been written often enough."""
        if not self._can_show(pending):
            self._end(pending, '')
            self._settle(pending)
            return
        if not tells:
            return
        error = f'sent; not shown within {self._patience():g} s'
        if pending.item is not None:
            error = f'{name_of(LedgerEntry(*pending.item))}: {error}; it may stay as it was left'
        pending.ticket = pending.ticket or self._tickets.draw()
        self._end(pending, error)

    def _can_show(self, pending: PendingWrite) -> bool:
        """Return whether X-Plane can show it at all: datarefs, and rows that arrive."""
        if (self.version or 0) >= FIRST_WITH_DATAREFS and (
                pending.item or pending.ticket):
            return pending.report in REPORTED
        return self._reports.knows(pending.report)
