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

X-Plane sends what was requested, so silence shows that it is not there; beacons show that it runs,
also while it loads. After a silence its running time shows whether it is the same run.
"""

from __future__ import annotations

from xplane_bridge.sessions.machine import Do, State, Table, to, What

# Nothing comes any more. What was taken may still be ours: that is seen when it is heard again.
_SILENCE = Do.END, Do.FORGET, Do.HOLD, Do.DROP
# Nobody was heard yet, so nothing waits and nothing was taken.
_NEVER_HEARD = Do.FORGET,
_LEAVE = Do.DROP, Do.END, Do.LEAVE
# Whoever was silent, or is in doubt, may be the same run, which reads it when it goes on.
_LEAVE_DOUBTED = Do.RESTORE, *_LEAVE
_OTHER_FORM = Do.DROP, Do.DISOWN, Do.BEGIN
_MOVED = Do.LOOK_BACK, Do.TELL, Do.CLOSE, Do.BEGIN

TABLE: Table = {
    State.OFF: {
        What.START: to(State.SEARCHING),
        What.MOVED: to(State.OFF, Do.CLOSE),
    },
    State.SEARCHING: {
        What.STOP: to(State.LEAVING_AWAY, *_LEAVE),
        What.FOUND: to(State.WAITING, Do.BEGIN),
        What.MOVED: to(State.WAITING, Do.CLOSE, Do.BEGIN),
    },
    State.WAITING: {
        What.STOP: to(State.LEAVING_AWAY, *_LEAVE),
        What.MOVED: to(State.MOVING_AWAY, *_LEAVE),
        What.HEARD: to(State.ANSWERING),
        What.MUTE: to(State.LOADING, *_NEVER_HEARD),
        What.GONE: to(State.AWAY, *_NEVER_HEARD),
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
        What.STOP: to(State.LEAVING, *_LEAVE_DOUBTED),
        What.SAME: to(State.ANSWERING, Do.RESTORE, Do.PAY),
        What.OTHER: to(State.ANSWERING, Do.DISOWN),
        What.CHANGED: to(State.ANSWERING, *_OTHER_FORM),
        What.MUTE: to(State.LOADING, *_SILENCE),
        What.GONE: to(State.AWAY, *_SILENCE),
    },
    State.LOADING: {
        What.STOP: to(State.LEAVING_LOADING, *_LEAVE_DOUBTED),
        What.MOVED: to(State.MOVING_LOADING, *_LEAVE_DOUBTED),
        What.HEARD: to(State.DOUBTED, Do.RESUME, Do.CHECK),
        What.GONE: to(State.AWAY),
    },
    State.AWAY: {
        What.STOP: to(State.LEAVING_AWAY, *_LEAVE_DOUBTED),
        What.MOVED: to(State.MOVING_AWAY, *_LEAVE_DOUBTED),
        What.HEARD: to(State.DOUBTED, Do.RESUME, Do.CHECK),
        What.MUTE: to(State.LOADING),
    },
    **{
        state: {
            What.START: to(State.SEARCHING, Do.LOOK_BACK),
            What.HEARD: to(State.LEAVING),
            What.OTHER: to(state, Do.HOLD, Do.DISOWN),
            What.SHOWN: to(State.OFF, Do.LOOK_BACK),
            What.EXPIRED: to(State.OFF, Do.LOOK_BACK),
        } for state in (State.LEAVING, State.LEAVING_LOADING, State.LEAVING_AWAY)
    },
    **{
        state: {
            What.STOP: to(left),
            What.HEARD: to(State.MOVING),
            What.OTHER: to(state, Do.HOLD, Do.DISOWN),
            What.SHOWN: to(State.WAITING, *_MOVED),
            What.EXPIRED: to(State.WAITING, *_MOVED),
        } for state, left in (
            (State.MOVING, State.LEAVING), (State.MOVING_LOADING, State.LEAVING_LOADING),
            (State.MOVING_AWAY, State.LEAVING_AWAY))
    },
}
