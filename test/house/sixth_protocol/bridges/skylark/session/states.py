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

"""States of the conversation with Skylark, in the words of bridges/sessions/machine.py."""

from xplane_bridge.bridges.sessions.machine import Action, Event, State, Table, to

TABLE: Table = {
    State.OFF: {Event.START: to(State.WAITING, Action.BEGIN)},
    State.WAITING: {Event.STOP: to(State.OFF), Event.HEARD: to(State.ANSWERING)},
    State.ANSWERING: {
        Event.STOP: to(State.OFF, Action.LEAVE),
        Event.GONE: to(State.AWAY, Action.FORGET_TAKEN)},
    State.AWAY: {Event.STOP: to(State.OFF), Event.HEARD: to(State.ANSWERING)},
}
