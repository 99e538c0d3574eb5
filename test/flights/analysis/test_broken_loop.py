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

import math

import numpy as np
import pytest

pytest.importorskip('scipy', reason='a frequency response needs scipy')

from xplane_bridge.control.tuning.robustness import disk_margin, margins_of, robustness
from xplane_bridge.flights.analysis.broken_loop import broken_loop, disk_of_all
from xplane_bridge.flights.analysis.series import Series
from xplane_bridge.flights.scenario.excitation import Excitation

RATE = 60.0
SECONDS = 60.0
# Of two controls: plant x' = A x + B u, and the law u = -K x.
A = np.array([[-0.5, 1.0, 0.0], [-4.0, -1.5, 0.3], [0.2, 0.0, -2.0]])
B = np.array([[0.0, 0.0], [5.0, 0.4], [0.3, 6.0]])
K = np.array([[0.2, 0.8, 0.1], [0.1, -0.1, 0.6]])
CONTROLS = ('elevator', 'aileron')


def across():
    """Return what takes the plant over a step: the matrices of state and control."""
    from scipy.linalg import expm
    whole = np.zeros((5, 5))
    whole[:3, :3], whole[:3, 3:] = A, B
    found = expm(whole / RATE)
    return found[:3, :3], found[:3, 3:]


def flown(excitation, noise=0.0):
    """Return the commands of a flight in which the law flies, one step late, with an input."""
    a, b = across()
    random = np.random.default_rng(7)
    x, commands = np.zeros(3), []
    count = round((SECONDS + 5.0) * RATE)
    held = np.zeros(2)
    for n in range(count):
        u = held.copy()
        u[CONTROLS.index(excitation.axis)] += excitation.value(n / RATE)
        commands.append(u)
        held = -K @ (x + noise * random.standard_normal(3))
        x = a @ x + b @ u
    times = 100.0 + np.arange(count) / RATE
    return {name: Series(times, np.array(commands)[:, at]) for at, name in enumerate(CONTROLS)}


def exact(hertz):
    """Return the sensitivity of the loop, frequency x control x control."""
    a, b = across()
    z = np.exp(1j * math.tau * hertz / RATE)
    loop = np.array([K @ np.linalg.solve(one * np.eye(3) - a, b) / one for one in z])
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
        wanted = margins_of(math.tau * hertz, 1.0 / sensitivity[:, at, at] - 1.0)
        found = loop.margins
        assert found.gain == pytest.approx(wanted.gain, abs=0.5), axis
        assert found.phase == pytest.approx(wanted.phase, abs=3.0), axis
        assert found.delay == pytest.approx(wanted.delay, rel=0.06), axis
        assert found.disk == pytest.approx(wanted.disk, rel=0.05), axis
        assert loop.figures()['coherence'] > 0.6
        loops.append(loop)
    assert disk_of_all(loops) == pytest.approx(disk_margin(sensitivity), rel=0.05)
    assert math.isnan(disk_of_all(loops[:1]))


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
duration: 92.0
initial: {altitude: 1500.0, heading_deg: 90.0, airspeed: 51.444}
events:
  - {at: 0.5, engage: true}
  - at: 10.0
    chirp: {axis: elevator, amplitude: 0.03, f0: 0.1, f1: 9.0, closed_loop: true}
    for: 35.0
  - at: 52.0
    chirp: {axis: aileron, amplitude: 0.03, f0: 0.1, f1: 9.0, closed_loop: true}
    for: 35.0
criteria:
  - {figure: windows.chirp_elevator.loop.phase, at_least: 30.0}
  - {figure: windows.chirp_aileron.loop.gain, at_least: 3.0}
  - {figure: loops.disk, at_least: 0.3}
"""


def test_the_autopilots_margins_in_flight_are_those_of_its_linear_model(tmp_path):
    pytest.importorskip('jsbsim', reason='the simulated aircraft need jsbsim')
    from xplane_bridge.aircraft.studies.linearize import linearize
    from xplane_bridge.aircraft.studies.spare import in_steady_flight
    from xplane_bridge.flights.core import CoreFlight
    from xplane_bridge.flights.flight import Silent
    from xplane_bridge.flights.laws import autopilot_of
    from xplane_bridge.flights.order import Order
    from xplane_bridge.flights.scenario import scenario
    (tmp_path / 'loops.yaml').write_text(SCENARIO)
    with CoreFlight(Order(scenario.load(str(tmp_path / 'loops.yaml'))), Silent()) as flight:
        flight.fly()
        result = flight.result()
    spare, _ = in_steady_flight('c172p', 1500.0, 51.444)
    # Half a frame, for which a command is held, and a step of JSBSim.
    analytic = robustness(
        linearize(spare, 'differences'), autopilot_of('c172p').gains, 0.5 / 60.0 + 1.0 / 120.0)
    for name in ('elevator', 'aileron'):
        found = result.figures['windows'][f'chirp_{name}']['loop']
        wanted = analytic.loops[name]
        assert found['gain'] == pytest.approx(wanted.gain, abs=0.5), name
        assert found['phase'] == pytest.approx(wanted.phase, abs=3.0), name
        assert found['disk'] == pytest.approx(wanted.disk, rel=0.06), name
    assert all(one.passed for one in result.judgements)
    assert any('elevator loop: gain margin' in line for window in result.windows
               for line in window.lines())
