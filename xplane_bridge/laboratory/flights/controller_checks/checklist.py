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

"""What check_controller finds of a controller, item by item, each with what to do. No ROS."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
import math

from xplane_bridge.common.text import counted
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.flights.analysis.quantities import ORDERED
from xplane_bridge.laboratory.flights.controller_checks.conduct import (
    Account,
    Conduct,
    how_many,
    REMEDIES,
)
from xplane_bridge.laboratory.flights.scenario.scenario import parse, Scenario

TOPICS = ('imu/data', 'fix', 'odom', 'air_data', 'controls', ORDERED)
"""What a controller may subscribe to; the first and the last it must."""
NEEDED = ('imu/data', ORDERED)
LEAST_RATE = 20.0
"""Commands per second, in real time."""
# Times of the scenario (s).
_ENGAGED, _AIRSPEED, _HEADING, _ALTITUDE, _LARGE, _RELEASED, _END = (
    0.5, 1.5, 4.5, 6.5, 8.5, 9.5, 10.5)
# The values in a window, from begin to end, of a quantity.
Values = Callable[[str, float, float], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Finding:
    """One item: passed, missed, or (None) not tried; with a sentence."""

    name: str
    passed: bool | None
    sentence: str

    def __str__(self) -> str:
        mark = {True: '✓', False: '✗', None: '–'}[self.passed]
        return f'{mark} {self.name:<10} {self.sentence}'


@dataclass(frozen=True, slots=True)
class TargetStep:
    """
    A step of a target, and the quantity by which the aircraft shows that it follows.

    ``least`` is the change that counts, over the window, in SI units times ``factor``.
    """

    name: str
    quantity: str
    begin: float
    end: float
    least: float
    unit: str
    factor: float
    commanded: str
    wrong: str


STEPS = (
    TargetStep('airspeed', 'airspeed', _AIRSPEED, _HEADING, 0.2, 'm/s', 1.0, 'airspeed +5 m/s',
               'throttle + is more power, 0..1'),
    TargetStep('heading', 'roll', _HEADING, _ALTITUDE, 2.0, 'deg of bank', DEGREE,
               'heading +30 deg',
               'aileron + is right wing down, headings are clockwise from north, and the body '
               'axes of imu/data are forward, left, up'),
    TargetStep('altitude', 'altitude', _ALTITUDE, _LARGE, 0.3, 'm', 1.0, 'altitude +30 m',
               'elevator + is nose up, and a positive rotation about the left axis of imu/data is '
               'nose down'),
)


def scenario(targets: bool = True) -> Scenario:
    """
    Return the flight: steps of each target, then a large one of all, then a release.

    Without ``targets`` it is for a controller that has its own goals: it is only watched.
    """
    return parse('check_controller', {
        'duration': _END,
        'events': [
            {'at': _ENGAGED, 'engage': True},
            {'at': _AIRSPEED, 'change': {'airspeed': 5.0}},
            {'at': _HEADING, 'change': {'heading_deg': 30.0}},
            {'at': _ALTITUDE, 'change': {'altitude': 30.0}},
            {'at': _LARGE, 'change': {'altitude': 1000.0, 'heading_deg': 150.0, 'airspeed': 30.0}},
            {'at': _RELEASED, 'engage': False}] if targets else [{'at': 0.0, 'engage': True}],
        'criteria': [{'quantity': 'altitude', 'statistic': 'first', 'at_least': -1000.0}]})


def findings(
    account: Account, heard: Collection[str], begin: float, flown: float, values: Values,
    targets: bool = True,
) -> list[Finding]:
    """
    Return what was found in a flight of scenario(targets) that got to ``flown`` (s).

    ``heard`` are the topics that the controller subscribes to; ``values(quantity, begin, end)``
    returns what was measured.
    """
    conduct = account.conduct
    return [
        _ends(account, begin), _subscribes(heard, targets), _publishes(conduct, targets),
        _rate(account, begin),
        _judge_counts('stamps', conduct, 'are those of imu/data', 'unstamped', 'unknown',
                   'backwards', *(('duplicate',) if conduct.lockstep else ())),
        _judge_counts('controls', conduct, 'set elevator, aileron, rudder and throttle',
                   'mask', 'incomplete'),
        _lockstep(conduct),
        *(_follows(step, flown, values) if targets else _untried(step.name) for step in STEPS),
        _saturates(conduct, flown, targets),
        _releases(conduct, flown) if targets else _untried('releases')]


def not_flown(
    subscribed: Collection[str], published: Collection[str], targets: bool = True
) -> list[Finding]:
    """Return what is missing of a controller that is not ready to fly, by relative names."""
    names = ('rate', 'stamps', 'controls', 'lockstep', *(step.name for step in STEPS),
             'saturates', 'releases')
    return [
        _subscribes(subscribed, targets),
        Finding('publishes', None, 'not tried: it has a publisher on command/controls')
        if 'command/controls' in published else _silent(targets),
        *(Finding(name, None, 'not tried: nothing was flown') for name in names)]


def _untried(name: str) -> Finding:
    return Finding(name, None, 'not tried: it has its own goals')


def _silent(targets: bool) -> Finding:
    return Finding('publishes', False, 'no command was heard: publish on command/controls (a '
                   f'relative name) for each imu/data{" after the first target" * targets}')


def _ends(account: Account, begin: float) -> Finding:
    end, hung = account.conduct.end, account.conduct.hung
    if end is not None:
        lines = ''.join(f'\n             {line}' for line in account.last_lines)
        return Finding('runs', False,
                       f'ended with {end} at {end.at - begin:.1f} s; the end of its log:{lines}')
    if hung is not None:
        return Finding('runs', False, f'hangs at {hung[1] - begin:.1f} s: silent for '
                       f'{hung[0]:.1f} s; let no callback block')
    return Finding('runs', True, 'to the end of the flight')


def _subscribes(heard: Collection[str], targets: bool) -> Finding:
    topics = TOPICS if targets else [name for name in TOPICS if name != ORDERED]
    missing = [name for name in NEEDED if name in topics and name not in heard]
    if missing == [ORDERED]:
        return Finding('subscribes', False, f'does not subscribe to {ORDERED}: use a relative '
                       'name, or --no-target if it has its own goals')
    if missing:
        return Finding('subscribes', False, f'does not subscribe to {", ".join(missing)}: use '
                       'relative names, in the namespace that __ns gives')
    absent = [name for name in topics if name not in heard]
    return Finding('subscribes', True, ', '.join(name for name in TOPICS if name in heard)
                   + (f'; not {", ".join(absent)}' if absent else ''))


def _publishes(conduct: Conduct, targets: bool) -> Finding:
    commands = conduct.counts['commands']
    return (Finding('publishes', True, counted(commands, 'command')) if commands
            else _silent(targets))


def _rate(account: Account, begin: float) -> Finding:
    conduct = account.conduct
    if conduct.lockstep or not conduct.counts['commands']:
        return Finding('rate', None, 'not tried: in lockstep time waits' if conduct.lockstep
                       else 'not tried: no command was heard')
    found = account.figures(begin)
    rate, late = found['rate'], found['late']
    text = (f'{rate:.1f} commands per second, {found["latency"].get("median", 0.0) * 1e3:.2f} ms '
            'after their state')
    if rate < LEAST_RATE:
        return Finding('rate', False, f'{text}: command for each imu/data, at least '
                       f'{LEAST_RATE:g} per second')
    if late > conduct.limits.late_share * found['commands']:
        return Finding('rate', False, f'{text}, {late} of them late: {REMEDIES["late"]}')
    return Finding('rate', True, text)


def _judge_counts(name: str, conduct: Conduct, good: str, *kinds: str) -> Finding:
    commands = conduct.counts['commands']
    if not commands:
        return Finding(name, None, 'not tried: no command was heard')
    wrong = [kind for kind in kinds if conduct.counts[kind] > (
        conduct.limits.unknown_share * commands
        if kind == 'unknown' and not conduct.lockstep else 0)]
    if not wrong:
        return Finding(name, True, f'of all commands {good}')
    return Finding(name, False, '; '.join(
        f'{how_many(kind, conduct.counts[kind])} ({conduct.first[kind][1]}): {REMEDIES[kind]}'
        for kind in wrong))


def _lockstep(conduct: Conduct) -> Finding:
    if not conduct.lockstep:
        return Finding('lockstep', None, 'not tried: add --lockstep')
    states, answered = conduct.counts['states'], conduct.counts['answered']
    if answered and answered == states - conduct.is_about_to_answer:
        return Finding('lockstep', True, f'each of {counted(answered, "state")} was answered')
    return Finding(
        'lockstep', False, f'answered {answered} of {counted(states, "state")}: command once for '
        'each stamp of imu/data, even if nothing has changed')


def _follows(step: TargetStep, flown: float, values: Values) -> Finding:
    if flown < step.end:
        return Finding(step.name, None, 'not tried: the flight ended before')
    found = values(step.quantity, step.begin, step.end)
    change = (found[-1] - found[0]) / step.factor if len(found) else math.nan
    if math.isnan(change):
        return Finding(step.name, None, f'not tried: {step.quantity} was not measured')
    text = f'{step.commanded}: {change:+.1f} {step.unit} in {step.end - step.begin:g} s'
    if change >= step.least:
        return Finding(step.name, True, text)
    if change <= -step.least:
        return Finding(step.name, False, f'{text}, the wrong way: {step.wrong}')
    return Finding(step.name, False, f'{text}: it does not follow target; {step.wrong}')


def _saturates(conduct: Conduct, flown: float, targets: bool) -> Finding:
    kinds = [kind for kind in ('not_finite', 'out_of_range') if conduct.counts[kind]]
    if kinds:
        return _judge_counts('saturates', conduct, '', *kinds)
    if not targets:
        return Finding('saturates', True, 'commands stay in range')
    if flown < _RELEASED:
        return Finding('saturates', None, 'not tried: the flight ended before')
    return Finding('saturates', True, 'commands stay in range after a large step')


def _releases(conduct: Conduct, flown: float) -> Finding:
    unasked = conduct.counts['unasked']
    if unasked > conduct.limits.unasked:
        return Finding('releases', False,
                       f'{how_many("unasked", unasked)}: {REMEDIES["unasked"]}')
    if flown < _END:
        return Finding('releases', None, 'not tried: the flight ended before')
    return Finding('releases', True, 'silent before the first target, and after RELEASE')
