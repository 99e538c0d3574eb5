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

from xplane_bridge.bridges.sessions.machine import Do, State, Table, to, What

# Huginn answers the requests that it has not read, when it is only frozen: one of them is kept.
TABLE: Table = {
    State.OFF: {
        What.START: to(State.WAITING, Do.DISOWN, Do.BEGIN),
        What.STOP: to(State.OFF, Do.DROP)},
    State.WAITING: {
        What.STOP: to(State.LEAVING_ABSENT, Do.DROP, Do.LEAVE),
        What.HEARD: to(State.ANSWERING),
        What.GONE: to(State.ABSENT, Do.SETTLE)},
    State.ABSENT: {
        What.STOP: to(State.LEAVING_ABSENT, Do.DROP, Do.LEAVE),
        What.HEARD: to(State.ANSWERING, Do.BEGIN)},
    State.ANSWERING: {
        What.STOP: to(State.LEAVING, Do.DROP, Do.LEAVE),
        What.OTHER: to(State.ANSWERING, Do.DISOWN, Do.TELL),
        What.GONE: to(State.AWAY, Do.KEEP, Do.SETTLE, Do.FORGET)},
    State.AWAY: {
        # It may be frozen, and read this later.
        What.STOP: to(State.LEAVING_AWAY, Do.DROP, Do.LEAVE, Do.PAY),
        What.HEARD: to(State.DOUBTED, Do.BEGIN)},
    State.DOUBTED: {
        What.STOP: to(State.LEAVING_DOUBTED, Do.DROP, Do.LEAVE),
        What.SAME: to(State.ANSWERING, Do.LET_GO, Do.PAY, Do.TELL),
        What.OTHER: to(State.ANSWERING, Do.LET_GO, Do.DISOWN, Do.TELL)},

    State.LEAVING: {
        What.START: to(State.WAITING, Do.DISOWN, Do.FORGET, Do.BEGIN),
        What.SHOWN: to(State.OFF, Do.DROP, Do.FORGET),
        What.EXPIRED: to(State.OFF, Do.DROP, Do.LOOK_BACK, Do.FORGET),
        What.ENDED: to(State.OFF, Do.DROP, Do.LOOK_BACK, Do.FORGET),
        What.OTHER: to(State.LEAVING, Do.DISOWN, Do.TELL),
        What.GONE: to(State.LEAVING_AWAY, Do.KEEP, Do.SETTLE)},
    State.LEAVING_AWAY: {
        What.START: to(State.WAITING, Do.DISOWN, Do.FORGET, Do.LET_GO, Do.BEGIN),
        What.SHOWN: to(State.OFF, Do.DROP, Do.FORGET, Do.LET_GO),
        What.EXPIRED: to(State.OFF, Do.DROP, Do.LOOK_BACK, Do.FORGET, Do.LET_GO),
        What.ENDED: to(State.OFF, Do.DROP, Do.LOOK_BACK, Do.FORGET, Do.LET_GO),
        What.HEARD: to(State.LEAVING_DOUBTED, Do.BEGIN)},
    State.LEAVING_DOUBTED: {
        What.START: to(State.WAITING, Do.DISOWN, Do.FORGET, Do.LET_GO, Do.BEGIN),
        What.SHOWN: to(State.OFF, Do.DROP, Do.FORGET, Do.LET_GO),
        What.EXPIRED: to(State.OFF, Do.DROP, Do.LOOK_BACK, Do.FORGET, Do.LET_GO),
        What.ENDED: to(State.OFF, Do.DROP, Do.LOOK_BACK, Do.FORGET, Do.LET_GO),
        What.SAME: to(State.LEAVING, Do.LET_GO, Do.PAY, Do.TELL),
        What.OTHER: to(State.LEAVING, Do.LET_GO, Do.DISOWN, Do.TELL)},
    State.LEAVING_ABSENT: {
        What.START: to(State.WAITING, Do.DISOWN, Do.FORGET, Do.BEGIN),
        What.SHOWN: to(State.OFF, Do.DROP, Do.FORGET),
        What.EXPIRED: to(State.OFF, Do.DROP, Do.LOOK_BACK, Do.FORGET),
        What.ENDED: to(State.OFF, Do.DROP, Do.LOOK_BACK, Do.FORGET),
        What.HEARD: to(State.LEAVING, Do.BEGIN)},
}
