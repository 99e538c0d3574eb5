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

"""The notebook examples/campaign.ipynb: it flies a campaign, and reads its table with pandas."""

import json
from pathlib import Path

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
for name in ('ipykernel', 'matplotlib', 'pandas', 'pyarrow', 'scipy'):
    pytest.importorskip(name, reason=f'the notebook needs {name}')
nbformat = pytest.importorskip('nbformat', reason='needs nbformat')
nbclient = pytest.importorskip('nbclient', reason='needs nbclient')

NOTEBOOK = Path(__file__).resolve().parents[2] / 'examples' / 'campaign.ipynb'


def test_the_notebook_flies_a_campaign_and_reads_its_table(tmp_path):
    cells = json.loads(NOTEBOOK.read_text())['cells']
    assert not any(cell.get('outputs') or cell.get('execution_count') for cell in cells)
    # It writes files beside itself.
    folder = tmp_path / 'examples'
    folder.mkdir()
    (tmp_path / 'xplane_bridge').symlink_to(NOTEBOOK.parents[1] / 'xplane_bridge')
    notebook = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(
        notebook, timeout=120, resources={'metadata': {'path': str(folder)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get('outputs', [])]
    printed = '\n'.join(
        output.text for output in outputs if output.output_type == 'stream'
        and output.name == 'stdout')
    assert 'report: campaign_few/report.html' in printed
    assert (folder / 'campaign_few' / 'report.html').is_file()
    rates = {line[:20].strip(): line for line in printed.splitlines() if ' 16.0 ' in line}
    assert 0.0 < float(rates['all criteria'].split()[-3]) < 1.0
    assert printed.count('campaign few.yaml --flight ') == 3
    assert sum('image/png' in output.get('data', {}) for output in outputs) == 2
