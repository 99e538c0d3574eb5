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

"""What only a person can bring about, a pause or a restart, and whether it is known then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.line import Line
from xplane_bridge.laboratory.verification.peers.base import VerifiedPeer

STEP = 'Time'

# Seconds for which something that a person does, and its end, are awaited.
_BEGINS, _ENDS = 60.0, 180.0
LOOKS = 0.5
"""Seconds that one look at what is so takes."""


class Moment(NamedTuple):
    """
    What the person is asked to do, and to end.

    ``shows`` looks for LOOKS seconds whether it is so now, and ``said`` says what shows it.
    """

    subject: str
    begin: str
    end: str
    shows: Callable[[], bool]
    said: Callable[[], str]
    requirement: str = ''


def paused(shows: Callable[[], bool], requirement: str) -> Moment:
    """Return a pause by hand."""
    return Moment('paused by hand', 'pause the simulator by its own key', 'resume it', shows,
                  lambda: 'it says that it is paused', requirement)


def replayed(shows: Callable[[], bool]) -> Moment:
    """Return a replay."""
    return Moment('replay', 'start a replay of the flight', 'end the replay', shows,
                  lambda: 'it says that it plays a replay, in a dataref that telemetry does not '
                  'have')


def restarted(shows: Callable[[], bool], said: Callable[[], str]) -> Moment:
    """Return a restart."""
    return Moment(
        'restart', 'quit the simulator', 'start it again, and a flight', shows, said)


def moments_of(peer: VerifiedPeer, line: Line) -> Iterator[Moment]:
    """Yield what a person may do to a peer that a session talks to."""
    def said() -> str:
        return f'the bridge says: {peer.session.explained()}'

    def is_paused() -> bool:
        states = [sample.state for heard in line.listen(LOOKS)
                  if (sample := peer.sample(heard)) is not None]
        return bool(states) and states[-1].paused

    def is_away() -> bool:
        line.listen(LOOKS)
        return not peer.is_there()

    def replays() -> bool:
        line.listen(LOOKS)
        return peer.replays(line) is True

    yield paused(is_paused, peer.requirements.get('pause', ''))
    if peer.says_replay:
        yield replayed(replays)
    yield Moment('loading', 'load another aircraft or place', 'wait until it flies', is_away, said)
    yield restarted(is_away, said)


def of_moments(
    moments: Iterable[Moment], asks: Callable[[str], bool], tell: Callable[[str], None],
) -> Iterator[CheckResult]:
    """Ask the person for one after the other; each may be skipped."""
    for moment in moments:
        tell(f'  Please {moment.begin}, once you have answered.')
        if not asks(moment.begin):
            yield CheckResult(STEP, moment.subject, Outcome.SKIPPED, f'declined: {moment.begin}')
            continue
        if not _wait(moment, True, _BEGINS):
            yield CheckResult(
                STEP, moment.subject, Outcome.DIFFERS, f'{moment.begin}: it does not show', '',
                'another state', f'{_BEGINS:g} s as before')
            continue
        yield CheckResult(
            STEP, moment.subject, Outcome.SEEN, moment.said(), moment.requirement)
        tell(f'  Please {moment.end}.')
        if _wait(moment, False, _ENDS):
            yield CheckResult(STEP, moment.subject, Outcome.SEEN, 'and that this is over')
        else:
            yield CheckResult(
                STEP, moment.subject, Outcome.DIFFERS, f'{moment.end}: it does not show', '',
                'telemetry as before', f'none within {_ENDS:g} s')


def _wait(moment: Moment, wanted: bool, seconds: float) -> bool:
    """Go on until it is so, or is not so; return whether that has come about."""
    left = seconds
    while left > 0.0:
        if moment.shows() == wanted:
            return True
        left -= LOOKS
    return False
