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

"""Common base of all nodes between ROS and a peer: session, link, commands, diagnostics."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
import time
from typing import Any, ClassVar, Generic, TypeVar

from xplane_bridge.bridges.conversions.plausibility import Plausibility
from xplane_bridge.bridges.links.captures.replay import ReplayLoop
from xplane_bridge.bridges.links.loop import SessionLoop
from xplane_bridge.bridges.links.session import SessionError
from xplane_bridge.bridges.nodes.common.base import BridgeNode, CaptureParameters
from xplane_bridge.bridges.nodes.common.datagrams import (
    AwaitedTickets,
    capture_status,
    LinkReport,
    RateMeter,
    values_status,
)
from xplane_bridge.bridges.nodes.common.diagnostics import ERROR, OK, STALE, Status, WARN
from xplane_bridge.bridges.nodes.common.faults import InternalErrors, MOST_IN_A_ROW
from xplane_bridge.bridges.nodes.common.lists import named
from xplane_bridge.bridges.nodes.common.stamps import write_stamp
from xplane_bridge.bridges.nodes.vehicle.clock import SimulatorClock
from xplane_bridge.bridges.nodes.vehicle.controls import CommandGate
from xplane_bridge.bridges.nodes.vehicle.crash import STATUS as CRASHED
from xplane_bridge.bridges.nodes.vehicle.plausibility import plausibility_status
from xplane_bridge.bridges.nodes.vehicle.watchdog import CommandWatchdog
from xplane_bridge.bridges.sessions.base import (
    CommandDone,
    PeerChanged,
    PeerState,
    ReadDone,
    RELEASE_TIMEOUT,
    Session,
    with_advice,
)
from xplane_bridge.bridges.sessions.left import Left
from xplane_bridge.common.text import LONGEST_LINE, printable

Handler = Callable[[Any, int], None]

P = TypeVar('P', bound=Any)
S = TypeVar('S', bound=Session)

# Telemetry older than this is stale, in seconds.
FRESH = 1.0

# Anybody in the ROS domain may publish.
_MOST_COMMANDERS = 8

# How long after release_timeout the session may still end what showed that, watched for copies of
# commands that are under way.
_GRACE = 1.0


class Bridge(BridgeNode[P], Generic[P, S]):
    """
    A node between ROS and one peer: a session, the link that runs it, and their ROS interface.

    Subclasses implement ``make_session``, ``make_link``, ``make_replay`` and ``make_topics``, and
    publish in ``handlers``; the rest if their protocol has something to add. Handlers run in the
    link's thread, commands and services in the executor.
    """

    peer: ClassVar[str]
    """Name of the peer in messages."""

    piece: ClassVar[str] = 'datagram'
    """Name of one unit of received data in messages."""

    good: ClassVar[PeerState] = PeerState.ANSWERING
    """The state in which all is well."""

    session: S
    link: SessionLoop

    # Lifecycle.

    def open(self) -> None:
        """Create the session, its link, and the ROS interface."""
        self.session = self.make_session()
        self.session.release_timeout = getattr(
            self.parameters, 'release_timeout', RELEASE_TIMEOUT)
        self.left = Left()
        self.faults = InternalErrors()
        self.link = self.make_replay() if self.plays_capture else self.make_link()
        self.pending = AwaitedTickets(self)
        self.simulator_clock: SimulatorClock | None = None
        self.gates: dict[str, CommandGate] = {}
        self.plausibilities: dict[str, Plausibility] = {}
        self.last_update = 0.0
        # Whether the simulator says that its aircraft has.
        self.has_crashed = False
        self._report = LinkReport()
        self._rates = RateMeter()
        try:
            self.make_topics()
        except Exception:
            self.link.close()
            raise
        self._handlers: dict[type, Handler] = {
            PeerChanged: self._on_peer_changed,
            ReadDone: self._on_done,
            CommandDone: self._on_done,
            **self.handlers(),
        }
        self.link.start()

    def begin(self) -> None:
        """Start talking."""
        self.left = Left()
        self.link.watch_refusals(False)
        self.link.call(self.session.start)

    def end(self) -> None:
        """Stop talking, and give back what was taken; return when the peer has shown it."""
        for watchdog in self.watchdogs():
            watchdog.disarm()
        self.link.watch_refusals(True)
        self.link.call(self.session.stop)
        is_over = self.link.wait_for(
            lambda: not self.session.leaving, self.session.release_timeout + _GRACE)
        with self.link.lock:
            self.left = self.session.left if is_over else Left(
                self.session.unconfirmed, 'the link was too busy to give it back', True)
        if self.left.has_ended:
            self.get_logger().info(printable(
                f'{self.peer} has ended: nothing listens at {self.peer_address()} any more, so '
                'nothing is given back to it', LONGEST_LINE))
        if self.left.unconfirmed:
            self.tell_left(self.left)

    def tell_left(self, left: Left) -> None:
        """Log what the peer has not shown to be given back; an error is the process's as well."""
        sentence = f'may stay as it was left: {", ".join(left.unconfirmed)}; {left.reason}'
        if left.is_error:
            self.exit_code = 1
            self.get_logger().error(printable(sentence, LONGEST_LINE))
        else:
            self.get_logger().warning(printable(sentence, LONGEST_LINE))

    def all_is_given_back(self) -> None:
        """Owe nothing of earlier conversations: the peer shows that it is free of everything."""
        with self.link.lock:
            self.left = Left()
            # A node whose session has failed has no peer that shows anything.
            self.exit_code = 0

    def close(self) -> None:
        """Close the link, join its thread."""
        self.link.close()
        for watchdog in self.watchdogs():
            watchdog.close()

    def changed(self, given: P) -> None:
        """Use new live parameters."""
        timeout = getattr(given, 'command_timeout', None)
        if timeout is not None and timeout != self.parameters.command_timeout:
            for watchdog in self.watchdogs():
                watchdog.set_timeout(timeout)

    # Implemented by each protocol.

    @abstractmethod
    def make_session(self) -> S:
        """Return a session configured by the parameters."""

    @abstractmethod
    def make_link(self) -> SessionLoop:
        """Return the link that runs the session; raise LinkError if it cannot be opened."""

    def make_replay(self) -> ReplayLoop:
        """Return the link that replays capture_file; see replay()."""
        raise ValueError('parameter capture_file: this node plays no captures')

    @abstractmethod
    def make_topics(self) -> None:
        """Create publishers, ``gates`` by vehicle, other commands and services."""

    @abstractmethod
    def handlers(self) -> dict[type, Handler]:
        """Return the handlers of the session's events, called with event and receive time."""

    def watchdogs(self) -> Iterable[CommandWatchdog]:
        """Return the watchdogs of commands."""
        return [gate.watchdog for gate in self.gates.values()]

    # Used by each protocol.

    @property
    def plays_capture(self) -> bool:
        """Return whether datagrams come from a capture."""
        given = self.parameters
        return isinstance(given, CaptureParameters) and bool(given.capture_file)

    def replay(self, **options: Any) -> ReplayLoop:
        """Return a link that plays capture_file; ``options`` are ReplayLoop's."""
        given = self.parameters
        assert self.subscribers is not None
        return ReplayLoop(
            given.capture_file, self.session, self.on_event, self.on_failure,
            speed=given.capture_speed, on_end=self.capture_ended, holds=self.subscribers.holds,
            name=f'{self.get_name()} replay', **options)

    def stamp(self, message: Any, stamp_ns: int) -> bool:
        """Stamp a message other than vehicle telemetry; return whether there is a time yet."""
        clock = self.simulator_clock
        stamp = self.stamps.received(stamp_ns) if clock is None else clock.now_ns
        if stamp is None:
            return False
        write_stamp(message, stamp)
        return True

    def hint(self, state: PeerState) -> str:
        """Return what the user can do about a state of the peer."""
        return self.session.advise(state)

    def sentence(self, state: PeerState) -> str:
        """Return the meaning of a peer's state, and what can be done about it."""
        said, hint = self.session.sentences[state], self.hint(state)
        if state is PeerState.AWAY and not hint.startswith(said):
            said += f' (looked for at {printable(self.peer_address())})'
        return with_advice(said, hint)

    # From the peer: in the link's thread.

    def on_event(self, event: Any, stamp_ns: int) -> None:
        """Pass an event to its handler."""
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event, stamp_ns)

    def on_failure(self, error: Exception) -> None:
        """
        Log what went wrong with one datagram, or in the session.

        The system's refusals are warnings. All else is a mistake in this package: a session that
        makes ten in a row has ended, and the node with it.
        """
        if isinstance(error, OSError):
            self.warn('failure', f'{type(error).__name__} while handling a {self.piece}: {error}')
            return
        if found := self.faults.note(error):
            self.get_logger().error(f'a mistake in this package, please report it:\n{found}')
        if isinstance(error, SessionError) and error.in_a_row == MOST_IN_A_ROW:
            self.exit_code = 1
            self.get_logger().fatal(
                f'the session with {self.peer} has failed {MOST_IN_A_ROW} times in a row, '
                f'and the node ends: {printable(str(error), LONGEST_LINE)}')
            if self.quit is not None:
                self.quit()

    def _on_done(self, event: ReadDone | CommandDone, _: int) -> None:
        self.pending.end(event)

    def _on_peer_changed(self, event: PeerChanged, _: int) -> None:
        self.tell(event.state)

    def tell(self, state: PeerState) -> None:
        """Log a new state of the peer."""
        if state is self.good:
            self.inform(state.value, f'{self.peer} answers at {self.peer_address()}')
        elif state is not PeerState.UNKNOWN and self.active:
            self.warn(state.value, self.sentence(state))

    @abstractmethod
    def peer_address(self) -> str:
        """Return the peer's address, for people."""

    # Diagnostics. Called with the session locked.

    def diagnose(self) -> Sequence[Status]:
        """Return the state of link, peer, values, telemetry and commands."""
        counters = self.link.counters()
        now = time.monotonic()
        with self.link.lock:
            lines = [
                self.diagnose_link(counters),
                self.diagnose_peer(),
                *self.diagnose_values(now),
                self.diagnose_telemetry(now),
                *self.diagnose_commands(now),
                *self.diagnose_more(now),
            ]
        if self.faults.count:
            lines.append(self.faults.status())
        if isinstance(self.link, ReplayLoop):
            # This acquires the lock itself.
            lines.append(capture_status(self.link))
        return lines

    def diagnose_link(self, counters: Any) -> Status:
        """Return the status of the link."""
        statistics = self.session.statistics
        return self._report.status(
            counters, statistics.malformed, statistics.last_error,
            ('peer address', self.peer_address()))

    def diagnose_peer(self) -> Status:
        """Return the status of the peer."""
        state = self.session.peer_state
        if not self.active:
            level, text = STALE, 'not active'
        elif state is self.good:
            level, text = OK, self.session.sentences[state]
            if fault := self.peer_fault():
                level, text = WARN, fault
        else:
            level, text = WARN, self.sentence(state)
        return Status('peer', level, text, (('state', state.value), *self.peer_values()))

    def peer_fault(self) -> str:
        """Return what is wrong although the peer is in its good state."""
        return ''

    def peer_values(self) -> Sequence[tuple[str, str]]:
        """Return further values of the peer's status."""
        return ()

    def diagnose_values(self, now: float) -> Sequence[Status]:
        """Return the status of requested values."""
        session = self.session
        if not self.active:
            return (values_status((), {}, now),)
        return (values_status(session.wanted, session.missing(now), now),)

    def diagnose_telemetry(self, now: float) -> Status:
        """Return the status of the telemetry."""
        age = now - self.last_update if self.last_update else None
        fresh = age is not None and age < self.fresh_for()
        rates = self._rates.per_second(self.session.statistics.updates, now)
        level, text = (OK, 'arriving') if fresh else (STALE, 'nothing arrives')
        if fresh and (shared := self._shared_topic()):
            level = WARN
            text = f'another node publishes {shared} too: is another bridge running?'
        return Status('telemetry', level, text, (
            *self.telemetry_values(rates, now),
            ('age of the last, s', 'none yet' if age is None else f'{age:.3f}')))

    def _shared_topic(self) -> str:
        """Return the name of telemetry that another node publishes too, '' if none does."""
        names = [self.resolve_topic_name(f'{prefix}imu/data') for prefix in self.gates]
        return next((name for name in names if self.count_publishers(name) > 1), '')

    def _commanders(self) -> str:
        """Return which nodes publish command/controls."""
        return ', '.join([
            name for gate in self.gates.values() for name in gate.commanders()][:_MOST_COMMANDERS])

    def fresh_for(self) -> float:
        """Return how old telemetry may be to count as fresh, in seconds."""
        return FRESH

    def telemetry_values(
        self, rates: Mapping[Any, float], now: float
    ) -> Sequence[tuple[str, str]]:
        """Return the values of the telemetry status; ``rates`` are updates per second."""
        return ()

    def diagnose_commands(self, now: float) -> Sequence[Status]:
        """Return the status of commands: what was taken, and whether the peer shows it."""
        session = self.session
        level, text = OK, 'watched'
        if self.left.unconfirmed:
            level = ERROR if self.left.is_error else WARN
            text = f'may stay as it was left: {named(self.left.unconfirmed)}; {self.left.reason}'
        elif self.active and (wrong := session.contradictions(now)):
            level, text = WARN, named(wrong, '; ')
        elif any(watchdog.expired for watchdog in self.watchdogs()):
            whose = ', '.join(
                prefix.rstrip('/') for prefix, gate in self.gates.items()
                if prefix and gate.watchdog.expired)
            level = WARN
            text = 'commands stopped arriving' + (f' for {whose}' if whose else '')
        elif rivalry := next(filter(None, (gate.rivalry() for gate in self.gates.values())), ''):
            level, text = WARN, rivalry
        return (Status('commands', level, text, (
            *self.command_values(),
            ('publishers of command/controls', printable(self._commanders()) or 'none'),
            ('given back, not yet shown', ', '.join(sorted(session.unconfirmed)) or 'nothing'))),)

    def command_values(self) -> Iterable[tuple[str, str]]:
        """Return the values of the commands status."""
        return ()

    def diagnose_more(self, now: float) -> Iterable[Status]:
        """Return additional statuses."""
        if self.has_crashed:
            yield Status(CRASHED, ERROR, f'{self.peer} reports that the aircraft has crashed')
        if self.plausibilities:
            yield plausibility_status(self.plausibilities)
        if self.simulator_clock is not None:
            yield self.simulator_clock.diagnose()
