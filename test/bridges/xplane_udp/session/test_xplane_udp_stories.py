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
Stories of what is taken by X-Plane's own protocol: all that it says while anything comes.

Kept as hashes, as in xpc/test_xpc_stories.py: whoever changes one on purpose looks at the lines of
``story`` before and after.
"""

import random
from zlib import crc32

import pytest

from xplane_bridge.bridges.sessions.base import Tickets
from xplane_bridge.bridges.xplane_udp.protocol import DataLayout
from xplane_bridge.bridges.xplane_udp.session.commands import BRAKES, STICKS, TOE_BRAKES, TRIMS
from xplane_bridge.bridges.xplane_udp.session.overrides import Overrides
from xplane_bridge.bridges.xplane_udp.session.reports import OVERRIDE, PAUSED, planepath
from xplane_bridge.bridges.xplane_udp.session.written import WrittenControls

# By seed: version, kind of rows, and whether the joystick is overridden.
KINDS = ((12, 'trim', True), (9, 'trim', True), (9, 'joystick', False), (11, 'trim', False))
WHAT = (
    *['command'] * 5, *['report'] * 7, *['due'] * 4, 'pause', 'pause', 'centre', 'centre_later',
    'release', 'lose', 'hold', 'restore', 'resume', 'resume', 'disown', 'depart', 'others',
    'others', 'forget')
STORIES = {
    0: 'e73c7afb', 1: '884e5150', 2: '15a83ad4', 3: '2e988c4f', 4: 'b01fb4b0', 5:
    'd76125c5', 6: '4f09cab7', 7: '3f7af37f', 8: '6ff37358', 9: '5cb99122', 10:
    '83d7278e', 11: 'bdcd07d9', 12: '7d895fd8', 13: '6bf614f8', 14: 'c7a70133', 15:
    'c0514b5d', 16: '2a5f81ab', 17: '4615ab62', 18: '32e08ca2', 19: 'e17cf70a', 20:
    'c3b991c0', 21: '94ffb501', 22: '27493f6e', 23: 'b3a9734c'}


class Story:
    """What is taken from an X-Plane that shows some of what it is told, sooner or later."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.version, rows, override = KINDS[seed % len(KINDS)]
        self.layout = DataLayout(8 if self.version == 9 else 7)
        self.overrides = Overrides(Tickets(), rows, override, lambda: 3.0)
        self.now, self.lines = 100.0, []
        self.shown = dict.fromkeys((
            PAUSED, OVERRIDE, planepath(0), planepath(2), TOE_BRAKES, *STICKS.values(),
            *BRAKES.values(), *TRIMS, *(f'stick_{axis}' for axis in STICKS)), 0.0)
        self.overrides.begin(self.version)

    def tell(self, *words):
        self.lines.append(f'{self.now:.2f} ' + ' '.join(map(str, words)))

    def step(self):
        """Let something happen, and tell it."""
        self.now = round(self.now + self.dice.choice((0.02, 0.1, 0.2, 0.6, 1.5)), 2)
        what = self.dice.choice(WHAT)
        self.tell(what)
        getattr(self, what)()
        self.look()

    def send(self, datagrams, values):
        """Send datagrams, which X-Plane may read: then it shows these values."""
        self.tell(*((channel, data.hex()) for channel, data in datagrams))
        if self.dice.random() < 0.7:
            self.shown |= values

    def command(self):
        pick = self.dice.choice
        names = [*STICKS] + ([*BRAKES] if self.version > 9 else [])
        controls = {pick(names): pick((0.0, 0.5, -0.25, 1.0)) for _ in range(pick((1, 2)))}
        if self.dice.random() < 0.1:
            controls['nothing like it'] = 0.0
        try:
            self.overrides.command(controls, self.layout)
            datagrams = self.overrides.write(controls, self.layout, self.now)
        except (KeyError, ValueError) as error:
            self.tell('refused', error)
            return
        self.send(datagrams, {
            shown: value for name, value in controls.items() for shown in (
                f'{name}_trim', f'stick_{name}', STICKS.get(name), BRAKES.get(name)) if shown})

    def report(self):
        self.overrides.on_reply({name: value for name, value in self.shown.items()
                         if self.dice.random() < 0.8}, self.now)

    def due(self):
        all_pending = {
            report: pending.desired for report, pending in self.overrides._pending.items()}
        self.send(
            self.overrides.due(self.now, self.layout, tells=self.dice.random() < 0.7), all_pending)

    def pause(self):
        # Before X-Plane 10 there is none.
        if self.version > 9:
            self.tell(self.overrides.pause(self.dice.random() < 0.6, self.now))

    def centre(self):
        self.overrides.centre(self.now)

    def centre_later(self):
        self.overrides.centre_later()

    def release(self):
        self.overrides.release(self.now)

    def lose(self):
        self.overrides.lose(self.now - 0.3)

    def hold(self):
        self.overrides.hold()

    def restore(self):
        self.overrides.restore()

    def resume(self):
        self.overrides.resume(self.now)

    def disown(self):
        if self.dice.random() < 0.3:
            self.overrides.disown()

    def forget(self):
        if self.dice.random() < 0.2:
            self.overrides.forget()

    def depart(self):
        if self.version > 9:
            self.overrides.depart(self.dice.choice((0, 2)), self.now)

    def others(self):
        self.shown[self.dice.choice([*self.shown])] = self.dice.choice((0.0, 1.0, 0.6))

    def look(self):
        """Tell all that is to be known."""
        overrides = self.overrides
        self.tell(
            overrides.names, overrides.unconfirmed, overrides.has_pending,
            round(overrides.watched_until, 2), sorted(overrides.moved), overrides.deadline,
            [(one.ticket, one.what, one.error, one.message) for one in overrides.ended()]
            if self.dice.random() < 0.5 else '', overrides.contradictions(self.now))


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


def test_what_is_reported_otherwise_for_long_is_told():
    written = WrittenControls()
    assert written.note({'a': 0.5, 'b': 1.0}, 10.0) == {'a': 0.5, 'b': 1.0}
    assert written.note({'a': 0.5, 'b': 0.0}, 11.0) == {'b': 0.0}
    assert written.values == {'a': 0.5, 'b': 0.0}
    reports = {'a': 0.0, 'b': 1.0, 'c': 1.0}
    assert written.contradictions(reports, 11.49) == []
    assert written.contradictions(reports, 11.5) == ['a: 0.5 was sent, X-Plane reports 0']
    assert len(written.contradictions(reports, 12.5)) == 2
    assert written.contradictions({'a': None, 'b': 0.0}, 99.0) == []


def test_others_have_it_once_it_was_shown_and_is_otherwise():
    written = WrittenControls()
    assert not written.on_reply('a', 0.0, 10.0)
    written.note({'a': 0.5}, 10.0)
    # Not shown yet, shown, shown otherwise: and that once.
    assert [written.on_reply('a', one, 10.1) for one in (0.0, None, 0.5, None, 0.0, 0.0)] == [
        False, False, False, False, True, False]
    written.on_reply('a', 0.5, 10.2)
    written.note({'a': 0.7}, 11.0)
    # What was shown was an older value.
    assert not written.on_reply('a', 0.0, 11.1)
    written.on_reply('a', 0.7, 11.2)
    written.clear()
    assert written.values == {}
    written.note({'a': 0.7}, 12.0)
    assert not written.on_reply('a', 0.0, 12.1)


def test_others_have_it_too_if_the_last_was_lost_and_an_earlier_one_was_shown():
    written = WrittenControls()
    written.note({'a': 0.5}, 10.0)
    written.note({'a': 0.6}, 10.1)
    written.note({'a': 0.7}, 10.2)
    # What it was before may still come, and says nothing; nor does what comes while 0.7 may.
    assert [written.on_reply('a', one, 10.3) for one in (0.0, 0.6, 0.0)] == [False, False, False]
    assert not written.on_reply('a', 0.25, 11.69)
    assert [written.on_reply('a', 0.25, 11.7) for _ in range(2)] == [True, False]
    # Of two writers the later one counts: an earlier value of ours is ours.
    written.note({'a': 0.8}, 12.0)
    assert [written.on_reply('a', one, 20.0) for one in (0.25, 0.5, 0.7)] == [False, False, False]
    assert written.on_reply('a', 0.25, 20.0)
