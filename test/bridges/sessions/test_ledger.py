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

"""The ledger of what was taken."""

from xplane_bridge.bridges.sessions.ledger import Held, Ledger


def test_what_is_given_back_is_owed_until_it_is_forgotten():
    ledger = Ledger()
    ledger.take(0, 'throttle', 0.3)
    ledger.take(3, 'elevator')
    assert ledger.names == ('throttle', 'elevator of aircraft 3')
    entry, = ledger.release(3)
    assert (entry.vehicle, entry.value, entry.held) == (3, 'elevator', Held.UNCONFIRMED)
    assert ledger.names == ('throttle',)
    assert ledger.unconfirmed == ('elevator of aircraft 3',)
    assert (3, 'elevator') not in ledger
    assert not ledger.release(3), 'it is owed already'
    assert ledger.entries() != ledger.entries(held=Held.UNCONFIRMED)
    ledger.forget(3, 'elevator')
    assert ledger.unconfirmed == ()


def test_only_these_values_are_given_back():
    ledger = Ledger()
    ledger.take(0, 'throttle')
    ledger.take(0, 'text')
    ledger.release(0, ('text',))
    assert ledger.names == ('throttle',)
    assert ledger.unconfirmed == ('text',)


def test_what_is_taken_again_while_owed_keeps_its_original_value():
    ledger = Ledger()
    ledger.take(0, 'throttle', 0.3)
    ledger.release()
    ledger.take(0, 'throttle', 0.9)
    assert ledger.unconfirmed == ()
    assert ledger.release()[0].before == 0.3
