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

"""What a verification says of the simulated peers, whatever ends it: nothing stays taken."""

from dataclasses import replace
import os
import random

import pytest

pytest.importorskip('jsbsim', reason='the simulated aircraft needs JSBSim')

from planted_faults import does_as_asked, undoes_as_told
from verified_memory import MemoryNetwork, simulated, verification, verified

from xplane_bridge.bridges.conversions.vehicle import VehicleState
from xplane_bridge.laboratory.verification.evidence import arrival
from xplane_bridge.laboratory.verification.evidence.findings import Outcome
from xplane_bridge.laboratory.verification.evidence.flight_record import Sample
from xplane_bridge.laboratory.verification.peers.registry import QUESTIONS
from xplane_bridge.laboratory.verification.reach import UnreachableError
from xplane_bridge.laboratory.verification.walk import Settings, Verification
from xplane_bridge.simulation.peers.world import THROTTLE_OVERRIDE_RELEASE

# How many instants of Ctrl-C are tried, of each peer.
INSTANTS = int(os.environ.get('VERIFY_INSTANTS', '1'))
_LASTS = 40.0


def run(name, peer, **options):
    """Run a verification to its end; return it, closed."""
    made = verification(name, peer, **options)
    try:
        made.run()
    finally:
        made.close()
    return made


def differing(made):
    return [one for one in made.findings if one.outcome is Outcome.DIFFERS]


def controls(world):
    """Return what commands may have left behind."""
    aircraft = world.aircraft
    return {name: aircraft.property_value(f'fcs/{name}-cmd-norm') for name in (
        'elevator', 'aileron', 'rudder', 'flap', 'throttle')}


def assert_nothing_is_taken(world, before):
    assert not any(world.overrides.values())
    assert world.throttle_override == THROTTLE_OVERRIDE_RELEASE
    assert not any(world.planepath)
    assert not world.paused
    assert controls(world) == pytest.approx(before, abs=0.01)


@pytest.mark.parametrize('name', [
    'xpc', 'xplane12', 'xplane9', 'xplane6', 'fdmdata', 'simpit'])
def test_of_a_peer_without_fault_nothing_differs(name):
    peer = simulated(name)
    before = controls(peer.world)
    made = run(name, peer, seconds=3.0)
    assert differing(made) == []
    seen = {one.subject for one in made.findings if one.outcome is Outcome.SEEN}
    assert {'heading', 'aileron', 'elevator', 'rudder', 'given back'} <= seen
    if name == 'simpit':
        assert {'roll', 'climb_rate', 'vertical speed'} <= seen
    else:
        assert {'roll_rate', 'pitch_rate', 'yaw_rate', 'true_airspeed', 'throttle'} <= seen
    if name not in ('fdmdata', 'simpit'):
        assert {'roll', 'velocity_east', 'velocity_north', 'climb_rate'} <= seen
        # X-Plane 6 has no row of it.
        assert ('angle_of_attack' in seen) == (name != 'xplane6')
    if name in ('xpc', 'xplane12'):
        assert {'pause', 'pose'} <= seen
        assert all(one.requirement for one in made.findings if one.subject in (
            'roll_rate', 'aileron', 'pause', 'pose'))
    assert_nothing_is_taken(peer.world, before)
    assert made.left == ()


def test_of_another_aircraft_without_fault_nothing_differs():
    made = run('xplane12', simulated('xplane12', model='B747'), seconds=3.0)
    assert differing(made) == []


def test_read_only_changes_nothing_and_says_what_it_left_out():
    peer = simulated('xplane12')
    written = []
    peer.tamper = lambda data, to_peer: [
        data] if not (to_peer and written.append(data[:4])) else []
    made = run('xplane12', peer, seconds=3.0, read_only=True)
    assert {*written} == {b'RREF', b'RPOS'}
    skipped = [one for one in made.findings if one.outcome is Outcome.SKIPPED]
    assert len(skipped) == 3
    assert all('nothing may be changed' in one.sentence for one in skipped)
    assert differing(made) == []


@pytest.mark.parametrize('name', ['xpc', 'xplane12'])
def test_an_interrupt_at_any_time_gives_back_what_was_taken(name):
    chance = random.Random(f'{name} interrupts')
    for _ in range(INSTANTS):
        peer = simulated(name)
        before = controls(peer.world)
        peer.interrupted_at = chance.uniform(0.0, _LASTS)
        made = verification(name, peer, seconds=3.0)
        with pytest.raises(KeyboardInterrupt):
            made.run()
        made.close()
        assert made.left == ()
        assert_nothing_is_taken(peer.world, before)


def dying(part):
    """Return a simulated X-Plane that stops responding once a datagram with this has come."""
    peer = simulated('xplane12')

    def notice(data, to_peer):
        if to_peer and part in data and data[:4] == b'DREF':
            peer.dies_at = min(peer.dies_at, peer.now + 0.3)
        return [data]

    peer.tamper = notice
    return peer


def test_a_peer_that_stops_responding_ends_it_and_says_what_may_be_left():
    made = run('xplane12', dying(b'yoke_roll_ratio'), seconds=3.0)
    found, = differing(made)
    assert found.subject == 'peer'
    assert found.sentence.startswith(
        'it stopped responding: X-Plane is running but sends nothing')
    left, = made.left
    assert 'joystick' in left


def test_who_was_only_frozen_reads_that_all_is_given_back():
    peer = dying(b'yoke_roll_ratio')
    before = controls(peer.world)
    run('xplane12', peer, seconds=3.0)
    peer.tamper, peer.dies_at = (lambda data, to_peer: [data]), float('inf')
    for _ in range(20):
        peer.frame()
    assert_nothing_is_taken(peer.world, before)


def test_a_command_that_is_lost_once_is_no_fault():
    peer = simulated('xplane12')
    # A placement, and the first five that put the flaps back to 0.
    left = {b'VEHS': 1, b'flaprqst': 5}

    def lose(data, to_peer):
        for part in left:
            if to_peer and part in data and left[part] and (
                    part == b'VEHS' or data[5:9] == bytes(4)):
                left[part] -= 1
                return []
        return [data]

    peer.tamper = lose
    assert differing(run('xplane12', peer, seconds=3.0)) == []
    assert {*left.values()} == {0}


def test_a_time_that_arrives_later_keeps_pace():
    state = VehicleState(47.0, 8.0, 500.0)
    samples = [Sample(at, state if at < 3 else replace(state, time=at)) for at in range(7)]
    found, = arrival.pace(samples, [0.02 + at for at in range(7)], '3.1')
    assert found.outcome is Outcome.SEEN


def test_another_version_is_named_as_what_it_is():
    made = run('xplane12', simulated('xplane11'), seconds=3.0, read_only=True)
    found, = differing(made)
    assert found.sentence == 'this is X-Plane 11, not 12'


def test_another_program_is_named_as_what_it_is():
    peer = simulated('xplane12')
    others = {title: one._replace(port=49009) for title, one in QUESTIONS.items()}
    with pytest.raises(UnreachableError, match=(
            r'^3 datagrams of \d+ bytes sent .*, nothing came back: .*But X-Plane 10 or later '
            r'answers at 127.0.0.1:49009$')):
        run('xpc', peer, others=others)


def test_where_nobody_answers_is_said_what_was_tried():
    peer = simulated('xplane12')
    peer.dies_at = 0.0
    with pytest.raises(UnreachableError, match='and that no firewall drops UDP'):
        run('xplane12', peer)


def test_declined_steps_are_not_taken():
    peer = simulated('xplane12')
    made = verification('xplane12', peer, seconds=3.0)
    made._asks = lambda _: False
    made.run()
    made.close()
    declined = [one for one in made.findings if one.sentence.startswith('declined: ')]
    assert len(declined) == 3
    assert not any(one.subject in ('aileron', 'pause', 'pose') for one in made.findings)


def test_what_a_person_does_is_known_and_each_may_be_declined():
    peer = simulated('xplane12')
    made = Verification(
        verified('xplane12'), MemoryNetwork(peer), Settings(3.0, read_only=True, attended=True),
        lambda text: undoes_as_told(peer, text), lambda question: does(question), {})

    def does(question):
        does_as_asked(peer, question)
        return not question.startswith('load')

    made.run()
    made.close()
    found = [(one.subject, one.outcome) for one in made.findings if one.step == 'Time']
    assert found == [
        ('paused by hand', Outcome.SEEN), ('paused by hand', Outcome.SEEN),
        ('replay', Outcome.SEEN), ('replay', Outcome.SEEN),
        ('loading', Outcome.SKIPPED), ('restart', Outcome.SEEN), ('restart', Outcome.SEEN)]
