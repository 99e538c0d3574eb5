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

"""The margins of a controller as it flew: of known loops, and of the autopilot's."""

import dataclasses
import math

import numpy as np
import pytest

pytest.importorskip('scipy', reason='a frequency response needs scipy')

from xplane_bridge.laboratory.control.tuning.robustness import (
    compute_margins,
    disk_margin,
    linear_law,
)
from xplane_bridge.laboratory.flights.analysis.broken_loop import broken_loop, compute_joint_disk
from xplane_bridge.laboratory.flights.analysis.series import Series
from xplane_bridge.laboratory.flights.scenario.excitation import Excitation

RATE = 60.0
SECONDS = 60.0
# Of two controls: plant x' = A x + B u, and the law u = -K x, so many frames late.
LATE = 7
A = np.array([[-0.5, 1.0, 0.0], [-4.0, -1.5, 0.3], [0.2, 0.0, -2.0]])
B = np.array([[0.0, 0.0], [5.0, 0.4], [0.3, 6.0]])
K = np.array([[0.5, 0.9, 0.1], [0.1, -0.1, 0.8]])
CONTROLS = ('elevator', 'aileron')


def across():
    """Return what takes the plant over a step: the matrices of state and control."""
    from scipy.linalg import expm
    whole = np.zeros((5, 5))
    whole[:3, :3], whole[:3, 3:] = A, B
    found = expm(whole / RATE)
    return found[:3, :3], found[:3, 3:]


def flown(excitation, noise=0.0):
    """Return the commands of a flight in which the law flies, with an input."""
    a, b = across()
    random = np.random.default_rng(7)
    x, commands = np.zeros(3), []
    count = round((SECONDS + 5.0) * RATE)
    held = [np.zeros(2)] * LATE
    for n in range(count):
        u = held.pop(0)
        u[CONTROLS.index(excitation.axis)] += excitation.value(n / RATE)
        commands.append(u)
        held.append(-K @ (x + noise * random.standard_normal(3)))
        x = a @ x + b @ u
    times = 100.0 + np.arange(count) / RATE
    return {name: Series(times, np.array(commands)[:, at]) for at, name in enumerate(CONTROLS)}


def exact(hertz):
    """Return the sensitivity of the loop, frequency x control x control."""
    a, b = across()
    z = np.exp(1j * math.tau * hertz / RATE)
    loop = np.array([K @ np.linalg.solve(one * np.eye(3) - a, b) / one**LATE for one in z])
    return np.linalg.inv(np.eye(2) + loop)


@pytest.mark.parametrize('noise', [0.0, 0.002])
@pytest.mark.parametrize('kind', ['chirp', 'multisine'])
def test_margins_are_those_of_the_loop(kind, noise):
    hertz = np.geomspace(0.15, 8.0, 4000)
    sensitivity = exact(hertz)
    frequencies = tuple(np.unique(np.round(np.geomspace(0.15, 8.0, 60) * 20.0) / 20.0).tolist())
    loops = []
    for at, axis in enumerate(CONTROLS):
        excitation = Excitation(kind, axis, 0.1, SECONDS, **(
            {'f0': 0.1, 'f1': 8.0} if kind == 'chirp' else {'frequencies': frequencies}))
        loop = broken_loop(excitation, 100.0, flown(excitation, noise))
        wanted = compute_margins(math.tau * hertz, 1.0 / sensitivity[:, at, at] - 1.0)
        found = loop.margins
        assert found.gain == pytest.approx(wanted.gain, abs=0.5), axis
        assert found.phase == pytest.approx(wanted.phase, abs=3.0), axis
        assert found.delay == pytest.approx(wanted.delay, rel=0.06), axis
        assert found.disk == pytest.approx(wanted.disk, rel=0.05), axis
        assert loop.figures()['coherence'] > 0.6
        loops.append(loop)
    assert compute_joint_disk(loops) == pytest.approx(disk_margin(sensitivity), rel=0.05)
    assert math.isnan(compute_joint_disk(loops[:1]))


def test_what_is_not_in_the_band_is_not_told():
    excitation = Excitation('chirp', 'elevator', 0.1, SECONDS, f0=0.1, f1=0.5)
    loop = broken_loop(excitation, 100.0, flown(excitation))
    assert math.isnan(loop.margins.gain)
    assert 'no gain margin' in str(loop)
    assert loop.figures()['to_hz'] == pytest.approx(0.5, abs=0.01)


def test_a_control_at_its_limit_shows_nothing():
    excitation = Excitation('chirp', 'elevator', 0.1, SECONDS, f0=0.1, f1=0.5)
    commands = flown(excitation)
    commands['elevator'].values[600] = 1.0
    with pytest.raises(ValueError, match=r'elevator is at its limit at 110\.0 s'):
        broken_loop(excitation, 100.0, commands)


SCENARIO = """
duration: 112.0
initial: {altitude: 1500.0, heading_deg: 90.0, airspeed: 51.444, plant: {command_delay: 0.1}}
events:
  - {at: 0.5, engage: true}
  - at: 10.0
    multisine: {axis: elevator, amplitude: 0.03, closed_loop: true, frequencies: LINES}
    for: 40.0
  - at: 60.0
    multisine: {axis: aileron, amplitude: 0.03, closed_loop: true, frequencies: LINES}
    for: 40.0
criteria:
  - {figure: windows.multisine_elevator.loop.phase, at_least: 30.0}
  - {figure: windows.multisine_aileron.loop.gain, at_least: 3.0}
  - {figure: loops.disk, at_least: 0.3}
""".replace('LINES', str([round(0.05 * n, 2) for n in (
    3, 5, 7, 10, 13, 16, 20, 24, 28, 33, 38, 44, 50, 57, 65, 74, 84, 95, 107, 120)]))


def stepped(model, gains, delay, speed):
    """
    Return the loop of each surface at these speeds (rad/s), while all others are closed.

    JSBSim steps the rates by Euler's rule, 120 times per second: at the short period that is
    0.36 dB more than the continuous model has. The cascade steps at half that.
    """
    controls = ('elevator', 'aileron', 'rudder', 'throttle')
    inputs = [model.index('inputs', name) for name in controls]
    outputs = [model.index('outputs', name) for name in (
        'pitch_rate', 'roll_rate', 'yaw_rate', 'pitch', 'roll', 'true_airspeed',
        'flight_path_angle', 'altitude_msl', 'heading')]
    across = np.eye(len(model.a)) + model.a / 120.0
    z = np.exp(1j * speed / RATE)
    plant = model.c[outputs] @ np.linalg.solve(
        z[:, None, None] * np.eye(len(across)) - across @ across,
        np.broadcast_to((across @ model.b + model.b)[:, inputs] / 120.0,
                        (len(z), len(across), len(controls))))
    lag = 1.0 / (1.0 + 1j * speed[:, None] * np.array([0.0, 0.0, 0.0, 1.0]))
    # The linear law holds the course, a scenario without a route the heading.
    law = linear_law(dataclasses.replace(
        gains, course_to_turn_rate=gains.heading_to_turn_rate), model, controls)
    loop = -law.responses((z - 1.0) / z * RATE / 1j) @ (
        plant * (lag * np.exp(-1j * speed[:, None] * delay))[:, None, :])
    sensitivity = np.linalg.inv(np.eye(4) + loop)
    return {name: 1.0 / sensitivity[:, at, at] - 1.0 for at, name in enumerate(controls)}


def test_the_autopilots_margins_in_flight_are_those_of_its_linear_model(tmp_path):
    pytest.importorskip('jsbsim', reason='the simulated aircraft need jsbsim')
    from xplane_bridge.laboratory.flights.core import CoreFlight
    from xplane_bridge.laboratory.flights.flight import Silent
    from xplane_bridge.laboratory.flights.laws import make_autopilot
    from xplane_bridge.laboratory.flights.order import Order
    from xplane_bridge.laboratory.flights.scenario import scenario
    from xplane_bridge.simulation.aircraft.studies.linearize import linearize
    from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight
    (tmp_path / 'loops.yaml').write_text(SCENARIO)
    with CoreFlight(Order(scenario.load(str(tmp_path / 'loops.yaml'))), Silent()) as flight:
        flight.fly()
        result = flight.result()
    spare, _ = in_steady_flight('c172p', 1500.0, 51.444)
    # A command is delayed by the plant, and by a step of JSBSim.
    speed = np.geomspace(0.5, 60.0, 4000)
    analytic = stepped(linearize(spare, 'differences'), make_autopilot('c172p').gains,
                       0.1 + 1.0 / 120.0, speed)
    for name in ('elevator', 'aileron'):
        found = result.figures['windows'][f'multisine_{name}']['loop']
        wanted = compute_margins(speed, analytic[name])
        assert found['gain'] == pytest.approx(wanted.gain, abs=0.2), name
        assert found['phase'] == pytest.approx(wanted.phase, abs=1.0), name
        assert found['delay'] == pytest.approx(wanted.delay, rel=0.03), name
        assert found['disk'] == pytest.approx(wanted.disk, rel=0.03), name
    assert all(one.passed for one in result.judgements)
    assert any('elevator loop: gain margin' in line for window in result.windows
               for line in window.lines())
