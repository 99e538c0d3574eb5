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

"""Frequency responses and modes of systems that are known, and windows of a flight."""

import math
import sys

import numpy as np
import pytest
import yaml

from xplane_bridge.laboratory.flights.analysis import verdict
from xplane_bridge.laboratory.flights.analysis.frequency_response import frequency_response
from xplane_bridge.laboratory.flights.analysis.low_order import low_order
from xplane_bridge.laboratory.flights.analysis.series import make_flight, Series
from xplane_bridge.laboratory.flights.analysis.windows import windows
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.flights.scenario.excitation import Excitation

CHIRP = Excitation('chirp', 'elevator', 0.05, 40.0, f0=0.1, f1=3.0, outputs=('pitch_rate',))
MULTISINE = Excitation(
    'multisine', 'elevator', 0.05, 40.0, outputs=('pitch_rate',),
    frequencies=tuple(0.2 * n for n in range(1, 16)))
STEP = 0.02
# A short period: 5 rad/s, damping 0.5, zero at 1 rad/s, 40 ms late.
OMEGA, ZETA, ZERO, DELAY = 5.0, 0.5, 1.0, 0.04


def known(frequencies):
    s = 2j * math.pi * frequencies
    return 20.0 * (s + ZERO) * np.exp(-DELAY * s) / (s * s + 2 * ZETA * OMEGA * s + OMEGA**2)


def flown(excitation, noise=0.0, seconds=45.0):
    """Return command and response, as of a controller that commands 50 times per second."""
    # Each command is held; fine steps in between make the integration exact enough.
    fine = 20
    times = np.arange(0.0, seconds, STEP)
    command = np.array([excitation.value(t) for t in times])
    late = round(DELAY / STEP)
    angle = rate = 0.0
    response = []
    for held in np.concatenate((np.zeros(late), command[:len(command) - late])):
        response.append(20.0 * (rate + ZERO * angle))
        for _ in range(fine):
            rate += STEP / fine * (held - 2 * ZETA * OMEGA * rate - OMEGA**2 * angle)
            angle += STEP / fine * rate
    noisy = np.array(response) + noise * np.random.default_rng(3).standard_normal(len(times))
    return Series(times, command), Series(times, noisy)


@pytest.mark.parametrize(('excitation', 'decibels', 'degrees'), [
    (CHIRP, 0.7, 4.0), (MULTISINE, 0.15, 1.5)], ids=lambda value: getattr(value, 'kind', ''))
def test_the_response_of_a_known_system_is_found(excitation, decibels, degrees):
    pytest.importorskip('scipy', reason='scipy is not installed')
    found = frequency_response(excitation, *flown(excitation))
    expected = known(found.frequencies)
    assert found.coherence.min() > 0.95
    assert found.frequencies[0] <= 0.21
    assert found.frequencies[-1] == pytest.approx(3.0)
    assert np.abs(20.0 * np.log10(np.abs(found.ratio / expected))).max() < decibels
    assert np.abs(np.degrees(np.angle(found.ratio / expected))).max() < degrees
    modes = low_order('elevator', 'pitch_rate', found)
    assert modes['natural_frequency'] == pytest.approx(OMEGA, rel=0.03)
    assert modes['damping'] == pytest.approx(ZETA, rel=0.06)
    assert modes['delay'] == pytest.approx(DELAY, abs=0.01)
    assert modes['misfit'] < 1.0


def test_a_roll_mode_is_found():
    pytest.importorskip('scipy', reason='scipy is not installed')
    frequencies = np.geomspace(0.1, 3.0, 30)
    s = 2j * math.pi * frequencies
    found = frequency_response(CHIRP, *flown(CHIRP))._replace(
        frequencies=frequencies, ratio=1.5 * np.exp(-0.02 * s) / (0.3 * s + 1.0),
        coherence=np.ones(30))
    assert low_order('aileron', 'roll_rate', found)['time_constant'] == pytest.approx(0.3)
    assert low_order('rudder', 'yaw_rate', found) == {}


@pytest.mark.parametrize('excitation', [CHIRP, MULTISINE], ids=lambda value: value.kind)
def test_noise_costs_coherence_and_is_left_out(excitation):
    pytest.importorskip('scipy', reason='scipy is not installed')
    found = frequency_response(excitation, *flown(excitation, noise=0.3))
    assert found.coherence.mean() < 0.9
    kept = found.where(0.6)
    assert 0 < len(kept.frequencies) < len(found.frequencies)
    assert kept.coherence.min() >= 0.6


def test_a_gap_and_unknown_values_do_no_harm():
    pytest.importorskip('scipy', reason='scipy is not installed')
    command, output = flown(MULTISINE)
    output.values[500:505] = math.nan
    kept = np.r_[0:700, 720:len(output.times)]
    found = frequency_response(
        MULTISINE, command, Series(output.times[kept], output.values[kept]))
    assert np.abs(np.abs(found.ratio / known(found.frequencies)) - 1.0).max() < 0.03


def test_too_little_is_said():
    few = Series(np.arange(5.0), np.zeros(5))
    with pytest.raises(ValueError, match='not enough was measured'):
        frequency_response(CHIRP, few, few)


SCENARIO = """
duration: 50
events:
  - {at: 0, chirp: {axis: elevator, amplitude: 0.05, f0: 0.1, f1: 3}, for: 40}
  - {at: 47, doublet: {axis: elevator, amplitude: 0.05}, for: 1}
  - {at: 49, doublet: {axis: elevator, amplitude: 0.05}, for: 1}
criteria:
  - {figure: windows.chirp_elevator.responses.pitch_rate.coherence, at_least: 0.9}
  - {figure: windows.doublet_elevator_2.moved.pitch_rate.peak, at_least: 0.1}
"""


def windows_of(until=49.5):
    flight = scenario.parse('mine', yaml.safe_load(SCENARIO))
    command, output = flown(CHIRP, seconds=50.0)
    series = {'command_elevator': command, 'pitch_rate': output,
              'pitch': Series(output.times, 0.1 * np.sin(output.times - 1.0))}
    occurrences = [verdict.Occurrence(event, event.at) for event in flight.events
                   if event.at <= until]
    return flight, windows(flight, occurrences, make_flight('/uav', 0.0, series, {}), until)


def test_each_input_has_a_window_with_what_moved():
    pytest.importorskip('scipy', reason='scipy is not installed')
    flight, found = windows_of()
    assert [window.name for window in found] == [
        'chirp_elevator', 'doublet_elevator', 'doublet_elevator_2']
    chirp, doublet, unfinished = found
    # Until the free response is over, or the next event comes.
    assert [(window.begin, window.until) for window in (chirp, doublet)] == [(0, 45), (47, 49)]
    moved = chirp.moved['pitch']
    # From its value at the start.
    assert moved.peak == pytest.approx(0.1 * (1.0 + math.sin(1.0)), rel=1e-3)
    assert moved.highest == moved.peak
    # The sine's third top; the earlier ones are as high but for the sampling.
    assert math.remainder(moved.time_to_peak - 1.0 - math.pi / 2, math.tau) == pytest.approx(
        0.0, abs=0.02)
    first, second = chirp.lines()
    assert 'pitch +10.6 deg after' in first
    assert 'elevator to pitch_rate: 0.14 to 3.00 Hz, mean coherence 0.99' in second
    assert 'natural frequency 5.' in second
    assert unfinished.lines() == ['doublet on elevator, +0.05, 1.0 s: not flown to its end']
    figures = {'windows': {window.name: window.figures() for window in found}}
    judged = verdict.judge(flight, make_flight('/uav', 0.0, {}, {}), figures, 49.5, [])
    assert [one.passed for one in judged] == [True, False]
    assert len(figures['windows']['chirp_elevator']['responses']['pitch_rate']['curve'][
        'magnitude_db']) > 30
    with pytest.raises(KeyError, match='is a list, not a figure'):
        verdict.figure(
            figures, 'windows.chirp_elevator.responses.pitch_rate.curve.coherence')


def test_without_scipy_the_rest_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, 'scipy', None)
    flight, found = windows_of()
    first, second = found[0].lines()
    assert 'pitch +10.6 deg' in first
    assert 'no frequency response of pitch_rate: a frequency response needs the Python ' in second
    assert 'pip install scipy' in second
    figures = {'windows': {window.name: window.figures() for window in found}}
    judged = verdict.judge(flight, make_flight('/uav', 0.0, {}, {}), figures, 49.5, [])
    assert math.isnan(judged[0].value)


C172P = """
duration: 50
initial: {altitude: 1500.0, heading_deg: 90.0, airspeed: 51.444}
events:
  - {at: 1, %s: {axis: %s, amplitude: 0.05, %s}, for: 40}
criteria:
  - {quantity: airspeed, statistic: min, at_least: 45}
"""
# JSBSim integrates the accelerations of the step before: what a command does comes one step late.
JSBSIM_STEP = 1.0 / 120.0


@pytest.mark.parametrize(('kind', 'axis', 'output', 'frequencies'), [
    ('chirp', 'elevator', 'pitch_rate', 'f0: 0.1, f1: 3'),
    ('chirp', 'aileron', 'roll_rate', 'f0: 0.2, f1: 3'),
    ('multisine', 'elevator', 'pitch_rate', 'frequencies: [0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 1.9, 3]'),
])
def test_a_flown_response_lies_on_that_of_the_linear_model(kind, axis, output, frequencies):
    """Within 1 dB and 4 degrees, wherever the coherence is above 0.8."""
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    pytest.importorskip('scipy', reason='scipy is not installed')
    from xplane_bridge.laboratory.flights.order import Order
    from xplane_bridge.laboratory.open_flight import open_flight
    from xplane_bridge.simulation.aircraft.studies.linearize import linearize
    from xplane_bridge.simulation.aircraft.studies.spare import make_spare
    flight = open_flight(Order(
        scenario.parse('mine', yaml.safe_load(C172P % (kind, axis, frequencies)))))
    flight.start()
    model = linearize(make_spare(flight.vehicle.aircraft))
    flight.fly()
    window, = flight.result().windows
    found = window.responses[output].where(0.8)
    # A decade and more of it.
    assert found.frequencies[-1] >= 10.0 * found.frequencies[0]
    assert len(found.frequencies) >= 0.9 * len(window.responses[output].frequencies)
    omega = math.tau * found.frequencies
    late = np.exp(-1j * omega * JSBSIM_STEP)
    expected = model.responses(omega, [output], [axis])[:, 0, 0] * late
    assert np.abs(20.0 * np.log10(np.abs(found.ratio / expected))).max() < 1.0
    assert np.abs(np.degrees(np.angle(found.ratio / expected))).max() < 4.0
    if output == 'pitch_rate':
        modes = np.linalg.eigvals(model.a)
        short_period = modes[np.argmax(np.abs(modes) * (modes.imag > 0.0))]
        assert window.modes[output]['natural_frequency'] == pytest.approx(
            abs(short_period), rel=0.05)
        assert window.modes[output]['damping'] == pytest.approx(
            -short_period.real / abs(short_period), rel=0.08)


def test_the_picture_has_a_column_for_frequency_responses(tmp_path):
    pytest.importorskip('scipy', reason='scipy is not installed')
    pytest.importorskip('matplotlib', reason='matplotlib is not installed')
    from xplane_bridge.laboratory.experiments.picture import draw_flight
    _, found = windows_of()
    times = np.array([0.0, 1.0])
    flight = make_flight('/uav', 0.0, {
        name: Series(times, times) for name in ('command_elevator', 'pitch')}, {})
    widths = []
    for inputs in ((), found):
        draw_flight(flight, str(tmp_path / 'a.png'), 'a', inputs=inputs)
        widths.append(int.from_bytes((tmp_path / 'a.png').read_bytes()[16:20]))
    assert widths == [1430, 2145]
