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
Datarefs of the other aircraft, and the controls of all twenty.

They follow docs/wire/xplane_datarefs.md, rows 4.24 to 4.31. In sim/multiplayer/controls/* element
[0] is assumed to be the user's aircraft, which no source states (4.26).
"""

from collections.abc import Sequence
from functools import partial

from xplane_bridge.simulation.peers.world import AIRCRAFT_COUNT, Other, World
from xplane_bridge.simulation.peers.xplane.entries import (
    DatarefTable,
    element,
    Read,
    replaced,
    Write,
)


def add_traffic(t: DatarefTable, world: World) -> None:
    """Add aircraft 1 to 19 under their legacy names, then the newer names for all."""
    for n in range(1, AIRCRAFT_COUNT):
        _other(t, world, n, f'sim/multiplayer/position/plane{n}_')
    _all_controls(t, world)


def _other(t: DatarefTable, world: World, n: int, base: str) -> None:  # noqa: C901 -- a table of readers
    # A reset of the flight creates new aircraft, so none is kept here.
    def plane() -> Other:
        return world.others[n - 1]

    def field(name: str, field: str) -> None:
        t.float_(base + name, lambda: getattr(plane(), field),
                 lambda value: setattr(plane(), field, value))

    def write_position(i: int, value: float) -> None:
        plane().place(*world.frame.to_geodetic(
            *replaced(world.compute_local(n).position, i, value)))

    def local_angles() -> tuple[float, float, float]:
        local = world.compute_local(n)
        return (local.phi, local.theta, local.psi)

    def write_angle(which: int, value: float) -> None:
        world.turn_locally(n, *replaced(local_angles(), which, value))

    def write_throttle(values: Sequence[float]) -> None:
        plane().set_throttle(values)

    def write_gear(values: Sequence[float]) -> None:
        plane().set_gear(values)

    def read_light(light: str) -> int:
        return plane().lights[light]

    def write_light(light: str, value: int) -> None:
        plane().lights[light] = value

    t.double(base + 'lat', lambda: plane().lat_deg)
    t.double(base + 'lon', lambda: plane().lon_deg)
    t.double(base + 'el', lambda: plane().altitude_msl)
    for i, axis in enumerate('xyz'):
        t.double(base + axis, element(lambda: world.compute_local(n).position, i),
                 partial(write_position, i))
        t.float_(base + f'v_{axis}', element(lambda: world.compute_local(n).velocity, i))
    for i, angle in enumerate(('phi', 'the', 'psi')):
        t.float_(base + angle, element(local_angles, i), partial(write_angle, i))
    field('yolk_pitch', 'yoke_pitch')
    field('yolk_roll', 'yoke_roll')
    field('yolk_yaw', 'yoke_yaw')
    field('flap_ratio', 'flaps')
    field('speedbrake_ratio', 'speedbrake')
    t.floats(base + 'throttle', lambda: plane().throttle[:t.engine_slots], write_throttle)
    t.floats(base + 'gear_deploy', lambda: plane().gear, write_gear)
    for light, name in (('beacon', 'beacon_lights_on'), ('landing', 'landing_lights_on'),
                        ('nav', 'nav_lights_on'), ('strobe', 'strobe_lights_on'),
                        ('taxi', 'taxi_light_on')):
        t.int_(base + name, partial(read_light, light), partial(write_light, light))


def _all_controls(t: DatarefTable, world: World) -> None:
    """Add the controls of all 20 aircraft under their newer names (4.25)."""
    aircraft = world.aircraft

    def controls(name: str, of_user: Read, set_user: Write, field: str) -> None:
        def write(values: Sequence[float]) -> None:
            set_user(values[0])
            for other, value in zip(world.others, values[1:], strict=True):
                setattr(other, field, value)

        t.floats(f'sim/multiplayer/controls/{name}',
                 lambda: (of_user(), *(getattr(other, field) for other in world.others)), write)

    controls('yoke_pitch_ratio', lambda: aircraft.state.elevator,
             lambda v: aircraft.set_controls(elevator=v), 'yoke_pitch')
    controls('yoke_roll_ratio', lambda: aircraft.state.aileron,
             lambda v: aircraft.set_controls(aileron=v), 'yoke_roll')
    controls('yoke_heading_ratio', lambda: aircraft.state.rudder,
             lambda v: aircraft.set_controls(rudder=v), 'yoke_yaw')
    controls('flap_request', lambda: aircraft.state.flaps,
             lambda v: aircraft.set_controls(flaps=v), 'flaps')
    controls('speed_brake_request', lambda: aircraft.state.speedbrake,
             lambda v: aircraft.set_controls(speedbrake=v), 'speedbrake')

    def set_throttles(values: Sequence[float]) -> None:
        world.set_throttle_handles([values[0]] * t.engine_slots)
        for other, value in zip(world.others, values[1:], strict=True):
            other.set_throttle([value] * len(other.throttle))

    def set_gears(values: Sequence[int]) -> None:
        aircraft.set_controls(gear=float(values[0] != 0))
        for other, value in zip(world.others, values[1:], strict=True):
            other.set_gear([float(value != 0)] * len(other.gear))

    t.floats('sim/multiplayer/controls/engine_throttle_request',
             lambda: (world.throttle_handles[0], *(o.throttle[0] for o in world.others)),
             set_throttles)
    t.ints('sim/multiplayer/controls/gear_request',
           lambda: (int(aircraft.state.gear > 0.5), *(int(o.gear[0] > 0.5) for o in world.others)),
           set_gears)
