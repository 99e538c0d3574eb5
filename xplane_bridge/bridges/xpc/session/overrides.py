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

"""Ledger of what commands have taken from the user of X-Plane, and how to give it back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
import math
from typing import Any

from xplane_bridge.bridges.sessions.base import RELEASE_TIMEOUT
from xplane_bridge.bridges.sessions.ledger import Held, Ledger, LedgerEntry, name_of
from xplane_bridge.bridges.sessions.pending import PendingTable
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.protocol import SimulationOp
from xplane_bridge.bridges.xpc.session.items import (
    BRAKES,
    CONTROLS,
    find_effects,
    format_values,
    HANDLES,
    HELD,
    JOYSTICK,
    Key,
    MOVED,
    NAMED,
    names_of,
    NO_OVERRIDE,
    OVERRIDE,
    PAUSE,
    place_of,
    REPORTED,
    TEXT,
    THROTTLE,
    TOE_BRAKES,
    Values,
)
from xplane_bridge.bridges.xpc.session.pending import last_pending, PendingItem, same
from xplane_bridge.bridges.xpc.session.written import SentValues
from xplane_bridge.common.controls import SURFACES


@dataclass(slots=True)
class _TakenItem:
    """
    What is known of one item that is taken, or given back and unconfirmed.

    ``taken_at`` is up to which command it was taken, of ``doubtful`` ones perhaps of another
    X-Plane. ``wanted`` is what was last commanded, None once it was given back; it was ``seen`` in
    a report, and ``otherwise`` since then: another client has it if it is so again.
    """

    taken_at: int = 0
    wanted: Values | None = None
    doubtful: bool = False
    seen: bool = False
    otherwise: float = math.inf


class Overrides:
    """
    What is taken, by aircraft and by value, what it was before, and what it shall be.

    Each deflected surface is given back centred; overrides and pauses as they were before. What
    X-Plane reports counts: each value is Pending until a report shows it, and what was given back
    is unconfirmed until then. A value that was seen as we left it and has changed since, in two
    reports, now belongs to another client. Without ``repeats`` what is taken is sent once.

    A datagram that comes late or again may undo what was shown: see SentValues. What it has
    written is set right, also long after it was given back; other values are others'.

    An X-Plane that was started again may have read what was sent to the one before: that counts
    as taken from it until its report shows that it was not.
    """

    def __init__(self, *, repeats: bool = True) -> None:
        self._repeats = repeats
        self._ledger: Ledger[Values] = Ledger()
        # The last reports: of REPORTED, and of what was asked for because something is pending.
        self._reported: dict[str, Values] = {}
        self._checked: dict[str, Values] = {}
        # What is in the ledger; what X-Plane shall have in the end and does not show, or has not
        # shown in time.
        self._items: dict[Key, _TakenItem] = {}
        self.pending = PendingTable[Key, PendingItem]()
        self._unshown: dict[Key, PendingItem] = {}
        # Values that were sent, and what was given back and is shown, while they may still come.
        self._written = SentValues()
        self._returned: dict[Key, PendingItem] = {}
        # Original values of unpolled overrides, read just before they are written.
        self._before: dict[str, Values] = {}

    def __bool__(self) -> bool:
        return bool(self._ledger)

    @property
    def names(self) -> tuple[str, ...]:
        """Return what is taken, for people."""
        return names_of(self._ledger.entries())

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Return what was given back and is not yet shown, for people."""
        return names_of(self._ledger.entries(held=Held.UNCONFIRMED))

    @property
    def held_by_others(self) -> tuple[Key, ...]:
        """Return what X-Plane reports as taken, but not by us."""
        keys = [
            (0, value) for value, name in (
                ('joystick', JOYSTICK), ('throttle', THROTTLE), (TOE_BRAKES, TOE_BRAKES))
            if self._reported.get(name, ()) and self._reported[name][0] > 0.0]
        keys += [(number, PAUSE) for number, value in enumerate(self._reported.get(HELD, ()))
                 if value]
        known = {(entry.vehicle, entry.value) for held in Held
                 for entry in self._ledger.entries(held=held)}
        return tuple(key for key in keys if key not in known and key not in self.pending)

    @property
    def names_held_by_others(self) -> tuple[str, ...]:
        """Return what is held, but not by us, for people."""
        return names_of([LedgerEntry(*key) for key in self.held_by_others])

    def clear(self) -> None:
        """Forget everything: nothing is taken any more."""
        for part in (
                self._ledger, self._reported, self._checked, self.pending, self._items,
                self._unshown, self._returned, self._before):
            part.clear()
        self._written.keep(())

    def disown(self, serial: int, now: float) -> None:
        """
        Forget what was taken: this is another X-Plane.

        It may have read the commands after number ``serial``, up to which the one before has read
        them: what these take is taken from this one, which had just been started.
        """
        entries = [
            entry for held in Held for entry in self._ledger.entries(held=held)
            if self._items[entry.vehicle, entry.value].taken_at > serial]
        items, written = self._items.copy(), self._written
        self._written = SentValues()
        self.clear()
        self._written = written
        written.keep([(entry.vehicle, entry.value) for entry in entries])
        for entry in entries:
            key = (entry.vehicle, entry.value)
            self._ledger.take(*key, _fresh(entry))
            wanted = items[key].wanted
            self._items[key] = _TakenItem(items[key].taken_at, wanted, doubtful=True)
            if wanted is None:
                self.give_back(now, key[0], (key[1],))

    def lose(self) -> None:
        """
        Forget the pending commands, sent into silence; what is unconfirmed stays so.

        They may still be read: what is taken then, or not, is seen when X-Plane reports again.
        """
        for key, pending in list(self.pending.items()):
            if self._is_unconfirmed(key):
                pending.times = 0
                pending.again_at = 0.0
            else:
                self._give_up(key)

    # Taking.

    def resolve(self, message: xpc.Request) -> xpc.Request:
        """Return a message with absolute values instead of one that inverts pauses."""
        held = self._reported.get(HELD, ())
        if not isinstance(message, xpc.Simulation) or message.op != SimulationOp.TOGGLE or (
                len(held) < xpc.AIRCRAFT_COUNT):
            return message
        if not any(held):
            return xpc.Simulation(SimulationOp.PAUSE)
        if all(held):
            return xpc.Simulation(SimulationOp.RUN)
        return xpc.SetDatarefs(((HELD, tuple(float(not value) for value in held)),))

    def can_write(self, message: xpc.Request) -> bool:
        """Return whether written() gives a message the form that any version understands."""
        return isinstance(message, xpc.Simulation) and (
            message.op >= SimulationOp.PAUSE_AIRCRAFT
            and len(self._reported.get(HELD, ())) >= xpc.AIRCRAFT_COUNT)

    def written(self, message: xpc.Request, *, pauses_one: bool) -> xpc.Request:
        """Return a message as it is sent; ``pauses_one`` if SIMU can pause a single aircraft."""
        if pauses_one or not self.can_write(message):
            return message
        written, = self._pause({
            key[0]: values[0] for key, values, _ in find_effects(message)}, pauses_one=False)
        return written

    def note(
        self, message: xpc.Request, now: float, serial: int = 0, patience: float = 0.0
    ) -> dict[Key, float]:
        """
        Record what a command sent now takes or gives back; return the pauses that it leads to.

        ``serial`` is the number of commands sent, ``patience`` how long a reply takes.
        """
        pauses: dict[Key, float] = {}
        if isinstance(message, xpc.Simulation) and message.op == SimulationOp.TOGGLE:
            self._invert(now, serial)
        for key, values, takes in find_effects(message):
            if key[1] == PAUSE:
                pauses[key] = values[0]
            if takes:
                self._take(key, values, now, serial, repeats=self._repeats)
            else:
                self._ledger.release(key[0], (key[1],))
                if key in self._items:
                    self._items[key].wanted = None
                is_owed = self._is_unconfirmed(key)
                if is_owed:
                    self._written.note(key, values, now)
                if is_owed or key[1] == PAUSE:
                    self._put_pending(key, values, now)
            if key in self.pending:
                self.pending[key].sent(now, serial, patience)
        return pauses

    def wants_joystick(self) -> bool:
        """Return whether to send the joystick's override: X-Plane may not have it."""
        pending = self.pending.get((0, 'joystick'))
        if pending is not None:
            return not pending.desired[0]
        reported = self._reported.get(JOYSTICK)
        return not reported[0] if reported else (0, 'joystick') not in self._ledger

    def released_for(
        self, datarefs: Mapping[str, Values]
    ) -> Mapping[str, Values]:
        """Return datarefs to write, with the release of forced throttles if levers move."""
        if HANDLES in datarefs and (0, 'throttle') in self._ledger:
            return {THROTTLE: NO_OVERRIDE, **datarefs}
        return datarefs

    def unread(self, message: xpc.Request) -> tuple[str, ...]:
        """Return the overrides that a command takes and whose values are not known."""
        if not isinstance(message, xpc.SetDatarefs):
            return ()
        return tuple(
            name for name, values in message.items
            if name.startswith(OVERRIDE) and any(values) and name not in (JOYSTICK, HELD)
            and name not in self._reported and name not in self._before
            and (0, name) not in self._ledger
            and not self._is_unconfirmed((0, name)))

    def read_before(self, values: Mapping[str, Values]) -> None:
        """Record the values of overrides just before they are written."""
        self._before.update(values)

    def _invert(self, now: float, serial: int) -> None:
        """Record that each pause was inverted, of which X-Plane has reported none."""
        ours = [entry for entry in self._ledger.entries() if entry.value == PAUSE]
        for number in range(xpc.AIRCRAFT_COUNT):
            if ours:
                self._forget((number, PAUSE))
            else:
                self._take((number, PAUSE), (1.0,), now, serial, repeats=False)

    def _take(
        self, key: Key, values: Values, now: float, serial: int, *, repeats: bool
    ) -> None:
        name, place = place_of(key)
        row = self._reported.get(name, ()) if name else ()
        before: Values | None = row[place:place + len(values)] or self._before.pop(name, None)
        if not self._is_known(key) and key[1] not in MOVED and before and (
                len(before) == len(values) and all(map(same, before, values))):
            # Already so before, set by another client.
            return
        self._ledger.take(*key, before)
        if self._items.get(key, _TakenItem()).wanted is None:
            # What was taken last comes last.
            self._items.pop(key, None)
        self._items[key] = _TakenItem(serial, values)
        # A text has no value.
        self._written.note(key, values or (1.0,), now)
        self._returned.pop(key, None)
        if repeats and values:
            self._put_pending(key, values, now)
        else:
            self.pending.pop(key, None)

    def _put_pending(self, key: Key, values: Values, now: float) -> None:
        pending = self.pending.get(key)
        if pending is None or pending.desired != values:
            since = now if pending is None or key[1] not in MOVED else pending.since
            self.pending[key] = PendingItem(
                key[1], values, 0, since, again_at=now,
                is_stream=key in self._ledger and key[1] in CONTROLS)

    def _is_unconfirmed(self, key: Key) -> bool:
        entry = self._ledger.get(*key)
        return entry is not None and entry.held is Held.UNCONFIRMED

    def _is_known(self, key: Key) -> bool:
        return self._ledger.get(*key) is not None

    # Giving back.

    def give_back(
        self, now: float, aircraft: int | None = None, values: Collection[str] | None = None
    ) -> None:
        """
        Give back what is taken; it is unconfirmed from now on.

        ``aircraft`` None means all of them, ``values`` None everything that was taken.
        """
        for entry in self._ledger.release(aircraft, values):
            key = (entry.vehicle, entry.value)
            self._items[key].wanted = None
            self._unshown.pop(key, None)
            neutral = self._neutral(entry)
            if neutral is None:
                self._forget(key)
            else:
                self.pending[key] = PendingItem(key[1], neutral, 0, now, again_at=now)

    def free(self, now: float) -> None:
        """Give back everything, also what is held by nobody known."""
        held_by_others = list(self.held_by_others)
        if (0, 'joystick') in held_by_others:
            held_by_others += [
                (0, surface) for surface in SURFACES if not self._is_known((0, surface))]
        if (0, TOE_BRAKES) in held_by_others:
            held_by_others += [(0, brake) for brake in BRAKES if not self._is_known((0, brake))]
        for key in held_by_others:
            self._ledger.take(*key)
            self._items[key] = _TakenItem()
        self._ledger.take(0, TEXT)
        self._items.setdefault((0, TEXT), _TakenItem())
        self.give_back(now)

    def _neutral(self, entry: LedgerEntry[Values]) -> Values | None:
        """Return the values to give an item back with, None if it cannot be."""
        before = entry.before or ()
        if entry.value == 'throttle':
            # 0 would close the throttle permanently; a reported 0 need not mean that it was taken.
            return before if before and before[0] > 0.0 else NO_OVERRIDE
        if entry.value == TEXT:
            return ()
        if not entry.value.startswith(OVERRIDE) or entry.value == TOE_BRAKES:
            return (0.0,)
        # Without its value from before nobody knows what it should be.
        return before or None

    # Sending what X-Plane does not show.

    def due(self, now: float, *, urgent: bool) -> list[Key]:
        """Return what is to be sent now: what is ``urgent``, or what may wait for the budget."""
        return [key for key in self.pending.due(now) if self.pending[key].is_stream != urgent]

    def messages(
        self, keys: Collection[Key], *, pauses_one: bool = True
    ) -> list[xpc.Request]:
        """
        Return the messages that lead to what is wished of these items: a few in all.

        ``pauses_one`` if SIMU is known to pause a single aircraft.
        """
        desired = {key: self.pending[key].desired for key in keys}
        messages: list[xpc.Request] = []
        # Before the joystick is given back: a surface that no joystick moves would stay deflected.
        own: dict[str, Any] = {
            value: values[0] for (number, value), values in desired.items()
            if number == 0 and value in SURFACES}
        if (0, 'throttle') in desired and (0, 'throttle') in self._ledger:
            own['throttle'] = desired[0, 'throttle'][0]
        if own:
            messages.append(xpc.SetControls(**own))
        datarefs: list[tuple[str, Values]] = []
        overrides: list[tuple[str, Values]] = []
        for key, values in desired.items():
            name, _ = place_of(key)
            if key[1] in MOVED and (key[0] or key[1] in BRAKES):
                datarefs.append((name, values))
            elif key[1] == 'throttle' and key not in self._ledger or (
                    name.startswith(OVERRIDE) and key[1] != PAUSE):
                overrides.append((name, values))
        if datarefs or overrides:
            messages.append(xpc.SetDatarefs((*datarefs, *overrides)))
        if (0, TEXT) in desired:
            messages.append(xpc.Text(0, 0, ''))
        return messages + self._pause({
            key[0]: values[0] for key, values in desired.items() if key[1] == PAUSE},
            pauses_one=pauses_one)

    def _pause(self, pauses: Mapping[int, float], *, pauses_one: bool) -> list[xpc.Request]:
        """Return the message that pauses aircraft, or lets them go on."""
        if not pauses:
            return []
        reported = self._reported.get(HELD, ())
        held = [float(bool(value)) for value in reported[:xpc.AIRCRAFT_COUNT]]
        held += [0.0] * (xpc.AIRCRAFT_COUNT - len(held))
        for key, pending in self.pending.items():
            if key[1] == PAUSE:
                held[key[0]] = pending.desired[0]
        for number, value in pauses.items():
            held[number] = value
        if len(pauses) == 1 and pauses_one or len(pauses) <= NAMED and not reported:
            return [
                xpc.Simulation(number + (
                    SimulationOp.PAUSE_AIRCRAFT if value else SimulationOp.RUN_AIRCRAFT))
                for number, value in pauses.items()]
        # Those frozen by other clients stay frozen.
        if not any(held):
            return [xpc.Simulation(SimulationOp.RUN)]
        if all(held):
            return [xpc.Simulation(SimulationOp.PAUSE)]
        return [xpc.SetDatarefs(((HELD, tuple(held)),))]

    def sent(self, keys: Iterable[Key], now: float, serial: int, patience: float) -> None:
        """Record that messages() of these items were sent."""
        for key in keys:
            self.pending[key].sent(now, serial, patience)
            self._written.note(key, self.pending[key].desired, now)
            if key in self._ledger:
                self._items[key].taken_at = serial

    def datarefs_of(self, keys: Iterable[Key]) -> tuple[str, ...]:
        """Return the datarefs that show these items."""
        return tuple(dict.fromkeys(place_of(key)[0] for key in keys if key[1] != TEXT))

    def expire(self, now: float, timeout: float) -> None:
        """Give up what was taken and is not shown for that long; what is unconfirmed never is."""
        for key, pending in list(self.pending.items()):
            if now >= pending.since + timeout and not self._is_unconfirmed(key):
                self._give_up(key)

    def _give_up(self, key: Key) -> None:
        """Send something no more, though it is not shown."""
        pending = self.pending.pop(key)
        if key in self._ledger:
            self._unshown[key] = pending

    # Reports.

    def report(
        self, values: Mapping[str, Values], now: float = 0.0, serial: int | None = None,
        asked_at: float | None = None, timeout: float = RELEASE_TIMEOUT,
    ) -> None:
        """
        Compare what was taken, and what was given back, with what X-Plane reports.

        ``serial`` is how many commands were sent before it was asked for, None for all of them,
        and ``asked_at`` when that was, None for now. A datagram may take ``timeout`` seconds.
        """
        asked_at = now if asked_at is None else asked_at
        for name, row in values.items():
            if row:
                (self._reported if name in REPORTED else self._checked)[name] = row
        for key, pending in [*self.pending.items()] if self.pending else ():
            if pending.times and (serial is None or serial >= pending.proof):
                self._compare(key, pending, values, now, asked_at, timeout)
        for key, item in [*self._items.items()] if self._items else ():
            if item.wanted is not None and key not in self.pending:
                self._watch(key, item, item.wanted, values, serial, now, asked_at, timeout)
        for key in [*self._returned] if self._returned else ():
            self._guard(key, values, serial, now, asked_at, timeout)

    def _compare(
        self, key: Key, pending: PendingItem, values: Mapping[str, Values], now: float,
        asked_at: float, timeout: float,
    ) -> None:
        """Compare what an item shall be with what is reported of it."""
        name, place = place_of(key)
        if key[1] == TEXT:
            if pending.is_waiting:
                self._end(key, pending, asked_at)
                # Once more when no other text can come any more.
                until = self._written.until(key, (), timeout)
                if now < until:
                    self.pending[key] = last_pending(TEXT, now, until)
            return
        if name not in values:
            return
        row = values[name][place:]
        if not row:
            # This X-Plane has no such value, so nothing was taken.
            self._end(key, pending, asked_at)
            self._returned.pop(key, None)
        elif pending.shown_by(row):
            self._end(key, pending, asked_at)
        elif key[1] in MOVED:
            is_ours = self._written.may_be_ours(key, row, pending.desired)
            if not self._is_unconfirmed(key):
                # The newest was not shown yet, but an earlier one: X-Plane follows.
                pending.since = now if is_ours else pending.since
            elif not is_ours:
                # Somebody else moves it: the user's joystick.
                self._end(key, pending, asked_at)

    def _end(self, key: Key, pending: PendingItem, asked_at: float) -> None:
        """End what is pending: X-Plane, asked at that time, shows it."""
        del self.pending[key]
        self._unshown.pop(key, None)
        entry = self._ledger.get(*key)
        if entry is not None and entry.held is Held.UNCONFIRMED:
            self._strike(key)
            if pending.desired:
                pending.reported = entry.before
                self._returned[key] = pending
        elif entry is not None:
            self._items[key].seen = True
        self._written.show(key, asked_at)

    def _watch(
        self, key: Key, item: _TakenItem, wanted: Values, values: Mapping[str, Values],
        serial: int | None, now: float, asked_at: float, timeout: float,
    ) -> None:
        """Notice that what is taken was taken by somebody else, or is shown at last."""
        name, place = place_of(key)
        row = values.get(name, ())[place:]
        is_older = serial is not None and serial < item.taken_at
        if not row or item.doubtful and is_older:
            return
        if item.doubtful:
            item.doubtful = False
            if not self._is_ours(key, row, wanted):
                self._forget(key)
        elif all(map(same, row, wanted)):
            item.seen, item.otherwise = True, math.inf
            self._unshown.pop(key, None)
            self._written.show(key, asked_at)
        elif is_older:
            return
        elif self._repeats and self._written.is_late(key, row, wanted, timeout):
            self._put_pending(key, wanted, now)
        elif item.seen and key[1] not in MOVED:
            if asked_at >= item.otherwise:
                self._forget(key)
            else:
                item.otherwise = min(item.otherwise, now)

    def _guard(
        self, key: Key, values: Mapping[str, Values], serial: int | None, now: float,
        asked_at: float, timeout: float,
    ) -> None:
        """Notice that what was given back was taken again by a datagram that came late."""
        name, place = place_of(key)
        row = values.get(name, ())[place:]
        given = self._returned[key]
        if not row or serial is not None and serial < given.proof:
            return
        if self._written.is_late(key, row, given.desired, timeout):
            del self._returned[key]
            self._ledger.take(*key, given.reported)
            self._ledger.release(key[0], (key[1],))
            self._items[key] = _TakenItem(given.proof)
            self.pending[key] = PendingItem(key[1], given.desired, 0, now, again_at=now)
            return
        self._written.show(key, asked_at)
        if self._written.is_settled(key, given.desired, timeout) and (
                not self._written.may_come(key)):
            self._forget(key)

    def unsettled(self, timeout: float) -> list[Key]:
        """Return what was given back, and may be taken again by a datagram that comes late."""
        keys = [key for key, given in self._returned.items()
                if not self._written.is_settled(key, given.desired, timeout)]
        return keys + [key for key in self.pending if key[1] == TEXT]

    @property
    def has_returned(self) -> bool:
        """Return whether anything may be unsettled."""
        return bool(self._returned or self.pending)

    def names_of_unsettled(self, timeout: float) -> tuple[str, ...]:
        """Return the names of what is unsettled, for people."""
        return names_of([LedgerEntry(*key) for key in self.unsettled(timeout)])

    def late_until(self, timeout: float) -> float:
        """Return until when something of this may be taken again, at the latest."""
        return max((
            self._written.until(key, given.desired, timeout)
            for key, given in self._returned.items()), default=0.0)

    def _is_ours(self, key: Key, row: Values, wanted: Values) -> bool:
        """Return whether an X-Plane that was just started has this because of us."""
        if key[1] in MOVED:
            return self._written.was_sent(key, row[:1])
        # Of several commands it may have read the first ones only.
        return any(value > 0.0 for value in row[:len(wanted)]) or all(map(same, row, wanted))

    def _forget(self, key: Key) -> None:
        self._strike(key)
        self._written.forget(key)

    def _strike(self, key: Key) -> None:
        """Count an item as neither taken nor unconfirmed."""
        self._ledger.forget(*key)
        for part in (self._items, self.pending, self._unshown, self._returned):
            part.pop(key, None)

    def shown_in(self, values: Mapping[str, float]) -> dict[str, Values]:
        """Return what some values say of the surfaces of other aircraft that are commanded."""
        names = (place_of(key)[0] for key in (*self._items, *self.pending)
                 if key[0] and key[1] in SURFACES)
        return {name: (values[name],) for name in names if name in values}

    def shows(self, pauses: Mapping[Key, float] | None) -> bool | None:
        """
        Return whether the last report has these pauses; or with None, all that is unconfirmed.

        None if X-Plane reports no pauses.
        """
        if pauses is None:
            return not self.unconfirmed
        held = self._reported.get(HELD)
        if not held:
            return None
        return all(
            key[0] < len(held) and bool(held[key[0]]) == bool(value)
            for key, value in pauses.items())

    def contradictions(self, now: float, timeout: float) -> tuple[str, ...]:
        """Return sentences where what is commanded or given back is not what is reported."""
        sentences = []
        for key in self._unshown:
            commanded = format_values(self._items[key].wanted or ())
            reported = self._now(key)
            if commanded != reported:
                sentences.append(
                    f'{name_of(LedgerEntry(*key))} was commanded {commanded}, '
                    f'X-Plane reports {reported}')
        late: list[
            LedgerEntry[Values]] = [LedgerEntry(*key) for key, pending in self.pending.items()
                if now >= pending.since + timeout and self._is_unconfirmed(key)]
        if late:
            sentences.append(f'given back, but not shown by X-Plane: {", ".join(names_of(late))}')
        if self.held_by_others:
            sentences.append(
                f'held, but not by this node: {", ".join(self.names_held_by_others)}; '
                'the service release_all frees it')
        return tuple(sentences)

    def _now(self, key: Key) -> str:
        name, place = place_of(key)
        row = self._reported.get(name) or self._checked.get(name, ())
        return format_values(row[place:place + 1]) or 'nothing'


def _fresh(entry: LedgerEntry[Values]) -> Values | None:
    """Return what an item is in an X-Plane that was just started, None if it is not known."""
    return entry.before and (0.0,) * len(entry.before) if (
        entry.value.startswith(OVERRIDE)) else None
