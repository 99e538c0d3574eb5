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
An aircraft's files without JSBSim's outputs and inputs, so that a strange one writes nothing.

An aircraft's file may make JSBSim write any file (<output name="...">), send to any address and
listen on a port (<input>). JSBSim opens these whenever initial conditions are applied, even if
its outputs are disabled; so it gets a copy of the file without them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import replace
import os
from pathlib import Path
from tempfile import TemporaryDirectory
import threading
from xml.etree import ElementTree

from xplane_bridge.common import plain_files
from xplane_bridge.simulation.aircraft.loading.files import AircraftFiles, LARGEST_FILE

NOWHERE = '/dev/null/none'
"""A folder in which nothing can be created, for what JSBSim writes into its current one."""

# What JSBSim opens files and sockets for; only the file's top level can have it.
_OPENED = ('output', 'input')
# Aircraft flown by one process whose copies are kept: each reset loads its model anew.
_MOST_KEPT = 8

# None stands for a file without anything of the kind.
_Key = tuple[Path, bytes, tuple[str, ...], tuple[tuple[str, str], ...]]
_kept: OrderedDict[_Key, TemporaryDirectory[str] | None] = OrderedDict()
_lock = threading.Lock()


def inert(files: AircraftFiles, *, outputs: bool = False) -> AircraftFiles:
    """
    Return the files of the same aircraft, without what JSBSim opens files and sockets for.

    That stays with ``outputs``. Files that JSBSim would not find are named by their whole paths.
    Those given, if there is nothing of the kind. A copy is kept as long as the file's contents
    stay. Raises ValueError for a file that is too large or no XML, and for files that include
    themselves, with which JSBSim would never be done.
    """
    with files.file.open('rb') as stream:
        text = stream.read(LARGEST_FILE + 1)
    if len(text) > LARGEST_FILE:
        raise ValueError(f'{files.file} has more than {LARGEST_FILE} bytes')
    files.included()
    hidden = files.hidden()
    opened = () if outputs else _OPENED
    if not hidden and not any(b'<' + name.encode() in text for name in opened):
        return files
    key = files.file, text, opened, tuple(hidden.items())
    with _lock:
        if key not in _kept:
            changed = _changed(text, files.file, opened, hidden)
            _kept[key] = None if changed is None else copied(files, {files.file.name: changed})
            while len(_kept) > _MOST_KEPT:
                # The folder goes when nobody loads from it any more.
                _kept.popitem(last=False)
        _kept.move_to_end(key)
        folder = _kept[key]
    return files if folder is None else moved(files, folder)


def _changed(text: bytes, file: Path, opened: Collection[str], hidden: Mapping[str, str],
             ) -> bytes | None:
    """Return an aircraft's file with these changes, or None if there is nothing to change."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f'{file} is no XML: {error}') from error
    removed = [element for element in root if element.tag in opened]
    if not removed and not hidden:
        return None
    for element in removed:
        root.remove(element)
    for element in root.iter():
        if (name := element.get('file', '')) in hidden:
            element.set('file', hidden[name])
    changed: bytes = ElementTree.tostring(root, encoding='utf-8', xml_declaration=True)
    return changed


def moved(files: AircraftFiles, folder: TemporaryDirectory[str]) -> AircraftFiles:
    """Return the files of an aircraft whose copy is in this folder, which stays as long."""
    return replace(
        files, file=Path(folder.name) / files.file.parent.name / files.file.name,
        folder=(files.folder, folder))


def copied(
    files: AircraftFiles, written: Mapping[str, bytes], name: str = '',
) -> TemporaryDirectory[str]:
    """
    Return a folder with these files by name, and links to all else beside the original.

    They are in a folder within it that has the ``name``, by default that of the original.
    """
    folder: TemporaryDirectory[str] = TemporaryDirectory(prefix='xplane_bridge-aircraft-')
    place = Path(folder.name) / (name or files.file.parent.name)
    place.mkdir()
    for beside in files.file.parent.iterdir():
        if beside.name not in written:
            # One beside a copy is a link, which may go.
            (place / beside.name).symlink_to(os.path.realpath(beside))
    for name, text in written.items():
        with plain_files.growing(place / name) as stream:
            stream.write(text)
    return folder
