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

"""Quality followed in batches is that followed packet by packet, whatever the samples are."""

from dataclasses import fields

from hypothesis import given, settings, strategies
import numpy as np
import pytest

from xplane_bridge.bridges.ulyssix.protocol import data_packet, PacketTime, WordOrder
from xplane_bridge.bridges.ulyssix.session import MOST_KEPT, Placed, Quality

BEGIN = 1_700_000_000_000_000_000
TIME = PacketTime(45, 12, 0, 0, 0, WordOrder.FIRST_WORD_HIGH)
VALUES = {
    'noise': lambda dice, number: dice.normal(size=number),
    'switch': lambda dice, number: np.full(number, dice.integers(0, 2)),
    'mixed': lambda dice, number: dice.integers(0, 2, number),
    'still': lambda dice, number: np.full(number, 3.25),
    'beyond': lambda dice, number: dice.normal(size=number) * 100,
    'spoilt': lambda dice, number: dice.choice([1.0, np.nan, np.inf, 2.0], number),
}
# What happens now and then, with the chance of it.
EVENTS = ('lost', 'late', 'uneven', 'slow', 'restart', 'jump', 'renamed', 'spoilt', 'still')


def limits(names, derived):
    """Return limits for every other parameter."""
    count = len(names) + len(derived)
    high = np.where(np.arange(count) % 2, np.inf, 2.0)
    return -high, high


class Stream:
    """A publisher to whom things happen."""

    def __init__(self, seed, parameters, samples, events, kind):
        self.dice = dice = np.random.default_rng(seed)
        self.period = int(dice.integers(1_000, 20_000_000))
        self.samples, self.events, self.kind = samples, events, kind
        self.names = tuple(f'P{number}' for number in range(parameters))
        self.values = dice.choice(['noise', 'switch', 'mixed', 'still', 'beyond'], parameters)
        self.slow = dice.integers(2, 6, parameters)
        self.shift = 0

    def happens(self, event, chance=0.06):
        return event in self.events and self.dice.random() < chance

    def told(self, packets):
        """Return what a Quality is told: arguments of ``take``, or None for a restart."""
        told = []
        for number in range(packets):
            if self.happens('restart'):
                told.append(None)
            if self.happens('jump'):
                self.shift += int(self.dice.integers(-5, 5)) * 1_000_000_000
            if self.happens('renamed'):
                self.names = (f'Q{number}', *self.names[1:])
            if not self.happens('lost'):
                told.append(self.packet(number))
        return told

    def packet(self, number):
        dice, kind = self.dice, self.kind
        at = BEGIN + self.shift + number * self.period * self.samples
        if self.happens('late'):
            at -= int(dice.integers(1, 9)) * self.period
        counts = np.full(len(self.names), self.samples)
        if 'uneven' in self.events:
            counts += dice.integers(-1, 2, len(counts))
        if 'slow' in self.events:
            counts[number % self.slow != 0] = 0
        times = [at + np.arange(count) * int(self.period * dice.choice([1.0, 0.9]))
                 for count in counts]
        values = [self.value(which, count)
                  for which, count in zip(self.values, counts, strict=True)]
        sent = {'tagged': [each / 1e9 for each in times],
                'integer': [(each // 1000).astype('u8') for each in times]}.get(kind)
        derived = [
            (f'D{one}', at + np.arange(one + 1) * self.period, dice.normal(size=one + 1))
            for one in range(2) if dice.random() < 0.5]
        return self.names, data_packet(number, number, TIME, values, sent), Placed(
            at, None if kind == 'untagged' else np.concatenate(times)), at + 10**7, derived

    def value(self, which, count):
        which = 'spoilt' if self.happens('spoilt') else (
            'still' if self.happens('still', 0.3) else which)
        value = VALUES[which](self.dice, count)
        if self.kind != 'integer':
            return value.astype('f4')
        # Beyond what double precision tells apart, too.
        return np.nan_to_num(value, posinf=9, neginf=9).astype('i8') * 2**int(
            self.dice.choice([0, 60]))


def follow(told, ends):
    """Return all that is known in the end, where packets are followed at ``ends``."""
    quality = Quality(0.5, limits)
    found = []
    for number, one in enumerate(told):
        if one is None:
            quality.restart()
        else:
            quality.take(*one)
        if number in ends:
            quality.follow()
        if number % 17 == 16:
            found.append(quality.report())
    return [*found, quality.report(), quality.report(renew=False), quality.gone()]


@settings(max_examples=60, deadline=None)
@given(
    seed=strategies.integers(0, 2**32), packets=strategies.integers(1, 50),
    parameters=strategies.integers(1, 6), samples=strategies.integers(1, 4),
    events=strategies.sets(strategies.sampled_from(EVENTS)),
    kind=strategies.sampled_from(['tagged', 'untagged', 'spaced', 'integer']),
    ends=strategies.sets(strategies.integers(0, 60)))
def test_any_batches_tell_the_same_as_packet_by_packet(
        seed, packets, parameters, samples, events, kind, ends):
    told = Stream(seed, parameters, samples, events, kind).told(packets)
    for one, other in zip(follow(told, range(len(told))), follow(told, ends), strict=True):
        for field in fields(one):
            np.testing.assert_array_equal(
                getattr(one, field.name), getattr(other, field.name), field.name)


@pytest.mark.parametrize('kept', [1, 3])
def test_no_more_is_kept_than_stated(kept):
    """What is kept is followed as soon as there is enough of it, or somebody asks."""
    samples = MOST_KEPT // 12 // kept
    packet = data_packet(0, 0, TIME, [np.zeros(samples, 'f4')], [np.arange(samples) / 1e9])
    placed = Placed(BEGIN, BEGIN + np.arange(samples))
    quality = Quality()
    for number in range(kept + 1):
        assert number > kept or quality._kept_bytes < MOST_KEPT
        quality.take((), packet, placed, BEGIN)
    assert quality._kept_bytes < MOST_KEPT
    assert quality.report().samples.tolist() == [(kept + 1) * samples]
