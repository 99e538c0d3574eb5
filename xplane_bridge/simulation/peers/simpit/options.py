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

"""The options of ``simulator simpit``, and the frontend they describe."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from xplane_bridge.bridges.simpit.protocol import PROFILES
from xplane_bridge.simulation.peers import options
from xplane_bridge.simulation.peers.faults import Faults
from xplane_bridge.simulation.peers.simpit.frontend import SimpitFrontend


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this frontend."""
    parser.add_argument('--port', action='append', metavar='PORT',
                        help='pty: for a new pseudo-terminal, pty:/some/link with a symbolic '
                        'link to it, or a serial port; repeat for several (default: pty:)')
    parser.add_argument('--baud', type=options.baud, default=115200,
                        help='baud rate of serial ports (%(default)s)')
    parser.add_argument('--profile', choices=PROFILES, default='cobs',
                        help='the plugin: ' + ', '.join(
                            f'{profile.name} is {profile.plugins}'
                            for profile in PROFILES.values()) + ' (%(default)s)')


def make_frontend(arguments: Namespace, faults: Faults) -> SimpitFrontend:
    """Return the frontend that the options describe."""
    return SimpitFrontend(
        arguments.profile, arguments.port or ('pty:',), arguments.baud, faults)
