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
Datarefs of the user's cockpit: controls, overrides, engines, fuel, gear and lights.

They follow section 4 of docs/wire/xplane_datarefs.md, whose rows are cited as "4.14", and
Laminar's lists. Yoke, throttles and brakes have no hardware behind them, so what is written stays
and takes effect with or without its override; override_throttles and the latch
ENGN_thro_override, which change the meaning of the throttles, are modelled. The other overrides
are stored without effect, override_plane_ai_autopilot too: the other aircraft always fly by their
yokes. Single surfaces (4.9) obey only with an override, as X-Plane overwrites them otherwise.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
import math

from xplane_bridge.simulation.aircraft.airframe.engine_switches import MAGNETOS_BOTH
from xplane_bridge.simulation.aircraft.state import AircraftState, EngineState
from xplane_bridge.simulation.peers.world import OVERRIDES, STEP_TIME, World
from xplane_bridge.simulation.peers.xplane.entries import (
    DatarefTable,
    element,
    padded,
    Read,
    Write,
)
from xplane_bridge.simulation.peers.xplane.units import INCH_OF_MERCURY, KELVIN, PSI

_RPM = math.tau / 60.0
_WHEELS = 10
_TANKS, _NAMED_TANKS = 9, 3
# What X-Plane's failure_enum calls "inoperative now".
_FAILED = 6
# Deflection that counts as the whole way of a control: that of the maps of PX4 and px4xplane
# (docs/wire/xplane_datarefs.md, 4.32). X-Plane's own limits are each aircraft's.
_DEFLECTION_DEG = 20.0
# Positive deflections are trailing edge down, for rudders to the right: what + is of the control.
_DEFLECTED = {
    'aileron': {f'wing{n}{side}_ail{k}def': sign for n in (1, 2, 3, 4)
                for side, sign in (('l', 1.0), ('r', -1.0)) for k in (1, 2)},
    'elevator': {f'hstab{n}_elv{k}def': -1.0 for n in (1, 2) for k in (1, 2)},
    'rudder': {f'vstab{n}_rud{k}def': 1.0 for n in (1, 2) for k in (1, 2)},
}
_OVERRIDE_SINCE = {'override_forces': 10, 'override_toe_brakes': 11}

# The key's position that turns the starter.
_STARTING = 4

C2 = 'sim/cockpit2/controls/'
_ACTUATORS = 'sim/cockpit2/engine/actuators/'


def add_cockpit(t: DatarefTable, world: World) -> None:
    """Add the user's aircraft: docs/wire/xplane_datarefs.md, section 4, and related ones."""
    for add in (_surfaces, _deflections, _overrides, _gear_and_brakes, _throttles, _ignition,
                _engines, _fuel, _lights):
        add(t, world)


def _surfaces(t: DatarefTable, world: World) -> None:
    """Add yoke, trims, flaps, speed brake (4.1 to 4.8, 4.17 to 4.21) and the overrides."""
    def s() -> AircraftState:
        return world.state

    control = partial(_control, world)
    for axis, field, after, trim in (
            ('pitch', 'elevator', 'ptch', 'elv_trim'), ('roll', 'aileron', 'roll', 'ail_trim'),
            ('heading', 'rudder', 'hdng', 'rud_trim')):
        read, write = control(field)
        t.float_(f'sim/joystick/yoke_{axis}_ratio', read, write)
        t.float_(C2 + f'yoke_{axis}_ratio', read, write)
        # Without augmentation the outputs equal the yoke.
        t.float_(f'sim/joystick/FC_{after}', read)
        t.float_(f'sim/flightmodel2/controls/{axis}_ratio', read)
        t.float_(C2 + f'total_{axis}_ratio', read, since=11)
        t.float_(f'sim/flightmodel/controls/{trim}', *control(f'{field}_trim'))
        t.float_(C2 + f'{field}_trim', *control(f'{field}_trim'))

    for name, since in (('sim/flightmodel/controls/flaprqst', 9), (C2 + 'flap_ratio', 9),
                        (C2 + 'flap_handle_request_ratio', 12)):
        t.float_(name, *control('flaps'), since=since)
    for name, since in (('sim/flightmodel/controls/flaprat', 9),
                        ('sim/flightmodel2/controls/flap_handle_deploy_ratio', 9),
                        (C2 + 'flap_handle_deploy_ratio', 9),
                        (C2 + 'flap_system_deploy_ratio', 12)):
        t.float_(name, lambda: s().flaps_position, since=since)
    for name in ('sim/flightmodel/controls/sbrkrqst', C2 + 'speedbrake_ratio'):
        t.float_(name, *control('speedbrake'))
    t.float_('sim/flightmodel/controls/sbrkrat', lambda: s().speedbrake_position)


def _deflections(t: DatarefTable, world: World) -> None:
    """Add single surfaces in degrees (4.9, 4.32); the last that was written moves its control."""
    def add(name: str, control: str, scale: float) -> None:
        read, write = _control(world, control)

        def deflect(degrees: float) -> None:
            if (world.overrides['override_control_surfaces']
                    or world.overrides['override_flightcontrol']):
                write(degrees / scale)

        t.float_(f'sim/flightmodel/controls/{name}', lambda: read() * scale, deflect)

    for control, surfaces in _DEFLECTED.items():
        for name, sign in surfaces.items():
            add(name, control, sign * _DEFLECTION_DEG)


def _overrides(t: DatarefTable, world: World) -> None:
    """Add sim/operation/override/*; freezing (override_planepath) is done by World."""
    def write_all(flags: list[int], values: Sequence[int]) -> None:
        flags[:] = values

    for name in OVERRIDES:
        t.int_(f'sim/operation/override/{name}', partial(world.overrides.__getitem__, name),
               partial(world.set_override, name),
               since=_OVERRIDE_SINCE.get(name, 9))
    for name, flags in (('override_planepath', world.planepath),
                        ('override_plane_ai_autopilot', world.ai_autopilot)):
        t.ints(f'sim/operation/override/{name}', partial(tuple, flags),
               partial(write_all, flags))


def _gear_and_brakes(t: DatarefTable, world: World) -> None:
    """Add gear and brakes (4.15, 4.16, 4.22)."""
    aircraft = world.aircraft

    def deploy() -> Sequence[float]:
        s = aircraft.state
        return padded([s.gear_position] * len(s.wheels_on_ground), _WHEELS, 0.0)

    for name in ('sim/cockpit/switches/gear_handle_status', C2 + 'gear_handle_down'):
        t.int_(name, lambda: int(world.state.gear > 0.5),
               lambda value: aircraft.set_controls(gear=float(value != 0)))
    t.floats('sim/flightmodel2/gear/deploy_ratio', deploy)
    t.floats('sim/aircraft/parts/acf_gear_deploy', deploy,
             lambda values: aircraft.set_gear_position(values[0]))
    for names, field in ((('sim/flightmodel/controls/parkbrake', C2 + 'parking_brake_ratio'),
                          'parking_brake'),
                         (('sim/flightmodel/controls/l_brake_add', C2 + 'left_brake_ratio'),
                          'left_brake'),
                         (('sim/flightmodel/controls/r_brake_add', C2 + 'right_brake_ratio'),
                          'right_brake')):
        for name in names:
            t.float_(name, *_control(world, field))


def _throttles(t: DatarefTable, world: World) -> None:
    """Add throttles, mixture and propellers (4.10 to 4.14)."""
    aircraft, count = world.aircraft, t.engine_slots
    engine, actuators = 'sim/flightmodel/engine/', _ACTUATORS

    def all_handles(value: float) -> None:
        world.set_throttle_handles([value] * count)

    def mixtures() -> Sequence[float]:
        return padded((e.mixture for e in aircraft.state.engines), count, 0.0)

    def set_mixtures(values: Sequence[float]) -> None:
        aircraft.set_controls(mixture=values)

    def propellers() -> Sequence[float]:
        return padded((e.propeller for e in aircraft.state.engines), count, 0.0)

    for name in (engine + 'ENGN_thro', actuators + 'throttle_ratio'):
        t.floats(name, lambda: world.throttle_handles[:count], world.set_throttle_handles)
    t.float_(actuators + 'throttle_ratio_all', lambda: world.throttle_handles[0], all_handles)
    # Reverse thrust is not modelled: the negative half means idle.
    t.float_(actuators + 'throttle_jet_rev_ratio_all', lambda: world.throttle_handles[0],
             all_handles, since=11)
    t.floats(engine + 'ENGN_thro_use', lambda: world.throttle_use[:count],
             world.set_throttle_use)
    t.float_(engine + 'ENGN_thro_override', lambda: world.throttle_override,
             world.set_throttle_override)
    t.floats('sim/flightmodel2/engines/throttle_used_ratio', lambda: padded(
        (e.throttle_position for e in aircraft.state.engines), count, 0.0))
    for name in (engine + 'ENGN_mixt', actuators + 'mixture_ratio'):
        t.floats(name, mixtures, set_mixtures)
    t.float_(actuators + 'mixture_ratio_all', lambda: mixtures()[0],
             lambda value: aircraft.set_controls(mixture=value))
    t.floats(actuators + 'prop_ratio', propellers,
             lambda values: aircraft.set_controls(propeller=values))
    t.float_(actuators + 'prop_ratio_all', lambda: propellers()[0],
             lambda value: aircraft.set_controls(propeller=value))


def _ignition(t: DatarefTable, world: World) -> None:
    """Add magnetos and starters (4.33, 4.34); 0 for an engine that has none."""
    aircraft, count = world.aircraft, t.engine_slots

    def by_engine(known: Mapping[int, int]) -> list[int]:
        return [int(known.get(n, 0)) for n in range(count)]

    def keys() -> list[int]:
        return by_engine({n: _STARTING if aircraft.starters[n] else position
                          for n, position in aircraft.magnetos.items()})

    def set_keys(values: Sequence[int]) -> None:
        # An array is written as a whole: a key that stays there is not turned.
        for n, (value, before) in enumerate(zip(values, keys(), strict=True)):
            if value == _STARTING:
                aircraft.set_magnetos(n, MAGNETOS_BOTH)
                world.crank(n, STEP_TIME)
            elif value != before:
                aircraft.set_magnetos(n, value)

    for name in ('sim/cockpit/engine/ignition_on', _ACTUATORS + 'ignition_on'):
        t.ints(name, lambda: by_engine(aircraft.magnetos), set_keys)
    t.ints(_ACTUATORS + 'ignition_key', keys, set_keys)
    for name in (_ACTUATORS + 'starter_hit', 'sim/flightmodel2/engines/starter_is_running'):
        t.ints(name, lambda: by_engine(aircraft.starters), since=11)


def _engines(t: DatarefTable, world: World) -> None:  # noqa: C901 -- a table of readers
    """Add engine instruments, 0 where this kind of engine has none, and failures."""
    aircraft, count = world.aircraft, t.engine_slots

    def figures(names: Iterable[str], field: str,
                convert: Callable[[float], float] = lambda value: value) -> None:
        def read() -> Sequence[float]:
            found = (getattr(e, field) for e in aircraft.state.engines)
            return padded((0.0 if v is None else convert(v) for v in found), count, 0.0)

        for name in names:
            t.floats(name, read)

    def flags(name: str, flag: Callable[[EngineState], bool]) -> None:
        t.ints(name, lambda: padded((int(flag(e)) for e in aircraft.state.engines), count, 0))

    old, new = 'sim/flightmodel/engine/', 'sim/cockpit2/engine/indicators/'
    flags(old + 'ENGN_running', lambda e: e.running)
    flags('sim/flightmodel2/engines/engine_is_burning_fuel', lambda e: e.fuel_flow > 0.0)
    figures((old + 'POINT_thrust',), 'thrust')
    figures((old + 'ENGN_FF_', new + 'fuel_flow_kg_sec'), 'fuel_flow')
    figures((new + 'engine_speed_rpm',), 'rpm')
    figures((old + 'ENGN_tacrad',), 'rpm', lambda rpm: rpm * _RPM)
    figures((new + 'prop_speed_rpm',), 'propeller_rpm')
    figures((old + 'POINT_tacrad',), 'propeller_rpm', lambda rpm: rpm * _RPM)
    if t.version >= 12:
        figures((new + 'prop_speed_rsc',), 'propeller_rpm', lambda rpm: rpm * _RPM)
    figures((old + 'ENGN_MPR', new + 'MPR_in_hg'), 'manifold_pressure',
            lambda pa: pa / INCH_OF_MERCURY)
    figures((new + 'power_watts',), 'power')
    for older, name, field in (
            ('ENGN_CHT_c', 'CHT_deg_C', 'cylinder_head_temperature'),
            ('ENGN_EGT_c', 'EGT_deg_C', 'exhaust_gas_temperature'),
            ('ENGN_oil_temp_c', 'oil_temperature_deg_C', 'oil_temperature')):
        figures((old + older, new + name), field, lambda kelvin: kelvin - KELVIN)
    figures((old + 'ENGN_oil_press_psi', new + 'oil_pressure_psi'), 'oil_pressure',
            lambda pa: pa / PSI)
    for field in ('n1', 'n2'):
        name = field.upper()
        figures((old + f'ENGN_{name}_', new + f'{name}_percent',
                 f'sim/flightmodel2/engines/{name}_percent'), field)
    t.int_('sim/aircraft/engine/acf_num_engines', lambda: aircraft.engine_count)

    def set_failure(n: int, value: int) -> None:
        if value == _FAILED:
            aircraft.fail_engine(n)
        elif value == 0:
            aircraft.restore_engine(n)

    def failure(n: int) -> int:
        return _FAILED if n in aircraft.failed_engines else 0

    for n in range(aircraft.engine_count):
        t.int_(f'sim/operation/failures/rel_engfai{n}', partial(failure, n),
               partial(set_failure, n))


def _fuel(t: DatarefTable, world: World) -> None:
    """Add fuel and mass in kg."""
    aircraft = world.aircraft

    def tanks() -> Sequence[float]:
        return padded(aircraft.state.fuel, _TANKS, 0.0)

    def set_tank(tank: int, mass: float) -> None:
        if tank < aircraft.tank_count:
            aircraft.set_fuel(tank, mass)

    def set_tanks(values: Sequence[float]) -> None:
        for tank, mass in enumerate(values):
            set_tank(tank, mass)

    t.floats('sim/flightmodel/weight/m_fuel', tanks, set_tanks)
    t.floats('sim/cockpit2/fuel/fuel_quantity', tanks)
    for tank in range(_NAMED_TANKS):
        t.float_(f'sim/flightmodel/weight/m_fuel{tank + 1}', element(tanks, tank),
                 partial(set_tank, tank))
    t.float_('sim/flightmodel/weight/m_fuel_total', lambda: sum(aircraft.state.fuel))
    t.float_('sim/flightmodel/weight/m_total', lambda: aircraft.state.mass)


def _lights(t: DatarefTable, world: World) -> None:
    """Add the light switches: stored, not modelled."""
    for light, old, new in (('beacon', 'beacon_lights_on', 'beacon_on'),
                            ('landing', 'landing_lights_on', 'landing_lights_on'),
                            ('nav', 'nav_lights_on', 'navigation_lights_on'),
                            ('strobe', 'strobe_lights_on', 'strobe_lights_on'),
                            ('taxi', 'taxi_light_on', 'taxi_light_on')):
        for name in (f'sim/cockpit/electrical/{old}', f'sim/cockpit2/switches/{new}'):
            t.int_(name, partial(world.lights.__getitem__, light),
                   partial(world.lights.__setitem__, light))


def _control(world: World, name: str) -> tuple[Read, Write]:
    """Return reader and writer of one cockpit control of Aircraft.set_controls."""
    def read() -> float:
        return float(getattr(world.state, name))

    def write(value: float) -> None:
        world.aircraft.set_controls(**{name: value})

    return read, write
