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

"""campaign compare: a planted difference is found, and none where there is none."""

from collections import Counter
import json
import math
from pathlib import Path
import random

import pytest

pytest.importorskip('scipy', reason='the statistics of a campaign need scipy')
pytest.importorskip('pyarrow', reason='a campaign needs pyarrow')
pytest.importorskip('matplotlib', reason='drawing needs matplotlib')

from pyarrow import parquet

from xplane_bridge.laboratory.campaigns.report import compare, report
from xplane_bridge.laboratory.campaigns.report.options import ReportOptions
from xplane_bridge.laboratory.campaigns.table import rows
from xplane_bridge.laboratory.campaigns.table.lost import LostFlights

ERROR = 'rms of altitude_error from 20 s at most 8'
ROLL = 'std of roll_deg from 20 s at least 0.3'


def flights(controller, better=0.0, seeds=range(200), noise=1, **changed):
    """Yield rows: what all controllers share depends on the seed, what they do not on noise."""
    own = random.Random(noise)
    for number, seed in enumerate(seeds):
        shared = random.Random(seed)
        error = shared.gauss(8.0, 3.0) + own.gauss(0.0, 0.3) - better
        roll = 1.0 + shared.random()
        yield {
            'flight': number, 'key': f'{controller}{seed}', 'scenario': 'turbulence',
            'simulator': 'core', 'controller': controller, 'aircraft': 'c172p', 'seed': seed,
            'parameter.wind': 3.0, 'outcome': 'passed' if error <= 8.0 else 'missed',
            'reason': '', 'exit': int(error > 8.0), f'value.{ERROR}': error,
            f'passed.{ERROR}': error <= 8.0, f'value.{ROLL}': roll, f'passed.{ROLL}': True,
            'command': '', **changed}


@pytest.fixture
def campaign(tmp_path):
    """Return a function that writes the folder of a campaign and returns its name."""
    def written(name, *controllers):
        (tmp_path / name).mkdir()
        table = rows.arrow([row for flown in controllers for row in flown])
        if name == 'lossy':
            table = table.replace_schema_metadata(LostFlights(Counter(full=3)).metadata())
        parquet.write_table(table, tmp_path / name / 'table.parquet')
        return str(tmp_path / name)
    return written


def compared(capsys, *arguments):
    code = compare.main([*arguments, '--json'])
    assert code == 0
    found = json.loads(capsys.readouterr().out)
    return found, {(each['what'], each['kind']): each for each in found['comparisons']}


def test_a_planted_difference_is_found_and_named(campaign, capsys):
    folder = campaign(
        'both', flights('autopilot'), flights('policy:/home/me/mine.onnx', 0.5, noise=2))
    found, lines = compared(capsys, folder, '--controllers', 'autopilot', 'policy:mine.onnx')
    assert (found['pairs'], found['better']) == (200, 'B')
    mean = lines[ERROR, 'mean value']
    # Among seeds that scatter by 3 a difference of 0.5 shows, for it is taken seed by seed.
    assert mean['better'] == 'B'
    assert mean['interval'][0] < -0.5 < mean['interval'][1] < -0.4
    # It is the same roll, and all passed.
    assert lines[ROLL, 'mean value']['better'] is None
    assert lines[ROLL, 'pass rate']['better'] is None
    assert compare.main([folder, '--controllers', 'policy:mine.onnx', 'autopilot']) == 0
    output = capsys.readouterr().out
    rates = [100.0 * lines['all criteria', 'pass rate'][side] for side in 'AB']
    assert (f'A is better: policy:mine.onnx passes {rates[1]:.1f}% of the flights, '
            f'{rates[1] - rates[0]:.1f} percentage points more (') in output
    head, line = (line for line in output.splitlines() if line.startswith(('mean', ERROR)) and (
        'more' in line or 'unit' in line))
    assert (line[head.index('unit'):].split()[0], line.index('A has') > len(head) - 8) == (
        'm', True)


def test_equal_controllers_are_seldom_called_different(campaign, capsys):
    called = 0
    for noise in range(20):
        folder = campaign(
            f'{noise}', flights('a', noise=noise, seeds=range(60)),
            flights('b', noise=100 + noise, seeds=range(60)))
        found, lines = compared(capsys, folder, '--controllers', 'a', 'b')
        called += any(line['better'] for line in lines.values())
    assert called <= 3
    assert compare.main([folder, '--controllers', 'a', 'a']) == 0
    assert 'No difference in passed flights can be told' in capsys.readouterr().out


def test_two_campaigns_are_paired_by_seed_and_the_rest_is_counted(campaign, capsys):
    first = campaign('first', flights('autopilot', seeds=range(120)))
    second = campaign('lossy', flights('policy', 0.5, seeds=range(20, 130), noise=2))
    found, lines = compared(capsys, first, second)
    assert found['pairs'] == 100
    assert found['without_partner'] == {'A': 20, 'B': 10}
    assert found['lost_in_table'] == {'A': 0, 'B': 3}
    assert compare.main([first, second]) == 0
    assert f'\nin {second}, 3 flights were not flown: full\n' in capsys.readouterr().out
    assert lines['all criteria', 'pass rate']['pairs'] == 100


def test_a_crashed_flight_has_met_no_criterion_and_has_no_value(campaign, capsys):
    lost = {f'{group}.{name}': None for group in ('value', 'passed') for name in (ERROR, ROLL)}
    folder = campaign(
        'lost', flights('a', 3.0, seeds=range(50)), flights('b', 3.0, seeds=range(25)),
        flights('b', seeds=range(25, 50), outcome='crashed', **lost))
    _, lines = compared(capsys, folder, '--controllers', 'a', 'b')
    rate = lines[ROLL, 'pass rate']
    assert (rate['A'], rate['B'], rate['better'], rate['pairs']) == (1.0, 0.5, 'A', 50)
    assert lines[ROLL, 'mean value']['pairs'] == 25
    assert math.isfinite(lines[ERROR, 'mean value']['difference'])


def test_what_cannot_be_compared_is_refused_with_a_sentence(campaign, capsys, tmp_path):
    one = campaign('one', flights('a', seeds=range(5)), flights('b', seeds=range(5)))
    other = campaign('other', flights('a', seeds=range(5, 10)))
    more = campaign('more', flights('a', seeds=range(5), **{'parameter.mass': 1.0}))
    (tmp_path / 'text').mkdir()
    (tmp_path / 'text' / 'table.parquet').write_text('flight, outcome')
    for arguments, text in (
        ((one,), 'expected two different folders, or one and --controllers A B, two of a, b'),
        ((one, one), 'expected two different folders'),
        ((one, '--label', 'c=Ours'), "there is no controller 'c' to label"),
        ((str(tmp_path), one), 'expected the folder of a flown campaign'),
        ((one, str(tmp_path / 'text')), 'is not a Parquet file'),
        ((one, '--controllers', 'a', 'c'), "no flight of controller 'c': expected one of a, b"),
        ((one, other), 'no two flights have the same'),
        ((other, more), 'only one of the two varies mass'),
    ):
        assert compare.main(arguments) == 2
        assert text in capsys.readouterr().err


def test_labels_name_the_sides_and_what_was_not_flown_is_counted(campaign, capsys):
    lost = [row | {'outcome': 'failed', 'reason': 'a NameError'}
            for row in flights('b', seeds=range(2))]
    folder = campaign('both', flights('a', seeds=range(2)), lost)
    given = [folder, '--controllers', 'a', 'b']
    assert compare.main([*given, '--label', 'b=Ours', '--label', f'{ERROR}=Altitude']) == 0
    said = capsys.readouterr().out
    assert 'A: a\nB: Ours\n' in said
    assert '\nAltitude  ' in said
    assert ERROR not in said
    assert ('of B, 2 of 2 flights were not flown to their end, and count as not passed: '
            'a NameError') in said
    assert 'of A' not in said
    # As the last report of the folder called them.
    report.write(Path(folder), options=ReportOptions(labels={'b': 'Ours'}))
    assert compare.main([folder, '--controllers', 'a', 'Ours']) == 0
    assert 'B: Ours\n' in capsys.readouterr().out
    assert compared(capsys, *given)[0]['not_flown'] == {'A': 0, 'B': 2}
