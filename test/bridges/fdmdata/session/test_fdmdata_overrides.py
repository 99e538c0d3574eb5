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

"""What is taken from one run of Huginn, step by step."""

import pytest

from xplane_bridge.bridges.fdmdata.protocol import ControlPositions
from xplane_bridge.bridges.fdmdata.session.overrides import Overrides
from xplane_bridge.bridges.sessions.base import Left


def commanded(**given):
    """Return what is taken after the first command."""
    overrides = Overrides()
    overrides.sent(overrides.merged({'throttle': 0.5, **given}), {'throttle': 0.5, **given})
    return overrides


def numbers(controls):
    """Return aileron, elevator, rudder and throttle."""
    return controls.aileron, controls.elevator, controls.rudder, controls.throttle


def test_what_is_not_commanded_stays_as_it_was_sent():
    overrides = Overrides()
    with pytest.raises(ValueError, match='the first command must include the throttle'):
        overrides.merged({'elevator': 0.1})
    assert (overrides.known, overrides.names, overrides.unconfirmed) == (None, (), ())
    first = overrides.merged({'throttle': 0.5, 'rudder': 0.2})
    assert numbers(first) == (0.0, 0.0, 0.2, 0.5)
    assert overrides.known is None
    overrides.sent(first, {'throttle': 0.5, 'rudder': 0.2})
    assert numbers(overrides.merged({'elevator': -0.3})) == (0.0, -0.3, 0.2, 0.5)
    assert numbers(overrides.merged({'aileron': 0.0, 'throttle': 0.7})) == (0.0, 0.0, 0.2, 0.7)
    assert overrides.names == ('throttle', 'rudder')


def test_surfaces_that_were_commanded_are_centred_for_a_while_and_the_throttle_stays():
    overrides = commanded(elevator=0.4, aileron=0.3)
    assert (overrides.due(10.0, 3.0), overrides.deadline) == (None, None)
    overrides.centre(10.0)
    assert (overrides.names, {*overrides.unconfirmed}) == ((), {'elevator', 'aileron'})
    assert overrides.deadline is not None
    sent = overrides.due(10.0, 3.0)
    assert numbers(sent) == (0.0, 0.0, 0.0, 0.5)
    assert overrides.known is sent
    times = []
    while (at := overrides.deadline) is not None and len(times) < 100:
        if overrides.due(at, 3.0):
            times.append(at)
    assert 12.0 < times[-1] <= 13.0
    assert (overrides.unconfirmed, overrides.deadline) == ((), None)
    # They are known to be centred: what is commanded now moves nothing else.
    assert numbers(overrides.merged({'rudder': 1.0})) == (0.0, 0.0, 1.0, 0.5)


def test_a_surface_that_is_commanded_again_is_centred_no_more():
    overrides = commanded(elevator=0.4, aileron=0.3)
    overrides.centre(10.0)
    overrides.sent(overrides.merged({'elevator': 0.2}), {'elevator': 0.2})
    assert (overrides.unconfirmed, overrides.names) == (('aileron',), ('elevator',))
    assert numbers(overrides.due(10.0, 3.0)) == (0.0, 0.2, 0.0, 0.5)


def test_without_a_surface_there_is_nothing_to_centre():
    for overrides in (Overrides(), commanded()):
        before = overrides.known
        overrides.centre(10.0)
        assert (overrides.unconfirmed, overrides.deadline, overrides.known) == ((), None, before)


def test_giving_back_is_begun_again_on_demand():
    overrides = commanded(elevator=0.4)
    overrides.centre(10.0)
    while overrides.deadline is not None and overrides.deadline < 11.5:
        overrides.due(overrides.deadline, 3.0)
    overrides.repeat(12.0)
    assert overrides.due(12.0, 3.0) is not None
    assert overrides.due(14.9, 3.0) is not None
    assert overrides.unconfirmed == ('elevator',)


def test_a_pause_is_owed_until_the_data_show_that_it_is_over():
    overrides = Overrides()
    assert not overrides.is_paused
    assert overrides.paused_at == 0.0
    overrides.take_pause(5.0)
    assert (overrides.is_paused, overrides.paused_at, overrides.names, overrides.unconfirmed) == (
        True, 5.0, ('pause',), ())
    overrides.give_back(8.0)
    assert (overrides.is_paused, overrides.paused_at, overrides.names, overrides.unconfirmed) == (
        True, 8.0, (), ('pause',))
    # A pause is given back by looking on; nothing is sent for it.
    assert overrides.due(8.0, 3.0) is None
    overrides.forget_pause()
    assert (overrides.is_paused, overrides.unconfirmed) == (False, ())
    both = commanded(elevator=0.4)
    both.take_pause(5.0)
    both.give_back(8.0)
    assert both.unconfirmed == ('elevator', 'pause')
    both.forget_controls()
    assert (both.unconfirmed, both.known, both.deadline) == (('pause',), None, None)


def test_what_is_owed_in_the_end_is_told_and_forgotten():
    def owing(*, paused=False):
        overrides = commanded(elevator=0.4)
        if paused:
            overrides.take_pause(1.0)
        overrides.give_back(2.0)
        return overrides

    silent = owing(paused=True)
    left = silent.look_back('Huginn is silent', '1.2.3.4')
    assert left.unconfirmed == ('elevator', 'pause')
    assert left.reason.startswith('Huginn is silent. It gets nothing more from here: ')
    assert not left.is_error
    assert (silent.unconfirmed, silent.names) == ((), ())
    assert (silent.known, silent.is_paused) == (None, False)
    left = owing(paused=True).look_back('', '1.2.3.4')
    assert left == Left(('pause',), (
        'Huginn at 1.2.3.4 answers, but its data do not change: resume it (huginn_control.py '
        'resume)'), is_error=True)
    assert owing().look_back('', '1.2.3.4') == Left()


def test_controls_have_their_places():
    assert ControlPositions(0.1, 0.2, 0.3, 0.4) == ControlPositions(
        aileron=0.1, elevator=0.2, rudder=0.3, throttle=0.4)
