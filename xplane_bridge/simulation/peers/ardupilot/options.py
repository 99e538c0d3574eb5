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

"""The options of ``simulator ardupilot``, and the frontend they describe."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from xplane_bridge.bridges.ardupilot_json import protocol as ardupilot_json
from xplane_bridge.common.command_line import subject, whole
from xplane_bridge.simulation.peers import options
from xplane_bridge.simulation.peers.ardupilot.frontend import ArdupilotFrontend
from xplane_bridge.simulation.peers.ardupilot.physics import CHANNELS, CONTROLS, ServoChannels
from xplane_bridge.simulation.peers.ardupilot.record import Record
from xplane_bridge.simulation.peers.endpoints import UdpEndpoint
from xplane_bridge.simulation.peers.faults import Faults


def _channel(text: str) -> int:
    return whole(text, 'a channel, 1..32, or 0 for none', 0, 32)


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this frontend."""
    options.add_host(parser)
    options.network(parser).add_argument(
        '--port', type=options.port, default=ardupilot_json.PORT,
        help='UDP port for frames of SITL; 0 takes a free one (%(default)s)')
    pace, channels, record = (
        subject(parser, title) for title in ('time', 'servo channels', 'record'))
    pace.add_argument('--no-lockstep', action='store_true',
                      help='fly in real time, and tell SITL not to wait for answers')
    pace.add_argument('--no-time-sync', action='store_true',
                      help='tell SITL not to keep to real time: it flies as fast as it is '
                      'answered')
    parser.add_argument('--sensors', default='', metavar='NAME',
                        help='sensors between the aircraft and SITL: a preset such as consumer, '
                        "a file (.yaml), or none (default: the scenario's)")
    record.add_argument('--record', type=Path, metavar='FILE',
                        help='a capture (.pcap) of the frames that are flown and the states that '
                        'they came to; equal flights have equal ones')
    record.add_argument('--record-for', type=options.positive, metavar='S',
                        help='record so many seconds of simulated time (default: all)')
    for name in CONTROLS:
        channels.add_argument(f'--{name}-channel', type=_channel, default=CHANNELS.get(name, 0),
                              metavar='N',
                              help=f'channel that moves the {name}; 0 for none (%(default)s)')
    channels.add_argument('--reverse', nargs='+', choices=CONTROLS, default=[],
                          metavar='CONTROL', help='controls whose channels are reversed: '
                          f'{", ".join(CONTROLS)}')


def make_frontend(arguments: Namespace, faults: Faults) -> ArdupilotFrontend:
    """Return the frontend that the options describe; ValueError for two that contradict."""
    if arguments.record is not None and arguments.no_lockstep:
        raise ValueError('--record is for flights in lockstep: in real time no two are equal')
    numbers = {name: getattr(arguments, f'{name}_channel') for name in CONTROLS}
    return ArdupilotFrontend(
        UdpEndpoint(arguments.host, arguments.port, faults),
        ServoChannels({name: number for name, number in numbers.items() if number},
                      frozenset(arguments.reverse)),
        not arguments.no_lockstep, not arguments.no_time_sync,
        None if arguments.record is None else Record(arguments.record, arguments.record_for))
