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

"""Values that were sent for each item: a datagram that comes late, or again, writes them again."""

from __future__ import annotations

from collections.abc import Collection
import math
import struct

from xplane_bridge.bridges.xpc.session.items import Key, NO_OVERRIDE, Values

# Values of one item, the newest: a stream of commands has some hundred in the time that a datagram
# may take.
_MOST = 1024
# Anybody may write these: they are ours only as long as a datagram of ours may be on its way.
_COMMON = {(-1.0,), (0.0,), (1.0,), NO_OVERRIDE}
# Most items have one value.
_ONE = struct.Struct('f')


class SentValues:
    """
    What was sent for each item and when, and when X-Plane was last asked and had what it should.

    A datagram may take ``timeout`` seconds, and come twice. Until X-Plane was asked later than
    that and had another value, one that was sent before is a late one. After that it still is, if
    nobody else would write it by chance.
    """

    def __init__(self) -> None:
        self._sent: dict[Key, dict[Values, float]] = {}
        self._asked_at: dict[Key, float] = {}

    def note(self, key: Key, values: Values, now: float) -> None:
        """Record that values were sent."""
        # This is done for each control of each command.
        sent = self._sent.get(key)
        if sent is None:
            sent = self._sent[key] = {}
        sent[_as_read(values)] = now
        if len(sent) > _MOST:
            del sent[min(sent, key=lambda one: sent[one])]

    def show(self, key: Key, asked_at: float) -> None:
        """Record that X-Plane, asked at that time, did not have a late value."""
        self._asked_at[key] = max(asked_at, self._asked_at.get(key, -math.inf))

    def may_be_ours(self, key: Key, row: Values, aim: Values) -> bool:
        """Return whether values were sent, or nothing is known to have been but the ``aim``."""
        sent, row, aim = self._sent.get(key, {}), row[:len(aim)], _as_read(aim)
        return row in sent and row != aim or all(values == aim for values in sent)

    def was_sent(self, key: Key, row: Values) -> bool:
        """Return whether these values were sent."""
        return row in self._sent.get(key, ())

    def is_late(self, key: Key, row: Values, aim: Values, timeout: float) -> bool:
        """Return whether X-Plane has values of an item because a datagram was late."""
        row, aim = row[:len(aim)], _as_read(aim)
        sent_at = self._sent.get(key, {}).get(row)
        if row == aim or sent_at is None:
            return False
        return self._asked_at.get(key, -math.inf) < sent_at + timeout or row not in _COMMON

    def until(self, key: Key, aim: Values, timeout: float) -> float:
        """Return until when values other than the ``aim`` may come late."""
        aim = _as_read(aim)
        return timeout + max((
            at for values, at in self._sent.get(key, {}).items() if values != aim),
            default=-math.inf)

    def is_settled(self, key: Key, aim: Values, timeout: float) -> bool:
        """Return whether X-Plane was asked after that, and had none of them."""
        return self._asked_at.get(key, -math.inf) >= self.until(key, aim, timeout)

    def may_come(self, key: Key) -> bool:
        """Return whether one of them is recognised whenever it comes."""
        return any(values not in _COMMON for values in self._sent.get(key, ()))

    def forget(self, key: Key) -> None:
        """Forget an item."""
        self._sent.pop(key, None)
        self._asked_at.pop(key, None)

    def keep(self, keys: Collection[Key]) -> None:
        """Forget all other items."""
        for key in self._sent.keys() - set(keys):
            self.forget(key)


def _as_read(values: Values) -> Values:
    """Return values as X-Plane keeps and reports them: float32."""
    form = _ONE if len(values) == 1 else struct.Struct(f'{len(values)}f')
    return form.unpack(form.pack(*values))
