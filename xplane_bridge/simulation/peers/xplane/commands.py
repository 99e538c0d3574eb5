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
X-Plane's commands (sim/flight_controls/flaps_down and so on) for the simulated aircraft.

A command is run once, or begun and ended like a button press. Some act when pressed, some as long
as they are held; run once, these are held for STEP_TIME. A name that is not in the table is
unknown, as a misspelt one is to X-Plane.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Literal, TypeAlias

from xplane_bridge.simulation.peers.world import STEP_TIME, World
from xplane_bridge.simulation.peers.xplane.knobs import Button, ENGINE_COMMANDS, knobs

Phase: TypeAlias = Literal['once', 'begin', 'end']

_THROTTLE_RATE = 0.5
_TRIM_RATE = 0.1
_FLAP_NOTCHES = 3
_BRAKE_REGULAR = 0.5


class Commands:
    """The commands of a world, which keeps track of those that are held."""

    def __init__(self, world: World) -> None:
        """Build the table."""
        self._world = world
        self._table = self._make_table()

    @property
    def names(self) -> frozenset[str]:
        """Return the known names."""
        return frozenset(self._table)

    def run(self, name: str, phase: Phase = 'once') -> bool:
        """
        Run a command once, or begin or end it; return False for an unknown name.

        An end without a begin still releases it.
        """
        command = self._table.get(name)
        if command is None:
            return False
        held = self._world.held
        if phase != 'end' and name not in held:
            command.press()
            command.hold(STEP_TIME)
        if phase == 'begin':
            held[name] = command.hold
        else:
            held.pop(name, None)
            command.release()
        return True

    def _make_table(self) -> dict[str, Button]:
        table = {'sim/none/none': Button()}
        table.update(self._flight_controls())
        table.update(self._engines())
        table.update(self._ignition())
        table.update(self._lights())
        table.update(self._operation())
        table.update(knobs(self._world))
        return table

    def _flight_controls(self) -> dict[str, Button]:
        world = self._world
        set_controls = world.aircraft.set_controls

        def flaps(change: int) -> None:
            notch = round(world.aircraft.state.flaps * _FLAP_NOTCHES) + change
            set_controls(flaps=notch / _FLAP_NOTCHES)

        def gear_toggle() -> None:
            set_controls(gear=0.0 if world.aircraft.state.gear > 0.5 else 1.0)

        def brakes_toggle(effort: float) -> None:
            set_controls(parking_brake=0.0 if world.aircraft.state.parking_brake else effort)

        def brakes(effort: float) -> Button:
            return Button(press=lambda: set_controls(left_brake=effort, right_brake=effort),
                           release=lambda: set_controls(left_brake=0.0, right_brake=0.0))

        def speed_brakes(change: float) -> None:
            set_controls(speedbrake=min(
                max(world.aircraft.state.speedbrake + change, 0.0), 1.0))

        def speed_brakes_toggle() -> None:
            set_controls(speedbrake=0.0 if world.aircraft.state.speedbrake > 0.0 else 1.0)

        def trim(name: str, rate: float) -> Button:
            def hold(seconds: float) -> None:
                now: float = getattr(world.aircraft.state, name)
                set_controls(**{name: now + rate * seconds})
            return Button(hold=hold)

        commands = {
            'flaps_up': Button(lambda: flaps(-1)),
            'flaps_down': Button(lambda: flaps(1)),
            'landing_gear_up': Button(lambda: set_controls(gear=0.0)),
            'landing_gear_down': Button(lambda: set_controls(gear=1.0)),
            'landing_gear_toggle': Button(gear_toggle),
            'brakes_toggle_regular': Button(lambda: brakes_toggle(_BRAKE_REGULAR)),
            'brakes_toggle_max': Button(lambda: brakes_toggle(1.0)),
            'brakes_regular': brakes(_BRAKE_REGULAR),
            'brakes_max': brakes(1.0),
            'speed_brakes_down_one': Button(lambda: speed_brakes(0.5)),
            'speed_brakes_up_one': Button(lambda: speed_brakes(-0.5)),
            'speed_brakes_down_all': Button(lambda: speed_brakes(1.0)),
            'speed_brakes_up_all': Button(lambda: speed_brakes(-1.5)),
            'speed_brakes_toggle': Button(speed_brakes_toggle),
            'pitch_trim_up': trim('elevator_trim', _TRIM_RATE),
            'pitch_trim_down': trim('elevator_trim', -_TRIM_RATE),
            'aileron_trim_left': trim('aileron_trim', -_TRIM_RATE),
            'aileron_trim_right': trim('aileron_trim', _TRIM_RATE),
            'aileron_trim_center': Button(lambda: set_controls(aileron_trim=0.0)),
            'rudder_trim_left': trim('rudder_trim', -_TRIM_RATE),
            'rudder_trim_right': trim('rudder_trim', _TRIM_RATE),
            'rudder_trim_center': Button(lambda: set_controls(rudder_trim=0.0)),
        }
        return {f'sim/flight_controls/{name}': command for name, command in commands.items()}

    def _engines(self) -> dict[str, Button]:
        world = self._world

        def throttle(engine: int | None, rate: float) -> Button:
            def hold(seconds: float) -> None:
                world.set_throttle_handles([
                    now + rate * seconds if engine in (None, n) else None
                    for n, now in enumerate(world.throttle_handles)])
            return Button(hold=hold)

        def mixture(rate: float) -> Button:
            def hold(seconds: float) -> None:
                world.aircraft.set_controls(mixture=[
                    engine.mixture + rate * seconds for engine in world.aircraft.state.engines])
            return Button(hold=hold)

        commands = {
            'throttle_up': throttle(None, _THROTTLE_RATE),
            'throttle_down': throttle(None, -_THROTTLE_RATE),
            'mixture_up': mixture(_THROTTLE_RATE),
            'mixture_down': mixture(-_THROTTLE_RATE),
            'mixture_max': Button(lambda: world.aircraft.set_controls(mixture=1.0)),
            'mixture_min': Button(lambda: world.aircraft.set_controls(mixture=0.0)),
        }
        for n in range(ENGINE_COMMANDS):
            commands[f'throttle_up_{n + 1}'] = throttle(n, _THROTTLE_RATE)
            commands[f'throttle_down_{n + 1}'] = throttle(n, -_THROTTLE_RATE)
        return {f'sim/engines/{name}': command for name, command in commands.items()}

    def _ignition(self) -> dict[str, Button]:
        world, every = self._world, range(ENGINE_COMMANDS)
        positions = {'off': 0, 'left': 1, 'right': 2, 'both': 3}

        def turn(engines: Iterable[int], position: int) -> None:
            for engine in engines:
                world.aircraft.set_magnetos(engine, position)

        def crank(engines: Iterable[int], seconds: float) -> None:
            for engine in engines:
                world.crank(engine, seconds)

        def shut_down(engines: Iterable[int]) -> None:
            turn(engines, 0)
            world.aircraft.set_controls(mixture=[
                0.0 if n in engines else None for n in every])

        commands = {'engines/engage_starters': Button(hold=partial(crank, every)),
                    'starters/shut_down': Button(partial(shut_down, every)),
                    'magnetos/magnetos_off': Button(partial(turn, every, 0)),
                    'magnetos/magnetos_both': Button(partial(turn, every, 3))}
        for n in every:
            commands[f'starters/engage_starter_{n + 1}'] = Button(hold=partial(crank, (n,)))
            commands[f'starters/shut_down_{n + 1}'] = Button(partial(shut_down, (n,)))
            for name, position in positions.items():
                commands[f'magnetos/magnetos_{name}_{n + 1}'] = Button(
                    partial(turn, (n,), position))
        return {f'sim/{name}': command for name, command in commands.items()}

    def _lights(self) -> dict[str, Button]:
        lights = self._world.lights

        def switch(light: str, on: bool | None) -> Button:
            def press() -> None:
                lights[light] = int(not lights[light] if on is None else on)
            return Button(press)

        return {f'sim/lights/{light}_lights_{what}': switch(light, on)
                for light in lights
                for what, on in (('on', True), ('off', False), ('toggle', None))}

    def _operation(self) -> dict[str, Button]:
        world = self._world

        def pause(on: bool | None) -> Button:
            def press() -> None:
                world.paused = not world.paused if on is None else on
            return Button(press)

        return {
            'sim/operation/pause_toggle': pause(None),
            'sim/operation/pause_on': pause(True),
            'sim/operation/pause_off': pause(False),
            'sim/operation/reset_flight': Button(world.reset_flight),
            'sim/operation/fix_all_systems': Button(world.aircraft.restore_engine),
        }
