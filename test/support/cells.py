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

"""Which cells of its tables of states a conversation visits."""

from contextlib import contextmanager

from xplane_bridge.bridges.sessions.machine import Machine, Teardown


@contextmanager
def visited():
    """Yield a set that gets (row, what) of each cell that any machine visits meanwhile."""
    found = set()
    process = Machine.process

    def note(machine, what):
        state, teardown = machine.state, machine.teardown
        rows = (state,) if teardown is Teardown.NONE else (teardown, (teardown, state))
        found.update((row, what) for row in rows)
        return process(machine, what)

    Machine.process = note
    try:
        yield found
    finally:
        Machine.process = process


def cells(table):
    """Return (row, what) of each cell of a table that does something."""
    return {(key, event) for key, row in table.items() for event in row}
