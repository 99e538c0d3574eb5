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

"""The gains of the cascade, and the files of aircraft that have them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
import math
from pathlib import Path
from typing import Any

from xplane_bridge.common import plain_yaml
from xplane_bridge.common.data import folder

ALL = '/**'
"""The section of a parameter file that is for all nodes."""

GROUPS = ('gains', 'envelope', 'performance')
"""Groups of parameters of autopilot_node that belong to the aircraft."""


@dataclass(frozen=True, slots=True)
class Gains:
    """
    Gains of the four levels, valid at ``airspeed`` (m/s, indicated); tune.py finds them.

    Angles in rad, speeds in m/s, controls as ratios; a gain's name states level, input and
    output. Those of the rates, which move surfaces, are scaled with the inverse of the dynamic
    pressure. Without ``airspeed_to_throttle`` the aircraft has no engine, and its airspeed is held
    with pitch. The defaults are those of the Cessna 172P (c172p).
    """

    airspeed: float = 51.4
    roll_rate_to_aileron: float = 0.91
    roll_rate_to_aileron_integral: float = 0.73
    pitch_rate_to_elevator: float = 0.87
    pitch_rate_to_elevator_integral: float = 0.69
    yaw_rate_to_rudder: float = 1.0
    roll_to_roll_rate: float = 1.6
    pitch_to_pitch_rate: float = 1.4
    roll_rate_limit: float = 0.6
    pitch_rate_limit: float = 0.3
    path_angle_to_pitch: float = 0.6
    path_angle_to_pitch_integral: float = 0.5
    altitude_to_climb: float = 0.3
    climb_limit: float = 3.5
    sink_limit: float = 3.5
    course_to_turn_rate: float = 0.4
    heading_to_turn_rate: float = 0.4
    airspeed_to_throttle: float = 0.15
    airspeed_to_throttle_integral: float = 0.01
    path_angle_to_throttle: float = 5.0
    airspeed_to_pitch: float = 0.0
    airspeed_to_pitch_integral: float = 0.0
    airspeed_rate_limit: float = 0.6
    climb_filter: float = 0.5
    cruise_throttle: float = 0.7

    @property
    def has_engine(self) -> bool:
        """Return whether the airspeed is held with a throttle."""
        return self.airspeed_to_throttle != 0.0


def load(model: str | Path) -> Gains:
    """
    Return the gains of an aircraft by its name, such as c310, or of a parameter file.

    Gains that it does not set keep their default. Raises ValueError if there is no such file, or
    it is not one.
    """
    return Gains(**numbers(read(model), 'gains', [item.name for item in fields(Gains)]))


def read(model: str | Path) -> Mapping[str, Any]:
    """
    Return the parameters (gains, envelope, performance) in the file of an aircraft.

    Raises ValueError if there is no such file, or it is not one.
    """
    path = Path(model)
    if path.suffix != '.yaml':
        path = _folder() / f'{model}.yaml'
        if not path.is_file():
            raise ValueError(
                f'no gains are known for {model}: find its own (tune --model {model}), or name a '
                f'file or one of {_known()}')
    try:
        content = plain_yaml.load_file(str(path))
    except OSError as error:
        raise ValueError(f'{path}: {error.strerror}') from None
    except ValueError as error:
        raise ValueError(f'{path}: {error}') from None
    try:
        found = content[ALL]['ros__parameters']
    except (KeyError, TypeError):
        found = None
    if not isinstance(found, Mapping):
        raise ValueError(f'{path}: expected the parameters below {ALL} and ros__parameters')
    return found


def file_of(model: str, aircraft_path: str = '') -> Path | None:
    """
    Return the file for an aircraft of that name, or None if there is none.

    For one's own aircraft it is <model>.yaml beside its <model>.xml; else that of this package.
    """
    own = Path(aircraft_path).expanduser()
    places = [own, own / 'aircraft'] if aircraft_path else []
    files = [place / model / f'{model}.yaml' for place in places]
    return next(filter(Path.is_file, (*files, _folder() / f'{model}.yaml')), None)


def chosen(model: str, aircraft_path: str = '', named: str = '') -> Path:
    """
    Return the file whose gains fly an aircraft: what is ``named``, or else its own.

    ``named`` is a file (.yaml), or the name of an aircraft of this package. Raises ValueError if
    that is neither, or if nothing is named and the aircraft has none: it is never flown with
    those of another one that nobody named.
    """
    if named:
        file = (Path(named).expanduser() if named.endswith('.yaml')
                else _folder() / f'{named}.yaml')
        if file.is_file():
            return file
        raise ValueError(f'there are no gains {named}: expected a file (.yaml), or one of '
                         f'{_known()}')
    own = file_of(model, aircraft_path)
    if own is None:
        raise ValueError(
            f'no gains are known for {model}, and the autopilot flies no aircraft with those of '
            f'another one unless they are named: find its own (tune --model {model}), or name a '
            f'file or one of {_known()} with --gains, or gains in "initial"')
    return own


def scaled(given: Gains, factors: Sequence[tuple[str, float]]) -> Gains:
    """Return gains times factors by name; ValueError for a name that is none."""
    known = [item.name for item in fields(Gains)]
    for name, factor in factors:
        if name not in known:
            near = get_close_matches(name, known, cutoff=0.5)
            raise ValueError(
                f'gains.{name} is unknown' + (
                    f'; did you mean {" or ".join(near)}?' if near else '')
                + f': expected one of {", ".join(known)}')
        given = replace(given, **{name: factor * getattr(given, name)})
    return given


def parameters_of(model: str | Path) -> dict[str, float]:
    """
    Return what an aircraft's file has for autopilot_node, by the names of its parameters.

    Raises ValueError as load() does.
    """
    content = read(model)
    return {
        f'{group}.{name}': value for group in GROUPS
        for name, value in numbers(content, group, list(content.get(group, ()))).items()}


def of_simulated(params_file: str) -> dict[str, float]:
    """
    Return parameters_of the aircraft that a ROS parameter file lets simulator_node fly.

    {} if it names none, or has gains for autopilot_node itself. Raises ValueError if nobody knows
    gains of that aircraft, or the file cannot be read.
    """
    nodes = plain_yaml.load_file(params_file)

    def given(node: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, content in nodes.items() if isinstance(nodes, Mapping) else ():
            values = content.get('ros__parameters') if isinstance(content, Mapping) else None
            if str(name).rpartition('/')[2] in ('**', node) and isinstance(values, Mapping):
                found.update(values)
        return found

    simulated, flying = given('simulator_node'), given('autopilot_node')
    if not simulated.get('model') or any(
            str(name).partition('.')[0] == 'gains' for name in flying):
        return {}
    model = str(simulated['model'])
    file = file_of(model, str(simulated.get('aircraft_path', '')))
    return parameters_of(model if file is None else file)


def numbers(content: Mapping[str, Any], group: str, known: Collection[str]) -> dict[str, float]:
    """Return the numbers of a group of parameters; ValueError for names that are not known."""
    given = content.get(group, {})
    if not isinstance(given, Mapping):
        raise ValueError(f'{group}: expected names with numbers')
    found = {}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f'{group}.{name} is unknown: expected one of {", ".join(known)}')
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
            raise ValueError(f'{group}.{name}: expected a number, got {plain_yaml.shown(value)}')
        found[name] = float(value)
    return found


def _known() -> str:
    return ', '.join(sorted(file.stem for file in _folder().glob('*.yaml')))


def _folder() -> Path:
    """Return the folder of the aircraft's files."""
    return folder('gains')
