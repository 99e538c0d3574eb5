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
Load policies, and ask them for actions.

A policy is anything that is called with an observation and returns an action:

    def policy(observation):
        return 0.0, 0.0, 0.0, 0.7

    policy.fields = 'imu/data.angular_velocity.x', 'target.airspeed'
    policy.level = 'controls'

``fields`` are those of control.observation that it takes, in its order (default: all); ``level``
is one of control.action (default: controls); and ``reset()``, if there is one, is called at each
start. Of a class an instance is made, without arguments. ONNX files: control.onnx_policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
import hashlib
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
import inspect
from pathlib import Path
import sys
import traceback
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from xplane_bridge.common import plain_files
from xplane_bridge.common.data import folder, is_installed
from xplane_bridge.laboratory.control.policy import contents
from xplane_bridge.laboratory.control.policy.action import ActionSpec, CONTROLS, LEVELS
from xplane_bridge.laboratory.control.policy.contents import Files
from xplane_bridge.laboratory.control.policy.observation import (
    columns,
    NAMES,
    SIZE,
    TRAFFIC,
    Vector,
)

_PACKAGE = Path(__file__).resolve().parents[3]
ONNX, PYTHON = '.onnx', '.py'
_EXPECTED = ('expected the name of a policy of this package, a file.onnx, a '
             'package.module:attribute or a file.py:attribute')


class LoadedPolicy:
    """
    A policy that is ready to fly.

    ``name`` is short, ``digest`` the SHA-256 of its files in hex (control.contents), ``fields``
    what it is told, and ``action`` what it commands. One that ``sees_traffic`` names fields of
    TRAFFIC. Raises ValueError if the policy's fields or level are none.
    """

    def __init__(self, policy: Callable[[Vector], ArrayLike], name: str = '',
                 digest: str = '') -> None:
        self.name = name or getattr(policy, '__name__', type(policy).__name__)
        self.digest = digest
        if not callable(policy):
            raise ValueError(f'{self.name} is not a policy: it cannot be called')
        self._policy = policy
        self.fields = _read_fields(policy)
        self.action = _read_action(policy)
        self._columns = columns(self.fields)
        self.sees_traffic = any(name.startswith('traffic.') for name in self.fields)
        self._size = SIZE + len(TRAFFIC) * self.sees_traffic
        self._reset: Callable[[], object] | None = getattr(policy, 'reset', None)
        if self._reset is not None and not callable(self._reset):
            raise ValueError("the policy's reset cannot be called")

    def reset(self) -> None:
        """Start anew: forget what it remembers. Raises ValueError if the policy does."""
        if self._reset is not None:
            try:
                self._reset()
            except Exception as error:
                raise ValueError(f'its reset() raised {_said(error)}') from error

    def act(self, observation: Vector) -> tuple[float, ...]:
        """
        Return the action for an observation, which has all fields; limited to its bounds.

        TRAFFIC follows them if it sees traffic.

        Raises ValueError if the policy raises, or if its action has a wrong shape or a number
        that is not finite.
        """
        if observation.shape != (self._size,):
            raise ValueError(
                f'an observation has {self._size} numbers, got shape {observation.shape}')
        try:
            values = np.asarray(self._policy(observation[self._columns]), dtype=np.float64)
        except Exception as error:
            raise ValueError(f'the policy raised {_said(error)}') from error
        return self.action.checked(values)


def load(reference: str) -> LoadedPolicy:
    """
    Load a policy.

    ``reference`` is the name of one of this package, ``file.onnx``, ``package.module:attribute``
    or ``file.py:attribute``. Raises ValueError with a sentence for whatever is wrong with it.
    """
    try:
        return _loaded(reference)
    except (ImportError, ValueError) as error:
        raise ValueError(f'policy {reference}: {error}') from error


def absolute(reference: str) -> str:
    """Return a reference that means the same in any working directory."""
    file, colon, attribute = reference.rpartition(':')
    if colon and file.endswith(PYTHON):
        return f'{plain_files.expanded(file).absolute()}:{attribute}'
    if reference.endswith(ONNX):
        return str(plain_files.expanded(reference).absolute())
    return reference


def _loaded(reference: str) -> LoadedPolicy:
    reference = _file_of_shipped(reference)
    module, colon, attribute = reference.rpartition(':')
    if reference.endswith(ONNX):
        return _load_onnx(_onnx_file(reference))
    if not module or not attribute.isidentifier():
        raise ValueError(_EXPECTED)
    found = (_load_module(plain_files.expanded(module)) if module.endswith(PYTHON)
             else _imported(module))
    if not hasattr(found, attribute):
        raise ValueError(f'{module} has no {attribute}')
    policy = getattr(found, attribute)
    if inspect.isclass(policy):
        try:
            policy = policy()
        except Exception as error:
            raise ValueError(f'{attribute}() raised {_said(error)}') from error
    return LoadedPolicy(
        policy, attribute, contents.digest(_find_files(reference)))


def _load_onnx(path: Path) -> LoadedPolicy:
    from xplane_bridge.laboratory.control.policy.onnx import OnnxPolicy

    files = contents.find_onnx_files(path)
    return LoadedPolicy(OnnxPolicy(path), path.stem, contents.digest(files))


def find_files(reference: str) -> Files:
    """
    Return the files that a policy is made of, without running any of it; see load().

    Raises ValueError with a sentence if there is no such policy.
    """
    try:
        return _find_files(reference)
    except ValueError as error:
        raise ValueError(f'policy {reference}: {error}') from error


def taken_along(reference: str) -> Files:
    """
    Return the files that go with a policy to another machine, its own first: none of a module.

    They lie below its folder, by their names there. Raises ValueError, with a sentence, for one
    that needs others, and if there is no such policy.
    """
    try:
        reference = _file_of_shipped(reference)
        module, colon, _ = reference.rpartition(':')
        if reference.endswith(ONNX):
            path = _onnx_file(reference)
            found = contents.find_onnx_files(path)
            for name in found:
                if Path(name).is_absolute() or '..' in Path(name).parts:
                    raise ValueError(
                        f'{path} has data in {name!r}: expected a name below its folder')
            return found
        if not module.endswith(PYTHON):
            return {}
        path = Path(module).expanduser()
        _check_is_file(path)
        return contents.python_taken_along(path)
    except ValueError as error:
        raise ValueError(f'policy {reference}: {error}') from error


def _find_files(reference: str) -> Files:
    reference = _file_of_shipped(reference)
    module, colon, attribute = reference.rpartition(':')
    if reference.endswith(ONNX):
        path = _onnx_file(reference)
        return contents.find_onnx_files(path)
    if not module or not attribute.isidentifier():
        raise ValueError(_EXPECTED)
    if not module.endswith(PYTHON):
        return contents.find_module_files(module)
    path = plain_files.expanded(module)
    _check_is_file(path)
    return contents.find_python_files(path)


def _file_of_shipped(reference: str) -> str:
    """Return the reference to the file of a policy of this package; any other as it is."""
    if ':' in reference or reference.endswith(ONNX):
        return reference
    if not reference or '/' in reference or reference.endswith(PYTHON):
        raise ValueError(_EXPECTED)
    policies = folder('policies')
    if (path := policies / f'{reference}{ONNX}').is_file():
        return str(path)
    if (path := policies / f'{reference}{PYTHON}').is_file():
        # Its policy has the name of the file.
        return f'{path}:{reference}'
    known = sorted(file.stem for file in policies.iterdir() if file.suffix in (ONNX, PYTHON))
    raise ValueError(f'{_EXPECTED}; those of this package are: {", ".join(known) or "none"}')


def _onnx_file(reference: str) -> Path:
    """Return the file of a policy that is none in Python."""
    path = plain_files.expanded(reference)
    _check_is_file(path)
    return path.absolute()


def _check_is_file(path: Path) -> None:
    if not path.is_file():
        raise ValueError(f'there is no file {path}')


def _load_module(path: Path) -> Any:
    _check_is_file(path)
    # Of that name for itself only: another file may have the same.
    name = f'_policy_{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:16]}'
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Dataclasses look for their module there.
    sys.modules[name] = module
    try:
        with _beside(path.absolute()):
            spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ValueError(f'{path} raised {_said(error)}') from error
    return module


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """
    Let a file import the modules of its folder, as Python does for a program.

    They are its own: a file of another folder may have neighbours of the same names.
    """
    place = path.parent
    for found in contents.find_python_files(path).values():
        if found.suffix == PYTHON and found != path and found.is_relative_to(place):
            _check_is_new(found.relative_to(place).parts[0].removesuffix(PYTHON), place)
    before = set(sys.modules)
    sys.path.insert(0, str(place))
    try:
        yield
    finally:
        sys.path.remove(str(place))
        for name in sys.modules.keys() - before:
            if _file_of(name).is_relative_to(place):
                del sys.modules[name]


def _check_is_new(name: str, place: Path) -> None:
    """Raise ValueError if another module of that name is there already, from somewhere else."""
    if name in sys.modules and not _file_of(name).is_relative_to(place):
        raise ValueError(
            f'{place} has {name}, and so has this process, from {_file_of(name)}: rename one')


def _file_of(name: str) -> Path:
    return Path(getattr(sys.modules[name], '__file__', None) or '/').absolute()


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except Exception as error:
        raise ValueError(f'{name} cannot be imported: {_said(error)}') from error


def _read_fields(policy: object) -> tuple[str, ...]:
    fields = getattr(policy, 'fields', None)
    if fields is None:
        return NAMES
    if isinstance(fields, str) or not isinstance(fields, Sequence) or not fields or not all(
            isinstance(name, str) for name in fields):
        raise ValueError(f"the policy's fields are {fields!r}: expected names of fields")
    columns(fields)
    return tuple(fields)


def _read_action(policy: object) -> ActionSpec:
    level = getattr(policy, 'level', CONTROLS.level)
    if level not in LEVELS:
        raise ValueError(f"the policy's level is {level!r}: expected one of {', '.join(LEVELS)}")
    return LEVELS[level]


def _said(error: Exception) -> str:
    said = f'{type(error).__name__}: {error}' if str(error) else type(error).__name__
    return f'{said}{_place(error)}'


def _place(error: Exception) -> str:
    """Return where an error was raised, as the line of somebody's own file; '' if in none."""
    if isinstance(error, SyntaxError):
        return ''      # It says so itself.
    own = [frame for frame in traceback.extract_tb(error.__traceback__)
           if not Path(frame.filename).is_relative_to(_PACKAGE) and Path(frame.filename).is_file()]
    # Rather the policy's than that of a library that it calls.
    for frame in reversed([one for one in own if not is_installed(Path(one.filename))] or own):
        return f' ({frame.filename}, line {frame.lineno})'
    return ''
