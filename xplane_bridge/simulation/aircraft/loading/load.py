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

"""Loading a model by JSBSim, and what it says where it cannot."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import ctypes
from importlib import import_module
from pathlib import Path
import re
from typing import Any

from xplane_bridge.common.optional import missing
from xplane_bridge.simulation.aircraft.loading.files import AircraftFiles


def load(jsbsim: Any, files: AircraftFiles, named: Path) -> Any:
    """Return a model loaded from its files. Raises ValueError with JSBSim's reason."""
    with heard(jsbsim, named, 'load', {str(files.file): str(named)}):
        fdm = jsbsim.FGFDMExec(None)
        fdm.set_debug_level(0)
        if not fdm.load_model_with_paths(
                files.file.stem, str(files.file.parent), str(files.engine), str(files.systems),
                False):
            raise RuntimeError
        return fdm


@contextmanager
def heard(
    jsbsim: Any, named: Path | str, what: str, copies: Mapping[str, str],
) -> Iterator[None]:
    """
    Raise ValueError with JSBSim's reason for what it cannot do (``what``) with a file.

    ``named`` is the file that the user knows; ``copies`` has such files by what JSBSim loads.
    """
    said: list[str] = []

    class Listener(jsbsim.FGLogger):  # type: ignore[misc]
        """Keep what JSBSim prints: it states its reasons nowhere else."""

        def __init__(self) -> None:
            super().__init__()
            self._kept = True

        def set_level(self, level: Any) -> None:
            self._kept = level >= jsbsim.LogLevel.ERROR
            said.append('')

        def message(self, message: str) -> None:
            if self._kept and said:
                said[-1] += message

        def file_location(self, filename: str, line: int) -> None:
            self.message(f'{filename}:{line}: ')

        def format(self, _: Any) -> None:
            pass

        def flush(self) -> None:
            pass

    try:
        with listening(jsbsim, Listener()):
            yield
        return
    except (jsbsim.BaseError, RuntimeError) as error:
        # The second for names that cannot be properties.
        reason = str(error) or ' '.join(said)
    raise ValueError(
        f'JSBSim cannot {what} {named}: '
        f'{one_line(_with_originals(reason, copies)) or "it does not say why"}')


def _with_originals(reason: str, copies: Mapping[str, str]) -> str:
    """Return a reason that names the originals of files: the lines of a copy are others."""
    for copy, original in copies.items():
        if copy != original:
            reason = original.join(re.split(re.escape(copy) + r'(?::\d+)?', reason))
    return reason


@contextmanager
def listening(jsbsim: Any, listener: Any) -> Iterator[None]:
    """Let a jsbsim.FGLogger have what JSBSim says meanwhile."""
    quiet = _never_freed(jsbsim.get_logger())
    jsbsim.set_logger(listener)
    try:
        yield
    finally:
        jsbsim.set_logger(quiet)


def _never_freed(logger: Any) -> Any:
    """
    Return a logger that may be set: nobody frees it.

    JSBSim keeps the one that was set in the thread's own storage, and lets go of it when the
    thread or the process has ended, without Python's lock: to free an object there is a crash,
    sometimes.
    """
    if id(logger) not in _never_freed_ids:
        _never_freed_ids.add(id(logger))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(logger))
    return logger


# One for each thread that has loaded a model.
_never_freed_ids: set[int] = set()


def one_line(text: str) -> str:
    """Return a text in one line."""
    return ' '.join(text.split())


def import_jsbsim() -> Any:
    """Return JSBSim, which prints nothing. Raises ImportError with a sentence if it is missing."""
    try:
        jsbsim: Any = import_module('jsbsim')
    except ImportError as error:
        raise missing('the simulated aircraft', 'jsbsim', extra='fly') from error
    # Otherwise JSBSim prints a banner, reports and trim tables on standard output.
    jsbsim.FGJSBBase().debug_lvl = 0
    jsbsim.get_logger().set_min_level(jsbsim.LogLevel.FATAL)
    return jsbsim
