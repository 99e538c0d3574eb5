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
from dataclasses import replace
import math
import time
from typing import Any

from builtin_interfaces.msg import Time
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger

from xplane_bridge.bridges.conversions.topics import CONTACTS_TOPIC
from xplane_bridge.bridges.links.udp import resolve
from xplane_bridge.bridges.nodes.common.base import BridgeNode
from xplane_bridge.bridges.nodes.common.diagnostics import ERROR, OK, Status, WARN
from xplane_bridge.bridges.nodes.common.running import run
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.bridges.nodes.vehicle.clock import SimulatorTime
from xplane_bridge.bridges.nodes.vehicle.transforms import make_map_frame
from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_TARGETS
from xplane_bridge.common.text import printable
from xplane_bridge.common.timing import physics_rate, SECOND_NS
from xplane_bridge.common.units import KNOT
from xplane_bridge.msg import Contacts
from xplane_bridge.simulation.aircraft import weather_settings as weather
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.aircraft.state import AircraftState
from xplane_bridge.simulation.aircraft.studies.physics_rate import physics_rate as chosen_rate
from xplane_bridge.simulation.aircraft.studies.physics_rate import remarks
from xplane_bridge.simulation.aircraft.studies.standing import (
    standing_compressions,
    strut_compression,
)
from xplane_bridge.simulation.aircraft.terrain import Airfield, HOME
from xplane_bridge.simulation.aircraft.weather_settings import WEATHER
from xplane_bridge.simulation.node.airframe import AirframeTopic, take_limits, with_airframes
from xplane_bridge.simulation.node.direct import diagnose, DIRECT, Direct, publish_traffic
from xplane_bridge.simulation.node.parameters import SimulatorParameters
from xplane_bridge.simulation.node.properties import (
    offer_properties,
    PropertyTopics,
    set_properties,
)
from xplane_bridge.simulation.node.studies import offer_studies
from xplane_bridge.simulation.peers.base import Frontend
from xplane_bridge.simulation.peers.direct import DirectFrontend
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.flown import beside, fly_beside
from xplane_bridge.simulation.peers.lockstep import Lockstep
from xplane_bridge.simulation.peers.registry import SIMULATORS
from xplane_bridge.simulation.peers.server import Server, SimulatedComputer
from xplane_bridge.simulation.peers.world import World

# Which engines fail, by the parameters of simulator_node; in a fleet by the aircraft's names.

def fail(
    world: World, names: Sequence[str], of_first: bool | Sequence[int], of_fleet: Sequence[str]
) -> None:
    """
    Fail these engines, and repair all others.

    ``names`` are those of the aircraft, by number. ``of_first`` are the engines of the first one;
    ``of_fleet`` has NAME for all engines of an aircraft, and NAME:ENGINE for one of them. Raises
    ValueError, changing nothing, for an aircraft or an engine that does not exist.
    """
    wanted: list[bool | list[int]] = [False for _ in world.flown]
    wanted[0] = of_first if isinstance(of_first, bool) else list(of_first)
    for text in of_fleet:
        name, _, engine = text.partition(':')
        if not name or name not in names or (':' in text and not engine.isdecimal()):
            raise ValueError(
                f'parameter fleet_failed_engines: got {printable(text)}, expected NAME or '
                f'NAME:ENGINE, with a name of {", ".join(filter(None, names)) or "a fleet"}')
        number = names.index(name)
        before = wanted[number]
        if not engine:
            wanted[number] = True
        elif before is not True:
            wanted[number] = [*(before or ()), int(engine)]
    failed = [sorted(aircraft.failed_engines) for aircraft in world.flown]
    try:
        for aircraft, engines in zip(world.flown, wanted, strict=True):
            aircraft.set_failed(engines)
    except ValueError:
        for aircraft, engines in zip(world.flown, failed, strict=True):
            aircraft.set_failed(engines)
        raise


def failures(given: Any) -> tuple[bool | tuple[int, ...], tuple[str, ...]]:
    """Return which engines fail, of the first aircraft and of a fleet."""
    return given.engine_failed or given.failed_engines, given.fleet_failed_engines


# The weather that parameters of simulator_node say.

# East and north, roughness and exponent.
_NO_SHEAR = (0.0, 0.0, 0.0, 0.0)


def changed_weather(given: SimulatorParameters, old: SimulatorParameters) -> list[str]:
    """Return which of the parameters of the weather have changed."""
    return [name for name in WEATHER if getattr(given, name) != getattr(old, name)]


def set_weather(
    world: World, given: SimulatorParameters, names: Sequence[str] = WEATHER
) -> None:
    """Let all aircraft fly in what these parameters say."""
    for aircraft in world.flown:
        set_weather_of(aircraft, given, names)


def set_weather_of(
    aircraft: Aircraft, given: SimulatorParameters, names: Sequence[str] = WEATHER
) -> None:
    """Let one of them do so; a gust begins."""
    for name in names:
        value = tuple(map(float, getattr(given, name)))
        if name == 'wind_shear' and not any(value):
            value = _NO_SHEAR
        if name != 'gust' or any(value):
            weather.set_weather(aircraft, name, value)


# What of the simulated aircraft touches the ground, as a topic: landings are judged by it.

class ContactsTopic:
    """Publishes ``contacts`` for each new state of the first aircraft, stamped with its time."""

    def __init__(self, node: BridgeNode[Any]) -> None:
        self._publisher = node.make_publisher(Contacts, CONTACTS_TOPIC, 10)
        self._message = Contacts()
        self._standing: tuple[float, ...] | None = None
        self._told_at = -1.0

    def publish(self, world: World) -> None:
        """Publish what touches now, unless no time has passed."""
        now = world.total_running_time
        if now == self._told_at:
            return
        self._told_at = now
        if self._standing is None:
            self._standing = standing_compressions(world.aircraft)
        found, message = world.aircraft.sampler.contacts(), self._message
        write_stamp(message, round(now * 1e9))
        message.wheels, message.structure = found.wheels, found.structure
        message.strut_compression = strut_compression(found.compressions, self._standing)
        self._publisher.publish(message)


# At its end it goes on at most for as long as a bridge gives back (s).
_LONGEST = 4.0


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
        self._stamps = SimulatorTime()
        self._told_late = ''

    # Lifecycle.

    def open(self) -> None:
        """Create the aircraft and open its ports; time does not advance yet."""
        given = self.parameters
        self._direct = self._make_direct(given) if given.telemetry == DIRECT else ()
        frontend = self._direct[0].frontend if self._direct else self._make_frontend(given)
        self._endpoints = frontend.endpoints
        simulation = SimulatedComputer(
            [frontend], self._make_world, given.frame_rate, on_frame=self._on_frame,
            lockstep=Lockstep(
                self._endpoints[0], given.vehicles() if self._direct else given.namespaces)
            if given.lockstep else None)
        simulation.frozen = True
        self.server = Server(simulation, given.speed)
        self.server.pause_at(_pause_at(given))
        self._cut(given.link_down)
        self._clock_publisher = (
            self.make_publisher(Clock, '/clock') if given.publish_clock else None)
        self._message = Clock()
        self._properties = PropertyTopics(self, given.topics())
        self._contacts = ContactsTopic(self) if given.contacts else None
        self._airframe = AirframeTopic(self, given, given.vehicles())
        self._seen = (time.monotonic(), self._elapsed)
        try:
            self.server.start()
        except ImportError as error:
            raise ValueError(str(error)) from error
        for direct, aircraft in zip(self._direct, simulation.world.flown, strict=False):
            direct.listen(self.server, aircraft)
        self.make_service(SetBool, 'simulator/pause', self._pause)
        self.make_service(Trigger, 'simulator/step', self._step)
        self.make_service(Trigger, 'simulator/reset', self._reset)
        if not self._direct:
            offer_studies(self, self.server, simulation.world.aircraft)
        offer_properties(self, self.server)
        of = f'of a {given.model}' if not given.fleet else (
            f'of {len(given.fleet) + 1} aircraft, {", ".join((given.model, *given.fleet))}')
        self.get_logger().info((
            f'common topics {of}, without a port' if self._direct
            else f'{frontend.name} {of} on {frontend.address}')
            + f', {given.frame_rate:g} frames/s')
        self._offer_standard_interface(given)

    def begin(self) -> None:
        """Let time advance."""
        self.server.resume()

    def leave(self) -> None:
        """Go on while a bridge gives back: Ctrl-C ends both at the same time."""
        if self.active:
            self.server.linger(self.parameters.linger, _LONGEST)
        super().leave()

    def hurry(self) -> None:
        """Go on no longer."""
        if self.active:
            self.server.end()

    def end(self) -> None:
        """Freeze like a stopped program: no frames, and incoming datagrams wait."""
        if self._standard is not None:
            self._standard.end_stepping('the node was deactivated')
        self.server.freeze()
        for direct in self._direct:
            direct.end()

    def close(self) -> None:
        """End the simulation and close its ports."""
        if self.server.error is None:
            self._elapsed = self._time()
        self.server.stop()
        for direct in self._direct:
            direct.close()

    def changed(self, given: SimulatorParameters) -> None:
        """Apply the live parameters' disturbances to the flight and the link."""
        old = self.parameters
        if given.link_down != old.link_down:
            self._cut(given.link_down)
        if _pause_at(given) != _pause_at(old):
            self.server.pause_at(_pause_at(given))
        if failures(given) != failures(old):
            self.server.call(lambda world: fail(world, self._names(given), *failures(given)))
        if changed := changed_weather(given, old):
            self.server.call(lambda world: set_weather(world, given, changed))
        if given.property_values != old.property_values:
            self.server.call(lambda world: set_properties(world, given, old))
        for direct in self._direct:
            direct.changed(given)

    # With telemetry: direct.

    @property
    def vehicles(self) -> tuple[Direct, ...]:
        """Return the topics of each aircraft, in order."""
        return self._direct

    @vehicles.setter
    def vehicles(self, vehicles: tuple[Direct, ...]) -> None:
        """Set them, between two frames."""
        self._direct = vehicles
        if (lockstep := self.server.simulation.lockstep) is not None:
            lockstep.names = [direct.name for direct in vehicles]

    def make_vehicle(self, key: int, namespace: str) -> Direct:
        """Return the topics of another aircraft; its ``key`` is its own."""
        return Direct(self, self.parameters, self._stamps, self._direct[0].frontend, key,
                      f'{namespace}/', self._map_frame)

    def take_weather(self, aircraft: Aircraft) -> None:
        """Let another aircraft fly in the weather of all."""
        set_weather_of(aircraft, self.parameters)

    def _offer_standard_interface(self, given: SimulatorParameters) -> None:
        self._standard = None
        try:
            from xplane_bridge.simulation.node.standard import StandardInterface
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
        simulator = SIMULATORS[given.sim]
        port = given.port or simulator.port
        sends_to_settings = simulator.version is not None and (
            simulator.version < FIRST_WITH_TARGETS or bool(given.rows))
        return simulator.make_frontend(
            Faults(loss=given.loss, delay=given.delay, jitter=given.jitter, seed=given.seed),
            host=given.host, port=port, controls_port=given.controls_port or port + 1,
            rpc_port=None, data_rate=given.frame_rate, rows=given.rows,
            send_port=given.send_port or None,
            data_target=(
                (resolve(given.data_host), given.data_port) if sends_to_settings else None))

    def _make_direct(self, given: SimulatorParameters) -> tuple[Direct, ...]:
        frontend, self._map_frame = DirectFrontend(), make_map_frame(self, given)
        return tuple(
            Direct(self, given, self._stamps, frontend, number, name and f'{name}/',
                   self._map_frame)
            for number, name in enumerate(given.vehicles()))

    def _make_world(self) -> World:
        given = self.parameters
        initial = Initial(
            lat_deg=given.latitude_deg, lon_deg=given.longitude_deg,
            altitude_msl=given.altitude_msl, heading_deg=given.heading_deg,
            airspeed_kt=None if math.isnan(given.airspeed) else given.airspeed / KNOT,
            parked=given.parked,
            airfield=Airfield(*given.airfield) if given.airfield else HOME,
            plant=given.differs(), controls=given.controls)
        starts = _starts(given, initial)
        loaded: dict[str, Any] = {'aircraft_path': given.aircraft_path,
                                  'dt': 1.0 / self._physics_rate(given, [initial, *starts])}
        world = World(
            Aircraft(given.model, initial, seed=given.seed, settings=given.values(), **loaded),
            fleet=fly_beside(given.fleet, starts, given.seed, **loaded))
        self._properties.check(world)
        take_limits(world, given)
        self._disturb(world)
        world.total_running_time = self._elapsed
        return world

    def _physics_rate(self, given: SimulatorParameters, starts: Sequence[Initial]) -> float:
        for line in dict.fromkeys(line for model, start in zip(
                (given.model, *given.fleet), starts, strict=True) for line in remarks(
                    model, start, given.aircraft_path, given.physics_rate)):
            self.get_logger().info(line)
        if given.physics_rate:
            return given.physics_rate
        chosen = max(chosen_rate(model, start, given.aircraft_path) for model, start in zip(
            (given.model, *given.fleet), starts, strict=True))
        return max(physics_rate(given.frame_rate), chosen)

    def _disturb(self, world: World) -> None:
        set_weather(world, self.parameters)
        fail(world, self._names(self.parameters), *failures(self.parameters))

    def _names(self, given: SimulatorParameters) -> Sequence[str]:
        return [one.name for one in self._direct] or given.vehicles()

    def _cut(self, on: bool) -> None:
        for endpoint in self._endpoints:
            endpoint.cut = on

    def simulated_stamp(self) -> Time:
        """Return the simulated time, between two frames."""
        seconds, nanoseconds = divmod(
            round(self.server.simulation.world.total_running_time * 1e9), SECOND_NS)
        return Time(sec=seconds, nanosec=nanoseconds)

    # In the simulation's thread, or the executor's if that steps.

    def _on_frame(self, _: float, __: AircraftState) -> None:
        if self._clock_publisher is not None:
            self._message.clock = self.simulated_stamp()
            self._clock_publisher.publish(self._message)
        world = self.server.simulation.world
        self._properties.publish(world)
        if self._contacts is not None:
            self._contacts.publish(world)
        self._airframe.publish(world)
        for direct in self._direct:
            direct.publish(world)
        publish_traffic(
            self._direct, world.total_running_time, self.parameters.traffic_rate)

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
        """
        Restart the flight, with the parameters' disturbances.

        Raises ValueError if property_values have left no trim: then it is flown without them.
        """
        def reset(world: World) -> None:
            try:
                self.server.simulation.reset_flight()
            except ValueError as error:
                world.aircraft.settings = {}
                self.server.simulation.reset_flight()
                raise ValueError(f'reset without property_values, because {error}') from error
            finally:
                self._disturb(world)

        self.server.call(reset)
        for direct in self._direct:
            direct.forget()

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
        level, sentence = self.server.call(lambda world: with_airframes(
            *self._state(simulation, simulated == seen), world, self._names(self.parameters)))
        clocks = self.count_publishers('/clock')
        return (
            *(diagnose(self._direct) if self._direct else (self._diagnose_link(),)),
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

    def _diagnose_link(self) -> Status:
        frontend, = self.server.simulation.frontends
        counters = frontend.counters
        down = self.parameters.link_down
        return Status(
            'link', WARN if down else OK, 'down (link_down is set)' if down else 'open', (
                ('sim', frontend.name),
                ('address', frontend.address),
                ('datagrams received', str(counters.received)),
                ('datagrams sent', str(counters.sent)),
                ('dropped by the kernel', str(counters.kernel_drops)),
            ))

    def _state(self, simulation: SimulatedComputer, stands: bool) -> tuple[bytes, str]:
        """Return level and sentence; ``stands``: no time has passed since the last one."""
        if self.server.error is not None:
            return ERROR, f'ended: {self.server.error}'
        if not self.active:
            return WARN, 'not active'
        if simulation.held:
            return OK, 'paused'
        if simulation.lockstep is not None:
            missing = self.server.call(simulation.lockstep.missing)
            if missing:
                # The others of a fleet wait too.
                is_late = stands and self.server.call(simulation.lockstep.is_partly_commanded)
                sentence = f'in lockstep; waiting for {", ".join(sorted(missing))}'
                if is_late and sentence != self._told_late:
                    self.warn('lockstep', sentence)
                self._told_late = sentence if is_late else ''
                return WARN if is_late else OK, sentence
        return OK, 'running'


def _starts(given: SimulatorParameters, initial: Initial) -> Sequence[Initial]:
    """Return how each of the fleet starts, beside an aircraft with this initial state."""
    places = given.fleet_places
    offsets = list(zip(places[::3], places[1::3], places[2::3], strict=True)) if places else None
    starts = beside(initial, len(given.fleet), offsets)
    if given.fleet_headings_deg:
        starts = [replace(one, heading_deg=heading) for one, heading in zip(
            starts, given.fleet_headings_deg, strict=True)]
    if given.fleet_airspeeds:
        starts = [replace(one, airspeed_kt=speed / KNOT) for one, speed in zip(
            starts, given.fleet_airspeeds, strict=True)]
    return [replace(one, plant=plant) for one, plant in zip(
        starts, given.fleet_differs(), strict=True)]


def _pause_at(given: SimulatorParameters) -> float:
    return math.inf if math.isnan(given.pause_at) else given.pause_at


def main(args: Sequence[str] | None = None) -> int:
    """Run simulator_node; return the process's exit code."""
    return run(SimulatorNode, SimulatorParameters, args, SimulatorNode.hurry)
