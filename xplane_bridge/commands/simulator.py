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
simulator: a flying aircraft to connect to, without the real simulator.

One subcommand per simulator and per protocol of the registries, and ``all`` for several of one
aircraft. It prints a line for each once it listens, and exits on SIGINT, SIGTERM or after
``--duration`` with status 0, or with status 1 if it cannot start or has received what would crash
the real simulator.
"""

from argparse import ArgumentParser, Namespace, SUPPRESS
from collections.abc import Callable, Sequence
from dataclasses import fields
import shlex
import sys
import threading
import time

from xplane_bridge.bridges.protocols.registry import PeerProtocol, PROTOCOLS
from xplane_bridge.common.command_line import (
    CommandParser,
    program,
    refuse_old_option,
    seconds,
    subject,
    whole,
    without_ros_arguments,
)
from xplane_bridge.common.signals import calling_on_signal
from xplane_bridge.common.text import counted
from xplane_bridge.common.timing import FRAME_RATE, PHYSICS_RATE, physics_rate
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import DEFAULT_MODEL, Initial
from xplane_bridge.simulation.aircraft.loading.parameter_file import airframe_limits
from xplane_bridge.simulation.aircraft.state import AircraftState, KNOT
from xplane_bridge.simulation.aircraft.studies.physics_rate import physics_rate as chosen_rate
from xplane_bridge.simulation.aircraft.studies.physics_rate import remarks
from xplane_bridge.simulation.peers import options
from xplane_bridge.simulation.peers.airframes import AirframeLines
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.flown import beside, fly_beside
from xplane_bridge.simulation.peers.registry import load, SIMULATORS, WITHOUT_NODE
from xplane_bridge.simulation.peers.server import Server, SimulatedComputer
from xplane_bridge.simulation.peers.world import AIRCRAFT_COUNT, World

_START = Initial()

# The default protocols of ``simulator all``.
_ALL = 'all'
_TOGETHER = tuple(name for name, protocol in PROTOCOLS.items() if protocol.has_usual_place)
# A simulator of X-Plane's own UDP has its version in its name; the protocol's name has any.
_SPOKEN = {one.name: one.protocol for one in SIMULATORS.values()} | WITHOUT_NODE
# Landing gears are unstable with longer steps; shorter ones take all the time.
_PHYSICS_RATES = 60, 1200
_VERSIONS = {one.name: one.version for one in SIMULATORS.values() if one.version is not None}
_SHOWING = {one.protocol.name for one in SIMULATORS.values() if one.has_traffic}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = without_ros_arguments(sys.argv[1:] if argv is None else argv)
    try:
        parser = _parser(given)
    except ImportError as error:
        return _complain(error)
    arguments = parser.parse_args(given)
    stop = threading.Event()
    servers: list[Server] = []

    def end() -> None:
        stop.set()
        for server in servers:
            server.end()

    # A shell that starts it in the background makes it ignore SIGINT.
    with calling_on_signal(end):
        return _run(arguments, servers, stop)


def _run(arguments: Namespace, servers: list[Server], stop: threading.Event) -> int:
    """Run the server put into ``servers`` until ``stop``, or until the server ends."""
    try:
        server = _make_server(arguments)
        servers.append(server)
        for frontend in server.simulation.frontends:
            frontend.report = lambda text: print(text, flush=True)
        if stop.is_set():
            return 0
        server.start()
    except (ImportError, OSError, ValueError) as error:
        return _complain(error)
    begin = time.monotonic()
    for frontend in server.simulation.frontends:
        print(f'{frontend.name} of a {arguments.model} on {frontend.address}, '
              f'{1.0 / server.simulation.period:g} frames/s', flush=True)
    server.wait(arguments.duration)
    server.stop()
    print(_summary(server, time.monotonic() - begin), flush=True)
    return 0 if server.error is None else _complain(server.error)


def _complain(error: Exception) -> int:
    """Say why it ends; return its exit status."""
    print(f'simulator: {error}', file=sys.stderr)
    return 1


def _make_server(arguments: Namespace) -> Server:
    initial = Initial(
        lat_deg=arguments.latitude, lon_deg=arguments.longitude,
        altitude_msl=arguments.altitude_msl, heading_deg=arguments.heading,
        airspeed_kt=None if arguments.airspeed is None else arguments.airspeed / KNOT,
        parked=arguments.parked, controls=arguments.controls)
    faults = Faults(**{field.name: getattr(arguments, field.name) for field in fields(Faults)})

    chosen = _chosen(arguments) if arguments.name == _ALL else [arguments]
    _check_fleet(arguments.fleet, [one.name for one in chosen])
    frontends = []
    for one in chosen:
        version = _VERSIONS.get(one.name)
        if version is not None and one.version != version:
            raise ValueError(f'{one.name} is version {version}: omit --version, or choose '
                             f'{_protocol(one.name).name} --version {one.version}')
        frontends.append(load(_protocol(one.name)).make_frontend(one, faults))
    frame_rate = arguments.frame_rate or max(
        frontend.frame_rate or FRAME_RATE for frontend in frontends)
    make, make_other, initial = _flown(arguments, initial, chosen)
    starts = beside(initial, len(arguments.fleet))
    for line in dict.fromkeys(line for model, start in zip(
            (arguments.model, *arguments.fleet), (initial, *starts), strict=True)
            for line in remarks(model, start, arguments.aircraft_path, arguments.physics_rate)):
        print(line, flush=True)
    rate = arguments.physics_rate or max(physics_rate(frame_rate), *(
        chosen_rate(model, start, arguments.aircraft_path)
        for model, start in zip((arguments.model, *arguments.fleet), (initial, *starts),
                                strict=True)))
    loaded = {'aircraft_path': arguments.aircraft_path, 'outputs': arguments.aircraft_outputs,
              'dt': 1.0 / rate}

    def make_world() -> World:
        world = World(
            make(arguments.model, initial, seed=arguments.seed, **loaded),
            fleet=fly_beside(
                arguments.fleet, starts, arguments.seed, make_other, **loaded))
        _take_limits(world, arguments.aircraft_path)
        return world

    lines = AirframeLines()

    def tell(_: float, __: AircraftState) -> None:
        for line in lines.new(server.simulation.world):
            print(line, flush=True)

    server = Server(SimulatedComputer(frontends, make_world, frame_rate, faults, tell))
    return server


def _take_limits(world: World, aircraft_path: str) -> None:
    """Give aircraft of one's own the limits in the files of their gains. Raises ValueError."""
    if aircraft_path:
        # Those of this package have none.
        for aircraft in world.flown:
            aircraft.bear(airframe_limits(aircraft.model, aircraft_path))


def _flown(
    arguments: Namespace, initial: Initial, chosen: Sequence[Namespace]
) -> tuple[Callable[..., Aircraft], Callable[..., Aircraft], Initial]:
    """Return what makes the aircraft and others, and its start: a scenario's model counts too."""
    named = [one.sensors for one in chosen if hasattr(one, 'sensors')]
    if not (arguments.scenario or arguments.wind or arguments.turbulence or any(named)):
        return Aircraft, Aircraft, initial
    # Without a scenario nothing of a flight is needed, and most of a start is loading it.
    from xplane_bridge.laboratory.flights import disturbed

    found = disturbed.happens(
        arguments.scenario, ''.join(named) if named else None, wind=arguments.wind,
        turbulence=arguments.turbulence)
    for phrase in found.left:
        print(f'scenario {arguments.scenario}: {phrase} is left to who flies', flush=True)
    arguments.model = found.model or arguments.model
    arguments.aircraft_path = found.aircraft_path or arguments.aircraft_path
    return found.aircraft, found.other, found.start(initial)


def _steps(text: str) -> int:
    lowest, highest = _PHYSICS_RATES
    return whole(text, f'steps per second, {lowest}..{highest}', lowest, highest)


def _check_fleet(models: Sequence[str], names: Sequence[str]) -> None:
    """Raise ValueError for more aircraft than there can be, or that nobody could see."""
    if len(models) >= AIRCRAFT_COUNT:
        raise ValueError(f'--fleet: {len(models)} more aircraft are too many; numbers 1 to '
                         f'{AIRCRAFT_COUNT - 1} are free')
    if models and not _SHOWING & {_protocol(name).name for name in names}:
        raise ValueError(f'--fleet: {", ".join(names)} shows one aircraft only; more are shown by '
                         f'{", ".join(sorted(_SHOWING))}')


def _names() -> list[str]:
    return [*dict.fromkeys((*PROTOCOLS, *_SPOKEN))]


def _protocol(name: str) -> PeerProtocol:
    """Return what a simulator speaks, by one of _names()."""
    return _SPOKEN.get(name) or PROTOCOLS[name]


def _chosen(arguments: Namespace) -> list[Namespace]:
    """Return the arguments of each protocol of ``all``: its own and the common options."""
    chosen = []
    for text in arguments.protocols or _TOGETHER:
        name, *options = shlex.split(text) or ['']
        if name not in _names():
            raise ValueError(f'{name!r} is not one of {", ".join(_names())}')
        parser = CommandParser(f'simulator {_ALL} "{name} ..."')
        _add_own_options(parser, name)
        parser.set_defaults(**vars(arguments) | {'name': name})
        chosen.append(parser.parse_args(options))
    return chosen


def _summary(server: Server, seconds: float) -> str:
    counters = [frontend.counters for frontend in server.simulation.frontends]
    return (f'stopped after {seconds:.1f} s: {counted(server.simulation.frames, "frame")}, '
            f'{counted(sum(c.received for c in counters), "packet")} received, '
            f'{sum(c.sent for c in counters)} sent')


def _parser(given: Sequence[str]) -> ArgumentParser:
    """Return the parser, with the options of what is ``given``: each imports what it needs."""
    parser = CommandParser(
        program('simulator'), description='Simulate an aircraft for clients to fly.',
        epilog="'simulator SIMULATOR --help' lists the options of one.")
    commands = parser.add_subparsers(dest='name', required=True, metavar='SIMULATOR')
    for name in _names():
        protocol = _protocol(name)
        text = (f'X-Plane {_VERSIONS[name]} over its own UDP' if name in _VERSIONS
                else protocol.peer)
        command = commands.add_parser(name, help=text, description=f'Simulate {text}.')
        if name in given:
            _add_own_options(command, name)
            _add_aircraft_options(
                command, protocol.name in _SHOWING, has_presets=protocol.name == 'xplane_udp')
            _add_fault_options(command)
    everything = commands.add_parser(
        _ALL, help='several protocols for one aircraft',
        description='Serve one aircraft through several protocols at once.')
    everything.add_argument(
        'protocols', nargs='*', metavar='"SIMULATOR OPTIONS ..."',
        help='a simulator with its own options, such as "xpc --port 49010" '
        f'(default: {", ".join(_TOGETHER)})')
    _add_aircraft_options(everything, shows_others=True, has_presets=True)
    _add_fault_options(everything)
    return parser


def _add_own_options(parser: ArgumentParser, name: str) -> None:
    load(_protocol(name)).add_options(parser)
    if name in _VERSIONS:
        parser.set_defaults(version=_VERSIONS[name])


def _add_aircraft_options(parser: ArgumentParser, shows_others: bool, has_presets: bool) -> None:
    """Add what the protocols have in common; ``has_presets``: one of them has --for."""
    aircraft, start, weather, pace = (
        subject(parser, title) for title in ('aircraft', 'start', 'weather', 'time'))
    aircraft.add_argument('--model', default=DEFAULT_MODEL, help='JSBSim aircraft (%(default)s)')
    # Where no others are shown, a sentence says so.
    aircraft.add_argument('--fleet', nargs='+', default=[], metavar='MODEL',
                          help='more aircraft with flight models, abreast of it: numbers 1, 2, '
                          '... of X-Plane, whose others have simple kinematics'
                          if shows_others else SUPPRESS)
    aircraft.add_argument('--aircraft-path', default='', metavar='FOLDER',
                          help="folder of your own aircraft, laid out as JSBSim's")
    aircraft.add_argument('--controls', default='', metavar='FILE',
                          help='file that says what moves it (.yaml), if its commands have names '
                          'of their own (default: controls.yaml beside its file)')
    aircraft.add_argument('--aircraft-outputs', action='store_true',
                          help="open the files and sockets that the aircraft's file names")
    start.add_argument('--scenario', default='', metavar='NAME',
                       help='where it starts, its weather and what breaks: a scenario of this '
                       'package or a file (.yaml), of which whoever connects flies the rest')
    start.add_argument('--parked', action='store_true',
                       help='start on the ground, engines idling, instead of trimmed in the air')
    start.add_argument('--latitude', type=float, default=_START.lat_deg,
                       metavar='DEG', help='latitude in degrees north (%(default)s)')
    start.add_argument('--longitude', type=float, default=_START.lon_deg,
                       metavar='DEG', help='longitude in degrees east (%(default)s)')
    start.add_argument('--altitude-msl', type=float, default=_START.altitude_msl,
                       metavar='M', help='altitude in metres above mean sea level (%(default)s)')
    refuse_old_option(start, '--altitude', '--altitude-msl')
    start.add_argument('--heading', type=float, default=_START.heading_deg,
                       metavar='DEG', help='heading in degrees from true north (%(default)s)')
    start.add_argument('--airspeed', type=float, metavar='M/S',
                       help='calibrated airspeed in m/s (default: one that suits the model)')
    weather.add_argument('--wind', type=float, nargs=3, metavar=('EAST', 'NORTH', 'UP'),
                         help='velocity of the air in m/s')
    weather.add_argument('--turbulence', type=float, nargs=2, metavar=('WIND', 'SEVERITY'),
                         help='wind at 20 ft in m/s, and severity 0..7 (MIL-F-8785C)')
    pace.add_argument('--frame-rate', type=options.positive, metavar='HZ',
                      help='frames per second, at which it reads and answers (default: '
                      f'{FRAME_RATE:g}{", or what --for sets" if has_presets else ""})')
    pace.add_argument('--physics-rate', type=_steps, metavar='HZ',
                      help='steps of the flight model per second (default: '
                      f'{PHYSICS_RATE}, or the frame rate if that is higher)')
    pace.add_argument('--duration', type=options.positive, metavar='S',
                      help='exit after this many seconds (default: never)')


def _add_fault_options(parser: ArgumentParser) -> None:
    group = subject(parser, 'faults')
    group.add_argument('--loss', type=options.probability, default=0.0, metavar='P',
                       help='probability of losing a datagram, 0..1, in each direction')
    group.add_argument('--duplicate', type=options.probability, default=0.0, metavar='P',
                       help='probability of delivering a datagram twice, 0..1')
    group.add_argument('--delay', type=seconds, default=0.0, metavar='S',
                       help='delay of each datagram, in seconds')
    group.add_argument('--jitter', type=seconds, default=0.0, metavar='S',
                       help='maximum additional delay, in seconds; reorders datagrams')
    group.add_argument('--freeze-every', type=seconds, default=0.0, metavar='S',
                       help='mean time between freezes, in seconds; 0 for none')
    group.add_argument('--freeze-for', type=seconds, default=2.0, metavar='S',
                       help='duration of a freeze, in seconds (%(default)s)')
    group.add_argument('--restart-every', type=seconds, default=0.0, metavar='S',
                       help='mean time between restarts, in seconds; 0 for none')
    group.add_argument('--restart-for', type=seconds, default=3.0, metavar='S',
                       help='downtime of a restart, in seconds (%(default)s)')
    group.add_argument('--seed', type=options.seed, default=0, metavar='N',
                       help='random seed of faults and turbulence (%(default)s)')
