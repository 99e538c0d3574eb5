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

"""Errors for missing optional packages: what the package is for, and how to install it."""

from __future__ import annotations

import importlib.util
import sys

# Where an installed version may be too old.
_REQUIREMENTS = {
    'mcap': "'mcap>=1.5'", 'foxglove-sdk': "'foxglove-sdk>=0.20'",
    'pygeomag': "'pygeomag>=1.1'"}
# A distribution's own Python refuses pip (PEP 668); a virtual environment with access to the
# system's packages finds rclpy, and `ros2 run` uses the active one.
_VENV = ('python3 -m venv --system-site-packages ~/xplane_bridge_venv'
         ' && . ~/xplane_bridge_venv/bin/activate && ')


def missing(purpose: str, *packages: str, extra: str) -> ImportError:
    """
    Return the error for packages that are not installed, with the command that installs them.

    ``purpose`` starts the message, such as 'recording'. Where pip has installed this package, the
    command names the ``extra`` of setup.cfg that has those packages (or several: 'fly,export');
    elsewhere, as in a ROS workspace, pip knows of no xplane_bridge, and it names the packages.
    """
    if _was_installed_by_pip():
        command = f"pip install '.[{extra}]' in the clone of this package"
    else:
        command = ('' if sys.prefix != sys.base_prefix else _VENV) + 'pip install ' + ' '.join(
            _REQUIREMENTS.get(package, package) for package in packages)
    return ImportError(
        f'{purpose} needs the Python package{"s" * (len(packages) > 1)} '
        f'{", ".join(packages)}: {command}')


def _was_installed_by_pip() -> bool:
    from importlib.metadata import metadata, PackageNotFoundError
    try:
        # What CMake installs has metadata too, but no extras.
        return bool(metadata('xplane_bridge').get_all('Provides-Extra'))
    except PackageNotFoundError:
        return False


def require(purpose: str, *packages: str, extra: str) -> None:
    """Raise ``missing`` for those packages that are not installed."""
    absent = [package for package in packages if importlib.util.find_spec(package) is None]
    if absent:
        raise missing(purpose, *absent, extra=extra)
