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
X-Plane's Web API for the simulated world, over REST, as in docs/wire/xplane_udp.md section 7.

It has no socket. Datarefs and commands are those of X-Plane's UDP here; flights start in the air
or on the ground at a position, since the world has no airports. Weather is accepted without
effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import json
import math
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from xplane_bridge.simulation.aircraft import terrain
from xplane_bridge.simulation.peers.world import DAYS_PER_YEAR, World
from xplane_bridge.simulation.peers.xplane.flight import aircraft_path
from xplane_bridge.simulation.peers.xplane_udp.web_socket import WebSocketPeer
from xplane_bridge.simulation.peers.xplane_udp.web_store import (
    HttpStatusError,
    is_number,
    json_object,
    WebStore,
)

APIS = {'v2': ('12.1.4', ('v1', 'v2')), 'v3': ('12.4.0', ('v1', 'v2', 'v3'))}
"""The latest version of the API -> that of X-Plane, and all of the API."""

DISABLED = 'disabled'
"""In place of a version: X-Plane is set to disable incoming traffic."""

_LONGEST_PRESS = 10.0
_STARTS = {'runway_start', 'ramp_start', 'lle_ground_start', 'lle_air_start', 'boat_start'}
_PRESET_SPEEDS = {'short_field_approach': 35.0, 'normal_approach': 40.0, 'cruise': 55.0}
_VALUE = re.compile(r'/datarefs/(\d{1,20})/value')
_ACTIVATE = re.compile(r'/command/(\d{1,20})/activate')
_SOCKET = re.compile(r'/api/(v\d)/?(?:\?.*)?')
_LIST = re.compile(r'/(datarefs|commands)(/count)?')

# What X-Plane answers when there is nothing to say; clients parse it.
_NOTHING = b'null'

Answer = tuple[int, bytes]


class SimulatedWebApi:
    """The Web API of a started X-Plane 12; ``api`` is a key of APIS, or DISABLED."""

    def __init__(self, world: World, api: str = 'v3') -> None:
        self._world = world
        self._api = api
        self.store = WebStore(world)

    def step(self) -> None:
        """Release the commands whose time is over."""
        self.store.step()

    def answer(self, method: str, target: str, body: bytes = b'') -> Answer:
        """Return status and content of the response to a request."""
        if self._api == DISABLED:
            return 403, b''
        try:
            return self._answer(method, target, body)
        except HttpStatusError as refused:
            return refused.status, _json(refused.fields)

    def join(self, target: str) -> WebSocketPeer | None:
        """Return a new WebSocket at a path, or None if there is none."""
        found = _SOCKET.fullmatch(target)
        if self._api == DISABLED or found is None or found[1] not in APIS[self._api][1]:
            return None
        return WebSocketPeer(self.store, has_commands=found[1] != 'v1')

    def _answer(self, method: str, target: str, body: bytes) -> Answer:
        try:
            split = urlsplit(target)
        except ValueError:
            return 404, b''
        path, query = split.path, parse_qs(split.query, keep_blank_values=True)
        version, apis = APIS[self._api]
        if (method, path) == ('GET', '/api/capabilities'):
            return 200, _json({'api': {'versions': apis}, 'x-plane': {'version': version}})
        api, path = path[5:7], path[7:]
        if not split.path.startswith('/api/') or api not in apis:
            return 404, b''
        if found := _VALUE.fullmatch(path):
            return self._value(method, int(found[1]), _index(query), body)
        if api != 'v1' and method == 'POST' and (found := _ACTIVATE.fullmatch(path)):
            return self._activate(int(found[1]), json_object(body))
        if method == 'GET' and (found := _LIST.fullmatch(path)) and (
                api != 'v1' or found[1] == 'datarefs'):
            return self._count(found[1]) if found[2] else self._list(found[1], query)
        if api == 'v3' and path == '/flight' and method in ('POST', 'PATCH'):
            given = _member(json_object(body), 'data', dict, 'data')
            self._flight(given, starts=method == 'POST')
            return 200, _NOTHING
        return 404, b''

    # Lists.

    def _count(self, kind: str) -> Answer:
        return 200, _json({'data': len(self.store.ids[kind])})

    def _list(self, kind: str, query: Mapping[str, Sequence[str]]) -> Answer:
        ids = self.store.ids[kind]
        names = query.get('filter[name]', list(ids))
        for name in names:
            if name not in ids:
                what = kind.removesuffix('s')
                raise HttpStatusError(
                    404, f'invalid_{what}_name', f"{what.capitalize()} {name} doesn't exist")
        start = _read_count(query, 'start', 0)
        limit = _read_count(query, 'limit', len(names))
        if start > len(names):
            raise HttpStatusError(400, 'start_out_of_range', 'Start out of range')
        items = [self.store.item(kind, name) for name in names[start:start + limit]]
        fields = query.get('fields', ['all'])[0].split(',')
        if fields != ['all']:
            for field in fields:
                if items and field not in items[0]:
                    raise HttpStatusError(400, 'invalid_field', f'Field {field} does not exist')
            items = [{field: item[field] for field in fields} for item in items]
        return 200, _json({'data': items})

    # Values.

    def _value(self, method: str, number: int, index: int | None, body: bytes) -> Answer:
        name = self.store.name(number, 'datarefs')
        if index is not None:
            self.store.check_indices(name, (index,))
        if method == 'GET':
            shown = self.store.read(name)
            return 200, _json({'data': shown if index is None else shown[index]})
        if method != 'PATCH':
            return 404, b''
        self.store.write(name, json_object(body).get('data'), index, 'incompatible_data')
        return 200, _NOTHING

    # Commands.

    def _activate(self, number: int, given: Mapping[str, Any]) -> Answer:
        name = self.store.name(number, 'commands')
        if 'duration' not in given:
            raise HttpStatusError(400, 'duration_missing', 'Missing duration parameter')
        duration = given['duration']
        if not is_number(duration) or not 0.0 <= duration <= _LONGEST_PRESS:
            raise HttpStatusError(
                400, 'duration_out_of_range', 'Duration is out of valid range')
        if duration == 0.0:
            self.store.press(name)
        else:
            # Overlapping presses count separately.
            self.store.hold(object(), name, duration)
        return 200, _NOTHING

    # Flights.

    def _flight(self, given: Mapping[str, Any], *, starts: bool) -> None:
        places = _STARTS & given.keys()
        if len(places) != starts or ('aircraft' in given) != starts:
            raise _invalid('aircraft and one start' if starts else ', '.join(
                sorted(places)) or 'aircraft')
        weather = given.get('weather', 'use_real_weather')
        if weather != 'use_real_weather' and not isinstance(weather, dict):
            raise _invalid('weather')
        hours, date = None, None
        if 'gmt_time' in given:
            time = _member(given, 'gmt_time', dict, 'gmt_time')
            hours = _float(time, 'time_in_24_hours', 0.0, 24.0)
            if 'day_of_year' in time:
                date = int(_float(time, 'day_of_year', 0.0, DAYS_PER_YEAR))
        if starts:
            self._check_aircraft(_member(given, 'aircraft', dict, 'aircraft'))
            place = places.pop()
            begin = {'lle_air_start': self._in_the_air, 'lle_ground_start': self._on_the_ground}
            if place not in begin:
                raise HttpStatusError(
                    400, 'missing_scenery', 'All or some scenery for the requested conditions is '
                    'missing')
            begin[place](_member(given, place, dict, place))
        if hours is not None:
            self._world.zulu_time = hours * 3600.0
        if date is not None:
            self._world.zulu_date = date % DAYS_PER_YEAR

    def _check_aircraft(self, given: Mapping[str, Any]) -> None:
        path = _member(given, 'path', str, 'aircraft.path')
        if path != aircraft_path(self._world.aircraft.model):
            raise HttpStatusError(400, 'missing_aircraft', f"Aircraft {path} doesn't exist")
        if livery := given.get('livery'):
            raise HttpStatusError(400, 'missing_livery', f"Livery {livery} doesn't exist")

    def _in_the_air(self, given: Mapping[str, Any]) -> None:
        lat, lon, heading = _place(given)
        altitude = _float(given, 'elevation_in_meters', -1000.0, 100_000.0)
        if ('speed_enum' in given) == ('speed_in_meters_per_second' in given):
            raise _invalid('speed_in_meters_per_second')
        if 'speed_enum' in given:
            speed = _PRESET_SPEEDS.get(str(given['speed_enum']), math.nan)
            if math.isnan(speed):
                raise _invalid('speed_enum')
        else:
            speed = _float(given, 'speed_in_meters_per_second', 0.0, 1000.0)
        world = self._world
        world.freeze(0, False)
        try:
            world.trim_at(lat, lon, altitude, heading, speed)
        except ValueError:
            world.teleport(0, lat, lon, altitude, 0.0, 0.0, heading)
            world.aircraft.teleport(speed=min(speed, 400.0))
        world.flight_time = 0.0

    def _on_the_ground(self, given: Mapping[str, Any]) -> None:
        lat, lon, heading = _place(given)
        world = self._world
        world.freeze(0, False)
        ground = terrain.elevation_around(world.aircraft.initial.airfield, lat, lon)
        world.teleport(0, lat, lon, ground, 0.0, 0.0, heading)
        world.aircraft.teleport(speed=0.0)
        world.aircraft.set_controls(parking_brake=1.0)
        world.flight_time = 0.0


def _invalid(field: str) -> HttpStatusError:
    return HttpStatusError(400, 'invalid_value', f'The value provided for {field} is not valid')


def _place(given: Mapping[str, Any]) -> tuple[float, float, float]:
    return (_float(given, 'latitude', -90.0, 90.0), _float(given, 'longitude', -180.0, 180.0),
            _float(given, 'heading_true', 0.0, 360.0))


def _float(given: Mapping[str, Any], key: str, low: float, high: float) -> float:
    value: Any = given.get(key)
    if not is_number(value) or not low <= value <= high:
        raise _invalid(key)
    return float(value)


def _member(given: Mapping[str, Any], key: str, kind: type, what: str) -> Any:
    value = given.get(key)
    if not isinstance(value, kind):
        raise _invalid(what)
    return value


def _index(query: Mapping[str, Sequence[str]]) -> int | None:
    if 'index' not in query:
        return None
    text = query['index'][0]
    return int(text) if text.isdecimal() and len(text) < 10 else -1


def _read_count(query: Mapping[str, Sequence[str]], key: str, default: int) -> int:
    text = query.get(key, [str(default)])[0]
    if not text.isdecimal() or len(text) > 9:
        raise HttpStatusError(400, f'{key}_out_of_range', f'{key.capitalize()} out of range')
    return int(text)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode('ascii')
