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
Where the files of a JSBSim aircraft are: JSBSim's own, or those of a folder of the user.

Such a folder is laid out as JSBSim's: <model>/<model>.xml, or aircraft/<model>/<model>.xml, with
engines and systems in the folders engine and systems beside them or one level up, or, as JSBSim
allows, in <model>/Engines and <model>/Systems. Without a folder engine, JSBSim's engines are used,
and likewise its systems.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
import os
from pathlib import Path
import re

from xplane_bridge.common import plain_files

CONTROLS_FILE = 'controls.yaml'
"""What moves an aircraft, beside its file: see controls.py."""

_AIRCRAFT = 'aircraft'
_REFERENCE = re.compile(r'\bfile\s*=\s*"([^"]+)"')
_SYSTEM = re.compile(r'<system\s[^>]*file\s*=\s*"([^"]+)"')
_OWN_SYSTEMS = ('Systems', 'systems')
_OWN_ENGINES = ('Engines', 'engines')


@dataclass(frozen=True, slots=True)
class AircraftFiles:
    """The folders of an aircraft's own file, of its engines and of its systems."""

    model: str
    aircraft: Path
    engine: Path
    systems: Path
    folder: object = None
    """Keeps a temporary folder for as long as somebody loads from it."""

    @property
    def file(self) -> Path:
        """Return the file of the aircraft."""
        return self.aircraft / self.model / f'{self.model}.xml'

    def text(self) -> str:
        """Return the text of its file, and of those of its systems."""
        return ''.join(self.texts())

    def texts(self) -> list[str]:
        """Return the same, one for each file."""
        text = self.file.read_text(errors='replace')
        folders = [*(self.file.parent / name for name in _OWN_SYSTEMS), self.systems]
        return [text, *(
            place.read_text(errors='replace') for name in _SYSTEM.findall(text)
            for place in (folder / f'{name.removesuffix(".xml")}.xml' for folder in folders)
            if place.is_file())]


@dataclass(frozen=True, slots=True)
class Origin:
    """The files that an aircraft is made of, and their folders, as they were at its loading."""

    known: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, files: AircraftFiles) -> Origin:
        """Return them: its own file, and all that these refer to."""
        own = files.file.parent
        folders = [folder for folder in (
            own, *(own / name for name in (*_OWN_ENGINES, *_OWN_SYSTEMS)), files.engine,
            files.systems) if folder.is_dir()]
        found = {files.file: None}
        waiting = [files.file]
        while waiting:
            text = waiting.pop().read_text(errors='replace')
            for name in _REFERENCE.findall(text):
                for file in (folder / f'{name.removesuffix(".xml")}.xml' for folder in folders):
                    if file not in found and file.is_file():
                        found[file] = None
                        waiting.append(file)
        beside = filter(Path.is_file, [own / CONTROLS_FILE])
        return cls(tuple(map(_seen, map(str, (*folders, *found, *beside)))))

    @property
    def is_current(self) -> bool:
        """Return whether none of them has changed since."""
        try:
            return all(_seen(seen[0]) == seen for seen in self.known)
        except OSError:
            return False


def _seen(path: str) -> tuple[str, int, int]:
    now = os.stat(path)
    return path, now.st_mtime_ns, now.st_size


def find(model: str, path: str, root: Path) -> AircraftFiles:
    """
    Return the files of a model in the folder ``path``, or in JSBSim's (``root``) if it is empty.

    Raises ValueError, which says what was expected where.
    """
    if not path:
        if not _holds(root / _AIRCRAFT, model):
            raise ValueError(
                f'JSBSim has no aircraft {model!r}{_similar(model, root / _AIRCRAFT)}; one of '
                'your own needs its folder (aircraft_path)')
        return AircraftFiles(model, root / _AIRCRAFT, root / 'engine', root / 'systems')
    given = plain_files.expanded(path).absolute()
    if not given.is_dir():
        raise ValueError(f'aircraft_path: {given} is not a folder')
    for folder in (given, given / _AIRCRAFT):
        if _holds(folder, model):
            return AircraftFiles(
                model, folder, _beside(folder, 'engine', root), _beside(folder, 'systems', root))
    raise ValueError(
        f'aircraft_path: there is neither {model}/{model}.xml nor aircraft/{model}/{model}.xml in '
        f'{given}{_similar(model, given) or _similar(model, given / _AIRCRAFT)}')


def known(path: str, root: Path) -> dict[str, str]:
    """
    Return the aircraft that there are by their names, each with the ``path`` for find().

    Those of the folder ``path``, unless it is empty, come before JSBSim's (``root``).
    """
    given = plain_files.expanded(path) if path else None
    own = [] if given is None else [given, given / _AIRCRAFT]
    found: dict[str, str] = {}
    for folder, of in [*((folder, path) for folder in own), (root / _AIRCRAFT, '')]:
        for name in _names(folder):
            found.setdefault(name, of)
    return found


def _names(folder: Path) -> list[str]:
    """Return the aircraft in a folder, in order."""
    return sorted(place.name for place in (folder.iterdir() if folder.is_dir() else ())
                  if _holds(folder, place.name))


def _holds(folder: Path, model: str) -> bool:
    return bool(model) and (folder / model / f'{model}.xml').is_file()


def _beside(folder: Path, name: str, root: Path) -> Path:
    for near in (folder / name, folder.parent / name):
        if near.is_dir():
            return near
    return root / name


def _similar(model: str, folder: Path) -> str:
    """Return a hint at aircraft of the folder with similar names."""
    names = {name.lower(): name for name in _names(folder)}
    close = [names[name] for name in get_close_matches(model.lower(), names)]
    return f'; it has {", ".join(close)}' if close else ''
