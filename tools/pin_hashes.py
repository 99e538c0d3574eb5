#!/usr/bin/env python3
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
Write the hashes of what requirements/ pins beside the pins: tools/pin_hashes.py UV FILE...

UV is the command uv, which asks the package index for the files of each version. Kept are the
hashes of the source and of the wheels for CPython 3.11 to 3.14 on Linux (glibc, x86-64 and ARM64).
``make hashes`` runs it after a version has changed; pip then refuses any other file.
"""

from pathlib import Path
import re
import subprocess
import sys
import tomllib
from typing import Any

_WHEEL = re.compile(
    r'-(?:\w+\.)*(?:py3|cp3(?:\d|1[0-4]))-'
    r'(?:none|abi3|(?:cp\d+\.)*cp31[1-4])-'
    r'(?:any|(?:[\w.]+\.)?(?:many)?linux\w*_(?:x86_64|aarch64)(?:\.[\w.]+)?)\.whl$')
_PIN = re.compile(r'([\w.-]+)(?:\[[\w,]+\])?==[^ ]+')


def hashes(package: dict[str, Any]) -> list[str]:
    """Return the hashes of a package of a pylock.toml that are kept: of its source first."""
    files = [package['sdist']] if 'sdist' in package else []
    files += [one for one in package.get('wheels', ()) if _WHEEL.search(one['url'])]
    return [one['hashes']['sha256'] for one in files]


def pinned(text: str, lock: str) -> str:
    """Return the text of a file of requirements with the hashes that a pylock.toml has."""
    known = {package['name']: hashes(package) for package in tomllib.loads(lock)['packages']}
    lines = []
    for line in text.splitlines():
        if found := _PIN.match(line):
            name = re.sub(r'[-_.]+', '-', found[1]).lower()
            if not known.get(name):
                raise ValueError(f'{found[0]}: the index has no file of it for Linux')
            line = ' '.join([line.partition(' --hash=')[0],
                             *(f'--hash=sha256:{one}' for one in known[name])])
        lines.append(f'{line}\n')
    return ''.join(lines)


def main(uv: str, *names: str) -> None:
    """Write the hashes of these files."""
    for name in names:
        path = Path(name)
        lock = subprocess.run(
            [uv, 'pip', 'compile', '--quiet', '--no-deps', '--universal', '--no-config',
             '--python-version', '3.11', '--format', 'pylock.toml', name],
            capture_output=True, text=True, check=True).stdout
        path.write_text(pinned(path.read_text(encoding='utf-8'), lock), encoding='utf-8')


if __name__ == '__main__':
    main(*sys.argv[1:])
