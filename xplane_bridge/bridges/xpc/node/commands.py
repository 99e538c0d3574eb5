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

"""Commands and services of xpc_node specific to X-Plane Connect."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
import math
from typing import Any

from std_srvs.srv import SetBool, Trigger

from xplane_bridge.bridges.conversions import axes
from xplane_bridge.bridges.conversions.geoid import ellipsoid_to_msl, msl_to_ellipsoid, Undulation
from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.bridges.conversions.vehicle import VehicleState
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.nodes.common.lists import check_count, dataref_values, named
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.bridges.nodes.vehicle.controls import POSE_MASK
from xplane_bridge.bridges.sessions.base import CommandDone, ReadDone
from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.node.messages import Publisher
from xplane_bridge.bridges.xpc.node.parameters import XpcParameters
from xplane_bridge.bridges.xpc.session import to_requests, XpcSession
from xplane_bridge.common.units import DEGREE
from xplane_bridge.msg import (
    AircraftPose,
    CameraView,
    Datarefs,
    DataRows,
    ScreenText,
    Waypoints,
)
from xplane_bridge.srv import (
    GetDatarefs,
    GetTerrain,
    PlaceAndProbe,
    RunCommand,
    SetDatarefs,
)

# Queue depth for commands that must all arrive.
_DEPTH = 10

# How often set_datarefs writes what does not read back as written.
_WRITES = 6
# Tolerance for a value after a round trip as float32.
_READ_BACK_TOLERANCE = 1e-5

_ANGLES = ('roll', 'pitch', 'true_heading')
# Degrees and radians. The altitude's range is X-Plane Connect's, the gear's the message's.
_LARGEST = {
    'latitude': 90.0, 'longitude': 180.0, 'roll': math.pi, 'pitch': math.pi / 2.0,
    'true_heading': math.tau}

_TEXT = Mask(ScreenText, {'TEXT': ('text',), 'POSITION': ('x', 'y')}, needs='TEXT')
_VIEW = Mask(CameraView, needs='VIEW')
_PLACE = Mask(GetTerrain.Request, {'POSITION': ('latitude', 'longitude', 'altitude')})
_OPERATIONS = (Waypoints.ADD, Waypoints.REMOVE, Waypoints.CLEAR)
# The plugin's default text position.
_DEFAULT_PLACE = -1

_ACTIONS = {
    RunCommand.Request.ONCE: xpc.CommandOnce,
    RunCommand.Request.BEGIN: xpc.CommandBegin,
    RunCommand.Request.END: xpc.CommandEnd,
}


class XpcCommands:
    """
    Subscriptions and services of one xpc_node; each checks, converts and sends.

    ``publisher`` knows the current state, and the origin of X-Plane's local axes.
    """

    def __init__(
        self, node: Bridge[XpcParameters, XpcSession], undulation: Undulation,
        publisher: Publisher,
    ) -> None:
        self._node = node
        self._session = node.session
        self._link = node.link
        self._undulation = undulation
        self._publisher = publisher
        for number in node.parameters.aircraft:
            self._for_aircraft(number)
        node.make_command(Datarefs, 'command/datarefs', self._datarefs, _DEPTH)
        node.make_command(DataRows, 'command/data', self._data, _DEPTH)
        node.make_command(ScreenText, 'command/text', self._text)
        node.make_command(CameraView, 'command/view', self._view)
        node.make_command(Waypoints, 'command/waypoints', self._waypoints, _DEPTH)
        node.make_service(GetDatarefs, 'get_datarefs', self._get_datarefs)
        node.make_service(SetDatarefs, 'set_datarefs', self._set_datarefs)
        node.make_service(RunCommand, 'run_command', self._run_command)
        node.make_service(GetTerrain, 'get_terrain', self._get_terrain)
        node.make_service(PlaceAndProbe, 'place_and_probe', self._place_and_probe)
        node.make_service(SetBool, 'pause', self._pause)
        node.make_service(Trigger, 'toggle_pause', self._toggle_pause)
        node.make_service(Trigger, 'release_all', self._release_all)

    def _for_aircraft(self, number: int) -> None:
        prefix = self._node.parameters.prefix_of(number)
        topic = f'{prefix}command/pose'

        def place(message: AircraftPose) -> None:
            self._send(topic, self._position(xpc.Position, number, message))

        async def pause(request: SetBool.Request, response: SetBool.Response) -> None:
            base = (
                xpc.SimulationOp.PAUSE_AIRCRAFT if request.data
                else xpc.SimulationOp.RUN_AIRCRAFT
            )
            await self._do(xpc.Simulation(base + number), response)

        self._node.make_command(AircraftPose, topic, place)
        self._node.make_service(
            SetBool, f'{prefix or f"aircraft_{number}/"}pause', pause)

    def _send(self, what: str, *messages: xpc.Request) -> None:
        """Send commands of the topic ``what``, all or none. Raises ValueError."""
        self._link.call(partial(self._session.send, what=what), messages)

    async def _do(self, message: xpc.Request, response: Any) -> None:
        """Send a command for a service, and wait until X-Plane shows it, if it can."""
        done: CommandDone = await self._node.pending.wait(
            self._link.call, partial(self._session.send, awaited=True), message)
        response.success = True
        response.message = done.message

    async def _read(self, ask: Callable[..., int], wanted: Any) -> tuple[Any, ...]:
        """Read with ``ask(wanted, now)`` without blocking; ValueError if it fails."""
        done: ReadDone = await self._node.pending.wait(self._link.call, ask, wanted)
        return done.values

    # Topics.

    def _datarefs(self, message: Datarefs) -> None:
        self._send('command/datarefs', xpc.SetDatarefs(tuple(
            dataref_values(message.names, message.sizes, message.values))))

    def _data(self, message: DataRows) -> None:
        count = len(message.rows)
        if not count:
            raise ValueError('no row given')
        check_count('rows', count, xpc.MAX_DATA_ROWS)
        if len(message.values) != 8 * count:
            raise ValueError(
                f'{count} rows need {8 * count} values, got {len(message.values)}')
        self._send('command/data', *to_requests(
            (row, message.values[8 * place:8 * place + 8])
            for place, row in enumerate(message.rows)))

    def _text(self, message: ScreenText) -> None:
        given = _TEXT.given(message)
        self._send('command/text', xpc.Text(
            given.get('x', _DEFAULT_PLACE), given.get('y', _DEFAULT_PLACE), given['text']))

    def _view(self, message: CameraView) -> None:
        given = _VIEW.given(message)
        view = given.pop('view')
        # The plugin presses other keys too, X-Plane's pause among them.
        if not xpc.View.FORWARD <= view <= xpc.View.FULL_SCREEN:
            raise ValueError(
                f'view {view} is not in {xpc.View.FORWARD} .. {xpc.View.FULL_SCREEN}')
        self._send(
            'command/view', xpc.SetView(view, _camera(view, **given) if given else None))

    def _waypoints(self, message: Waypoints) -> None:
        if message.operation not in _OPERATIONS:
            raise ValueError(f'operation {message.operation} is not one of ADD, REMOVE, CLEAR')
        columns = (message.latitude, message.longitude, message.altitude_msl)
        if len({len(column) for column in columns}) != 1:
            raise ValueError(
                'latitude, longitude and altitude_msl must have one value per point, got '
                + ', '.join(str(len(column)) for column in columns))
        check_count('points', len(message.latitude), xpc.MAX_WAYPOINTS)
        points = tuple(zip(*columns, strict=True))
        if not points and message.operation != Waypoints.CLEAR:
            raise ValueError('no point given')
        self._send('command/waypoints', xpc.EditWaypoints(message.operation, points))

    # Services.

    async def _get_datarefs(
        self, request: GetDatarefs.Request, response: GetDatarefs.Response
    ) -> None:
        rows = await self._read(self._session.read_datarefs, request.names)
        response.sizes = array('I', map(len, rows))
        response.values = array('f', [value for row in rows for value in row])
        unknown = [name for name, row in zip(request.names, rows, strict=True) if not row]
        response.success = True
        response.message = f'unknown datarefs: {named(unknown)}' if unknown else ''

    async def _set_datarefs(
        self, request: SetDatarefs.Request, response: SetDatarefs.Response
    ) -> None:
        items = dataref_values(request.names, request.sizes, request.values)
        # One that was lost is sent again; but X-Plane may keep a value for itself.
        for _ in range(_WRITES):
            await self._do(xpc.SetDatarefs(tuple(items)), response)
            rows = await self._read(self._session.read_datarefs, request.names)
            wrong = _differences(items, rows)
            if not wrong or not all(rows):
                break
        response.success = not wrong
        response.message = named(wrong, '; ')

    async def _run_command(
        self, request: RunCommand.Request, response: RunCommand.Response
    ) -> None:
        if request.action not in _ACTIONS:
            raise ValueError(f'action {request.action} is not one of ONCE, BEGIN, END')
        if request.duration:
            raise ValueError('duration: xplane_udp_node has it; here END ends what BEGIN begins')
        await self._do(_ACTIONS[request.action]((request.name,)), response)

    async def _get_terrain(
        self, request: GetTerrain.Request, response: GetTerrain.Response
    ) -> None:
        # A read changes nothing, so here a command that sets nothing has a meaning.
        if request.fields:
            given = _PLACE.given(request)
            _check_ranges(given)
            latitude, longitude, altitude = given.values()
            wanted = xpc.GetTerrain(
                request.aircraft, latitude, longitude,
                self._to_msl(latitude, longitude, altitude))
        else:
            wanted = xpc.GetTerrain(request.aircraft)
        self._fill_terrain(response, await self._probe(wanted))

    async def _place_and_probe(
        self, request: PlaceAndProbe.Request, response: PlaceAndProbe.Response
    ) -> None:
        wanted = self._position(xpc.PlaceAndProbe, request.aircraft, request.pose)
        self._fill_terrain(response, await self._probe(wanted))

    async def _pause(self, request: SetBool.Request, response: SetBool.Response) -> None:
        op = xpc.SimulationOp.PAUSE if request.data else xpc.SimulationOp.RUN
        await self._do(xpc.Simulation(op), response)

    async def _toggle_pause(self, _: Trigger.Request, response: Trigger.Response) -> None:
        await self._do(xpc.Simulation(xpc.SimulationOp.TOGGLE), response)

    async def _release_all(self, _: Trigger.Request, response: Trigger.Response) -> None:
        done: CommandDone = await self._node.pending.wait(
            self._link.call, self._session.release_all)
        self._node.all_is_given_back()
        response.success = True
        response.message = done.message

    # Conversions.

    def _position(self, kind: type[Any], number: int, pose: AircraftPose) -> Any:
        """Return a POSI or POST for a pose; unset values are left unchanged."""
        if number not in range(xpc.AIRCRAFT_COUNT):
            raise ValueError(f'aircraft {number} is not in 0 .. {xpc.AIRCRAFT_COUNT - 1}')
        given = POSE_MASK.given(pose)
        _check_ranges(given)
        latitude, longitude, altitude = map(given.get, ('latitude', 'longitude', 'altitude'))
        state = self._publisher.last_state(number)
        place = None
        if latitude is not None and longitude is not None:
            place = latitude, longitude
        elif state is not None:
            place = (
                state.latitude_deg if latitude is None else latitude,
                state.longitude_deg if longitude is None else longitude)
        angles: Sequence[float | None] = [given.get(name) for name in _ANGLES]
        if place is not None:
            angles = self._to_local(angles, place, state)
        if altitude is not None:
            if place is None:
                raise ValueError(
                    'altitude: the height of sea level there is unknown until telemetry of this '
                    'aircraft has arrived; set LATITUDE and LONGITUDE too')
            altitude = self._to_msl(*place, altitude)
        roll, pitch, heading = (None if angle is None else angle / DEGREE for angle in angles)
        return kind(
            aircraft=number, lat=latitude, lon=longitude, alt=altitude, roll=roll, pitch=pitch,
            heading=heading, gear=given.get('gear'))

    def _to_local(
        self, angles: Sequence[float | None], place: tuple[float, float],
        state: VehicleState | None,
    ) -> Sequence[float | None]:
        """
        Return roll, pitch and heading relative to X-Plane's local axes, as the plugin writes.

        Those that are not given keep the aircraft's current values. Far from the origin of these
        axes one angle changes the other two as well, so if one is given all are written.
        """
        if all(angle is None for angle in angles):
            return angles
        origin = self._publisher.local_origin()
        if origin is None or state is None or state.orientation is None:
            return angles
        own = axes.quaternion_to_euler(axes.enu_flu_to_ned_frd(state.orientation))
        roll, pitch, heading = (
            now if angle is None else angle for angle, now in zip(angles, own, strict=True))
        attitude = roll, pitch, heading
        if not all(map(math.isfinite, (*attitude, *place))):
            return angles
        return xplane.local_attitude(attitude, place, origin)

    def _to_msl(self, latitude: float, longitude: float, altitude: float) -> float:
        """Return an altitude above mean sea level."""
        return ellipsoid_to_msl(altitude, self._undulation.height_m(latitude, longitude))

    async def _probe(self, wanted: xpc.GetTerrain | xpc.PlaceAndProbe) -> xpc.Terrain:
        terrain: xpc.Terrain
        (terrain,) = await self._read(self._session.read_terrain, wanted)
        if terrain.status != xpc.TerrainStatus.HIT:
            raise ValueError(
                'the probe found no terrain there'
                if terrain.status == xpc.TerrainStatus.MISSED
                else f'the probe failed with status {terrain.status}')
        return terrain

    def _fill_terrain(self, response: Any, terrain: xpc.Terrain) -> None:
        response.success = True
        response.latitude = terrain.lat
        response.longitude = terrain.lon
        response.altitude = msl_to_ellipsoid(
            terrain.alt, self._undulation.height_m(terrain.lat, terrain.lon))
        place = terrain.lat, terrain.lon
        turn = axes.enu_to_enu_rotation(*(self._publisher.local_origin() or place), *place)
        normal, velocity = response.normal, response.velocity
        normal.x, normal.y, normal.z = axes.rotate(
            turn, axes.opengl_to_enu(terrain.normal))
        velocity.x, velocity.y, velocity.z = axes.rotate(
            turn, axes.opengl_to_enu(terrain.velocity or (0.0, 0.0, 0.0)))
        response.is_wet = bool(terrain.is_wet)


def _check_ranges(given: Mapping[str, Any]) -> None:
    """Raise ValueError for a place or an angle that cannot be."""
    for name, largest in _LARGEST.items():
        if not -largest <= given.get(name, 0.0) <= largest:
            raise ValueError(f'{name} {given[name]:g} is not in {-largest:g} .. {largest:g}')


def _differences(
    items: Sequence[tuple[str, Sequence[float]]], rows: Sequence[Sequence[float]]
) -> list[str]:
    """Return where datarefs do not read back as they were written."""
    wrong = []
    for (name, wanted), row in zip(items, rows, strict=True):
        if not row:
            wrong.append(f'{name} is unknown')
        elif len(row) < len(wanted):
            wrong.append(f'{name} holds only {len(row)} of the {len(wanted)} values')
        elif not all(
            math.isclose(value, got, rel_tol=_READ_BACK_TOLERANCE, abs_tol=1e-6)
            for value, got in zip(wanted, row, strict=False)
        ):
            wrong.append(f'{name} reads back as {[round(value, 6) for value in row]}')
    return wrong


def _camera(
    view: int, location: Sequence[float] | None = None, direction: Sequence[float] | None = None,
    zoom: float = 1.0,
) -> xpc.Camera:
    """Return the camera of a view; ValueError if the plugin would place it differently."""
    if view not in (xpc.View.RUNWAY, xpc.View.CHASE):
        raise ValueError(f'view {view}: only RUNWAY and CHASE place a camera')
    if location is None:
        raise ValueError('DIRECTION and ZOOM need LOCATION, as a camera is placed as a whole')
    if zoom <= 0.0:
        raise ValueError(f'zoom {zoom:g} is not above 0; 1 is no zoom')
    x, y, z = map(float, location)
    if direction is None:
        return xpc.Camera((x, y, z), (None, None, None), zoom)
    roll, pitch, heading = (angle / DEGREE for angle in map(float, direction))
    return xpc.Camera((x, y, z), (roll, pitch, heading), zoom)
