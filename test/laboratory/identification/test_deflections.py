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

"""Aircraft whose surfaces are not where they are commanded to be: derivatives by deflections."""

from dataclasses import replace
import re

import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')

from xplane_bridge.laboratory.identification import identify as identify_module
from xplane_bridge.laboratory.identification.estimation.output_error import foretold
from xplane_bridge.laboratory.identification.identify import identify
from xplane_bridge.laboratory.identification.motion.equations import Derivative, HELD
from xplane_bridge.laboratory.identification.motion.signals import DEFLECTIONS, IdentificationError
from xplane_bridge.laboratory.identification.motion.surfaces import mean_before, with_surfaces
from xplane_bridge.laboratory.identification.report import as_mapping, lines

LATE = 8


def with_deflections(flight, **surfaces):
    """Return a flight with deflections, 0.4 rad at full command but for those given."""
    return replace(flight, values={**flight.values, **{
        deflection: surfaces.get(name, 0.4 * flight.values[name])
        for name, deflection in DEFLECTIONS.items()}})


def delayed(values):
    return np.concatenate((np.repeat(values[:1], LATE), values[:-LATE]))


def test_a_surface_that_follows_its_command_is_told_by_it():
    exact = synthetic.longitudinal().measured
    uneven = with_deflections(exact, elevator=np.where(
        exact.values['elevator'] > 0.0, 0.5, 0.3) * exact.values['elevator'])
    assert with_surfaces(uneven, [uneven]) is uneven


def test_a_surface_that_does_not_is_told_by_its_deflection():
    exact = synthetic.longitudinal().measured
    late = with_deflections(exact, elevator=0.4 * delayed(exact.values['elevator']))
    found = with_surfaces(late, [late])
    assert found.surfaces == {'elevator'}
    assert found.values['elevator'] is late.values['elevator_deflection']
    # It is told once.
    assert with_surfaces(found, [found]) is found


def test_deflections_that_stopped_spoil_nothing():
    exact = synthetic.longitudinal().measured
    gone = np.where(exact.times < 0.2, 0.0, np.nan)
    flight = with_deflections(exact, **dict.fromkeys(DEFLECTIONS, gone))
    assert identify([flight], synthetic.AIRFRAME).surfaces == frozenset()


def test_without_a_command_the_deflection_is_all_there_is():
    exact = synthetic.longitudinal().measured
    flight = with_deflections(exact)
    flight.values.pop('elevator')
    found = identify([flight], synthetic.AIRFRAME)
    fit = found.forms['longitudinal']
    commanded = identify([exact], synthetic.AIRFRAME).forms['longitudinal'].fit.derivatives
    for name, one in fit.fit.derivatives.items():
        assert one.value == pytest.approx(commanded[name].value / (
            0.4 if name.regressor == 'elevator' else 1.0), rel=1e-3), str(name)
    assert {str(name): fit.unit_of(name) for name in fit.fit.derivatives} == {
        'C_L_alpha': '1/rad', 'C_L_q': '', 'C_L_delta_e': '1/rad',
        'C_m_alpha': '1/rad', 'C_m_q': '', 'C_m_delta_e': '1/rad'}


def test_the_mean_between_two_samples_knows_jumps_from_ramps():
    jump = np.array([0.0, 0.0, 1.0, 0.9, 0.8])
    assert mean_before(jump) == pytest.approx([0.0, 0.0, 1.05, 0.95, 0.8])
    ramp = np.array([0.0, 1.0, 2.0, 3.0])
    assert mean_before(ramp)[1:-1] == pytest.approx([0.5, 1.5])


def test_a_part_of_what_a_surface_jumps_may_be_a_ramp():
    exact = synthetic.longitudinal()
    jump = np.where(exact.times < 2.0, 0.0, 1.0)
    held = f'elevator{HELD}'
    motion = replace(exact, flight=replace(exact.flight, values={
        **exact.flight.values, 'elevator': jump, held: jump}))
    at = int(np.argmax(jump))
    for part, mean in ((0.0, 1.0), (0.5, 0.75), (1.0, 0.5)):
        assert motion.without_jumps(part).held('elevator')[at - 1:at + 2] == pytest.approx(
            [0.0, mean, 1.0])


def identified_with_ailerons(lift):
    """Return what is identified if ailerons that are moved lift so much (C_L_delta_a)."""
    flight = synthetic.longitudinal(aileron_lifts=lift).measured
    return identify([replace(flight, surfaces=frozenset(DEFLECTIONS))], synthetic.AIRFRAME)


def test_surfaces_of_the_other_form_are_accounted_for_and_not_told():
    # Flaperons lift. Taken for what the elevator does, C_L_delta_e would be -0.45.
    found = identified_with_ailerons(-0.5)
    fit = found.forms['longitudinal'].fit
    for name, one in fit.derivatives.items():
        assert abs(one.value - synthetic.LONGITUDINAL[str(name)]) < max(
            2.0 * one.deviation, 0.07 * abs(one.value)), str(name)
    assert {str(name) for name in fit.beside} == {'C_L_delta_a', 'C_m_delta_a'}
    assert fit.beside[Derivative('C_L', 'aileron')].value == pytest.approx(-0.5, rel=0.07)
    told = lines(found)
    assert '  what aileron does to it besides is accounted for' in told
    assert '  by the deflection of elevator, in rad: not by the command' in told
    assert not any('delta_a' in line for line in told)
    assert as_mapping(found)['forms']['longitudinal']['accounted_for'] == ['aileron']
    # Foretold is what was flown, with what the ailerons did.
    (measured,), (estimated,) = foretold(fit, found.forms['longitudinal'].motions)
    assert np.std(measured - estimated) < 0.05 * np.std(measured)


def test_surfaces_of_the_other_form_that_do_nothing_are_in_no_model():
    found = identified_with_ailerons(1e-6)
    assert not found.forms['longitudinal'].fit.beside
    assert 'accounted_for' not in as_mapping(found)['forms']['longitudinal']


def test_a_wider_form_that_does_not_converge_refuses_nothing(monkeypatch):
    whole = identify_module.output_error

    def searched(form, *arguments, **options):
        if 'aileron' in form.controls and form.name == 'longitudinal':
            raise IdentificationError('the output error does not converge')
        return whole(form, *arguments, **options)

    monkeypatch.setattr(identify_module, 'output_error', searched)
    found = identified_with_ailerons(-0.5)
    assert not found.forms['longitudinal'].fit.beside


def test_commands_and_deflections_are_not_mixed():
    exact = synthetic.longitudinal().measured
    other = with_deflections(exact)
    other.values.pop('elevator')
    with pytest.raises(IdentificationError, match='elevator by commands in one, and by defl'):
        identify([exact, replace(other, source='other')], synthetic.AIRFRAME)


@pytest.fixture(scope='module')
def fighter():
    """Return a flight of JSBSim's f16, which flies by wire, and the simulator's step."""
    pytest.importorskip('jsbsim', reason='the simulated aircraft need jsbsim')
    import flown_in_core
    return flown_in_core.flown("""
duration: 62.0
initial: {altitude: 3000.0, heading_deg: 90.0, airspeed: 150.0, model: f16}
events:
  - {at: 0.2, engage: true}
  - {at: 5.0, 3211: {axis: elevator, amplitude: 0.1}, for: 3.5, free: 6.0}
  - {at: 15.0, engage: true}
  - {at: 24.0, 3211: {axis: aileron, amplitude: 0.05}, for: 3.5, free: 6.0}
  - {at: 34.0, engage: true}
  - {at: 46.0, doublet: {axis: rudder, amplitude: 0.2}, for: 2.0, free: 8.0}
criteria:
  - {quantity: airspeed, statistic: min, at_least: 90.0}
""", physics_rate=480)


def test_an_aircraft_that_flies_by_wire_is_told_without_its_control_system(fighter):
    from xplane_bridge.laboratory.identification.truth import flown_as, reached
    flight, step = fighter
    known = flown_as('f16', flight)
    found = identify([flight], known.airframe, step)
    assert found.surfaces == {'elevator', 'aileron', 'rudder'}
    truth = known.truth(reached(found), found.surfaces).slopes
    whole = known.truth().slopes
    told = {}
    for form in found.forms.values():
        for name, one in form.fit.derivatives.items():
            if form.is_identifiable(name):
                allowed = max(2.0 * one.deviation, 0.03 * abs(truth[name].value))
                told[str(name)] = abs(truth[name].away(one.value)) / allowed
                if str(name) == 'C_n_delta_r':
                    # A yaw damper is most of what the whole aircraft would do.
                    assert abs(whole[name].value / truth[name].value - 1.0) > 0.3
    assert {'C_L_alpha', 'C_m_q', 'C_Y_beta', 'C_l_p', 'C_l_delta_a', 'C_n_beta',
            'C_n_delta_r'} <= told.keys()
    assert {name: off for name, off in told.items() if off > 1.0} == {}


def test_its_linear_model_is_not_for_a_controller(fighter, tmp_path, capsys):
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    pytest.importorskip('control', reason='tune needs python-control')
    import pyarrow
    from pyarrow import parquet

    from xplane_bridge.commands import identify as command
    from xplane_bridge.commands import tune
    flight, _ = fighter
    path = tmp_path / 'by_wire.parquet'
    parquet.write_table(pyarrow.table({'time': flight.times, **flight.values}), path)
    assert command.main([
        str(path), '--model', 'f16', '--simulation-step', str(1.0 / 480.0), '--no-pictures',
        '--write-aircraft', str(tmp_path / 'mine')]) == command.NOT_IDENTIFIED
    said = capsys.readouterr()
    assert re.search(r'C_m_q +-\d', said.out)
    assert 'by the deflection of elevator, in rad: not by the command' in said.out
    assert 'no aircraft' in said.err
    assert tune.main(['--linear-model', str(tmp_path / 'by_wire_identified_linear.json')]) == 1
    assert 'is by the deflection of the elevator, in rad' in capsys.readouterr().err


def test_a_product_of_inertia_has_the_sign_of_the_motion_it_makes():
    pytest.importorskip('jsbsim', reason='the simulated aircraft need jsbsim')
    from xplane_bridge.laboratory.identification.motion.airframe import read_airframe
    from xplane_bridge.laboratory.identification.motion.equations import inverse_inertia
    from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight
    spare, _ = in_steady_flight('f16', 3000.0, 150.0)
    model = spare.model()
    model.set('fcs/aileron-cmd-norm', 0.1)
    model.equilibrate()
    frame = read_airframe(model)
    assert frame.i_xz > 1000.0
    moments = np.array([model.get(f'moments/{axis}-total-lbsft') for axis in 'ln']) * 1.3558179
    assert moments @ inverse_inertia(frame) == pytest.approx(
        [model.accelerations()[3], model.accelerations()[5]], rel=1e-3)


def test_the_aileron_of_the_f16_is_the_one_that_acts():
    pytest.importorskip('jsbsim', reason='the simulated aircraft need jsbsim')
    from xplane_bridge.simulation.aircraft.sample import AIRFRAME_STATE
    from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight
    place = AIRFRAME_STATE.index('aileron_deflection')
    for name, node in (('f16', 'fcs/aileron-pos-rad'), ('c172p', 'fcs/left-aileron-pos-rad')):
        spare, _ = in_steady_flight(name, 1500.0, 150.0 if name == 'f16' else 51.444)
        model = spare.model()
        model.set('fcs/aileron-cmd-norm', 0.2)
        model.equilibrate()
        assert model.get(node) > 0.01
        assert model.state.aileron_deflection == model.get(node)
        assert model.sampler.airframe()[place] == model.get(node)
