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

"""simulator_node: a simulated aircraft with simulated time, controlled through ROS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
import time
from typing import Any

from builtin_interfaces.msg import Time
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger

from xplane_bridge.conversions.units import KNOT
from xplane_bridge.links.udp import resolve
from xplane_bridge.nodes.base import BaseParameters, BridgeNode
from xplane_bridge.nodes.diagnostics import ERROR, OK, Status, WARN
from xplane_bridge.nodes.parameters import parameter
from xplane_bridge.nodes.running import run
from xplane_bridge.nodes.simulator_studies import offer_studies
from xplane_bridge.protocols.xplane_udp import FIRST_WITH_TARGETS
from xplane_bridge.simulators.aircraft import Aircraft
from xplane_bridge.simulators.aircraft_state import AircraftState
from xplane_bridge.simulators.base import Frontend
from xplane_bridge.simulators.faults import Faults
from xplane_bridge.simulators.initial import Initial
from xplane_bridge.simulators.limits import MAX_LAT_DEG, MAX_SEVERITY, MAX_WIND
from xplane_bridge.simulators.lockstep import Lockstep
from xplane_bridge.simulators.registry import SIMULATORS
from xplane_bridge.simulators.server import Server, Simulation
from xplane_bridge.simulators.world import World

_LOOPBACK = '127.0.0.1'

_START = Initial()


@dataclass(frozen=True)
class SimulatorParameters(BaseParameters):
    """Parameters of simulator_node."""

    face: str = parameter('xpc', 'Simulated interface.', choices=tuple(SIMULATORS))
    host: str = parameter(_LOOPBACK, "Address to listen on; 0.0.0.0 is any of this computer's.")
    port: int = parameter(
        0, 'UDP port; 0 is the default one. X-Plane 7 and later send from the next one.',
        minimum=0, maximum=65534)
    controls_port: int = parameter(
        0, 'UDP port for controls (fdmdata); 0 is the one after port.', minimum=0, maximum=65535)
    data_host: str = parameter(
        _LOOPBACK, 'Address to which xplane6 sends rows (one of its settings).')
    data_port: int = parameter(
        49003, 'UDP port to which xplane6 sends rows (one of its settings).', minimum=1,
        maximum=65535)

    model: str = parameter('c172p', 'A JSBSim aircraft.')
    aircraft_path: str = parameter(
        '', "Folder of your own aircraft, laid out as JSBSim's; empty: JSBSim's own.")
    parked: bool = parameter(
        False, 'Start on the ground, engines idling, instead of trimmed in the air.')
    latitude_deg: float = parameter(
        _START.lat_deg, 'Initial latitude.', minimum=-MAX_LAT_DEG, maximum=MAX_LAT_DEG)
    longitude_deg: float = parameter(
        _START.lon_deg, 'Initial longitude.', minimum=-180.0, maximum=180.0)
    altitude: float = parameter(
        _START.altitude_msl, 'Initial altitude, m above mean sea level.')
    heading_deg: float = parameter(_START.heading_deg, 'Initial true heading.')
    airspeed: float = parameter(
        math.nan, 'Initial calibrated airspeed, m/s. NaN: one that is usual for the model.')
    seed: int = parameter(
        0, 'Random seed of turbulence and faults.', minimum=0,
        maximum=2**31 - 1)

    frame_rate: float = parameter(
        60.0, 'Frames per simulated second: in each it moves, reads and answers.', minimum=20.0,
        maximum=1000.0)
    speed: float = parameter(
        1.0, 'Real-time factor, as far as the machine can follow.',
        minimum=0.01, maximum=100.0)
    lockstep: bool = parameter(
        False, 'Advance a frame only when its state was sent and elevator, aileron, rudder and '
        'throttle were commanded after that, and then immediately.')
    publish_clock: bool = parameter(
        True, 'Publish the simulated time on /clock; false if a bridge does (stamp: simulator).')

    loss: float = parameter(
        0.0, 'Probability of losing a datagram, each way.', minimum=0.0, maximum=1.0)
    delay: float = parameter(
        0.0, 'Delay of a datagram in seconds, each way.', minimum=0.0, maximum=60.0)
    jitter: float = parameter(
        0.0, 'Maximum additional delay in seconds; changes the order.', minimum=0.0,
        maximum=60.0)

    world_frame: str = parameter(
        'world', 'Frame of entities in the standard simulator interface: east, north, up at the '
        'datum.')
    datum: tuple[float, ...] = parameter(
        (), 'Origin of world_frame: latitude and longitude in degrees, height above mean sea '
        'level in metres. Empty: sea level where the flight starts.')
    trim_entities: bool = parameter(
        False, 'SetEntityState puts an aircraft into steady level flight, with the heading and '
        'the airspeed given, instead of exactly the attitude and velocity given.', live=True)

    pause_at: float = parameter(
        math.nan, 'Simulated time at which it pauses; NaN is never. A later one resumes it.',
        live=True)
    wind: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), 'Velocity of the air: east, north, up, m/s, each within 100.', live=True)
    turbulence: tuple[float, ...] = parameter(
        (0.0, 0.0), 'MIL-F-8785C: wind at 20 ft, m/s (below 1000 ft above ground: 7.6 light, 15 '
        'moderate, 23 severe), and severity 0..7 (above 2000 ft: 3 light, 4 moderate, 6 severe).',
        live=True)
    engine_failed: bool = parameter(
        False, 'All engines fail; false restarts them.', live=True)
    failed_engines: tuple[int, ...] = parameter(
        (), 'Numbers of the engines that fail, 0 is the first; the others run.', live=True)
    link_down: bool = parameter(False, 'Every datagram is lost, each way.', live=True)

    def __post_init__(self) -> None:
        """Check combinations of values."""
        wind, turbulence = _numbers('wind', self.wind, 3), _numbers(
            'turbulence', self.turbulence, 2)
        if any(abs(value) > MAX_WIND for value in wind):
            raise ValueError(f'parameter wind: {wind} is beyond {MAX_WIND:g} m/s')
        at_20_ft, severity = turbulence
        if not 0.0 <= at_20_ft <= MAX_WIND:
            raise ValueError(f'parameter turbulence: {at_20_ft} m/s is not in 0..{MAX_WIND:g}')
        if not (severity.is_integer() and 0 <= severity <= MAX_SEVERITY):
            raise ValueError(
                f'parameter turbulence: severity {severity} is not a whole number in '
                f'0..{MAX_SEVERITY}')
        if self.datum:
            _check_datum(self.datum)
        if self.lockstep and not SIMULATORS[self.face].has_time:
            raise ValueError(
                'parameter lockstep: FDMData has no time in its protocol, so a controller cannot '
                'tell one frame from the next; choose another face, or speed')


class SimulatorNode(BridgeNode[SimulatorParameters]):
    """
    Fly a simulated aircraft for a bridge to connect to.

    To the bridge it is the same as the ``simulator`` command; to ROS it provides simulated time.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('simulator_node', SimulatorParameters, **options)
        self._standard: Any = None
        self._standard_is_missing = False
        # Simulated time of earlier configurations: /clock must not run backwards.
        self._elapsed = 0.0

    # Lifecycle.

    def open(self) -> None:
        """Create the aircraft and open its ports; time does not advance yet."""
        given = self.parameters
        frontend = self._make_frontend(given)
        self._endpoints = frontend.endpoints
        simulation = Simulation(
            [frontend], self._make_world, given.frame_rate, on_frame=self._on_frame,
            lockstep=Lockstep(self._endpoints[0]) if given.lockstep else None)
        simulation.frozen = True
        self.server = Server(simulation, given.speed)
        self.server.pause_at(_pause_at(given))
        self._cut(given.link_down)
        self._clock_publisher = (
            self.make_publisher(Clock, '/clock') if given.publish_clock else None)
        self._message = Clock()
        self._seen = (time.monotonic(), 0.0)
        try:
            self.server.start()
        except ImportError as error:
            raise ValueError(str(error)) from error
        self.make_service(SetBool, 'simulator/pause', self._pause)
        self.make_service(Trigger, 'simulator/step', self._step)
        self.make_service(Trigger, 'simulator/reset', self._reset)
        offer_studies(self, self.server)
        self.get_logger().info(
            f'{frontend.name} of a {given.model} on {frontend.address}, '
            f'{given.frame_rate:g} frames/s')
        self._offer_standard_interface(given)

    def begin(self) -> None:
        """Let time advance."""
        self.server.resume()

    def end(self) -> None:
        """Freeze like a stopped program: no frames, and incoming datagrams wait."""
        if self._standard is not None:
            self._standard.end_stepping('the node was deactivated')
        self.server.freeze()

    def close(self) -> None:
        """End the simulation and close its ports."""
        if self.server.error is None:
            self._elapsed = self._time()
        self.server.stop()

    def changed(self, given: SimulatorParameters) -> None:
        """Apply the live parameters' disturbances to the flight and the link."""
        old = self.parameters
        if given.link_down != old.link_down:
            self._cut(given.link_down)
        if not _same(given.pause_at, old.pause_at):
            self.server.pause_at(_pause_at(given))
        if (given.engine_failed, given.failed_engines) != (
                old.engine_failed, old.failed_engines):
            self.server.call(lambda world: _fail(world, given))
        if (given.wind, given.turbulence) != (old.wind, old.turbulence):
            self.server.call(lambda world: _set_weather(world, given))

    def _offer_standard_interface(self, given: SimulatorParameters) -> None:
        self._standard = None
        try:
            from xplane_bridge.nodes.simulator_interface import StandardInterface
        except ModuleNotFoundError as error:
            if (error.name or '').partition('.')[0] != 'simulation_interfaces':
                raise
            if not self._standard_is_missing:
                self._standard_is_missing = True
                self.get_logger().info(
                    'simulation_interfaces is not installed, so the standard simulator interface '
                    'is not offered; simulator/pause, step and reset are')
            return
        self._standard = StandardInterface(self, given)

    def _make_frontend(self, given: SimulatorParameters) -> Frontend:
        simulator = SIMULATORS[given.face]
        port = given.port or simulator.port
        sends_to_settings = simulator.version is not None and (
            simulator.version < FIRST_WITH_TARGETS)
        return simulator.make_frontend(
            Faults(loss=given.loss, delay=given.delay, jitter=given.jitter, seed=given.seed),
            host=given.host, port=port, controls_port=given.controls_port or port + 1,
            rpc_port=None, data_rate=given.frame_rate,
            data_target=(
                (resolve(given.data_host), given.data_port) if sends_to_settings else None))

    def _make_world(self) -> World:
        given = self.parameters
        world = World(Aircraft(given.model, Initial(
            lat_deg=given.latitude_deg, lon_deg=given.longitude_deg, altitude_msl=given.altitude,
            heading_deg=given.heading_deg,
            airspeed_kt=None if math.isnan(given.airspeed) else given.airspeed / KNOT,
            parked=given.parked), seed=given.seed, aircraft_path=given.aircraft_path))
        _disturb(world, given)
        world.total_running_time = self._elapsed
        return world

    def _cut(self, on: bool) -> None:
        for endpoint in self._endpoints:
            endpoint.cut = on

    def simulated_stamp(self) -> Time:
        """Return the simulated time, between two frames."""
        seconds, nanoseconds = divmod(
            round(self.server.simulation.world.total_running_time * 1e9), 1_000_000_000)
        return Time(sec=seconds, nanosec=nanoseconds)

    # In the simulation's thread, or the executor's if that steps.

    def _on_frame(self, _: float, __: AircraftState) -> None:
        if self._clock_publisher is not None:
            self._message.clock = self.simulated_stamp()
            self._clock_publisher.publish(self._message)

    # Services.

    def _pause(self, request: SetBool.Request, response: SetBool.Response) -> None:
        if self._standard is not None:
            self._standard.end_stepping('simulator/pause was called')
        self.server.pause(request.data)
        self._say_time(response)

    def _step(self, _: Trigger.Request, response: Trigger.Response) -> None:
        if self._standard is not None and self._standard.stepping:
            raise ValueError('other steps are in progress')
        self.server.step()
        self._say_time(response)

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> None:
        self.reset()
        self._say_time(response)

    def reset(self) -> None:
        """Restart the flight, with the parameters' disturbances."""
        def reset(world: World) -> None:
            self.server.simulation.reset_flight()
            _disturb(world, self.parameters)

        self.server.call(reset)

    def _say_time(self, response: Any) -> None:
        response.success = True
        response.message = f'simulated time {self._time():.6f} s'

    def _time(self) -> float:
        return self.server.call(lambda world: world.total_running_time)

    def diagnose(self) -> Sequence[Status]:
        """Return the state of link and simulation."""
        now, simulated = time.monotonic(), self._time()
        before, seen = self._seen
        self._seen = (now, simulated)
        simulation = self.server.simulation
        frontend, = simulation.frontends
        counters = frontend.counters
        level, sentence = self._state(simulation)
        clocks = self.count_publishers('/clock')
        return (
            Status('link', WARN if self.parameters.link_down else OK,
                   'down (link_down is set)' if self.parameters.link_down else 'open', (
                       ('face', frontend.name),
                       ('address', frontend.address),
                       ('datagrams received', str(counters.received)),
                       ('datagrams sent', str(counters.sent)),
                       ('dropped by the kernel', str(counters.kernel_drops)),
                   )),
            Status('simulation', level, sentence, (
                ('simulated time, s', f'{simulated:.3f}'),
                ('real-time factor', f'{(simulated - seen) / max(now - before, 1e-6):.2f}'),
                ('frames', str(simulation.frames)),
            )),
            Status('clock', WARN if clocks > 1 else OK,
                   'two /clock publishers: disable publish_clock here or stamp: simulator '
                   'there' if clocks > 1 else 'published' if self._clock_publisher
                   else 'not published here'),
        )

    def _state(self, simulation: Simulation) -> tuple[bytes, str]:
        if self.server.error is not None:
            return ERROR, f'ended: {self.server.error}'
        if not self.active:
            return WARN, 'not active'
        if simulation.held:
            return OK, 'paused'
        if simulation.lockstep is not None:
            missing = self.server.call(simulation.lockstep.missing)
            if missing:
                return OK, f'in lockstep; waiting for {", ".join(sorted(missing))}'
        return OK, 'running'


def _numbers(name: str, values: tuple[Any, ...], count: int) -> tuple[float, ...]:
    """Return a list parameter as ``count`` numbers. Raises ValueError."""
    if len(values) != count or any(
            isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        raise ValueError(f'parameter {name}: expected {count} numbers, got {list(values)}')
    return tuple(map(float, values))


def _check_datum(datum: tuple[Any, ...]) -> None:
    latitude, longitude, _ = _numbers('datum', datum, 3)
    if abs(latitude) > MAX_LAT_DEG or abs(longitude) > 180.0:
        raise ValueError(f'parameter datum: {latitude}, {longitude} is not a position between '
                         f'{MAX_LAT_DEG} degrees north and south')


def _pause_at(given: SimulatorParameters) -> float:
    return math.inf if math.isnan(given.pause_at) else given.pause_at


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _disturb(world: World, given: SimulatorParameters) -> None:
    _set_weather(world, given)
    _fail(world, given)


def _set_weather(world: World, given: SimulatorParameters) -> None:
    east, north, up = map(float, given.wind)
    world.aircraft.set_wind(north, east, -up)
    at_20_ft, severity = given.turbulence
    world.aircraft.set_turbulence(float(at_20_ft), int(severity))


def _fail(world: World, given: SimulatorParameters) -> None:
    world.aircraft.set_failed(given.engine_failed or list(given.failed_engines))


def main(args: Sequence[str] | None = None) -> int:
    """Run simulator_node; return the process's exit code."""
    return run(SimulatorNode, SimulatorParameters, args)
