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

"""X-Plane's Web API, REST and WebSocket, as it is verified: values, writes, held commands."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
import json
import statistics
from typing import Any

from xplane_bridge.bridges.conversions.plausibility import Plausibility
from xplane_bridge.bridges.conversions.xplane import levers
from xplane_bridge.bridges.conversions.xplane import state as xplane
from xplane_bridge.bridges.links.http import UnansweredError
from xplane_bridge.bridges.links.udp import LinkError
from xplane_bridge.bridges.links.websocket_frames import check_installed
from xplane_bridge.bridges.protocols.errors import ProtocolError
from xplane_bridge.bridges.sessions.base import Address
from xplane_bridge.bridges.xplane_udp.protocol import web_api, web_socket
from xplane_bridge.bridges.xplane_udp.protocol.web_api import WebApiRefusedError, WebRequest
from xplane_bridge.bridges.xplane_udp.protocol.web_socket import SOCKET
from xplane_bridge.bridges.xplane_udp.web.socket import (
    CommandReported,
    DatarefReading,
    ValuesChanged,
)
from xplane_bridge.bridges.xplane_udp.web.web_client import WebClient
from xplane_bridge.common.text import counted
from xplane_bridge.laboratory.verification import moments, reach
from xplane_bridge.laboratory.verification.evidence import arrival
from xplane_bridge.laboratory.verification.evidence.consistency import Consistency, STEP
from xplane_bridge.laboratory.verification.evidence.findings import CheckResult, Outcome
from xplane_bridge.laboratory.verification.evidence.flight_record import Sample
from xplane_bridge.laboratory.verification.evidence.line import Heard, PeerLostError
from xplane_bridge.laboratory.verification.evidence.web_link import WebLink
from xplane_bridge.laboratory.verification.peers.xplane import (
    DATAREF_SOURCES,
    IS_IN_REPLAY,
    Positions,
    REQUIREMENTS,
    spoken_datarefs,
)
from xplane_bridge.laboratory.verification.reach import AstrayError, UnreachableError
from xplane_bridge.laboratory.verification.trials import STEP as COMMANDS
from xplane_bridge.laboratory.verification.trials import Undo
from xplane_bridge.laboratory.verification.walk import Settings, Walk, WalkStep

FLAPS = 'sim/flightmodel/controls/flaprqst'
TAIL = 'sim/aircraft/view/acf_tailnum'
BRAKES = 'sim/flight_controls/brakes_max'
PAUSE, RESUME = 'sim/operation/pause_on', 'sim/operation/pause_off'

_QUESTIONS = 10
# Updates per second, by X-Plane's document, and what is of the same one, in seconds.
_RATE, _SAME = 10.0, 0.03
# Elements of one array, by the order they are asked for.
_ELEMENTS = tuple(f'{xplane.OWN_PREFIX}q[{index}]' for index in (3, 0))
_APART, _NEAR = 0.15, 0.03
# How long something is held, is shown, or is over after its end, in seconds.
_HOLDS, _LEASE, _SHOWN = 10.0, 1.0, 2.0
_STEP = 0.1
# No run of X-Plane has so many datarefs.
_NO_ID = 1 << 60


class WebVerification(Walk):
    """Verifies the Web API at ``to``, carried by ``link``."""

    def __init__(
        self, link: WebLink, client: WebClient, to: Address, settings: Settings,
        tell: Callable[[str], None], asks: Callable[[str], bool],
    ) -> None:
        super().__init__("X-Plane's Web API", settings, tell, asks)
        self._link: WebLink | None = link
        self._client = client
        self._to = to
        self._root = ''
        self._has_socket = False
        self._positions = Positions('')
        self._undo: list[Undo] = []
        # When each sample came; none is kept of a pause.
        self._times: list[float] = []
        self._keeps = True
        # What X-Plane has said last.
        self._values: Mapping[str, DatarefReading] = {}
        self._active: dict[str, bool] = {}

    def close(self) -> None:
        """Give back what was taken, until that is shown, and close the link; twice is fine."""
        link = self._link
        if link is None:
            return
        left: list[str] = []
        taken = list(reversed(self._undo))
        try:
            for undo in taken:
                try:
                    undo.act()
                except (LinkError, ProtocolError, ValueError, PeerLostError) as error:
                    left.append(f'{undo.what}: {error}; {undo.advice}')
        finally:
            self.left = tuple(left)
            self.gave_back = tuple(dict.fromkeys(undo.what for undo in taken))
            self._undo.clear()
            self._link = None
            link.close()

    # The steps.

    def _steps(self) -> Iterator[WalkStep]:
        seconds = self._settings.seconds
        yield WalkStep(
            reach.STEP, f'asks {self.program} at {self._to[0]}:{self._to[1]} for its versions, '
            'and opens its WebSocket', False, self._reach)
        if not self._has_socket:
            return
        yield WalkStep(
            STEP, f'listens to the WebSocket for {seconds:g} s: fly straight, then gentle turns, '
            'climbs and descents', False, self._told(STEP, self._telemetry))
        for announces, run in (
                ('moves the flaps a little and back, and writes the tail number that is there',
                 self._writes),
                (f'holds the command {BRAKES}, and releases it', self._holds),
                ('pauses the simulation for a second, and resumes it', self._pauses),
                (f'holds {BRAKES} again, and closes the connection', self._loses)):
            yield WalkStep(COMMANDS, announces, True, self._told(COMMANDS, run))
        yield WalkStep(
            STEP, 'compares the signals of all that was flown with one another', False,
            self._consistency)
        if self._settings.attended:
            yield WalkStep(
                moments.STEP, 'asks you to pause and restart the simulator, and for a replay: '
                'each may be skipped', False, self._told(moments.STEP, self._moments))

    def _skip(self) -> None:
        self._listen(0.0)

    def _told(
        self, step: str, run: Callable[[], Iterator[CheckResult]]
    ) -> Callable[[], Iterator[CheckResult]]:
        """Return a step of which a refusal is a finding."""
        def told() -> Iterator[CheckResult]:
            try:
                yield from run()
            except ValueError as error:
                yield _differs(step, 'request', str(error), '', 'it is granted', 'a refusal')

        return told

    # Reach.

    def _reach(self) -> Iterator[CheckResult]:
        host, port = self._to
        answers, trips = [], []
        for _ in range(_QUESTIONS):
            begun = self._link_now()
            try:
                answers.append(self._request(web_api.get_capabilities()))
            except LinkError as error:
                raise UnreachableError(
                    f'{error}. X-Plane 12.1.4 and later have it, on TCP port {web_api.PORT} of '
                    'its own computer only: forward the port from another one') from error
            trips.append(self._link_now() - begun)
        yield _seen(reach.STEP, 'answers', f'{counted(_QUESTIONS, "request")} to {host}:{port} '
                    'are answered')
        yield _seen(
            reach.STEP, 'round trip', f'round trip: {1e3 * statistics.median(trips):.0f} ms, at '
            f'most {1e3 * max(trips):.0f} ms')
        try:
            found = web_api.read_capabilities(answers[-1])
            self._root = found.root
        except (ProtocolError, ValueError) as error:
            yield _differs(reach.STEP, 'answer', str(error), '', 'versions of the Web API',
                           'another answer')
            raise AstrayError(str(error)) from error
        self.program = f'X-Plane {found.xplane}, Web API {", ".join(sorted(found.apis))}'
        yield _seen(reach.STEP, 'program', f'it is {self.program}')
        try:
            found.check_flights()
        except ValueError as error:
            yield CheckResult(reach.STEP, 'flights', Outcome.SKIPPED, str(error))
        else:
            yield CheckResult(reach.STEP, 'flights', Outcome.SKIPPED,
                              'starting a flight would end the one that is flown')
        yield from self._opens()

    def _opens(self) -> Iterator[CheckResult]:
        """Open the WebSocket, and look at how it answers."""
        try:
            check_installed()
        except LinkError as error:
            yield CheckResult(reach.STEP, 'WebSocket', Outcome.NOT_SEEN, str(error), 'WEB-01')
            return
        try:
            web_api.check('WebSocket', self._request(web_socket.unsubscribe_all(self._root)))
        except UnansweredError as error:
            yield _differs(
                reach.STEP, 'results', f'a request over the WebSocket is not answered: {error}',
                'WEB-03', 'a result with its number', 'none')
            return
        except (LinkError, ValueError) as error:
            yield _differs(reach.STEP, 'WebSocket', f'the WebSocket does not open: {error}',
                           'WEB-01', 'a connection', 'none')
            return
        self._has_socket = True
        yield _seen(reach.STEP, 'WebSocket', 'the WebSocket opens, and answers by numbers',
                    'WEB-03')
        yield self._refused(
            reach.STEP, 'unknown type', 'unknown_type', 'WEB-04', 'a request of an unknown type',
            WebRequest(SOCKET, self._root, json.dumps(
                {'type': 'no_such_type', 'params': {}}).encode('ascii')))

    def _refused(
        self, step: str, subject: str, code: str, requirement: str, what: str,
        request: WebRequest,
    ) -> CheckResult:
        """Ask for what X-Plane must refuse, with an error code."""
        try:
            web_api.check(subject, self._request(self._over(request)))
        except WebApiRefusedError as error:
            got = error.code or 'no code'
        else:
            got = 'it is granted'
        if got == code:
            return _seen(step, subject, f'{what} is refused: {code}', requirement)
        return _differs(
            step, subject, f'{what} is not refused as documented', requirement, code, got)

    # Telemetry.

    def _telemetry(self) -> Iterator[CheckResult]:
        wanted = [element for name in xplane.own_datarefs(web_api.FIRST_WITH_WEB_API)
                  for element in levers.elements(name)]
        failed = self._converse(lambda: self._client.watch([*wanted, *_ELEMENTS, TAIL]))
        self._attend(self._settings.seconds)
        gate = Plausibility(clock=self._link_now)
        for sample in self._samples:
            gate.state(sample.state)
        times = list(self._times)
        yield from (replace(one, step=STEP, requirement='WEB-08')
                    for one in reach.regularity(times, _RATE))
        yield from arrival.missing([
            f'{name}{f" ({failed[name]})" if failed.get(name, "unknown") != "unknown" else ""}'
            for name in xplane.missed([name for name in wanted if name not in self._values])
            if '[' not in name or name.endswith('[0]')], len(wanted))
        yield from arrival.impossible(gate)
        yield from arrival.pace(self._samples, times, REQUIREMENTS['time'])
        yield from self._messages()
        yield from self._alike()
        if FLAPS in self._values:
            yield self._refused(
                STEP, 'one for all', 'invalid_dataref_id', 'WEB-09',
                'a request with one unknown id', web_socket.subscribe(
                    self._root, {self._values[FLAPS].info.id: None, _NO_ID: None}))

    def _messages(self) -> Iterator[CheckResult]:
        heard = self._client.socket.statistics
        if heard.malformed:
            yield _differs(
                STEP, 'messages', f'{counted(heard.malformed, "message")} of the WebSocket cannot '
                f'be read: {heard.last_error}', 'WEB-02', 'none', str(heard.malformed))
        if heard.unexpected:
            yield _differs(
                STEP, 'results', f'{counted(heard.unexpected, "result")} of no request', 'WEB-03',
                'none', str(heard.unexpected))

    def _alike(self) -> Iterator[CheckResult]:
        """Compare what the WebSocket has sent with what REST says now."""
        for name, requirement in ((FLAPS, 'WEB-06'), (TAIL, 'WEB-06'), (_ELEMENTS[0], 'WEB-07'),
                                  (_ELEMENTS[1], 'WEB-07')):
            self._listen(0.0)
            pushed = self._values.get(name)
            asked = self._read(name)
            if pushed is None or asked is None:
                yield CheckResult(
                    STEP, name, Outcome.NOT_SEEN, f'{name} does not arrive both ways', requirement)
            elif pushed.text == asked.text and all(
                    abs(one - other) < _APART
                    for one, other in zip(_numbers(pushed), _numbers(asked), strict=False)):
                yield _seen(STEP, name, f'{name} is the same by REST and by the WebSocket',
                            requirement)
            else:
                yield _differs(
                    STEP, name, f'{name} by the WebSocket is not what REST says', requirement,
                    _shown(asked), _shown(pushed))

    def _consistency(self) -> Iterator[CheckResult]:
        physics = Consistency(self.record, DATAREF_SOURCES, None)
        yield from physics.run()
        yield from spoken_datarefs(self.record, physics.bad)

    # Commands.

    def _writes(self) -> Iterator[CheckResult]:
        before = _first(self._read(FLAPS))
        if before is None:
            yield CheckResult(COMMANDS, 'flaps', Outcome.SKIPPED, f'{FLAPS} cannot be read')
        else:
            target = before + (_STEP if before + _STEP <= 1.0 else -_STEP)
            self._undo.append(Undo('flaps', lambda: self._write(FLAPS, before, ''),
                                   f'set flaps by hand to {before:.2f}'))
            for way, requirement, write in (
                    ('REST', '', self._write), ('the WebSocket', 'WEB-11', self._set)):
                for value in (target, before):
                    yield self._written(
                        'flaps', way, requirement, partial(write, FLAPS, value, ''),
                        partial(self._is_near, FLAPS, value))
            self._undo.pop()
        reading = self._read(TAIL)
        if reading is not None and reading.text:
            text = reading.text
            self._undo.append(Undo('tail number', lambda: self._write(TAIL, None, text),
                                   f'write {text} into {TAIL}'))
            yield self._written(
                'text', 'REST', 'WEB-11', lambda: self._write(TAIL, None, text),
                lambda: (now := self._read(TAIL)) is not None and now.text == text)
            self._undo.pop()

    def _written(
        self, subject: str, way: str, requirement: str, write: Callable[[], object],
        is_shown: Callable[[], bool],
    ) -> CheckResult:
        try:
            write()
        except ValueError as error:
            return _differs(COMMANDS, subject, f'{subject} cannot be written by {way}: {error}',
                            requirement, 'the value', 'a refusal')
        if self._wait(is_shown, _SHOWN):
            return _seen(COMMANDS, subject, f'{subject}, written by {way}, show it', requirement)
        return _differs(COMMANDS, subject, f'{subject}, written by {way}, do not show it',
                        requirement, 'the value that was written', 'another one')

    def _holds(self) -> Iterator[CheckResult]:
        if not (yield from self._begin_hold(_HOLDS)):
            return
        self._converse(lambda: self._client.release([BRAKES]))
        if self._is_said(False, _SHOWN):
            self._undo.pop()
            yield _seen(COMMANDS, 'given back', f'{BRAKES} is released, and shown so', 'WEB-13')
        else:
            yield _differs(
                COMMANDS, 'given back', f'{BRAKES} was released, and that is not shown', 'WEB-13',
                'not active', 'active')
            self._let_go()
        if not (yield from self._begin_hold(_LEASE)):
            return
        if self._is_said(False, _LEASE + _SHOWN):
            self._undo.pop()
            yield _seen(COMMANDS, 'lease', f'{BRAKES} ends with its duration', 'WEB-13')
        else:
            yield _differs(
                COMMANDS, 'lease', f'{BRAKES} does not end with its duration', 'WEB-13',
                f'released after {_LEASE:g} s', 'active')
            self._let_go()

    def _begin_hold(self, seconds: float) -> Generator[CheckResult, None, bool]:
        """Hold the command, which is noted before it is asked; return whether that is shown."""
        self._active.clear()
        self._undo.append(Undo(
            BRAKES, self._let_go, f'X-Plane ends it within {_HOLDS:g} s, or press it once'))
        self._converse(lambda: self._client.hold(BRAKES, lambda _: seconds))
        is_shown = self._is_said(True, _SHOWN)
        if is_shown:
            yield _seen(COMMANDS, 'hold', f'{BRAKES} is held, and shown so', 'WEB-12')
        else:
            yield _differs(COMMANDS, 'hold', f'{BRAKES} was held, and that is not shown',
                           'WEB-12', 'active', 'not active')
            self._let_go()
        return is_shown

    def _let_go(self) -> None:
        """Release the command until X-Plane shows that. Raises ValueError if it does not."""
        if self._client.socket.number_of(BRAKES) is not None:
            self._converse(lambda: self._client.release([BRAKES]))
        self._active.clear()
        self._converse(lambda: self._client.look(BRAKES))
        if not self._is_said(False, _HOLDS + _SHOWN):
            raise ValueError('it is not shown as released')
        if self._undo and self._undo[-1].act == self._let_go:
            self._undo.pop()

    def _pauses(self) -> Iterator[CheckResult]:
        if xplane.PAUSED not in self._values:
            yield CheckResult(COMMANDS, 'pause', Outcome.SKIPPED, 'a pause is not shown')
            return
        self._keeps = False
        self._undo.append(Undo('pause', lambda: self._press(RESUME), 'resume it by hand'))
        for command, wanted, said in ((PAUSE, 1.0, 'pauses'), (RESUME, 0.0, 'resumes')):
            self._press(command)
            is_so = self._wait(partial(self._is_paused, wanted), _SHOWN)
            yield _seen(COMMANDS, 'pause', f'it {said}', REQUIREMENTS['pause']) if is_so else (
                _differs(COMMANDS, 'pause', f'{command} was pressed, and it does not show',
                         REQUIREMENTS['pause'], f'it {said}', 'it does not'))
            self._listen(1.0)
        self._undo.pop()
        self._keeps = True

    def _loses(self) -> Iterator[CheckResult]:
        """Hold the command, and lose the connection, with which X-Plane must release it."""
        link = self._link
        assert link is not None
        if not (yield from self._begin_hold(_HOLDS)):
            return
        link.cut()
        self._active.clear()
        self._converse(lambda: self._client.look(BRAKES))
        if self._is_said(False, _SHOWN):
            self._undo.pop()
            yield _seen(COMMANDS, 'connection', f'{BRAKES} ends with the connection', 'WEB-14')
        else:
            yield _differs(COMMANDS, 'connection', f'{BRAKES} does not end with the connection',
                           'WEB-14', 'not active', 'active')
            self._let_go()

    # What only a person can bring about.

    def _moments(self) -> Iterator[CheckResult]:
        # The connection that told of them has ended.
        self._keeps = False
        self._converse(lambda: self._client.watch([xplane.PAUSED, IS_IN_REPLAY]))
        yield from moments.of_moments((
            moments.paused(partial(self._shows, xplane.PAUSED), REQUIREMENTS['pause']),
            moments.replayed(partial(self._shows, IS_IN_REPLAY)),
            moments.restarted(self._is_away, lambda: 'the Web API does not answer')),
            self._ask, self._tell)

    def _shows(self, name: str) -> bool:
        self._listen(moments.LOOKS)
        return _first(self._values.get(name)) == 1.0

    def _is_away(self) -> bool:
        self._listen(moments.LOOKS)
        try:
            self._request(web_api.get_capabilities())
        except LinkError:
            return True
        return False

    # What is asked, and what is said.

    def _link_now(self) -> float:
        assert self._link is not None
        return self._link.now()

    def _request(self, request: WebRequest) -> web_api.WebResponse:
        assert self._link is not None
        return self._link.ask(request)

    def _over(self, request: WebRequest) -> WebRequest:
        """Return a request for the present connection."""
        return replace(request, connection=self._client.socket.connection)

    def _listen(
        self, seconds: float, until: Callable[[], bool] | None = None
    ) -> list[Heard]:
        """Let time pass, and note what X-Plane says."""
        assert self._link is not None
        heard = self._link.listen(seconds, until)
        for one in heard:
            if isinstance(one.event, ValuesChanged):
                self._values = one.event.values
                if self._keeps:
                    self._sample(one.at)
            elif isinstance(one.event, CommandReported):
                self._active[one.event.name] = one.event.is_active
        return heard

    def _sample(self, at: float) -> None:
        """Keep what is known of the flight."""
        values = {name: reading.value[0] for name, reading in self._values.items()
                  if reading.value and not isinstance(reading.value, bytes)}
        state = xplane.own_state(
            self._positions.choose(None, values), None, values, arrays=levers.to_arrays(values))
        if self._times and at - self._times[-1] < _SAME:
            # X-Plane may say what is new in several messages.
            del self._samples[-1], self._times[-1]
        self._times.append(at)
        self._samples.append(Sample(at if state.time is None else state.time, state, values))

    def _attend(self, seconds: float) -> list[Heard]:
        """Listen. Raises PeerLostError if the connection is lost."""
        connection = self._client.socket.connection
        heard = self._listen(seconds, lambda: self._client.socket.connection != connection)
        if self._client.socket.connection != connection:
            raise PeerLostError('the connection of the WebSocket has ended')
        return heard

    def _wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Listen until a condition holds; return whether it does."""
        left = seconds
        while not condition() and left > 0.0:
            self._listen(_STEP)
            left -= _STEP
        return condition()

    def _is_said(self, is_active: bool, seconds: float) -> bool:
        return self._wait(lambda: self._active.get(BRAKES) == is_active, seconds)

    def _converse(self, begin: Callable[[], Any]) -> Any:
        """Hold a conversation. Raises PeerLostError where X-Plane does not answer."""
        assert self._link is not None
        try:
            return self._link.converse(begin())
        except LinkError as error:
            raise PeerLostError(str(error)) from error
        except ProtocolError as error:
            raise PeerLostError(f'its answer cannot be read: {error}') from error

    def _read(self, name: str) -> DatarefReading | None:
        reading, = self._converse(lambda: self._client.describe([name]))
        found: DatarefReading | None = reading
        return found

    def _is_near(self, name: str, wanted: float) -> bool:
        value = _first(self._read(name))
        return value is not None and abs(value - wanted) < _NEAR

    def _is_paused(self, wanted: float) -> bool:
        return _first(self._values.get(xplane.PAUSED)) == wanted

    def _write(self, name: str, value: float | None, text: str) -> None:
        self._converse(lambda: self._client.write(name, () if value is None else (value,), text))

    def _set(self, name: str, value: float, text: str) -> None:
        self._converse(lambda: self._client.set_values([(name, (value,), text)]))

    def _press(self, command: str) -> None:
        self._converse(lambda: self._client.press(command, 0.0))


def _seen(step: str, subject: str, sentence: str, requirement: str = '') -> CheckResult:
    return CheckResult(step, subject, Outcome.SEEN, sentence, requirement)


def _differs(
    step: str, subject: str, sentence: str, requirement: str, expected: str, got: str
) -> CheckResult:
    return CheckResult(step, subject, Outcome.DIFFERS, sentence, requirement, expected, got)


def _numbers(reading: DatarefReading) -> Iterable[float]:
    return () if isinstance(reading.value, bytes) else reading.value


def _first(reading: DatarefReading | None) -> float | None:
    return None if reading is None else next(iter(_numbers(reading)), None)


def _shown(reading: DatarefReading) -> str:
    return reading.text or ', '.join(f'{number:.4g}' for number in _numbers(reading))
