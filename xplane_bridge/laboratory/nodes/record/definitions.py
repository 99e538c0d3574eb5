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

"""Message definitions as embedded in recordings: the text of a type and all types it uses."""

from __future__ import annotations

from functools import cache
import importlib
import os
import re

from ament_index_python.packages import get_package_share_directory

_PRIMITIVE = {
    'bool', 'byte', 'char', 'float32', 'float64', 'int8', 'uint8', 'int16', 'uint16', 'int32',
    'uint32', 'int64', 'uint64', 'string', 'wstring',
}
_FIELD = re.compile(r'^\s*(?P<type>[A-Za-z][\w/]*)\S*\s+[a-z]\w*')
_SEPARATOR = '=' * 80


def message_class(name: str) -> type:
    """Return the Python class of a type such as ``sensor_msgs/msg/Imu``; ImportError if none."""
    package, _, kind = name.split('/')
    module = importlib.import_module(f'{package}.msg')
    try:
        found = getattr(module, kind)
    except AttributeError:
        raise ImportError(f'package {package} has no message {kind}') from None
    assert isinstance(found, type)
    return found


@cache
def _own_text(package: str, kind: str) -> str:
    path = os.path.join(get_package_share_directory(package), 'msg', f'{kind}.msg')
    with open(path, encoding='utf-8') as stream:
        return stream.read()


def definition(name: str) -> str:
    """
    Return the definition of a type with all types it uses, in the format of rosbag2 and Foxglove.

    Raises OSError or LookupError if a package does not install its definitions.
    """
    package, _, kind = name.split('/')
    parts = [_own_text(package, kind)]
    seen = {(package, kind)}
    queue = _contained(package, parts[0])
    while queue:
        inner = queue.pop(0)
        if inner not in seen:
            seen.add(inner)
            text = _own_text(*inner)
            parts.append(f'{_SEPARATOR}\nMSG: {inner[0]}/{inner[1]}\n{text}')
            queue += _contained(inner[0], text)
    return '\n'.join(parts)


def _contained(package: str, text: str) -> list[tuple[str, str]]:
    """Return (package, kind) of the message types used by a definition's fields."""
    found = []
    for line in text.splitlines():
        match = _FIELD.match(line.split('#')[0])
        if match and match['type'] not in _PRIMITIVE:
            parts = match['type'].split('/')
            found.append((package if len(parts) == 1 else parts[0], parts[-1]))
    return found
