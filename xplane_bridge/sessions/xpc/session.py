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

"""The session with an X-Plane Connect plugin. Time is passed in; there is no socket."""

from __future__ import annotations

from collections.abc import Collection, Sequence
import math

from xplane_bridge.protocols import xpc
from xplane_bridge.sessions.base import check_read, PeerAbsentError
from xplane_bridge.sessions.xpc.commands import adapt
from xplane_bridge.sessions.xpc.conversation import Conversation, period_of
from xplane_bridge.sessions.xpc.events import Generation, PeerState
from xplane_bridge.sessions.xpc.reads import batches
from xplane_bridge.sessions.xpc.taken import JOYSTICK_OVERRIDE, SURFACES
from xplane_bridge.sessions.xpc.watch import check_watched


class XpcSession(Conversation):
    """
    Poll aircraft, read and write datarefs and send commands to one plugin.

    ``aircraft`` maps each aircraft number to the datarefs to poll for it, the first three of
    them its latitude, longitude and elevation. ``rate`` is in updates per second, 0 for once a
    frame. ``budget`` is how many datagrams may leave in any second, at least 10; only giving back
    is never kept waiting. ``lifetime`` is how long a command may wait, in seconds. ``generation``
    None finds out; ``hears_beacons`` tells whether the beacon's multicast group could be joined.
    ``address`` names the peer in sentences, ``port`` is the plugin's: a beacon that names another
    one is that of another X-Plane on the same computer; None takes any. In ``lockstep`` it is
    controls that take the simulator to its next frame: each is followed by a poll, ``rate`` does
    not count, and controls go on to a simulator that is silent because it waits for them.

    Everything that sends raises ValueError with a sentence if it must not be sent:
    PeerAbsentError if the peer is not there to take it. What X-Plane falls silent over, or what
    another X-Plane takes the place of, is not sent any more.
    """

    # What the owner may ask at any time.

    @property
    def beacon(self) -> xpc.Beacon | None:
        """Return the plugin's last beacon, None if there was none."""
        return self._peer.beacon

    @property
    def generation(self) -> Generation | None:
        """Return the plugin's generation, None while unknown (docs/wire/xpc.md, section 6)."""
        return self._peer.generation

    @property
    def taken(self) -> tuple[str, ...]:
        """Return what release() would give back: 'throttle', 'elevator of aircraft 3' ..."""
        return self._taken.names

    @property
    def wanted(self) -> tuple[str, ...]:
        """Return the names of all values that are asked for all the time."""
        return tuple(key for leases in self._leases for key in leases.keys)

    def missing(self, now: float) -> dict[str, float]:
        """Return those of ``wanted`` that do not come, with since when."""
        missing: dict[str, float] = {}
        for leases in self._leases:
            missing.update(leases.missing(now))
        return missing

    # Commands.

    def start(self, now: float) -> None:
        """Begin to poll."""
        self._active = True
        self._peer.start(now)
        self._taken.clear()
        self._waiting_since = None
        self._unseen = frozenset()
        for poll in self._polls:
            poll.begin(now)
        self._suspend(now)

    def stop(self, now: float) -> None:
        """
        Stop polling, and give back what was taken.

        To an X-Plane that is silent too: one that loads reads it when it goes on.
        """
        self._drop('the node was deactivated')
        self._owed.clear()
        self._give_back(None, None)
        self._active = False
        self._peer.become(PeerState.UNKNOWN, now)
        self._suspend(now)
        self._expired += self._reads.abandon('the node was deactivated')

    def send(
        self, message: xpc.Request, now: float, *, what: str = '', awaited: bool = False
    ) -> int:
        """
        Send a command that has no reply; return its ticket.

        ``what`` names it for a person. With ``awaited`` a CommandDone says that the plugin has
        read it; without, one comes only if it was not sent.
        """
        return self.send_all([message], now, what=what, awaited=awaited)

    def send_all(
        self, messages: Sequence[xpc.Request], now: float, *, what: str = '',
        awaited: bool = False,
    ) -> int:
        """Send commands as send() does, all or none; return the ticket of the last."""
        self._refuse_absence()
        what = what or messages[0].tag
        adapted = [adapt(message, self.generation) for message in messages]
        for message in adapted:
            xpc.encode(message)
        self._outbox.check_room(what, len(adapted))
        ticket = 0
        for place, message in enumerate(adapted, 1):
            ticket = self._outbox.put(message, what, now, awaited and place == len(adapted))
        return ticket

    def set_controls(self, controls: xpc.Controls, now: float) -> None:
        """
        Set the controls of one aircraft.

        When the budget does not allow it at once, the newest value of each control is sent as
        soon as it does, within its lifetime.
        """
        xpc.encode(controls)
        if not (self._lockstep and self._peer.answered):
            self._refuse_absence()
        if self._outbox.set_controls(controls, now):
            self.statistics.held_back += 1

    def take_joystick(self, now: float) -> None:
        """Keep the user's joystick from overwriting commands, until release()."""
        if self._lockstep and self._peer.silent:
            # Controls go on, and shall not be refused because of this.
            return
        if self._taken.wants_joystick(now) and not self._outbox.holds(JOYSTICK_OVERRIDE):
            self.send(JOYSTICK_OVERRIDE, now, what='override_joystick')

    def centre(self, aircraft: int, now: float) -> None:
        """Centre the surfaces of an aircraft that commands have deflected, and no others."""
        self._give_back_soon(aircraft, SURFACES, now)

    def release(self, now: float, aircraft: int | None = None) -> None:
        """
        Give back what was taken, of one aircraft or of all: surfaces, overrides, pause, text.

        Commands that still wait are dropped, for they could take it again. If X-Plane does not
        answer now it is done when the same X-Plane does.
        """
        if aircraft is None:
            self._outbox.drop('what was taken is given back')
        self._give_back_soon(aircraft, None, now)

    def _give_back_soon(
        self, aircraft: int | None, values: Collection[str] | None, now: float
    ) -> None:
        if aircraft is not None:
            self._outbox.drop('', aircraft)
        if self._peer.state is PeerState.ANSWERING and not self._holds(now):
            self._give_back(aircraft, values)
        else:
            self._owed.append((aircraft, values))

    def _refuse_absence(self) -> None:
        if not self._active:
            raise PeerAbsentError('the session is not started')
        if absence := self._peer.absence:
            raise PeerAbsentError(absence)

    def read_datarefs(self, names: Sequence[str], now: float) -> int:
        """Read datarefs once, MOST_READ at most; return the ticket of the ReadDone to come."""
        check_read(len(names), self._reads.names)
        return self._read(_gets(names), now)

    def read_terrain(self, request: xpc.GetTerrain | xpc.PlaceAndProbe, now: float) -> int:
        """Probe the terrain; return the ticket of the ReadDone that will come."""
        adapted = adapt(request, self.generation)
        if isinstance(request, xpc.GetTerrain):
            return self._read([adapted], now)
        return self._read([adapted], now, now + self._lifetime)

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """
        Poll these datarefs ``rate`` times per second from now on, 0 for once a frame.

        At most MOST_WATCHED; no names ends it.
        """
        check_watched(names)
        self._start_watch(tuple(names), period_of(rate), now)

    def _read(
        self, requests: Sequence[xpc.Request], now: float, expires_at: float = math.inf
    ) -> int:
        for request in requests:
            xpc.encode(request)
        self._refuse_absence()
        ticket = self._tickets.draw()
        self._reads.add(ticket, requests, self._outbox.put_count, now, expires_at)
        return ticket


def _gets(names: Sequence[str]) -> list[xpc.GetDatarefs]:
    """Return the requests for datarefs whose sizes are not known."""
    return [xpc.GetDatarefs(batch) for batch in batches(names, {})]
