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


"""What was taken goes back to the plugin that it was taken from, and to no other kind."""

import pytest

from xplane_bridge.bridges.simpit import protocol as simpit
from xplane_bridge.bridges.simpit.protocol import (
    AXES,
    axis_message,
    KeyModifiers,
    PROFILES,
    THROTTLE,
)
from xplane_bridge.bridges.simpit.session.overrides import Overrides

OLD, NEW = PROFILES['v2'], PROFILES['cobs']
PITCH = next(name for name in AXES if name != THROTTLE)


def taken(profile, *names):
    """Return what is taken once these axes and key 7 were sent to a plugin."""
    found = Overrides()
    for name in names:
        found.note(axis_message(AXES[name], {name: 1000}), profile)
    found.note(simpit.Keyboard(KeyModifiers.DOWN_ONLY, 7), profile)
    return found


def test_axes_and_keys_are_given_back_until_time_is_up():
    found = taken(OLD, PITCH)
    assert found.names == (PITCH, 'key 7')
    found.give_back(OLD, 0.0)
    assert found.names == ()
    assert found.unconfirmed == (PITCH, 'key 7')
    back = [simpit.encode(message, 'bridge', OLD) for message in (
        axis_message(AXES[PITCH], {PITCH: 0}), simpit.Keyboard(KeyModifiers.UP_ONLY, 7))]
    assert found.repeat(OLD, 0.0, 1.0) == back
    # Who did not say yet which it is may be the same one.
    assert found.repeat(None, 0.5, 1.0) == back
    found.repeat(OLD, 2.0, 1.0)
    assert found.unconfirmed == ()
    assert found.deadline is None


@pytest.mark.parametrize(('first', 'other'), [(OLD, NEW), (NEW, OLD)])
def test_a_plugin_of_another_framing_holds_none_of_it(first, other):
    found = taken(first, PITCH)
    found.give_back(other, 0.0)
    assert found.repeat(other, 0.0, 1.0) == []
    assert found.unconfirmed == ()


def test_what_was_sent_again_is_owed_no_more():
    found = taken(OLD, PITCH)
    found.give_back(OLD, 0.0, [PITCH])
    assert (found.names, found.unconfirmed) == (('key 7',), (PITCH,))
    found.note(axis_message(AXES[PITCH], {PITCH: 5}), OLD)
    assert (found.names, found.unconfirmed) == (('key 7', PITCH), ())
    found.note(simpit.Keyboard(KeyModifiers.UP_ONLY, 7), OLD)
    found.note(axis_message(AXES[PITCH], {PITCH: 0}), OLD)
    assert found.names == ()


@pytest.mark.parametrize('profile', [OLD, PROFILES['v2.3']], ids=lambda one: one.name)
def test_the_throttle_is_given_back_on_demand_where_the_plugin_lets_go_of_it(profile):
    found = taken(profile, THROTTLE)
    found.give_back(profile, 0.0)
    assert found.names == (THROTTLE,)
    found.give_back(profile, 0.0, throttle=True)
    assert (THROTTLE in found.unconfirmed) is profile.throttle_lets_go
    again = found.repeat(None, 0.0, 1.0, blind=True)
    assert again == [simpit.encode(
        simpit.Keyboard(KeyModifiers.UP_ONLY, 7), 'bridge', profile)]
    # A value of 0 takes it from who would close it.
    found.note(axis_message(AXES[THROTTLE], {THROTTLE: 0}), profile)
    assert (THROTTLE in found.names) is not profile.throttle_lets_go


def test_another_plugin_has_nothing_and_without_a_flight_no_axis_is_forced():
    found = taken(OLD, PITCH)
    found.land()
    assert found.names == ('key 7',)
    found.give_back(OLD, 0.0)
    found.disown()
    assert (found.names, found.unconfirmed) == ((), ())


@pytest.mark.parametrize('holds', [False, True])
def test_what_lapses_are_reports_and_who_held_what_is_no_longer_taken(holds):
    found = taken(OLD, PITCH) if holds else Overrides()
    for value in (0.0, 20_000.0):
        found.ownership.admit('desk', {PITCH: value}, 0.0)
    found.reports.on_message(simpit.ActionStatus(simpit.ActionGroup.GEAR), 0.0)
    assert found.reports.active is simpit.ActionGroup.GEAR
    found.lapse()
    assert found.reports.active is None
    # A key and an axis of the stack are taken: the cockpit keeps what it holds.
    assert (PITCH in found.ownership.without_cockpits(None)) is not holds
