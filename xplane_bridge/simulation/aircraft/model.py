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

"""One JSBSim model: loading, placing, stepping, and its engines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
import math
from pathlib import Path
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np

from xplane_bridge.bridges.conversions.airframe_events import AirframeEvent, DIVERGED
from xplane_bridge.common.timing import PHYSICS_RATE
from xplane_bridge.simulation.aircraft.airframe.engine_switches import EngineSwitches
from xplane_bridge.simulation.aircraft.airframe.watch import AirframeWatch, MOST_LOAD, MOST_SPEED
from xplane_bridge.simulation.aircraft.geometry import Vector
from xplane_bridge.simulation.aircraft.limits import clamp, MAX_SPEED
from xplane_bridge.simulation.aircraft.loading import control_effects
from xplane_bridge.simulation.aircraft.loading.controls import mapped, Mixing, read
from xplane_bridge.simulation.aircraft.loading.controls import system as mixing_system
from xplane_bridge.simulation.aircraft.loading.files import AircraftFiles, find, Origin
from xplane_bridge.simulation.aircraft.loading.inert import inert, NOWHERE
from xplane_bridge.simulation.aircraft.loading.load import heard, import_jsbsim, load, one_line
from xplane_bridge.simulation.aircraft.loading.properties import Properties
from xplane_bridge.simulation.aircraft.loading.renewal import Renewal
from xplane_bridge.simulation.aircraft.loading.varied import varied
from xplane_bridge.simulation.aircraft.plant import AS_IN_ITS_FILE, Plant
from xplane_bridge.simulation.aircraft.sample import Sampler
from xplane_bridge.simulation.aircraft.state import (
    AircraftState,
    FOOT,
    KNOT,
    POUND,
    STANDARD_GRAVITY,
    StateReader,
)
from xplane_bridge.simulation.aircraft.terrain import elevation_m

# An airspeed that is usual: that at which the wing has this coefficient of lift, which the c172p
# has at 100 kt.
_LIFT_COEFFICIENT, _SEA_LEVEL_DENSITY = 0.4, 1.225
# Where commands are tried, in m above the sea.
_TRIED_AT = 1000.0
# JSBSim's trim mode for all six degrees of freedom.
_TRIM_FULL = 1
_RETRACTABLE = re.compile(r'<retractable>\s*1')
_TRIMS = {'elevator': 'pitch', 'aileron': 'roll', 'rudder': 'yaw'}
# Steps in which a piston engine and its propeller come to rest at a throttle, at most; how many
# at a time, and the change of thrust (lbf) below which they have.
_ENGINE_STEPS = 1500
_ENGINE_STRIDE = 30
_ENGINE_AT_REST = 1e-4
# The same where engines run while the aircraft is held: strides (s) at most, and the change of
# thrust, as a part of the weight. What is still slow after so many may have longer steps, twice as
# long in each stride, until they are as long as JSBSim's own.
_SPIN, _STRIDES = 0.25, 80
_SPUN = 1e-6
_SLOW = 20
_LONGEST_STEP = 0.5
# So many times the change before is no slow one.
_TORN = 100.0
# A step in which a propeller loses next to nothing, in s.
_MOMENT = 1e-6
# It is begun at a throttle of 2**-10, and each doubling lasts so long (s).
_DOUBLINGS, _DOUBLING = 10, 0.05
# Slower (rpm) it stands; and no propeller makes a thrust of so many weights.
_STANDS, _MOST_THRUST = 1.0, 100.0
# JSBSim has no batteries: one in the systems of an aircraft looks at this.
_BATTERY_FREEZE = 'systems/battery-freeze'
_INTEGRATORS = tuple(f'simulation/integrator/{order}/{motion}' for order in ('rate', 'position')
                     for motion in ('rotational', 'translational'))
# Passes in which surfaces reach their commands, at most (of 1/120 s; more of shorter ones), and
# the change of an acceleration (m/s2, rad/s2) below which they have.
# Moments of inertia, and their unit in JSBSim (kg m2).
_MOMENTS, _SLUG_FT2 = ('ixx', 'iyy', 'izz'), 1.3558179
_PASSES = 50
_AT_REST = 1e-10

MOVED_SEEDS = {0: 1_414_213_562, 1_414_213_562: 2**31 - 2}
"""
The number that JSBSim is given for a seed, where it is not the seed itself.

Its generator (std::minstd_rand0) counts modulo 2**31 - 1 and takes 0 as 1; -n gives the opposite
turbulence of n. So seed 0 has a number far from those that people use.
"""


class TrimError(Exception):
    """JSBSim found no trim."""


class Model:
    """
    A JSBSim model in an FGFDMExec of its own; not placed yet.

    ``path`` is the folder that it is in, empty for JSBSim's own; ``values`` are written to its
    properties. ``outputs``: JSBSim may open the files and sockets that the model names. In
    ``plant`` it differs from its file. ``controls`` is the file that says what moves it, empty for
    that beside it, or else for what is found (moved_by); with None it stays as it is. Raises
    ValueError for a model that does not exist or that JSBSim cannot load, for a plant that it
    cannot be, and for a property that cannot be written; ImportError if JSBSim is not installed.
    """

    def __init__(self, name: str, dt: float, seed: int, path: str = '',
                 values: Mapping[str, float] | None = None, *, outputs: bool = False,
                 plant: Plant = AS_IN_ITS_FILE, controls: str | None = '') -> None:
        self._jsbsim = jsbsim = import_jsbsim()
        self.files = find(name, path, Path(jsbsim.get_default_root_dir()), controls or '')
        self.controls: Mixing = {} if controls is None else moved_by(self.files, dt, path)
        self.loaded, self._fdm = self._load(plant, dt, outputs)
        self._has_actuators = plant.has_actuators
        if not outputs:
            self._fdm.set_output_path(NOWHERE)
        self._fdm.set_dt(dt)
        self.dt = dt
        self._text = self.files.text() + ElementTree.tostring(
            mixing_system(self.controls), encoding='unicode')
        self.origin = Origin.of(self.files)
        # The ground's height (m) by latitude and longitude (deg).
        self.elevation_m: Callable[[float, float], float] = elevation_m
        self.set = self._fdm.set_property_value
        self.get = self._fdm.get_property_value
        self._seed(seed)
        self._renewal: Renewal | None = None
        # What is done before each step of fly().
        self.before_step: Callable[[], None] | None = None
        manager = self._fdm.get_property_manager()
        node = manager.get_node
        self._has_node = manager.hasNode
        self._agl = node('position/h-agl-ft').get_double_value
        self._flown = (
            self._fdm.run, jsbsim.BaseError, *(node(name).get_double_value for name in (
                'position/lat-geod-deg', 'position/long-gc-deg', 'velocities/vt-fps',
                'position/h-sl-ft', 'velocities/p-rad_sec', 'velocities/q-rad_sec',
                'velocities/r-rad_sec', 'accelerations/Nz')),
            node('position/terrain-elevation-asl-ft').set_double_value)
        self.reader = StateReader(self._fdm, self._text.partition('<aerodynamics')[2])
        self.sampler = Sampler(self._fdm, self.reader)
        self._accelerations = tuple(
            (node(f'accelerations/{name}').get_double_value, factor) for name, factor in (
                *((f'{axis}dot-ft_sec2', FOOT) for axis in 'uvw'),
                *((f'{axis}dot-rad_sec2', 1.0) for axis in 'pqr')))
        self._find_engines()
        # JSBSim has no centre of gravity before its first initial conditions.
        with self._heard('run'):
            self.initialise()
        self._check_mass()
        self.watch = AirframeWatch(self._fdm, dt)
        # What ended the last fly(), if something did.
        self.event: AirframeEvent | None = None
        self.properties = Properties(self._fdm)
        if values:
            try:
                self.properties.write(values)
            except ValueError as error:
                raise ValueError(f'property_values: {error}') from error
        self.properties.are_written, self._outputs = False, outputs

    def _load(self, plant: Plant, dt: float, outputs: bool) -> tuple[AircraftFiles, Any]:
        """Return the files that JSBSim is given instead of its own, and what it makes of them."""
        loaded = _with_plant(
            self._jsbsim, self.files, self.controls, plant, dt, outputs)
        return loaded, load(self._jsbsim, loaded, self.files.file)

    def _heard(self, what: str) -> AbstractContextManager[None]:
        """Raise ValueError with JSBSim's reason for what it cannot do meanwhile."""
        file = str(self.files.file)
        return heard(self._jsbsim, file, what, {str(self.loaded.file): file})

    def _check_mass(self) -> None:
        """Raise ValueError for a mass or an inertia with which nothing can move."""
        for name, where, factor, unit in (
                ('mass', 'weight-lbs', POUND, 'kg'),
                *((axis, f'{axis}-slugs_ft2', _SLUG_FT2, 'kg m2') for axis in _MOMENTS)):
            if not (value := self.get(f'inertia/{where}') * factor) > 0.0:
                raise ValueError(f'{self.files.file}: {name} is {value:.4g} {unit}: expected '
                                 'above 0, from its mass_balance')

    def _find_engines(self) -> None:
        """Bind to the thrust and the propellers of engines, by their kinds."""
        node = self._fdm.get_property_manager().get_node
        engines = range(self.reader.engine_count)
        self._thrust = [
            node(f'propulsion/engine[{n}]/thrust-lbs').get_double_value for n in engines]
        self._propellers = [
            node(f'propulsion/engine[{n}]/propeller-rpm').get_double_value for n in engines
            if self._has_node(f'propulsion/engine[{n}]/propeller-rpm')]
        # In each pass without time JSBSim resets these, and their spool begins to idle.
        self._turboprops = [
            n for n in engines if self._has_node(f'propulsion/engine[{n}]/n1')
            and self._has_node(f'propulsion/engine[{n}]/power-hp')]
        # Piston engines: those with magnetos, which their starter must turn.
        self.pistons = frozenset(
            n for n in engines if self._has_node(f'propulsion/engine[{n}]/map-pa'))
        # Electric engines and rockets: they have nothing that could be started or stopped.
        self.throttled = frozenset(n for n in engines if n not in self.pistons
                                   and not self._has_node(f'propulsion/engine[{n}]/n1'))
        self.engines = EngineSwitches(self._fdm, self.pistons, self.throttled)

    @property
    def is_renewable(self) -> bool:
        """Return whether renew() may be tried: what was written may hide from its check."""
        return not (self._outputs or self.properties.are_written)

    def renew(self, seed: int) -> bool:
        """
        Return to the state of a model that has just been loaded, with a new seed.

        False if it cannot be returned to, to the last bit: then load another one. Whoever is to
        be equal to a renewed model calls it once after loading.
        """
        self.before_step = None
        self.watch.begin()
        if self._renewal is None:
            self._renewal = Renewal(self._fdm)
        is_new = self._renewal.run(self._forget)
        self._seed(seed)
        return is_new

    def _forget(self) -> None:
        """Undo what neither JSBSim's reset nor a property does."""
        self._seed(0)
        for engine in range(self.reader.engine_count):
            self.engines.supply(engine, on=False)
            if engine in self.pistons:
                self.engines.set_starter(engine, on=False)

    def _seed(self, seed: int) -> None:
        for generator in ('simulation', 'atmosphere'):
            self.set(f'{generator}/randomseed', MOVED_SEEDS.get(seed, seed))

    def setter(self, name: str) -> Callable[[float], object]:
        """Return a function that sets a property: eight times as fast as by name."""
        node: Any = self._fdm.get_property_manager().get_node(name)
        set_value: Callable[[float], object] = (
            partial(self.set, name) if node is None else node.set_double_value)
        return set_value

    def getter(self, name: str) -> Callable[[], float]:
        """Return a function that returns a property, which must be there."""
        value: Callable[[], float] = (
            self._fdm.get_property_manager().get_node(name).get_double_value)
        return value

    @property
    def retractable(self) -> bool:
        """Return whether one of its wheels can be retracted."""
        return _RETRACTABLE.search(self._text) is not None

    @property
    def has_governor(self) -> bool:
        """Return whether a propeller of a piston engine is kept at constant speed."""
        return bool(self.pistons and self.get('propulsion/engine[0]/constant-speed-mode'))

    @property
    def runs_engines(self) -> bool:
        """Return whether engines come to rest here: in JSBSim's long steps they would not."""
        return bool(self.pistons or self.throttled or self._turboprops)

    def has_trim(self, axis: str) -> bool:
        """Return whether it has a trim of elevator, aileron or rudder."""
        return f'fcs/{_TRIMS[axis]}-trim-cmd-norm' in self._text

    @property
    def height(self) -> float:
        """Return the height of the centre of gravity above the ground, in m."""
        return float(self._agl()) * FOOT

    def wheel_height(self) -> float:
        """Return how far the lowest wheel is below the centre of gravity, in m."""
        count = int(self.get('gear/num-units'))
        lowest = min((self.get(f'gear/unit[{n}]/z-position') for n in range(count)), default=None)
        if lowest is None:
            return 0.0
        return float(self.get('inertia/cg-z-in') - lowest) / 12.0 * FOOT

    def fly(self, steps: int) -> int:
        """
        Run steps over the terrain; return how many: fewer if something ended it, see ``event``.

        ``place`` is then where it was before the step in which that happened (deg).
        """
        run, broken, lat_deg, lon_deg, speed, altitude, p, q, r, load, set_terrain = self._flown
        elevation_m, watch = self.elevation_m, self.watch
        reach, turn = watch.reach, watch.most_turn
        lat, lon = lat_deg(), lon_deg()
        self.event, before_step = None, self.before_step
        for flown in range(steps):
            self.place = lat, lon
            if before_step is not None:
                before_step()
            try:
                run()
            except broken:
                self.event = DIVERGED
                return flown
            lat, lon = lat_deg(), lon_deg()
            ground = elevation_m(lat, lon) / FOOT
            set_terrain(ground)
            if not (altitude() > ground + reach and speed() < MOST_SPEED
                    and -turn < p() < turn and -turn < q() < turn and -turn < r() < turn
                    and -MOST_LOAD < load() < MOST_LOAD):
                self.event = watch.look(altitude() - ground)
                if self.event is not None:
                    return flown
        return steps

    def settle(self, steps: int) -> None:
        """Run steps until it has come to rest where it is."""
        for _ in range(steps):
            self._fdm.run()

    def usual_airspeed(self) -> float:
        """Return a calibrated airspeed (m/s) at which it may fly; ValueError without a wing."""
        area = self.get('metrics/Sw-sqft') * FOOT ** 2
        if not area > 0.0:
            raise ValueError(f'{self.files.model} has no wing area: give an airspeed')
        weight = self.get('inertia/weight-lbs') * POUND * STANDARD_GRAVITY
        return math.sqrt(2.0 * weight / (_SEA_LEVEL_DENSITY * area * _LIFT_COEFFICIENT))

    def velocity_through_air(self, speed: float | None = None) -> Vector:
        """Return its velocity through the air in m/s (forward, right, down), rescaled."""
        u, v, w = (self.get(f'velocities/{name}-aero-fps') * FOOT for name in 'uvw')
        if speed is None:
            return (u, v, w)
        speed = clamp(speed, 0.0, MAX_SPEED)
        airspeed = math.hypot(u, v, w)
        # The flow direction of a slow aircraft is arbitrary: take straight ahead.
        if airspeed < 10.0:
            return (speed, 0.0, 0.0)
        return (u * speed / airspeed, v * speed / airspeed, w * speed / airspeed)

    # Placing

    def set_initial_conditions(self, lat_deg: float, lon_deg: float, ground: float,
                               altitude_msl: float, heading_deg: float) -> None:
        """Set a level initial position; the height depends on latitude and ground."""
        self.set('ic/lat-geod-deg', lat_deg)
        self.set('ic/long-gc-deg', lon_deg)
        self.set('ic/terrain-elevation-ft', ground / FOOT)
        self.set('ic/h-sl-ft', altitude_msl / FOOT)
        self.set('ic/psi-true-deg', heading_deg)

    def set_initial_motion(self, pitch_deg: float, roll_deg: float, velocity: Vector,
                           rates: Vector) -> None:
        """Set initial attitude and motion: body axes, m/s over ground and rad/s."""
        self.set('ic/theta-deg', pitch_deg)
        self.set('ic/phi-deg', roll_deg)
        for name, value in zip('uvw', velocity, strict=True):
            self.set(f'ic/{name}-fps', value / FOOT)
        for name, value in zip('pqr', rates, strict=True):
            self.set(f'ic/{name}-rad_sec', clamp(value, -10.0, 10.0))

    def initialise(self) -> None:
        """Apply the initial conditions."""
        spools = self._spools()
        self._fdm.run_ic()
        self._keep_spools(spools)

    def work_out_forces(self) -> None:
        """Run a pass without integration, to compute forces and air data here."""
        if self._turboprops:
            # Without time JSBSim leaves out their torque.
            with self.held():
                self.settle(1)
            return
        self._fdm.suspend_integration()
        self._fdm.run()
        self._fdm.resume_integration()

    def reach_commands(self) -> None:
        """Let the actuators of a plant have their commands at once."""
        if self._has_actuators:
            self._fdm.set_trim_status(True)
            self.work_out_forces()
            self._fdm.set_trim_status(False)

    def trim(self) -> None:
        """Trim all six degrees of freedom. Raises TrimError."""
        try:
            self._fdm.do_trim(_TRIM_FULL)
        except self._jsbsim.BaseError as error:
            raise TrimError(one_line(str(error))) from error

    def set_fuel(self, tank: int, mass: float) -> None:
        """Set the fuel in a tank, in kg."""
        self.set(f'propulsion/tank[{tank}]/contents-lbs', mass / POUND)

    @property
    def state(self) -> AircraftState:
        """Return the state of a model without a cockpit, with the brakes off."""
        return self.reader.read(0.0, 0.0, 0.0, 0.0, 0.0)

    # Equilibrium

    def accelerations(self) -> tuple[float, ...]:
        """Return the derivatives of u, v, w in m/s2 and of p, q, r in rad/s2."""
        return tuple(get() * factor for get, factor in self._accelerations)

    def equilibrate(self, *, by_jsbsim: bool = False, at_once: bool = False) -> None:
        """
        Apply the initial conditions, with engines and surfaces as these controls leave them.

        The aircraft stays where it is while engines reach the speed that belongs to their
        throttles, and surfaces their positions. ``by_jsbsim``: engines as in JSBSim's own trim;
        ``at_once``: engines that run here (runs_engines) keep the speed that they have.
        """
        self._fdm.run_ic()
        self.reach_commands()
        if self.runs_engines and not by_jsbsim:
            # JSBSim's own steady state takes steps of half a second, in which the governor of a
            # propeller stalls the engine, and a light propeller is torn to any speed.
            if not at_once:
                (self._run_engines if self.pistons else self._spin)()
        elif self._thrust:
            self._fdm.get_propulsion().get_steady_state()
        spools = self._spools()
        self._fdm.set_trim_status(True)
        self._fdm.suspend_integration()
        before = self.accelerations()
        for _ in range(round(_PASSES * max(1.0, 1.0 / (PHYSICS_RATE * self.dt)))):
            self._fdm.run()
            now = self.accelerations()
            if max(abs(a - b) for a, b in zip(now, before, strict=True)) < _AT_REST:
                break
            before = now
        self._fdm.resume_integration()
        self._fdm.set_trim_status(False)
        self._keep_spools(spools)

    def linearize(self) -> tuple[tuple[list[str], list[str]], Any, Any]:
        """
        Return names of states and inputs, A and B in JSBSim's units, by FGLinearization.

        It never returns where JSBSim itself has not trimmed the aircraft.
        """
        found = self._jsbsim.FGLinearization(self._fdm)
        return ((list(found.x_names), list(found.u_names)), np.array(found.system_matrix),
                np.array(found.input_matrix))

    def _run_engines(self) -> None:
        # The centre of gravity must not move meanwhile.
        self.set('propulsion/fuel_freeze', 1)
        before = [get() for get in self._thrust]
        for _ in range(_ENGINE_STEPS // _ENGINE_STRIDE):
            for _ in range(_ENGINE_STRIDE):
                self._fdm.run()
                self._fdm.run_ic()
            now = [get() for get in self._thrust]
            if max(abs(a - b) for a, b in zip(now, before, strict=True)) < _ENGINE_AT_REST:
                break
            before = now
        self.set('propulsion/fuel_freeze', 0)

    def _is_spinning(self) -> bool:
        """Return whether all propellers turn, and none makes an impossible thrust."""
        most = _MOST_THRUST * self.get('inertia/weight-lbs')
        return (all(abs(get()) < most for get in self._thrust)
                and all(get() > _STANDS for get in self._propellers))

    def _spin(self) -> None:
        """Run engines until they have the thrust of their throttles; all else stays."""
        spools = self._spools()
        with self.held():
            self._keep_spools(spools)
            if self._propellers and not self._is_spinning():
                # All of the power on a propeller at rest would be an impossible torque.
                throttles = self.reader.throttles()
                for doubling in range(_DOUBLINGS, -1, -1):
                    for n, throttle in enumerate(throttles):
                        self.set(f'fcs/throttle-cmd-norm[{n}]', throttle * 0.5 ** doubling)
                    self.settle(round(_DOUBLING / self.dt))
            rest, step, last = _SPUN * self.get('inertia/weight-lbs'), self.dt, math.inf
            longest = _LONGEST_STEP
            before = [get() for get in self._thrust]
            for stride in range(_STRIDES):
                self.settle(round(_SPIN / self.dt))
                now = [get() for get in self._thrust]
                change = max(abs(a - b) for a, b in zip(now, before, strict=True))
                if change < rest:
                    break
                if stride > _SLOW:
                    if change < 2.0 * last:
                        step = min(2.0 * step, longest)
                    else:
                        # Where steps have become too long for it, it goes on with its own. That
                        # which has torn it from its rest, such as a governor, is not tried again.
                        longest = 0.5 * step if change > _TORN * last else longest
                        step = self.dt
                    self._fdm.set_dt(step)
                before, last = now, change
        spools = self._spools()
        self._fdm.run_ic()
        self._keep_spools(spools)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Without integrators nothing moves but engines, and the earth below; fuel is kept."""
        # Rockets have no thrust without burning.
        kept = [*_INTEGRATORS, *(
            f'propulsion/tank[{n}]/contents-lbs' for n in range(self.reader.tank_count))]
        values = [self.get(name) for name in kept]
        for name in _INTEGRATORS:
            self.set(name, 0)
        if has_battery := self._has_node(_BATTERY_FREEZE):
            self.set(_BATTERY_FREEZE, 1)
        try:
            yield
        finally:
            self._fdm.set_dt(self.dt)
            for name, value in zip(kept, values, strict=True):
                self.set(name, value)
            if has_battery:
                self.set(_BATTERY_FREEZE, 0)

    def propeller_speeds(self) -> list[float]:
        """Return how fast its propellers turn, in rpm."""
        return [get() for get in self._propellers]

    def _spools(self) -> list[tuple[str, float]]:
        """Return the speeds of the spools that JSBSim does not keep, by property."""
        return [(name, self.get(name)) for n in self._turboprops
                for name in (f'propulsion/engine[{n}]/n1', f'propulsion/engine[{n}]/n2')
                if self._has_node(name)]

    def _keep_spools(self, spools: Sequence[tuple[str, float]]) -> None:
        """Give these back, after JSBSim has reset them in a step with time."""
        if spools:
            with self.held():
                self._fdm.set_dt(_MOMENT)
                self.settle(1)
                for name, value in spools:
                    self.set(name, value)
                # Forces are those of this power.
                self.settle(1)


def moved_by(files: AircraftFiles, dt: float, path: str) -> Mixing:
    """
    Return what moves an aircraft: as its file of controls says, or else as is found.

    That is looked for in a folder of one's own only. Raises ValueError for a mistake in the file,
    and for an aircraft's that is no such.
    """
    if files.controls is not None or not path:
        return read(files)
    # What is too large, or no XML, is refused before it is read for commands.
    inert(files)

    def place() -> Model:
        model = Model(files.model, dt, 0, path, controls=None)
        model.set_initial_conditions(0.0, 0.0, 0.0, _TRIED_AT, 0.0)
        model.set('ic/vc-kts', model.usual_airspeed() / KNOT)
        model.initialise()
        for engine in range(model.reader.engine_count):
            model.engines.start(engine)
        return model

    return control_effects.find(files, place)


def found_controls(name: str, path: str, controls: str = '') -> Mixing:
    """Return what moves an aircraft, if that was found, {} if it is said. Raises ValueError."""
    files = find(name, path, Path(import_jsbsim().get_default_root_dir()), controls)
    return {} if files.controls is not None else moved_by(files, 1.0 / PHYSICS_RATE, path)


def check_plant(name: str, path: str, plant: Plant, dt: float, controls: str = '') -> None:
    """Raise ValueError for a plant that a model cannot be; what is found is kept for loading."""
    jsbsim = import_jsbsim()
    files = find(name, path, Path(jsbsim.get_default_root_dir()), controls)
    _with_plant(jsbsim, files, moved_by(files, dt, path), plant, dt, False)


def _with_plant(jsbsim: Any, files: AircraftFiles, mixing: Mixing, plant: Plant, dt: float,
                outputs: bool) -> AircraftFiles:
    """Return the files that JSBSim loads instead."""
    loaded = mapped(inert(files, outputs=outputs), mixing)
    return loaded if plant == AS_IN_ITS_FILE else varied(
        jsbsim, loaded, plant.values(), dt, files.file)
