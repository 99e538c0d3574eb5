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

"""Run one node, or a few alike, as a process: until a signal, with an exit code for launch."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from functools import partial
import gc
import os
import re
import signal
import sys
from textwrap import wrap
import threading
import time
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from xplane_bridge.bridges.nodes.common.base import BaseParameters, BridgeNode
from xplane_bridge.bridges.nodes.common.spinning import spin_until
from xplane_bridge.bridges.nodes.common.subscribers import ACKNOWLEDGED_WITHIN
from xplane_bridge.bridges.nodes.managed.parameters import describe, Described
from xplane_bridge.bridges.nodes.managed.registry import nodes
from xplane_bridge.common.command_line import without_ros_arguments
from xplane_bridge.common.signals import call_on_signal

# The output of ``ros2 run xplane_bridge <node> --help``.

_WIDTH = 98


class _Parser(ArgumentParser):
    """Lists examples and parameters only if asked: that imports all protocols, and takes time."""

    table: type[Any]

    def format_help(self) -> str:
        self.epilog = f'{_examples(self.prog)}\n\n{_listed(describe(self.table))}'
        return super().format_help()


def check_command_line(description: str, table: type[Any], argv: Sequence[str]) -> None:
    """
    Print the help and exit if ``--help`` is given; exit with a message for other arguments.

    A node accepts only ROS arguments.
    """
    name = os.path.basename(sys.argv[0])
    parser = _Parser(
        prog=name, usage=f'ros2 run xplane_bridge {name} [--help] [--ros-args ...]',
        formatter_class=RawDescriptionHelpFormatter, description=description,
        allow_abbrev=False)
    parser.table = table
    _, others = parser.parse_known_args(without_ros_arguments(argv))
    if others:
        parser.error(
            f'{" ".join(others)}: a node accepts only ROS arguments; set a parameter with '
            '--ros-args -p name:=value')


def _examples(name: str) -> str:
    run = f'ros2 run xplane_bridge {name} --ros-args'
    launch = f'ros2 launch xplane_bridge {name.removesuffix("_node")}.launch.py'
    entry = nodes().get(name)
    example = entry.example if entry else ''
    return '\n'.join((
        'examples:',
        f'  {run} -p {example} -r __ns:=/uav1',
        f'  {run} --params-file mine.yaml --log-level debug',
        f'  {launch} {example} namespace:=uav1',
    ))


def _listed(parameters: Sequence[Described]) -> str:
    lines = ['parameters (default; range or choices; "live" ones may change while it runs, others',
             'only while it is unconfigured):']
    for one in parameters:
        notes = '; '.join(filter(None, (one.default, one.allowed, 'live' if one.live else '')))
        lines.append(f'  {one.name} ({notes})')
        lines += wrap(one.text, _WIDTH, initial_indent='      ', subsequent_indent='      ')
    return '\n'.join(lines)


# Implementation details in rcl's error messages, removed.
_SOURCE = re.compile(r'failed to initialize rcl: |\s*, at /\S+:\d+')

# A command waits at most this long (s) for the link's thread, which may be busy publishing or
# decoding: Python's 5 ms are a third of a frame.
_SWITCH_INTERVAL = 0.0002


def run(
    make_node: Callable[[], BridgeNode[Any] | Sequence[BridgeNode[Any]]],
    table: type[BaseParameters], args: Sequence[str] | None = None,
    hurry: Callable[[Any], None] | None = None,
) -> int:
    """
    Run one node, or several, until SIGINT or SIGTERM; return the process's exit code.

    ``table`` is listed by ``--help``. With ``autostart``, a failed configuration ends the process
    with code 1; so does a peer that was there and did not show that what was taken from it was
    given back. ``hurry`` is called with what was made if somebody insists while it ends, by two
    more SIGINT; else these are ignored. At SIGUSR1 the nodes say what they have published.
    """
    # What was imported is never garbage. Looking through it took 0.1 of the 0.125 s of CPU time of
    # the end of a process, and those of a fleet end at the same time.
    gc.freeze()
    description = sys.modules[make_node.__module__].__doc__ or ''
    check_command_line(description, table, sys.argv[1:] if args is None else args)
    try:
        rclpy.init(
            args=None if args is None else list(args),
            signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:
        print(f'bad ROS arguments: {_SOURCE.sub("", str(error)).strip()}', file=sys.stderr,
              flush=True)
        return 1
    nodes: Sequence[BridgeNode[Any]] = ()
    try:
        made = make_node()
        nodes = [made] if isinstance(made, BridgeNode) else made
        executor = SingleThreadedExecutor()
        stop = Future(executor=executor)
        # The node releases its peer before ROS shuts down.
        call_on_signal(
            lambda: stop.set_result(None), again=partial(hurry, made) if hurry else None,
            asked=lambda: _tell_published(nodes))
        for node in nodes:
            executor.add_node(node)
            node.quit = lambda: stop.set_result(None)
            if node.get_parameter('autostart').value:
                if node.trigger_configure() != TransitionCallbackReturn.SUCCESS:
                    return 1
                if node.trigger_activate() != TransitionCallbackReturn.SUCCESS:
                    return 1
        sys.setswitchinterval(_SWITCH_INTERVAL)
        spin_until(executor, stop)
        _leave_together(nodes)
        # All is given back: what is left is no error if it outlasts launch's patience.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        deadline = time.monotonic() + ACKNOWLEDGED_WITHIN
        for node in nodes:
            node.shut_down(deadline)
        return max(node.exit_code for node in nodes)
    finally:
        _leave_together(nodes)
        for node in nodes:
            node.shut_down()
            node.destroy_node()
        rclpy.try_shutdown()
        sys.stdout.flush()


def _tell_published(nodes: Sequence[BridgeNode[Any]]) -> None:
    for node in nodes:
        node.tell_published()


def _leave_together(nodes: Sequence[BridgeNode[Any]]) -> None:
    """Let all nodes give back at the same time: launch does not wait for one after the other."""
    threads = [
        threading.Thread(target=node.leave, name=f'leave {node.get_name()}') for node in nodes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
