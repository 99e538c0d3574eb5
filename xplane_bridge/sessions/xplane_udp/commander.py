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

"""Commands to X-Plane, what they take from its user, and how it is given back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.base import Message
from xplane_bridge.protocols.xplane_udp import Data, Dref, FIRST_WITH_DATAREFS, Layout, Vehx
from xplane_bridge.sessions.base import Outgoing
from xplane_bridge.sessions.ledger import Entry
from xplane_bridge.sessions.xplane_udp.commands import (
    BRAKES,
    check_values,
    control_datarefs,
    control_rows,
    pause,
    RowKind,
    STICKS,
    TOE_BRAKES,
    trim_rows,
    TRIMS,
)
from xplane_bridge.sessions.xplane_udp.outbox import Command, Outbox
from xplane_bridge.sessions.xplane_udp.reports import OVERRIDE, PAUSED, planepath, Reports
from xplane_bridge.sessions.xplane_udp.taken import OWN, Taken

COMMAND_CHANNEL = 'command'
DATA_CHANNEL = 'data'

# How often the override is set again if X-Plane does not report it.
_OVERRIDE_PERIOD = 1.0

MOST_MESSAGES = 512
"""Datagrams of one command: at the usual pacing they are sent within a fraction of a second."""

# X-Plane 10 and later reads everything pending in each frame: this many are sent together.
_BURST = 32

# Trims travel as float32.
_TRIM_TOLERANCE = 1e-5

_ON_FLIGHT_MODEL = 'flight model'
_BRAKES = 'brakes'


class Commander:
    """
    Commands to one X-Plane of a known version.

    ``layout`` returns the layout of our rows for a version. What must be sent out of turn,
    overrides and releases, is in ``urgent``; ``moved`` are the axes that commands have moved since
    they were centred.
    """

    def __init__(
        self, outbox: Outbox, reports: Reports, taken: Taken, row_kind: RowKind,
        override_joystick: bool, layout: Callable[[int], Layout],
    ) -> None:
        self.urgent: list[Outgoing] = []
        self.version: int | None = None
        self.moved: set[str] = set()
        self._outbox = outbox
        self._reports = reports
        self._taken = taken
        self._row_kind: RowKind = row_kind
        self._override_joystick = override_joystick
        self._layout = layout
        self._override_at = float('-inf')
        # The trims that we wrote last, and those of them that were reported as written.
        self._trims: dict[str, float] = {}
        self._seen: set[str] = set()
        outbox.make_controls = self._make_controls

    def begin(self, version: int) -> None:
        """Command an X-Plane of this version from now on."""
        self.version = version
        self._outbox.controls_wait = version < FIRST_WITH_DATAREFS

    def send(
        self, messages: Sequence[Message], now: float, what: str, awaited: bool
    ) -> int:
        """Queue messages, all or none; return the ticket of the last."""
        assert self.version is not None
        if len(messages) > MOST_MESSAGES:
            raise ValueError(
                f'{what}: {len(messages)} values, at most {MOST_MESSAGES} can be set at once')
        commands = [self._command(messages[start:start + _BURST])
                    for start in range(0, len(messages), _BURST)]
        self._outbox.commands.check_room(what, len(commands))
        ticket = 0
        for place, command in enumerate(commands, 1):
            ticket = self._outbox.commands.put(
                command, what, now, awaited=awaited and place == len(commands))
        return ticket

    def pause(self, on: bool, now: float, awaited: bool) -> int:
        """Pause X-Plane, or resume it."""
        assert self.version is not None
        data = wire.encode(pause(on), self.version)
        return self._outbox.commands.put(
            Command(COMMAND_CHANNEL, (data,), partial(self._paused, on)), 'pause', now,
            awaited=awaited)

    def set_controls(self, controls: Mapping[str, float], now: float) -> bool:
        """Queue controls, the newest of each; return whether some were already waiting."""
        assert self.version is not None
        check_values(controls)
        if self.version < FIRST_WITH_DATAREFS:
            # Raises ValueError for controls that have no row in this version.
            control_rows(self.version, controls, self._row_kind, self._layout(self.version))
        # Who sets only the flaps has left the surfaces to whom they belong.
        self.moved.update(name for name in controls if name in STICKS)
        return self._outbox.set_controls(controls, now)

    def compare(self, now: float) -> None:
        """Forget what others have taken back, according to X-Plane's reports."""
        for name, value in (('pause', PAUSED), ('joystick', OVERRIDE),
                            (_ON_FLIGHT_MODEL, planepath(OWN))):
            if name in self._taken and self._reports.get(value, now) == 0.0:
                self._taken.forget(name)
        for name, trim in self._trims.items():
            reported = self._reports.get(name, now)
            if reported is None:
                continue
            if abs(reported - trim) < _TRIM_TOLERANCE:
                self._seen.add(name)
            elif name in self._seen:
                self._seen.discard(name)
                self._taken.forget(name)

    def release(self, now: float) -> None:
        """Give back what commands have taken; drop waiting controls, which could take it again."""
        self.moved.clear()
        self._outbox.drop_controls()
        entries = self._taken.give_back()
        if self.version is None or not entries:
            return
        if self.version < FIRST_WITH_DATAREFS:
            self._release_rows(self.version, entries, now)
            return
        axes = [STICKS[entry.value] for entry in entries if entry.value in STICKS]
        # Centred first, so that nothing stays deflected (docs/wire/xplane_datarefs.md, row 4.4).
        messages: list[Message] = [Dref(0.0, name) for name in axes]
        written: dict[str, float] = {}
        for entry in entries:
            if entry.value == 'joystick':
                messages.append(Dref(0.0, OVERRIDE))
                written[OVERRIDE] = 0.0
            elif entry.value == _BRAKES:
                messages += [Dref(0.0, name) for name in (*BRAKES.values(), TOE_BRAKES)]
            elif entry.value == _ON_FLIGHT_MODEL:
                messages.append(Dref(0.0, planepath(entry.vehicle)))
                written[planepath(entry.vehicle)] = 0.0
            elif entry.value == 'pause':
                messages.append(pause(False))
                written[PAUSED] = 0.0
        self._reports.written(written, now)
        self.urgent += [
            (COMMAND_CHANNEL, wire.encode(message, self.version)) for message in messages]

    # Inside

    def _command(self, messages: Sequence[Message]) -> Command:
        """Return messages as one command; ValueError if one cannot be sent."""
        assert self.version is not None
        first = messages[0]
        if isinstance(first, Data):
            layout = self._layout(self.version)
            return Command(DATA_CHANNEL, tuple(
                wire.encode(Data(message.segments, layout), self.version)
                for message in messages if isinstance(message, Data)))
        datagrams = tuple(wire.encode(message, self.version) for message in messages)
        if isinstance(first, Vehx):
            return Command(COMMAND_CHANNEL, datagrams, partial(self._stopped, first.p))
        return Command(COMMAND_CHANNEL, datagrams)

    def _make_controls(self, controls: Mapping[str, float], now: float) -> list[Outgoing]:
        """Return the datagrams of controls, and record what they take."""
        version = self.version
        assert version is not None
        axes = [name for name in STICKS if name in controls]
        if version < FIRST_WITH_DATAREFS:
            self._take_rows({name: controls[name] for name in axes}, now)
            rows = control_rows(version, controls, self._row_kind, self._layout(version))
            return [(DATA_CHANNEL, wire.encode(rows, version))]
        for name in axes:
            self._taken.take(name)
        messages = control_datarefs(controls)
        if not BRAKES.keys().isdisjoint(controls):
            self._taken.take(_BRAKES)
            messages.insert(0, Dref(1.0, TOE_BRAKES))
        if axes and self._override_joystick and self._must_override(now):
            messages.insert(0, Dref(1.0, OVERRIDE))
        return [(COMMAND_CHANNEL, wire.encode(message, version)) for message in messages]

    def _must_override(self, now: float) -> bool:
        """Return whether to set the override: it is not set, or not known to be."""
        reported = self._reports.get(OVERRIDE, now)
        if reported:
            return False
        if (reported is None and 'joystick' in self._taken
                and now - self._override_at < _OVERRIDE_PERIOD):
            return False
        self._override_at = now
        self._taken.take('joystick', reported)
        self._reports.written({OVERRIDE: 1.0}, now)
        return True

    def _take_rows(self, axes: Mapping[str, float], now: float) -> None:
        if self._row_kind == 'joystick':
            for name in axes:
                self._taken.take(name)
            return
        trims = {f'{name}_trim': value for name, value in axes.items()}
        for name in trims:
            self._taken.take(name, self._reports.get(name, now))
        self._trims.update(trims)
        self._seen -= trims.keys()
        self._reports.written(trims, now)

    def _release_rows(self, version: int, entries: Sequence[Entry[float]], now: float) -> None:
        """Centre the joystick axes that were moved, and restore the moved trims."""
        layout = self._layout(version)
        sticks = dict.fromkeys(
            (entry.value for entry in entries if entry.value in STICKS), 0.0)
        trims = {entry.value: entry.before for entry in entries
                 if entry.value in TRIMS and entry.before is not None}
        if sticks:
            rows = control_rows(version, sticks, 'joystick', layout)
            self.urgent.append((DATA_CHANNEL, wire.encode(rows, version)))
        if trims:
            rows = trim_rows(version, trims, layout)
            self.urgent.append((DATA_CHANNEL, wire.encode(rows, version)))
        self._reports.written(trims, now)

    def _paused(self, on: bool, now: float) -> None:
        before = self._reports.before(PAUSED, now)
        self._reports.written({PAUSED: float(on)}, now)
        if not on:
            self._taken.forget('pause')
        elif not before:
            self._taken.take('pause', before)

    def _stopped(self, aircraft: int, now: float) -> None:
        name = planepath(aircraft)
        before = self._reports.before(name, now)
        self._reports.written({name: 1.0}, now)
        if not before:
            self._taken.take(_ON_FLIGHT_MODEL, before, aircraft)
