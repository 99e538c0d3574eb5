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

"""Packets that come twice, late, or in another order: no restart, nothing counted twice."""

import random

import pytest
from ulyssix_packets import bcd, datagram

from xplane_bridge.bridges.ulyssix.session import (
    CHANNEL,
    PacketReceived,
    PublisherRestarted,
    Timeline,
    UlyssixSession,
)

SENDER, OTHER_PORT = ('10.0.0.1', 4000), ('10.0.0.1', 4001)
NUMBER_OF_PACKETS = 600


def run(first, begin, rate, count=NUMBER_OF_PACKETS, total=0, sender=SENDER):
    """Return what one run of a publisher sends, one sample each: when, from where, datagram."""
    return [(begin + number / rate, sender, datagram(
        (first + number) % 2**32, total + number, time=at(begin + number / rate)))
        for number in range(count)]


def at(seconds):
    """Return a packet's time."""
    micros = round(seconds * 1e6)
    return bcd(45, 12, *divmod(micros // 1_000_000, 60), micros % 1_000_000)


def receive(arrivals, until=None):
    """Return the session that has received them in the order of their times, and its events."""
    session = UlyssixSession(Timeline(word_order='first_word_high'))
    session.start(0.0)
    events = []
    for now, sender, data in sorted(arrivals, key=lambda each: each[0]):
        if (deadline := session.next_deadline()) is not None and deadline < now:
            session.poll(deadline)
            events += session.expired()
        events += session.receive(CHANNEL, data, sender, now)
    session.stop(until or 1000.0)
    return session, events


def numbers(events):
    return [event.packet.counter for event in events if isinstance(event, PacketReceived)]


def restarts(events):
    return sum(isinstance(event, PublisherRestarted) for event in events)


@pytest.mark.parametrize('rate', [10, 100, 1000])
@pytest.mark.parametrize('after', [0.0, 0.3, 0.7, 2.0])
def test_a_packet_that_comes_twice_counts_once(rate, after):
    sent = run(7, 10.0, rate)
    for number in (0, 1, 250, 598, 599):
        now, sender, data = sent[number]
        session, events = receive([*sent, (now + after, sender, data)])
        assert sorted(numbers(events)) == list(range(7, 607))
        statistics = session.statistics
        assert (statistics.lost, statistics.restarts) == (0, 0)
        assert statistics.duplicates + statistics.too_late == 1
        assert statistics.samples == NUMBER_OF_PACKETS


@pytest.mark.parametrize('rate', [10, 100, 1000])
@pytest.mark.parametrize('late', [0.05, 0.25, 0.6, 1.2, 3.0])
def test_a_packet_that_comes_late_is_late_or_lost_and_no_restart(rate, late):
    sent = run(2**32 - 300, 10.0, rate)
    for number in (1, 250, 597):
        now, sender, data = sent[number]
        session, events = receive([
            *sent[:number], *sent[number + 1:], (now + late, sender, data)])
        statistics = session.statistics
        assert (statistics.restarts, statistics.duplicates) == (0, 0)
        assert len(set(numbers(events))) == len(numbers(events)) == 600 - statistics.lost
        assert statistics.lost == statistics.too_late <= 1
        assert statistics.lost == (late * rate >= 128 and number < 597 or (
            number == 597 and late == 3.0))


@pytest.mark.parametrize('silence', [0.0, 0.5, 3.0])
@pytest.mark.parametrize('old', [1, 2, 20, 100])
@pytest.mark.parametrize('age', [0, 1, 50, 300])
def test_a_burst_of_old_packets_is_no_restart(silence, old, age):
    """They come at once, after an outage or not, the newest of them or older ones."""
    before = run(7, 10.0, 100, 500)
    after = run(507, 15.0 + silence, 100, 100, total=500)
    end = len(before) - age
    burst = [(after[0][0] - 0.001, *each[1:]) for each in before[max(end - old, 0):end]]
    session, events = receive([*before, *burst, *after])
    assert restarts(events) == session.statistics.restarts == 0
    assert numbers(events) == list(range(7, 607))
    assert session.statistics.lost == 0
    assert session.statistics.duplicates + session.statistics.too_late == len(burst)


@pytest.mark.parametrize('seed', range(5))
def test_reordered_doubled_and_lost_packets_are_counted_as_what_they_are(seed):
    chance = random.Random(seed)
    sent = run(2**32 - 100, 10.0, 100)
    kept = [each for each in sent if chance.random() > 0.1]
    copies = [(now + chance.choice([0.0, 0.3, 0.7, 2.0]), *rest)
              for now, *rest in chance.sample(kept, 60)]
    session, events = receive([
        *((now + chance.random() * 0.08, *rest) for now, *rest in kept), *copies])
    statistics = session.statistics
    came = numbers(events)
    assert len(set(came)) == len(came) == len(kept)
    assert statistics.restarts == restarts(events) == 0
    ends = [sent.index(kept[place]) for place in (0, -1)]
    assert statistics.lost == ends[1] - ends[0] + 1 - len(kept)


@pytest.mark.parametrize('first', [0, 7, 5000])
@pytest.mark.parametrize('pause', [0.05, 2.5])
@pytest.mark.parametrize('sender', [SENDER, OTHER_PORT])
@pytest.mark.parametrize('late', [0.06, 1.2, 3.0])
@pytest.mark.parametrize('stragglers', [1, 20])
def test_old_packets_of_the_run_before_are_no_second_restart(
        first, pause, sender, late, stragglers):
    before = run(3000, 10.0, 100, 400, total=3000)
    ends = 14.0
    after = run(first, ends + pause, 100, 600, sender=sender)
    # None of them is under way for longer than 4 s.
    late = min(late, 4.0 - pause)
    moved = [(ends + pause + late, *each[1:]) for each in before[-stragglers:]]
    session, events = receive([*before[:-stragglers], *moved, *after])
    came = numbers(events)
    new = [number for number in came if number in range(first, first + 600)]
    assert restarts(events) == session.statistics.restarts == 1
    assert new == list(range(first, first + 600))
    assert len(set(came)) == len(came)
    assert session.statistics.lost <= stragglers
    assert not session.mixed


@pytest.mark.parametrize('sender', [SENDER, OTHER_PORT])
@pytest.mark.parametrize('first', [0, 5000])
@pytest.mark.parametrize('count', [3, 40, 500])
@pytest.mark.parametrize('pause', [0.05, 0.3, 1.5, 3.0])
def test_a_true_restart_is_told_at_its_second_packet_at_the_latest(first, count, pause, sender):
    before = run(first, 10.0, 100, count)
    ends = 10.0 + count / 100
    after = run(0, ends + pause, 100, 2, sender=sender)
    session, events = receive([*before, *after])
    assert restarts(events) == 1
    assert numbers(events)[-2:] == [0, 1]
    assert session.statistics.lost == 0
