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

"""What the command lines of all executables have in common. No ROS."""

from __future__ import annotations

from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace, SUPPRESS
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
import io
import math
import os
from pathlib import Path
import re
import sys
import threading
from typing import Any

from xplane_bridge.common.plain_files import check_writable, is_device, WriteError
from xplane_bridge.common.text import did_you_mean, printable_lines

PACKAGE = 'xplane-bridge'
"""The command that has all others, where this package is installed with pip."""

# As of a command that SIGPIPE has ended.
_READER_GONE = 141
_NOT_DONE, _INTERRUPTED = 2, 130
# With more options than these a usage would say too much.
_FEW_OPTIONS = 5
# Whether run_command() was called.
_is_command = False


class _Output(io.FileIO):
    """A standard stream whose reader may go, as `head` does: then the process ends, quietly."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            # What is still buffered is written at exit.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            raise SystemExit(_READER_GONE) from None


class _Text(io.TextIOWrapper):
    r"""
    A standard stream on which names from files and peers are only text.

    A terminal obeys control characters; so they are printed as escapes such as ``\x1b``, except
    where ``terminal()`` was asked for.
    """

    def write(self, text: str) -> int:
        super().write(printable_lines(text))
        return len(text)


class _Terminal:
    """The same stream, for what draws on a terminal on purpose."""

    def __init__(self, stream: _Text) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return io.TextIOWrapper.write(self._stream, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def terminal(stream: Any) -> Any:
    """Return a standard stream that passes control characters: what is written must be known."""
    return _Terminal(stream) if isinstance(stream, _Text) else stream


class CommandParser(ArgumentParser):
    """A parser whose usage has what a command needs; --help lists its options by subject."""

    def format_usage(self) -> str:
        """Return the usage."""
        self._shorten_usage()
        return super().format_usage()

    def format_help(self) -> str:
        """Return the help."""
        self._shorten_usage()
        return super().format_help()

    def _shorten_usage(self) -> None:
        needed = sorted(
            (one for one in self._actions if one.required or not one.option_strings),
            key=lambda one: not one.option_strings)
        if self.usage is None and len(self._actions) > len(needed) + _FEW_OPTIONS:
            self.usage = ' '.join(('%(prog)s [-h] [OPTION ...]', *map(_in_usage, needed)))


def _in_usage(action: Action) -> str:
    """Return an argument as a usage has it: FILE, [FILE], FILE [FILE ...], --to FILE."""
    name = action.metavar if isinstance(action.metavar, str) else (
        action.dest.upper() if action.option_strings else action.dest)
    if action.choices is not None and action.metavar is None:
        name = f'{{{",".join(map(str, action.choices))}}}'
    if action.option_strings:
        return f'{action.option_strings[-1]} {name}'
    return {'?': f'[{name}]', '*': f'[{name} ...]', '+': f'{name} [{name} ...]'}.get(
        str(action.nargs), name)


class _Renamed(Action):
    """An option by the name that it had in an earlier release: an error that has the present."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any,
                 option_string: str | None = None) -> None:
        parser.error(f'{option_string} is now called {self.const}')


def refuse_old_option(parser: Any, old: str, new: str) -> None:
    """Let a parser, or a group of it, refuse the ``old`` name of the option ``new``."""
    parser.add_argument(old, action=_Renamed, const=new, help=SUPPRESS, default=SUPPRESS)


def subject(parser: ArgumentParser, title: str) -> Any:
    """Return the group of the options on a subject, under whose title --help has them."""
    for group in parser._action_groups:
        if group.title == title:
            return group
    return parser.add_argument_group(title)


def run_command(main: Callable[[], int | None]) -> int | None:
    """
    Return what an executable's ``main`` returns; what all of them have in common is done here.

    If nobody reads the output any more, SystemExit is raised where something is printed: whatever
    runs ends as after an error, but nothing is said. A file that cannot be written ends it with a
    sentence and 2, an interrupt with 130, as far as the command itself has no better end.
    """
    global _is_command
    _is_command = True
    sys.stdout, sys.stderr = streams = _quiet(sys.stdout), _quiet(sys.stderr)
    try:
        return main()
    except WriteError as error:
        print(f'{_command()}: {error}', file=sys.stderr)
        return _NOT_DONE
    except KeyboardInterrupt:
        print(f'{_command()}: interrupted', file=sys.stderr)
        return _INTERRUPTED
    finally:
        for stream in streams:
            if stream is not None:
                stream.flush()


def is_alone() -> bool:
    """Return whether this process is an executable of this package, which has no thread yet."""
    return _is_command and threading.active_count() == 1


def _command() -> str:
    return os.path.basename(sys.argv[0]).removeprefix(f'{PACKAGE} ')


def _quiet(stream: Any) -> Any:
    # A closed standard stream is None.
    if stream is None:
        return None
    stream.flush()
    raw = _Output(stream.fileno(), 'w', closefd=False)
    # By PYTHONUNBUFFERED nothing is buffered.
    return _Text(
        raw if stream.write_through else io.BufferedWriter(raw), stream.encoding,
        stream.errors, line_buffering=stream.line_buffering, write_through=stream.write_through)


class Tenths:
    """
    When another line on progress is worth reading where no terminal shows it: at each tenth.

    >>> tenths = Tenths()
    >>> [share for share in (0.0, 0.04, 0.1, 0.11, 0.35, 1.0) if tenths.has_next(share)]
    [0.0, 0.1, 0.35, 1.0]
    """

    def __init__(self) -> None:
        self._said = -1

    def has_next(self, share: float) -> bool:
        """Return whether a further tenth is done of the whole, 1.0."""
        tenth = int(10.0 * share + 1e-9)
        if tenth <= self._said:
            return False
        self._said = tenth
        return True


def program(name: str) -> str:
    """Return what a command's usage calls it: as it was started, with xplane-bridge or without."""
    return sys.argv[0] if sys.argv[0] == f'{PACKAGE} {name}' else name


def refuse_unknown(parser: ArgumentParser, given: Sequence[str]) -> None:
    """Exit with a sentence if there are arguments that a parser does not know."""
    if not given:
        return
    if not given[0].startswith('-'):
        parser.error(f'one argument too many: {given[0]}')
    options = re.findall(r'--[a-z][a-z-]*', parser.format_help())
    parser.error(f'there is no option {given[0]}{did_you_mean(given[0], options)}')


def number(text: str, what: str, fits: Callable[[float], bool]) -> float:
    """Return a valid number. Raises ArgumentTypeError saying ``what`` was expected."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not fits(value):
        raise ArgumentTypeError(f'{text!r} is not {what}')
    return value


def whole(text: str, what: str, low: int, high: float = math.inf) -> int:
    """Return a whole number from ``low`` to ``high``. Raises ArgumentTypeError."""
    return int(number(text, what, lambda value: value.is_integer() and low <= value <= high))


def count(text: str) -> int:
    """Return a number of things, at least 1. Raises ArgumentTypeError."""
    return whole(text, 'a whole number of at least 1', 1)


def peer_port(text: str) -> int:
    """Return a port to send to. Raises ArgumentTypeError."""
    return whole(text, 'a port, 1..65535', 1, 65535)


def seconds(text: str) -> float:
    """Return a time in seconds. Raises ArgumentTypeError."""
    return number(text, 'a time in seconds', lambda value: 0.0 <= value < math.inf)


def without_ros_arguments(argv: Sequence[str]) -> list[str]:
    """Return the arguments without the ROS ones: --ros-args up to --, or to the end."""
    own: list[str] = []
    is_own = True
    for argument in argv:
        if argument == '--ros-args':
            is_own = False
        elif argument == '--' and not is_own:
            is_own = True
        elif is_own:
            own.append(argument)
    return own


def add_force_option(parser: Any) -> None:
    """Add the option without which refuse_existing() refuses, to a parser or a group of it."""
    parser.add_argument('--force', action='store_true', help='overwrite what is there')


def add_launch_option(parser: ArgumentParser) -> None:
    """Add the option ``by_launch``, which launch files give."""
    parser.add_argument('--by-launch', action='store_true',
                        help='end with 0 when interrupted, as launch expects')


def refuse_existing(
    paths: Iterable[str | Path], force: bool = False, by: str = '--force',
    elsewhere: str = '--output',
) -> None:
    """
    Raise FileExistsError, in a sentence, if a command would overwrite a file or fill a folder.

    Raise WriteError where nothing may be written. Every command calls this before it starts
    anything. ``by`` and ``elsewhere`` are what the sentence recommends, the option ``force`` and
    that of the name; empty for none. Devices and empty folders may be there. A link is a file,
    whatever it leads to: it would be replaced.
    """
    given = [*map(Path, dict.fromkeys(paths))]
    for path in given:
        if path.exists() and not (
                is_device(path) or path.is_file() or path.is_dir() or path.is_symlink()):
            raise FileExistsError(f'{path} is not a regular file, and is not overwritten'
                                  + (f'; {elsewhere} writes elsewhere' if elsewhere else ''))
    there = [] if force else [
        str(path) for path in given
        if not is_device(path) and (path.is_file() or (
            any(path.iterdir()) if path.is_dir() else path.is_symlink()))]
    if there:
        many = len(there) > 1
        names = f'{", ".join(there[:-1])} and {there[-1]}' if many else there[0]
        advice = [text for text in (
            by and f'{by} overwrites {"them" if many else "it"}',
            elsewhere and f'{elsewhere} writes elsewhere') if text]
        raise FileExistsError(f'{names} exist{"" if many else "s"}; {", ".join(advice)}')
    for path in given:
        check_writable(path)


def dated(name: str) -> str:
    """Return a file's name with the local time, as rosbag2 has it: <name>_2026_11_23-15_08_58."""
    return f'{name}_{datetime.now():%Y_%m_%d-%H_%M_%S}'
