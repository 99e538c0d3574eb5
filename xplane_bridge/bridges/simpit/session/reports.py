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

"""Standard action groups: those that are on according to the plugin, and those requested."""

from __future__ import annotations

from collections.abc import Collection, Mapping
import math

from xplane_bridge.bridges.sessions.pending import Pending, PendingTable
from xplane_bridge.bridges.simpit.protocol import (
    ActionGroup,
    ActionGroups,
    ActionStatus,
    Packet,
    SimpitMessage,
    VesselChange,
)

# The status arrives with every frame of the game while a group is on.
_SILENCE = 0.5
# A game that is frozen sends nothing else either: a longer gap than this between two packets does
# not count as time in which the status was missing.
_LONGEST_GAP = 0.2
# Until a command shows in the report, or while there is no report.
_PATIENCE = 1.0
# A group that the report still shows otherwise this long after its command is a contradiction.
_CONTRADICTS_AFTER = 2.0


class Reports:
    """
    What the plugin reports about its action groups.

    What was sent proves nothing: the player, a revert or another vessel may have changed it since.
    So a requested group is sent whenever the report differs, again after a second if it still
    differs, and once per second while there is no report. Times are in seconds.
    """

    def __init__(self) -> None:
        self.active: ActionGroup | None = None
        # What was commanded of each group, and since when it is not shown: inf if it was.
        self._commanded = PendingTable[ActionGroup, Pending[bool, None]]()
        self._silence = ActionSilence()

    def on_message(self, message: SimpitMessage | Packet, now: float) -> None:
        """Note a report, or that the vessel may be another one."""
        if isinstance(message, VesselChange):
            # The plugin keeps forcing the taken axes, now on this vessel.
            self.forget()
        if not isinstance(message, ActionStatus):
            return
        active = self.active = message.action_bits
        for group, pending in self._commanded.items():
            if bool(active & group) is pending.desired:
                pending.since = math.inf
        self._silence.heard_status(now)

    def on_other(self, now: float) -> bool:
        """Note other telemetry of v1; return, once, that no group is on."""
        if not self._silence.heard_other(now):
            return False
        self.active = ActionGroup(0)
        return True

    def forget(self) -> None:
        """Forget everything: the flight, the vessel or the plugin may be another one."""
        self.active = None
        self._commanded.clear()
        self._silence = ActionSilence()

    def doubt(self) -> None:
        """Believe no report until the next one: a change may have been lost on the line."""
        self.active = None

    def contradictions(self, now: float) -> list[str]:
        """Return which groups the plugin reports otherwise than they were commanded."""
        return [
            f'{pending.what} was commanded {_state(pending.desired)}, the plugin reports '
            f'{_state(not pending.desired)}' for pending in self._commanded.values()
            if self.active is not None and now >= pending.since + _CONTRADICTS_AFTER]

    def missing(self, wanted: Mapping[ActionGroup, bool], now: float) -> list[ActionGroups]:
        """Return the commands that turn these groups on or off."""
        bits = {True: ActionGroup(0), False: ActionGroup(0)}
        for group, on in wanted.items():
            pending = self._commanded.get(group)
            if not self._shows(group, on) and (
                    pending is None or pending.desired is not on or now >= pending.again_at):
                bits[on] |= group
        return [
            ActionGroups('activate' if on else 'deactivate', groups)
            for on, groups in bits.items() if groups]

    def queued(
        self, wanted: Mapping[ActionGroup, bool], commands: Collection[ActionGroups], now: float
    ) -> None:
        """Note what was commanded, and that what was missing() of it waits to be sent."""
        bits = ActionGroup(0)
        for command in commands:
            bits |= command.action_bits
        for group, on in wanted.items():
            pending = self._commanded.get(group)
            if pending is not None and (self._shows(group, on) or pending.since == math.inf):
                # Shown; perhaps it was so before, and is no longer.
                del self._commanded[group]
            if self._shows(group, on):
                continue
            if pending is None or pending.desired is not on:
                pending = Pending(str(group.name).lower(), on, None)
            pending.since = min(pending.since, now)
            if group & bits:
                pending.again_at = now + _PATIENCE
            self._commanded[group] = pending

    def _shows(self, group: ActionGroup, on: bool) -> bool:
        return self.active is not None and bool(self.active & group) is on


def _state(on: bool) -> str:
    return 'on' if on else 'off'


class ActionSilence:
    """
    Tell when no action group is on, which plugins before 2.0 never say.

    They send the action status in each frame while a group is on, and nothing once the last one
    goes off (docs/wire/simpit.md, section 3). So half a second of other telemetry without it means
    that all are off. Times are in seconds.
    """

    def __init__(self) -> None:
        self._flowed = 0.0
        self._packet_at: float | None = None
        self._said = False

    def heard_status(self, now: float) -> None:
        """Note an action status."""
        self._flowed = 0.0
        self._packet_at = now
        self._said = False

    def heard_other(self, now: float) -> bool:
        """Note other telemetry; return, once, that all groups are off."""
        if self._packet_at is not None:
            self._flowed += min(max(now - self._packet_at, 0.0), _LONGEST_GAP)
        self._packet_at = now
        if self._said or self._flowed < _SILENCE:
            return False
        self._said = True
        return True
