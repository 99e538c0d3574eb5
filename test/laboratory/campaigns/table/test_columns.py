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


"""A table read by column: controllers, labels, margins; what criteria and looks say."""

import argparse
import math

import numpy as np
import pytest

pytest.importorskip('pyarrow', reason='campaigns need pyarrow')

from pyarrow import parquet

from xplane_bridge.common.drawing import WIDTHS
from xplane_bridge.laboratory.campaigns.table import columns, look, rows, table
from xplane_bridge.laboratory.campaigns.table.columns import Columns
from xplane_bridge.laboratory.campaigns.table.criteria import (
    criterion_unit,
    CriterionLimits,
    with_unit,
)
from xplane_bridge.laboratory.campaigns.table.look import Look

RMS, LEAST = 'rms of altitude_error from 20 s at most 8', 'min of airspeed at least 40'
PATHS = ('/a/pid.onnx', '/b/pid.onnx', 'autopilot')


def row(flight, controller, outcome='passed', **more):
    """Return a row; judged are RMS and LEAST by their values, where there are any."""
    values = {name: more.pop(name) for name in ('rms', 'least') if name in more}
    return {
        'flight': flight, 'key': f'{flight}', 'scenario': 'steps', 'simulator': 'core',
        'controller': controller, 'aircraft': 'c172p', 'seed': flight,
        'parameter.wind.north': 0.5 * flight, 'outcome': outcome,
        'reason': '' if outcome == 'passed' else 'why', 'exit': 0, 'trajectory': 't',
        'version': '1', 'jsbsim': '1', 'seconds': 1.0, 'command': 'c', 'recording': '',
        **rows.judged([
            (criterion, values[name], values[name] <= 8.0 if name == 'rms'
             else values[name] >= 40.0)
            for name, criterion in (('rms', RMS), ('least', LEAST)) if name in values]), **more}


ROWS = (
    row(0, PATHS[0], rms=6.0, least=50.0), row(1, PATHS[1], 'missed', rms=10.0, least=44.0),
    row(2, PATHS[2], 'missed', rms=math.nan, least=44.0), row(3, PATHS[0], 'crashed', rms=1.0),
    row(4, PATHS[2]))


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the table of ROWS, in groups of two."""
    parquet.write_table(rows.arrow(ROWS), tmp_path / 'table.parquet', row_group_size=2)
    return tmp_path


def test_columns_are_numbers_codes_and_margins(folder):
    seen = Columns(folder)
    assert (seen.flights, seen.criteria, seen.parameters) == (5, (LEAST, RMS), ('wind.north',))
    assert seen.numbers('parameter.wind.north').tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert np.isnan(seen.numbers('figure.none')).tolist() == [True] * 5
    # Two have the same short name: all have their whole one.
    found = seen.labels('controller')
    assert (found.codes.tolist(), found.values) == ([0, 1, 2, 0, 2], list(PATHS))
    assert seen.has_passed().tolist() == [True, False, False, False, True]
    assert seen.not_flown().tolist() == [False, False, False, True, False]
    # Of 8 and of 40: the nearer limit; a criterion without a value; a crash; nothing judged.
    assert str(seen.margins().tolist()) == '[0.25, -0.25, -inf, -inf, nan]'
    assert (seen.is_number('seed'), seen.is_number('aircraft')) == (True, False)
    assert [one['flight'] for one in seen.rows([4, 0, 3])] == [4, 0, 3]


def test_only_some_controllers_are_seen(folder):
    seen = Columns(folder, only=['autopilot', PATHS[1]])
    assert seen.flights == 3
    assert seen.numbers('seed').tolist() == [1, 2, 4]
    assert [one['flight'] for one in seen.rows([2, 0])] == [4, 1]
    assert seen.controllers() == {path: path for path in PATHS}
    with pytest.raises(ValueError, match="no flight of controller 'none': expected one of /a/pid"):
        Columns(folder, only=['none'])


def test_labels_are_those_given_over_those_that_the_folder_keeps(folder):
    look.keep(folder, Look({PATHS[0]: 'A', PATHS[1]: 'B', 'gone': 'C'}, 3.5))
    seen = Columns(folder, {PATHS[1]: 'Beta', RMS: 'altitude'})
    assert seen.given_labels == {PATHS[0]: 'A', PATHS[1]: 'Beta', RMS: 'altitude'}
    assert seen.labels('controller').values == ['A', 'Beta', 'autopilot']
    assert seen.labels('controller', labelled=False).values == list(PATHS)
    assert (seen.called(RMS), seen.called(LEAST)) == ('altitude', LEAST)
    for name in ('Beta', PATHS[1]):
        assert seen.full_name(name) == PATHS[1]
    for labels, sentence in (
            ({PATHS[0]: 'autopilot'}, "two controllers are labelled 'autopilot'"),
            ({RMS: LEAST}, 'two criteria are labelled'),
            ({'none': 'x'}, "there is no controller 'none' to label: expected one of /a")):
        with pytest.raises(ValueError, match=sentence):
            Columns(folder, labels)


def test_controllers_have_short_names_where_these_tell_them_apart(tmp_path):
    parquet.write_table(rows.arrow([ROWS[0], ROWS[2]]), tmp_path / 'table.parquet')
    seen = Columns(tmp_path / 'table.parquet', only=['pid.onnx'])
    assert seen.folder == tmp_path
    assert seen.controllers() == {'pid.onnx': PATHS[0], 'autopilot': 'autopilot'}
    assert seen.full_name('pid.onnx') == PATHS[0]
    assert seen.labels('controller').values[seen.labels('controller').codes[0]] == 'pid.onnx'


def test_what_is_no_table_of_a_campaign_is_refused(folder, monkeypatch):
    (folder / 'other.parquet').write_bytes(b'none')
    parquet.write_table(rows.arrow(ROWS).drop_columns(['seed']), folder / 'less.parquet')
    table = Columns(folder)
    held = 5 * (len(table.criteria) + len(table.parameters) + 6)
    monkeypatch.setattr(columns, '_MOST_CELLS', held)
    assert Columns(folder).flights == 5
    monkeypatch.setattr(columns, '_MOST_CELLS', held - 1)
    for path, sentence in (
            ('other.parquet', 'other.parquet: it is not a Parquet file'),
            ('less.parquet', "is not the table of a campaign: it has no column 'seed'"),
            ('none', 'expected the folder of a flown campaign, with table.parquet'),
            ('', 'table.parquet: has 5 flights, with .* parameters: expected at most 4')):
        with pytest.raises(ValueError, match=sentence):
            Columns(folder / path)


@pytest.mark.parametrize(('criterion', 'least', 'most', 'better', 'unit'), [
    (RMS, math.nan, 8.0, -1, 'm'), (LEAST, 40.0, math.nan, 1, 'm/s'),
    ('uav2: overshoot within 12.5%', math.nan, 0.125, -1, ''),
    ('mean of (roll_deg - 2) in deg from 2 s at least -1e-3 at most 2', -1e-3, 2.0, 0, 'deg'),
    ('altitude +30: settles to within 3 of 30', math.nan, 3.0, -1, 's'),
    ('route.cross_track.max at most 20', math.nan, 20.0, -1, 'm'),
    ('tracking.airspeed.rms at most 2', math.nan, 2.0, -1, 'm/s'),
    ('runway.sink at most 2', math.nan, 2.0, -1, 'm/s'),
    ('bandwidth_hz at least 1', 1.0, math.nan, 1, 'Hz'), ('that it flies', math.nan, math.nan, 0,
                                                          '')])
def test_a_criterion_says_its_limits_and_unit(criterion, least, most, better, unit):
    limits = CriterionLimits.of(criterion)
    assert str((limits.at_least, limits.at_most)) == str((least, most))
    assert (limits.better, criterion_unit(criterion)) == (better, unit)
    assert len(limits.known) == (least == least) + (most == most)
    # Where a step settles the limit is one of time, and not in the text.
    assert with_unit(criterion) == (
        f'{criterion} {unit}' if unit and 'settles' not in criterion else criterion)


def test_a_margin_is_a_part_of_the_nearer_limit():
    values = np.array([5.0, 1.0, 3.0, math.nan])
    assert str(CriterionLimits(2.0, 4.0).margin(values).tolist()) == '[-0.25, -0.5, 0.25, nan]'
    assert CriterionLimits(0.0, math.nan).margin(values[:2]).tolist() == [5.0, 1.0]
    assert np.isnan(CriterionLimits(math.nan, math.nan).margin(values)).all()


def test_a_look_is_kept_and_a_bad_one_is_refused(tmp_path):
    assert look.kept(tmp_path) == Look({})
    look.keep(tmp_path, Look({}))
    assert not (tmp_path / look.FILE).exists()
    for kept in (Look({'a': 'Ä'}), *(Look({}, width) for width in WIDTHS)):
        look.keep(tmp_path, kept)
        assert look.kept(tmp_path) == kept
    for text, sentence in (
            ('{', 'cannot be read'), ('[]', 'expected labels and width'),
            ('{"labels": {}}', 'expected labels and width'),
            ('{"labels": {"a": ""}, "width": 0}', 'expected a label for each name'),
            ('{"labels": {}, "width": true}', 'width: expected'),
            ('{"labels": {}, "width": 1000}', 'width: expected')):
        (tmp_path / look.FILE).write_text(text)
        with pytest.raises(ValueError, match=f'look.json: {sentence}.*; delete it'):
            look.kept(tmp_path)
    assert look.label('a=b= C ') == ('a=b', 'C')
    for text in ('a', '=b', 'a= '):
        with pytest.raises(argparse.ArgumentTypeError, match='is not NAME=LABEL'):
            look.label(text)


def test_a_table_says_who_had_which_outcome_and_which_criteria_were_missed(tmp_path, monkeypatch):
    monkeypatch.setattr(table, '_WINDOW', 2)
    monkeypatch.setattr(table, '_SLICE', 1)
    for number, some in enumerate((ROWS[3:], ROWS[:3], ROWS[2:4])):
        parquet.write_table(rows.arrow(some), tmp_path / f'{number}.parquet')
    found = table.write([*sorted(tmp_path.glob('*.parquet'))], tmp_path / 'all')
    assert parquet.read_table(tmp_path / 'all')['flight'].to_pylist() == [0, 1, 2, 3, 4]
    assert (found.flights, found.flown) == (5, 5)
    assert found.by_controller == {
        PATHS[0]: {'passed': 1, 'crashed': 1}, PATHS[1]: {'missed': 1},
        PATHS[2]: {'missed': 1, 'passed': 1}}
    assert found.missed == {RMS: 2}
    assert found.reasons == {PATHS[0]: 'why'}


def test_figures_are_those_of_the_flight_and_not_of_the_machine():
    assert rows.flatten_figures({
        'duration': 60, 'load': {'cpu': 1.0}, 'tracking': {'steps': [{'rise': 2.0}, {'name': 'x'}],
                                                            'none': None},
        'controller': {'rate': 50.0, 'travel': 3}, 'vehicles': {'uav1': {
            'latency': {'p95': 1.0}, 'duration': 5.0}}}) == {
        'figure.duration': 60.0, 'figure.tracking.steps.0.rise': 2.0,
        'figure.controller.travel': 3.0, 'figure.vehicles.uav1.duration': 5.0}
    # Once missed is missed, in whatever part of a flight it was judged.
    assert rows.judged([('c', 1.0, False), ('c', 2.0, True)]) == {
        'value.c': 2.0, 'passed.c': False}
