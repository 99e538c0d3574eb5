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

"""The command of every vehicle, command/controls: validated, with a watchdog."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
import math
from operator import attrgetter
from typing import Any

from xplane_bridge.bridges.conversions.masks import Mask
from xplane_bridge.bridges.conversions.vehicle import Controls
from xplane_bridge.bridges.nodes.common.base import BaseParameters, BridgeNode
from xplane_bridge.bridges.nodes.common.lists import named
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.watchdog import CommandWatchdog
from xplane_bridge.common.controls import CONTROLS, LIMITS
from xplane_bridge.msg import AircraftPose, FlightControls

EXPERIMENT = 'experiment'
"""The node of an experiment: it commands what its scenario commands itself, and no more."""

CONTROLS_MASK = Mask(FlightControls)
POSE_MASK = Mask(AircraftPose)
_BITS = tuple(CONTROLS_MASK.sum_of((name,)) for name in CONTROLS)
_values = attrgetter(*CONTROLS)


@dataclass(frozen=True)
class WatchdogParameters(BaseParameters):
    """Parameters of every node that accepts command/controls."""

    command_timeout: float = parameter(
        1.0, 'Seconds without command/controls, after the first one, until on_command_timeout '
        'applies; 0 disables it.', low=0.0, high=3600.0, live=True)
    on_command_timeout: str = parameter(
        'neutral', 'What to do when commands stop: centre elevator, aileron and rudder; nothing; '
        'or give the controls back to the simulator.', choices=('neutral', 'hold', 'release'),
        live=True)


@dataclass(frozen=True)
class CommandParameters(WatchdogParameters):
    """Parameters of every node that sends command/controls on to a peer."""

    command_lifetime: float = parameter(
        0.5, 'Seconds that a command may wait to be sent; then it is dropped and reported.',
        low=0.01, high=60.0)
    release_timeout: float = parameter(
        3.0, 'Seconds for which what was taken from the simulator is given back again and again '
        'until it shows it; deactivation waits for this. A process is given 5 s to end by launch.',
        low=0.0, high=60.0)


def checked_controls(message: FlightControls, *, clamp: bool = False) -> Controls:
    """
    Return a command as values, None for those not set.

    Raises ValueError for a value out of range, or clamps it, and for an invalid mask.
    """
    values = CONTROLS_MASK.given(message)
    for name, value in values.items():
        if clamp:
            low, high = LIMITS[name]
            values[name] = min(max(value, low), high)
        else:
            check_control(name, value)
    return Controls(**values)


def check_control(name: str, value: float) -> None:
    """Raise ValueError if a control is out of range."""
    low, high = LIMITS[name]
    if not low <= value <= high:
        raise ValueError(f'{name} {value:g} is not in {low:g} .. {high:g}')


def control_numbers(controls: Controls) -> tuple[float, ...]:
    """Return the numbers of FlightControls in order: the mask, and NaN for what is None."""
    fields = 0
    values = list(_values(controls))
    for place, value in enumerate(values):
        if value is None or value != value:
            values[place] = math.nan
        else:
            fields |= _BITS[place]
    return fields, *values


class CommandGate:
    """
    Passes command/controls to a simulator: validated, with a watchdog.

    ``send(controls)`` sends them; ``release()`` gives the controls back to the simulator.
    ``clamp``: values out of range are clamped, not refused, as the simulator itself does.
    ``takes`` are the controls that it supports: a command that sets only others is refused.
    ``neutral()`` centres the surfaces that commands have moved.
    """

    def __init__(
        self, node: BridgeNode[Any], send: Callable[[Controls], None], release: Callable[[], None],
        prefix: str = '', *, neutral: Callable[[], None], clamp: bool = False,
        takes: Collection[str] = CONTROLS,
    ) -> None:
        self._node = node
        self._clamp = clamp
        self._neutral = neutral
        self._send = send
        self._release = release
        self._topic = prefix + 'command/controls'
        self._takes = takes
        self._taken_bits = CONTROLS_MASK.sum_of(takes)
        self.commands = 0
        self.watchdog = CommandWatchdog(node, node.parameters.command_timeout, self._expired)
        node.make_command(FlightControls, self._topic, self._take)

    def commanders(self) -> list[str]:
        """Return the nodes that publish its topic, one for each publisher, in order."""
        return sorted(
            f'{one.node_namespace.rstrip("/")}/{one.node_name}'
            for one in self._node.get_publishers_info_by_topic(
                self._node.resolve_topic_name(self._topic)))

    def rivalry(self) -> str:
        """Return in a sentence which nodes command at the same time, '' if it is one at most."""
        if not self.commands or self.watchdog.expired:
            return ''
        rivals = [name for name in self.commanders() if name.rpartition('/')[2] != EXPERIMENT]
        if len(rivals) < 2:
            return ''
        names = sorted({*rivals})
        if len(names) > 1:
            return (f'{len(names)} nodes publish {self._topic}: {named(names)}; each undoes what '
                    'the others command: stop all but one')
        # 20 s is the lease of Fast DDS.
        return (f'{len(rivals)} publishers of {self._topic} are of nodes called {names[0]}: stop '
                'all but one; one that was killed is forgotten within 20 s')

    def _take(self, message: FlightControls) -> None:
        controls = checked_controls(message, clamp=self._clamp)
        if not message.fields & self._taken_bits:
            raise ValueError(
                f'this simulator supports only {", ".join(self._takes)}; none of them is set')
        if rest := message.fields & ~self._taken_bits:
            ignored = ', '.join(CONTROLS_MASK.names_of(rest))
            self._node.warn(
                f'part of {self._topic}', f'{self._topic}: {ignored} not sent: this simulator '
                f'supports only {", ".join(self._takes)}')
        self._send(controls)
        self.commands += 1
        self.watchdog.feed()

    def _expired(self) -> None:
        what = self._node.parameters.on_command_timeout
        self._node.warn(
            f'timeout {self._topic}',
            f'{self._topic}: no command for {self._node.parameters.command_timeout:g} s: {what}')
        try:
            if what == 'neutral':
                self._neutral()
            elif what == 'release':
                self._release()
        except ValueError as error:
            # The simulator disappeared, perhaps together with the commander.
            self._node.refuse(self._topic, error)
