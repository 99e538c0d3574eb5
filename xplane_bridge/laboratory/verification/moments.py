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

from collections.abc import Callable, Iterator
from typing import NamedTuple

from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.line import Line
from xplane_bridge.laboratory.verification.peers.base import VerifiedPeer

STEP = 'Time'

# Seconds for which something that a person does, and its end, are awaited.
_BEGINS, _ENDS, _LOOKS = 60.0, 180.0, 0.5


class Moment(NamedTuple):
    """What the person is asked to do, and to end; ``shows`` is whether it is so now."""

    subject: str
    begin: str
    end: str
    shows: Callable[[VerifiedPeer, Line], bool]
    said: str = ''
    requirement: str = ''


def of_moments(
    peer: VerifiedPeer, line: Line, asks: Callable[[str], bool], tell: Callable[[str], None],
) -> Iterator[CheckResult]:
    """Ask the person for one after the other; each may be skipped."""
    for moment in MOMENTS:
        if moment.shows is _replays and not peer.says_replay:
            continue
        tell(f'  Please {moment.begin}, once you have answered.')
        if not asks(moment.begin):
            yield CheckResult(STEP, moment.subject, Outcome.SKIPPED, f'declined: {moment.begin}')
            continue
        if not _wait(peer, line, moment.shows, True, _BEGINS):
            yield CheckResult(
                STEP, moment.subject, Outcome.DIFFERS, f'{moment.begin}: it does not show', '',
                'another state', f'{_BEGINS:g} s as before')
            continue
        yield CheckResult(
            STEP, moment.subject, Outcome.SEEN,
            moment.said or f'the bridge says: {peer.session.explained()}',
            peer.requirements.get(moment.requirement, ''))
        tell(f'  Please {moment.end}.')
        if _wait(peer, line, moment.shows, False, _ENDS):
            yield CheckResult(STEP, moment.subject, Outcome.SEEN, 'and that this is over')
        else:
            yield CheckResult(
                STEP, moment.subject, Outcome.DIFFERS, f'{moment.end}: it does not show', '',
                'telemetry as before', f'none within {_ENDS:g} s')


def _wait(
    peer: VerifiedPeer, line: Line, condition: Callable[[VerifiedPeer, Line], bool],
    wanted: bool, seconds: float,
) -> bool:
    """Go on until something is so, or is not so; return whether that has come about."""
    left = seconds
    while left > 0.0:
        if condition(peer, line) == wanted:
            return True
        left -= _LOOKS
    return False


def _is_paused(peer: VerifiedPeer, line: Line) -> bool:
    """Return whether the simulator says so now."""
    states = [sample.state for heard in line.listen(_LOOKS)
              if (sample := peer.sample(heard)) is not None]
    return bool(states) and states[-1].paused


def _is_away(peer: VerifiedPeer, line: Line) -> bool:
    line.listen(_LOOKS)
    return not peer.is_there()


def _replays(peer: VerifiedPeer, line: Line) -> bool:
    line.listen(_LOOKS)
    return peer.replays(line) is True


MOMENTS = (
    Moment('paused by hand', 'pause the simulator by its own key', 'resume it', _is_paused,
           'it says that it is paused', 'pause'),
    Moment('replay', 'start a replay of the flight', 'end the replay', _replays,
           'it says that it plays a replay, in a dataref that telemetry does not have'),
    Moment('loading', 'load another aircraft or place', 'wait until it flies', _is_away),
    Moment('restart', 'quit the simulator', 'start it again, and a flight', _is_away))
