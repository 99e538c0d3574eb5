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

"""Nothing is written over without --force: one rule, by one function, for every command."""

import os
from pathlib import Path
import re

import draw_sensors
from full_disk import only_read
import pytest

from xplane_bridge.commands import experiment, picture, train
from xplane_bridge.commands import tune as tune_command
from xplane_bridge.common.command_line import dated, refuse_existing
from xplane_bridge.common.plain_files import WriteError

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / 'xplane_bridge'
WRITES = re.compile(r'plain_files\.(output|write|growing|journal)\(')
# Who writes, and by whom the rule is kept for it.
WRITERS = {
    'commands/experiment.py': {
        'laboratory/experiments/report.py', 'common/drawing.py',
        'laboratory/flights/recordings/written.py'},
    'commands/demo.py': {'laboratory/nodes/flight/processes.py'},
    'commands/check_controller.py': set(),
    'commands/picture.py': {'common/drawing.py'},
    'laboratory/nodes/record/node.py': {'laboratory/nodes/record/recorder.py'},
    'commands/export.py': {
        'laboratory/export/fdr.py', 'laboratory/export/writers.py',
        'laboratory/export/ulyssix/quality_report.py',
        'laboratory/flights/recordings/completed.py'},
    'laboratory/export/ulyssix/map.py': {'laboratory/export/ulyssix/map.py'},
    # A capture is never written over.
    'laboratory/export/ulyssix/record.py': {
        'bridges/links/captures/writing.py', 'laboratory/export/ulyssix/files.py'},
    'commands/linearize.py': {'laboratory/envelope/envelope_table.py', 'common/drawing.py'},
    'commands/tune.py': {'commands/tune.py'},
    'commands/identify.py': {'commands/identify.py', 'common/drawing.py'},
    'commands/train.py': {'commands/train.py', 'common/drawing.py'},
    'commands/verify.py': {
        'bridges/links/captures/writing.py', 'commands/verify.py',
        'laboratory/verification/report.py'},
}
# Folders of campaigns are gone on with, if they are of the same plan, and their report is made of
# what is in them. Copies of an aircraft, a script and a packed recording are temporary files.
BY_DESIGN = {
    'laboratory/campaigns/table/folder.py', 'laboratory/campaigns/table/look.py',
    'laboratory/campaigns/report/report.py', 'laboratory/campaigns/report/paper.py',
    'laboratory/campaigns/engines/cluster.py', 'laboratory/campaigns/engines/isolated.py',
    'laboratory/campaigns/engines/worker.py',
    'commands/fly_task.py', 'laboratory/campaigns/table/table.py',
    'laboratory/flights/recordings/files.py', 'simulation/aircraft/loading/inert.py',
    'simulation/aircraft/runscript/scripted.py'}


def test_every_program_that_writes_keeps_the_rule():
    writing = {
        path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob('*.py')
        if WRITES.search(path.read_text())}
    assert writing == BY_DESIGN.union(*WRITERS.values())
    for module in WRITERS:
        assert re.search(r'^ +refuse_existing\($|^ +refuse_existing\(.+', (
            PACKAGE / module).read_text(), re.MULTILINE), module


def test_what_is_there_is_named_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in 'abc':
        Path(name).touch()
    os.symlink('nowhere', 'link')
    os.mkfifo('fifo')
    Path('empty').mkdir()
    Path('full').mkdir()
    (Path('full') / 'file').touch()
    refuse_existing(['empty', 'new', '/dev/null', '/dev/stdout'])
    refuse_existing(['a', 'full'], force=True)
    for paths, options, sentence in (
        (['new', Path('a')], {}, 'a exists; --force overwrites it, --output writes elsewhere'),
        (['link'], {}, 'link exists; --force overwrites it, --output writes elsewhere'),
        (['fifo'], {'force': True},
         'fifo is not a regular file, and is not overwritten; --output writes elsewhere'),
        (['a', 'b', 'full', 'a'], {'elsewhere': '-o'},
         'a, b and full exist; --force overwrites them, -o writes elsewhere'),
        (['a'], {'by': ''}, 'a exists; --output writes elsewhere'),
        (['a'], {'elsewhere': ''}, 'a exists; --force overwrites it'),
    ):
        with pytest.raises(FileExistsError) as refused:
            refuse_existing(paths, **options)
        assert str(refused.value) == sentence


def test_where_nothing_can_be_written_is_said_before_anything_is_computed(tmp_path, capsys):
    (tmp_path / 'file').touch()
    with pytest.raises(WriteError, match=r'file/b cannot be written: .*file is not a folder$'):
        refuse_existing([tmp_path / 'a', tmp_path / 'file' / 'b'])
    with only_read() as folder:
        for path in (folder, folder / 'new', folder / 'missing' / 'new'):
            with pytest.raises(WriteError, match=rf'^{path} cannot be written: {folder} is only '):
                refuse_existing([path])
        # Its scenario is fast, and would be flown.
        assert experiment.main(['--sim', 'core', '--output', str(folder / 'flight')]) == 2
    told = capsys.readouterr()
    assert told.err.startswith(f'experiment: {folder}/flight')
    assert 'is only read' in told.err
    assert not told.out


def test_a_date_is_as_in_the_names_of_rosbag2():
    assert re.fullmatch(r'flight_\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d', dated('flight'))


@pytest.mark.parametrize(('command', 'arguments', 'there'), [
    (tune_command.main, ['--model', 'c172p', '--airspeed', '50', '-o', 'mine.yaml'], 'mine.yaml'),
    (train.main, ['--output', 'mine.onnx'], 'mine.onnx'),
    (train.main, ['--output', 'mine.onnx'], 'mine.json'),
    (train.main, ['--output', 'mine.onnx', '--picture', 'mine.png'], 'mine.png'),
    (picture.main, ['flight.mcap', '--format', 'pdf'], 'flight.pdf'),
    (draw_sensors.main, ['mine.png', 'consumer'], 'mine.png'),
])
def test_a_command_refuses_before_it_computes(
        command, arguments, there, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(train.optional, 'require', lambda *_, **__: None)
    Path(there).write_text('mine')
    assert command(arguments) > 0
    assert f'{there} exists; --force overwrites it' in capsys.readouterr().err
    assert Path(there).read_text() == 'mine'
