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
Print pytest's arguments for the tests of a folder of the package: tools/tests_of.py bridges/xpc.

To a protocol belong its simulated peer, and what all conversations must satisfy, for it alone.
"""

from pathlib import Path
import shlex
import sys

TEST = Path(__file__).resolve().parents[1] / 'test'
BRIDGES, PEERS, SHARED = 'bridges', 'simulation/peers', 'bridges/sessions'


def arguments(folder: str) -> list[str]:
    """Return the arguments; ValueError if there are no tests of that folder."""
    name = folder.strip('/')
    if not name or '..' in name or not (TEST / name).is_dir():
        known = sorted(str(path.relative_to(TEST)) for path in TEST.glob('*/*/') if any(
            path.rglob('test_*.py')))
        raise ValueError(f'FOLDER={folder}: there is no test/{name}; expected one of '
                         f'{", ".join(known)}, or a folder in one')
    wing, _, protocol = name.partition('/')
    if wing != BRIDGES or not (TEST / name / 'protocol').is_dir():
        return [f'test/{name}']
    shared = sorted(path.stem for path in (TEST / SHARED).glob('test_*.py'))
    peer = f'{PEERS}/{protocol}'
    return [*(f'test/{one}' for one in (name, peer, SHARED) if (TEST / one).is_dir()),
            '-k', f'{protocol} or not ({" or ".join(shared)})']


if __name__ == '__main__':
    try:
        print(shlex.join(arguments(*sys.argv[1:])))
    except ValueError as error:
        sys.exit(str(error))
