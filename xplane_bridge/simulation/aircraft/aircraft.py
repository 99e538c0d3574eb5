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
The simulated aircraft: JSBSim with a cockpit, the ground below it, weather and faults.

One Aircraft may be served through several frontends at a time: it has no thread, no clock and no
protocol. Time advances only in ``advance`` and ``step``, so not calling them pauses it, and the
same seed with the same commands at the same steps gives the same flight. It is not thread-safe.

For the wheels the ground is level, at the terrain's elevation below the centre of gravity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
import math
import time

from xplane_bridge.bridges.conversions.airframe_events import AirframeEventKind
from xplane_bridge.common.fields import LARGEST_SEED
from xplane_bridge.common.timing import PHYSICS_RATE
from xplane_bridge.simulation.aircraft import limits, model_pool, steady
from xplane_bridge.simulation.aircraft.airframe.crashing import Crashing
from xplane_bridge.simulation.aircraft.airframe.engine_switches import MAGNETOS_BOTH
from xplane_bridge.simulation.aircraft.cockpit import Cockpit
from xplane_bridge.simulation.aircraft.geometry import matrix_ned_body, transform, transpose
from xplane_bridge.simulation.aircraft.initial import DEFAULT_MODEL, Initial
from xplane_bridge.simulation.aircraft.limits import check_finite, check_number, clamp, value_or
from xplane_bridge.simulation.aircraft.loading.files import Origin
from xplane_bridge.simulation.aircraft.loading.properties import Properties
from xplane_bridge.simulation.aircraft.sample import DatarefState, Sampler
from xplane_bridge.simulation.aircraft.state import AircraftState, KNOT
from xplane_bridge.simulation.aircraft.terrain import is_wet
from xplane_bridge.simulation.aircraft.trims import TrimCondition
from xplane_bridge.simulation.aircraft.weather import calm, FlownInAir, Weather

_SETTLING_TIME = 20.0
# Rounding errors in a sum of frame times must not cost a step.
_STEP_TOLERANCE = 1e-9
# Of so many calls for steps one is timed: to ask for the time takes about a hundredth of a frame.
_TIMED = 16


class Aircraft(Crashing, FlownInAir):
    """
    One JSBSim aircraft.

    Commands take effect at the next step. They accept any finite number and clamp it to the
    control's range; NaN and infinities raise ValueError.
    """

    def __init__(self, model: str = DEFAULT_MODEL, initial: Initial | None = None,
                 dt: float = 1.0 / PHYSICS_RATE, seed: int = 0, aircraft_path: str = '',
                 settings: Mapping[str, float] | None = None, *, outputs: bool = False) -> None:
        """
        Load the model and put it in its initial state.

        model is a name in JSBSim's aircraft folder, or in aircraft_path, laid out like it; dt the
        step in s (with more than 0.02 landing gears are unstable); seed (0..LARGEST_SEED) is for
        turbulence; settings are JSBSim properties to begin with; outputs opens the files and
        sockets that it names. Raises ValueError if it cannot fly, ImportError without JSBSim.
        """
        if not 0.0 < dt <= 0.02:
            raise ValueError(f'dt is {dt} s, must be above 0 and at most 0.02')
        if not 0 <= seed <= LARGEST_SEED:
            raise ValueError(f'seed is {seed}, must be in 0..{LARGEST_SEED}')
        self.model, self.aircraft_path, self.outputs = model, aircraft_path, outputs
        self.dt, self.seed = dt, seed
        self.initial, self.settings = initial or Initial(), dict(settings or {})
        # Names of the controls that were set; callers clear it to see what is new.
        self.commanded: set[str] = set()
        # What its steps have taken of a processor (s), by the calls that are timed.
        self.processor_time, self._calls = 0.0, 0
        self._state: AircraftState | None = None
        self.initial.check()
        self._begin()

    def reset(self) -> None:
        """Return to the initial state: position, time, controls, weather, faults, seed."""
        self.retire()
        self._begin()

    def retire(self) -> None:
        """Fly no more: a later aircraft may have its model. Only its last state can be read."""
        self._state = self.state
        self._kind.keep(self._model)
        del self._model, self._cockpit, self.sampler

    def _begin(self) -> None:
        self._steps, self._remainder, self._weather = 0, 0.0, Weather()
        self._gusts, self._lies = (), False
        self._build()
        self._be_whole(self._model)
        if self.initial.parked:
            self._park(self.initial.lat_deg, self.initial.lon_deg, self.initial.heading_deg)
        else:
            self._start_in_the_air()

    # Time

    @property
    def time(self) -> float:
        """Return the simulated time since the initial state in s."""
        return self._steps * self.dt

    def advance(self, seconds: float) -> int:
        """
        Run all whole steps that fit, and return their number; the remainder is kept for later.

        Raises ValueError unless seconds is finite and at least 0.
        """
        if not 0.0 <= seconds < math.inf:
            raise ValueError(f'cannot advance by {seconds} s')
        self._remainder += seconds
        steps = int(self._remainder / self.dt + _STEP_TOLERANCE)
        self._remainder -= steps * self.dt
        self.step(steps)
        return steps

    def step(self, steps: int = 1) -> None:
        """Run steps of dt; of what has crashed, only the time goes on."""
        self._state = None
        if self.crash is not None:
            self._lie()
            self._steps += steps
            return
        self._calls += 1
        if self._calls % _TIMED:
            flown = self._model.fly(steps)
        else:
            begin = time.thread_time()
            flown = self._model.fly(steps)
            self.processor_time += _TIMED * (time.thread_time() - begin)
        if self._model.event is not None or self._has_limits:
            self._note(self._model, (self._steps + min(flown + 1, steps)) * self.dt,
                       lambda lat, lon: is_wet(lat, lon, self.initial.airfield))
        self._steps += steps
        if self.crash is not None and self.crash.kind is AirframeEventKind.DIVERGED:
            # Nobody is shown what is not a number.
            self._lie()

    # Reading

    @property
    def state(self) -> AircraftState:
        """Return the current state; the same object until the next step or command."""
        self._state = self._state or self._cockpit.state(self.time)
        return self._state

    @property
    def seen(self) -> DatarefState:
        """Return what datarefs need of the current state, in half of the time."""
        return self.sampler.seen(self._cockpit.speedbrake)

    @property
    def engine_count(self) -> int:
        """Return the number of engines."""
        return self._model.reader.engine_count

    @property
    def tank_count(self) -> int:
        """Return the number of fuel tanks."""
        return self._model.reader.tank_count

    @property
    def retractable(self) -> bool:
        """Return whether one of its wheels can be retracted."""
        return self._model.retractable

    @property
    def magnetos(self) -> Mapping[int, int]:
        """Return the magnetos of its piston engines by number: 0 off, 1 left, 2 right, 3 both."""
        return self._cockpit.magnetos

    @property
    def starters(self) -> Mapping[int, bool]:
        """Return whether the starters of its piston engines turn, by number."""
        return self._cockpit.starters

    @property
    def failed_engines(self) -> frozenset[int]:
        """Return the numbers of the engines that fail_engine has stopped."""
        return frozenset(self._cockpit.failed)

    @property
    def origin(self) -> Origin:
        """Return the files that it was loaded from, as they were then."""
        return self._model.origin

    def property_value(self, name: str) -> float:
        """Return a JSBSim property in JSBSim's unit (0.0 for an unknown name)."""
        return float(self._model.get(name))

    @property
    def properties(self) -> Properties:
        """Return the properties of its present model, for reading."""
        return self._model.properties

    def set_properties(self, values: Mapping[str, float]) -> None:
        """Write JSBSim properties, all or none. Raises ValueError with the reason."""
        self._state = None
        self._model.properties.write(values)

    # Commands

    def set_controls(self, elevator: float | None = None, aileron: float | None = None,
                     rudder: float | None = None,
                     throttle: float | Sequence[float | None] | None = None,
                     flaps: float | None = None, gear: float | None = None,
                     speedbrake: float | None = None, left_brake: float | None = None,
                     right_brake: float | None = None, parking_brake: float | None = None,
                     mixture: float | Sequence[float | None] | None = None,
                     propeller: float | Sequence[float | None] | None = None,
                     elevator_trim: float | None = None, aileron_trim: float | None = None,
                     rudder_trim: float | None = None) -> None:
        """
        Move cockpit controls; None leaves a control unchanged.

        elevator (+ nose up), aileron (+ right wing down), rudder (+ nose right, also steers the
        nose wheel) and the three trims, same signs, -1..1. throttle, mixture (1 rich) and
        propeller (1 fine) 0..1 for all engines, or one value per engine. flaps, gear (1 down) and
        the brakes 0..1; speedbrake -0.5 (armed) to 1.5. A model ignores what it has no part for.
        """
        throttles = self._cockpit.by_engine('throttle', throttle)
        mixtures = self._cockpit.by_engine('mixture', mixture)
        propellers = self._cockpit.by_engine('propeller', propeller)
        given = {name: value for name, value in (
            ('elevator', elevator), ('aileron', aileron), ('rudder', rudder), ('flaps', flaps),
            ('gear', gear), ('speedbrake', speedbrake), ('left_brake', left_brake),
            ('right_brake', right_brake), ('parking_brake', parking_brake),
            ('elevator_trim', elevator_trim), ('aileron_trim', aileron_trim),
            ('rudder_trim', rudder_trim)) if value is not None}
        check_finite(**given)
        self._state = None
        self.commanded.update(given, ('throttle',) if throttles else ())
        self._cockpit.move(given, throttles, mixtures, propellers)

    def fly_by(self, elevator: float, aileron: float, rudder: float, throttle: float) -> None:
        """Move these as set_controls does, in a fifth of its time; ``commanded`` stays."""
        if not math.isfinite(elevator + aileron + rudder + throttle):
            check_finite(elevator=elevator, aileron=aileron, rudder=rudder, throttle=throttle)
        self._state = None
        self._cockpit.fly_by(elevator, aileron, rudder, throttle)

    def set_gear_position(self, position: float) -> None:
        """Set the gear position (0 up, 1 down) at once; afterwards it follows its handle."""
        check_finite(position=position)
        self._state = None
        self._model.set('gear/gear-pos-norm', clamp(position, 0.0, 1.0))

    def set_fuel(self, tank: int, mass: float) -> None:
        """Set the fuel (kg, negative counts as 0) in tank 0..tank_count - 1."""
        check_finite(mass=mass)
        check_number('tank', tank, self.tank_count)
        self._state = None
        self._model.set_fuel(tank, max(mass, 0.0))

    def set_magnetos(self, engine: int, position: int) -> None:
        """Turn the magnetos of an engine: 0 off to 3 both. Without effect if it has none."""
        if engine in self.magnetos:
            self._state = None
            self._cockpit.set_magnetos(engine, min(max(position, 0), MAGNETOS_BOTH))

    def set_starter(self, engine: int, on: bool) -> None:
        """Let the starter of a piston engine turn it, or not. Without effect on other engines."""
        if engine in self.starters:
            self._state = None
            self._cockpit.set_starter(engine, on)

    def fail_engine(self, engine: int | None = None) -> None:
        """Stop one engine (0..engine_count - 1) or all: no ignition, no fuel."""
        self._state = None
        self._cockpit.fail(engine)

    def restore_engine(self, engine: int | None = None) -> None:
        """Repair and restart one failed engine, or all of them; running ones are left alone."""
        self._state = None
        self._cockpit.restore(engine)

    def set_failed(self, engines: bool | Sequence[int]) -> None:
        """Fail all engines, none, or those with these numbers, and repair the others."""
        self._state = None
        self._cockpit.set_failed(engines)

    # Placing

    def teleport(self, lat_deg: float | None = None, lon_deg: float | None = None,
                 altitude_msl: float | None = None, pitch_deg: float | None = None,
                 roll_deg: float | None = None, heading_deg: float | None = None,
                 speed: float | None = None,
                 velocity_ned: tuple[float, float, float] | None = None,
                 rates: tuple[float, float, float] = (0.0, 0.0, 0.0),
                 settled: bool = False) -> None:
        """
        Move the aircraft and re-initialise the model there; None keeps a value.

        The velocity through the air keeps its body components, so the aircraft flies on with its
        speed and angle of attack along the new heading; speed (m/s, true, 0..400) rescales it,
        and velocity_ned (m/s over ground) replaces it. rates are the body rates p, q, r in rad/s.
        An altitude below the ground becomes standing height: at no speed, with the brakes set, it
        is parked. Engine (unless settled: then as its throttle leaves it), fuel, controls and
        weather are unchanged. Latitude and pitch beyond 89.9, altitude above 25 km are clamped.
        """
        p, q, r = rates
        check_finite(
            latitude=lat_deg, longitude=lon_deg, altitude_msl=altitude_msl, pitch=pitch_deg,
            roll=roll_deg, heading=heading_deg, speed=speed, p=p, q=q, r=r)
        self._mend()
        now = self.state
        lat = clamp(value_or(lat_deg, now.lat_deg), -limits.MAX_LAT_DEG, limits.MAX_LAT_DEG)
        lon = math.remainder(value_or(lon_deg, now.lon_deg), 360.0)
        ground = self._model.elevation_m(lat, lon)
        altitude = clamp(value_or(altitude_msl, now.altitude_msl),
                         ground + self._rest_height, limits.MAX_ALTITUDE)
        pitch = limits.clamp_pitch(value_or(pitch_deg, math.degrees(now.theta)))
        roll = math.remainder(value_or(roll_deg, math.degrees(now.phi)), 360.0)
        heading = value_or(heading_deg, math.degrees(now.psi)) % 360.0
        body_ned = transpose(matrix_ned_body(
            math.radians(roll), math.radians(pitch), math.radians(heading)))
        if velocity_ned is not None:
            north, east, down = velocity_ned
            check_finite(north=north, east=east, down=down)
            u, v, w = transform(body_ned, (north, east, down))
        else:
            through_air = self._model.velocity_through_air(speed)
            wind = transform(body_ned, (now.wind_north, now.wind_east, now.wind_down))
            u, v, w = (a + b for a, b in zip(through_air, wind, strict=True))
        limit = limits.MAX_SPEED / max(limits.MAX_SPEED, math.hypot(u, v, w))
        self._model.set_initial_conditions(lat, lon, ground, altitude, heading)
        self._model.set_initial_motion(pitch, roll, (u * limit, v * limit, w * limit), rates)
        (self._model.equilibrate if settled else self._model.initialise)()
        self._state = None
        # JSBSim has forgotten the wind; forces and air data must include it.
        self._apply_weather()
        self._model.work_out_forces()

    def trim_at(self, lat_deg: float, lon_deg: float, altitude_msl: float, heading_deg: float,
                speed: float) -> None:
        """
        Move the aircraft into steady level flight.

        heading_deg is true, speed the true airspeed in m/s. Bank, pitch, throttle and trims are
        set to hold it with centred controls; flaps, gear, fuel, mixture and weather are unchanged.
        Raises ValueError, changing nothing, if no trim exists.
        """
        check_finite(latitude=lat_deg, longitude=lon_deg, altitude_msl=altitude_msl,
                     heading=heading_deg, speed=speed)
        self._mend()
        if not all(engine.running for engine in self.state.engines):
            raise ValueError(f'{self.model} cannot be trimmed with an engine stopped')
        how = ((lat_deg, lon_deg, altitude_msl, heading_deg), self._rest_height, 'ic/vt-kts',
               speed / KNOT)
        # On a copy first: a failed trim leaves the model in disorder.
        for by_jsbsim in steady.ways(self._model):
            twin = self._twin()
            steady.place(twin._model, *how)
            failure = steady.trim_level(twin._model, twin._cockpit, by_jsbsim=by_jsbsim)
            if not failure:
                break
        else:
            raise ValueError(steady.untrimmed(self.model, speed / KNOT, altitude_msl, failure))
        calm(self._model)
        steady.place(self._model, *how)
        steady.trim_level(self._model, self._cockpit, by_jsbsim=by_jsbsim)
        self._state = None
        s, (north, east, down) = self.state, self.wind
        self.teleport(pitch_deg=math.degrees(s.theta), roll_deg=math.degrees(s.phi),
                      velocity_ned=(s.v_north + north, s.v_east + east, s.v_down + down))

    # Inside

    def _build(self) -> None:
        """Take a new model, or one as good as new, not placed yet."""
        self._kind = model_pool.ModelSpec.of(
            self.model, self.dt, self.aircraft_path, self.settings, self.initial)
        self._model = self._kind.load(self.seed, outputs=self.outputs)
        # Reads a few values of the current state.
        self.sampler: Sampler = self._model.sampler
        self._cockpit = Cockpit(self._model)
        self._state = None
        self._rest_height = self._model.wheel_height()

    def _twin(self) -> Aircraft:
        """Return a copy with the same fuel and controls and running engines, in still air."""
        now = self.state
        twin = copy(self)
        twin.commanded, twin.outputs = set(), False
        twin._build()
        for tank, mass in enumerate(now.fuel):
            twin.set_fuel(tank, mass)
        twin.set_controls(
            flaps=now.flaps, gear=now.gear, speedbrake=now.speedbrake,
            mixture=self._cockpit.mixture, propeller=[engine.propeller for engine in now.engines])
        twin.set_gear_position(now.gear_position)
        steady.start_engines(twin._model, twin._cockpit)
        calm(twin._model)
        return twin

    def _start_in_the_air(self) -> None:
        start = self.initial
        place = (start.lat_deg, start.lon_deg, start.altitude_msl, start.heading_deg)
        wanted = TrimCondition(self._kind, self._model.origin, place, start.airspeed_kt)
        if (trim := wanted.known) is None:
            # The first time too it is set up on a model that is as good as new.
            self.retire()
            try:
                trim = wanted.find()
            finally:
                self._build()
        trim.set_up(self._model, self._cockpit, place)
        self._state = None

    def _park(self, lat_deg: float, lon_deg: float, heading_deg: float,
              engines: bool = True) -> None:
        """Set the aircraft on the ground and let the gear come to rest."""
        ground = self._model.elevation_m(lat_deg, lon_deg)
        self._model.set_initial_conditions(
            lat_deg, lon_deg, ground, ground + self._rest_height, heading_deg)
        self._model.initialise()
        if engines:
            steady.start_engines(self._model, self._cockpit)
        self.set_controls(throttle=0.0, mixture=1.0, gear=1.0, parking_brake=1.0)
        self._model.settle(round(_SETTLING_TIME / self.dt))
        self._rest_height = self._model.height
        self._state = None

    def _lie(self) -> None:
        """Put what has crashed to rest where it did, with its engines stopped."""
        if self._lies:
            return
        self._lies = True
        heading = self._model.get('attitude/psi-deg')
        place = self._model.place
        self._build()
        self._park(*place, heading if math.isfinite(heading) else self.initial.heading_deg,
                   engines=False)
        self.fail_engine()
        self._apply_weather()

    def _mend(self) -> None:
        """Let what has crashed fly again, as it is placed anew."""
        if self.crash is not None:
            self._lie()
            self.crash, self._lies = None, False
            self.restore_engine()
