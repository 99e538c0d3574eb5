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

"""A campaign's folder notices that what its flights depend on has changed."""

import os
from pathlib import Path
import re
import shutil
import sys

import pytest

pytest.importorskip('jsbsim', reason='plans need jsbsim')
pytest.importorskip('pyarrow', reason='campaigns need pyarrow')

from xplane_bridge.laboratory.campaigns import fly as flights
from xplane_bridge.laboratory.campaigns.engines import worker as pilot
from xplane_bridge.laboratory.campaigns.engines.local import EngineError
from xplane_bridge.laboratory.campaigns.plan import plan as plans
from xplane_bridge.laboratory.campaigns.plan.plan import PlanError
from xplane_bridge.laboratory.campaigns.table.folder import Folder
from xplane_bridge.laboratory.control.policy import contents
from xplane_bridge.laboratory.flights.scenario.contents import find_aircraft_files
from xplane_bridge.simulation.aircraft.loading import parameter_file

NAVION = Path(__file__).resolve().parents[3] / 'xplane_bridge/data/aircraft/navion'
FLIGHT = """
duration: 1.0
initial: {altitude: 1500.0, airspeed: 53.64}
sensors: none
events: [{at: 0.1, engage: true}]
criteria: [{quantity: roll, statistic: max_abs, at_most: 1.0}]
"""
POLICY = """
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).parent))
sys.modules.pop('own_laws.law', None)
sys.modules.pop('own_laws', None)

from own_laws.law import command
import numpy as np

WEIGHTS = (Path(__file__).parent / 'weights.txt').read_text()


def policy(observation):
    return np.array(command())
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Return a folder with a plan and all that it flies."""
    # The policy adds its own folder.
    monkeypatch.setattr(sys, 'path', [*sys.path])
    monkeypatch.setattr(parameter_file, '_folder', lambda: tmp_path / 'shipped')
    shutil.copytree(NAVION.parents[1] / 'gains', tmp_path / 'shipped')
    shutil.copytree(NAVION, tmp_path / 'aircraft' / 'navion')
    for name, text in {
        'own_laws/__init__.py': '', 'own_laws/law.py': 'from . import trim\n\n\ndef command():\n'
        '    return 0.0, 0.0, 0.0, trim.THROTTLE\n', 'own_laws/trim.py': 'THROTTLE = 0.6\n',
        'weights.txt': '1', 'policy.py': POLICY, 'flight.yaml': FLIGHT,
        'sensors.yaml': 'imu: {gyroscope: {noise: 0.01}, tilt: {}, heading: {}}\n'
        'gnss: {horizontal: {}, vertical: {}}\nair_data: {pitot_pressure: {}}\n',
        'controller/fly.py': 'import sys\nsys.path.insert(0, ".")\nimport loops\n',
        'controller/loops.py': 'GAIN = 1.0\n',
        'controller/gains.txt': '1',
        'core.yaml': f'scenarios: [flight.yaml]\ncontrollers: ["policy:{tmp_path}/policy.py:policy'
        '", autopilot]\naircraft: [{model: navion, aircraft_path: aircraft}, c172p]\n'
        f'parameters: {{sensors: [none, {tmp_path}/sensors.yaml]}}\n',
        'ros.yaml': 'scenarios: [flight.yaml]\nsimulators: [xpc]\ncontrollers: '
        f'["{sys.executable} {tmp_path}/controller/fly.py {tmp_path}/controller/gains.txt"]\n',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def all_flown(study, plan):
    """Have rows of all flights of a plan in a folder."""
    given = plans.load(str(study / f'{plan}.yaml'))
    with Folder(study / 'kept', given) as folder:
        for flight in range(len(given)):
            folder.add(given.task(flight).row('passed'))


@pytest.mark.parametrize(('plan', 'file', 'differs'), [
    ('core', 'policy.py', 'controller policy:'),
    ('core', 'own_laws/law.py', 'controller policy:'),
    ('core', 'own_laws/trim.py', 'controller policy:'),
    ('core', 'weights.txt', 'controller policy:'),
    ('core', 'aircraft/navion/navion.xml', 'aircraft navion in '),
    ('core', 'aircraft/navion/Engines/constant_thrust.xml', 'aircraft navion in '),
    ('core', 'aircraft/navion/navion.yaml', 'gains of navion in '),
    ('core', 'shipped/c172p.yaml', 'gains of c172p'),
    ('core', 'sensors.yaml', 'sensors '),
    ('core', 'flight.yaml', 'scenario flight'),
    ('ros', 'controller/fly.py', 'controller '),
    ('ros', 'controller/loops.py', 'controller '),
    ('ros', 'controller/gains.txt', 'controller '),
])
def test_a_change_is_refused_and_named(study, plan, file, differs):
    all_flown(study, plan)
    with Folder(study / 'kept', plans.load(str(study / f'{plan}.yaml'))):
        pass
    before = plans.load(str(study / f'{plan}.yaml')).task(0).key
    path = study / file
    comment = '<!-- changed -->' if path.suffix == '.xml' else '# changed'
    path.write_text(f'{path.read_text()}\n{comment}\n'
                    + ('description: other\n' if file == 'flight.yaml' else ''))
    changed = plans.load(str(study / f'{plan}.yaml'))
    with pytest.raises(PlanError, match='what differs: ' + re.escape(differs)) as error:
        Folder(study / 'kept', changed).__enter__()
    assert str(error.value).count(' and ') == 0
    # The first flight is that of the policy, with the navion, without sensors.
    assert (before != changed.task(0).key) is (differs not in ('gains of c172p', 'sensors '))


def test_another_version_is_named(study, monkeypatch):
    all_flown(study, 'core')
    monkeypatch.setattr(plans, 'package_version', lambda: '9.9.9')
    with pytest.raises(PlanError, match='what differs: version of xplane_bridge; restore'):
        Folder(study / 'kept', plans.load(str(study / 'core.yaml'))).__enter__()


def test_engines_and_propellers_in_other_folders_belong_to_an_aircraft(study):
    engines = study / 'aircraft' / 'engine'
    engines.mkdir()
    (study / 'aircraft' / 'navion' / 'Engines' / 'constant_thrust.xml').rename(
        engines / 'constant_thrust.xml')
    (engines / 'other.xml').write_text('<x/>')
    found = find_aircraft_files('navion', str(study / 'aircraft'))
    assert engines / 'constant_thrust.xml' in found.values()
    assert engines / 'other.xml' not in found.values()
    assert {'c172p.xml', 'engine/eng_io320.xml', 'engine/prop_75in2f.xml'} <= (
        find_aircraft_files('c172p').keys())


def test_a_flight_with_another_policy_than_at_the_beginning_is_none_of_the_campaign(study):
    plan = plans.load(str(study / 'core.yaml'))
    number = next(n for n in range(len(plan)) if plan.task(n).controller != 'autopilot'
                  and plan.task(n).aircraft == 'c172p')
    task = plan.task(number)
    assert flights.fly(task)['outcome'] == 'passed'
    (study / 'own_laws' / 'trim.py').write_text('THROTTLE = 0.9\n')
    row = flights.fly(task)
    assert row['outcome'] == 'lost'
    assert 'is no more what it was when the campaign began' in row['reason']


def test_a_worker_of_a_cluster_is_sent_what_a_policy_imports(study, tmp_path):
    plan = plans.load(str(study / 'core.yaml'))
    task, files = pilot.packed(plan.task(0))
    assert sorted(files) == [
        'own_laws/__init__.py', 'own_laws/law.py', 'own_laws/trim.py', 'policy.py', 'weights.txt']
    there = tmp_path / 'worker'
    there.mkdir()
    sent, own = pilot._unpacked(task, files, there)
    path = Path(sent.flown_by.removeprefix('policy:').removesuffix(':policy'))
    assert path.is_relative_to(own)
    assert Path(own).is_relative_to(there)
    assert contents.digest(contents.find_python_files(path)) == task.digest


def at_home(folder):
    """Return the policy of a folder, beside which lies a file that is not its own."""
    (folder / 'mine').mkdir()
    (folder / 'x').write_text('of somebody else')
    return folder / 'mine' / 'law.py'


@pytest.mark.parametrize(('text', 'made', 'sentence'), [
    ('/etc/passwd', None, "line 3, names '/etc/passwd', which does not go with the policy"),
    ('../x', None, "line 3, names '../x', which does not go with the policy"),
    ('w.npz', lambda path: path.symlink_to('/etc/passwd'),
     'line 3, leads to w.npz, a link to /etc/passwd: put a copy'),
    ('w/x', lambda path: path.parent.symlink_to('..'), 'line 3, leads to w/x, a link to '),
    ('w.npz', os.mkfifo, "line 3, names 'w.npz', which is no regular file"),
    ('pipe.py', os.mkfifo, "line 3, names 'pipe.py', which is no regular file")])
def test_a_policy_takes_along_only_what_lies_below_its_folder(tmp_path, text, made, sentence):
    law = at_home(tmp_path)
    if made:
        made(law.parent / text)
    law.write_text(f'def law(observation):\n    """Fly."""\n    return {text!r}\n')
    with pytest.raises(EngineError, match=re.escape(f'{law}, {sentence}')):
        pilot.take_along(f'policy:{law}:law')


def test_no_name_leads_a_worker_out_of_its_folder(study, tmp_path):
    task = plans.load(str(study / 'core.yaml')).task(0)
    there = tmp_path / 'worker'
    there.mkdir()
    for name in ('/etc/new', '../new', 'a/../../new'):
        with pytest.raises(OSError, match='is no name of a file below a folder'):
            pilot._unpacked(task, {name: b''}, there)
    (tmp_path / 'elsewhere').mkdir()
    sent, own = pilot._unpacked(task, {'law.py': b'1', 'a/b.txt': b'2'}, there)
    shutil.rmtree(f'{own}/a')
    Path(own, 'a').symlink_to(tmp_path / 'elsewhere')
    with pytest.raises(OSError, match='/a is a link'):
        pilot._unpacked(task, {'law.py': b'1', 'a/b.txt': b'2'}, there)
    assert not [*(tmp_path / 'elsewhere').iterdir()]


def test_a_worker_has_the_files_that_it_is_sent_whatever_was_there(study, tmp_path):
    task = plans.load(str(study / 'core.yaml')).task(0)
    there = tmp_path / 'worker'
    there.mkdir()
    sent, own = pilot._unpacked(task, {'law.py': b'1', 'w.txt': b'old'}, there)
    mine = tmp_path / 'mine.txt'
    mine.write_text('kept')
    Path(own, 'law.py').write_bytes(b'changed since')
    Path(own, 'w.txt').unlink()
    Path(own, 'w.txt').symlink_to(mine)
    assert pilot._unpacked(task, {'law.py': b'1', 'w.txt': b'old'}, there) == (sent, own)
    assert Path(own, 'law.py').read_bytes() == b'1'
    assert Path(own, 'w.txt').read_bytes() == b'old'
    assert mine.read_text() == 'kept'
    # Of the next campaign: it has a folder, and a process, of its own.
    _, other = pilot._unpacked(task, {'law.py': b'1', 'w.txt': b'new'}, there)
    assert other != own
    assert Path(own, 'w.txt').read_bytes() == b'old'
    first = pilot._doer(flights.fly, own)
    assert pilot._doer(flights.fly) is pilot._doer(flights.fly, own) is first
    second = pilot._doer(flights.fly, other)
    assert second is not first
    second.end()
    del pilot._threads.doer
