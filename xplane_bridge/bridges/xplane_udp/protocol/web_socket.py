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
X-Plane's Web API over its WebSocket: messages as JSON, see docs/wire/xplane_udp.md section 8.

A request is asked like one of REST, and its result reads like a response of REST. What X-Plane
says is untrusted: it is read, or raises ProtocolError.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import json
from typing import Any, TypeAlias

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.xplane_udp.protocol.web_api import (
    ARRAYS,
    as_number,
    DatarefInfo,
    WebRequest,
)

SOCKET = 'WEBSOCKET'
"""In place of the HTTP method of a request."""

LONGEST_HOLD = 24 * 3600.0
"""X-Plane holds a command for at most this long, in seconds."""

_GRANTED, _REFUSED = 200, 400
_RESULT = 'result'
_DATAREFS = 'dataref_update_values'
_COMMANDS = 'command_update_is_active'
_ALL = 'all'
_LARGEST_ID = 1 << 64

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class WebResult:
    """The outcome of a request; as a response of REST it has a status and a body."""

    number: int
    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class DatarefUpdate:
    """New values by id: numbers, lists of them, or base64, not looked at yet."""

    values: Mapping[int, Json]


@dataclass(frozen=True, slots=True)
class CommandUpdate:
    """Whether commands are active now, by id."""

    active: Mapping[int, bool]


# Requests, without their numbers: see numbered().


def subscribe(root: str, datarefs: Mapping[int, Sequence[int] | None]) -> WebRequest:
    """Ask for the values of datarefs whenever they change, or for some elements of arrays."""
    return _request(root, 'dataref_subscribe_values', {'datarefs': [
        {'id': dataref} if indices is None else {'id': dataref, 'index': list(indices)}
        for dataref, indices in datarefs.items()]})


def unsubscribe_all(root: str) -> WebRequest:
    """Ask for no values any more."""
    return _request(root, 'dataref_unsubscribe_values', {'datarefs': _ALL})


def set_values(
    root: str, items: Iterable[tuple[DatarefInfo, Sequence[float] | bytes, int | None]]
) -> WebRequest:
    """Write datarefs: bytes to ``data``, all elements of an array, or one at an index."""
    return _request(root, 'dataref_set_values', {
        'datarefs': [_written(*item) for item in items]})


def watch_command(root: str, command: int) -> WebRequest:
    """Ask to be told whether a command is active, now and whenever it changes."""
    return _request(root, 'command_subscribe_is_active', {'commands': [{'id': command}]})


def unwatch_command(root: str, command: int) -> WebRequest:
    """Ask to be told of a command no more."""
    return _request(root, 'command_unsubscribe_is_active', {'commands': [{'id': command}]})


def hold(root: str, command: int, seconds: float) -> WebRequest:
    """Hold a command for so long from now, at most 24 h; again, it is that long from then."""
    return _request(root, 'command_set_is_active', {
        'commands': [{'id': command, 'is_active': True, 'duration': float(seconds)}]})


def release(root: str, commands: Iterable[int]) -> WebRequest:
    """Release commands."""
    return _request(root, 'command_set_is_active', {
        'commands': [{'id': command, 'is_active': False} for command in commands]})


def numbered(body: bytes, number: int) -> str:
    """Return the text of a request with its number, which is used once."""
    return json.dumps({'req_id': number} | json.loads(body), allow_nan=False)


def _request(root: str, type_: str, params: Mapping[str, Json]) -> WebRequest:
    body = json.dumps({'type': type_, 'params': params}, allow_nan=False).encode('ascii')
    return WebRequest(SOCKET, root, body)


def _written(
    dataref: DatarefInfo, value: Sequence[float] | bytes, index: int | None
) -> dict[str, Json]:
    item: dict[str, Json] = {'id': dataref.id}
    if isinstance(value, bytes):
        item['value'] = b64encode(value).decode('ascii')
    else:
        numbers = [as_number(dataref, number) for number in value]
        item['value'] = numbers if dataref.type in ARRAYS and index is None else numbers[0]
    if index is not None:
        item['index'] = index
    return item


# What X-Plane says.


def read(text: str) -> WebResult | DatarefUpdate | CommandUpdate:
    """Return a message of X-Plane."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f'message: got {text[:60]!r}, expected JSON') from error
    kind = given.get('type') if isinstance(given, dict) else None
    if kind == _RESULT:
        return _result(given)
    if kind == _DATAREFS:
        return DatarefUpdate(_by_id(kind, given))
    if kind == _COMMANDS:
        active = _by_id(kind, given)
        for number, value in active.items():
            if not isinstance(value, bool):
                raise ProtocolError(f'{kind}: got {value!r} for {number}, expected true or false')
        return CommandUpdate(active)
    raise ProtocolError(
        f'message: got type {kind!r}, expected {_RESULT}, {_DATAREFS} or {_COMMANDS}')


def _result(given: Mapping[str, Json]) -> WebResult:
    number, success = given.get('req_id'), given.get('success')
    if not isinstance(number, int) or isinstance(number, bool) or not isinstance(success, bool):
        raise ProtocolError(
            f'result: got req_id {number!r} and success {success!r}, expected a number, and true '
            'or false')
    if success:
        return WebResult(number, _GRANTED, b'null')
    error = {key: given.get(key) for key in ('error_code', 'error_message')}
    return WebResult(number, _REFUSED, json.dumps(error).encode('ascii'))


def _by_id(kind: str, given: Mapping[str, Json]) -> dict[int, Json]:
    data = given.get('data')
    if not isinstance(data, dict):
        raise ProtocolError(f'{kind}: got {data!r}, expected an object')
    values: dict[int, Json] = {}
    for key, value in data.items():
        if not (key.isascii() and key.isdecimal() and len(key) <= 20) or int(key) >= _LARGEST_ID:
            raise ProtocolError(f'{kind}: got {key!r}, expected an id')
        values[int(key)] = value
    return values
