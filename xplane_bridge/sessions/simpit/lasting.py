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

"""What a plugin says on a change only, and what is therefore still so."""

from __future__ import annotations

from xplane_bridge.protocols.simpit import Message

# By channel: others whose last value belongs with it. They are sent when they change.
_BESIDE = {
    'airspeed': ('atmosphere',),
    'rotation': ('throttle',),
    'throttle': ('rotation',),
    'translation': ('wheel',),
    'wheel': ('translation',),
}
_LASTING = frozenset(name for names in _BESIDE.values() for name in names)


class LastingValues:
    """The last values of channels that are sent on a change, while they hold: for one flight."""

    def __init__(self) -> None:
        self._values: dict[str, Message] = {}

    def heard(self, name: str, message: Message) -> dict[str, Message]:
        """Take a message; return those of other channels that belong with it."""
        if name in _LASTING:
            self._values[name] = message
        return {
            other: self._values[other] for other in _BESIDE.get(name, ())
            if other in self._values}

    def forget(self) -> None:
        """Forget everything: the flight or the plugin may be another one."""
        self._values.clear()
