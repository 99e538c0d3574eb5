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

"""The files of a campaign: kept as flights end, resumed, and made one table of."""

import json
import re
import shutil
import tracemalloc

from full_disk import room
import pytest

pytest.importorskip('pyarrow', reason='campaigns need pyarrow')

from pyarrow import parquet

from xplane_bridge.common.plain_files import WriteError
from xplane_bridge.laboratory.campaigns import campaign
from xplane_bridge.laboratory.campaigns.plan.plan import load, PlanError
from xplane_bridge.laboratory.campaigns.table import folder as files
from xplane_bridge.laboratory.campaigns.table import rows, table
from xplane_bridge.laboratory.campaigns.table.folder import Folder


def plan_of(tmp_path, seeds=1500, **more):
    path = tmp_path / 'many.yaml'
    path.write_text('\n'.join([
        'scenarios: [turbulence]', f'seeds: {{count: {seeds}}}',
        *(f'{name}: {value}' for name, value in more.items())]))
    return load(str(path))


def flown(path, plan, given):
    """Return the table of rows that ended in the given order, in a folder that is left between."""
    for part in given:
        with Folder(path, plan) as folder:
            for row in part:
                folder.add(row)
    with Folder(path, plan) as folder:
        folder.flush()
        parts = folder.parts()
        assert [one.stem for one in parts] == [f'part-{n:06}' for n in range(len(parts))]
        return table.write(parts, path / 'table.parquet')


def test_the_table_depends_neither_on_the_order_of_rows_nor_on_interruptions(tmp_path):
    plan, given = plan_of(tmp_path), list(rows.synthetic(1500))
    # A figure that only some have, and what is not compared.
    given[7]['figure.other'] = 1.5
    once = flown(tmp_path / 'once', plan, [given])
    mixed = [row | {'seconds': 9.0} for row in reversed(given)]
    often = flown(tmp_path / 'often', plan, [mixed[:600], mixed[500:1499], mixed[1400:]])
    assert once == often
    assert once.flights == 1500
    found = [parquet.read_table(tmp_path / name / 'table.parquet').drop_columns(['seconds'])
             for name in ('once', 'often')]
    assert found[0].schema == found[1].schema
    # NaN is not equal to itself.
    assert str(found[0].to_pylist()) == str(found[1].to_pylist())
    given[8]['figure.duration'] += 1e-13
    assert flown(tmp_path / 'other', plan, [given]).digest != once.digest


def test_progress_counts_the_flights_of_all_runs(tmp_path, capsys):
    plan, given = plan_of(tmp_path, 10), list(rows.synthetic(10))
    for row, outcome in zip(given, ['passed'] * 4 + ['missed'] * 6, strict=True):
        row |= {'outcome': outcome, 'processor_seconds': 2.0, 'jsbsim_seconds': 0.9}
    with Folder(tmp_path / 'kept', plan) as folder:
        for row in given[:6]:
            folder.add(row)

    class Flies:
        workers = 1

        def run(self, tasks, on_row):
            for task in tasks:
                on_row(given[task.flight])

    with Folder(tmp_path / 'kept', plan) as folder:
        assert folder.outcomes == {'passed': 4, 'missed': 2}
        campaign.run(plan, folder, Flies)
    said = capsys.readouterr().out
    assert re.match(
        r"10 of 10 flights \(4 passed, 6 missed\), in .* s; [0-9.e+]+ flights per second, "
        r"45% of the processor time is JSBSim's\n", said), said


@pytest.mark.parametrize('last', [
    b'{"flight":2,"outcome":"pas', b'{"flight":1500,"outcome":"passed","key":"k"}\n',
    b'{"flight":-1,"outcome":"passed","key":"k"}\n', b'{"flight":2,"outcome":1,"key":"k"}\n',
    b'{"flight":2,"outcome":"passed","key":null}\n', b'{"flight":true}\n', b'[]\n', b'{}\n',
    b'[' * 100_000])
def test_a_row_that_was_not_written_to_its_end_is_flown_again(tmp_path, last):
    plan, given = plan_of(tmp_path), list(rows.synthetic(4))
    with Folder(tmp_path / 'kept', plan) as folder:
        for row in given[:2]:
            folder.add(row)
    journal = tmp_path / 'kept' / 'rows' / '0' / 'journal.jsonl'
    # What comes behind it is not believed either.
    journal.write_bytes(journal.read_bytes() + last + json.dumps(given[3]).encode())
    with Folder(tmp_path / 'kept', plan) as folder:
        assert [folder.is_done(flight) for flight in range(4)] == [True, True, False, False]
        assert not folder.is_done(1499)
        folder.add(given[2])
    with Folder(tmp_path / 'kept', plan) as folder:
        assert folder.done == 3


def test_a_folder_of_something_else_is_refused(tmp_path):
    plan = plan_of(tmp_path)
    with pytest.raises(PlanError, match=r"is no campaign's folder, and not empty"):
        Folder(tmp_path, plan).__enter__()
    with Folder(tmp_path / 'kept', plan):
        with pytest.raises(PlanError, match='another campaign is running there'):
            Folder(tmp_path / 'kept', plan).__enter__()
        # What does not change a flight may change.
        Folder.seen(tmp_path / 'kept', plan_of(tmp_path, description='Other words', require=0.5))
        Folder.seen(tmp_path / 'kept', plan_of(tmp_path, 1501))


@pytest.mark.parametrize('name', [
    'rows', 'rows/0', 'rows/1', 'rows/0/journal.jsonl', 'rows/.lock', 'rows/identity.json.new',
    'plan.yaml', 'plan.yaml.new', 'table.parquet', 'table.parquet.new', 'flights',
    'flights/seed1_autopilot'])
def test_nothing_is_written_through_links(tmp_path, name):
    """A folder may come from anybody: links lead to files of the user, and to folders."""
    plan, kept, own = plan_of(tmp_path, 3), tmp_path / 'kept', tmp_path / 'own'
    flown(kept, plan, [list(rows.synthetic(3))])
    mine = {}
    for place in (own, own / '0'):
        place.mkdir()
        for file in ('file', 'journal.jsonl', 'identity.json'):
            (place / file).write_bytes((kept / 'rows/identity.json').read_bytes())
            mine[place / file] = (place / file).read_bytes()
    link = kept / name
    link.parent.mkdir(exist_ok=True)
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(own if '.' not in name else own / 'file')
    if '/' in name or name in ('rows', 'flights'):
        with pytest.raises(PlanError, match=rf'{name} (is a link|cannot be written: there is a)'):
            flown(kept, plan, [list(rows.synthetic(3))])
    else:
        flown(kept, plan, [list(rows.synthetic(3))])
    assert {path: path.read_bytes() for path in own.rglob('*') if path.is_file()} == mine


@pytest.mark.parametrize('size', [0, 700, 5000])
def test_a_full_disk_is_said_and_what_was_kept_stays(tmp_path, size):
    plan, given = plan_of(tmp_path, 30), list(rows.synthetic(30))
    kept = tmp_path / 'kept'
    flown(kept, plan, [given[:5]])
    before = sorted(path.name for path in kept.rglob('*'))
    with room(size), pytest.raises(
            (PlanError, WriteError), match='kept/.* cannot be written: the file is as large'):
        flown(kept, plan, [given])
    assert [path for path in kept.rglob('*') if path.name not in before] == []
    with Folder(kept, plan) as folder:
        assert folder.done >= 5
    assert flown(kept, plan, [given]) == flown(tmp_path / 'other', plan, [given])


def row_of(task):
    return task.row('missed' if task.seed % 3 else 'passed', '', 1, trajectory=f'{task.key}')


@pytest.mark.parametrize('interrupted', [False, True])
def test_a_campaign_grows_beside_what_is_there(tmp_path, monkeypatch, interrupted):
    """By seeds in front, a controller and a parameter's value; in a journal and in files."""
    monkeypatch.setattr(files, '_BATCH', 4)
    small = plan_of(tmp_path, 3, parameters='{wind.north: [5.0, 0.0]}')
    with Folder(tmp_path / 'kept', small) as folder:
        for flight in (5, 0, 1, 2, 3):
            folder.add(row_of(small.task(flight, str(tmp_path / 'kept'))))
    path = tmp_path / 'many.yaml'
    path.write_text('scenarios: [turbulence]\ncontrollers: [policy:turbulence, autopilot]\n'
                    'seeds: {first: 0, count: 5}\nparameters: {wind.north: [0.0, 2.0, 5.0]}\n')
    large = load(str(path))
    assert Folder.seen(tmp_path / 'kept', large).done == 5
    if interrupted:
        with monkeypatch.context() as broken:
            broken.setattr(Folder, '_write_identity', lambda self: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                Folder(tmp_path / 'kept', large).__enter__()
        assert Folder.seen(tmp_path / 'kept', small).done == 5
    with Folder(tmp_path / 'kept', large) as folder:
        assert (folder.done, len(large)) == (5, 30)
        known = large.task(24, str(tmp_path / 'kept'))
        assert (known.controller, known.seed, known.parameters) == (
            'autopilot', 4, {'wind.north': 2.0})
        assert folder.row(large.task(26).key)['command'] == (
            f'xplane-bridge campaign {path} --flight 26 --output {tmp_path}/kept')
        for flight in range(30):
            if not folder.is_done(flight):
                folder.add(row_of(large.task(flight, str(tmp_path / 'kept'))))
        folder.flush()
        grown = table.write(folder.parts(), tmp_path / 'grown.parquet')
    # Nobody sees that it has grown.
    assert grown == flown(tmp_path / 'once', large, [[
        row_of(large.task(flight, str(tmp_path / 'once'))) for flight in range(30)]])
    assert [one.name for one in (tmp_path / 'kept' / 'rows').glob('[0-9]*')] == ['1']
    with pytest.raises(PlanError, match=r'the plan no longer has 24 of the \d+ flights in .*; '
                                        'what differs: controller policy:turbulence, order'):
        Folder(tmp_path / 'kept', small).__enter__()


def test_memory_does_not_grow_with_the_number_of_rows(tmp_path, monkeypatch):
    # As 100,000 rows are to the usual sizes; make bench flies those.
    monkeypatch.setattr(files, '_BATCH', 25)
    monkeypatch.setattr(table, '_WINDOW', 100)

    def most(count):
        plan = plan_of(tmp_path, count)
        tracemalloc.start()
        flown(tmp_path / f'{count}', plan, [rows.synthetic(count)])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most(100)
    assert most(1600) < 1.5 * most(400)
