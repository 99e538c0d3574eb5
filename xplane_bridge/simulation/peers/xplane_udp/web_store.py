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
What stands behind the Web API of the simulated X-Plane, both by REST and by WebSocket.

Datarefs and commands have ids, which differ from run to run; commands are held by whoever
pressed them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
import binascii
from collections.abc import Collection, Mapping
import itertools
import json
import math
from typing import Any

from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.commands import Commands
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore
from xplane_bridge.simulation.peers.xplane.entries import DatarefType

_TYPES = {
    DatarefType.FLOAT: 'float', DatarefType.DOUBLE: 'double', DatarefType.INT: 'int',
    DatarefType.FLOAT_ARRAY: 'float_array', DatarefType.INT_ARRAY: 'int_array',
    DatarefType.BYTES: 'data'}

# Ids differ from run to run, as X-Plane's do.
_RUNS = itertools.count(1)
_IDS_PER_RUN = 1_000_000
_FIRST_COMMAND = 500_000


class HttpStatusError(Exception):
    """A request that X-Plane refuses: HTTP status, code and text."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.code = code

    @property
    def fields(self) -> dict[str, str]:
        """Return what both ways of the API tell of it."""
        return {'error_code': self.code, 'error_message': str(self)}


class WebStore:
    """The datarefs and commands of a started X-Plane 12."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._store = DatarefStore(world, 12)
        self._commands = Commands(world)
        first = next(_RUNS) * _IDS_PER_RUN
        self.ids: dict[str, dict[str, int]] = {
            'datarefs': {name: first + n for n, name in enumerate(self._store.names)},
            'commands': {name: first + _FIRST_COMMAND + n
                         for n, name in enumerate(sorted(self._commands.names))}}
        self._names = {number: name for ids in self.ids.values() for name, number in ids.items()}
        # Who holds which command, and until when.
        self._holds: dict[tuple[object, str], float] = {}

    def step(self) -> None:
        """Release the commands whose time is over."""
        now = self.world.network_time
        self._release([hold for hold, until in self._holds.items() if until <= now])

    def item(self, kind: str, name: str) -> dict[str, Any]:
        """Return what a list says of a dataref or command."""
        item: dict[str, Any] = {'id': self.ids[kind][name], 'name': name}
        if kind == 'commands':
            return item | {'description': name.rpartition('/')[2].replace('_', ' ')}
        type_ = self._store.type_of(name)
        assert type_ is not None
        return item | {
            'value_type': _TYPES[type_], 'is_writable': self._store.is_writable(name)}

    def name(self, number: int, kind: str) -> str:
        """Return the name of a dataref or command. Raises HttpStatusError."""
        name = self._names.get(number, '')
        if name not in self.ids[kind]:
            what = kind.removesuffix('s')
            raise HttpStatusError(
                404, f'invalid_{what}_id', f"{what.capitalize()} {number} doesn't exist")
        return name

    # Datarefs.

    def check_indices(self, name: str, indices: Collection[int]) -> None:
        """Raise HttpStatusError unless these are elements of a dataref."""
        value = self._store.read(name)
        assert value is not None
        if indices and (not value.type.is_array or value.type is DatarefType.BYTES):
            raise HttpStatusError(
                400, 'not_an_array', 'An index was provided but the dataref is not an array')
        if not all(0 <= index < len(value.values) for index in indices):
            raise HttpStatusError(400, 'index_out_of_range', 'Dataref array index out of range')

    def read(self, name: str) -> Any:
        """Return a value as JSON has it: a number, a list of numbers, or base64."""
        value = self._store.read(name)
        assert value is not None
        if value.type is DatarefType.BYTES:
            return b64encode(bytes(int(byte) for byte in value.values)).decode('ascii')
        shown = [number if math.isfinite(number) else None for number in value.values]
        return shown if value.type.is_array else shown[0]

    def write(self, name: str, given: Any, index: int | None, too_few: str) -> None:
        """
        Write a value; ``too_few`` is the code for one of another size.

        Raises HttpStatusError.
        """
        if index is not None:
            self.check_indices(name, (index,))
        if not self._store.is_writable(name):
            raise HttpStatusError(
                403, 'dataref_is_readonly', 'Attempted to write to a read-only dataref')
        value = self._store.read(name)
        assert value is not None
        is_whole = value.type.is_array and index is None
        values = given if is_whole else [given]
        if value.type is DatarefType.BYTES and isinstance(given, str):
            try:
                values = list(b64decode(given, validate=True))
            except (binascii.Error, ValueError):
                values = None
        size = len(value.values) if is_whole else 1
        if not isinstance(values, list) or len(values) != size or not all(map(is_number, values)):
            raise HttpStatusError(
                400, too_few, 'Provided data is too much or not enough to set all elements')
        self._store.write(name, values, index or 0)

    # Commands.

    def is_active(self, name: str) -> bool:
        """Return whether a command is held, by whomever."""
        return name in self.world.held

    def press(self, name: str) -> None:
        """Press and release a command."""
        self._commands.run(name)

    def hold(self, holder: object, name: str, seconds: float = math.inf) -> None:
        """Hold a command for ``holder``, who may hold it already, for so long from now."""
        if not self._is_held(name):
            self._commands.run(name, 'begin')
        self._holds[holder, name] = self.world.network_time + seconds

    def release(self, holder: object, name: str | None = None) -> None:
        """Release a command of ``holder``, or all of his; none is fine."""
        self._release([hold for hold in self._holds
                       if hold[0] is holder and name in (None, hold[1])])

    def _release(self, holds: list[tuple[object, str]]) -> None:
        for hold in holds:
            del self._holds[hold]
            if not self._is_held(hold[1]):
                self._commands.run(hold[1], 'end')

    def _is_held(self, name: str) -> bool:
        return any(held == name for _, held in self._holds)


def is_number(value: Any) -> bool:
    """Return whether JSON has a number here that fits a double."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def json_object(text: bytes | str) -> Mapping[str, Any]:
    """Return the object of a request. Raises HttpStatusError."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise HttpStatusError(400, 'invalid_body', 'The request body is not valid JSON')
    return given
