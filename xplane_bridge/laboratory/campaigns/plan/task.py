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

"""A flight that a campaign wants flown: plain data, which any worker can be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import os
import re
from typing import Any

from xplane_bridge.laboratory.experiments.settings import NOT_FLOWN
from xplane_bridge.laboratory.flights.scenario.flown_by import without_folders

PARAMETER = 'parameter.'
"""How the names of columns begin that have a parameter of the plan."""

FLIGHTS = 'flights'
"""In a campaign's folder: what flights left, each by its folder_name."""

FLIGHT = 'flight'
"""How the names of a flight's files begin."""

KEY_DIGITS = 12
"""How many of the 64 digits of a key say which flight it is."""

# Of each part of a folder's name: a command line may be long.
_LONGEST = 40


def folder_name(inputs: Mapping[str, Any]) -> str:
    """
    Return the name of the folder with what a flight left: seed, controller, scenario, key.

    ``inputs`` has these four; of anybody's row, whose texts are no paths here.
    """
    controller = without_folders(str(inputs['controller']))
    words = [re.sub(r'\W+', '_', text)[:_LONGEST].strip('_') for text in (
        f'seed{inputs["seed"]}', controller, str(inputs['scenario']),
        str(inputs['key'])[:KEY_DIGITS])]
    return '_'.join(word for word in words if word)


@dataclass(frozen=True, slots=True)
class Task:
    """
    One flight: all that its worker has to know.

    ``content`` is that of the scenario's file with aircraft, sensors and parameters in it:
    ``scenario.parse(task.scenario, task.content)``. ``controller`` is as the plan names it,
    ``flown_by`` the same for any working directory. ``digest`` is that of the controller's files
    when the campaign began ('' for none). ``time_limit`` is in seconds of the wall's time,
    ``folder`` where logs and pictures of the flight may be left ('' for nowhere), and ``command``
    flies it again. It is recorded there in the format ``record``, if there is one; with
    ``record_missed`` that stays unless it passes.
    """

    flight: int
    key: str
    scenario: str
    content: Mapping[str, Any]
    simulator: str
    controller: str
    flown_by: str
    aircraft: str
    seed: int
    time_limit: float
    digest: str = ''
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    folder: str = ''
    command: str = ''
    record: str = ''
    record_missed: bool = False

    def recorded(self, format: str) -> str:
        """Return its recording as the table of its campaign names it, below that's folder."""
        return os.path.join(FLIGHTS, folder_name({
            'seed': self.seed, 'controller': self.controller, 'scenario': self.scenario,
            'key': self.key}), f'{FLIGHT}.{format}')

    @property
    def number(self) -> int:
        """Return the flight, as what engines do has a number."""
        return self.flight

    def row(self, outcome: str, reason: str = '', code: int = NOT_FLOWN,
            **more: Any) -> dict[str, Any]:
        """Return the flight's row: its inputs, what became of it, and what else is given."""
        return {
            'flight': self.flight, 'key': self.key, 'scenario': self.scenario,
            'simulator': self.simulator, 'controller': self.controller,
            'aircraft': self.aircraft, 'seed': self.seed,
            **{f'{PARAMETER}{name}': value for name, value in self.parameters.items()},
            'outcome': outcome, 'reason': reason, 'exit': code, 'trajectory': '',
            'version': '', 'jsbsim': '', 'seconds': 0.0, 'processor_seconds': 0.0,
            'jsbsim_seconds': 0.0, 'command': self.command, 'recording': '', **more}
