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
The files that a campaign's flights depend on, found without running any.

Of controllers: programs, and what they name. Those of aircraft, gains and sensors are found by
flights.scenario.contents.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
import shlex
from typing import Any

from xplane_bridge.laboratory.control.policy import contents
from xplane_bridge.laboratory.control.policy.contents import digest, Files
from xplane_bridge.laboratory.control.policy.load import find_files
from xplane_bridge.laboratory.flights.order import model_of
from xplane_bridge.laboratory.flights.scenario import flown_by as controller
from xplane_bridge.laboratory.flights.scenario.contents import (
    find_aircraft_files,
    find_gains_files,
    find_sensors_files,
)
from xplane_bridge.laboratory.flights.scenario.errors import ScenarioError
from xplane_bridge.laboratory.flights.scenario.flown_by import AUTOPILOT, ROS_ARGUMENTS
from xplane_bridge.laboratory.flights.scenario.start import NO_SENSORS

POLICY = 'policy:'

NAMED = ('initial.model', 'initial.aircraft_path', 'initial.controls', 'initial.gains', 'sensors')
"""Where a scenario names files: model, folder, what moves it, gains, sensors."""


def find_controller_files(name: str) -> Files:
    """Return the files of a plan's controller; ValueError if it names a policy that is none."""
    if name == AUTOPILOT:
        return {}
    if name.startswith(POLICY):
        return find_files(name.removeprefix(POLICY))
    return _find_command_files(name)


def _find_command_files(command: str) -> Files:
    """Return the program of a command line, and the files that it names."""
    found: Files = {}
    try:
        words = [word for word in shlex.split(command) if word != ROS_ARGUMENTS]
    except ValueError:
        return found
    while words and '=' in words[0]:
        words.pop(0)
    with suppress(ScenarioError, IndexError):
        # If there is none, its flight says so.
        found |= _find_program_files(Path(controller.program(words)[0]))
    if words[:2] == ['ros2', 'run'] and len(words) > 3:
        found |= _find_package_files(words[2])
    for number, word in enumerate(words):
        if number and Path(word).is_file():
            found |= _find_program_files(Path(word))
        elif number and words[number - 1] == '-m':
            found |= contents.find_module_files(word)
        elif ' ' in word:
            # As of bash -c '...'.
            found |= _find_command_files(word)
    return found


def _find_program_files(path: Path) -> Files:
    if path.suffix == '.py' or _is_python(path):
        return contents.find_python_files(path)
    return {path.name: path}


def _is_python(path: Path) -> bool:
    """Return whether a file is a script for Python."""
    try:
        with path.open('rb') as stream:
            first = stream.readline(200)
    except OSError:
        return False
    return first.startswith(b'#!') and b'python' in first


def _find_package_files(name: str) -> Files:
    """Return the Python modules of a ROS package, which its executables only name."""
    spec = find_spec(name) if name.isidentifier() and name != 'xplane_bridge' else None
    return {f'{name}/{file.relative_to(folder)}': file
            for folder in (spec.submodule_search_locations if spec is not None else None) or ()
            for file in Path(folder).rglob('*.py')}


def text_of(content: Mapping[str, Any], name: str) -> str:
    """Return a text in the content of a scenario by its dotted name, '' if it has none."""
    found: Any = content
    for part in name.split('.'):
        found = found.get(part, '') if isinstance(found, Mapping) else ''
    return str(found)


class OfAircraft:
    """The digests of the files of aircraft, gains and sensors, each read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], dict[str, str]] = {}

    def of(self, model: str, path: str, controls: str, named: str, sensors: str,
           ) -> dict[str, str]:
        """Return the digests of a flight's files, by words, as they are NAMED."""
        found = self._known.get((model, path, controls, named, sensors))
        if found is None:
            flown, where = model_of({'model': model}), f' in {path}' if path else ''
            found = self._known[model, path, controls, named, sensors] = {
                f'aircraft {flown}{where}': digest(find_aircraft_files(flown, path, controls)),
                f'gains {named}' if named else f'gains of {flown}{where}': digest(
                    find_gains_files(flown, path, named)),
                **({f'sensors {sensors}': digest(find_sensors_files(sensors))}
                   if sensors not in ('', NO_SENSORS) else {})}
        return found

    def of_scenario(self, content: Mapping[str, Any]) -> dict[str, str]:
        """Return the same for the content of a scenario, whatever flies in it."""
        return self.of(*(text_of(content, name) for name in NAMED)) | self.of_vehicles(content)

    def of_vehicles(self, content: Mapping[str, Any]) -> dict[str, str]:
        """Return the same for each of several aircraft; {} if the scenario has one."""
        found: dict[str, str] = {}
        for one in content.get('vehicles', ()):
            found |= self.of(*(
                text_of(one, name) or text_of(content, name) for name in NAMED))
        return found
