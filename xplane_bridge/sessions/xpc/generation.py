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
from xplane_bridge.sessions.xpc.events import Generation


def adapt(message: xpc.Request, generation: Generation | None) -> xpc.Request:
    """
    Convert a message to the form that the plugin understands (docs/wire/xpc.md, section 6).

    Raises ValueError for what this version cannot do. An unknown version, None, is given the
    benefit of the doubt.
    """
    _check(message, generation)
    if isinstance(message, xpc.SetView) and message.camera is not None:
        return replace(message, camera=_adapt_camera(message, message.camera, generation))
    if isinstance(message, xpc.Position | xpc.PlaceAndProbe):
        # Plugin 1.2 misreads the 64-bit form; all understand the 32-bit form.
        bits = 32 if generation in (None, Generation.V1_2_1) else 64
        return replace(message, precision=bits)
    return message


def _check(message: xpc.Request, generation: Generation | None) -> None:
    """Raise ValueError for a message that this version does not have."""
    name = generation.value if generation else 'not known yet'
    if isinstance(message, xpc.CommandBegin | xpc.CommandEnd):
        if generation is not Generation.DEVELOP:
            raise ValueError(
                f"{message.tag} (hold a command) exists only in the plugin's develop branch, "
                f'which cannot be told from rc6 on the wire; this plugin is {name}. If it is a '
                "develop build, set the parameter plugin to 'develop'"
            )
    elif isinstance(message, xpc.Command | xpc.GetTerrain | xpc.PlaceAndProbe):
        if generation is not None and not generation.has_commands:
            raise ValueError(f'{message.tag} needs plugin 1.3-rc6 or later; this one is {name}')
    elif isinstance(message, xpc.Simulation) and (
            generation is Generation.V1_2_1 and message.op >= SimulationOp.PAUSE_AIRCRAFT):
        raise ValueError('plugin 1.2.1 cannot pause a single aircraft, only all of them')


def _adapt_camera(
    message: xpc.SetView, camera: xpc.Camera, generation: Generation | None
) -> xpc.Camera:
    """Convert a camera to the form that the version reads."""
    if generation is Generation.V1_2_1:
        raise ValueError('plugin 1.2.1 accepts a view code only without a camera')
    if generation is Generation.RC5 and message.view != xpc.View.RUNWAY:
        raise ValueError(
            'plugin 1.3 rc1 to rc5 accepts a camera location with view '
            f'{xpc.View.RUNWAY} only')
    if generation is not Generation.RC5:
        return camera if camera.direction else replace(camera, direction=(None, None, None))
    if any(camera.direction or ()):
        raise ValueError(
            'plugin 1.3 rc1 to rc5 accepts a camera location only without a direction')
    return replace(camera, direction=None)
