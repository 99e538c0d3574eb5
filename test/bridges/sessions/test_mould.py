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

"""Invariants of every session under any sequence of incidents: see mould.py."""

import os
import random

from hypothesis import given, settings
from hypothesis import strategies as st
from mould import Incident, KINDS, NEVER, play
from mould_fdmdata import FdmdataAdapter
from mould_losses import (
    BURSTS,
    Copies,
    DELAYED,
    disturb,
    DOUBLED,
    lives_of_copies,
    lose,
    LOSSES,
    reconnect,
    repeat,
    RETAKEN,
    sent_for,
)
from mould_simpit import SimpitAdapter
from mould_traces import trace, TRACES
from mould_ulyssix import UlyssixAdapter
from mould_xpc import XpcAdapter
from mould_xplane_udp import Xplane6Adapter, Xplane12Adapter, Xplane12PausedAdapter
import pytest

ADAPTERS = {
    'xpc': XpcAdapter, 'fdmdata': FdmdataAdapter, 'xplane_udp 6': Xplane6Adapter,
    'xplane_udp 12': Xplane12Adapter, 'simpit': SimpitAdapter,
    'ulyssix': UlyssixAdapter}
# The same examples each time; MOULD_EXAMPLES runs more, and others.
_EXAMPLES = int(os.environ.get('MOULD_EXAMPLES', '0'))

incidents = st.lists(st.builds(
    Incident, st.sampled_from(KINDS), st.integers(0, 9),
    st.sampled_from((0.0, 0.1, 0.3, 0.6, 2.0, 6.0))), max_size=8)


@pytest.mark.slow
@pytest.mark.parametrize('protocol', ADAPTERS)
@settings(max_examples=_EXAMPLES or 15, derandomize=not _EXAMPLES)
@given(incidents, st.booleans(), st.integers(0, 3))
def test_a_session_is_true_or_expires(protocol, incidents, away_at_end, seed):
    play(ADAPTERS[protocol](), incidents, away_at_end, seed)


# Other things taken, of the same protocols.
VARIANTS = {**ADAPTERS, 'xplane_udp 12, paused': Xplane12PausedAdapter}


each_must = pytest.mark.parametrize(('protocol', 'must'), [
    (protocol, must) for protocol, adapter in VARIANTS.items() for must in adapter.musts])


@each_must
def test_copies_of_a_world_go_on_as_one_that_is_made_anew(protocol, must):
    anew, *copied = lives_of_copies(VARIANTS[protocol], must)
    assert anew[0]
    assert copied == [anew, anew]


@pytest.mark.slow
@each_must
def test_what_must_be_true_in_the_end_survives_each_loss(protocol, must):
    adapter = VARIANTS[protocol]
    sent, replies = sent_for(adapter(), must)
    assert sent, f'{must} sends nothing'
    for loss in LOSSES.values():
        for data in sent:
            lose(adapter(), must, data, loss)
        for channel in replies:
            lose(adapter(), must, channel, loss, reply=True)


# Of each kind the first few that are sent and heard, and those that took what is given back.
FIRST = {'sent': 12, 'reply': 12, 'taking': 8}


def _copies(adapter, counts):
    """Return all ways in which single datagrams of one world come twice or late."""
    for of, most in FIRST.items():
        delays = RETAKEN if of == 'taking' else (*DELAYED, *DOUBLED)
        if adapter.in_order:
            delays = () if of == 'taking' else DELAYED
        cuts = (*delays, NEVER) if adapter.in_order and delays else ()
        for first in range(min(most, counts[of])):
            yield from (Copies(of, first, each) for each in delays)
            yield from (Copies(of, first, each, cut=True) for each in cuts)


@pytest.mark.slow
@each_must
def test_what_must_be_true_in_the_end_survives_copies_and_late_ones(protocol, must):
    adapter = VARIANTS[protocol]
    # How many there are; and whether it is true without any copies.
    counts = disturb(adapter(), must)
    single = list(_copies(adapter(), counts))
    chance = random.Random(f'{protocol} {must}' + os.environ.get('MOULD_SEED', ''))
    pairs = [chance.sample(single, 2) for _ in range(10 * _EXAMPLES or 4)]
    if not _EXAMPLES:
        single = chance.sample(single, min(12, len(single)))
    for copies in (*([each] for each in single), *pairs):
        try:
            disturb(adapter(), must, *copies)
        except AssertionError as error:
            raise AssertionError(f'{"; ".join(map(str, copies))}: {error}') from error


@each_must
def test_old_datagrams_after_an_outage_change_no_belief(protocol, must):
    reconnect(VARIANTS[protocol](), must)
    reconnect(VARIANTS[protocol](), must, of='sent')


@pytest.mark.parametrize('burst', BURSTS)
@each_must
def test_bursts_of_old_replies_change_no_belief(protocol, must, burst):
    repeat(VARIANTS[protocol](), must, *burst)


@pytest.mark.slow
@pytest.mark.parametrize('name', [name for _, name, *_ in TRACES])
def test_a_trace_of_the_same_commit_is_the_same(name):
    (first, *_), (second, *_) = list(trace(1, name)), list(trace(1, name))
    assert first == second
    assert first[0] == name
