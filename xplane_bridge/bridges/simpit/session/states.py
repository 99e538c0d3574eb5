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
Where a conversation with a Kerbal Simpit plugin stands: its tables of states.

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

_ANEW = to(
    State.WAITING, Action.CLOSE, Action.END, Action.DROP, Action.HOLD, Action.FORGET, Action.CHECK)
_UNPLUGGED = to(State.CLOSED, Action.CLOSE, Action.END, Action.DROP, Action.HOLD, Action.FORGET)
_GONE = to(State.AWAY, Action.END, Action.DROP, Action.HOLD, Action.FORGET, Action.CHECK)
_STOPPED = leave(State.ANSWERING, Action.END, Action.LEAVE, Action.DROP)
_OVER = end(State.OFF_OPEN, Action.LOOK_BACK, Action.FORGET)

TABLE: Table = {
    State.OFF: {
        Event.START: to(State.CLOSED),
        Event.OPENED: to(State.OFF_OPEN),
        Event.UNPLUGGED: to(State.OFF_CLOSED),
    },
    State.OFF_OPEN: {
        Event.START: to(State.WAITING, Action.CHECK),
        Event.UNPLUGGED: to(State.OFF_CLOSED),
    },
    State.OFF_CLOSED: {
        Event.START: to(State.CLOSED),
        Event.OPENED: to(State.OFF_OPEN),
    },
    State.CLOSED: {
        Event.STOP: to(State.OFF_CLOSED, Action.LEAVE, Action.LOOK_BACK),
        Event.OPENED: to(State.WAITING, Action.CHECK),
    },
    # A handshake that is answered comes from the same plugin if it shows what it had before, or
    # has answered all the time.
    State.WAITING: {
        Event.START: to(State.WAITING, Action.FORGET, Action.CHECK),
        Event.STOP: leave(State.AWAY, Action.LEAVE),
        Event.OPENED: to(State.WAITING, Action.FORGET, Action.CHECK),
        Event.UNPLUGGED: to(State.CLOSED, Action.FORGET),
        Event.OTHER: to(State.ANSWERING, Action.SEND_RELEASES, Action.BEGIN),
        Event.GONE: to(State.AWAY),
    },
    State.ANSWERING: {
        Event.START: _ANEW,
        Event.STOP: _STOPPED,
        Event.OPENED: _ANEW,
        Event.UNPLUGGED: _UNPLUGGED,
        Event.SAME: to(State.ANSWERING, Action.BEGIN),
        Event.ODD: to(State.ANSWERING, Action.BEGIN),
        Event.HEARD: to(State.STREAMING),
        Event.FLYING: to(State.STREAMING, Action.RESUME),
        Event.LANDED: to(State.ANSWERING, Action.FLIGHT_ENDED, Action.FORGET_REPORTS),
        Event.GONE: _GONE,
    },
    State.STREAMING: {
        Event.START: _ANEW,
        Event.STOP: _STOPPED,
        Event.OPENED: _ANEW,
        Event.UNPLUGGED: _UNPLUGGED,
        Event.SAME: to(State.STREAMING, Action.BEGIN),
        Event.ODD: to(State.STREAMING, Action.BEGIN),
        Event.LANDED: to(State.ANSWERING, Action.FLIGHT_ENDED, Action.DROP, Action.FORGET_REPORTS),
        Event.QUIET: to(State.ANSWERING, Action.DROP, Action.FORGET_REPORTS),
        Event.GONE: _GONE,
    },
    State.AWAY: {
        Event.START: to(State.WAITING, Action.FORGET, Action.CHECK),
        Event.STOP: leave(State.AWAY, Action.LEAVE),
        Event.OPENED: to(State.WAITING, Action.FORGET, Action.CHECK),
        Event.UNPLUGGED: to(State.CLOSED, Action.FORGET),
        Event.SAME: to(
            State.ANSWERING, Action.RESTORE, Action.SEND_RELEASES, Action.FORGET_REPORTS,
            Action.BEGIN),
        Event.OTHER: to(State.ANSWERING, Action.SEND_RELEASES, Action.BEGIN),
    },
}

# A plugin that answers is talked to until it has read all; one that is away is given it blindly.
TEARDOWN: TeardownTable = {
    Teardown.LEAVING: {
        Event.EXPIRED: _OVER,
    },
    (Teardown.LEAVING, State.ANSWERING): {
        Event.START: end(State.WAITING, Action.HOLD, Action.FORGET, Action.CHECK),
        Event.UNPLUGGED: end(
            State.OFF_CLOSED, Action.CLOSE, Action.LOOK_BACK, Action.FORGET),
        Event.SHOWN: _OVER,
    },
    (Teardown.LEAVING, State.AWAY): {
        Event.START: end(State.WAITING, Action.FORGET, Action.CHECK),
        Event.UNPLUGGED: end(State.OFF_CLOSED, Action.LOOK_BACK, Action.FORGET),
        Event.SAME: to(State.ANSWERING, Action.RESTORE, Action.SEND_RELEASES),
        Event.OTHER: to(State.ANSWERING, Action.SEND_RELEASES),
        Event.SHOWN: end(State.OFF_OPEN, Action.FORGET),
    },
}
