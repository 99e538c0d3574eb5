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
Where a conversation with a Kerbal Simpit plugin stands: its table of states.

Over a serial port, which may disappear. A plugin answers a handshake in every scene of the game,
and sends telemetry in flight. It is shown as closed, although it is off, after the port was
lost.

- HEARD: telemetry, while it was only known to answer. FLYING: a flight begins.
- QUIET: no telemetry for 2 s; then a handshake asks whether it is there. LANDED: the flight is
  over, as a scene change shows it.
- GONE: two handshakes, 1 s apart, are not answered (four, if both framings are tried), nor does
  telemetry arrive.
- SAME, OTHER: a handshake is answered. After a silence it is the same plugin if it first sent on
  a channel that was registered before: only that one has a reason to (identity.py). OTHER is one
  that does not show it. It may still be the same. A plugin from 2.0 on forgets what was
  registered with a SYN, or when its port is closed, but not the axes that it forces. So what was
  taken is kept on hold, and given back to it: 0 forces nothing on a plugin that forces nothing.
- ODD: it turns out to have another profile, that is, another version of the protocol
  (dialect.py).
- SHOWN: telemetry has ended, as it was deregistered, and an echo shows that the plugin has read
  what was given back; it shows no axes.
"""

from __future__ import annotations

from xplane_bridge.bridges.sessions.machine import Do, State, Table, to, What

_ANEW = to(
    State.WAITING, Do.CLOSE, Do.END, Do.DROP, Do.HOLD, Do.FORGET, Do.CHECK)
_UNPLUGGED = to(State.CLOSED, Do.CLOSE, Do.END, Do.DROP, Do.HOLD, Do.FORGET)
_GONE = to(State.AWAY, Do.END, Do.DROP, Do.HOLD, Do.FORGET, Do.CHECK)
_STOPPED = to(State.LEAVING, Do.END, Do.LEAVE, Do.DROP)
_OVER = to(State.OFF_OPEN, Do.LOOK_BACK, Do.FORGET)

TABLE: Table = {
    State.OFF: {
        What.START: to(State.CLOSED),
        What.OPENED: to(State.OFF_OPEN),
        What.UNPLUGGED: to(State.OFF_CLOSED),
    },
    State.OFF_OPEN: {
        What.START: to(State.WAITING, Do.CHECK),
        What.UNPLUGGED: to(State.OFF_CLOSED),
    },
    State.OFF_CLOSED: {
        What.START: to(State.CLOSED),
        What.OPENED: to(State.OFF_OPEN),
    },
    State.CLOSED: {
        What.STOP: to(State.OFF_CLOSED, Do.LEAVE, Do.LOOK_BACK),
        What.OPENED: to(State.WAITING, Do.CHECK),
    },
    # A handshake that is answered comes from the same plugin if it shows what it had before, or
    # has answered all the time.
    State.WAITING: {
        What.START: to(State.WAITING, Do.FORGET, Do.CHECK),
        What.STOP: to(State.LEAVING_AWAY, Do.LEAVE),
        What.OPENED: to(State.WAITING, Do.FORGET, Do.CHECK),
        What.UNPLUGGED: to(State.CLOSED, Do.FORGET),
        What.OTHER: to(State.ANSWERING, Do.PAY, Do.BEGIN),
        What.GONE: to(State.AWAY),
    },
    State.ANSWERING: {
        What.START: _ANEW,
        What.STOP: _STOPPED,
        What.OPENED: _ANEW,
        What.UNPLUGGED: _UNPLUGGED,
        What.SAME: to(State.ANSWERING, Do.BEGIN),
        What.ODD: to(State.ANSWERING, Do.BEGIN),
        What.HEARD: to(State.STREAMING),
        What.FLYING: to(State.STREAMING, Do.RESUME),
        What.LANDED: to(State.ANSWERING, Do.LAND, Do.FORGET_REPORTS),
        What.GONE: _GONE,
    },
    State.STREAMING: {
        What.START: _ANEW,
        What.STOP: _STOPPED,
        What.OPENED: _ANEW,
        What.UNPLUGGED: _UNPLUGGED,
        What.SAME: to(State.STREAMING, Do.BEGIN),
        What.ODD: to(State.STREAMING, Do.BEGIN),
        What.LANDED: to(State.ANSWERING, Do.LAND, Do.DROP, Do.FORGET_REPORTS),
        What.QUIET: to(State.ANSWERING, Do.DROP, Do.FORGET_REPORTS),
        What.GONE: _GONE,
    },
    State.AWAY: {
        What.START: to(State.WAITING, Do.FORGET, Do.CHECK),
        What.STOP: to(State.LEAVING_AWAY, Do.LEAVE),
        What.OPENED: to(State.WAITING, Do.FORGET, Do.CHECK),
        What.UNPLUGGED: to(State.CLOSED, Do.FORGET),
        What.SAME: to(
            State.ANSWERING, Do.RESTORE, Do.PAY, Do.FORGET_REPORTS, Do.BEGIN),
        What.OTHER: to(State.ANSWERING, Do.PAY, Do.BEGIN),
    },
    State.LEAVING: {
        What.START: to(State.WAITING, Do.HOLD, Do.FORGET, Do.CHECK),
        What.UNPLUGGED: to(State.OFF_CLOSED, Do.CLOSE, Do.LOOK_BACK, Do.FORGET),
        What.SHOWN: _OVER,
        What.EXPIRED: _OVER,
    },
    State.LEAVING_AWAY: {
        What.START: to(State.WAITING, Do.FORGET, Do.CHECK),
        What.UNPLUGGED: to(State.OFF_CLOSED, Do.LOOK_BACK, Do.FORGET),
        What.SAME: to(State.LEAVING, Do.RESTORE, Do.PAY),
        What.OTHER: to(State.LEAVING, Do.PAY),
        What.SHOWN: to(State.OFF_OPEN, Do.FORGET),
        What.EXPIRED: _OVER,
    },
}
"""What each happening leads to, by state; what a row does not name changes nothing."""
