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

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def package_version() -> str:
    """Return the version of this package, '' if it is neither installed nor in its sources."""
    try:
        return version('xplane_bridge')
    except PackageNotFoundError:
        import configparser
        found = configparser.ConfigParser()
        found.read(Path(__file__).parents[3] / 'setup.cfg')
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
