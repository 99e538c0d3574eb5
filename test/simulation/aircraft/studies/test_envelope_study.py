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

"""Studied envelopes: against finite differences of JSBSim itself, with holes, as files."""

from __future__ import annotations

from collections.abc import Sequence
import csv
import json
import math
from pathlib import Path
import random
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

import jsbsim

from xplane_bridge.laboratory.control.gains import load
from xplane_bridge.laboratory.control.tuning.tune import LoopRequirements
from xplane_bridge.laboratory.envelope import envelope_table
from xplane_bridge.laboratory.envelope.envelope import (
    NO_FLIGHT,
    PointJob,
    Row,
    studied,
    Study,
    TRIMMED,
)
from xplane_bridge.laboratory.envelope.envelope_table import EnvelopeTable

FOOT = 0.3048
Array = NDArray[np.float64]
SEED = 38
POINTS = 10
# u, v, w in m/s, roll, pitch in rad, p, q, r in rad/s, and the inputs.
STEPS = (0.1, 0.1, 0.1, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 2e-3, 2e-3, 2e-3, 2e-3)


def found(study: Study, number: int = 0, **point: float) -> Row:
    return studied(PointJob(study, number, point))


def accelerations(fdm: Any, values: Sequence[float]) -> Array:
    """Return the derivatives of u, v, w, p, q and r at a state and inputs, from JSBSim alone."""
    u, v, w, roll, pitch, *rates, elevator, aileron, rudder, throttle = values
    for name, value in (
            *((f'ic/{axis}-fps', speed / FOOT) for axis, speed in zip(
                'uvw', (u, v, w), strict=True)),
            ('ic/phi-rad', roll), ('ic/theta-rad', pitch),
            *((f'ic/{axis}-rad_sec', rate) for axis, rate in zip('pqr', rates, strict=True)),
            # JSBSim's elevator and rudder are the other way round.
            ('fcs/elevator-cmd-norm', -elevator), ('fcs/aileron-cmd-norm', aileron),
            ('fcs/rudder-cmd-norm', -rudder), ('fcs/throttle-cmd-norm', throttle),
            ('fcs/throttle-cmd-norm[1]', throttle)):
        fdm.set_property_value(name, value)
    fdm.run_ic()
    fdm.get_propulsion().get_steady_state()
    fdm.set_trim_status(True)
    fdm.suspend_integration()
    for _ in range(12):
        fdm.run()
    fdm.resume_integration()
    fdm.set_trim_status(False)
    return np.array([
        *(FOOT * fdm.get_property_value(f'accelerations/{axis}dot-ft_sec2') for axis in 'uvw'),
        *(fdm.get_property_value(f'accelerations/{axis}dot-rad_sec2') for axis in 'pqr')])


def slopes(row: Row) -> Array:
    """Return A and B of true airspeed, alpha, beta, p, q, r by what they and angles change."""
    fdm = jsbsim.FGFDMExec(jsbsim.get_default_root_dir())
    fdm.set_debug_level(0)
    fdm.load_model('T37')
    for name, value in (
            ('ic/lat-geod-deg', 47.5), ('ic/long-gc-deg', 8.5), ('ic/psi-true-deg', 90.0),
            ('ic/h-sl-ft', row['altitude_msl'] / FOOT), ('gear/gear-cmd-norm', 0.0),
            ('gear/gear-pos-norm', 0.0), ('fcs/flap-cmd-norm', row['flaps']),
            ('fcs/flap-pos-norm', row['flaps'])):
        fdm.set_property_value(name, value)
    fdm.run_ic()
    fdm.set_property_value('propulsion/set-running', -1)
    speed, alpha, beta = (
        row[f'trim.{name}'] for name in ('true_airspeed', 'angle_of_attack', 'sideslip'))
    u, v, w = (speed * math.cos(alpha) * math.cos(beta), speed * math.sin(beta),
               speed * math.sin(alpha) * math.cos(beta))
    at = np.array([u, v, w, row['trim.roll'], row['trim.pitch'], 0.0, 0.0, 0.0,
                   *(row[f'trim.{name}'] for name in (
                       'elevator', 'aileron', 'rudder', 'throttle'))])
    # The trim is one to JSBSim too.
    assert np.abs(accelerations(fdm, at)).max() < 0.02
    columns = []
    for n, step in enumerate(STEPS):
        change = np.zeros(len(STEPS))
        change[n] = step
        columns.append((accelerations(fdm, at + change) - accelerations(fdm, at - change))
                       / (2.0 * step))
    by_body = np.array(columns).T
    # Of speed, alpha and beta by u, v and w.
    flat = math.hypot(u, w)
    turn = np.array([
        [u / speed, v / speed, w / speed], [-w / flat ** 2, 0.0, u / flat ** 2],
        [-u * v / (speed ** 2 * flat), flat / speed ** 2, -v * w / (speed ** 2 * flat)]])
    by_body[:3] = turn @ by_body[:3]
    by_body[:, :3] = by_body[:, :3] @ np.linalg.inv(turn)
    return by_body


def test_models_at_points_nobody_chose_are_those_of_jsbsim() -> None:
    chosen = random.Random(SEED)
    study = Study('T37')
    rows = []
    while len(rows) < POINTS:
        row = found(study, airspeed=chosen.uniform(75.0, 140.0),
                    altitude_msl=chosen.uniform(600.0, 6000.0), flaps=chosen.uniform(0.0, 0.4))
        # Not every point of so large a box can be flown.
        if row['outcome'] == TRIMMED:
            rows.append(row)
    states = [0, 1, 2, 3, 4, 6, 7, 8]
    derivatives = [0, 1, 2, 6, 7, 8]
    for row in rows:
        ours = np.hstack([np.array(row['A'])[np.ix_(derivatives, states)],
                          np.array(row['B'])[derivatives]])
        theirs = slopes(row)
        # Each row against its largest slope.
        assert (np.abs(ours - theirs).max(axis=1) < 1e-4 * np.abs(theirs).max(axis=1)).all()


def test_a_point_that_cannot_be_trimmed_is_a_hole_with_its_reason() -> None:
    row = found(Study('T37'), 3, airspeed=20.0, altitude_msl=3000.0)
    assert row['outcome'] == NO_FLIGHT
    assert row['number'] == 3
    assert 'T37 cannot be trimmed at 20 m/s and 3000 m: accelerations left: ' in row['reason']
    assert 'A' not in row
    for point, sentence in (
            ({'airspeed': 110.0, 'altitude_msl': -9e3}, 'above the ground'),
            ({'airspeed': 110.0, 'altitude_msl': 3e3, 'flaps': 1.5}, 'flaps is 1.5, must be 0'),
            ({'airspeed': 110.0, 'altitude_msl': 3e3, 'mass': 100.0}, 'plant.mass')):
        row = found(Study('T37'), **point)
        assert row['outcome'] == NO_FLIGHT
        assert sentence in row['reason']


def test_a_heavier_aircraft_flies_at_a_greater_angle_and_is_slower_in_heave() -> None:
    light, heavy = (found(Study('T37'), airspeed=100.0, altitude_msl=3000.0, mass=mass)
                    for mass in (2700.0, 3000.0))
    assert light['trim.mass'] == pytest.approx(2700.0, abs=0.5)
    assert heavy['trim.angle_of_attack'] > light['trim.angle_of_attack'] + 0.004
    assert heavy['mode.phugoid.damping'] < light['mode.phugoid.damping']
    # Z_w is the slope of lift over the mass.
    assert heavy['A'][1][1] / light['A'][1][1] == pytest.approx(0.9, abs=0.02)


@pytest.fixture(scope='module')
def envelope() -> EnvelopeTable:
    axes = {'airspeed': (20.0, 90.0, 110.0), 'flaps': (0.0, 0.3)}
    study = Study('T37', gains=load('T37'), limits=LoopRequirements(delay=0.05))
    points = [{'airspeed': airspeed, 'flaps': flaps}
              for airspeed in axes['airspeed'] for flaps in axes['flaps']]
    return EnvelopeTable('T37', axes, [
        found(study, number, altitude_msl=3000.0, **point)
        for number, point in enumerate(points)])


def written(envelope: EnvelopeTable, path: Path) -> Path:
    envelope_table.writer(str(path))(envelope)
    return path


def test_json_and_csv_have_each_row_with_null_for_what_is_not_there(
        envelope: EnvelopeTable, tmp_path: Path) -> None:
    content = json.loads(written(envelope, tmp_path / 'e.json').read_text())
    assert content['axes'] == {'airspeed': [20.0, 90.0, 110.0], 'flaps': [0.0, 0.3]}
    assert [signal['name'] for signal in content['inputs']] == [
        'elevator', 'aileron', 'rudder', 'throttle']
    assert [row['outcome'] for row in content['points']] == [NO_FLIGHT] * 2 + [TRIMMED] * 4
    assert content['points'][4]['mode.roll.frequency'] is None
    with written(envelope, tmp_path / 'e.csv').open(newline='') as stream:
        rows = [*csv.DictReader(stream)]
    assert [row['reason'] == '' for row in rows] == [False] * 2 + [True] * 4
    assert json.loads(rows[4]['A']) == envelope.rows[4]['A'] == content['points'][4]['A']
    assert float(rows[4]['trim.throttle']) == envelope.rows[4]['trim.throttle']


def test_parquet_has_nulls_and_matrices(envelope: EnvelopeTable, tmp_path: Path) -> None:
    parquet = pytest.importorskip('pyarrow.parquet')
    table = parquet.read_table(written(envelope, tmp_path / 'e.parquet'))
    assert table['B'].to_pylist() == [row.get('B') for row in envelope.rows]
    assert math.isnan(table['mode.short_period.damping'].to_pylist()[0])
    assert table['number'].to_pylist() == [*range(6)]


def test_mat_and_json_are_read_into_python_control(
    envelope: EnvelopeTable, tmp_path: Path
) -> None:
    control = pytest.importorskip('control')
    scipy_io = pytest.importorskip('scipy.io')
    mat = scipy_io.loadmat(
        written(envelope, tmp_path / 'e.mat'), squeeze_me=True, simplify_cells=True)
    assert mat['A'].shape == (10, 10, 6)
    assert np.isnan(mat['A'][:, :, 0]).all()
    assert mat['reason'][0] == envelope.rows[0]['reason']
    assert mat['mode']['dutch_roll']['damping'][4] == envelope.rows[4]['mode.dutch_roll.damping']
    content = json.loads(written(envelope, tmp_path / 'e.json').read_text())
    names = {kind: [signal['name'] for signal in content[kind]]
             for kind in ('states', 'inputs', 'outputs')}
    plant = control.ss(*(content['points'][4][name] for name in 'ABCD'), **names)
    other = control.ss(*(mat[name][:, :, 4] for name in 'ABCD'))
    assert plant.A.tolist() == other.A.tolist()
    assert [*mat['outputs']] == plant.output_labels
    pitch = plant['pitch_rate', 'elevator'](1j)
    row = envelope.rows[4]
    by_hand = (np.array(row['C'])[7] @ np.linalg.solve(
        1j * np.eye(10) - np.array(row['A']), np.array(row['B'])[:, 0]) + row['D'][7][0])
    assert pitch == pytest.approx(by_hand)


def test_a_name_that_is_no_format_is_refused() -> None:
    with pytest.raises(ValueError, match='e.xls: expected a name that ends with one of .json, '):
        envelope_table.writer('e.xls')
