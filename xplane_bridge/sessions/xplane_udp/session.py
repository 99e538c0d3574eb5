"""The conversation with X-Plane over its own UDP. Time is passed in; there is no socket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
import math
from typing import Literal

from xplane_bridge.protocols import xplane_udp as wire
from xplane_bridge.protocols.errors import ProtocolError
from xplane_bridge.protocols.xplane_udp import Becn, Data, Layout, RposReply, RrefReply
from xplane_bridge.sessions.xplane_udp.aircraft import Aircraft
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
from xplane_bridge.sessions.xplane_udp.discovery import (
    Address,
    BEACON_TIMEOUT,
    Discovery,
    version_of,
)
from xplane_bridge.sessions.xplane_udp.events import (
    BeaconHeard,
    DataArrived,
    Event,
    PeerChanged,
    PeerState,
    RowTelemetry,
    Statistics,
    VersionFound,
    WatchedDatarefs,
)
from xplane_bridge.sessions.xplane_udp.outbox import LARGEST, Outbox, Outgoing
from xplane_bridge.sessions.xplane_udp.reads import Reads
from xplane_bridge.sessions.xplane_udp.selection import RowSelection
from xplane_bridge.sessions.xplane_udp.subscription import Subscription

BEACON_CHANNEL = 'beacon'
DATA_CHANNEL = 'data'
_TELEMETRY_CHANNEL = 'telemetry'
_VERSION_CHANNEL = 'version'
_COMMAND_CHANNEL = 'command'

# Without anything for this long, or for some periods of a slow rate, X-Plane counts as away, and
# one small request asks again every so often.
_SILENCE = 1.0
_SILENT_PERIODS = 2.5
_PROBE_PERIOD = 1.0
# After a silence X-Plane may go on by itself with what it was asked before.
_RESUMING = 0.25

_OVERRIDE_PERIOD = 1.0

# xplane_internal_version exists in 11 and 12 only (dataref notes, 5.21); the other in all. So an
# answer to the second alone is X-Plane 10.
_VERSION_DATAREFS = (
    'sim/version/xplane_internal_version', 'sim/time/total_running_time_sec')
_VERSION_RATE = 2
_VERSION_PATIENCE = 1.5
# Rows in the frame of 8 and later, and no answer to RREF for this long: 8 or 9.
_ROWS_PATIENCE = 3.0

# Blocks of RREF numbers, so that no late value is taken for another dataref's.
_STATE_INDEX = 0
_VERSION_INDEX = 900
_WATCH_INDEX = 1000
_WATCH_BLOCK = 1000
_WATCH_BLOCKS = 90


@dataclass(frozen=True, slots=True)
class Needs:
    """What telemetry is made of: datarefs (10 and later) and rows, by version."""

    datarefs: Mapping[int, tuple[str, ...]]
    rows: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Wire:
    """
    How datagrams look and travel; None finds out, or takes what the version has.

    ``data_target`` tells, for the peer's address, the address and port that X-Plane 9 and later
    shall send rows to; None leaves that to its settings.
    """

    byte_order: Literal['little', 'big'] | None = None
    trailer: bool | None = None
    pacing: float = 0.01
    data_target: Callable[[str], Address] | None = None


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
        self._needs = needs
        self._rate = round(rate)
        self._fixed_version = version
        self._discovery = None if peer is not None else Discovery()
        self._by_rows = by_rows
        self._wire = wire_format or Wire()
        self._row_kind: RowKind = row_kind
        self._override_joystick = override_joystick
        self._outbox = Outbox(self._wire.pacing)
        self._urgent: list[Outgoing] = []
        self._reads = Reads(self._outbox)
        self._aircraft: Aircraft | None = None
        self._rows = RowSelection((), ())
        self._chosen_rows: frozenset[int] = frozenset()
        self._rows_known: dict[str, float] = {}
        self._layout: Layout | None = None
        self._watch: Subscription | None = None
        self._watched: tuple[tuple[str, ...], int] = ((), 0)
        self._watch_serial = 0
        self._targeted = False
        self._ticket = 0
        self._active = False
        self._started_at = 0.0
        self._heard_at = 0.0
        self._answered_at: float | None = None
        self._rows_at: float | None = None
        self._probe_at = 0.0
        self._beacon_at: float | None = None
        self._held: dict[str, float] = {}
        self._override_at = 0.0
        self._deadline: float | None = None
        self._expired: list[Event] = []
        self._taken = Taken()

    # What the owner may ask at any time.

    @property
    def taken(self) -> frozenset[str]:
        """Return what release() would give back: 'joystick', 'axes', 'flight model', 'pause'."""
        return frozenset(self._taken.what)

    @property
    def uses_datarefs(self) -> bool:
        """Tell whether telemetry is asked for by RREF and RPOS."""
        return self._aircraft is not None

    @property
    def every_frame(self) -> bool:
        """Tell whether every frame had to be asked for to get datarefs of the same frame."""
        return self._aircraft is not None and self._aircraft.every_frame

    @property
    def missing_rows(self) -> tuple[int, ...]:
        """Return the rows that were selected and do not come."""
        return self._rows.missing

    @property
    def drained(self) -> bool:
        """Tell whether nothing waits to be sent."""
        return not self._outbox and not self._urgent

    # Commands.

    def start(self, now: float) -> None:
        """Begin to talk."""
        self._active = True
        self._started_at = self._heard_at = now
        self._answered_at = self._rows_at = None
        self._probe_at = now
        self._become(PeerState.SEARCHING if self.peer is None else PeerState.UNKNOWN)
        if self.version is not None and self.peer is not None:
            self._begin(now)

    def stop(self, now: float) -> None:
        """Stop talking: give back what was taken, end what was subscribed and selected."""
        self.release(now)
        self._end()
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
            data = wire.encode(Data(message.segments, self._own_layout(version)), version)
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
            data = control_rows(version, controls, self._row_kind, self._own_layout(version))
            datagrams = [wire.encode(data, version)]
            if is_axis(controls) and 'axes' not in self._taken.what:
                self._taken.what.add('axes')
                if self._row_kind == 'trim':
                    self._taken.trims = dict(self._rows_known)
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
                self.version, self._row_kind, self._own_layout(self.version))
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
        if not 1.0 <= rate <= 1000.0:
            raise ValueError(f'datarefs_rate: got {rate:g} a second, expected 1 to 1000')
        if len(names) > _WATCH_BLOCK:
            raise ValueError(f'{len(names)} datarefs, at most {_WATCH_BLOCK} can be watched')
        Subscription(names, round(rate), _WATCH_INDEX)
        if names and self._fixed_version is not None:
            self._need_datarefs('datarefs')
        self._watched = (tuple(names), round(rate))
        if self._active and self.version is not None and self.peer is not None:
            self._end_watch()
            self._begin_watch(now)

    def choose_rows(self, rows: Iterable[int], now: float) -> None:
        """Select these rows beside those that the telemetry needs; raise ValueError if bad."""
        chosen = frozenset(rows)
        if chosen:
            wire.encode(wire.Dsel(tuple(chosen)))
        self._chosen_rows = chosen
        if self._active and self.version is not None and self.peer is not None:
            gone = self._rows.choose(chosen, now)
            if gone:
                self._outbox.push(DATA_CHANNEL, [
                    wire.encode(wire.Usel(gone, self._own_layout(self.version)))])

    def hear(self, beacon: Becn, address: str, now: float) -> None:
        """Take a beacon and the address it came from."""
        if self._discovery is not None:
            moved = self._discovery.hear(beacon, address, now)
            if self._discovery.peer != (address, beacon.port):
                return
            if moved:
                self._move(self._discovery.peer, now)
        elif beacon.port != self._peer_port:
            return
        self.beacon = beacon
        self._beacon_at = now
        self._learn_version(version_of(beacon.version), now)

    @property
    def _peer_port(self) -> int:
        return self.peer[1] if self.peer else 0

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
            message = wire.decode(data, 'peer', self.version, previous=self._layout)
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
        elif isinstance(message, RposReply) and self._aircraft is not None:
            self._wake_up(now)
            telemetry = self._aircraft.receive_pose(message, now)
            events += [telemetry] if telemetry else []
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
            deadlines.append(self._ask(now))
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
        self._layout = message.layout
        self._rows_at = now
        self.statistics.rows += len(message.segments)
        events: list[Event] = [DataArrived(message.segments)]
        if self.version is None:
            framing = message.layout.framing if message.layout else 8
            if framing < 8:
                self._learn_version(framing, now)
        group = self._rows.receive(message.segments)
        if group is not None and self.version is not None:
            self.statistics.updates += 1
            events.append(RowTelemetry(self.version, group))
            if 'axes' not in self._taken.what and self.version < FIRST_WITH_DATAREFS:
                known = wire.quantities(self.version, group)
                self._rows_known = {
                    name: value for name in TRIMS
                    if (value := getattr(known, name)) is not None}
        return events

    def _receive_values(self, channel: str, reply: RrefReply, now: float) -> list[Event]:
        if channel == _TELEMETRY_CHANNEL and self._aircraft is not None:
            telemetry = self._aircraft.receive_state(reply, now)
            return [telemetry] if telemetry else []
        if channel == _VERSION_CHANNEL:
            self._receive_version(dict(reply.values), now)
            return []
        if self._watch is not None and channel == self._watch_channel:
            if self._watch.receive(reply):
                return [WatchedDatarefs(self._watch.names, self._watch.take())]
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
        if now >= self._probe_at:
            self._probe_at = now + _PROBE_PERIOD
            self._outbox.push(_VERSION_CHANNEL, [
                wire.encode(wire.RrefRequest(_VERSION_RATE, _VERSION_INDEX + number, name))
                for number, name in enumerate(_VERSION_DATAREFS)])
        if self._answered_at is not None and now - self._answered_at >= _VERSION_PATIENCE:
            self._learn_version(FIRST_WITH_DATAREFS, now)
        elif (self._answered_at is None and self._rows_at is not None
                and now - self._started_at >= _ROWS_PATIENCE):
            self._learn_version(9, now)
        return self._probe_at if self._answered_at is None else min(
            self._probe_at, self._answered_at + _VERSION_PATIENCE)

    def _receive_version(self, values: Mapping[int, float], now: float) -> None:
        number = values.get(_VERSION_INDEX)
        if number is not None and math.isfinite(number):
            self._learn_version(version_of(number), now)
        elif self._answered_at is None:
            self._answered_at = now

    def _learn_version(self, version: int, now: float) -> None:
        if self._fixed_version is not None or version == self.version:
            return
        if self.version is not None:
            self._end()
        elif self.peer is not None:
            self._outbox.drop(_VERSION_CHANNEL)
            self._outbox.push(_VERSION_CHANNEL, [
                *(wire.encode(wire.RrefRequest(0, _VERSION_INDEX + number, name))
                  for number, name in enumerate(_VERSION_DATAREFS)), None])
        self.version = version
        self._expired.append(VersionFound(version))
        if self._active and self.peer is not None:
            self._begin(now)

    # What is subscribed and selected.

    def _begin(self, now: float) -> None:
        """Subscribe and select what this version's telemetry needs."""
        version = self.version
        assert version is not None
        if self._wire.byte_order is not None:
            self._layout = wire.default_layout(
                version, 'peer', byte_order=self._wire.byte_order)
        by_rows = self._by_rows or version < FIRST_WITH_DATAREFS
        self._outbox.controls_wait = version < FIRST_WITH_DATAREFS
        self._aircraft = None if by_rows else Aircraft(
            self._needs.datarefs[version], self._rate, _STATE_INDEX, self.statistics, version)
        self._rows = RowSelection(self._needs.rows[version] if by_rows else (), self._chosen_rows)
        self._targeted = False
        self._probe_at = now + _PROBE_PERIOD
        if self._aircraft is not None:
            self._outbox.push(_TELEMETRY_CHANNEL, [self._aircraft.pose_request()])
            self._aircraft.state.ask(now)
        self._rows.ask(now)
        self._begin_watch(now)

    def _end(self) -> None:
        """End what is subscribed and selected; what waits to be asked is not asked any more."""
        for channel in (_TELEMETRY_CHANNEL, DATA_CHANNEL):
            self._outbox.drop(channel)
        self._end_watch()
        version = self.version
        if version is None:
            return
        if self._aircraft is not None:
            self._outbox.push(_TELEMETRY_CHANNEL, [
                self._aircraft.pose_request(0), *self._aircraft.state.cancel()])
        usel = self._rows.cancel(self._own_layout(version))
        if usel is not None:
            self._outbox.push(DATA_CHANNEL, [usel])
        if self._targeted:
            self._outbox.push(DATA_CHANNEL, [self._target(version, 0)])
            self._targeted = False
        self._aircraft = None
        self._rows = RowSelection((), ())

    @property
    def _watch_channel(self) -> str:
        return f'watch {self._watch_serial}'

    def _begin_watch(self, now: float) -> None:
        names, rate = self._watched
        if not names or (self.version or 0) < FIRST_WITH_DATAREFS:
            return
        self._watch_serial += 1
        first = _WATCH_INDEX + _WATCH_BLOCK * (self._watch_serial % _WATCH_BLOCKS)
        self._watch = Subscription(names, rate, first)
        self._watch.ask(now)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._outbox.drop(self._watch_channel)
            self._outbox.push(self._watch_channel, [*self._watch.cancel(), None])
            self._watch = None

    def _select(self, version: int, dsel: bytes) -> None:
        """Tell X-Plane 9 and later where to send rows, and all versions which."""
        if self._wire.data_target is not None and version in wire.DATA_OUTPUT_TARGET:
            self._outbox.push(DATA_CHANNEL, [self._target(version, 1)])
            self._targeted = True
        self._outbox.push(DATA_CHANNEL, [dsel])

    def _target(self, version: int, use: int) -> bytes:
        assert self._wire.data_target is not None and self.peer is not None
        kind = wire.Iset if version <= 9 else wire.Ise4
        address, port = self._wire.data_target(self.peer[0])
        return wire.encode(
            kind(wire.DATA_OUTPUT_TARGET[version], address, port, use), version)

    def _own_layout(self, version: int) -> Layout:
        """Return how what we send is framed: in the order of what came, if anything did."""
        order = self._wire.byte_order or (self._layout.byte_order if self._layout else 'little')
        trailer = self._wire.trailer if version <= 7 else None
        return wire.default_layout(version, 'bridge', byte_order=order, trailer=trailer)

    def _ask(self, now: float) -> float | None:
        """Ask for what does not come yet; return when to look again."""
        if self.version is None or self._silent:
            return None
        deadlines: list[float | None] = []
        if self._aircraft is not None:
            deadlines.append(self._ask_for(self._aircraft.state, _TELEMETRY_CHANNEL, now))
            deadlines.append(self._ask_for_pose(self._aircraft, now))
        if self._watch is not None:
            deadlines.append(self._ask_for(self._watch, self._watch_channel, now))
        dsel = self._rows.due(now, self._own_layout(self.version))
        if dsel is not None:
            self._select(self.version, dsel)
        deadlines.append(self._rows.deadline)
        return min((at for at in deadlines if at is not None), default=None)

    def _ask_for(self, subscription: Subscription, channel: str, now: float) -> float | None:
        requests = subscription.due(now, self._outbox.pacing)
        if requests and len(requests) < len(subscription.names):
            self.statistics.asked_again += len(requests)
        self._outbox.push(channel, requests)
        return subscription.deadline

    def _ask_for_pose(self, aircraft: Aircraft, now: float) -> float:
        """Ask for the pose again when it does not come while the rest does."""
        if aircraft.pose_at is not None and now - aircraft.pose_at < self._patience:
            return aircraft.pose_at + self._patience
        if now >= self._probe_at:
            self._probe_at = now + _PROBE_PERIOD
            self.statistics.asked_again += 1
            self._outbox.push(_TELEMETRY_CHANNEL, [aircraft.pose_request()])
        return self._probe_at

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
            self._forget(now)
        elif self.peer_state is not quiet:
            self._become(quiet)
        if self.version is not None and now >= self._probe_at:
            self._probe_at = now + _PROBE_PERIOD
            self._probe()
        return self._probe_at

    def _forget(self, now: float) -> None:
        """Take X-Plane as restarted; what waits to be asked would only be lost."""
        self._probe_at = now
        for channel in (_TELEMETRY_CHANNEL, DATA_CHANNEL, self._watch_channel):
            self._outbox.drop(channel)
        if self._aircraft is not None:
            self._aircraft.forget()
        if self._watch is not None:
            self._watch.forget()
        self._rows.forget()
        self._expired += self._reads.abandon(self.peer_state.value)

    def _probe(self) -> None:
        """Ask for one dataref and the pose, or for the rows."""
        assert self.version is not None
        if self._aircraft is not None:
            self._outbox.push(_TELEMETRY_CHANNEL, [
                self._aircraft.pose_request(), self._aircraft.state.first()])
        if self._rows.wanted:
            self._select(self.version, wire.encode(wire.Dsel(
                tuple(sorted(self._rows.wanted)), self._own_layout(self.version))))

    def _wake_up(self, now: float) -> None:
        """Start anew at the first datagram after silence."""
        if self.peer_state is PeerState.ANSWERING:
            return
        if self._silent:
            self._probe_at = now + _PROBE_PERIOD
            if self._aircraft is not None:
                self._aircraft.state.ask(now + _RESUMING)
            if self._watch is not None:
                self._watch.ask(now + _RESUMING)
            self._rows.ask(now + _RESUMING)
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
            self._end()
            self._urgent += self._outbox.take_all()
            for channel in (_TELEMETRY_CHANNEL, DATA_CHANNEL, _COMMAND_CHANNEL, _VERSION_CHANNEL):
                self._urgent.append((channel, None))
            self._expired += self._reads.abandon('X-Plane has another address now')
        self.peer = peer
        if self._active:
            self.start(now)


def _kind(data: bytes) -> str:
    """Name the kind of a malformed datagram: its label, if it is one."""
    tag = data[:4].decode('latin-1')
    return tag if len(tag) == 4 and tag.isascii() and tag.isalnum() else 'no label'
