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
from collections.abc import Mapping
from dataclasses import replace
import os
from pathlib import Path
from tempfile import TemporaryDirectory
import threading
from xml.etree import ElementTree

from xplane_bridge.common import plain_files
from xplane_bridge.simulation.aircraft.loading.files import AircraftFiles

LARGEST_FILE = 16 * 1024 * 1024
"""Size of an aircraft's file, in bytes, beyond which it is refused."""

NOWHERE = '/dev/null/none'
"""A folder in which nothing can be created, for what JSBSim writes into its current one."""

# What JSBSim opens files and sockets for; only the file's top level can have it.
_OPENED = ('output', 'input')
# Aircraft flown by one process whose copies are kept: each reset loads its model anew.
_MOST_KEPT = 8

# None stands for a file without anything of the kind.
_kept: OrderedDict[tuple[Path, bytes], TemporaryDirectory[str] | None] = OrderedDict()
_lock = threading.Lock()


def inert(files: AircraftFiles) -> AircraftFiles:
    """
    Return the files of the same aircraft, without what JSBSim opens files and sockets for.

    Those given, if there is nothing of the kind. A copy is kept as long as the file's contents
    stay. Raises ValueError for a file that is too large or no XML.
    """
    with files.file.open('rb') as stream:
        text = stream.read(LARGEST_FILE + 1)
    if len(text) > LARGEST_FILE:
        raise ValueError(f'{files.file} has more than {LARGEST_FILE} bytes')
    if not any(b'<' + name.encode() in text for name in _OPENED):
        return files
    key = files.file, text
    with _lock:
        if key not in _kept:
            text_without = _without(text, files.file)
            _kept[key] = None if text_without is None else copied(
                files, {files.file.name: text_without})
            while len(_kept) > _MOST_KEPT:
                # The folder goes when nobody loads from it any more.
                _kept.popitem(last=False)
        _kept.move_to_end(key)
        folder = _kept[key]
    return files if folder is None else replace(files, aircraft=Path(folder.name), folder=folder)


def _without(text: bytes, file: Path) -> bytes | None:
    """Return an aircraft's file without these elements, or None if it has none of them."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f'{file} is no XML: {error}') from error
    opened = [element for element in root if element.tag in _OPENED]
    if not opened:
        return None
    for element in opened:
        root.remove(element)
    without: bytes = ElementTree.tostring(root, encoding='utf-8', xml_declaration=True)
    return without


def copied(files: AircraftFiles, written: Mapping[str, bytes]) -> TemporaryDirectory[str]:
    """Return a folder with these files by name, and links to all else beside the original."""
    folder: TemporaryDirectory[str] = TemporaryDirectory(prefix='xplane_bridge-aircraft-')
    place = Path(folder.name) / files.model
    place.mkdir()
    for beside in files.file.parent.iterdir():
        if beside.name not in written:
            # One beside a copy is a link, which may go.
            (place / beside.name).symlink_to(os.path.realpath(beside))
    for name, text in written.items():
        with plain_files.growing(place / name) as stream:
            stream.write(text)
    return folder
