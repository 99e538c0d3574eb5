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

from collections.abc import Collection, Mapping

from xplane_bridge.protocols import xpc
from xplane_bridge.protocols.xpc import SimulationOp
from xplane_bridge.sessions.ledger import Entry, Ledger

_OVERRIDE = 'sim/operation/override/'
_JOYSTICK = _OVERRIDE + 'override_joystick'
_THROTTLE = 'sim/flightmodel/engine/ENGN_thro_override'
_HELD = _OVERRIDE + 'override_planepath'
_HANDLES = 'sim/flightmodel/engine/ENGN_thro'
# Released with the brakes, as a surface is centred: nobody might be there to release them.
_BRAKES = {f'{side} brake': f'sim/cockpit2/controls/{side}_brake_ratio'
           for side in ('left', 'right')}

REPORTED = (_JOYSTICK, _THROTTLE, _HELD)
"""Datarefs that show whether what was taken still is; they are polled continuously."""

JOYSTICK_OVERRIDE = xpc.SetDatarefs(((_JOYSTICK, (1.0,)),))
# How long after sending an override X-Plane's reports may still be older than it.
_JOYSTICK_PATIENCE = 0.2

# docs/wire/xplane_datarefs.md, row 4.14: CTRL leaves the throttle override set, and only -2
# releases it.
_NO_OVERRIDE = (-2.0,)

SURFACES = ('elevator', 'aileron', 'rudder')
# The datarefs that CTRL writes for other aircraft than the user's.
_YOKES = dict(zip(SURFACES, ('yolk_pitch', 'yolk_roll', 'yolk_yaw'), strict=True))

_ALL = 'pause of all'
_ONE = 'pause'

# One SIMU per aircraft, up to this many; the plugin drops what exceeds 20 datagrams in a frame.
_PAUSES_UNDONE_SINGLY = 4

_Values = tuple[float, ...]
_Key = tuple[int, str]


class Taken:
    """
    What is taken, by aircraft and by value, and what it was before.

    Each deflected surface is given back centred; overrides and pauses as they were before. What
    X-Plane reports counts: a value that was seen as we left it and has changed since now belongs
    to another client.
    """

    def __init__(self) -> None:
        self._ledger: Ledger[_Values] = Ledger()
        self._reported: dict[str, _Values] = {}
        # The last written values of reported datarefs, and which of them were seen in a report.
        self._written: dict[_Key, float] = {}
        self._seen: set[_Key] = set()
        # Original values of unpolled overrides, read just before they were written.
        self._before: dict[str, _Values] = {}
        self._joystick_at = -_JOYSTICK_PATIENCE

    def __bool__(self) -> bool:
        return bool(self._ledger)

    @property
    def names(self) -> tuple[str, ...]:
        """Return what is taken, for people."""
        return self._ledger.names

    def clear(self) -> None:
        """Forget everything: this is another X-Plane."""
        self._ledger.clear()
        self._reported.clear()
        self._written.clear()
        self._seen.clear()
        self._before.clear()
        self._joystick_at = -_JOYSTICK_PATIENCE

    # Taking.

    def note(self, message: xpc.Request, now: float) -> None:
        """Record what a command sent now takes, and forget what it gives back."""
        if isinstance(message, xpc.Controls):
            self._note_controls(message)
        elif isinstance(message, xpc.SetDatarefs):
            for name, values in message.items:
                if name == _JOYSTICK:
                    self._joystick_at = now
                if name == _THROTTLE:
                    self._note_override('throttle', name, values, values[0] > _NO_OVERRIDE[0])
                elif name.startswith(_OVERRIDE):
                    self._note_override(_short(name), name, values, any(values))
                else:
                    self._note_brake(name, values)
        elif isinstance(message, xpc.Text):
            if message.text:
                self._ledger.take(0, 'text')
            else:
                self._ledger.forget(0, 'text')
        elif isinstance(message, xpc.Simulation):
            self._note_pause(message.op)

    def wants_joystick(self, now: float) -> bool:
        """Return whether to send the joystick's override: X-Plane may not have it."""
        if now < self._joystick_at + _JOYSTICK_PATIENCE:
            return False
        reported = self._reported.get(_JOYSTICK)
        if not reported:
            return (0, 'joystick') not in self._ledger
        return not reported[0]

    def released_for(
        self, datarefs: Mapping[str, _Values]
    ) -> Mapping[str, _Values]:
        """Return datarefs to write, with the release of forced throttles if levers move."""
        if _HANDLES in datarefs and (0, 'throttle') in self._ledger:
            return {_THROTTLE: _NO_OVERRIDE, **datarefs}
        return datarefs

    def unread(self, message: xpc.Request) -> tuple[str, ...]:
        """Return the overrides that a command takes and that were not read before."""
        if not isinstance(message, xpc.SetDatarefs):
            return ()
        return tuple(
            name for name, values in message.items
            if name.startswith(_OVERRIDE) and any(values) and name not in REPORTED
            and (0, name) not in self._ledger)

    def read_before(self, values: Mapping[str, _Values]) -> None:
        """Record the values of overrides just before they were written."""
        self._before.update(values)

    def _note_controls(self, message: xpc.Controls) -> None:
        for surface in SURFACES:
            value = getattr(message, surface)
            if value:
                self._ledger.take(message.aircraft, surface)
            elif value is not None:
                self._ledger.forget(message.aircraft, surface)
        if message.throttle is not None and message.aircraft == 0:
            self._note_override('throttle', _THROTTLE, (message.throttle,), True)

    def _note_brake(self, name: str, values: _Values) -> None:
        for brake, dataref in _BRAKES.items():
            if name == dataref and any(values):
                self._ledger.take(0, brake)
            elif name == dataref:
                self._ledger.forget(0, brake)

    def _note_override(self, value: str, name: str, written: _Values, takes: bool) -> None:
        key = (0, value)
        if not takes:
            self._ledger.forget(*key)
            return
        before = self._reported.get(name)
        if key not in self._ledger and before and before[:len(written)] == written:
            # Already so before, set by another client.
            return
        self._ledger.take(0, value, before)
        self._write(key, written[0])

    def _note_pause(self, op: int) -> None:
        held = self._reported.get(_HELD)
        if op == SimulationOp.RUN:
            for entry in self._ledger.entries():
                if entry.value in (_ALL, _ONE):
                    self._ledger.forget(entry.vehicle, entry.value)
        elif op in (SimulationOp.PAUSE, SimulationOp.TOGGLE):
            goes_on = op == SimulationOp.TOGGLE and (0, _ALL) in self._ledger
            if goes_on and (not held or all(held)):
                self._ledger.forget(0, _ALL)
            elif not held or not all(held):
                self._ledger.take(0, _ALL, held)
                self._write((0, _ALL), 1.0)
        elif op >= SimulationOp.RUN_AIRCRAFT:
            self._ledger.forget(op - SimulationOp.RUN_AIRCRAFT, _ONE)
        else:
            aircraft = op - SimulationOp.PAUSE_AIRCRAFT
            if not held or held[aircraft:aircraft + 1] != (1.0,):
                self._ledger.take(aircraft, _ONE)
                self._write((aircraft, _ONE), 1.0)

    def _write(self, key: _Key, value: float) -> None:
        self._written[key] = value
        self._seen.discard(key)

    # Reports.

    def report(self, values: Mapping[str, _Values]) -> None:
        """Compare what was taken with what X-Plane reports of REPORTED."""
        self._reported.update(values)
        for entry in self._ledger.entries() if self._ledger else ():
            key = (entry.vehicle, entry.value)
            now = self._value_of(entry)
            if now is None or key not in self._written:
                continue
            if _same(now, self._written[key]):
                self._seen.add(key)
            elif key in self._seen:
                self._ledger.forget(*key)
                self._seen.discard(key)

    def _value_of(self, entry: Entry[_Values]) -> float | None:
        """Return what X-Plane reports of an entry, None if it does not."""
        if entry.value in (_ALL, _ONE):
            held = self._reported.get(_HELD)
            if not held or entry.vehicle >= len(held):
                return None
            # As long as any aircraft is held, the pause is not over.
            return max(held) if entry.value == _ALL else held[entry.vehicle]
        name = {'throttle': _THROTTLE, 'joystick': _JOYSTICK}.get(entry.value)
        row = self._reported.get(name) if name else None
        return row[0] if row else None

    # Giving back.

    def give_back(
        self, aircraft: int | None = None, values: Collection[str] | None = None
    ) -> list[xpc.Request]:
        """
        Return the messages that undo it, a few at a time, and forget it.

        ``aircraft`` None means all of them, ``values`` None everything that was taken.
        """
        entries = [
            entry for entry in self._ledger.entries(aircraft)
            if values is None or entry.value in values]
        for entry in entries:
            self._ledger.forget(entry.vehicle, entry.value)
        messages: list[xpc.Request] = []
        # Before the joystick is given back: a surface that no joystick moves would stay deflected.
        own = {entry.value: 0.0 for entry in entries
               if entry.vehicle == 0 and entry.value in SURFACES}
        if own:
            elevator, aileron, rudder = map(own.get, SURFACES)
            messages.append(xpc.Controls(elevator, aileron, rudder))
        datarefs: list[tuple[str, _Values]] = [
            (f'sim/multiplayer/position/plane{entry.vehicle}_{_YOKES[entry.value]}', (0.0,))
            for entry in entries if entry.vehicle and entry.value in SURFACES]
        datarefs += [
            (_BRAKES[entry.value], (0.0,)) for entry in entries if entry.value in _BRAKES]
        overrides = [item for entry in entries for item in self._undone(entry)]
        self._reported.update(overrides)
        datarefs += overrides
        if datarefs:
            messages.append(xpc.SetDatarefs(tuple(datarefs)))
        if any(entry.value == 'text' for entry in entries):
            messages.append(xpc.Text(0, 0, ''))
        return messages + self._end_pauses(
            [entry for entry in entries if entry.value in (_ALL, _ONE)])

    def _undone(self, entry: Entry[_Values]) -> list[tuple[str, _Values]]:
        """Return the dataref that gives an override back, with its original value."""
        if entry.value == 'throttle':
            # 0 would close the throttle permanently; a reported 0 need not mean that it was taken.
            before = entry.before or _NO_OVERRIDE
            return [(_THROTTLE, before if before[0] > 0.0 else _NO_OVERRIDE)]
        if entry.value == 'joystick':
            return [(_JOYSTICK, (0.0,))]
        if entry.value.startswith(_OVERRIDE):
            before = entry.before or self._before.pop(entry.value, ())
            return [(entry.value, before or (0.0,))]
        return []

    def _end_pauses(self, entries: list[Entry[_Values]]) -> list[xpc.Request]:
        if not entries:
            return []
        whole = next((entry for entry in entries if entry.value == _ALL), None)
        if whole is None and len(entries) <= _PAUSES_UNDONE_SINGLY:
            return [
                xpc.Simulation(SimulationOp.RUN_AIRCRAFT + entry.vehicle) for entry in entries]
        # Those frozen by other clients stay frozen.
        before = (whole.before if whole else self._reported.get(_HELD)) or ()
        held = [float(bool(value)) for value in before] or [0.0] * xpc.AIRCRAFT_COUNT
        for entry in entries:
            if entry.value == _ONE:
                held[entry.vehicle] = 0.0
        for entry in self._ledger.entries():
            if entry.value == _ONE:
                held[entry.vehicle] = 1.0
        if any(held):
            return [xpc.SetDatarefs(((_HELD, tuple(held)),))]
        return [xpc.Simulation(SimulationOp.RUN)]


def _short(name: str) -> str:
    """Return the name of an override in the ledger."""
    return 'joystick' if name == _JOYSTICK else name


def _same(one: float, other: float) -> bool:
    """Return whether two values are equal as float32."""
    return abs(one - other) <= 1e-6 * max(1.0, abs(one), abs(other))
