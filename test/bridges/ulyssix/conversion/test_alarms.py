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

"""Alarms against the same rules written plainly, packet by packet; and their sentences."""

import math

import numpy as np
import pytest

from xplane_bridge.bridges.ulyssix.conversion import alarms
from xplane_bridge.bridges.ulyssix.conversion.alarms import AlarmGroup, Alarms, ERROR, STALE, WARN
from xplane_bridge.bridges.ulyssix.conversion.reading import MapEntry

ANY = (-math.inf, math.inf)
LOW = MapEntry('low', symbol='V', limits=(-2.0, 3.0), warn=(-1.0, 2.0), group='power')
HALF = MapEntry('half', scale=-0.5, offset=1.0, limits=(-1.0, 2.5), group='power')
WARNED = MapEntry('warned', warn=(-math.inf, 1.5))
FREE = MapEntry('free')
DERIVED = MapEntry('derived', limits=(0.0, 1.0), group='power')


class Plain:
    """What Alarms keeps of one parameter."""

    def __init__(self, entry):
        self.entry = entry
        self.samples = self.times = self.worst = self.level = 0
        self.latest, self.was_bad, self.fresh = 0.0, False, False

    def take(self, values):
        errors = [not self.entry.limits[0] <= one <= self.entry.limits[1] for one in values]
        warns = [not self.entry.warn[0] <= one <= self.entry.warn[1] for one in values]
        bad = errors if any(errors) else warns
        if any(bad):
            level = ERROR if any(errors) else WARN
            self.times += not self.was_bad
            self.samples += sum(bad)
            self.latest = [one for one, is_bad in zip(values, bad, strict=True) if is_bad][-1]
            self.level = max(self.level if self.fresh else 0, level)
            self.worst = max(self.worst, level)
            self.fresh = True
        self.was_bad = any(bad)

    def told(self):
        if not self.fresh and not self.was_bad:
            self.level = 0
        self.fresh = False
        return self.level, self.latest, self.samples, self.times, self.worst


def followed(*entries, derived=(), lacking=None):
    """Return alarms that follow some entries of a packet."""
    found = Alarms([*entries, *derived])
    found.follow(
        [(n, one.pattern, one) for n, one in enumerate(entries)],
        [(one.pattern, one) for one in derived], lacking or {})
    return found


@pytest.mark.parametrize('dtype', [np.float64, np.float32])
@pytest.mark.parametrize('entries', [
    (LOW, HALF, WARNED), (FREE, LOW, FREE, HALF, WARNED), (LOW, FREE)],
    ids=['all', 'some', 'first'])
@pytest.mark.parametrize('spread', [0.7, 2.0])
def test_alarms_are_those_of_the_plain_rules(dtype, entries, spread):
    rng = np.random.default_rng(len(entries))
    alarm = followed(*entries, derived=[DERIVED])
    plain = {one.pattern: Plain(one) for one in (*entries, DERIVED) if one.guarded}
    for round_ in range(12):
        for _ in range(int(rng.integers(0, 6))):
            counts = rng.integers(0, 4, len(entries)) if round_ % 3 else np.full(len(entries), 2)
            values = (spread * rng.standard_normal(counts.sum())).round(1).astype(dtype)
            if round_ == 5:
                values[rng.random(len(values)) < 0.2] = np.nan
            alarm.check(counts, values)
            for entry, own in zip(entries, np.split(values, np.cumsum(counts)[:-1]), strict=True):
                if entry.guarded and len(own):
                    plain[entry.pattern].take([
                        round(one * entry.scale + entry.offset, 6) for one in own.tolist()])
            alarm.check_derived('derived', np.array([0.5, spread]))
            plain['derived'].take([0.5, spread])
        found = {name: one for group in alarm.report(0.0) for name, one in group.ever.items()}
        for name, one in plain.items():
            level, latest, samples, times, worst = one.told()
            if not samples:
                assert name not in found
                continue
            got = found[name]
            assert (got.level, got.samples, got.times, got.worst) == (
                level, samples, times, worst), name
            assert got.latest == pytest.approx(latest, rel=1e-5, nan_ok=True)


@pytest.mark.parametrize(('value', 'text'), [
    (2.5, '2.5 V, above 2'), (-1.5, '-1.5 V, below -1'), (4.0, '4 V, above 3'),
    (-3.0, '-3 V, below -2'), (math.nan, 'not a number')])
def test_what_is_out_of_limits_is_said_with_the_limit(value, text):
    alarm = followed(LOW)
    alarm.check(np.array([1]), np.array([value]), 0.0)
    group, = alarm.report(0.0)
    assert group.now == {'low': text}
    assert group.level == (WARN if 'above 2' in text or 'below -1' in text else ERROR)
    assert group.sentence == f'out of limits: low {text}'


def test_a_limit_itself_is_good_as_it_was_sent():
    """0.1 of single precision is above 0.1, but nobody meant that."""
    odd = MapEntry('odd', limits=(-0.1, 0.1))
    alarm = followed(odd)
    for one in (-0.1, 0.1):
        alarm.check(np.array([1]), np.array([one], np.float32))
    alarm.check_derived('odd', np.array([7.0]))
    assert not [*alarm.report(0.0)][0].ever
    other = followed(derived=[odd])
    other.check_derived('odd', np.array([0.1 + 0.9e-8, -0.1 - 0.9e-8]))
    assert not [*other.report(0.0)][0].ever
    other.check_derived('odd', np.array([0.1 + 1.1e-8]))
    assert [*other.report(0.0)][0].ever['odd'].samples == 1


def groups(**given):
    """Return a group of two parameters, with these differences."""
    return AlarmGroup(**{'name': 'g', 'level': 0, 'now': {}, 'ever': {}, 'guarded': 2,
                         'silent': {},
                         'absent': {}, **given})


@pytest.mark.parametrize(('given', 'sentence'), [
    ({}, '2 parameters within their limits'),
    ({'guarded': 1}, '1 parameter within its limits'),
    ({'now': {'a': '3, above 2'}}, 'out of limits: a 3, above 2'),
    ({'silent': {'a': 3.4, 'b': 12.6}}, 'no sample for 13 s of a, b'),
    ({'silent': {'a': math.nan}}, 'no sample yet of a'),
    ({'silent': {'a': 2.0, 'b': math.nan}}, 'no sample for 2 s of a; no sample yet of b'),
    ({'absent': {'a': 'is not sent'}, 'now': {'b': 'not a number'}},
     'out of limits: b not a number; not watched: a is not sent')])
def test_a_group_says_what_is_bad(given, sentence):
    assert groups(**given).sentence == sentence


def test_of_many_names_the_first_are_listed():
    names = [*'abcdefg']
    assert alarms.listed(names[:5]) == 'a, b, c, d, e'
    assert alarms.listed(names) == 'a, b, c, d, e and 2 more'
    assert alarms.listed(names, 1) == 'a and 6 more'


def silent(alarm, now, **given):
    """Return who is silent."""
    return {name: age for group in alarm.report(now, **given)
            for name, age in group.silent.items()}


def test_who_is_silent_for_three_of_its_intervals_and_a_second():
    alarm = followed(LOW, HALF)
    for n in range(13):
        alarm.check(np.array([1, n % 6 == 0]), np.zeros(1 + (n % 6 == 0)), n / 4)
    # One has an interval of 0.25 s, so a second counts, the other of 1.5 s; both came at 3 s.
    assert silent(alarm, 4.0) == {}
    assert silent(alarm, 4.01) == pytest.approx({'low': 1.01})
    assert silent(alarm, 7.5) == pytest.approx({'low': 4.5})
    assert silent(alarm, 7.51) == pytest.approx({'low': 4.51, 'half': 4.51})
    assert silent(alarm, 3.0, is_silent=True) == {'low': 0.0, 'half': 0.0}


@pytest.mark.parametrize('at_once', [False, True])
def test_the_usual_interval_is_that_of_the_last_eight(at_once):
    alarm = followed(LOW, HALF)
    times = [0.0, 100.0, *(200.0 + n for n in range(8))]
    for n, now in enumerate(times):
        alarm.check(np.array([1, 0 if n == 3 else 1]), np.zeros(1 if n == 3 else 2), now)
        if not at_once:
            alarm.settle()
    # One is of the last seven seconds; of the other one sample less, so 107 s in seven intervals.
    assert silent(alarm, 210.0) == {}
    assert [*silent(alarm, 210.01)] == ['low']
    assert [*silent(alarm, 207.0 + 3.0 * 107.0 / 7.0)] == ['low']
    assert [*silent(alarm, 207.01 + 3.0 * 107.0 / 7.0)] == ['low', 'half']


def test_one_sample_is_waited_for_longer_and_one_never_heard_is_silent():
    alarm = followed(LOW, derived=[DERIVED])
    assert silent(alarm, 0.0) == pytest.approx({'low': math.nan, 'derived': math.nan}, nan_ok=True)
    alarm.check(np.array([1]), np.array([0.0]), 5.0)
    alarm.check_derived('derived', np.array([0.5]), 6.0)
    assert silent(alarm, 15.0) == {}
    assert silent(alarm, 15.01) == pytest.approx({'low': 10.01})
    assert silent(alarm, 16.01) == pytest.approx({'low': 11.01, 'derived': 10.01})


def test_groups_have_their_own_levels_and_who_is_not_sent_is_named():
    alarm = followed(LOW, derived=[WARNED], lacking={'half': 'X'})
    alarm._given.append(HALF)
    alarm.check(np.array([1]), np.array([0.0]), 1.0)
    alarm.check_derived('warned', np.array([7.0]), 1.0)
    rest, power = alarm.report(1.0)
    assert (rest.name, rest.level, rest.guarded, rest.now) == (
        'parameters', WARN, 1, {'warned': '7, above 1.5'})
    assert (power.name, power.level, power.guarded) == ('power', WARN, 2)
    assert power.absent == {'half': 'needs X, which is not sent'}
    # Silence is worse than a warning, and an error than silence.
    rest, power = alarm.report(50.0)
    assert (rest.level, power.level) == (STALE, STALE)
    alarm.check(np.array([1]), np.array([9.0]), 50.0)
    assert [one.level for one in alarm.report(99.0)] == [STALE, ERROR]


def test_before_anything_is_followed_all_are_unheard():
    group, = Alarms([LOW, FREE]).report(0.0)
    assert (group.level, group.guarded, [*group.silent], group.absent) == (STALE, 1, ['low'], {})
    assert group.sentence == 'no sample yet of low'


def test_names_that_are_gone_are_watched_up_to_a_number(monkeypatch):
    monkeypatch.setattr(alarms, '_MOST_WATCHED', 2)
    alarm = followed(LOW)
    alarm.check(np.array([1]), np.array([9.0]), 1.0)
    alarm.follow([(0, 'half', HALF)], [], {})
    assert {name for group in alarm.report(2.0) for name in group.ever} == {'low'}
    alarm.follow([(0, 'third', HALF)], [], {})
    assert not {name for group in alarm.report(2.0) for name in group.ever}
    assert silent(alarm, 2.0).keys() == {'third'}


def test_packets_are_kept_up_to_a_megabyte(monkeypatch):
    alarm = followed(LOW)
    counts, values = np.array([1]), np.array([9.0])
    for _ in range(2**20 // (counts.nbytes + values.nbytes + 512)):
        alarm.check(counts, values)
    assert not alarm._ever
    alarm.check(counts, values)
    assert alarm._ever['low'].samples == 2**20 // 528 + 1
