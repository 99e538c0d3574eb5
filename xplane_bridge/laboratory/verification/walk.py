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

"""The walk through the steps of a verification, in an order that is safe in flight."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from xplane_bridge.bridges.conversions.plausibility import Plausibility
from xplane_bridge.bridges.links import causes
from xplane_bridge.bridges.links.udp import SocketCounters
from xplane_bridge.laboratory.verification import moments, reach, trials
from xplane_bridge.laboratory.verification.evidence import arrival
from xplane_bridge.laboratory.verification.evidence.consistency import Consistency, STEP
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord, Sample
from xplane_bridge.laboratory.verification.evidence.line import Line, PeerLostError, PeerNetwork
from xplane_bridge.laboratory.verification.peers.base import Probe, VerifiedPeer
from xplane_bridge.laboratory.verification.trials import Trials

_CONFIRMS = 4.0
# Of the updates asked for; and what else says why there are fewer.
_ENOUGH, _OF_NETWORK = 0.75, ('rate', 'gaps', 'loss', 'jitter')


@dataclass(frozen=True, slots=True)
class Settings:
    """
    How a peer is verified.

    ``seconds`` is how long it is only listened to. ``read_only``: nothing is changed.
    ``attended``: a person is there, who can do what only persons can.
    """

    seconds: float = 30.0
    read_only: bool = False
    attended: bool = False


class WalkStep(NamedTuple):
    """One step: its name, what it will do, whether it changes anything, and how it is done."""

    name: str
    announces: str
    changes: bool
    run: Callable[[], Iterable[CheckResult]]


class Walk(ABC):
    """
    Takes the steps of a verification. ``tell`` takes lines for people, ``asks`` whether to go on.

    ``findings`` grows as it goes on. However it ends, close() gives back what was taken; ``left``
    says afterwards what did not come back, and how to undo it. ``program`` is what answers, once
    that is known.
    """

    def __init__(
        self, program: str, settings: Settings, tell: Callable[[str], None],
        asks: Callable[[str], bool],
    ) -> None:
        self.findings: list[CheckResult] = []
        self.left: tuple[str, ...] = ()
        self.gave_back: tuple[str, ...] = ()
        self.program = program
        self._settings = settings
        self._tell = tell
        self._asks = asks
        self._samples: list[Sample] = []

    @property
    def record(self) -> FlightRecord:
        """Return what was received of the flight."""
        # Before its time has arrived, that of the reception is another one.
        timed = [sample for sample in self._samples if sample.state.time is not None]
        return FlightRecord(timed or self._samples)

    def run(self) -> None:
        """
        Take all steps. Raises UnreachableError, and what ``tell`` and ``asks`` raise.

        A peer that stops responding ends it with a finding.
        """
        step = reach.STEP
        try:
            for one in self._steps():
                step = one.name
                self._take(one)
        except reach.AstrayError:
            # Its finding has said it.
            pass
        except PeerLostError as error:
            self._add(CheckResult(
                step, 'peer', Outcome.DIFFERS, f'it stopped responding: {error}', '', 'an answer',
                'silence'))

    @abstractmethod
    def close(self) -> None:
        """Give back what was taken, until that is shown; twice is fine."""

    @abstractmethod
    def _steps(self) -> Iterator[WalkStep]:
        """Yield the steps in their order."""

    def _skip(self) -> None:  # noqa: B027 -- nothing has come if nobody listens yet
        """Forget what has come while a person was asked."""

    def _take(self, step: WalkStep) -> None:
        if step.changes and self._settings.read_only:
            self._add(CheckResult(step.name, 'step', Outcome.SKIPPED,
                              f'not done, as nothing may be changed: it {step.announces}'))
            return
        self._tell(f'\n{step.name}: {step.announces}.')
        if step.changes and not self._ask(step.announces):
            self._add(CheckResult(
                step.name, 'step', Outcome.SKIPPED, f'declined: {step.announces}'))
            return
        for finding in step.run():
            self._add(finding)

    def _ask(self, question: str) -> bool:
        """Ask a person, who may take minutes: what comes meanwhile is no part of the step."""
        answer = self._asks(question)
        self._skip()
        return answer

    def _add(self, finding: CheckResult) -> None:
        self.findings.append(finding)
        self._tell(f'  {finding}')


class Verification(Walk):
    """Verifies a peer that a session talks to; ``others`` are questions of other programs."""

    def __init__(
        self, peer: VerifiedPeer, network: PeerNetwork, settings: Settings,
        tell: Callable[[str], None], asks: Callable[[str], bool],
        others: Mapping[str, Probe],
    ) -> None:
        super().__init__(peer.title, settings, tell, asks)
        self._peer = peer
        self._network = network
        self._others = others
        self._line: Line | None = None
        self._heard: list[float] = []
        self._trials: Trials | None = None

    def close(self) -> None:
        line, self._line = self._line, None
        if line is None:
            return
        session = self._peer.session
        taken = list(session.taken)
        left: list[str] = []
        try:
            for undo in reversed(self._trials.undo if self._trials else []):
                taken.append(undo.what)
                try:
                    undo.act()
                    line.listen(0.3)
                except (ValueError, PeerLostError) as error:
                    left.append(f'{undo.what}: {error}; {undo.advice}')
            line.call(session.stop)
            line.wait_for(lambda: not session.leaving, session.release_timeout + _CONFIRMS)
            if session.left.unconfirmed:
                left.append(
                    f'{", ".join(session.left.unconfirmed)}: {session.left.reason}')
        finally:
            self.left = tuple(left)
            self.gave_back = tuple(dict.fromkeys(taken))
            line.close()

    def _skip(self) -> None:
        if self._line is not None:
            self._line.skip()

    # The steps.

    def _steps(self) -> Iterator[WalkStep]:
        peer, settings = self._peer, self._settings
        host = f'{peer.to[0]}:{peer.to[1]}'
        yield WalkStep(
            'Reach', f'{"asks" if peer.question else "begins to talk to"} {peer.title} at {host}'
            + (', and listens for beacons' if peer.beacon else ''), False, self._reach)
        yield WalkStep(
            STEP, f'listens for {settings.seconds:g} s: fly straight, then gentle turns, climbs '
            'and descents', False, self._telemetry)
        yield WalkStep(
            'Commands', f'moves {", ".join(peer.takes) or "nothing"} a little, one at a time, and '
            'gives each back: be in trimmed flight, well above the ground', True, self._commands)
        yield WalkStep(
            'Commands', 'pauses the simulation for a second, and resumes it', True,
            lambda: self._made_trials().of_pause())
        yield WalkStep(
            'Commands', 'puts the aircraft 60 m to the north, and back', True,
            lambda: self._made_trials().of_pose())
        yield WalkStep(
            STEP, 'compares the signals of all that was flown with one another', False,
            self._consistency)
        if settings.attended:
            yield WalkStep(
                moments.STEP, 'asks you to pause, load and restart the simulator: each may be '
                'skipped', False, self._moments)

    def _reach(self) -> Iterator[CheckResult]:
        yield from reach.reach(self._peer, self._network, self._others)
        self._line = self._network.line(self._peer.session, self._peer.make_loop)
        yield from reach.begin(self._peer, self._line)
        self.program = self._peer.who()

    def _telemetry(self) -> Iterator[CheckResult]:
        peer, line = self._peer, self._line
        assert line is not None
        gate = Plausibility(clock=line.now)
        for heard in line.attend(self._settings.seconds):
            sample = peer.sample(heard)
            if sample is None:
                continue
            self._heard.append(heard.at)
            gate.state(sample.state)
            self._samples.append(sample)
        yield from self._rate()
        yield from arrival.missing(list(peer.missing(line.now())), len(peer.session.wanted))
        yield from arrival.impossible(gate)
        statistics = peer.session.statistics
        if statistics.malformed.total:
            yield CheckResult(
                STEP, 'datagrams', Outcome.DIFFERS,
                causes.malformed(statistics.malformed.total, statistics.last_error),
                '', 'none', str(statistics.malformed.total))
        if peer.replays(line):
            yield CheckResult(
                STEP, 'replay', Outcome.DIFFERS, 'it plays a replay: nothing that is commanded '
                'moves the aircraft', '', 'a flight', 'a replay')
        counters = line.counters()
        if isinstance(counters, SocketCounters):
            yield from reach.elsewhere(counters)
        yield from arrival.pace(
            self._samples, self._heard, peer.requirements.get('time', ''))

    def _rate(self) -> Iterator[CheckResult]:
        """Compare how often telemetry comes with how often it was asked for."""
        span = self._heard[-1] - self._heard[0] if len(self._heard) > 1 else 0.0
        rate, asked = (len(self._heard) - 1) / span if span else 0.0, self._peer.rate
        if rate >= _ENOUGH * asked:
            yield CheckResult(STEP, 'rate', Outcome.SEEN, f'{rate:.1f} updates per second')
        elif not any(one.outcome is Outcome.DIFFERS and one.subject in _OF_NETWORK
                     for one in self.findings):
            yield CheckResult(
                STEP, 'rate', Outcome.DIFFERS, 'updates come less often than asked: are there '
                'fewer frames per second?', '', f'{asked:g} per second', f'{rate:.1f}')

    def _made_trials(self) -> Trials:
        assert self._line is not None
        if self._trials is None:
            self._trials = Trials(self._peer, self._line, self._samples)
            self._trials.attend(0.2)
        return self._trials

    def _commands(self) -> Iterator[CheckResult]:
        made = self._made_trials()
        if not self._peer.takes:
            yield CheckResult(
                'Commands', 'controls', Outcome.SKIPPED, 'its datagram has all controls, and it '
                'tells none: --throttle says where its throttle is')
        for trial in trials.TRIALS:
            yield from made.of_control(trial)

    def _moments(self) -> Iterator[CheckResult]:
        assert self._line is not None
        yield from moments.of_moments(
            moments.moments_of(self._peer, self._line), self._ask, self._tell)

    def _consistency(self) -> Iterator[CheckResult]:
        record = self.record
        physics = Consistency(
            record, self._peer.sources,
            None if self._trials is None else self._trials.responses(record))
        yield from physics.run()
        yield from self._peer.spoken(record, physics.bad)
        if self._trials is not None:
            yield from self._trials.motion(record)
