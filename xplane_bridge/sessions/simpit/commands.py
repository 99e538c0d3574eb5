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

"""Commands to a plugin: what its profile understands, in what pieces, and how fast."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, cast

from xplane_bridge.protocols import simpit
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.simpit import Message, Packet, Profile
from xplane_bridge.sessions.budget import Budget
from xplane_bridge.sessions.simpit.events import Game, Statistics

# Of two action group packets within one frame of the game only the last counts (wire notes, 2.7);
# this is a frame at 20 frames a second.
ACTION_GAP = 0.05
# A game at 50 frames a second looks at an axis no more often.
AXIS_GAP = 0.02

_LARGEST_OUTBOX = 64
# Bytes that may go out at once: what a plugin's reader takes in one go.
_BURST = 256
# Below this a budget would not let a whole packet pass at once; the driver's buffer has to do.
_LOWEST_RATE = 120.0

Axes = (
    simpit.Rotation | simpit.Translation | simpit.Wheel | simpit.Throttle | simpit.CustomAxes)

_OWN = (simpit.Handshake, simpit.Register, simpit.Deregister, simpit.EchoRequest,
        simpit.EchoResponse)


def adapt(
    message: Message | Packet, profile: Profile, *, agx: bool, game: Game | None
) -> list[Message | Packet]:
    """
    Bring a command into the packets that real plugins of the profile need.

    Raise ValueError, with a sentence for the user, for what they cannot do and for what is the
    session's own business: handshake, registration, echo.
    """
    if isinstance(message, Packet):
        _check_packet(message, profile)
    elif isinstance(message, _OWN):
        raise ValueError(f'{message.tag}: the session sends these itself')
    else:
        row = profile.named('device', message.channel)
        if row.fault:
            raise ValueError(f'{row.name}: {row.fault}')
        if isinstance(message, simpit.SetActionGroup) and game is not Game.KSP2:
            raise ValueError(
                f'{row.name} is for Kerbal Space Program 2; this plugin is not in it, '
                'send action_groups or custom_action_groups')
    parts: list[Message | Packet]
    if isinstance(message, simpit.CustomActionGroups) and message.groups:
        # From 2.0 on a list acts on its first group only, before that from its end backwards.
        parts = [replace(message, groups=(group,)) for group in message.groups]
    else:
        parts = [message]
    for part in parts:
        simpit.encode(profile, 'device', part, agx=agx)
    return parts


def _check_packet(packet: Packet, profile: Profile) -> None:
    """Raise ValueError for a raw packet that is the session's own or would mislead a plugin."""
    row = profile.find('device', packet.channel)
    if row is None:
        return
    if issubclass(row.message, _OWN):
        raise ValueError(f'channel {row.id} ({row.name}): the session sends these itself')
    try:
        simpit.decode_payload(profile, 'device', packet)
    except ProtocolError as error:
        raise ValueError(str(error)) from None


class Outbox:
    """
    Commands on their way: no faster than the line, action groups apart, newest axes only.

    ``line_rate`` is in bytes a second. Axes wait beside the queue, one packet a channel.
    """

    def __init__(self, line_rate: float, statistics: Statistics) -> None:
        self._budget = Budget(max(line_rate, _LOWEST_RATE), _BURST)
        self._statistics = statistics
        self._queue: deque[tuple[Message | Packet, bytes]] = deque()
        self._axes: dict[str, Axes] = {}
        self._axis_at: dict[str, float] = {}
        self._action_at = 0.0
        self._taken: dict[str, Axes] = {}

    @property
    def taken(self) -> frozenset[str]:
        """Return the axis channels that hold values of ours."""
        return frozenset(self._taken)

    def add(self, parts: Sequence[Message | Packet], profile: Profile, *, agx: bool) -> None:
        """Queue the packets of one command; raise ValueError if too many wait already."""
        if len(self._queue) + len(parts) > _LARGEST_OUTBOX:
            raise ValueError(
                f'{len(self._queue)} commands wait already, at most {_LARGEST_OUTBOX} may; they '
                f'leave {1 / ACTION_GAP:g} action groups a second, and no faster than the line')
        for part in parts:
            if isinstance(part, Axes):
                self._hold(part)
            else:
                self._queue.append((part, simpit.encode(profile, 'device', part, agx=agx)))

    def due(self, profile: Profile, now: float) -> tuple[list[bytes], float | None]:
        """Return what may leave now, and when to ask again."""
        outgoing: list[bytes] = []
        later: list[float] = []
        while self._queue:
            part, data = self._queue[0]
            paced = isinstance(part, simpit.ActionGroups)
            if paced and now < self._action_at:
                later.append(self._action_at)
                break
            if not self._budget.take(len(data), now):
                later.append(self._budget.when(len(data), now))
                break
            if paced:
                self._action_at = now + ACTION_GAP
            self._queue.popleft()
            outgoing.append(data)
        for name in list(self._axes):
            data = simpit.encode(profile, 'device', self._axes[name])
            at = self._axis_at.get(name, 0.0)
            if now < at:
                later.append(at)
            elif self._budget.take(len(data), now):
                self._axis_at[name] = now + AXIS_GAP
                del self._axes[name]
                outgoing.append(data)
            else:
                later.append(self._budget.when(len(data), now))
        self._statistics.commands += len(outgoing)
        return outgoing, min(later, default=None)

    def clear(self) -> None:
        """Forget what waits: it was meant for now."""
        self._queue.clear()
        self._axes.clear()

    def forget(self) -> None:
        """Forget what waits and what was taken: the plugin is another one, or gone."""
        self.clear()
        self._taken.clear()

    def release(self, profile: Profile) -> list[bytes]:
        """Return what gives back the axes taken; forget them and what waits."""
        outgoing = []
        for axes in self._taken.values():
            # Before 2.2 nothing gives it back: a 0 would shut the engines down and stay.
            if isinstance(axes, simpit.Throttle) and profile.name != 'cobs':
                continue
            neutral: Any = {field.name: 0 for field in fields(axes) if field.name != 'mask'}
            outgoing.append(simpit.encode(profile, 'device', replace(axes, **neutral)))
        self.forget()
        return outgoing

    def _hold(self, axes: Axes) -> None:
        """Keep the newest value of each axis until it may leave, and note what it takes."""
        name = axes.channel
        waiting = self._axes.get(name)
        if waiting is not None:
            self._statistics.held_back += 1
            axes = _merge(waiting, axes)
        self._axes[name] = axes
        taken = self._taken.get(name)
        held = axes if taken is None else _merge(taken, axes)
        # A value of 0 hands an axis back to the game.
        if isinstance(held, simpit.Throttle):
            mask = held.throttle
        else:
            mask = sum(
                1 << bit for bit, field in enumerate(fields(held)[:-1])
                if held.mask >> bit & 1 and getattr(held, field.name))
            held = replace(held, mask=mask)
        if mask:
            self._taken[name] = held
        else:
            self._taken.pop(name, None)


def _merge(old: Axes, new: Axes) -> Axes:
    """Return the axes of both, the newer value where both set one."""
    if isinstance(new, simpit.Throttle) or isinstance(old, simpit.Throttle):
        return new
    values: dict[str, Any] = {'mask': old.mask | new.mask}
    for bit, field in enumerate(fields(new)[:-1]):
        source = new if new.mask >> bit & 1 else old
        values[field.name] = getattr(source, field.name)
    return cast(Axes, replace(new, **values))
