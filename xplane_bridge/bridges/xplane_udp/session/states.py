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
Where a conversation with X-Plane stands: its tables of states.

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

from xplane_bridge.bridges.sessions.machine import (
    Action,
    Cell,
    end,
    Event,
    leave,
    move,
    State,
    stay,
    Table,
    Teardown,
    TeardownTable,
    to,
)


class Contact(Enum):
    """Whether X-Plane answers requests, is expected to, or is silent and only probed."""

    ANSWERS = auto()
    EXPECTED = auto()
    SILENT = auto()


# Nothing comes any more. What was taken may still be ours: that is seen when it is heard again.
_SILENCE = Action.END, Action.FORGET, Action.HOLD, Action.DROP
_LEAVE = Action.DROP, Action.END, Action.LEAVE
_OTHER_FORM = Action.DROP, Action.FORGET_TAKEN, Action.BEGIN
_OTHER_RUN = Action.HOLD, Action.FORGET_TAKEN
_LEFT = end(State.OFF, Action.LOOK_BACK)

# Before an X-Plane was heard, and while it is silent, no commands and reads are accepted, so none
# wait.
TABLE: Table = {
    State.OFF: {
        Event.START: to(State.SEARCHING),
        Event.MOVED: to(State.OFF, Action.CLOSE),
    },
    State.SEARCHING: {
        Event.STOP: leave(State.AWAY),
        Event.FOUND: to(State.WAITING, Action.BEGIN),
        Event.MOVED: to(State.WAITING, Action.CLOSE, Action.BEGIN),
    },
    State.WAITING: {
        Event.STOP: leave(State.AWAY, Action.LEAVE),
        Event.MOVED: move(State.AWAY, Action.LEAVE),
        Event.HEARD: to(State.ANSWERING),
        Event.MUTE: to(State.LOADING, Action.FORGET),
        Event.GONE: to(State.AWAY, Action.FORGET),
    },
    State.ANSWERING: {
        Event.STOP: leave(State.ANSWERING, *_LEAVE),
        Event.OTHER: to(
            State.ANSWERING, Action.DROP, Action.HOLD, Action.AGAIN, Action.FORGET_TAKEN),
        Event.UNDERSTOOD: to(State.ANSWERING, Action.BEGIN),
        Event.CHANGED: to(State.ANSWERING, *_OTHER_FORM),
        Event.MUTE: to(State.LOADING, *_SILENCE),
        Event.GONE: to(State.AWAY, *_SILENCE),
    },
    State.DOUBTED: {
        Event.STOP: leave(State.ANSWERING, Action.RESTORE, *_LEAVE),
        Event.SAME: to(State.ANSWERING, Action.RESTORE, Action.SEND_RELEASES),
        Event.OTHER: to(State.ANSWERING, Action.FORGET_TAKEN),
        Event.CHANGED: to(State.ANSWERING, *_OTHER_FORM),
        Event.MUTE: to(State.LOADING, *_SILENCE),
        Event.GONE: to(State.AWAY, *_SILENCE),
    },
    # Whoever is silent may be the same run, which reads what gives back when it goes on.
    State.LOADING: {
        Event.STOP: leave(State.LOADING, Action.RESTORE, Action.LEAVE),
        Event.MOVED: move(State.LOADING, Action.RESTORE, Action.LEAVE),
        Event.HEARD: to(State.DOUBTED, Action.RESUME, Action.CHECK),
        Event.GONE: to(State.AWAY),
    },
    State.AWAY: {
        Event.STOP: leave(State.AWAY, Action.RESTORE, Action.LEAVE),
        Event.MOVED: move(State.AWAY, Action.RESTORE, Action.LEAVE),
        Event.HEARD: to(State.DOUBTED, Action.RESUME, Action.CHECK),
        Event.MUTE: to(State.LOADING),
    },
}

# One that is heard is kept when another address is found, so one that is moved from was silent.
TEARDOWN: TeardownTable = {
    Teardown.LEAVING: {
        Event.START: end(State.SEARCHING, Action.LOOK_BACK),
        Event.HEARD: to(State.ANSWERING),
        Event.OTHER: stay(*_OTHER_RUN),
        Event.SHOWN: _LEFT,
        Event.EXPIRED: _LEFT,
        Event.ENDED: _LEFT,
    },
    Teardown.MOVING: {
        Event.STOP: Cell(teardown=Teardown.LEAVING),
        Event.HEARD: to(State.ANSWERING),
        Event.OTHER: stay(*_OTHER_RUN),
        Event.SHOWN: end(State.WAITING, Action.LOOK_BACK, Action.CLOSE, Action.BEGIN),
        Event.EXPIRED: end(
            State.WAITING, Action.LOOK_BACK, Action.TELL, Action.CLOSE, Action.BEGIN),
    },
}
