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

"""A publisher of Ulyssix packets is verified by listening; each planted fault is named."""

from dataclasses import replace

import pytest

pytest.importorskip('jsbsim', reason='the simulated aircraft needs JSBSim')

from memory_endpoint import MemoryEndpoint

from xplane_bridge.bridges.ulyssix import protocol as ulyssix
from xplane_bridge.bridges.ulyssix.conversion import parse
from xplane_bridge.laboratory.verification.evidence.findings import Outcome
from xplane_bridge.laboratory.verification.evidence.line import Answer
from xplane_bridge.laboratory.verification.publisher import PublisherVerification
from xplane_bridge.laboratory.verification.reach import UnreachableError
from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.peers.ulyssix import UlyssixFrontend
from xplane_bridge.simulation.peers.world import World

HERE, SENDER = ('127.0.0.1', 5000), ('127.0.0.1', 6000)
FRAME = 0.02
# 2026-06-01, ns since 1970.
BEGUN = 1_780_272_000 * 1_000_000_000
HOUR_NS = 3600 * 1_000_000_000


class Overhearing:
    """The packets of a simulated publisher; ``tamper(number, data)`` returns what arrives."""

    def __init__(self, tamper=lambda number, data: [(data, SENDER)], ahead_ns=0):
        self.tamper = tamper
        endpoint = MemoryEndpoint()
        self.frontend = UlyssixFrontend(endpoint, HERE, clock=lambda _: BEGUN + ahead_ns)
        self.endpoint = endpoint
        self.world = World(Aircraft())

    def overhear(self, port, seconds, group=''):
        self.frontend.open(self.world, 0.0)
        found, now, number = [], 0.0, 0
        while now < seconds:
            now += FRAME
            self.world.advance(FRAME)
            self.frontend.frame(now)
            for data, _ in self.endpoint.collect():
                number += 1
                found += [Answer(one, sender, now) for one, sender in self.tamper(number, data)]
        return found


def verified(network):
    made = PublisherVerification(network, 5000, 2.0, lambda _: None, clock=lambda: BEGUN)
    made.run()
    return made, [one for one in made.findings if one.outcome is Outcome.DIFFERS]


def changed(**changes):
    """Return a tamper that changes fields of each packet, by functions of number and value."""
    def tamper(number, data):
        packet = ulyssix.decode(data, 'peer')
        return [(ulyssix.encode(replace(packet, **{
            name: change(number, getattr(packet, name)) for name, change in changes.items()})),
            SENDER)]

    return tamper


def test_of_a_publisher_without_fault_nothing_differs_and_a_map_is_made():
    made, differing = verified(Overhearing())
    assert differing == []
    assert {one.subject for one in made.findings if one.outcome is Outcome.SEEN} >= {
        'packets', 'numbers', 'clock', 'names', 'map'}
    assert parse(made.map, 'the map')


FAULTS = {
    'lost': (lambda n, data: [] if n % 20 == 7 else [(data, SENDER)], 0, 'numbers', 'lost'),
    'numbers stand': (changed(counter=lambda n, old: 7), 0, 'numbers', 'follow'),
    'numbers by two': (changed(counter=lambda n, old: 2 * n), 0, 'numbers', 'lost'),
    'doubled': (lambda n, data: [(data, SENDER)] * (1 + (n % 9 == 3)), 0, 'numbers', 'doubled'),
    'totals': (changed(total_samples=lambda n, old: 11), 0, 'totals', 'do not match'),
    'another hour': (None, HOUR_NS, 'clock', '+1 h off'),
    'clock': (None, 40_000_000_000, 'clock', 'not that of this computer'),
    'byte order': (lambda n, data: [(data[::-1], SENDER)], 0, 'datagrams', 'no Ulyssix'),
    'pause': (lambda n, data: [] if 40 < n < 170 else [(data, SENDER)], 0, 'gaps', 'nothing came'),
    'two senders': (lambda n, data: [(data, SENDER), (ulyssix.encode(replace(
        ulyssix.decode(data, 'peer'), counter=n + 90_000)), ('127.0.0.2', 6000))], 0, 'senders',
        'senders are mixed'),
}


@pytest.mark.parametrize('name', FAULTS)
def test_a_planted_fault_is_named(name):
    tamper, ahead, subject, said = FAULTS[name]
    network = Overhearing(ahead_ns=ahead) if tamper is None else Overhearing(tamper)
    _, differing = verified(network)
    assert any(one.subject == subject and said in one.sentence for one in differing), differing
    # Who is silent for a while has lost packets too.
    allowed = {subject} | ({'numbers'} if name == 'pause' else set())
    assert {one.subject for one in differing} <= allowed, differing


def test_where_nothing_arrives_is_said_what_to_check():
    network = Overhearing(lambda number, data: [])
    with pytest.raises(UnreachableError, match=r'port 5000 within 2 s: check that the publisher'):
        verified(network)
