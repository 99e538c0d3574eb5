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
Files by one rule: only regular ones are read, within bounds; outputs are whole, and no link.

A folder may come from anybody, and whoever made it may have put links in it. So a file at the name
of an output is replaced, as a link is: what it leads to stays as it is. The folder that a user
names may be a link itself; of folders ``within`` that, none may be one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import errno
import fcntl
import io
import os
from pathlib import Path
import secrets
import stat
from typing import Any, BinaryIO

from xplane_bridge.common.machine import MachineError
from xplane_bridge.common.text import LONGEST_LINE, printable

_REASONS = {
    errno.ENOSPC: 'the disk is full',
    errno.EDQUOT: 'the quota of the disk is used up',
    errno.EFBIG: 'the file is as large as the system allows (ulimit -f, or the file system)',
    errno.ELOOP: 'there is a link where a file or folder of its own is expected',
    errno.EINVAL: 'it is not a regular file',
}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Of the name, so that nobody wonders what a killed process has left.
_SHOWN = 40
# The user's own streams and devices, by their names: /dev/stdout, /dev/fd/63, /dev/null.
_DEVICES = ('/dev', '/dev/fd')

AnyPath = str | os.PathLike[str]


def expanded(path: str) -> Path:
    """Return a path, with a home for ~ or ~name; as it is where nobody has that home."""
    return Path(os.path.expanduser(path))


def open_regular(path: AnyPath) -> BinaryIO:
    """
    Open a file for reading.

    Raises OSError as ``open`` does, and for anything else than a regular file: a FIFO, a terminal
    or a device would be waited for, or never end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(code, os.strerror(code) if stat.S_ISDIR(mode) else 'Not a regular file',
                      os.fspath(path))
    return os.fdopen(descriptor, 'rb')


def read(path: AnyPath, most: int) -> bytes:
    """Return a regular file's content; OSError as ``open_regular``, ValueError if it is longer."""
    with open_regular(path) as stream:
        found = stream.read(most + 1)
    if len(found) > most:
        raise ValueError(f'{Path(path).name} has more than {most} bytes')
    return found


class WriteError(MachineError):
    """A file that cannot be written: its text is a sentence with the file and the reason."""

    def __str__(self) -> str:
        return f'{printable(str(self.filename), LONGEST_LINE)} cannot be written: {self.strerror}'


class _Raw(io.FileIO):
    """A file whose errors name it: its descriptor knows no name."""

    def write(self, data: Any, /) -> int:
        with naming(self.name):
            return super().write(data)

    def truncate(self, size: int | None = None, /) -> int:
        with naming(self.name):
            return super().truncate(size)


@contextmanager
def naming(path: AnyPath) -> Iterator[None]:
    """
    Let OSErrors say which file cannot be written, and why: those of a library that writes itself.

    Nothing else may fail inside. Raises WriteError.
    """
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        code = error.errno or errno.EIO
        raise WriteError(
            code, _REASONS.get(code) or error.strerror or str(error), str(path)) from None


def check_writable(path: AnyPath) -> None:
    """
    Check that this user may make a file or folder of that name, or write into the folder there.

    Of folders that are missing the one above counts. Whether there is room is not known before.
    Raises WriteError.
    """
    path = Path(path)
    if is_device(path):
        return
    folder = path.absolute()
    if not folder.is_dir():
        folder = folder.parent
    with naming(path):
        while not folder.exists():
            folder = folder.parent
        if not folder.is_dir():
            raise OSError(errno.ENOTDIR, f'{folder} is not a folder')
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            raise OSError(errno.EACCES, f'{folder} is only read')


class Journal(_Raw):
    """A file to which records are appended. Raises WriteError."""

    def append(self, record: bytes) -> None:
        """Give a record to the system, as a whole or not at all."""
        size = os.fstat(self.fileno()).st_size
        try:
            while record:
                record = record[self.write(record):]
        except BaseException:
            with suppress(OSError):
                self.truncate(size)
            raise

    def sync(self) -> None:
        """Wait until it is on the disk."""
        with naming(self.name):
            _sync(self.fileno())


@contextmanager
def output(path: AnyPath, within: AnyPath | None = None) -> Iterator[io.BufferedWriter]:
    """
    Open a file that takes its name when it is whole and on the disk, and closes here.

    Until then it has another name in the same folder; after any error it is removed, and a file
    that was there before stays. Folders between ``within`` and the file are made. A device below
    /dev is written as it is. Whether a file may be replaced is asked before, by
    refuse_existing(). Raises WriteError.
    """
    path = Path(path)
    if is_device(path):
        with _device(path) as stream:
            yield stream
        return
    with _folder(path, within) as folder:
        with naming(path):
            _check(path, folder)
            part = f'.{path.name[:_SHOWN]}.{secrets.token_hex(4)}.part'
            stream = _opened(path, os.open(part, _NEW, 0o666, dir_fd=folder))
        try:
            yield stream
            with naming(path):
                stream.flush()
                _sync(stream.fileno())
                stream.close()
                os.rename(part, path.name, src_dir_fd=folder, dst_dir_fd=folder)
                _sync(folder)
        except BaseException:
            with suppress(OSError):
                # What it still holds has no room either.
                stream.close()
            with suppress(OSError):
                os.unlink(part, dir_fd=folder)
            raise


def write(path: AnyPath, content: bytes | str, within: AnyPath | None = None) -> None:
    """Write a file as output() does; text is UTF-8. Raises WriteError."""
    with output(path, within) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


def growing(path: AnyPath, replaces: bool = True) -> io.BufferedWriter:
    """
    Open a new file under its own name, for what is read while it grows, or if it ends early.

    Until it is closed is_growing() says so, also to other processes. It takes the place of one
    that is there, unless that is not to be replaced. A device below /dev is written as it is.
    Raises WriteError, and FileExistsError for one that stays.
    """
    path = Path(path)
    if is_device(path):
        return _device(path)
    with _folder(path) as folder:
        if replaces:
            with naming(path):
                _check(path, folder)
                with suppress(FileNotFoundError):
                    os.unlink(path.name, dir_fd=folder)
        try:
            with naming(path):
                stream = _opened(path, os.open(path.name, _NEW, 0o666, dir_fd=folder))
            with suppress(OSError):
                # Not on every file system.
                fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            return stream
        except WriteError as error:
            if error.errno == errno.EEXIST:
                raise FileExistsError(f'{printable(str(path), LONGEST_LINE)} exists') from None
            raise


def journal(path: AnyPath, within: AnyPath | None = None) -> Journal:
    """
    Open a file that is appended to, or make it.

    Raises WriteError, also for a link.
    """
    path = Path(path)
    with _folder(path, within) as folder, naming(path):
        descriptor = os.open(
            path.name, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
            | os.O_CLOEXEC, 0o666, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, '')
        return Journal(path, 'ab', opener=lambda *_: descriptor)


def is_growing(path: AnyPath) -> bool:
    """Return whether somebody who has opened a file by growing() still writes it."""
    with suppress(OSError), open_regular(path) as stream:
        try:
            fcntl.flock(stream.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def flushed(stream: BinaryIO) -> int:
    """Give the system what is written of a growing file; return its size. Raises WriteError."""
    stream.flush()
    return stream.tell()


def cut(stream: BinaryIO, size: int) -> None:
    """
    Close a growing file with its first ``size`` bytes, which after an error are what is whole.

    Without any it is removed.
    """
    descriptor = os.dup(stream.fileno())
    with suppress(OSError):
        # What it still holds has no room, or is cut off below.
        stream.close()
    try:
        with suppress(OSError):
            if size:
                os.ftruncate(descriptor, size)
            else:
                os.unlink(stream.name)
    finally:
        os.close(descriptor)


def make_folder(path: AnyPath, within: AnyPath) -> None:
    """Make a folder below another, and those between, if need be. Raises WriteError for a link."""
    with naming(path):
        os.close(_open_folder(Path(path), within))


def is_device(path: Path) -> bool:
    """Return whether a path names a stream of this process or a device below /dev."""
    return str(path.absolute().parent) in _DEVICES


@contextmanager
def _folder(path: Path, within: AnyPath | None = None) -> Iterator[int]:
    """Open the folder of a file."""
    with naming(path):
        descriptor = _open_folder(path.parent, within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_folder(folder: Path, within: AnyPath | None) -> int:
    """Open a folder; below ``within`` it is made, and no link leads to it. Raises OSError."""
    descriptor = os.open(folder if within is None else within, _FOLDER)
    for name in () if within is None else folder.relative_to(within).parts:
        try:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=descriptor)
            inner = _inner(name, descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _inner(name: str, folder: int) -> int:
    """Open a folder in another. Raises OSError, for a link too."""
    if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        # The system's own error would be that it is no folder.
        raise OSError(errno.ELOOP, '')
    return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)


def _check(path: Path, folder: int) -> None:
    """Raise OSError for what is no file that could be replaced: a folder, a FIFO, a device."""
    try:
        mode = os.stat(path.name or '.', dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise OSError(errno.EINVAL, '')


def _opened(path: Path, descriptor: int) -> io.BufferedWriter:
    return io.BufferedWriter(_Raw(path, 'wb', opener=lambda *_: descriptor))


def _device(path: Path) -> io.BufferedWriter:
    with naming(path):
        return _opened(path, os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC))


def _sync(descriptor: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        # A file system that has none.
        if error.errno != errno.EINVAL:
            raise
