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

"""Flights from tables: columns, units, and what is wrong with them."""

import re

from limited import growing_by
import numpy as np
import pytest
import strange_tables
import synthetic

pytest.importorskip('scipy', reason='the synthetic aircraft need scipy')

from xplane_bridge.commands import identify
from xplane_bridge.laboratory.identification.motion.signals import IdentificationError, SIGNALS
from xplane_bridge.laboratory.identification.motion.surfaces import with_surfaces
from xplane_bridge.laboratory.identification.reading.tables import load_map, read_table

MAP = """
time: {column: t_ms, unit: ms}
roll: {column: phi}
pitch: {column: theta, unit: deg}
roll_rate: {column: p}
pitch_rate: {column: q}
yaw_rate: {column: r}
specific_force_x: {column: ax}
specific_force_y: {column: ay}
specific_force_z: {column: az_up, scale: -1.0}
true_airspeed: {column: v, unit: kt}
angle_of_attack: {column: alpha, unit: deg}
sideslip: {column: beta}
density: {value: 1.1}
elevator: {column: stick, unit: '%'}
aileron: {column: da}
rudder: {column: dr}
"""


def written(tmp_path, columns, ending):
    pyarrow = pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    table = pyarrow.table(columns)
    path = tmp_path / f'flight.{ending}'
    if ending == 'csv':
        from pyarrow import csv
        csv.write_csv(table, path)
    else:
        from pyarrow import parquet
        parquet.write_table(table, path)
    return path


def mapped(text, tmp_path):
    pytest.importorskip('pint', reason='pint is not installed')
    path = tmp_path / 'map.yaml'
    path.write_text(text)
    return load_map(str(path))


@pytest.mark.parametrize('ending', ['csv', 'parquet'])
def test_columns_in_other_units_become_signals(tmp_path, ending):
    exact = synthetic.longitudinal().measured
    v = exact.values
    path = written(tmp_path, {
        't_ms': 1e3 * exact.times + 5e6, 'phi': v['roll'], 'theta': np.degrees(v['pitch']),
        'p': v['roll_rate'], 'q': v['pitch_rate'], 'r': v['yaw_rate'],
        'ax': v['specific_force_x'], 'ay': v['specific_force_y'],
        'az_up': -v['specific_force_z'], 'v': v['true_airspeed'] / (1852.0 / 3600.0),
        'alpha': np.degrees(v['angle_of_attack']), 'beta': v['sideslip'],
        'stick': 100.0 * v['elevator'], 'da': v['aileron'], 'dr': v['rudder']}, ending)
    found = read_table(path, mapped(MAP, tmp_path))
    np.testing.assert_allclose(found.times, exact.times, atol=1e-6)
    for name, values in v.items():
        np.testing.assert_allclose(found.values[name], values, atol=1e-9, err_msg=name)


def test_columns_with_the_names_of_signals_need_no_map(tmp_path):
    exact = synthetic.longitudinal().measured
    values = {name: one for name, one in exact.values.items() if name != 'sideslip'}
    path = written(tmp_path, {'time': exact.times, **values}, 'parquet')
    found = read_table(path)
    np.testing.assert_array_equal(found.values['elevator'], exact.values['elevator'])
    assert not found.has('sideslip')


@pytest.mark.parametrize('has_map', [False, True])
def test_a_deflection_is_enough_without_its_command(tmp_path, has_map):
    exact = synthetic.longitudinal().measured
    values = dict(exact.values)
    for name in ('elevator', 'aileron', 'rudder'):
        values[f'{name}_deflection'] = 0.4 * values.pop(name)
    path = written(tmp_path, {'time': exact.times, **values}, 'csv')
    text = '\n'.join(f'{name}: {{column: {name}}}' for name in ('time', *values))
    entries = mapped(text, tmp_path) if has_map else None
    found = with_surfaces(read_table(path, entries))
    assert found.surfaces == {'elevator', 'aileron', 'rudder'}
    np.testing.assert_allclose(found.values['elevator'], 0.4 * exact.values['elevator'])
    del values['rudder_deflection']
    path = written(tmp_path, {'time': exact.times, **values}, 'csv')
    with pytest.raises(IdentificationError, match='rudder or rudder_deflection|for rudder_def'):
        read_table(path, entries)


def test_lines_of_units_are_left_out(tmp_path):
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    exact = synthetic.longitudinal().measured
    path = written(tmp_path, {'time': exact.times, **exact.values}, 'csv')
    head, _, rest = path.read_text().partition('\n')
    path.write_text(f'{head}\n# s,rad\n{rest}')
    assert len(read_table(path).times) == len(exact.times)


@pytest.mark.parametrize(('text', 'said'), [
    (MAP.replace('unit: kt', 'unit: kg'), 'true_airspeed.unit: kg does not become m/s'),
    (MAP.replace('unit: kt', 'unit: 1/0'), "map.yaml: true_airspeed.unit: '1/0' is not a unit, "
     'expected one that becomes m/s, such as kt'),
    (MAP.replace("unit: '%'", 'unit: deg'), 'elevator.unit: deg does not become a part of 1: '
     'the deflection of a surface is elevator_deflection'),
    (MAP.replace('{value: 1.1}', '{value: 59, unit: degF}'), 'degF does not become kg/m'),
    (MAP.replace('{value: 1.1}', '{}'), 'density: expected column, or value'),
    (MAP.replace('density', 'densitty'), 'unknown name .densitty'),
    (MAP.replace('time: {column: t_ms, unit: ms}', ''), 'time is missing'),
], ids=['dimension', 'no unit', 'deflection', 'offset', 'nothing', 'name', 'time'])
def test_a_map_with_a_mistake_is_refused(tmp_path, text, said):
    with pytest.raises(ValueError, match=said):
        mapped(text, tmp_path)


def test_a_column_that_is_not_there_is_named(tmp_path):
    path = written(tmp_path, {'time': [0.0], 'rol': [0.0]}, 'csv')
    with pytest.raises(IdentificationError, match="no column 'roll' for roll"):
        read_table(path)


def test_texts_are_no_numbers(tmp_path):
    exact = synthetic.longitudinal().measured
    columns = {'time': exact.times, **exact.values}
    columns['rudder'] = ['left'] * len(exact.times)
    path = written(tmp_path, columns, 'csv')
    with pytest.raises(IdentificationError, match="column 'rudder': row 1: .*left"):
        read_table(path)


@pytest.mark.parametrize('content', [b'', b'\x00\xff' * 50, b'PAR1'], ids=repr)
@pytest.mark.parametrize('ending', ['csv', 'parquet'])
def test_what_is_no_table_is_refused(tmp_path, content, ending):
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    path = tmp_path / f'flight.{ending}'
    path.write_bytes(content)
    with pytest.raises(IdentificationError, match=f'flight.{ending}'):
        read_table(path)


def test_tables_that_unpack_to_gigabytes_are_told(tmp_path, capsys):
    """Of 60 kB a text took 2 GB and a minute before its type was looked at."""
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    columns = dict.fromkeys(('time', *SIGNALS), 1.0)
    for what, (data, _) in strange_tables.crafted(columns, 'rudder').items():
        path = tmp_path / 'flight.parquet'
        path.write_bytes(data)
        with growing_by(500_000_000):
            assert identify.main([str(path), '--model', 'c172p']) == 2, what
        said = capsys.readouterr().err
        assert said.startswith(f'identify: {path} is not read as a table: '), (what, said)
        assert len(said.splitlines()) == 1

@pytest.fixture(scope='module')
def two_files(tmp_path_factory):
    """Return a folder with a flight in two files: other columns, units and rates."""
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    pytest.importorskip('pint', reason='pint is not installed')
    folder = tmp_path_factory.mktemp('two')
    noise = {'angle_of_attack': 8e-4, 'pitch_rate': 8e-4, 'specific_force_z': 0.02, 'pitch': 5e-4}
    for name, every, unit, column in (('first', 1, 'rad', '{}'), ('second', 2, 'deg', 'col_{}')):
        flight = synthetic.noisy(
            synthetic.longitudinal(), noise, np.random.default_rng(len(name))).measured
        values = {one: values[::every] for one, values in flight.values.items()}
        for control in ('elevator', 'aileron', 'rudder'):
            values[f'{control}_deflection'] = 0.4 * values.pop(control)
        units = {one: SIGNALS[one].unit.replace('rad', unit) for one in values
                 if SIGNALS[one].unit.startswith('rad')}
        columns = {'time': flight.times[::every], **{
            one: np.degrees(each) if unit == 'deg' and one in units else each
            for one, each in values.items()}}
        written(folder, {column.format(one): each for one, each in columns.items()}, 'csv').rename(
            folder / f'{name}.csv')
        (folder / f'{name}.yaml').write_text(''.join(
            f'{one}: {{column: {column.format(one)}'
            + (f', unit: {units[one]}' if one in units else '') + '}\n' for one in columns))
    frame = synthetic.AIRFRAME
    (folder / 'frame.yaml').write_text(''.join(
        f'{name}: {getattr(frame, name)}\n' for name in frame.__slots__))
    return folder


def identified(folder, *arguments):
    return identify.main([
        *(str(folder / one) if '.' in one else one for one in arguments), '--airframe',
        str(folder / 'frame.yaml'), '--no-pictures', '--force'])


def test_files_of_other_units_and_rates_are_one_set_of_manoeuvres(two_files, capsys):
    assert identified(two_files, 'first.csv', 'second.csv', '--columns', 'first.yaml',
                      '--columns', 'second.yaml') == identify.IDENTIFIED
    told = capsys.readouterr().out
    assert re.search(
        'longitudinal, from inputs at .* s of first.csv, inputs at .* s of second.csv', told)
    for name, known in (('C_m_q', -15.0), ('C_m_delta_e', 1.5)):
        value, two_sigma = re.search(rf'{name} +([-\d.]+) +(\S+)', told).groups()
        assert abs(float(value) - known) < 1.5 * float(two_sigma)


@pytest.mark.parametrize(('arguments', 'said'), [
    (('first.csv', 'first.csv', '--columns', 'first.yaml'), r'first.csv is given twice'),
    (('first.csv', '--validate', 'first.csv', '--columns', 'first.yaml'), 'first.csv is given tw'),
    (('first.csv', 'second.csv', 'third.csv', '--columns', 'first.yaml', '--columns',
      'second.yaml'), '--columns is given 2 times, expected once, or once for each of 3 recordi'),
    (('first.csv', 'second.csv', '--columns', 'second.yaml', '--columns', 'first.yaml'),
     "first.csv: there is no column 'col_time' for time"),
    (('first.csv', 'cut.csv', '--columns', 'first.yaml'),
     'cut.csv is not read as a table: CSV parse error: row'),
    (('first.csv', 'nothing.csv', '--columns', 'first.yaml'), 'nothing.csv')],
    ids=['twice', 'foretells itself', 'maps', 'order', 'cut', 'nothing'])
def test_what_is_wrong_about_one_file_names_it(two_files, arguments, said, capsys):
    first = (two_files / 'first.csv').read_bytes()
    (two_files / 'cut.csv').write_bytes(first[:-40])
    assert identified(two_files, *arguments) == identify.NOT_IDENTIFIED
    assert re.search(said, capsys.readouterr().err)


def test_a_report_is_a_pdf_with_tables_and_matrices(two_files, capsys):
    pytest.importorskip('matplotlib', reason='matplotlib is not installed')
    prefix = two_files / 'paper'
    arguments = ['first.csv', '--columns', 'first.yaml', '--report', '--output', str(prefix),
                 '--width', '3.5', '--airframe', str(two_files / 'frame.yaml')]
    arguments = [str(two_files / one) if one.startswith('first') else one for one in arguments]
    assert identify.main([*arguments, '--no-pictures']) == identify.NOT_IDENTIFIED
    assert '--report has pictures: expected no --no-pictures' in capsys.readouterr().err
    assert identify.main(arguments) == identify.IDENTIFIED
    assert capsys.readouterr().out.endswith(
        f'{prefix}_report.pdf, {prefix}_*.tex and 4 pictures\n')
    assert {one.name.removeprefix('paper_') for one in two_files.glob('paper_*')} == {
        'linear.json', 'report.pdf', 'derivatives.tex', 'modes.tex', 'covariance_longitudinal.tex',
        'correlation_longitudinal.tex', 'sensors_1.png', 'longitudinal_1.png',
        'longitudinal_correlation.png', 'longitudinal_spectrum.png'}
    made = (two_files / 'paper_report.pdf').read_bytes()
    assert made.startswith(b'%PDF-')
    # The text, and the pictures.
    assert made.count(b'/Type /Page ') == 5
    assert identify.main(arguments) == identify.NOT_IDENTIFIED
    assert 'paper_report.pdf' in capsys.readouterr().err
