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
Datarefs of the TCAS targets of X-Plane 11.50 and later: docs/wire/xplane_datarefs.md, section 8.

Target 0 is the user's aircraft, 1 to 19 are the other aircraft; all else is empty, with zeros.
None can be written, since no plugin owns the aircraft.
"""

from collections.abc import Callable
from functools import partial
import math

from xplane_bridge.common.units import FOOT
from xplane_bridge.simulation.aircraft.state import AircraftState
from xplane_bridge.simulation.peers.flown import FlownAircraft
from xplane_bridge.simulation.peers.world import Other, World
from xplane_bridge.simulation.peers.xplane.entries import DatarefTable, DatarefType
from xplane_bridge.simulation.peers.xplane.flight import icao_type

TARGET_COUNT = 64
_TEXT_SIZE = 8
_FIRST_VERSION = 11

_TARGETS = 'sim/cockpit2/tcas/targets/'
_POSITION = _TARGETS + 'position/'
# X-Plane draws a random one for the user's aircraft; these are the same in every flight.
_FIRST_MODE_S_ID = 0x3C4001
_MODE_S_STEP = 0x1357
_FEET_PER_MINUTE = 60.0 / FOOT


def add_tcas(t: DatarefTable, world: World) -> None:  # noqa: C901 -- a table of readers
    """Add what X-Plane says of all targets."""
    def state(n: int) -> AircraftState | Other:
        return world.others[n - 1] if n else world.state

    def velocity_ned(n: int) -> tuple[float, float, float]:
        one = state(n)
        return one.velocity_ned if not isinstance(one, AircraftState) else (
            one.v_north, one.v_east, one.v_down)

    def local(vector: str, axis: int, n: int) -> float:
        found: tuple[float, float, float] = getattr(world.compute_local(n), vector)
        return found[axis]

    def on_wheels(n: int) -> int:
        one = state(n)
        flown = one.aircraft.state if isinstance(one, FlownAircraft) else one
        return int(isinstance(flown, AircraftState) and any(flown.wheels_on_ground))

    def hpath(n: int) -> float:
        north, east, _ = velocity_ned(n)
        return math.degrees(math.atan2(east, north)) % 360.0

    def vpath(n: int) -> float:
        north, east, down = velocity_ned(n)
        return math.degrees(math.atan2(-down, math.hypot(north, east)))

    t.int_('sim/operation/override/override_TCAS', lambda: 0, since=_FIRST_VERSION)
    t.int_('sim/aircraft/view/acf_modeS_id', partial(mode_s_id, 0), since=_FIRST_VERSION)
    t.int_('sim/cockpit2/tcas/indicators/tcas_num_acf', lambda: world.tcas_count,
           since=_FIRST_VERSION)
    floats: dict[str, Callable[[int], float]] = {
        'lat': lambda n: state(n).lat_deg,
        'lon': lambda n: state(n).lon_deg,
        'ele': lambda n: state(n).altitude_msl,
        'psi': lambda n: math.degrees(state(n).psi),
        'the': lambda n: math.degrees(state(n).theta),
        'phi': lambda n: math.degrees(state(n).phi),
        'vertical_speed': lambda n: -velocity_ned(n)[2] * _FEET_PER_MINUTE,
        'hpath': hpath,
        'vpath': vpath,
        'V_msc': lambda n: math.hypot(*velocity_ned(n)),
    }
    for axis, name in enumerate('xyz'):
        floats[name] = partial(local, 'position', axis)
        floats[f'v{name}'] = partial(local, 'velocity', axis)
    for name, read in floats.items():
        t.each(DatarefType.FLOAT_ARRAY, _POSITION + name, TARGET_COUNT,
               _or_empty(world, read, 0.0), since=_FIRST_VERSION)
    for name, read in ((_TARGETS + 'modeS_id', mode_s_id), (
            _POSITION + 'weight_on_wheels', on_wheels)):
        t.each(DatarefType.INT_ARRAY, name, TARGET_COUNT, _or_empty(world, read, 0),
               since=_FIRST_VERSION)
    for name, text in (('flight_id', flight_id), ('icao_type', partial(_icao_type, world))):
        t.each(DatarefType.BYTES, _TARGETS + name, TARGET_COUNT * _TEXT_SIZE,
               partial(_letter, world, text), since=_FIRST_VERSION)


def mode_s_id(n: int) -> int:
    """Return the 24-bit Mode S address of aircraft n."""
    return _FIRST_MODE_S_ID + n * _MODE_S_STEP


def flight_id(n: int) -> str:
    """Return the flight ID of aircraft n: its tail number."""
    return f'N{100 + n}XB'


def _icao_type(world: World, n: int) -> str:
    """Return the type of aircraft n; the others without a flight model have none."""
    return icao_type(world.flown[n].model) if n < len(world.flown) else ''


def _letter(world: World, text: Callable[[int], str], place: int) -> int:
    """Return one byte of the texts, which have eight each; the last is a NUL."""
    n, letter = divmod(place, _TEXT_SIZE)
    return (text(n).encode('ascii', 'replace').ljust(_TEXT_SIZE, b'\0')[letter]
            if n < world.tcas_count else 0)


def _or_empty(
    world: World, read: Callable[[int], float], empty: float
) -> Callable[[int], float]:
    """Return what reads a target, or tells that there is none."""
    return lambda n: read(n) if n < world.tcas_count else empty
