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
X-Plane's Web API over REST: requests and replies as JSON, see docs/wire/xplane_udp.md section 7.

Replies are untrusted: whatever is in them, they are read or raise ProtocolError. What X-Plane
refuses raises WebApiRefusedError.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
import json
import math
from typing import Any, Literal, Protocol, TypeAlias
from urllib.parse import quote

from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.common.text import printable

PORT = 8086
FIRST_WITH_WEB_API = 12
"""The first X-Plane with it, from 12.1.4 on."""

CONTENT_TYPE = 'application/json'
LONGEST_PRESS = 10.0
"""X-Plane holds a command for at most this long per request, in seconds."""

LARGEST_REPLY = 1 << 20
"""Maximum length of a reply in bytes: the largest datarefs have some thousand elements."""

DATA = 'data'
"""The type of datarefs that hold bytes, mostly text."""

NUMBERS = ('float', 'double', 'int')
ARRAYS = ('float_array', 'int_array')
TYPES = (*NUMBERS, *ARRAYS, DATA)

# Of the API: with /api/capabilities and commands (12.1.4); with flights (12.4).
_READ_BY = ('v3', 'v2')
_WITH_FLIGHTS = 'v3'
_FIRST_WITH_FLIGHTS = '12.4'

_OK = 200
_FORBIDDEN = 403
_NOT_FOUND = 404
_LONGEST_NAME = 500
# Servers take requests of 8000 characters, as RFC 9110 recommends.
_LONGEST_QUERY = 4000
_FILTER = len('&filter[name]=')

Kind = Literal['datarefs', 'commands']
Json: TypeAlias = Any


class WebResponse(Protocol):
    """An HTTP response."""

    @property
    def status(self) -> int:
        """Return the status code."""

    @property
    def body(self) -> bytes:
        """Return the content."""


class WebApiRefusedError(ValueError):
    """X-Plane refuses a request; ``code`` is its error code, '' if it gives none."""

    def __init__(self, text: str, status: int, code: str = '') -> None:
        super().__init__(printable(text, 400))
        self.status = status
        self.code = code

    @property
    def is_unknown(self) -> bool:
        """Return whether the name of a dataref or command is unknown."""
        return self.code in ('invalid_dataref_name', 'invalid_command_name')

    @property
    def is_stale(self) -> bool:
        """Return whether an id is not one of this run of X-Plane."""
        return self.code in ('invalid_dataref_id', 'invalid_command_id')

    @property
    def is_disabled(self) -> bool:
        """Return whether X-Plane refuses all requests, as its settings say."""
        return self.status == _FORBIDDEN and not self.code


@dataclass(frozen=True, slots=True)
class WebRequest:
    """A request by HTTP, or over the WebSocket; ``body`` is JSON."""

    method: str
    path: str
    body: bytes = b''
    connection: int = 0
    """Over the WebSocket: for which connection it is, since ids are those of a run of X-Plane."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Version of X-Plane, and versions of its Web API."""

    xplane: str
    apis: frozenset[str]

    @property
    def root(self) -> str:
        """Return the path of the latest version that is understood here."""
        for version in _READ_BY:
            if version in self.apis:
                return f'/api/{version}'
        raise ProtocolError(
            f'versions of the Web API: got {sorted(self.apis)}, expected one of {_READ_BY}')

    def check_flights(self) -> None:
        """Raise ValueError if this X-Plane cannot start flights by its Web API."""
        if _WITH_FLIGHTS not in self.apis:
            raise ValueError(
                f'X-Plane {self.xplane} cannot start flights by its Web API: '
                f'{_FIRST_WITH_FLIGHTS} and later can')


@dataclass(frozen=True, slots=True)
class DatarefInfo:
    """A dataref of one run of X-Plane; ``writable`` is None if X-Plane does not report it."""

    id: int
    name: str
    type: str
    writable: bool | None = None


# Requests.


def get_capabilities() -> WebRequest:
    """Ask for the versions."""
    return WebRequest('GET', '/api/capabilities')


def find(root: str, kind: Kind, *names: str) -> WebRequest:
    """
    Ask for the ids of datarefs or commands; X-Plane refuses all if it does not know one.

    Raises ValueError for an impossible name.
    """
    for name in names:
        check_name(name)
    query = '&'.join(f'filter[name]={quote(name, safe="")}' for name in names)
    return WebRequest('GET', f'{root}/{kind}?{query}')


def batches(names: Iterable[str]) -> list[list[str]]:
    """Return the names in parts of which each makes one request of a usual length."""
    parts: list[list[str]] = []
    room = 0
    for name in names:
        length = len(quote(name, safe='')) + _FILTER
        if length > room:
            parts.append([])
            room = _LONGEST_QUERY
        parts[-1].append(name)
        room -= length
    return parts


def check_name(name: str) -> None:
    """Raise ValueError for an impossible name of a dataref or command."""
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        raise ValueError(
            f'{printable(name, 60)!r}: expected a name of 1 to {_LONGEST_NAME} characters')


def count(root: str, kind: Kind) -> WebRequest:
    """Ask how many there are: none while no flight is loaded."""
    return WebRequest('GET', f'{root}/{kind}/count')


def get_value(root: str, dataref: DatarefInfo, index: int | None = None) -> WebRequest:
    """Ask for a value, or for one element of an array."""
    return WebRequest('GET', _value_path(root, dataref, index))


def set_value(
    root: str, dataref: DatarefInfo, value: Sequence[float] | bytes, index: int | None = None
) -> WebRequest:
    """Write a value: bytes to ``data``, all elements of an array, or one of them."""
    if isinstance(value, bytes):
        given: Json = b64encode(value).decode('ascii')
    else:
        numbers = [as_number(dataref, number) for number in value]
        given = numbers if dataref.type in ARRAYS and index is None else numbers[0]
    return WebRequest('PATCH', _value_path(root, dataref, index), _json({'data': given}))


def activate(root: str, command: int, duration: float) -> WebRequest:
    """Press a command for 0..10 s; 0 presses and releases it."""
    return WebRequest(
        'POST', f'{root}/command/{command}/activate', _json({'duration': float(duration)}))


def start_flight(root: str, flight: Mapping[str, Json]) -> WebRequest:
    """Start a flight."""
    return WebRequest('POST', f'{root}/flight', _json({'data': flight}))


def update_flight(root: str, flight: Mapping[str, Json]) -> WebRequest:
    """Change the flight that is under way."""
    return WebRequest('PATCH', f'{root}/flight', _json({'data': flight}))


def _value_path(root: str, dataref: DatarefInfo, index: int | None) -> str:
    query = '' if index is None else f'?index={index}'
    return f'{root}/datarefs/{dataref.id}/value{query}'


def as_number(dataref: DatarefInfo, value: float) -> float | int:
    """
    Return a number as JSON has it: whole for an int, else with a decimal point.

    Raises ValueError for one that the dataref cannot hold.
    """
    if not math.isfinite(value):
        raise ValueError(f'{dataref.name}: got {value}, JSON has finite numbers only')
    if not dataref.type.startswith('int'):
        return float(value)
    if value != round(value):
        raise ValueError(f'{dataref.name} holds whole numbers, got {value:g}')
    return round(value)


def _json(value: Json) -> bytes:
    return json.dumps(value, allow_nan=False).encode('ascii')


# Replies.


def check(what: str, reply: WebResponse) -> None:
    """Raise WebApiRefusedError unless the request was granted."""
    if reply.status == _OK:
        return
    try:
        given = _loads(what, reply.body)
    except ProtocolError:
        given = None
    if not isinstance(given, dict):
        given = {}
    code, text = (str(given.get(key, '')) for key in ('error_code', 'error_message'))
    if reply.status == _FORBIDDEN and not code:
        text = ('X-Plane refuses all requests (HTTP status 403): in its settings, on the page '
                'Network, do not select Disable Incoming Traffic')
    raise WebApiRefusedError(
        f'{what}: {text or f"HTTP status {reply.status}"}{f" ({code})" if code else ""}',
        reply.status, code)


def read_capabilities(reply: WebResponse) -> Capabilities:
    """Return the versions. Raises ValueError before 12.1.4."""
    if reply.status == _NOT_FOUND:
        raise ValueError('there is no /api/capabilities: X-Plane 12.1.4 and later have it; is '
                         'this another program?')
    check('capabilities', reply)
    given = _loads('capabilities', reply.body)
    try:
        version, apis = given['x-plane']['version'], given['api']['versions']
    except (KeyError, TypeError, IndexError) as error:
        raise ProtocolError(f'capabilities: got {given!r}, expected api and x-plane') from error
    if not isinstance(version, str) or not isinstance(apis, list):
        raise ProtocolError(f'capabilities: got {given!r}, expected the versions')
    return Capabilities(printable(version, 40), frozenset(str(api) for api in apis[:20]))


def read_dataref(name: str, reply: WebResponse) -> DatarefInfo:
    """Return id and type of a dataref."""
    item = _item(name, reply)
    kind, writable = item.get('value_type'), item.get('is_writable')
    if kind not in TYPES:
        raise ProtocolError(f'{name}: got type {kind!r}, expected one of {", ".join(TYPES)}')
    return DatarefInfo(
        _id(name, item), name, kind, writable if isinstance(writable, bool) else None)


def listed(names: Sequence[str], reply: WebResponse) -> list[str]:
    """Return which of these datarefs or commands a reply has."""
    items = _data(names[0], reply)
    if not isinstance(items, list):
        raise ProtocolError(f'{names[0]}: got {items!r}, expected a list')
    given = {item.get('name') for item in items if isinstance(item, dict)}
    return [name for name in names if name in given]


def read_command(name: str, reply: WebResponse) -> int:
    """Return the id of a command."""
    return _id(name, _item(name, reply))


def read_count(reply: WebResponse) -> int:
    """Return how many there are."""
    number = _data('count', reply)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ProtocolError(f'count: got {number!r}, expected a number')
    return number


def read_value(
    dataref: DatarefInfo, reply: WebResponse, index: int | None = None
) -> tuple[float, ...] | bytes:
    """Return the numbers of a dataref, a single one for an element, or its bytes."""
    return decode_value(dataref, _data(dataref.name, reply), is_element=index is not None)


def decode_value(
    dataref: DatarefInfo, value: Json, *, is_element: bool = False
) -> tuple[float, ...] | bytes:
    """Return the numbers of a dataref, or its bytes, from what JSON has for it."""
    if dataref.type == DATA and isinstance(value, str):
        try:
            return b64decode(value, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ProtocolError(f'{dataref.name}: got {value!r}, expected base64') from error
    is_array = dataref.type in ARRAYS and not is_element
    if dataref.type == DATA and not is_element or isinstance(value, list) != is_array:
        raise ProtocolError(f'{dataref.name}: got {value!r}, expected a {dataref.type}')
    return tuple(_float(dataref, number) for number in (value if is_array else [value]))


def _float(dataref: DatarefInfo, value: Json) -> float:
    """Return a number; JSON has no NaN, so null stands for it."""
    if value is None:
        return math.nan
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ProtocolError(f'{dataref.name}: got {value!r}, expected a number')
    try:
        return float(value)
    except OverflowError as error:
        raise ProtocolError(f'{dataref.name}: got a number beyond a double') from error


def _item(name: str, reply: WebResponse) -> dict[str, Json]:
    """Return the only item of a list, of this name."""
    items = _data(name, reply)
    if isinstance(items, list):
        for item in items:
            if isinstance(item, dict) and item.get('name') == name:
                return item
    raise ProtocolError(f'{name}: got {items!r}, expected a list with it')


def _id(name: str, item: Mapping[str, Json]) -> int:
    number = item.get('id')
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 64:
        raise ProtocolError(f'{name}: got id {number!r}, expected a number')
    return number


def _data(what: str, reply: WebResponse) -> Json:
    check(what, reply)
    given = _loads(what, reply.body)
    if not isinstance(given, dict) or 'data' not in given:
        raise ProtocolError(f'{what}: got {given!r}, expected an object with data')
    return given['data']


def _loads(what: str, body: bytes) -> Json:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f'{what}: got {body[:60]!r}, expected JSON') from error
