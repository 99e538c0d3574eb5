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

"""diagnose: print what is not OK on /diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import sys
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from xplane_bridge.bridges.nodes.common.diagnostics import ERROR, OK, STALE, WARN
from xplane_bridge.common.command_line import CommandParser, program, without_ros_arguments
from xplane_bridge.common.text import aligned, counted, LONGEST_LINE, printable

LEVELS = {ERROR: 'ERROR', WARN: 'WARN', STALE: 'STALE'}
"""What is not OK, the worst first."""

# Anybody may publish there, as much as they like.
_MOST = 2000
# How long the first report is awaited; discovery may take seconds on a busy machine. From then on
# for how long others are: every node reports once per second.
_AWAITS, _LISTENS = 10.0, 2.5


def lines(found: Iterable[DiagnosticStatus]) -> list[str]:
    """Return a line for each status that is not OK, the worst first, or one that says so."""
    found = list(found)
    wrong = sorted((status for status in found if status.level != OK), key=lambda status: (
        list(LEVELS).index(status.level) if status.level in LEVELS else -1, status.name))
    if not wrong:
        return [f'OK: {counted(len(found), "status", "statuses")} of '
                f'{counted(len({status.hardware_id for status in found}), "node")}']
    return aligned([
        (LEVELS.get(status.level, f'level {status.level!r}'), printable(status.name),
         printable(status.message, LONGEST_LINE)) for status in wrong], (0, 1, 2))


def main(argv: Sequence[str] | None = None) -> int:
    """Listen, and print; 0 if all is OK, 1 if not, 2 if no node reports."""
    parser = CommandParser(
        program('diagnose'),
        description='Print what is not OK on /diagnostics, of all nodes or of a namespace.')
    parser.add_argument('-n', '--namespace', default='/', metavar='NS',
                        help='only what nodes of this namespace report (%(default)s)')
    argv = list(sys.argv[1:] if argv is None else argv)
    given = parser.parse_args(without_ros_arguments(argv))
    inside = f'/{given.namespace.strip("/")}/'.replace('//', '/')
    found: dict[str, DiagnosticStatus] = {}

    def heard(message: DiagnosticArray) -> None:
        for status in message.status:
            # Of other packages, names may have no namespace.
            if f'/{status.name.lstrip("/")}'.startswith(inside) and (
                    status.name in found or len(found) < _MOST):
                found[status.name] = status

    rclpy.init(args=argv)
    node = Node('diagnose')
    try:
        node.create_subscription(DiagnosticArray, '/diagnostics', heard, 100)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        end, is_listening = time.monotonic() + _AWAITS, False
        while (left := end - time.monotonic()) > 0.0:
            executor.spin_once(left)
            if found and not is_listening:
                end, is_listening = time.monotonic() + _LISTENS, True
    except (KeyboardInterrupt, ExternalShutdownException):
        return 130
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    if not found:
        print(f'diagnose: no node below {inside} reports within {_AWAITS:g} s: is one running, '
              'with the same ROS_DOMAIN_ID?', file=sys.stderr)
        return 2
    print('\n'.join(lines(found.values())), flush=True)
    return int(any(status.level != OK for status in found.values()))
