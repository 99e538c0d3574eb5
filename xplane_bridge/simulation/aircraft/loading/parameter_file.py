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

"""The parameter file of an aircraft: where it is, and the groups of numbers in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
import math
from pathlib import Path
from typing import Any

from xplane_bridge.bridges.conversions.airframe_events import EnvelopeLimits
from xplane_bridge.common import plain_files, plain_yaml
from xplane_bridge.common.data import folder
from xplane_bridge.common.text import abbreviated

ALL = '/**'
"""The section of a parameter file that is for all nodes."""

_AIRFRAME = 'airframe'


def read(model: str | Path) -> Mapping[str, Any]:
    """
    Return the parameters in the file of an aircraft.

    They are gains, schedule, envelope, performance and airframe.

    Raises ValueError if there is no such file, or it is not one.
    """
    path = Path(model)
    if path.suffix != '.yaml':
        path = _folder() / f'{model}.yaml'
        if not path.is_file():
            raise ValueError(
                f'no gains are known for {model}: find its own (tune --model {model}), or name a '
                f'file or one of {_known()}')
    content = plain_yaml.load_named(str(path))
    try:
        found = content[ALL]['ros__parameters']
    except (KeyError, TypeError):
        found = None
    if not isinstance(found, Mapping):
        raise ValueError(f'{path}: expected the parameters below {ALL} and ros__parameters')
    return found


def find_file(model: str, aircraft_path: str = '') -> Path | None:
    """
    Return the file for an aircraft of that name, or None if there is none.

    For one's own aircraft it is <model>.yaml in its folder; else that of this package.
    """
    own = plain_files.expanded(aircraft_path)
    places = [own, own / 'aircraft'] if aircraft_path else []
    files = [place / f'{name}.yaml' for place in places for name in (f'{model}/{model}', model)]
    return next(filter(Path.is_file, (*files, _folder() / f'{model}.yaml')), None)


def chosen(model: str, aircraft_path: str = '', named: str = '') -> Path:
    """
    Return the file whose gains fly an aircraft: what is ``named``, or else its own.

    ``named`` is a file (.yaml), or the name of an aircraft of this package. Raises ValueError if
    that is neither, or if nothing is named and the aircraft has none: it is never flown with
    those of another one that nobody named.
    """
    if named:
        file = (plain_files.expanded(named) if named.endswith('.yaml')
                else _folder() / f'{named}.yaml')
        if file.is_file():
            return file
        raise ValueError(f'there are no gains {named}: expected a file (.yaml), or one of '
                         f'{_known()}')
    own = find_file(model, aircraft_path)
    if own is None:
        raise ValueError(
            f'no gains are known for {model}, and the autopilot flies no aircraft with those of '
            f'another one unless they are named: find its own (tune --model {model}), or name a '
            f'file or one of {_known()} with --gains, or gains in "initial"')
    return own


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
            raise ValueError(
                f'{group}.{name}: expected a number, got {abbreviated(value)}')
        found[name] = float(value)
    return found


def airframe_limits(
    model: str, aircraft_path: str = '', named: str = ''
) -> EnvelopeLimits:
    """
    Return what the airframe of a model bears, as far as its file says so: see chosen().

    Raises ValueError for a file that is named and is not there, or has other numbers.
    """
    try:
        file = chosen(model, aircraft_path, named)
    except ValueError:
        if named:
            raise
        return EnvelopeLimits()
    known = file.stat()
    return _limits(file, known.st_mtime_ns, known.st_size)


@cache
def _limits(file: Path, changed: int, size: int) -> EnvelopeLimits:
    """Return the limits in a file as it was ``changed`` last."""
    return EnvelopeLimits(**numbers(read(file), _AIRFRAME, EnvelopeLimits._fields))


def _known() -> str:
    return ', '.join(sorted(file.stem for file in _folder().glob('*.yaml')))


def _folder() -> Path:
    """Return the folder of the aircraft's files."""
    return folder('gains')
