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

"""Versions of what flights depend on."""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def package_version() -> str:
    """Return the version of this package, '' if it is neither installed nor in its sources."""
    try:
        return version('xplane_bridge')
    except PackageNotFoundError:
        import configparser
        found = configparser.ConfigParser()
        found.read(Path(__file__).parents[4] / 'setup.cfg')
        return found.get('metadata', 'version', fallback='')


def jsbsim_version() -> str:
    """Return the version of JSBSim, '' if it is not installed."""
    return version_of('jsbsim')


def version_of(name: str) -> str:
    """Return the version of a Python package, '' if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ''


def installed() -> dict[str, str]:
    """Return the hash of this package's sources, and the version of JSBSim; empty if missing."""
    return question()()


def question() -> Callable[[], dict[str, str]]:
    """Return installed() as a function that imports nothing of this package."""
    def ask() -> dict[str, str]:
        from contextlib import suppress
        import hashlib
        from importlib import metadata, util
        from pathlib import Path

        found = {'xplane_bridge': '', 'jsbsim': ''}
        spec = util.find_spec('xplane_bridge')
        if spec is not None and spec.origin is not None:
            folder, sources = Path(spec.origin).parent, hashlib.sha256()
            for path in sorted(folder.rglob('*.py')):
                # Generated ones differ from machine to machine; links may be left of old ones.
                if path.is_file() and path.relative_to(folder).parts[0] not in (
                        'msg', 'srv', 'action'):
                    sources.update(f'{path.relative_to(folder)}\n'.encode() + path.read_bytes())
            found['xplane_bridge'] = sources.hexdigest()
        with suppress(metadata.PackageNotFoundError):
            found['jsbsim'] = metadata.version('jsbsim')
        return found
    return ask
