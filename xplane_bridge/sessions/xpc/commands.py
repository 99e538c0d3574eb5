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

"""Commands to a plugin: what its generation understands, and what has to be given back."""

from __future__ import annotations

from dataclasses import replace

from xplane_bridge.protocols import xpc
from xplane_bridge.protocols.xpc import SimulationOp
from xplane_bridge.sessions.xpc.events import Generation

_JOYSTICK = 'sim/operation/override/override_joystick'
_THROTTLE = 'sim/flightmodel/engine/ENGN_thro_override'

JOYSTICK_OVERRIDE = xpc.SetDatarefs(((_JOYSTICK, (1.0,)),))

# Dataref notes, 4.14: CTRL leaves the throttle override behind, and only -2 ends it.
_THROTTLE_RELEASE = xpc.SetDatarefs(((_THROTTLE, (-2.0,)),))
_CENTRED = xpc.Controls(elevator=0.0, aileron=0.0, rudder=0.0)
_JOYSTICK_RELEASE = xpc.SetDatarefs(((_JOYSTICK, (0.0,)),))

# One SIMU an aircraft, up to as many; the plugin drops what exceeds 20 datagrams in a frame.
_PAUSES_UNDONE_SINGLY = 4


def adapt(message: xpc.Request, generation: Generation | None) -> xpc.Request:
    """
    Bring a message into the form that the plugin understands (XPC wire notes, section 6).

    Raises ValueError, with a sentence for the user, for what this generation cannot do. An
    unknown generation, None, is given the benefit of the doubt.
    """
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
    elif isinstance(message, xpc.Simulation):
        if generation is Generation.V1_2_1 and message.op >= SimulationOp.PAUSE_AIRCRAFT:
            raise ValueError('plugin 1.2.1 cannot pause a single aircraft, only all of them')
    elif isinstance(message, xpc.SetView) and message.camera is not None:
        if generation is Generation.V1_2_1:
            raise ValueError('plugin 1.2.1 takes a view code without a camera')
        if generation is Generation.RC5 and message.view != xpc.View.RUNWAY:
            raise ValueError(
                'plugin 1.3 rc1 to rc5 takes the place of a camera with view '
                f'{xpc.View.RUNWAY} only')
        return replace(message, camera=_adapt_camera(message.camera, generation))
    if isinstance(message, xpc.Position | xpc.PlaceAndProbe):
        # Plugin 1.2 takes the 64-bit form as garbage; the 32-bit form is understood by all.
        bits = 32 if generation in (None, Generation.V1_2_1) else 64
        return replace(message, precision=bits)
    return message


def _adapt_camera(camera: xpc.Camera, generation: Generation | None) -> xpc.Camera:
    """Bring a camera into the one form that the generation reads."""
    if generation is not Generation.RC5:
        return camera if camera.direction else replace(camera, direction=(None, None, None))
    if any(camera.direction or ()):
        raise ValueError(
            'plugin 1.3 rc1 to rc5 takes the place of a camera without a direction')
    return replace(camera, direction=None)


class Taken:
    """
    What commands have taken from the user of the simulator.

    ``what`` holds 'surfaces', 'throttle', 'joystick', 'text', 'pause' (all aircraft) and 'pause 3'
    (one).
    """

    def __init__(self) -> None:
        self.what: set[str] = set()

    def note(self, message: xpc.Request) -> None:
        """Remember what a command takes, and forget what it gives back by itself."""
        if isinstance(message, xpc.Controls):
            if message.aircraft == 0:
                if message.throttle is not None:
                    self.what.add('throttle')
                if any((message.elevator, message.aileron, message.rudder)):
                    self.what.add('surfaces')
        elif isinstance(message, xpc.SetDatarefs):
            if message == JOYSTICK_OVERRIDE:
                self.what.add('joystick')
        elif isinstance(message, xpc.Text):
            self._set('text', bool(message.text))
        elif isinstance(message, xpc.Simulation):
            self._note_pause(message.op)

    def give_back(self) -> list[xpc.Request]:
        """Return the messages that undo all of it, a few, and forget it."""
        messages: list[xpc.Request] = []
        pauses = {what for what in self.what if what.startswith('pause')}
        if 'pause' in pauses or len(pauses) > _PAUSES_UNDONE_SINGLY:
            self.what -= pauses
            self.what.add('pause')
        if 'surfaces' in self.what:
            # Before the joystick is given back: what no joystick moves would stay deflected.
            self.what.remove('surfaces')
            messages.append(_CENTRED)
        for what in sorted(self.what):
            if what == 'throttle':
                messages.append(_THROTTLE_RELEASE)
            elif what == 'joystick':
                messages.append(_JOYSTICK_RELEASE)
            elif what == 'text':
                messages.append(xpc.Text(0, 0, ''))
            elif what == 'pause':
                messages.append(xpc.Simulation(SimulationOp.RUN))
            else:
                aircraft = int(what.removeprefix('pause '))
                messages.append(xpc.Simulation(SimulationOp.RUN_AIRCRAFT + aircraft))
        self.what.clear()
        return messages

    def _note_pause(self, op: int) -> None:
        if op == SimulationOp.RUN:
            self.what -= {what for what in self.what if what.startswith('pause')}
        elif op == SimulationOp.PAUSE:
            self.what.add('pause')
        elif op == SimulationOp.TOGGLE:
            self._set('pause', 'pause' not in self.what)
        elif op >= SimulationOp.RUN_AIRCRAFT:
            self.what.discard(f'pause {op - SimulationOp.RUN_AIRCRAFT}')
        else:
            self.what.add(f'pause {op - SimulationOp.PAUSE_AIRCRAFT}')

    def _set(self, what: str, taken: bool) -> None:
        (self.what.add if taken else self.what.discard)(what)
