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
Where a conversation with Huginn stands: its tables of states.

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

from xplane_bridge.bridges.sessions.machine import (
    Action,
    end,
    Event,
    leave,
    State,
    Table,
    Teardown,
    TeardownTable,
    to,
)

_LEAVE = Action.DROP, Action.LEAVE
_FOUND = to(State.ANSWERING, Action.BEGIN)
_EXCHANGED = to(State.ANSWERING, Action.FORGET_TAKEN, Action.TELL)
_HEARD_AGAIN = to(State.DOUBTED, Action.BEGIN)
_SAME = to(State.ANSWERING, Action.FORGET_PROBE, Action.SEND_RELEASES, Action.TELL)
_OTHER = to(State.ANSWERING, Action.FORGET_PROBE, Action.FORGET_TAKEN, Action.TELL)
_IN_VAIN = end(State.OFF, Action.DROP, Action.LOOK_BACK, Action.FORGET, Action.FORGET_PROBE)

# Huginn answers the requests that it has not read, when it is only frozen: one of them is kept.
TABLE: Table = {
    State.OFF: {
        Event.START: to(State.WAITING, Action.FORGET_TAKEN, Action.BEGIN),
        Event.STOP: to(State.OFF, Action.DROP)},
    State.WAITING: {
        Event.STOP: leave(State.ABSENT, *_LEAVE),
        Event.HEARD: to(State.ANSWERING),
        Event.GONE: to(State.ABSENT, Action.SETTLE)},
    State.ABSENT: {
        Event.STOP: leave(State.ABSENT, *_LEAVE),
        Event.HEARD: _FOUND},
    State.ANSWERING: {
        Event.STOP: leave(State.ANSWERING, *_LEAVE),
        Event.OTHER: _EXCHANGED,
        Event.GONE: to(State.AWAY, Action.KEEP, Action.SETTLE, Action.FORGET)},
    State.AWAY: {
        # It may be frozen, and read this later.
        Event.STOP: leave(State.AWAY, *_LEAVE, Action.SEND_RELEASES),
        Event.HEARD: _HEARD_AGAIN},
    State.DOUBTED: {
        Event.STOP: leave(State.DOUBTED, *_LEAVE),
        Event.SAME: _SAME,
        Event.OTHER: _OTHER},
}

# It is polled on, so it is still found out where it stands, and who answers after a silence.
TEARDOWN: TeardownTable = {
    Teardown.LEAVING: {
        Event.START: end(
            State.WAITING, Action.FORGET_TAKEN, Action.FORGET, Action.FORGET_PROBE, Action.BEGIN),
        Event.SHOWN: end(State.OFF, Action.DROP, Action.FORGET, Action.FORGET_PROBE),
        Event.EXPIRED: _IN_VAIN,
        Event.ENDED: _IN_VAIN},
    (Teardown.LEAVING, State.ABSENT): {Event.HEARD: _FOUND},
    (Teardown.LEAVING, State.ANSWERING): {
        Event.OTHER: _EXCHANGED,
        # What shows the end of a pause is still outstanding.
        Event.GONE: to(State.AWAY, Action.KEEP, Action.SETTLE)},
    (Teardown.LEAVING, State.AWAY): {Event.HEARD: _HEARD_AGAIN},
    (Teardown.LEAVING, State.DOUBTED): {Event.SAME: _SAME, Event.OTHER: _OTHER},
}
