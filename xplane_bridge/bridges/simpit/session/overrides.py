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

from xplane_bridge.bridges.sessions.ledger import Ledger
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.bridges.sessions.machine import Event
from xplane_bridge.bridges.sessions.pending import Pending, PendingTable
from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import (
    AXES,
    axis_message,
    axis_values,
    KeyModifiers,
    Packet,
    Profile,
    SimpitMessage,
    THROTTLE,
)
from xplane_bridge.bridges.simpit.session.ownership import Ownership
from xplane_bridge.bridges.simpit.session.reports import Reports

# The end of a conversation with a plugin: what stop() has given back. Time is passed in.

# Without telemetry for this long, or twice the usual pause, a deregistration has been obeyed.
_QUIET = 0.3
# Until then a packet may still be one of before it.
_UNDER_WAY = 0.15
_PERIOD = 0.5
# The last repetition leaves release_timeout after the first one, which may be a little late.
_GRACE = 0.25

_TELEMETRY = 'telemetry channels'


class Leaving:
    """
    What is still to be shown after stop(), and for how long to wait for it.

    ``unconfirmed`` was given back. ``quiet`` is for how long telemetry must be missing,
    ``streaming`` says that it was arriving, ``was_away`` that nobody answered. No plugin shows
    what it forces; an echo of a request sent after it was given back shows that the plugin still
    reads. Times are in seconds.
    """

    def __init__(
        self, unconfirmed: tuple[str, ...], now: float, timeout: float, *, quiet: float,
        streaming: bool, was_away: bool,
    ) -> None:
        self._until = now + timeout
        self._quiet = max(_QUIET, quiet)
        self._streaming = streaming
        self._was_away = was_away
        self._heard_at = now
        self._deregistered_at = now
        self._is_read = False
        self._unconfirmed = unconfirmed
        self._talks_on = False

    def on_telemetry(self, now: float) -> None:
        """Note that telemetry still arrives."""
        self._heard_at = now

    def on_echo(self) -> None:
        """Note that the plugin has read what was sent before an echo request."""
        self._is_read = True

    @property
    def _sends_on(self) -> bool:
        """Return whether telemetry has arrived well after the last deregistration."""
        return self._heard_at >= self._deregistered_at + _UNDER_WAY

    def begin_again(self, now: float) -> bool:
        """Begin another period if telemetry still arrives, to be deregistered; return whether."""
        if now < self._deregistered_at + _PERIOD or not self._sends_on:
            return False
        self._deregistered_at = now
        return True

    def check_timeouts(self, giving: bool, now: float) -> Iterable[Event]:
        """Yield whether nothing is left to be given back, or no time; ``giving``: it goes on."""
        self._talks_on = self._streaming and now < self._heard_at + self._quiet
        # What has been repeated for long enough counts as given back only if it was read.
        if now >= self._ends_at or not (self._was_away or giving or self._talks_on):
            yield Event.EXPIRED if self._is_unread or self._talks_on else Event.SHOWN

    @property
    def _ends_at(self) -> float:
        """Return when there is no more time; one that is away may still come back until then."""
        return self._until if self._was_away else self._until + _GRACE

    @property
    def _is_unread(self) -> bool:
        """Return whether a plugin that should have echoed has not shown that it reads."""
        return bool(self._unconfirmed) and not self._is_read and (
            self._streaming or self._was_away)

    @property
    def deadline(self) -> float:
        """Return when check_timeouts() and begin_again() have to be asked."""
        at = self._ends_at
        if self._talks_on:
            at = min(at, self._heard_at + self._quiet)
        if self._sends_on:
            at = min(at, self._deregistered_at + _PERIOD)
        return at

    def left(self, name: str, *, is_open: bool, answers: bool) -> Left:
        """Return what was not shown; ``name`` is the port, ``answers`` whether a plugin did."""
        answers = answers and is_open
        if self._is_unread:
            if answers:
                return Left(self._unconfirmed, (
                    f'the plugin on {name} answers no echo, so it may not have read it: it ends '
                    'with the flight scene (revert, or leave to the space centre)'),
                    is_error=self._streaming)
            why = f'nothing answers on {name}' if is_open else f'{name} is gone'
            return Left(self._unconfirmed, (
                f'{why}: what the plugin forces ends with the flight scene '
                '(revert, or leave to the space centre)'))
        if self._talks_on and answers:
            return Left((_TELEMETRY,), (
                f'the plugin on {name} still sends them: it stops when its port is closed, or at '
                'the next handshake'), is_error=True)
        return Left()


# The plugin holds axes for whatever vessel is active.
_VESSEL = 0
_KEY = 'key '


class Overrides:
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
        self._giving = PendingTable[str, Pending[int, None]]()
        # The plugin's profile when each was last taken: after a silence it is unknown for a while,
        # and numbers mean something else to other plugins of the same framing.
        self._taken_from: dict[str, Profile] = {}
        # Whether the plugin that it was taken from is away: it, or another one, may answer.
        self._on_hold = False
        self._leaving: Leaving | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the axes that the plugin forces on the game for the stack, and pressed keys."""
        others = frozenset(AXES).difference(self.ownership.without_cockpits(None))
        return tuple(name for name in self._ledger.names if name not in others)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Return what was given back and is being repeated."""
        return tuple(self._giving)

    def note(self, message: SimpitMessage | Packet, profile: Profile) -> None:
        """Note a message that was sent to a plugin of this profile."""
        if isinstance(message, simpit.Keyboard):
            takes = bool(message.modifiers & KeyModifiers.DOWN_ONLY)
            self._note(f'{_KEY}{message.key}', profile if takes else None)
        elif isinstance(message, simpit.Axes):
            for axis, value in axis_values(message).items():
                # A value of 0 hands an axis back to the game, the throttle from 2.3 on only.
                takes = bool(value) or (axis == THROTTLE and not profile.throttle_lets_go)
                self._note(axis, profile if takes else None)

    def _note(self, name: str, taken_from: Profile | None) -> None:
        self._giving.pop(name, None)
        if taken_from is not None:
            self._ledger.take(_VESSEL, name)
            self._taken_from[name] = taken_from
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
        lets_go = throttle and (_lets_go(profile) or _lets_go(self._taken_from.get(THROTTLE)))
        for entry in self._ledger.entries(_VESSEL):
            if (names is None or entry.value in names) and (entry.value != THROTTLE or lets_go):
                self._ledger.forget(_VESSEL, entry.value)
                self._giving[entry.value] = Pending(entry.value, 0, None, now, again_at=now)

    def hold(self) -> None:
        """Keep what was taken: the plugin is away, and another one may take its place."""
        self._on_hold = True

    def restore(self) -> None:
        """Count as taken again what is on hold: it is the same plugin."""
        self._on_hold = False

    def pay(self, profile: Profile | None, now: float) -> None:
        """
        Give back again what is unconfirmed: the plugin may not have heard any of it.

        So is what is on hold, to whoever answers: it may be the same plugin, and 0 forces nothing
        on another. But some it would make close the throttle for ever: so that stays taken, and
        is given back only if the present plugin is known to let go of it.
        """
        if self._on_hold:
            self._on_hold = False
            self.ownership.clear()
            self.give_back(profile, now)
            self._keep_throttle(profile)
        self._giving.restart(now)

    def _keep_throttle(self, profile: Profile | None) -> None:
        """Count the throttle as taken unless a plugin of this profile may be given it back."""
        if _differ(profile, self._taken_from.get(THROTTLE)):
            self._note(THROTTLE, None)
        elif not _lets_go(profile):
            self._taken_from.pop(THROTTLE, None)
            if THROTTLE in self._giving:
                del self._giving[THROTTLE]
                self._ledger.take(_VESSEL, THROTTLE)

    def repeat(
        self, profile: Profile | None, now: float, seconds: float, *, blind: bool = False
    ) -> list[bytes]:
        """
        Repeat what is given back, each for ``seconds`` seconds; return what is to be sent now.

        A plugin of another framing than the one that it was taken from holds none of it.
        ``blind``: nobody knows which plugin may read it; so no throttle, which some would close
        for ever.
        """
        axes: dict[tuple[str, Profile], dict[str, float]] = {}
        keys: list[bytes] = []
        for name in self._giving.repeat(now, seconds):
            taken_from = self._taken_from.get(name, profile)
            if taken_from is None or _differ(profile, taken_from):
                self._giving.pop(name, None)
            elif name not in AXES:
                up = simpit.Keyboard(KeyModifiers.UP_ONLY, int(name.removeprefix(_KEY)))
                keys.append(simpit.encode(up, 'bridge', taken_from))
            elif name != THROTTLE or not blind:
                axes.setdefault((AXES[name], taken_from), {})[name] = 0
        return [
            *(simpit.encode(axis_message(channel, values), 'bridge', taken_from)
              for (channel, taken_from), values in axes.items()), *keys]

    def disown(self) -> None:
        """Forget what was taken, and by whom."""
        self._ledger.clear()
        self._giving.clear()
        self._on_hold = False
        self.ownership.clear()

    def land(self) -> None:
        """Forget the axes that were taken: with the flight scene nothing is forced any more."""
        for name in AXES:
            self._ledger.forget(_VESSEL, name)
            self._giving.pop(name, None)

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
            self.unconfirmed, now, seconds, quiet=quiet, streaming=streaming, was_away=was_away)

    @property
    def leaving(self) -> Leaving:
        """Return what is still to be shown after leave()."""
        assert self._leaving is not None
        return self._leaving

    def check_timeouts(self, now: float) -> Iterable[Event]:
        """Yield whether nothing is left to be given back, or no time."""
        return self.leaving.check_timeouts(bool(self._giving), now)

    def left(self, name: str, *, is_open: bool, answers: bool) -> Left:
        """Return what was not shown; ``name`` is the port, ``answers`` whether a plugin did."""
        return self.leaving.left(name, is_open=is_open, answers=answers)

    @property
    def deadline(self) -> float | None:
        """Return when repeat() has something, None if nothing is repeated."""
        return self._giving.deadline


def _differ(profile: Profile | None, other: Profile | None) -> bool:
    """Return whether these are known to be of different plugins: the framing differs."""
    return profile is not None and other is not None and profile.framing != other.framing


def _lets_go(profile: Profile | None) -> bool:
    """Return whether plugins of this profile are known to let go of the throttle."""
    return profile is not None and profile.throttle_lets_go
