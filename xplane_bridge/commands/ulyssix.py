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

"""ulyssix: record what a Ulyssix publisher sends, and write maps for it, without ROS."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
import sys

from xplane_bridge.common.command_line import (
    CommandParser,
    program,
    refuse_unknown,
    without_ros_arguments,
)

_COMMANDS = {
    'record': 'record parameters to Parquet, MF4, MAT or CSV',
    'map': 'write a first map.yaml from a capture',
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = CommandParser(program('ulyssix'), description=(
        "Ulyssix's UDP parameters without ROS: from Altair, DEWESoft, or a capture."))
    commands = parser.add_subparsers(dest='command', required=True)
    modules, parsers = {}, {}
    for name, purpose in _COMMANDS.items():
        module = f'xplane_bridge.laboratory.export.ulyssix.{name}'
        if find_spec(module) is not None:
            modules[name] = import_module(module)
            parsers[name] = commands.add_parser(
                name, help=purpose, description=f'{purpose[:1].upper()}{purpose[1:]}.')
            modules[name].add_arguments(parsers[name])
    given, unknown = parser.parse_known_args(
        without_ros_arguments(sys.argv[1:] if argv is None else argv))
    refuse_unknown(parsers[given.command], unknown)
    return int(modules[given.command].run(given))
