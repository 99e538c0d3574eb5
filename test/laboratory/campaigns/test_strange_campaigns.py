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

"""Plans and campaign folders of strangers: bounded, and nothing of them is run by looking."""

import json
import os
from pathlib import Path

from limited import growing_by, limited
import pytest

from xplane_bridge.commands import campaign as main
from xplane_bridge.laboratory.campaigns.plan import plan
from xplane_bridge.laboratory.campaigns.table.rows import synthetic

pytest.importorskip('jsbsim', reason='jsbsim is not installed')

LOAD = """import sys
from xplane_bridge.laboratory.campaigns.plan.plan import load, PlanError
try:
    print(len(load(sys.argv[1])))
except PlanError as error:
    print(error)
"""
LAW = """from pathlib import Path
Path(f'{__file__}_run').touch()


def law(observation):
    return 0.0, 0.0, 0.0, 0.7
"""


def loaded(path, seconds=20):
    code, out, err = limited(LOAD, path, seconds=seconds)
    assert (code, err) == (0, '')
    return out


@pytest.mark.parametrize(('text', 'sentence'), [
    ('parameters: {wind.north: &X, wind.east: &X, wind.up: &X}', 'it has '),
    ('parameters: {' + ', '.join(f'initial.a{n}: &Y' for n in range(900)) + '}', 'it has '),
    ('seeds: {count: 10000000}\\nparameters: {wind.north: {from: 0, to: 1}, '
     + ', '.join(f'initial.a{n}: {{from: 0, to: 1}}' for n in range(100))
     + '}\\nsampling: {method: random}', 'sampling: 1010000000 numbers are drawn'),
    ('seeds: [' + ','.join(map(str, range(12_000))) + ']', 'seeds: expected at most 5000'),
], ids=range(4))
def test_lengths_are_multiplied_before_anything_is_made(tmp_path, text, sentence):
    """Five lines took 5.8 GB."""
    path = tmp_path / 'plan.yaml'
    text = text.replace('&X', '{from: 0, to: 1, steps: 1000}').replace(
        '&Y', '{from: 0, to: 1, steps: 100000}')
    path.write_text('scenarios: [steps]\n' + text.replace('\\n', '\n'))
    assert sentence in loaded(path)


def test_ten_million_flights_are_counted_one_by_one(tmp_path):
    path = tmp_path / 'plan.yaml'
    path.write_text('scenarios: [steps]\nparameters: {wind.north: {from: 0, to: 1, steps: 1000}, '
                    'wind.east: {from: 0, to: 1, steps: 10000}}\n')
    assert loaded(path) == '10000000\n'
    found = plan.load(str(path))
    values = [found.task(flight).parameters for flight in (0, 1, 10_000, 9_999_999)]
    assert [list(one.values()) for one in values] == [
        [0.0, 0.0], [0.0, 1 / 9999], [1 / 999, 0.0], [1.0, 1.0]]


def test_a_plan_of_gigabytes_or_a_fifo_is_not_read(tmp_path):
    path = tmp_path / 'plan.yaml'
    with path.open('wb') as stream:
        stream.truncate(5 * 2**30)
    assert 'has more than 65536 bytes' in loaded(path)
    path.unlink()
    os.mkfifo(path)
    assert 'there is no plan' in loaded(path)


@pytest.fixture
def strange(tmp_path):
    """Return a plan with a policy of its own, and the file that says that it was run."""
    (tmp_path / 'law.py').write_text(LAW)
    path = tmp_path / 'plan.yaml'
    path.write_text(f'scenarios: [steps]\ncontrollers: ["policy:{tmp_path}/law.py:law"]\n')
    return path, tmp_path / 'law.py_run'


def test_a_dry_run_runs_nothing_of_the_plan_unless_it_is_trusted(strange, tmp_path, capsys):
    path, was_run = strange
    assert main.main([str(path), '--output', str(tmp_path / 'kept'), '--dry-run']) == 0
    assert '--trust measures it' in capsys.readouterr().out
    assert not was_run.exists()
    assert main.main([
        str(path), '--output', str(tmp_path / 'kept'), '--dry-run', '--trust']) == 0
    assert 'measured' in capsys.readouterr().out
    assert was_run.exists()


@pytest.fixture
def folder(strange, tmp_path):
    """Return a campaign's folder that names the strange plan."""
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    from pyarrow import parquet

    from xplane_bridge.laboratory.campaigns.table import rows
    found = tmp_path / 'kept'
    (found / 'rows').mkdir(parents=True)
    (found / 'rows' / 'identity.json').write_text(json.dumps(
        {'identity': '0', 'plan': str(strange[0])}))
    parquet.write_table(rows.arrow(list(synthetic(12))), found / 'table.parquet')
    return found


def test_a_report_runs_nothing_of_the_folder_unless_it_is_trusted(strange, folder, capsys):
    assert main.main(['report', str(folder)]) == 0
    assert 'worst flights without a picture: 6; --trust flies them again' in (
        capsys.readouterr().out)
    assert not strange[1].exists()
    assert main.main(['report', str(folder), '--trust']) == 0
    assert strange[1].exists()


def test_damaged_folders_give_sentences(folder, tmp_path, capsys):
    """Also those whose files are of another kind, or have values of another type."""
    from pyarrow import parquet

    from xplane_bridge.laboratory.campaigns.table import rows
    some = list(synthetic(6))
    damages = {
        'identity': lambda: (folder / 'rows/identity.json').write_text('{"plan": [1'),
        'list': lambda: (folder / 'rows/identity.json').write_text('[]'),
        'huge': lambda: os.truncate(folder / 'rows/identity.json', 2**32),
        'plan': lambda: (folder / 'plan.yaml').write_bytes(b'\xff\xfe\0'),
        'fifo': lambda: ((folder / 'plan.yaml').unlink(), os.mkfifo(folder / 'plan.yaml')),
        'cut': lambda: os.truncate(folder / 'table.parquet', 1000),
        'garbage': lambda: (folder / 'table.parquet').write_bytes(b'PAR1' + b'\xff' * 500),
        'none': lambda: (folder / 'table.parquet').unlink(),
        'numbers': lambda: parquet.write_table(
            rows.arrow(some).drop_columns(['controller']).append_column(
                'controller', [[1.5] * 6]), folder / 'table.parquet'),
        'nulls': lambda: parquet.write_table(
            rows.arrow(some).drop_columns(['outcome', 'key']).append_column(
                'outcome', [[None] * 6]), folder / 'table.parquet'),
        'texts': lambda: parquet.write_table(
            rows.arrow(some).append_column('value.x', [['$a'] * 6]).append_column(
                'judged.x', [['b'] * 6]), folder / 'table.parquet'),
        'folder': lambda: ((folder / 'table.parquet').unlink(),
                           (folder / 'table.parquet').mkdir()),
    }
    for what, damage in damages.items():
        damage()
        assert main.main(['report', str(folder)]) in (0, 2), what
        captured = capsys.readouterr()
        assert 'Traceback' not in captured.err
        assert 'report' in captured.out + captured.err, what
        assert max(map(len, captured.err.splitlines()), default=0) < 600


def test_a_folder_to_be_resumed_that_is_damaged_gives_a_sentence(tmp_path, capsys):
    path = tmp_path / 'plan.yaml'
    path.write_text('scenarios: [steps]\nseeds: [1, 2]\n')
    given = plan.load(str(path))
    kept = tmp_path / 'kept'
    for journal in (b'{"flight": 7}\n', b'[1]\n', b'{"flight": "a"}\n', b'{}\n', b'7\n',
                    b'{"flight": -1}\n', b'\xff\n', b'[' * 100_000 + b'\n'):
        (kept / 'rows' / '0').mkdir(parents=True, exist_ok=True)
        (kept / 'rows' / 'identity.json').write_text(json.dumps(
            {'identity': given.identity, 'plan': str(path), 'parts': given.parts,
             'generation': 0}))
        (kept / 'rows' / '0' / 'journal.jsonl').write_bytes(journal)
        assert main.main([str(path), '--output', str(kept), '--dry-run']) in (0, 2), journal
        assert 'Traceback' not in capsys.readouterr().err
    for part in (b'', b'PAR1' + b'\xff' * 500):
        (kept / 'rows' / '0' / 'part-000000.parquet').write_bytes(part)
        assert main.main([str(path), '--output', str(kept), '--dry-run']) == 2
        assert 'part-000000.parquet' in capsys.readouterr().err
    assert Path(kept / 'rows').exists()


# What a report writes, and the names that it had until it was whole in an earlier release.
WRITTEN = ('report.html', 'pass_rate.csv', 'pass_rate.tex', 'pass_rate.png', 'look.json')
LINKED = (*WRITTEN, 'report.new', 'distributions.png', 'sensitivity.png', 'map.png')


def test_a_report_is_written_through_no_link(folder, tmp_path, capsys):
    own = tmp_path / 'own'
    own.mkdir()
    (own / 'file').write_text('mine')
    for number, name in enumerate(LINKED):
        # One that leads nowhere would be made there.
        (folder / name).symlink_to(own / ('new' if number % 2 else 'file'))
    (folder / 'flights').symlink_to(own)
    (folder / 'look.json').unlink()
    (folder / 'look.json').symlink_to(own / 'new')
    assert main.main(['report', str(folder), '--label', 'autopilot=Ours']) == 0
    assert 'Traceback' not in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in own.iterdir()] == [('file', 'mine')]
    assert not [name for name in WRITTEN if (folder / name).is_symlink()]
    assert 'there is a link where a file or folder of its own is expected' in (
        folder / 'report.html').read_text()


def crafted(last):
    """Return crafted tables of a campaign."""
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    import strange_tables
    row = next(synthetic(1))
    return {what: data for what, (data, _) in strange_tables.crafted({
        name: value.encode() if isinstance(value, str) else float(value)
        for name, value in row.items()}, last).items()}


@pytest.mark.parametrize(('last', 'command'), [
    ('outcome', ['report']),
    ('controller', ['compare', '--controllers', 'a', 'b'])], ids=['report', 'compare'])
def test_tables_that_unpack_to_gigabytes_are_told(tmp_path, last, command, capsys):
    path = tmp_path / 'table.parquet'
    for what, data in crafted(last).items():
        path.write_bytes(data)
        with growing_by(500_000_000):
            assert main.main([command[0], str(tmp_path), *command[1:]]) == 2, what
        said, = filter(None, capsys.readouterr().err.splitlines())
        assert f'{path}: ' in said, what


def test_parts_that_unpack_to_gigabytes_are_told(tmp_path, capsys):
    path = tmp_path / 'plan.yaml'
    path.write_text('scenarios: [steps]\nseeds: [1, 2]\n')
    given = plan.load(str(path))
    part = tmp_path / 'kept' / 'rows' / '0' / 'part-000000.parquet'
    part.parent.mkdir(parents=True)
    (part.parents[1] / 'identity.json').write_text(json.dumps(
        {'identity': given.identity, 'plan': str(path), 'parts': given.parts, 'generation': 0}))
    for what, data in crafted('outcome').items():
        part.write_bytes(data)
        with growing_by(500_000_000):
            assert main.main([str(path), '--output', str(tmp_path / 'kept'), '--dry-run']) == 2
        said, = filter(None, capsys.readouterr().err.splitlines())
        assert f'{part} is damaged: ' in said, what


def test_dollars_in_names_are_text_in_pictures(tmp_path, monkeypatch):
    """They are formulas of matplotlib, and a wrong one ended the report."""
    pytest.importorskip('matplotlib', reason='matplotlib is not installed')
    pytest.importorskip('pyarrow', reason='pyarrow is not installed')
    import numpy as np
    from pyarrow import parquet

    from xplane_bridge.laboratory.campaigns import campaign
    from xplane_bridge.laboratory.campaigns.report import pictures
    from xplane_bridge.laboratory.campaigns.table import rows
    from xplane_bridge.laboratory.experiments.picture import draw_flight
    from xplane_bridge.laboratory.flights.analysis.series import make_flight, Series
    some = [{name.replace('altitude', '$x_{a'): value for name, value in row.items()}
            | {'scenario': '$\\frac{$', 'controller': f'${row["controller"]}_{{$'}
            for row in synthetic(40)]
    parquet.write_table(rows.arrow(some), tmp_path / 'table.parquet')
    assert campaign.report(tmp_path)
    assert 'There is no picture' not in (tmp_path / 'report.html').read_text()
    assert (tmp_path / 'pass_rate.png').exists()
    times = np.arange(10.0)
    flight = make_flight('/uav', 0.0, {
        name: Series(times, times / 10.0)
        for name in ('east', 'north', 'altitude', 'heading')}, {})
    draw_flight(flight, str(tmp_path / 'flight.png'), 'scenario $x_{, flown by $\\frac$')
    assert (tmp_path / 'flight.png').exists()
    # Whatever else a picture may object to, the report is written.
    monkeypatch.setattr(pictures, 'draw_pass_rates', lambda *_: 1 / 0)
    assert campaign.report(tmp_path)
    assert 'There is no picture: ZeroDivisionError' in (tmp_path / 'report.html').read_text()
