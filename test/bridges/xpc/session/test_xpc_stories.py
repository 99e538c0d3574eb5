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
Stories of what is taken: everything that it says while random commands and reports come.

Nobody has written down what each story should be; it is kept as a hash, as those of whole
conversations are by tools/trace_sessions.py. Whoever changes it on purpose looks at the lines of
``story`` before and after, and keeps the new hash.
"""

import random
from zlib import crc32

import pytest

from xplane_bridge.bridges.xpc import protocol as xpc
from xplane_bridge.bridges.xpc.protocol import SimulationOp
from xplane_bridge.bridges.xpc.session.items import (
    BRAKES,
    find_effects,
    HANDLES,
    HELD,
    JOYSTICK,
    OVERRIDE,
    place_of,
    REPORTED,
    THROTTLE,
    TOE_BRAKES,
)
from xplane_bridge.bridges.xpc.session.overrides import Overrides

ODD = OVERRIDE + 'override_flightdir'
VALUES = (0.0, 1.0, 0.25, -0.5)
TIMEOUT = 3.0
WHAT = (
    *['any_command'] * 4, *['report'] * 6, *['due'] * 5, 'give_back', 'give_back_some', 'free',
    'expire', 'lose', 'another_client', 'another_client', 'disown', 'read_before', 'clear')
STORIES = {
    0: '5cef0e9a', 1: 'da6ce6e3', 2: '3e5fc573', 3: 'e0d53207', 4: '6f75f0f6', 5:
    '3a397093', 6: '2ed71110', 7: 'e0f307a1', 8: '68f52482', 9: 'bab8c40b', 10:
    '57c025ed', 11: '4df85217', 12: '117bf7a5', 13: '73362476', 14: 'ba7b9d3a', 15:
    'b61e73e1', 16: '6cec05ba', 17: '5b198b1d', 18: 'a0a45814', 19: '70009beb', 20:
    '6b9ce6e5', 21: 'd77037f8', 22: 'c4d58bce', 23: '75b4eee3',
    # What is taken anew comes last of what is looked at, and sent again.
    34: '2a8a6fe2'}


class Story:
    """A ledger, an X-Plane that reads what is sent, and somebody else who uses it as well."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.overrides = Overrides(repeats=seed % 4 != 3)
        self.now, self.serial, self.lines = 100.0, 0, []
        self.cells = {name: [-2.0 if name == THROTTLE else 0.0] for name in (*REPORTED, ODD)}
        self.cells[HELD] = [0.0] * 20
        # Messages on their way: they are read in order, some never, some twice.
        self.on_the_way = []

    def tell(self, *words):
        self.lines.append(f'{self.now:.2f} ' + ' '.join(map(str, words)))

    def command(self):
        """Return any command."""
        pick = self.dice.choice
        return pick([
            lambda: xpc.SetControls(**{pick(('elevator', 'aileron', 'rudder')): pick(VALUES)},
                                    aircraft=pick((0, 0, 2))),
            lambda: xpc.SetControls(throttle=pick((0.0, 0.5))),
            lambda: xpc.SetDatarefs(((pick((JOYSTICK, ODD, TOE_BRAKES)), (pick((0.0, 1.0)),)),)),
            lambda: xpc.SetDatarefs(((THROTTLE, (pick((-2.0, 0.5, 0.0)),)),)),
            lambda: xpc.SetDatarefs(((pick([*BRAKES.values()]), (pick((0.0, 0.5)),)),)),
            lambda: xpc.Simulation(pick((
                *SimulationOp.__members__.values(), SimulationOp.PAUSE_AIRCRAFT + 3,
                SimulationOp.RUN_AIRCRAFT + 3, SimulationOp.PAUSE_AIRCRAFT + 19))),
            lambda: xpc.Text(0, 0, pick(('', 'hello'))),
        ])()

    def send(self, message):
        """Send a message that the ledger knows of."""
        self.serial += 1
        self.tell('sent', xpc.encode(message).hex())
        for _ in range(self.dice.choice((0, 1, 1, 1, 2))):
            self.on_the_way.append(message)

    def read(self, message):
        """Let X-Plane read a message."""
        if isinstance(message, xpc.Simulation) and message.op == SimulationOp.TOGGLE:
            self.cells[HELD] = [1.0 - one for one in self.cells[HELD]]
        for key, values, _ in find_effects(message):
            name, place = place_of(key)
            for n, value in enumerate(values if name else ()):
                self.cells.setdefault(name, [0.0])[place + n:place + n + 1] = [value]

    def step(self):
        """Let something happen, and tell it."""
        self.now = round(self.now + self.dice.choice((0.02, 0.1, 0.4, 1.0)), 2)
        for _ in range(self.dice.randrange(3)):
            if self.on_the_way:
                self.read(self.on_the_way.pop(0))
        what = self.dice.choice(WHAT)
        self.tell(what)
        getattr(self, what)()
        self.look()

    def any_command(self):
        self.note(self.command())

    def report(self):
        pick = self.dice.choice
        names = [name for name in (*REPORTED, *self.overrides.datarefs_of(self.overrides.pending))
                 if self.dice.random() < 0.8]
        asked_at = pick((None, self.now - 0.3))
        serial = pick((None, self.serial, self.serial, max(self.serial - 1, 0)))
        self.overrides.report({name: tuple(self.cells.get(name, ())) for name in names}, self.now,
                          serial, asked_at, TIMEOUT)

    def due(self):
        for urgent in (True, False):
            keys = self.overrides.due(self.now, urgent=urgent)
            for message in self.overrides.messages(
                    keys, pauses_one=self.dice.choice((True, False))):
                self.send(message)
            self.overrides.sent(keys, self.now, self.serial, self.dice.choice((0.0, 0.7)))

    def give_back(self):
        self.overrides.give_back(self.now, self.dice.choice((None, 0, 2)))

    def give_back_some(self):
        self.overrides.give_back(self.now, 0, ('elevator', 'rudder', 'left brake'))

    def free(self):
        self.overrides.free(self.now)

    def expire(self):
        self.overrides.expire(self.now, self.dice.choice((1.0, TIMEOUT)))

    def lose(self):
        self.overrides.lose()

    def disown(self):
        self.overrides.disown(max(self.serial - self.dice.choice((0, 1, 2, 9)), 0), self.now)

    def clear(self):
        if self.dice.random() < 0.1:
            self.overrides.clear()

    def read_before(self):
        self.overrides.read_before({ODD: (self.dice.choice((0.0, 1.0)),)})

    def another_client(self):
        name = self.dice.choice([*self.cells])
        place = self.dice.randrange(len(self.cells[name]))
        self.cells[name][place] = self.dice.choice((0.0, 1.0, 0.6, -2.0))

    def note(self, message):
        """Command something."""
        self.tell('unread', self.overrides.unread(message))
        message = self.overrides.written(
            self.overrides.resolve(message), pauses_one=self.dice.random() < 0.5)
        self.send(message)
        self.tell('pauses', self.overrides.note(message, self.now, self.serial, 0.0))

    def look(self):
        """Tell all that the ledger says."""
        overrides = self.overrides
        pauses = self.dice.choice(({(3, 'pause'): 1.0}, {(0, 'pause'): 0.0}, {(25, 'pause'): 0.0}))
        self.tell(
            bool(overrides), overrides.names, overrides.unconfirmed, overrides.held_by_others,
            overrides.names_held_by_others,
            overrides.wants_joystick(), sorted(overrides.released_for({HANDLES: (0.5,)})),
            overrides.pending.deadline,
            overrides.unsettled(TIMEOUT), overrides.has_returned,
            overrides.names_of_unsettled(TIMEOUT),
            round(overrides.late_until(TIMEOUT), 2), overrides.shows(None),
            overrides.shows(pauses),
            overrides.contradictions(self.now, TIMEOUT), overrides.datarefs_of(overrides.pending),
            overrides.can_write(xpc.Simulation(SimulationOp.PAUSE_AIRCRAFT)),
            overrides.shown_in(dict.fromkeys(self.cells, 0.5)))


def story(seed, steps=250):
    """Return the lines of a story."""
    told = Story(seed)
    for _ in range(steps):
        told.step()
    return told.lines


@pytest.mark.parametrize(('seed', 'kept'), STORIES.items())
def test_a_story_is_what_it_was(seed, kept):
    assert f'{crc32(chr(10).join(story(seed)).encode()):08x}' == kept, (
        f'story {seed} is another one: compare its lines with those of the commit before')
