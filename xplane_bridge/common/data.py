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

"""Where the package's data are, and which files are of installed packages."""

from __future__ import annotations

from functools import cache
from pathlib import Path
import site

_DATA = Path(__file__).resolve().parents[1] / 'data'


@cache
def _places() -> tuple[Path, ...]:
    """Return where Python has its own files, and packages that are installed for it."""
    # Slow to import, and most who look for data have no need of it.
    import sysconfig
    return tuple({Path(place).resolve() for place in (
        *(sysconfig.get_path(name) for name in ('stdlib', 'platstdlib', 'purelib', 'platlib')),
        *site.getsitepackages(), site.getusersitepackages())})


def is_installed(path: Path) -> bool:
    """Return whether a file is Python's own, or of a package that was installed for it."""
    real = path.resolve()
    return any(real.is_relative_to(place) for place in _places()) or bool(
        {'site-packages', 'dist-packages'} & set(real.parts))


def folder(name: str) -> Path:
    """Return a folder of the package's data, such as policies."""
    return _DATA / name
