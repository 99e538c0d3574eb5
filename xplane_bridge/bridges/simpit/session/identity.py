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

"""Whether a plugin that answers is the one that stopped."""

from __future__ import annotations

from collections.abc import Collection


class Identity:
    """
    Tell a plugin that has stopped answering from one that takes its place.

    Only the plugin that we registered channels with has a reason to send on them before the next
    handshake.
    """

    def __init__(self) -> None:
        self._channels: frozenset[int] = frozenset()
        self.is_same = False

    def on_message(self, channel_id: int) -> None:
        """Note a packet received before the handshake."""
        self.is_same |= channel_id in self._channels

    def lose(self, channels: Collection[int]) -> None:
        """Expect the plugin that had these registered to come back."""
        self._channels = frozenset(channels)
        self.is_same = False
