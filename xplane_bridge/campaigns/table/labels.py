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

"""What controllers and criteria are called in reports: kept in the campaign's folder."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
import json
from pathlib import Path

from xplane_bridge.common import plain_files

FILE = 'labels.json'

_LARGEST = 64 * 1024


def label(text: str) -> tuple[str, str]:
    """Return name and label of an option ``--label NAME=LABEL``."""
    name, _, label = text.rpartition('=')
    if not name or not label.strip():
        raise argparse.ArgumentTypeError(f'{text!r} is not NAME=LABEL')
    return name, label.strip()


def kept(folder: Path) -> dict[str, str]:
    """Return the labels of a folder, by the names of its table; ValueError for a bad file."""
    file = folder / FILE
    try:
        found = json.loads(plain_files.read(file, _LARGEST))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f'{file}: cannot be read: {error}; delete it') from None
    if not isinstance(found, dict) or not all(
            isinstance(label, str) and label for label in found.values()):
        raise ValueError(f'{file}: expected a label for each name; delete it')
    return found


def keep(folder: Path, labels: Mapping[str, str]) -> None:
    """Keep the labels of a folder, by the names of its table."""
    if labels:
        (folder / FILE).write_text(
            json.dumps(labels, indent=2, ensure_ascii=False) + '\n', encoding='utf-8')
