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
The files that a flight depends on besides its scenario and its controller.

Of an aircraft its folder, with engines, propellers and systems; gains; sensors.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from xplane_bridge.laboratory.control.policy.contents import Files
from xplane_bridge.laboratory.sensors import specification
from xplane_bridge.simulation.aircraft.loading import files as aircraft_files
from xplane_bridge.simulation.aircraft.loading import parameter_file


def find_aircraft_files(model: str, aircraft_path: str = '', controls: str = '') -> Files:
    """Return the files of an aircraft; {} if there is none, which its flight says."""
    spec = find_spec('jsbsim')
    if spec is None or spec.origin is None:
        return {}
    try:
        where = aircraft_files.find(model, aircraft_path, Path(spec.origin).parent, controls)
        included = where.included()
    except ValueError:
        return {}
    folder = where.file.parent
    # Gains may be there too: they are asked for on their own.
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob('*'))
             if path.is_file() and path.suffix != '.yaml'}
    if where.controls is not None:
        found[aircraft_files.CONTROLS_FILE] = where.controls
    for path in included:
        if not path.is_relative_to(folder):
            found.setdefault(f'{path.parent.name}/{path.name}', path)
    return found


def find_gains_files(model: str, aircraft_path: str = '', named: str = '') -> Files:
    """Return the file of the autopilot's gains; {} if there are none, which its flight says."""
    try:
        path = parameter_file.chosen(model, aircraft_path, named)
    except ValueError:
        return {}
    return {path.name: path}


def find_sensors_files(name: str) -> Files:
    """Return the file of sensors; {} for none."""
    path = Path(specification.file_of(name))
    return {path.name: path} if path.is_file() else {}
