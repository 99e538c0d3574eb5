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

"""Drives a flight through its states, and holds each call against what its contract allows."""

import pytest

from xplane_bridge.laboratory.flights.flight import FlightState

FROM = {'start': {FlightState.NEW}, 'step': {FlightState.READY}}
TO = {
    'start': {FlightState.READY, FlightState.FAILED},
    'step': {FlightState.READY, FlightState.OVER, FlightState.FAILED},
    'fly': {FlightState.OVER, FlightState.FAILED},
}
CALLS = 'start', 'step', 'fly', 'observation', 'history', 'result', 'close'


class Driver:
    """
    A flight, and what must be true of it after each call.

    ``by_actions`` flights are given ``action`` at each step, and have observations.
    """

    def __init__(self, flight, action=None):
        self.flight = flight
        self.action = action
        self._was_ready = False
        self._time = self._rows = 0
        assert flight.state is FlightState.NEW
        self.check()

    def do(self, *calls):
        """Make calls, one after the other."""
        for call in calls:
            getattr(self, call)()
            self.check()
        return self.flight.state

    def start(self):
        """Begin: once."""
        self._go('start')

    def step(self):
        """Fly on: while it is ready."""
        before = self.flight.time
        if self._go('step', self.action) and self.flight.state is not FlightState.FAILED:
            assert self.flight.time > before

    def fly(self):
        """Fly to the end: what has ended stays as it is."""
        before = self.flight.state
        after = self.flight.fly()
        if before in (FlightState.NEW, FlightState.READY):
            assert after in TO['fly']
        else:
            assert after is before
        assert self.flight.state is after

    def observation(self):
        """Ask what whoever gives the actions is told."""
        if self._was_ready and self.action is not None:
            told = self.flight.observation()
            # It is the caller's, who may do with it what he likes.
            kept = told.copy()
            told[:] = 0.0
            assert self.flight.observation().tolist() == kept.tolist()
            assert len(self.flight.truth()) == len(kept)

    def history(self):
        """Read what was flown so far: never less than before."""
        if self.flight.began:
            rows = sum(len(one.times) for one in self.flight.history().series.values())
            assert rows >= max(self._rows, 1)
            self._rows = rows
        else:
            self._refused(self.flight.history)

    def result(self):
        """Judge what was flown so far: twice the same."""
        if self.flight.began:
            assert said(self.flight.result()) == said(self.flight.result())
        else:
            self._refused(self.flight.result)

    def close(self):
        """End it: as often as one likes."""
        self.flight.close()
        assert self.flight.state is FlightState.CLOSED

    def check(self):
        """Check what is always true."""
        flight = self.flight
        assert flight.time >= self._time
        assert 0.0 <= flight.flown <= flight.order.scenario.duration
        self._time = flight.time
        assert flight.began or not (self._was_ready or flight.flown)
        assert bool(flight.why) == (flight.error is not None) == (flight.fault is not None)
        if flight.state is not FlightState.CLOSED:
            assert bool(flight.why) == (flight.state is FlightState.FAILED)

    def _go(self, call, *arguments):
        """Make a call that changes the state; return whether it is allowed in this one."""
        before = self.flight.state
        if before not in FROM[call]:
            self._refused(getattr(self.flight, call), *arguments)
            return False
        after = getattr(self.flight, call)(*arguments)
        assert after in TO[call]
        assert self.flight.state is after
        self._was_ready |= after is FlightState.READY
        return True

    def _refused(self, call, *arguments):
        before = self.flight.state
        with pytest.raises(ValueError, match=f'the flight is {before}'):
            call(*arguments)
        assert self.flight.state is before


def said(result):
    """Return a result as text, but for how busy the machine is."""
    figures = {name: value for name, value in result.figures.items() if name != 'load'}
    return repr((result.steps, figures, [window.figures() for window in result.windows],
                 result.judgements))
