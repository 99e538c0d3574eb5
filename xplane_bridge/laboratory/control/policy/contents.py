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

"""
The files that a controller is made of, found by reading them: nothing of them is run.

Of a Python file these are the modules that it imports, and theirs, unless they are Python's own or
installed packages, and the files that its texts name, such as ``'weights.npz'``. Of an ONNX file
it is the external data. Files below the folder of the first one are named relative to it, so that
the same files in another folder have the same digest. What a program finds at run time only
(a name that is put together, a shared library) is not seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
import hashlib
from importlib.machinery import ModuleSpec, PathFinder
import mmap
from pathlib import Path
import sys
from typing import NamedTuple

from xplane_bridge.common import plain_files
from xplane_bridge.common.data import is_installed

_PACKAGE = Path(__file__).resolve().parents[3]
_CHUNK = 1 << 20
# Of a text that may name a file; of the files that are followed.
_LONGEST_NAME = 255
_LONGEST_SOURCE = 4 << 20
_MOST_FILES = 1000

Files = dict[str, Path]
"""Files by name."""


def digest(files: Mapping[str, Path]) -> str:
    """Return the SHA-256 of files in hex: of one, that of its content; '' of none."""
    found = {name: _hashed(path) for name, path in sorted(files.items())}
    if len(found) < 2:
        return ''.join(found.values())
    return hashlib.sha256(
        ''.join(f'{name}\0{one}\n' for name, one in found.items()).encode()).hexdigest()


def _hashed(path: Path) -> str:
    found = hashlib.sha256()
    try:
        with plain_files.open_regular(path) as stream:
            while chunk := stream.read(_CHUNK):
                found.update(chunk)
    except OSError as error:
        raise ValueError(f'{path}: {error.strerror}') from None
    return found.hexdigest()


# Python.


def find_python_files(path: Path) -> Files:
    """Return a Python file with all that it imports and names."""
    return _FileSearch(path.absolute(), '').files


def find_module_files(name: str) -> Files:
    """Return the file of a module with all that it imports and names; {} if there is none."""
    spec = _find(name, [])
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return {}
    return _FileSearch(Path(spec.origin).absolute(), name).files


def python_taken_along(path: Path) -> Files:
    """
    Return a Python file, and those below its folder that it leads to: what goes with it elsewhere.

    Modules from another folder the other machine has to have itself. Raises ValueError, with file
    and line, for a text that names a file of another folder, a link to one, and what is no regular
    file.
    """
    search = _FileSearch(path.absolute(), '', irregular=True)
    folder = path.absolute().parent
    for lead in search.leads:
        below = lead.path.is_relative_to(folder)
        if lead.text and (not below or Path(lead.text).is_absolute()
                          or '..' in Path(lead.text).parts):
            raise ValueError(
                f'{lead.where} names {lead.text!r}, which does not go with the policy to another '
                "machine: put it into the policy's folder, and name it relative to that")
        if below and not lead.path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(
                f'{lead.where} leads to {lead.path.relative_to(folder)}, a link to '
                f"{lead.path.resolve()}: put a copy into the policy's folder")
        if not lead.path.is_file():
            raise ValueError(f'{lead.where} names {lead.text!r}, which is no regular file')
    return {name: found for name, found in search.files.items() if found.is_relative_to(folder)}


class _Lead(NamedTuple):
    """A file that is imported, or named by a ``text``, and where: file and line."""

    path: Path
    where: str
    text: str


class _FileSearch:
    """All files that a first one leads to; with ``irregular``, FIFOs and their like too."""

    def __init__(self, first: Path, module: str, irregular: bool = False) -> None:
        self.files: Files = {}
        self.leads: list[_Lead] = []
        self._irregular = irregular
        self._folder = first.parent
        # The package that is looked at is not left out because it is installed.
        self._own = module.partition('.')[0]
        self._seen: set[Path] = set()
        waiting = [(first, module)]
        while waiting and len(self.files) < _MOST_FILES:
            path, name = waiting.pop()
            if path in self._seen:
                continue
            self._seen.add(path)
            self._add(path, name)
            if path.suffix == '.py':
                waiting += self._of_source(path, name)

    def _add(self, path: Path, name: str) -> None:
        below = path.is_relative_to(self._folder)
        self.files[str(path.relative_to(self._folder)) if below else name or str(path)] = path

    def _of_source(self, path: Path, name: str) -> Iterator[tuple[Path, str]]:
        """Yield what a file imports and names; of one that is no Python, nothing."""
        try:
            with plain_files.open_regular(path) as stream:
                source = stream.read(_LONGEST_SOURCE + 1)
            tree = ast.parse(source if len(source) <= _LONGEST_SOURCE else b'')
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return
        package = name if path.name == '__init__.py' else name.rpartition('.')[0]
        for node in ast.walk(tree):
            text = ''
            if isinstance(node, ast.Import):
                found = [one for alias in node.names for one in self._modules(alias.name)]
            elif isinstance(node, ast.ImportFrom):
                found = [*self._imported_from(node, package)]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
                found = [*self._named(text)]
            else:
                continue
            self.leads += [_Lead(one, f'{path}, line {node.lineno},', text) for one, _ in found]
            yield from found

    def _imported_from(self, node: ast.ImportFrom, package: str) -> Iterator[tuple[Path, str]]:
        parts = package.split('.') if package else []
        base = parts[:len(parts) - node.level + 1] if node.level else []
        module = '.'.join([*base, *([node.module] if node.module else [])])
        if not module:
            return
        yield from self._modules(module)
        for alias in node.names:
            yield from self._modules(f'{module}.{alias.name}')

    def _modules(self, name: str) -> Iterator[tuple[Path, str]]:
        """Yield the files of a module and of the packages that it is in, if they are own ones."""
        first, *rest = name.split('.')
        if first in sys.stdlib_module_names:
            return
        # Beside the first file, if it is there: what else is on the path may change meanwhile.
        name, spec = first, (
            PathFinder.find_spec(first, [str(self._folder)]) or PathFinder.find_spec(first))
        for part in (*rest, ''):
            if spec is None:
                return
            if spec.origin is not None and self._is_own(Path(spec.origin), first):
                yield Path(spec.origin).absolute(), name
            if not part or spec.submodule_search_locations is None:
                return
            name = f'{name}.{part}'
            spec = PathFinder.find_spec(name, list(spec.submodule_search_locations))

    def _named(self, text: str) -> Iterator[tuple[Path, str]]:
        """Yield the file that a text names: beside the first one, or from here."""
        if not text or len(text) > _LONGEST_NAME or not text.isprintable():
            return
        for path in (self._folder / text, Path(text).absolute()):
            try:
                if self._irregular and path.exists() and not path.is_dir() and (
                        not path.is_file() and path.is_relative_to(self._folder)):
                    yield path, text
                    return
                if path.is_file() and self._is_own(path, ''):
                    yield path, text
                    return
            except OSError:
                return

    def _is_own(self, path: Path, package: str) -> bool:
        # This package's own sources are compared as a whole.
        return path.is_file() and not path.resolve().is_relative_to(_PACKAGE) and (
            not is_installed(path) or (bool(package) and package == self._own))


def _find(name: str, places: list[str]) -> ModuleSpec | None:
    """Return where a module is, without importing the packages that it is in."""
    found, spec = '', None
    for part in name.split('.'):
        found = f'{found}.{part}' if found else part
        spec = PathFinder.find_spec(found, places or None)
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ['/dev/null'])
    return spec


# ONNX: protocol buffers, of which only what leads to tensors is read (onnx.proto, IR version 10).

# Numbers of the fields that lead on, by message.
_LEADS: dict[str, dict[int, str]] = {
    'model': {7: 'graph', 25: 'function'},
    'graph': {1: 'node', 5: 'tensor', 15: 'sparse'},
    'function': {7: 'node', 11: 'attribute'},
    'node': {5: 'attribute'},
    'attribute': {5: 'tensor', 6: 'graph', 10: 'tensor', 11: 'graph', 22: 'sparse', 23: 'sparse'},
    'sparse': {1: 'tensor', 2: 'tensor'},
    'tensor': {13: 'entry'},
}
_DEEPEST = 60
_OPERATOR = 4
# It may never end, and nothing can interrupt onnxruntime. Every other one is bounded.
_ENDLESS = b'Loop'


def find_onnx_files(path: Path) -> Files:
    """
    Return an ONNX file with its external data.

    Raises ValueError if that is missing, or elsewhere than below the file's folder, and for a
    policy that may never end.
    """
    files = {path.name: path}
    try:
        # Not read whole: it may be large, and little of it leads on.
        with path.open('rb') as stream:
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        locations = sorted(set(_locations(memoryview(content), 'model', 0)))
    except _RefusedError as error:
        raise ValueError(f'{path} {error}') from None
    except OSError as error:
        raise ValueError(f'{path}: {error.strerror}') from None
    except ValueError:
        # Empty, or no ONNX file: onnxruntime says what is wrong with it.
        return files
    folder = path.parent.resolve()
    for location in locations:
        data = path.parent / location
        if not data.resolve().is_relative_to(folder):
            raise ValueError(
                f'{path} has data in {location!r}: expected a file below its own folder')
        if not data.is_file():
            raise ValueError(f'{path} has data in {location!r}, which is not beside it')
        files[location] = data
    return files


class _NotOnnxError(ValueError):
    """It is no ONNX file."""


class _RefusedError(Exception):
    """onnxruntime may read it, but it must not be run; the text says why."""


def _locations(message: memoryview, kind: str, depth: int) -> Iterator[str]:
    """Yield the files in which tensors have their data."""
    if depth > _DEEPEST:
        raise _RefusedError(f'is nested more than {_DEEPEST} deep')
    for number, value in _fields(message):
        of = _LEADS[kind].get(number)
        if kind == 'node' and number == _OPERATOR and bytes(value[:5]) == _ENDLESS:
            raise _RefusedError('has the operator Loop, which may never end')
        if of == 'entry':
            entry = dict(_fields(value))
            if bytes(entry.get(1, b'')) == b'location':
                yield bytes(entry.get(2, b'')).decode(errors='replace')
        elif of is not None:
            yield from _locations(value, of, depth + 1)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield number and content of the fields of a message that have a length."""
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        wire = key & 7
        if wire == 0:
            _, at = _varint(message, at)
        elif wire == 1:
            at += 8
        elif wire == 5:
            at += 4
        elif wire == 2:
            length, at = _varint(message, at)
            if at + length > end:
                raise _NotOnnxError
            yield key >> 3, message[at:at + length]
            at += length
        elif wire == 3:
            # onnxruntime skips a group, and what is in it.
            raise _RefusedError('has a group, which ONNX does not')
        else:
            raise _NotOnnxError
    if at != end:
        raise _NotOnnxError


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise _NotOnnxError
        byte = message[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value, at
    raise _NotOnnxError
