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

"""Adaptation of commands to the plugin's version."""

from __future__ import annotations

from dataclasses import replace

from xplane_bridge.protocols import xpc
from xplane_bridge.protocols.xpc import SimulationOp
from xplane_bridge.sessions.xpc.events import PluginVersion

_WHAT = {
    xpc.Command: 'running a command', xpc.GetTerrain: 'probing the terrain',
    xpc.PlaceAndProbe: 'placing an aircraft and probing the terrain'}


def adapt(message: xpc.Request, plugin_version: PluginVersion | None) -> xpc.Request:
    """
    Convert a message to the form that the plugin understands (docs/wire/xpc.md, section 6).

    Raises ValueError for what this version cannot do. An unknown version, None, is given the
    benefit of the doubt.
    """
    _check(message, plugin_version)
    if isinstance(message, xpc.SetView) and message.camera is not None:
        return replace(message, camera=_adapt_camera(message, message.camera, plugin_version))
    if isinstance(message, xpc.Position | xpc.PlaceAndProbe):
        # Plugin 1.2 misreads the 64-bit form; all understand the 32-bit form.
        bits = 32 if plugin_version in (None, PluginVersion.V1_2_1) else 64
        return replace(message, precision=bits)
    return message


def _check(message: xpc.Request, plugin_version: PluginVersion | None) -> None:
    """Raise ValueError for a message that this version does not have."""
    name = plugin_version.value if plugin_version else 'not known yet'
    if isinstance(message, xpc.CommandBegin | xpc.CommandEnd):
        if plugin_version is not PluginVersion.DEVELOP:
            raise ValueError(
                f"holding a command ({message.tag}) exists only in the plugin's develop branch, "
                f'which cannot be told from rc6 on the wire; this plugin is {name}. If it is a '
                "develop build, set the parameter plugin to 'develop'"
            )
    elif isinstance(message, xpc.Command | xpc.GetTerrain | xpc.PlaceAndProbe):
        if plugin_version is not None and not plugin_version.has_commands:
            raise ValueError(
                f'{_WHAT[type(message)]} needs plugin 1.3-rc6 or later; this one is {name}')
    elif isinstance(message, xpc.Simulation) and (
            plugin_version is PluginVersion.V1_2_1 and message.op >= SimulationOp.PAUSE_AIRCRAFT):
        raise ValueError('plugin 1.2.1 cannot pause a single aircraft, only all of them')


def _adapt_camera(
    message: xpc.SetView, camera: xpc.Camera, plugin_version: PluginVersion | None
) -> xpc.Camera:
    """Convert a camera to the form that the version reads."""
    if plugin_version is PluginVersion.V1_2_1:
        raise ValueError('plugin 1.2.1 accepts a view code only without a camera')
    if plugin_version is PluginVersion.RC5 and message.view != xpc.View.RUNWAY:
        raise ValueError(
            'plugin 1.3 rc1 to rc5 accepts a camera location with view '
            f'{xpc.View.RUNWAY} only')
    if plugin_version is not PluginVersion.RC5:
        return camera if camera.direction else replace(camera, direction=(None, None, None))
    if any(camera.direction or ()):
        raise ValueError(
            'plugin 1.3 rc1 to rc5 accepts a camera location only without a direction')
    return replace(camera, direction=None)
