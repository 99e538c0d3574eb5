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

"""What a verification says of the simulated Web API; whatever ends it, nothing stays changed."""

from functools import partial
import os
import random

import pytest

pytest.importorskip('jsbsim', reason='the simulated aircraft needs JSBSim')

from planted_faults import does_as_asked, undoes_as_told
from verified_web import SimulatedWeb, web_verification

from xplane_bridge.laboratory.verification.evidence.findings import Outcome
from xplane_bridge.laboratory.verification.reach import UnreachableError
from xplane_bridge.laboratory.verification.web import BRAKES, FLAPS, TAIL

INSTANTS = 3 * int(os.environ.get('VERIFY_INSTANTS', '1'))


def run(web, **options):
    made = web_verification(web, **options)
    try:
        made.run()
    finally:
        made.close()
    return made


def changed(web):
    """Return what a verification may have left behind."""
    return (web.world.held, web.world.paused, web.api.store.read(FLAPS),
            web.api.store.read(TAIL))


def test_of_a_web_api_without_fault_nothing_differs():
    web = SimulatedWeb(waves=True)
    before = changed(web)
    made = run(web, seconds=10.0)
    assert [one for one in made.findings if one.outcome is Outcome.DIFFERS] == []
    seen = {one.requirement for one in made.findings if one.outcome is Outcome.SEEN}
    assert seen >= {'WEB-03', 'WEB-04', 'WEB-06', 'WEB-07', 'WEB-08', 'WEB-09', 'WEB-11',
                    'WEB-12', 'WEB-13', 'WEB-14', '1.12', '1.35', '3.5'}
    assert changed(web) == before
    assert made.left == made.gave_back == ()
    assert made.program == 'X-Plane 12.4.0, Web API v1, v2, v3'


def test_an_older_one_is_only_said_to_start_no_flights():
    made = run(SimulatedWeb('v2'), seconds=3.0, read_only=True)
    assert 'X-Plane 12.1.4 cannot start flights by its Web API' in str(made.findings)
    assert not any(one.outcome is Outcome.DIFFERS for one in made.findings)


def test_only_reading_writes_nothing():
    web = SimulatedWeb()
    asked, answer = [], web.api.answer
    web.api.answer = lambda method, path, body=b'': asked.append(method) or answer(
        method, path, body)
    run(web, seconds=3.0, read_only=True)
    assert {*asked} == {'GET'}
    assert not web.api.store._holds


def test_an_interrupt_at_any_time_gives_back_what_was_changed():
    chance = random.Random('web interrupts')
    undisturbed = SimulatedWeb()
    run(undisturbed, seconds=3.0)
    for _ in range(INSTANTS):
        web = SimulatedWeb()
        before = changed(web)
        web.interrupted_at = chance.uniform(0.0, undisturbed.now)
        made = web_verification(web, seconds=3.0)
        with pytest.raises(KeyboardInterrupt):
            made.run()
        made.close()
        for _ in range(20):
            web.frame()
        assert made.left == ()
        assert changed(web) == before


def test_one_that_stops_responding_ends_it_and_says_what_may_be_left():
    web = SimulatedWeb()
    hold = web.api.store.hold

    def held(holder, name, seconds):
        web.dies_at = web.now + 0.3
        hold(holder, name, seconds)

    web.api.store.hold = held
    made = run(web, seconds=3.0)
    assert 'it stopped responding' in made.findings[-1].sentence
    left, = made.left
    assert left.startswith(f'{BRAKES}: ')
    assert 'X-Plane ends it within 10 s' in left


def test_what_a_person_does_is_known():
    web = SimulatedWeb()

    def does(question):
        does_as_asked(web, question)
        return True

    made = run(web, seconds=3.0, read_only=True, attended=True, asks=does,
               tell=partial(undoes_as_told, web))
    assert [(one.subject, one.outcome) for one in made.findings if one.step == 'Time'] == [
        (subject, Outcome.SEEN) for subject in ('paused by hand', 'replay', 'restart')
        for _ in range(2)]


def test_where_nobody_answers_is_said_where_it_is():
    web = SimulatedWeb()
    web.dies_at = 0.0
    with pytest.raises(UnreachableError, match='on TCP port 8086 of its own computer only'):
        run(web)
