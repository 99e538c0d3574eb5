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
  a command can change that any more (goals.py). ENDED: its port, on this machine, refuses what
  gives back (left.py).
"""

from __future__ import annotations

from xplane_bridge.bridges.sessions.machine import Do, State, Table, to, What

# Nothing comes any more. What was taken may still be ours: that is seen when it is heard again.
_SILENCE = Do.END, Do.FORGET, Do.HOLD, Do.DROP
_LEAVE = Do.DROP, Do.END, Do.LEAVE
_OTHER_FORM = Do.DROP, Do.DISOWN, Do.BEGIN
_MOVED = Do.LOOK_BACK, Do.CLOSE, Do.BEGIN
_MOVED_TOO_LATE = Do.LOOK_BACK, Do.TELL, Do.CLOSE, Do.BEGIN

# Before an X-Plane was heard, and while it is silent, no commands and reads are accepted, so none
# wait.
TABLE: Table = {
    State.OFF: {
        What.START: to(State.SEARCHING),
        What.MOVED: to(State.OFF, Do.CLOSE),
    },
    State.SEARCHING: {
        What.STOP: to(State.LEAVING_AWAY),
        What.FOUND: to(State.WAITING, Do.BEGIN),
        What.MOVED: to(State.WAITING, Do.CLOSE, Do.BEGIN),
    },
    State.WAITING: {
        What.STOP: to(State.LEAVING_AWAY, Do.LEAVE),
        What.MOVED: to(State.MOVING_AWAY, Do.LEAVE),
        What.HEARD: to(State.ANSWERING),
        What.MUTE: to(State.LOADING, Do.FORGET),
        What.GONE: to(State.AWAY, Do.FORGET),
    },
    State.ANSWERING: {
        What.STOP: to(State.LEAVING, *_LEAVE),
        What.OTHER: to(State.ANSWERING, Do.DROP, Do.HOLD, Do.AGAIN, Do.DISOWN),
        What.UNDERSTOOD: to(State.ANSWERING, Do.BEGIN),
        What.CHANGED: to(State.ANSWERING, *_OTHER_FORM),
        What.MUTE: to(State.LOADING, *_SILENCE),
        What.GONE: to(State.AWAY, *_SILENCE),
    },
    State.DOUBTED: {
        What.STOP: to(State.LEAVING, Do.RESTORE, *_LEAVE),
        What.SAME: to(State.ANSWERING, Do.RESTORE, Do.PAY),
        What.OTHER: to(State.ANSWERING, Do.DISOWN),
        What.CHANGED: to(State.ANSWERING, *_OTHER_FORM),
        What.MUTE: to(State.LOADING, *_SILENCE),
        What.GONE: to(State.AWAY, *_SILENCE),
    },
    # Whoever is silent may be the same run, which reads what gives back when it goes on.
    State.LOADING: {
        What.STOP: to(State.LEAVING_LOADING, Do.RESTORE, Do.LEAVE),
        What.MOVED: to(State.MOVING_LOADING, Do.RESTORE, Do.LEAVE),
        What.HEARD: to(State.DOUBTED, Do.RESUME, Do.CHECK),
        What.GONE: to(State.AWAY),
    },
    State.AWAY: {
        What.STOP: to(State.LEAVING_AWAY, Do.RESTORE, Do.LEAVE),
        What.MOVED: to(State.MOVING_AWAY, Do.RESTORE, Do.LEAVE),
        What.HEARD: to(State.DOUBTED, Do.RESUME, Do.CHECK),
        What.MUTE: to(State.LOADING),
    },
    # After the owner's stop.
    State.LEAVING: {
        What.START: to(State.SEARCHING, Do.LOOK_BACK),
        What.OTHER: to(State.LEAVING, Do.HOLD, Do.DISOWN),
        What.SHOWN: to(State.OFF, Do.LOOK_BACK),
        What.EXPIRED: to(State.OFF, Do.LOOK_BACK),
        What.ENDED: to(State.OFF, Do.LOOK_BACK),
    },
    State.LEAVING_LOADING: {
        What.START: to(State.SEARCHING, Do.LOOK_BACK),
        What.HEARD: to(State.LEAVING),
        What.SHOWN: to(State.OFF, Do.LOOK_BACK),
        What.EXPIRED: to(State.OFF, Do.LOOK_BACK),
        What.ENDED: to(State.OFF, Do.LOOK_BACK),
    },
    State.LEAVING_AWAY: {
        What.START: to(State.SEARCHING, Do.LOOK_BACK),
        What.HEARD: to(State.LEAVING),
        What.SHOWN: to(State.OFF, Do.LOOK_BACK),
        What.EXPIRED: to(State.OFF, Do.LOOK_BACK),
        What.ENDED: to(State.OFF, Do.LOOK_BACK),
    },
    # For another address. One that is heard is kept, so it was silent.
    State.MOVING: {
        What.STOP: to(State.LEAVING),
        What.OTHER: to(State.MOVING, Do.HOLD, Do.DISOWN),
        What.SHOWN: to(State.WAITING, *_MOVED),
        What.EXPIRED: to(State.WAITING, *_MOVED_TOO_LATE),
    },
    State.MOVING_LOADING: {
        What.STOP: to(State.LEAVING_LOADING),
        What.HEARD: to(State.MOVING),
        What.SHOWN: to(State.WAITING, *_MOVED),
        What.EXPIRED: to(State.WAITING, *_MOVED_TOO_LATE),
    },
    State.MOVING_AWAY: {
        What.STOP: to(State.LEAVING_AWAY),
        What.HEARD: to(State.MOVING),
        What.SHOWN: to(State.WAITING, *_MOVED),
        What.EXPIRED: to(State.WAITING, *_MOVED_TOO_LATE),
    },
}
