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
Where a conversation with X-Plane stands: its table of states.

X-Plane sends what was requested, so silence shows that it is not there; beacons show that it
runs, also while it loads. After a silence its running time shows whether it is the same run.

- FOUND, MOVED: a beacon, or the owner, gives the address of X-Plane, or another one than before;
  one that is heard is kept. START leads to SEARCHING, and if the address is known, one of these
  follows at once.
- HEARD: anything that X-Plane sends, after nothing was heard.
- MUTE, GONE: nothing for 1 s, or for 2.5 periods of a slow rate; MUTE while beacons come.
- SAME: its running time, in a report or a row, goes on from what it was before the silence.
  OTHER: that of two reports does not, and none that does came meanwhile; one alone may be late.
  Of one that has no running time (X-Plane 7) it is assumed that it does not go on (identity.py).
- UNDERSTOOD: its version is known, by its replies or its rows. CHANGED: it reports another
  version.
- SHOWN: its reports or rows show that all is as it was before it was taken, and no late copy of
  a command can change that any more (pending.py). ENDED: its port, on this machine, refuses what
  gives back (left.py).
"""

from __future__ import annotations

from enum import auto, Enum

from xplane_bridge.bridges.sessions.machine import Action, Event, State, Table, to


class Contact(Enum):
    """Whether X-Plane answers requests, is expected to, or is silent and only probed."""

    ANSWERS = auto()
    EXPECTED = auto()
    SILENT = auto()


# Nothing comes any more. What was taken may still be ours: that is seen when it is heard again.
_SILENCE = Action.END, Action.FORGET, Action.HOLD, Action.DROP
_LEAVE = Action.DROP, Action.END, Action.LEAVE
_OTHER_FORM = Action.DROP, Action.FORGET_TAKEN, Action.BEGIN
_MOVED = Action.LOOK_BACK, Action.CLOSE, Action.BEGIN
_MOVED_TOO_LATE = Action.LOOK_BACK, Action.TELL, Action.CLOSE, Action.BEGIN

# Before an X-Plane was heard, and while it is silent, no commands and reads are accepted, so none
# wait.
TABLE: Table = {
    State.OFF: {
        Event.START: to(State.SEARCHING),
        Event.MOVED: to(State.OFF, Action.CLOSE),
    },
    State.SEARCHING: {
        Event.STOP: to(State.LEAVING_AWAY),
        Event.FOUND: to(State.WAITING, Action.BEGIN),
        Event.MOVED: to(State.WAITING, Action.CLOSE, Action.BEGIN),
    },
    State.WAITING: {
        Event.STOP: to(State.LEAVING_AWAY, Action.LEAVE),
        Event.MOVED: to(State.MOVING_AWAY, Action.LEAVE),
        Event.HEARD: to(State.ANSWERING),
        Event.MUTE: to(State.LOADING, Action.FORGET),
        Event.GONE: to(State.AWAY, Action.FORGET),
    },
    State.ANSWERING: {
        Event.STOP: to(State.LEAVING, *_LEAVE),
        Event.OTHER: to(
            State.ANSWERING, Action.DROP, Action.HOLD, Action.AGAIN, Action.FORGET_TAKEN),
        Event.UNDERSTOOD: to(State.ANSWERING, Action.BEGIN),
        Event.CHANGED: to(State.ANSWERING, *_OTHER_FORM),
        Event.MUTE: to(State.LOADING, *_SILENCE),
        Event.GONE: to(State.AWAY, *_SILENCE),
    },
    State.DOUBTED: {
        Event.STOP: to(State.LEAVING, Action.RESTORE, *_LEAVE),
        Event.SAME: to(State.ANSWERING, Action.RESTORE, Action.SEND_RELEASES),
        Event.OTHER: to(State.ANSWERING, Action.FORGET_TAKEN),
        Event.CHANGED: to(State.ANSWERING, *_OTHER_FORM),
        Event.MUTE: to(State.LOADING, *_SILENCE),
        Event.GONE: to(State.AWAY, *_SILENCE),
    },
    # Whoever is silent may be the same run, which reads what gives back when it goes on.
    State.LOADING: {
        Event.STOP: to(State.LEAVING_LOADING, Action.RESTORE, Action.LEAVE),
        Event.MOVED: to(State.MOVING_LOADING, Action.RESTORE, Action.LEAVE),
        Event.HEARD: to(State.DOUBTED, Action.RESUME, Action.CHECK),
        Event.GONE: to(State.AWAY),
    },
    State.AWAY: {
        Event.STOP: to(State.LEAVING_AWAY, Action.RESTORE, Action.LEAVE),
        Event.MOVED: to(State.MOVING_AWAY, Action.RESTORE, Action.LEAVE),
        Event.HEARD: to(State.DOUBTED, Action.RESUME, Action.CHECK),
        Event.MUTE: to(State.LOADING),
    },
    # After the owner's stop.
    State.LEAVING: {
        Event.START: to(State.SEARCHING, Action.LOOK_BACK),
        Event.OTHER: to(State.LEAVING, Action.HOLD, Action.FORGET_TAKEN),
        Event.SHOWN: to(State.OFF, Action.LOOK_BACK),
        Event.EXPIRED: to(State.OFF, Action.LOOK_BACK),
        Event.ENDED: to(State.OFF, Action.LOOK_BACK),
    },
    State.LEAVING_LOADING: {
        Event.START: to(State.SEARCHING, Action.LOOK_BACK),
        Event.HEARD: to(State.LEAVING),
        Event.SHOWN: to(State.OFF, Action.LOOK_BACK),
        Event.EXPIRED: to(State.OFF, Action.LOOK_BACK),
        Event.ENDED: to(State.OFF, Action.LOOK_BACK),
    },
    State.LEAVING_AWAY: {
        Event.START: to(State.SEARCHING, Action.LOOK_BACK),
        Event.HEARD: to(State.LEAVING),
        Event.SHOWN: to(State.OFF, Action.LOOK_BACK),
        Event.EXPIRED: to(State.OFF, Action.LOOK_BACK),
        Event.ENDED: to(State.OFF, Action.LOOK_BACK),
    },
    # For another address. One that is heard is kept, so it was silent.
    State.MOVING: {
        Event.STOP: to(State.LEAVING),
        Event.OTHER: to(State.MOVING, Action.HOLD, Action.FORGET_TAKEN),
        Event.SHOWN: to(State.WAITING, *_MOVED),
        Event.EXPIRED: to(State.WAITING, *_MOVED_TOO_LATE),
    },
    State.MOVING_LOADING: {
        Event.STOP: to(State.LEAVING_LOADING),
        Event.HEARD: to(State.MOVING),
        Event.SHOWN: to(State.WAITING, *_MOVED),
        Event.EXPIRED: to(State.WAITING, *_MOVED_TOO_LATE),
    },
    State.MOVING_AWAY: {
        Event.STOP: to(State.LEAVING_AWAY),
        Event.HEARD: to(State.MOVING),
        Event.SHOWN: to(State.WAITING, *_MOVED),
        Event.EXPIRED: to(State.WAITING, *_MOVED_TOO_LATE),
    },
}
