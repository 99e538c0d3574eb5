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
The one list of simulators: their names, protocols, ports and versions.

The command ``simulator``, simulator_node and experiments read it; protocols.registry has the
protocols. The rest of a simulator is in ``xplane_bridge.simulation.peers.<protocol>``, which has
add_options() and make_frontend(); load() imports it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, cast, Protocol, TYPE_CHECKING

from xplane_bridge.bridges.protocols.registry import DATA_PORT, PeerProtocol, PROTOCOLS, UNBRIDGED
from xplane_bridge.bridges.protocols.xplane_versions import FIRST_WITH_SENDER

if TYPE_CHECKING:
    # Only load() may need the flight model.
    from xplane_bridge.simulation.peers.base import Frontend
    from xplane_bridge.simulation.peers.faults import Faults

_DATA_PORT_OF_6 = 49000


class FrontendModule(Protocol):
    """What the package of a simulator provides to the command."""

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the options of this simulator."""

    def make_frontend(self, arguments: Namespace, faults: Faults) -> Frontend:
        """Return the frontend that the options describe."""


def load(protocol: PeerProtocol) -> FrontendModule:
    """Import what simulates the peer of a protocol."""
    return cast(FrontendModule, import_module(f'xplane_bridge.simulation.peers.{protocol.name}'))


@dataclass(frozen=True, slots=True)
class Simulator:
    """
    One simulator that simulator_node can run and an experiment can be flown on.

    ``ports`` is how many consecutive UDP ports it takes, starting with its protocol's default.
    ``version`` is X-Plane's. ``has_time``: its own time is on the wire, so messages can be
    stamped with it, and lockstep is possible. ``reports_controls``: control positions are on the
    wire. ``has_traffic``: there are other aircraft. ``compared``: the table of experiments has a
    column for it.
    """

    name: str
    protocol: PeerProtocol
    ports: int = 1
    version: int | None = None
    has_time: bool = True
    reports_controls: bool = True
    has_traffic: bool = True
    compared: bool = True

    @property
    def port(self) -> int:
        """Return its default port."""
        assert self.protocol.port is not None
        return self.protocol.port

    @property
    def data_port(self) -> int:
        """Return where a real X-Plane sends rows by default."""
        return _DATA_PORT_OF_6 if self.version == 6 else DATA_PORT

    def make_frontend(self, faults: Faults, **given: Any) -> Frontend:
        """Return its frontend; options of the command that are not given take their defaults."""
        module = load(self.protocol)
        parser = ArgumentParser()
        module.add_options(parser)
        parser.set_defaults(**{'version': self.version} | given)
        return module.make_frontend(parser.parse_args([]), faults)


def _x_plane(version: int, compared: bool = False) -> Simulator:
    sends_from_next_port = version >= FIRST_WITH_SENDER
    return Simulator(
        f'xplane{version}', PROTOCOLS['xplane_udp'], 2 if sends_from_next_port else 1, version,
        compared=compared)


SIMULATORS = {
    simulator.name: simulator for simulator in (
        Simulator('xpc', PROTOCOLS['xpc']),
        _x_plane(12, compared=True),
        _x_plane(11),
        _x_plane(9),
        _x_plane(6, compared=True),
        Simulator('fdmdata', PROTOCOLS['fdmdata'], 2, has_time=False, reports_controls=False,
                  has_traffic=False),
    )
}
WITHOUT_NODE = {
    'ardupilot': replace(UNBRIDGED['ardupilot_json'], name='ardupilot'),
}
"""Simulators to which other programs connect, and no node of this package."""
_VERSIONS = ', '.join(one.name for one in SIMULATORS.values() if one.version is not None)
NO_SIMULATORS = {
    'xplane': f'has no version: choose one of {_VERSIONS}',
    'xplane_udp': f'is a protocol, not a version of X-Plane: choose one of {_VERSIONS}'}
"""Names that are taken for a simulator's, and why they are none."""


def no_simulator(name: str, others: Sequence[str] = ()) -> str:
    """Return the sentence that there is no simulator of this name; ``others`` are known too."""
    if name in NO_SIMULATORS:
        return f'{name} {NO_SIMULATORS[name]}'
    return f'there is no simulator {name!r}: expected one of {", ".join((*SIMULATORS, *others))}'
