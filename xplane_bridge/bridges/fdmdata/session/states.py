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
Where a conversation with Huginn stands: its table of states.

Huginn answers requests only. It reads what was sent to it while it was frozen, and so one
request from before a silence is kept: only the same Huginn can answer it. Of one that answers,
its data show more: *held*, if they do not change for 2 s, and *broken*, if they contain NaN
(peer.py).

- HEARD: any reply.
- GONE: no reply for 1 s, although something was asked.
- SAME: the request from before the silence is answered; or the aircraft, which was in flight, is
  where it must be if it flew on, and flies as before, as two replies show (identity.py).
- OTHER: neither within 0.25 s of the first reply; or the aircraft is suddenly elsewhere, as two
  replies show, although nobody has reset it from here.
- SHOWN: the data change again after a pause from here; surfaces, which the protocol does not
  show, are sent as centred until EXPIRED. ENDED: Huginn's port, on this machine, refuses what
  is sent (left.py).
"""

from __future__ import annotations

from xplane_bridge.bridges.sessions.machine import Action, Event, State, Table, to

# Huginn answers the requests that it has not read, when it is only frozen: one of them is kept.
TABLE: Table = {
    State.OFF: {
        Event.START: to(State.WAITING, Action.FORGET_TAKEN, Action.BEGIN),
        Event.STOP: to(State.OFF, Action.DROP)},
    State.WAITING: {
        Event.STOP: to(State.LEAVING_ABSENT, Action.DROP, Action.LEAVE),
        Event.HEARD: to(State.ANSWERING),
        Event.GONE: to(State.ABSENT, Action.SETTLE)},
    State.ABSENT: {
        Event.STOP: to(State.LEAVING_ABSENT, Action.DROP, Action.LEAVE),
        Event.HEARD: to(State.ANSWERING, Action.BEGIN)},
    State.ANSWERING: {
        Event.STOP: to(State.LEAVING, Action.DROP, Action.LEAVE),
        Event.OTHER: to(State.ANSWERING, Action.FORGET_TAKEN, Action.TELL),
        Event.GONE: to(State.AWAY, Action.KEEP, Action.SETTLE, Action.FORGET)},
    State.AWAY: {
        # It may be frozen, and read this later.
        Event.STOP: to(State.LEAVING_AWAY, Action.DROP, Action.LEAVE, Action.SEND_RELEASES),
        Event.HEARD: to(State.DOUBTED, Action.BEGIN)},
    State.DOUBTED: {
        Event.STOP: to(State.LEAVING_DOUBTED, Action.DROP, Action.LEAVE),
        Event.SAME: to(State.ANSWERING, Action.FORGET_PROBE, Action.SEND_RELEASES, Action.TELL),
        Event.OTHER: to(State.ANSWERING, Action.FORGET_PROBE, Action.FORGET_TAKEN, Action.TELL)},

    State.LEAVING: {
        Event.START: to(State.WAITING, Action.FORGET_TAKEN, Action.FORGET, Action.BEGIN),
        Event.SHOWN: to(State.OFF, Action.DROP, Action.FORGET),
        Event.EXPIRED: to(State.OFF, Action.DROP, Action.LOOK_BACK, Action.FORGET),
        Event.ENDED: to(State.OFF, Action.DROP, Action.LOOK_BACK, Action.FORGET),
        Event.OTHER: to(State.LEAVING, Action.FORGET_TAKEN, Action.TELL),
        Event.GONE: to(State.LEAVING_AWAY, Action.KEEP, Action.SETTLE)},
    State.LEAVING_AWAY: {
        Event.START: to(
            State.WAITING, Action.FORGET_TAKEN, Action.FORGET, Action.FORGET_PROBE, Action.BEGIN),
        Event.SHOWN: to(State.OFF, Action.DROP, Action.FORGET, Action.FORGET_PROBE),
        Event.EXPIRED: to(
            State.OFF, Action.DROP, Action.LOOK_BACK, Action.FORGET, Action.FORGET_PROBE),
        Event.ENDED: to(
            State.OFF, Action.DROP, Action.LOOK_BACK, Action.FORGET, Action.FORGET_PROBE),
        Event.HEARD: to(State.LEAVING_DOUBTED, Action.BEGIN)},
    State.LEAVING_DOUBTED: {
        Event.START: to(
            State.WAITING, Action.FORGET_TAKEN, Action.FORGET, Action.FORGET_PROBE, Action.BEGIN),
        Event.SHOWN: to(State.OFF, Action.DROP, Action.FORGET, Action.FORGET_PROBE),
        Event.EXPIRED: to(
            State.OFF, Action.DROP, Action.LOOK_BACK, Action.FORGET, Action.FORGET_PROBE),
        Event.ENDED: to(
            State.OFF, Action.DROP, Action.LOOK_BACK, Action.FORGET, Action.FORGET_PROBE),
        Event.SAME: to(State.LEAVING, Action.FORGET_PROBE, Action.SEND_RELEASES, Action.TELL),
        Event.OTHER: to(State.LEAVING, Action.FORGET_PROBE, Action.FORGET_TAKEN, Action.TELL)},
    State.LEAVING_ABSENT: {
        Event.START: to(State.WAITING, Action.FORGET_TAKEN, Action.FORGET, Action.BEGIN),
        Event.SHOWN: to(State.OFF, Action.DROP, Action.FORGET),
        Event.EXPIRED: to(State.OFF, Action.DROP, Action.LOOK_BACK, Action.FORGET),
        Event.ENDED: to(State.OFF, Action.DROP, Action.LOOK_BACK, Action.FORGET),
        Event.HEARD: to(State.LEAVING, Action.BEGIN)},
}
