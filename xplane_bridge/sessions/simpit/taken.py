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

"""What was taken from the player of the game, and is given back. Time is passed in."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.simpit import (
    AXES,
    axis_message,
    axis_values,
    KeyModifiers,
    Message,
    Packet,
    Profile,
    THROTTLE,
)
from xplane_bridge.sessions.base import Left
from xplane_bridge.sessions.ledger import Ledger
from xplane_bridge.sessions.machine import What
from xplane_bridge.sessions.repetition import Repetition
from xplane_bridge.sessions.simpit.leaving import Leaving
from xplane_bridge.sessions.simpit.ownership import Ownership
from xplane_bridge.sessions.simpit.reports import Reports

# The plugin holds axes for whatever vessel is active.
_VESSEL = 0
_KEY = 'key '


class Taken:
    """
    Axes that were sent and that the plugin forces on the game; keys pressed and not released.

    ``ownership`` says which source of commands has an axis, ``reports`` what the plugin says of
    its action groups. What was given back is sent again and again, as no plugin shows it: axes as
    0, which forces nothing, keys as released. Times are in seconds.
    """

    def __init__(self) -> None:
        self.ownership = Ownership()
        self.reports = Reports()
        self._ledger: Ledger[int] = Ledger()
        self._giving: Repetition[str] = Repetition()
        # The plugin's profile when axes were last taken: after a silence it is unknown for a
        # while, and numbers mean something else to other plugins of the same framing.
        self._taken_by: Profile | None = None
        self._leaving: Leaving | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the axes that the plugin forces on the game for the stack, and pressed keys."""
        others = frozenset(AXES).difference(self.ownership.without_cockpits(None))
        return tuple(name for name in self._ledger.names if name not in others)

    @property
    def owed(self) -> tuple[str, ...]:
        """Return what was given back and is being repeated."""
        return tuple(self._giving)

    def note(self, message: Message | Packet, profile: Profile) -> None:
        """Note a message that was sent to a plugin of this profile."""
        if isinstance(message, simpit.Keyboard):
            self._note(f'{_KEY}{message.key}', bool(message.modifiers & KeyModifiers.DOWN_ONLY))
        elif isinstance(message, simpit.Axes):
            for axis, value in axis_values(message).items():
                # A value of 0 hands an axis back to the game, the throttle from 2.3 on only.
                takes = bool(value) or (axis == THROTTLE and not profile.throttle_lets_go)
                self._note(axis, takes)
                if takes:
                    self._taken_by = profile

    def _note(self, name: str, takes: bool) -> None:
        self._giving.end(name)
        if takes:
            self._ledger.take(_VESSEL, name)
        else:
            self._ledger.forget(_VESSEL, name)

    def give_back(
        self, profile: Profile | None, now: float, names: Collection[str] | None = None, *,
        throttle: bool = False,
    ) -> None:
        """
        Give back axes and keys that were taken, by default all.

        The throttle stays as it is unless ``throttle`` says otherwise and the plugin can give it
        back, the present one of ``profile`` or that which it was taken from.
        """
        lets_go = throttle and any(
            known.throttle_lets_go for known in (profile, self._taken_by) if known is not None)
        for entry in self._ledger.entries(_VESSEL):
            if (names is None or entry.value in names) and (entry.value != THROTTLE or lets_go):
                self._ledger.forget(_VESSEL, entry.value)
                self._giving.begin(entry.value, now)

    def pay(self, now: float) -> None:
        """Give back again what is owed: the plugin may not have heard any of it."""
        self._giving.restart(now)

    def repeat(
        self, profile: Profile | None, now: float, seconds: float, *, blind: bool = False
    ) -> list[bytes]:
        """
        Repeat what is given back, each for ``seconds`` seconds; return what is to be sent now.

        A plugin of another framing than the one that it was taken from holds none of it.
        ``blind``: nobody knows which plugin may read it; so no throttle, which some would close
        for ever.
        """
        if not self._giving:
            return []
        taken_by = self._taken_by or profile
        if taken_by is None or (profile is not None and taken_by.framing != profile.framing):
            self._giving.clear()
            return []
        axes: dict[str, dict[str, float]] = {}
        messages: list[simpit.Message] = []
        for name in self._giving.due(now, seconds):
            if name not in AXES:
                key = int(name.removeprefix(_KEY))
                messages.append(simpit.Keyboard(KeyModifiers.UP_ONLY, key))
            elif name != THROTTLE or not blind:
                axes.setdefault(AXES[name], {})[name] = 0
        return [
            simpit.encode(message, 'bridge', taken_by) for message in (
                *(axis_message(channel, values) for channel, values in axes.items()), *messages)]

    def disown(self) -> None:
        """Forget what was taken, and by whom: it was taken from another plugin."""
        self._ledger.clear()
        self._giving.clear()
        self.ownership.clear()
        if self._leaving is not None:
            self._leaving.disown()

    def land(self) -> None:
        """Forget the axes that were taken: with the flight scene nothing is forced any more."""
        for name in AXES:
            self._ledger.forget(_VESSEL, name)
            self._giving.end(name)

    def lapse(self) -> None:
        """Forget what was reported, and, if nothing is taken, who held it."""
        self.reports.forget()
        if not self._ledger:
            self.ownership.clear()

    # The end.

    def leave(
        self, profile: Profile | None, now: float, seconds: float, *, throttle: bool, quiet: float,
        streaming: bool, was_away: bool,
    ) -> None:
        """Give back everything, for so many seconds at most; for the rest see Leaving."""
        self.give_back(profile, now, throttle=throttle)
        self._giving.restart(now)
        self._ledger.clear()
        self.ownership.clear()
        self.reports.forget()
        self._leaving = Leaving(
            self.owed, now, seconds, quiet=quiet, streaming=streaming, was_away=was_away)

    @property
    def leaving(self) -> Leaving:
        """Return what is still to be shown after leave()."""
        assert self._leaving is not None
        return self._leaving

    def look(self, now: float) -> Iterable[What]:
        """Yield whether nothing is left to be given back, or no time."""
        return self.leaving.look(bool(self._giving), now)

    def left(self, name: str, *, answers: bool) -> Left:
        """Return what was not shown; ``name`` is the port, ``answers`` whether it is there."""
        return self.leaving.left(name, answers)

    @property
    def deadline(self) -> float | None:
        """Return when repeat() has something, None if nothing is repeated."""
        return self._giving.deadline
