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

"""The conversation with X-Plane over its own UDP. Time is passed in; there is no socket."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.xplane_udp import Becn, Data, RposReply, RrefReply
from xplane_bridge.sessions.xplane_udp.commands import (
    control_datarefs,
    control_rows,
    FIRST_WITH_DATAREFS,
    is_axis,
    JOYSTICK_OVERRIDE,
    pause,
    RowKind,
    Taken,
    TRIMS,
)
from xplane_bridge.sessions.xplane_udp.discovery import Address, BEACON_TIMEOUT, Discovery
from xplane_bridge.sessions.xplane_udp.events import (
    BeaconHeard,
    Event,
    PeerChanged,
    PeerState,
    RowTelemetry,
    Statistics,
    VersionFound,
)
from xplane_bridge.sessions.xplane_udp.feeds import (
    DATA_CHANNEL,
    Feeds,
    Needs,
    TELEMETRY_CHANNEL,
    Wire,
)
from xplane_bridge.sessions.xplane_udp.outbox import LARGEST, Outbox, Outgoing
from xplane_bridge.sessions.xplane_udp.reads import Reads
from xplane_bridge.sessions.xplane_udp.version import (
    VERSION_CHANNEL,
    version_of,
    VersionFinder,
)

BEACON_CHANNEL = 'beacon'
_COMMAND_CHANNEL = 'command'

# Without anything for this long, or for some periods of a slow rate, X-Plane counts as away, and
# one small request asks again every so often.
_SILENCE = 1.0
_SILENT_PERIODS = 2.5
_PROBE_PERIOD = 1.0

_OVERRIDE_PERIOD = 1.0


class XplaneUdpSession:
    """
    Subscribe to datarefs or select rows of one X-Plane, read, write and command it.

    ``rate`` (1..1000) is in updates a second, for datarefs; rows come as fast as X-Plane is set
    to. ``version`` None finds out: 10 and later by beacon or by asking, 6 to 9 by the rows they
    send. ``by_rows`` takes telemetry from rows in every version; before 10 there is nothing else.
    ``peer`` None waits for hear() to discover one.

    Everything that sends raises ValueError with a sentence if it must not be sent.
    """

    def __init__(
        self,
        needs: Needs,
        *,
        rate: float,
        version: int | None = None,
        peer: Address | None = None,
        by_rows: bool = False,
        wire_format: Wire | None = None,
        row_kind: RowKind = 'trim',
        override_joystick: bool = True,
    ) -> None:
        if not 1.0 <= rate <= 1000.0:
            raise ValueError(f'rate: got {rate:g} updates a second, expected 1 to 1000')
        self.statistics = Statistics()
        self.version = version
        self.peer = peer
        self.peer_state = PeerState.UNKNOWN
        self.beacon: Becn | None = None
        self._rate = round(rate)
        self._fixed_version = version
        self._discovery = None if peer is not None else Discovery()
        self._row_kind: RowKind = row_kind
        self._override_joystick = override_joystick
        self._override_at = 0.0
        form = wire_format or Wire()
        self._outbox = Outbox(form.pacing)
        self._urgent: list[Outgoing] = []
        self._feeds = Feeds(
            needs, self._rate, by_rows, form, self._outbox, self.statistics)
        self._finder = VersionFinder(0.0)
        self._reads = Reads(self._outbox)
        self._ticket = 0
        self._held: dict[str, float] = {}
        self._taken = Taken()
        self._trims: dict[str, float] = {}
        self._active = False
        self._heard_at = 0.0
        self._probe_at = 0.0
        self._beacon_at: float | None = None
        self._deadline: float | None = None
        self._expired: list[Event] = []

    # What the owner may ask at any time.

    @property
    def taken(self) -> frozenset[str]:
        """Return what release() would give back: 'joystick', 'axes', 'flight model', 'pause'."""
        return frozenset(self._taken.what)

    @property
    def uses_datarefs(self) -> bool:
        """Tell whether telemetry is asked for by RREF and RPOS."""
        return self._feeds.aircraft is not None

    @property
    def every_frame(self) -> bool:
        """Tell whether every frame had to be asked for to get datarefs of the same frame."""
        aircraft = self._feeds.aircraft
        return aircraft is not None and aircraft.every_frame

    @property
    def missing_rows(self) -> tuple[int, ...]:
        """Return the rows that were selected and do not come."""
        return self._feeds.rows.missing

    @property
    def drained(self) -> bool:
        """Tell whether nothing waits to be sent."""
        return not self._outbox and not self._urgent

    # Commands.

    def start(self, now: float) -> None:
        """Begin to talk."""
        self._active = True
        self._heard_at = now
        self._probe_at = now + _PROBE_PERIOD
        self._finder = VersionFinder(now)
        self._become(PeerState.SEARCHING if self.peer is None else PeerState.UNKNOWN)
        if self.version is not None and self.peer is not None:
            self._begin(now)

    def stop(self, now: float) -> None:
        """Stop talking: give back what was taken, end what was subscribed and selected."""
        self.release(now)
        self._feeds.end()
        self._active = False
        self._become(PeerState.UNKNOWN)
        self._expired += self._reads.abandon('the node was deactivated')

    def flush(self, now: float) -> None:
        """Send everything that waits at the next poll(), however much it is."""
        self._urgent += self._outbox.take_all()

    def send(self, message: wire.Message, now: float) -> None:
        """Send one command, with its turn."""
        version = self._known_version(message.tag)
        if isinstance(message, Data):
            channel = DATA_CHANNEL
            data = wire.encode(Data(message.segments, self._feeds.own_layout(version)), version)
        else:
            self._need_datarefs(message.tag)
            channel = _COMMAND_CHANNEL
            data = wire.encode(message, version)
        if len(self._outbox) >= LARGEST:
            raise ValueError(
                f'{message.tag}: {LARGEST} datagrams wait already, which leave '
                f'{self._outbox.pacing:g} s apart; send less often')
        self._outbox.push(channel, [data])
        if isinstance(message, wire.Vehx):
            self._taken.what.add('flight model')

    def set_controls(self, controls: Mapping[str, float], now: float) -> None:
        """
        Set controls, by the names of FlightControls.

        When they come faster than they can leave, the newest value of each control is sent.
        """
        version = self._known_version('command/controls')
        if not controls:
            return
        if self._held and self._outbox.has_controls:
            self.statistics.held_back += 1
            controls = {**self._held, **controls}
        datagrams: list[bytes]
        if version >= FIRST_WITH_DATAREFS:
            messages = control_datarefs(controls)
            datagrams = [wire.encode(message, version) for message in messages]
            if self._override_joystick and is_axis(controls):
                self._take_joystick(version, now)
            channel = _COMMAND_CHANNEL
        else:
            data = control_rows(version, controls, self._row_kind, self._feeds.own_layout(version))
            datagrams = [wire.encode(data, version)]
            if is_axis(controls) and 'axes' not in self._taken.what:
                self._taken.what.add('axes')
                if self._row_kind == 'trim':
                    self._taken.trims = self._trims
            channel = DATA_CHANNEL
        self._held = dict(controls)
        self._outbox.set_controls(channel, datagrams)

    def _take_joystick(self, version: int, now: float) -> None:
        """Set the override before the first command, and now and then, as no reply confirms it."""
        if 'joystick' not in self._taken.what or now - self._override_at >= _OVERRIDE_PERIOD:
            self._override_at = now
            self._urgent.append((_COMMAND_CHANNEL, wire.encode(JOYSTICK_OVERRIDE, version)))
        self._taken.what.add('joystick')

    def pause(self, on: bool, now: float) -> None:
        """Pause X-Plane, or let it go on."""
        self.send(pause(on), now)
        (self._taken.what.add if on else self._taken.what.discard)('pause')

    def release(self, now: float) -> None:
        """
        Give back what was taken: override, axes, flight model, pause.

        Controls that still wait are dropped, for they could take it again.
        """
        self._outbox.drop_controls()
        self._held = {}
        if self.version is None:
            return
        for message in self._taken.give_back():
            self._urgent.append((_COMMAND_CHANNEL, wire.encode(message, self.version)))
        if self.version < FIRST_WITH_DATAREFS:
            rows = self._taken.rows_to_give_back(
                self.version, self._row_kind, self._feeds.own_layout(self.version))
            if rows is not None:
                self._urgent.append((DATA_CHANNEL, wire.encode(rows, self.version)))

    def read_datarefs(self, names: Sequence[str], now: float) -> int:
        """Read datarefs once; return the ticket of the ReadDone that will come."""
        self._known_version('reading datarefs')
        self._need_datarefs('reading datarefs')
        self._reads.add(self._ticket + 1, names)
        self._ticket += 1
        return self._ticket

    def watch(self, names: Sequence[str], rate: float, now: float) -> None:
        """Subscribe to these datarefs at ``rate`` (1..1000); no names ends it."""
        if names and self._fixed_version is not None:
            self._need_datarefs('datarefs')
        self._feeds.watch(names, rate, now)

    def choose_rows(self, rows: Iterable[int], now: float) -> None:
        """Select these rows beside those that the telemetry needs."""
        self._feeds.choose_rows(rows, now)

    def hear(self, beacon: Becn, address: str, now: float) -> None:
        """Take a beacon and the address it came from."""
        if self._discovery is not None:
            moved = self._discovery.hear(beacon, address, now)
            if self._discovery.peer != (address, beacon.port):
                return
            if moved:
                self._move(self._discovery.peer, now)
        elif self.peer is None or beacon.port != self.peer[1]:
            return
        self.beacon = beacon
        self._beacon_at = now
        self._learn_version(version_of(beacon.version), now)

    # What the link calls.

    def next_deadline(self) -> float | None:
        """Return when poll() is due; known after poll()."""
        return self._deadline

    def expired(self) -> list[Event]:
        """Return the events that time has caused, since the last call."""
        events, self._expired = self._expired, []
        return events

    def receive(self, channel: str, data: bytes, now: float) -> list[Event]:
        """Take one datagram of the peer; return the events that it completes."""
        try:
            message = wire.decode(data, 'peer', self.version, previous=self._feeds.layout)
        except ProtocolError as error:
            self.statistics.malformed[_kind(data)] += 1
            self.statistics.last_error = str(error)
            return []
        if channel == BEACON_CHANNEL:
            return [BeaconHeard(message)] if isinstance(message, Becn) else []
        if not self._active:
            return []
        self._heard_at = now
        events: list[Event] = []
        if isinstance(message, Data):
            self._wake_up(now)
            events += self._receive_data(message, now)
        elif isinstance(message, RposReply):
            self._wake_up(now)
            events += self._feeds.receive_pose(message, now)
        elif isinstance(message, RrefReply):
            self._wake_up(now)
            events += self._receive_values(channel, message, now)
        else:
            self.statistics.unexpected += 1
        if self._expired:
            # Changes of state come before what was received in the new one.
            events = [*self.expired(), *events]
        return events

    def poll(self, now: float) -> list[Outgoing]:
        """Return what to send now, by channel; None closes a channel."""
        deadlines: list[float | None] = []
        if self._active and self.peer is not None:
            if self.version is None:
                deadlines.append(self._find_version(now))
            deadlines.append(self._watch_peer(now))
            if not self._silent:
                deadlines.append(self._feeds.ask(now, self._patience))
            self._expired += self._reads.poll(now)
            deadlines.append(self._reads.deadline)
        outgoing = self._urgent
        self._urgent = []
        outgoing += self._outbox.take(now)
        if not self._outbox.has_controls:
            self._held = {}
        deadlines.append(self._outbox.deadline())
        if self._expired:
            deadlines.append(now)
        self._deadline = min((at for at in deadlines if at is not None), default=None)
        self.statistics.asked += sum(
            1 for channel, data in outgoing if data is not None and channel != _COMMAND_CHANNEL)
        return outgoing

    # Receiving.

    def _receive_data(self, message: Data, now: float) -> list[Event]:
        events = self._feeds.receive_rows(message)
        if self.version is None and message.layout is not None:
            self._finder.hear_rows(message.layout.framing)
            self._conclude(now)
        for event in events:
            if isinstance(event, RowTelemetry) and 'axes' not in self._taken.what:
                known = wire.quantities(event.version, event.segments)
                self._trims = {name: value for name in TRIMS
                               if (value := getattr(known, name)) is not None}
        return events

    def _receive_values(self, channel: str, reply: RrefReply, now: float) -> list[Event]:
        events = self._feeds.receive_values(channel, reply, now)
        if events is not None:
            return events
        if channel == VERSION_CHANNEL:
            self._finder.hear_values(dict(reply.values), now)
            self._conclude(now)
            return []
        done = self._reads.receive(channel, reply)
        if done is None:
            self.statistics.unexpected += 1
            return []
        return [done]

    # Which version it is.

    def _known_version(self, what: str) -> int:
        if self.peer is None:
            raise ValueError(f'{what}: no X-Plane was discovered yet')
        if self.version is None:
            raise ValueError(
                f'{what}: the version of X-Plane is not known yet; give the parameter version '
                'if it does not find out')
        return self.version

    def _need_datarefs(self, what: str) -> None:
        if self.version is not None and self.version < FIRST_WITH_DATAREFS:
            raise ValueError(
                f'{what}: X-Plane {self.version} knows only rows of data; datarefs, commands and '
                f'placing by UDP are there since X-Plane {FIRST_WITH_DATAREFS}')

    def _find_version(self, now: float) -> float:
        """Ask for the version until it is known; return when to ask again."""
        self._outbox.push(VERSION_CHANNEL, self._finder.due(now))
        self._conclude(now)
        return self._finder.deadline

    def _conclude(self, now: float) -> None:
        version = self._finder.found(now)
        if version is not None and self.version is None:
            self._learn_version(version, now)

    def _learn_version(self, version: int, now: float) -> None:
        if self._fixed_version is not None or version == self.version:
            return
        if self.version is not None:
            self._feeds.end()
        elif self.peer is not None:
            self._outbox.drop(VERSION_CHANNEL)
            self._outbox.push(VERSION_CHANNEL, [*self._finder.cancel(), None])
        self.version = version
        self._expired.append(VersionFound(version))
        if self._active and self.peer is not None:
            self._begin(now)

    def _begin(self, now: float) -> None:
        assert self.version is not None and self.peer is not None
        self._outbox.controls_wait = self.version < FIRST_WITH_DATAREFS
        self._feeds.begin(self.version, self.peer[0], now)

    # How the peer seems.

    @property
    def _silent(self) -> bool:
        return self.peer_state in (PeerState.LOADING, PeerState.AWAY)

    @property
    def _patience(self) -> float:
        return max(_SILENCE, _SILENT_PERIODS / self._rate) if self.uses_datarefs else _SILENCE

    def _watch_peer(self, now: float) -> float | None:
        """Notice silence, and ask the silent peer a small thing; return when to look again."""
        heard_beacon = (
            self._beacon_at is not None and now - self._beacon_at < BEACON_TIMEOUT)
        quiet = PeerState.LOADING if heard_beacon else PeerState.AWAY
        if not self._silent:
            at = self._heard_at + self._patience
            if now < at:
                return at
            self._become(quiet)
            self._feeds.forget()
            self._expired += self._reads.abandon(quiet.value)
            self._probe_at = now
        self._become(quiet)
        if now >= self._probe_at:
            self._probe_at = now + _PROBE_PERIOD
            self._feeds.probe()
        return self._probe_at

    def _wake_up(self, now: float) -> None:
        """Start anew at the first datagram after silence."""
        if self.peer_state is PeerState.ANSWERING:
            return
        if self._silent:
            self._feeds.resume(now)
            if 'joystick' in self._taken.what:
                self._urgent.append((_COMMAND_CHANNEL, wire.encode(JOYSTICK_OVERRIDE)))
        self._become(PeerState.ANSWERING)

    def _become(self, state: PeerState) -> None:
        if state is not self.peer_state:
            self.peer_state = state
            self._expired.append(PeerChanged(state))

    def _move(self, peer: Address, now: float) -> None:
        """Talk to another address from now on, on new sockets."""
        if self.peer is not None:
            self.release(now)
            self._feeds.end()
            self._urgent += self._outbox.take_all()
            for channel in (TELEMETRY_CHANNEL, DATA_CHANNEL, _COMMAND_CHANNEL, VERSION_CHANNEL):
                self._urgent.append((channel, None))
            self._expired += self._reads.abandon('X-Plane has another address now')
        self.peer = peer
        if self._active:
            self.start(now)


def _kind(data: bytes) -> str:
    """Name the kind of a malformed datagram: its label, if it is one."""
    tag = data[:4].decode('latin-1')
    return tag if len(tag) == 4 and tag.isascii() and tag.isalnum() else 'no label'
