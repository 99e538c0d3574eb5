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

"""The linear model of identified derivatives, and its modes with their bounds."""

from dataclasses import replace

import numpy as np
import pytest
import synthetic

pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')

from xplane_bridge.laboratory.identification import disturbances
from xplane_bridge.laboratory.identification.estimation.equation_error import equation_error
from xplane_bridge.laboratory.identification.estimation.output_error import Estimate, output_error
from xplane_bridge.laboratory.identification.identify import Identified
from xplane_bridge.laboratory.identification.motion.equations import (
    Derivative,
    LATERAL,
    LONGITUDINAL,
    SPEED,
)
from xplane_bridge.simulation.aircraft.studies.modes import compute_modes

NOISE = {'angle_of_attack': 8e-4, 'sideslip': 8e-4, 'pitch_rate': 8e-4, 'roll_rate': 8e-4,
         'yaw_rate': 8e-4, 'specific_force_z': 0.02, 'specific_force_y': 0.02}

SIDE = {'sideslip', 'roll', 'heading', 'roll_rate', 'yaw_rate', 'course', 'specific_force_y',
        'aileron', 'rudder'}
FAST = {'short_period', 'dutch_roll', 'roll'}


def identified(form, motions):
    start = equation_error(form, motions)
    return Identified(motions, start, output_error(form, motions, start))


@pytest.mark.parametrize(('form', 'exact'), [
    (LONGITUDINAL, synthetic.longitudinal), (LATERAL, synthetic.lateral)],
    ids=['longitudinal', 'lateral'])
def test_bounds_of_modes_are_what_those_of_the_derivatives_make_of_them(form, exact):
    found = identified(form, [
        synthetic.noisy(exact(), NOISE, np.random.default_rng(3))])
    fit, at = found.fit, disturbances.flown({form.name: found})
    random = np.random.default_rng(1)
    values = random.multivariate_normal(
        [one.value for one in fit.derivatives.values()], fit.covariance, size=500)
    drawn = [compute_modes(disturbances.linear_model(
        dict(zip(fit.derivatives, row, strict=True)), at, [form.name])) for row in values]
    modes = disturbances.estimated_modes({form.name: found})
    assert set(modes.levels) == set(modes.figures) - {'spiral'}
    for name, figures in modes.figures.items():
        for figure, (estimate, _, unseen) in figures.items():
            spread = [getattr(one[name], figure) for one in drawn]
            assert estimate.value == pytest.approx(np.mean(spread), rel=0.05, abs=0.01), name
            # What such a model leaves out is in it as well.
            part = 0.03 if figure == 'damping' else 0.005
            assert estimate.deviation == pytest.approx(
                np.hypot(np.std(spread), part * estimate.value), rel=0.2), (name, figure)
            # A spiral of minutes in fourteen seconds.
            assert bool(unseen) == (name == 'spiral')


def test_what_was_not_identified_is_in_no_model_and_no_table_of_modes():
    found = identified(LATERAL, [synthetic.lateral()])
    # Of airspeed and throttle C_L and C_m are known, but not how it pitches.
    by_throttle = replace(found, fit=replace(found.fit, form=SPEED, derivatives={
        Derivative(coefficient, 'true_airspeed'): Estimate(0.1, 0.01)
        for coefficient in SPEED.coefficients}, covariance=1e-4 * np.eye(3)))
    forms = {'lateral': found, 'speed': by_throttle}
    model = disturbances.linear_model(
        disturbances.collect_slopes(forms), disturbances.flown(forms), forms)
    assert [one.name for one in model.states] == [
        'sideslip', 'roll', 'heading', 'roll_rate', 'yaw_rate']
    assert disturbances.estimated_modes(forms).figures.keys() == {'dutch_roll', 'roll', 'spiral'}


@pytest.mark.parametrize('model', ['c172p', 'T37'])
def test_of_jsbsims_own_derivatives_it_is_jsbsims_own_linear_model(model):
    pytest.importorskip('jsbsim', reason='the simulated aircraft need jsbsim')
    from xplane_bridge.laboratory.identification.truth import ReferenceAircraft
    from xplane_bridge.simulation.aircraft.studies.linearize import linearize
    from xplane_bridge.simulation.aircraft.studies.steady_flight import in_steady_flight
    speed, density = (55.0, 1.1) if model == 'c172p' else (150.0, 0.9)
    known = ReferenceAircraft(model, speed, density)
    spare, _ = in_steady_flight(
        model, *disturbances.altitude_and_airspeed(speed, density))
    whole = linearize(spare, 'differences')
    state = spare.state
    mine = disturbances.linear_model(
        {one: slope.value for one, slope in known.truth().slopes.items()},
        disturbances.FlightCondition(
            known.airframe, state.tas, state.density, state.alpha,
            {'throttle': state.engines[0].throttle}), ('longitudinal', 'lateral', 'speed'))
    assert state.density == pytest.approx(density, rel=0.01)
    assert (mine.airspeed, mine.altitude_msl) == pytest.approx(
        (whole.airspeed, whole.altitude_msl), rel=0.01)
    assert mine.inputs[3].value == whole.inputs[3].value
    for matrix, rows, columns in (
        ('a', 'states', 'states'), ('b', 'states', 'inputs'),
        ('c', 'outputs', 'states'), ('d', 'outputs', 'inputs'),
    ):
        for i, row in enumerate(getattr(mine, rows)):
            # A drag that grows with sideslip both ways, as the T37 has, is not linear; the
            # elevator's own drag is not in the model.
            at = whole.index(rows, row.name)
            alike = [(j, whole.index(columns, signal.name)) for j, signal in enumerate(
                getattr(mine, columns)) if (signal.name in SIDE) == (row.name in SIDE)
                and (row.name, signal.name) != ('true_airspeed', 'elevator')]
            values = np.array([getattr(whole, matrix)[at, j] for _, j in alike])
            assert getattr(mine, matrix)[i][[j for j, _ in alike]] == pytest.approx(
                values, rel=0.03, abs=0.03 * np.abs(values).max() + 1e-3), (matrix, row.name)
    # Then its fast modes are JSBSim's as well.
    figures, exact = (disturbances.collect_figures(compute_modes(one)) for one in (mine, whole))
    assert figures == pytest.approx(
        {name: value if name[0] in FAST else figures[name] for name, value in exact.items()},
        rel=1e-3)
