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
Where a conversation with an X-Plane Connect plugin stands: its table of states.

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

from xplane_bridge.bridges.sessions.machine import Do, State, Table, to, What

_START = Do.BEGIN, Do.DISOWN, Do.FORGET
# Also to a silent one: one that is loading reads it when it goes on.
_LEAVE = Do.DROP, Do.LEAVE, Do.FORGET
_END = Do.LOOK_BACK, Do.CLOSE
# Nothing answers any more.
_SILENCE = Do.LAPSE, Do.END, Do.FORGET
# Another X-Plane has no history. Nothing was taken from it, but by commands to the one before
# that it may have read.
_OTHER = Do.DISOWN, Do.TELL, Do.DROP

# Before the first reply nothing is taken, nor waits. From the first reply after silence, commands
# wait until it is known whose it is; who cannot be told from another is believed at once.
TABLE: Table = {
    State.OFF: {
        What.START: to(State.WAITING, *_START),
    },
    State.WAITING: {
        What.STOP: to(State.OFF, Do.FORGET),
        What.HEARD: to(State.ANSWERING),
        What.STALLED: to(State.WAITING_LONG),
        What.OTHER: to(State.WAITING, Do.TELL, Do.FORGET_FRAME),
        What.MUTE: to(State.LOADING, Do.FORGET),
        What.GONE: to(State.AWAY, Do.FORGET),
    },
    State.WAITING_LONG: {
        What.STOP: to(State.OFF, Do.FORGET),
        What.HEARD: to(State.DOUBTED),
        What.OTHER: to(State.WAITING_LONG, Do.TELL, Do.FORGET_FRAME),
        What.MUTE: to(State.LOADING, Do.FORGET),
        What.GONE: to(State.AWAY, Do.FORGET),
    },
    State.ANSWERING: {
        What.STOP: to(State.LEAVING_UNHEARD, *_LEAVE, Do.END),
        What.STALLED: to(State.DOUBTED),
        What.ODD: to(State.DOUBTED, Do.HURRY),
        What.OTHER: to(State.ANSWERING, *_OTHER, Do.END, Do.FORGET_FRAME),
        What.MUTE: to(State.LOADING, *_SILENCE),
        What.GONE: to(State.AWAY, *_SILENCE),
    },
    State.DOUBTED: {
        What.STOP: to(State.LEAVING_UNHEARD, *_LEAVE, Do.END),
        What.ODD: to(State.DOUBTED, Do.HURRY),
        What.SAME: to(State.ANSWERING),
        What.OTHER: to(State.DOUBTED, *_OTHER, Do.END, Do.FORGET_FRAME),
        What.MUTE: to(State.LOADING, *_SILENCE),
        What.GONE: to(State.AWAY, *_SILENCE),
    },
    State.LOADING: {
        What.STOP: to(State.LEAVING_LOADING, *_LEAVE),
        What.HEARD: to(State.DOUBTED, Do.FORGET_FRAME),
        What.OTHER: to(State.LOADING, *_OTHER, Do.FORGET_FRAME),
        What.GONE: to(State.AWAY),
    },
    State.AWAY: {
        What.STOP: to(State.LEAVING_AWAY, *_LEAVE),
        What.HEARD: to(State.DOUBTED, Do.FORGET_FRAME),
        What.OTHER: to(State.AWAY, *_OTHER, Do.FORGET_FRAME),
        What.MUTE: to(State.LOADING),
    },
    State.LEAVING: {
        What.START: to(State.WAITING, *_START),
        What.OTHER: to(State.LEAVING, Do.DISOWN),
        What.SHOWN: to(State.OFF, *_END),
        What.EXPIRED: to(State.OFF, *_END),
        What.ENDED: to(State.OFF, *_END),
    },
    State.LEAVING_UNHEARD: {
        What.START: to(State.WAITING, *_START),
        What.HEARD: to(State.LEAVING),
        What.OTHER: to(State.LEAVING_UNHEARD, Do.DISOWN),
        What.SHOWN: to(State.OFF, *_END),
        What.EXPIRED: to(State.OFF, *_END),
        What.ENDED: to(State.OFF, *_END),
    },
    State.LEAVING_LOADING: {
        What.START: to(State.WAITING, *_START),
        What.HEARD: to(State.LEAVING),
        What.OTHER: to(State.LEAVING_LOADING, Do.DISOWN),
        What.SHOWN: to(State.OFF, *_END),
        What.EXPIRED: to(State.OFF, *_END),
        What.ENDED: to(State.OFF, *_END),
    },
    State.LEAVING_AWAY: {
        What.START: to(State.WAITING, *_START),
        What.HEARD: to(State.LEAVING),
        What.MUTE: to(State.LEAVING_LOADING),
        What.OTHER: to(State.LEAVING_AWAY, Do.DISOWN),
        What.SHOWN: to(State.OFF, *_END),
        What.EXPIRED: to(State.OFF, *_END),
        What.ENDED: to(State.OFF, *_END),
    },
}
