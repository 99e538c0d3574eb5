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
Where a conversation with an X-Plane Connect plugin stands: its tables of states.

The plugin answers requests only. So whether it is there is seen from its replies, and from the
beacons that it sends once per second, also while X-Plane is loading and answers nothing. From
the first reply after a silence commands wait until it is known who answers; one that cannot be
told from another (no aircraft is polled, or lockstep) is believed at once.

- HEARD: any reply; while leaving, one to a question asked since, or that was overdue.
- STALLED: a reply is overdue by 0.25 s, over a slow network by more (peer.py).
- MUTE: none for 1 s, over a slow network for longer, and the last beacon is at most 3.5 s old.
  GONE: nor is there a beacon.
- ODD: X-Plane's running time, or the format of a position, does not fit; it is asked on new
  channels, which no copy of an earlier reply reaches. OTHER: there it does not fit either, or two
  beacons, a second apart, tell of another X-Plane (identity.py). SAME: position and running time
  fit.
- SHOWN: X-Plane's own values show that all is as it was before it was taken, and nothing that took
  it can come late any more (written.py).
"""

from __future__ import annotations

from xplane_bridge.bridges.sessions.machine import (
    Action,
    end,
    Event,
    leave,
    State,
    stay,
    Table,
    Teardown,
    TeardownTable,
    to,
)

_START = Action.BEGIN, Action.FORGET_TAKEN, Action.FORGET
# Also to a silent one: one that is loading reads it when it goes on.
_LEAVE = Action.DROP, Action.LEAVE, Action.FORGET
_END = end(State.OFF, Action.LOOK_BACK, Action.CLOSE)
# Nothing answers any more.
_SILENCE = Action.DROP_UNLESS_LOCKSTEP, Action.END, Action.FORGET
# Another X-Plane has no history. Nothing was taken from it, but by commands to the one before
# that it may have read.
_OTHER = Action.FORGET_TAKEN, Action.TELL, Action.DROP

# Before the first reply nothing is taken, nor waits. From the first reply after silence, commands
# wait until it is known whose it is; who cannot be told from another is believed at once.
TABLE: Table = {
    State.OFF: {
        Event.START: to(State.WAITING, *_START),
    },
    State.WAITING: {
        Event.STOP: to(State.OFF, Action.FORGET),
        Event.HEARD: to(State.ANSWERING),
        Event.STALLED: to(State.WAITING_LONG),
        Event.OTHER: to(State.WAITING, Action.TELL, Action.FORGET_FRAME),
        Event.MUTE: to(State.LOADING, Action.FORGET),
        Event.GONE: to(State.AWAY, Action.FORGET),
    },
    State.WAITING_LONG: {
        Event.STOP: to(State.OFF, Action.FORGET),
        Event.HEARD: to(State.DOUBTED),
        Event.OTHER: to(State.WAITING_LONG, Action.TELL, Action.FORGET_FRAME),
        Event.MUTE: to(State.LOADING, Action.FORGET),
        Event.GONE: to(State.AWAY, Action.FORGET),
    },
    State.ANSWERING: {
        Event.STOP: leave(State.DOUBTED, *_LEAVE, Action.END),
        Event.STALLED: to(State.DOUBTED),
        Event.ODD: to(State.DOUBTED, Action.HURRY),
        Event.OTHER: to(State.ANSWERING, *_OTHER, Action.END, Action.FORGET_FRAME),
        Event.MUTE: to(State.LOADING, *_SILENCE),
        Event.GONE: to(State.AWAY, *_SILENCE),
    },
    State.DOUBTED: {
        Event.STOP: leave(State.DOUBTED, *_LEAVE, Action.END),
        Event.ODD: to(State.DOUBTED, Action.HURRY),
        Event.SAME: to(State.ANSWERING),
        Event.OTHER: to(State.DOUBTED, *_OTHER, Action.END, Action.FORGET_FRAME),
        Event.MUTE: to(State.LOADING, *_SILENCE),
        Event.GONE: to(State.AWAY, *_SILENCE),
    },
    State.LOADING: {
        Event.STOP: leave(State.LOADING, *_LEAVE),
        Event.HEARD: to(State.DOUBTED, Action.FORGET_FRAME),
        Event.OTHER: to(State.LOADING, *_OTHER, Action.FORGET_FRAME),
        Event.GONE: to(State.AWAY),
    },
    State.AWAY: {
        Event.STOP: leave(State.AWAY, *_LEAVE),
        Event.HEARD: to(State.DOUBTED, Action.FORGET_FRAME),
        Event.OTHER: to(State.AWAY, *_OTHER, Action.FORGET_FRAME),
        Event.MUTE: to(State.LOADING),
    },
}

# One that answered when it was left is doubted until it is heard again.
TEARDOWN: TeardownTable = {
    Teardown.LEAVING: {
        Event.START: end(State.WAITING, *_START),
        Event.HEARD: to(State.ANSWERING),
        Event.OTHER: stay(Action.FORGET_TAKEN),
        Event.SHOWN: _END,
        Event.EXPIRED: _END,
        Event.ENDED: _END,
    },
    (Teardown.LEAVING, State.AWAY): {
        Event.MUTE: to(State.LOADING),
    },
}
