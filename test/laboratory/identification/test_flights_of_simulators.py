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

"""Tables that a simulator wrote: in which steps it flew is seen, and taken into account."""

from dataclasses import replace
import re

import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')

from xplane_bridge.commands import identify as command
from xplane_bridge.laboratory.identification.motion.integrated import integrated_step

RATE = 240
PROPERTIES = {
    'roll': ('attitude/phi-rad', 'rad', 1.0), 'pitch': ('attitude/theta-rad', 'rad', 1.0),
    'roll_rate': ('velocities/p-rad_sec', 'rad/s', 1.0),
    'pitch_rate': ('velocities/q-rad_sec', 'rad/s', 1.0),
    'yaw_rate': ('velocities/r-rad_sec', 'rad/s', 1.0),
    'true_airspeed': ('velocities/vt-fps', 'ft/s', 1.0),
    'angle_of_attack': ('aero/alpha-rad', 'rad', 1.0), 'sideslip': ('aero/beta-rad', 'rad', 1.0),
    'density': ('atmosphere/rho-slugs_ft3', 'slug/ft^3', 1.0),
    'elevator': ('fcs/elevator-cmd-norm', '', -1.0),
    'aileron': ('fcs/aileron-cmd-norm', '', 1.0), 'rudder': ('fcs/rudder-cmd-norm', '', -1.0)}
POUND_FORCE = 4.4482216152605


def euler(step, every, noise=0.0):
    """Return a flight whose attitude is integrated in steps, of which each so many are kept."""
    times = np.arange(0.0, 20.0, step)
    rate = 0.2 * np.sin(3.0 * times) * np.exp(-0.1 * times)
    roll = np.concatenate(((0.0,), np.cumsum(step * rate[:-1])))
    roll += noise * np.random.default_rng(1).standard_normal(len(times))
    exact = synthetic.longitudinal().measured
    zero = np.zeros(len(times))
    return replace(exact, times=times[::every], values={
        name: (roll if name == 'roll' else rate if name == 'roll_rate' else zero)[::every]
        for name in ('roll', 'pitch', 'roll_rate', 'pitch_rate', 'yaw_rate')})


@pytest.mark.parametrize(('rate', 'every'), [(240, 1), (960, 4), (480, 8), (120, 2)])
def test_the_steps_of_a_simulator_are_seen_by_its_attitude(rate, every):
    assert integrated_step(euler(1.0 / rate, every)) == pytest.approx(1.0 / rate, rel=1e-6)


def test_no_sensor_is_taken_for_a_simulator():
    assert integrated_step(euler(1.0 / 240.0, 4, noise=1e-5)) == 0.0
    # In the limit of many steps it is the motion itself.
    assert integrated_step(euler(1e-4, 200)) == 0.0
    assert integrated_step(synthetic.longitudinal().measured) == 0.0


def test_a_table_that_jsbsim_writes_gives_what_jsbsim_has(tmp_path, capsys):
    """Plain JSBSim with its own output, of 240 steps per second: nobody says so."""
    jsbsim = pytest.importorskip('jsbsim', reason='the simulated aircraft need jsbsim')
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    path, mass = fly_plain_jsbsim(jsbsim, tmp_path)
    rows = [f'{name}: {{column: /fdm/jsbsim/{column}, scale: {sign}'
            + (f", unit: '{unit}'" if unit else '') + '}'
            for name, (column, unit, sign) in PROPERTIES.items()]
    rows += [f'specific_force_{axis}: {{column: /fdm/jsbsim/forces/fb{axis}-total-lbs, '
             f'scale: {POUND_FORCE / mass}}}' for axis in 'xyz']
    (tmp_path / 'map.yaml').write_text('\n'.join(['time: {column: Time}', *rows]))
    # Other versions of JSBSim put a blank after each comma.
    path.write_text(path.read_text().replace(',', ', '))
    assert command.main([
        str(path), '--columns', str(tmp_path / 'map.yaml'), '--model', 'c172p',
        '--no-pictures']) == command.IDENTIFIED
    said = capsys.readouterr().out
    assert 'as in a simulator with 240 steps per second' in said
    away = {name: float(sigma) for name, sigma in re.findall(
        r'^  (C_[a-zA-Z]_\S+) .* ([-+]\d+\.\d) sigma$', said, re.MULTILINE)}
    assert {'C_l_p', 'C_l_beta', 'C_n_r'} <= away.keys()
    assert {name: one for name, one in away.items() if abs(one) > 2.0} == {}


def fly_plain_jsbsim(jsbsim, folder):
    """Return the table of an aileron and a rudder input that JSBSim wrote, and the mass (kg)."""
    path = folder / 'plain.csv'
    (folder / 'output.xml').write_text(
        f'<?xml version="1.0"?><output name="{path}" type="CSV" rate="{RATE}">'
        + ''.join(f'<property>{one}</property>' for one in (
            *(column for column, *_ in PROPERTIES.values()),
            *(f'forces/fb{axis}-total-lbs' for axis in 'xyz'))) + '</output>')
    plane = jsbsim.FGFDMExec(None)
    plane.set_debug_level(0)
    plane.load_model('c172p')
    plane.set_dt(1.0 / RATE)
    plane.set_output_directive(str(folder / 'output.xml'))
    plane['ic/h-sl-ft'], plane['ic/vc-kts'], plane['ic/psi-true-deg'] = 5000.0, 100.0, 90.0
    plane['propulsion/magneto_cmd'] = 3
    plane['fcs/mixture-cmd-norm'] = 0.87
    plane.disable_output()
    plane.run_ic()
    plane['propulsion/set-running'] = -1
    plane['simulation/do_simple_trim'] = 1
    aileron, rudder = plane['fcs/aileron-cmd-norm'], plane['fcs/rudder-cmd-norm']
    for step in range(35 * RATE):
        if step == 8 * RATE:
            plane.enable_output()
        at = step / RATE - 10.0
        pulse = 1.0 * (0.0 <= at < 1.5) - (1.5 <= at < 2.5) + (2.5 <= at < 3.0) - (3.0 <= at < 3.5)
        plane['fcs/aileron-cmd-norm'] = aileron + 0.03 * pulse
        plane['fcs/rudder-cmd-norm'] = rudder - 0.12 * (
            1.0 * (10.0 <= at < 11.0) - (11.0 <= at < 12.0))
        plane.run()
    return path, plane['inertia/mass-slugs'] * 14.593902937206365
