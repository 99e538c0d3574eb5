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

"""The states of a flight: whatever is called in whatever order, its contract holds."""

from flight_states import CALLS, Driver
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.laboratory.control.cascade import Cascade
from xplane_bridge.laboratory.flights.flight import Fault, FlightState
from xplane_bridge.laboratory.flights.order import FlownBy, Order
from xplane_bridge.laboratory.flights.scenario.scenario import parse
from xplane_bridge.laboratory.flights.scenario.start import apply_start, Start
from xplane_bridge.laboratory.flights.script import ControllerError
from xplane_bridge.laboratory.open_flight import open_flight

# Twelve frames.
SCENARIO = parse('brief', {
    'duration': 0.2,
    'events': [{'at': 0.05, 'engage': True}, {'at': 0.1, 'turbulence': [15.0, 4]}],
    'criteria': [{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 90.0}]})
NEVER = parse('never', {
    'duration': 0.2, 'criteria': [{'figure': 'duration', 'at_least': 0.1}], 'events': []})
TOO_FAST = apply_start(SCENARIO, Start(initial={'airspeed': 300.0}))
LEVEL = (0.0, 0.02, 0.7)


class Breaks(Cascade):
    """A law that raises an error at its third command."""

    def __init__(self, error):
        super().__init__()
        self.error, self.left = error, 2

    def update(self, now, dt):
        if not self.left:
            raise self.error
        self.left -= 1
        return super().update(now, dt)


def autopilot():
    return Driver(open_flight(Order(SCENARIO, seed=3)))


def actions(scenario=SCENARIO):
    return Driver(open_flight(Order(scenario, flown_by=FlownBy(actions='attitude'))), LEVEL)


def broken(error=None):
    return Driver(open_flight(Order(SCENARIO), law=Breaks(error or RuntimeError('it broke'))))


def too_fast():
    return Driver(open_flight(Order(TOO_FAST)))


def never():
    return actions(NEVER)


@settings(max_examples=60)
@given(st.sampled_from([autopilot, actions, broken, too_fast, never]),
       st.lists(st.sampled_from([*CALLS, *['step'] * 4]), max_size=24), st.booleans())
def test_whatever_is_called_its_contract_holds(make, calls, begun):
    driver = make()
    driver.do(*(['start'] if begun else []), *calls)
    # In whatever state it is left.
    driver.do('history', 'result', 'close', 'close', 'history', 'result', 'start', 'step', 'fly')
    assert driver.flight.state is FlightState.CLOSED


@pytest.mark.parametrize('make', [autopilot, actions])
def test_it_is_flown_frame_by_frame_to_its_end(make):
    driver = make()
    assert driver.do('start') is FlightState.READY
    # By actions it begins where the first of them counts.
    first = driver.flight.time
    assert first == pytest.approx(0.05 if driver.action else 0.0)
    frames = round((0.2 - first) * 60.0)
    assert driver.do(
        *['step', 'history', 'result', 'observation'] * (frames - 1)) is FlightState.READY
    assert driver.do('step') is FlightState.OVER
    assert driver.flight.flown == 0.2
    assert len(driver.flight.history().series['altitude'].times) == 13


@pytest.mark.parametrize(('make', 'why', 'at'), [
    (broken, 'it broke', 5.0 / 60.0), (too_fast, 'c172p cannot be trimmed', 0.0),
    (never, 'scenario never never engages a controller', 0.2)])
def test_what_fails_says_why_and_by_whom(make, why, at):
    driver = make()
    assert driver.do('fly', 'fly') is FlightState.FAILED
    flight = driver.flight
    assert flight.why.startswith(why)
    assert flight.fault is (Fault.ORDER if make is never else Fault.FLIGHT)
    assert flight.flown == pytest.approx(at)
    with pytest.raises(ValueError, match=f'the flight is failed, expected ready: {why}'):
        flight.step()
    driver.do('close')
    # It is still known afterwards.
    assert flight.why.startswith(why)


def test_a_controller_that_breaks_its_contract_is_to_blame():
    driver = broken(ControllerError('it is silent'))
    assert driver.do('fly') is FlightState.FAILED
    assert driver.flight.fault is Fault.CONTROLLER


def test_an_interrupt_ends_it_and_is_passed_on():
    driver = broken(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        driver.flight.fly()
    assert driver.flight.state is FlightState.CLOSED
    assert driver.flight.began
    driver.do('history', 'result')


def test_as_a_context_it_is_closed_at_the_end():
    with pytest.raises(RuntimeError, match='mine'), open_flight(Order(SCENARIO)) as flight:
        flight.start()
        raise RuntimeError('mine')
    assert flight.state is FlightState.CLOSED
