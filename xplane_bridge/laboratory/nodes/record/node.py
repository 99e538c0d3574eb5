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

"""record: write topics to an MCAP file like rosbag2, without deserialising them."""

from __future__ import annotations

from collections.abc import Sequence
import os
import signal
import sys

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from xplane_bridge.bridges.nodes.common.spinning import spin_until
from xplane_bridge.common.command_line import (
    add_force_option,
    CommandParser,
    program,
    refuse_existing,
    seconds,
    without_ros_arguments,
)
from xplane_bridge.common.plain_files import WriteError
from xplane_bridge.common.signals import call_on_signal
from xplane_bridge.laboratory.nodes.record import draining
from xplane_bridge.laboratory.nodes.record.recorder import Recorder

# After messages, in seconds: much less than the queues hold.
_PAUSE = 0.005


def main(argv: Sequence[str] | None = None) -> int:
    """Record until SIGINT or SIGTERM; return the process's exit code."""
    parser = CommandParser(
        program('record'), description='Record topics to an MCAP file that ros2 bag plays.')
    parser.add_argument('-o', '--output', required=True, help='file to write, such as flight.mcap')
    add_force_option(parser)
    parser.add_argument('-n', '--namespace', default='/', help='namespace whose topics to record')
    parser.add_argument(
        '--sent-again', type=seconds, default=draining.SENT_AGAIN, metavar='SECONDS',
        help='within that time the middleware sends again what was lost (default: %(default)s)')
    parser.add_argument('topics', nargs='*',
                        help='topics to record; by default all of the namespace')
    argv = list(sys.argv[1:] if argv is None else argv)
    arguments = parser.parse_args(without_ros_arguments(argv))
    try:
        refuse_existing([arguments.output], arguments.force)
    except (FileExistsError, WriteError) as error:
        print(f'record: {error}', file=sys.stderr)
        return 1
    rclpy.init(args=argv, signal_handler_options=SignalHandlerOptions.NO)
    node = Node('record')
    try:
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        stop = Future(executor=executor)
        recorder = Recorder(
            node, arguments.output, arguments.namespace, arguments.topics, arguments.force,
            arguments.sent_again)
        # Whoever sees it subscribe may end it at once.
        call_on_signal(lambda: stop.set_result(None), finish=True, again=recorder.hurry)
        with recorder:
            print(f'recording to {arguments.output}', flush=True)
            spin_until(executor, stop, lambda: _PAUSE)
            recorder.drain(executor)
        print(f'{arguments.output}: {recorder.summary()}', flush=True)
        if nothing := recorder.nothing:
            print(f'record: nothing was recorded: {nothing}', file=sys.stderr)
            return 1
    except WriteError as error:
        kept = '; what was recorded until then can be read' * os.path.exists(arguments.output)
        print(f'record: {error}{kept}', file=sys.stderr)
        return 1
    except (ImportError, OSError) as error:
        print(f'record: {error}', file=sys.stderr)
        return 1
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
        # The interpreter removes its handlers before it ends.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    return 0
