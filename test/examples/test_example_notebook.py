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

"""The notebook examples/design_a_controller.ipynb: executed, and what it writes flown."""

import json
from pathlib import Path
import sys

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / 'examples' / 'design_a_controller.ipynb'

# It is executed once.
pytestmark = pytest.mark.xdist_group('notebook')


def test_the_notebook_is_committed_without_outputs():
    cells = json.loads(NOTEBOOK.read_text())['cells']
    assert not any(cell.get('outputs') or cell.get('execution_count') for cell in cells)


@pytest.fixture(scope='module')
def executed(tmp_path_factory):
    """Return what the executed notebook printed, and its folder."""
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    for name in ('control', 'matplotlib', 'ipykernel'):
        pytest.importorskip(name, reason=f'the notebook needs {name}')
    nbformat = pytest.importorskip('nbformat', reason='needs nbformat')
    nbclient = pytest.importorskip('nbclient', reason='needs nbclient')
    # It writes files beside itself.
    folder = tmp_path_factory.mktemp('checkout') / 'examples'
    folder.mkdir()
    for name in ('xplane_bridge', 'examples/controllers'):
        (folder.parent / name).symlink_to(NOTEBOOK.parents[1] / name)
    notebook = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(
        notebook, timeout=240, resources={'metadata': {'path': str(folder)}}).execute()
    return folder, '\n'.join(
        output.text for cell in notebook.cells for output in cell.get('outputs', [])
        if output.output_type == 'stream')


def test_the_designed_controller_flies_as_the_linear_model_says_and_meets_all_criteria(executed):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    _, printed = executed
    line = next(line for line in printed.splitlines() if line.startswith('largest difference'))
    altitude, heading = (float(part.split()[-1]) for part in line.split(','))
    # Of steps of 2 m and 5 degrees.
    assert altitude < 0.2
    assert heading < 0.1
    lqr = printed[printed.index('LQR\n'):printed.index('cascade\n')]
    # Those of the scenario, and the contract of a controller.
    assert lqr.count('  met ') == 8
    assert 'missed' not in lqr


def test_the_designed_controller_answers_as_a_node(executed, ros):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    from contract import check_short_life
    folder, _ = executed
    check_short_life(ros, sys.executable, str(folder / 'lqr_controller.py'))
