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


"""The notebook examples/train_and_fly.ipynb, executed."""

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / 'examples' / 'train_and_fly.ipynb'


def test_the_training_notebook_is_committed_without_outputs():
    cells = json.loads(NOTEBOOK.read_text())['cells']
    assert not any(cell.get('outputs') or cell.get('execution_count') for cell in cells)


def test_the_training_notebook_trains_and_flies(tmp_path):
    pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
    for name in ('cma', 'gymnasium', 'ipykernel', 'matplotlib', 'onnx', 'onnxruntime'):
        pytest.importorskip(name, reason=f'the notebook needs {name}')
    nbformat = pytest.importorskip('nbformat', reason='needs nbformat')
    nbclient = pytest.importorskip('nbclient', reason='needs nbclient')
    # It writes files beside itself.
    folder = tmp_path / 'examples'
    folder.mkdir()
    (tmp_path / 'xplane_bridge').symlink_to(NOTEBOOK.parents[1] / 'xplane_bridge')
    notebook = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(
        notebook, timeout=240, resources={'metadata': {'path': str(folder)}}).execute()
    printed = ''.join(
        output.text for cell in notebook.cells for output in cell.get('outputs', [])
        if output.output_type == 'stream')
    shipped = printed[printed.index('shipped policy\n'):printed.index('mine\n', printed.index(
        'shipped policy\n'))]
    assert shipped.count('  met ') == 6
    assert '600 frames' in printed
    pictures = [output for cell in notebook.cells for output in cell.get('outputs', [])
                if 'image/png' in output.get('data', {})]
    assert len(pictures) == 2
