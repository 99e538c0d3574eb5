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
Print a hash of whatever sessions send and tell in random worlds, to compare two commits.

tools/trace_sessions.py [CHECKOUT] [WORLDS] [PROTOCOL] [FILE]

The sessions are those of CHECKOUT (by default, this one), the worlds (6 of each kind) always those
of this script's own repository, test/bridges/sessions/mould_traces.py: equal hashes are equal
conversations, with all bytes, events, times, refusals and answers. PROTOCOL is a protocol, or part
of a line's name: xpc, moves, Xplane12Adapter. FILE gets all that was hashed, one item per line,
for diff.
"""

from configparser import ConfigParser
from importlib import import_module
from pathlib import Path
import sys
import time


def main(checkout='.', worlds='6', only='', file=''):
    """Print one line for each kind of world."""
    sys.dont_write_bytecode = True
    own = Path(__file__).resolve().parents[1]
    tree = Path(checkout).resolve()
    settings = ConfigParser()
    settings.read(own / 'setup.cfg')
    shared = settings['tool:pytest']['pythonpath'].split()
    sys.path[:0] = [str(tree), *(str(own / folder) for folder in shared)]
    traces = import_module('mould_traces')
    assert Path(str(import_module('xplane_bridge').__file__)).is_relative_to(tree)
    keep: list[str] | None = [] if file else None
    began = time.monotonic()
    for name, count, found in traces.trace(int(worlds), only, keep):
        now = time.monotonic()
        print(f'{name}: {count} items {found} {now - began:.1f} s', flush=True)
        began = now
    if keep is not None:
        Path(file).write_text('\n'.join(keep) + '\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
