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

"""A full disk: each program that writes says which file and why, and leaves nothing of it."""

import gc
from pathlib import Path
import re
from types import SimpleNamespace

from full_disk import room
import pytest
import yaml

pytest.importorskip('jsbsim', reason='jsbsim is not installed')
pytest.importorskip('pyarrow', reason='pyarrow is not installed')

from xplane_bridge.commands import campaign, experiment, export, identify, linearize, train, tune
from xplane_bridge.laboratory.envelope.envelope_table import EnvelopeTable
from xplane_bridge.laboratory.episodes.training.holding import PARAMETERS
from xplane_bridge.laboratory.episodes.training.search import Generation

SCENARIO = {
    'duration': 1.0, 'initial': {'altitude': 1000.0, 'airspeed': 51.444},
    'events': [{'at': 0.0, 'engage': True}],
    'criteria': [{'quantity': 'roll_deg', 'statistic': 'max_abs', 'at_most': 90.0}]}
REASON = 'cannot be written: the file is as large as the system allows'


@pytest.fixture(scope='module')
def given(tmp_path_factory):
    """Return a folder with what the programs are given."""
    folder = tmp_path_factory.mktemp('given')
    (folder / 'brief.yaml').write_text(yaml.safe_dump(SCENARIO))
    (folder / 'plan.yaml').write_text('scenarios: [brief.yaml]\nseeds: [1]\nrecord: parquet\n')
    for form in ('mcap', 'parquet'):
        assert experiment.main([
            '--scenario', str(folder / 'brief.yaml'), '--sim', 'core', '--record', form,
            '--no-picture', '--output', str(folder / form)]) == 0
    return folder


@pytest.fixture
def computed(monkeypatch):
    """Let the programs that compute for minutes have found something at once."""
    row = {'number': 0, 'outcome': 'trimmed', 'reason': '', 'airspeed': 50.0}
    monkeypatch.setattr(linearize, 'survey', lambda *_: EnvelopeTable(
        'c172p', {'airspeed': (50.0,)}, [row | {f'mode.m{n}': 1.0 for n in range(50)}]))
    found = SimpleNamespace(forms=())
    monkeypatch.setattr(identify, '_identified', lambda *_: (found, None))
    for name, value in {
            'lines': [], 'as_mapping': {'derivatives': [0.5] * 500}, 'collect_slopes': None,
            'flown': None, 'linear_model': SimpleNamespace(to_json=lambda: '.' * 1000)}.items():
        monkeypatch.setattr(identify, name, lambda *_, value=value: value)

    def trained(plan, workers, tell):
        tell(Generation(1, {'holding': 1.0}, {'holding': 1.0}, 1.0))
        return [0.0] * len(PARAMETERS)

    monkeypatch.setattr(train, 'train', trained)
    monkeypatch.setattr(tune, 'runway_performance', lambda *_: None)


PROGRAMS = {
    'experiment': (experiment, [
        '--scenario', '{given}/brief.yaml', '--sim', 'core', '--record', 'parquet',
        '--no-picture', '--output', 'out'], 'out.parquet'),
    'experiment_mcap': (experiment, [
        '--scenario', '{given}/brief.yaml', '--sim', 'core', '--record', 'mcap',
        '--no-picture', '--output', 'out'], 'out.mcap'),
    'experiment_unrecorded': (experiment, [
        '--scenario', '{given}/brief.yaml', '--sim', 'core', '--no-picture', '--output', 'out'],
        'out.json'),
    **{f'export_{form}': (
        export, [f'{{given}}/{source}.{source}', '--to', form, '--output', 'out.d'], name)
       for form, source, name in (
           ('csv', 'mcap', 'out.d/experiment.'), ('parquet', 'mcap', 'out.d/experiment.'),
           ('mat', 'parquet', 'out.d'), ('mf4', 'parquet', 'out.d'))},
    'campaign': (campaign, ['{given}/plan.yaml', '--output', 'out'], 'out/'),
    'identify': (identify, ['flight.mcap', '--no-pictures', '--output', 'out'], 'out.yaml'),
    'train': (train, ['--output', 'out.onnx', '--generations', '1'], 'out.onnx'),
    **{f'linearize{form}': (linearize, [
        '--model', 'c172p', '--grid', 'airspeed=50', '-o', f'out{form}'], f'out{form}')
       for form in ('.json', '.csv', '.parquet', '.mat')},
    'tune': (tune, ['--model', 'c172p', '--airspeed', '50', '-o', 'out.yaml'], 'out.yaml'),
}


@pytest.mark.filterwarnings('error::pytest.PytestUnraisableExceptionWarning')
@pytest.mark.parametrize('size', [0, 300])
@pytest.mark.parametrize('name', PROGRAMS)
def test_a_program_says_the_file_and_the_reason_and_leaves_nothing(
        name, size, given, computed, tmp_path, monkeypatch, capsys):
    program, arguments, file = PROGRAMS[name]
    monkeypatch.chdir(tmp_path)
    with room(size):
        code = program.main([text.format(given=given) for text in arguments])
        # Nothing is written when what is left of it is deleted.
        gc.collect()
    assert code in (1, 2)
    said = capsys.readouterr().err
    assert re.search(rf'^\S+: .*{re.escape(file)}\S* {REASON}', said), said
    assert 'Traceback' not in said
    assert 'Errno' not in said
    left = [path for path in Path().rglob('*') if path.is_file()]
    if program is campaign:
        # It goes on from there.
        assert {path.name for path in left} <= {'.lock', 'plan.yaml'}
        assert program.main([f'{given}/plan.yaml', '--output', 'out', '--dry-run']) == 0
    else:
        assert left == []
