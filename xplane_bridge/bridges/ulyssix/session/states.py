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

"""
Where a conversation with a Ulyssix publisher stands: its table of states.

A publisher is only listened to: nothing is ever sent, requested or taken.

- HEARD: any packet.
- GONE: no packet for 2 s.
- OTHER: its packet numbers, samples or times show that it counts anew (counting.py).
"""

from __future__ import annotations

from xplane_bridge.bridges.sessions.machine import Action, Event, State, Table, to

TABLE: Table = {
    State.OFF: {
        Event.START: to(State.WAITING)},
    State.WAITING: {
        Event.STOP: to(State.OFF),
        Event.HEARD: to(State.STREAMING),
        Event.GONE: to(State.WAITING, Action.TELL_STATE)},
    State.STREAMING: {
        Event.STOP: to(State.OFF, Action.SETTLE, Action.FORGET),
        Event.OTHER: to(State.STREAMING, Action.TELL),
        Event.GONE: to(State.SILENT, Action.SETTLE)},
    State.SILENT: {
        Event.STOP: to(State.OFF, Action.FORGET),
        Event.HEARD: to(State.STREAMING)},
}
