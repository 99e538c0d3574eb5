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

"""How the reports of a folder look: kept there, so that the next one looks as the last one."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
import json
from pathlib import Path
from typing import NamedTuple

from xplane_bridge.common import plain_files
from xplane_bridge.common.drawing import WIDTHS

FILE = 'look.json'

_LARGEST = 64 * 1024


class Look(NamedTuple):
    """
    How a report looks.

    ``labels`` are what controllers and criteria are called, by the names of the table; ``width``
    is that of its pictures in inches, 0 for that of the page.
    """

    labels: Mapping[str, str]
    width: float = 0.0


def label(text: str) -> tuple[str, str]:
    """Return name and label of an option ``--label NAME=LABEL``."""
    name, _, label = text.rpartition('=')
    if not name or not label.strip():
        raise argparse.ArgumentTypeError(f'{text!r} is not NAME=LABEL')
    return name, label.strip()


def kept(folder: Path) -> Look:
    """Return how the last report of a folder looked; ValueError for a bad file."""
    file = folder / FILE
    try:
        found = json.loads(plain_files.read(file, _LARGEST))
    except FileNotFoundError:
        return Look({})
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f'{file}: cannot be read: {error}; delete it') from None
    if not isinstance(found, dict) or found.keys() != {*Look._fields}:
        raise ValueError(f'{file}: expected {" and ".join(Look._fields)}; delete it')
    labels, width = (found[name] for name in Look._fields)
    if not isinstance(labels, dict) or not all(
            isinstance(label, str) and label for label in labels.values()):
        raise ValueError(f'{file}: expected a label for each name; delete it')
    if type(width) not in (int, float) or width and not WIDTHS[0] <= width <= WIDTHS[1]:
        raise ValueError(f'{file}: width: expected {WIDTHS[0]:g} to {WIDTHS[1]:g} inches or 0; '
                         'delete it')
    return Look(labels, width)


def keep(folder: Path, look: Look) -> None:
    """Keep how a folder's reports look, if it is not as they all do."""
    if look.labels or look.width:
        plain_files.write(
            folder / FILE, json.dumps(look._asdict(), indent=2, ensure_ascii=False) + '\n')
