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


"""
One WebSocket of the simulated X-Plane's Web API, as in docs/wire/xplane_udp.md section 8.

It has no socket: a message in is a result out, and step() gives the updates that are due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import json
import math
from typing import Any

from xplane_bridge.simulation.peers.xplane_udp.web_store import (
    HttpStatusError,
    is_number,
    json_object,
    WebStore,
)

_PERIOD = 0.1
# A sum of frame times may fall short of the tick by rounding.
_ROUNDING = 1e-6
_LONGEST_HOLD = 24 * 3600.0
_ALL = 'all'
# Elements of an array; None is the whole dataref.
_Indices = frozenset[int] | None


class WebSocketPeer:
    """
    What X-Plane has for one connection: its subscriptions, and the commands that it holds.

    ``has_commands`` is whether it is of v2 or later.
    """

    def __init__(self, store: WebStore, *, has_commands: bool) -> None:
        self._store = store
        self._datarefs: dict[int, _Indices] = {}
        self._commands: set[int] = set()
        # What was sent last.
        self._shown: dict[int, Any] = {}
        self._next = store.world.network_time
        self._types: dict[str, Callable[[Mapping[str, Any]], None]] = {
            'dataref_subscribe_values': self._subscribe,
            'dataref_unsubscribe_values': self._unsubscribe,
            'dataref_set_values': self._set_values,
        }
        if has_commands:
            self._types |= {
                'command_subscribe_is_active': self._subscribe_commands,
                'command_unsubscribe_is_active': self._unsubscribe_commands,
                'command_set_is_active': self._set_is_active,
            }

    def close(self) -> None:
        """Release what it holds: its connection has ended."""
        self._store.release(self)

    def receive(self, text: str) -> str:
        """Return the result of a message."""
        number: Any = 0
        result: dict[str, Any] = {'type': 'result', 'success': True}
        try:
            given = json_object(text)
            number = given.get('req_id')
            if not _is_id(number):
                number = 0
                raise _invalid('req_id')
            do = self._types.get(str(given.get('type')))
            if do is None:
                raise HttpStatusError(
                    400, 'unknown_type', f'Unknown type {given.get("type")}'[:200])
            if not isinstance(given.get('params'), dict):
                raise _invalid('params')
            do(given['params'])
        except HttpStatusError as refused:
            result = {'type': 'result', 'success': False, **refused.fields}
        return json.dumps({'req_id': number, **result})

    def step(self) -> list[str]:
        """Return the updates that are due: what has changed since the last ones."""
        now = self._store.world.network_time
        if now + _ROUNDING < self._next:
            return []
        self._next = max(self._next + _PERIOD, now)
        updates = []
        for type_, values in (
                ('dataref_update_values', self._changed(
                    (number, self._value(number)) for number in self._datarefs)),
                ('command_update_is_active', self._changed(
                    (number, self._store.is_active(self._store.name(number, 'commands')))
                    for number in self._commands))):
            if values:
                updates.append(json.dumps({'type': type_, 'data': values}))
        return updates

    def _changed(self, values: Iterator[tuple[int, Any]]) -> dict[str, Any]:
        changed = {number: value for number, value in values
                   if number not in self._shown or self._shown[number] != value}
        self._shown |= changed
        return {str(number): value for number, value in changed.items()}

    def _value(self, number: int) -> Any:
        value, indices = self._store.read(self._store.name(number, 'datarefs')), self._datarefs[
            number]
        return value if indices is None else [value[index] for index in sorted(indices)]

    # Datarefs.

    def _subscribe(self, params: Mapping[str, Any]) -> None:
        for number, indices in self._read_indices(params):
            before = self._datarefs.get(number, frozenset())
            # The whole array has every element.
            together = None if indices is None or before is None else before | indices
            if number not in self._datarefs or together != before:
                self._datarefs[number] = together
                self._shown.pop(number, None)

    def _unsubscribe(self, params: Mapping[str, Any]) -> None:
        if params.get('datarefs') == _ALL:
            self._datarefs.clear()
            return
        for number, indices in self._read_indices(params):
            before = self._datarefs.get(number)
            left = frozenset() if indices is None or before is None else before - indices
            if left:
                self._datarefs[number] = left
            else:
                self._datarefs.pop(number, None)
            self._shown.pop(number, None)

    def _read_indices(self, params: Mapping[str, Any]) -> list[tuple[int, _Indices]]:
        """Return ids and elements: all of them are fine, or HttpStatusError is raised."""
        read: list[tuple[int, _Indices]] = []
        for item in _items(params, 'datarefs'):
            name = self._store.name(item['id'], 'datarefs')
            if 'index' not in item:
                read.append((item['id'], None))
                continue
            index = item['index']
            indices = index if isinstance(index, list) else [index]
            if not indices or not all(map(_is_id, indices)):
                raise _out_of_range()
            self._store.check_indices(name, indices)
            read.append((item['id'], frozenset(indices)))
        return read

    def _set_values(self, params: Mapping[str, Any]) -> None:
        for item in _items(params, 'datarefs'):
            index = item.get('index')
            if index is not None and not _is_id(index):
                raise _out_of_range()
            self._store.write(
                self._store.name(item['id'], 'datarefs'), item.get('value'), index,
                'insufficient_data')

    # Commands.

    def _subscribe_commands(self, params: Mapping[str, Any]) -> None:
        self._commands |= {number for number, _ in self._read_commands(params)}

    def _unsubscribe_commands(self, params: Mapping[str, Any]) -> None:
        gone = self._commands if params.get('commands') == _ALL else {
            number for number, _ in self._read_commands(params)}
        for number in tuple(gone):
            self._commands.discard(number)
            self._shown.pop(number, None)

    def _read_commands(self, params: Mapping[str, Any]) -> list[tuple[int, str]]:
        return [(item['id'], self._store.name(item['id'], 'commands'))
                for item in _items(params, 'commands')]

    def _set_is_active(self, params: Mapping[str, Any]) -> None:
        names = [name for _, name in self._read_commands(params)]
        items = _items(params, 'commands')
        for item in items:
            if not isinstance(item.get('is_active'), bool):
                raise _invalid('is_active')
            duration = item.get('duration', 0.0)
            if not is_number(duration) or not 0.0 <= duration <= _LONGEST_HOLD:
                raise HttpStatusError(400, 'duration_out_of_range', 'Duration is out of range')
        for item, name in zip(items, names, strict=True):
            duration = item.get('duration', math.inf)
            if not item['is_active']:
                self._store.release(self, name)
            elif duration == 0.0:
                self._store.press(name)
            else:
                self._store.hold(self, name, duration)


def _items(params: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the datarefs or commands of a message, each with an id."""
    items = params.get(key)
    if not isinstance(items, list):
        raise _invalid(key)
    for item in items:
        if not isinstance(item, dict) or not _is_id(item.get('id')):
            raise _invalid('id')
    return items


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _out_of_range() -> HttpStatusError:
    return HttpStatusError(400, 'index_out_of_range', 'Dataref array index out of range')


def _invalid(field: str) -> HttpStatusError:
    return HttpStatusError(400, 'invalid_value', f'The value provided for {field} is not valid')
