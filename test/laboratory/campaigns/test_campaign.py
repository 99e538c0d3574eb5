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

"""A campaign from its file to its exit code, flown in core."""

import errno
import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('pyarrow', reason='campaigns need pyarrow')

from pyarrow import parquet

from xplane_bridge.commands import campaign as main
from xplane_bridge.laboratory.campaigns import campaign
from xplane_bridge.laboratory.campaigns.fly import fly
from xplane_bridge.laboratory.campaigns.plan.plan import load, PlanError
from xplane_bridge.laboratory.campaigns.table.columns import Columns
from xplane_bridge.laboratory.campaigns.table.folder import Folder
from xplane_bridge.laboratory.experiments.settings import MISSED, NOT_FLOWN, PASSED
from xplane_bridge.laboratory.flights.recordings import parquet_file

SHORT = """
duration: 2.0
events:
  - {at: 0.0, engage: true}
  - {at: 0.0, turbulence: [15.0, 4]}
criteria:
  - {quantity: roll_deg, statistic: max_abs, at_most: 0.5}
  - {quantity: altitude_error, statistic: rms, at_most: 50.0}
"""
PLAN = """
scenarios: [short.yaml]
controllers: [autopilot, 'policy:FOLDER/law.py:law']
parameters: {wind.north: [0.0, 5.0], initial.airspeed: {from: 48.0, to: 55.0}}
sampling: {method: random}
seeds: {count: 3}
"""
LAW = """
def law(observation):
    return 0.0, 0.0, 0.0, 0.7
"""


@pytest.fixture
def plan(tmp_path):
    (tmp_path / 'short.yaml').write_text(SHORT)
    (tmp_path / 'law.py').write_text(LAW)
    path = tmp_path / 'plan.yaml'
    path.write_text(PLAN.replace('FOLDER', str(tmp_path)))
    return path


@pytest.fixture(autouse=True)
def no_reports(monkeypatch):
    monkeypatch.setattr(campaign, 'report', lambda *_: True)


def test_the_reason_of_a_failed_flight_names_the_file_and_no_folder(plan, tmp_path):
    (tmp_path / 'law.py').write_text(LAW.replace('return 0.0,', 'return nothing,'))
    row = fly(load(str(plan)).task(6))
    assert row['controller'].startswith('policy:')
    assert row['outcome'] == 'failed'
    assert "the policy raised NameError: name 'nothing' is not defined (law.py, line 3)" in (
        row['reason'])
    assert str(tmp_path) not in row['reason']


def test_a_flight_that_is_flown_again_for_its_picture_is_announced(
        plan, tmp_path, monkeypatch, capsys):
    given, drawn = load(str(plan)), []
    monkeypatch.setattr(campaign, 'draw', lambda task, path: drawn.append((task.key, path)))
    key, path = given.task(3).key, tmp_path / 'flight.png'
    campaign.drawn_by(given)(SimpleNamespace(row={'flight': 3, 'key': key}), path)
    assert drawn == [(key, path)]
    assert capsys.readouterr().out == (
        'flight 3 is among the worst: it is flown again, to be drawn\n')


class InThisProcess:
    """An engine that is interrupted after some flights."""

    workers = 1

    def __init__(self, most):
        self.most = most

    def run(self, tasks, on_row):
        for number, task in enumerate(tasks):
            if number == self.most:
                raise KeyboardInterrupt
            on_row(fly(task))


@pytest.mark.timeout(120)
def test_workers_and_interruptions_do_not_change_the_table(plan, tmp_path, capsys):
    given, digests = load(str(plan)), []
    assert len(given) == 12
    assert main.main([str(plan), '--output', str(tmp_path / 'two'), '--workers', '2']) == PASSED
    output = capsys.readouterr().out
    assert '12 of 12 flights' in output
    with pytest.raises(KeyboardInterrupt), Folder(tmp_path / 'parts', given) as folder:
        campaign.run(given, folder, lambda: InThisProcess(5))
    with Folder(tmp_path / 'parts', given) as folder:
        assert folder.done == 5
        digests.append(campaign.run(given, folder, lambda: InThisProcess(7)).digest)
    assert f', {digests[0]}\n' in output
    # Finished rows are not flown again: there is nothing to fly them.
    assert main.main([str(plan), '--output', str(tmp_path / 'two'), '--workers', '2']) == PASSED
    again = capsys.readouterr().out
    assert '12 of 12 flights are there already' in again
    assert digests[0] in again
    rows = parquet.read_table(tmp_path / 'two' / 'table.parquet').to_pylist()
    assert [row['flight'] for row in rows] == list(range(12))
    assert len({row['trajectory'] for row in rows}) == 12
    assert {row['outcome'] for row in rows} <= {'passed', 'missed'}
    for name in ('figure.tracking.altitude.rms', 'figure.rates.odom.rate',
                 'value.max_abs of roll_deg at most 0.5', 'parameter.wind.north'):
        assert all(isinstance(row[name], float) for row in rows), name
    assert not any(name.startswith('figure.load') for name in rows[0])


@pytest.mark.timeout(60)
def test_one_flight_is_flown_again_to_the_last_bit(plan, tmp_path, capsys, monkeypatch):
    folder = tmp_path / 'kept'
    given = load(str(plan))
    with Folder(folder, given) as kept, pytest.raises(KeyboardInterrupt):
        campaign.run(given, kept, lambda: InThisProcess(2))
    # Rows of the journal are rows, too.
    assert main.main([str(plan), '--output', str(folder), '--dry-run']) == PASSED
    assert '2 of them have been flown' in capsys.readouterr().out
    options = [str(plan), '--output', str(folder), '--flight']
    assert main.main([*options, '1']) in (PASSED, MISSED)
    assert 'the trajectory is that of the row, to the last bit' in capsys.readouterr().out
    assert given.task(1, str(folder)).command == (
        f'xplane-bridge campaign {plan} --flight 1 --output {folder}')
    main.main([*options, given.task(1).key[:12]])
    assert capsys.readouterr().out.startswith('flight 1: ')
    main.main([*options, '2'])
    assert 'has no row of it to compare with' in capsys.readouterr().out
    monkeypatch.setattr('xplane_bridge.laboratory.campaigns.refly.fly', lambda task: fly(task) | {
        'trajectory': 'ff'})
    assert main.main([*options, '0']) == MISSED
    assert 'the trajectory is ff, in the row' in capsys.readouterr().err
    assert main.main([*options, '12']) == NOT_FLOWN
    assert capsys.readouterr().err == (
        'campaign: there is no flight 12: expected one of 0 to 11\n')
    assert main.main([*options, 'beef']) == NOT_FLOWN
    assert '--flight beef: expected a number of 0 to 11, or the key' in capsys.readouterr().err


@pytest.mark.timeout(60)
def test_what_cannot_be_flown_is_a_row_with_its_reason(plan, tmp_path):
    (tmp_path / 'law.py').write_text('def law(observation):\n    return [0.0]\n')
    given = load(str(plan))
    row = fly(given.task(6))
    assert (row['outcome'], row['exit']) == ('failed', NOT_FLOWN)
    assert row['reason'].startswith('at 0.0 s: an action has 4 numbers')
    task = given.task(0)
    task.content['initial']['model'] = 'none_such'
    assert 'none_such' in fly(task)['reason']
    assert json.loads(json.dumps(row)) == row


@pytest.mark.timeout(60)
def test_the_threshold_decides_and_holds_for_each_controller(plan, tmp_path, monkeypatch, capsys):
    found = []

    def row_of(task):
        well = task.controller == 'autopilot' or task.flight % 2
        return task.row('passed', '', 0) if well else task.row(*found)

    class Engine(InThisProcess):
        def run(self, tasks, on_row):
            for task in tasks:
                on_row(row_of(task))

    monkeypatch.setattr(main, 'Local', lambda *_: Engine(0))
    found[:] = 'missed', '', 1
    options = [str(plan), '--output', str(tmp_path / 'kept')]
    assert main.main(options) == PASSED
    assert main.main([*options, '--require', '0.6']) == MISSED
    assert 'law.py:law: 50.0% passed (18.8 to 81.2%), required 60.0%' in capsys.readouterr().out
    assert main.main([*options, '--require', '0.5']) == PASSED
    assert main.main([*options, '--require', '2']) == NOT_FLOWN
    assert main.main([*options, '--workers', '-1']) == NOT_FLOWN
    assert main.main(['no_such_plan']) == NOT_FLOWN
    found[:] = 'failed', 'why not', 2
    assert main.main([str(plan), '--output', str(tmp_path / 'some')]) == PASSED
    assert '\n  3 of 6 were not flown to their end: why not\n' in capsys.readouterr().out
    monkeypatch.setattr(Engine, 'run', lambda self, tasks, on_row: [
        on_row(task.row('failed', 'why not')) for task in tasks])
    assert main.main([str(plan), '--output', str(tmp_path / 'none')]) == NOT_FLOWN
    assert 'no flight was flown to its end: why not' in capsys.readouterr().err


def test_flights_that_a_full_disk_ends_are_flown_when_there_is_room(
        plan, tmp_path, monkeypatch, capsys):
    plan.write_text(plan.read_text() + 'record: parquet\n')
    monkeypatch.setattr(main, 'Local', lambda *_: InThisProcess(12))
    options = [str(plan), '--output']
    assert main.main([*options, str(tmp_path / 'roomy')]) == PASSED
    printed = capsys.readouterr().out
    write, calls = parquet_file.write, []

    def full_at_times(stream, *given):
        calls.append(stream)
        if len(calls) % 3 == 0:
            raise OSError(errno.ENOSPC, 'No space left on device')
        write(stream, *given)

    monkeypatch.setattr(parquet_file, 'write', full_at_times)
    assert main.main([*options, str(tmp_path / 'full')]) == NOT_FLOWN
    said = capsys.readouterr()
    assert '12 of 12 flights (' in said.out
    assert ', 4 lost), in ' in said.out
    assert said.err == (
        'campaign: 4 flights were not flown: the recording flight.parquet cannot be written: No '
        'space left on device; they count for nothing, and the same command flies them\n')
    kept = Columns(tmp_path / 'full')
    assert (kept.flights, kept.lost.flights) == (8, 4)
    assert {*kept.labels('outcome').values} <= {'passed', 'missed'}
    # Each is tried anew: three, then one, then none is left.
    for left in (1, 0):
        assert main.main([*options, str(tmp_path / 'full')]) == (NOT_FLOWN if left else PASSED)
        assert Columns(tmp_path / 'full').lost.flights == left
    assert capsys.readouterr().out.splitlines()[-3:] == printed.splitlines()[-3:]


def test_more_and_more_lost_flights_end_a_campaign(plan, tmp_path, monkeypatch, capsys):
    class Lossy(InThisProcess):
        def run(self, tasks, on_row):
            for task in tasks:
                on_row(task.row(*(('lost', 'no memory') if task.flight else ('passed', '', 0))))

    monkeypatch.setattr(main, 'Local', lambda *_: Lossy(0))
    assert main.main([str(plan), '--output', str(tmp_path / 'kept')]) == NOT_FLOWN
    assert capsys.readouterr().err == (
        'campaign: 11 flights in a row could not be flown, the last because no memory; 1 of 12 '
        f'flights are kept in {tmp_path / "kept"}\n')


def test_a_disk_that_is_full_for_rows_ends_a_campaign_and_says_what_is_kept(
        plan, tmp_path, monkeypatch, capsys):
    class Flies(InThisProcess):
        def run(self, tasks, on_row):
            on_row(next(tasks).row('passed', '', 0))
            raise OSError(errno.ENOSPC, 'No space left on device', 'journal.jsonl')

    monkeypatch.setattr(main, 'Local', lambda *_: Flies(0))
    assert main.main([str(plan), '--output', str(tmp_path / 'kept')]) == NOT_FLOWN
    said = capsys.readouterr().err
    assert 'No space left on device' in said
    assert said.endswith(f"; 1 of 12 flights are kept in {tmp_path / 'kept'}\n")


@pytest.mark.parametrize(('raises', 'outcome'), [
    ('MemoryError', 'lost'), ('OSError(28, "full")', 'lost'), ('ImportError("torch")', 'lost'),
    ('FileNotFoundError(2, "none")', 'failed'), ('ValueError', 'failed')])
def test_what_a_policy_raises_is_a_result_unless_its_machine_is_at_fault(
        plan, tmp_path, raises, outcome):
    (tmp_path / 'law.py').write_text(f'def law(observation):\n    raise {raises}\n')
    assert fly(load(str(plan)).task(6))['outcome'] == outcome


def test_a_flight_whose_recording_cannot_be_read_back_is_lost(plan, monkeypatch):
    def torn(self):
        raise ValueError('the recording ends early')

    monkeypatch.setattr('xplane_bridge.laboratory.flights.core.CoreFlight.history', torn)
    row = fly(load(str(plan)).task(0))
    assert (row['outcome'], row['reason']) == ('lost', 'the recording ends early')


def test_a_dry_run_says_how_many_and_how_long_and_leaves_nothing(plan, tmp_path, capsys):
    assert main.main([str(plan), '--output', str(tmp_path / 'kept'), '--dry-run']) == PASSED
    output = capsys.readouterr().out
    assert '12 flights: 1 scenario x 1 simulator x 1 aircraft x 2 controllers x 6 points' in (
        output)
    assert 'short on core, autopilot: 6 flights of about' in output
    assert not (tmp_path / 'kept').exists()


def test_the_shipped_plans_can_be_read():
    pytest.importorskip('scipy', reason='one samples by scipy')
    folder = Path(__file__).resolve().parents[3] / 'xplane_bridge/data/campaigns'
    assert {path.stem: len(load(str(path))) for path in folder.glob('*.yaml')} == {
        'circuit': 200, 'circuit_sensed': 200, 'encounters': 200, 'landings': 600,
        'leaderboard': 200, 'lockstep': 20, 'robustness': 192, 'sampled': 64,
        'turbulence': 1000}


@pytest.mark.timeout(60)
def test_flights_are_recorded_and_their_rows_stay_what_they_were(plan, tmp_path):
    text = plan.read_text().replace('count: 3', 'count: 2').replace('at_most: 0.5', 'at_most: 0.2')
    digests, found = set(), {}
    for number, record in enumerate((
            '', 'record: parquet', 'record: {format: mcap, flights: missed, at_most: 3}')):
        plan.write_text(f'{text}{record}\n')
        given, path = load(str(plan)), tmp_path / str(number)
        with Folder(path, given) as folder:
            digests.add(campaign.run(given, folder, lambda: InThisProcess(8)).digest)
        rows = parquet.read_table(path / 'table.parquet').to_pylist()
        assert {row['recording'] for row in rows if row['recording']} == {
            str(file.relative_to(path)) for file in path.glob('flights/*/*')}
        found[number] = rows
    assert len(digests) == 1
    assert not any(row['recording'] for row in found[0])
    assert all(row['recording'] for row in found[1])
    assert [bool(row['recording']) for row in found[2]] == [
        row['flight'] < 3 and row['outcome'] != 'passed' for row in found[2]]
    facts = json.loads(parquet.read_schema(
        tmp_path / '1' / found[1][5]['recording']).metadata[b'xplane_bridge'])
    assert facts['seed'] == found[1][5]['seed']
    assert facts['flown_by_plan'] == {
        'flight': 5, 'key': found[1][5]['key'], 'controller': found[1][5]['controller'],
        'parameters': {'wind.north': found[1][5]['parameter.wind.north'],
                       'initial.airspeed': found[1][5]['parameter.initial.airspeed']}}


@pytest.mark.parametrize(('record', 'sentence'), [
    ('csv', "record.format: expected one of mcap, parquet, got 'csv'"),
    ('{format: mcap, flights: some}', "record.flights: expected one of all, missed, got 'some'"),
    ('{format: mcap, at_most: 0}', 'record.at_most: expected'),
    ('{flights: all}', 'record: format is missing'),
    ('parquet\nsimulators: [xpc]', 'through ROS recordings are MCAP')])
def test_what_cannot_be_recorded_so_is_said_of_the_plan(plan, record, sentence):
    plan.write_text(plan.read_text().replace(
        "controllers: [autopilot, 'policy:", "# [autopilot, 'policy:") + f'record: {record}\n')
    with pytest.raises(PlanError, match='plan.yaml: ') as raised:
        load(str(plan))
    assert sentence in str(raised.value)


def test_steps_per_second_are_part_of_what_a_flight_is(plan):
    usual = load(str(plan)).task(0)
    plan.write_text(plan.read_text() + 'physics_rate: 240\n')
    finer = load(str(plan)).task(0)
    assert finer.key != usual.key
    assert fly(usual)['figure.airframe.physics_rate'] == 120.0
    assert fly(finer)['figure.airframe.physics_rate'] == 240.0
    plan.write_text(plan.read_text().replace('240', '250'))
    with pytest.raises(PlanError, match='physics_rate: expected a multiple of 60 in .*, got 250'):
        load(str(plan))


def test_flights_that_crash_are_rows_that_say_so(tmp_path, capsys):
    (tmp_path / 'dive.yaml').write_text("""
duration: 20.0
initial: {altitude: 700.0, airspeed: 51.4}
events:
  - {at: 0.2, controls: {elevator: -0.7}, for: 19.0}
criteria:
  - {quantity: airspeed, statistic: max, at_most: 500.0}
  - {quantity: airspeed, statistic: max, to: 3.0, at_most: 500.0}
  - {figure: airframe.crashes, at_most: 1}
""")
    path = tmp_path / 'plan.yaml'
    path.write_text('scenarios: [dive.yaml]\ncontrollers: [autopilot]\nseeds: {count: 2}\n')
    assert main.main([str(path), '--workers', '1', '--output', str(tmp_path / 'out'),
                      '--require', '0.5']) == MISSED
    said = capsys.readouterr().out
    assert '2 of 2 flights (2 crashed)' in said
    assert '2 of 2 were not flown to their end: crashed at 6.' in said
    for row in parquet.read_table(tmp_path / 'out' / 'table.parquet').to_pylist():
        assert (row['outcome'], row['exit']) == ('crashed', MISSED)
        assert row['reason'].startswith('crashed at ')
        assert 'struck the ground with ' in row['reason']
        judged = {name.removeprefix('passed.'): passed for name, passed in row.items()
                  if name.startswith('passed.')}
        assert [name for name, passed in judged.items() if passed] == [
            'max of airspeed to 3 s at most 500']
        assert len(judged) == 3
        # What was not reached has no value either.
        assert math.isnan(row['value.airframe.crashes at most 1'])
        assert row['figure.airframe.crashes'] == 1.0
        assert row['trajectory']
