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

"""A plant flies as the model does that was changed by hand, or by JSBSim's own properties."""

from pathlib import Path
import re
import shutil

import pytest

jsbsim = pytest.importorskip('jsbsim', reason='the simulators need jsbsim')

from xplane_bridge.simulation.aircraft.aircraft import Aircraft  # noqa: E402
from xplane_bridge.simulation.aircraft.initial import Initial  # noqa: E402
from xplane_bridge.simulation.aircraft.loading.load import import_jsbsim  # noqa: E402
from xplane_bridge.simulation.aircraft.model import Model  # noqa: E402
from xplane_bridge.simulation.aircraft.model_pool import ModelSpec  # noqa: E402
from xplane_bridge.simulation.aircraft.plant import AS_IN_ITS_FILE, Plant  # noqa: E402
from xplane_bridge.simulation.aircraft.state import POUND  # noqa: E402

DT = 1.0 / 120.0
INCH = 0.0254
ROOT = Path(import_jsbsim().get_default_root_dir())
SEEN = ('u-fps', 'v-fps', 'w-fps', 'p-rad_sec', 'q-rad_sec', 'r-rad_sec')


def flown(fdm):
    """Return the motion of 8 s with a stick that moves, from 100 kt at 1500 m."""
    for name, value in {
            'ic/lat-geod-deg': 47.0, 'ic/long-gc-deg': 8.0, 'ic/h-sl-ft': 5000.0,
            'ic/psi-true-deg': 90.0, 'ic/vc-kts': 100.0, 'fcs/mixture-cmd-norm': 1.0,
            'fcs/throttle-cmd-norm': 0.7}.items():
        fdm[name] = value
    fdm.run_ic()
    fdm['propulsion/set-running'] = -1
    found = []
    for step in range(960):
        fdm['fcs/elevator-cmd-norm'] = -0.1 if 120 < step < 240 else 0.05
        fdm['fcs/aileron-cmd-norm'] = 0.1 if 300 < step < 400 else -0.02
        fdm.run()
        if not step % 60:
            found.append([fdm[f'velocities/{name}'] for name in SEEN]
                         + [fdm['position/h-sl-ft'], fdm['position/lat-geod-deg']])
    return found


def executive():
    fdm = jsbsim.FGFDMExec(None)
    fdm.set_debug_level(0)
    fdm.load_model('c172p')
    return fdm


def test_a_plant_with_more_mass_flies_as_jsbsim_with_that_mass():
    usual = executive()
    usual.run_ic()
    weight = usual['inertia/weight-lbs']
    # The seat of the second pilot is empty: there at the centre of gravity is 20 % more.
    direct = executive()
    for axis in 'xyz':
        direct[f'inertia/pointmass-location-{axis.upper()}-inches[1]'] = (
            usual[f'inertia/cg-{axis}-in'])
    direct['inertia/pointmass-weight-lbs[1]'] = 0.2 * weight
    direct.run_ic()
    wanted = flown(direct)
    plant = Plant(mass=1.2 * weight * POUND)
    found = flown(Model('c172p', DT, 0, plant=plant)._fdm)
    assert found == [pytest.approx(row, rel=1e-9, abs=1e-9) for row in wanted]
    plain = flown(Model('c172p', DT, 0)._fdm)
    assert abs(plain[-1][6] - wanted[-1][6]) > 10.0


def changed_by_hand(folder, *changes):
    """Return the folder of a c172p whose file has these texts instead of others."""
    shutil.copytree(ROOT / 'aircraft' / 'c172p', folder / 'c172p')
    shutil.copytree(ROOT / 'engine', folder / 'engine')
    file = folder / 'c172p' / 'c172p.xml'
    text = file.read_text()
    for pattern, new in changes:
        text, count = re.subn(pattern, new, text, count=1, flags=re.DOTALL)
        assert count == 1, pattern
    file.write_text(text)
    return str(folder)


@pytest.mark.parametrize(('plant', 'changes'), [
    # The whole is 1880.0 lb, the empty one 1500: the empty one's centre moves further.
    (Plant(cg=0.1), [(
        r'(name="CG" unit="IN">\s*<x>) 41 ', rf'\g<1> {41.0 - 0.1 / INCH * 1880.0 / 1500.0!r} ')]),
    (Plant(ixx=1.3, iyy=0.8, izz=1.1), [
        (r'> 948 </ixx>', f'> {948 * 1.3!r} </ixx>'), (r'> 1346 <', f'> {1346 * 0.8!r} <'),
        (r'> 1967 <', f'> {1967 * 1.1!r} <')]),
    (Plant(aero=(('Cmalpha', 0.7), ('aero/coefficient/Clp', 1.4))), [
        (r'(coefficient/Cmalpha">.*?<value>)([^<]*)<', r'\g<1>-1.26<'),
        (r'(coefficient/Clp">.*?<product>)', r'\g<1><value>1.4</value>')]),
], ids=['cg', 'inertia', 'derivatives'])
def test_a_plant_flies_as_a_model_that_was_changed_by_hand(tmp_path, plant, changes):
    other = changed_by_hand(tmp_path, *changes)
    rows = {}
    for name, given, path in (
            ('plant', plant, ''), ('hand', AS_IN_ITS_FILE, other), ('as it is', Plant(), '')):
        aircraft = Aircraft('c172p', Initial(airspeed_kt=100.0, plant=given), aircraft_path=path)
        rows[name] = []
        for elevator in (0.0, 0.2, -0.1, 0.0):
            aircraft.set_controls(elevator=elevator, aileron=elevator / 2.0)
            aircraft.step(120)
            now = aircraft.state
            rows[name].append((now.altitude_msl, now.cas, now.theta, now.phi, now.p, now.q, now.r))
    assert rows['plant'] == [pytest.approx(row, rel=1e-9, abs=1e-9) for row in rows['hand']]
    assert rows['plant'][-1] != pytest.approx(rows['as it is'][-1], rel=1e-4)


def test_an_axis_is_all_of_its_functions():
    lift = ('CLwbh', 'CLDf', 'CLDe', 'CLadot', 'CLq')
    by_axis, one_by_one, usual = (
        flown(Model('c172p', DT, 0, plant=Plant(aero=aero))._fdm) for aero in (
            (('LIFT', 1.5),), tuple((name, 1.5) for name in lift), ()))
    assert by_axis == one_by_one
    assert by_axis != usual


def test_actuators_are_limited_in_rate_and_late():
    """By hand: the command of 7 frames ago, towards which it goes by 1/60 in a frame."""
    rate, late = 2.0, 6
    model = ModelSpec('c172p', DT, plant=Plant(
        actuator_rate=rate, actuator_delay=5 * DT, command_delay=DT)).load(0)
    model.reach_commands()
    commands = [0.0] * 10 + [0.3] * 30 + [-0.1] * 40 + [0.0, 0.02] * 10
    moved, found = [0.0], []
    for command in commands:
        model.set('fcs/elevator-cmd-norm', command)
        model.settle(1)
        found.append(model.get('fcs/plant-elevator-cmd-norm'))
        step = min(max(command - moved[-1], -rate * DT), rate * DT)
        moved.append(moved[-1] + step)
    wanted = [0.0] * late + moved[1:len(commands) - late + 1]
    assert found == pytest.approx(wanted, abs=1e-12)
    assert max(found) == pytest.approx(0.3)


def test_a_throttle_is_late_by_the_delay_of_commands_only():
    model = ModelSpec('c172p', DT, plant=Plant(actuator_delay=0.5, command_delay=0.1)).load(0)
    model.reach_commands()
    model.set('fcs/throttle-cmd-norm[0]', 0.8)
    found = []
    for _ in range(14):
        model.settle(1)
        found.append(model.get('fcs/throttle-pos-norm[0]'))
    assert found == [0.0] * 12 + [0.8] * 2


@pytest.mark.parametrize('rate', [100, 240])
def test_the_rate_of_an_actuator_is_per_second_at_any_step(rate):
    model = ModelSpec('c172p', 1.0 / rate, plant=Plant(actuator_rate=0.5)).load(0)
    model.set('fcs/elevator-cmd-norm', 1.0)
    model.settle(rate)
    assert model.get('fcs/plant-elevator-cmd-norm') == pytest.approx(0.5, abs=1.0 / rate)


@pytest.mark.parametrize('name', ['f16', 'A320'])
def test_a_flight_control_system_in_other_files_is_flown_late_too(name):
    """Trimmed as without delays; what it is commanded, it feels when they are over."""
    plain, late = (
        Aircraft(name, Initial(plant=plant)) for plant in (Plant(), Plant(actuator_delay=0.5)))
    for aircraft in (plain, late):
        aircraft.set_controls(elevator=0.3)
        aircraft.step(59)
    assert abs(late.state.q) < 0.1 * abs(plain.state.q)
    late.step(59)
    assert late.state.q == pytest.approx(plain.state.q, rel=0.2)


@pytest.mark.parametrize(('plant', 'said'), [
    (Plant(mass=500.0), 'plant.mass: expected at least the empty mass, 680.4 kg, and at'),
    (Plant(cg=1.6), 'plant.cg: expected at most its mean chord, 1.49 m, forward or aft, got 1.6'),
    (Plant(ixz=2.0), 'plant.ixz: it is 0 in the file of c172p'),
    (Plant(aero=(('CmAlpha', 1.1),)), 'no such function or axis; did you mean Cmalpha'),
    (Plant(aero=(('zz', 1.1),)), 'plant.aero.zz: c172p has no such function or axis; it has DRAG'),
], ids=lambda value: str(value)[:20])
def test_what_a_model_has_not_is_refused_before_the_flight(plant, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        Aircraft('c172p', Initial(plant=plant))


@pytest.mark.parametrize(('given', 'said'), [
    ({'masss': 1000.0}, "there is no 'masss'; did you mean mass?"),
    ({'mass': float('nan')}, 'mass: expected a finite number, got nan'),
    ({'ixx': 0.0}, 'ixx: expected 0.05 to 20, got 0'),
    ({'actuator_delay': -0.1}, 'actuator_delay: expected 0 to 5 s, got -0.1'),
    ({'aero.': 1.0}, "there is no 'aero.'"),
    ({7: 1.0}, 'there is no 7'),
    ([1.0], 'expected names with numbers'),
    ({f'aero.C{n}': 1.0 for n in range(201)}, 'expected at most 200 names, got 201'),
])
def test_what_is_no_plant_is_refused(given, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        Plant.of(given)


def test_a_plant_is_what_its_values_say():
    given = {'mass': 900.0, 'cg': -0.1, 'aero.Cmq': 0.9, 'gains.roll_to_roll_rate': 1.2,
             'sensor_delay': 0.1}
    plant = Plant.of(given)
    assert plant.values() == given
    assert Plant.of(plant.values()) == plant
    assert plant.of_model().values() == {'mass': 900.0, 'cg': -0.1, 'aero.Cmq': 0.9}
    assert Plant.of({'mass': 900, 'ixx': 1}) == Plant(mass=900.0)
