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

"""Commands and services of xplane_udp_node other than command/controls."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import partial
import math

from rclpy.parameter import Parameter
from std_srvs.srv import SetBool

from xplane_bridge.bridges.nodes.common.lists import check_count, dataref_values, named
from xplane_bridge.bridges.nodes.vehicle.bridge import Bridge
from xplane_bridge.bridges.nodes.vehicle.controls import check_control, POSE_MASK
from xplane_bridge.bridges.protocols.base import Message
from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_VEHS
from xplane_bridge.bridges.sessions.base import CommandDone, ReadDone
from xplane_bridge.bridges.xplane_udp import protocol as xplane_udp
from xplane_bridge.bridges.xplane_udp.node.parameters import XplaneUdpParameters
from xplane_bridge.bridges.xplane_udp.node.poses import check_pose, Poses
from xplane_bridge.bridges.xplane_udp.node.web_api import WebApi
from xplane_bridge.bridges.xplane_udp.protocol import INTEGER_INPUTS, MOST_ROWS, VALUES_PER_ROW
from xplane_bridge.bridges.xplane_udp.session import XplaneUdpSession
from xplane_bridge.msg import AircraftPose, Datarefs, DataRows
from xplane_bridge.srv import GetDatarefs, RunCommand, SelectRows, SetDatarefs

# Queue depth for commands that must all arrive.
_DEPTH = 10

# Tolerance for a value after a round trip as float32.
_READ_BACK_TOLERANCE = 1e-5

_BY_POSITION = 6
_SHOWN = 'X-Plane shows it'
_SENT = 'sent; this protocol cannot confirm it'


class XplaneUdpCommands:
    """
    Subscriptions and services of one xplane_udp_node; each checks, converts and sends.

    ``web`` holds commands.
    """

    def __init__(
        self, node: Bridge[XplaneUdpParameters, XplaneUdpSession], poses: Poses, web: WebApi
    ) -> None:
        self._node = node
        self._session = node.session
        self._link = node.link
        self._pending = node.pending
        self._poses = poses
        self._web = web
        node.make_command(AircraftPose, 'command/pose', self._pose)
        node.make_command(Datarefs, 'command/datarefs', self._datarefs, _DEPTH)
        node.make_command(DataRows, 'command/data', self._data, _DEPTH)
        node.make_service(GetDatarefs, 'get_datarefs', self._get_datarefs)
        node.make_service(SetDatarefs, 'set_datarefs', self._set_datarefs)
        node.make_service(RunCommand, 'run_command', self._run_command)
        node.make_service(SelectRows, 'select_rows', self._select_rows)
        node.make_service(SetBool, 'pause', self._pause)

    def _send(self, what: str, *messages: Message) -> None:
        self._link.call(partial(self._session.send, what=what), messages)

    async def _send_and_wait(self, what: str, *messages: Message) -> None:
        """Send, and return when all have been sent. Raises ValueError if that fails."""
        await self._pending.wait(
            self._link.call, partial(self._session.send, what=what, awaited=True), messages)

    async def _read(self, names: Sequence[str]) -> tuple[float | None, ...]:
        """Read datarefs without blocking. Raises ValueError if that fails."""
        done: ReadDone = await self._pending.wait(
            self._link.call, self._session.read_datarefs, names)
        return done.values

    # Topics.

    def _datarefs(self, message: Datarefs) -> None:
        self._send('command/datarefs', *_writes(
            dataref_values(message.names, message.sizes, message.values)))

    def _data(self, message: DataRows) -> None:
        count = len(message.rows)
        if not count:
            raise ValueError('no row given')
        check_count('rows', count, MOST_ROWS)
        if len(message.values) != VALUES_PER_ROW * count:
            raise ValueError(
                f'{count} rows need {VALUES_PER_ROW * count} values, got {len(message.values)}')
        values = [None if math.isnan(value) else value for value in message.values]
        integers = INTEGER_INPUTS.get(self._session.version or 0, {})
        self._send('command/data', xplane_udp.Data(tuple(
            xplane_udp.Segment(
                row, tuple(values[VALUES_PER_ROW * place:VALUES_PER_ROW * (place + 1)]),
                integers.get(row, ()))
            for place, row in enumerate(message.rows))))

    def _pose(self, message: AircraftPose) -> None:
        given = POSE_MASK.given(message)
        gear = given.pop('gear', None)
        check_pose(given)
        if gear is not None:
            check_control('gear', gear)
        if given:
            self._place(given)
        if gear is not None:
            self._link.call(self._session.set_controls, {'gear': gear})

    def _place(self, given: Mapping[str, float]) -> None:
        kind = self._node.parameters.pose_message
        version = self._session.version
        if kind == 'auto':
            kind = 'vehs' if version is not None and version >= FIRST_WITH_VEHS else 'prel'
        if kind == 'vehs' and version is not None and version < FIRST_WITH_VEHS:
            raise ValueError(f'X-Plane {version} does not support VEHS; use vehx or prel')
        if kind == 'prel' and not given.keys().isdisjoint(('roll', 'pitch')):
            raise ValueError(
                'PREL starts a level flight, without ROLL or PITCH; pose_message: vehx has them')
        lat, lon, altitude = self._poses.position(given)
        roll, pitch, heading = self._poses.attitude(given)
        if kind == 'prel':
            self._send('command/pose', xplane_udp.Prel(
                _BY_POSITION, lat=lat, lon=lon, ele_m=altitude, psi_true=heading,
                speed_m_s=self._poses.airspeed()))
        else:
            place = xplane_udp.Vehs if kind == 'vehs' else xplane_udp.Vehx
            self._send('command/pose', place(0, lat, lon, altitude, heading, pitch, roll))

    # Services.

    async def _get_datarefs(
        self, request: GetDatarefs.Request, response: GetDatarefs.Response
    ) -> None:
        values = await self._read(request.names)
        response.sizes = array('I', [value is not None for value in values])
        response.values = array('f', [value for value in values if value is not None])
        unknown = [name for name, value in zip(request.names, values, strict=True)
                   if value is None]
        response.success = True
        response.message = f'no answer: {named(unknown)}' if unknown else ''

    async def _set_datarefs(
        self, request: SetDatarefs.Request, response: SetDatarefs.Response
    ) -> None:
        items = dataref_values(request.names, request.sizes, request.values)
        elements = [element for item in items for element in _elements(*item)]
        # Once: a dataref that moves, like a position, must not be held by writing it again.
        await self._send_and_wait('set_datarefs', *_writes(items))
        values = await self._read([name for name, _ in elements])
        wrong = [text for (name, wanted), got in zip(elements, values, strict=True)
                 if (text := _difference(name, wanted, got))]
        response.success = not wrong
        response.message = f'sent; not shown: {named(wrong, "; ")}' if wrong else _SHOWN

    async def _run_command(
        self, request: RunCommand.Request, response: RunCommand.Response
    ) -> None:
        if request.action != RunCommand.Request.ONCE:
            # X-Plane's UDP interface cannot hold one.
            await self._web.hold(request, response)
            return
        if request.duration:
            raise ValueError('duration goes with BEGIN')
        await self._send_and_wait('run_command', xplane_udp.Cmnd(request.name))
        response.success = True
        response.message = _SENT

    def _select_rows(
        self, request: SelectRows.Request, response: SelectRows.Response
    ) -> None:
        if request.none == bool(request.rows):
            raise ValueError(
                'rows are given together with none: true' if request.none else
                'no row given; none: true deselects all')
        check_count('rows', len(request.rows), MOST_ROWS)
        self._link.call(self._session.check_peer, 'select_rows')
        # The parameter is the only place that says which rows are selected.
        result, = self._node.set_parameters([Parameter(
            'data_rows', Parameter.Type.INTEGER_ARRAY, list(request.rows))])
        response.success = result.successful
        response.message = result.reason or (
            'asked for; diagnostics name the rows that do not arrive')

    async def _pause(self, request: SetBool.Request, response: SetBool.Response) -> None:
        done: CommandDone = await self._pending.wait(
            self._link.call, self._session.pause, request.data)
        response.success = True
        response.message = done.message


def _writes(items: Sequence[tuple[str, Sequence[float]]]) -> list[xplane_udp.Dref]:
    """Return the messages that write these datarefs; ValueError for one without a value."""
    return [xplane_udp.Dref(value, name) for item in items for name, value in _elements(*item)]


def _difference(name: str, wanted: float, got: float | None) -> str:
    """Return what is wrong with a dataref that was written, '' for nothing."""
    if got is None:
        return f'{name} gives no answer'
    if math.isclose(wanted, got, rel_tol=_READ_BACK_TOLERANCE, abs_tol=1e-6):
        return ''
    return f'{name} reads back as {got:.6g}'


def _elements(name: str, values: Sequence[float]) -> list[tuple[str, float]]:
    """Return the single values to write: a list is the first elements of an array."""
    if not values:
        raise ValueError(f'{name}: no value given')
    if len(values) == 1:
        return [(name, values[0])]
    return [(f'{name}[{number}]', value) for number, value in enumerate(values)]
