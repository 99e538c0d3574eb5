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
Commands, one at a time: small, seen on the wire and in the motion, given back and seen so.

What a trial takes is noted before it is taken, so that it is given back whatever happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from xplane_bridge.bridges.conversions.geodesy import LocalFrame
from xplane_bridge.bridges.conversions.vehicle import VehicleState
from xplane_bridge.bridges.sessions.base import CommandDone
from xplane_bridge.common.controls import SURFACES
from xplane_bridge.common.units import DEGREE
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.flight_record import FlightRecord, Sample
from xplane_bridge.laboratory.verification.evidence.line import Line
from xplane_bridge.laboratory.verification.peers.base import Spot, VerifiedPeer

STEP = 'Commands'

# Seconds: how long each deflection is held, and how the aircraft settles.
_HELD, _REPEATED, _SETTLES = 0.8, 0.1, 1.5
_GIVEN_BACK, _SHOWN = 4.0, 2.0
# How near a reported control must be.
_NEAR = 0.03
# Where an aircraft is put: metres to the north; and how far off it may be then.
_MOVED, _MOVED_NEAR, _FLOWN_NEAR = 60.0, 25.0, 15.0
# How often that is tried, as a datagram may be lost; how late a report may be, in seconds.
_TRIES, _SHOWS = 3, 0.6
_STANDS = 1.2


_PULL = 'specific_force_forward'
# Where rates are not on the wire.
_ANGLES = {'roll_rate': 'roll', 'pitch_rate': 'pitch', 'yaw_rate': 'heading'}


class Trial(NamedTuple):
    """
    A control, how far it is moved, and what moves by it, if anything can be said of that.

    ``stays`` is how long, in seconds, it is left alone between both ways: a bank is a turn then.
    """

    control: str
    step: float
    moves: str = ''
    least: float = 0.0
    word: str = ''
    stays: float = 0.0


TRIALS = (
    Trial('aileron', 0.12, 'roll_rate', 1.5 * DEGREE, 'rolls to the right', 3.0),
    Trial('elevator', 0.08, 'pitch_rate', 0.5 * DEGREE, 'pitches up'),
    Trial('rudder', 0.2, 'yaw_rate', 0.4 * DEGREE, 'yaws to the right'),
    Trial('throttle', 0.25, _PULL, 0.05, 'is pulled forward'),
    Trial('flaps', 0.25),
    Trial('gear', 1.0),
)


class Undo(NamedTuple):
    """What was taken besides the surfaces, how it is put back, and what a person can do."""

    what: str
    act: Callable[[], object]
    advice: str


@dataclass(slots=True)
class Mark:
    """When a trial held its control one way and the other way, by the record's time."""

    trial: Trial
    first: tuple[float, float]
    second: tuple[float, float]
    is_shown: bool


class Trials:
    """
    The commands to one peer; ``samples`` is the record of the flight, which grows.

    ``undo`` has what is to be put back now, the newest last.
    """

    def __init__(self, peer: VerifiedPeer, line: Line, samples: list[Sample]) -> None:
        self.undo: list[Undo] = []
        self.marks: list[Mark] = []
        self._peer = peer
        self._line = line
        self._samples = samples
        self._state: VehicleState | None = None

    # What goes on.

    def attend(self, seconds: float, *, keeps: bool = True) -> list[Sample]:
        """Let time pass; return the samples, which are kept for the record."""
        found = []
        for heard in self._line.attend(seconds):
            if (sample := self._peer.sample(heard)) is not None:
                found.append(sample)
        if found:
            self._state = found[-1].state
        if keeps:
            self._samples += found
        return found

    def _reported(self, control: str) -> float | None:
        """Return what the peer reports of a control now."""
        controls = None if self._state is None else self._state.controls
        return None if controls is None else getattr(controls, self._peer.reported_as(control))

    def _number(self, what: str) -> str:
        return self._peer.requirements.get(what, '')

    def _finding(
        self, outcome: Outcome, subject: str, sentence: str, expected: str = '', got: str = ''
    ) -> CheckResult:
        return CheckResult(STEP, subject, outcome, sentence, self._number(subject), expected, got)

    # Controls.

    def of_control(self, trial: Trial) -> Iterator[CheckResult]:
        """Move a control a little, and give it back."""
        control = trial.control
        if control not in self._peer.takes:
            return
        self.attend(0.5)
        before = (self._reported(control) if self._peer.reports_controls
                  else self._peer.held(control))
        if before is None:
            yield self._finding(Outcome.SKIPPED, control,
                                f'{control}: its position is not reported')
        elif control in SURFACES:
            yield from self._deflect(trial, before)
        else:
            yield from self._set(trial, before)

    def _hold(self, control: str, value: float, seconds: float) -> tuple[float, float, bool]:
        """Hold a control; return begin and end of the later half, and whether it is shown."""
        samples: list[Sample] = []
        is_shown = False
        for _ in range(round(seconds / _REPEATED)):
            self._peer.command(self._line, {control: value})
            samples += self.attend(_REPEATED)
            found = self._reported(control)
            is_shown |= found is not None and abs(found - value) < _NEAR
        if not samples:
            return math.nan, math.nan, is_shown
        begin, end = samples[0].at, samples[-1].at
        return begin + 0.4 * (end - begin), end, is_shown

    def _deflect(self, trial: Trial, before: float) -> Iterator[CheckResult]:
        control = trial.control
        self._peer.prepare(self._line)
        first = self._hold(control, before + trial.step, _HELD)
        if trial.stays:
            self._hold(control, before, trial.stays)
        second = self._hold(control, before - trial.step, _HELD)
        is_shown = first[2] and second[2]
        self.marks.append(Mark(trial, first[:2], second[:2], is_shown))
        if self._peer.reports_controls:
            yield self._on_the_wire(control, is_shown, before + trial.step)
        # Who lets go of a control leaves it where it was commanded last, if nobody else moves it.
        self._put_back(control, before)
        self._peer.release(self._line)
        yield from self._given_back(control, before)
        self.attend(_SETTLES)

    def _on_the_wire(self, control: str, is_shown: bool, value: float) -> CheckResult:
        if is_shown:
            return self._finding(Outcome.SEEN, control, f'{control} shows what is commanded')
        found = self._reported(control)
        return self._finding(
            Outcome.DIFFERS, control, f'{control} does not show what is commanded',
            f'{value:.2f}', 'nothing' if found is None else f'{found:.2f}')

    def _given_back(self, control: str, before: float) -> Iterator[CheckResult]:
        session = self._peer.session
        subject = 'given back'
        done = self._wait(lambda: not session.taken and not session.unconfirmed, _GIVEN_BACK)
        if not done:
            left = ', '.join((*session.taken, *session.unconfirmed))
            yield self._finding(
                Outcome.DIFFERS, subject, f'{control} was given back, and that is not shown: '
                f'{left}', 'given back', 'still taken')
            return
        if not self._peer.reports_controls:
            yield self._finding(Outcome.SEEN, subject, f'{control} is centred again')
            return
        near = self._wait(lambda: _is_near(self._reported(control), before), _SHOWN)
        yield self._finding(
            Outcome.SEEN, subject, f'{control} is given back, and shown so') if near else (
            self._finding(Outcome.DIFFERS, subject, f'{control} does not return when it is given '
                          'back', f'{before:.2f}', f'{self._reported(control)}'))

    def _set(self, trial: Trial, before: float) -> Iterator[CheckResult]:
        """Set a lever, and put it back to where it was."""
        control = trial.control
        step = -trial.step if before + trial.step > 1.0 else trial.step
        value = 1.0 - before if control == 'gear' else before + step
        self.undo.append(Undo(
            control, lambda: self._peer.command(self._line, {control: before}),
            f'set {control} by hand to {before:.2f}'))
        quiet = self.attend(1.0)
        try:
            first = self._hold(control, value, 2.0 if trial.moves else 1.0)
        except ValueError as error:
            self.undo.pop()
            yield self._finding(Outcome.SKIPPED, control, str(error))
            return
        if trial.moves and quiet:
            marks = (first[:2], (quiet[0].at, quiet[-1].at))
            self.marks.append(Mark(trial, *(marks if step > 0.0 else marks[::-1]), first[2]))
        if self._peer.reports_controls:
            yield self._on_the_wire(control, first[2], value)
        back = self._put_back(control, before)
        if back:
            self.undo.pop()
        if self._peer.reports_controls and 'throttle' in ''.join(self._peer.session.taken):
            self._peer.release(self._line)
        if not back:
            yield self._finding(
                Outcome.DIFFERS, 'given back', f'{control} does not return to where it was',
                f'{before:.2f}', f'{self._reported(control)}')
        elif self._peer.reports_controls:
            yield self._finding(
                Outcome.SEEN, 'given back', f'{control} is back where it was')
        self.attend(_SETTLES)

    def _put_back(self, control: str, before: float) -> bool:
        """Command where a lever was until that is shown, as datagrams may be lost."""
        self._hold(control, before, 0.3)
        left = _SHOWN
        while left > 0.0 and self._peer.reports_controls and not _is_near(
                self._reported(control), before):
            self._hold(control, before, _REPEATED)
            left -= _REPEATED
        return not self._peer.reports_controls or _is_near(self._reported(control), before)

    def _wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Go on until a condition holds; return whether it does."""
        left = seconds
        while left > 0.0 and not condition():
            self.attend(_REPEATED)
            left -= _REPEATED
        return condition()

    # The simulation.

    def of_pause(self) -> Iterator[CheckResult]:
        """Pause the simulation and resume it."""
        peer = self._peer
        if not peer.can_pause:
            yield self._finding(Outcome.SKIPPED, 'pause', 'this protocol cannot pause')
            return
        self.undo.append(Undo('pause', lambda: self._pause(False), 'resume it by hand'))
        for on, verb, wanted, other in (
                (True, 'pause', 'it stands', 'it flies on'),
                (False, 'resume', 'it flies on', 'it stands')):
            error, is_so = self._paused(on)
            if is_so and not error:
                yield self._finding(Outcome.SEEN, 'pause', f'it {verb}s: {wanted}')
            else:
                yield self._finding(
                    Outcome.DIFFERS, 'pause', f'it does not {verb}', wanted, error or other)
            if not on and is_so:
                self.undo.pop()

    def _pause(self, on: bool) -> None:
        self._peer.pause(self._line, on)

    def _paused(self, on: bool) -> tuple[str, bool]:
        """Pause or resume; return why that is not shown, and whether the aircraft does so."""
        error, is_so, tries = '', False, 0
        while not is_so and tries < _TRIES:
            tries += 1
            ticket = self._peer.pause(self._line, on)
            done: list[CommandDone] = []
            left = _GIVEN_BACK
            while left > 0.0 and not done:
                done += [heard.event for heard in self._line.attend(_REPEATED) if isinstance(
                    heard.event, CommandDone) and heard.event.ticket == ticket]
                left -= _REPEATED
            error = done[0].error if done else 'no answer'
            self.attend(_SHOWS, keeps=False)
            samples = self.attend(_STANDS, keeps=False)
            is_so = bool(samples) and _stands(samples) == on
        return error, is_so

    def of_pose(self) -> Iterator[CheckResult]:
        """Put the aircraft a little to the north, and back."""
        peer, state = self._peer, self._state
        if not peer.can_place:
            yield self._finding(
                Outcome.SKIPPED, 'pose', 'this protocol cannot place an aircraft')
            return
        if state is None or state.orientation is None or math.isnan(state.latitude_deg):
            yield self._finding(Outcome.SKIPPED, 'pose', 'the position is not known')
            return
        self.undo.append(Undo(
            'pose', lambda: self._shift(-_MOVED), f'it was put {_MOVED:g} m to the north'))
        for metres, words in ((_MOVED, 'there'), (-_MOVED, 'back')):
            (seen, stayed), tries = self._shift(metres), 1
            while tries < _TRIES and stayed:
                (seen, stayed), tries = self._shift(metres), tries + 1
            if abs(seen - metres) < _MOVED_NEAR:
                yield self._finding(
                    Outcome.SEEN, 'pose', f'it is put {abs(metres):g} m {words}')
            else:
                yield self._finding(
                    Outcome.DIFFERS, 'pose', f'it is not where it was put, {words}',
                    f'{metres:.0f} m to the north', f'{seen:.0f} m')
        self.undo.pop()
        if peer.session.taken:
            peer.release(self._line)
            self._wait(lambda: not peer.session.unconfirmed, _GIVEN_BACK)
        self.attend(_SETTLES, keeps=False)

    def _shift(self, metres: float) -> tuple[float, bool]:
        """
        Put it so far to the north; return how far it was seen to go, beyond its flight.

        And whether it has only flown on, as if nothing had been said.
        """
        before = self.attend(_REPEATED * 2, keeps=False)
        if not before:
            return math.nan, True
        last = before[-1]
        state = last.state
        frame = LocalFrame(state.latitude_deg, state.longitude_deg, 0.0)
        latitude, longitude, _ = frame.enu_to_geodetic((0.0, metres, 0.0))
        self._peer.place(
            self._line, Spot(latitude, longitude, state.altitude_msl), state)
        seen, stayed = math.nan, True
        velocity = state.velocity or (0.0, 0.0, 0.0)
        for sample in self.attend(0.8, keeps=False):
            _, north, _ = frame.geodetic_to_enu(
                sample.state.latitude_deg, sample.state.longitude_deg, 0.0)
            # Flown meanwhile, or not if its flight model stands.
            flown = velocity[1] * (sample.at - last.at)
            candidates = (north - flown, north)
            off = min(candidates, key=lambda place: abs(place - metres))
            if math.isnan(seen) or abs(off - metres) < abs(seen - metres):
                seen = off
            stayed = abs(north - flown) < _FLOWN_NEAR
        return seen, stayed and not abs(seen - metres) < _MOVED_NEAR

    # The motion, once the physics is known.

    def responses(self, record: FlightRecord) -> dict[str, float]:
        """Return how much more of each signal there was than while the opposite was commanded."""
        return {mark.trial.moves: _mean(record, mark.trial.moves, *mark.first)
                - _mean(record, mark.trial.moves, *mark.second) for mark in self.marks}

    def motion(self, record: FlightRecord) -> Iterator[CheckResult]:
        """Return what the commands have moved, by the record, whose faults are repaired."""
        for mark in self.marks:
            trial = mark.trial
            one, other = (_mean(record, trial.moves, *window)
                          for window in (mark.first, mark.second))
            moved = one - other
            if math.isnan(moved):
                yield self._finding(
                    Outcome.NOT_SEEN, trial.control,
                    f'{trial.control}: {trial.moves.replace("_", " ")} is not known')
            elif moved > trial.least:
                yield self._finding(
                    Outcome.SEEN, trial.control, f'{trial.control} +: it {trial.word}')
            elif moved < -trial.least:
                yield self._finding(
                    Outcome.DIFFERS, trial.control, f'{trial.control} moves it the other way',
                    f'it {trial.word}', 'the opposite')
            elif mark.is_shown or not self._peer.reports_controls:
                yield self._finding(
                    Outcome.DIFFERS, trial.control, f'{trial.control} does not move it',
                    f'it {trial.word}', 'no motion')


def _stands(samples: Sequence[Sample]) -> bool:
    """Return whether the aircraft stands: its time does, or its place, as pauses differ."""
    if len(samples) < 2:
        return False
    first, last = samples[0].state, samples[-1].state
    return samples[-1].at - samples[0].at < 0.2 * _STANDS or (
        first.latitude_deg, first.longitude_deg, first.altitude_msl) == (
        last.latitude_deg, last.longitude_deg, last.altitude_msl)


def _is_near(value: float | None, wanted: float) -> bool:
    return value is not None and abs(value - wanted) < _NEAR


def _mean(record: FlightRecord, name: str, begin: float, end: float) -> float:
    inside = (record.at >= begin) & (record.at <= end)
    values = record[name]
    if name == _PULL and not np.isfinite(values).any():
        # How fast the airspeed grows tells the same.
        values = np.gradient(record['true_airspeed'], record.at)
    elif name in _ANGLES and not np.isfinite(values).any():
        values = np.gradient(np.unwrap(np.nan_to_num(record[_ANGLES[name]])), record.at)
    values = values[inside]
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan
