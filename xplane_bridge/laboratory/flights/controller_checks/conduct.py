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
The conduct of a controller: what it commands, counted against its contract. No ROS, no clock.

The contract is docs/reference/controllers.md. Time is passed in: ``now`` are seconds of a steady
clock, stamps are those of the messages.
"""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
import math
from typing import Any

import numpy as np

from xplane_bridge.common.controls import FLOWN, LIMITS
from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.flights.analysis.verdict import Judgement

# States and answers that are remembered: twenty seconds at 50 per second.
_REMEMBERED = 1000
# Commands that are still under way when it is released (s).
_GRACE = 0.5

SAYS = {
    'not_finite': 'commands not finite',
    'out_of_range': 'commands out of range',
    'mask': 'commands whose fields are 0 or undefined',
    'incomplete': 'commands without all of elevator, aileron, rudder, throttle',
    'unstamped': 'commands without a stamp',
    'unknown': 'commands with the stamp of no imu/data',
    'backwards': 'commands for a state older than one answered before',
    'duplicate': 'commands for a state answered before',
    'unasked': 'commands while released',
    'late': 'late commands',
}
"""What can be wrong with commands, by the name of its count."""
REMEDIES = {
    'not_finite': 'limit every value, and check for NaN, before it is published',
    'out_of_range': 'limit the surfaces to -1..1 and the throttle to 0..1',
    'mask': 'add the constants of FlightControls for what you set (ELEVATOR, AILERON, RUDDER, '
            'THROTTLE) in fields; otherwise the bridge refuses the command',
    'incomplete': 'set all four, and their bits in fields',
    'unstamped': 'copy header.stamp of the imu/data to that of the command',
    'unknown': 'copy header.stamp of the imu/data; do not stamp with the time of sending',
    'backwards': 'answer the newest imu/data only, from one thread',
    'duplicate': 'a state may be sent again: skip an imu/data whose stamp was answered, and '
                 'command in its callback, not by a timer',
    'unasked': 'command nothing before the first target, nor after one with RELEASE',
    'late': 'compute faster, or answer the newest imu/data only',
}


def how_many(kind: str, number: int) -> str:
    """Return how many commands were wrong in one of the ways of SAYS."""
    return counted(number, SAYS[kind].replace('commands', 'command', 1), SAYS[kind])


@dataclass(frozen=True, slots=True)
class Tolerances:
    """
    What is still accepted of a controller.

    ``silence``: seconds without a command, in real time; the bridges' own watchdog centres the
    surfaces then. ``latency``: seconds from a state's arrival to that of its command, later is
    late. The shares are fractions of all commands. What is not named must not happen.
    """

    silence: float = 1.0
    latency: float = 0.1
    late_share: float = 0.05
    unknown_share: float = 0.01
    unasked: int = 3


@dataclass(frozen=True, slots=True)
class End:
    """How the controller's process ended: exit code, negative for a signal, and at which stamp."""

    code: int
    at: float

    def __str__(self) -> str:
        return f'signal {-self.code}' if self.code < 0 else f'exit code {self.code}'


class Conduct:
    """
    What a controller does while a scenario is flown.

    ``counts`` has commands, states and answered ones, and what was wrong, by the names of SAYS;
    ``first`` the stamp and the text of the first of each. ``end`` is set if its process ended.
    """

    def __init__(self, lockstep: bool = False, limits: Tolerances | None = None) -> None:
        self.lockstep = lockstep
        self.limits = limits or Tolerances()
        self.counts: Counter[str] = Counter()
        self.first: dict[str, tuple[float, str]] = {}
        self.latencies = array('d')
        self.end: End | None = None
        self.gap = (0.0, math.nan)
        self.hung: tuple[float, float] | None = None
        self.newest = -math.inf
        self.answered = -math.inf
        self._from, self._to = math.inf, math.inf
        self._heard_at = math.nan
        self._engaged_at: float | None = None
        self._released_at = -math.inf
        self._paused = False
        self._engaged_for = 0.0
        self._states: OrderedDict[float, float] = OrderedDict()
        self._answers: OrderedDict[float, None] = OrderedDict()
        # Commands whose state may still be under way to here.
        self._unmatched: OrderedDict[float, None] = OrderedDict()

    # What it is told.

    @property
    def engaged(self) -> bool:
        """Return whether it is to command now."""
        return self._engaged_at is not None

    @property
    def is_about_to_answer(self) -> bool:
        """Return whether it has yet to answer the newest state, and was not released since."""
        return self.engaged and self.is_to_answer(self.newest) and self.newest != self.answered

    def is_to_answer(self, stamp: float) -> bool:
        """Return whether the state of a stamp is for it to answer."""
        return self._from <= stamp < self._to

    def engage(self, stamp: float, now: float) -> None:
        """Note that it commands from the state of a stamp on."""
        if self._engaged_at is None:
            self._from, self._to = stamp, math.inf
            self._engaged_at = self._heard_at = now

    def release(self, stamp: float, now: float) -> None:
        """Note that it commands no more from the state of a stamp on."""
        if self._engaged_at is not None:
            self._silent_until(now)
            self._engaged_for += now - self._engaged_at
            self._to = stamp
            self._engaged_at, self._released_at = None, now

    def pause(self, on: bool, now: float) -> None:
        """Note that its silence is wanted from now on, or no more."""
        if on:
            self._silent_until(now)
        self._paused = on
        self._heard_at = now

    def state(self, stamp: float, now: float) -> None:
        """Note that a state has arrived."""
        if stamp in self._states:
            return
        if self.is_to_answer(stamp):
            self.counts['states'] += 1
        self._states[stamp] = now
        self.newest = stamp
        _forget(self._states)
        if stamp in self._unmatched:
            del self._unmatched[stamp]
            self.counts['unknown'] -= 1
            self._answer(stamp, 0.0)

    # What it does.

    def command(
        self, stamp: float, values: Mapping[str, float], now: float
    ) -> tuple[str, dict[str, float]]:
        """
        Note a command; return what is wrong with its stamp, '' if nothing, and its good values.

        ``values`` are those that its mask sets, none if a bridge refuses the mask.
        """
        self.counts['commands'] += 1
        self._silent_until(now)
        wrong = self._judge_stamp(stamp, now)
        if wrong:
            self._note(wrong, f'stamp {stamp:.3f} s')
        return wrong, self._good(values)

    def law(self, values: Mapping[str, float], time: float) -> dict[str, float]:
        """Note a command of a law in this process, which has no stamp; return its good values."""
        self.engage(time, time)
        self.newest = self.answered = time
        for name in ('commands', 'states', 'answered'):
            self.counts[name] += 1
        self._heard_at = time
        return self._good(values)

    def _good(self, values: Mapping[str, float]) -> dict[str, float]:
        """Note what is wrong with values; return them, or none if the bridge would refuse them."""
        if not values:
            self._note('mask', 'nothing is set')
        for name, value in values.items():
            if not math.isfinite(value):
                self._note('not_finite', f'{name} is {value}')
                return {}
        for name, value in values.items():
            low, high = LIMITS[name]
            if not low <= value <= high:
                self._note('out_of_range', f'{name} is {value:g}')
                return {}
        if values and (absent := [name for name in FLOWN if name not in values]):
            self._note('incomplete', f'no {", ".join(absent)}')
        return dict(values)

    def _judge_stamp(self, stamp: float, now: float) -> str:
        """Return what is wrong with a stamp; note the answer if nothing is."""
        if stamp == 0.0:
            return 'unstamped'
        if not self.is_to_answer(stamp) and (
                self.lockstep or (not self.engaged and now > self._released_at + _GRACE)):
            return 'unasked' if stamp in self._states or not self.engaged else 'unknown'
        if stamp in self._answers:
            return 'duplicate'
        if stamp < self.answered:
            return 'backwards'
        if stamp not in self._states:
            if not self.lockstep:
                # Its state may still be under way to here: topics overtake each other.
                self._unmatched[stamp] = None
                _forget(self._unmatched)
            return 'unknown'
        self._answer(stamp, now - self._states[stamp])
        return ''

    def _answer(self, stamp: float, latency: float) -> None:
        self._answers[stamp] = None
        _forget(self._answers)
        self.answered = stamp
        self.counts['answered'] += self.is_to_answer(stamp)
        self.latencies.append(latency)
        if latency > self.limits.latency and not self.lockstep:
            self._note('late', f'after {latency:.3f} s')

    def unanswered_for(self, now: float) -> float:
        """Return for how long the newest state has waited for its command (s)."""
        if not self.is_to_answer(self.newest) or self.newest == self.answered:
            return 0.0
        return now - self._states[self.newest]

    def silent_for(self, now: float) -> float:
        """Return for how long it has said nothing although it is engaged (s)."""
        return now - self._heard_at if self.engaged and not self._paused else 0.0

    def _silent_until(self, now: float) -> None:
        silence = self.silent_for(now)
        if silence > self.gap[0]:
            self.gap = silence, self.newest
        self._heard_at = now

    def _note(self, what: str, text: str) -> None:
        self.counts[what] += 1
        self.first.setdefault(what, (self.newest, text))

    def hangs(self, seconds: float) -> None:
        """Note that it was given up for being silent."""
        self.hung = seconds, self.newest

    def ended(self, code: int) -> None:
        """Note that its process has ended."""
        if self.end is None:
            self.end = End(code, self.newest)

    # What is made of it.

    def figures(self, begin: float, now: float) -> dict[str, Any]:
        """Return it as plain numbers by name; times are seconds after the stamp ``begin``."""
        self._silent_until(now)
        engaged = self._engaged_for + (
            0.0 if self._engaged_at is None else now - self._engaged_at)
        latencies = np.array(self.latencies)
        return {
            **{name: self.counts[name] for name in ('commands', 'states', 'answered', *SAYS)},
            'rate': self.counts['commands'] / engaged if engaged else 0.0,
            'latency': {} if not len(latencies) else {
                'median': float(np.median(latencies)),
                'p99': float(np.percentile(latencies, 99.0)), 'max': float(latencies.max())},
            'longest_gap': {'seconds': self.gap[0], 'at': self.gap[1] - begin},
            'first': {name: {'at': at - begin, 'what': text}
                      for name, (at, text) in self.first.items()},
            'hung': None if self.hung is None else {
                'seconds': self.hung[0], 'at': self.hung[1] - begin},
            'ended': None if self.end is None else {
                'code': self.end.code, 'at': self.end.at - begin},
            'limits': asdict(self.limits)}

    def judgements(self, begin: float, now: float) -> list[Judgement]:
        """Return the criteria of the contract, each with the value found."""
        self._silent_until(now)
        limits = self.limits
        found = [Judgement('controller: runs until the flight ends',
                           1.0 if self.end is None else 0.0, self.end is None,
                           'yes' if self.end is None
                           else f'ended with {self.end} at {self.end.at - begin:.1f} s')]
        if self.hung is not None:
            silent, at = self.hung
            found.append(Judgement(
                'controller: commands until it is released', silent, False,
                f'hung at {at - begin:.1f} s: given up after {silent:.1f} s of silence'))
        elif not self.lockstep:
            gap, at = self.gap
            found.append(Judgement(
                f'controller: silent for at most {limits.silence:g} s while engaged', gap,
                gap <= limits.silence,
                '{:.2f} s' + (f' until {at - begin:.1f} s' if math.isfinite(at) else '')))
        commands = self.counts['commands']
        if not commands:
            found.append(Judgement('controller: commands', 0.0, False, 'no command was heard'))
        for name, words in SAYS.items():
            share = self._allowed_share(name)
            if name in ('duplicate', 'incomplete') and not self.lockstep:
                # Where no frame waits for them, they do no harm.
                continue
            most = share * commands if share else limits.unasked if name == 'unasked' else 0
            passed = self.counts[name] <= most
            text = '' if passed else (
                f', first at {self.first[name][0] - begin:.1f} s ({self.first[name][1]})'
                + f'; {REMEDIES[name]}')
            limit = f'at most {share:.0%} of all' if share else f'at most {most:g}'
            found.append(Judgement(
                f'controller: {words} {limit}', float(self.counts[name]), passed,
                '{:.0f}' + text.replace('{', '(').replace('}', ')')))
        return found

    def _allowed_share(self, name: str) -> float:
        return {'late': self.limits.late_share, 'unknown': self.limits.unknown_share}.get(
            name, 0.0) if not self.lockstep else 0.0


def _forget(remembered: OrderedDict[float, Any]) -> None:
    """Forget the oldest of too many."""
    if len(remembered) > _REMEMBERED:
        remembered.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Account:
    """What is reported of a controller: its name, its conduct until ``now``, and its log."""

    name: str
    conduct: Conduct
    now: float
    log: str = ''
    last_lines: tuple[str, ...] = ()

    def figures(self, begin: float) -> dict[str, Any]:
        """Return the figures, by name; times are seconds after the stamp ``begin``."""
        return {'name': self.name, **self.conduct.figures(begin, self.now), 'log': self.log,
                'last_lines': list(self.last_lines)}

    def judgements(self, begin: float) -> list[Judgement]:
        """Return the criteria of the contract that are missed, or that none is."""
        return [one for one in self.conduct.judgements(begin, self.now) if not one.passed] or [
            Judgement('controller keeps its contract', 1.0, True, 'yes')]

    def wrong(self, begin: float) -> str:
        """Return what it did against the contract, '' if nothing, in a few words."""
        conduct = self.conduct
        missed = [one for one in self.judgements(begin) if not one.passed]
        found = [] if conduct.end is None else [
            f'ended with {conduct.end} at {conduct.end.at - begin:.1f} s']
        if conduct.hung is not None:
            found.append(f'hung at {conduct.hung[1] - begin:.1f} s')
        elif any(' silent ' in one.criterion for one in missed):
            found.append(f'silent for {conduct.gap[0]:.1f} s')
        return ', '.join(found + [
            how_many(name, conduct.counts[name]) for name, words in SAYS.items()
            if any(f' {words} ' in one.criterion for one in missed)])

    def line(self, begin: float) -> str:
        """Return it as a line of the summary."""
        found = self.figures(begin)
        latency = found['latency']
        return (
            f'controller: {counted(found["commands"], "command")}, {found["answered"]} of '
            f'{counted(found["states"], "state")} answered' + (
                f' after {latency["median"] * 1e3:.2f} ms (p99 {latency["p99"] * 1e3:.2f} ms, '
                f'longest {latency["max"] * 1e3:.1f} ms)' if latency else '')
            + f'; {self.wrong(begin) or "nothing against its contract"}'
            + (f'; log: {self.log}' if self.log else ''))
