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

"""Test inputs: their shape, and how an aircraft is flown with them."""

import math

import numpy as np
from orders import check, flown, order_of
import pytest
import yaml

from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.flights.scenario.excitation import Excitation
from xplane_bridge.laboratory.flights.scenario.scenario import ScenarioError
from xplane_bridge.laboratory.flights.script import ExperimentError, Script

FREQUENCIES = tuple(0.2 * n for n in range(1, 16))


@pytest.mark.parametrize(('kind', 'lasts', 'expected'), [
    ('doublet', 2.0, [0.1, 0.1, -0.1, -0.1]),
    ('3211', 3.5, [0.1, 0.1, 0.1, -0.1, -0.1, 0.1, -0.1]),
])
def test_pulses_follow_each_other_however_a_stamp_is_rounded(kind, lasts, expected):
    pulses = Excitation(kind, 'elevator', 0.1, lasts)
    for rounding in (-0.003, 0.0, 0.003):
        assert [pulses.value(0.5 * n + rounding) for n in range(len(expected))] == expected
        assert pulses.value(lasts + rounding) == 0.0
    assert pulses.value(-1.0) == 0.0


def test_a_chirp_sweeps_each_octave_in_the_same_time():
    chirp = Excitation('chirp', 'elevator', 0.05, 30.0, f0=0.1, f1=3.2)
    times = np.arange(0.0, 29.9, 1e-3)
    values = np.array([chirp.value(t) for t in times])
    assert values[0] == 0.0
    assert np.abs(values).max() == pytest.approx(0.05, rel=1e-3)
    rises = times[1:][(values[:-1] < 0.0) & (values[1:] >= 0.0)]
    # Five octaves in 30 s: between two upward zeros the frequency is that at their middle.
    middle = 0.5 * (rises[1:] + rises[:-1])
    assert 1.0 / np.diff(rises) == pytest.approx(0.1 * 2.0 ** (middle / 6.0), rel=0.02)


def test_a_chirp_is_that_of_scipy():
    signal = pytest.importorskip('scipy.signal', reason='scipy is not installed')
    chirp = Excitation('chirp', 'rudder', 1.0, 40.0, f0=0.1, f1=3.0)
    times = np.linspace(0.0, 39.9, 2000)
    assert [chirp.value(t) for t in times] == pytest.approx(
        signal.chirp(times, 0.1, 40.0, 3.0, 'logarithmic', phi=-90.0), abs=1e-9)


def test_a_multisine_has_its_frequencies_alone_equally_strong_and_a_low_peak():
    multisine = Excitation('multisine', 'elevator', 0.05, 40.0, frequencies=FREQUENCIES)
    assert multisine.period == pytest.approx(5.0)
    values = np.array([multisine.value(n / 50.0) for n in range(2000)])
    assert values[0] == pytest.approx(0.0, abs=1e-4)
    assert np.abs(values).max() == pytest.approx(0.05, rel=0.01)
    spectrum = np.abs(np.fft.rfft(values))
    strong = np.flatnonzero(spectrum > 1e-3 * spectrum.max())
    assert list(strong / 40.0) == pytest.approx(FREQUENCIES)
    assert spectrum[strong] == pytest.approx(spectrum.max(), rel=1e-3)
    # In phase, its peak would be sqrt(2 N) = 5.5 times its rms.
    assert np.abs(values).max() < 2.0 * values.std()


GOOD = """
duration: 60
events:
  - {at: 1, engage: true}
  - {at: 5, chirp: {axis: elevator, amplitude: 0.05, f0: 0.1, f1: 3}, for: 20, free: 4}
  - {at: 30, 3211: {axis: aileron, amplitude: -0.1}, for: 3.5}
  - {at: 40, multisine: {axis: elevator, amplitude: 0.05, frequencies: [0.2, 0.4, 1]}, for: 10}
  - {at: 52, engage: true}
  - {at: 52, target: {altitude: 1500}}
criteria:
  - {quantity: pitch_rate_deg, statistic: max, at_least: 1}
"""


def parsed(text):
    return scenario.parse('mine', yaml.safe_load(text))


def test_events_say_axis_amplitude_and_time():
    events = parsed(GOOD).events
    assert [event.action for event in events[1:4]] == ['chirp', '3211', 'multisine']
    assert (events[1].lasts, events[1].free, events[2].free) == (20.0, 4.0, 5.0)
    assert events[1].value.outputs == ('pitch_rate',)
    assert str(events[1]) == 'chirp on elevator, +0.05, 0.1 to 3 Hz, 20.0 s'
    assert str(events[2]) == '3211 on aileron, -0.1, 3.5 s'


@pytest.mark.parametrize(('old', 'new', 'sentence'), [
    ('axis: elevator', 'axis: flaps',
     "events[1].chirp.axis: expected one of elevator, aileron, rudder, throttle, got 'flaps'"),
    ('amplitude: 0.05, f0', 'f0', 'events[1].chirp: amplitude is missing'),
    ('amplitude: 0.05, f0', 'amplitude: 2, f0',
     'events[1].chirp.amplitude: expected -1 to 1, got 2'),
    ('amplitude: -0.1', 'amplitude: 0', 'an amplitude of 0 has no effect'),
    ('f0: 0.1', 'f0: 0', 'events[1].chirp.f0: expected above 0 and at most 20 Hz, got 0'),
    ('f1: 3', 'f1: 0.1', 'events[1].chirp.f1: expected above 0.1 Hz, got 0.1'),
    ('f1: 3', 'f1: 50', 'events[1].chirp.f1: expected above 0 and at most 20 Hz, got 50'),
    ('f1: 3', 'f1: 3, f2: 4', "events[1].chirp: unknown name 'f2', expected axis, amplitude, f0"),
    ('f1: 3', 'f1: 3, outputs: [pitch_speed]', 'outputs[0]: expected one of roll, pitch, heading'),
    ('f1: 3', 'f1: 3, closed_loop: 1', 'closed_loop: expected true or false, got 1'),
    (', for: 20', '', 'events[1]: chirp needs "for", the seconds to fly it'),
    ('for: 20', 'for: 90', 'events[1].for: it ends at 95 s, after the end, 60 s'),
    ('for: 20', 'for: 40', 'multisine at 40 s: chirp on elevator lasts until 45 s'),
    ('engage: true}\n  - {at: 5,', 'engage: true, for: 2}\n  - {at: 5,',
     '"for" belongs to controls, doublet, 3211, chirp, multisine, not to engage'),
    ('[0.2, 0.4, 1]', '[0.2, 0.33]',
     'events[3].multisine.frequencies[1]: expected a multiple of 0.1 Hz, whole cycles in 10 s'),
    ('[0.2, 0.4, 1]', '[0.2, 0.3]', 'at least two periods of at most 600 s, got 1 of 10 s; '
     'choose multiples of 0.2 Hz'),
    ('[0.2, 0.4, 1]', '[0.2, 0.2]', '0.2 Hz is there twice'),
    ('[0.2, 0.4, 1]', '[]', 'expected 1 to 100, got 0'),
    ('{at: 52, engage: true}', '{at: 45, engage: true}',
     'engage at 45 s: multisine lasts until 50 s'),
    ('  - {at: 52, engage: true}\n', '', 'target at 52 s: the autopilot is not engaged then'),
    ('amplitude: -0.1', 'amplitude: -0.1, closed_loop: true',
     '3211 at 30 s: with closed_loop the autopilot must be engaged'),
], ids=lambda value: value[:40])
def test_a_mistake_is_said_with_its_place(old, new, sentence):
    text = GOOD.replace(old, new)
    assert text != GOOD
    with pytest.raises(ScenarioError) as error:
        parsed(text)
    assert sentence in str(error.value)


@pytest.mark.parametrize('given', [
    {}, {'lockstep': True}, {'controller': 'my_controller'}])
def test_closed_loop_is_refused_where_commands_do_not_pass_through_the_experiment(given):
    flight = parsed(CORE)
    for possible in ({'sim': 'core'}, {'controller': 'my_controller', 'lockstep': True}):
        check(order_of(flight, **possible))
    with pytest.raises(ScenarioError, match='doublet at 9 s: closed_loop is flown with --sim'):
        check(order_of(flight, **given))


TRIMMED = """
duration: 14
initial: {altitude: 1500.0, heading_deg: 90.0, airspeed: 51.444}
events:
  - {at: 0.5, engage: true}
  - {at: 2, engage: false}
  - {at: 2, trim: {altitude: 1400.0, airspeed: 45.0, bank_deg: 20.0}}
  - {at: 7, doublet: {axis: elevator, amplitude: 0.1}, for: 1}
  - {at: 12, engage: true}
criteria:
  - {quantity: airspeed, statistic: min, from: 2.1, to: 7, at_least: 44.8}
  - {quantity: airspeed, statistic: max, from: 2.1, to: 7, at_most: 45.2}
  - {quantity: altitude, statistic: min, from: 2.1, to: 7, at_least: 1399}
  - {quantity: altitude, statistic: max, from: 2.1, to: 7, at_most: 1401}
  - {quantity: roll_deg, statistic: mean, from: 2.1, to: 7, at_least: 19, at_most: 21}
  - {figure: windows.doublet_elevator.moved.pitch_rate.highest, at_least: 0.05}
"""


@pytest.mark.parametrize(('old', 'new', 'sentence'), [
    ('airspeed: 45.0,', 'speed: 45.0,', "events[2].trim: unknown name 'speed', expected altitude"),
    ('airspeed: 45.0,', 'airspeed: fast,',
     "events[2].trim.airspeed: expected a number, got 'fast'"),
    ('  - {at: 2, engage: false}\n', '',
     'trim at 2 s: the autopilot is engaged then, and commands the controls'),
    ('at: 7, doublet', 'at: 2, doublet',
     'doublet at 2 s: the trimmed state is measured in the next frame only'),
    ('at: 2, trim', 'at: 7.5, trim', 'trim at 7.5 s: doublet lasts until 8 s'),
])
def test_a_trim_is_checked(old, new, sentence):
    assert old in TRIMMED
    with pytest.raises(ScenarioError) as error:
        parsed(TRIMMED.replace(old, new))
    assert sentence in str(error.value)


def test_no_real_simulator_is_trimmed():
    flight = parsed(TRIMMED)
    assert flight.needs_simulator() == ['trim at 2 s']
    assert str(flight.events[2]) == 'trim at altitude 1400.0 m, airspeed 45.0 m/s, bank 20.0 deg'


def test_trimmed_it_flies_on_with_the_controls_held():
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    missed = [str(one) for one in flown(parsed(TRIMMED)).result().judgements if not one.passed]
    assert not missed
    with pytest.raises(ExperimentError, match='c172p cannot be trimmed'):
        flown(parsed(TRIMMED.replace('airspeed: 45.0', 'airspeed: 250.0')))


class Vehicle:
    """A vehicle whose controls are known, or not."""

    def __init__(self, **last):
        self.done = []
        self._last = last

    def __getattr__(self, name):
        return lambda *arguments: self.done.append((name, *arguments))

    def last(self, name):
        return self._last.get(name, math.nan)


def test_the_controller_is_released_and_the_controls_are_held_where_they_were():
    vehicle = Vehicle(elevator=0.02, aileron=0.0, rudder=0.01, command_throttle=0.98)
    flight = Script(parsed(GOOD.replace('axis: elevator, amplitude: 0.05, f0: 0.1, f1: 3',
                                           'axis: throttle, amplitude: 0.1').replace(
        'chirp', 'doublet')), vehicle, vehicle, vehicle)
    flight.begin = 100.0
    flight.act(101.0)
    assert flight.engaged
    assert flight.held_controls(101.0) is None
    flight.act(105.0)
    assert ('engage', False, 105.0) in vehicle.done
    base = {'elevator': 0.02, 'aileron': 0.0, 'rudder': 0.01, 'throttle': 0.98}
    # At most 1.
    assert flight.held_controls(105.0) == base | {'throttle': 1.0}
    assert flight.held_controls(120.0) == base | {'throttle': pytest.approx(0.88)}
    assert flight.held_controls(126.0) == base
    flight.act(130.0)
    assert flight.held_controls(132.0) == base | {'aileron': pytest.approx(0.1)}
    flight.act(140.0)
    flight.act(152.0)
    assert flight.engaged
    assert flight.held_controls(152.0) is None


def test_where_the_controls_are_must_be_known():
    vehicle = Vehicle(elevator=0.02)
    flight = Script(parsed(GOOD), vehicle, vehicle, vehicle)
    flight.begin = 0.0
    with pytest.raises(ExperimentError, match='not known where aileron, rudder is held'):
        flight.act(5.0)


def test_a_glider_has_no_throttle_to_hold_or_to_move():
    vehicle = Vehicle(elevator=0.02, aileron=0.0, rudder=0.0)
    flight = Script(parsed(GOOD), vehicle, vehicle, vehicle)
    flight.begin = 0.0
    flight.act(5.0)
    assert flight.held_controls(5.0) == {'elevator': 0.02, 'aileron': 0.0, 'rudder': 0.0}
    flight = Script(
        parsed(GOOD.replace('axis: elevator', 'axis: throttle')), vehicle, vehicle, vehicle)
    flight.begin = 0.0
    with pytest.raises(ExperimentError, match='not known where throttle is held'):
        flight.act(5.0)


CORE = """
duration: 12
initial: {altitude: 1500.0, heading_deg: 90.0, airspeed: 51.444}
events:
  - {at: 0.5, engage: true}
  - {at: 4, doublet: {axis: elevator, amplitude: 0.1}, for: 1}
  - {at: 8, engage: true}
  - {at: 9, doublet: {axis: aileron, amplitude: 0.2, closed_loop: true}, for: 1}
criteria:
  - {quantity: pitch_rate_deg, statistic: max, from: 4, to: 5, at_least: 3}
  - {quantity: roll_rate_deg, statistic: max, from: 9, to: 10, at_least: 3}
"""


def test_a_doublet_is_flown_in_open_and_in_closed_loop():
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    flight = flown(parsed(CORE))
    assert all(one.passed for one in flight.result().judgements)
    commands = flight.history().series

    def between(name, begin, end):
        return commands[f'command_{name}'].between(begin - 1e-3, end - 1e-3).values

    held = between('elevator', 3.97, 4.0)[-1]
    assert between('elevator', 4.0, 4.5) == pytest.approx(held + 0.1, abs=1e-4)
    assert between('elevator', 4.5, 5.0) == pytest.approx(held - 0.1, abs=1e-4)
    # In the free response nothing moves.
    assert between('elevator', 5.0, 8.0) == pytest.approx(held, abs=1e-4)
    assert np.ptp(between('throttle', 4.0, 8.0)) == 0.0
    # In closed loop the controller works against it.
    assert between('aileron', 9.0, 9.02)[0] == pytest.approx(0.2, abs=0.01)
    assert np.ptp(between('aileron', 9.0, 9.5)) > 0.02
