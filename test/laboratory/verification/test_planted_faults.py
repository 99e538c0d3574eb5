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

"""Each fault that is planted in a simulated peer is found and named, and none is invented."""

import os

import pytest

pytest.importorskip('jsbsim', reason='the simulated aircraft needs JSBSim')

from planted_faults import PLANTED
from planted_web_faults import PLANTED_WEB
from verified_memory import simulated, verification

from xplane_bridge.laboratory.verification.evidence.findings import Outcome

# One of each kind; VERIFY_FAULTS=all tries all of them.
SHORT = {
    'xplane12-unit of alpha', 'xplane12-without alpha', 'xplane12-half rate',
    'xplane12-release ignored', 'xpc-byte order', 'xpc-sign of true_phi',
    'fdmdata-sign of roll', 'fdmdata-rudder ignored', 'simpit-roll as documented',
    'web_api-release ignored', 'web_api-half rate', 'web_api-unit of alpha'}
ALL = (*PLANTED, *PLANTED_WEB)
CHOSEN = [one for one in ALL
          if one.id in SHORT or os.environ.get('VERIFY_FAULTS') == 'all']


def test_the_table_has_sixty_faults_and_the_short_form_is_of_them():
    names = [one.id for one in ALL]
    assert len(names) == len({*names}) >= 60
    assert {*names} >= SHORT


@pytest.mark.parametrize('planted', CHOSEN, ids=lambda one: one.id)
def test_a_planted_fault_is_found_and_named_and_no_other(planted):
    peer = simulated(planted.peer, planted.faults, **planted.options)
    if planted.plant is not None:
        planted.plant(peer)
    made = verification(planted.peer, peer)
    try:
        made.run()
    finally:
        made.close()
    found = [one for one in made.findings if one.outcome is Outcome.DIFFERS]
    assert any(one.subject == planted.subject and planted.said in one.sentence
               for one in found), found
    assert {one.subject for one in found} <= {planted.subject, *planted.besides}, found
    assert all(one.expected and one.got for one in found)
