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
engines and systems in the folders engine and systems beside them or one level up, or in
<model>/Engines and <model>/Systems, or beside the file. Without a folder engine, JSBSim's engines
are used, and likewise its systems. As FlightGear's, the file may have another name than its
folder, if it is the only aircraft there; and the folder may be that of the aircraft itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
import os
from pathlib import Path
import re
from xml.etree import ElementTree

from xplane_bridge.common import plain_files

CONTROLS_FILE = 'controls.yaml'
"""What moves an aircraft, beside its file: see controls.py."""

LARGEST_FILE = 16 * 1024 * 1024
"""Size of an aircraft's file, in bytes, beyond which it is refused."""

_AIRCRAFT = 'aircraft'
_OWN_SYSTEMS = ('Systems', 'systems')
_OWN_ENGINES = ('Engines', 'engines', 'engine')
_ENGINES = ('engine', 'engines', 'Engines')
_OF_ENGINES = ('engine', 'thruster')
# The root of an aircraft's file, which comments may precede.
_ROOT = re.compile(rb'<fdm_config\b')
_LONGEST_PREAMBLE = 64 * 1024
_MOST_FILES = 500


@dataclass(frozen=True, slots=True)
class AircraftFiles:
    """
    An aircraft's own file, and the folders of its engines and of its systems.

    ``controls`` is the file that says what moves it: see controls.py; None without one.
    """

    model: str
    file: Path
    engine: Path
    systems: Path
    controls: Path | None = None
    folder: object = None
    """Keeps a temporary folder for as long as somebody loads from it."""

    def text(self) -> str:
        """Return the text of its file, and of those of its systems."""
        return ''.join(self.texts())

    def texts(self) -> list[str]:
        """Return the same, one for each file."""
        systems = (found for tag, name in _references(self.file) if tag == 'system'
                   if (found := self.find(tag, name)) is not None)
        return [file.read_text(errors='replace') for file in (self.file, *systems)]

    def find(self, tag: str, name: str) -> Path | None:
        """Return the file that an element of this tag names (``file=``), None if there is none."""
        own = self.file.parent
        # JSBSim does not look for engines beside the aircraft.
        return _first(self.searched(tag), name) or _first((own,), name)

    def searched(self, tag: str) -> tuple[Path, ...]:
        """Return where JSBSim itself looks for the file of an element, in its order."""
        own = self.file.parent
        if tag in _OF_ENGINES:
            return (*(own / name for name in _OWN_ENGINES), self.engine)
        return (own, *(own / name for name in _OWN_SYSTEMS), self.systems)

    def hidden(self) -> dict[str, str]:
        """Return the whole paths of the files that JSBSim would not find in a copy, by name."""
        return {name: str(found) for tag, name in _references(self.file)
                if '..' in Path(name).parts or _first(self.searched(tag), name) is None
                if (found := self.find(tag, name)) is not None}

    def included(self) -> list[Path]:
        """
        Return its file, and all that these include, each once.

        Raises ValueError where files include themselves.
        """
        found: list[Path] = []

        def follow(file: Path, way: tuple[Path, ...]) -> None:
            if file in way:
                circle = ', '.join(one.name for one in (*way[way.index(file):], file))
                raise ValueError(f'{self.file} includes files in a circle: {circle}')
            if file in found:
                return
            if len(found) >= _MOST_FILES:
                raise ValueError(f'{self.file} includes more than {_MOST_FILES} files')
            found.append(file)
            for tag, name in _references(file):
                if (inside := self.find(tag, name)) is not None:
                    follow(inside, (*way, file))

        follow(self.file, ())
        return found


def _first(folders: Iterable[Path], name: str) -> Path | None:
    return next((file for folder in folders if (
        file := folder / f'{name.removesuffix(".xml")}.xml').is_file()), None)


def _references(file: Path) -> tuple[tuple[str, str], ...]:
    """Return the tags and names of the files that one includes; none if it is no XML."""
    return _references_in(*_seen(str(file)))


@lru_cache(maxsize=_MOST_FILES)
def _references_in(path: str, changed: int, size: int) -> tuple[tuple[str, str], ...]:
    """Return them of a file as it was ``changed`` last."""
    with open(path, 'rb') as stream:
        text = stream.read(LARGEST_FILE)
    try:
        return tuple((one.tag, one.attrib['file']) for one in ElementTree.fromstring(text).iter()
                     if one.get('file'))
    except ElementTree.ParseError:
        return ()


@dataclass(frozen=True, slots=True)
class Origin:
    """The files that an aircraft is made of, and their folders, as they were at its loading."""

    known: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, files: AircraftFiles) -> Origin:
        """Return them: its own file, and all that these refer to."""
        own = files.file.parent
        folders = dict.fromkeys(folder for folder in (
            own, *files.searched('engine'), *files.searched('system')) if folder.is_dir())
        controls = [] if files.controls is None else [files.controls]
        return cls(tuple(map(_seen, map(str, (*folders, *files.included(), *controls)))))

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


def find(model: str, path: str, root: Path, controls: str = '') -> AircraftFiles:
    """
    Return the files of a model in the folder ``path``, or in JSBSim's (``root``) if it is empty.

    ``controls`` names the file that says what moves it, instead of that beside it. Raises
    ValueError, which says what was expected where.
    """
    found = _find(model, path, root)
    beside = found.file.parent / CONTROLS_FILE
    if not controls:
        return replace(found, controls=beside) if beside.is_file() else found
    named = plain_files.expanded(controls).absolute()
    if not named.is_file():
        raise ValueError(f'controls: there is no file {named}')
    return replace(found, controls=named)


def _find(model: str, path: str, root: Path) -> AircraftFiles:
    if not path:
        file = _file(root / _AIRCRAFT, model)
        if file is None:
            raise ValueError(
                f'JSBSim has no aircraft {model!r}{_similar(model, root / _AIRCRAFT)}; one of '
                'your own needs its folder (aircraft_path)')
        return AircraftFiles(model, file, root / 'engine', root / 'systems')
    given = plain_files.expanded(path).absolute()
    if not given.is_dir():
        raise ValueError(f'aircraft_path: {given} is not a folder')
    for folder in (given, given / _AIRCRAFT):
        if (file := _file(folder, model)) is not None:
            near = file.parent.parent
            return AircraftFiles(model, file, _beside(near, _ENGINES, root / 'engine'),
                                 _beside(near, ('systems', 'Systems'), root / 'systems'))
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


def has_aircraft(model: str, folder: Path) -> bool:
    """Return whether find() finds a model in a folder. Raises ValueError where it is several."""
    return any(_file(place, model) is not None for place in (folder, folder / _AIRCRAFT))


def _names(folder: Path) -> list[str]:
    """Return the aircraft in a folder, in order."""
    return sorted(place.name for place in (folder.iterdir() if folder.is_dir() else ())
                  if len(_aircraft_in(place)) == 1)


def _file(folder: Path, model: str) -> Path | None:
    """Return the file of a model in a folder. Raises ValueError where it may be several."""
    if not model:
        return None
    found = _aircraft_in(folder / model)
    if len(found) > 1:
        raise ValueError(
            f'aircraft_path: {folder / model} has several aircraft, '
            f'{", ".join(file.name for file in found)}: name one of them as the model, and that '
            'folder as aircraft_path')
    beside = folder / f'{model}.xml'
    return found[0] if found else beside if _is_aircraft(beside) else None


def _aircraft_in(folder: Path) -> list[Path]:
    """Return the files of aircraft in a folder: that of its name, or else all."""
    named = folder / f'{folder.name}.xml'
    if named.is_file():
        return [named]
    return sorted(filter(_is_aircraft, folder.glob('*.xml'))) if folder.is_dir() else []


def _is_aircraft(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open('rb') as stream:
        return bool(_ROOT.search(stream.read(_LONGEST_PREAMBLE)))


def _beside(folder: Path, names: tuple[str, ...], otherwise: Path) -> Path:
    """Return the first of these folders in a folder or above it."""
    return next((near for place in (folder, folder.parent) for name in names
                 if (near := place / name).is_dir()), otherwise)


def _similar(model: str, folder: Path) -> str:
    """Return a hint at aircraft of the folder with similar names."""
    names = {name.lower(): name for name in _names(folder)}
    close = [names[name] for name in get_close_matches(model.lower(), names)]
    return f'; it has {", ".join(close)}' if close else ''
